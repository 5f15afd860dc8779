#include <stdlib.h>

#include "coord/api/verbs/deleter.h"
#include "coord/api/verbs/namespace.h"
#include "store/base/alloc.h"
#include "store/base/log.h"

enum { SOON_MS = 10, AGAIN_MS = 1000 };

/*
 *	IDLE --a namespace terminates--> EMPTYING --all resources--> is it empty?
 *	  ^                                                            | yes: REMOVING
 *	  `------- nothing terminates --------- after a while, no <----'
 */
enum emptier_state { EMPTIER_IDLE, EMPTIER_EMPTYING, EMPTIER_WAITING, EMPTIER_REMOVING };

struct namespace_emptier {
	struct api *api;
	enum emptier_state state;
	struct pl_timer timer;
	char name[64];    /* of the namespace at hand */
	int64_t revision; /* of it */
	size_t resource;  /* the next one to be emptied */
	bool found;       /* something was still there */
	bool sure;        /* the informers were waited for: nothing is unseen */
	struct cache_wait wait;
	bool closing;
	struct write write;
	struct keys_text key;
	void (*closed)(void *ctx);
	void *closed_ctx;
};

static const struct schema_resource *namespaces(void)
{
	return schema_resource_find((struct pl_span){0}, PL_SPAN_LIT("v1"),
	                            PL_SPAN_LIT("namespaces"));
}

static void kick_at(struct namespace_emptier *emptier, uint64_t in_ms)
{
	pl_timer_set(&emptier->timer, kv_now_ms(emptier->api->kv) + in_ms);
}

static bool is_terminating(const struct object *object)
{
	char scratch[MEMBER_NAME_SIZE];

	return pl_span_eq(object_field(object, PL_SPAN_LIT("status.phase"), scratch),
	                  PL_SPAN_LIT("Terminating"));
}

static void take_namespace(struct namespace_emptier *emptier, const struct object *object)
{
	memcpy(emptier->name, object->name.at, object->name.len);
	emptier->name[object->name.len] = 0;
	emptier->revision = object->part[OBJECT_MAIN]->mod_revision;
}

/* The next namespace that terminates, behind the one at hand and round, so that one that
 * does not get empty keeps no other waiting. */
static bool find_namespace(struct namespace_emptier *emptier)
{
	char prefix[SOURCE_ORDER_MAX], last[sizeof emptier->name];
	size_t len = source_prefix(namespaces(), (struct pl_span){0}, (struct pl_span){0},
	                           prefix);
	struct source_walk walk;
	struct object object;
	bool found = false;

	memcpy(last, emptier->name, sizeof last);
	if (source_walk_begin(emptier->api->sources, namespaces(), pl_span(prefix, len),
	                      (struct pl_span){0}, 0, &walk) != PL_OK)
		return false;
	while (source_walk_next(&walk, &object)) {
		if (!is_terminating(&object) || object.name.len >= sizeof emptier->name)
			continue;
		if (pl_span_cmp(object.name, pl_span_str(last)) > 0) {
			take_namespace(emptier, &object);
			return true;
		}
		if (!found)
			take_namespace(emptier, &object);
		found = true;
	}
	return found;
}

/* The next resource that may have something in the namespace. */
static const struct schema_resource *next_resource(struct namespace_emptier *emptier)
{
	size_t count;
	const struct schema_resource *all = schema_resources(&count);

	while (emptier->resource < count) {
		const struct schema_resource *at = &all[emptier->resource++];
		enum source_kind kind;
		struct source_walk walk;
		struct object object;
		char prefix[SOURCE_ORDER_MAX];
		size_t len;

		if (!at->namespaced || !source_of_resource(at, &kind) ||
		    (kind != SOURCE_OBJECTS && kind != SOURCE_PODS &&
		     kind != SOURCE_BUDGETS))
			continue;
		len = source_prefix(at, pl_span_str(emptier->name), (struct pl_span){0},
		                    prefix);
		if (source_walk_begin(emptier->api->sources, at, pl_span(prefix, len),
		                      (struct pl_span){0}, 0, &walk) == PL_OK &&
		    source_walk_next(&walk, &object))
			return at;
	}
	return NULL;
}

static void empty_next(struct namespace_emptier *emptier);

static void on_emptied(void *ctx, uint64_t count, const struct pl_err *err)
{
	struct namespace_emptier *emptier = ctx;

	(void)count;
	if (err != NULL)
		PL_LOG(PL_LOG_WARN, "api.namespace_not_empty",
		       pl_log_str("namespace", emptier->name), pl_log_err("err", err));
	empty_next(emptier);
}

static bool add_removal(struct write *write, struct txn_builder *builder)
{
	struct namespace_emptier *emptier = write->ctx;

	return builder_delete(builder, keys_span(&emptier->key), emptier->revision);
}

static void settle(struct namespace_emptier *emptier, uint64_t in_ms)
{
	emptier->state = EMPTIER_IDLE;
	kick_at(emptier, in_ms);
}

