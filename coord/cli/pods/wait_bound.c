/*
 * A pod counts once it was seen with a place, or over; what becomes of it later does not
 * matter. One that goes before is lost, and nothing can be waited for any more; so is one
 * that is being deleted when it is first seen, though it may still have a place.
 */
#include "coord/cli/pods/wait_bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "coord/cli/output/placing_stats.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/pods/wait_names.h"
#include "coord/cli/pods/wait_summary.h"
#include "coord/cli/pods/wait_unbound.h"
#include "coord/cli/shards/idle_warning.h"
#include "coord/service/input/label_query.h"
#include "coord/service/pods/pod_watch.h"
#include "coord/submit/leaving.h"
#include "shardsched/records/pod_state.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/duration.h"
#include "store/kv/calls.h"

enum { ASK_EACH_MS = 1000, ARENA_MAX = 1 << 20 };

struct bound_wait {
	const struct cli_session *cli;
	const struct wait_bound *asked;
	struct wait_names names; /* unless all */
	struct wait_summary tally;
	uint64_t bound, lost;
	uint64_t leaving; /* that are being deleted: of the lost, or beside the others */
	uint64_t there;   /* all: pods that are there, or were bound */
	struct pod_watch *watch;
	bool whole, stopped, time_up;
	struct pl_err err;
	struct pl_arena arena;
	struct progress progress;
	struct kv_call *asking; /* for the shards' records, while it asks */
	bool asks;
	uint64_t ask_ms, conflicts;
	struct idle_warning idle_warning;
	struct wait_unbound left;
	struct pl_timer end, tick;
};

/* -- what becomes of them ------------------------------------------------- */

static uint64_t total(const struct bound_wait *job)
{
	return job->asked->all ? job->there : job->names.map.count;
}

static bool is_over(const struct bound_wait *job)
{
	return job->whole && job->bound + job->lost >= total(job);
}

/* It has a place, or had one. */
static bool was_bound(struct bound_wait *job, struct pl_span state, struct pod_state *is)
{
	pl_arena_reset(&job->arena);
	return state.len > 0 && state_parse(state, &job->arena, is, NULL) == PL_OK &&
	       is->phase != STATE_PENDING;
}

static void count_lost(struct bound_wait *job, struct awaited_pod *wanted,
                       const char *why)
{
	if (wanted->bound)
		return;
	progress_end(&job->progress);
	print_message(PL_SPAN_FMT " %s", PL_SPAN_ARG(wanted->node.key), why);
	wanted->bound = true; /* nothing more is counted of it */
	job->lost++;
}

/* Named, it is lost; it is none of all, or of those with some labels. */
static void count_leaving(struct bound_wait *job, struct pod_watch_pod *pod,
                          struct awaited_pod *wanted)
{
	pod->marked = true;
	if (wanted == NULL)
		job->there--;
	if (wanted != NULL && wanted->bound)
		return;
	job->leaving++;
	if (wanted != NULL)
		count_lost(job, wanted, "is being deleted");
}

static void apply_gone(struct bound_wait *job, struct pod_watch_pod *pod)
{
	struct awaited_pod *wanted = wait_names_find(&job->names, pod->node.key);

	if (pod->marked)
		return;
	if (pod->counted)
		job->there--;
	pod->counted = false;
	if (wanted != NULL)
		count_lost(job, wanted, "is gone");
}

static void apply_pod(struct bound_wait *job, struct pod_watch_pod *pod,
                      struct pl_span state)
{
	struct awaited_pod *wanted = wait_names_find(&job->names, pod->node.key);
	uint64_t now_us = pl_clock_ns() / 1000;
	struct pod_state is;

	if (!pod->selected) { /* not, or not any more */
		apply_gone(job, pod);
		return;
	}
	if (!pod->counted) {
		pod->counted = true;
		job->there++;
	}
	if (wanted != NULL)
		wanted->there = true;
	if (pod->marked)
		return;
	if (!was_bound(job, state, &is)) {
		if (wanted != NULL && wanted->seen_us == 0)
			wanted->seen_us = now_us;
		return;
	}
	if (state_is_leaving(&is)) {
		count_leaving(job, pod, wanted);
		return;
	}
	pod->marked = true;
	if (job->asked->summary && (wanted == NULL || !wanted->bound))
		wait_summary_bound(&job->tally, &is, wanted == NULL ? 0 : wanted->seen_us,
		                   now_us);
	/* One that was bound, went and came again is not counted twice. */
	if (wanted == NULL || !wanted->bound)
		job->bound++;
	if (wanted != NULL)
		wanted->bound = true;
}

/* Names were found before they were watched: one that is not there now went in between.
 * Pods of files may still come. */
