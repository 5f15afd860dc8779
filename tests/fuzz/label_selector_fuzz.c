/* Any text is a selector or is refused with a reason; both ways of matching agree. */
#include "coord/api/select/label_selector.h"
#include "tests/fuzz/fuzz.h"

static const char labels_text[] =
	"{\"app\":\"web\",\"b\":\"\",\"cores\":\"12\",\"a/b\":\"x\",\"in\":\"notin\"}";

static void check_terms(const struct label_selector *selector)
{
	PL_ASSERT(selector->count <= LABEL_SELECTOR_TERMS_MAX);
	for (uint32_t i = 0; i < selector->count; i++) {
		const struct label_term *term = &selector->terms[i];

		PL_ASSERT(term->key.len > 0 && term->key.at[term->key.len] == 0);
		PL_ASSERT(i == 0 || pl_span_cmp(term[-1].key, term->key) <= 0);
		for (uint32_t j = 1; j < term->count; j++)
			PL_ASSERT(pl_span_cmp(term->values[j - 1], term->values[j]) < 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct label_selector selector = {0};
	struct label_pairs pairs = {0};
	struct pl_json labels = {0};
	struct pl_span why = {0};
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 0, 0);
	code = pl_json_parse(&arena, pl_span_str(labels_text), NULL, &labels, NULL);
	PL_ASSERT(code == PL_OK);
	code = label_pairs_of(&arena, labels, &pairs);
	PL_ASSERT(code == PL_OK);
	code = label_selector_parse(&arena, pl_span(data, size), &selector, &why);
	PL_ASSERT(code == PL_OK || code == PL_INVALID || code == PL_LIMIT);
	PL_ASSERT((code == PL_OK) == (why.len == 0));
	check_terms(&selector);
	if (code == PL_OK) {
		bool sorted = label_selector_matches(&selector, &pairs);

		PL_ASSERT(sorted == label_selector_matches_json(&selector, labels));
	}
	pl_arena_done(&arena);
	return 0;
}
