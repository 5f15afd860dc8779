/*
 * A pod counts once it was seen with a place, or over; what becomes of it later does not
 * matter. One that goes before is lost, and nothing can be waited for any more; so is one
 * that is being deleted when it is first seen, though it may still have a place.
 */
#include "coord/cli/pods/wait_bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/input/label_query.h"
#include "coord/cli/out/progress.h"
#include "coord/cli/out/say.h"
#include "coord/cli/out/sums.h"
#include "coord/cli/pods/podwatch.h"
#include "coord/cli/pods/wait_left.h"
#include "coord/cli/pods/wait_names.h"
#include "coord/cli/pods/wait_tally.h"
#include "coord/cli/shards/nobody.h"
#include "coord/submit/leaving.h"
#include "shardsched/ledger/state.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/duration.h"
#include "store/kv/calls.h"

enum { ASK_EACH_MS = 1000, ARENA_MAX = 1 << 20 };

struct job {
	const struct reach *reach;
	const struct wait_bound *asked;
	struct wait_names names; /* unless all */
	struct wait_tally tally;
	uint64_t bound, lost;
	uint64_t leaving; /* that are being deleted: of the lost, or beside the others */
	uint64_t there;   /* all: pods that are there, or were bound */
	struct podwatch *watch;
	bool whole, stopped, time_up;
	struct pl_err err;
	struct pl_arena arena;
	struct progress progress;
	struct kv_call *asking; /* for the shards' records, while it asks */
	bool asks;
	uint64_t ask_ms, conflicts;
	struct nobody nobody;
	struct wait_left left;
	struct pl_timer end, tick;
};

/* -- what becomes of them ------------------------------------------------- */

static uint64_t total(const struct job *job)
{
	return job->asked->all ? job->there : job->names.map.count;
}

static bool is_over(const struct job *job)
{
	return job->whole && job->bound + job->lost >= total(job);
}

/* It has a place, or had one. */
static bool was_bound(struct job *job, struct pl_span state, struct pod_state *is)
{
	pl_arena_reset(&job->arena);
	return state.len > 0 && state_parse(state, &job->arena, is, NULL) == PL_OK &&
	       is->phase != STATE_PENDING;
}

static void take_lost(struct job *job, struct wanted *wanted, const char *why)
{
	if (wanted->bound)
		return;
	progress_end(&job->progress);
	say(PL_SPAN_FMT " %s", PL_SPAN_ARG(wanted->node.key), why);
	wanted->bound = true; /* nothing more is counted of it */
	job->lost++;
}

/* Named, it is lost; it is none of all, or of those with some labels. */
static void take_leaving(struct job *job, struct podwatch_pod *pod, struct wanted *wanted)
{
	pod->marked = true;
	if (wanted == NULL)
		job->there--;
	if (wanted != NULL && wanted->bound)
		return;
	job->leaving++;
	if (wanted != NULL)
		take_lost(job, wanted, "is being deleted");
}

static void take_gone(struct job *job, struct podwatch_pod *pod)
{
	struct wanted *wanted = wait_names_get(&job->names, pod->node.key);

	if (pod->marked)
		return;
	if (pod->counted)
		job->there--;
	pod->counted = false;
	if (wanted != NULL)
		take_lost(job, wanted, "is gone");
}

static void take_pod(struct job *job, struct podwatch_pod *pod, struct pl_span state)
{
	struct wanted *wanted = wait_names_get(&job->names, pod->node.key);
	uint64_t now_us = pl_clock_ns() / 1000;
	struct pod_state is;

	if (!pod->selected) { /* not, or not any more */
		take_gone(job, pod);
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
		take_leaving(job, pod, wanted);
		return;
	}
	pod->marked = true;
	if (job->asked->summary && (wanted == NULL || !wanted->bound))
		wait_tally_bound(&job->tally, &is, wanted == NULL ? 0 : wanted->seen_us,
		                 now_us);
	/* One that was bound, went and came again is not counted twice. */
	if (wanted == NULL || !wanted->bound)
		job->bound++;
	if (wanted != NULL)
		wanted->bound = true;
}

/* Names were found before they were watched: one that is not there now went in between.
 * Pods of files may still come. */