static void apply_whole(struct bound_wait *job)
{
	if (!job->whole && job->asked->given->files.count == 0)
		PL_MAP_EACH (node, &job->names.map) {
			struct awaited_pod *wanted =
				PL_CONTAINER_OF(node, struct awaited_pod, node);

			if (!wanted->there)
				count_lost(job, wanted, "is gone");
		}
	job->whole = true;
}

static void on_pod(void *ctx, const struct pod_watch_note *note)
{
	struct bound_wait *job = ctx;

	switch (note->what) {
	case POD_WATCH_POD:
		apply_pod(job, note->pod, note->state);
		break;
	case POD_WATCH_GONE:
		apply_gone(job, note->pod);
		break;
	case POD_WATCH_WHOLE:
		apply_whole(job);
		break;
	case POD_WATCH_TROUBLE:
		progress_end(&job->progress);
		print_message("placet wait: %s; going on", note->err->msg);
		break;
	case POD_WATCH_STOPPED:
		job->stopped = true;
		job->watch = NULL; /* the answer about the shards may come yet */
		if (note->err != NULL)
			job->err = *note->err;
		break;
	}
}

static bool is_wanted(void *ctx, struct pl_span key)
{
	const struct bound_wait *job = ctx;

	return job->asked->all ? pods_args_is_of(job->asked->given, key)
	                       : wait_names_find(&job->names, key) != NULL;
}

/* -- waiting -------------------------------------------------------------- */

static void on_time_up(void *ctx)
{
	struct bound_wait *job = ctx;

	job->time_up = true;
}

/* What conflicted lately stands in the shards' records only; without, it is as it was. */
static void on_records(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct bound_wait *job = ctx;
	struct placing_stats stats = {0};

	job->asks = false;
	if (err != NULL)
		return;
	placing_stats_add(&stats, result);
	job->conflicts = stats.conflicts;
}

static void request_shards(struct bound_wait *job, uint64_t now_ms)
{
	struct kv_req req = placing_stats_request();
	struct store_session *session = job->cli->session;

	if (job->asks || now_ms < job->ask_ms)
		return;
	job->ask_ms = now_ms + ASK_EACH_MS;
	job->asks = kv_start(session->kv, &req, session->timeout_ms, on_records, job,
	                     &job->asking, NULL) == PL_OK;
}

static void on_tick(void *ctx)
{
	struct bound_wait *job = ctx;
	uint64_t now_ms = kv_now_ms(job->cli->session->kv);
	char text[PROGRESS_TEXT_MAX];
	const struct placing_stats stats = {
		.placed = job->bound,
		.pending = total(job) - job->bound - job->lost,
		.conflicts = job->conflicts,
		.total = total(job),
		.rate = progress_rate(&job->progress, now_ms, job->bound)};

	request_shards(job, now_ms);
	idle_warning_look(&job->idle_warning, now_ms, job->bound + job->lost);
	placing_stats_text(&stats, text);
	if (stats.total != 0)
		progress_print(&job->progress, now_ms, "%s", text);
	pl_timer_set(&job->tick, now_ms + PROGRESS_EACH_MS);
}

/* -- who is left ---------------------------------------------------------- */

typedef bool left_fn(void *ctx, struct pl_span key, uint32_t partition);

struct unbound_walk {
	left_fn *fn;
	void *ctx;
};

static bool on_watched(void *ctx, const struct pod_watch_pod *pod)
{
	const struct unbound_walk *walk = ctx;

	return !pod->counted || pod->marked ||
	       walk->fn(walk->ctx, pod->node.key, pod->partition);
}

/* Those that are still waited for, until fn says false. */
static void each_unbound(const struct bound_wait *job, left_fn *fn, void *ctx)
{
	struct unbound_walk walk = {fn, ctx};

	if (job->asked->all && job->watch != NULL)
		pod_watch_each(job->watch, on_watched, &walk);
	PL_MAP_EACH (node, &job->names.map) {
		const struct awaited_pod *wanted =
			PL_CONTAINER_OF_CONST(node, struct awaited_pod, node);

		if (!wanted->bound && !fn(ctx, node->key, wanted->partition))
			return;
	}
}

static bool on_unbound(void *ctx, struct pl_span key, uint32_t partition)
{
	return wait_unbound_add(ctx, key, partition);
}

static bool is_owned(void *ctx, struct pl_span key, uint32_t partition)
{
	(void)key;
	return idle_owner_is_known(ctx, partition);
}

static void each_partition(void *ctx, struct idle_owners *owners)
{
	each_unbound(ctx, is_owned, owners);
}

