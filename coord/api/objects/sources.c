#include "coord/api/objects/sources.h"

#include <stdlib.h>

#include "coord/api/objects/shown_names.h"
#include "coord/api/objects/source_order.h"
#include "coord/api/objects/sources_int.h"
#include "store/base/alloc.h"

enum { WINDOW_CHANGES = 65536, TOUCHED_CHUNK = 4096, TOUCHED_BYTES_MAX = 256 << 20 };
static const size_t pods_bytes = (size_t)4 << 30;

/* -- what the informer keeps --------------------------------------------------------- */

static enum pl_code parse_entry(void *ctx, const struct kv_record *record, void **object,
                                size_t *bytes)
{
	struct source *source = ctx;
	struct object_parts *parts = pl_calloc(1, sizeof *parts);

	if (parts == NULL)
		return PL_NOMEM;
	if (source->shares != NULL) {
		*parts = source->ahead; /* shorten_entry was called with the whole */
		source->ahead = (struct object_parts){0};
	} else {
		object_parts_read(record->value, parts);
	}
	*object = parts;
	*bytes += sizeof *parts;
	return PL_OK;
}

/* The spec of a pod is kept apart, once for all pods that have it. */
static enum pl_code shorten_entry(void *ctx, struct pl_span *value, size_t *bytes)
{
	struct source *source = ctx;
	struct object_parts *ahead = &source->ahead;
	struct pl_span spec;

	object_share_unref(ahead->share); /* of one that did not become an entry */
	object_parts_read(*value, ahead);
	spec = pl_span(value->at + ahead->spec.at, ahead->spec.len);
	if (!object_parts_cut(*value, ahead, &source->rest))
		return PL_OK;
	ahead->share = object_share_get(source->shares, spec, bytes);
	*value = pl_buf_span(&source->rest);
	return ahead->share == NULL ? PL_NOMEM : PL_OK;
}

static bool wants_entry(void *ctx, struct pl_span key)
{
	const struct source *source = ctx;

	return source_wants(source->kind, key);
}

static size_t order_entry(void *ctx, struct pl_span key, uint8_t *out)
{
	const struct source *source = ctx;

	return source_order(source->kind, key, out);
}

/* -- objects from entries ------------------------------------------------------------ */

bool source_of_resource(const struct schema_resource *resource, enum source_kind *out)
{
	static const struct {
		const char *plural;
		enum source_kind kind;
	} own[] = {
		{"pods", SOURCE_PODS},         {"nodes", SOURCE_NODES},
		{"shards", SOURCE_SHARDS},     {"partitions", SOURCE_OWNERS},
		{"configs", SOURCE_CONFIGS},   {"gangs", SOURCE_GANGS},
		{"clusters", SOURCE_CLUSTERS}, {"poddisruptionbudgets", SOURCE_BUDGETS},
		{"tokens", SOURCE_TOKENS},
	};

	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
		if (strcmp(own[i].plural, resource->plural) == 0) {
			*out = own[i].kind;
			return true;
		}
	}
	*out = SOURCE_OBJECTS;
	return strcmp(resource->plural, "explanations") != 0 &&
	       strcmp(resource->plural, "plans") != 0;
}

size_t source_prefix(const struct schema_resource *resource, struct pl_span namespace,
                     struct pl_span name, char out[SOURCE_ORDER_MAX])
{
	struct pl_span step[4];
	enum source_kind kind;
	unsigned steps = 0;
	size_t len = 0;

