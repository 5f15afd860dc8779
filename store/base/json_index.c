#include "store/base/json_index.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum { SEARCHED_MAX = 12 };

static int compare_members(const void *a, const void *b)
{
	const struct cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

static int compare_name(const void *name, const void *member)
{
	const struct cJSON *const *node = member;

	return strcmp(name, (*node)->string);
}

bool json_index_init(struct json_index *index, struct pl_arena *arena,
                     const struct cJSON *object)
{
	size_t at = 0;

	*index = (struct json_index){.object = object};
	if (object == NULL || !cJSON_IsObject(object))
		return true;
	for (struct cJSON *node = object->child; node != NULL; node = node->next)
		index->count++;
	if (index->count <= SEARCHED_MAX)
		return true;
	index->sorted = pl_arena_zalloc(arena, index->count, sizeof(struct cJSON *));
	if (index->sorted == NULL)
		return false;
	for (struct cJSON *node = object->child; node != NULL; node = node->next)
		index->sorted[at++] = node;
	qsort(index->sorted, index->count, sizeof(struct cJSON *), compare_members);
	return true;
}

struct cJSON *json_index_find(const struct json_index *index, const char *name)
{
	struct cJSON **found;

	if (index->sorted == NULL)
		return json_get(index->object, name);
	found = bsearch(name, index->sorted, index->count, sizeof(struct cJSON *),
	                compare_name);
	return found == NULL ? NULL : *found;
}
