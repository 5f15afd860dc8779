/* Entries of managedFields read, found, capped and written. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "coord/api/patch/fields_v1.h"
#include "coord/api/patch/managed_int.h"

/* -- reading --------------------------------------------------------------------------- */

static enum pl_code no_memory(struct pl_err *err)
{
	return pl_err_set(err, PL_NOMEM, "managed fields: no memory");
}

static enum pl_code read_texts(struct pl_json item, struct managed_entry *entry,
                               const char **operation, const char **type,
                               struct pl_err *err)
{
	const struct {
		const char *name;
		const char **out;
	} texts[] = {
		{"manager", &entry->manager},         {"operation", operation},
		{"apiVersion", &entry->api_version},  {"time", &entry->time},
		{"subresource", &entry->subresource}, {"fieldsType", type},
	};
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < sizeof texts / sizeof *texts && code == PL_OK; i++)
		code = pl_json_string(item, texts[i].name, PL_JSON_OPTIONAL, texts[i].out,
		                      err);
	return code;
}

static enum pl_code read_entry(struct pl_json item, struct managed_entry *entry,
                               struct pl_err *err)
{
	const char *operation = "", *type = "";
	enum pl_code code;

	entry->manager = entry->api_version = entry->subresource = "";
	code = read_texts(item, entry, &operation, &type, err);
	if (code != PL_OK)
		return code;
	entry->applied = strcmp(operation, "Apply") == 0;
	if (!entry->applied && strcmp(operation, "Update") != 0)
		return pl_json_fail(item, PL_INVALID, err,
		                    "operation must be `Apply` or `Update`");
	if (entry->api_version[0] == 0)
		return pl_json_fail(item, PL_INVALID, err,
		                    "apiVersion must not be empty");
	if (strcmp(type, "FieldsV1") != 0)
		return pl_json_fail(item, PL_INVALID, err, "fieldsType must be FieldsV1");
	entry->raw = pl_json_member(item, "fieldsV1");
	if (pl_json_type(entry->raw) == PL_JSON_NULL)
		entry->raw.node = NULL;
	entry->read = entry->raw.node == NULL;
	return PL_OK;
}

static bool same_manager(const struct managed_entry *entry, const char *manager,
                         const char *api_version, const char *subresource, bool applied)
{
	return entry->applied == applied && strcmp(entry->manager, manager) == 0 &&
	       strcmp(entry->subresource, subresource) == 0 &&
	       (applied || strcmp(entry->api_version, api_version) == 0);
}

static struct managed_entry *find(const struct managed_list *list,
                                  const struct managed_entry *like)
{
	for (struct managed_entry *entry = list->first; entry != NULL;
	     entry = entry->next)
		if (same_manager(entry, like->manager, like->api_version,
		                 like->subresource, like->applied))
			return entry;
	return NULL;
}

static struct managed_entry *new_entry(struct managed_list *list)
{
	struct managed_entry *entry = NULL;

	if (!list->maker->failed)
		entry = pl_arena_zalloc(list->maker->arena, 1, sizeof *entry);
	if (entry == NULL)
		list->maker->failed = true;
	return entry;
}

static void link_entry(struct managed_list *list, struct managed_entry *entry)
{
	entry->next = list->first;
	list->first = entry;
	list->count++;
}

/* An entry that comes twice replaces the first. */
static enum pl_code add_read(struct managed_list *list, struct pl_json item, bool whole,
                             struct pl_err *err)
{
	struct managed_entry *entry = new_entry(list), *old;
	enum pl_code code;

	if (entry == NULL)
		return no_memory(err);
	code = read_entry(item, entry, err);
	if (code == PL_OK && whole && !entry->read)
		code = fields_v1_read(list->maker, entry->raw, &entry->set, err);
	if (code != PL_OK)
		return code;
	entry->read = entry->read || whole;
	old = find(list, entry);
	if (old == NULL) {
		link_entry(list, entry);
		return PL_OK;
	}
	entry->next = old->next;
	*old = *entry;
	return PL_OK;
}

enum pl_code managed_read(struct managed_list *list, struct pl_json value, bool whole,
                          struct pl_err *err)
{
	enum { ENTRIES_MAX = 1000 };
	enum pl_code code = PL_OK;

	if (value.node == NULL || pl_json_type(value) == PL_JSON_NULL)
		return PL_OK;
	if (pl_json_type(value) != PL_JSON_ARRAY)
		return pl_json_fail(value, PL_INVALID, err, "want an array, got %s",
		                    pl_json_type_name(pl_json_type(value)));
	PL_JSON_EACH (item, value) {
		if (code == PL_OK)
			code = add_read(list, item, whole, err);
		if (code == PL_OK && list->count > ENTRIES_MAX)
			code = pl_json_fail(value, PL_INVALID, err,
			                    "has more than %d entries", ENTRIES_MAX);
	}
	return code;
}

