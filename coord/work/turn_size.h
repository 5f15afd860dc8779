/*
 * How many pods a turn may decide: as many as can be decided in TURN_NS, by the time
 * that the last ones took. During a turn the shard neither receives nor sends
 * anything.
 */
#ifndef COORD_WORK_TURN_SIZE_H
#define COORD_WORK_TURN_SIZE_H

#include <stdint.h>

#define TURN_NS UINT64_C(5000000)

/* The number for the next turn, after a turn that decided tried of its pods and took
 * took_ns. The number falls at once and rises slowly; it never exceeds most. */
uint32_t turn_size_next(uint32_t pods, uint32_t most, uint32_t tried, uint64_t took_ns);

#endif