	if (source_of_resource(resource, &kind) && kind == SOURCE_OBJECTS) {
		/* Both resources of events are one store. */
		bool core = resource->group[0] == 0 ||
		            strcmp(resource->plural, "events") == 0;

		step[steps++] = core ? PL_SPAN_LIT("core") : pl_span_str(resource->group);
		step[steps++] = pl_span_str(resource->plural);
	}
	if (resource->namespaced && namespace.len > 0)
		step[steps++] = namespace;
	if (name.len > 0) {
		PL_ASSERT(namespace.len > 0 || !resource->namespaced);
		step[steps++] = name;
	}
	for (unsigned i = 0; i < steps; i++) {
		PL_ASSERT(len + step[i].len + 1 < SOURCE_ORDER_MAX);
		memcpy(out + len, step[i].at, step[i].len);
		len += step[i].len;
		out[len++] = '/';
	}
	out[len] = 0;
	return len;
}

static bool is_shard(const struct schema_resource *resource)
{
	return strcmp(resource->group, "placet.io") == 0 &&
	       strcmp(resource->plural, "shards") == 0;
}

static void object_begin(const struct sources *sources,
                         const struct schema_resource *resource,
                         const struct cache_entry *entry, struct object *out)
{
	*out = (struct object){.resource = resource};
	if (is_shard(resource)) {
		out->wishes = &sources->wishes[sources->wishes_now];
		out->revision = out->wishes->revision;
	}
	source_order_names(resource->namespaced, cache_entry_order(entry),
	                   &out->namespace, &out->name);
}

/* The number that a configuration's current version has, by the part of the version's
 * order: "v0000000012". */
static bool is_current(const struct cache_entry *current,
                       const struct cache_entry *version)
{
	struct pl_span order = cache_entry_order(version);
	struct pl_span digits = source_order_object(order);
	uint64_t number = 0, wanted = 0;
	const uint8_t *at, *end = current->value.at + current->value.len;

	for (size_t i = digits.len + 1; i < order.len; i++)
		number = number * 10 + (uint64_t)(order.at[i] - '0');
	at = memmem(current->value.at, current->value.len, "\"version\":", 10);
	if (at == NULL)
		return false;
	for (at += 10; at < end && (*at == '"' || *at == ' '); at++)
		;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		wanted = wanted * 10 + (uint64_t)(*at - '0');
	return wanted == number;
}

/* Puts an entry in its place. Of two that claim the same place the first counts: the
 * other stands in a partition that is not its own, which fsck tells. */
static void object_add(struct object *object, const struct cache_entry *entry)
{
	enum object_part part = OBJECT_MAIN;
	const struct cache_entry *state = object->part[OBJECT_STATE];

	switch (source_order_part(cache_entry_order(entry))) {
	case 's':
	case 'c':
		part = OBJECT_STATE;
		break;
	case 'v':
		if (state == NULL || !is_current(state, entry))
			return;
		break;
	default:
		break;
	}
	if (object->part[part] != NULL || (object_parts_of(entry)->pointer &&
	                                   strcmp(object->resource->plural, "pods") == 0))
		return;
	object->part[part] = entry;
	if (entry->mod_revision > object->revision)
		object->revision = entry->mod_revision;
}

/* Placet's own records are shown even when they cannot be read. */
static bool entry_is_shown(const struct schema_resource *resource,
                           const struct cache_entry *entry)
{
	return entry != NULL && (object_parts_of(entry)->valid ||
	                         strcmp(resource->group, "placet.io") == 0);
}

static bool object_is_there(const struct object *object)
{
	return entry_is_shown(object->resource, object->part[OBJECT_MAIN]);
}

/* The order prefix with its last slash made the byte behind a slash: the first order that
 * is behind all those with the prefix. */
static struct pl_span behind(struct pl_span prefix, uint8_t out[SOURCE_ORDER_MAX])
{
	PL_ASSERT(prefix.len > 0 && prefix.len <= SOURCE_ORDER_MAX &&
	          prefix.at[prefix.len - 1] == '/');
	memcpy(out, prefix.at, prefix.len);
	out[prefix.len - 1] = '/' + 1;
	return pl_span(out, prefix.len);
}

