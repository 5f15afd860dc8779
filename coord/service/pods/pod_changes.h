/*
 * Pod changes in the store: edits and bindings, many in a transaction, each of which is
 * settled (pod_change.h says what they are). What they need beside the pods is read first;
 * when that has changed meanwhile, it is read again.
 *
 *	READ allocs, Nodes, registries --> COMMIT --> reported
 *	  ^                                  |
 *	  '---- something else has changed --'
 *
 * The API's queue of writes uses pod_change.h itself where it knows nodes and registries.
 */
#ifndef COORD_SERVICE_PODS_POD_CHANGES_H
#define COORD_SERVICE_PODS_POD_CHANGES_H

#include "coord/service/base/service.h"
#include "coord/service/pods/pod_change.h"

struct pod_changes;

enum pod_change_outcome {
	POD_CHANGE_DONE,
	POD_CHANGE_UNCHANGED, /* an edit to the same bytes; nothing was written */
	POD_CHANGE_REFUSED,   /* refusal and why say more */
	POD_CHANGE_CONFLICT,  /* the pod is not as its client saw it */
	POD_CHANGE_BUSY,      /* the pod's node or rules keep changing */
};

/* Borrowed for the call. */
struct pod_change_result {
	enum pod_change_outcome outcome;
	enum pod_refusal refusal;
	const char *why;
	int64_t revision; /* DONE: of what was written */
	/* CONFLICT: what stands there now; NULL: nothing. */
	const struct kv_record *spec, *state;
	/* CONFLICT: the change may have been applied all the same, and was then overwritten:
	 * an answer of the store was lost. */
	bool doubtful;
};

struct pod_changes_opts {
	/* All of it is borrowed until done. */
	const struct pod_change *change;
	uint32_t count;
	const char
		*who; /* the writer, in states and locks; no longer than a name may be */
	/* A Node that the caller knows, perhaps not the newest, borrowed for the call. NULL, or
	 * false: it is read. */
	bool (*know)(void *ctx, struct pl_span cluster, struct pl_span name,
	             struct pod_value *node);
	int64_t wall_ms;      /* for states */
	uint64_t patience_ms; /* 0: the default of bulk_writer.h */
	/* Once for each change, in any order. */
	void (*report)(void *ctx, uint32_t change,
	               const struct pod_change_result *result);
	/* err NULL: every change was reported. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code pod_changes_start(const struct service *service,
                                            const struct pod_changes_opts *opts,
                                            struct pod_changes **out, struct pl_err *err);
void pod_changes_cancel(struct pod_changes *changes);

#endif
