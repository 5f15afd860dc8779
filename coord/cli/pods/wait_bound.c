/* placet wait --for=bound: pods_bound with a line of progress, and what to say of it. */
#include "coord/cli/pods/wait_bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "coord/cli/output/placing_stats.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/pods/pods_by_name.h"
#include "coord/cli/pods/wait_summary.h"
#include "coord/cli/pods/wait_unbound.h"
#include "coord/cli/session/cli_wait.h"
#include "coord/cli/shards/idle_warning.h"
#include "coord/service/pods/pods_bound.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/duration.h"

enum { REQUEST_EACH_MS = 1000 };

struct bound_wait {
	const struct cli_session *cli;
	const struct wait_bound *asked;
	struct pods_bound pods;
	struct cli_wait wait;
	struct wait_summary summary;
	struct progress progress;
	struct kv_call *call; /* for the shards' records */
	bool calls;
	uint64_t call_ms, conflicts;
	struct idle_warning idle;
	struct wait_unbound left;
	struct pl_timer tick;
};

static uint64_t now_us(void)
{
	return pl_clock_ns() / 1000;
}

/* -- what becomes of the pods --------------------------------------------- */

static void on_bound(void *ctx, const struct pod_state *state, uint64_t seen_us,
                     uint64_t at_us)
{
	struct bound_wait *job = ctx;

	wait_summary_bound(&job->summary, state, seen_us, at_us);
}

static void on_lost(void *ctx, struct pl_span pod, const char *why)
{
	struct bound_wait *job = ctx;

	progress_end(&job->progress);
	print_message(PL_SPAN_FMT " %s", PL_SPAN_ARG(pod), why);
}

static bool on_left(void *ctx, struct pl_span pod, uint32_t partition)
{
	struct bound_wait *job = ctx;

	return wait_unbound_add(&job->left, pod, partition);
}

static void on_trouble(void *ctx, const struct pl_err *err)
{
	struct bound_wait *job = ctx;

	progress_end(&job->progress);
	print_message("placet wait: %s; going on", err->msg);
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct bound_wait *job = ctx;

	cli_wait_end(&job->wait, err);
}

/* -- progress ------------------------------------------------------------- */

/* Recent conflicts stand in the shards' records only; an answer that fails changes
 * nothing. */
static void on_records(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct bound_wait *job = ctx;
	struct placing_stats stats = {0};

	job->calls = false;
	if (err != NULL)
		return;
	placing_stats_add(&stats, result);
	job->conflicts = stats.conflicts;
}

static void request_shards(struct bound_wait *job, uint64_t now_ms)
{
	struct kv_req req = placing_stats_request();
	struct store_session *session = job->cli->session;

	if (job->calls || now_ms < job->call_ms)
		return;
	job->call_ms = now_ms + REQUEST_EACH_MS;
	job->calls = kv_start(session->kv, &req, session->timeout_ms, on_records, job,
	                      &job->call, NULL) == PL_OK;
}

static void on_tick(void *ctx)
{
	struct bound_wait *job = ctx;
	const struct pods_bound *pods = &job->pods;
	uint64_t now_ms = kv_now_ms(job->cli->session->kv);
	uint64_t total = pods_bound_total(pods);
	char text[PROGRESS_TEXT_MAX];
	const struct placing_stats stats = {
		.placed = pods->bound,
		.pending = total - pods->bound - pods->lost,
		.conflicts = job->conflicts,
		.total = total,
		.rate = progress_rate(&job->progress, now_ms, pods->bound)};

	request_shards(job, now_ms);
	idle_warning_look(&job->idle, now_ms, pods->bound + pods->lost);
	placing_stats_text(&stats, text);
	if (total != 0)
		progress_print(&job->progress, now_ms, "%s", text);
	pl_timer_set(&job->tick, now_ms + PROGRESS_EACH_MS);
}

static bool is_owned(void *ctx, struct pl_span pod, uint32_t partition)
{
	(void)pod;
	return idle_owner_is_known(ctx, partition);
}

static void each_partition(void *ctx, struct idle_owners *owners)
{
	const struct bound_wait *job = ctx;

	pods_bound_each_left(&job->pods, is_owned, owners);
}

/* -- the end -------------------------------------------------------------- */