enum pl_code managed_fields_check(struct pl_arena *arena, struct pl_json value,
                                  struct pl_err *err)
{
	struct field_maker maker;
	struct managed_list list = {.maker = &maker};
	enum pl_code code;

	field_maker_init(&maker, arena);
	code = managed_read(&list, value, true, err);
	field_maker_done(&maker);
	return code;
}

/* -- sets ------------------------------------------------------------------------------ */

struct owned_fields managed_set(struct managed_list *list, struct managed_entry *entry)
{
	enum pl_code code;

	if (entry->read)
		return entry->set;
	code = fields_v1_read(list->maker, entry->raw, &entry->set, NULL);
	if (code == PL_NOMEM)
		list->maker->failed = true;
	if (code != PL_OK)
		entry->raw.node = NULL;
	entry->read = true;
	return entry->set;
}

void managed_put(struct managed_entry *entry, struct owned_fields set)
{
	entry->set = set;
	entry->read = true;
	entry->raw.node = NULL;
}

/* Whether an entry that is not read yet may have one of the fields: both begin with the
 * same member of the object. */
static bool may_share(const struct managed_entry *entry, struct owned_fields gone)
{
	PL_JSON_EACH (item, entry->raw) {
		const char *name = pl_json_key(item);

		for (const struct field_node *node = gone.first; node != NULL;
		     node = node->next)
			if (strncmp(name, "f:", 2) != 0 ||
			    strcmp(name + 2, node->text) == 0)
				return true;
	}
	return false;
}

void managed_take(struct managed_list *list, struct managed_entry *entry,
                  struct owned_fields gone)
{
	struct owned_fields left, both;

	if (field_set_empty(gone) || (!entry->read && !may_share(entry, gone)))
		return;
	both = field_set_both(list->maker, managed_set(list, entry), gone);
	if (field_set_empty(both))
		return;
	left = field_set_minus(list->maker, entry->set, both);
	managed_put(entry, left);
}

struct managed_entry *managed_find(const struct managed_list *list,
                                   const struct field_writer *by, bool applied)
{
	struct managed_entry like = {
		.manager = by->manager[0] == 0 ? "unknown" : by->manager,
		.api_version = by->api_version,
		.subresource = by->subresource,
		.applied = applied,
	};

	return find(list, &like);
}

struct managed_entry *managed_add(struct managed_list *list,
                                  const struct field_writer *by, bool applied)
{
	struct managed_entry *entry = new_entry(list);

	if (entry == NULL)
		return NULL;
	entry->manager = by->manager[0] == 0 ? "unknown" : by->manager;
	entry->api_version = by->api_version;
	entry->subresource = by->subresource;
	entry->applied = applied;
	entry->read = true;
	link_entry(list, entry);
	return entry;
}

void managed_drop_empty(struct managed_list *list)
{
	struct managed_entry **link = &list->first;

	while (*link != NULL) {
		bool empty = (*link)->read && (*link)->raw.node == NULL &&
		             field_set_empty((*link)->set);

		if (empty) {
			*link = (*link)->next;
			list->count--;
		} else {
			link = &(*link)->next;
		}
	}
}

/* -- the number of updaters ------------------------------------------------------------ */

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

static int by_age(const void *a, const void *b)
{
	const struct managed_entry *const *x = a, *const *y = b;
	int order = compare_texts((*x)->time, (*y)->time);

	if (order == 0)
		order = strcmp((*x)->manager, (*y)->manager);
	if (order == 0)
		order = strcmp((*x)->api_version, (*y)->api_version);
	return order != 0 ? order : strcmp((*x)->subresource, (*y)->subresource);
}

static struct managed_entry **sort_entries(struct managed_list *list,
                                           int (*order)(const void *, const void *))
{
	struct managed_entry **sorted;
	size_t at = 0;

	sorted = pl_arena_zalloc(list->maker->arena, list->count + 1,
	                         sizeof(struct managed_entry *));
	if (sorted == NULL) {
		list->maker->failed = true;
		return NULL;
	}
	for (struct managed_entry *entry = list->first; entry != NULL;
	     entry = entry->next)
		sorted[at++] = entry;
	qsort(sorted, list->count, sizeof(struct managed_entry *), order);
	return sorted;
}

