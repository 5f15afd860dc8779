/*
 * What one seed has in store: how large the world is, how bad its network, and
 * which faults come how often. Each seed draws some kinds and leaves others
 * out: faults that always come together hide each other.
 */
#ifndef TESTS_SIM_PLAN_H
#define TESTS_SIM_PLAN_H

#include "store/base/err.h"
#include "store/base/rng.h"
#include "tests/sim/scene.h"
#include "tests/sim/simkv.h"

enum fault {
	FAULT_PAUSE,
	FAULT_SUSPEND,
	FAULT_CRASH,
	FAULT_TWIN,
	FAULT_LEAVE,
	FAULT_JOIN,
	FAULT_CUT,
	FAULT_BREAK,
	FAULT_DRIFT,
	FAULT_JUMP,
	FAULT_LEADER,
	FAULT_SLOW,
	FAULT_FULL,
	FAULT_COMPACT,
	FAULT_RESTORE,
	FAULT_EVICT,
	FAULT_DRAIN,
	FAULT_CONFIG,
	FAULT_CONFIG_BAD,
	FAULT_HAND_DELETE,
	FAULT_HAND_GARBLE,
	FAULT_PIN,
	FAULT_SPOIL_ALLOC, /* by hand, where pods are placed: deleted, garbled */
	FAULT_SPOIL_STATE,
	FAULT_SPOIL_SPEC,
	FAULT_SPOIL_RULES, /* registries and locks */
	FAULT_STRAY,       /* keys that mean nothing */
	FAULT_WALL,        /* of a machine: set wrong, or right again */
	FAULT_SPOIL_GANG,  /* large gangs' records */
	FAULT_GANG,        /* who owns a large gang dies when it is half-way */
	FAULT_CLERK,       /* the client dies */
	FAULT_COUNT,
};

struct plan {
	unsigned shards, partitions;
	int64_t ttl_s;
	uint64_t expiry_delay_ms;
	uint64_t faults_ms;           /* the first phase */
	uint64_t gap_ms;              /* between two faults, about */
	uint32_t weight[FAULT_COUNT]; /* 0: not in this seed */
	uint32_t weights;             /* of all */
	struct simlink link;          /* while there are faults */
	uint32_t drift_max_ppm;
	uint64_t wall_max_ms; /* wall clocks are wrong by up to so much; 0: all are right
	                       */
	bool wall_stays;      /* and stay so when it is calm */
	uint64_t refresh_ms;  /* of the records, once it is calm */
	uint64_t work_ms;     /* between two decisions of a shard, about */
	uint32_t linger_in_100; /* work that takes its time when it is to end */
	uint32_t stray_in_1000; /* writes of partitions that are not owned */
	size_t room_bytes;
	struct scene scene;     /* no nodes: shards coordinate, and place nothing */
	uint64_t clerk_ms;      /* between two things that a client wants, about */
	uint64_t nodes_late_ms; /* until then there are pods only */
	uint32_t batch, turn_pods;
	uint32_t txn_ops;   /* that the store takes at once; 0: as usual */
	bool lose_tenth;    /* of the shards at once, when all are up, for good */
	bool one_at_a_time; /* each change is left to settle: moves and gaps count */
};

extern const char *const plan_fault_names[FAULT_COUNT];
extern const char *const plan_profiles; /* for the help text */

/* What shards do: only coordinate, or place pods as well. */
enum plan_work { PLAN_WORK_DRAWN, PLAN_WORK_NONE, PLAN_WORK_FULL };

struct plan_wish {
	const char *profile;
	enum plan_work work;
	unsigned shards, partitions; /* 0: drawn */
	unsigned nodes;              /* 0: drawn; five pods each */
	bool small;                  /* below the smallest scenario, too */
};

/* Is there such a profile, and are worlds with pods as large as they have to be? */
enum pl_code plan_check(const struct plan_wish *wish, struct pl_err *err);
/* False: plan_check() says why. */
bool plan_draw(struct plan *plan, const struct plan_wish *wish, uint64_t seed);

#endif
