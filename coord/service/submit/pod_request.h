/*
 * Requests about pods, many in a transaction: to delete pods, to evict them, or to
 * report that they have ended. Only shards change phases (state.h); but a pod without
 * a place is deleted at once with spec, state and pointer.
 *
 * **Finalizers.** A pod that has some is asked to go, too, and its keys stay: its state says
 * that it awaits them (pod_state.h).
 *
 * **Budgets.** A bound pod is evicted only as far as the disruption budgets that cover
 * it allow it; the transaction that requests the eviction lowers them. Evictions use
 * one slot, because their transactions write the same budgets. A deletion asks no budget
 * unless it is to (under_budgets): so Kubernetes' Eviction deletes a pod, where EVICT
 * places it again.
 *
 * Pods are read together first, then written together, each with the compares on what
 * was read. A pod that changed meanwhile is read again.
 */
#ifndef COORD_SERVICE_SUBMIT_POD_REQUEST_H
#define COORD_SERVICE_SUBMIT_POD_REQUEST_H

#include "shardsched/records/pod_state.h"
#include "store/kv/kv.h"

enum { POD_REQUEST_BATCH_MAX = 64 }; /* pods in a transaction */

/* A partition: the pod's name decides where it stands. */
#define POD_REQUEST_BY_NAME UINT32_MAX

struct pod_requests;

enum pod_request_verb {
	POD_REQUEST_DELETE,
	POD_REQUEST_EVICT, /* the pod is placed again */
	POD_REQUEST_ENDED, /* as its member cluster reports */
};

/* The names are valid in keys. The spans are borrowed until the next call of next,
 * except uid, reason, cluster and node, which stay. */
struct pod_request {
	enum pod_request_verb verb;
	struct pl_span namespace, name;
	uint32_t at; /* partition of its keys, or POD_REQUEST_BY_NAME */
	/* ENDED: how it ended. DELETE, EVICT: STATE_ENDED_GONE means that the member
	 * cluster is not waited for. */
	enum state_ended ended;
	/* DELETE: as far as budgets allow it; a pod without a place, or one that goes or has
	 * ended, is in no budget's way. */
	bool under_budgets;
	/* Preconditions: the pod has this uid (empty: any), and the greater mod_revision of
	 * spec and state is this one (0: any). */
	struct pl_span uid;
	int64_t version;
	struct pl_span reason; /* DELETE, EVICT: the reason code for its state */
	struct pl_span cluster,
		node; /* only if it has its place there; empty: anywhere */
};

enum pod_request_outcome {
	POD_REQUEST_GONE,      /* deleted */
	POD_REQUEST_ACCEPTED,  /* noted in its state; its shard does the rest */
	POD_REQUEST_ALREADY,   /* was requested before */
	POD_REQUEST_ABSENT,    /* there is no such pod */
	POD_REQUEST_SKIPPED,   /* has no place, or another one than requested; nothing
	                        * was done */
	POD_REQUEST_WITHHELD,  /* a disruption budget does not allow it now; why has
	                        * the text */
	POD_REQUEST_CHANGED,   /* a precondition does not hold; why has the text */
	POD_REQUEST_MALFORMED, /* a value does not parse; why has the text */
};

struct pod_request_opts {
	uint32_t partitions;
	/* transactions in flight; 0: 8. Requests under budgets use 1 */
	unsigned slots;
	uint64_t timeout_ms, patience_ms; /* 0: the defaults of bulk_writer.h */
	/* Pods are evicted whatever their budgets allow. They are withheld only
	 * if a budget can not note another pod before it is counted. */
	bool past_budgets;
	/* The wall clock, for the state of a pod with finalizers that had none. */
	int64_t wall_ms;
	/* name of the user, for the states' messages; borrowed */
	const char *who;
	/* PL_OK: *out is the next request; PL_NOTFOUND: there are no more; any other
	 * code ends everything with err. */
	enum pl_code (*next)(void *ctx, struct pod_request *out, struct pl_err *err);
	/* Called once for each request, in any order; request->at is where the pod
	 * stands, or would stand. */
	void (*report)(void *ctx, const struct pod_request *request,
	               enum pod_request_outcome outcome, const char *why);
	/* The last call; the operation is freed. err NULL: report was called for each
	 * request. */
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
