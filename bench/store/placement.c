/*
 * The transactions of real placement: what every commit of a shard carries.
 *
 * Submission creates the specs of distinct pods, many in a transaction. Placement
 * then compares, for each pod, its spec, its state (absent) and the alloc of a
 * node of its own, and once the partition's epoch; it puts the state and the
 * alloc. A node is in at most one transaction at a time. This is the ceiling
 * that a whole Placet is measured against.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/store/bench.h"

enum {
	PARTITION = 7,
	INFLIGHT = 4,
	SPEC_SIZE = 400,
	STATE_SIZE = 250,
	ALLOC_MAX = 4096,
	KEY_SIZE = 64,
	BATCH_MAX = 256,
	SAMPLES = 1 << 18,
};

static const char owner_key[] = "/partitions/0007/owner";
static char filler[ALLOC_MAX];

struct placement {
	struct store_bench *bench;
	unsigned batch;
	unsigned run; /* a namespace of its own for each */
	size_t alloc_size;
	unsigned next_pod;
	int64_t epoch;
	int64_t *spec_rev;   /* by pod */
	int64_t *alloc_rev;  /* by node */
	unsigned *next_node; /* by slot: each slot has nodes of its own */
	unsigned first_pod[INFLIGHT], first_node[INFLIGHT], taken[INFLIGHT];
};

static struct pl_span spec_key(struct placement *p, unsigned pod, const char *leaf)
{
	char *at = pl_arena_alloc(&p->bench->live.arena, KEY_SIZE);
	int len = snprintf(at, KEY_SIZE, "/schedules/%04u/ns-%u/pod-%07u/%s", PARTITION,
	                   p->run, pod, leaf);

	return pl_span(at, (size_t)len);
}

static struct pl_span alloc_key(struct placement *p, unsigned node)
{
	char *at = pl_arena_alloc(&p->bench->live.arena, KEY_SIZE);
	int len = snprintf(at, KEY_SIZE, "/alloc/%04u/cluster-a/node-%06u", PARTITION,
	                   node);

	return pl_span(at, (size_t)len);
}

static unsigned take_pods(struct placement *p, unsigned slot)
{
	unsigned left = p->bench->opts->pods - p->next_pod;
	unsigned count = left < p->batch ? left : p->batch;

	p->first_pod[slot] = p->next_pod;
	p->taken[slot] = count;
	p->next_pod += count;
	return count;
}

/* -- submission ------------------------------------------------------------- */

static bool next_submission(void *ctx, unsigned slot, struct kv_req *req)
{
	struct placement *p = ctx;
	unsigned count = take_pods(p, slot);
	struct kv_compare *compares =
		pl_arena_zalloc(&p->bench->live.arena, count, sizeof *compares);
	struct kv_req *puts = pl_arena_zalloc(&p->bench->live.arena, count, sizeof *puts);

	for (unsigned i = 0; i < count; i++) {
		struct pl_span key = spec_key(p, p->first_pod[slot] + i, "spec");

		compares[i] = kv_if_absent(key);
		puts[i] = kv_op_put(key, pl_span(filler, SPEC_SIZE));
	}
	*req = (struct kv_req){.op = KV_TXN,
	                       .txn = {.compares = compares,
	                               .compare_count = count,
	                               .then = puts,
	                               .then_count = count}};
	return count > 0;
}

static void on_submitted(void *ctx, unsigned slot, const struct kv_result *result)
{
	struct placement *p = ctx;

	if (!result->txn.succeeded)
		bench_check(PL_CONFLICT, NULL, "a submission that must succeed");
	for (unsigned i = 0; i < p->taken[slot]; i++)
		p->spec_rev[p->first_pod[slot] + i] = result->header.revision;
}

/* -- placement -------------------------------------------------------------- */

/* Slot s owns the nodes s, s + INFLIGHT, ...; a batch takes the next of them. */
static unsigned node_by_key(const struct placement *p, unsigned slot, unsigned i)
{
	unsigned per_slot = p->bench->opts->nodes / INFLIGHT;

	return (p->first_node[slot] + i) % per_slot * INFLIGHT + slot;
}

static void build_placement(struct placement *p, unsigned slot,
                            struct kv_compare *compares, struct kv_req *puts)
{
	for (size_t i = 0; i < p->taken[slot]; i++) {
		unsigned pod = p->first_pod[slot] + (unsigned)i;
		unsigned node = node_by_key(p, slot, (unsigned)i);
		struct pl_span state = spec_key(p, pod, "state"),
			       alloc = alloc_key(p, node);

		compares[i * 3] =
			kv_if_mod_rev(spec_key(p, pod, "spec"), KV_EQ, p->spec_rev[pod]);
		compares[i * 3 + 1] = kv_if_mod_rev(state, KV_EQ, 0);
		compares[i * 3 + 2] = kv_if_mod_rev(alloc, KV_EQ, p->alloc_rev[node]);
		puts[i * 2] = kv_op_put(state, pl_span(filler, STATE_SIZE));
		puts[i * 2 + 1] = kv_op_put(alloc, pl_span(filler, p->alloc_size));
	}
}

