/*
 * Clients that follow all pods over the API of a process, in clear text, in a process of
 * their own: they read what comes, as fast as it comes, and count it.
 */
#ifndef BENCH_LIVE_FOLLOWERS_H
#define BENCH_LIVE_FOLLOWERS_H

#include <stdint.h>

#include "bench/live/child.h"

enum { FOLLOWERS_MAX = 1000 };

struct followers_opts {
	uint16_t port;
	uint32_t count;
};

struct followers_result {
	uint32_t ready, stop;   /* watches that stand; the end is wanted */
	uint64_t events, bytes; /* of all */
	uint32_t ended;         /* watches that the server has ended */
};

/* A port of this machine that is free now; the kernel gives it to no other program soon. */
uint16_t followers_free_port(void);
/* opts must last until the child has ended. Returns when all watches stand. */
void followers_start(struct child *child, uv_loop_t *loop,
                     const struct followers_opts *opts);
/* Ends them when each has got so many events, or after limit_s. */
void followers_stop(struct child *child, uint64_t events_each, double limit_s,
                    struct followers_result *out);

#endif
