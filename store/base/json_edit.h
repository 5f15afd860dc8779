/*
 * JSON trees that are changed: values made, copied, set, removed and compared, all in one
 * arena.
 *
 * A tree is made of the nodes that the reader (json.h) makes, so everything that reads a
 * struct pl_json reads an edited tree, too. A node is in one place at a time. Nodes that
 * are removed stay in the arena until it is reset.
 *
 * Invariants: member names of an object differ (the reader refuses others, and json_set
 * replaces). A tree is never deeper than PL_JSON_DEPTH_MAX: a caller that puts values
 * from outside into others checks with json_measure.
 *
 * NULL stands for "no memory" in every function that returns a node, and each function
 * takes a NULL child and then gives NULL or false, so a caller may build several levels
 * and check once.
 */
#ifndef STORE_BASE_JSON_EDIT_H
#define STORE_BASE_JSON_EDIT_H

#include "store/base/json.h"

struct json_tree {
	struct pl_arena *arena;
	struct cJSON *root;      /* NULL: empty */
	struct pl_json_doc *doc; /* behind every struct pl_json of the tree */
};

/* PL_NOMEM. The tree is a copy of value (absent: an empty tree). */
PL_NODISCARD enum pl_code json_tree_copy(struct pl_arena *arena, struct pl_json value,
                                         struct json_tree *out);
/* Parses text (json.h's limits and errors). */
PL_NODISCARD enum pl_code json_tree_parse(struct pl_arena *arena, struct pl_span text,
                                          const struct pl_json_limits *limits,
                                          struct json_tree *out, struct pl_err *err);
void json_tree_set_root(struct json_tree *tree, struct cJSON *root);
struct pl_json json_tree_root(const struct json_tree *tree);
/* A node of the tree as a value, and back. The value must be of this tree. */
struct pl_json json_tree_value(const struct json_tree *tree, const struct cJSON *node);
struct cJSON *json_tree_node(const struct json_tree *tree, struct pl_json value);

struct json_size {
	uint32_t depth; /* levels of arrays and objects; 0 for a scalar */
	size_t values;
	size_t bytes; /* about what the value takes as text */
};

/* All 0 for an absent value. Takes linear time. */
struct json_size json_measure(struct pl_json value);

/* -- nodes that are in no tree yet ------------------------------------------------- */

struct cJSON *json_new_object(struct pl_arena *arena);
struct cJSON *json_new_array(struct pl_arena *arena);
struct cJSON *json_new_string(struct pl_arena *arena, struct pl_span text);
struct cJSON *json_new_str(struct pl_arena *arena, const char *text);
struct cJSON *json_new_number(struct pl_arena *arena, double value);
struct cJSON *json_new_bool(struct pl_arena *arena, bool value);
struct cJSON *json_new_null(struct pl_arena *arena);
/* The copy of a member keeps its name. */
struct cJSON *json_new_copy(struct pl_arena *arena, struct pl_json value);

/* -- changes ------------------------------------------------------------------------- */

/* The member, to be changed; NULL: none. */
struct cJSON *json_get(const struct cJSON *object, const char *name);
/* Replaces the member in its place, or adds it at the end. value must be in no tree.
 * False: no memory. */
PL_NODISCARD bool json_set(struct pl_arena *arena, struct cJSON *object, const char *name,
                           struct cJSON *value);
/* The member when it is an object; an empty one is put in the place of anything else. */
struct cJSON *json_get_object(struct pl_arena *arena, struct cJSON *object,
                              const char *name);
/* Whether there was one. */
bool json_remove(struct cJSON *object, const char *name);

size_t json_length(const struct cJSON *array);
struct cJSON *json_at(const struct cJSON *array, size_t index); /* NULL: none */
/* Puts value before the element at index, or at the end (index >= length). */
PL_NODISCARD bool json_insert(struct cJSON *array, size_t index, struct cJSON *value);
PL_NODISCARD bool json_append(struct cJSON *array, struct cJSON *value);
/* Puts value, which is in no tree, in the place of a child. A member keeps its name. */
void json_replace(struct cJSON *parent, struct cJSON *child, struct cJSON *value);
/* Like json_set for an object that has no such member. Takes constant time. */
PL_NODISCARD bool json_add(struct pl_arena *arena, struct cJSON *object, const char *name,
                           struct cJSON *value);
/* Takes a child out of its object or array; it may be put elsewhere then. */
void json_detach(struct cJSON *parent, struct cJSON *child);

/* -- comparison ------------------------------------------------------------------------ */

/* Objects are equal whatever the order of their members; numbers by value. An absent
 * value equals only an absent value. */
bool json_equal(struct pl_json a, struct pl_json b);

#endif
