#include "tests/sim/plan.h"

#include <string.h>

#define BIT(fault) (UINT32_C(1) << (fault))

enum { NETWORK_BAD = 1, NETWORK_WILD = 2, SHARDS_LARGE = 32, PODS_A_NODE = 5, EXTRA = 4 };

/* LEAST: fewer would mean no extra nodes in the recovery phase, or not one row of
 * pods. */
enum {
	NODES_LEAST = EXTRA,
	PODS_LEAST = NODES_LEAST * PODS_A_NODE,
	PODS_SMALLEST = SCENARIO_NODES_MIN * PODS_A_NODE,
};

_Static_assert((int)PODS_LEAST >= (int)SCENARIO_GROUP, "a row of pods");
_Static_assert((int)PODS_SMALLEST >= (int)SCENARIO_PODS_MIN,
               "as many as the smallest world must have");

/* Faults that only a world with nodes and pods has. */
#define PLACING_FAULTS                                                                   \
	(BIT(FAULT_CORRUPT_ALLOC) | BIT(FAULT_CORRUPT_STATE) | BIT(FAULT_CORRUPT_SPEC) | \
	 BIT(FAULT_CORRUPT_RULES) | BIT(FAULT_CORRUPT_GANG) | BIT(FAULT_GANG) |          \
	 BIT(FAULT_UNKNOWN_KEY) | BIT(FAULT_CLIENT))

struct profile {
	const char *name;
	uint32_t faults; /* faults that may come */
	bool all;        /* every one of them does; otherwise some are drawn */
	unsigned network;
	bool one_at_a_time, lose_tenth;
};

static const struct profile profiles[] = {
	{"mixed", BIT(FAULT_COUNT) - 1, false, NETWORK_WILD, false, false},
	{"quiet", 0, true, 0, false, false},
	{"orderly", BIT(FAULT_LEAVE) | BIT(FAULT_JOIN) | BIT(FAULT_DRAIN), true, 0, true,
         false},
	{"tenth", 0, true, 0, false, true},
	{"crash",
         BIT(FAULT_CRASH) | BIT(FAULT_TWIN) | BIT(FAULT_LEAVE) | BIT(FAULT_JOIN) |
                 BIT(FAULT_EVICT) | BIT(FAULT_GANG) | BIT(FAULT_CLIENT),
         true, NETWORK_BAD, false, false},
	{"pause",
         BIT(FAULT_PAUSE) | BIT(FAULT_SUSPEND) | BIT(FAULT_DRIFT) | BIT(FAULT_JUMP) |
                 BIT(FAULT_WALL),
         true, NETWORK_BAD, false, false},
	{"net", BIT(FAULT_CUT) | BIT(FAULT_BREAK) | BIT(FAULT_COMPACT), true,
         NETWORK_WILD, false, false},
	{"store",
         BIT(FAULT_LEADER) | BIT(FAULT_SLOW) | BIT(FAULT_FULL) | BIT(FAULT_COMPACT) |
                 BIT(FAULT_BREAK),
         true, NETWORK_BAD, false, false},
	{"restore", BIT(FAULT_RESTORE) | BIT(FAULT_CRASH) | BIT(FAULT_BREAK), true,
         NETWORK_BAD, false, false},
	{"operators",
         BIT(FAULT_EVICT) | BIT(FAULT_DRAIN) | BIT(FAULT_CONFIG) | BIT(FAULT_CONFIG_BAD) |
                 BIT(FAULT_MANUAL_DELETE) | BIT(FAULT_MANUAL_CORRUPT) | BIT(FAULT_PIN) |
                 BIT(FAULT_CORRUPT_ALLOC) | BIT(FAULT_CORRUPT_STATE) |
                 BIT(FAULT_CORRUPT_SPEC) | BIT(FAULT_CORRUPT_RULES) |
                 BIT(FAULT_CORRUPT_GANG) | BIT(FAULT_UNKNOWN_KEY) | BIT(FAULT_CLIENT),
         true, NETWORK_BAD, false, false},
};

