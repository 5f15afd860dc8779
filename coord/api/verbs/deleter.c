#include "coord/api/verbs/deleter.h"

#include <stdlib.h>

#include "coord/api/verbs/finalizer.h"
#include "store/base/alloc.h"

enum { DELETER_BATCH = 256, ROUNDS_MAX = 10 };

struct deleter;

struct deleter_entry {
	struct write write;
	struct deleter *deleter;
	struct keys_text key;
	struct pl_span namespace, name; /* of a pod or budget; in the arena */
	struct pl_span marked;          /* a budget that finalizers hold; in the arena */
	int64_t revision;
	/* Held by finalizers: it is marked, not deleted. Referenced while it is written;
	 * NULL: none. */
	const struct cache_entry *held;
};

struct deleter {
	struct api *api;
	struct deleter_opts opts;
	struct pl_arena arena; /* of a batch */
	char prefix[SOURCE_ORDER_MAX];
	size_t prefix_len;
	struct pl_span namespace;
	struct pl_buf after; /* order of the last object that was looked at */
	enum source_kind source;
	struct deleter_entry entry[DELETER_BATCH];
	unsigned count, next; /* entries; the next one of pod requests */
	unsigned flying;
	bool filling;
	uint64_t deleted;
	uint64_t changed; /* objects of this round that other writers were faster with */
	unsigned rounds;
	struct cache_wait fresh;
	struct pl_err err;   /* PL_OK: nothing has failed */
	struct pl_err stuck; /* a pod that stays, while the others go */
	struct pl_timer kick;
};

static void deleter_end(struct deleter *deleter)
{
	void (*done)(void *, uint64_t, const struct pl_err *) = deleter->opts.done;
	void *ctx = deleter->opts.ctx;
	uint64_t count = deleter->deleted;
	struct pl_err err = deleter->err;

	pl_timer_done(&deleter->kick);
	pl_buf_done(&deleter->after);
	pl_arena_done(&deleter->arena);
	free(deleter);
	done(ctx, count, err.code == PL_OK ? NULL : &err);
}

static void go_on(struct deleter *deleter)
{
	if (deleter->flying == 0 && !deleter->filling)
		pl_timer_set(&deleter->kick, kv_now_ms(deleter->api->kv));
}

/* -- /objects ------------------------------------------------------------------------ */

static bool add_deletion(struct write *write, struct txn_builder *builder)
{
	struct deleter_entry *entry = write->ctx;
	struct api *api = entry->deleter->api;
	char time[CHANGE_TIME_SIZE];
	struct pl_span marked;

	if (entry->held == NULL)
		return builder_delete(builder, keys_span(&entry->key), entry->revision);
	api_time_now(api, time);
	marked = deletion_mark(builder->arena, entry->held, time);
	if (marked.at == NULL) {
		builder->code = PL_NOMEM;
		return false;
	}
	return builder_put(builder, keys_span(&entry->key), entry->revision, marked);
}

static void on_deletion(struct write *write, const struct write_outcome *outcome)
{
	struct deleter_entry *entry = write->ctx;
	struct deleter *deleter = entry->deleter;

	cache_entry_unref(entry->held);
	deleter->deleted += outcome->result == WRITE_DONE;
	deleter->changed += outcome->result == WRITE_REFUSED;
	if (outcome->result == WRITE_FAILED && deleter->err.code == PL_OK)
		deleter->err = *outcome->err;
	deleter->flying--;
	go_on(deleter);
}

static void delete_objects(struct deleter *deleter)
{
	for (unsigned i = 0; i < deleter->count; i++) {
		struct deleter_entry *entry = &deleter->entry[i];

		entry->write = (struct write){
			.add = add_deletion, .done = on_deletion, .ctx = entry};
		write_adds_key(&entry->write, keys_span(&entry->key));
		if (write_queue_add(deleter->api->writes, &entry->write, &deleter->err) !=
		    PL_OK)
			return;
		if (entry->held != NULL)
			(void)cache_entry_ref(entry->held);
		deleter->flying++;
	}
}

/* -- pods ------------------------------------------------------------------------------ */

static enum pl_code next_pod(void *ctx, struct pod_request *out, struct pl_err *err)
{
	struct deleter *deleter = ctx;
	struct deleter_entry *entry;

	(void)err;
	if (deleter->next == deleter->count)
		return PL_NOTFOUND;
	entry = &deleter->entry[deleter->next++];
	*out = (struct pod_request){
		.verb = POD_REQUEST_DELETE,
		.namespace = entry->namespace,
		.name = entry->name,
		.at = POD_REQUEST_BY_NAME,
		.ended = deleter->opts.grace_s == 0 ? STATE_ENDED_GONE : STATE_ENDED_NOT};
	return PL_OK;
}

