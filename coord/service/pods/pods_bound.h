/*
 * Pods bound: waits until pods have a place: those that are named, or all that pass a
 * filter.
 *
 * Invariants
 *  - A pod counts as bound once it was seen with a place, or over; what becomes of it later
 *    does not matter.
 *  - A named pod that goes before, or is being deleted when it is first seen, is lost:
 *    nothing can be waited for any more. Of all pods such a one is not waited for.
 *  - The wait ends when bound + lost is what there is to wait for, or the time is up.
 */
#ifndef COORD_SERVICE_PODS_PODS_BOUND_H
#define COORD_SERVICE_PODS_PODS_BOUND_H

#include "coord/service/base/service.h"
#include "coord/service/pods/pod_filter.h"
#include "coord/service/pods/pod_watch.h"

struct pods_bound_opts {
	bool all;                        /* else the pods that were added */
	struct pl_span namespace;        /* all: of that namespace; empty: of any */
	const struct label_query *query; /* all: with these labels; NULL: any. Borrowed */
	bool may_come;                   /* added pods that are not there yet may come */
	uint64_t timeout_ms;
	uint64_t (*now_us)(void); /* a steady clock, for seen_us */
	/* A pod is bound; seen_us: when it was first seen without a place, 0: it never was.
	 * May be NULL. */
	void (*bound)(void *ctx, const struct pod_state *state, uint64_t seen_us,
	              uint64_t now_us);
	/* A pod is lost; pod: "namespace/name". */
	void (*lost)(void *ctx, struct pl_span pod, const char *why);
	/* Called when the time is up, with pods that are not bound, until it returns
	 * false. */
	bool (*left)(void *ctx, struct pl_span pod, uint32_t partition);
	/* The store can not be read now; it is tried again. */
	void (*trouble)(void *ctx, const struct pl_err *err);
	/* err NULL: nothing is left to wait for. PL_TIMEOUT: some are not bound. The counts
	 * can be read until pods_bound_done, which may be called in here. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* The caller's memory; it must not move while it waits. */
struct pods_bound {
	uint64_t bound, lost;
	uint64_t leaving; /* that are being deleted: of the lost, or beside the others */
	/* The rest is the wait's own. */
	struct pods_bound_opts opts;
	struct pl_map named; /* pods that were added */
	bool in_partition[KEYS_PARTITIONS_MAX];
	uint64_t there; /* all: pods that are there, or were bound */
	struct pod_watch *watch;
	struct pl_arena arena; /* of one state */
	struct pl_timer end;
	struct pl_err failure;
	bool whole; /* all pods were seen once */
	bool over;  /* the watch is being stopped */
};

void pods_bound_init(struct pods_bound *bound);
void pods_bound_done(struct pods_bound *bound);
PL_NODISCARD enum pl_code pods_bound_add(struct pods_bound *bound, uint32_t partition,
                                         const struct pod_name *pod, struct pl_err *err);

PL_NODISCARD enum pl_code pods_bound_start(struct pods_bound *bound,
                                           const struct service *service,
                                           const struct pods_bound_opts *opts,
                                           struct pl_err *err);
void pods_bound_cancel(struct pods_bound *bound);

/* The number of pods that are waited for, whatever has become of them. */
uint64_t pods_bound_total(const struct pods_bound *bound);
/* Calls fn with each pod that is still waited for, until it returns false; not in or
 * after done. */
void pods_bound_each_left(const struct pods_bound *bound,
                          bool (*fn)(void *ctx, struct pl_span pod, uint32_t partition),
                          void *ctx);

#endif
