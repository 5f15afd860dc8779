/* Shared by the parts of expand.c; nobody else includes it. */
#ifndef SHARDSCHED_EXPAND_EXPAND_INT_H
#define SHARDSCHED_EXPAND_EXPAND_INT_H

#include "shardsched/expand/expand.h"
#include "shardsched/model/object.h"
#include "shardsched/model/parse.h"

/* What a workload object says about its pods. */
struct workload_said {
	struct draft_meta meta; /* with a namespace */
	uint32_t count;
	uint32_t first;      /* ordinal */
	bool indexed;        /* Job */
	struct pl_span text; /* of its template, {} when there is none */
};

/* Read and checked, but for what the pod's own validation sees. */
PL_NODISCARD enum pl_code workload_read(struct expand *expand, enum expand_source source,
                                        struct pl_span json, struct workload_said *out,
                                        struct pl_err *err);

/* expand->raw: a pod of it, with open places. Sets base. */
PL_NODISCARD enum pl_code workload_pod(struct expand *expand, enum expand_source source,
                                       const struct workload_said *said,
                                       struct pl_err *err);

#endif
