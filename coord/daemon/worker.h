/*
 * A worker: one shard on a thread of its own, with its loop and its etcd client.
 * Workers share nothing. Orders go in and states come out through two atomics, with an
 * async handle each way.
 */
#ifndef COORD_DAEMON_WORKER_H
#define COORD_DAEMON_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "coord/daemon/event_log.h"
#include "coord/daemon/host.h"
#include "coord/daemon/options.h"
#include "coord/metrics/loop_lag.h"
#include "coord/metrics/metrics_hub.h"
#include "coord/shard/shard.h"
#include "coord/work/work.h"

enum worker_order { WORKER_RUN, WORKER_LEAVE, WORKER_ABANDON };

enum worker_state {
	WORKER_RUNS,
	WORKER_FAILED, /* the shard was refused or could not be opened; it waits for
	                * the order to leave */
	WORKER_ENDED,  /* the thread may be joined */
};

struct worker {
	/* Set by the process before worker_start(); read only while the worker runs. */
	const struct daemon_opts *opts;
	const struct host *host;
	uv_async_t *report; /* sent when state has changed */
	struct metrics_hub *hub;
	unsigned number;

	_Atomic enum worker_order order;
	_Atomic enum worker_state state;
	_Atomic bool
		active; /* since it has its lease, the shard has taken part in the assignment */
	_Atomic bool failed; /* may be set at any time; the process then ends with a
	                      * status that is not 0 */
	/* Written by the worker's thread, read by health and status. */
	_Atomic uint64_t safe_until_ms; /* of the lease; 0: the shard has none */
	_Atomic uint64_t turned_ms;     /* when the loop turned last; 0: not yet */
	_Atomic uint32_t owned;         /* partitions */
	pthread_t thread;
	uv_loop_t loop;
	uv_mutex_t lock; /* protects wakeable and wake: a loop that has ended must not
	                  * be woken */
	bool wakeable;
	uv_async_t wake;

	/* Used by the worker's thread only. */
	char id[DAEMON_NAME_SIZE + 8];
	struct kv *kv;
	struct kv *etcd,
		*measured; /* the client; with its metrics: below kv; NULL with it */
	struct metrics_source source;
	struct metric_set *cells; /* notes are counted in it; NULL: no memory */
	struct loop_lag lag;
	struct shard *shard;
	struct work *work;           /* NULL: not opened, or the shard has closed */
	struct sched_figures logged; /* figures of work at the last work.figures event */
	uint64_t logged_ms;
	struct event_log event_log;
	uv_timer_t quiet; /* when event_log_due() is to be called */
	uv_timer_t pace;
	uv_prepare_t turn; /* before each wait of the loop */
	uint64_t pace_ns, idle_ns;
	uint64_t writes;
	enum worker_order obeyed;
};

/* The caller sets opts, host, report and number first. After a failure nothing runs. */
PL_NODISCARD enum pl_code worker_start(struct worker *worker, struct pl_err *err);
/* May be called from any other thread. An order never replaces a stronger one; ABANDON
 * ends the worker soon, whatever is in flight. */
void worker_order(struct worker *worker, enum worker_order order);
void worker_join(struct worker *worker);

/* May be called from any other thread: the worker's loop looks at what is wanted of it. */
void worker_wake(struct worker *worker);

void worker_quiet_rearm(struct worker *worker); /* to be called after each note that
                                                 * went to event_log */

/* worker_metrics.c, on the worker's thread */
void worker_metrics_open(struct worker *worker);
void worker_metrics_close(struct worker *worker); /* allowed when it is not open */
void worker_metrics_note(struct worker *worker, const struct shard_note *note);
void worker_metrics_answer(struct worker *worker); /* if the hub asks */

/* worker_log.c: logs a note of the shard as an event. */
void worker_log(const char *id, const struct shard_note *note);
bool worker_log_wanted(enum claims_why why); /* whether the loss is an expected one */
const char *worker_log_why(enum claims_why why);

/* worker_work.c: opens the scheduling work; the shard must be open. */
PL_NODISCARD enum pl_code worker_work_open(struct worker *worker, struct pl_err *err);
/* Logs work.figures if the interval has passed; last: in any case. */
void worker_work_figures(struct worker *worker, bool last);

#endif