static void take_whole(struct job *job)
{
	if (!job->whole && job->asked->given->files.count == 0)
		PL_MAP_EACH (node, &job->names.map) {
			struct wanted *wanted =
				PL_CONTAINER_OF(node, struct wanted, node);

			if (!wanted->there)
				take_lost(job, wanted, "is gone");
		}
	job->whole = true;
}

static void on_pod(void *ctx, const struct podwatch_note *note)
{
	struct job *job = ctx;

	switch (note->what) {
	case PODWATCH_POD:
		take_pod(job, note->pod, note->state);
		break;
	case PODWATCH_GONE:
		take_gone(job, note->pod);
		break;
	case PODWATCH_WHOLE:
		take_whole(job);
		break;
	case PODWATCH_TROUBLE:
		progress_end(&job->progress);
		say("placet wait: %s; going on", note->err->msg);
		break;
	case PODWATCH_STOPPED:
		job->stopped = true;
		job->watch = NULL; /* the answer about the shards may come yet */
		if (note->err != NULL)
			job->err = *note->err;
		break;
	}
}

static bool is_wanted(void *ctx, struct pl_span key)
{
	const struct job *job = ctx;

	return job->asked->all ? pods_given_is_of(job->asked->given, key)
	                       : wait_names_get(&job->names, key) != NULL;
}

/* -- waiting -------------------------------------------------------------- */

static void on_time_up(void *ctx)
{
	struct job *job = ctx;

	job->time_up = true;
}

/* What conflicted lately stands in the shards' records only; without, it is as it was. */
static void on_records(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct job *job = ctx;
	struct sums sums = {0};

	job->asks = false;
	if (err != NULL)
		return;
	sums_add(&sums, result);
	job->conflicts = sums.conflicts;
}

static void ask_shards(struct job *job, uint64_t now_ms)
{
	struct kv_req req = sums_request();
	struct store_session *session = job->reach->session;

	if (job->asks || now_ms < job->ask_ms)
		return;
	job->ask_ms = now_ms + ASK_EACH_MS;
	job->asks = kv_start(session->kv, &req, session->timeout_ms, on_records, job,
	                     &job->asking, NULL) == PL_OK;
}

static void on_tick(void *ctx)
{
	struct job *job = ctx;
	uint64_t now_ms = kv_now_ms(job->reach->session->kv);
	char text[PROGRESS_TEXT_MAX];
	const struct sums sums = {
		.placed = job->bound,
		.pending = total(job) - job->bound - job->lost,
		.conflicts = job->conflicts,
		.total = total(job),
		.rate = progress_rate(&job->progress, now_ms, job->bound)};

	ask_shards(job, now_ms);
	nobody_look(&job->nobody, now_ms, job->bound + job->lost);
	sums_text(&sums, text);
	if (sums.total != 0)
		progress_say(&job->progress, now_ms, "%s", text);
	pl_timer_set(&job->tick, now_ms + PROGRESS_EACH_MS);
}

/* -- who is left ---------------------------------------------------------- */

typedef bool left_fn(void *ctx, struct pl_span key, uint32_t partition);

struct walk {
	left_fn *fn;
	void *ctx;
};

static bool on_watched(void *ctx, const struct podwatch_pod *pod)
{
	const struct walk *walk = ctx;

	return !pod->counted || pod->marked ||
	       walk->fn(walk->ctx, pod->node.key, pod->partition);
}

/* Those that are still waited for, until fn says false. */
static void each_left(const struct job *job, left_fn *fn, void *ctx)
{
	struct walk walk = {fn, ctx};

	if (job->asked->all && job->watch != NULL)
		podwatch_each(job->watch, on_watched, &walk);
	PL_MAP_EACH (node, &job->names.map) {
		const struct wanted *wanted =
			PL_CONTAINER_OF_CONST(node, struct wanted, node);

		if (!wanted->bound && !fn(ctx, node->key, wanted->partition))
			return;
	}
}

static bool on_left(void *ctx, struct pl_span key, uint32_t partition)
{
	return wait_left_add(ctx, key, partition);
}

static bool is_owned(void *ctx, struct pl_span key, uint32_t partition)
{
	(void)key;
	return nobody_is_owned(ctx, partition);
}

