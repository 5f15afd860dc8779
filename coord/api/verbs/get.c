/*
 * GET of one object. Without a resourceVersion the answer is at least as new as the
 * request, and the store says what that is: it is asked for the revisions of the object's
 * keys, and not for their values.
 *
 *	ASKING --as the informer knows them, or it is further--> answered
 *	   |---- changed since -----> WAITING for that change --> ASKING or answered
 *	   |---- no such key -------> 404
 *	   `---- anything else -----> as a list: waits until the informer is as new as the store
 *
 * So the object of a GET is the informer's, as in lists and watches, and a GET waits for
 * changes of its own object only, whatever else the store is doing.
 */
#include "coord/api/objects/shown_walk.h"
#include "coord/api/verbs/change.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { ASKS_MAX = 3 };

struct get {
	struct request *request;
	enum source_kind kind;
	struct keys_text main,
		keys;  /* the key of the spec or object; the prefix to read */
	bool by_name;  /* the key is the one that the name leads to */
	int64_t known; /* the revision of the informer when the store was asked */
	int64_t revision[OBJECT_PART_COUNT]; /* of the keys in the store; 0: none */
	unsigned asks;
};

static void answer_not_found(struct request *request)
{
	struct api_status status =
		status_not_found(&request->arena, request_about(request));

	answer_status(request, &status);
}

static void answer_known(struct request *request)
{
	struct shown_walk walk;
	struct object object;

	if (!shown_get(request->api->sources, request->path.resource,
	               request->path.namespace, request->path.name, &walk, &object))
		answer_not_found(request);
	else if (pl_span_eq(request->path.subresource, PL_SPAN_LIT("scale")))
		answer_scale(request, 200, &object);
	else
		answer_object(request, 200, &object);
}

/* -- keys ------------------------------------------------------------------------------ */

/* False: no key can have the name. */
static bool key_of_name(struct request *request, enum source_kind kind,
                        struct keys_text *out)
{
	const struct request_path *path = &request->path;
	uint32_t partitions = request->api->service.partitions;
	struct keys_id id = {.scope = path->namespace, .name = path->name};

	switch (kind) {
	case SOURCE_PODS:
		id.kind = KEYS_SPEC;
		return partition_of_pod(id.scope, id.name, partitions, &id.partition,
		                        NULL) == PL_OK &&
		       keys_build(&id, out, NULL) == PL_OK;
	case SOURCE_NODES:
		id.kind = KEYS_NODE;
		member_name_split(path->name, &id.scope, &id.name);
		return partition_of_node(id.scope, id.name, partitions, &id.partition,
		                         NULL) == PL_OK &&
		       keys_build(&id, out, NULL) == PL_OK;
	case SOURCE_BUDGETS:
		id.kind = KEYS_BUDGET;
		return keys_build(&id, out, NULL) == PL_OK;
	case SOURCE_OBJECTS:
		return object_key(path->resource, path->namespace, path->name, out);
	default:
		return false;
	}
}

static void copy_key(struct pl_span key, struct keys_text *out)
{
	PL_ASSERT(key.len < sizeof out->at);
	memcpy(out->at, key.at, key.len);
	out->at[key.len] = 0;
	out->len = key.len;
}

static bool find_known(const struct get *get, struct object *out)
{
	const struct request_path *path = &get->request->path;

	return source_get(get->request->api->sources, path->resource, path->namespace,
	                  path->name, out);
}

/* The key of the object that is known, else the one that the name leads to. */
static bool find_keys(struct get *get)
{
	struct object object;

	bool has_name = key_of_name(get->request, get->kind, &get->main);

	get->by_name = true;
	if (find_known(get, &object)) {
		struct pl_span key = object.part[OBJECT_MAIN]->key;

		get->by_name = has_name && pl_span_eq(key, keys_span(&get->main));
		copy_key(key, &get->main);
	} else if (!has_name) {
		return false;
	}
	get->keys = get->main;
	if (get->kind == SOURCE_PODS) /* the spec and the state */
		while (get->keys.len > 0 && get->keys.at[get->keys.len - 1] != '/')
			get->keys.len--;
	return true;
}

/* -- the store's answer ------------------------------------------------------------------ */

static void ask(struct get *get);

static int64_t revision_of(const struct cache_entry *entry)
{
	return entry == NULL ? 0 : entry->mod_revision;
}

