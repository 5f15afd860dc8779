/* Inside spec_make: what a pod asks for in all. */
#ifndef SHARDSCHED_MODEL_SPEC_REQUESTS_H
#define SHARDSCHED_MODEL_SPEC_REQUESTS_H

#include "shardsched/model/pod_draft.h"
#include "shardsched/model/resources.h"

struct spec_requests {
	struct resource_sums sums;
	int64_t nonzero_cpu_milli;
	int64_t nonzero_memory;
};

/* The requests of a pod: the sum over its containers, but at least the request of each
 * init container, plus the overhead. */
PL_NODISCARD enum pl_code spec_requests_make(struct pl_arena *arena,
                                             const struct pod_draft *draft,
                                             struct spec_requests *out,
                                             struct pl_err *err);

#endif
