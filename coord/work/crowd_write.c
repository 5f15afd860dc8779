#include <stdlib.h>

#include "coord/work/crowd_int.h"
#include "coord/writes/writes.h"
#include "shardsched/ledger/alloc.h"
#include "shardsched/ledger/book.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"

enum { SLOTS = 8, PER_TXN_MAX = 256 };

struct writer {
	struct kv *kv;
	struct crowd crowd;
	struct crowd_range range;
	struct writes *writes;
	uint32_t next, end;
	struct pl_err err; /* what went wrong before it was sent */
	crowd_done_fn *done;
	void *ctx;
	struct book book[WRITES_SLOTS_MAX];
};

static bool fails(struct writer *w, enum pl_code code, const char *what)
{
	pl_err_set(&w->err, code, "%s %u", what, w->next);
	writes_cancel(w->writes, &w->err);
	return false;
}

static bool add_node(struct writer *w, struct book *book, struct pl_arena *arena)
{
	char *cluster = pl_arena_alloc(arena, CROWD_NAME_SIZE);
	char *name = pl_arena_alloc(arena, CROWD_NAME_SIZE);
	char *json = crowd_node_json(arena, w->next);
	static const char alloc[] = "{\"v\":1,\"generation\":1,\"used\":{}}";
	struct book_node node;

	if (cluster == NULL || name == NULL || json == NULL)
		return fails(w, PL_NOMEM, "node");
	crowd_node_cluster(w->next, cluster);
	crowd_node_name(w->next, name);
	node = (struct book_node){.cluster = pl_span_str(cluster),
	                          .name = pl_span_str(name)};
	if (partition_of_node(node.cluster, node.name, w->crowd.partitions,
	                      &node.partition, NULL) != PL_OK)
		return fails(w, PL_INVALID, "node");
	return book_put_node(book, &node, 0, 0, pl_span_str(json), pl_span_str(alloc));
}

/* Its name decides: it is in no gang and judged alone. */
static bool add_pod(struct writer *w, struct book *book, struct pl_arena *arena)
{
	char *space = pl_arena_alloc(arena, CROWD_NAME_SIZE);
	char *name = pl_arena_alloc(arena, CROWD_NAME_SIZE);
	char *json = crowd_pod_json(&w->crowd, arena, w->next);
	struct book_pod pod;

	if (space == NULL || name == NULL || json == NULL)
		return fails(w, PL_NOMEM, "pod");
	crowd_pod_space(w->next, space);
	crowd_pod_name(w->next, name);
	pod = (struct book_pod){.space = pl_span_str(space), .name = pl_span_str(name)};
	if (partition_of_pod(pod.space, pod.name, w->crowd.partitions, &pod.partition,
	                     NULL) != PL_OK)
		return fails(w, PL_INVALID, "pod");
	return book_submit(book, &pod, pod.partition, pl_span_str(json));
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct writer *w = ctx;
	struct book *book = &w->book[slot];
	uint32_t first = w->next;

	book_begin(book, arena, kv_limits(w->kv));
	while (w->next < w->end && w->next - first < PER_TXN_MAX) {
		bool added = w->range.part == CROWD_PART_NODES ? add_node(w, book, arena)
		                                               : add_pod(w, book, arena);

		if (!added)
			break;
		w->next++;
	}
	if (book->code != PL_OK)
		return fails(w, book->code, "book");
	if (w->next == first)
		return false;
	book_req(book, req);
	return true;
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct writer *w = ctx;
	struct book_found found;

	if (result->txn.succeeded)
		return;
	if (!again || !book_answer(&w->book[slot], result, 0, &found) ||
	    found.verdict != BOOK_OURS)
		(void)fails(w, PL_EXISTS, "it is there already, before");
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct writer *w = ctx;
	crowd_done_fn *done = w->done;
	void *done_ctx = w->ctx;

	free(w);
	done(done_ctx, err);
}

enum pl_code crowd_write(struct kv *kv, const struct crowd *crowd,
                         const struct crowd_range *range, crowd_done_fn *done, void *ctx,
                         struct pl_err *err)
{
	struct writer *w = pl_calloc(1, sizeof *w);
	struct writes_opts opts = {.slots = range->slots == 0 ? SLOTS : range->slots,
	                           .next = on_next,
	                           .answer = on_answer,
	                           .done = on_done,
	                           .ctx = w};
	enum pl_code code;

	if (w == NULL)
		return pl_err_set(err, PL_NOMEM, "crowd");
	w->kv = kv;
	w->crowd = *crowd;
	w->range = *range;
	w->next = range->first;
	w->end = range->first + range->count;
	w->done = done;
	w->ctx = ctx;
	code = writes_open(kv, &opts, &w->writes, err);
	if (code != PL_OK)
		free(w);
	return code;
}
