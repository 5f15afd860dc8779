/*
 * A slot of writes.h mends one thing after the other:
 *
 *	alloc:    read Node and alloc --> read pods, so many at a time --> write
 *	pointer:  read pod and what stands where the pointer is to be --> write
 *	registry: read it, and the locks of terms that are to go --> write
 *	lock:     read it and the registries that may have the term --> write
 *	state:    read it and the alloc for which its pod is nominated --> write
 *	place:    read state, spec, and the alloc that lists the pod --> write the state
 *
 * A write whose compares did not hold begins anew, a few times.
 */
#include "coord/fsck/mend.h"

#include <stdlib.h>

#include "coord/fsck/mend_int.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 64 << 10, ARENA_MAX = 256 << 20 };

static void mend_free(struct mend *mend)
{
	for (unsigned i = 0; i < MEND_SLOTS; i++)
		pl_arena_done(&mend->job[i].arena);
	model_done(&mend->model);
	free(mend);
}

static void on_end(void *ctx, const struct pl_err *err)
{
	struct mend *mend = ctx;
	void (*done)(void *, const struct pl_err *) = mend->opts.done;
	void *user = mend->opts.ctx;

	mend_free(mend);
	done(user, err);
}

void mend_no_memory(struct mend *mend)
{
	struct pl_err err;

	(void)pl_err_set(&err, PL_NOMEM, "mend");
	mend->failed = true;
	writes_cancel(mend->writes, &err);
}

void mend_settle(struct mend *mend, struct job *job, enum mend_outcome outcome,
                 const char *why)
{
	struct mend_told told = {.outcome = outcome,
	                         .key = keys_span(&job->key),
	                         .value = outcome == MEND_DONE || outcome == MEND_WOULD
	                                          ? job->value
	                                          : (struct pl_span){0},
	                         .why = why};

	job->step = STEP_IDLE;
	mend->opts.told(mend->opts.ctx, &told);
}

void mend_refuse(struct mend *mend, struct job *job, const struct pl_err *err)
{
	if (err->code == PL_NOMEM)
		mend_no_memory(mend);
	else
		mend_settle(mend, job, MEND_REFUSED, err->msg);
}

/* -- slots ------------------------------------------------------------------------- */

static bool next_job(struct mend *mend, struct job *job)
{
	if (mend_groups_more(mend, job))
		return true;
	job->first_term = job->next_term = 0;
	return fsck_core_mend(mend->opts.core, &mend->cursor, &job->what);
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct mend *mend = ctx;
	struct job *job = &mend->job[slot];

	while (!mend->failed) {
		if (job->step == STEP_IDLE) {
			if (!next_job(mend, job))
				return false;
			mend_begin(mend, job);
		} else if (job->step == STEP_WRITE) {
			if (mend_write(mend, job, arena, req))
				return true;
		} else {
			return mend_ask(mend, job, arena, req);
		}
	}
	return false;
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct mend *mend = ctx;
	struct job *job = &mend->job[slot];

	switch (job->step) {
	case STEP_READ:
		if (mend_is_of_groups(job))
			mend_groups_take(mend, job, &result->txn);
		else if (job->what.what == FSCK_MEND_PLACE)
			mend_place_take(mend, job, &result->txn);
		else
			mend_take_both(mend, job, &result->txn);
		return;
	case STEP_READ_PODS:
		mend_take_pods(mend, job, &result->txn);
		return;
	case STEP_WRITE:
		mend_take_written(mend, job, result, again);
		return;
	case STEP_IDLE:
		break;
	}
	PL_UNREACHABLE("nothing was asked");
}

enum pl_code mend_open(struct kv *kv, const struct mend_opts *opts, struct mend **out,
                       struct pl_err *err)
{
	struct mend *mend = pl_calloc(1, sizeof *mend);
	struct writes_opts writes = {.slots = MEND_SLOTS,
	                             .timeout_ms = opts->timeout_ms,
	                             .patience_ms = opts->patience_ms,
	                             .next = on_next,
	                             .answer = on_answer,
	                             .done = on_end,
	                             .ctx = mend};
	enum pl_code code;

	if (mend == NULL)
		return pl_err_set(err, PL_NOMEM, "mend");
	mend->kv = kv;
	mend->opts = *opts;
	model_init(&mend->model);
	for (unsigned i = 0; i < MEND_SLOTS; i++)
		pl_arena_init(&mend->job[i].arena, ARENA_CHUNK, ARENA_MAX);
	code = writes_open(kv, &writes, &mend->writes, err);
	if (code == PL_OK)
		*out = mend;
	else
		mend_free(mend);
	return code;
}

void mend_cancel(struct mend *mend)
{
	mend->failed = true;
	writes_cancel(mend->writes, NULL);
}
