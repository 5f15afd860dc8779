/*
 * The ceiling: a fresh etcd with the same nodes and pods, and one client that does
 * nothing but send transactions as large as the shards' were: states, allocs, fences.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/e2e/e2e.h"
#include "coord/writes/writes.h"
#include "shardsched/ledger/book.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { PAGE_KEYS = 5000, KEY_SIZE = 32 };

struct ceiling {
	const struct e2e_opts *opts;
	struct e2e_store store;
	uint32_t pods, nodes, fences; /* in a transaction */
	uint32_t inflight;
	int64_t *spec_rev, *alloc_rev; /* by pod, by node */
	int64_t *owner_rev;            /* by partition */
	uint32_t next_pod, next_node;
	uint32_t first_node[WRITES_SLOTS_MAX];
	struct book book[WRITES_SLOTS_MAX];
	char *state, *alloc; /* values */
	size_t state_len, alloc_len;
	bool done;
};

static void *room(size_t count, size_t size)
{
	void *at = calloc(count == 0 ? 1 : count, size);

	e2e_check(at == NULL ? PL_NOMEM : PL_OK, NULL, "ceiling");
	return at;
}

/* -- what stands there -------------------------------------------------------------- */

struct listing {
	struct ceiling *c;
	struct keys_text from;
	bool more;
};

static void take_page(void *ctx, const struct kv_result *result)
{
	struct listing *listing = ctx;
	const struct kv_get_result *get = &result->get;
	struct keys_id id;
	uint32_t number;

	listing->more = get->more;
	for (size_t i = 0; i < get->count; i++) {
		const struct kv_record *record = &get->records[i];

		e2e_check(keys_parse(record->key, &id, NULL), NULL, "a key");
		if (id.kind == KEYS_ALLOC && crowd_node_of(id.name, &number))
			listing->c->alloc_rev[number] = record->mod_revision;
		else if (id.kind == KEYS_SPEC && crowd_pod_of(id.name, &number))
			listing->c->spec_rev[number] = record->mod_revision;
		memcpy(listing->from.at, record->key.at, record->key.len);
		listing->from.at[record->key.len] = 0;
		listing->from.len = record->key.len + 1;
	}
}

static void list(struct ceiling *c, const char *prefix, const char *end)
{
	struct listing listing = {.c = c, .from = {.len = strlen(prefix)}};

	memcpy(listing.from.at, prefix, listing.from.len);
	do {
		struct kv_req req =
			kv_op_get((struct kv_keys){.kind = KV_RANGE,
		                                   .from = keys_span(&listing.from),
		                                   .to = pl_span_str(end)});

		req.get.limit = PAGE_KEYS;
		req.get.keys_only = true;
		store_call(&c->store, &req, take_page, &listing);
	} while (listing.more);
}

static void take_revision(void *ctx, const struct kv_result *result)
{
	*(int64_t *)ctx = result->header.revision;
}

static struct keys_text owner_key(uint32_t partition)
{
	struct keys_id id = {.kind = KEYS_OWNER, .partition = partition};
	struct keys_text key;

	e2e_check(keys_build(&id, &key, NULL), NULL, "a key");
	return key;
}

static void put_owners(struct ceiling *c)
{
	for (uint32_t p = 0; p < c->opts->crowd.partitions; p++) {
		struct keys_text key = owner_key(p);
		struct kv_req put = kv_op_put(
			keys_span(&key), PL_SPAN_LIT("{\"v\":1,\"shard\":\"east-0\"}"));

		store_call(&c->store, &put, take_revision, &c->owner_rev[p]);
	}
}

/* -- the transactions --------------------------------------------------------------- */

static bool add_pod(struct ceiling *c, struct book *book, uint32_t number)
{
	char space[CROWD_NAME_SIZE], name[CROWD_NAME_SIZE];
	struct book_decided decided = {.spec_rev = c->spec_rev[number],
	                               .state = pl_span(c->state, c->state_len)};

	crowd_pod_space(number, space);
	crowd_pod_name(number, name);
	decided.pod.space = pl_span_str(space);
	decided.pod.name = pl_span_str(name);
	e2e_check(partition_of_pod(decided.pod.space, decided.pod.name,
	                           c->opts->crowd.partitions, &decided.pod.partition,
	                           NULL),
	          NULL, "a pod");
	return book_put_state(book, &decided);
}

static bool add_node(struct ceiling *c, struct book *book, uint32_t number)
{
	char cluster[CROWD_NAME_SIZE], name[CROWD_NAME_SIZE];
	struct book_node node;

	crowd_node_cluster(number, cluster);
	crowd_node_name(number, name);
	node.cluster = pl_span_str(cluster);
	node.name = pl_span_str(name);
	e2e_check(partition_of_node(node.cluster, node.name, c->opts->crowd.partitions,
	                            &node.partition, NULL),
	          NULL, "a node");
	return book_put_alloc(book, &node, c->alloc_rev[number],
	                      pl_span(c->alloc, c->alloc_len));
}

