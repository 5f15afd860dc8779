/*
 * A scratch array is used again in each run and grows when it is too short, so that after
 * a while no run allocates.
 */
#ifndef SHARDSCHED_PREEMPT_SCRATCH_H
#define SHARDSCHED_PREEMPT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/compiler.h"

struct scratch {
	void *at;
	size_t cap; /* number of elements */
};

/* Makes room for count elements and keeps the old ones. false: out of memory. */
PL_NODISCARD bool scratch_grow(struct scratch *scratch, size_t count, size_t size);
/* The same; new elements are zero. */
PL_NODISCARD bool scratch_grow_zeroed(struct scratch *scratch, size_t count, size_t size);
void scratch_done(struct scratch *scratch);

#endif
