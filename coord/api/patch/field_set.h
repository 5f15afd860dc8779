/*
 * A set of fields of an object: who owns what. FieldsV1 is its form as JSON.
 *
 *	{"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}}}}}
 *	  the image of container a, and the container's place in the list
 *
 * A set is a trie of path elements. A node is a member itself, or has children, or both.
 * Sets are immutable once made: operations share nodes. All memory comes from the maker's
 * arena. The maker remembers a failed allocation, so a caller checks once at the end; what
 * was made before is of no use then.
 */
#ifndef COORD_API_PATCH_FIELD_SET_H
#define COORD_API_PATCH_FIELD_SET_H

#include "store/base/buf.h"
#include "store/base/json_edit.h"

/* In the order in which elements are sorted. */
enum field_kind {
	FIELD_NAME,  /* f: a member */
	FIELD_KEY,   /* k: an element by its keys, {"name":"a"} */
	FIELD_VALUE, /* v: an element of a set, "a" or 1 */
	FIELD_INDEX, /* i: an element by its place */
};

struct field_node {
	const struct field_node *next; /* the next element of this level */
	const struct field_node *child;
	const char *text; /* the name; keys and values as canonical JSON */
	uint8_t kind;
	bool member;
};

/* first NULL: the set is empty. */
struct owned_fields {
	const struct field_node *first;
};

struct field_maker {
	struct pl_arena *arena;
	struct pl_buf text; /* for one key at a time */
	bool failed;
};

void field_maker_init(struct field_maker *maker, struct pl_arena *arena);
void field_maker_done(struct field_maker *maker);

/* A level while it is made: elements in any order, also twice. */
struct field_level {
	struct field_node *first;
	struct field_node *last;
	bool unsorted;
};

/* An element that is neither a member nor has children is left out. */
void field_level_add(struct field_maker *maker, struct field_level *level,
                     enum field_kind kind, const char *text, bool member,
                     struct owned_fields children);
struct owned_fields field_level_end(struct field_maker *maker, struct field_level *level);

/* A total order of path elements. */
int field_compare(enum field_kind kind, const char *text, const struct field_node *node);

static inline bool field_set_empty(struct owned_fields set)
{
	return set.first == NULL;
}

struct owned_fields field_set_union(struct field_maker *maker, struct owned_fields a,
                                    struct owned_fields b);
/* The members of a that are not members of b. */
struct owned_fields field_set_minus(struct field_maker *maker, struct owned_fields a,
                                    struct owned_fields b);
struct owned_fields field_set_both(struct field_maker *maker, struct owned_fields a,
                                   struct owned_fields b);
/* The fields of a that are neither members of b nor below one. */
struct owned_fields field_set_outside(struct field_maker *maker, struct owned_fields a,
                                      struct owned_fields b);
bool field_set_equal(struct owned_fields a, struct owned_fields b);
/* How many members. */
size_t field_set_count(struct owned_fields set);

/* An index for many look-ups in one level. */
struct field_index {
	const struct field_node **nodes;
	size_t count;
};

PL_NODISCARD bool field_index_init(struct field_index *index, struct field_maker *maker,
                                   struct owned_fields set);
/* NULL: none. */
const struct field_node *field_index_find(const struct field_index *index,
                                          enum field_kind kind, const char *text);

/* Calls each with the path of each member, ".spec.containers[name=\"a\"].image": the
 * members of a level before what is below them. */
typedef void field_each_fn(void *context, const char *path);
void field_set_each(struct field_maker *maker, struct owned_fields set,
                    field_each_fn *each, void *context);

#endif