enum pl_code source_walk_begin(struct sources *sources,
                               const struct schema_resource *resource,
                               struct pl_span prefix, struct pl_span after,
                               int64_t revision, struct source_walk *out)
{
	enum source_kind kind;
	bool has_source = source_of_resource(resource, &kind);
	struct kv_keys orders = {.kind = KV_RANGE, .from = prefix};
	enum pl_code code;

	PL_ASSERT(has_source);
	out->sources = sources;
	out->resource = resource;
	if (after.len > 0) {
		orders.from = behind(after, out->from);
	} else if (prefix.len == 0) {
		out->from[0] = 1; /* before every order */
		orders.from = pl_span(out->from, 1);
	}
	if (prefix.len == 0) {
		out->to[0] = 0x7f; /* behind every order */
		orders.to = pl_span(out->to, 1);
	} else {
		orders.to = behind(prefix, out->to);
	}
	code = cache_range_begin(sources->source[kind].cache, orders, revision,
	                         &out->range);
	out->ahead = code == PL_OK ? cache_range_next(&out->range) : NULL;
	return code;
}

/* The entries of the next object, whether it is there or not. */
static bool next_group(struct source_walk *walk, struct object *out)
{
	struct pl_span object;

	if (walk->ahead == NULL)
		return false;
	object = source_order_object(cache_entry_order(walk->ahead));
	object_begin(walk->sources, walk->resource, walk->ahead, out);
	do {
		object_add(out, walk->ahead);
		walk->ahead = cache_range_next(&walk->range);
	} while (walk->ahead != NULL &&
	         pl_span_eq(object, source_order_object(cache_entry_order(walk->ahead))));
	return true;
}

bool source_walk_next(struct source_walk *walk, struct object *out)
{
	while (next_group(walk, out))
		if (object_is_there(out))
			return true;
	return false;
}

bool source_object_at(struct sources *sources, const struct schema_resource *resource,
                      struct pl_span prefix, int64_t revision, struct object *out)
{
	struct source_walk walk;

	*out = (struct object){.resource = resource};
	if (source_walk_begin(sources, resource, prefix, (struct pl_span){0}, revision,
	                      &walk) != PL_OK)
		return false;
	if (source_walk_next(&walk, out))
		return true;
	*out = (struct object){.resource = resource};
	return true;
}

bool source_get_at(struct sources *sources, const struct schema_resource *resource,
                   struct pl_span namespace, struct pl_span name, int64_t revision,
                   struct object *out)
{
	char prefix[SOURCE_ORDER_MAX];
	size_t len;

	/* Clients ask for names that no key can have. */
	if (namespace.len + name.len > SOURCE_NAMES_MAX)
		return false;
	len = source_prefix(resource, namespace, name, prefix);
	return source_object_at(sources, resource, pl_span(prefix, len), revision, out) &&
	       out->part[OBJECT_MAIN] != NULL;
}

bool source_get(struct sources *sources, const struct schema_resource *resource,
                struct pl_span namespace, struct pl_span name, struct object *out)
{
	return source_get_at(sources, resource, namespace, name, 0, out);
}

struct pl_span source_object_order(const struct object *object)
{
	if (object->order.len > 0)
		return object->order;
	return source_order_object(cache_entry_order(object->part[OBJECT_MAIN]));
}

/* -- changes ------------------------------------------------------------------------- */

static const struct source_resource {
	const char *group, *plural;
} source_resources[SOURCE_KINDS] = {
	[SOURCE_PODS] = {"", "pods"},
	[SOURCE_NODES] = {"", "nodes"},
	[SOURCE_BUDGETS] = {"policy", "poddisruptionbudgets"},
	[SOURCE_SHARDS] = {"placet.io", "shards"},
	[SOURCE_OWNERS] = {"placet.io", "partitions"},
	[SOURCE_CONFIGS] = {"placet.io", "configs"},
	[SOURCE_GANGS] = {"placet.io", "gangs"},
	[SOURCE_CLUSTERS] = {"placet.io", "clusters"},
	[SOURCE_TOKENS] = {"placet.io", "tokens"},
};

