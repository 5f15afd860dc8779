#include "store/base/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/json_build.h"
#include "store/base/json_scan.h"
#include "store/base/json_tree.h"

/* Up to this number of members, comparing all pairs of names is cheaper than sorting. */
enum { PAIRWISE_MAX = 12 };

const struct pl_json_limits pl_json_limits_default = {
	.bytes = 3 << 19, .depth = 64, .values = 200000};

static int by_name(const void *a, const void *b)
{
	const struct cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

static const struct cJSON *duplicate_pairwise(const struct cJSON *object)
{
	for (const struct cJSON *a = object->child; a != NULL; a = a->next)
		for (const struct cJSON *b = a->next; b != NULL; b = b->next)
			if (a->string[0] == b->string[0] &&
			    strcmp(a->string, b->string) == 0)
				return b;
	return NULL;
}

/* Finds a member whose name another member has, too. The search sorts instead of hashing,
 * so that no choice of names makes it slow. */
static enum pl_code find_duplicate(const struct cJSON *object, const struct cJSON **out)
{
	PL_CLEANUP(pl_freep) const struct cJSON **member = NULL;
	size_t count = 0, at = 0;

	for (const struct cJSON *node = object->child; node != NULL; node = node->next)
		count++;
	if (count <= PAIRWISE_MAX) {
		*out = duplicate_pairwise(object);
		return PL_OK;
	}
	member = pl_malloc(count * sizeof(const struct cJSON *));
	if (member == NULL)
		return PL_NOMEM;
	for (const struct cJSON *node = object->child; node != NULL; node = node->next)
		member[at++] = node;
	qsort(member, count, sizeof(const struct cJSON *), by_name);
	*out = NULL;
	for (size_t i = 1; i < count; i++)
		if (by_name(&member[i - 1], &member[i]) == 0)
			*out = member[i];
	return PL_OK;
}

static enum pl_code check_node(struct pl_json value, struct pl_err *err)
{
	const struct cJSON *duplicate = NULL;
	enum pl_code code;

	if (cJSON_IsNumber(value.node) && !isfinite(value.node->valuedouble))
		return pl_json_fail(value, PL_INVALID, err, "too large for a number");
	if (!cJSON_IsObject(value.node))
		return PL_OK;
	code = find_duplicate(value.node, &duplicate);
	if (code != PL_OK)
		return pl_err_set(err, code, "JSON: no memory to compare names");
	if (duplicate == NULL)
		return PL_OK;
	value.node = duplicate;
	return pl_json_fail(value, PL_INVALID, err, "comes twice");
}

static enum pl_code check_tree(struct pl_json root, struct pl_err *err)
{
	struct pl_json_walk walk;
	enum pl_code code = PL_OK;

	pl_json_walk_init(&walk, root.node);
	for (; walk.node != NULL && code == PL_OK; pl_json_walk_next(&walk)) {
		root.node = walk.node;
		code = check_node(root, err);
	}
	return code;
}

enum pl_code pl_json_parse(struct pl_arena *arena, struct pl_span text,
                           const struct pl_json_limits *limits, struct pl_json *out,
                           struct pl_err *err)
{
	struct pl_json_doc *doc;
	enum pl_code code;

	code = pl_json_scan(text, limits == NULL ? &pl_json_limits_default : limits, err);
	if (code != PL_OK)
		return code;
	doc = pl_arena_zalloc(arena, 1, sizeof *doc);
	if (doc != NULL)
		doc->root = json_build(arena, text);
	/* The scan has accepted the grammar, so only memory can be missing now. */
	if (doc == NULL || doc->root == NULL)
		return pl_err_set(err, PL_NOMEM, "JSON of %zu bytes: no memory",
		                  text.len);
	code = check_tree((struct pl_json){.node = doc->root, .doc = doc}, err);
	if (code != PL_OK)
		return code;
	*out = (struct pl_json){.node = doc->root, .doc = doc};
	return PL_OK;
}
