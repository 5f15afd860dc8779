/*
 * The content of some keys and every change after it, for as long as it is wanted:
 * a watch from now on, pages at one revision, and of the watch what came after that
 * (a watch that does not stand in time begins behind the list). Whatever breaks that (a
 * compaction, a restored store, a watch that fell silent) leads to a new list;
 * whatever only delays it is retried. See relist_core.h.
 *
 * The user is told:
 *
 *	BEGIN(revision) PAGE... END(revision) then EVENTS and PROGRESS...
 *	LOST(reason) at any moment, then BEGIN again; TROUBLE(reason) in between
 *	STOPPED last
 *
 * Whoever applies per key, and only what is newer than it has, is right at END and
 * after each note of EVENTS. Keys that a list does not mention are gone: sweep at
 * END what has not been seen since BEGIN. After LOST with PL_REWOUND revisions
 * start anew: forget those that you know. LOST may come twice in a row, and before
 * END: the list that was under way is void.
 */
#ifndef STORE_KV_RELIST_H
#define STORE_KV_RELIST_H

#include "store/kv/progress_reads.h"
#include "store/kv/relist_page_size.h"

struct relist;

enum relist_what {
	RELIST_BEGIN,
	RELIST_PAGE,
	RELIST_END,
	RELIST_EVENTS,
	RELIST_PROGRESS,
	RELIST_LOST,
	RELIST_TROUBLE,
	RELIST_STOPPED,
};

/* Everything is borrowed for the call. */
struct relist_note {
	enum relist_what what;
	int64_t revision; /* all but LOST, TROUBLE and STOPPED */
	uint64_t cluster_id;
	const struct kv_record *records; /* PAGE */
	const struct kv_event *events;   /* EVENTS: whole revisions */
	size_t count;
	const struct pl_err *err; /* LOST, TROUBLE */
};

typedef void relist_fn(void *ctx, const struct relist_note *note);

/*
 * Where only some of the keys are of interest: they are listed prefix by prefix, in
 * order, all at the list's revision; the watch is over all keys all the same. Called for
 * the first prefix of each list (first; again, if that could not be read), and then for
 * the next one. Gives a prefix of at most RELIST_PREFIX_MAX bytes that lies within keys,
 * borrowed until the next call; false: that was all.
 */
enum { RELIST_PREFIX_MAX = 512 };

typedef bool relist_prefix_fn(void *ctx, bool first, struct pl_span *prefix);

struct relist_opts {
	struct kv_keys keys;           /* copied */
	relist_prefix_fn *next_prefix; /* NULL: all keys are listed */
	void *prefix_ctx;
	bool want_prev;
	uint32_t page_keys;             /* at most; 0: 10,000 */
	struct relist_page_size *pages; /* NULL, or says how many; outlives the relist */
	struct progress_reads
		*progress_reads;  /* NULL, or looks at the store; outlives the relist */
	uint32_t call_timeout_ms; /* 0: 10 s; of pages, and of looks of its own */
	uint32_t check_ms;        /* 0: 10 s; how often the store is looked at */
	uint32_t stall_ms;        /* 0: 10 s; so long may a watch owe what a read saw */
	uint64_t seed;            /* of jitter; 0: from the operating system */
};

/* Notes come later, never from inside a call of ours. Must have stopped before kv
 * is closed. */
PL_NODISCARD enum pl_code relist_open(struct kv *kv, const struct relist_opts *opts,
                                      relist_fn *fn, void *ctx, struct relist **out,
                                      struct pl_err *err);

/* Nothing but STOPPED follows; then it is gone. May be called from a note. */
void relist_stop(struct relist *relist);

const char *relist_what_name(enum relist_what what);

#endif
