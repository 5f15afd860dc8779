#include "coord/service/pods/pods_bound.h"

#include <stdlib.h>

#include "coord/service/submit/leaving.h"
#include "store/base/alloc.h"

enum { ARENA_MAX = 1 << 20 };

struct awaited_pod {
	struct pl_map_node node;
	uint64_t seen_us; /* when it was first seen without a place; 0: never */
	uint32_t partition;
	bool there;   /* the pod was seen */
	bool settled; /* bound or lost: nothing more is counted of it */
	uint8_t key[];
};

/* -- the pods ------------------------------------------------------------- */

void pods_bound_init(struct pods_bound *bound)
{
	*bound = (struct pods_bound){0};
	pl_map_init(&bound->named);
	pl_arena_init(&bound->arena, 0, ARENA_MAX);
}

void pods_bound_done(struct pods_bound *bound)
{
	PL_MAP_EACH (node, &bound->named) {
		pl_map_del(&bound->named, node);
		free(PL_CONTAINER_OF(node, struct awaited_pod, node));
	}
	pl_map_done(&bound->named);
	pl_arena_done(&bound->arena);
}

enum pl_code pods_bound_add(struct pods_bound *bound, uint32_t partition,
                            const struct pod_name *name, struct pl_err *err)
{
	size_t len = name->namespace.len + 1 + name->name.len;
	struct awaited_pod *pod = NULL;

	if (bound->named.count < POD_WATCH_PODS_MAX)
		pod = pl_calloc(1, sizeof *pod + len);
	if (pod == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods' names");
	pod->partition = partition;
	memcpy(pod->key, name->namespace.at, name->namespace.len);
	pod->key[name->namespace.len] = '/';
	memcpy(pod->key + name->namespace.len + 1, name->name.at, name->name.len);
	if (pl_map_add(&bound->named, &pod->node, pl_span(pod->key, len)) != NULL)
		free(pod); /* the pod is there already */
	bound->in_partition[partition] = true;
	return PL_OK;
}

static struct awaited_pod *find_pod(const struct pods_bound *bound, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&bound->named, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct awaited_pod, node);
}

uint64_t pods_bound_total(const struct pods_bound *bound)
{
	return bound->opts.all ? bound->there : bound->named.count;
}

struct left_walk {
	bool (*fn)(void *ctx, struct pl_span pod, uint32_t partition);
	void *ctx;
};

static bool on_watched(void *ctx, const struct pod_watch_pod *pod)
{
	const struct left_walk *walk = ctx;

	return !pod->counted || pod->marked ||
	       walk->fn(walk->ctx, pod->node.key, pod->partition);
}

void pods_bound_each_left(const struct pods_bound *bound,
                          bool (*fn)(void *ctx, struct pl_span pod, uint32_t partition),
                          void *ctx)
{
	struct left_walk walk = {fn, ctx};

	if (bound->opts.all && bound->watch != NULL)
		pod_watch_each(bound->watch, on_watched, &walk);
	PL_MAP_EACH (node, &bound->named) {
		const struct awaited_pod *pod =
			PL_CONTAINER_OF_CONST(node, struct awaited_pod, node);

		if (!pod->settled && !fn(ctx, node->key, pod->partition))
			return;
	}
}

/* -- what becomes of them ------------------------------------------------- */

/* The state says that the pod has a place, or had one. */
static bool was_bound(struct pods_bound *bound, struct pl_span state,
                      struct pod_state *is)
{
	pl_arena_reset(&bound->arena);
	return state.len > 0 && state_parse(state, &bound->arena, is, NULL) == PL_OK &&
	       is->phase != STATE_PENDING;
}

static void lose_pod(struct pods_bound *bound, struct awaited_pod *pod, const char *why)
{
	if (pod->settled)
		return;
	bound->opts.lost(bound->opts.ctx, pod->node.key, why);
	pod->settled = true;
	bound->lost++;
}

static void apply_leaving(struct pods_bound *bound, struct pod_watch_pod *pod,
                          struct awaited_pod *awaited)
{
	pod->marked = true;
	if (awaited == NULL)
		bound->there--;
	if (awaited != NULL && awaited->settled)
		return;
	bound->leaving++;
	if (awaited != NULL)
		lose_pod(bound, awaited, "is being deleted");
}

static void apply_gone(struct pods_bound *bound, struct pod_watch_pod *pod)
{
	struct awaited_pod *awaited = find_pod(bound, pod->node.key);

	if (pod->marked)
		return;
	if (pod->counted)
		bound->there--;
	pod->counted = false;
	if (awaited != NULL)
		lose_pod(bound, awaited, "is gone");
}

/* A pod that was bound, went and came again is not counted twice. */
static void apply_bound(struct pods_bound *bound, struct pod_watch_pod *pod,
                        struct awaited_pod *awaited, const struct pod_state *state,
                        uint64_t now_us)
{
	pod->marked = true;
	if (awaited != NULL && awaited->settled)
		return;
	if (bound->opts.bound != NULL)
		bound->opts.bound(bound->opts.ctx, state,
		                  awaited == NULL ? 0 : awaited->seen_us, now_us);
	bound->bound++;
	if (awaited != NULL)
		awaited->settled = true;
}

