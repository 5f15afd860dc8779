/*
 * Happy path: the states of all pods are watched; pods that are bound to the cluster
 * run; when one is due to end, it and all others that are due go into transactions
 * which record how they ended. The shards do the rest, and the watch shows it. A record
 * that could not be written is a failure: the command is run again, and goes on.
 */
#include "coord/cli/up/sim_run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "coord/cli/output/message.h"
#include "coord/cli/output/progress.h"
#include "coord/service/pods/pod_watch.h"
#include "coord/service/submit/pod_request.h"

enum { ARENA_MAX = 1 << 20, GATHER_MS = 20 };

struct sim_job {
	const struct cli_session *cli;
	struct sim_member member;
	struct pod_watch *watch;
	struct pod_requests *requests;
	struct pl_arena arena;
	bool watching, over;
	struct pl_err err;
	struct progress progress;
	struct pl_timer due, tick, end;
	uv_signal_t interrupt, terminate;
	unsigned open;
};

static void stop_run(struct sim_job *job, const struct pl_err *err)
{
	if (job->err.code == PL_OK && err != NULL)
		job->err = *err;
	job->over = true;
}

static uint64_t sim_now_ms(const struct sim_job *job)
{
	return kv_now_ms(job->cli->session->kv);
}

/* The timer is set a little late, so that more pods are due by then. */
static void set_due(struct sim_job *job)
{
	uint64_t at_ms = sim_member_deadline_ms(&job->member);

	if (at_ms == UINT64_MAX || job->over)
		return;
	if (at_ms < sim_now_ms(job))
		at_ms = sim_now_ms(job);
	pl_timer_set(&job->due, at_ms + GATHER_MS);
}

/* -- what is said ----------------------------------------------------------------------
 */

static enum pl_code on_next(void *ctx, struct pod_request *out, struct pl_err *err)
{
	struct sim_job *job = ctx;
	struct pl_span key;
	const uint8_t *slash;

	(void)err;
	*out = (struct pod_request){.verb = POD_REQUEST_ENDED,
	                            .at = POD_REQUEST_BY_NAME,
	                            .cluster = job->member.opts.cluster};
	if (!sim_member_next(&job->member, sim_now_ms(job), &key, &out->ended))
		return PL_NOTFOUND;
	slash = memchr(key.at, '/', key.len);
	out->namespace = pl_span(key.at, (size_t)(slash - key.at));
	out->name = pl_span(slash + 1, key.len - out->namespace.len - 1);
	return PL_OK;
}

static void on_outcome(void *ctx, const struct pod_request *request,
                       enum pod_request_outcome outcome, const char *why)
{
	struct sim_job *job = ctx;

	if (outcome != POD_REQUEST_MALFORMED)
		return;
	progress_end(&job->progress);
	print_message(PL_SPAN_FMT "/" PL_SPAN_FMT " is left as it is: %s",
	              PL_SPAN_ARG(request->namespace), PL_SPAN_ARG(request->name), why);
}

static void on_ends_sent(void *ctx, const struct pl_err *err)
{
	struct sim_job *job = ctx;

	job->requests = NULL;
	if (err != NULL && !job->over)
		stop_run(job, err);
	set_due(job);
}

static void on_due(void *ctx)
{
	struct sim_job *job = ctx;
	struct pod_request_opts opts = {.partitions = job->cli->meta.partitions,
	                                .timeout_ms = job->cli->session->timeout_ms,
	                                .who = "sim-cluster",
	                                .next = on_next,
	                                .report = on_outcome,
	                                .done = on_ends_sent,
	                                .ctx = job};
	struct pl_err err = {0};

	if (job->requests != NULL || job->over)
		return; /* on_ends_sent() sets the timer */
	if (pod_requests_open(job->cli->session->kv, &opts, &job->requests, &err) !=
	    PL_OK)
		stop_run(job, &err);
}

/* -- what is seen ----------------------------------------------------------------------
 */

static void apply_pod(struct sim_job *job, const struct pod_watch_note *note, bool gone)
{
	struct pod_state state;
	struct pl_err err = {0};
	bool known = false;

	pl_arena_reset(&job->arena);
	if (!gone && note->state.len > 0)
		known = state_parse(note->state, &job->arena, &state, NULL) == PL_OK;
	if (sim_member_apply(&job->member, note->pod->node.key, known ? &state : NULL,
	                     sim_now_ms(job)) == PL_OK)
		return;
	pl_err_set(&err, PL_NOMEM, "run a pod");
	stop_run(job, &err);
}

