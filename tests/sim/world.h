/*
 * The world is everything that one seed is made of: the agenda, the store, the processes,
 * the nemesis and the judges.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "tests/sim/check.h"
#include "tests/sim/cover.h"
#include "tests/sim/mirror.h"
#include "tests/sim/plan.h"
#include "tests/sim/simstore.h"
#include "tests/sim/truth.h"

enum { WORLD_CHECKS = 17, WORLD_SPARE_IDS = 64 };

struct client;
struct nemesis;

struct world {
	struct agenda agenda;
	struct story story;
	struct simstore store;
	struct pl_rng rng;
	struct plan plan;
	struct cover cover;
	struct truth truth;
	struct simkv_counts counts;
	struct pl_list procs; /* living processes, and ghosts */
	unsigned ids;         /* ids given out: s0 to s<ids-1> */
	unsigned hosts;
	int64_t pids;
	struct nemesis *nemesis;
	struct mirror *mirror; /* NULL: shards coordinate, and place nothing */
	struct client *client; /* user of nodes and pods; or NULL */
	void *state[WORLD_CHECKS];
	struct agenda_item tick;
	bool checking;
	bool recovering;
	uint64_t recovery_ms;
	bool after_restore;     /* the store was restored, and not everything is well
				 * again */
	bool by_operator;       /* an operator writes at this moment */
	bool *manual_owner;     /* owner keys that an operator damaged */
	unsigned drained;       /* shard drained by the configuration: its id plus one; 0:
				 * none */
	uint64_t bad_version;   /* version of the configuration coord that no shard may
				 * apply */
	int64_t *revoked_epoch; /* by partition: owner keys that were removed so, up to
				 * this epoch */
	uint64_t change_ms;     /* last change of the world */
	uint64_t wall_ms;       /* wall clock at true time 0 */
	uint64_t items_max;
	/* Reports a failure, and does not return. */
	void (*failed)(struct world *world, const char *check, const char *text);
	const void *ctx;
};

void world_open(struct world *world, const struct plan *plan, uint64_t seed,
                const struct story *story);
void world_close(struct world *world);

/* Runs everything that is due up to that time. */
void world_run(struct world *world, uint64_t until_ms);

/* Passes the observation to all judges. */
void world_observe(struct world *world, const struct obs *obs);

static inline void world_hit(struct world *world, enum cover_what what)
{
	cover_hit(&world->cover, what);
}

/* Something was changed on purpose: moves that follow have a reason. */
static inline void world_touch(struct world *world)
{
	world->change_ms = world->agenda.now_ms;
}

/* The reading of a wall clock that is right. */
static inline int64_t world_wall_ms(const struct world *world)
{
	return (int64_t)(world->wall_ms + world->agenda.now_ms);
}

uint64_t world_below(struct world *world, uint64_t bound);
/* Draws by how much a machine's wall clock is ahead, or behind. */
int64_t world_wall_draw(struct world *world);
bool world_chance(struct world *world, uint64_t count, uint64_t outof);

#endif
