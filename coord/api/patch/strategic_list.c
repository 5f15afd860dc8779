/*
 * Lists of a strategic merge: elements merged by key, scalars as a set, and their order.
 *
 *	merged   = the list without what is deleted, then what the patch adds
 *	named    = the merged elements that the order names, in that order
 *	others   = the rest, which only the server has, in their old order
 *	result   = named and others, merged by their places in the old list
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "coord/api/patch/strategic_int.h"

/* An element of the merged list. */
struct merge_item {
	struct cJSON *node;
	const struct cJSON *key; /* of an object its merge key, else the node itself */
	size_t rank;             /* place in the order; SIZE_MAX: not named */
	size_t old;              /* place in the old list; SIZE_MAX: it is new */
	size_t at;               /* place in the merged list */
	bool gone;
};

struct merge_state {
	struct strategic_run *run;
	const struct strategic_list *how;
	const char *key; /* NULL: a list of scalars */
	struct merge_item *items;
	size_t count;
};

/* -- elements -------------------------------------------------------------------------- */

static bool is_container(const struct cJSON *node)
{
	return cJSON_IsObject(node) || cJSON_IsArray(node);
}

/* NULL: the element lacks its key. */
static const struct cJSON *key_of(const struct merge_state *state,
                                  const struct cJSON *element)
{
	const struct cJSON *key =
		state->key == NULL ? element : json_get(element, state->key);

	return key == NULL || is_container(key) ? NULL : key;
}

/* All elements of both lists are objects with a scalar as their key, or all are scalars. */
static enum pl_code check_element(const struct merge_state *state, struct pl_json value)
{
	if (pl_json_type(value) == PL_JSON_ARRAY)
		return pl_json_fail(value, PL_CONFLICT, state->run->err,
		                    "lists of lists are not supported");
	if (state->key == NULL && pl_json_type(value) != PL_JSON_OBJECT)
		return PL_OK;
	if (state->key == NULL || pl_json_type(value) != PL_JSON_OBJECT)
		return pl_json_fail(value, PL_CONFLICT, state->run->err,
		                    "list element types are not identical: got %s",
		                    pl_json_type_name(pl_json_type(value)));
	if (strategic_directive(value) == STRATEGIC_REPLACE)
		return PL_OK;
	if (key_of(state, value.node) == NULL)
		return pl_json_fail(value, PL_INVALID, state->run->err,
		                    "does not contain declared merge key: %s",
		                    state->key);
	return PL_OK;
}

static enum pl_code check_elements(const struct merge_state *state, struct pl_json list)
{
	enum pl_code code = PL_OK;

	PL_JSON_EACH (item, list)
		if (code == PL_OK)
			code = check_element(state, item);
	return code;
}

/* An element that the object has had for long may lack its key: it is kept, and nothing
 * matches it. */
static void add_item(struct merge_state *state, struct cJSON *node, size_t old)
{
	state->items[state->count] = (struct merge_item){
		.node = node,
		.key = key_of(state, node),
		.rank = SIZE_MAX,
		.old = old,
		.at = state->count,
	};
	state->count++;
}

static bool table_of(const struct merge_state *state, struct pl_json list,
                     struct scalar_table *table)
{
	size_t count = pl_json_count(list), at = 0;
	const struct cJSON **keys = pl_arena_zalloc(state->run->arena, count + 1,
	                                            sizeof(const struct cJSON *));

	if (keys == NULL)
		return false;
	PL_JSON_EACH (item, list)
		keys[at++] = key_of(state, item.node);
	return scalar_table_init(table, state->run->arena, keys, count);
}

/* -- merging --------------------------------------------------------------------------- */

static bool has_replace(struct pl_json patch)
{
	PL_JSON_EACH (item, patch)
		if (strategic_directive(item) == STRATEGIC_REPLACE)
			return true;
	return false;
}

/* Removes the items whose keys the patch deletes. */
static enum pl_code delete_items(struct merge_state *state)
{
	struct pl_json patch = state->how->patch;
	size_t count = pl_json_count(patch), at = 0;
	const struct cJSON **keys = pl_arena_zalloc(state->run->arena, count + 1,
	                                            sizeof(const struct cJSON *));
	struct scalar_table table;

	if (keys == NULL)
		return strategic_no_memory(state->run);
	PL_JSON_EACH (item, patch) {
		bool deleted = strategic_directive(item) == STRATEGIC_DELETE;

		keys[at++] = deleted ? key_of(state, item.node) : NULL;
	}
	if (!scalar_table_init(&table, state->run->arena, keys, count))
		return strategic_no_memory(state->run);
	for (size_t i = 0; i < state->count; i++)
		if (state->items[i].key != NULL)
			state->items[i].gone =
				scalar_table_find(&table, state->items[i].key) !=
				SIZE_MAX;
	return PL_OK;
}

