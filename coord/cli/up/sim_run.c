/*
 * Happy path: every pod's state is watched; what is bound to the cluster runs; when one
 * is due, it and all others that are go into transactions, which say how they ended.
 * Their shards do the rest, and the watch shows it. What could not be said for want of a
 * store is a failure: run it again, and it goes on.
 */
#include "coord/cli/up/sim_run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "coord/cli/out/progress.h"
#include "coord/cli/out/say.h"
#include "coord/cli/pods/podwatch.h"
#include "coord/submit/wish.h"

enum { ARENA_MAX = 1 << 20, GATHER_MS = 20 };

struct job {
	const struct reach *reach;
	struct sim_member member;
	struct podwatch *watch;
	struct wishes *wishes;
	struct pl_arena arena;
	bool watching, over;
	struct pl_err err;
	struct progress progress;
	struct pl_timer due, tick, end;
	uv_signal_t interrupt, terminate;
	unsigned open;
};

static void stop(struct job *job, const struct pl_err *err)
{
	if (job->err.code == PL_OK && err != NULL)
		job->err = *err;
	job->over = true;
}

static uint64_t now_of(const struct job *job)
{
	return kv_now_ms(job->reach->session->kv);
}

/* A little later than it is due, so that others are by then. */
static void set_due(struct job *job)
{
	uint64_t at_ms = sim_member_deadline_ms(&job->member);

	if (at_ms == UINT64_MAX || job->over)
		return;
	if (at_ms < now_of(job))
		at_ms = now_of(job);
	pl_timer_set(&job->due, at_ms + GATHER_MS);
}

/* -- what is said ----------------------------------------------------------------------
 */

static enum pl_code on_next(void *ctx, struct wish *out, struct pl_err *err)
{
	struct job *job = ctx;
	struct pl_span key;
	const uint8_t *slash;

	(void)err;
	*out = (struct wish){.verb = WISH_ENDED,
	                     .at = WISH_BY_NAME,
	                     .cluster = job->member.opts.cluster};
	if (!sim_member_next(&job->member, now_of(job), &key, &out->ended))
		return PL_NOTFOUND;
	slash = memchr(key.at, '/', key.len);
	out->space = pl_span(key.at, (size_t)(slash - key.at));
	out->name = pl_span(slash + 1, key.len - out->space.len - 1);
	return PL_OK;
}

static void on_told(void *ctx, const struct wish *wish, enum wish_outcome outcome,
                    const char *why)
{
	struct job *job = ctx;

	if (outcome != WISH_GARBLED)
		return;
	progress_end(&job->progress);
	say(PL_SPAN_FMT "/" PL_SPAN_FMT " is left as it is: %s", PL_SPAN_ARG(wish->space),
	    PL_SPAN_ARG(wish->name), why);
}

static void on_said(void *ctx, const struct pl_err *err)
{
	struct job *job = ctx;

	job->wishes = NULL;
	if (err != NULL && !job->over)
		stop(job, err);
	set_due(job);
}

static void on_due(void *ctx)
{
	struct job *job = ctx;
	struct wish_opts opts = {.partitions = job->reach->meta.partitions,
	                         .timeout_ms = job->reach->session->timeout_ms,
	                         .who = "sim-cluster",
	                         .next = on_next,
	                         .told = on_told,
	                         .done = on_said,
	                         .ctx = job};
	struct pl_err err = {0};

	if (job->wishes != NULL || job->over)
		return; /* it sets the timer when it is done */
	if (wishes_open(job->reach->session->kv, &opts, &job->wishes, &err) != PL_OK)
		stop(job, &err);
}

/* -- what is seen ----------------------------------------------------------------------
 */

static void take(struct job *job, const struct podwatch_note *note, bool gone)
{
	struct pod_state state;
	struct pl_err err = {0};
	bool known = false;

	pl_arena_reset(&job->arena);
	if (!gone && note->state.len > 0)
		known = state_parse(note->state, &job->arena, &state, NULL) == PL_OK;
	if (sim_member_take(&job->member, note->pod->node.key, known ? &state : NULL,
	                    now_of(job)) == PL_OK)
		return;
	pl_err_set(&err, PL_NOMEM, "run a pod");
	stop(job, &err);
}

static void on_pod(void *ctx, const struct podwatch_note *note)
{
	struct job *job = ctx;

	switch (note->what) {
	case PODWATCH_POD:
	case PODWATCH_GONE:
		take(job, note, note->what == PODWATCH_GONE);
		if (job->wishes == NULL)
			set_due(job);
		break;
	case PODWATCH_WHOLE:
		break;
	case PODWATCH_TROUBLE:
		progress_end(&job->progress);
		say("placet sim-cluster: %s; going on", note->err->msg);
		break;
	case PODWATCH_STOPPED:
		job->watching = false;
		stop(job, note->err);
		break;
	}
}

