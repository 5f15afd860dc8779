/*
 * The parts of gangs.
 *
 *	gang.c     what is tried, in which order
 *	agree.c    whether the members say the same
 *	group.c    members by class, and the orders of the groups
 *	reserve.c  what plugins hold for them meanwhile
 *	place.c    one try: members on nodes one after another, and off again
 *	domains.c  which domains are worth trying
 */
#ifndef SHARDSCHED_GANG_GANG_INT_H
#define SHARDSCHED_GANG_GANG_INT_H

#include "shardsched/framework/resource_request.h"
#include "shardsched/gang/gang.h"
#include "shardsched/model/number_map.h"
#include "shardsched/preempt/scratch.h"

/* Members of one class. */
struct gang_group {
	struct fw_class *class;
	uint32_t at, count; /* in gang.by_group */
	bool alike;         /* what is said of one holds for all */
	bool retries;       /* it may find a node when others stand */
	bool surveyed;      /* domains are judged by it */
	uint64_t size;      /* how much of a node one takes, in millionths */
	uint32_t feasible;  /* nodes, at the beginning */
	/* In a try: */
	uint32_t placed;
	uint32_t refused; /* in this round */
};

/* What a domain has room for, summed over its nodes. */
struct gang_domain {
	uint64_t load; /* what the gang would fill of it, in millionths */
	uint64_t most; /* members that could be in it at all */
	uint64_t any;  /* of one group, while it is counted: on all nodes, */
	uint64_t good; /* and on those that were feasible for it */
	bool tried;
};

struct gang {
	struct cycle *cycle;
	struct snapshot *snapshot;
	const struct gang_member *members;
	uint32_t count;
	uint32_t need; /* of them */
	uint32_t topology_key;
	const struct gang_opts *opts;
	struct gang_outcome *out;
	struct pl_err *err;
	enum pl_code code;
	bool stop; /* no further try makes sense: out->result or code tell why */
	bool measured;
	bool asked; /* the groups' feasible is known */

	struct pl_arena arena; /* of one reservation */
	struct number_map seen;
	struct scratch groups;       /* struct gang_group */
	struct scratch order;        /* uint32_t: groups */
	struct scratch group_of;     /* uint32_t, by member */
	struct scratch by_group;     /* uint32_t: members */
	struct scratch slot;         /* uint32_t, by member */
	struct scratch placements;   /* struct gang_stand, in order of placing */
	struct scratch domains;      /* struct gang_domain, by number */
	struct scratch words;        /* uint64_t: nodes of a domain */
	struct label_column *column; /* of the domains; held while they are tried */
	uint32_t group_count;
	uint32_t placement_count;
	uint32_t lost; /* members that no later round will place */
	uint32_t blocked;
	struct cycle_outcome last; /* of the blocked one */
};

static inline struct gang_group *gang_groups(const struct gang *gang)
{
	return gang->groups.at;
}

/* Gives up; false, for whoever returns it. */
bool gang_fail(struct gang *gang, enum pl_code code, const char *what);

/* -- agree.c -- false: out tells. */
bool gang_agrees(struct gang *gang);

/* -- group.c -- false: no memory. */
bool gang_make_groups(struct gang *gang);

enum gang_order {
	GANG_HARDEST_FIRST,
	GANG_SECOND, /* by fewest nodes or smallest first */
	GANG_ORDERS,
};

/* How much of a node each group takes. */
void gang_measure(struct gang *gang);
/* false: it is an order that was tried already, or something failed. */
bool gang_make_order(struct gang *gang, enum gang_order order);

/* -- reserve.c: for a member whose slot is told ------------------------------------- */

/* Not a success: nothing is held, and say tells. */
enum verdict_code gang_reserve(struct gang *gang, uint32_t member,
                               struct verdict *verdict);
void gang_unreserve(struct gang *gang, uint32_t member);

/* -- place.c ------------------------------------------------------------------------ */

/* A decision, counted. false: it is not to be made, or failed: stop is set. */
bool gang_run_cycle(struct gang *gang, uint32_t member, struct cycle_outcome *out);
/* Each group's feasible, and what its cycle says to see: called behind each. */
typedef bool gang_group_fn(struct gang *gang, struct gang_group *group);
bool gang_run_groups(struct gang *gang, gang_group_fn *see);
/* true: the minimum stands somewhere; slot tells where. All are taken off again. */
bool gang_try(struct gang *gang);

/* -- domains.c ---------------------------------------------------------------------- */

/* Tries domains until one holds the gang. */
bool gang_try_domains(struct gang *gang, bool (*holds)(struct gang *gang));

#endif