/* What the guard adds. */
static void add_fences(struct ceiling *c, struct pl_arena *arena, struct kv_req *req)
{
	size_t had = req->txn.compare_count;
	struct kv_compare *all =
		pl_arena_zalloc(arena, had + (size_t)c->fences * 2, sizeof *all);

	if (all == NULL) {
		e2e_check(PL_NOMEM, NULL, "fences");
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

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct ceiling *c = ctx;
	struct book *book = &c->book[slot];
	uint32_t left = c->opts->crowd.pods - c->next_pod;
	uint32_t pods = left < c->pods ? left : c->pods;
	bool fits = true;

	if (pods == 0)
		return false;
	book_begin(book, arena, kv_limits(c->store.kv));
	for (uint32_t i = 0; i < pods && fits; i++)
		fits = add_pod(c, book, c->next_pod + i);
	c->first_node[slot] = c->next_node;
	for (uint32_t i = 0; i < c->nodes && fits; i++)
		fits = add_node(c, book, (c->next_node + i) % c->opts->crowd.nodes);
	e2e_check(fits ? PL_OK : PL_LIMIT, NULL, "a transaction of the ceiling");
	c->next_pod += pods;
	c->next_node = (c->next_node + c->nodes) % c->opts->crowd.nodes;
	book_req(book, req);
	add_fences(c, arena, req);
	return true;
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct ceiling *c = ctx;

	(void)again;
	e2e_check(result->txn.succeeded ? PL_OK : PL_CONFLICT, NULL,
	          "a placement that must succeed");
	for (uint32_t i = 0; i < c->nodes; i++)
		c->alloc_rev[(c->first_node[slot] + i) % c->opts->crowd.nodes] =
			result->header.revision;
}

static void on_done(void *ctx, const struct pl_err *err)
{
	e2e_check(err == NULL ? PL_OK : err->code, err, "ceiling");
	((struct ceiling *)ctx)->done = true;
}

static void set_sizes(struct ceiling *c, const struct e2e_sizes *sizes)
{
	uint32_t nodes = c->opts->crowd.nodes;

	c->inflight = sizes->inflight;
	c->pods = sizes->pods < 1 ? 1 : (uint32_t)(sizes->pods + 0.5);
	c->nodes = sizes->nodes < 1 ? 1 : (uint32_t)(sizes->nodes + 0.5);
	c->fences = sizes->fences < 1 ? 1 : (uint32_t)(sizes->fences + 0.5);
	/* A node is in one transaction at a time. */
	if (c->nodes * c->inflight > nodes)
		c->nodes = nodes / c->inflight;
	c->state_len = (size_t)sizes->state_bytes;
	c->alloc_len = (size_t)sizes->alloc_bytes;
	c->state = room(c->state_len, 1);
	c->alloc = room(c->alloc_len, 1);
	memset(c->state, 's', c->state_len);
	memset(c->alloc, 'a', c->alloc_len);
}

double ceiling_run(const struct e2e_opts *opts, const struct e2e_sizes *sizes)
{
	static struct ceiling c;
	struct writes_opts writes = {.slots = sizes->inflight,
	                             .next = on_next,
	                             .answer = on_answer,
	                             .done = on_done,
	                             .ctx = &c};
	struct writes *out = NULL;
	struct pl_err err = {0};
	double since, etcd_s, client_s;
	pid_t etcd;

	c = (struct ceiling){.opts = opts};
	set_sizes(&c, sizes);
	c.spec_rev = room(opts->crowd.pods, sizeof *c.spec_rev);
	c.alloc_rev = room(opts->crowd.nodes, sizeof *c.alloc_rev);
	c.owner_rev = room(opts->crowd.partitions, sizeof *c.owner_rev);
	store_up(&c.store, opts);
	store_write(&c.store, &opts->crowd, CROWD_PART_NODES);
	store_write(&c.store, &opts->crowd, CROWD_PART_PODS);
	put_owners(&c);
	list(&c, "/alloc/", "/alloc0");
	list(&c, "/schedules/", "/schedules0");
	etcd = etcd_launch_pid(c.store.launch, 0);
	etcd_s = e2e_cpu_s(etcd);
	client_s = e2e_cpu_s(0);
	since = e2e_now_s();
	e2e_check(writes_open(c.store.kv, &writes, &out, &err), &err, "ceiling");
	while (!c.done)
		(void)uv_run(&c.store.loop, UV_RUN_ONCE);
	since = e2e_now_s() - since;
	e2e_emit(opts, "ceiling_etcd_cpu_s", e2e_cpu_s(etcd) - etcd_s, "s");
	e2e_emit(opts, "ceiling_client_cpu_s", e2e_cpu_s(0) - client_s, "s");
	store_down(&c.store);
	free(c.spec_rev);
	free(c.alloc_rev);
	free(c.owner_rev);
	free(c.state);
	free(c.alloc);
	return opts->crowd.pods / since;
}
