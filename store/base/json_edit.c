#include "store/base/json_edit.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/json_tree.h"

/* Up to this number of members, looking each name up is cheaper than sorting. */
enum { PAIRWISE_MAX = 12 };

/* -- trees ----------------------------------------------------------------------------- */

/* The reader's nodes lie in the caller's arena; only the reader's types say const. */
static struct cJSON *writable(const struct cJSON *node)
{
	union {
		const struct cJSON *given;
		struct cJSON *node;
	} as = {.given = node};

	return as.node;
}

static enum pl_code tree_init(struct pl_arena *arena, const struct cJSON *root,
                              struct json_tree *out)
{
	struct pl_json_doc *doc = pl_arena_zalloc(arena, 1, sizeof *doc);

	if (doc == NULL)
		return PL_NOMEM;
	*out = (struct json_tree){.arena = arena, .doc = doc};
	json_tree_set_root(out, writable(root));
	return PL_OK;
}

enum pl_code json_tree_copy(struct pl_arena *arena, struct pl_json value,
                            struct json_tree *out)
{
	struct cJSON *root = json_new_copy(arena, value);

	if (root == NULL && value.node != NULL)
		return PL_NOMEM;
	if (root != NULL)
		root->string = NULL;
	return tree_init(arena, root, out);
}

enum pl_code json_tree_parse(struct pl_arena *arena, struct pl_span text,
                             const struct pl_json_limits *limits, struct json_tree *out,
                             struct pl_err *err)
{
	struct pl_json value = {0};
	enum pl_code code = pl_json_parse(arena, text, limits, &value, err);

	if (code != PL_OK)
		return code;
	if (tree_init(arena, value.node, out) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "JSON of %zu bytes: no memory",
		                  text.len);
	return PL_OK;
}

void json_tree_set_root(struct json_tree *tree, struct cJSON *root)
{
	PL_ASSERT(tree->doc != NULL);
	tree->root = root;
	tree->doc->root = root;
}

struct pl_json json_tree_root(const struct json_tree *tree)
{
	return json_tree_value(tree, tree->root);
}

struct pl_json json_tree_value(const struct json_tree *tree, const struct cJSON *node)
{
	return (struct pl_json){.node = node, .doc = tree->doc};
}

struct cJSON *json_tree_node(const struct json_tree *tree, struct pl_json value)
{
	PL_ASSERT(value.doc == tree->doc);
	return writable(value.node);
}

static size_t node_bytes(const struct cJSON *node)
{
	size_t bytes = 4; /* brackets, a comma, a colon; a short scalar */

	if (node->string != NULL)
		bytes += strlen(node->string);
	if (node->valuestring != NULL)
		bytes += strlen(node->valuestring);
	return bytes;
}

struct json_size json_measure(struct pl_json value)
{
	struct json_size size = {0};
	struct pl_json_walk walk;

	if (value.node == NULL)
		return size;
	pl_json_walk_init(&walk, value.node);
	for (; walk.node != NULL; pl_json_walk_next(&walk)) {
		uint32_t depth = (uint32_t)walk.depth;

		if (cJSON_IsObject(walk.node) || cJSON_IsArray(walk.node))
			depth++;
		size.depth = depth > size.depth ? depth : size.depth;
		size.bytes += node_bytes(walk.node);
		size.values++;
	}
	return size;
}

/* -- nodes ----------------------------------------------------------------------------- */

static struct cJSON *new_node(struct pl_arena *arena, int type)
{
	struct cJSON *node = pl_arena_zalloc(arena, 1, sizeof *node);

	if (node != NULL)
		node->type = type;
	return node;
}

static char *new_text(struct pl_arena *arena, struct pl_span text)
{
	char *copy = pl_arena_alloc(arena, text.len + 1);

	if (copy == NULL)
		return NULL;
	if (text.len != 0)
		memcpy(copy, text.at, text.len);
	copy[text.len] = 0;
	return copy;
}

struct cJSON *json_new_object(struct pl_arena *arena)
{
	return new_node(arena, cJSON_Object);
}

struct cJSON *json_new_array(struct pl_arena *arena)
{
	return new_node(arena, cJSON_Array);
}

struct cJSON *json_new_string(struct pl_arena *arena, struct pl_span text)
{
	struct cJSON *node = new_node(arena, cJSON_String);

	if (node == NULL)
		return NULL;
	node->valuestring = new_text(arena, text);
	return node->valuestring == NULL ? NULL : node;
}

struct cJSON *json_new_str(struct pl_arena *arena, const char *text)
{
	return json_new_string(arena, pl_span_str(text));
}

struct cJSON *json_new_number(struct pl_arena *arena, double value)
{
	struct cJSON *node = new_node(arena, cJSON_Number);

	if (node == NULL)
		return NULL;
	node->valuedouble = value;
	if (value >= INT_MAX)
		node->valueint = INT_MAX;
	else if (value <= INT_MIN)
		node->valueint = INT_MIN;
	else
		node->valueint = (int)value;
	return node;
}