static enum pl_code start_wait(struct bound_wait *job, struct pl_err *err)
{
	struct pod_watch_parts parts;
	struct kv *kv = job->cli->session->kv;
	struct pod_watch_opts opts = {
		.prefix = parts.prefix,
		.wanted = is_wanted,
		.query = job->asked->query->requirements > 0 ? job->asked->query : NULL,
		.fn = on_pod,
		.ctx = job};
	const struct idle_warning_opts idle_warning = {.cli = job->cli,
	                                               .progress = &job->progress,
	                                               .what = "places pods",
	                                               .each = each_partition,
	                                               .ctx = job};

	pod_watch_parts(job->names.in_partition, &parts);
	opts.count = parts.count;
	idle_warning_init(&job->idle_warning, &idle_warning, kv_now_ms(kv));
	progress_init(&job->progress, kv_now_ms(kv));
	pl_timer_set(&job->end, kv_now_ms(kv) + job->asked->timeout_ms);
	pl_timer_set(&job->tick, kv_now_ms(kv) + PROGRESS_EACH_MS);
	return pod_watch_open(kv, &opts, &job->watch, err);
}

static enum pl_code final_error(struct bound_wait *job, struct pl_err *err)
{
	char text[PL_DURATION_TEXT_SIZE];
	uint64_t left = total(job) - job->bound - job->lost;

	if (job->err.code != PL_OK) {
		*err = job->err;
		return err->code;
	}
	if (job->time_up && !is_over(job)) {
		wait_unbound_print(&job->left, left, job->cli->session);
		return pl_err_set(
			err, PL_TIMEOUT,
			"%" PRIu64 " of %" PRIu64 " pods are not bound after %s; placet "
			"get pods -o wide tells why",
			left, total(job),
			pl_duration_print((int64_t)job->asked->timeout_ms * 1000000,
		                          text));
	}
	if (job->lost > 0)
		return pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " pods are %s", job->lost,
		                  job->leaving == 0           ? "gone"
		                  : job->leaving == job->lost ? "being deleted"
		                                              : "gone, or being deleted");
	if (job->asked->query->requirements > 0 && job->bound == 0)
		return pl_err_set(
			err, PL_NOTFOUND,
			job->leaving == 0
				? "no pod has these labels; check them, or the namespace"
				: "no pod has these labels but such as are being deleted");
	(void)printf("%" PRIu64 " pod%s bound\n", job->bound, job->bound == 1 ? "" : "s");
	(void)fflush(stdout);
	if (job->asked->summary)
		wait_summary_print(&job->tally);
	return PL_OK;
}

static enum pl_code run_wait(struct bound_wait *job, struct pl_err *err)
{
	uv_loop_t *loop = &job->cli->session->loop;
	enum pl_code code = start_wait(job, err);

	if (code != PL_OK)
		return code;
	while (!job->stopped && !job->time_up && !is_over(job))
		(void)uv_run(loop, UV_RUN_ONCE);
	if (!job->stopped) {
		each_unbound(job, on_unbound, &job->left);
		pod_watch_stop(job->watch);
	}
	if (job->asks)
		kv_cancel(job->cli->session->kv, job->asking);
	idle_warning_cancel(&job->idle_warning);
	while (!job->stopped || job->asks || job->idle_warning.asks)
		(void)uv_run(loop, UV_RUN_ONCE);
	progress_end(&job->progress);
	return final_error(job, err);
}

static enum pl_code timers_init(struct bound_wait *job, struct pl_err *err)
{
	struct pl_timers *timers = kv_timers(job->cli->session->kv);
	enum pl_code code = pl_timer_init(&job->end, timers, on_time_up, job);

	if (code == PL_OK)
		code = pl_timer_init(&job->tick, timers, on_tick, job);
	return code == PL_OK ? code : pl_err_set(err, code, "wait");
}

enum pl_code wait_bound(const struct cli_session *cli, const struct wait_bound *asked,
                        struct pl_err *err)
{
	struct bound_wait *job = pl_calloc(1, sizeof *job);
	enum pl_code code;

	if (job == NULL)
		return pl_err_set(err, PL_NOMEM, "out of memory");
	job->cli = cli;
	job->asked = asked;
	wait_names_init(&job->names);
	wait_summary_init(&job->tally);
	pl_arena_init(&job->arena, 0, ARENA_MAX);
	code = timers_init(job, err);
	if (code == PL_OK)
		code = wait_names_read(&job->names, cli, asked->given, err);
	if (code == PL_OK)
		code = run_wait(job, err);
	wait_names_done(&job->names);
	wait_summary_done(&job->tally);
	pl_arena_done(&job->arena);
	pl_timer_done(&job->end);
	pl_timer_done(&job->tick);
	free(job);
	return code;
}
