/*
 * Proves what must hold between nodes, allocs, pods and owners, from all their records at
 * one revision: pure.
 *
 * It is fed record by record in the order of keys (/alloc, /nodes, /partitions,
 * /schedules) and keeps tables of names and sums, not the JSON: about 200 bytes a node
 * and 80 a pod that takes room. What it finds it tells at once.
 *
 * A *violation* breaks an invariant; a *condition* is what came from outside and is only
 * shown.
 */
#ifndef COORD_FSCK_FSCK_CORE_H
#define COORD_FSCK_FSCK_CORE_H

#include "store/base/err.h"
#include "store/keys/keys.h"
#include "store/kv/types.h"

/* X(NAME, code, what it means): codes stay the same. */
#define FSCK_CODE_MAP(X)                                                                 \
	X(KEY_GARBLED, "key.garbled", "a key that is none of ours")                      \
	X(NODE_GARBLED, "node.garbled", "a Node that makes no sense")                    \
	X(NODE_PARTITION, "node.partition", "a Node in a partition that is not its own") \
	X(NODE_NO_ALLOC, "node.no_alloc", "a Node without its alloc")                    \
	X(ALLOC_GARBLED, "alloc.garbled", "an alloc that makes no sense")                \
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
	X(OWNER_GARBLED, "owner.garbled", "an owner that makes no sense")                \
	X(SPEC_GARBLED, "spec.garbled", "a pod that makes no sense")                     \
	X(POD_PARTITION, "pod.partition", "a pod in a partition that is not its own")    \
	X(POD_TWICE, "pod.twice", "two pods have one name")                              \
	X(POINTER_NOWHERE, "pointer.nowhere", "a pointer that leads to no pod")          \
	X(POINTER_MISSING, "pointer.missing", "a pod that its name does not lead to")    \
	X(STATE_GARBLED, "state.garbled", "a state that makes no sense")                 \
	X(STATE_NO_SPEC, "state.no_spec", "a state without its pod")                     \
	X(STATE_NO_NODE, "state.no_node", "a pod is bound to a node that is not there")  \
	X(STATE_UNLISTED, "state.unlisted",                                              \
	  "a bound pod that its node's alloc does not list")                             \
	X(STATE_EPOCH, "state.epoch", "an epoch that nobody can have had")

#define FSCK_CODE_ENUM(name, code, what) FSCK_##name,
enum fsck_code { FSCK_CODE_MAP(FSCK_CODE_ENUM) FSCK_CODE_COUNT };

const char *fsck_code_word(enum fsck_code code);
/* Not a violation. */
bool fsck_is_condition(enum fsck_code code);

enum { FSCK_WHAT_SIZE = 320 };

struct fsck_finding {
	enum fsck_code code;
	struct pl_span key;
	struct pl_span other; /* a second key that has to do with it; or empty */
	const char *what;     /* a sentence */
};

typedef void fsck_found_fn(void *ctx, const struct fsck_finding *finding);

struct fsck_counts {
	uint64_t nodes, allocs, pods, bound, pointers, records;
	uint64_t violations, conditions;
};

struct fsck_core;

PL_NODISCARD enum pl_code fsck_core_new(uint32_t partitions, fsck_found_fn *found,
                                        void *ctx, struct fsck_core **out,
                                        struct pl_err *err);
void fsck_core_free(struct fsck_core *core);

/* In the order of their keys. PL_NOMEM. */
PL_NODISCARD enum pl_code fsck_core_feed(struct fsck_core *core,
                                         const struct kv_record *record,
                                         struct pl_err *err);
/* That was all. */
PL_NODISCARD enum pl_code fsck_core_end(struct fsck_core *core, struct pl_err *err);

const struct fsck_counts *fsck_core_counts(const struct fsck_core *core);

/* -- what can be mended, after the end ------------------------------------------------
 */

enum fsck_mend_what {
	FSCK_MEND_ALLOC,   /* the alloc of node scope/name is to be what the pods say */
	FSCK_MEND_POINTER, /* of pod scope/name: from partition to at */
};

struct fsck_mend {
	enum fsck_mend_what what;
	uint32_t partition, at;
	struct pl_span scope, name;
	uint32_t number; /* of the node, for fsck_core_unlisted */
};

/* The next; *cursor begins with 0. False: there is none. Spans are the core's. */
bool fsck_core_mend(const struct fsck_core *core, uint64_t *cursor,
                    struct fsck_mend *out);

/* Pods that are bound to the node and not listed there; *cursor begins with 0. */
struct fsck_pod {
	uint32_t partition;
	struct pl_span space, name;
};
bool fsck_core_unlisted(const struct fsck_core *core, uint32_t number, uint32_t *cursor,
                        struct fsck_pod *out);

#endif
