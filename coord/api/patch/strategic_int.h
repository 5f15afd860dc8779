/* Shared parts of strategic merge. */
#ifndef COORD_API_PATCH_STRATEGIC_INT_H
#define COORD_API_PATCH_STRATEGIC_INT_H

#include "coord/api/patch/scalar.h"
#include "coord/api/patch/slot.h"
#include "store/base/json_edit.h"

#define STRATEGIC_PATCH "$patch"
#define STRATEGIC_RETAIN "$retainKeys"
#define STRATEGIC_ORDER "$setElementOrder/"
#define STRATEGIC_DELETE_FROM "$deleteFromPrimitiveList/"

enum strategic_directive {
	STRATEGIC_NONE,
	STRATEGIC_MERGE,
	STRATEGIC_REPLACE,
	STRATEGIC_DELETE,
};

struct strategic_run {
	struct pl_arena *arena;
	struct pl_err *err;
};

/* The value of $patch in an object whose directives have been checked. */
enum strategic_directive strategic_directive(struct pl_json object);
static inline bool strategic_is_directive(const char *name)
{
	return name[0] == '$';
}

/* PL_INVALID: a directive is unknown or has a wrong value, anywhere in the patch. */
PL_NODISCARD enum pl_code strategic_check(struct strategic_run *run,
                                          struct pl_json patch);

/* The names in an array of strings. */
struct strategic_names {
	struct scalar_table table;
};

PL_NODISCARD bool strategic_names_init(struct strategic_names *names,
                                       struct pl_arena *arena, struct pl_json array);
bool strategic_names_has(const struct strategic_names *names, const struct cJSON *member);

/* A copy of a value of the patch, for a place where nothing was before: without
 * directives, null members, and objects that are to be deleted. NULL: no memory. Objects
 * that are to replace others are kept in elements that a list gets, and dropped elsewhere,
 * as Kubernetes does. The value itself must not be one to be dropped. */
enum strategic_copied { STRATEGIC_MEMBER, STRATEGIC_ELEMENT };
struct cJSON *strategic_copy(struct pl_arena *arena, struct pl_json value,
                             enum strategic_copied as);

PL_NODISCARD enum pl_code strategic_no_memory(struct strategic_run *run);
PL_NODISCARD enum pl_code strategic_object(struct strategic_run *run,
                                           struct cJSON *object, struct pl_json patch,
                                           struct schema_slot slot);

struct strategic_list {
	struct schema_slot slot;
	struct pl_json patch; /* absent: nothing is added or changed */
	struct pl_json order; /* of $setElementOrder; absent: there is none */
	bool added;           /* the list is a copy of the patch already */
};

/* list is an array; the patch and the order are arrays or absent. */
PL_NODISCARD enum pl_code strategic_list(struct strategic_run *run, struct cJSON *list,
                                         const struct strategic_list *how);
/* Removes the scalars that the array gone names. */
PL_NODISCARD enum pl_code strategic_remove(struct strategic_run *run, struct cJSON *list,
                                           struct pl_json gone);

#endif
