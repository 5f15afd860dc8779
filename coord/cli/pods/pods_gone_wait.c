#include "coord/cli/pods/pods_gone_wait.h"

#include <inttypes.h>
#include <stdlib.h>

#include "coord/cli/output/message.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/shards/idle_warning.h"
#include "coord/service/pods/pod_watch.h"
#include "store/base/alloc.h"

enum { SHOWN = 3 };

struct gone_pod {
	struct pl_map_node node;
	bool seen; /* in the list that is being read, or since */
	uint8_t key[];
};

struct gone_wait {
	struct pods_gone *gone;
	const struct cli_session *cli;
	uint64_t timeout_ms;
	struct pod_watch *watch;
	bool stopped, time_up;
	struct pl_err err;
	struct progress progress;
	struct idle_warning idle_warning;
	struct pl_timer end, tick;
};

void pods_gone_init(struct pods_gone *gone)
{
	*gone = (struct pods_gone){0};
	pl_map_init(&gone->left);
}

static void drop_pod(struct pods_gone *gone, struct gone_pod *pod)
{
	pl_map_del(&gone->left, &pod->node);
	free(pod);
}

void pods_gone_done(struct pods_gone *gone)
{
	PL_MAP_EACH (node, &gone->left)
		drop_pod(gone, PL_CONTAINER_OF(node, struct gone_pod, node));
	pl_map_done(&gone->left);
}

enum pl_code pods_gone_add(struct pods_gone *gone, uint32_t partition,
                           struct pl_span namespace, struct pl_span name,
                           struct pl_err *err)
{
	size_t len = namespace.len + 1 + name.len;
	struct gone_pod *pod = NULL;

	if (gone->left.count < POD_WATCH_PODS_MAX)
		pod = pl_calloc(1, sizeof *pod + len);
	if (pod == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods' names");
	memcpy(pod->key, namespace.at, namespace.len);
	pod->key[namespace.len] = '/';
	memcpy(pod->key + namespace.len + 1, name.at, name.len);
	if (pl_map_add(&gone->left, &pod->node, pl_span(pod->key, len)) != NULL)
		free(pod); /* it came twice */
	else
		gone->total++;
	gone->in_partition[partition] = true;
	return PL_OK;
}

/* -- what is seen ----------------------------------------------------------------------
 */

static struct gone_pod *find_pod(const struct pods_gone *gone, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&gone->left, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct gone_pod, node);
}

/* What the whole list does not have is gone. */
static void sweep_pods(struct pods_gone *gone)
{
	PL_MAP_EACH (node, &gone->left) {
		struct gone_pod *pod = PL_CONTAINER_OF(node, struct gone_pod, node);

		if (!pod->seen)
			drop_pod(gone, pod);
	}
}

static void on_pod(void *ctx, const struct pod_watch_note *note)
{
	struct gone_wait *job = ctx;
	struct gone_pod *pod =
		note->pod == NULL ? NULL : find_pod(job->gone, note->pod->node.key);

	switch (note->what) {
	case POD_WATCH_POD:
		if (pod != NULL)
			pod->seen = true;
		break;
	case POD_WATCH_GONE:
		if (pod != NULL)
			drop_pod(job->gone, pod);
		break;
	case POD_WATCH_WHOLE:
		sweep_pods(job->gone);
		break;
	case POD_WATCH_TROUBLE:
		progress_end(&job->progress);
		print_message("waiting for pods: %s; going on", note->err->msg);
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
	const struct gone_wait *job = ctx;

	return find_pod(job->gone, key) != NULL;
}

/* -- waiting ---------------------------------------------------------------------------
 */

static void on_time_up(void *ctx)
{
	struct gone_wait *job = ctx;

	job->time_up = true;
}

static void on_tick(void *ctx)
{
	struct gone_wait *job = ctx;
	uint64_t now_ms = kv_now_ms(job->cli->session->kv);

	idle_warning_look(&job->idle_warning, now_ms, job->gone->left.count);
	progress_print(&job->progress, now_ms, "%" PRIu64 " of %" PRIu64 " pods gone",
	               job->gone->total - job->gone->left.count, job->gone->total);
	pl_timer_set(&job->tick, now_ms + PROGRESS_EACH_MS);
}

static bool is_owned(void *ctx, const struct pod_watch_pod *pod)
{
	return idle_owner_is_known(ctx, pod->partition);
}

static void each_partition(void *ctx, struct idle_owners *owners)
{
	const struct gone_wait *job = ctx;

	if (job->watch != NULL)
		pod_watch_each(job->watch, is_owned, owners);
}

static enum pl_code start_wait(struct gone_wait *job, struct pl_err *err)
{
	struct pod_watch_parts parts;
	struct kv *kv = job->cli->session->kv;
	struct pod_watch_opts opts = {
		.prefix = parts.prefix, .wanted = is_wanted, .fn = on_pod, .ctx = job};
	const struct idle_warning_opts idle_warning = {
		.cli = job->cli,
		.progress = &job->progress,
		.what = "takes pods off their nodes",
		.each = each_partition,
		.ctx = job};
	struct pl_timers *timers = kv_timers(kv);
	enum pl_code code = pl_timer_init(&job->end, timers, on_time_up, job);

	if (code == PL_OK)
		code = pl_timer_init(&job->tick, timers, on_tick, job);
	if (code != PL_OK)
		return pl_err_set(err, code, "wait");
	pod_watch_parts(job->gone->in_partition, &parts);
	opts.count = parts.count;
	progress_init(&job->progress, kv_now_ms(kv));
	idle_warning_init(&job->idle_warning, &idle_warning, kv_now_ms(kv));
	if (job->timeout_ms > 0)
		pl_timer_set(&job->end, kv_now_ms(kv) + job->timeout_ms);
	pl_timer_set(&job->tick, kv_now_ms(kv) + PROGRESS_EACH_MS);
	return pod_watch_open(kv, &opts, &job->watch, err);
}

static enum pl_code final_error(const struct gone_wait *job, struct pl_err *err)
{
	const struct pl_map *left = &job->gone->left;
	unsigned said = 0;

	if (job->err.code != PL_OK) {
		*err = job->err;
		return err->code;
	}
	if (left->count == 0)
		return PL_OK;
	PL_MAP_EACH (node, left) {
		if (said++ == SHOWN)
			break;
		print_message("still there: " PL_SPAN_FMT, PL_SPAN_ARG(node->key));
	}
	return pl_err_set(err, PL_TIMEOUT,
	                  "%zu of %" PRIu64 " pods have not ended; their members have to "
	                  "say so, or --force",
	                  left->count, job->gone->total);
}

enum pl_code pods_gone_wait(struct pods_gone *gone, const struct cli_session *cli,
                            uint64_t timeout_ms, struct pl_err *err)
{
	struct gone_wait job = {.gone = gone, .cli = cli, .timeout_ms = timeout_ms};
	uv_loop_t *loop = &cli->session->loop;
	enum pl_code code = PL_OK;

	if (gone->left.count == 0)
		return PL_OK;
	code = start_wait(&job, err);
	job.stopped = code != PL_OK;
	while (!job.stopped && !job.time_up && gone->left.count > 0)
		(void)uv_run(loop, UV_RUN_ONCE);
	if (!job.stopped)
		pod_watch_stop(job.watch);
	idle_warning_cancel(&job.idle_warning);
	while (!job.stopped || job.idle_warning.asks)
		(void)uv_run(loop, UV_RUN_ONCE);
	progress_end(&job.progress);
	pl_timer_done(&job.end);
	pl_timer_done(&job.tick);
	return code == PL_OK ? final_error(&job, err) : code;
}
