/*
 * A gang is a set of pods that run together or not at all. gang_decide finds nodes for
 * it.
 *
 *	agreement   members that contradict each other are excluded, with the field
 *	group       members of one class are equal: one decision refuses them all
 *	for each domain worth trying (once over all nodes when no domain is asked for):
 *	  for each of two orders of the groups:
 *	    members are decided and assumed one after another, so that each sees the ones
 *	    before it, with their ports, volumes and rules; done when the minimum is placed
 *	everything is taken back
 *
 * A group that finds no node but has rules about other pods is tried again when more
 * members are placed. Beyond the minimum, as many members as fit are placed.
 *
 * **Orders.** The hardest groups come first: a group is hard when a member asks for much
 * of what a node has. When that fails, groups with the fewest feasible nodes come first
 * where all members are needed, and the smallest groups where a part suffices. There is
 * no further search: a gang that would fit only in another order waits.
 *
 * **Domains.** With gang_domain all nodes have the same value of that label. Free amounts
 * are divided by requests, node by node, for the largest groups; domains that can not
 * hold the minimum are excluded. Among the domains that seem to hold all members the
 * tightest and the roomiest are tried in turn: the tightest to leave large domains whole,
 * the roomiest since tight ones fail more often. Then come the domains that hold most. At
 * most domains_max are tried.
 *
 * **Work** is counted in decisions, each as costly as one pod's cycle. A try takes at
 * most one for each member that finds a node, and GANG_ROUNDS for each group that finds
 * none. A gang that exceeds work_max is given up as too much: half a gang is not kept for
 * a later call, since other pods would wait for room that is not used.
 *
 * Members are added to the snapshot and removed again, not probed: so the cached results
 * of their classes are updated as they come and go, and a thousand equal members cost a
 * thousand look-ups. No pod is evicted for a gang; nominated pods count as in every
 * cycle.
 *
 * Equal members in equal order, an equal snapshot and an equal draw give an equal
 * outcome.
 */
#ifndef SHARDSCHED_GANG_GANG_H
#define SHARDSCHED_GANG_GANG_H

#include "shardsched/framework/cycle.h"

enum {
	GANG_DOMAINS = 8, /* tried at most, when domains_max is 0 */
	GANG_DOMAINS_MOST = 64,
	GANG_ROUNDS = 8,    /* rounds in which a group is tried again */
	GANG_SURVEYED = 16, /* number of groups that domains are judged by */
};

struct gang_member {
	struct fw_class *class;
	struct pod_self self;
};

struct gang_opts {
	uint64_t draw;
	uint64_t work_max;    /* decisions; 0: no bound */
	uint32_t domains_max; /* tried at most; 0: GANG_DOMAINS */
	/* Members that are on nodes already: they count for the minimum. The others must
	 * be in the domain of one of them, which is on the node with slot present_node -
	 * 1 (0: no such node). */
	uint32_t present;
	uint32_t present_node;
};

/* X(NAME, word) */
#define GANG_RESULT_MAP(X)                                                         \
	X(PLACED, "placed")                                                        \
	X(INCOMPLETE, "incomplete") /* fewer members than the minimum are known */ \
	X(NO_ROOM, "no room")                                                      \
	X(DISAGREES, "disagrees") /* members contradict each other */              \
	X(TOO_MUCH, "too much work")                                               \
	X(FAILED, "failed") /* a plugin failed: to be tried again */

#define GANG_RESULT_ENUM(name, word) GANG_##name,
enum gang_result { GANG_RESULT_MAP(GANG_RESULT_ENUM) GANG_RESULTS };

/* X(NAME, field, what is wrong with it) */
#define GANG_FAULT_MAP(X)                                                                \
	X(NONE, "", "")                                                                  \
	X(MANY, "metadata.annotations[placet.io/gang]", "has more than 1000000 members") \
	X(GANG, "metadata.annotations[placet.io/gang]", "names another gang")            \
	X(NAMESPACE, "metadata.namespace", "is another one")                             \
	X(SCHEDULER, "spec.schedulerName", "is another one")                             \
	X(MINIMUM, "metadata.annotations[placet.io/gang-min]", "is another number")      \
	X(DOMAIN, "metadata.annotations[placet.io/gang-domain]", "is another key")       \
	X(NAME, "metadata.name", "comes twice")                                          \
	X(UID, "metadata.uid", "comes twice")

#define GANG_FAULT_ENUM(name, field, sentence) GANG_FAULT_##name,
enum gang_fault { GANG_FAULT_MAP(GANG_FAULT_ENUM) GANG_FAULTS };

struct gang_placement {
	uint32_t member;
	uint32_t placed; /* the member's number in the snapshot, while placed */
};

struct gang_outcome {
	enum gang_result result;
	/* number of members placed; with NO_ROOM, in the try that placed most */
	uint32_t placed;
	/* PLACED: by member; SNAPSHOT_NONE: a member beyond the minimum that found no
	 * node. */
	const uint32_t *slot;
	const struct gang_placement
		*placement; /* PLACED: the placed members, in the order of placing */
	/* string: the domain that was tried last; 0: no domain was asked for */
	uint32_t domain;
	uint32_t domains; /* number of domains that exist */
	uint32_t tries;
	uint64_t work;
	/* NO_ROOM, TOO_MUCH: the member that found no node in that try, and its cycle's
	 * outcome. FAILED: the member whose cycle failed. SNAPSHOT_NONE: no cycle was
	 * run, since no node has the label. */
	uint32_t blocked;
	struct cycle_outcome why;
	/* Plugins that refused any member any node, in any try: the gang may wait for a
	 * member that found a node to find another one. */
	uint64_t refused_by;
	/* DISAGREES: the first member that differs, and the one that it differs from. */
	enum gang_fault fault;
	uint32_t member, other;
};

struct gang;

PL_NODISCARD enum pl_code gang_new(struct gang **out, struct pl_err *err);
void gang_free(struct gang *gang);

/* members: all known members that wait. The snapshot is as before when it returns. What
 * out points to holds until the next call. PL_NOMEM, PL_LIMIT: out is not valid. */
PL_NODISCARD enum pl_code gang_decide(struct gang *gang, struct cycle *cycle,
                                      const struct gang_member *members, uint32_t count,
                                      const struct gang_opts *opts,
                                      struct gang_outcome *out, struct pl_err *err);

const char *gang_result_word(enum gang_result result);
const char *gang_fault_field(enum gang_fault fault);
const char *gang_fault_sentence(enum gang_fault fault);

#endif
