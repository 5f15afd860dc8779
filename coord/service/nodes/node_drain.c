#include "coord/service/nodes/node_drain.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/service/base/sequence.h"
#include "coord/service/pods/pod_filter.h"
#include "shardsched/records/alloc.h"
#include "store/base/alloc.h"
#include "store/base/arena.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { NODES_AT_ONCE = 16, REQUESTS_MAX = 1 << 20 };

struct drained_node {
	uint32_t pods; /* as last read */
	bool counted, drained;
};

struct node_drain {
	const struct service *service;
	struct node_drain_opts opts;
	struct sequence sequence;
	struct drained_node *node;
	unsigned read;         /* nodes that were read in this round */
	struct pl_arena arena; /* of a round */
	struct pod_request *request;
	uint32_t requests, cap, next;
	struct pod_requests *evictions; /* NULL: not evicting */
	struct node_drain_status status;
	char budget[NODE_DRAIN_BUDGET_SIZE];
	bool reported_malformed;
	uint64_t end_ms;
};

static void on_allocs(void *ctx, const struct kv_result *result,
                      const struct pl_err *err);

static void drain_finish(struct node_drain *drain, const struct pl_err *err)
{
	drain->opts.done(drain->opts.ctx, &drain->status, err);
	sequence_done(&drain->sequence);
	pl_arena_done(&drain->arena);
	free(drain->request);
	free(drain->node);
	free(drain);
}

/* -- reading -------------------------------------------------------------- */

static enum pl_code alloc_key(const struct node_drain *drain, unsigned at,
                              struct keys_text *out, struct pl_err *err)
{
	const struct node_name *node = &drain->opts.nodes[at];
	struct keys_id id = {
		.kind = KEYS_ALLOC, .scope = node->cluster, .name = node->name};
	enum pl_code code =
		partition_of_node(node->cluster, node->name, drain->service->partitions,
	                          &id.partition, err);

	return code == PL_OK ? keys_build(&id, out, err) : code;
}

/* The allocs of some nodes in one transaction. */
static void read_allocs(struct node_drain *drain)
{
	unsigned left = drain->opts.node_count - drain->read;
	unsigned count = left < NODES_AT_ONCE ? left : NODES_AT_ONCE;
	struct keys_text key[NODES_AT_ONCE];
	struct kv_req op[NODES_AT_ONCE];
	const struct kv_req req = {.op = KV_TXN,
	                           .txn = {.then = op, .then_count = count}};
	struct pl_err err = {0};

	for (unsigned i = 0; i < count; i++) {
		if (alloc_key(drain, drain->read + i, &key[i], &err) != PL_OK) {
			drain_finish(drain, &err);
			return;
		}
		op[i] = kv_op_get(kv_key(keys_span(&key[i])));
	}
	sequence_send(&drain->sequence, &req, on_allocs);
}

static enum pl_code add_request(struct node_drain *drain, const struct node_name *node,
                                const struct alloc_pod *pod, struct pl_err *err)
{
	const struct pod_name name = {pl_arena_dup(&drain->arena, pod->namespace),
	                              pl_arena_dup(&drain->arena, pod->name)};
	struct pod_request *grown = drain->request;
	uint32_t cap = drain->cap == 0 ? 256 : drain->cap * 2;

	if (drain->requests == drain->cap) {
		if (cap <= REQUESTS_MAX)
			grown = pl_realloc(drain->request, cap * sizeof *grown);
		if (cap > REQUESTS_MAX || grown == NULL)
			return pl_err_set(err, PL_NOMEM, "keep the pods' names");
		drain->request = grown;
		drain->cap = cap;
	}
	if (name.namespace.at == NULL || name.name.at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods' names");
	drain->request[drain->requests++] = (struct pod_request){
		.verb = POD_REQUEST_EVICT,
		.namespace = name.namespace,
		.name = name.name,
		.at = pod->partition,
		.ended = drain->opts.force ? STATE_ENDED_GONE : STATE_ENDED_NOT,
		.reason = PL_SPAN_LIT("drained"),
		.cluster = node->cluster,
		.node = node->name};
	return PL_OK;
}

/* A node without an alloc is gone, and so are its pods. */
static enum pl_code apply_alloc(struct node_drain *drain, unsigned at,
                                const struct kv_get_result *got, struct pl_err *err)
{
	const struct node_name *name = &drain->opts.nodes[at];
	struct drained_node *node = &drain->node[at];
	struct alloc alloc = {0};
	enum pl_code code = PL_OK;

	if (got->count > 0)
		code = alloc_parse(got->records[0].value, &drain->arena, &alloc, err);
	if (code != PL_OK)
		return pl_err_wrap(err, "the alloc of " PL_SPAN_FMT "/" PL_SPAN_FMT,
		                   PL_SPAN_ARG(name->cluster), PL_SPAN_ARG(name->name));
	node->pods = alloc.pods;
	if (!node->counted)
		drain->status.total += alloc.pods;
	node->counted = true;
	for (uint32_t i = 0; i < alloc.pods && code == PL_OK; i++)
		if (drain->opts.force || !alloc.pod[i].leaving)
			code = add_request(drain, name, &alloc.pod[i], err);
	return code;
}

static void count_nodes(struct node_drain *drain)
{
	struct node_drain_status *status = &drain->status;

	status->left = status->drained = 0;
	for (unsigned i = 0; i < drain->opts.node_count; i++) {
		struct drained_node *node = &drain->node[i];

		status->left += node->pods;
		status->drained += node->pods == 0;
		if (node->pods > 0 || node->drained || drain->opts.dry_run)
			continue;
		node->drained = true;
		drain->opts.drained(drain->opts.ctx, &drain->opts.nodes[i]);
	}
	if (status->left > status->total)
		status->total = status->left;
}

/* -- evicting ------------------------------------------------------------- */

static void begin_round(struct node_drain *drain)
{
	pl_arena_reset(&drain->arena);
	drain->requests = drain->next = 0;
	drain->read = 0;
	read_allocs(drain);
}

static void on_paused(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)result;
	if (err != NULL)
		drain_finish(ctx, err);
	else
		begin_round(ctx);
}

