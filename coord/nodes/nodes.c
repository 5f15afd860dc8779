/*
 * A slot of writes.h has so many nodes at a time, and goes on with them until each is
 * settled:
 *
 *	read (unless they are tried as new) --> change --> write
 *	                                          ^          | yes: told
 *	                                          +-- no ----+ what came back is news
 */
#include "coord/nodes/nodes.h"

#include <stdlib.h>

#include "coord/nodes/nodes_int.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"

enum {
	INFLIGHT_DEFAULT = 8,
	BATCH_MAX = 256,   /* nodes of a slot */
	OPS_DEFAULT = 128, /* etcd's own limit */
	TRIES_MAX = 20,    /* somebody changes it again and again */
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
	writes_cancel(nodes->writes, err);
}

void nodes_no_memory(struct nodes *nodes)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_NOMEM, "nodes");
	nodes_fail(nodes, &err);
}

static void settle(struct nodes *nodes, struct entry *entry, enum nodes_outcome outcome,
                   const struct pl_err *err)
{
	entry->settled = true;
	nodes->opts.told(nodes->opts.ctx, &entry->item, outcome, err);
}

/* -- which ------------------------------------------------------------------------- */

static void take(struct nodes *nodes, struct batch *batch, struct nodes_item item)
{
	struct entry *entry = &batch->entry[batch->count];
	struct pl_err err = {0};

	*entry = (struct entry){.known = nodes->opts.verb == NODES_APPLY &&
	                                 !nodes->opts.dry_run};
	if (!nodes_keep(batch, &item.cluster) || !nodes_keep(batch, &item.name) ||
	    !nodes_keep(batch, &item.json)) {
		nodes_no_memory(nodes);
		return;
	}
	entry->item = item;
	entry->node = (struct book_node){.cluster = item.cluster, .name = item.name};
	batch->count++;
	if (partition_of_node(item.cluster, item.name, nodes->opts.partitions,
	                      &entry->node.partition, &err) != PL_OK)
		settle(nodes, entry, NODES_REFUSED, &err);
}

static void refill(struct nodes *nodes, struct batch *batch)
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
			take(nodes, batch, item);
		else
			nodes->dry = true;
	}
}

static bool is_settled(const struct batch *batch)
{
	for (unsigned i = 0; i < batch->count; i++)
		if (!batch->entry[i].settled)
			return false;
	return true;
}

/* -- writing ----------------------------------------------------------------------- */

static bool add(struct book *book, struct entry *entry, const struct node_change *change)
{
	const struct node_seen *seen = &entry->seen;

	entry->number = book->entries;
	if (change->what == NODE_DELETE) {
		entry->wanted = NODES_DELETED;
		return book_delete_node(book, &entry->node, seen->node_rev,
		                        seen->alloc_rev);
	}
	entry->wanted = seen->node_rev == 0 ? NODES_CREATED : NODES_CHANGED;
	return book_put_node(book, &entry->node, seen->node_rev, seen->alloc_rev,
	                     change->node, change->alloc);
}

static void refuse_large(struct nodes *nodes, struct entry *entry)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_LIMIT, "it is larger than the store takes");
	settle(nodes, entry, NODES_REFUSED, &err);
}

/* What becomes of it, into the book if it is to be written. False: the book is full. */
static bool decide(struct nodes *nodes, struct batch *batch, struct pl_arena *arena,
                   struct entry *entry)
{
	struct node_change change = {0};
	struct pl_err err = {0};
	enum pl_code code = node_change(nodes->opts.verb, entry->item.json, &entry->seen,
	                                arena, &change, &err);

