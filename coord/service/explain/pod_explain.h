/*
 * Pod explain: why a pod of the live system is where it is, or nowhere: what its state
 * says, and what a shard that owned every node would decide about it now.
 *
 *	spec (and where its pointer leads) --> state --> owners --> configuration
 *	   --> done, if it has run
 *	   --> store snapshot --> decision --> the gang's record --> done
 *
 * Everything is read at one revision, and nothing is written.
 */
#ifndef COORD_SERVICE_EXPLAIN_POD_EXPLAIN_H
#define COORD_SERVICE_EXPLAIN_POD_EXPLAIN_H

#include "coord/service/explain/queue_position.h"
#include "coord/service/explain/store_snapshot.h"
#include "coord/service/pods/pod_filter.h"
#include "shardsched/explain/explain.h"

/* The facts about the pod. */
struct pod_explanation {
	struct pl_span namespace, name;
	uint32_t named;     /* the partition that its name falls in */
	uint32_t partition; /* the one that its schedule stands in */
	uint32_t partitions;
	int64_t revision, now_ms;
	struct pl_span spec; /* value of its key */
	struct pod_state state;
	bool has_state;
	struct pl_err malformed; /* why the state can not be read; PL_OK: it can */

	struct pl_span owner; /* the shard that owns the partition; empty: none */
	bool *own;            /* by partition: it is the same shard's */
	uint64_t config; /* version of scheduler that it is explained by; 0: default */
	uint64_t config_current; /* version that is current */
	struct pl_span profiles;
	enum queue_sort sort;
	struct pl_err config_err; /* why it is the default instead; PL_OK: it is not */

	struct store_snapshot cluster;
	struct queue_position queue; /* if it waits */
	uint32_t own_nodes, own_feasible;
	struct pl_span gang;       /* empty: it is of none */
	struct pl_span gang_phase; /* of the gang's record; empty: there is none */
	bool nowhere;              /* the decision found no node */
};

struct pod_explain;

struct pod_explain_opts {
	struct pod_name pod;
	uint64_t seed;   /* of the choice between equally good nodes */
	int64_t wall_ms; /* now */
	/* Reports what is being read at the revision, and how many of it have been;
	 * may be NULL. */
	void (*progress)(void *ctx, int64_t revision, const char *what, uint64_t count);
	/* pod is NULL exactly when err is not. explain NULL: the pod has run, and nothing is
	 * to be decided. Borrowed for the call. PL_NOTFOUND: there is no such pod. */
	void (*done)(void *ctx, const struct pod_explanation *pod,
	             const struct explain *explain, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code pod_explain_start(const struct service *service,
                                            const struct pod_explain_opts *opts,
                                            struct pod_explain **out, struct pl_err *err);
void pod_explain_cancel(struct pod_explain *op);

/* Writes one JSON object, "kind":"PodExplanation". */
void pod_explanation_json(const struct pod_explanation *pod,
                          const struct explain *explain, struct pl_json_out *out);

#endif
