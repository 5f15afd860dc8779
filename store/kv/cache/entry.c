#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/cache/cache_int.h"

/* Bytes that the allocator and the tree need for a version, approximately. */
enum { VERSION_OVERHEAD = 32 };

bool cache_wants(const struct cache *cache, struct pl_span key)
{
	if (cache->opts.tick.len != 0 && pl_span_eq(key, cache->opts.tick))
		return false;
	return cache->opts.wants == NULL || cache->opts.wants(cache->opts.ctx, key);
}

struct pl_span cache_order(const struct cache *cache, struct pl_span key,
                           uint8_t out[CACHE_ORDER_MAX])
{
	size_t len;

	if (cache->opts.order == NULL)
		return key;
	len = cache->opts.order(cache->opts.ctx, key, out);
	PL_ASSERT(len <= CACHE_ORDER_MAX);
	return pl_span(out, len);
}

enum pl_code cache_charge(struct cache *cache, size_t bytes)
{
	while (cache->bytes + bytes > cache->opts.bytes_max)
		if (!cache_window_drop(cache))
			return PL_LIMIT;
	cache->bytes += bytes;
	return PL_OK;
}

static struct pl_span place(uint8_t **at, struct pl_span from)
{
	struct pl_span to = pl_span(*at, from.len);

	if (from.len != 0)
		memcpy(*at, from.at, from.len);
	*at += from.len;
	return to;
}

/* Makes a version without object and revisions. NULL: no memory. */
static struct cache_version *version_alloc(struct cache *cache, struct pl_span key,
                                           struct pl_span value)
{
	uint8_t buf[CACHE_ORDER_MAX];
	struct pl_span order = cache_order(cache, key, buf);
	size_t extra = cache->opts.order == NULL ? 0 : order.len;
	size_t size = sizeof(struct cache_version) + extra + key.len + value.len;
	struct cache_version *version = pl_malloc(size);
	uint8_t *at;

	if (version == NULL)
		return NULL;
	*version = (struct cache_version){.refs = 1, .bytes = size + VERSION_OVERHEAD};
	at = version->data;
	if (extra != 0)
		order = place(&at, order);
	version->entry.key = place(&at, key);
	version->entry.value = place(&at, value);
	version->node.key = extra != 0 ? order : version->entry.key;
	return version;
}

void cache_version_discard(struct cache_version *version)
{
	if (version == NULL)
		return;
	if (version->entry.object != NULL)
		version->free_object(version->entry.object);
	free(version);
}

static enum pl_code parse_object(const struct cache *cache,
                                 const struct kv_record *record,
                                 struct cache_version *version)
{
	struct kv_record own = *record;

	if (cache->opts.parse == NULL)
		return PL_OK;
	own.key = version->entry.key;
	if (!cache->opts.drop_values)
		own.value = version->entry.value;
	version->free_object = cache->opts.free_object;
	return cache->opts.parse(cache->opts.ctx, &own, &version->entry.object,
	                         &version->bytes);
}

/* The value that the entry keeps. */
static enum pl_code kept_value(struct cache *cache, struct pl_span *value, size_t *bytes)
{
	if (cache->opts.drop_values)
		*value = (struct pl_span){0};
	else if (cache->opts.shorten != NULL)
		return cache->opts.shorten(cache->opts.ctx, value, bytes);
	return PL_OK;
}

enum pl_code cache_version_new(struct cache *cache, const struct kv_record *record,
                               struct cache_version **out)
{
	struct pl_span value = record->value;
	struct cache_version *version;
	size_t bytes = 0;
	enum pl_code code = kept_value(cache, &value, &bytes);

	if (code != PL_OK)
		return code;
	version = version_alloc(cache, record->key, value);
	if (version == NULL)
		return PL_NOMEM;
	version->bytes += bytes;
	version->entry.create_revision = record->create_revision;
	version->entry.mod_revision = record->mod_revision;
	version->entry.version = record->version;
	version->entry.lease = record->lease;
	version->list_no = cache->list_no;
	code = parse_object(cache, record, version);
	if (code != PL_OK) {
		cache_version_discard(version);
		return code;
	}
	*out = version;
	return PL_OK;
}

struct cache_version *cache_version_deleted(struct cache *cache,
                                            const struct cache_version *version,
                                            int64_t revision)
{
	struct cache_version *deleted =
		version_alloc(cache, version->entry.key, (struct pl_span){0});

	if (deleted == NULL)
		return NULL;
	deleted->deleted = true;
	deleted->entry.mod_revision = revision;
	/* A deletion must not fail, so the cache may be over its maximum until the next
	 * entry shortens the window. */
	cache->bytes += deleted->bytes;
	return deleted;
}

void cache_version_release(struct cache *cache, struct cache_version *version)
{
	if (version == NULL)
		return;
	PL_ASSERT(version->refs > 0 && version->older == NULL);
	PL_ASSERT(cache->bytes >= version->bytes);
	cache->bytes -= version->bytes;
	if (--version->refs == 0)
		cache_version_discard(version);
}

/* Entries are const for their readers, but count their references. */
static struct cache_version *version_of(const struct cache_entry *entry)
{
	union {
		const struct cache_entry *from;
		struct cache_version *to;
	} both = {.from = entry};

	return both.to;
}

const struct cache_entry *cache_entry_ref(const struct cache_entry *entry)
{
	struct cache_version *version = version_of(entry);

	PL_ASSERT(version->refs > 0);
	version->refs++;
	return entry;
}

void cache_entry_unref(const struct cache_entry *entry)
{
	struct cache_version *version = version_of(entry);

	if (entry == NULL)
		return;
	PL_ASSERT(version->refs > 0);
	if (--version->refs == 0)
		cache_version_discard(version);
}

struct pl_span cache_entry_order(const struct cache_entry *entry)
{
	return version_of(entry)->node.key;
}
