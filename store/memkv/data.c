#include "store/memkv/data.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { VERSIONS_MIN = 4 };

struct mem_key *mem_key_new(struct pl_span name)
{
	struct mem_key *key;

	if (name.len > SIZE_MAX - sizeof *key)
		return NULL;
	key = pl_malloc(sizeof *key + name.len);
	if (key == NULL)
		return NULL;
	*key = (struct mem_key){.refs = 1};
	if (name.len != 0)
		memcpy(key->bytes, name.at, name.len);
	key->node.key = pl_span(key->bytes, name.len);
	pl_list_init(&key->of_lease);
	return key;
}

struct mem_key *mem_key_ref(struct mem_key *key)
{
	key->refs++;
	return key;
}

void mem_key_unref(struct mem_key *key)
{
	PL_ASSERT(key->refs > 0);
	if (--key->refs != 0)
		return;
	PL_ASSERT(key->count == 0 && key->lease == NULL);
	if (key->cap != 0)
		free((void *)key->versions.many);
	free(key);
}

struct mem_version *mem_version_new(struct mem_key *key, struct pl_span value)
{
	struct mem_version *version;

	if (value.len > SIZE_MAX - sizeof *version)
		return NULL;
	version = pl_malloc(sizeof *version + value.len);
	if (version == NULL)
		return NULL;
	*version = (struct mem_version){
		.key = mem_key_ref(key), .refs = 1, .len = value.len};
	if (value.len != 0)
		memcpy(version->bytes, value.at, value.len);
	return version;
}

struct mem_version *mem_version_ref(struct mem_version *version)
{
	version->refs++;
	return version;
}

void mem_version_unref(struct mem_version *version)
{
	if (version == NULL)
		return;
	PL_ASSERT(version->refs > 0);
	if (--version->refs != 0)
		return;
	mem_key_unref(version->key);
	free(version);
}

struct mem_version **mem_versions(struct mem_key *key)
{
	return key->cap == 0 ? &key->versions.one : key->versions.many;
}

struct mem_version *mem_newest(struct mem_key *key)
{
	return key->count == 0 ? NULL : mem_versions(key)[key->count - 1];
}

static enum pl_code versions_grow(struct mem_key *key)
{
	uint32_t cap = key->cap == 0 ? VERSIONS_MIN : key->cap * 2;
	struct mem_version **many;

	if (key->cap > UINT32_MAX / 2)
		return PL_NOMEM;
	many = pl_realloc(key->cap == 0 ? NULL : (void *)key->versions.many,
	                  cap * sizeof(struct mem_version *));
	if (many == NULL)
		return PL_NOMEM;
	if (key->cap == 0)
		many[0] = key->versions.one;
	key->versions.many = many;
	key->cap = cap;
	return PL_OK;
}

enum pl_code mem_push(struct mem_key *key, struct mem_version *version)
{
	if (key->count >= (key->cap == 0 ? 1 : key->cap)) {
		enum pl_code code = versions_grow(key);

		if (code != PL_OK)
			return code;
	}
	mem_versions(key)[key->count++] = version;
	return PL_OK;
}

/* A single version that is left moves inside, which compaction makes the common case. */
static void versions_shrink(struct mem_key *key)
{
	struct mem_version **many = key->versions.many;

	if (key->cap == 0 || key->count > 1)
		return;
	key->versions.one = key->count == 0 ? NULL : many[0];
	key->cap = 0;
	free((void *)many);
}

struct mem_version *mem_pop(struct mem_key *key)
{
	struct mem_version *version = mem_newest(key);

	PL_ASSERT(version != NULL);
	key->count--;
	versions_shrink(key);
	return version;
}

void mem_drop_oldest(struct mem_key *key, uint32_t count)
{
	struct mem_version **all = mem_versions(key);

	PL_ASSERT(count <= key->count);
	key->count -= count;
	memmove((void *)all, (void *)(all + count),
	        key->count * sizeof(struct mem_version *));
	versions_shrink(key);
}

uint32_t mem_rank(struct mem_key *key, int64_t revision)
{
	struct mem_version **all = mem_versions(key);
	uint32_t low = 0, high = key->count;

	/* The newest version is nearly always the one that is asked for. */
	if (high != 0 && all[high - 1]->mod_revision <= revision)
		return high;
	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (all[mid]->mod_revision <= revision)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct mem_version *mem_at(struct mem_key *key, int64_t revision)
{
	uint32_t rank = mem_rank(key, revision);
	struct mem_version *version = rank == 0 ? NULL : mem_versions(key)[rank - 1];

	return version == NULL || mem_is_delete(version) ? NULL : version;
}

void mem_record(const struct mem_version *version, bool keys_only, struct kv_record *out)
{
	*out = (struct kv_record){
		.key = version->key->node.key,
		.create_revision = version->create_revision,
		.mod_revision = version->mod_revision,
		.version = version->version,
		.lease = version->lease,
	};
	if (!keys_only)
		out->value = pl_span(version->bytes, version->len);
}
