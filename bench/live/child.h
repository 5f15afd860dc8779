/*
 * Work in a process of its own, so that what it costs is known: forked, with a loop and
 * a client of its own.
 */
#ifndef BENCH_LIVE_CHILD_H
#define BENCH_LIVE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

enum { CHILD_RESULT_MAX = 4096 };

struct child {
	pid_t pid; /* 0: it has ended */
	uv_loop_t *loop;
	uv_poll_t poll;
	int fd;
	bool ended;            /* the child closed the pipe */
	void *page;            /* shared page that the child writes its result to */
	double cpu_s, rss_max; /* when it has ended */
};

/* fn runs there and ends it by returning; what it writes at result, the parent reads. */
typedef void child_fn(void *ctx, void *result);

/* May not be moved while it runs. */
void child_start(struct child *child, uv_loop_t *loop, child_fn *fn, void *ctx);
/* Whether it is over; the loop has to run meanwhile. One that failed ends the bench. */
bool child_over(struct child *child);
/* Runs the loop until then. */
void child_wait(struct child *child);
/* The result, valid from the child's end until child_done. */
const void *child_result(const struct child *child);
/* Kills it when it still runs. */
void child_done(struct child *child);

#endif
