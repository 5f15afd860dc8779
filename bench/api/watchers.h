/*
 * Many watchers of all pods on an API server, in a process of their own. Each counts the
 * pods that it sees added, knows which of them it has seen, and how long each took from
 * the moment that its name tells.
 */
#ifndef BENCH_API_WATCHERS_H
#define BENCH_API_WATCHERS_H

#include "bench/api/conn.h"
#include "bench/live/child.h"

enum { WATCHERS_MAX = 4096, WATCHERS_IDLE_MS = 10000 };

struct watchers_opts {
	uint16_t port;
	const char *ca_file, *token;
	uint32_t watchers;
	uint32_t first, count; /* numbers of the pods that may come */
	const char *revision;  /* where the watches begin */
};

struct watchers_result {
	uint32_t ready;    /* watches that stand; set while it runs */
	uint32_t expected; /* pods that each must see; set by watchers_expect(), plus 1 */
	uint64_t deliveries, lost, twice;
	uint32_t ended; /* watches that the server ended */
	double cpu_s, p50_ms, p99_ms, p999_ms, max_ms;
};

/* opts must last until the child has ended. Returns when all watches stand. */
void watchers_start(struct child *child, uv_loop_t *loop,
                    const struct watchers_opts *opts);
/* Waits until each watcher has seen so many pods, or none has seen one for a while. */
void watchers_wait(struct child *child, uint64_t pods, struct watchers_result *out);

#endif
