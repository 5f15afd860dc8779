/*
 * The ceiling: a fresh etcd with the same nodes and pods, and one client that does
 * nothing but send transactions as large as the shards' were: states, allocs, groups,
 * fences.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/report.h"
#include "bench/e2e/e2e.h"
#include "bench/live/fill.h"
#include "coord/bulk/bulk_writer.h"
#include "shardsched/records/pod_location.h"
#include "shardsched/records/txn_builder.h"
#include "store/keys/partition.h"

enum { INFLIGHT = 4, GROUPS_MAX = 64 };

struct ceiling {
	const struct race_opts *opts;
	struct live live;
	uint32_t pods, nodes, groups, fences; /* in a transaction */
	int64_t *spec_rev, *alloc_rev;        /* by pod, by node */
	uint32_t *home;                       /* by pod: its partition */
	int64_t *owner_rev;                   /* by partition */
	int64_t group_rev[INFLIGHT];          /* each slot has groups of its own */
	uint32_t next_pod;
	uint32_t next_node[INFLIGHT], first_node[INFLIGHT]; /* each has its own */
	struct txn_builder builder[INFLIGHT];
	char *state, *alloc, *group; /* values */
	size_t state_len, alloc_len, group_len;
	bool done;
};

/* -- content of the store ----------------------------------------------------------- */

static void take_key(void *ctx, const struct kv_record *record)
{
	struct ceiling *c = ctx;
	const struct load *load = &c->opts->load;
	bool is_pointer = false;
	struct keys_id id;
	uint32_t number, at;

	bench_check(keys_parse(record->key, &id, NULL), NULL, "a key");
	if (id.kind == KEYS_ALLOC && load_node_of(id.name, &number) &&
	    number < load->nodes)
		c->alloc_rev[number] = record->mod_revision;
	if (id.kind != KEYS_SPEC || !load_pod_of(id.name, &number) ||
	    number >= load->pods)
		return;
	if (record->value.len > 0)
		bench_check(pointer_parse(record->value, &is_pointer, &at, NULL), NULL,
		            "a pointer");
	if (is_pointer)
		return;
	c->spec_rev[number] = record->mod_revision;
	c->home[number] = id.partition;
}

static struct keys_text owner_key(uint32_t partition)
{
	struct keys_id id = {.kind = KEYS_OWNER, .partition = partition};
	struct keys_text key;

	bench_check(keys_build(&id, &key, NULL), NULL, "a key");
	return key;
}

static void put_owners(struct ceiling *c)
{
	for (uint32_t p = 0; p < c->opts->load.partitions; p++) {
		struct keys_text key = owner_key(p);
		struct kv_req put = kv_op_put(
			keys_span(&key), PL_SPAN_LIT("{\"v\":1,\"shard\":\"east-0\"}"));
		struct kv_result result;

		pl_arena_reset(&c->live.arena);
		live_call(&c->live, &put, &result);
		c->owner_rev[p] = result.header.revision;
	}
}

static void fill_store(struct ceiling *c, enum fill_what what)
{
	const struct fill_opts opts = {.load = c->opts->load, .what = what};
	struct child child;

	fill_run(&c->live, &opts, &child);
	child_done(&child);
}

/* -- the transactions --------------------------------------------------------------- */

static bool add_pod(struct ceiling *c, struct txn_builder *builder, uint32_t number)
{
	struct load_object object;
	struct builder_decision decided = {.spec_rev = c->spec_rev[number],
	                                   .state = pl_span(c->state, c->state_len)};

	load_pod(&c->opts->load, number, &object);
	decided.pod = (struct builder_pod){.partition = c->home[number],
	                                   .namespace = pl_span_str(object.scope),
	                                   .name = pl_span_str(object.name)};
	return builder_put_state(builder, &decided);
}

static bool add_node(struct ceiling *c, struct txn_builder *builder, uint32_t number)
{
	struct load_object object;
	struct builder_node node;

	load_node(&c->opts->load, number, &object);
	node.cluster = pl_span_str(object.scope);
	node.name = pl_span_str(object.name);
	bench_check(partition_of_node(node.cluster, node.name, c->opts->load.partitions,
	                              &node.partition, NULL),
	            NULL, "a node");
	return builder_put_alloc(builder, &node, c->alloc_rev[number],
	                         pl_span(c->alloc, c->alloc_len));
}

static bool add_group(struct ceiling *c, struct txn_builder *builder,
                      struct pl_arena *arena, unsigned slot, uint32_t number)
{
	char key[64];
	int len = snprintf(key, sizeof key, "/groups/bench/term-%u-%u", slot, number);

	return builder_put(builder, pl_arena_dup(arena, pl_span(key, (size_t)len)),
	                   c->group_rev[slot], pl_span(c->group, c->group_len));
}

/* The compares that the guard adds to every transaction of a shard. */
static void add_fences(struct ceiling *c, struct pl_arena *arena, struct kv_req *req)
{
	size_t had = req->txn.compare_count;
	struct kv_compare *all =
		pl_arena_zalloc(arena, had + (size_t)c->fences * 2, sizeof *all);

	if (all == NULL) {
		bench_check(PL_NOMEM, NULL, "fences");
		return;
	}
	memcpy(all, req->txn.compares, had * sizeof *all);
	for (uint32_t i = 0; i < c->fences; i++) {
		struct keys_text key = owner_key(i);
		struct pl_span span = pl_arena_dup(arena, keys_span(&key));

		all[had++] = kv_if_create_rev(span, KV_EQ, c->owner_rev[i]);
		all[had++] = kv_if_lease(span, KV_EQ, 0);
	}
	req->txn.compares = all;
	req->txn.compare_count = had;
}