/* -- in the foreground -----------------------------------------------------------------
 */

static void on_tick(void *ctx)
{
	struct job *job = ctx;
	const struct sim_member *member = &job->member;
	uint64_t now_ms = now_of(job);

	progress_say(&job->progress, now_ms,
	             "%" PRIu64 " running, %" PRIu64 " terminating; %" PRIu64
	             " succeeded, %" PRIu64 " failed, %" PRIu64 " gone",
	             member->running, member->leaving, member->succeeded, member->failed,
	             member->gone);
	if (!job->over)
		pl_timer_set(&job->tick, now_ms + PROGRESS_EACH_MS);
}

static void on_end(void *ctx)
{
	stop(ctx, NULL);
}

static void on_signal(uv_signal_t *signal, int number)
{
	(void)number;
	stop(signal->data, NULL);
}

static void on_closed(uv_handle_t *handle)
{
	struct job *job = handle->data;

	job->open--;
}

static void listen_for(struct job *job, uv_signal_t *signal, int number)
{
	if (uv_signal_init(&job->reach->session->loop, signal) != 0)
		return;
	signal->data = job;
	job->open++;
	(void)uv_signal_start(signal, on_signal, number);
}

static enum pl_code start(struct job *job, uint64_t for_ms, struct pl_err *err)
{
	const struct pl_span prefix = PL_SPAN_LIT("/schedules/");
	const struct podwatch_opts opts = {
		.prefix = &prefix, .count = 1, .fn = on_pod, .ctx = job};
	struct pl_timers *timers = kv_timers(job->reach->session->kv);
	enum pl_code code = pl_timer_init(&job->due, timers, on_due, job);

	if (code == PL_OK)
		code = pl_timer_init(&job->tick, timers, on_tick, job);
	if (code == PL_OK)
		code = pl_timer_init(&job->end, timers, on_end, job);
	if (code != PL_OK)
		return pl_err_set(err, code, "run a cluster");
	progress_init(&job->progress, now_of(job));
	pl_timer_set(&job->tick, now_of(job) + PROGRESS_EACH_MS);
	if (for_ms > 0)
		pl_timer_set(&job->end, now_of(job) + for_ms);
	listen_for(job, &job->interrupt, SIGINT);
	listen_for(job, &job->terminate, SIGTERM);
	code = podwatch_open(job->reach->session->kv, &opts, &job->watch, err);
	job->watching = code == PL_OK;
	return code;
}

static void finish(struct job *job)
{
	uv_loop_t *loop = &job->reach->session->loop;

	if (job->watching)
		podwatch_stop(job->watch);
	if (job->wishes != NULL)
		wishes_cancel(job->wishes);
	if (job->interrupt.data != NULL)
		uv_close((uv_handle_t *)&job->interrupt, on_closed);
	if (job->terminate.data != NULL)
		uv_close((uv_handle_t *)&job->terminate, on_closed);
	while (job->watching || job->wishes != NULL || job->open > 0)
		(void)uv_run(loop, UV_RUN_ONCE);
	pl_timer_done(&job->due);
	pl_timer_done(&job->tick);
	pl_timer_done(&job->end);
	progress_end(&job->progress);
}

enum pl_code sim_run_member(const struct reach *reach, const struct sim_member_opts *opts,
                            uint64_t for_ms, struct pl_err *err)
{
	struct job job = {.reach = reach};
	enum pl_code code;

	sim_member_init(&job.member, opts);
	pl_arena_init(&job.arena, 0, ARENA_MAX);
	code = start(&job, for_ms, err);
	while (code == PL_OK && !job.over)
		(void)uv_run(&reach->session->loop, UV_RUN_ONCE);
	job.over = true;
	finish(&job);
	if (code == PL_OK)
		(void)printf("ran " PL_SPAN_FMT ": %" PRIu64 " pods succeeded, %" PRIu64
		             " failed, %" PRIu64 " gone; %" PRIu64 " running\n",
		             PL_SPAN_ARG(opts->cluster), job.member.succeeded,
		             job.member.failed, job.member.gone, job.member.running);
	(void)fflush(stdout);
	sim_member_done(&job.member);
	pl_arena_done(&job.arena);
	if (code == PL_OK && job.err.code != PL_OK) {
		*err = job.err;
		code = err->code;
	}
	return code;
}