const char *const plan_profiles = "all, mixed, quiet, orderly, tenth, crash, "
				  "pause, net, store, restore, operators";

const char *const plan_fault_names[FAULT_COUNT] = {
	[FAULT_PAUSE] = "pause",
	[FAULT_SUSPEND] = "suspend",
	[FAULT_CRASH] = "crash",
	[FAULT_TWIN] = "twin",
	[FAULT_LEAVE] = "leave",
	[FAULT_JOIN] = "join",
	[FAULT_CUT] = "cut",
	[FAULT_BREAK] = "break",
	[FAULT_DRIFT] = "drift",
	[FAULT_JUMP] = "jump",
	[FAULT_LEADER] = "leader",
	[FAULT_SLOW] = "slow",
	[FAULT_FULL] = "full",
	[FAULT_COMPACT] = "compact",
	[FAULT_RESTORE] = "restore",
	[FAULT_EVICT] = "evict",
	[FAULT_DRAIN] = "drain",
	[FAULT_CONFIG] = "config",
	[FAULT_CONFIG_BAD] = "bad config",
	[FAULT_MANUAL_DELETE] = "delete by hand",
	[FAULT_MANUAL_CORRUPT] = "corrupt by hand",
	[FAULT_PIN] = "pin",
	[FAULT_CORRUPT_ALLOC] = "corrupt allocs",
	[FAULT_CORRUPT_STATE] = "corrupt states",
	[FAULT_CORRUPT_SPEC] = "corrupt specs",
	[FAULT_CORRUPT_RULES] = "corrupt rules",
	[FAULT_UNKNOWN_KEY] = "unknown keys",
	[FAULT_WALL] = "wall clock",
	[FAULT_CORRUPT_GANG] = "corrupt gangs",
	[FAULT_GANG] = "gang's owner dies",
	[FAULT_CLIENT] = "client dies",
};

enum { PROFILES = sizeof profiles / sizeof profiles[0] };

/* Half of the seeds use the first profile, the others take turns. */
static const struct profile *profile_by_turn(uint64_t seed)
{
	if (seed % 2 == 0)
		return &profiles[0];
	return &profiles[1 + seed / 2 % (PROFILES - 1)];
}

static const struct profile *find_profile(const char *name)
{
	for (size_t i = 0; i < PROFILES; i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	return NULL;
}

static void draw_faults(struct plan *plan, const struct profile *profile,
                        struct pl_rng *rng)
{
	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		bool drawn = profile->all || pl_rng_chance(rng, 1, 3);
		uint32_t weight = (uint32_t)pl_rng_between(rng, 1, 8);

		/* A fault that changes the whole store at once leaves room for the
		 * others. */
		if (i == FAULT_RESTORE && !profile->all)
			drawn = drawn && pl_rng_chance(rng, 1, 2);
		if ((profile->faults & BIT(i)) == 0 || !drawn)
			weight = 0;
		if ((PLACING_FAULTS & BIT(i)) != 0 && plan->scenario.nodes == 0)
			weight = 0;
		plan->weight[i] = weight;
		plan->weights += weight;
	}
}

static uint32_t draw_or_zero(struct pl_rng *rng, uint32_t most)
{
	return pl_rng_chance(rng, 1, 2) ? 0 : (uint32_t)pl_rng_below(rng, most + 1);
}

static void draw_link(struct simlink *link, unsigned network, struct pl_rng *rng)
{
	*link = (struct simlink){.delay_min_ms = 1, .delay_max_ms = 4, .lag_max_ms = 1};
	if (network == 0)
		return;
	link->delay_max_ms = (uint32_t)pl_rng_between(rng, 2, 40);
	link->lag_max_ms = draw_or_zero(rng, 20);
	link->slow_in_1000 = draw_or_zero(rng, 60);
	link->slow_max_ms = (uint32_t)pl_rng_between(rng, 50, 4000);
	link->note_max_ms = draw_or_zero(rng, 800);
	if (network < NETWORK_WILD)
		return;
	link->lose_request_in_1000 = draw_or_zero(rng, 50);
	link->lose_answer_in_1000 = draw_or_zero(rng, 50);
	link->late_in_1000 = draw_or_zero(rng, 40);
	link->late_max_ms = (uint32_t)pl_rng_between(rng, 2000, 30000);
	link->busy_in_1000 = draw_or_zero(rng, 30);
}

