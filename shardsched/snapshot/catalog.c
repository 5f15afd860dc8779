#include "shardsched/snapshot/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "shardsched/snapshot/assumed.h"
#include "shardsched/snapshot/catalog_inner.h"
#include "store/base/alloc.h"

/* -- what the kinds differ in ---------------------------------------------------------
 */

static struct catalog_key key_of_namespace(const struct namespace *it)
{
	return (struct catalog_key){0, it->name, 0};
}

static struct catalog_key key_of_priority_class(const struct priority_class *it)
{
	return (struct catalog_key){0, it->name, 0};
}

static struct catalog_key key_of_budget(const struct budget *it)
{
	return (struct catalog_key){it->namespace, it->name, 0};
}

static struct catalog_key key_of_workload(const struct workload *it)
{
	return (struct catalog_key){it->namespace, it->name, it->kind};
}

static struct catalog_key key_of_claim(const struct claim *it)
{
	return (struct catalog_key){it->namespace, it->name, 0};
}

static struct catalog_key key_of_volume(const struct volume *it)
{
	return (struct catalog_key){0, it->name, 0};
}

static struct catalog_key key_of_storage_class(const struct storage_class *it)
{
	return (struct catalog_key){0, it->name, 0};
}

static struct catalog_key key_of_csi_node(const struct csi_node *it)
{
	return (struct catalog_key){0, it->node, 0};
}

static struct catalog_key key_of_csi_driver(const struct csi_driver *it)
{
	return (struct catalog_key){0, it->name, 0};
}

static struct catalog_key key_of_csi_capacity(const struct csi_capacity *it)
{
	return (struct catalog_key){it->namespace, it->name, 0};
}

struct catalog_kind_info {
	const char *noun;
	size_t size;
	uint32_t most;
	struct catalog_key (*key)(const void *object);
	void (*drop)(struct model *model, void *object);
};

#define KIND_FUNCTIONS(kind, type, name, most)                         \
	static struct catalog_key name##_key_any(const void *object)   \
	{                                                              \
		return key_of_##name(object);                          \
	}                                                              \
	static void name##_drop_any(struct model *model, void *object) \
	{                                                              \
		name##_drop(model, object);                            \
	}
CATALOG_KIND_MAP(KIND_FUNCTIONS)

#define KIND_ROW(kind, type, name, most) \
	{#name, sizeof(type), most, name##_key_any, name##_drop_any},
static const struct catalog_kind_info kinds[] = {CATALOG_KIND_MAP(KIND_ROW)};

static struct catalog_group_key group_key(enum catalog_kind kind, const void *object)
{
	struct catalog_key key = kinds[kind].key(object);

	switch (kind) {
	case CATALOG_BUDGET:
		return (struct catalog_group_key){CATALOG_BY_BUDGET_NAMESPACE,
		                                  key.namespace, 0};
	case CATALOG_WORKLOAD:
		return (struct catalog_group_key){CATALOG_BY_WORKLOAD_NAMESPACE,
		                                  key.namespace, 0};
	case CATALOG_CLAIM:
		return (struct catalog_group_key){CATALOG_BY_CLAIM_NAMESPACE,
		                                  key.namespace, 0};
	case CATALOG_VOLUME:
		return catalog_volume_group(object);
	case CATALOG_CSI_CAPACITY:
		return (struct catalog_group_key){
			CATALOG_BY_CAPACITY_CLASS,
			((const struct csi_capacity *)object)->class, 0};
	case CATALOG_NAMESPACE:
	case CATALOG_PRIORITY_CLASS:
	case CATALOG_STORAGE_CLASS:
	case CATALOG_CSI_NODE:
	case CATALOG_CSI_DRIVER:
	case CATALOG_KINDS:
		break;
	}
	return (struct catalog_group_key){CATALOG_BY_NOTHING, 0, 0};
}

/* -- life ------------------------------------------------------------------------------
 */

enum pl_code catalog_init(struct catalog *catalog, struct model *model,
                          struct pl_err *err)
{
	struct catalog_inner *inner = pl_calloc(1, sizeof *inner);

	if (inner == NULL)
		return pl_err_set(err, PL_NOMEM, "no memory for a catalog");
	for (unsigned i = 0; i < CATALOG_KINDS; i++)
		pl_map_init(&inner->kind[i]);
	pl_map_init(&inner->groups);
	pl_map_init(&inner->uses);
	pl_map_init(&inner->assumed);
	*catalog = (struct catalog){.model = model, .inner = inner};
	return PL_OK;
}

static struct catalog_entry *entry_at(struct pl_map_node *node)
{
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct catalog_entry, by_name);
}

static void entry_free(struct catalog *catalog, enum catalog_kind kind,
                       struct catalog_entry *entry)
{
	catalog_group_move(catalog, entry, NULL);
	catalog_group_keep(catalog, entry, NULL);
	pl_map_del(&catalog->inner->kind[kind], &entry->by_name);
	kinds[kind].drop(catalog->model, catalog_object(entry));
	free(entry);
}

