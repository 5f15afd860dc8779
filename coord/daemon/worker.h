/*
 * A shard on a thread of its own: loop, client of etcd and shard, sharing nothing
 * with the others. Told what to do, and asked how it went, through two atomics and
 * an async handle each way.
 */
#ifndef COORD_DAEMON_WORKER_H
#define COORD_DAEMON_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "coord/daemon/event_log.h"
#include "coord/daemon/host.h"
#include "coord/daemon/options.h"
#include "coord/shard/shard.h"
#include "coord/work/work.h"

enum worker_order { WORKER_RUN, WORKER_LEAVE, WORKER_ABANDON };

enum worker_state {
	WORKER_RUNS,
	WORKER_FAILED, /* refused, or it could not be opened: it is to be told to leave */
	WORKER_ENDED,  /* the thread may be joined */
};

struct worker {
	/* Of whoever starts it; read only while it runs. */
	const struct daemon_opts *opts;
	const struct host *host;
	uv_async_t *report; /* sent when state has changed */
	unsigned number;

	_Atomic enum worker_order order;
	_Atomic enum worker_state state;
	_Atomic bool failed; /* at any time: the process's status is not 0 */
	pthread_t thread;
	uv_loop_t loop;
	uv_mutex_t lock; /* of the two below: nobody wakes a loop that is gone */
	bool wakeable;
	uv_async_t wake;

	/* Of its thread. */
	char id[DAEMON_NAME_SIZE + 8];
	struct kv *kv;
	struct shard *shard;
	struct work *work;           /* NULL: none, or the shard has closed */
	struct sched_figures logged; /* of work, as last logged */
	uint64_t logged_ms;
	struct event_log event_log;
	uv_timer_t quiet; /* of the journal */
	uv_timer_t pace;
	uint64_t pace_ns, idle_ns;
	uint64_t writes;
	enum worker_order obeyed;
};

/* Before the call: opts, host, report, number. On failure nothing runs. */
PL_NODISCARD enum pl_code worker_start(struct worker *worker, struct pl_err *err);
/* From another thread. Orders only grow; ABANDON ends it soon, whatever goes on. */
void worker_order(struct worker *worker, enum worker_order order);
void worker_join(struct worker *worker);

void worker_quiet_rearm(struct worker *worker); /* the journal was told something */

/* worker_log.c: a note of the shard as an event of the log. */
void worker_log(const char *id, const struct shard_note *note);
bool worker_log_wanted(enum claims_why why); /* nothing to be worried about */
const char *worker_log_why(enum claims_why why);

/* worker_work.c: opened once the shard is. */
PL_NODISCARD enum pl_code worker_work_open(struct worker *worker, struct pl_err *err);
/* What it has done since last time, now and then; last: whatever there is. */
void worker_work_figures(struct worker *worker, bool last);

#endif
