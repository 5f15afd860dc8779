#include <stdlib.h>

#include "coord/bulk/bulk_writer.h"
#include "shardsched/records/alloc.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"
#include "tests/support/coord/work/workload_int.h"

enum { SLOTS = 8, PER_TXN_MAX = 256 };

struct workload_writer {
	struct kv *kv;
	struct workload_spec workload;
	struct workload_range range;
	struct bulk_writer *writes;
	uint32_t next, end;
	struct pl_err err; /* the error from before the request was sent */
	workload_done_fn *done;
	void *ctx;
	struct txn_builder builder[BULK_SLOTS_MAX];
};

static bool write_fails(struct workload_writer *w, enum pl_code code, const char *what)
{
	pl_err_set(&w->err, code, "%s %u", what, w->next);
	bulk_cancel(w->writes, &w->err);
	return false;
}

static bool add_node(struct workload_writer *w, struct txn_builder *builder,
                     struct pl_arena *arena)
{
	char *cluster = pl_arena_alloc(arena, WORKLOAD_NAME_SIZE);
	char *name = pl_arena_alloc(arena, WORKLOAD_NAME_SIZE);
	char *json = workload_node_json(arena, w->next);
	static const char alloc[] = "{\"v\":1,\"generation\":1,\"used\":{}}";
	struct builder_node node;

	if (cluster == NULL || name == NULL || json == NULL)
		return write_fails(w, PL_NOMEM, "node");
	workload_node_cluster(w->next, cluster);
	workload_node_name(w->next, name);
	node = (struct builder_node){.cluster = pl_span_str(cluster),
	                             .name = pl_span_str(name)};
	if (partition_of_node(node.cluster, node.name, w->workload.partitions,
	                      &node.partition, NULL) != PL_OK)
		return write_fails(w, PL_INVALID, "node");
	return builder_put_node(builder, &node, 0, 0, pl_span_str(json),
	                        pl_span_str(alloc));
}

/* The pod is in no gang and has no rules, so its name decides its partition. */
static bool add_pod(struct workload_writer *w, struct txn_builder *builder,
                    struct pl_arena *arena)
{
	char *namespace = pl_arena_alloc(arena, WORKLOAD_NAME_SIZE);
	char *name = pl_arena_alloc(arena, WORKLOAD_NAME_SIZE);
	char *json = workload_pod_json(&w->workload, arena, w->next);
	struct builder_pod pod;

	if (namespace == NULL || name == NULL || json == NULL)
		return write_fails(w, PL_NOMEM, "pod");
	workload_pod_namespace(w->next, namespace);
	workload_pod_name(w->next, name);
	pod = (struct builder_pod){.namespace = pl_span_str(namespace),
	                           .name = pl_span_str(name)};
	if (partition_of_pod(pod.namespace, pod.name, w->workload.partitions,
	                     &pod.partition, NULL) != PL_OK)
		return write_fails(w, PL_INVALID, "pod");
	return builder_submit(builder, &pod, pod.partition, pl_span_str(json));
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct workload_writer *w = ctx;
	struct txn_builder *builder = &w->builder[slot];
	uint32_t first = w->next;

	builder_begin(builder, arena, kv_limits(w->kv));
	while (w->next < w->end && w->next - first < PER_TXN_MAX) {
		bool added = w->range.part == WORKLOAD_PART_NODES
		                     ? add_node(w, builder, arena)
		                     : add_pod(w, builder, arena);

		if (!added)
			break;
		w->next++;
	}
	if (builder->code != PL_OK)
		return write_fails(w, builder->code, "book");
	if (w->next == first)
		return false;
	builder_req(builder, req);
	return true;
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct workload_writer *w = ctx;
	struct builder_found found;

	if (result->txn.succeeded)
		return;
	if (!again || !builder_answer(&w->builder[slot], result, 0, &found) ||
	    found.verdict != BUILDER_OURS)
		(void)write_fails(w, PL_EXISTS, "it is there already, before");
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct workload_writer *w = ctx;
	workload_done_fn *done = w->done;
	void *done_ctx = w->ctx;

	free(w);
	done(done_ctx, err);
}

enum pl_code workload_write(struct kv *kv, const struct workload_spec *workload,
                            const struct workload_range *range, workload_done_fn *done,
                            void *ctx, struct pl_err *err)
{
	struct workload_writer *w = pl_calloc(1, sizeof *w);
	struct bulk_opts opts = {.slots = range->slots == 0 ? SLOTS : range->slots,
	                         .next = on_next,
	                         .answer = on_answer,
	                         .done = on_done,
	                         .ctx = w};
	enum pl_code code;

	if (w == NULL)
		return pl_err_set(err, PL_NOMEM, "workload");
	w->kv = kv;
	w->workload = *workload;
	w->range = *range;
	w->next = range->first;
	w->end = range->first + range->count;
	w->done = done;
	w->ctx = ctx;
	code = bulk_open(kv, &opts, &w->writes, err);
	if (code != PL_OK)
		free(w);
	return code;
}
