/* The parts of the memory store, as they see each other. */
#ifndef STORE_MEMKV_IMPL_H
#define STORE_MEMKV_IMPL_H

#include "store/base/arena.h"
#include "store/base/rng.h"
#include "store/memkv/interval_tree.h"
#include "store/memkv/memkv.h"
#include "store/memkv/mvcc.h"

enum { MEM_CALLS_KEPT = 64 };

/* A delivery, embedded in what is delivered. Deliveries happen in the order of the
 * queue. */
enum mem_delivery_kind {
	DELIVERY_CALL,
	DELIVERY_NOTE,   /* a watch's events of one revision, or its progress */
	DELIVERY_READY,  /* READY of a watch, followed by its past events */
	DELIVERY_END,    /* END of a watch */
	DELIVERY_ROOM,   /* room for a session's waiters */
	DELIVERY_CLOSED, /* the last delivery of a session */
};

struct mem_delivery {
	struct pl_list link; /* in memkv.queue, or empty */
	enum mem_delivery_kind kind;
};

struct memkv {
	struct mvcc *mvcc;
	struct memkv_opts opts;
	uint64_t now_ms;
	struct pl_timers timers;
	struct pl_rng rng;
	struct pl_list queue;
	struct pl_list sessions;
	struct interval_tree watches;
	uint64_t watch_seq;
	struct pl_arena scratch; /* used during one start */
	struct mem_call *idle[MEM_CALLS_KEPT];
	size_t idle_count;
	uint64_t cluster_id, member_id, raft_term, raft_index;
	bool running;
	bool nospace; /* a write was refused, and nothing has been compacted since */
	/* Set while a loop drives the store. */
	bool live;
	void (*wake)(void *ctx);
	void *wake_ctx;
};

struct mem_session {
	struct kv kv;
	struct memkv *mem;
	struct pl_list link;
	struct pl_list calls;
	struct pl_list watches;
	struct pl_list waiters;
	size_t bytes; /* bytes of requests whose answers wait */
	struct mem_delivery room;
	struct mem_delivery closed;
	bool closing;
	kv_closed_fn *on_closed;
	void *ctx;
};

/* The versions that an answer shows, held until it has been delivered. */
struct mem_hold {
	struct mem_hold *next;
	size_t count;
	struct mem_version *version[];
};

struct mem_call {
	struct mem_delivery delivery;
	struct mem_session *session;
	struct pl_list link;
	kv_done_fn *done;
	void *ctx;
	bool writes;
	size_t bytes;
	struct pl_arena arena;
	struct mem_hold *holds;
	struct kv_result result;
	struct pl_err err; /* code PL_OK: result is the answer */
};

struct mem_note_hold {
	struct mem_version *version, *prev;
	struct kv_record prev_record;
};

/* A note with count 0 is one of progress. */
struct mem_note {
	struct mem_delivery delivery;
	struct mem_watch *watch;
	struct mem_note *next; /* the next note of the write in progress */
	int64_t revision;      /* of the events */
	size_t count, cap;     /* cap 0: the single event is inside */
	struct kv_event *events;
	struct mem_note_hold *holds;
	struct kv_event one_event;
	struct mem_note_hold one_hold;
};

/*
 *	           READY delivered
 *	QUEUED -----------------------> ANNOUNCED
 *	   |   <----------------------     |
 *	   |         reconnected           |
 *	   +-----> ENDED <-----------------+
 */
enum mem_watch_state {
	MEM_WATCH_QUEUED,    /* READY is in the queue */
	MEM_WATCH_ANNOUNCED, /* READY has been delivered, past events may follow */
	MEM_WATCH_ENDED,     /* END is queued or delivered, and no other note comes */
};

/* In the index of ranges until it has ended. */
struct mem_watch {
	struct interval_tree_node node;
	struct mem_session *session;
	struct pl_list link;
	kv_watch_fn *fn;
	void *ctx;
	bool want_prev, no_puts, no_deletes;
	enum mem_watch_state state;
	unsigned refs;
	int64_t min_rev;        /* events below have been queued or were not wanted */
	int64_t past, past_end; /* revisions that are still to be read from the log */
	int64_t seen_rev;       /* the newest revision in a note that was delivered */
	struct mem_note *open;  /* the note of the write in progress */
	struct mem_delivery ready;
	int64_t ready_rev; /* the watch sees everything after this revision */
	int64_t ready_now; /* the store's revision when READY was queued */
	struct mem_delivery end;
	struct pl_err end_err;
	int64_t compact_revision;
	uint8_t bytes[]; /* begin and end of the range */
};

/* -- queue (memkv.c) */
void mem_queue_add(struct memkv *mem, struct mem_delivery *delivery);
void mem_queue_add_first(struct memkv *mem, struct mem_delivery *delivery);
struct kv_header mem_header(const struct memkv *mem);
uint64_t mem_now(struct memkv *mem);

/* -- limits (check.c) */
PL_NODISCARD enum pl_code check_limits(const struct memkv *mem, const struct kv_req *req,
                                       struct pl_err *err);

/* -- execution (exec.c): fills call->result or call->err. PL_NOMEM: nothing
 * happened; anything else is in the call. */
PL_NODISCARD enum pl_code exec_req(struct memkv *mem, struct mem_call *call,
                                   const struct kv_req *req);
/* Deletes the lease's keys in one revision, and then the lease. */
PL_NODISCARD enum pl_code exec_revoke(struct memkv *mem, struct mem_lease *lease);

/* -- calls and sessions (session.c) */
void call_free(struct memkv *mem, struct mem_call *call);
void call_deliver(struct mem_call *call);
void session_deliver_room(struct mem_session *session);
void session_deliver_closed(struct mem_session *session);

/* -- watches (watch.c, note.c) */
PL_NODISCARD enum pl_code watch_start(struct mem_session *session,
                                      const struct kv_watch_req *req, kv_watch_fn *fn,
                                      void *ctx, struct mem_watch **out,
                                      struct pl_err *err);
void watch_end(struct mem_watch *watch, enum pl_code code, const char *why);
PL_NODISCARD enum pl_code watch_progress(struct mem_watch *watch, struct pl_err *err);
void watch_reconnect(struct mem_watch *watch);
void watch_unref(struct mem_watch *watch);
void watch_deliver_ready(struct mem_watch *watch);
void watch_deliver_end(struct mem_watch *watch);

struct mem_note *note_new(struct mem_watch *watch, int64_t revision);
void note_free(struct mem_note *note);
PL_NODISCARD enum pl_code note_add(struct mvcc *mvcc, struct mem_note *note,
                                   struct mem_version *version);
void note_deliver(struct mem_note *note);

/* Makes the notes of the changes that are about to be committed. One of the other two
 * functions must follow. */
PL_NODISCARD enum pl_code notes_prepare(struct memkv *mem, struct mem_note **notes);
void notes_queue(struct memkv *mem, struct mem_note *notes);
void notes_forget(struct mem_note *notes);

#endif
