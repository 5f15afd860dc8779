/*
 * Internals of a plan, shared by its files:
 *
 *	plan.c          what is read, and the slices
 *	plan_pods.c     the list of pods, and which of them are one gang
 *	plan_decide.c   one pod
 *	plan_gang.c     one gang
 *	plan_reasons.c  why there is no node
 *	plan_nodes.c    nodes that are added
 *	plan_json.c     the result as JSON
 */
#ifndef COORD_SERVICE_PLAN_PLAN_INT_H
#define COORD_SERVICE_PLAN_PLAN_INT_H

#include "coord/service/base/sequence.h"
#include "coord/service/plan/plan.h"
#include "shardsched/explain/explain.h"
#include "shardsched/gang/gang.h"
#include "store/base/map.h"

#define PLAN_NONE UINT32_MAX

/* Facts about a pod beside its result, which has the same index. */
struct plan_item {
	struct pod pod;
	bool parsed;   /* pod is valid */
	bool decided;  /* the verdict is known */
	uint32_t twin; /* an earlier pod of the same name; PLAN_NONE: there is none */
	uint32_t next; /* the next one of its gang; PLAN_NONE: none */
};

/* The pods of one gang, in order. */
struct plan_gang {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace, name */
	uint32_t first, last, count;
	uint32_t present;      /* members that are on nodes */
	uint32_t present_node; /* gang.h */
};

struct plan_op {
	const struct service *service;
	struct plan_opts opts;
	struct sequence sequence;
	struct pl_arena arena;   /* of what is kept until the end */
	struct pl_arena scratch; /* of one object */
	struct pl_buf text;      /* of one message */
	struct engine *engine;
	struct gang *gang; /* the tool */
	struct store_snapshot cluster;
	struct pl_span profiles;
	struct plan plan;
	struct plan_pod *pod;
	struct plan_item *item;
	uint32_t pods, cap;
	struct pl_map gangs; /* struct plan_gang, by key */
	struct {
		unsigned at;           /* index in opts.add */
		uint32_t done, number; /* of these nodes: added; the next one's number */
		struct pl_json json;   /* of opts.add[at], in the arena */
		uint32_t *slot;        /* of all nodes that were added, plan.added */
	} add;
	bool *is_added;          /* by slot; NULL: no node is added */
	uint32_t next;           /* the pod that is read, later decided, next */
	struct explain *explain; /* of the pod that was explained last */
	/* The last pod without a node, while nothing was placed since: an equal one has
	 * the same reasons. PLAN_NONE: there is none. */
	uint32_t refused;
};

/* -- plan_pods.c ------------------------------------------------------------------- */

/* Adds a pod: parses it, and finds out its names. A malformed one is added as refused.
 * PL_NOMEM. */
PL_NODISCARD enum pl_code plan_pod_add(struct plan_op *op, struct pl_span json,
                                       struct pl_err *err);
/* Takes the last one back. */
void plan_pod_drop_last(struct plan_op *op);
/* Orders the displaced pods, which are all so far, by importance. PL_NOMEM. */
PL_NODISCARD enum pl_code plan_pods_sort(struct plan_op *op, struct pl_err *err);
/* Finds gangs and twins. To be called when all pods are there. PL_NOMEM. */
PL_NODISCARD enum pl_code plan_pods_join(struct plan_op *op, struct pl_err *err);
/* NULL: the pod is of none. */
struct plan_gang *plan_gang_of(const struct plan_op *op, uint32_t at);
void plan_pods_done(struct plan_op *op);

/* -- plan_decide.c, plan_gang.c: PL_NOMEM, PL_LIMIT --------------------------------- */

/* Decides the pod, with its gang. */
PL_NODISCARD enum pl_code plan_decide(struct plan_op *op, uint32_t at,
                                      struct pl_err *err);
PL_NODISCARD enum pl_code plan_decide_gang(struct plan_op *op, struct plan_gang *gang,
                                           struct pl_err *err);
void plan_set_verdict(struct plan_op *op, uint32_t at, enum plan_verdict verdict);
/* PL_NOMEM. */
PL_NODISCARD enum pl_code plan_set_message(struct plan_op *op, uint32_t at,
                                           struct pl_span message, struct pl_err *err);
/* The pod is to be on that node from now on. */
PL_NODISCARD enum pl_code plan_place(struct plan_op *op, uint32_t at, uint32_t slot,
                                     struct pl_err *err);
/* Whether a pod can be decided at all; if not, its verdict is set. */
PL_NODISCARD enum pl_code plan_may_decide(struct plan_op *op, uint32_t at, bool *may,
                                          struct pl_err *err);

/* -- plan_reasons.c ----------------------------------------------------------------- */

/* PL_NOMEM. */
PL_NODISCARD enum pl_code plan_explain(struct plan_op *op, uint32_t at,
                                       const struct engine_decision *decision,
                                       struct pl_err *err);
/* The same by the counts of a cycle alone, for a member of a gang. */
PL_NODISCARD enum pl_code plan_reasons_of_cycle(struct plan_op *op,
                                                const struct profile *profile,
                                                const struct cycle_outcome *outcome,
                                                const struct plan_reasons **out,
                                                struct pl_err *err);

/* -- plan_nodes.c ------------------------------------------------------------------- */

PL_NODISCARD enum pl_code plan_nodes_check(const struct plan_opts *opts,
                                           struct pl_err *err);
/* Adds the next node. PL_NOTFOUND: all are there. */
PL_NODISCARD enum pl_code plan_node_add(struct plan_op *op, struct pl_err *err);
/* To be called when all are there. PL_NOMEM. */
PL_NODISCARD enum pl_code plan_nodes_mark(struct plan_op *op, struct pl_err *err);

#endif