static void on_pod(void *ctx, const struct pod_watch_note *note)
{
	struct sim_job *job = ctx;

	switch (note->what) {
	case POD_WATCH_POD:
	case POD_WATCH_GONE:
		apply_pod(job, note, note->what == POD_WATCH_GONE);
		if (job->requests == NULL)
			set_due(job);
		break;
	case POD_WATCH_WHOLE:
		break;
	case POD_WATCH_TROUBLE:
		progress_end(&job->progress);
		print_message("placet sim-cluster: %s; going on", note->err->msg);
		break;
	case POD_WATCH_STOPPED:
		job->watching = false;
		stop_run(job, note->err);
		break;
	}
}

/* -- in the foreground -----------------------------------------------------------------
 */

static void on_tick(void *ctx)
{
	struct sim_job *job = ctx;
	const struct sim_member *member = &job->member;
	uint64_t now_ms = sim_now_ms(job);

	progress_print(&job->progress, now_ms,
	               "%" PRIu64 " running, %" PRIu64 " terminating; %" PRIu64
	               " succeeded, %" PRIu64 " failed, %" PRIu64 " gone",
	               member->running, member->leaving, member->succeeded,
	               member->failed, member->gone);
	if (!job->over)
		pl_timer_set(&job->tick, now_ms + PROGRESS_EACH_MS);
}

static void on_end(void *ctx)
{
	stop_run(ctx, NULL);
}

static void on_signal(uv_signal_t *signal, int number)
{
	(void)number;
	stop_run(signal->data, NULL);
}

static void on_closed(uv_handle_t *handle)
{
	struct sim_job *job = handle->data;

	job->open--;
}

static void catch_signal(struct sim_job *job, uv_signal_t *signal, int number)
{
	if (uv_signal_init(&job->cli->session->loop, signal) != 0)
		return;
	signal->data = job;
	job->open++;
	(void)uv_signal_start(signal, on_signal, number);
}

static enum pl_code start_run(struct sim_job *job, uint64_t for_ms, struct pl_err *err)
{
	const struct pl_span prefix = PL_SPAN_LIT("/schedules/");
	const struct pod_watch_opts opts = {
		.prefix = &prefix, .count = 1, .fn = on_pod, .ctx = job};
	struct pl_timers *timers = kv_timers(job->cli->session->kv);
	enum pl_code code = pl_timer_init(&job->due, timers, on_due, job);

	if (code == PL_OK)
		code = pl_timer_init(&job->tick, timers, on_tick, job);
	if (code == PL_OK)
		code = pl_timer_init(&job->end, timers, on_end, job);
	if (code != PL_OK)
		return pl_err_set(err, code, "run a cluster");
	progress_init(&job->progress, sim_now_ms(job));
	pl_timer_set(&job->tick, sim_now_ms(job) + PROGRESS_EACH_MS);
	if (for_ms > 0)
		pl_timer_set(&job->end, sim_now_ms(job) + for_ms);
	catch_signal(job, &job->interrupt, SIGINT);
	catch_signal(job, &job->terminate, SIGTERM);
	code = pod_watch_open(job->cli->session->kv, &opts, &job->watch, err);
	job->watching = code == PL_OK;
	return code;
}

static void finish_run(struct sim_job *job)
{
	uv_loop_t *loop = &job->cli->session->loop;

	if (job->watching)
		pod_watch_stop(job->watch);
	if (job->requests != NULL)
		pod_requests_cancel(job->requests);
	if (job->interrupt.data != NULL)
		uv_close((uv_handle_t *)&job->interrupt, on_closed);
	if (job->terminate.data != NULL)
		uv_close((uv_handle_t *)&job->terminate, on_closed);
	while (job->watching || job->requests != NULL || job->open > 0)
		(void)uv_run(loop, UV_RUN_ONCE);
	pl_timer_done(&job->due);
	pl_timer_done(&job->tick);
	pl_timer_done(&job->end);
	progress_end(&job->progress);
}

enum pl_code sim_run_member(const struct cli_session *cli,
                            const struct sim_member_opts *opts, uint64_t for_ms,
                            struct pl_err *err)
{
	struct sim_job job = {.cli = cli};
	enum pl_code code;

	sim_member_init(&job.member, opts);
	pl_arena_init(&job.arena, 0, ARENA_MAX);
	code = start_run(&job, for_ms, err);
	while (code == PL_OK && !job.over)
		(void)uv_run(&cli->session->loop, UV_RUN_ONCE);
	job.over = true;
	finish_run(&job);
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