struct cJSON *json_new_bool(struct pl_arena *arena, bool value)
{
	return new_node(arena, value ? cJSON_True : cJSON_False);
}

struct cJSON *json_new_null(struct pl_arena *arena)
{
	return new_node(arena, cJSON_NULL);
}

static void link_last(struct cJSON *parent, struct cJSON *child)
{
	child->next = NULL;
	if (parent->child == NULL) {
		parent->child = child;
		child->prev = child;
		return;
	}
	child->prev = parent->child->prev;
	child->prev->next = child;
	parent->child->prev = child;
}

/* A node without its children. */
static struct cJSON *copy_node(struct pl_arena *arena, const struct cJSON *from)
{
	struct cJSON *node = pl_arena_alloc(arena, sizeof *node);

	if (node == NULL)
		return NULL;
	*node = *from;
	node->child = node->next = node->prev = NULL;
	if (from->string != NULL) {
		node->string = new_text(arena, pl_span_str(from->string));
		if (node->string == NULL)
			return NULL;
	}
	if (from->valuestring != NULL) {
		node->valuestring = new_text(arena, pl_span_str(from->valuestring));
		if (node->valuestring == NULL)
			return NULL;
	}
	return node;
}

struct cJSON *json_new_copy(struct pl_arena *arena, struct pl_json value)
{
	struct cJSON *up[PL_JSON_DEPTH_MAX + 1] = {0}, *root = NULL;
	struct pl_json_walk walk;

	if (value.node == NULL)
		return NULL;
	pl_json_walk_init(&walk, value.node);
	for (; walk.node != NULL; pl_json_walk_next(&walk)) {
		struct cJSON *node = copy_node(arena, walk.node);

		if (node == NULL)
			return NULL;
		if (walk.depth == 0)
			root = node;
		else
			link_last(up[walk.depth - 1], node);
		if (walk.depth <= PL_JSON_DEPTH_MAX)
			up[walk.depth] = node;
	}
	return root;
}

/* -- changes --------------------------------------------------------------------------- */

/* Most names differ in the first byte, which spares the call. */
static bool is_named(const struct cJSON *node, const char *name)
{
	return node->string[0] == name[0] && strcmp(node->string, name) == 0;
}

struct cJSON *json_get(const struct cJSON *object, const char *name)
{
	if (object == NULL || !cJSON_IsObject(object))
		return NULL;
	for (struct cJSON *node = object->child; node != NULL; node = node->next)
		if (is_named(node, name))
			return node;
	return NULL;
}

static bool set_name(struct pl_arena *arena, struct cJSON *value, const char *name)
{
	char *copy;

	if (value->string != NULL && strcmp(value->string, name) == 0)
		return true;
	copy = new_text(arena, pl_span_str(name));
	if (copy == NULL)
		return false;
	value->string = copy;
	return true;
}

void json_replace(struct cJSON *parent, struct cJSON *child, struct cJSON *value)
{
	if (!cJSON_IsObject(parent))
		value->string = NULL;
	else if (value->string == NULL || strcmp(value->string, child->string) != 0)
		value->string = child->string;
	value->next = child->next;
	value->prev = child->prev == child ? value : child->prev;
	if (child->next != NULL)
		child->next->prev = value;
	else
		parent->child->prev = value;
	if (parent->child == child)
		parent->child = value;
	else
		value->prev->next = value;
	child->next = child->prev = NULL;
}

bool json_add(struct pl_arena *arena, struct cJSON *object, const char *name,
              struct cJSON *value)
{
	if (object == NULL || value == NULL || !set_name(arena, value, name))
		return false;
	PL_ASSERT(cJSON_IsObject(object));
	link_last(object, value);
	return true;
}

bool json_set(struct pl_arena *arena, struct cJSON *object, const char *name,
              struct cJSON *value)
{
	struct cJSON *old;

	if (object == NULL || value == NULL)
		return false;
	PL_ASSERT(cJSON_IsObject(object));
	old = json_get(object, name);
	if (old == NULL)
		return json_add(arena, object, name, value);
	if (old != value)
		json_replace(object, old, value);
	return true;
}

struct cJSON *json_get_object(struct pl_arena *arena, struct cJSON *object,
                              const char *name)
{
	struct cJSON *member = json_get(object, name);

	if (member != NULL && cJSON_IsObject(member))
		return member;
	member = json_new_object(arena);
	return json_set(arena, object, name, member) ? member : NULL;
}

bool json_remove(struct cJSON *object, const char *name)
{
	struct cJSON *member = json_get(object, name);

	if (member != NULL)
		json_detach(object, member);
	return member != NULL;
}

size_t json_length(const struct cJSON *array)
{
	size_t length = 0;

	if (array != NULL && cJSON_IsArray(array))
		for (struct cJSON *node = array->child; node != NULL; node = node->next)
			length++;
	return length;
}