/* The first version that is served is the one that is stored. NULL: it is not served. */
static const struct schema_resource *resource_named(struct pl_span group,
                                                    struct pl_span plural)
{
	size_t count;
	const struct schema_resource *all = schema_resources(&count);

	for (size_t i = 0; i < count; i++)
		if (pl_span_eq(plural, pl_span_str(all[i].plural)) &&
		    pl_span_eq(group, pl_span_str(all[i].group)))
			return &all[i];
	return NULL;
}

/* The resource of an object by its order: "<group>/<resource>/..." in /objects. */
static const struct schema_resource *resource_of(const struct source *source,
                                                 struct pl_span order)
{
	const uint8_t *end = order.at + order.len;
	const uint8_t *slash;
	struct pl_span group, plural;

	if (source->kind != SOURCE_OBJECTS)
		return source->resource;
	slash = memchr(order.at, '/', order.len);
	PL_ASSERT(slash != NULL);
	group = pl_span(order.at, (size_t)(slash - order.at));
	plural.at = slash + 1;
	slash = memchr(plural.at, '/', (size_t)(end - plural.at));
	PL_ASSERT(slash != NULL);
	plural.len = (size_t)(slash - plural.at);
	if (pl_span_eq(group, PL_SPAN_LIT("core")))
		group = (struct pl_span){0};
	return resource_named(group, plural);
}

void source_complete_change(const struct sources *sources, struct pl_span order,
                            struct source_change *change)
{
	const struct schema_resource *resource = change->after.resource;
	struct object absent;
	struct pl_span name, namespace;

	if (!shown_names_any(resource))
		return;
	source_order_names(false, order, &namespace, &name);
	if (shown_name_behind(sources, resource, name) == UINT32_MAX)
		return;
	absent = shown_name_object(resource, name, order);
	if (change->before.part[OBJECT_MAIN] == NULL)
		change->before = absent;
	if (change->after.part[OBJECT_MAIN] == NULL) {
		change->after = absent;
		change->after.revision = change->revision;
	}
}

static void tell_change(struct source *source, const struct source_change *change)
{
	struct sources *sources = source->sources;

	if (change->before.part[OBJECT_MAIN] != NULL ||
	    change->after.part[OBJECT_MAIN] != NULL)
		sources->fns.changed(sources->fns.ctx, source->kind, change);
}

static void forget_touched(struct source *source)
{
	PL_MAP_EACH (node, &source->touched)
		pl_map_del(&source->touched, node);
	pl_arena_reset(&source->touched_memory);
}

static void tell_lost(struct source *source, const struct pl_err *err)
{
	forget_touched(source);
	source->broken = false;
	source->sources->fns.lost(source->sources->fns.ctx, source->kind, err);
}

static bool has_parts(const struct source *source)
{
	return source->kind == SOURCE_PODS || source->kind == SOURCE_CONFIGS;
}

static void tell_single(struct source *source, const struct cache_note *note)
{
	const struct cache_entry *entry =
		note->after != NULL ? note->after : note->before;
	const struct schema_resource *resource =
		resource_of(source, cache_entry_order(entry));
	struct source_change change = {.revision = note->revision};

	if (resource == NULL)
		return;
	object_begin(source->sources, resource, entry, &change.before);
	change.after = change.before;
	if (entry_is_shown(resource, note->before))
		object_add(&change.before, note->before);
	if (entry_is_shown(resource, note->after))
		object_add(&change.after, note->after);
	source_complete_change(source->sources,
	                       source_order_object(cache_entry_order(entry)), &change);
	tell_change(source, &change);
}

