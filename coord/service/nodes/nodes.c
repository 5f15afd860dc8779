/*
 * Each slot of bulk_writer.h has a batch of nodes and works on it until every node has
 * an outcome:
 *
 *	read (unless they are tried as new) --> change --> write
 *	                                          ^          | compares held: outcome
 *	                                          +-- not ---+ the answer has the node
 */
#include "coord/service/nodes/nodes.h"

#include <stdlib.h>

#include "coord/service/nodes/nodes_int.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"

enum {
	INFLIGHT_DEFAULT = 8,
	BATCH_MAX = 256,   /* nodes in a batch */
	OPS_DEFAULT = 128, /* the limit of etcd */
	TRIES_MAX = 20,    /* another client changes the node again and again */
	ARENA_CHUNK = 64 << 10,
	ARENA_MAX = 512 << 20,
};

static void nodes_free(struct nodes *nodes)
{
	for (unsigned i = 0; i < nodes->inflight; i++) {
		pl_arena_done(&nodes->batch[i].arena);
		free(nodes->batch[i].entry);
	}
	free(nodes);
}

static void on_end(void *ctx, const struct pl_err *err)
{
	struct nodes *nodes = ctx;
	void (*done)(void *, const struct pl_err *) = nodes->opts.done;
	void *user = nodes->opts.ctx;

	nodes_free(nodes);
	done(user, err);
}

void nodes_fail(struct nodes *nodes, const struct pl_err *err)
{
	nodes->dry = nodes->failed = true;
	bulk_cancel(nodes->writer, err);
}

void nodes_no_memory(struct nodes *nodes)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_NOMEM, "nodes");
	nodes_fail(nodes, &err);
}

static void finish_entry(struct nodes *nodes, struct node_entry *entry,
                         enum nodes_outcome outcome, const struct pl_err *err)
{
	PL_ASSERT(entry->state != ENTRY_SETTLED);
	entry->state = ENTRY_SETTLED;
	nodes->opts.report(nodes->opts.ctx, &entry->item, outcome, err);
}

/* -- entries ----------------------------------------------------------------------- */

static void add_entry(struct nodes *nodes, struct node_batch *batch,
                      struct nodes_item item)
{
	struct node_entry *entry = &batch->entry[batch->count];
	struct pl_err err = {0};

	*entry = (struct node_entry){0};
	if (nodes->opts.verb == NODES_APPLY && !nodes->opts.dry_run)
		entry->state = ENTRY_READ; /* tried as a new node first */
	if (!nodes_keep(batch, &item.cluster) || !nodes_keep(batch, &item.name) ||
	    !nodes_keep(batch, &item.json)) {
		nodes_no_memory(nodes);
		return;
	}
	entry->item = item;
	entry->node = (struct builder_node){.cluster = item.cluster, .name = item.name};
	batch->count++;
	if (partition_of_node(item.cluster, item.name, nodes->opts.partitions,
	                      &entry->node.partition, &err) != PL_OK)
		finish_entry(nodes, entry, NODES_REFUSED, &err);
}

static void refill_batch(struct nodes *nodes, struct node_batch *batch)
{
	batch->count = 0;
	pl_arena_reset(&batch->arena);
	while (!nodes->dry && batch->count < nodes->batch_max) {
		struct nodes_item item = {0};
		struct pl_err err = {0};
		bool more = false;

		if (nodes->opts.next(nodes->opts.ctx, &item, &more, &err) != PL_OK)
			nodes_fail(nodes, &err);
		else if (more)
			add_entry(nodes, batch, item);
		else
			nodes->dry = true;
	}
}

static bool is_settled(const struct node_batch *batch)
{
	for (unsigned i = 0; i < batch->count; i++)
		if (batch->entry[i].state != ENTRY_SETTLED)
			return false;
	return true;
}

/* -- writing ----------------------------------------------------------------------- */

static bool add_change(struct txn_builder *builder, struct node_entry *entry,
                       const struct node_change *change)
{
	const struct node_seen *seen = &entry->seen;

	entry->number = builder->entries;
	if (change->what == NODE_DELETE) {
		entry->wanted = NODES_DELETED;
		return builder_delete_node(builder, &entry->node, seen->node_rev,
		                           seen->alloc_rev);
	}
	entry->wanted = seen->node_rev == 0 ? NODES_CREATED : NODES_CHANGED;
	return builder_put_node(builder, &entry->node, seen->node_rev, seen->alloc_rev,
	                        change->node, change->alloc);
}

static void refuse_large(struct nodes *nodes, struct node_entry *entry)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_LIMIT, "it is larger than the store takes");
	finish_entry(nodes, entry, NODES_REFUSED, &err);
}

/* Decides what is done with the node; a change goes into the builder. False: the
 * builder is full. */
static bool decide_entry(struct nodes *nodes, struct node_batch *batch,
                         struct pl_arena *arena, struct node_entry *entry)
{
	struct node_change change = {0};
	bool fits;
	struct pl_err err = {0};
	enum pl_code code = node_change(nodes->opts.verb, entry->item.json, &entry->seen,
	                                arena, &change, &err);

	if (code == PL_NOMEM) {
		nodes_no_memory(nodes);
		return false;
	}
	if (code != PL_OK || change.what == NODE_SAME) {
		finish_entry(nodes, entry,
		             code == PL_OK ? NODES_UNCHANGED : NODES_REFUSED,
		             code == PL_OK ? NULL : &err);
		return true;
	}
	fits = add_change(&batch->builder, entry, &change);
	if (fits)
		entry->state = ENTRY_WRITTEN;
	if (fits && nodes->opts.dry_run)
		finish_entry(nodes, entry, entry->wanted, NULL);
	if (batch->builder.code == PL_NOMEM)
		nodes_no_memory(nodes);
	if (batch->builder.code != PL_LIMIT)
		return fits;
	refuse_large(nodes, entry);
	batch->builder.code = PL_OK;
	return true;
}

