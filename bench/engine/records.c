/*
 * The values that every commit writes: an alloc of so many pods, a state; and what it
 * costs to put a transaction together. Names are as replicas of Deployments have them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/engine/bench.h"
#include "shardsched/records/alloc.h"
#include "shardsched/records/pod_state.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/clock.h"

enum { POD_ROUNDS = 2000000, BUILDER_PLACEMENTS = 200000, PODS_MAX = 100 };

#define STAMP_MS INT64_C(1795251600000)

struct values {
	struct alloc alloc;
	struct alloc_pod pod[PODS_MAX];
	char name[PODS_MAX][40];
	struct pod_state state;
	struct pl_arena arena;
	struct pl_buf buf;
};

static void fill_values(struct values *values, unsigned pods)
{
	for (unsigned i = 0; i < pods; i++) {
		int len = snprintf(values->name[i], sizeof values->name[i],
		                   "web-%05u-5d78c9869d-x7k2p", i);

		values->pod[i] =
			(struct alloc_pod){.partition = i * 64 / pods,
		                           .namespace = PL_SPAN_LIT("default"),
		                           .name = pl_span(values->name[i], (size_t)len)};
	}
	values->alloc = (struct alloc){.generation = 1234,
	                               .used = {.cpu_milli = 4200,
	                                        .memory = 8589934592,
	                                        .pods = pods,
	                                        .nonzero_cpu_milli = 4300,
	                                        .nonzero_memory = 8799649792},
	                               .pod = values->pod,
	                               .pods = pods};
	values->state = (struct pod_state){
		.phase = STATE_BOUND,
		.uid = PL_SPAN_LIT("7c6e1c52-9f2e-4c3e-8a55-0f3f6d1f7a10"),
		.cluster = PL_SPAN_LIT("east"),
		.node = PL_SPAN_LIT("node-00017"),
		.shard = PL_SPAN_LIT("east-0"),
		.epoch = 123456,
		.attempts = 1,
		.since_ms = STAMP_MS};
}

enum op { ALLOC_PRINT, ALLOC_PARSE, STATE_PRINT, STATE_PARSE, OPS };

static const char *const op_names[OPS] = {"alloc-print", "alloc-parse", "state-print",
                                          "state-parse"};

static enum pl_code do_op(struct values *values, enum op op)
{
	struct alloc alloc;
	struct pod_state state;

	switch (op) {
	case ALLOC_PRINT:
		values->buf.len = 0;
		return alloc_print(&values->alloc, &values->buf, NULL);
	case STATE_PRINT:
		values->buf.len = 0;
		return state_print(&values->state, &values->buf, NULL);
	case ALLOC_PARSE:
		pl_arena_reset(&values->arena);
		return alloc_parse(pl_buf_span(&values->buf), &values->arena, &alloc,
		                   NULL);
	case STATE_PARSE:
		pl_arena_reset(&values->arena);
		return state_parse(pl_buf_span(&values->buf), &values->arena, &state,
		                   NULL);
	case OPS:
		break;
	}
	PL_UNREACHABLE("operation");
}

static void run_op(struct values *values, enum op op, unsigned pods)
{
	unsigned rounds = POD_ROUNDS / (pods + 10);
	enum pl_code code = PL_OK;
	char fields[128];
	uint64_t from = pl_clock_cpu_ns();

	for (unsigned i = 0; i < rounds && code == PL_OK; i++)
		code = do_op(values, op);
	from = pl_clock_cpu_ns() - from;
	bench_check(code, NULL, op_names[op]);
	(void)snprintf(fields, sizeof fields, "\"op\":\"%s\",\"pods\":%u,\"bytes\":%zu",
	               op_names[op], pods, values->buf.len);
	bench_emit(fields, "us_per_value", (double)from / 1e3 / rounds, "us");
}

/* A transaction of so many placements, each on a node of its own. */
static void run_book(struct values *values, unsigned placements)
{
	struct kv_limits limits = {.txn_ops = 4 * placements};
	unsigned rounds = BUILDER_PLACEMENTS / placements;
	struct pl_span value = pl_buf_span(&values->buf);
	bool whole = true;
	char fields[128];
	uint64_t from = pl_clock_cpu_ns();

	for (unsigned i = 0; i < rounds; i++) {
		struct txn_builder builder;

		pl_arena_reset(&values->arena);
		builder_begin(&builder, &values->arena, limits);
		for (unsigned n = 0; n < placements; n++) {
			struct pl_span name = values->pod[n % PODS_MAX].name;
			struct builder_decision pod = {
				{.partition = 3,
			         .namespace = PL_SPAN_LIT("default"),
			         .name = name},
				.spec_rev = 5,
				.state = value};
			struct builder_node node = {.partition = 7,
			                            .cluster = PL_SPAN_LIT("east"),
			                            .name = name};

			whole = whole && builder_put_state(&builder, &pod) &&
			        builder_put_alloc(&builder, &node, 9, value);
		}
	}
	from = pl_clock_cpu_ns() - from;
	bench_check(whole ? PL_OK : PL_LIMIT, NULL, "book");
	(void)snprintf(fields, sizeof fields, "\"op\":\"book\",\"pairs\":%u", placements);
	bench_emit(fields, "us_per_placement", (double)from / 1e3 / rounds / placements,
	           "us");
}

void bench_records(const struct engine_bench_opts *opts)
{
	static const unsigned pods[] = {1, 10, PODS_MAX};
	struct values *values = bench_alloc(1, sizeof *values);

	(void)opts;
	pl_arena_init(&values->arena, 65536, 0);
	pl_buf_init(&values->buf, ALLOC_BYTES_MAX);
	for (unsigned i = 0; i < sizeof pods / sizeof pods[0]; i++) {
		fill_values(values, pods[i]);
		run_op(values, ALLOC_PRINT, pods[i]);
		run_op(values, ALLOC_PARSE, pods[i]);
	}
	run_op(values, STATE_PRINT, 1);
	run_op(values, STATE_PARSE, 1);
	run_book(values, 128);
	run_book(values, 512);
	pl_buf_done(&values->buf);
	pl_arena_done(&values->arena);
	free(values);
}