static bool is_as_in_store(const struct get *get, const struct object *object)
{
	const struct cache_entry *main = object->part[OBJECT_MAIN];

	return pl_span_eq(main->key, keys_span(&get->main)) &&
	       revision_of(main) == get->revision[OBJECT_MAIN] &&
	       revision_of(object->part[OBJECT_STATE]) == get->revision[OBJECT_STATE];
}

static void on_changed(struct request *request)
{
	struct get *get = request->work;
	struct object object;

	if (find_known(get, &object) && is_as_in_store(get, &object))
		answer_known(request);
	else
		ask(get);
}

static int64_t newest(const struct get *get)
{
	return get->revision[OBJECT_MAIN] > get->revision[OBJECT_STATE]
	               ? get->revision[OBJECT_MAIN]
	               : get->revision[OBJECT_STATE];
}

static void compare(struct get *get, int64_t revision)
{
	struct request *request = get->request;
	struct cache *cache = request->api->sources->source[get->kind].cache;
	struct object object;
	bool known = find_known(get, &object);

	bool gone = get->revision[OBJECT_MAIN] == 0 &&
	            (get->by_name || get->kind != SOURCE_PODS);

	/* An answer from before what was known: the store was restored. */
	if (revision >= get->known && cache_synced(cache)) {
		if (cache_revision(cache) >= revision ||
		    (known && is_as_in_store(get, &object))) {
			answer_known(request);
			return;
		}
		if (newest(get) > cache_revision(cache)) {
			request_wait_change(request, cache, newest(get), on_changed);
			return;
		}
		if (gone) {
			answer_not_found(request);
			return;
		}
	}
	request_when_fresh(request, answer_known);
}

static void on_keys(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct get *get = ctx;
	struct request *request = get->request;

	memset(get->revision, 0, sizeof get->revision);
	for (size_t i = 0; err == NULL && i < result->get.count; i++) {
		const struct kv_record *record = &result->get.records[i];
		bool is_main = pl_span_eq(record->key, keys_span(&get->main));

		get->revision[is_main ? OBJECT_MAIN : OBJECT_STATE] =
			record->mod_revision;
	}
	if (request->exchange != NULL && err != NULL)
		answer_store_error(request, err);
	else if (request->exchange != NULL)
		compare(get, result->header.revision);
	request_unbusy(request);
}

static void ask(struct get *get)
{
	struct request *request = get->request;
	struct kv_get read = {.keys_only = true};
	struct pl_err err = {0};

	if (get->asks == ASKS_MAX || !find_keys(get)) {
		request_when_fresh(request, answer_known);
		return;
	}
	get->asks++;
	get->known = source_revision(request->api->sources, get->kind);
	read.keys = get->kind == SOURCE_PODS ? kv_prefix(keys_span(&get->keys))
	                                     : kv_key(keys_span(&get->keys));
	if (kv_get(request->api->kv, &read, request->api->service.timeout_ms, on_keys,
	           get, NULL, &err) == PL_OK)
		request->busy++;
	else /* no room for a call now */
		request_when_fresh(request, answer_known);
}

/* -- the request ----------------------------------------------------------------------- */

static bool known_subresource(const struct request *request)
{
	struct pl_span sub = request->path.subresource;
	uint16_t has = request->path.resource->subresources;

	return sub.len == 0 ||
	       (pl_span_eq(sub, PL_SPAN_LIT("status")) &&
	        (has & SCHEMA_SUB_STATUS) != 0) ||
	       (pl_span_eq(sub, PL_SPAN_LIT("scale")) && (has & SCHEMA_SUB_SCALE) != 0);
}

/* Whether the object is one of those whose keys follow from its name. Events come from two
 * sources. */
static bool has_keys(const struct request *request, enum source_kind *kind)
{
	return source_of_resource(request->path.resource, kind) &&
	       (*kind == SOURCE_PODS || *kind == SOURCE_NODES ||
	        *kind == SOURCE_BUDGETS || *kind == SOURCE_OBJECTS) &&
	       !resource_is_events(request->path.resource) &&
	       cache_synced(request->api->sources->source[*kind].cache);
}

void request_get(struct request *request)
{
	enum source_kind kind;
	struct get *get;

	if (!known_subresource(request)) {
		answer_not_found(request);
		return;
	}
	if (request->query.resourceVersion.len > 0 || !has_keys(request, &kind)) {
		request_when_fresh(request, answer_known);
		return;
	}
	get = pl_arena_alloc(&request->arena, sizeof *get);
	if (get == NULL) {
		answer_no_memory(request);
		return;
	}
	*get = (struct get){.request = request, .kind = kind};
	request->work = get;
	ask(get);
}