static void on_removed(struct write *write, const struct write_outcome *outcome)
{
	struct namespace_emptier *emptier = write->ctx;

	settle(emptier, outcome->result == WRITE_DONE ? SOON_MS : AGAIN_MS);
}

static void remove_namespace(struct namespace_emptier *emptier)
{
	struct pl_err err = {0};

	emptier->write =
		(struct write){.add = add_removal, .done = on_removed, .ctx = emptier};
	if (!object_key(namespaces(), (struct pl_span){0}, pl_span_str(emptier->name),
	                &emptier->key)) {
		settle(emptier, AGAIN_MS);
		return;
	}
	write_adds_key(&emptier->write, keys_span(&emptier->key));
	emptier->state = EMPTIER_REMOVING;
	if (write_queue_add(emptier->api->writes, &emptier->write, &err) != PL_OK)
		settle(emptier, AGAIN_MS);
}

/* -- is it empty? ---------------------------------------------------------------------- */

/* A pod or a budget that was committed before the namespace's end may not have come to
 * the informer yet: both are waited for before the namespace goes. */

static void wait_for(struct namespace_emptier *emptier, enum source_kind kind,
                     cache_wait_fn *fresh)
{
	struct pl_err err = {0};

	emptier->state = EMPTIER_WAITING;
	if (cache_wait(emptier->api->sources->source[kind].cache, &emptier->wait, 0,
	               REQUEST_FRESH_MS, fresh, emptier, &err) != PL_OK)
		settle(emptier, AGAIN_MS);
}

static void on_budgets_fresh(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct namespace_emptier *emptier = ctx;

	(void)revision;
	if (err != NULL) {
		settle(emptier, AGAIN_MS);
		return;
	}
	emptier->state = EMPTIER_EMPTYING;
	emptier->sure = true;
	emptier->resource = 0;
	empty_next(emptier);
}

static void on_pods_fresh(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct namespace_emptier *emptier = ctx;

	(void)revision;
	if (err != NULL)
		settle(emptier, AGAIN_MS);
	else
		wait_for(emptier, SOURCE_BUDGETS, on_budgets_fresh);
}

static void empty_next(struct namespace_emptier *emptier)
{
	struct deleter_opts opts = {.namespace = pl_span_str(emptier->name),
	                            .grace_s = -1,
	                            .done = on_emptied,
	                            .ctx = emptier};
	struct pl_err err = {0};

	opts.resource = emptier->closing ? NULL : next_resource(emptier);
	if (opts.resource == NULL) {
		if (emptier->closing || emptier->found)
			settle(emptier, emptier->closing ? 0 : AGAIN_MS);
		else if (emptier->sure)
			remove_namespace(emptier);
		else
			wait_for(emptier, SOURCE_PODS, on_pods_fresh);
		return;
	}
	emptier->found = true;
	if (deleter_start(emptier->api, &opts, &err) != PL_OK)
		settle(emptier, AGAIN_MS);
}

static void on_timer(void *ctx)
{
	struct namespace_emptier *emptier = ctx;

	if (emptier->state != EMPTIER_IDLE)
		return;
	if (emptier->closing) {
		void (*closed)(void *) = emptier->closed;
		void *closed_ctx = emptier->closed_ctx;

		pl_timer_done(&emptier->timer);
		free(emptier);
		closed(closed_ctx);
		return;
	}
	if (!find_namespace(emptier))
		return;
	emptier->state = EMPTIER_EMPTYING;
	emptier->resource = 0;
	emptier->found = false;
	emptier->sure = false;
	empty_next(emptier);
}

enum pl_code namespace_emptier_open(struct api *api, struct namespace_emptier **out,
                                    struct pl_err *err)
{
	struct namespace_emptier *emptier = pl_calloc(1, sizeof *emptier);

	if (emptier == NULL)
		return pl_err_set(err, PL_NOMEM, "empty namespaces");
	emptier->api = api;
	if (pl_timer_init(&emptier->timer, kv_timers(api->kv), on_timer, emptier) !=
	    PL_OK) {
		free(emptier);
		return pl_err_set(err, PL_NOMEM, "empty namespaces");
	}
	kick_at(emptier, SOON_MS);
	*out = emptier;
	return PL_OK;
}

void namespace_emptier_kick(struct namespace_emptier *emptier)
{
	if (emptier->state == EMPTIER_IDLE && !emptier->closing)
		kick_at(emptier, SOON_MS);
}

void namespace_emptier_close(struct namespace_emptier *emptier, void (*closed)(void *ctx),
                             void *ctx)
{
	emptier->closing = true;
	emptier->closed = closed;
	emptier->closed_ctx = ctx;
	if (emptier->state == EMPTIER_WAITING) {
		cache_wait_end(&emptier->wait);
		emptier->state = EMPTIER_IDLE;
	}
	if (emptier->state == EMPTIER_IDLE)
		kick_at(emptier, 0);
}
