/* Single puts, and transactions of compare+put pairs on keys of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/store/bench.h"

enum {
	VALUE_SIZE = 256,
	KEY_SIZE = 48,
	PUT_KEYS = 512,
	PAIRS_MAX = 512,
	INFLIGHT_MAX = 256,
	SAMPLES = 1 << 20,
};

static char value[VALUE_SIZE];

/* -- puts ------------------------------------------------------------------ */

struct puts {
	struct store_bench *bench;
	uint64_t count;
	char key[INFLIGHT_MAX][KEY_SIZE];
};

static bool next_put(void *ctx, unsigned slot, struct kv_req *req)
{
	struct puts *puts = ctx;
	int len = snprintf(puts->key[slot], KEY_SIZE, "/bench/put/%06u",
	                   (unsigned)(puts->count++ % PUT_KEYS));

	*req = kv_op_put(pl_span(puts->key[slot], (size_t)len),
	                 pl_span(value, VALUE_SIZE));
	return true;
}

static void puts_case(struct store_bench *bench, unsigned inflight)
{
	static struct puts puts;
	struct samples latency;
	struct pump pump = {.live = &bench->live,
	                    .inflight = inflight,
	                    .seconds = bench->opts->seconds,
	                    .next = next_put,
	                    .ctx = &puts,
	                    .latency = &latency};
	char fields[128];

	puts = (struct puts){.bench = bench};
	samples_init(&latency, SAMPLES);
	pump_run(&pump);
	(void)snprintf(fields, sizeof fields, "\"op\":\"put\",\"inflight\":%u", inflight);
	bench_emit(fields, "puts_per_s", (double)pump.calls / pump.measure.wall_s, "1/s");
	samples_emit(&latency, fields, "");
	meter_emit(&pump.measure, fields);
	samples_done(&latency);
}

/* A fresh etcd each: the versions that one case leaves behind cost the next a
 * fifth of its rate. */
void bench_puts(const struct store_bench_opts *opts)
{
	static const unsigned inflight[] = {1, 16, 64, 256};
	struct store_bench bench;

	memset(value, 'v', sizeof value);
	for (unsigned i = 0; i < 4; i++) {
		bench_open(&bench, opts, false);
		puts_case(&bench, inflight[i]);
		bench_emit_server(&bench, "put");
		bench_close(&bench);
	}
}

/* -- pairs ----------------------------------------------------------------- */

/* A slot owns its keys, so every compare holds; they are written for ever. */
struct pairs {
	struct store_bench *bench;
	unsigned pairs;
	int64_t revision
		[16]; /* mod revision of each of the slot's keys; 0: not created yet */
	char (*key)[KEY_SIZE];
};

static bool next_pairs(void *ctx, unsigned slot, struct kv_req *req)
{
	struct pairs *p = ctx;
	struct kv_compare *compares =
		pl_arena_alloc(&p->bench->live.arena, p->pairs * sizeof *compares);
	struct kv_req *puts =
		pl_arena_alloc(&p->bench->live.arena, p->pairs * sizeof *puts);

	for (unsigned i = 0; i < p->pairs; i++) {
		struct pl_span key = pl_span_str(p->key[slot * PAIRS_MAX + i]);

		compares[i] = kv_if_mod_rev(key, KV_EQ, p->revision[slot]);
		puts[i] = kv_op_put(key, pl_span(value, VALUE_SIZE));
	}
	*req = (struct kv_req){.op = KV_TXN,
	                       .txn = {.compares = compares,
	                               .compare_count = p->pairs,
	                               .then = puts,
	                               .then_count = p->pairs}};
	return true;
}

static void pairs_answered(void *ctx, unsigned slot, const struct kv_result *result)
{
	struct pairs *p = ctx;

	if (!result->txn.succeeded)
		bench_check(PL_CONFLICT, NULL, "a compare that must hold");
	p->revision[slot] = result->header.revision;
}

static double pairs_case(struct store_bench *bench, struct pairs *p, unsigned inflight,
                         const char *label)
{
	struct samples latency;
	struct pump pump = {.live = &bench->live,
	                    .inflight = inflight,
	                    .seconds = bench->opts->seconds,
	                    .next = next_pairs,
	                    .answered = pairs_answered,
	                    .ctx = p,
	                    .latency = &latency};
	static unsigned run;
	char fields[160];
	double rate;

	run++;
	for (unsigned i = 0; i < inflight * PAIRS_MAX; i++)
		(void)snprintf(p->key[i], KEY_SIZE, "/bench/pair/%u/%02u/%05u", run,
		               i / PAIRS_MAX, i % PAIRS_MAX);
	memset(p->revision, 0, sizeof p->revision);
	samples_init(&latency, SAMPLES);
	pump_run(&pump);
	rate = (double)pump.calls * p->pairs / pump.measure.wall_s;
	(void)snprintf(fields, sizeof fields,
	               "\"op\":\"txn\",\"pairs\":%u,\"inflight\":%u%s", p->pairs,
	               inflight, label);
	bench_emit(fields, "pairs_per_s", rate, "1/s");
	samples_emit(&latency, fields, "");
	meter_emit(&pump.measure, fields);
	samples_done(&latency);
	return rate;
}

void bench_pairs(struct store_bench *bench, const char *label, bool headline_only)
{
	static const unsigned sizes[] = {1, 8, 32, 128, 512}, inflight[] = {1, 4, 16};
	struct pairs p = {.bench = bench,
	                  .key = bench_alloc((size_t)16 * PAIRS_MAX, KEY_SIZE)};

	memset(value, 'v', sizeof value);
	for (unsigned i = 0; i < 5; i++)
		for (unsigned j = 0; j < 3; j++) {
			if (headline_only && (sizes[i] != 128 || inflight[j] != 4))
				continue;
			p.pairs = sizes[i];
			(void)pairs_case(bench, &p, inflight[j], label);
		}
	free(p.key);
}
