/*
 * A round: the allocs are read, who is there and is not leaving yet is asked to go, and a
 * moment passes. Whoever is bound between the cordon and our look is seen in the next.
 */
#include "coord/cli/nodes/drain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/session_pause.h"
#include "shardsched/records/alloc.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { ROUND_MS = 300, NODES_AT_ONCE = 16, WISHES_MAX = 1 << 20, SHOWN_MAX = 20 };

/* -- who is there ----------------------------------------------------------------------
 */

static enum pl_code alloc_key(const struct drain *drain, const struct drain_node *node,
                              struct keys_text *out, struct pl_err *err)
{
	struct keys_id id = {
		.kind = KEYS_ALLOC, .scope = node->cluster, .name = node->name};
	enum pl_code code =
		partition_of_node(node->cluster, node->name, drain->cli->meta.partitions,
	                          &id.partition, err);

	return code == PL_OK ? keys_build(&id, out, err) : code;
}

static enum pl_code add_request(struct drain *drain, const struct drain_node *node,
                                const struct alloc_pod *pod, struct pl_err *err)
{
	struct pod_request *grown = drain->wish;
	uint32_t cap = drain->wishes_cap == 0 ? 256 : drain->wishes_cap * 2;

	if (drain->wishes == drain->wishes_cap) {
		if (cap <= WISHES_MAX)
			grown = pl_realloc(drain->wish, cap * sizeof *grown);
		if (cap > WISHES_MAX || grown == NULL)
			return pl_err_set(err, PL_NOMEM, "keep the pods' names");
		drain->wish = grown;
		drain->wishes_cap = cap;
	}
	drain->wish[drain->wishes++] = (struct pod_request){
		.verb = POD_REQUEST_EVICT,
		.namespace = pod->namespace,
		.name = pod->name,
		.at = pod->partition,
		.ended = drain->force ? STATE_ENDED_GONE : STATE_ENDED_NOT,
		.reason = PL_SPAN_LIT("drained"),
		.cluster = node->cluster,
		.node = node->name};
	return PL_OK;
}

static enum pl_code apply_alloc(struct drain *drain, struct drain_node *node,
                                const struct kv_get_result *got, struct pl_err *err)
{
	struct alloc alloc = {0};
	enum pl_code code = PL_OK;

	if (got->count > 0) /* else the node is gone, and so are its pods */
		code = alloc_parse(got->records[0].value, &drain->arena, &alloc, err);
	if (code != PL_OK)
		return pl_err_wrap(err, "the alloc of " PL_SPAN_FMT "/" PL_SPAN_FMT,
		                   PL_SPAN_ARG(node->cluster), PL_SPAN_ARG(node->name));
	node->pods = alloc.pods;
	if (!node->counted)
		drain->total += alloc.pods;
	node->counted = true;
	for (uint32_t i = 0; i < alloc.pods && code == PL_OK; i++)
		if (drain->force || !alloc.pod[i].leaving)
			code = add_request(drain, node, &alloc.pod[i], err);
	return code;
}

static enum pl_code read_allocs(struct drain *drain, unsigned first, unsigned count,
                                struct pl_err *err)
{
	struct keys_text key[NODES_AT_ONCE];
	struct kv_req op[NODES_AT_ONCE];
	struct kv_req req = {.op = KV_TXN, .txn = {.then = op, .then_count = count}};
	struct kv_result result;
	enum pl_code code = PL_OK;

	for (unsigned i = 0; i < count && code == PL_OK; i++) {
		code = alloc_key(drain, &drain->node[first + i], &key[i], err);
		if (code == PL_OK)
			op[i] = kv_op_get(kv_key(keys_span(&key[i])));
	}
	if (code == PL_OK)
		code = store_session_call(drain->cli->session, &req, &result, err);
	for (unsigned i = 0; i < count && code == PL_OK; i++)
		code = apply_alloc(drain, &drain->node[first + i],
		                   &result.txn.results[i].get, err);
	return code;
}

static enum pl_code read_nodes(struct drain *drain, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	pl_arena_reset(&drain->arena);
	pl_arena_reset(&drain->cli->session->arena);
	drain->wishes = drain->next = 0;
	for (unsigned i = 0; i < drain->nodes && code == PL_OK; i += NODES_AT_ONCE) {
		unsigned left = drain->nodes - i;

		code = read_allocs(drain, i, left < NODES_AT_ONCE ? left : NODES_AT_ONCE,
		                   err);
	}
	return code;
}

/* -- to go -----------------------------------------------------------------------------
 */

static enum pl_code on_next(void *ctx, struct pod_request *out, struct pl_err *err)
{
	struct drain *drain = ctx;

	(void)err;
	if (drain->next == drain->wishes)
		return PL_NOTFOUND;
	*out = drain->wish[drain->next++];
	return PL_OK;
}

static void on_outcome(void *ctx, const struct pod_request *wish,
                       enum pod_request_outcome outcome, const char *why)
{
	struct drain *drain = ctx;

	if (outcome == POD_REQUEST_WITHHELD && drain->withheld++ == 0)
		(void)snprintf(drain->budget, sizeof drain->budget, "%s", why);
	if (outcome != POD_REQUEST_MALFORMED || drain->malformed++ > 0)
		return;
	progress_end(&drain->progress);
	print_message(PL_SPAN_FMT "/" PL_SPAN_FMT " can not be asked: %s",
	              PL_SPAN_ARG(wish->namespace), PL_SPAN_ARG(wish->name), why);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct drain *drain = ctx;

