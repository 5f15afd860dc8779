/*
 * How many pods a turn may decide: as many as it takes TURN_NS for, by what the last
 * ones took. While it decides, a shard neither hears nor sends anything.
 */
#ifndef COORD_WORK_TURN_SIZE_H
#define COORD_WORK_TURN_SIZE_H

#include <stdint.h>

#define TURN_NS UINT64_C(5000000)

/* After a turn in which tried of the pods that it might have decided took so long. most:
 * never more. Fewer follow at once, more by and by. */
uint32_t turn_size_next(uint32_t pods, uint32_t most, uint32_t tried, uint64_t took_ns);

#endif