static enum pl_code on_next(void *ctx, struct pod_request *out, struct pl_err *err)
{
	struct node_drain *drain = ctx;

	(void)err;
	if (drain->next == drain->requests)
		return PL_NOTFOUND;
	*out = drain->request[drain->next++];
	return PL_OK;
}

static void on_outcome(void *ctx, const struct pod_request *request,
                       enum pod_request_outcome outcome, const char *why)
{
	struct node_drain *drain = ctx;

	if (outcome == POD_REQUEST_WITHHELD && drain->status.withheld++ == 0)
		(void)snprintf(drain->budget, sizeof drain->budget, "%s", why);
	if (outcome != POD_REQUEST_MALFORMED || drain->reported_malformed)
		return;
	drain->reported_malformed = true;
	drain->opts.malformed(drain->opts.ctx, request, why);
}

static void on_evicted(void *ctx, const struct pl_err *err)
{
	struct node_drain *drain = ctx;

	drain->evictions = NULL;
	if (err != NULL)
		drain_finish(drain, err);
	else
		sequence_pause(&drain->sequence, NODE_DRAIN_ROUND_MS, on_paused);
}

static enum pl_code evict_pods(struct node_drain *drain, struct pl_err *err)
{
	const struct service *service = drain->service;
	const struct pod_request_opts opts = {.partitions = service->partitions,
	                                      .slots = 1,
	                                      .past_budgets = drain->opts.past_budgets,
	                                      .timeout_ms = service->timeout_ms,
	                                      .who = service->user,
	                                      .next = on_next,
	                                      .report = on_outcome,
	                                      .done = on_evicted,
	                                      .ctx = drain};

	drain->status.withheld = 0;
	return pod_requests_open(service->kv, &opts, &drain->evictions, err);
}

/* -- a round -------------------------------------------------------------- */

static void end_read(struct node_drain *drain)
{
	struct pl_err err = {0};

	count_nodes(drain);
	if (drain->opts.dry_run) {
		for (uint32_t i = 0; i < drain->requests; i++)
			drain->opts.wanted(drain->opts.ctx, &drain->request[i]);
		drain_finish(drain, NULL);
		return;
	}
	drain->opts.progress(drain->opts.ctx, &drain->status);
	if (drain->status.left == 0) {
		drain_finish(drain, NULL);
	} else if (drain->end_ms != 0 && kv_now_ms(drain->service->kv) >= drain->end_ms) {
		drain->status.time_up = true;
		(void)pl_err_set(&err, PL_TIMEOUT, "some pods are still there");
		drain_finish(drain, &err);
	} else if (evict_pods(drain, &err) != PL_OK) {
		drain_finish(drain, &err);
	}
}

static void on_allocs(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct node_drain *drain = ctx;
	struct pl_err why = {0};
	enum pl_code code = PL_OK;

	if (err != NULL) {
		drain_finish(drain, err);
		return;
	}
	for (size_t i = 0; i < result->txn.count && code == PL_OK; i++)
		code = apply_alloc(drain, drain->read + (unsigned)i,
		                   &result->txn.results[i].get, &why);
	drain->read += (unsigned)result->txn.count;
	if (code != PL_OK)
		drain_finish(drain, &why);
	else if (drain->read < drain->opts.node_count)
		read_allocs(drain);
	else
		end_read(drain);
}

/* -- life ----------------------------------------------------------------- */

enum pl_code node_drain_start(const struct service *service,
                              const struct node_drain_opts *opts, struct node_drain **out,
                              struct pl_err *err)
{
	struct node_drain *drain = pl_calloc(1, sizeof *drain);

	PL_ASSERT(opts->node_count > 0);
	if (drain != NULL)
		drain->node = pl_calloc(opts->node_count, sizeof *drain->node);
	if (drain == NULL || drain->node == NULL) {
		free(drain);
		return pl_err_set(err, PL_NOMEM, "drain");
	}
	drain->service = service;
	drain->opts = *opts;
	drain->status.nodes = opts->node_count;
	drain->status.budget = drain->budget;
	if (opts->timeout_ms > 0)
		drain->end_ms = kv_now_ms(service->kv) + opts->timeout_ms;
	if (sequence_init(&drain->sequence, service->kv, service->timeout_ms, drain,
	                  err) != PL_OK) {
		free(drain->node);
		free(drain);
		return err->code;
	}
	pl_arena_init(&drain->arena, 0, 0);
	sequence_pause(&drain->sequence, 0, on_paused);
	*out = drain;
	return PL_OK;
}

void node_drain_cancel(struct node_drain *drain)
{
	sequence_cancel(&drain->sequence);
	if (drain->evictions != NULL)
		pod_requests_cancel(drain->evictions);
}
