/*
 * Pod removal: asks pods to go, for good (delete) or to be placed again (evict). What a
 * disruption budget withholds is asked again, round after round, until it may go.
 *
 *	round: every pod --> withheld ones, after a pause --> ... --> none is withheld: done
 *	                                                        `-> the time is up: done
 */
#ifndef COORD_SERVICE_PODS_POD_REMOVE_H
#define COORD_SERVICE_PODS_POD_REMOVE_H

#include "coord/service/base/service.h"
#include "coord/service/pods/pod_filter.h"
#include "coord/service/submit/pod_request.h"

enum { POD_REMOVE_ROUND_MS = 500 };

struct pod_remove;

struct pod_remove_opts {
	enum pod_request_verb verb; /* POD_REQUEST_DELETE, POD_REQUEST_EVICT */
	bool force;          /* does not wait for the member to say that it ended */
	bool past_budgets;   /* evictions go past budgets */
	uint64_t timeout_ms; /* of all rounds; 0: however long it takes */
	/* The next pod of the first round, borrowed until the next call. PL_NOTFOUND: that
	 * was all; any other code ends the removal with err. */
	enum pl_code (*next)(void *ctx, struct pod_name *out, struct pl_err *err);
	/* Once for each, in any order; for POD_REQUEST_WITHHELD in the first round only, and
	 * then again when it has gone. partition: of its schedule. */
	void (*outcome)(void *ctx, const struct pod_name *pod, uint32_t partition,
	                enum pod_request_outcome outcome, const char *why);
	/* Called after the first round, when budgets withhold some. May be NULL. */
	void (*withheld)(void *ctx, uint64_t pods);
	/* withheld: the number of pods that are withheld still when timeout_ms are over, with
	 * PL_TIMEOUT; else 0. */
	void (*done)(void *ctx, uint64_t withheld, const struct pl_err *err);
	void *ctx;
};

/* The service outlives the removal. */
PL_NODISCARD enum pl_code pod_remove_start(const struct service *service,
                                           const struct pod_remove_opts *opts,
                                           struct pod_remove **out, struct pl_err *err);
void pod_remove_cancel(struct pod_remove *remove);

#endif
