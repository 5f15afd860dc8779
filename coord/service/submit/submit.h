/*
 * Submits pods, many in a transaction and several transactions in flight. The pods
 * come one by one from a source, so the memory is bounded whatever the number of pods.
 *
 * A pod that exists with the same bytes is *unchanged*, so submitting again changes
 * nothing. A pod that exists with another spec is reported and stays as it is. A pod
 * that is being deleted is reported and not submitted, whatever its spec. Unknown
 * outcomes are settled (bulk_writer.h).
 */
#ifndef COORD_SERVICE_SUBMIT_SUBMIT_H
#define COORD_SERVICE_SUBMIT_SUBMIT_H

#include "shardsched/records/pod_location.h"
#include "store/kv/kv.h"

struct submit;

enum { SUBMIT_BATCH_MAX = 512 }; /* larger transactions are not faster */

struct submit_pod {
	struct pl_span namespace, name, spec;
	struct pod_location location;
};

struct submit_counts {
	uint64_t submitted, unchanged;
	uint64_t others;  /* exist with another spec */
	uint64_t leaving; /* exist and are being deleted */
	uint64_t transactions;
};

struct submit_opts {
	bool dry_run;   /* nothing is written; submitted counts the pods that would be */
	unsigned slots; /* 0: 8; transactions in flight */
	uint64_t timeout_ms, patience_ms; /* 0: the defaults of bulk_writer.h */
	/* PL_OK: *out is the next pod, borrowed until the next call; PL_NOTFOUND: there
	 * are no more; any other code ends everything with err. */
	enum pl_code (*next)(void *ctx, struct submit_pod *out, struct pl_err *err);
	/* Called for a pod that exists with another spec. May be NULL. */
	void (*exists)(void *ctx, const struct submit_pod *pod);
	/* Called for a pod that is being deleted. May be NULL. */
	void (*leaving)(void *ctx, const struct submit_pod *pod);
	/* The last call; the operation is freed. err NULL: every pod exists now, except
	 * those that are leaving. */
	void (*done)(void *ctx, const struct submit_counts *counts,
	             const struct pl_err *err);
	void *ctx;
};

/* Copies opts; calls nothing before it returns. */
PL_NODISCARD enum pl_code submit_open(struct kv *kv, const struct submit_opts *opts,
                                      struct submit **out, struct pl_err *err);
/* done follows, with PL_CANCELED. */
void submit_cancel(struct submit *submit);

/* The counts so far. */
const struct submit_counts *submit_counts(const struct submit *submit);

#endif
