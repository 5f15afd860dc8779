/* Shared by the parts of clerk.c; nobody else includes it. */
#ifndef TESTS_SIM_CLERK_INT_H
#define TESTS_SIM_CLERK_INT_H

#include "coord/fsck/fsck.h"
#include "coord/fsck/repair.h"
#include "coord/nodes/nodes.h"
#include "coord/submit/pod_request.h"
#include "coord/submit/submit.h"
#include "tests/sim/clerk.h"

enum {
	CLERK_PATIENCE_MS = 8000,
	CLERK_CALL_MS = 1500,
	CLERK_WHY_SIZE = 160,
	CLERK_WORDS = 64,
	CLERK_ROWS = 4,
	CLERK_HEARD_MS = 60000, /* what was said may be heard so late, or again */
};

struct clerk_pod {
	struct scene_pod what; /* as it was submitted last */
	bool wanted, removed;
	uint64_t removed_ms, ended_ms; /* when that was last said of it by its name */
	uint64_t over; /* lives that have run, and ended by themselves, a bit each: a
	                * restored store may show any of them again */
};

/* Something that is said of a pod, by who runs it or who wants it gone. */
struct clerk_word {
	uint32_t pod;
	enum pod_request_verb verb;
	enum state_ended ended;
	uint32_t node; /* only while it is there; STOCK_NONE: wherever */
};

/* Some of these at once. */
struct clerk_errand {
	struct clerk *clerk;
	struct pod_requests *wishes; /* NULL: not at it */
	struct clerk_word word[CLERK_WORDS];
	uint32_t count, next;
	char namespace[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];
	char cluster[SCENE_NAME_SIZE], node[SCENE_NAME_SIZE];
};

/* A node that is emptied, as placet nodes drain does it. */
struct clerk_drain {
	uint32_t node; /* STOCK_NONE: not at it */
	bool cordoned;
	uint64_t until_ms; /* then it is given up */
};

/* Six pods that go, and come back as soon as they are gone, now and then again and again:
 * as when what runs them is of another revision. */
struct clerk_row {
	uint32_t first;    /* STOCK_NONE: not at it */
	uint64_t until_ms; /* then it is left to chance */
};

struct clerk_node {
	struct scene_node what;
	bool wanted;
};

/* Numbers of what an operation is about. */
struct clerk_list {
	uint32_t *at;
	uint32_t count, next;
};

enum clerk_calm { CALM_NOT, CALM_FSCK, CALM_NODES, CALM_PODS, CALM_REST };

struct clerk {
	struct world *world;
	struct simkv *sim;
	struct kv *kv;
	struct agenda_item next;
	struct clerk_pod *pod;
	struct clerk_node *node;
	uint32_t nodes, pods;
	uint32_t fresh; /* pods from here on were never submitted */
	struct clerk_row row[CLERK_ROWS];

	struct submit *submit; /* NULL: not at it; the others alike */
	struct nodes *change;
	enum nodes_verb verb;
	bool brought; /* there are nodes */
	struct clerk_list submits, changes;
	char json[SCENE_JSON_SIZE], node_json[SCENE_JSON_SIZE];
	char cluster[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];
	char namespace[SCENE_NAME_SIZE], pod_name[SCENE_NAME_SIZE];
	struct model model;
	struct pl_arena arena;
	bool editing;
	uint32_t edited;
	struct scene_pod edit;

	bool budgeting; /* a budget is written: which, and what for */
	uint32_t budget;
	enum cover_what budget_hit;

	struct clerk_errand removal, members, moves;
	struct clerk_drain drain;
	int64_t wall_ms; /* its wall clock is ahead by so much */
	bool dead; /* it has crashed, and is put together again when all has ended */
	uint64_t again_ms; /* not before that */

	enum clerk_calm calm;
	bool content;
	uint64_t rest_ms; /* until then */
	char why[CLERK_WHY_SIZE];
	struct fsck *fsck;
	struct repair *mend;
	unsigned findings;
	bool leaving, closing, closed;
};

/* Why it is not content. */
PL_PRINTF(2, 3) void clerk_note(struct clerk *clerk, const char *fmt, ...);

/* clerk_budget.c: one is made, changed or deleted */
void clerk_budget(struct clerk *clerk);

/* clerk_drain.c: now and then, while one is emptied; a new one */
void clerk_drain_step(struct clerk *clerk);
void clerk_drain_begin(struct clerk *clerk);

/* clerk_row.c: those that are gone come back; a new one goes */
void clerk_row_step(struct clerk *clerk);
void clerk_row(struct clerk *clerk);

/* clerk_wish.c: false, it goes on already */
void clerk_submit(struct clerk *clerk);
void clerk_change(struct clerk *clerk, enum nodes_verb verb);
void clerk_edit(struct clerk *clerk, uint32_t pod);
/* From the next apply on. */
void clerk_close_node(struct clerk *clerk, uint32_t node);
/* It was removed and is gone: its name is free. */
bool clerk_is_free(const struct clerk *clerk, uint32_t pod);
/* To what is submitted next: what was removed comes again, as another. */
void clerk_add_pod(struct clerk *clerk, uint32_t pod);
/* So many more, from there, that are not submitted yet. */
void clerk_wish(struct clerk *clerk);

/* clerk_member.c */
void clerk_members(struct clerk *clerk);
/* What does not fit is left out. */
void clerk_errand_add(struct clerk_errand *errand, uint32_t pod,
                      enum pod_request_verb verb, enum state_ended ended);
void clerk_errand_go(struct clerk_errand *errand);

/* clerk_mend.c: the next step; called when the last one has ended */
void clerk_mend_step(struct clerk *clerk);
/* The store is looked at, and what can be derived is mended. */
void clerk_check(struct clerk *clerk);

#endif