/* Wall clocks are wrong by so little that most timeouts still fit, or by more than
 * anything lasts. */
static void draw_walls(struct plan *plan, struct pl_rng *rng)
{
	static const uint64_t most_ms[] = {3000, UINT64_C(300) * 1000,
	                                   UINT64_C(3) * 3600 * 1000};

	if (plan->weight[FAULT_WALL] == 0)
		return;
	plan->wall_max_ms = most_ms[pl_rng_below(rng, 3)];
	plan->wall_stays = pl_rng_chance(rng, 1, 2);
}

/* A quarter of the seeds place pods as well. */
static bool is_full(const struct plan_request *request, const struct profile *profile,
                    uint64_t seed)
{
	if (request->work != PLAN_WORK_DRAWN)
		return request->work == PLAN_WORK_FULL;
	return seed / 2 % 4 == 1 && !profile->one_at_a_time && !profile->lose_tenth;
}

/* Most worlds are small, so that there are many; none is smaller than this. */
static void draw_scene(struct plan *plan, const struct plan_request *request,
                       struct pl_rng *rng)
{
	static const unsigned most[] = {SCENARIO_NODES_MIN, SCENARIO_NODES_MIN, 100, 300};
	/* So few operations that most gangs do not fit into one transaction. */
	static const uint32_t ops[] = {24, 24, 40, 0};
	unsigned nodes = (unsigned)pl_rng_between(rng, SCENARIO_NODES_MIN,
	                                          most[pl_rng_below(rng, 64) / 20]);

	if (request->nodes != 0)
		nodes = request->nodes;
	plan->scenario = (struct scenario){
		.clusters = (unsigned)pl_rng_between(rng, SCENARIO_CLUSTERS_MIN, 5),
		.nodes = nodes,
		.pods = nodes * PODS_A_NODE,
		.extra = nodes / EXTRA};
	plan->shards = (unsigned)pl_rng_between(rng, SCENARIO_SHARDS_MIN, 6);
	plan->partitions = (unsigned)pl_rng_between(rng, SCENARIO_PARTITIONS_MIN, 16);
	plan->faults_ms = pl_rng_between(rng, 12000, 40000);
	plan->client_ms = pl_rng_between(rng, 30, 400);
	plan->nodes_late_ms =
		pl_rng_chance(rng, 1, 4) ? pl_rng_between(rng, 3000, 9000) : 0;
	plan->txn_ops = ops[pl_rng_below(rng, 4)];
	plan->batch = pl_rng_chance(rng, 1, 3) ? (uint32_t)pl_rng_between(rng, 1, 32) : 0;
	plan->turn_pods =
		pl_rng_chance(rng, 1, 3) ? (uint32_t)pl_rng_between(rng, 1, 16) : 0;
}

static void draw_size(struct plan *plan, const struct plan_request *request, bool full,
                      struct pl_rng *rng)
{
	plan->shards = (unsigned)pl_rng_between(rng, 2, 8);
	plan->partitions = (unsigned)pl_rng_between(rng, 4, 32);
	plan->faults_ms = pl_rng_between(rng, 20000, 90000);
	if (full)
		draw_scene(plan, request, rng);
	if (request->shards != 0) {
		plan->shards = request->shards;
		plan->partitions =
			request->shards * 4 < 4096 ? request->shards * 4 : 4096;
	}
	if (request->partitions != 0)
		plan->partitions = request->partitions;
}

/* The largest request fits when half of it is free. */
static size_t room_bytes(const struct plan *plan)
{
	return plan->scenario.nodes == 0 ? 16384 : 262144;
}

