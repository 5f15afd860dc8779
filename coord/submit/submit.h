/*
 * Pods into the store, many in a transaction and several transactions in flight, from a
 * source that is asked for one pod after the other: what is held at once is bounded,
 * whatever there is to submit.
 *
 * A pod that stands there already with the same bytes is *unchanged*, so submitting again
 * changes nothing; with others it is *there with another spec*, is told, and stays as it
 * is. One that is being deleted is neither, whatever its spec: it is told, and not
 * submitted, since it will not be there. Unknown outcomes are settled (writes.h).
 */
#ifndef COORD_SUBMIT_SUBMIT_H
#define COORD_SUBMIT_SUBMIT_H

#include "shardsched/records/pod_location.h"
#include "store/kv/kv.h"

struct submit;

enum { SUBMIT_BATCH_MAX = 512 }; /* more in a transaction gains nothing */

struct submit_pod {
	struct pl_span namespace, name, spec;
	struct pod_location location;
};

struct submit_counts {
	uint64_t submitted, unchanged;
	uint64_t others;  /* there with another spec */
	uint64_t leaving; /* there, and being deleted */
	uint64_t transactions;
};

struct submit_opts {
	bool dry_run;   /* nothing is written: submitted are those that would be */
	unsigned slots; /* 0: 8; transactions in flight */
	uint64_t timeout_ms, patience_ms; /* 0: as of writes.h */
	/* PL_OK: *out, borrowed until the next call; PL_NOTFOUND: that was all; anything
	 * else ends it all, with err. */
	enum pl_code (*next)(void *ctx, struct submit_pod *out, struct pl_err *err);
	/* One that is there with another spec. May be NULL. */
	void (*exists)(void *ctx, const struct submit_pod *pod);
	/* One that is being deleted. May be NULL. */
	void (*leaving)(void *ctx, const struct submit_pod *pod);
	/* The last call: submit is gone. err NULL: every pod stands there now, but those
	 * that are leaving. */
	void (*done)(void *ctx, const struct submit_counts *counts,
	             const struct pl_err *err);
	void *ctx;
};

/* Copies opts; calls nothing before it returns. */
PL_NODISCARD enum pl_code submit_open(struct kv *kv, const struct submit_opts *opts,
                                      struct submit **out, struct pl_err *err);
/* done follows, with PL_CANCELED. */
void submit_cancel(struct submit *submit);

/* So far. */
const struct submit_counts *submit_counts(const struct submit *submit);

#endif
