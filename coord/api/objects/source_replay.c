/* The changes of the past, out of a source's window. */
#include "coord/api/objects/source_order.h"
#include "coord/api/objects/sources_int.h"

static bool object_as_of(struct sources *sources, const struct schema_resource *resource,
                         const struct cache_entry *entry, int64_t revision,
                         struct object *out)
{
	struct pl_span order = source_order_object(cache_entry_order(entry));

	return source_object_at(sources, resource, order, revision, out);
}

static bool is_main_of(const struct source_change *change,
                       const struct cache_entry *entry)
{
	return entry == change->before.part[OBJECT_MAIN] ||
	       entry == change->after.part[OBJECT_MAIN];
}

/* A replay reads at once, so nothing has to be waited for. */
static void on_replay(void *ctx)
{
	(void)ctx;
}

enum pl_code source_replay(struct sources *sources,
                           const struct schema_resource *resource, struct pl_span prefix,
                           int64_t after, int64_t until,
                           void (*changed)(void *ctx, const struct source_change *change),
                           void *ctx)
{
	enum source_kind kind;
	bool has_source = source_of_resource(resource, &kind);
	struct cache_watch watch = {0};
	struct kv_keys orders = {.kind = KV_PREFIX, .from = prefix};
	struct cache_note note;
	enum pl_code code;

	PL_ASSERT(has_source);
	if (prefix.len == 0)
		orders = (struct kv_keys){.kind = KV_FROM, .from = PL_SPAN_LIT("\x01")};
	code = cache_watch_begin(sources->source[kind].cache, &watch, orders, after,
	                         on_replay, NULL);
	if (code != PL_OK)
		return code;
	while ((code = cache_watch_next(&watch, &note)) == PL_OK) {
		const struct cache_entry *entry =
			note.after != NULL ? note.after : note.before;
		struct source_change change = {.revision = note.revision};

		if (note.revision > until)
			break;
		/* When a revision has changed several entries of an object, its main entry
		 * tells the whole change. */
		if (!object_as_of(sources, resource, entry, note.revision - 1,
		                  &change.before) ||
		    !object_as_of(sources, resource, entry, note.revision,
		                  &change.after)) {
			code = PL_COMPACTED;
			break;
		}
		if (change.before.part[OBJECT_MAIN] == NULL &&
		    change.after.part[OBJECT_MAIN] == NULL)
			continue;
		if (!is_main_of(&change, entry) &&
		    change.before.part[OBJECT_MAIN] != change.after.part[OBJECT_MAIN])
			continue;
		source_complete_change(
			sources, source_order_object(cache_entry_order(entry)), &change);
		changed(ctx, &change);
	}
	cache_watch_end(&watch);
	return code == PL_NOTFOUND ? PL_OK : code;
}
