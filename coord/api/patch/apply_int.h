/* Shared parts of server-side apply. */
#ifndef COORD_API_PATCH_APPLY_INT_H
#define COORD_API_PATCH_APPLY_INT_H

#include "coord/api/patch/apply.h"
#include "coord/api/patch/managed_int.h"

#define APPLY_ANNOTATION "kubectl.kubernetes.io/last-applied-configuration"

struct apply_run {
	struct field_maker maker;
	const struct apply_options *options;
	struct schema_slot root;
	struct pl_json live;
	struct pl_json config;
	struct json_tree object; /* the result while it is made */
	struct managed_list list;
	struct apply_result *out;
};

/* The fields that kubectl may take over without force, because its own annotation says
 * that it has set them before. Empty: none. */
struct owned_fields apply_last_applied(struct apply_run *run);
/* Keeps the annotation of client-side apply true, if the object has it. False: no
 * memory. */
PL_NODISCARD bool apply_update_annotation(struct apply_run *run);

/* Adds the conflicts of one entry behind those of the entries before. */
void apply_add_conflicts(struct apply_run *run, const struct managed_entry *entry,
                         struct owned_fields fields);
/* Writes the message. False: no memory. */
PL_NODISCARD bool apply_end_conflicts(struct apply_run *run);

#endif
