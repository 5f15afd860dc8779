#include "coord/service/pods/pod_remove.h"

#include <inttypes.h>
#include <stdlib.h>

#include "coord/service/base/sequence.h"
#include "store/base/alloc.h"
#include "store/base/arena.h"
#include "store/base/clock.h"

/* Names of pods that budgets withhold. */
struct withheld_pods {
	struct pl_arena arena;
	struct pod_name *at;
	size_t count, cap;
};

struct pod_remove {
	const struct service *service;
	struct pod_remove_opts opts;
	struct sequence pause;
	struct pod_requests *requests;    /* NULL: between two rounds */
	struct withheld_pods withheld[2]; /* of the round before, and of this one */
	unsigned round;
	size_t next; /* of the round before */
	uint64_t end_ms;
	struct pl_err failure; /* of a callback; ends the removal after the round */
};

static struct withheld_pods *of_round(struct pod_remove *remove, unsigned round)
{
	return &remove->withheld[round % 2];
}

/* withheld: so many pods were withheld until the time was up. */
static void remove_finish(struct pod_remove *remove, uint64_t withheld,
                          const struct pl_err *err)
{
	struct pod_remove_opts opts = remove->opts;
	struct pl_err why = {0};

	if (err != NULL)
		why = *err;
	sequence_done(&remove->pause);
	for (unsigned i = 0; i < 2; i++) {
		pl_arena_done(&remove->withheld[i].arena);
		free(remove->withheld[i].at);
	}
	free(remove);
	opts.done(opts.ctx, withheld, err == NULL ? NULL : &why);
}

/* -- a round -------------------------------------------------------------- */

static enum pl_code on_next(void *ctx, struct pod_request *out, struct pl_err *err)
{
	struct pod_remove *remove = ctx;
	const struct withheld_pods *before = of_round(remove, remove->round + 1);
	struct pod_name pod;
	enum pl_code code = PL_OK;

	if (remove->failure.code != PL_OK) {
		*err = remove->failure;
		return err->code;
	}
	if (remove->round == 0)
		code = remove->opts.next(remove->opts.ctx, &pod, err);
	else if (remove->next == before->count)
		code = PL_NOTFOUND;
	else
		pod = before->at[remove->next++];
	if (code != PL_OK)
		return code;
	*out = (struct pod_request){.verb = remove->opts.verb,
	                            .namespace = pod.namespace,
	                            .name = pod.name,
	                            .at = POD_REQUEST_BY_NAME,
	                            .ended = remove->opts.force ? STATE_ENDED_GONE
	                                                        : STATE_ENDED_NOT};
	return PL_OK;
}

static bool keep_withheld(struct pod_remove *remove, const struct pod_request *request)
{
	struct withheld_pods *withheld = of_round(remove, remove->round);
	size_t cap = withheld->cap == 0 ? 64 : withheld->cap * 2;
	struct pod_name pod = {pl_arena_dup(&withheld->arena, request->namespace),
	                       pl_arena_dup(&withheld->arena, request->name)};
	struct pod_name *grown = withheld->at;

	if (withheld->count == withheld->cap)
		grown = pl_realloc(withheld->at, cap * sizeof *grown);
	if (grown == NULL || pod.namespace.at == NULL || pod.name.at == NULL)
		return false;
	withheld->cap = withheld->count == withheld->cap ? cap : withheld->cap;
	withheld->at = grown;
	withheld->at[withheld->count++] = pod;
	return true;
}

static void on_outcome(void *ctx, const struct pod_request *request,
                       enum pod_request_outcome outcome, const char *why)
{
	struct pod_remove *remove = ctx;
	const struct pod_name pod = {request->namespace, request->name};

	if (outcome == POD_REQUEST_WITHHELD && !keep_withheld(remove, request))
		(void)pl_err_set(&remove->failure, PL_NOMEM, "keep the pods' names");
	if (outcome != POD_REQUEST_WITHHELD || remove->round == 0)
		remove->opts.outcome(remove->opts.ctx, &pod, request->at, outcome, why);
}

static void on_paused(void *ctx, const struct kv_result *result,
                      const struct pl_err *err);

static void on_done(void *ctx, const struct pl_err *err)
{
	struct pod_remove *remove = ctx;
	size_t withheld = of_round(remove, remove->round)->count;
	struct pl_err why;

	remove->requests = NULL;
	if (err == NULL && remove->failure.code != PL_OK)
		err = &remove->failure;
	if (err != NULL || withheld == 0) {
		remove_finish(remove, 0, err);
		return;
	}
	if (remove->round == 0 && remove->opts.withheld != NULL)
		remove->opts.withheld(remove->opts.ctx, withheld);
	if (remove->end_ms != 0 && kv_now_ms(remove->service->kv) >= remove->end_ms) {
		(void)pl_err_set(&why, PL_TIMEOUT,
		                 "%zu pods were not asked to move; their budgets %s",
		                 withheld,
		                 remove->opts.past_budgets ? "have to be counted first"
		                                           : "do not allow it");
		remove_finish(remove, withheld, &why);
		return;
	}
	sequence_pause(&remove->pause, POD_REMOVE_ROUND_MS, on_paused);
}

static enum pl_code begin_round(struct pod_remove *remove, struct pl_err *err)
{
	const struct service *service = remove->service;
	const struct pod_request_opts opts = {
		.partitions = service->partitions,
		/* Evictions meet on the keys of their budgets. */
		.slots = remove->opts.verb == POD_REQUEST_EVICT ? 1 : 0,
		.past_budgets = remove->opts.past_budgets,
		.timeout_ms = service->timeout_ms,
		.wall_ms = pl_clock_wall_ms(),
		.who = service->user,
		.next = on_next,
		.report = on_outcome,
		.done = on_done,
		.ctx = remove};

	remove->next = 0;
	of_round(remove, remove->round)->count = 0;
	pl_arena_reset(&of_round(remove, remove->round)->arena);
	return pod_requests_open(service->kv, &opts, &remove->requests, err);
}

static void on_paused(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pod_remove *remove = ctx;
	struct pl_err why = {0};

	(void)result;
	if (err != NULL) {
		remove_finish(remove, 0, err);
		return;
	}
	remove->round++;
	if (begin_round(remove, &why) != PL_OK)
		remove_finish(remove, 0, &why);
}

/* -- life ----------------------------------------------------------------- */

enum pl_code pod_remove_start(const struct service *service,
                              const struct pod_remove_opts *opts, struct pod_remove **out,
                              struct pl_err *err)
{
	struct pod_remove *remove = pl_calloc(1, sizeof *remove);

	if (remove == NULL)
		return pl_err_set(err, PL_NOMEM, "remove pods");
	remove->service = service;
	remove->opts = *opts;
	if (opts->timeout_ms > 0)
		remove->end_ms = kv_now_ms(service->kv) + opts->timeout_ms;
	for (unsigned i = 0; i < 2; i++)
		pl_arena_init(&remove->withheld[i].arena, 0, 0);
	if (sequence_init(&remove->pause, service->kv, service->timeout_ms, remove,
	                  err) == PL_OK &&
	    begin_round(remove, err) == PL_OK) {
		*out = remove;
		return PL_OK;
	}
	sequence_done(&remove->pause);
	free(remove);
	return err->code;
}

void pod_remove_cancel(struct pod_remove *remove)
{
	sequence_cancel(&remove->pause);
	if (remove->requests != NULL)
		pod_requests_cancel(remove->requests);
}
