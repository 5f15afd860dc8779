#include "coord/cli/pods/pods_gone.h"

#include <inttypes.h>
#include <stdlib.h>

#include "coord/cli/out/progress.h"
#include "coord/cli/out/say.h"
#include "coord/cli/pods/podwatch.h"
#include "coord/cli/shards/nobody.h"
#include "store/base/alloc.h"

enum { SHOWN = 3 };

struct gone_pod {
	struct pl_map_node node;
	bool seen; /* in the list that is being read, or since */
	uint8_t key[];
};

struct job {
	struct pods_gone *gone;
	const struct reach *reach;
	uint64_t timeout_ms;
	struct podwatch *watch;
	bool stopped, time_up;
	struct pl_err err;
	struct progress progress;
	struct nobody nobody;
	struct pl_timer end, tick;
};

void pods_gone_init(struct pods_gone *gone)
{
	*gone = (struct pods_gone){0};
	pl_map_init(&gone->left);
}

static void drop(struct pods_gone *gone, struct gone_pod *pod)
{
	pl_map_del(&gone->left, &pod->node);
	free(pod);
}

void pods_gone_done(struct pods_gone *gone)
{
	PL_MAP_EACH (node, &gone->left)
		drop(gone, PL_CONTAINER_OF(node, struct gone_pod, node));
	pl_map_done(&gone->left);
}

enum pl_code pods_gone_add(struct pods_gone *gone, uint32_t partition,
                           struct pl_span space, struct pl_span name, struct pl_err *err)
{
	size_t len = space.len + 1 + name.len;
	struct gone_pod *pod = NULL;

	if (gone->left.count < PODWATCH_PODS_MAX)
		pod = pl_calloc(1, sizeof *pod + len);
	if (pod == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods' names");
	memcpy(pod->key, space.at, space.len);
	pod->key[space.len] = '/';
	memcpy(pod->key + space.len + 1, name.at, name.len);
	if (pl_map_add(&gone->left, &pod->node, pl_span(pod->key, len)) != NULL)
		free(pod); /* it came twice */
	else
		gone->total++;
	gone->in_partition[partition] = true;
	return PL_OK;
}

/* -- what is seen ----------------------------------------------------------------------
 */

static struct gone_pod *find(const struct pods_gone *gone, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&gone->left, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct gone_pod, node);
}

/* What the whole list does not have is gone. */
static void sweep(struct pods_gone *gone)
{
	PL_MAP_EACH (node, &gone->left) {
		struct gone_pod *pod = PL_CONTAINER_OF(node, struct gone_pod, node);

		if (!pod->seen)
			drop(gone, pod);
	}
}

static void on_pod(void *ctx, const struct podwatch_note *note)
{
	struct job *job = ctx;
	struct gone_pod *pod =
		note->pod == NULL ? NULL : find(job->gone, note->pod->node.key);

	switch (note->what) {
	case PODWATCH_POD:
		if (pod != NULL)
			pod->seen = true;
		break;
	case PODWATCH_GONE:
		if (pod != NULL)
			drop(job->gone, pod);
		break;
	case PODWATCH_WHOLE:
		sweep(job->gone);
		break;
	case PODWATCH_TROUBLE:
		progress_end(&job->progress);
		say("waiting for pods: %s; going on", note->err->msg);
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

	return find(job->gone, key) != NULL;
}

/* -- waiting ---------------------------------------------------------------------------
 */

static void on_time_up(void *ctx)
{
	struct job *job = ctx;

	job->time_up = true;
}

static void on_tick(void *ctx)
{
	struct job *job = ctx;
	uint64_t now_ms = kv_now_ms(job->reach->session->kv);

	nobody_look(&job->nobody, now_ms, job->gone->left.count);
	progress_say(&job->progress, now_ms, "%" PRIu64 " of %" PRIu64 " pods gone",
	             job->gone->total - job->gone->left.count, job->gone->total);
	pl_timer_set(&job->tick, now_ms + PROGRESS_EACH_MS);
}

static bool is_owned(void *ctx, const struct podwatch_pod *pod)
{
	return nobody_is_owned(ctx, pod->partition);
}

static void each_partition(void *ctx, struct nobody_owners *owners)
{
	const struct job *job = ctx;

	if (job->watch != NULL)
		podwatch_each(job->watch, is_owned, owners);
}

static enum pl_code start(struct job *job, struct pl_err *err)
{
	struct podwatch_parts parts;
	struct kv *kv = job->reach->session->kv;
	struct podwatch_opts opts = {
		.prefix = parts.prefix, .wanted = is_wanted, .fn = on_pod, .ctx = job};
	const struct nobody_opts nobody = {.reach = job->reach,
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
	podwatch_parts(job->gone->in_partition, &parts);
	opts.count = parts.count;
	progress_init(&job->progress, kv_now_ms(kv));
	nobody_init(&job->nobody, &nobody, kv_now_ms(kv));
	if (job->timeout_ms > 0)
		pl_timer_set(&job->end, kv_now_ms(kv) + job->timeout_ms);
	pl_timer_set(&job->tick, kv_now_ms(kv) + PROGRESS_EACH_MS);
	return podwatch_open(kv, &opts, &job->watch, err);
}

static enum pl_code verdict(const struct job *job, struct pl_err *err)
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
		say("still there: " PL_SPAN_FMT, PL_SPAN_ARG(node->key));
	}
	return pl_err_set(err, PL_TIMEOUT,
	                  "%zu of %" PRIu64 " pods have not ended; their members have to "
	                  "say so, or --force",
	                  left->count, job->gone->total);
}

enum pl_code pods_gone_wait(struct pods_gone *gone, const struct reach *reach,
                            uint64_t timeout_ms, struct pl_err *err)
{
	struct job job = {.gone = gone, .reach = reach, .timeout_ms = timeout_ms};
	uv_loop_t *loop = &reach->session->loop;
	enum pl_code code = PL_OK;

	if (gone->left.count == 0)
		return PL_OK;
	code = start(&job, err);
	job.stopped = code != PL_OK;
	while (!job.stopped && !job.time_up && gone->left.count > 0)
		(void)uv_run(loop, UV_RUN_ONCE);
	if (!job.stopped)
		podwatch_stop(job.watch);
	nobody_cancel(&job.nobody);
	while (!job.stopped || job.nobody.asks)
		(void)uv_run(loop, UV_RUN_ONCE);
	progress_end(&job.progress);
	pl_timer_done(&job.end);
	pl_timer_done(&job.tick);
	return code == PL_OK ? verdict(&job, err) : code;
}