	if (code == PL_NOMEM) {
		nodes_no_memory(nodes);
		return false;
	}
	if (code != PL_OK || change.what == NODE_SAME) {
		settle(nodes, entry, code == PL_OK ? NODES_UNCHANGED : NODES_REFUSED,
		       code == PL_OK ? NULL : &err);
		return true;
	}
	entry->written = add(&batch->book, entry, &change);
	if (entry->written && nodes->opts.dry_run)
		settle(nodes, entry, entry->wanted, NULL);
	if (batch->book.code == PL_NOMEM)
		nodes_no_memory(nodes);
	if (batch->book.code != PL_LIMIT)
		return entry->written;
	refuse_large(nodes, entry);
	batch->book.code = PL_OK;
	return true;
}

/* False: nothing is to be written. */
static bool write(struct nodes *nodes, struct batch *batch, struct pl_arena *arena,
                  struct kv_req *req)
{
	bool room = true;

	book_begin(&batch->book, arena, kv_limits(nodes->kv));
	for (unsigned i = 0; i < batch->count; i++) {
		struct entry *entry = &batch->entry[i];

		entry->written = false;
		if (room && !entry->settled)
			room = decide(nodes, batch, arena, entry);
	}
	if (batch->book.entries == 0 || nodes->opts.dry_run)
		return false;
	book_req(&batch->book, req);
	return true;
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct nodes *nodes = ctx;
	struct batch *batch = &nodes->batch[slot];

	while (!nodes->failed) {
		if (is_settled(batch))
			refill(nodes, batch);
		if (batch->count == 0)
			return false;
		batch->reads = nodes_ask(nodes, batch, arena, req);
		if (batch->reads || write(nodes, batch, arena, req))
			return !nodes->failed;
	}
	return false;
}

/* -- answers ----------------------------------------------------------------------- */

static void take_newer(struct nodes *nodes, struct batch *batch, struct entry *entry,
                       const struct book_found *found)
{
	struct pl_err err;

	if (++entry->tries < TRIES_MAX) {
		nodes_take_seen(nodes, batch, entry, found->node, found->alloc);
		return;
	}
	(void)pl_err_set(&err, PL_CONFLICT, "somebody changes it again and again");
	settle(nodes, entry, NODES_REFUSED, &err);
}

/* ours: the request was applied, or may have been. Two who apply the same file write the
 * same bytes, so that what looks like ours is not always. */
static void take_found(struct nodes *nodes, struct batch *batch, struct entry *entry,
                       const struct book_found *found, bool ours)
{
	switch (found->verdict) {
	case BOOK_SAME:
		return;
	case BOOK_OURS:
		if (ours)
			settle(nodes, entry, entry->wanted, NULL);
		else
			take_newer(nodes, batch, entry, found);
		return;
	case BOOK_GONE:
		if (ours && entry->wanted == NODES_DELETED)
			settle(nodes, entry, NODES_DELETED, NULL);
		else
			take_newer(nodes, batch, entry, found);
		return;
	case BOOK_NEWER:
		take_newer(nodes, batch, entry, found);
		return;
	}
	PL_UNREACHABLE("verdict");
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct nodes *nodes = ctx;
	struct batch *batch = &nodes->batch[slot];
	struct book_found found;

	if (batch->reads) {
		nodes_take_reads(nodes, batch, &result->txn);
		return;
	}
	for (unsigned i = 0; i < batch->count; i++) {
		struct entry *entry = &batch->entry[i];

		if (!entry->written || entry->settled)
			continue;
		if (!book_answer(&batch->book, result, entry->number, &found)) {
			struct pl_err err;

			(void)pl_err_set(&err, PL_PROTO, "not the answer to a request");
			nodes_fail(nodes, &err);
			return;
		}
		take_found(nodes, batch, entry, &found, again || result->txn.succeeded);
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
		struct batch *batch = &nodes->batch[i];

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
	struct writes_opts writes = {.slots = inflight,
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
	writes.ctx = nodes;
	if (!batches_init(nodes))
		code = pl_err_set(err, PL_NOMEM, "nodes");
	if (code == PL_OK)
		code = writes_open(kv, &writes, &nodes->writes, err);
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
