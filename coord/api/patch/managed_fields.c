#include "coord/api/patch/managed_fields.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "coord/api/patch/managed_int.h"

/* -- fields that have no owner --------------------------------------------------------- */

#define STRIPPED(at, name) [at] = {.text = (name), .member = true}
#define STRIPPED_THEN(at, name, array) \
	[at] = {.text = (name), .member = true, .next = &(array)[(at) + 1]}

/* Sorted, as all sets are. */
static const struct field_node stripped_meta[] = {
	STRIPPED_THEN(0, "clusterName", stripped_meta),
	STRIPPED_THEN(1, "creationTimestamp", stripped_meta),
	STRIPPED_THEN(2, "generation", stripped_meta),
	STRIPPED_THEN(3, "managedFields", stripped_meta),
	STRIPPED_THEN(4, "name", stripped_meta),
	STRIPPED_THEN(5, "namespace", stripped_meta),
	STRIPPED_THEN(6, "resourceVersion", stripped_meta),
	STRIPPED_THEN(7, "selfLink", stripped_meta),
	STRIPPED(8, "uid"),
};
static const struct field_node stripped[] = {
	STRIPPED_THEN(0, "apiVersion", stripped),
	STRIPPED_THEN(1, "kind", stripped),
	[2] = {.text = "metadata", .member = true, .child = stripped_meta},
};

/* A set of one path, "metadata.ownerReferences". */
static struct owned_fields path_set(struct field_maker *maker, const char *path)
{
	const char *dot = strchr(path, '.');
	struct field_level level = {0};
	struct owned_fields below = {0};
	struct pl_span name =
		pl_span(path, dot == NULL ? strlen(path) : (size_t)(dot - path));

	if (dot != NULL) {
		struct field_level inner = {0};

		field_level_add(maker, &inner, FIELD_NAME, dot + 1, true, below);
		below = field_level_end(maker, &inner);
	}
	name = pl_arena_dup(maker->arena, name);
	field_level_add(maker, &level, FIELD_NAME, (const char *)name.at, dot == NULL,
	                below);
	return field_level_end(maker, &level);
}

struct owned_fields managed_seen(struct field_maker *maker, struct owned_fields set,
                                 const struct field_writer *by)
{
	for (const char *const *path = by->ignored; path != NULL && *path != NULL; path++)
		if (!field_set_empty(set))
			set = field_set_outside(maker, set, path_set(maker, *path));
	return set;
}

struct owned_fields managed_own(struct field_maker *maker, struct owned_fields set,
                                const struct field_writer *by)
{
	set = field_set_minus(maker, set, (struct owned_fields){stripped});
	return managed_seen(maker, set, by);
}

/* -- the list in an object ------------------------------------------------------------- */

struct pl_json managed_of(struct pl_json object)
{
	return pl_json_member(pl_json_member(object, "metadata"), "managedFields");
}

bool managed_store(struct managed_list *list, struct cJSON *object)
{
	struct pl_arena *arena = list->maker->arena;
	struct cJSON *meta, *entries;

	if (list->maker->failed)
		return false;
	if (list->first == NULL) {
		meta = json_get(object, "metadata");
		if (meta != NULL)
			(void)json_remove(meta, "managedFields");
		return true;
	}
	entries = managed_write(list);
	meta = json_get_object(arena, object, "metadata");
	return json_set(arena, meta, "managedFields", entries) && !list->maker->failed;
}

/* A client that sends an empty list, or one empty entry, wants the entries removed. */
static bool is_reset(struct pl_json entries)
{
	struct pl_json first = pl_json_first(entries);

	if (pl_json_type(entries) != PL_JSON_ARRAY)
		return false;
	if (first.node == NULL)
		return true;
	return pl_json_next(first).node == NULL &&
	       pl_json_type(first) == PL_JSON_OBJECT && pl_json_first(first).node == NULL;
}

static bool read_or_drop(struct managed_list *list, struct pl_json entries, bool whole)
{
	enum pl_code code = managed_read(list, entries, whole, NULL);

	if (code == PL_OK)
		return true;
	if (code == PL_NOMEM)
		list->maker->failed = true;
	*list = (struct managed_list){.maker = list->maker};
	return false;
}

/* The entries that a change starts from. */
static void choose_entries(struct managed_list *list, struct pl_json before,
                           struct pl_json after, const struct field_writer *by)
{
	struct pl_json sent = managed_of(after), old = managed_of(before);

	if (by->subresource[0] == 0) {
		if (is_reset(sent))
			return;
		/* Entries that come back as they were read have been checked before. */
		if (!json_equal(sent, old) && read_or_drop(list, sent, true) &&
		    list->first != NULL)
			return;
	}
	(void)read_or_drop(list, old, false);
}

/* -- updates --------------------------------------------------------------------------- */

void managed_record(struct managed_list *list, const struct typed_changes *changes,
                    const struct field_writer *by)
{
	struct field_maker *maker = list->maker;
	struct owned_fields taken, own, all;
	struct managed_entry *mine;

	own = field_set_union(maker, changes->modified, changes->added);
	taken = field_set_union(maker, own, changes->removed);
	taken = managed_seen(maker, taken, by);
	own = managed_own(maker, own, by);
	for (struct managed_entry *entry = list->first; entry != NULL;
	     entry = entry->next)
		managed_take(list, entry, taken);
	if (!field_set_empty(own)) {
		mine = managed_find(list, by, false);
		if (mine == NULL)
			mine = managed_add(list, by, false);
		if (mine == NULL)
			return;
		all = field_set_union(maker, managed_set(list, mine), own);
		managed_put(mine, all);
		mine->time = by->time;
	}
	managed_drop_empty(list);
	managed_cap(list);
}

static void update(struct managed_list *list, struct pl_json before, struct pl_json after,
                   const struct field_writer *by)
{
	struct typed_changes changes;

	/* An object whose fields are not tracked stays so until it is applied to. */
	if (list->first == NULL && before.node != NULL)
		return;
	changes = typed_compare(list->maker, slot_root(by->type), before, after);
	managed_record(list, &changes, by);
}

enum pl_code managed_fields_update(struct json_tree *after, struct pl_json before,
                                   const struct field_writer *by, struct pl_err *err)
{
	struct field_maker maker;
	struct managed_list list = {.maker = &maker};
	bool done;

	PL_ASSERT(after->root != NULL && cJSON_IsObject(after->root));
	field_maker_init(&maker, after->arena);
	choose_entries(&list, before, json_tree_root(after), by);
	if (!maker.failed)
		update(&list, before, json_tree_root(after), by);
	done = managed_store(&list, after->root);
	field_maker_done(&maker);
	return done ? PL_OK : pl_err_set(err, PL_NOMEM, "managed fields: no memory");
}