void catalog_done(struct catalog *catalog)
{
	struct catalog_inner *inner = catalog->inner;

	if (inner == NULL)
		return;
	assumed_done(catalog);
	for (unsigned i = 0; i < CATALOG_KINDS; i++) {
		PL_MAP_EACH (node, &inner->kind[i])
			entry_free(catalog, i, entry_at(node));
		pl_map_done(&inner->kind[i]);
	}
	claims_done(catalog);
	PL_ASSERT(inner->groups.count == 0);
	pl_map_done(&inner->groups);
	free(inner);
	*catalog = (struct catalog){0};
}

/* -- put, find, drop --------------------------------------------------------------------
 */

struct catalog_entry *catalog_entry_find(const struct catalog *catalog,
                                         enum catalog_kind kind, struct catalog_key key)
{
	return entry_at(pl_map_get(&catalog->inner->kind[kind], catalog_key_span(&key)));
}

static void bump_epoch(struct catalog *catalog, enum catalog_kind kind)
{
	catalog->epoch[kind]++;
	catalog->count[kind] = (uint32_t)catalog->inner->kind[kind].count;
}

/* Makes an entry that is not in the map, without an object. */
static enum pl_code entry_new(struct catalog *catalog, enum catalog_kind kind,
                              struct catalog_key key, struct catalog_entry **out,
                              struct pl_err *err)
{
	const struct catalog_kind_info *it = &kinds[kind];
	struct catalog_entry *entry;

	if (catalog->inner->kind[kind].count >= it->most)
		return pl_err_set(err, PL_LIMIT, "more than %u of %s", it->most,
		                  it->noun);
	entry = pl_calloc(1, sizeof *entry + it->size);
	if (entry == NULL)
		return pl_err_set(err, PL_NOMEM, "no memory for a %s", it->noun);
	entry->key = key;
	pl_list_init(&entry->in_group);
	*out = entry;
	return PL_OK;
}

/* The group of an object, and the group it returns to when its assumptions end. */
struct catalog_place {
	struct catalog_group *group;
	struct catalog_group *return_to;
	bool assumed;
};

static bool get_group(struct catalog *catalog, struct catalog_group_key key,
                      struct catalog_group **out)
{
	if (key.by == CATALOG_BY_NOTHING)
		return true;
	*out = catalog_group_want(catalog, key);
	return *out != NULL;
}

/* false: no memory. Copies the assumptions about the replaced object to the new one. */
static bool find_place(struct catalog *catalog, enum catalog_kind kind,
                       struct catalog_entry *entry, void *object,
                       struct catalog_place *out)
{
	struct catalog_group_key open = group_key(kind, object);

	out->assumed = assumed_carry(catalog, kind, entry, object);
	if (!get_group(catalog, group_key(kind, object), &out->group))
		return false;
	if (!out->assumed || kind != CATALOG_VOLUME ||
	    get_group(catalog, open, &out->return_to))
		return true;
	catalog_group_drop_empty(catalog, out->group);
	return false;
}

static void link_entry(struct catalog *catalog, enum catalog_kind kind,
                       struct catalog_entry *entry, void *object,
                       const struct catalog_place *place)
{
	struct pl_map *map = &catalog->inner->kind[kind];

	if (pl_map_has(&entry->by_name))
		kinds[kind].drop(catalog->model, catalog_object(entry));
	else
		PL_ASSERT(pl_map_add(map, &entry->by_name,
		                     catalog_key_span(&entry->key)) == NULL);
	memcpy(catalog_object(entry), object, kinds[kind].size);
	memset(object, 0, kinds[kind].size);
	catalog_group_move(catalog, entry, place->group);
	catalog_group_keep(catalog, entry, place->return_to);
	if (!place->assumed)
		entry->assumed = 0;
	bump_epoch(catalog, kind);
}

static enum pl_code put_object(struct catalog *catalog, enum catalog_kind kind,
                               void *object, struct pl_err *err)
{
	struct catalog_key key = kinds[kind].key(object);
	struct catalog_entry *entry = catalog_entry_find(catalog, kind, key);
	struct catalog_place place = {0};
	enum pl_code code = PL_OK;

	PL_ASSERT(key.name != 0);
	if (entry == NULL)
		code = entry_new(catalog, kind, key, &entry, err);
	if (code != PL_OK)
		goto fail;
	if (!find_place(catalog, kind, entry, object, &place))
		goto fail_entry;
	link_entry(catalog, kind, entry, object, &place);
	return PL_OK;
fail_entry:
	code = pl_err_set(err, PL_NOMEM, "no memory for a %s", kinds[kind].noun);
	if (!pl_map_has(&entry->by_name))
		free(entry);
fail:
	kinds[kind].drop(catalog->model, object);
	return code;
}