/* Notes the object of an entry, once. */
static void touch(struct source *source, const struct cache_note *note)
{
	const struct cache_entry *entry =
		note->after != NULL ? note->after : note->before;
	struct pl_span object = source_order_object(cache_entry_order(entry));
	struct pl_map_node *node, *there;

	if (source->broken || pl_map_get(&source->touched, object) != NULL)
		return;
	node = pl_arena_zalloc(&source->touched_memory, 1, sizeof *node);
	object = pl_arena_dup(&source->touched_memory, object);
	if (node == NULL || object.at == NULL) {
		source->broken = true;
		return;
	}
	there = pl_map_add(&source->touched, node, object);
	PL_ASSERT(there == NULL);
}

/* The object as it was before the revision, and as it is now. False: that is not known. */
static bool tell_touched_one(struct source *source, struct pl_span prefix,
                             int64_t revision)
{
	struct source_change change = {.revision = revision};

	if (!source_object_at(source->sources, source->resource, prefix, revision - 1,
	                      &change.before) ||
	    !source_object_at(source->sources, source->resource, prefix, 0,
	                      &change.after))
		return false;
	source_complete_change(source->sources, prefix, &change);
	tell_change(source, &change);
	return true;
}

/* Tells the objects that a revision has touched. */
static void tell_touched(struct source *source, int64_t revision)
{
	struct pl_err err = {0};

	PL_MAP_EACH (node, &source->touched)
		if (!source->broken)
			source->broken = !tell_touched_one(source, node->key, revision);
	forget_touched(source);
	if (source->broken) {
		(void)pl_err_set(&err, PL_COMPACTED,
		                 "changes of revision %lld are not known any more",
		                 (long long)revision);
		tell_lost(source, &err);
	}
}

/* Reads what configurations want of shards. */
static void refresh_wishes(struct sources *sources)
{
	sources->wishes_now ^= 1;
	shard_wishes_read(sources, &sources->wishes[sources->wishes_now]);
}

/* Tells that every shard's spec may be another now. */
static void tell_wishes(struct sources *sources, int64_t revision)
{
	struct source *shards = &sources->source[SOURCE_SHARDS];
	struct source_walk walk;
	struct source_change change = {.revision = revision};

	refresh_wishes(sources);
	if (!shards->synced ||
	    sources->wishes[0].revision == sources->wishes[1].revision ||
	    source_walk_begin(sources, shards->resource, (struct pl_span){0},
	                      (struct pl_span){0}, 0, &walk) != PL_OK)
		return;
	while (source_walk_next(&walk, &change.after)) {
		change.before = change.after;
		change.before.wishes = &sources->wishes[sources->wishes_now ^ 1];
		tell_change(shards, &change);
	}
}

static void on_change(struct source *source, const struct cache_note *note)
{
	if (!source->synced) /* no watch can have begun */
		return;
	if (!has_parts(source)) {
		tell_single(source, note);
		return;
	}
	touch(source, note);
	if (note->more)
		return;
	tell_touched(source, note->revision);
	if (source->kind == SOURCE_CONFIGS)
		tell_wishes(source->sources, note->revision);
}

/* Entries may still have some. */
static void drop_shares(struct source *source)
{
	object_share_unref(source->ahead.share);
	source->ahead = (struct object_parts){0};
	pl_buf_done(&source->rest);
	object_shares_close(source->shares);
	source->shares = NULL;
}

static void on_stopped(struct source *source)
{
	struct sources *sources = source->sources;

	drop_shares(source);
	pl_map_done(&source->touched);
	pl_arena_done(&source->touched_memory);
	source->cache = NULL;
	if (--sources->open > 0 || !sources->closing)
		return;
	for (unsigned i = 0; i < 2; i++)
		shard_wishes_done(&sources->wishes[i]);
	sources->fns.closed(sources->fns.ctx);
}