static int by_manager(const void *a, const void *b)
{
	const struct managed_entry *const *x = a, *const *y = b;
	int order = strcmp((*x)->manager, (*y)->manager);

	if (order == 0 && (*x)->applied != (*y)->applied)
		return (*x)->applied ? -1 : 1;
	if (order == 0)
		order = strcmp((*x)->api_version, (*y)->api_version);
	return order != 0 ? order : strcmp((*x)->subresource, (*y)->subresource);
}

void managed_sort(struct managed_list *list)
{
	struct managed_entry **sorted = sort_entries(list, by_manager);
	struct managed_entry **link = &list->first;

	if (sorted == NULL)
		return;
	for (size_t i = 0; i < list->count; i++) {
		*link = sorted[i];
		link = &sorted[i]->next;
	}
	*link = NULL;
}

static size_t count_updaters(const struct managed_list *list)
{
	size_t count = 0;

	for (const struct managed_entry *entry = list->first; entry != NULL;
	     entry = entry->next)
		count += entry->applied ? 0 : 1;
	return count;
}

static const char ancient[] = "ancient-changes";

static struct managed_entry *find_bucket(const struct managed_list *list,
                                         const char *api_version)
{
	struct managed_entry like = {
		.manager = ancient, .api_version = api_version, .subresource = ""};

	return find(list, &like);
}

/* The fields of an entry go to the bucket of its version, which the first entry of that
 * version becomes when there is none yet. */
static void merge_into(struct managed_list *list, struct managed_entry *first,
                       struct managed_entry *entry)
{
	struct managed_entry *bucket = find_bucket(list, entry->api_version);
	struct managed_entry *from = bucket == entry ? first : entry;
	const char *time = entry->time;
	struct owned_fields a, b;

	if (bucket == NULL)
		bucket = first;
	a = managed_set(list, bucket);
	b = managed_set(list, from);
	managed_put(bucket, field_set_union(list->maker, a, b));
	bucket->manager = ancient;
	bucket->subresource = "";
	bucket->time = time;
	managed_put(from, (struct owned_fields){0});
}

void managed_cap(struct managed_list *list)
{
	size_t left = count_updaters(list), count = list->count;
	struct managed_entry **sorted;

	if (left <= MANAGED_UPDATERS_MAX)
		return;
	sorted = sort_entries(list, by_age);
	for (size_t i = 0; sorted != NULL && i < count && left > MANAGED_UPDATERS_MAX;
	     i++) {
		struct managed_entry *first = NULL;

		if (sorted[i]->applied)
			continue;
		for (size_t j = 0; j < i && first == NULL; j++)
			if (!sorted[j]->applied &&
			    strcmp(sorted[j]->api_version, sorted[i]->api_version) == 0)
				first = sorted[j];
		if (first == NULL)
			continue;
		merge_into(list, first, sorted[i]);
		left--;
	}
	managed_drop_empty(list);
}

/* -- writing --------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct managed_entry *const *x = a, *const *y = b;

	if ((*x)->applied != (*y)->applied)
		return (*x)->applied ? -1 : 1;
	return by_age(a, b);
}

static bool add_text(struct pl_arena *arena, struct cJSON *object, const char *name,
                     const char *text)
{
	if (text == NULL || text[0] == 0)
		return true;
	return json_add(arena, object, name, json_new_str(arena, text));
}

static bool write_entry(struct managed_list *list, struct cJSON *array,
                        const struct managed_entry *entry)
{
	struct pl_arena *arena = list->maker->arena;
	struct cJSON *object = json_new_object(arena), *fields;

	if (entry->raw.node != NULL)
		fields = json_new_copy(arena, entry->raw);
	else
		fields = fields_v1_write(list->maker, entry->set);
	return object != NULL && fields != NULL &&
	       add_text(arena, object, "manager", entry->manager) &&
	       add_text(arena, object, "operation",
	                entry->applied ? "Apply" : "Update") &&
	       add_text(arena, object, "apiVersion", entry->api_version) &&
	       add_text(arena, object, "time", entry->time) &&
	       add_text(arena, object, "fieldsType", "FieldsV1") &&
	       json_add(arena, object, "fieldsV1", fields) &&
	       add_text(arena, object, "subresource", entry->subresource) &&
	       json_append(array, object);
}

struct cJSON *managed_write(struct managed_list *list)
{
	struct cJSON *array = json_new_array(list->maker->arena);
	struct managed_entry **sorted = sort_entries(list, by_place);

	if (array == NULL || sorted == NULL)
		return NULL;
	for (size_t i = 0; i < list->count; i++)
		if (!write_entry(list, array, sorted[i]))
			return NULL;
	return array;
}
