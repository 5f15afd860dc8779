/*
 * List and watch: the content of some keys and every change after it, until it is
 * stopped.
 *
 * A relist opens a watch from now on, reads the keys in pages at one revision, and then
 * reports the watch's events behind that revision. (If the watch does not stand in time,
 * the list is read without it, and a watch begins at the list's revision.) An event that
 * breaks the sequence (a compaction, a restored store, a watch that fell silent) leads to
 * a new list. All other failures are retried. relist_core.h has the states.
 *
 * The user gets these notes:
 *
 *	BEGIN(revision) PAGE... END(revision) then EVENTS and PROGRESS...
 *	LOST(reason) at any moment, then BEGIN again; TROUBLE(reason) in between
 *	STOPPED last
 *
 * A user that applies changes by key, and only those newer than what it has, is right at
 * END and after each EVENTS note. Keys that a list does not mention are gone: at END the
 * user removes the keys that it has not seen since BEGIN. After LOST with PL_REWOUND
 * revisions start anew, and the user must forget those that it knows. LOST may come twice
 * in a row, and before END: the list in progress is then void.
 *
 * store/kv/cache does all this for users that want the content.
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

/* All pointers are borrowed for the call. */
struct relist_note {
	enum relist_what what;
	int64_t revision; /* in all notes but LOST, TROUBLE and STOPPED */
	uint64_t cluster_id;
	const struct kv_record *records; /* in PAGE */
	const struct kv_event *events;   /* in EVENTS: all events of each revision */
	size_t count;
	const struct pl_err *err; /* in LOST and TROUBLE */
};

typedef void relist_fn(void *ctx, const struct relist_note *note);

/*
 * Restricts the list to some prefixes of the keys. They are listed one after the other,
 * all at the list's revision; the watch is over all keys all the same. The function is
 * called for the first prefix of each list (with first; again if the page could not be
 * read) and then for each next one. It gives a prefix of at most RELIST_PREFIX_MAX bytes
 * that lies within keys, borrowed until the next call. False: there are no more prefixes.
 */
enum { RELIST_PREFIX_MAX = 512 };

typedef bool relist_prefix_fn(void *ctx, bool first, struct pl_span *prefix);

struct relist_opts {
	struct kv_keys keys;           /* copied */
	relist_prefix_fn *next_prefix; /* NULL: all keys are listed */
	void *prefix_ctx;
	bool want_prev;
	uint32_t page_keys; /* most keys in a page; 0: 10,000 */
	/* chooses the page size, outlives the relist; may be NULL */
	struct relist_page_size *pages;
	struct progress_reads
		/* shared checks of the store, outlive the relist; NULL: the relist checks
		 * alone */
		*progress_reads;
	uint32_t call_timeout_ms; /* of pages and of the relist's own checks; 0: 10 s */
	uint32_t check_ms;        /* how often the store is checked; 0: 10 s */
	/* how long a watch may lag behind what a check saw; 0: 10 s */
	uint32_t stall_ms;
	uint64_t seed; /* of jitter; 0: from the operating system */
};

/* Notes come later, never from inside a call of the relist. The relist must have stopped
 * before kv is closed. */
PL_NODISCARD enum pl_code relist_open(struct kv *kv, const struct relist_opts *opts,
                                      relist_fn *fn, void *ctx, struct relist **out,
                                      struct pl_err *err);

/* Only STOPPED follows, and then the relist is gone. May be called from a note. */
void relist_stop(struct relist *relist);

/* Asks the watch to show that it has come to that revision, which the store must have
 * reached: EVENTS or PROGRESS with it follow soon. Does nothing before END; the answer may
 * be lost together with the watch. */
void relist_ask_progress(struct relist *relist, int64_t revision);

const char *relist_what_name(enum relist_what what);

#endif
