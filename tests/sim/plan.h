/*
 * The plan of one seed: how large the world is, how bad its network, and which faults
 * come how often. Each seed draws some kinds of faults and leaves others out: faults that
 * always come together hide each other.
 */
#ifndef TESTS_SIM_PLAN_H
#define TESTS_SIM_PLAN_H

#include "store/base/err.h"
#include "store/base/rng.h"
#include "tests/sim/scenario.h"
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
	FAULT_MANUAL_DELETE,
	FAULT_MANUAL_CORRUPT,
	FAULT_PIN,
	FAULT_CORRUPT_ALLOC, /* keys of placed pods, by hand: deleted or malformed */
	FAULT_CORRUPT_STATE,
	FAULT_CORRUPT_SPEC,
	FAULT_CORRUPT_RULES, /* registries and locks */
	FAULT_UNKNOWN_KEY,   /* keys outside the layout */
	FAULT_WALL,          /* wall clock of a machine: set wrong, or right again */
	FAULT_CORRUPT_GANG,  /* records of large gangs */
	FAULT_GANG,          /* the owner of a large gang dies half-way */
	FAULT_CLIENT,        /* the client dies */
	FAULT_COUNT,
};

struct plan {
	unsigned shards, partitions;
	int64_t ttl_s;
	uint64_t expiry_delay_ms;
	uint64_t faults_ms;           /* length of the first phase */
	uint64_t gap_ms;              /* mean time between two faults */
	uint32_t weight[FAULT_COUNT]; /* 0: the fault is not in this seed */
	uint32_t weights;             /* sum of weight */
	struct simlink link;          /* network while there are faults */
	uint32_t drift_max_ppm;
	uint64_t wall_max_ms; /* wall clocks are wrong by up to so much; 0: all are
			       * right */
	bool wall_stays;      /* the wall clocks stay wrong in the recovery phase */
	uint64_t refresh_ms;  /* refresh interval of the records in the recovery phase */
	uint64_t work_ms;     /* mean time between two decisions of a shard */
	uint32_t linger_in_100;   /* hand-overs whose work takes its time to end, in
				   * percent */
	uint32_t unowned_in_1000; /* writes for partitions that the shard does not own */
	size_t room_bytes;
	struct scenario scenario; /* nodes 0: shards coordinate, and place nothing */
	uint64_t client_ms;       /* mean time between two operations of the client */
	uint64_t nodes_late_ms;   /* until then there are pods, but no nodes */
	uint32_t batch, turn_pods;
	uint32_t txn_ops;   /* most operations of a transaction; 0: as usual */
	bool lose_tenth;    /* a tenth of the shards dies at once, for good, when all are
			     * up */
	bool one_at_a_time; /* each change converges before the next: moves and gaps are
			     * judged */
};

extern const char *const plan_fault_names[FAULT_COUNT];
extern const char *const plan_profiles; /* for the help text */

/* Whether shards only coordinate, or place pods as well. */
enum plan_work { PLAN_WORK_DRAWN, PLAN_WORK_NONE, PLAN_WORK_FULL };

struct plan_request {
	const char *profile;
	enum plan_work work;
	unsigned shards, partitions; /* 0: drawn */
	unsigned nodes;              /* 0: drawn; five pods each */
	bool small;                  /* allows worlds below the smallest scenario */
};

/* Checks that the profile exists, and that worlds with pods are as large as they have to
 * be. */
enum pl_code plan_check(const struct plan_request *request, struct pl_err *err);
/* False: plan_check() tells why. */
bool plan_draw(struct plan *plan, const struct plan_request *request, uint64_t seed);

#endif