static enum pl_code append_copy(struct merge_state *state, struct pl_json value)
{
	struct cJSON *copy = strategic_copy(state->run->arena, value, STRATEGIC_ELEMENT);

	if (copy == NULL)
		return strategic_no_memory(state->run);
	copy->string = NULL;
	add_item(state, copy, SIZE_MAX);
	return PL_OK;
}

/* Where elements of the patch go: the old items, and the first element of the patch with
 * each key, which later ones of that key are merged into. */
struct merge_targets {
	struct scalar_table old;
	struct scalar_table patch;
	size_t *added; /* the item that an element of the patch has become */
};

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static enum pl_code merge_element(struct merge_state *state, struct pl_json value,
                                  size_t at, struct merge_targets *targets)
{
	const struct cJSON *key = key_of(state, value.node);
	size_t place = scalar_table_find(&targets->old, key);
	size_t first = scalar_table_find(&targets->patch, key);

	if (place == SIZE_MAX && first < at)
		place = targets->added[first];
	if (place == SIZE_MAX) {
		targets->added[at] = state->count;
		return append_copy(state, value);
	}
	targets->added[at] = place;
	if (state->key == NULL)
		return PL_OK;
	return strategic_object(state->run, state->items[place].node, value,
	                        slot_element(state->how->slot));
}

static bool is_plain(struct pl_json value)
{
	enum strategic_directive directive = strategic_directive(value);

	return directive == STRATEGIC_NONE || directive == STRATEGIC_MERGE;
}