/* False: there is nothing to write. */
static bool write_batch(struct nodes *nodes, struct node_batch *batch,
                        struct pl_arena *arena, struct kv_req *req)
{
	bool room = true;

	builder_begin(&batch->builder, arena, kv_limits(nodes->kv));
	for (unsigned i = 0; i < batch->count; i++) {
		struct node_entry *entry = &batch->entry[i];

		if (entry->state == ENTRY_WRITTEN)
			entry->state = ENTRY_READ;
		if (room && entry->state == ENTRY_READ)
			room = decide_entry(nodes, batch, arena, entry);
	}
	if (batch->builder.entries == 0 || nodes->opts.dry_run)
		return false;
	builder_req(&batch->builder, req);
	return true;
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct nodes *nodes = ctx;
	struct node_batch *batch = &nodes->batch[slot];

	while (!nodes->failed) {
		if (is_settled(batch))
			refill_batch(nodes, batch);
		if (batch->count == 0)
			return false;
		batch->reads = nodes_request(nodes, batch, arena, req);
		if (batch->reads || write_batch(nodes, batch, arena, req))
			return !nodes->failed;
	}
	return false;
}

/* -- answers ----------------------------------------------------------------------- */

static void apply_newer(struct nodes *nodes, struct node_batch *batch,
                        struct node_entry *entry, const struct builder_found *found)
{
	struct pl_err err;

	if (++entry->tries < TRIES_MAX) {
		nodes_apply_seen(nodes, batch, entry, found->node, found->alloc);
		return;
	}
	(void)pl_err_set(&err, PL_CONFLICT, "other clients keep changing it");
	finish_entry(nodes, entry, NODES_REFUSED, &err);
}

/* ours: the request was applied, or may have been. Two clients that apply the same
 * file write the same bytes, so a value that looks like ours may be another's. */
static void apply_found(struct nodes *nodes, struct node_batch *batch,
                        struct node_entry *entry, const struct builder_found *found,
                        bool ours)
{
	switch (found->verdict) {
	case BUILDER_SAME:
		return;
	case BUILDER_OURS:
		if (ours)
			finish_entry(nodes, entry, entry->wanted, NULL);
		else
			apply_newer(nodes, batch, entry, found);
		return;
	case BUILDER_GONE:
		if (ours && entry->wanted == NODES_DELETED)
			finish_entry(nodes, entry, NODES_DELETED, NULL);
		else
			apply_newer(nodes, batch, entry, found);
		return;
	case BUILDER_NEWER:
		apply_newer(nodes, batch, entry, found);
		return;
	}
	PL_UNREACHABLE("verdict");
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct nodes *nodes = ctx;
	struct node_batch *batch = &nodes->batch[slot];
	struct builder_found found;

	if (batch->reads) {
		nodes_apply_reads(nodes, batch, &result->txn);
		return;
	}
	for (unsigned i = 0; i < batch->count; i++) {
		struct node_entry *entry = &batch->entry[i];

		if (entry->state != ENTRY_WRITTEN)
			continue;
		if (!builder_answer(&batch->builder, result, entry->number, &found)) {
			struct pl_err err;

			(void)pl_err_set(&err, PL_PROTO, "not the answer to a request");
			nodes_fail(nodes, &err);
			return;
		}
		apply_found(nodes, batch, entry, &found, again || result->txn.succeeded);
	}
}

/* -- life -------------------------------------------------------------------------- */

static unsigned batch_max(struct kv *kv)
{
	unsigned ops = kv_limits(kv).txn_ops;
	unsigned most = (ops == 0 ? OPS_DEFAULT : ops) / OPS_OF_A_NODE;

	if (most > BATCH_MAX)
		most = BATCH_MAX;
	return most == 0 ? 1 : most;
}

static bool batches_init(struct nodes *nodes)
{
	for (unsigned i = 0; i < nodes->inflight; i++)
		pl_arena_init(&nodes->batch[i].arena, ARENA_CHUNK, ARENA_MAX);
	for (unsigned i = 0; i < nodes->inflight; i++) {
		struct node_batch *batch = &nodes->batch[i];

		batch->entry = pl_calloc(nodes->batch_max, sizeof *batch->entry);
		if (batch->entry == NULL)
			return false;
	}
	return true;
}

enum pl_code nodes_open(struct kv *kv, const struct nodes_opts *opts, struct nodes **out,
                        struct pl_err *err)
{
	unsigned inflight = opts->inflight == 0 ? INFLIGHT_DEFAULT : opts->inflight;
	struct bulk_opts writer = {.slots = inflight,
	                           .timeout_ms = opts->timeout_ms,
	                           .patience_ms = opts->patience_ms,
	                           .next = on_next,
	                           .answer = on_answer,
	                           .done = on_end};
	struct nodes *nodes;
	enum pl_code code = PL_OK;

	nodes = pl_calloc(1, sizeof *nodes + inflight * sizeof nodes->batch[0]);
	if (nodes == NULL)
		return pl_err_set(err, PL_NOMEM, "nodes");
	nodes->kv = kv;
	nodes->opts = *opts;
	nodes->inflight = inflight;
	nodes->batch_max = batch_max(kv);
	writer.ctx = nodes;
	if (!batches_init(nodes))
		code = pl_err_set(err, PL_NOMEM, "nodes");
	if (code == PL_OK)
		code = bulk_open(kv, &writer, &nodes->writer, err);
	if (code == PL_OK)
		*out = nodes;
	else
		nodes_free(nodes);
	return code;
}

void nodes_cancel(struct nodes *nodes)
{
	nodes_fail(nodes, NULL);
}
