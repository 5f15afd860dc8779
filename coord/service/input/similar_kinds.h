/* Similar kinds: objects whose kind or apiVersion is almost that of a known kind.
 * Passed over, they would be missed. */
#ifndef COORD_SERVICE_INPUT_SIMILAR_KINDS_H
#define COORD_SERVICE_INPUT_SIMILAR_KINDS_H

#include "shardsched/expand/expand.h"

/* json was scanned, and is an object; source is what expand_source_of says of it.
 * PL_INVALID: its kind is a known one in other letters (pod), or its apiVersion is
 * none of that kind's (apps/v1 of a Pod, apps/v2 of a Deployment). PL_OK for a kind
 * of another group, as a Job of batch.volcano.sh. */
PL_NODISCARD enum pl_code similar_kinds_check(struct pl_span json,
                                              enum expand_source source,
                                              struct pl_err *err);

#endif
