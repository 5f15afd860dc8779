/* Ranging many keys by pages of 10,000, at one revision. */
#include <stdio.h>
#include <string.h>

#include "bench/store/bench.h"

enum { PAGE = 10000, LOAD_BATCH = 500, VALUE_SIZE = 256, KEY_SIZE = 48 };

static void load_keys(struct store_bench *bench, unsigned from, unsigned to)
{
	char value[VALUE_SIZE];

	memset(value, 'r', sizeof value);
	while (from < to) {
		struct kv_req *puts, req;
		unsigned count = to - from < LOAD_BATCH ? to - from : LOAD_BATCH;

		pl_arena_reset(&bench->live.arena);
		puts = pl_arena_zalloc(&bench->live.arena, count, sizeof *puts);
		for (unsigned i = 0; i < count; i++)
			puts[i] = kv_op_put(
				pl_span_str(pl_arena_printf(&bench->live.arena,
			                                    "/range/%08u", from + i)),
				pl_span(value, sizeof value));
		req = (struct kv_req){.op = KV_TXN,
		                      .txn = {.then = puts, .then_count = count}};
		live_call(&bench->live, &req, NULL);
		from += count;
	}
}

/* All keys below to, page by page. */
struct walk {
	struct store_bench *bench;
	char from[KEY_SIZE], to[KEY_SIZE];
	int64_t revision;
	uint64_t keys;
	bool more;
};

static bool next_page(void *ctx, unsigned slot, struct kv_req *req)
{
	struct walk *walk = ctx;

	(void)slot;
	*req = kv_op_get(kv_range(pl_span_str(walk->from), pl_span_str(walk->to)));
	req->get.limit = PAGE;
	req->get.revision = walk->revision;
	return walk->more;
}

static void page_here(void *ctx, unsigned slot, const struct kv_result *result)
{
	struct walk *walk = ctx;
	const struct kv_record *last = &result->get.records[result->get.count - 1];

	(void)slot;
	walk->keys += result->get.count;
	walk->more = result->get.more;
	if (walk->revision == 0)
		walk->revision = result->header.revision;
	(void)snprintf(walk->from, KEY_SIZE, "%.*s!", (int)last->key.len,
	               (const char *)last->key.at);
}

static void range_case(struct store_bench *bench, unsigned keys)
{
	struct walk walk = {.bench = bench, .from = "/range/", .more = true};
	struct pump pump = {.live = &bench->live,
	                    .inflight = 1,
	                    .next = next_page,
	                    .answered = page_here,
	                    .ctx = &walk};
	char fields[96];

	(void)snprintf(walk.to, sizeof walk.to, "/range/%08u", keys);
	pump_run(&pump);
	if (walk.keys != keys)
		bench_check(PL_CORRUPT, NULL, "the number of keys");
	(void)snprintf(fields, sizeof fields, "\"op\":\"range\",\"keys\":%u,\"page\":%d",
	               keys, PAGE);
	bench_emit(fields, "range_keys_per_s", keys / pump.measure.wall_s, "1/s");
	meter_emit(&pump.measure, fields);
}

void bench_ranges(struct store_bench *bench)
{
	load_keys(bench, 0, 10000);
	range_case(bench, 10000);
	load_keys(bench, 10000, 100000);
	range_case(bench, 100000);
}
