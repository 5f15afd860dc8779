/* Kinds that are written almost as one that is known: passed over, they would be missed
 * by whoever wrote them. */
#ifndef COORD_SERVICE_INPUT_SIMILAR_KINDS_H
#define COORD_SERVICE_INPUT_SIMILAR_KINDS_H

#include "shardsched/expand/expand.h"

/* json was scanned, and is an object; source is what expand_source_of says of it.
 * PL_INVALID: its kind is in other letters than a known one (pod), or its apiVersion is
 * none of that kind's (apps/v1 of a Pod, apps/v2 of a Deployment). What is of somebody
 * else's group, as a Job of batch.volcano.sh, is none of ours, and PL_OK. */
PL_NODISCARD enum pl_code similar_kinds_check(struct pl_span json,
                                              enum expand_source source,
                                              struct pl_err *err);

#endif