static enum pl_code print_timeout(struct bound_wait *job, struct pl_err *err)
{
	char text[PL_DURATION_TEXT_SIZE];
	uint64_t total = pods_bound_total(&job->pods);
	uint64_t left = total - job->pods.bound - job->pods.lost;

	wait_unbound_print(&job->left, left, job->cli->session);
	return pl_err_set(
		err, PL_TIMEOUT,
		"%" PRIu64 " of %" PRIu64 " pods are not bound after %s; placet "
		"get pods -o wide shows why",
		left, total,
		pl_duration_print((int64_t)job->asked->timeout_ms * 1000000, text));
}

static enum pl_code print_outcome(struct bound_wait *job, struct pl_err *err)
{
	const struct pods_bound *pods = &job->pods;

	if (pods->lost > 0)
		return pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " pods are %s", pods->lost,
		                  pods->leaving == 0 ? "gone"
		                  : pods->leaving == pods->lost
		                          ? "being deleted"
		                          : "gone, or being deleted");
	if (job->asked->query->requirements > 0 && pods->bound == 0)
		return pl_err_set(
			err, PL_NOTFOUND,
			pods->leaving == 0
				? "no pod has these labels; check them, or the namespace"
				: "no pod has these labels but such as are being deleted");
	(void)printf("%" PRIu64 " pod%s bound\n", pods->bound,
	             pods->bound == 1 ? "" : "s");
	(void)fflush(stdout);
	if (job->asked->summary)
		wait_summary_print(&job->summary);
	return PL_OK;
}

static enum pl_code start_wait(struct bound_wait *job, struct pl_err *err)
{
	const struct pods_args *given = job->asked->given;
	const struct pods_bound_opts opts = {.all = job->asked->all,
	                                     .namespace = pl_span_str(given->namespace),
	                                     .query = job->asked->query,
	                                     .may_come = given->files.count > 0,
	                                     .timeout_ms = job->asked->timeout_ms,
	                                     .now_us = now_us,
	                                     .bound = job->asked->summary ? on_bound
	                                                                  : NULL,
	                                     .lost = on_lost,
	                                     .left = on_left,
	                                     .trouble = on_trouble,
	                                     .done = on_done,
	                                     .ctx = job};
	const struct idle_warning_opts idle = {.cli = job->cli,
	                                       .progress = &job->progress,
	                                       .what = "pods are not placed",
	                                       .each = each_partition,
	                                       .ctx = job};
	uint64_t now_ms = kv_now_ms(job->cli->session->kv);

	idle_warning_init(&job->idle, &idle, now_ms);
	progress_init(&job->progress, now_ms);
	pl_timer_set(&job->tick, now_ms + PROGRESS_EACH_MS);
	return pods_bound_start(&job->pods, &job->cli->service, &opts, err);
}

static enum pl_code run_wait(struct bound_wait *job, struct pl_err *err)
{
	struct store_session *session = job->cli->session;
	enum pl_code code = start_wait(job, err);

	if (code != PL_OK)
		return code;
	code = cli_wait_for(session, &job->wait, err);
	if (job->calls)
		kv_cancel(session->kv, job->call);
	while (job->calls)
		(void)uv_run(&session->loop, UV_RUN_ONCE);
	idle_warning_stop(&job->idle);
	progress_end(&job->progress);
	if (code == PL_TIMEOUT)
		return print_timeout(job, err);
	return code == PL_OK ? print_outcome(job, err) : code;
}

static enum pl_code add_name(void *ctx, uint32_t partition, struct pl_span namespace,
                             struct pl_span name, struct pl_err *err)
{
	const struct pod_name pod = {namespace, name};

	return pods_bound_add(ctx, partition, &pod, err);
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
	pods_bound_init(&job->pods);
	wait_summary_init(&job->summary);
	code = pl_timer_init(&job->tick, kv_timers(cli->session->kv), on_tick, job);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "wait");
	if (code == PL_OK)
		code = pods_by_name_each(cli, asked->given, add_name, &job->pods, NULL,
		                         err);
	if (code == PL_OK)
		code = run_wait(job, err);
	pods_bound_done(&job->pods);
	wait_summary_done(&job->summary);
	pl_timer_done(&job->tick);
	free(job);
	return code;
}
