/*
 * The types that pod_request.c, which reads and writes the pods, shares with
 * pod_request_judge.c, which decides about each pod that was read.
 */
#ifndef COORD_SERVICE_SUBMIT_POD_REQUEST_INT_H
#define COORD_SERVICE_SUBMIT_POD_REQUEST_INT_H

#include "coord/bulk/bulk_writer.h"
#include "coord/service/submit/evict_budgets.h"
#include "coord/service/submit/pod_request.h"
#include "shardsched/records/txn_builder.h"

enum request_stage { STAGE_READ, STAGE_DELETE, STAGE_WRITE, STAGE_REPORTED };

struct request_entry {
	enum request_stage stage;
	bool asked;          /* the pod is in the transaction in flight */
	bool has_other_keys; /* other keys exist below its name */
	struct pod_request request;
	uint32_t named, at; /* partitions: of its name, and where it is read */
	int64_t spec_rev, state_rev;
	struct pl_span state; /* the new state */
	unsigned tries;
	/* The pod runs and nothing has asked it to go before: its budgets are used. */
	bool disturbs;
	const struct labels *labels; /* holds a reference */
};

struct request_slot {
	struct request_entry entry[POD_REQUEST_BATCH_MAX];
	unsigned count, left;
	bool reading;
	struct pl_arena arena; /* for the slot's pods */
	struct txn_builder builder;
	struct evict_budgets budgets;
};

struct pod_requests {
	struct kv *kv;
	struct pod_request_opts opts;
	struct bulk_writer *writer;
	struct pod_request carried;
	bool has_carried, exhausted;
	struct pl_err failed;
	struct pl_buf buf;
	struct model model; /* for labels and budgets */
	unsigned slots;
	struct request_slot slot[];
};

static inline bool request_asks_budgets(const struct pod_request *request)
{
	return request->verb == POD_REQUEST_EVICT ||
	       (request->verb == POD_REQUEST_DELETE && request->under_budgets);
}

void pod_requests_fail(struct pod_requests *requests, const struct pl_err *err);
void pod_requests_fail_with(struct pod_requests *requests, enum pl_code code);
/* Reports what became of a pod; nothing more is done about it. */
void pod_requests_report(struct pod_requests *requests, struct request_slot *slot,
                         struct request_entry *entry, enum pod_request_outcome outcome,
                         const char *why);
void pod_requests_unlabel(struct pod_requests *requests, struct request_entry *entry);

/* Decides about a pod by all that was read below its name. */
void pod_requests_apply_read(struct pod_requests *requests, struct request_slot *slot,
                             struct request_entry *entry,
                             const struct kv_get_result *get);

#endif