static bool find_targets(struct merge_state *state, struct merge_targets *targets)
{
	struct pl_arena *arena = state->run->arena;
	size_t count = pl_json_count(state->how->patch), at = 0;
	size_t most = count > state->count ? count : state->count;
	const struct cJSON **keys =
		pl_arena_zalloc(arena, most + 1, sizeof(const struct cJSON *));

	targets->added = pl_arena_zalloc(arena, count + 1, sizeof *targets->added);
	if (keys == NULL || targets->added == NULL)
		return false;
	for (size_t i = 0; i < state->count; i++)
		keys[i] = state->items[i].gone ? NULL : state->items[i].key;
	if (!scalar_table_init(&targets->old, arena, keys, state->count))
		return false;
	PL_JSON_EACH (item, state->how->patch)
		keys[at++] = is_plain(item) ? key_of(state, item.node) : NULL;
	return scalar_table_init(&targets->patch, arena, keys, count);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static enum pl_code merge_elements(struct merge_state *state)
{
	struct merge_targets targets = {0};
	enum pl_code code = PL_OK;
	size_t at = 0;

	if (!find_targets(state, &targets))
		return strategic_no_memory(state->run);
	PL_JSON_EACH (item, state->how->patch) {
		if (code == PL_OK && is_plain(item))
			code = merge_element(state, item, at, &targets);
		at++;
	}
	return code;
}

/* -- order ----------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
	const struct merge_item *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Removes the items that are gone. Gives their number. */
static size_t drop_gone(struct merge_state *state)
{
	size_t left = 0, gone;

	for (size_t i = 0; i < state->count; i++)
		if (!state->items[i].gone)
			state->items[left++] = state->items[i];
	gone = state->count - left;
	state->count = left;
	return gone;
}

/* In Kubernetes, elements that are new take the places of those that are deleted, behind
 * what is left of the old list, so that elements of the server's own come before them. */
static void fill_gaps(struct merge_state *state, size_t gaps)
{
	for (size_t i = 0; i < state->count && gaps > 0; i++)
		if (state->items[i].old == SIZE_MAX) {
			state->items[i].old = state->items[i].at;
			gaps--;
		}
}

/* Sorts the items that the order names to the front, by their rank. Gives their number. */
static size_t rank_items(struct merge_state *state, const struct scalar_table *order)
{
	size_t named = 0;

	for (size_t i = 0; i < state->count; i++) {
		struct merge_item *item = &state->items[i];

		if (item->key != NULL)
			item->rank = scalar_table_find(order, item->key);
		named += item->rank != SIZE_MAX;
	}
	qsort(state->items, state->count, sizeof *state->items, by_rank);
	return named;
}

/* Each element that the patch has must stand in $setElementOrder, in the same order. */
static enum pl_code check_order(struct merge_state *state)
{
	struct pl_json order = pl_json_first(state->how->order);

	if (order.node == NULL)
		return PL_OK;
	PL_JSON_EACH (item, state->how->patch) {
		if (!is_plain(item))
			continue;
		while (order.node != NULL &&
		       scalar_compare(key_of(state, order.node),
		                      key_of(state, item.node)) != 0)
			order = pl_json_next(order);
		if (order.node == NULL)
			return pl_json_fail(item, PL_INVALID, state->run->err,
			                    "the order in the patch list doesn't match "
			                    "$setElementOrder");
	}
	return PL_OK;
}

/* Links the items that are left into the list: named ones in their order, and each other
 * one before the first named one that stood behind it. */
static void link_items(struct merge_state *state, struct cJSON *list, size_t named)
{
	size_t left = 0, right = named;

	list->child = NULL;
	while (left < named || right < state->count) {
		struct merge_item *item = &state->items[right];
		bool take_named = right == state->count;

		if (!take_named && left < named)
			take_named = state->items[left].old == SIZE_MAX ||
			             item->old > state->items[left].old;
		if (take_named)
			item = &state->items[left++];
		else
			right++;
		PL_ASSERT(json_append(list, item->node));
	}
}

static enum pl_code order_items(struct merge_state *state, struct cJSON *list,
                                struct pl_json order)
{
	struct scalar_table table;
	size_t named, gaps;

	if (!table_of(state, order, &table))
		return strategic_no_memory(state->run);
	gaps = drop_gone(state);
	if (state->key != NULL && state->how->order.node != NULL)
		fill_gaps(state, gaps);
	named = rank_items(state, &table);
	link_items(state, list, named);
	return PL_OK;
}

/* -- lists ----------------------------------------------------------------------------- */

static bool fill_items(struct merge_state *state, const struct cJSON *list)
{
	size_t count = json_length(list), at = 0;

	count += pl_json_count(state->how->patch);
	state->items =
		pl_arena_zalloc(state->run->arena, count + 1, sizeof *state->items);
	if (state->items == NULL)
		return false;
	for (struct cJSON *node = list->child; node != NULL; node = node->next)
		add_item(state, node, at++);
	return true;
}

/* A scalar stands in a set once. */
static bool drop_repeated(struct merge_state *state, const struct cJSON *list)
{
	struct pl_json value = {.node = list};
	struct scalar_table table;

	if (!table_of(state, value, &table))
		return false;
	for (size_t i = 0; i < state->count; i++)
		if (state->items[i].key != NULL)
			state->items[i].gone =
				scalar_table_find(&table, state->items[i].key) != i;
	return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
static enum pl_code merge_items(struct merge_state *state, struct cJSON *list)
{
	struct pl_json order =
		state->how->order.node != NULL ? state->how->order : state->how->patch;
	enum pl_code code = check_elements(state, state->how->patch);

	if (code == PL_OK)
		code = check_elements(state, state->how->order);
	if (code == PL_OK)
		code = check_order(state);
	if (code != PL_OK)
		return code;
	if (has_replace(state->how->patch) && !state->how->added)
		list->child = NULL;
	if (!fill_items(state, list))
		return strategic_no_memory(state->run);
	if (state->key != NULL)
		code = delete_items(state);
	else if (!drop_repeated(state, list))
		code = strategic_no_memory(state->run);
	if (code == PL_OK && !state->how->added)
		code = merge_elements(state);
	return code == PL_OK ? order_items(state, list, order) : code;
}

/* A list that is no set and has no merge key is taken as the patch has it. */
static enum pl_code replace_list(struct strategic_run *run, struct cJSON *list,
                                 const struct strategic_list *how)
{
	struct pl_json patch = how->patch;
	struct cJSON *copy;

	if (patch.node == NULL || how->added)
		return PL_OK;
	copy = strategic_copy(run->arena, patch, STRATEGIC_ELEMENT);
	if (copy == NULL)
		return strategic_no_memory(run);
	list->child = copy->child;
	return PL_OK;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the patch */
enum pl_code strategic_list(struct strategic_run *run, struct cJSON *list,
                            const struct strategic_list *how)
{
	char key[SLOT_KEY_SIZE];
	struct merge_state state = {.run = run, .how = how};

	switch (slot_merge(how->slot, key)) {
	case SLOT_REPLACED:
		return replace_list(run, list, how);
	case SLOT_MERGED_BY_KEY:
		state.key = key;
		break;
	case SLOT_MERGED_SCALARS:
		break;
	}
	return merge_items(&state, list);
}

enum pl_code strategic_remove(struct strategic_run *run, struct cJSON *list,
                              struct pl_json gone)
{
	struct merge_state state = {.run = run};
	struct scalar_table table;
	struct cJSON *next;

	if (!table_of(&state, gone, &table))
		return strategic_no_memory(run);
	for (struct cJSON *node = list->child; node != NULL; node = next) {
		next = node->next;
		if (!is_container(node) && scalar_table_find(&table, node) != SIZE_MAX)
			json_detach(list, node);
	}
	return PL_OK;
}
