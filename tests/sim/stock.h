/*
 * Nodes, allocs, pods, gangs' records and budgets as the store really holds them,
 * revision by revision, for the judges: read from the values by code of its own
 * (stock_read.c), not by the product's.
 *
 * After each revision that changed something the judges are told what was touched
 * (OBS_STOCK), how it was before, and whose transaction it was.
 */
#ifndef TESTS_SIM_STOCK_H
#define TESTS_SIM_STOCK_H

#include "store/base/arena.h"
#include "store/keys/keys.h"
#include "store/kv/kv.h"
#include "tests/sim/scene_budget.h"

struct world;

#define STOCK_NONE UINT32_MAX

enum {
	STOCK_LISTED_MAX = 256,
	STOCK_WORD = 48,
	STOCK_NO_PRIORITY = INT32_MIN,
	STOCK_GANG_HOLDS = 8, /* on a node */
	STOCK_NOTES = 256,    /* of a budget: pods that were disturbed */
};

struct stock_sum {
	int64_t cpu_milli, memory_bytes, pods;
};

struct stock_listed {
	uint32_t pod; /* STOCK_NONE: none of ours */
	uint32_t partition;
	bool leaving;
};

/* What a node holds for a gang. */
struct stock_hold {
	uint32_t gang;
	struct stock_sum sum;
};

struct stock_node {
	bool has_node, has_alloc;
	bool bad_node, bad_alloc; /* makes no sense */
	uint32_t partition;
	struct scene_node what;
	unsigned zones; /* in which it has been, a bit each */
	int64_t node_rev, alloc_rev;
	uint64_t generation;
	struct stock_sum used, held; /* as the alloc says; by holds */
	struct stock_sum nominated;  /* of these, by holds of pods whose victims end */
	uint32_t holds;
	uint32_t gang_holds; /* of these */
	struct stock_hold gang_hold[STOCK_GANG_HOLDS];
	int32_t hold_priority;  /* of the most important pod that is nominated there */
	uint64_t closed_ms;     /* it is closed since */
	int64_t closed_said_ms; /* likewise, as it says, or as everybody could see */
	uint32_t listed;
	struct stock_listed list[STOCK_LISTED_MAX];
	bool spoilt; /* somebody wrote here by hand, and it is not mended yet */
};

enum stock_phase {
	STOCK_NO_STATE,
	STOCK_PENDING,
	STOCK_BOUND,
	STOCK_TERMINATING,
	STOCK_SUCCEEDED,
	STOCK_FAILED,
	STOCK_BAD_STATE,
};

struct stock_pod {
	bool has_spec, bad_spec;
	bool has_pointer; /* where its name falls */
	struct scene_pod what;
	uint32_t partition; /* of the spec */
	enum stock_phase phase;
	uint32_t node; /* of the state; STOCK_NONE */
	uint32_t life; /* the state's uid says */
	int64_t spec_rev, state_rev;
	bool asked, ended; /* to go or be moved; it does not run any more */
	bool unwanted;     /* asked to go, or it terminates and is not placed again */
	int64_t epoch;
	uint16_t shard;
	char reason[STOCK_WORD];
	uint32_t makes_room; /* on that node, for itself, as its state says; STOCK_NONE */
	uint64_t since_ms;   /* that it was bound, or came to be there */
	uint64_t left_ms;    /* when it had a place for the last time; 0: never */
	uint32_t left_life;  /* and in which life */
	int64_t said_ms;     /* likewise, as its state says, by somebody's wall clock */
	bool spoilt;
	bool blurred; /* bound while nobody could know all that its rules find */
};

enum stock_gang_phase {
	STOCK_GANG_NONE, /* there is no record */
	STOCK_GANG_RESERVING,
	STOCK_GANG_BOUND,
	STOCK_GANG_ABORTING,
	STOCK_GANG_BAD,
};

/* Of a large gang's plan: who goes where. */
struct stock_planned {
	uint32_t pod, node;
	int64_t spec_rev;
	uint32_t life;        /* that it was in then */
	struct stock_sum sum; /* that it asked for then */
	bool over; /* at some moment since it did not wait there as it was planned */
	bool lost; /* at some moment since the node was not there, or was spoilt */
};

