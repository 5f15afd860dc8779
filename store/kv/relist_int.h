/* relist.c: what the core is told and what it has done; relist_tasks.c: what is asked of
 * the store for it. */
#ifndef STORE_KV_RELIST_INT_H
#define STORE_KV_RELIST_INT_H

#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/kv/relist.h"
#include "store/kv/relist_core.h"

/* Of what the watch brings while the list is read. */
enum { RELIST_DEFERRED_CHUNK = 16 << 10, RELIST_DEFERRED_MAX = 4 << 20 };

enum relist_task_kind { TASK_FETCH, TASK_CHECK, TASK_WATCH, TASK_KINDS };

struct relist_task {
	struct pl_list link;
	struct relist *owner; /* of the memory; not heard once dropped */
	enum relist_task_kind kind;
	bool dropped;
	struct kv_call *call;
	struct kv_watch *watch;
	struct progress_read ask; /* with opts.heads */
};

/* Events that came before the end of the list. */
struct relist_deferred {
	struct pl_list link;
	struct kv_watch_note note;
};

struct relist {
	struct relist_core core;
	struct relist_opts opts;
	struct kv *kv;
	struct pl_timer timer;
	struct pl_list tasks;
	struct relist_task *live[TASK_KINDS];
	bool failed[TASK_KINDS]; /* could not even be started */
	struct pl_err failure[TASK_KINDS];
	bool wants_start;
	bool stopping;
	relist_fn *fn;
	void *ctx;
	struct pl_buf next; /* the key at which the next page begins */
	/* Where what is listed now ends; empty: with the keys. */
	uint8_t until[RELIST_PREFIX_MAX];
	size_t until_len;
	bool more;      /* there is a next page */
	bool nothing;   /* nothing is of interest; all that counts is the revision */
	bool releasing; /* what is held is to be told */
	struct pl_list deferred;
	struct pl_arena deferred_arena; /* what they are in, and what they point to */
	/* What the core's event brought, for the notes that it leads to. */
	const struct kv_record *records;
	const struct kv_event *events;
	size_t count;
	int64_t note_revision;
	const struct pl_err *err;
	size_t end_len;
	uint8_t *end; /* of a prefix */
	uint8_t bytes[];
};

/* An event for the core, which acts on it. */
void relist_feed(struct relist *r, struct relist_event event);
/* The timer, for whatever is due next. */
void relist_rearm(struct relist *r);
/* The last task has ended. r is gone afterwards. */
void relist_finish(struct relist *r);
void relist_drop_deferred(struct relist *r);
/* What the list has shown may stand in one note with what is new. */
void relist_skip_listed(struct relist *r);

/* Each is a task, or has failed, which the timer tells. */
void relist_do_fetch(struct relist *r, int64_t revision);
void relist_do_check(struct relist *r);
void relist_do_watch(struct relist *r, int64_t from_revision);
void relist_do_progress(struct relist *r, int64_t revision);
/* It ends unheard. */
void relist_drop(struct relist *r, enum relist_task_kind kind);

#endif
