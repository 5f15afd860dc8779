/*
 * What is wanted of pods, or known of them, into the store, many in a transaction: that
 * they go, that they move, that they have ended. Phases are changed by shards only
 * (state.h); but what has no place is deleted at once: spec, state and pointer.
 *
 * **Budgets.** A bound pod is evicted only as far as the disruption budgets that cover it
 * allow; the transaction that asks it to go lowers them. Whoever evicts many has one
 * slot: they meet on these keys.
 *
 * Pods are read together first, then written together, each with the compares on what
 * was read; what changed meanwhile is looked at again.
 */
#ifndef COORD_SUBMIT_POD_REQUEST_H
#define COORD_SUBMIT_POD_REQUEST_H

#include "shardsched/records/pod_state.h"
#include "store/kv/kv.h"

enum { POD_REQUEST_BATCH_MAX = 64 }; /* pods in a transaction */

/* A partition: its name says where it stands. */
#define POD_REQUEST_BY_NAME UINT32_MAX

struct pod_requests;

enum pod_request_verb {
	POD_REQUEST_DELETE,
	POD_REQUEST_EVICT, /* to be placed again */
	POD_REQUEST_ENDED, /* as the member says */
};

/* Names such as keys can have; spans are borrowed until the next one is asked for, but
 * reason and on. */
struct pod_request {
	enum pod_request_verb verb;
	struct pl_span namespace, name;
	uint32_t at; /* the partition of its schedule, or POD_REQUEST_BY_NAME */
	/* ENDED: how; the others: GONE: it is not waited for the member. */
	enum state_ended ended;
	struct pl_span reason; /* DELETE, EVICT: a code, for its state */
	struct pl_span cluster,
		node; /* only while it has its place there; empty: wherever */
};

enum pod_request_outcome {
	POD_REQUEST_GONE,      /* deleted */
	POD_REQUEST_ACCEPTED,  /* its shard does what follows */
	POD_REQUEST_ALREADY,   /* it was said before */
	POD_REQUEST_ABSENT,    /* no such pod */
	POD_REQUEST_SKIPPED,   /* it has no place, or another one: nothing was done */
	POD_REQUEST_WITHHELD,  /* not now, because of a disruption budget: why */
	POD_REQUEST_MALFORMED, /* what stands there makes no sense: why */
};

struct pod_request_opts {
	uint32_t partitions;
	unsigned slots;                   /* 0: 8; transactions at once. EVICT: 1 */
	uint64_t timeout_ms, patience_ms; /* 0: as of writes.h */
	/* EVICT: pods are asked whatever their budgets allow; of one that can note no
	 * more before it is counted they are withheld. */
	bool past_budgets;
	/* Who wants it, for the states' messages; borrowed. */
	const char *who;
	/* PL_OK: *out; PL_NOTFOUND: that was all; anything else ends it all, with err. */
	enum pl_code (*next)(void *ctx, struct pod_request *out, struct pl_err *err);
	/* Once for each, in any order; wish->at is where it stands, or would. */
	void (*told)(void *ctx, const struct pod_request *request,
	             enum pod_request_outcome outcome, const char *why);
	/* The last call: wishes is gone. err NULL: told was called for each. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* Copies opts; calls nothing before it returns. */
PL_NODISCARD enum pl_code pod_requests_open(struct kv *kv,
                                            const struct pod_request_opts *opts,
                                            struct pod_requests **out,
                                            struct pl_err *err);
/* done follows, with PL_CANCELED. */
void pod_requests_cancel(struct pod_requests *requests);

#endif
