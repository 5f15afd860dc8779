/*
 * A plan: where pods would go now, and why some would go nowhere; nothing is written.
 *
 *	configuration --> store snapshot --> nodes added --> pods read
 *	   --> decided one after another, in slices --> done
 *
 * Everything is read at one revision, as for an explanation (explain/pod_explain.h), and
 * decided as a shard that owned every node would. Each pod that finds a node is assumed
 * there before the next one is decided, so later pods see its amounts, ports and labels.
 * A gang is decided as a whole, at the place of its first pod.
 *
 * What-ifs: clusters can be left out, as if they were lost: the pods on their nodes are
 * planned again before all others, the most important first. Nodes can be added. The
 * store can be looked at as it was at a past revision.
 *
 * Invariants
 *  - Pods that wait in the store are not planned, unless they are given: what they would
 *    take is not counted.
 *  - No pod is evicted for another: a pod that would need that has no node, and
 *    `preempts` says what a shard would do.
 *  - The loop is held for no longer than a slice of PLAN_SLICE_MS, a page of the store, or
 *    the decision of one gang (its work is bounded).
 */
#ifndef COORD_SERVICE_PLAN_PLAN_H
#define COORD_SERVICE_PLAN_PLAN_H

#include "coord/service/base/service.h"
#include "coord/service/explain/store_snapshot.h"
#include "store/base/json_out.h"

enum {
	PLAN_PODS_MAX = 10000,       /* given */
	PLAN_DISPLACED_MAX = 100000, /* on nodes of clusters that are left out */
	PLAN_NODES_MAX = 100000,     /* added */
	PLAN_ADDS_MAX = 16,
	PLAN_WITHOUT_MAX = 32,
	PLAN_REASONS_MAX = 16, /* of one pod */
	PLAN_SLICE_MS = 5,
	PLAN_SLICE_PODS = 256,
};

/* Nodes that are added, all alike but for their names and their host names. */
struct plan_nodes {
	uint32_t count;
	struct pl_span json;  /* of a Node; empty: shape is given */
	struct pl_span shape; /* "cpu=8,memory=32Gi"; pods=110 unless it says otherwise */
	struct pl_span cluster; /* empty: "added" */
};

/* X(NAME, word) */
#define PLAN_VERDICT_MAP(X)                                                       \
	X(PLACED, "placed")               /* would go to the node */              \
	X(PRESENT, "present")             /* a pod of that name is on the node */ \
	X(UNSCHEDULABLE, "unschedulable") /* no node has room for the pod */      \
	X(GATED, "gated")                 /* has scheduling gates */              \
	X(REFUSED, "refused")             /* no shard would decide the pod */     \
	X(FAILED, "failed")               /* a plugin failed */

#define PLAN_VERDICT_ENUM(name, word) PLAN_##name,
enum plan_verdict { PLAN_VERDICT_MAP(PLAN_VERDICT_ENUM) PLAN_VERDICTS };

/* As an explanation counts them. */
struct plan_reason {
	const char *plugin; /* NULL: of none */
	const char *code;   /* stable: "fit.cpu" */
	struct pl_span message;
	uint32_t nodes; /* that have it; 0: it is about no node */
	uint32_t only;  /* of these, the ones without another */
};

/* Shared by pods with the same reasons. */
struct plan_reasons {
	uint32_t nodes;    /* that were looked at */
	uint32_t unlisted; /* reasons beyond PLAN_REASONS_MAX */
	uint32_t count;
	struct plan_reason at[];
};

struct plan_pod {
	struct pl_span namespace, name; /* of a refused pod perhaps empty */
	enum plan_verdict verdict;
	struct pl_span cluster, node; /* PLACED, PRESENT */
	bool added;                   /* the node is one of those that are added */
	struct pl_span
		from; /* displaced: the node "east/n-1" that it is on; else empty */
	struct pl_span gang;                /* empty: it is of none */
	struct pl_span message;             /* empty: the reasons say it all */
	const struct plan_reasons *reasons; /* NULL: none */
	struct {
		struct pl_span cluster, node; /* node empty: nothing would be evicted */
		uint32_t victims;
	} preempts;
};

struct plan {
	int64_t revision;
	uint64_t config;          /* version of scheduler; 0: the default */
	struct pl_err config_err; /* why it is the default instead; PL_OK: it is not */
	const struct store_snapshot *cluster; /* the store, as read */
	uint32_t nodes; /* that pods can go to, the added ones included */
	uint32_t added;
	uint64_t without;                 /* nodes of the clusters that were left out */
	uint32_t displaced;               /* pods on these; they stand first in pod */
	uint32_t verdicts[PLAN_VERDICTS]; /* number of pods */
	const struct plan_pod *pod; /* displaced ones, then the given ones in order */
	uint32_t pods;
	bool fits; /* every pod is PLACED or PRESENT */
};

struct plan_opts {
	const struct pl_span *pods; /* JSON of a Pod each, checked and complete
	                             * (input/pod_input.h) */
	uint32_t pod_count;
	const struct pl_span *without; /* clusters */
	unsigned withouts;
	const struct plan_nodes *add;
	unsigned adds;
	int64_t at_revision; /* 0: now */
	uint64_t seed;       /* of the choice between equally good nodes */
	/* Reports what is being read at the revision, or decided, and how many of it have
	 * been; may be NULL. */
	void (*progress)(void *ctx, int64_t revision, const char *what, uint64_t count);
	/* plan is NULL exactly when err is not. PL_COMPACTED, PL_FUTURE: of at_revision.
	 * PL_INVALID: a node that is added is malformed. PL_LIMIT: too many pods are
	 * displaced. */
	void (*done)(void *ctx, const struct plan *plan, const struct pl_err *err);
	void *ctx;
};

struct plan_op;

/* Borrows everything that opts points to. PL_INVALID, PL_LIMIT: of the options, with
 * their path. */
PL_NODISCARD enum pl_code plan_start(const struct service *service,
                                     const struct plan_opts *opts, struct plan_op **out,
                                     struct pl_err *err);
void plan_cancel(struct plan_op *op);

const char *plan_verdict_word(enum plan_verdict verdict);
/* Writes one JSON object, "kind":"Plan". */
void plan_json(const struct plan *plan, struct pl_json_out *out);

#endif