static void each_partition(void *ctx, struct nobody_owners *owners)
{
	each_left(ctx, is_owned, owners);
}

static enum pl_code start(struct job *job, struct pl_err *err)
{
	struct podwatch_parts parts;
	struct kv *kv = job->reach->session->kv;
	struct podwatch_opts opts = {
		.prefix = parts.prefix,
		.wanted = is_wanted,
		.query = job->asked->query->wants > 0 ? job->asked->query : NULL,
		.fn = on_pod,
		.ctx = job};
	const struct nobody_opts nobody = {.reach = job->reach,
	                                   .progress = &job->progress,
	                                   .what = "places pods",
	                                   .each = each_partition,
	                                   .ctx = job};

	podwatch_parts(job->names.in_partition, &parts);
	opts.count = parts.count;
	nobody_init(&job->nobody, &nobody, kv_now_ms(kv));
	progress_init(&job->progress, kv_now_ms(kv));
	pl_timer_set(&job->end, kv_now_ms(kv) + job->asked->timeout_ms);
	pl_timer_set(&job->tick, kv_now_ms(kv) + PROGRESS_EACH_MS);
	return podwatch_open(kv, &opts, &job->watch, err);
}

static enum pl_code verdict(struct job *job, struct pl_err *err)
{
	char text[PL_DURATION_TEXT_SIZE];
	uint64_t left = total(job) - job->bound - job->lost;

	if (job->err.code != PL_OK) {
		*err = job->err;
		return err->code;
	}
	if (job->time_up && !is_over(job)) {
		wait_left_say(&job->left, left, job->reach->session);
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
	if (job->asked->query->wants > 0 && job->bound == 0)
		return pl_err_set(
			err, PL_NOTFOUND,
			job->leaving == 0
				? "no pod has these labels; check them, or the namespace"
				: "no pod has these labels but such as are being deleted");
	(void)printf("%" PRIu64 " pod%s bound\n", job->bound, job->bound == 1 ? "" : "s");
	(void)fflush(stdout);
	if (job->asked->summary)
		wait_tally_print(&job->tally);
	return PL_OK;
}

static enum pl_code wait_for(struct job *job, struct pl_err *err)
{
	uv_loop_t *loop = &job->reach->session->loop;
	enum pl_code code = start(job, err);

	if (code != PL_OK)
		return code;
	while (!job->stopped && !job->time_up && !is_over(job))
		(void)uv_run(loop, UV_RUN_ONCE);
	if (!job->stopped) {
		each_left(job, on_left, &job->left);
		podwatch_stop(job->watch);
	}
	if (job->asks)
		kv_cancel(job->reach->session->kv, job->asking);
	nobody_cancel(&job->nobody);
	while (!job->stopped || job->asks || job->nobody.asks)
		(void)uv_run(loop, UV_RUN_ONCE);
	progress_end(&job->progress);
	return verdict(job, err);
}

static enum pl_code timers_init(struct job *job, struct pl_err *err)
{
	struct pl_timers *timers = kv_timers(job->reach->session->kv);
	enum pl_code code = pl_timer_init(&job->end, timers, on_time_up, job);

	if (code == PL_OK)
		code = pl_timer_init(&job->tick, timers, on_tick, job);
	return code == PL_OK ? code : pl_err_set(err, code, "wait");
}

enum pl_code wait_bound(const struct reach *reach, const struct wait_bound *asked,
                        struct pl_err *err)
{
	struct job *job = pl_calloc(1, sizeof *job);
	enum pl_code code;

	if (job == NULL)
		return pl_err_set(err, PL_NOMEM, "out of memory");
	job->reach = reach;
	job->asked = asked;
	wait_names_init(&job->names);
	wait_tally_init(&job->tally);
	pl_arena_init(&job->arena, 0, ARENA_MAX);
	code = timers_init(job, err);
	if (code == PL_OK)
		code = wait_names_read(&job->names, reach, asked->given, err);
	if (code == PL_OK)
		code = wait_for(job, err);
	wait_names_done(&job->names);
	wait_tally_done(&job->tally);
	pl_arena_done(&job->arena);
	pl_timer_done(&job->end);
	pl_timer_done(&job->tick);
	free(job);
	return code;
}