static void on_note(void *ctx, const struct cache_note *note)
{
	struct source *source = ctx;
	struct sources *sources = source->sources;

	switch (note->type) {
	case CACHE_ADDED:
	case CACHE_UPDATED:
	case CACHE_DELETED:
		on_change(source, note);
		return;
	case CACHE_SYNCED:
		source->synced = true;
		if (source->kind == SOURCE_CONFIGS)
			refresh_wishes(sources);
		sources->fns.synced(sources->fns.ctx, source->kind);
		sources->fns.progress(sources->fns.ctx, source->kind, note->revision);
		return;
	case CACHE_PROGRESS:
		sources->fns.progress(sources->fns.ctx, source->kind, note->revision);
		return;
	case CACHE_LOST:
		if (note->err->code == PL_REWOUND || note->err->code == PL_LIMIT ||
		    note->err->code == PL_NOMEM) {
			source->synced = false;
			tell_lost(source, note->err);
		}
		return;
	case CACHE_TROUBLE:
		return;
	case CACHE_STOPPED:
		on_stopped(source);
		return;
	}
}

/* -- life ---------------------------------------------------------------------------- */

static enum pl_code source_open(struct source *source, const struct sources_opts *opts,
                                struct pl_err *err)
{
	struct cache_opts cache = {
		.list = {.keys = {.kind = KV_PREFIX,
	                          .from = pl_span_str(
					  source_layouts[source->kind].prefix)}},
		.tick = pl_span_str(source_layouts[source->kind].tick),
		.wants = wants_entry,
		.order = order_entry,
		.parse = parse_entry,
		.free_object = object_parts_free,
		.ctx = source,
		.bytes_max = source->kind == SOURCE_PODS ? opts->pods_bytes_max : 0,
		.window_changes =
			opts->window_changes == 0 ? WINDOW_CHANGES : opts->window_changes,
	};

	if (source->kind == SOURCE_PODS) {
		cache.shorten = shorten_entry;
		source->shares = object_shares_new();
		pl_buf_init(&source->rest, OBJECT_TEXT_MAX);
		if (source->shares == NULL)
			return pl_err_set(err, PL_NOMEM, "the informer of pods");
		if (cache.bytes_max == 0)
			cache.bytes_max = pods_bytes;
	}
	if (cache_open(opts->kv, &cache, &source->cache, err) != PL_OK) {
		drop_shares(source);
		return err->code;
	}
	pl_map_init(&source->touched);
	pl_arena_init(&source->touched_memory, TOUCHED_CHUNK, TOUCHED_BYTES_MAX);
	source->sources->open++;
	cache_listen(source->cache, &source->listener, on_note, source);
	return PL_OK;
}

enum pl_code sources_open(const struct sources_opts *opts, struct sources *sources,
                          struct pl_err *err)
{
	*sources = (struct sources){.fns = opts->fns,
	                            .partitions = opts->partitions,
	                            .answers_progress = kv_limits(opts->kv).progress};
	for (unsigned i = 0; i < 2; i++)
		shard_wishes_init(&sources->wishes[i]);
	for (unsigned i = 0; i < SOURCE_KINDS; i++) {
		struct source *source = &sources->source[i];

		source->kind = (enum source_kind)i;
		source->sources = sources;
		if (i != SOURCE_OBJECTS)
			source->resource =
				resource_named(pl_span_str(source_resources[i].group),
			                       pl_span_str(source_resources[i].plural));
		if (source_open(source, opts, err) != PL_OK) {
			sources_close(sources);
			return err->code;
		}
	}
	return PL_OK;
}

bool source_can_be_fresh(const struct sources *sources, enum source_kind kind)
{
	return sources->answers_progress || source_layouts[kind].tick != NULL;
}

void sources_close(struct sources *sources)
{
	sources->closing = true;
	for (unsigned i = 0; i < SOURCE_KINDS; i++)
		if (sources->source[i].cache != NULL)
			cache_stop(sources->source[i].cache);
}

bool sources_synced(const struct sources *sources)
{
	for (unsigned i = 0; i < SOURCE_KINDS; i++)
		if (!cache_synced(sources->source[i].cache))
			return false;
	return true;
}