static void on_pod(void *ctx, const struct pod_request *request,
                   enum pod_request_outcome outcome, const char *why)
{
	struct deleter *deleter = ctx;

	deleter->deleted += outcome == POD_REQUEST_GONE ||
	                    outcome == POD_REQUEST_ACCEPTED ||
	                    outcome == POD_REQUEST_ALREADY;
	if (outcome == POD_REQUEST_MALFORMED && deleter->stuck.code == PL_OK)
		(void)pl_err_set(&deleter->stuck, PL_CORRUPT,
		                 "pod " PL_SPAN_FMT "/" PL_SPAN_FMT " stays: %s",
		                 PL_SPAN_ARG(request->namespace),
		                 PL_SPAN_ARG(request->name), why);
}

static void on_pods(void *ctx, const struct pl_err *err)
{
	struct deleter *deleter = ctx;

	if (err != NULL && deleter->err.code == PL_OK)
		deleter->err = *err;
	deleter->flying--;
	go_on(deleter);
}

static void delete_pods(struct deleter *deleter)
{
	struct api *api = deleter->api;
	struct pod_request_opts opts = {.partitions = api->service.partitions,
	                                .timeout_ms = api->service.timeout_ms,
	                                .wall_ms = api->wall_ms(api->clock_ctx),
	                                .who = api->service.user,
	                                .next = next_pod,
	                                .report = on_pod,
	                                .done = on_pods,
	                                .ctx = deleter};
	struct pod_requests *requests;

	deleter->next = 0;
	if (pod_requests_open(api->kv, &opts, &requests, &deleter->err) == PL_OK)
		deleter->flying++;
}

/* -- disruption budgets ------------------------------------------------------------------ */

static void on_budget(void *ctx, enum budget_outcome outcome, int64_t revision,
                      const struct pl_err *err)
{
	struct deleter *deleter = ctx;

	(void)outcome;
	(void)revision;
	deleter->deleted += err == NULL;
	deleter->changed += err != NULL && err->code == PL_CONFLICT;
	if (err != NULL && err->code != PL_NOTFOUND && err->code != PL_CONFLICT &&
	    deleter->err.code == PL_OK)
		deleter->err = *err;
	deleter->flying--;
	go_on(deleter);
}

static enum pl_code delete_budget(struct deleter *deleter,
                                  const struct deleter_entry *entry)
{
	const struct budget_object marked = {.namespace = entry->namespace,
	                                     .name = entry->name,
	                                     .object = entry->marked};
	struct budget_edit *edit;

	if (entry->marked.len > 0)
		return budget_put_start(&deleter->api->service, &marked, entry->revision,
		                        on_budget, deleter, &edit, &deleter->err);
	return budget_delete_start(&deleter->api->service, entry->namespace, entry->name,
	                           entry->revision, on_budget, deleter, &edit,
	                           &deleter->err);
}

static void delete_budgets(struct deleter *deleter)
{
	for (unsigned i = 0; i < deleter->count; i++) {
		if (delete_budget(deleter, &deleter->entry[i]) != PL_OK)
			return;
		deleter->flying++;
	}
}

/* -- batches ----------------------------------------------------------------------------- */

static bool mark_budget(struct deleter_entry *entry, const struct object *object)
{
	struct deleter *deleter = entry->deleter;
	char time[CHANGE_TIME_SIZE];

	api_time_now(deleter->api, time);
	entry->marked =
		deletion_mark_budget(&deleter->arena, object->part[OBJECT_MAIN], time);
	deleter->count += entry->marked.at != NULL;
	return entry->marked.at != NULL;
}

static bool keep_entry(struct deleter *deleter, const struct object *object)
{
	struct deleter_entry *entry = &deleter->entry[deleter->count];

	entry->deleter = deleter;
	entry->held = NULL;
	entry->marked = (struct pl_span){0};
	entry->revision = object->part[OBJECT_MAIN]->mod_revision;
	if (deleter->source != SOURCE_OBJECTS) {
		entry->namespace = pl_arena_dup(&deleter->arena, object->namespace);
		entry->name = pl_arena_dup(&deleter->arena, object->name);
		if (entry->namespace.at == NULL || entry->name.at == NULL)
			return false;
		if (deleter->source == SOURCE_BUDGETS && finalizers_hold(object))
			return mark_budget(entry, object);
	} else {
		struct pl_span key = object->part[OBJECT_MAIN]->key;

		PL_ASSERT(key.len < sizeof entry->key.at);
		memcpy(entry->key.at, key.at, key.len);
		entry->key.at[key.len] = 0;
		entry->key.len = key.len;
	}
	if (deleter->source == SOURCE_OBJECTS && finalizers_hold(object))
		entry->held = object->part[OBJECT_MAIN];
	deleter->count++;
	return true;
}

