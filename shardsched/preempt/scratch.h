/*
 * Arrays that are used again for each run and grow when one is too short: after a while
 * nothing is allocated any more.
 */
#ifndef SHARDSCHED_PREEMPT_SCRATCH_H
#define SHARDSCHED_PREEMPT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/compiler.h"

struct scratch {
	void *at;
	size_t cap; /* elements */
};

/* Room for count elements; what is there stays. false: no memory. */
PL_NODISCARD bool scratch_grow(struct scratch *scratch, size_t count, size_t size);
/* The same; what is new is zero. */
PL_NODISCARD bool scratch_grow_zeroed(struct scratch *scratch, size_t count, size_t size);
void scratch_done(struct scratch *scratch);

#endif