static bool next_placement(void *ctx, unsigned slot, struct kv_req *req)
{
	struct placement *p = ctx;
	unsigned count = take_pods(p, slot);
	size_t compare_count = (size_t)count * 3 + 1, put_count = (size_t)count * 2;
	struct kv_compare *compares =
		pl_arena_zalloc(&p->bench->live.arena, compare_count, sizeof *compares);
	struct kv_req *puts =
		pl_arena_zalloc(&p->bench->live.arena, put_count, sizeof *puts);

	p->first_node[slot] = p->next_node[slot];
	p->next_node[slot] += count;
	build_placement(p, slot, compares, puts);
	compares[compare_count - 1] =
		kv_if_create_rev(pl_span_str(owner_key), KV_EQ, p->epoch);
	*req = (struct kv_req){.op = KV_TXN,
	                       .txn = {.compares = compares,
	                               .compare_count = compare_count,
	                               .then = puts,
	                               .then_count = put_count}};
	return count > 0;
}

static void on_placed(void *ctx, unsigned slot, const struct kv_result *result)
{
	struct placement *p = ctx;

	if (!result->txn.succeeded)
		bench_check(PL_CONFLICT, NULL, "a placement that must succeed");
	for (unsigned i = 0; i < p->taken[slot]; i++)
		p->alloc_rev[node_by_key(p, slot, i)] = result->header.revision;
}

/* -- a run ------------------------------------------------------------------ */

static void run_half(struct placement *p, bool placing, const char *fields)
{
	struct samples latency;
	struct pump pump = {.live = &p->bench->live,
	                    .inflight = INFLIGHT,
	                    .next = placing ? next_placement : next_submission,
	                    .answered = placing ? on_placed : on_submitted,
	                    .ctx = p,
	                    .latency = &latency};

	samples_init(&latency, SAMPLES);
	p->next_pod = 0;
	pump_run(&pump);
	bench_emit(fields, placing ? "placements_per_s" : "pods_per_s",
	           p->bench->opts->pods / pump.measure.wall_s, "1/s");
	samples_emit(&latency, fields, "");
	meter_emit(&pump.measure, fields);
	samples_done(&latency);
}

static void create_node_locks(struct placement *p)
{
	struct kv_req put = kv_op_put(pl_span_str(owner_key), PL_SPAN_LIT("shard-1"));
	struct kv_result result;

	live_call(&p->bench->live, &put, &result);
	p->epoch = result.header.revision;
	for (unsigned node = 0; node < p->bench->opts->nodes; node++) {
		pl_arena_reset(&p->bench->live.arena);
		put = kv_op_put(alloc_key(p, node), pl_span(filler, p->alloc_size));
		live_call(&p->bench->live, &put, &result);
		p->alloc_rev[node] = result.header.revision;
	}
}

static void run_alloc_size(struct placement *p)
{
	static const unsigned batches[] = {64, 128, 256};
	const struct store_bench_opts *opts = p->bench->opts;

	create_node_locks(p);
	for (unsigned i = 0; i < 3; i++) {
		char fields[200];

		p->batch = batches[i];
		p->run++;
		(void)snprintf(
			fields, sizeof fields,
			"\"op\":\"submission\",\"pods\":%u,\"batch\":%u,\"inflight\":%d",
			opts->pods, p->batch, INFLIGHT);
		run_half(p, false, fields);
		(void)snprintf(
			fields, sizeof fields,
			"\"op\":\"placement\",\"nodes\":%u,\"pods\":%u,\"batch\":%u,"
			"\"alloc_bytes\":%zu,\"inflight\":%d",
			opts->nodes, opts->pods, p->batch, p->alloc_size, INFLIGHT);
		run_half(p, true, fields);
	}
}

void bench_placement(const struct store_bench_opts *opts)
{
	static const size_t alloc_sizes[] = {300, 1024, 4096};
	unsigned next_node[INFLIGHT] = {0};
	struct placement p = {.next_node = next_node};
	struct store_bench bench;

	memset(filler, 'f', sizeof filler);
	p.spec_rev = bench_alloc(opts->pods, sizeof *p.spec_rev);
	p.alloc_rev = bench_alloc(opts->nodes, sizeof *p.alloc_rev);
	for (unsigned i = 0; i < 3; i++) {
		/* A fresh etcd each: none works on what the one before left. */
		bench_open(&bench, opts, false);
		p.bench = &bench;
		p.alloc_size = alloc_sizes[i];
		run_alloc_size(&p);
		bench_emit_server(&bench, "placement");
		bench_close(&bench);
	}
	free(p.spec_rev);
	free(p.alloc_rev);
}
