/*
 * Objects seen through the schema, as server-side apply sees them: which fields an object
 * has, which of them two objects differ in, fields taken out, and a configuration merged
 * in.
 *
 * The rules are those of Kubernetes' structured merge: lists by all keys, sets, atomic
 * values owned whole, and named fields of a struct that are owned through what is below
 * them.
 *
 * Pure. The maker remembers a failed allocation.
 */
#ifndef COORD_API_PATCH_TYPED_H
#define COORD_API_PATCH_TYPED_H

#include "coord/api/patch/field_set.h"
#include "coord/api/patch/slot.h"

/* No field is in more than one of the sets. */
struct typed_changes {
	struct owned_fields removed, modified, added;
};

/* before absent: everything is added but the struct fields of the root, which count as
 * present and empty. */
struct typed_changes typed_compare(struct field_maker *maker, struct schema_slot slot,
                                   struct pl_json before, struct pl_json after);

/* The fields that an object has. */
struct owned_fields typed_fields(struct field_maker *maker, struct schema_slot slot,
                                 struct pl_json object);
/* The set with the named fields that it has members below. */
struct owned_fields typed_named(struct field_maker *maker, struct schema_slot slot,
                                struct owned_fields set);

/* Takes fields out of an object. Objects and lists that get empty by that become null, so
 * that they are still seen as fields, until typed_drop_nulls. */
void typed_remove(struct field_maker *maker, struct schema_slot slot,
                  struct cJSON *object, struct owned_fields set);
/* Removes members that are null, but not in values that are owned whole. */
void typed_drop_nulls(struct schema_slot slot, struct cJSON *object);

/* Merges a configuration into an object. A member of the configuration that is null stays
 * as null, so that a comparison sees it; typed_drop_nulls ends that. */
void typed_merge(struct field_maker *maker, struct schema_slot slot, struct cJSON *object,
                 struct pl_json config);

/* PL_INVALID: a list of the configuration has an element without its keys, one that is no
 * object or no scalar, or two with the same keys. PL_NOMEM. */
PL_NODISCARD enum pl_code typed_check(struct field_maker *maker, struct schema_slot slot,
                                      struct pl_json config, struct pl_err *err);

/* -- elements of lists, for the files of this noun --------------------------------------- */

struct typed_element {
	const char *text; /* the path element */
	struct cJSON *node;
	size_t at;     /* place in the list */
	bool repeated; /* another element has the same text */
};

struct typed_list {
	struct typed_element *elements; /* in the order of the list */
	struct typed_element **sorted;  /* by text, then place */
	size_t count;
	enum field_kind kind;
};

/* The elements of a keyed list or a set. node NULL or null: none. Elements that have no
 * key and no default for it get the keys that they have. */
PL_NODISCARD bool typed_list_init(struct typed_list *list, struct field_maker *maker,
                                  struct schema_slot slot, const struct cJSON *node);
/* The first element with that text, or NULL. */
struct typed_element *typed_list_find(const struct typed_list *list, const char *text);
/* Whether the value is what the form wants: also true for absent and null. */
bool typed_fits(enum slot_form form, const struct cJSON *node);
bool typed_is_null(const struct cJSON *node);

#endif
