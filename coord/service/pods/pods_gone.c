#include "coord/service/pods/pods_gone.h"

#include <stdlib.h>

#include "store/base/alloc.h"

struct gone_pod {
	struct pl_map_node node;
	bool seen; /* in the list that is being read, or since */
	uint8_t key[];
};

/* -- the pods ------------------------------------------------------------- */

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
                           const struct pod_name *name, struct pl_err *err)
{
	size_t len = name->namespace.len + 1 + name->name.len;
	struct gone_pod *pod = NULL;

	if (gone->left.count < POD_WATCH_PODS_MAX)
		pod = pl_calloc(1, sizeof *pod + len);
	if (pod == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods' names");
	memcpy(pod->key, name->namespace.at, name->namespace.len);
	pod->key[name->namespace.len] = '/';
	memcpy(pod->key + name->namespace.len + 1, name->name.at, name->name.len);
	if (pl_map_add(&gone->left, &pod->node, pl_span(pod->key, len)) != NULL)
		free(pod); /* the pod is there already */
	else
		gone->total++;
	gone->in_partition[partition] = true;
	return PL_OK;
}

static struct gone_pod *find_pod(const struct pods_gone *gone, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&gone->left, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct gone_pod, node);
}

/* A pod that the whole list does not have is gone. */
static void sweep_pods(struct pods_gone *gone)
{
	PL_MAP_EACH (node, &gone->left) {
		struct gone_pod *pod = PL_CONTAINER_OF(node, struct gone_pod, node);

		if (!pod->seen)
			drop_pod(gone, pod);
	}
}

/* -- waiting -------------------------------------------------------------- */

static void stop_watch(struct pods_gone *gone)
{
	if (gone->over)
		return;
	gone->over = true;
	pod_watch_stop(gone->watch);
}

static void gone_finish(struct pods_gone *gone)
{
	struct pl_err why = gone->failure;

	pl_timer_done(&gone->end);
	gone->opts.done(gone->opts.ctx, why.code == PL_OK ? NULL : &why);
}

static void on_pod(void *ctx, const struct pod_watch_note *note)
{
	struct pods_gone *gone = ctx;
	struct gone_pod *pod =
		note->pod == NULL ? NULL : find_pod(gone, note->pod->node.key);

	switch (note->what) {
	case POD_WATCH_POD:
		if (pod != NULL)
			pod->seen = true;
		break;
	case POD_WATCH_GONE:
		if (pod != NULL)
			drop_pod(gone, pod);
		break;
	case POD_WATCH_WHOLE:
		sweep_pods(gone);
		break;
	case POD_WATCH_TROUBLE:
		gone->opts.trouble(gone->opts.ctx, note->err);
		break;
	case POD_WATCH_STOPPED:
		gone->watch = NULL;
		if (note->err != NULL && gone->failure.code == PL_OK)
			gone->failure = *note->err;
		gone_finish(gone);
		return;
	}
	if (gone->left.count == 0)
		stop_watch(gone);
}

static bool is_wanted(void *ctx, struct pl_span key)
{
	return find_pod(ctx, key) != NULL;
}

static void on_end(void *ctx)
{
	struct pods_gone *gone = ctx;

	if (gone->watch == NULL) {
		gone_finish(gone);
		return;
	}
	if (!gone->over)
		(void)pl_err_set(&gone->failure, PL_TIMEOUT, "some pods are still there");
	stop_watch(gone);
}

enum pl_code pods_gone_start(struct pods_gone *gone, const struct service *service,
                             const struct pods_gone_opts *opts, struct pl_err *err)
{
	struct pod_watch_parts parts;
	struct pod_watch_opts watch = {
		.prefix = parts.prefix, .wanted = is_wanted, .fn = on_pod, .ctx = gone};
	uint64_t now_ms = kv_now_ms(service->kv);
	enum pl_code code =
		pl_timer_init(&gone->end, kv_timers(service->kv), on_end, gone);

	if (code != PL_OK)
		return pl_err_set(err, code, "wait for pods");
	gone->opts = *opts;
	gone->over = gone->left.count == 0;
	if (gone->over) {
		pl_timer_set(&gone->end, now_ms);
		return PL_OK;
	}
	pod_watch_parts(gone->in_partition, &parts);
	watch.count = parts.count;
	code = pod_watch_open(service->kv, &watch, &gone->watch, err);
	if (code != PL_OK)
		pl_timer_done(&gone->end);
	else if (opts->timeout_ms > 0)
		pl_timer_set(&gone->end, now_ms + opts->timeout_ms);
	return code;
}

void pods_gone_cancel(struct pods_gone *gone)
{
	if (gone->over)
		return;
	(void)pl_err_set(&gone->failure, PL_CANCELED, "canceled");
	stop_watch(gone);
}
