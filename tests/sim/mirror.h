/*
 * Nodes, allocs, pods, records of gangs and budgets as the store holds them, revision by
 * revision, for the judges: read from the values by code of its own (mirror_read.c), not
 * by the product's.
 *
 * After each revision that changed something the judges learn which objects were touched
 * (OBS_MIRROR), their previous values, and the writer of the transaction.
 */
#ifndef TESTS_SIM_MIRROR_H
#define TESTS_SIM_MIRROR_H

#include "store/base/arena.h"
#include "store/keys/keys.h"
#include "store/kv/kv.h"
#include "tests/sim/scenario_budget.h"

struct world;

#define MIRROR_NONE UINT32_MAX

enum {
	MIRROR_LISTED_MAX = 256,
	MIRROR_TEXT_SIZE = 48,
	MIRROR_NO_PRIORITY = INT32_MIN,
	MIRROR_GANG_RESERVATIONS = 8, /* on a node */
	MIRROR_NOTES = 256,           /* notes of a budget: pods that were disrupted */
};

struct mirror_sum {
	int64_t cpu_milli, memory_bytes, pods;
};

struct mirror_listed {
	uint32_t pod; /* MIRROR_NONE: not of the scenario */
	uint32_t partition;
	bool leaving;
};

/* A reservation for a gang on a node. */
struct mirror_reservation {
	uint32_t gang;
	struct mirror_sum sum;
};

struct mirror_node {
	bool has_node, has_alloc;
	bool bad_node, bad_alloc; /* the value is malformed */
	uint32_t partition;
	struct scenario_node what;
	unsigned zones; /* zones in which it has been, a bit each */
	int64_t node_rev, alloc_rev;
	uint64_t generation;
	struct mirror_sum used, reserved; /* sums as the alloc says: of pods, of
				       * reservations */
	struct mirror_sum nominated; /* part of held: reservations of pods whose victims
				       * terminate */
	uint32_t reservations;
	uint32_t gang_reservations; /* reservations of gangs, part of holds */
	struct mirror_reservation gang_reservation[MIRROR_GANG_RESERVATIONS];
	int32_t nominated_priority; /* highest priority of the pods that are nominated
				 * there */
	uint64_t closed_ms;         /* time at which it was closed */
	int64_t closed_said_ms;     /* the same as the taint says, or as every shard could
				 * see */
	uint32_t listed;
	struct mirror_listed list[MIRROR_LISTED_MAX];
	bool corrupted; /* a manual edit damaged it, and it is not repaired yet */
};

enum mirror_phase {
	MIRROR_NO_STATE,
	MIRROR_PENDING,
	MIRROR_BOUND,
	MIRROR_TERMINATING,
	MIRROR_SUCCEEDED,
	MIRROR_FAILED,
	MIRROR_BAD_STATE,
};

struct mirror_pod {
	bool has_spec, bad_spec;
	bool has_pointer; /* the pointer at the partition of its name */
	struct scenario_pod what;
	uint32_t partition; /* partition of the spec */
	enum mirror_phase phase;
	uint32_t node;        /* node in the state; MIRROR_NONE */
	uint32_t incarnation; /* as the uid in the state says */
	int64_t spec_rev, state_rev;
	bool asked, ended; /* asked to go or to move; has ended */
	bool unwanted;     /* asked to go, or terminates and is not placed again */
	int64_t epoch;
	uint16_t shard;
	char reason[MIRROR_TEXT_SIZE];
	uint32_t makes_room;  /* node on which it preempts, as its state says;
			     * MIRROR_NONE */
	uint64_t since_ms;    /* time at which it was bound, or moved there */
	uint64_t left_ms;     /* last time at which it had a place; 0: never */
	uint32_t left_labels; /* the labels that it had then */
	int64_t said_ms;      /* the same as its state says, by the writer's wall clock */
	bool corrupted;
	bool uncertain; /* bound while no shard could know all pods that its rules
			 * select */
};

enum mirror_gang_phase {
	MIRROR_GANG_NONE, /* no record */
	MIRROR_GANG_RESERVING,
	MIRROR_GANG_BOUND,
	MIRROR_GANG_ABORTING,
	MIRROR_GANG_BAD,
};

/* A pod in a large gang's plan, and its node. */
struct mirror_planned {
	uint32_t pod, node;
	int64_t spec_rev;
	uint32_t incarnation;  /* incarnation at that time */
	struct mirror_sum sum; /* request at that time */
	bool over; /* since then it was not pending as planned, at some moment */
	bool lost; /* since then the node was gone or corrupted, at some moment */
};

