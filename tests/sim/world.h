/*
 * Everything that one seed is made of: the agenda, the store, the processes,
 * who spoils things and who judges.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "tests/sim/check.h"
#include "tests/sim/cover.h"
#include "tests/sim/depot.h"
#include "tests/sim/plan.h"
#include "tests/sim/stock.h"
#include "tests/sim/truth.h"

enum { WORLD_CHECKS = 17, WORLD_SPARE_IDS = 64 };

struct clerk;
struct nemesis;

struct world {
	struct agenda agenda;
	struct story story;
	struct depot depot;
	struct pl_rng rng;
	struct plan plan;
	struct cover cover;
	struct truth truth;
	struct simkv_counts counts;
	struct pl_list procs; /* the living and the dying */
	unsigned ids;         /* given out: s0 to s<ids-1> */
	unsigned hosts;
	int64_t pids;
	struct nemesis *nemesis;
	struct stock *stock; /* NULL: shards coordinate, and place nothing */
	struct clerk *clerk; /* who brings nodes and pods; or NULL */
	void *state[WORLD_CHECKS];
	struct agenda_item tick;
	bool checking;
	bool calm;
	uint64_t calm_ms;
	bool strange;         /* the store was restored, and not all is well again */
	bool by_hand;         /* an operator writes at this moment */
	bool *handmade;       /* owner keys that an operator spoilt */
	unsigned drained;     /* by the configuration: an id plus one; 0: nobody */
	uint64_t bad_version; /* of the configuration coord: none may apply it */
	int64_t *robbed;      /* epochs of owner keys that went so: up to this one */
	uint64_t change_ms;   /* when anything was last done to the world */
	uint64_t wall_ms;     /* at true time 0 */
	uint64_t items_max;
	/* A failure is told here, and does not come back. */
	void (*failed)(struct world *world, const char *check, const char *text);
	const void *ctx;
};

void world_open(struct world *world, const struct plan *plan, uint64_t seed,
                const struct story *story);
void world_close(struct world *world);

/* Everything that is due up to then. */
void world_run(struct world *world, uint64_t until_ms);

/* To all judges. */
void world_see(struct world *world, const struct obs *obs);

static inline void world_hit(struct world *world, enum cover_what what)
{
	cover_hit(&world->cover, what);
}

/* Something was done on purpose: moves that follow are not for nothing. */
static inline void world_touch(struct world *world)
{
	world->change_ms = world->agenda.now_ms;
}

/* What a clock on the wall shows that is right. */
static inline int64_t world_wall_ms(const struct world *world)
{
	return (int64_t)(world->wall_ms + world->agenda.now_ms);
}

uint64_t world_below(struct world *world, uint64_t bound);
/* So far ahead of the right time, or behind it, is some machine's wall clock. */
int64_t world_wall_draw(struct world *world);
bool world_chance(struct world *world, uint64_t count, uint64_t outof);

#endif
