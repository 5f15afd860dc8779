/* Finalizers and marks in stored text. */
#include "coord/api/verbs/finalizer.h"
#include "tests/harness/t.h"

static struct object_parts parts;
static struct cache_entry entry;
static struct object object;

static const struct object *of(const char *json)
{
	entry = (struct cache_entry){.value = pl_span_str(json), .object = &parts};
	object_parts_find(entry.value, &parts);
	object = (struct object){.part = {&entry}};
	return &object;
}

#define META(members) "{\"kind\":\"K\",\"metadata\":{" members "},\"data\":{\"a\":\"b\"}}"
#define BUDGET(members) \
	"{\"v\":1,\"budget\":" META(members) ",\"status\":{\"expected\":1}}"

T_CASE(finalizers_are_those_of_metadata)
{
	static const char *const with[] = {
		META("\"name\":\"a\",\"finalizers\":[\"x/y\"]"),
		META("\"finalizers\":[\"x/y\",\"z\"],\"name\":\"a\""),
		BUDGET("\"finalizers\":[\"x/y\"]"),
	};
	static const char *const without[] = {
		META("\"name\":\"a\""),
		META("\"name\":\"a\",\"finalizers\":[]"),
		META("\"name\":\"a\",\"finalizers\":null"),
		META("\"annotations\":{\"a\":\"\\\"finalizers\\\":[1]\"}"),
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"finalizers\":[\"kubernetes\"]}}",
		"{\"metadata\":{\"name\":\"a\"}}",
		"{\"kind\":\"K\"}",
		BUDGET("\"name\":\"a\""),
	};

	for (unsigned i = 0; i < sizeof with / sizeof with[0]; i++)
		T_TRUE(finalizers_hold(of(with[i])));
	for (unsigned i = 0; i < sizeof without / sizeof without[0]; i++)
		T_TRUE(!finalizers_hold(of(without[i])));
}

T_CASE(a_mark_is_put_first_into_metadata)
{
	struct pl_arena arena;
	struct pl_span marked;
	char text[300];

	pl_arena_init(&arena, 0, 0);
	T_TRUE(!deletion_is_marked(of(META("\"name\":\"a\""))));
	T_TRUE(!deletion_is_marked(
		of(META("\"name\":\"a\",\"deletionTimestamp\":null"))));

	marked = deletion_mark(&arena, of(META("\"name\":\"a\""))->part[OBJECT_MAIN],
	                       "2026-01-01T00:00:00Z");
	T_SPAN(marked,
	       pl_span_str(META("\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
	                        "\"deletionGracePeriodSeconds\":0,\"name\":\"a\"")));
	(void)snprintf(text, sizeof text, PL_SPAN_FMT, PL_SPAN_ARG(marked));
	T_TRUE(deletion_is_marked(of(text)));
	/* A budget is an object inside its record. */
	marked = deletion_mark_budget(&arena,
	                              of(BUDGET("\"name\":\"a\""))->part[OBJECT_MAIN],
	                              "2026-01-01T00:00:00Z");
	T_SPAN(marked,
	       pl_span_str(META("\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
	                        "\"deletionGracePeriodSeconds\":0,\"name\":\"a\"")));
	pl_arena_done(&arena);
}