static const struct profile *profile_of(const struct plan_request *request, uint64_t seed)
{
	return strcmp(request->profile, "all") == 0 ? profile_by_turn(seed)
	                                            : find_profile(request->profile);
}

/* The request may give a world with pods, whichever the seed. */
static bool may_be_full(const struct plan_request *request, const struct profile *profile)
{
	if (request->work != PLAN_WORK_DRAWN)
		return request->work == PLAN_WORK_FULL;
	return profile == NULL || !(profile->one_at_a_time || profile->lose_tenth);
}

static enum pl_code require_least(const char *what, unsigned count, unsigned least,
                                  struct pl_err *err)
{
	if (count == 0 || count >= least)
		return PL_OK;
	return pl_err_set(err, PL_INVALID,
	                  "--%s %u: a world with pods has %u at least (%d shards, %d "
	                  "partitions, %d clusters, %d nodes and %d pods of every kind "
	                  "are the smallest); --work none has no pods, --small lets it "
	                  "be smaller and says so at the end",
	                  what, count, least, SCENARIO_SHARDS_MIN,
	                  SCENARIO_PARTITIONS_MIN, SCENARIO_CLUSTERS_MIN,
	                  SCENARIO_NODES_MIN, SCENARIO_PODS_MIN);
}

enum pl_code plan_check(const struct plan_request *request, struct pl_err *err)
{
	const struct profile *profile = find_profile(request->profile);
	enum pl_code code;

	if (profile == NULL && strcmp(request->profile, "all") != 0)
		return pl_err_set(err, PL_INVALID, "--profile %s: want one of %s",
		                  request->profile, plan_profiles);
	if (!may_be_full(request, profile))
		return PL_OK;
	if (request->nodes != 0 && request->nodes < NODES_LEAST)
		return pl_err_set(
			err, PL_INVALID,
			"--nodes %u: a world with pods has %d at least, so that "
			"it has a row of pods and a node for more; --small or not",
			request->nodes, NODES_LEAST);
	if (request->small)
		return PL_OK;
	code = require_least("nodes", request->nodes, SCENARIO_NODES_MIN, err);
	if (code == PL_OK)
		code = require_least("shards", request->shards, SCENARIO_SHARDS_MIN, err);
	if (code == PL_OK)
		code = require_least("partitions", request->partitions,
		                     SCENARIO_PARTITIONS_MIN, err);
	return code;
}

bool plan_draw(struct plan *plan, const struct plan_request *request, uint64_t seed)
{
	const struct profile *profile = profile_of(request, seed);
	struct pl_rng rng;

	if (plan_check(request, NULL) != PL_OK)
		return false;
	pl_rng_init(&rng, seed);
	*plan = (struct plan){0};
	draw_size(plan, request, is_full(request, profile, seed), &rng);
	plan->ttl_s = (int64_t)pl_rng_between(&rng, 3, 8);
	plan->expiry_delay_ms = draw_or_zero(&rng, 1000);
	plan->gap_ms = pl_rng_between(&rng, 300, 4000);
	plan->drift_max_ppm = draw_or_zero(&rng, 20000);
	plan->work_ms = pl_rng_between(&rng, 30, 200);
	/* A thousand shards would drown everything in decisions and records. */
	if (plan->work_ms < UINT64_C(10) * plan->shards)
		plan->work_ms = UINT64_C(10) * plan->shards;
	plan->refresh_ms = plan->shards > SHARDS_LARGE ? 10000 : 1000;
	plan->linger_in_100 = profile->network == 0 ? 0 : draw_or_zero(&rng, 60);
	plan->unowned_in_1000 = 5;
	plan->room_bytes = pl_rng_chance(&rng, 1, 4) ? room_bytes(plan) : 0;
	plan->lose_tenth = profile->lose_tenth;
	plan->one_at_a_time = profile->one_at_a_time;
	draw_faults(plan, profile, &rng);
	draw_walls(plan, &rng);
	draw_link(&plan->link, profile->network, &rng);
	return true;
}