struct stock_gang {
	enum stock_gang_phase phase;
	uint16_t shard; /* who wrote it */
	int64_t rev, until_ms;
	uint32_t partition; /* of its pods */
	uint32_t count;
	struct stock_planned plan[SCENE_GANG_PODS];
	bool blurred; /* a restored store shows it: nobody knows what happened since it
	               * began */
};

struct stock_note {
	uint32_t pod;
	int64_t state_rev;
};

struct stock_budget {
	bool exists, bad;
	struct scene_budget what;
	int64_t rev, create_rev;
	bool counted;
	uint32_t expected, desired, healthy, allowed;
	uint32_t notes;
	struct stock_note note[STOCK_NOTES];
};

struct stock {
	struct world *world;
	struct scene scene;
	uint32_t nodes, pods; /* of the arrays */
	struct stock_node *node;
	struct stock_pod *pod;
	struct pl_arena arena;
	/* Of the revision that is being read: numbers, and how they were before. */
	int64_t revision;
	uint32_t touched_nodes, touched_pods, room_nodes, room_pods;
	uint32_t *touched_node, *touched_pod;
	struct stock_node *was_node;
	struct stock_pod *was_pod;
	bool *is_touched_node, *is_touched_pod;
	uint32_t gangs; /* of the array, by number */
	struct stock_gang *gang, *was_gang;
	uint32_t touched_gangs, *touched_gang;
	bool *is_touched_gang;
	bool *gang_spoilt; /* somebody wrote its record by hand */
	struct stock_budget budget[SCENE_BUDGETS], was_budget[SCENE_BUDGETS];
	bool touched_budget[SCENE_BUDGETS];
	uint32_t touched_budgets;
	bool rules_spoilt; /* a registry is not what shards made it, by hand */
	uint64_t strays;   /* keys that are none of ours */
};

struct stock *stock_new(struct world *world, const struct scene *scene);
void stock_free(struct stock *stock);

/* An event of a key of nodes and pods. */
void stock_event(struct stock *stock, const struct keys_id *id,
                 const struct kv_event *event);
/* stock_gang.c: an event of a large gang's record, of a budget */
void stock_gang_event(struct stock *stock, const struct keys_id *id,
                      const struct kv_event *event);
void stock_budget_event(struct stock *stock, const struct keys_id *id,
                        const struct kv_event *event);
void stock_gangs_reset(struct stock *stock);
/* What was judged is what was. */
void stock_gangs_end(struct stock *stock);
/* That was the whole revision: judges are told. */
void stock_end(struct stock *stock);
void stock_reset(struct stock *stock);

/* A pod takes room on its node. */
static inline bool stock_is_placed(const struct stock_pod *pod)
{
	return pod->phase == STOCK_BOUND || pod->phase == STOCK_TERMINATING;
}

bool stock_lists(const struct stock_node *node, uint32_t pod);
/* NULL: nothing is held there for it. */
const struct stock_hold *stock_hold_of(const struct stock_node *node, uint32_t gang);
/* It is in the plan of its gang's record; NULL: it is not, or there is none. */
const struct stock_planned *stock_planned_of(const struct stock_gang *gang, uint32_t pod);

/* Whose labels it has: while it is placed those of who was bound. */
static inline uint32_t stock_life(const struct stock_pod *pod)
{
	return stock_is_placed(pod) && pod->life < SCENE_LIVES ? pod->life
	                                                       : pod->what.life;
}

/* A budget's pod, as its state says. */
static inline bool stock_is_healthy(const struct stock_pod *pod)
{
	return pod->has_spec && !pod->bad_spec && pod->phase == STOCK_BOUND &&
	       !pod->asked && !pod->ended;
}

/* stock_read.c: false, it makes no sense. */
bool stock_read_alloc(struct stock *stock, struct pl_span value, struct stock_node *out);
bool stock_read_state(struct stock *stock, struct pl_span value, struct stock_pod *out);

#endif
