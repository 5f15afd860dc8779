/*
 * The check of what must hold between nodes, allocs, pods, owners, gangs and the rules
 * between pods, judged from all their records at one revision. Pure.
 *
 * The core is fed record by record, prefix after prefix (fsck_prefixes). It keeps
 * tables of names, sums and classes instead of the JSON: about 200 bytes a node and
 * 130 bytes a pod that takes room. Findings are reported while records come, or at the
 * end.
 *
 * A *violation* breaks an invariant. A *condition* came from outside or may have
 * become so since the commit, and is only shown.
 *
 * The core counts by itself. It shares with the engine what objects mean (the model:
 * selectors, tolerations, terms), which is compared with kube-scheduler's. It does not
 * share the snapshot and the plugins, whose counts are updated change by change: these
 * are what it is to check.
 */
#ifndef COORD_SERVICE_FSCK_FSCK_CORE_H
#define COORD_SERVICE_FSCK_FSCK_CORE_H

#include "shardsched/records/rule_term.h"
#include "store/base/err.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

/* X(NAME, code, meaning). The codes are an interface and stay the same. */
#define FSCK_CODE_MAP(X)                                                                 \
	X(KEY_MALFORMED, "key.malformed", "a key that is none of ours")                  \
	X(NODE_MALFORMED, "node.malformed", "a malformed Node")                          \
	X(NODE_PARTITION, "node.partition", "a Node in a partition that is not its own") \
	X(NODE_NO_ALLOC, "node.no_alloc", "a Node without its alloc")                    \
	X(ALLOC_MALFORMED, "alloc.malformed", "a malformed alloc")                       \
	X(ALLOC_PARTITION, "alloc.partition",                                            \
	  "an alloc in a partition that is not its own")                                 \
	X(ALLOC_NO_NODE, "alloc.no_node", "an alloc without its Node")                   \
	X(ALLOC_SUM, "alloc.sum", "an alloc that is not the sum of its pods and holds")  \
	X(ALLOC_POD_UNKNOWN, "alloc.pod_unknown",                                        \
	  "an alloc lists a pod that is not there")                                      \
	X(ALLOC_POD_NOT_BOUND, "alloc.pod_not_bound",                                    \
	  "an alloc lists a pod that is not bound there")                                \
	X(ALLOC_POD_TWICE, "alloc.pod_twice", "a pod is listed twice")                   \
	X(ALLOC_LEAVING, "alloc.leaving",                                                \
	  "a pod is marked as leaving and does not terminate, or the other way round")   \
	X(ALLOC_OVER, "alloc.over", "more was placed on a node than it has")             \
	X(NODE_OVER, "node.over", "a node has become smaller than what is on it")        \
	X(OWNER_MALFORMED, "owner.malformed", "a malformed owner")                       \
	X(SPEC_MALFORMED, "spec.malformed", "a malformed pod")                           \
	X(POD_PARTITION, "pod.partition", "a pod in a partition that is not its own")    \
	X(POD_TWICE, "pod.twice", "two pods have one name")                              \
	X(POINTER_NOWHERE, "pointer.nowhere", "a pointer that leads to no pod")          \
	X(POINTER_MISSING, "pointer.missing", "a pod that its name does not lead to")    \
	X(STATE_MALFORMED, "state.malformed", "a malformed state")                       \
	X(STATE_MISSING, "state.missing", "a pod that an alloc lists has no state")      \
	X(STATE_NO_SPEC, "state.no_spec", "a state without its pod")                     \
	X(STATE_NO_NODE, "state.no_node", "a pod is bound to a node that is not there")  \
	X(STATE_UNLISTED, "state.unlisted",                                              \
	  "a bound pod that its node's alloc does not list")                             \
	X(STATE_EPOCH, "state.epoch", "an epoch that no owner can have had")             \
	X(STATE_NOMINATED, "state.nominated",                                            \
	  "a pod is nominated for a node that holds no room for it")                     \
	X(GANG_MALFORMED, "gang.malformed", "a malformed gang's record")                 \
	X(GANG_HOLD, "gang.hold",                                                        \
	  "room is held for a gang that is not being placed there")                      \
	X(GANG_OVERDUE, "gang.overdue",                                                  \
	  "a gang's record past its deadline that is bound or holds nothing")            \
	X(GANG_PARTLY, "gang.partly", "fewer pods of a gang are bound than its minimum") \
	X(HOLD_ORPHAN, "hold.orphan",                                                    \
	  "room is held for a pod that does not wait for it")                            \
	X(BUDGET_MALFORMED, "budget.malformed", "a malformed disruption budget")         \
	X(BUDGET_BEHIND, "budget.behind",                                                \
	  "a disruption budget allows more than its pods do")                            \
	X(OBJECT_MALFORMED, "object.malformed", "a malformed object of the cluster")     \
	X(REGISTRY_MALFORMED, "registry.malformed", "a malformed registry")              \
	X(REGISTRY_TERM, "registry.term",                                                \
	  "a registered term that is not what its pod carries")                          \
	X(TERM_UNREGISTERED, "term.unregistered",                                        \
	  "a bound pod keeps others away by a term that is not registered")              \
	X(TERM_LATER, "term.later", "pods carry a term that is not registered")          \
	X(TERM_UNUSED, "term.unused", "a registered term that no pod carries")           \
	X(LOCK_MALFORMED, "lock.malformed", "a malformed lock")                          \
	X(LOCK_MISSING, "lock.missing", "a registered term without its lock")            \
	X(LOCK_UNUSED, "lock.unused", "the lock of a term that is not registered")       \
	X(SHAPE_BEHIND, "shape.behind", "a Node is newer than what tells of Nodes")      \
	X(RULES_PORTS, "rules.ports", "two pods on a node have one host port")           \
	X(RULES_APART, "rules.apart",                                                    \
	  "two pods stand together that keep each other away")                           \
	X(RULES_APART_SINCE, "rules.apart_since",                                        \
	  "two pods have come together that keep each other away")                       \
	X(RULES_NODE, "rules.node", "a pod was placed on a node that it does not want")  \
	X(RULES_NODE_SINCE, "rules.node_since",                                          \
	  "a node has become one that a pod on it does not want")                        \
	X(RULES_AFFINITY, "rules.affinity",                                              \
	  "a pod is not, or not any more, where it wants others to be")                  \
	X(RULES_SPREAD, "rules.spread",                                                  \
	  "pods are not, or not any more, spread as they want")                          \
	X(RULES_SKIPPED, "rules.skipped", "rules that were not looked at")

