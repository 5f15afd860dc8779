/* Placing stats added up over shards, and the line made from them. */
#include "coord/cli/output/placing_stats.h"
#include "tests/harness/t.h"

#define RECORD(id, work)                                                                \
	"{\"v\":1,\"id\":\"" id "\",\"instance\":\"0123456789abcdef0123456789abcdef\"," \
	"\"state\":\"active\",\"host\":\"h\",\"pid\":1,\"boot\":\"b\",\"version\":"     \
	"\"0.1.0\",\"weight\":1000,\"started\":\"2026-01-01T00:00:00.000Z\","           \
	"\"partitions\":[],\"loads\":[]" work ",\"config\":{\"coord\":0}}"

static struct kv_record record(const char *key, const char *value)
{
	return (struct kv_record){.key = pl_span_str(key), .value = pl_span_str(value)};
}

T_CASE(malformed_records_count_nothing)
{
	struct kv_record records[] = {
		record("/shards/a",
	               RECORD("a",
	                      ",\"work\":{\"placed\":7,\"pending\":5,\"conflicts\":3,"
	                      "\"placed_per_s\":1.5}")),
		record("/shards/b", "[]"),
		record("/shards/c", RECORD("c", ",\"work\":{\"placed\":20,\"pending\":0,"
	                                        "\"conflicts\":40,\"placed_per_s\":11}")),
		record("/shards/d", RECORD("d", "")),
		record("/shards/not/one", RECORD("e", "")),
	};
	struct kv_result result = {.get = {.records = records, .count = 5}};
	struct placing_stats stats = {0};

	placing_stats_add(&stats, &result);
	T_EQ(stats.shards, 3);
	T_EQ(stats.placed, 27);
	T_EQ(stats.pending, 5);
	T_EQ(stats.conflicts, 43);
	T_NEAR(stats.rate, 12.5, 0.001);
}

T_CASE(the_line_has_all_four)
{
	struct placing_stats stats = {
		.shards = 3, .placed = 27, .pending = 5, .conflicts = 43, .rate = 12.4};
	char text[PROGRESS_TEXT_MAX];

	placing_stats_text(&stats, text);
	T_STR(text, "3 shards: 27 pods placed, 5 pending, 12 placements/s, 43 conflicts");
	stats.total = 32;
	placing_stats_text(&stats, text);
	T_STR(text, "27 of 32 pods placed, 5 pending, 12 placements/s, 43 conflicts");
}
