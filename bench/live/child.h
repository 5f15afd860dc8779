/*
 * A child is a forked process with a loop and a client of its own, so that the CPU time
 * and memory of its work are known.
 */
#ifndef BENCH_LIVE_CHILD_H
#define BENCH_LIVE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

enum { CHILD_RESULT_MAX = 4096 };

struct child {
	pid_t pid; /* 0: the child has ended */
	uv_loop_t *loop;
	uv_poll_t poll;
	int fd;
	bool ended;            /* the child closed the pipe */
	void *page;            /* shared page that the child writes its result to */
	double cpu_s, rss_max; /* known when the child has ended */
};

/* fn runs there and ends it by returning; what it writes at result, the parent reads. */
typedef void child_fn(void *ctx, void *result);

/* Starts the child; the struct must not move while it runs. */
void child_start(struct child *child, uv_loop_t *loop, child_fn *fn, void *ctx);
/* True when the child has ended; the loop has to run meanwhile. A failed child ends the
 * bench. */
bool child_over(struct child *child);
/* Runs the loop until the child has ended. */
void child_wait(struct child *child);
/* The result, valid from the child's end until child_done. */
const void *child_result(const struct child *child);
/* Kills the child when it still runs, and frees the result. */
void child_done(struct child *child);

#endif