#define FSCK_CODE_ENUM(name, code, what) FSCK_##name,
enum fsck_code { FSCK_CODE_MAP(FSCK_CODE_ENUM) FSCK_CODE_COUNT };

const char *fsck_code_word(enum fsck_code code);
/* Whether the code stands for a condition, not for a violation. */
bool fsck_is_condition(enum fsck_code code);

enum { FSCK_WHAT_SIZE = 320 };

struct fsck_finding {
	enum fsck_code code;
	struct pl_span key;
	struct pl_span other; /* a second key that is involved; or empty */
	const char *what;     /* a sentence */
};

typedef void fsck_found_fn(void *ctx, const struct fsck_finding *finding);

struct fsck_counts {
	uint64_t nodes, allocs, pods, bound, pointers, records;
	uint64_t violations, conditions;
};

struct fsck_core;

/* The prefixes that are read, in this order, each in the order of its keys. Nodes are
 * the last one, because what pods want to know of them must be known by then. */
enum { FSCK_PREFIXES = 19 };
extern const char *const fsck_prefixes[FSCK_PREFIXES];

struct fsck_core_opts {
	uint32_t partitions;
	int64_t wall_ms; /* present time for deadlines; 0: deadlines are not checked */
	fsck_found_fn *found;
	void *ctx;
};

PL_NODISCARD enum pl_code fsck_core_new(const struct fsck_core_opts *opts,
                                        struct fsck_core **out, struct pl_err *err);
void fsck_core_free(struct fsck_core *core);

/* The records come in the order of fsck_prefixes. PL_NOMEM. */
PL_NODISCARD enum pl_code fsck_core_feed(struct fsck_core *core,
                                         const struct kv_record *record,
                                         struct pl_err *err);
/* Ends the input and judges the rest. */
PL_NODISCARD enum pl_code fsck_core_end(struct fsck_core *core, struct pl_err *err);

const struct fsck_counts *fsck_core_counts(const struct fsck_core *core);

/* -- repairable findings, after the end -------------------------------------------- */

enum fsck_repair_what {
	FSCK_REPAIR_ALLOC,   /* of node scope/name: write what the pods say */
	FSCK_REPAIR_POINTER, /* of pod scope/name: write into partition that the pod
	                      * stands in at */
	/* The registry of namespace scope (empty: the global one); fsck_core_term has
	 * its terms. */
	FSCK_REPAIR_REGISTRY,
	FSCK_REPAIR_LOCK,  /* of term scope/name: exists as long as the term is
	                   * registered */
	FSCK_REPAIR_SHAPE, /* /groups/nodes has to be newer than the Nodes */
	/* The state of pod scope/name: remove the nomination, unless the alloc of
	 * cluster/node has room reserved for the pod. */
	FSCK_REPAIR_STATE,
	/* The state of pod scope/name is lost or does not parse: the pod is where the
	 * alloc of cluster/node lists it; without a node no alloc lists it, and it
	 * waits. */
	FSCK_REPAIR_PLACE,
};

struct fsck_repair {
	enum fsck_repair_what what;
	uint32_t partition, at;
	struct pl_span scope, name;
	struct pl_span cluster, node; /* STATE, PLACE */
	int64_t revision;             /* SHAPE: the revision that /groups/nodes has to
	                               * exceed */
	/* PLACE: revisions as they were checked (0: no such key), and the time of the
	 * check. blind: other allocs can not be read and may list the pod too. */
	int64_t spec_rev, state_rev, wall_ms;
	bool allocs_unreadable;
	uint32_t number; /* of the node or registry, for fsck_core_unlisted and
	                  * fsck_core_term */
};

/* The next repair; *cursor begins with 0. False: there is none. Spans belong to the
 * core. */
bool fsck_core_repair(const struct fsck_core *core, uint64_t *cursor,
                      struct fsck_repair *out);

/* Pods that are bound to the node and not listed in its alloc; *cursor begins with 0. */
struct fsck_pod {
	uint32_t partition;
	struct pl_span namespace, name;
};
bool fsck_core_unlisted(const struct fsck_core *core, uint32_t number, uint32_t *cursor,
                        struct fsck_pod *out);

/* A term that a registry has to have or to lose; *cursor begins with 0. */
struct fsck_term {
	struct pl_span namespace, id; /* namespace of the pods that carry the term; its
	                               * id */
	enum rule_kind kind;
	struct pl_span pod; /* the smallest Pod that carries the term, to be
	                     * registered; empty: no pod carries it any more */
	int64_t lock_rev;   /* revision of the term's lock at the check; 0: there is no
	                     * lock */
};
bool fsck_core_term(const struct fsck_core *core, uint32_t number, uint32_t *cursor,
                    struct fsck_term *out);

#endif