/* A node is in one transaction at a time: slot s has nodes s, s + INFLIGHT, ... */
static uint32_t node_by_key(const struct ceiling *c, unsigned slot, uint32_t i)
{
	uint32_t each = c->opts->load.nodes / INFLIGHT;

	return (c->first_node[slot] + i) % each * INFLIGHT + slot;
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct ceiling *c = ctx;
	struct txn_builder *builder = &c->builder[slot];
	uint32_t left = c->opts->load.pods - c->next_pod;
	uint32_t pods = left < c->pods ? left : c->pods;
	bool fits = true;

	if (pods == 0)
		return false;
	builder_begin(builder, arena, kv_limits(c->live.kv));
	for (uint32_t i = 0; i < pods && fits; i++)
		fits = add_pod(c, builder, c->next_pod + i);
	c->first_node[slot] = c->next_node[slot];
	for (uint32_t i = 0; i < c->nodes && fits; i++)
		fits = add_node(c, builder, node_by_key(c, slot, i));
	for (uint32_t i = 0; i < c->groups && fits; i++)
		fits = add_group(c, builder, arena, slot, i);
	bench_check(fits ? PL_OK : PL_LIMIT, NULL, "a transaction of the ceiling");
	c->next_pod += pods;
	c->next_node[slot] += c->nodes;
	builder_req(builder, req);
	add_fences(c, arena, req);
	return true;
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct ceiling *c = ctx;

	(void)again;
	bench_check(result->txn.succeeded ? PL_OK : PL_CONFLICT, NULL,
	            "a placement that must succeed");
	c->group_rev[slot] = result->header.revision;
	for (uint32_t i = 0; i < c->nodes; i++)
		c->alloc_rev[node_by_key(c, slot, i)] = result->header.revision;
}

static void on_done(void *ctx, const struct pl_err *err)
{
	bench_check(err == NULL ? PL_OK : err->code, err, "ceiling");
	((struct ceiling *)ctx)->done = true;
}

static uint32_t rounded_mean(uint64_t sum, uint64_t count)
{
	return count == 0 ? 0 : (uint32_t)((sum + count / 2) / count);
}

static char *value_of(size_t len, char what)
{
	char *at = bench_alloc(len + 1, 1);

	memset(at, what, len);
	return at;
}

static void set_sizes(struct ceiling *c, const struct history *h)
{
	uint32_t nodes = c->opts->load.nodes;

	c->pods = rounded_mean(h->pods, h->txns);
	c->nodes = rounded_mean(h->allocs, h->txns);
	c->groups = rounded_mean(h->groups, h->txns);
	c->fences = rounded_mean(h->fences, h->txns);
	c->pods = c->pods == 0 ? 1 : c->pods;
	c->nodes = c->nodes == 0 ? 1 : c->nodes;
	c->fences = c->fences == 0 ? 1 : c->fences;
	if (c->groups > GROUPS_MAX)
		c->groups = GROUPS_MAX;
	if (c->nodes * INFLIGHT > nodes)
		c->nodes = nodes / INFLIGHT;
	c->state_len = rounded_mean(h->state_bytes, h->pods);
	c->alloc_len = rounded_mean(h->alloc_bytes, h->allocs);
	c->group_len = rounded_mean(h->group_bytes, h->groups);
	c->state = value_of(c->state_len, 's');
	c->alloc = value_of(c->alloc_len, 'a');
	c->group = value_of(c->group_len, 'g');
}

static void prepare_ceiling(struct ceiling *c)
{
	const struct load *load = &c->opts->load;
	bool keys_only = !load_has_groups(load);

	c->spec_rev = bench_alloc(load->pods, sizeof *c->spec_rev);
	c->home = bench_alloc(load->pods, sizeof *c->home);
	c->alloc_rev = bench_alloc(load->nodes, sizeof *c->alloc_rev);
	c->owner_rev = bench_alloc(load->partitions, sizeof *c->owner_rev);
	live_open(&c->live, &(struct live_opts){.dir = c->opts->dir});
	fill_store(c, FILL_NODES);
	fill_store(c, FILL_PODS);
	put_owners(c);
	live_each(&c->live, "/alloc/", true, take_key, c);
	live_each(&c->live, "/schedules/", keys_only, take_key, c);
}

static void finish_ceiling(struct ceiling *c)
{
	live_close(&c->live);
	free(c->spec_rev);
	free(c->home);
	free(c->alloc_rev);
	free(c->owner_rev);
	free(c->state);
	free(c->alloc);
	free(c->group);
	free(c);
}

double ceiling_run(const struct race_opts *opts, const struct history *history,
                   const char *fields)
{
	struct ceiling *c = bench_alloc(1, sizeof *c);
	struct bulk_opts writes = {.slots = INFLIGHT,
	                           .next = on_next,
	                           .answer = on_answer,
	                           .done = on_done,
	                           .ctx = c};
	struct bulk_writer *out = NULL;
	struct meter used;
	struct pl_err err = {0};

	bench_say("the ceiling");
	c->opts = opts;
	set_sizes(c, history);
	prepare_ceiling(c);
	meter_start(&used, &c->live);
	bench_check(bulk_open(c->live.kv, &writes, &out, &err), &err, "ceiling");
	while (!c->done)
		(void)uv_run(&c->live.loop, UV_RUN_ONCE);
	meter_end(&used, &c->live);
	bench_emit(fields, "ceiling_etcd_cpu_s", used.server_s, "s");
	bench_emit(fields, "ceiling_client_cpu_s", used.client_s, "s");
	finish_ceiling(c);
	return opts->load.pods / used.wall_s;
}