	drain->asking = NULL;
	if (err != NULL)
		drain->err = *err;
}

static enum pl_code request_evictions(struct drain *drain, struct pl_err *err)
{
	struct store_session *session = drain->cli->session;
	struct pod_request_opts opts = {.partitions = drain->cli->meta.partitions,
	                                .slots = 1,
	                                .past_budgets = drain->past_budgets,
	                                .timeout_ms = session->timeout_ms,
	                                .who = session->user,
	                                .next = on_next,
	                                .told = on_outcome,
	                                .done = on_done,
	                                .ctx = drain};
	enum pl_code code;

	drain->withheld = 0;
	code = pod_requests_open(session->kv, &opts, &drain->asking, err);

	while (code == PL_OK && drain->asking != NULL)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	if (code == PL_OK && drain->err.code != PL_OK) {
		*err = drain->err;
		code = err->code;
	}
	return code;
}

/* -- until they have -------------------------------------------------------------------
 */

static uint64_t now_ms(const struct drain *drain)
{
	return kv_now_ms(drain->cli->session->kv);
}

static uint64_t print_drained(struct drain *drain)
{
	unsigned drained = 0;
	uint64_t left = 0;

	for (unsigned i = 0; i < drain->nodes; i++) {
		struct drain_node *node = &drain->node[i];

		left += node->pods;
		drained += node->pods == 0;
		if (node->pods > 0 || node->drained)
			continue;
		node->drained = true;
		progress_end(&drain->progress);
		(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " drained\n",
		             PL_SPAN_ARG(node->cluster), PL_SPAN_ARG(node->name));
		(void)fflush(stdout);
	}
	if (left > drain->total)
		drain->total = left;
	if (drain->withheld > 0)
		progress_print(&drain->progress, now_ms(drain),
		               "%u of %u nodes drained, %" PRIu64 " of %" PRIu64
		               " pods have left, %" PRIu64 " wait for budget %s",
		               drained, drain->nodes, drain->total - left, drain->total,
		               drain->withheld, drain->budget);
	else
		progress_print(&drain->progress, now_ms(drain),
		               "%u of %u nodes drained, %" PRIu64 " of %" PRIu64
		               " pods have left",
		               drained, drain->nodes, drain->total - left, drain->total);
	return left;
}

static enum pl_code timeout_error(const struct drain *drain, uint64_t left,
                                  struct pl_err *err)
{
	if (drain->withheld > 0)
		return pl_err_set(err, PL_TIMEOUT,
		                  "%" PRIu64 " pods are still there; %" PRIu64
		                  " wait for budget %s%s",
		                  left, drain->withheld, drain->budget,
		                  drain->past_budgets ? " to be counted"
		                                      : ", or --ignore-budgets");
	return pl_err_set(err, PL_TIMEOUT, "%" PRIu64 " pods are still there; %s", left,
	                  drain->force ? "is any shard running?"
	                               : "their members have to say that "
	                                 "they have ended, or --force");
}

static enum pl_code run_rounds(struct drain *drain, struct pl_err *err)
{
	for (;;) {
		enum pl_code code = read_nodes(drain, err);
		uint64_t left;

		if (code != PL_OK)
			return code;
		left = print_drained(drain);
		if (left == 0)
			return PL_OK;
		if (drain->end_ms != 0 && now_ms(drain) >= drain->end_ms)
			return timeout_error(drain, left, err);
		code = request_evictions(drain, err);
		if (code == PL_OK)
			code = session_pause(drain->cli->session, ROUND_MS, err);
		if (code != PL_OK)
			return code;
	}
}

static void print_requests(const struct drain *drain)
{
	for (uint32_t i = 0; i < drain->wishes && i < SHOWN_MAX; i++) {
		const struct pod_request *wish = &drain->wish[i];

		(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " would go from " PL_SPAN_FMT
		                         "/" PL_SPAN_FMT "\n",
		             PL_SPAN_ARG(wish->namespace), PL_SPAN_ARG(wish->name),
		             PL_SPAN_ARG(wish->cluster), PL_SPAN_ARG(wish->node));
	}
	if (drain->wishes > SHOWN_MAX)
		(void)printf("and %" PRIu32 " more\n", drain->wishes - SHOWN_MAX);
}

enum pl_code drain_print_plan(struct drain *drain, struct pl_err *err)
{
	enum pl_code code;

	pl_arena_init(&drain->arena, 0, 0);
	code = read_nodes(drain, err);
	if (code == PL_OK)
		print_requests(drain);
	free(drain->wish);
	pl_arena_done(&drain->arena);
	return code;
}

enum pl_code drain_run(struct drain *drain, struct pl_err *err)
{
	enum pl_code code;

	pl_arena_init(&drain->arena, 0, 0);
	progress_init(&drain->progress, now_ms(drain));
	if (drain->timeout_ms > 0)
		drain->end_ms = now_ms(drain) + drain->timeout_ms;
	code = run_rounds(drain, err);
	progress_end(&drain->progress);
	free(drain->wish);
	pl_arena_done(&drain->arena);
	return code;
}
