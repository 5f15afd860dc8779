/* Inside expand: the functions that its files share. */
#ifndef SHARDSCHED_EXPAND_EXPAND_INNER_H
#define SHARDSCHED_EXPAND_EXPAND_INNER_H

#include "shardsched/expand/expand.h"
#include "shardsched/model/object.h"
#include "shardsched/model/parse.h"

/* The fields of a workload object that its pods depend on. */
struct workload_fields {
	struct draft_meta meta; /* the namespace is set */
	uint32_t count;
	uint32_t first;      /* ordinal */
	bool indexed;        /* Job */
	struct pl_span text; /* the template; {} when there is none */
};

/* Reads and checks the object, except for what the pod's own validation covers. */
PL_NODISCARD enum pl_code workload_read(struct expand *expand, enum expand_source source,
                                        struct pl_span json, struct workload_fields *out,
                                        struct pl_err *err);

/* Writes a pod of the object into expand->raw, with placeholders. Sets base. */
PL_NODISCARD enum pl_code workload_pod(struct expand *expand, enum expand_source source,
                                       const struct workload_fields *fields,
                                       struct pl_err *err);

/* Writes a Pod into expand->raw, with placeholders. Sets base, in_namespace, count. */
PL_NODISCARD enum pl_code bare_pod(struct expand *expand, struct pl_span json,
                                   struct pl_err *err);

/* Whether the Pod differs from the last object, a valid one, in its name alone. Then it
 * is valid, too, and is not read again: everything is set for its pods. When in doubt,
 * false. */
bool bare_is_like_last(struct expand *expand, struct pl_span json);

/* -- what both need --------------------------------------------------------------------
 */

/* The name in quotes, in the arena. A name needs no escapes. */
PL_NODISCARD enum pl_code expand_quoted(struct expand *expand, struct pl_span text,
                                        const char **out);
/* Empty: the text is no string. */
struct pl_span expand_unquoted(struct pl_span text);
/* Writes the fields that the pod's priority class sets, into expand->raw. */
PL_NODISCARD enum pl_code expand_put_priority(struct expand *expand, struct pl_err *err);
/* Sets expand->hash from expand->json_template. */
PL_NODISCARD enum pl_code expand_keep_hash(struct expand *expand, struct pl_err *err);

#endif