struct mirror_gang {
	enum mirror_gang_phase phase;
	uint16_t shard; /* writer of the record */
	int64_t rev, until_ms;
	uint32_t partition; /* partition of its pods */
	uint32_t count;
	struct mirror_planned plan[SCENARIO_GANG_PODS];
	bool uncertain; /* a restored store shows the record: what happened since it began
			 * is unknown */
};

struct mirror_note {
	uint32_t pod;
	int64_t state_rev;
};

struct mirror_budget {
	bool exists, bad;
	struct scenario_budget what;
	int64_t rev, create_rev;
	bool counted;
	uint32_t expected, desired, healthy, allowed;
	uint32_t notes;
	struct mirror_note note[MIRROR_NOTES];
};

struct mirror {
	struct world *world;
	struct scenario scenario;
	uint32_t nodes, pods; /* lengths of the arrays */
	struct mirror_node *node;
	struct mirror_pod *pod;
	struct pl_arena arena;
	/* The revision that is being read: numbers of touched objects, and their previous
	 * values. */
	int64_t revision;
	uint32_t touched_nodes, touched_pods, room_nodes, room_pods;
	uint32_t *touched_node, *touched_pod;
	struct mirror_node *was_node;
	struct mirror_pod *was_pod;
	bool *is_touched_node, *is_touched_pod;
	uint32_t gangs; /* length of the array, which is indexed by number */
	struct mirror_gang *gang, *was_gang;
	uint32_t touched_gangs, *touched_gang;
	bool *is_touched_gang;
	bool *gang_corrupted; /* the record was damaged by a manual edit */
	struct mirror_budget budget[SCENARIO_BUDGETS], was_budget[SCENARIO_BUDGETS];
	bool touched_budget[SCENARIO_BUDGETS];
	uint32_t touched_budgets;
	bool rules_corrupted;  /* a registry is not as shards wrote it, by a manual
			        * edit */
	uint64_t unknown_keys; /* keys that are not of the scenario */
};

struct mirror *mirror_new(struct world *world, const struct scenario *scenario);
void mirror_free(struct mirror *mirror);

/* Applies an event of a key of nodes or pods. */
void mirror_event(struct mirror *mirror, const struct keys_id *id,
                  const struct kv_event *event);
/* mirror_gang.c: events of a large gang's record, and of a budget */
void mirror_gang_event(struct mirror *mirror, const struct keys_id *id,
                       const struct kv_event *event);
void mirror_budget_event(struct mirror *mirror, const struct keys_id *id,
                         const struct kv_event *event);
void mirror_gangs_reset(struct mirror *mirror);
/* The judged values become the previous values. */
void mirror_gangs_end(struct mirror *mirror);
/* Ends a revision: the judges are told. */
void mirror_end(struct mirror *mirror);
void mirror_reset(struct mirror *mirror);

/* A placed pod takes room on its node. */
static inline bool mirror_is_placed(const struct mirror_pod *pod)
{
	return pod->phase == MIRROR_BOUND || pod->phase == MIRROR_TERMINATING;
}

bool mirror_lists(const struct mirror_node *node, uint32_t pod);
/* NULL: the node has no reservation for the gang. */
const struct mirror_reservation *mirror_reservation_of(const struct mirror_node *node,
                                                       uint32_t gang);
/* The pod's entry in the plan of the gang's record; NULL: it has none, or there is no
 * record. */
const struct mirror_planned *mirror_planned_of(const struct mirror_gang *gang,
                                               uint32_t pod);

/* The incarnation whose rules the pod has: the bound one while it is placed. */
static inline uint32_t mirror_incarnation(const struct mirror_pod *pod)
{
	return mirror_is_placed(pod) && pod->incarnation < SCENARIO_INCARNATIONS
	               ? pod->incarnation
	               : pod->what.incarnation;
}

/* The incarnation whose labels the pod has, after an edit maybe those of another one. */
static inline uint32_t mirror_labels(const struct mirror_pod *pod)
{
	uint32_t incarnation = mirror_incarnation(pod);

	return incarnation == pod->what.incarnation ? pod->what.labels : incarnation;
}

/* The pod counts as healthy for budgets, as its state says. */
static inline bool mirror_is_healthy(const struct mirror_pod *pod)
{
	return pod->has_spec && !pod->bad_spec && pod->phase == MIRROR_BOUND &&
	       !pod->asked && !pod->ended;
}

/* mirror_read.c: false, the value is malformed. */
bool mirror_read_alloc(struct mirror *mirror, struct pl_span value,
                       struct mirror_node *out);
bool mirror_read_state(struct mirror *mirror, struct pl_span value,
                       struct mirror_pod *out);

#endif
