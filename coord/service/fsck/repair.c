/*
 * Each slot of bulk_writer.h repairs one thing after the other:
 *
 *	alloc:    read Node and alloc --> read pods, so many at a time --> write
 *	pointer:  read pod and what stands where the pointer is to be --> write
 *	registry: read it, and the locks of terms that are to go --> write
 *	lock:     read it and the registries that may have the term --> write
 *	state:    read it and the alloc for which its pod is nominated --> write
 *	place:    read state, spec, and the alloc that lists the pod --> write the state
 *
 * If the compares of a write do not hold, the repair begins again, a few times.
 */
#include "coord/service/fsck/repair.h"

#include <stdlib.h>

#include "coord/service/fsck/repair_int.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 64 << 10, ARENA_MAX = 256 << 20 };

static void repair_free(struct repair *repair)
{
	for (unsigned i = 0; i < REPAIR_SLOTS; i++)
		pl_arena_done(&repair->job[i].arena);
	model_done(&repair->model);
	free(repair);
}

static void on_end(void *ctx, const struct pl_err *err)
{
	struct repair *repair = ctx;
	void (*done)(void *, const struct pl_err *) = repair->opts.done;
	void *user = repair->opts.ctx;

	repair_free(repair);
	done(user, err);
}

void repair_no_memory(struct repair *repair)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_NOMEM, "repair");
	repair->failed = true;
	bulk_cancel(repair->writer, &err);
}

void repair_finish(struct repair *repair, struct repair_job *job,
                   enum repair_outcome outcome, const char *why)
{
	struct repair_result result = {.outcome = outcome,
	                               .key = keys_span(&job->key),
	                               .value = outcome == REPAIR_DONE ||
	                                                        outcome == REPAIR_WOULD
	                                                ? job->value
	                                                : (struct pl_span){0},
	                               .why = why};

	job->step = STEP_IDLE;
	repair->opts.report(repair->opts.ctx, &result);
}

void repair_refuse(struct repair *repair, struct repair_job *job,
                   const struct pl_err *err)
{
	if (err->code == PL_NOMEM)
		repair_no_memory(repair);
	else
		repair_finish(repair, job, REPAIR_REFUSED, err->msg);
}

/* -- slots ------------------------------------------------------------------------- */

static bool next_job(struct repair *repair, struct repair_job *job)
{
	if (repair_rules_more(repair, job))
		return true;
	job->first_term = job->next_term = 0;
	return fsck_core_repair(repair->opts.core, &repair->cursor, &job->what);
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct repair *repair = ctx;
	struct repair_job *job = &repair->job[slot];

	while (!repair->failed) {
		if (job->step == STEP_IDLE) {
			if (!next_job(repair, job))
				return false;
			repair_begin(repair, job);
		} else if (job->step == STEP_WRITE) {
			if (repair_write(repair, job, arena, req))
				return true;
		} else {
			return repair_request(repair, job, arena, req);
		}
	}
	return false;
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct repair *repair = ctx;
	struct repair_job *job = &repair->job[slot];

	switch (job->step) {
	case STEP_READ:
		if (repair_is_of_rules(job))
			repair_rules_apply(repair, job, &result->txn);
		else if (job->what.what == FSCK_REPAIR_PLACE)
			repair_place_apply(repair, job, &result->txn);
		else
			repair_apply_both(repair, job, &result->txn);
		return;
	case STEP_READ_PODS:
		repair_apply_pods(repair, job, &result->txn);
		return;
	case STEP_WRITE:
		repair_apply_written(repair, job, result, again);
		return;
	case STEP_IDLE:
		break;
	}
	PL_UNREACHABLE("nothing was asked");
}

enum pl_code repair_open(struct kv *kv, const struct repair_opts *opts,
                         struct repair **out, struct pl_err *err)
{
	struct repair *repair = pl_calloc(1, sizeof *repair);
	struct bulk_opts writer = {.slots = REPAIR_SLOTS,
	                           .timeout_ms = opts->timeout_ms,
	                           .patience_ms = opts->patience_ms,
	                           .next = on_next,
	                           .answer = on_answer,
	                           .done = on_end,
	                           .ctx = repair};
	enum pl_code code;

	if (repair == NULL)
		return pl_err_set(err, PL_NOMEM, "repair");
	repair->kv = kv;
	repair->opts = *opts;
	model_init(&repair->model);
	for (unsigned i = 0; i < REPAIR_SLOTS; i++)
		pl_arena_init(&repair->job[i].arena, ARENA_CHUNK, ARENA_MAX);
	code = bulk_open(kv, &writer, &repair->writer, err);
	if (code == PL_OK)
		*out = repair;
	else
		repair_free(repair);
	return code;
}

void repair_cancel(struct repair *repair)
{
	repair->failed = true;
	bulk_cancel(repair->writer, NULL);
}