struct cJSON *json_at(const struct cJSON *array, size_t index)
{
	struct cJSON *node;

	if (array == NULL || !cJSON_IsArray(array))
		return NULL;
	for (node = array->child; node != NULL && index > 0; node = node->next)
		index--;
	return node;
}

bool json_insert(struct cJSON *array, size_t index, struct cJSON *value)
{
	struct cJSON *next;

	if (array == NULL || value == NULL)
		return false;
	PL_ASSERT(cJSON_IsArray(array));
	next = json_at(array, index);
	value->string = NULL;
	if (next == NULL) {
		link_last(array, value);
		return true;
	}
	value->next = next;
	value->prev = next->prev;
	if (next == array->child)
		array->child = value;
	else
		next->prev->next = value;
	next->prev = value;
	return true;
}

bool json_append(struct cJSON *array, struct cJSON *value)
{
	if (array == NULL || value == NULL)
		return false;
	PL_ASSERT(cJSON_IsArray(array));
	value->string = NULL;
	link_last(array, value);
	return true;
}

void json_detach(struct cJSON *parent, struct cJSON *child)
{
	if (child->next != NULL)
		child->next->prev = child->prev;
	else if (child != parent->child)
		parent->child->prev = child->prev;
	if (child == parent->child)
		parent->child = child->next;
	else
		child->prev->next = child->next;
	child->next = child->prev = NULL;
}

/* -- comparison ------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
	const struct cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

static void sort_members(const struct cJSON *object, const struct cJSON **out,
                         size_t count)
{
	const struct cJSON *node = object->child;

	for (size_t i = 0; i < count; i++, node = node->next)
		out[i] = node;
	qsort(out, count, sizeof(const struct cJSON *), compare_names);
}

static bool equal_nodes(const struct cJSON *a, const struct cJSON *b);

/* Members are sorted by name, so that no order of them makes the comparison slow. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a tree, PL_JSON_DEPTH_MAX */
static bool equal_sorted(const struct cJSON *a, const struct cJSON *b,
                         const struct cJSON **room, size_t count)
{
	sort_members(a, room, count);
	sort_members(b, room + count, count);
	for (size_t i = 0; i < count; i++)
		if (compare_names(&room[i], &room[count + i]) != 0 ||
		    !equal_nodes(room[i], room[count + i]))
			return false;
	return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a tree, PL_JSON_DEPTH_MAX */
static bool equal_pairwise(const struct cJSON *a, const struct cJSON *b)
{
	for (const struct cJSON *x = a->child; x != NULL; x = x->next) {
		const struct cJSON *y = json_get(b, x->string);

		if (y == NULL || !equal_nodes(x, y))
			return false;
	}
	return true;
}

static bool same_order(const struct cJSON *a, const struct cJSON *b)
{
	const struct cJSON *x = a->child, *y = b->child;

	for (; x != NULL && strcmp(x->string, y->string) == 0; x = x->next)
		y = y->next;
	return x == NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a tree, PL_JSON_DEPTH_MAX */
static bool equal_elements(const struct cJSON *a, const struct cJSON *b)
{
	const struct cJSON *x = a->child, *y = b->child;

	for (; x != NULL && equal_nodes(x, y); x = x->next)
		y = y->next;
	return x == NULL;
}

/* Counts the children of both at once, so that a large value is not walked to find that
 * a small one differs. */
static bool same_count(const struct cJSON *a, const struct cJSON *b, size_t *count)
{
	const struct cJSON *x = a->child, *y = b->child;

	for (*count = 0; x != NULL && y != NULL; ++*count) {
		x = x->next;
		y = y->next;
	}
	return x == NULL && y == NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a tree, PL_JSON_DEPTH_MAX */
static bool equal_objects(const struct cJSON *a, const struct cJSON *b, size_t count)
{
	PL_CLEANUP(pl_freep) const struct cJSON **room = NULL;

	if (same_order(a, b))
		return equal_elements(a, b);
	if (count > PAIRWISE_MAX)
		room = pl_malloc(2 * count * sizeof(const struct cJSON *));
	return room != NULL ? equal_sorted(a, b, room, count) : equal_pairwise(a, b);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a tree, PL_JSON_DEPTH_MAX */
static bool equal_nodes(const struct cJSON *a, const struct cJSON *b)
{
	size_t count;

	if ((a->type & 0xff) != (b->type & 0xff))
		return false;
	if (cJSON_IsNumber(a))
		return a->valuedouble == b->valuedouble;
	if (cJSON_IsString(a))
		return strcmp(a->valuestring, b->valuestring) == 0;
	if (!same_count(a, b, &count))
		return false;
	return cJSON_IsObject(a) ? equal_objects(a, b, count) : equal_elements(a, b);
}

bool json_equal(struct pl_json a, struct pl_json b)
{
	if (a.node == NULL || b.node == NULL)
		return a.node == b.node;
	return a.node == b.node || equal_nodes(a.node, b.node);
}