/* The object goes with this deletion, or is marked by it. */
static bool is_meant(const struct deleter *deleter, const struct object *object)
{
	if (deleter->opts.filter != NULL &&
	    !object_filter_matches(deleter->opts.filter, object))
		return false;
	return !finalizers_are_kept(deleter->source) || !finalizers_hold(object) ||
	       !deletion_is_marked(object);
}

/* False: nothing is left to look at. */
static bool fill_batch(struct deleter *deleter)
{
	struct source_walk walk;
	struct object object;

	pl_arena_reset(&deleter->arena);
	deleter->count = 0;
	if (source_walk_begin(deleter->api->sources, deleter->opts.resource,
	                      pl_span(deleter->prefix, deleter->prefix_len),
	                      pl_buf_span(&deleter->after), 0, &walk) != PL_OK)
		return false;
	while (deleter->count < DELETER_BATCH && source_walk_next(&walk, &object)) {
		deleter->after.len = 0;
		if (pl_buf_add(&deleter->after, source_object_order(&object)) != PL_OK ||
		    (is_meant(deleter, &object) && !keep_entry(deleter, &object))) {
			(void)pl_err_set(&deleter->err, PL_NOMEM, "delete objects");
			return false;
		}
	}
	return deleter->count > 0;
}

/* -- rounds -------------------------------------------------------------------------------- */

static void on_fresh(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct deleter *deleter = ctx;

	(void)revision;
	deleter->flying--;
	if (err != NULL)
		deleter->err = *err;
	go_on(deleter);
}

/* Walks again from the beginning, over what the other writers have written. */
static void begin_round(struct deleter *deleter)
{
	struct cache *cache = deleter->api->sources->source[deleter->source].cache;

	deleter->changed = 0;
	deleter->after.len = 0;
	if (++deleter->rounds == ROUNDS_MAX)
		(void)pl_err_set(&deleter->err, PL_CONFLICT,
		                 "objects of the collection keep changing");
	else if (cache_wait(cache, &deleter->fresh, 0, REQUEST_FRESH_MS, on_fresh,
	                    deleter, &deleter->err) == PL_OK)
		deleter->flying++;
	go_on(deleter);
}

static void on_kick(void *ctx)
{
	struct deleter *deleter = ctx;
	bool some = deleter->err.code == PL_OK && fill_batch(deleter);

	if (!some && deleter->err.code == PL_OK && deleter->changed > 0) {
		begin_round(deleter);
		return;
	}
	if (!some) {
		if (deleter->err.code == PL_OK)
			deleter->err = deleter->stuck;
		deleter_end(deleter);
		return;
	}
	deleter->filling = true;
	if (deleter->opts.dry_run)
		deleter->deleted += deleter->count;
	else if (deleter->source == SOURCE_PODS)
		delete_pods(deleter);
	else if (deleter->source == SOURCE_BUDGETS)
		delete_budgets(deleter);
	else
		delete_objects(deleter);
	deleter->filling = false;
	go_on(deleter);
}

enum pl_code deleter_start(struct api *api, const struct deleter_opts *opts,
                           struct pl_err *err)
{
	struct deleter *deleter = pl_calloc(1, sizeof *deleter);
	bool has_source;

	if (deleter == NULL)
		return pl_err_set(err, PL_NOMEM, "delete objects");
	if (pl_timer_init(&deleter->kick, kv_timers(api->kv), on_kick, deleter) !=
	    PL_OK) {
		free(deleter);
		return pl_err_set(err, PL_NOMEM, "delete objects");
	}
	deleter->api = api;
	deleter->opts = *opts;
	has_source = source_of_resource(opts->resource, &deleter->source);
	PL_ASSERT(has_source);
	pl_arena_init(&deleter->arena, 16 << 10, 1 << 20);
	pl_buf_init(&deleter->after, SOURCE_ORDER_MAX);
	deleter->prefix_len = source_prefix(opts->resource, opts->namespace,
	                                    (struct pl_span){0}, deleter->prefix);
	go_on(deleter);
	return PL_OK;
}
