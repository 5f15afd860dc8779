/*
 * Internals of gangs, shared by its files:
 *
 *	gang.c       what is tried, in which order
 *	agreement.c  whether the members agree
 *	group.c      members by class, and the orders of the groups
 *	place.c      one try: places members one after another, and takes them back
 *	reserve.c    what plugins reserve for placed members
 *	domains.c    which domains are worth trying
 */
#ifndef SHARDSCHED_GANG_GANG_INT_H
#define SHARDSCHED_GANG_GANG_INT_H

#include "shardsched/framework/resource_request.h"
#include "shardsched/gang/gang.h"
#include "shardsched/model/number_map.h"
#include "shardsched/preempt/scratch.h"

/* The members of one class. */
struct gang_group {
	struct fw_class *class;
	uint32_t at, count; /* range in gang.by_group */
	bool alike;         /* the outcome of one member holds for all */
	bool retries;       /* the group is tried again when other members are placed */
	bool surveyed;      /* domains are judged by the group */
	uint64_t size;      /* share of a node that one member takes, in millionths */
	uint32_t feasible;  /* number of feasible nodes before any member is placed */
	/* In a try: */
	uint32_t placed;
	uint32_t refused; /* members refused in this round */
};

/* The room in a domain, summed over its nodes. */
struct gang_domain {
	uint64_t load; /* share of the domain that the gang would fill, in millionths */
	uint64_t most; /* members that could be in the domain at most */
	uint64_t fit_any; /* while a group is counted: members that fit on all nodes */
	uint64_t fit_feasible; /* and on the nodes that are feasible for the group */
	bool tried;
};

struct gang {
	struct cycle *cycle;
	struct snapshot *snapshot;
	const struct gang_member *members;
	uint32_t count;
	uint32_t need; /* how many of them have to find a node */
	uint32_t topology_key;
	const struct gang_opts *opts;
	struct gang_outcome *out;
	struct pl_err *err;
	enum pl_code code; /* of the call; other than PL_OK: it has failed */
	bool measured;
	bool asked; /* the groups' feasible is known */

	struct pl_arena arena; /* of one reservation */
	struct number_map seen;
	struct scratch groups;          /* struct gang_group */
	struct scratch order;           /* uint32_t: indexes of groups */
	struct scratch group_by_member; /* uint32_t: the group of each member */
	struct scratch by_group;        /* uint32_t: members ordered by group */
	struct scratch slot;            /* uint32_t: the slot of each member */
	struct scratch placements; /* struct gang_placement, in the order of placing */
	struct scratch domains;    /* struct gang_domain, by number */
	struct scratch words;      /* uint64_t: the nodes of a domain */
	/* column of the domain label; open while domains are tried */
	struct label_column *column;
	uint32_t group_count;
	uint32_t placement_count;
	uint32_t lost; /* number of members that no later round can place */
	uint32_t blocked;
	struct cycle_outcome last; /* of the blocked member */
};

static inline struct gang_group *gang_groups(const struct gang *gang)
{
	return gang->groups.at;
}

/* Whether no further try makes sense: the call failed, a member failed, or work_max is
 * reached. */
static inline bool gang_has_stopped(const struct gang *gang)
{
	return gang->code != PL_OK || gang->out->result == GANG_FAILED ||
	       gang->out->result == GANG_TOO_MUCH;
}

/* Stops with that error. Always returns false. */
bool gang_fail(struct gang *gang, enum pl_code code, const char *what);

/* -- agreement.c: false means that out says why ------------------------------------------ */
bool gang_agrees(struct gang *gang);

/* -- group.c: false means out of memory -------------------------------------------------- */
bool gang_make_groups(struct gang *gang);

enum gang_order {
	GANG_HARDEST_FIRST,
	GANG_SECOND, /* fewest feasible nodes first, or smallest first */
	GANG_ORDERS,
};

/* Sets the size of each group. */
void gang_measure(struct gang *gang);
/* false: the order was tried already, or something failed. */
bool gang_make_order(struct gang *gang, enum gang_order order);

/* -- reserve.c --------------------------------------------------------------------------- */

/* For a member whose slot is set. Not VERDICT_SUCCESS: nothing is reserved, and verdict
 * says why. */
enum verdict_code gang_reserve(struct gang *gang, uint32_t member,
                               struct verdict *verdict);
void gang_unreserve(struct gang *gang, uint32_t member);

/* -- place.c ----------------------------------------------------------------------------- */

/* Runs one counted decision. false: the gang has stopped. */
bool gang_run_cycle(struct gang *gang, uint32_t member, struct cycle_outcome *out);
/* Sets feasible of each group, and calls fn after the cycle of each. */
typedef bool gang_group_fn(struct gang *gang, struct gang_group *group);
bool gang_run_groups(struct gang *gang, gang_group_fn *see);
/* true: at least the minimum was placed, and slot says where. All members are taken
 * back. */
bool gang_try(struct gang *gang);

/* -- domains.c --------------------------------------------------------------------------- */

/* Tries domains until one holds the gang. */
bool gang_try_domains(struct gang *gang, bool (*holds)(struct gang *gang));

#endif