static const void *find_object(const struct catalog *catalog, enum catalog_kind kind,
                               struct catalog_key key)
{
	struct catalog_entry *entry = catalog_entry_find(catalog, kind, key);

	return entry == NULL ? NULL : catalog_object(entry);
}

static void drop_object(struct catalog *catalog, enum catalog_kind kind,
                        struct catalog_key key)
{
	struct catalog_entry *entry = catalog_entry_find(catalog, kind, key);

	if (entry == NULL)
		return;
	entry_free(catalog, kind, entry);
	bump_epoch(catalog, kind);
}

static const void *next_object(const struct catalog *catalog, enum catalog_kind kind,
                               const void *previous)
{
	const struct pl_map *map = &catalog->inner->kind[kind];
	const struct catalog_entry *entry = previous;
	struct pl_map_node *node =
		entry == NULL ? pl_map_first(map) : pl_map_next(map, &entry[-1].by_name);

	return node == NULL ? NULL : catalog_object(entry_at(node));
}

/* NOLINTBEGIN(bugprone-macro-parentheses): type is a type, name a name */
#define KIND_API(kind, type, name, most)                                          \
	enum pl_code catalog_put_##name(struct catalog *catalog, type *name,      \
	                                struct pl_err *err)                       \
	{                                                                         \
		return put_object(catalog, CATALOG_##kind, name, err);            \
	}                                                                         \
	const type *catalog_find_##name(const struct catalog *catalog,            \
	                                struct catalog_key key)                   \
	{                                                                         \
		return find_object(catalog, CATALOG_##kind, key);                 \
	}                                                                         \
	void catalog_drop_##name(struct catalog *catalog, struct catalog_key key) \
	{                                                                         \
		drop_object(catalog, CATALOG_##kind, key);                        \
	}                                                                         \
	const type *catalog_next_##name(const struct catalog *catalog,            \
	                                const type *previous)                     \
	{                                                                         \
		return next_object(catalog, CATALOG_##kind, previous);            \
	}
CATALOG_KIND_MAP(KIND_API)
/* NOLINTEND(bugprone-macro-parentheses) */

const struct labels *catalog_namespace_labels(const struct catalog *catalog,
                                              uint32_t name)
{
	const struct namespace *namespace =
		catalog_find_namespace(catalog, (struct catalog_key){0, name, 0});

	return namespace == NULL ? NULL : namespace->labels;
}

/* -- figures and checks -----------------------------------------------------------------
 */

static size_t map_memory(const struct pl_map *map, size_t element)
{
	size_t bytes = map->count * element;

	return map->cap == PL_MAP_FEW ? bytes
	                              : bytes + map->cap * sizeof(struct pl_map_node *);
}

size_t catalog_memory(const struct catalog *catalog)
{
	const struct catalog_inner *inner = catalog->inner;
	size_t bytes = sizeof *inner;

	for (unsigned i = 0; i < CATALOG_KINDS; i++)
		bytes += map_memory(&inner->kind[i],
		                    sizeof(struct catalog_entry) + kinds[i].size);
	bytes += map_memory(&inner->groups, sizeof(struct catalog_group));
	bytes += map_memory(&inner->uses, sizeof(struct claim_use));
	return bytes + map_memory(&inner->assumed, sizeof(struct assumed));
}

static void check_entry(const struct catalog *catalog, enum catalog_kind kind,
                        struct catalog_entry *entry, size_t *grouped)
{
	struct catalog_group_key want = group_key(kind, catalog_object(entry));
	struct catalog_key key = kinds[kind].key(catalog_object(entry));

	PL_ASSERT(memcmp(&key, &entry->key, sizeof key) == 0);
	if (want.by == CATALOG_BY_NOTHING) {
		PL_ASSERT(entry->group == NULL);
		return;
	}
	PL_ASSERT(catalog_group_find(catalog, want) == entry->group);
	PL_ASSERT(!pl_list_empty(&entry->in_group));
	++*grouped;
}

void catalog_check(const struct catalog *catalog)
{
	struct catalog_inner *inner = catalog->inner;
	size_t grouped = 0, chained = 0;

	for (unsigned i = 0; i < CATALOG_KINDS; i++) {
		PL_ASSERT(catalog->count[i] == inner->kind[i].count);
		PL_MAP_EACH (node, &inner->kind[i])
			check_entry(catalog, i, entry_at(node), &grouped);
	}
	PL_MAP_EACH (node, &inner->groups) {
		struct catalog_group *group =
			PL_CONTAINER_OF(node, struct catalog_group, by_key);

		PL_ASSERT(group->kept > 0 || !pl_list_empty(&group->members));
		PL_LIST_EACH (link, &group->members)
			chained++;
	}
	PL_ASSERT(grouped == chained);
}
