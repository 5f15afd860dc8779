/* The driver of relist_core, in two files: relist.c feeds the core and performs its
 * actions; relist_tasks.c has the calls and watches that run for it. */
#ifndef STORE_KV_RELIST_INT_H
#define STORE_KV_RELIST_INT_H

#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/kv/relist.h"
#include "store/kv/relist_core.h"

/* Bytes for the events that the watch brings while the list is read. */
enum { RELIST_DEFERRED_CHUNK = 16 << 10, RELIST_DEFERRED_MAX = 4 << 20 };

enum relist_task_kind { TASK_FETCH, TASK_CHECK, TASK_WATCH, TASK_KINDS };

struct relist_task {
	struct pl_list link;
	/* owner of the memory; it is not told of a task that was dropped */
	struct relist *owner;
	enum relist_task_kind kind;
	bool dropped;
	struct kv_call *call;
	struct kv_watch *watch;
	struct progress_read ask; /* with opts.progress_reads */
};

/* An EVENTS note from before the end of the list. */
struct relist_deferred {
	struct pl_list link;
	struct kv_watch_note note;
};

/* STARTING --timer--> RUNNING --relist_stop--> STOPPING, or from STARTING at once. */
enum relist_phase {
	RELIST_STARTING, /* the core has not been started */
	RELIST_RUNNING,
	RELIST_STOPPING, /* only STOPPED is left to be told */
};

struct relist {
	struct relist_core core;
	struct relist_opts opts;
	struct kv *kv;
	struct pl_timer timer;
	struct pl_list tasks;
	struct relist_task *live[TASK_KINDS];
	bool failed[TASK_KINDS]; /* the task could not even be started */
	struct pl_err failure[TASK_KINDS];
	enum relist_phase phase;
	relist_fn *fn;
	void *ctx;
	struct pl_buf next; /* the key at which the next page begins */
	/* The end of what is listed now; empty: the end of the keys. */
	uint8_t until[RELIST_PREFIX_MAX];
	size_t until_len;
	bool more;      /* there is a next page */
	bool nothing;   /* there is no prefix to list; only the revision counts */
	bool releasing; /* the deferred notes are to be reported */
	struct pl_list deferred;
	/* memory of the deferred notes and of all that they point to */
	struct pl_arena deferred_arena;
	/* The content of the event that the core is fed, for the notes that follow from
	 * it. */
	const struct kv_record *records;
	const struct kv_event *events;
	size_t count;
	int64_t note_revision;
	const struct pl_err *err;
	size_t end_len;
	uint8_t *end; /* the end of a prefix */
	uint8_t bytes[];
};

/* Feeds the core an event and performs the actions. */
void relist_feed(struct relist *r, struct relist_event event);
/* Sets the timer to the next deadline. */
void relist_rearm(struct relist *r);
/* The last task has ended. r is gone afterwards. */
void relist_finish(struct relist *r);
void relist_drop_deferred(struct relist *r);
/* Leaves out events that the list has shown, because they may share a note with new
 * ones. */
void relist_skip_listed(struct relist *r);

/* Functions that start a task. If one cannot be started, the timer tells the core. */
void relist_do_fetch(struct relist *r, int64_t revision);
void relist_do_check(struct relist *r);
void relist_do_watch(struct relist *r, int64_t from_revision);
void relist_do_progress(struct relist *r, int64_t revision);
/* The task ends without telling the core. */
void relist_drop(struct relist *r, enum relist_task_kind kind);

#endif
