/* Checks whether a term of a registry is what its pod carries. */
#ifndef COORD_SERVICE_FSCK_TERM_CHECK_H
#define COORD_SERVICE_FSCK_TERM_CHECK_H

#include "shardsched/records/rule_registry.h"

/* scope: the registry's namespace, empty for the global one. *namespace: that of the
 * term's carriers, in the arena. PL_NOMEM; any other error says why the term is not
 * right. */
PL_NODISCARD enum pl_code term_check(struct model *model, struct pl_arena *arena,
                                     const struct rule_registry_term *term,
                                     struct pl_span scope, struct pl_span *namespace,
                                     struct pl_err *err);

#endif