static void apply_pod(struct pods_bound *bound, struct pod_watch_pod *pod,
                      struct pl_span value)
{
	struct awaited_pod *awaited = find_pod(bound, pod->node.key);
	uint64_t now_us = bound->opts.now_us();
	struct pod_state state;

	if (!pod->selected) { /* the pod does not have the labels, or not any more */
		apply_gone(bound, pod);
		return;
	}
	if (!pod->counted) {
		pod->counted = true;
		bound->there++;
	}
	if (awaited != NULL)
		awaited->there = true;
	if (pod->marked)
		return;
	if (!was_bound(bound, value, &state)) {
		if (awaited != NULL && awaited->seen_us == 0)
			awaited->seen_us = now_us;
	} else if (state_is_leaving(&state)) {
		apply_leaving(bound, pod, awaited);
	} else {
		apply_bound(bound, pod, awaited, &state, now_us);
	}
}

/* Added pods were found before they are watched: one that is not there now went in
 * between, unless it may still come. */
static void apply_whole(struct pods_bound *bound)
{
	if (!bound->whole && !bound->opts.may_come)
		PL_MAP_EACH (node, &bound->named) {
			struct awaited_pod *pod =
				PL_CONTAINER_OF(node, struct awaited_pod, node);

			if (!pod->there)
				lose_pod(bound, pod, "is gone");
		}
	bound->whole = true;
}

/* -- waiting -------------------------------------------------------------- */

static bool is_over(const struct pods_bound *bound)
{
	return bound->whole && bound->bound + bound->lost >= pods_bound_total(bound);
}

static void stop_watch(struct pods_bound *bound)
{
	if (bound->over)
		return;
	bound->over = true;
	pod_watch_stop(bound->watch);
}

static void bound_finish(struct pods_bound *bound)
{
	struct pl_err why = bound->failure;

	pl_timer_done(&bound->end);
	bound->opts.done(bound->opts.ctx, why.code == PL_OK ? NULL : &why);
}

static void on_pod(void *ctx, const struct pod_watch_note *note)
{
	struct pods_bound *bound = ctx;

	if (bound->over && note->what != POD_WATCH_STOPPED)
		return;
	switch (note->what) {
	case POD_WATCH_POD:
		apply_pod(bound, note->pod, note->state);
		break;
	case POD_WATCH_GONE:
		apply_gone(bound, note->pod);
		break;
	case POD_WATCH_WHOLE:
		apply_whole(bound);
		break;
	case POD_WATCH_TROUBLE:
		bound->opts.trouble(bound->opts.ctx, note->err);
		break;
	case POD_WATCH_STOPPED:
		bound->watch = NULL;
		if (note->err != NULL && bound->failure.code == PL_OK)
			bound->failure = *note->err;
		bound_finish(bound);
		return;
	}
	if (is_over(bound))
		stop_watch(bound);
}

static bool is_wanted(void *ctx, struct pl_span key)
{
	const struct pods_bound *bound = ctx;
	struct pl_span namespace = bound->opts.namespace;

	if (!bound->opts.all)
		return find_pod(bound, key) != NULL;
	return namespace.len == 0 ||
	       (key.len > namespace.len && key.at[namespace.len] == '/' &&
	        pl_span_eq(pl_span(key.at, namespace.len), namespace));
}

static void on_end(void *ctx)
{
	struct pods_bound *bound = ctx;

	if (bound->over)
		return;
	(void)pl_err_set(&bound->failure, PL_TIMEOUT, "some pods are not bound");
	pods_bound_each_left(bound, bound->opts.left, bound->opts.ctx);
	stop_watch(bound);
}

enum pl_code pods_bound_start(struct pods_bound *bound, const struct service *service,
                              const struct pods_bound_opts *opts, struct pl_err *err)
{
	bool selects = opts->query != NULL && opts->query->requirements > 0;
	struct pod_watch_parts parts;
	struct pod_watch_opts watch = {.prefix = parts.prefix,
	                               .wanted = is_wanted,
	                               .query = selects ? opts->query : NULL,
	                               .fn = on_pod,
	                               .ctx = bound};
	enum pl_code code =
		pl_timer_init(&bound->end, kv_timers(service->kv), on_end, bound);

	if (code != PL_OK)
		return pl_err_set(err, code, "wait for pods");
	bound->opts = *opts;
	pod_watch_parts(bound->in_partition, &parts);
	watch.count = parts.count;
	code = pod_watch_open(service->kv, &watch, &bound->watch, err);
	if (code != PL_OK)
		pl_timer_done(&bound->end);
	else
		pl_timer_set(&bound->end, kv_now_ms(service->kv) + opts->timeout_ms);
	return code;
}

void pods_bound_cancel(struct pods_bound *bound)
{
	if (bound->over)
		return;
	(void)pl_err_set(&bound->failure, PL_CANCELED, "canceled");
	stop_watch(bound);
}
