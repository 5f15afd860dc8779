/* The clocks of the machine. Only this file reads real time: cores get the time as a
 * parameter. */
#ifndef STORE_BASE_CLOCK_H
#define STORE_BASE_CLOCK_H

#include <stdint.h>

/* Monotonic time that goes on while the machine is suspended, because a lease goes on
 * running out on the server when a laptop or VM sleeps. */
uint64_t pl_clock_ms(void);
uint64_t pl_clock_ns(void);

/* Milliseconds since 1970, for people and logs. This clock may jump. */
int64_t pl_clock_wall_ms(void);

/* CPU time of the process, user and system together. */
uint64_t pl_clock_cpu_ns(void);

#endif
