/*
 * A gang: pods that run together or not at all. Which nodes would hold it?
 *
 *	agree       members that contradict each other are set aside, with the field
 *	group       members of one class are alike: one decision refuses them all
 *	for each domain worth trying (one try over all nodes when none is asked for):
 *	  for each of two orders of the groups:
 *	    one member after the other is decided and assumed, so that each sees those
 *	    before it, their ports, volumes and rules too; at least the minimum: done
 *	everything is taken back
 *
 * A group that finds no node, but has rules about other pods, is asked again when more of
 * the gang stand. Beyond the minimum, as many as fit are placed.
 *
 * **Orders.** The hardest first: those that ask for most of what a node has. When that
 * fails: where all are needed, those with the fewest nodes first; where a part will do,
 * the smallest first. There is no further search: a gang that would fit in a cleverer
 * order waits.
 *
 * **Domains.** With SPEC_GANG_DOMAIN all nodes have one value of that label in common.
 * Free room is divided by requests, node by node, for the largest groups; domains that
 * can not hold the minimum are left out. Of those that seem to hold all the tightest is
 * tried first, to leave large ones whole, then, since tight ones fail more, the roomiest,
 * and so on in turn; then those that hold most of it. domains_max of them at most.
 *
 * **Work** is counted in decisions, each as costly as one pod's cycle. A try takes at
 *most one a member that finds a node, and GANG_ROUNDS a group that finds none. What
 *exceeds work_max is given up as too much: half a gang is not held for a later call,
 *since others' pods would wait for room that nobody uses.
 *
 * Members are really added to the snapshot meanwhile, and removed again, rather than
 * probed: so what is kept of their classes is mended as they come and go, and a thousand
 * equal members cost a thousand looks into a tree. Nobody is evicted for a gang, and
 * pods nominated elsewhere count as in every cycle.
 *
 * Same members in the same order, snapshot and draw: same outcome.
 */
#ifndef SHARDSCHED_GANG_GANG_H
#define SHARDSCHED_GANG_GANG_H

#include "shardsched/framework/cycle.h"

enum {
	GANG_DOMAINS = 8, /* tried, when domains_max is 0 */
	GANG_DOMAINS_MOST = 64,
	GANG_ROUNDS = 8,    /* in which a group is asked again */
	GANG_SURVEYED = 16, /* groups by which domains are judged */
};

struct gang_member {
	struct fw_class *class;
	struct pod_self self;
};

struct gang_opts {
	uint64_t draw;
	uint64_t work_max;    /* decisions; 0: as many as its tries can take */
	uint32_t domains_max; /* to be tried; 0: GANG_DOMAINS */
	/* Members that are on nodes already: they count for the minimum, and the others
	 * have to go where one of them is, on this node (its slot, and one; 0: on any).
	 */
	uint32_t present;
	uint32_t present_node;
};

/* X(NAME, word) */
#define GANG_RESULT_MAP(X)                                                               \
	X(PLACED, "placed")                                                              \
	X(INCOMPLETE, "incomplete") /* fewer members than the minimum: more must come */ \
	X(NO_ROOM, "no room")                                                            \
	X(DISAGREES, "disagrees") /* its members do: set aside */                        \
	X(TOO_MUCH, "too much work")                                                     \
	X(FAILED, "failed") /* a plugin did: to be tried again */

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
	uint32_t placed; /* number in the snapshot, while it stands */
};

struct gang_outcome {
	enum gang_result result;
	uint32_t placed; /* members; when there is no room, of the try that placed most */
	/* PLACED: by member; SNAPSHOT_NONE: one beyond the minimum that found no room. */
	const uint32_t *slot;
	const struct gang_placement
		*placement; /* PLACED: those in the order of placing */
	uint32_t domain;  /* string: in which it was tried last; 0: none was asked for */
	uint32_t domains; /* that there are */
	uint32_t tries;
	uint64_t work;
	/* NO_ROOM, TOO_MUCH: the member that was in the way in that try, and what its
	 * cycle said; FAILED: the one whose cycle failed. SNAPSHOT_NONE: no cycle was
	 * run, since no node has the label. */
	uint32_t blocked;
	struct cycle_outcome why;
	/* Plugins that refused any member any node, in any try: that a member which found
	 * one finds another may be what the gang waits for. */
	uint64_t refused_by;
	/* DISAGREES: the first member that does, and with whom. */
	enum gang_fault fault;
	uint32_t member, other;
};

struct gang;

PL_NODISCARD enum pl_code gang_new(struct gang **out, struct pl_err *err);
void gang_free(struct gang *gang);

/* The members that wait, all that are known of. What out points to holds until the next
 * call. Nothing has changed when it returns. PL_NOMEM, PL_LIMIT: out says nothing. */
PL_NODISCARD enum pl_code gang_decide(struct gang *gang, struct cycle *cycle,
                                      const struct gang_member *members, uint32_t count,
                                      const struct gang_opts *opts,
                                      struct gang_outcome *out, struct pl_err *err);

const char *gang_result_word(enum gang_result result);
const char *gang_fault_field(enum gang_fault fault);
const char *gang_fault_sentence(enum gang_fault fault);

#endif
