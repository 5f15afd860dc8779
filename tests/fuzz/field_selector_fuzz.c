/* Any text is a field selector or is refused with a reason; what is accepted names fields
 * of the table. The first byte chooses the resource. */
#include "coord/api/select/field_selector.h"
#include "tests/fuzz/fuzz.h"

static const char object_text[] =
	"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":\"n\",\"hostNetwork\":true},"
	"\"status\":{\"succeeded\":3},\"source\":{\"component\":7},\"type\":null}";
static const char *const resources[][2] = {
	{"", "pods"},      {"", "nodes"},           {"", "events"},
	{"batch", "jobs"}, {"apps", "deployments"},
};

static void check_terms(const struct field_selector *selector,
                        const char *const *resource, struct pl_json object)
{
	const struct field_set *set = field_set_of(resource[0], resource[1]);

	PL_ASSERT(selector->count <= FIELD_SELECTOR_TERMS_MAX);
	for (uint32_t i = 0; i < selector->count; i++)
		PL_ASSERT(field_set_find(set, pl_span_str(selector->terms[i].field)) ==
		          selector->terms[i].field);
	(void)field_selector_matches_json(selector, object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const *resource;
	struct field_selector selector = {0};
	struct pl_json object = {0};
	struct pl_span why = {0};
	struct pl_arena arena;
	enum pl_code code;

	if (size == 0)
		return 0;
	resource = resources[data[0] % (sizeof resources / sizeof resources[0])];
	pl_arena_init(&arena, 0, 0);
	code = pl_json_parse(&arena, pl_span_str(object_text), NULL, &object, NULL);
	PL_ASSERT(code == PL_OK);
	code = field_selector_parse(&arena, resource[0], resource[1],
	                            pl_span(data + 1, size - 1), &selector, &why);
	PL_ASSERT(code == PL_OK || code == PL_INVALID || code == PL_LIMIT);
	PL_ASSERT((code == PL_OK) == (why.len == 0));
	check_terms(&selector, resource, object);
	pl_arena_done(&arena);
	return 0;
}
