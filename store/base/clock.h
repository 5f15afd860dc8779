/* The one place where real time is read. Cores never do: they are told. */
#ifndef STORE_BASE_CLOCK_H
#define STORE_BASE_CLOCK_H

#include <stdint.h>

/* Monotonic and counting while the machine is suspended: a lease goes on
 * running out on the server when our laptop or VM sleeps. */
uint64_t pl_clock_ms(void);
uint64_t pl_clock_ns(void);

/* Milliseconds since 1970, for people and logs; may jump. */
int64_t pl_clock_wall_ms(void);

/* CPU time of this process, user and system. */
uint64_t pl_clock_cpu_ns(void);

#endif
