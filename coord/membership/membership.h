/*
 * The membership of a shard, its record under /shards/<id>: a plain value, its JSON,
 * and the checks of a record from outside.
 *
 *	{"v":1,"id":"east-0","instance":"<32 hex>","state":"active","host":"h1",
 *	 "pid":4711,"boot":"<boot id>","version":"0.1.0","api":"10.0.0.1:7400",
 *	 "zone":"z1","weight":1000,"salt":17,"started":"2026-11-21T05:00:00.000Z",
 *	 "partitions":[3,17],"loads":[120,95],
 *	 "rates":{"writes_per_s":12.5,"fenced":0,"busy":0.03},
 *	 "work":{"placed":812,"placed_per_s":31.5,"pending":7,"conflicts":3,
 *	         "conflicts_per_s":0.1,"txns":90,"txns_failed":2,"lag_ms":4,
 *	         "causes":{"alloc":{"placements":3,"txns":2}},
 *	         "nodes":[{"cluster":"east","node":"n-7","cause":"alloc","count":3,
 *	                   "at":"2026-11-21T05:00:00.000Z"}],
 *	         "aside":[{"cluster":"east","node":"n-9","cause":"node",
 *	                   "until":"2026-11-21T05:00:10.000Z"}]},
 *	 "config":{"coord":3,"weights":12},
 *	 "refused":{"coord":"version 4: .handover_ms: must be 1 to 60000"}}
 */
#ifndef COORD_MEMBERSHIP_MEMBERSHIP_H
#define COORD_MEMBERSHIP_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/arena.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"

enum membership_state {
	MEMBERSHIP_JOINING,  /* registered; does not know all other members yet */
	MEMBERSHIP_ACTIVE,   /* takes part in the assignment */
	MEMBERSHIP_DRAINING, /* hands all its partitions over */
};

enum {
	MEMBERSHIP_INSTANCE_SIZE = 33, /* 32 hex digits and a NUL */
	MEMBERSHIP_CONFIGS_MAX = 16,
	MEMBERSHIP_WEIGHT_ONE = 1000,
	MEMBERSHIP_WEIGHT_MAX = 1000 * 1000,
	MEMBERSHIP_PID_MAX = INT32_MAX,
	MEMBERSHIP_TEXT_MAX = 768, /* bytes of each text when read; at most a third of
	                            * that is written */
	MEMBERSHIP_REFUSED_MAX = 1536,
	MEMBERSHIP_BYTES_MAX = 256 * 1024, /* of a record */
	MEMBERSHIP_CAUSES_MAX = 16,
	MEMBERSHIP_NODES_MAX = 16, /* nodes that conflict, and nodes that are excluded */
};

struct membership_config {
	struct pl_span name;
	uint64_t version;       /* applied version; 0: the default */
	struct pl_span refused; /* why the current version is not applied; empty: it is
	                         * applied */
};

/* A cause of conflicts, and how often it occurred. */
struct membership_cause {
	struct pl_span word;
	uint64_t placements, txns;
};

struct membership_node {
	struct pl_span cluster, name, cause;
	uint64_t count, over; /* conflicts; count may be too high by at most over */
	int64_t at_ms;        /* time of the last conflict; or until when the node is
	                       * excluded */
};

/* The scheduling work of a shard: counts since its start, and recent rates. */
struct membership_work {
	bool known; /* the shard does scheduling work */
	uint64_t placed, conflicts, txns, txns_failed;
	uint64_t pending; /* pods that wait now */
	double placed_per_s, conflicts_per_s;
	uint64_t lag_ms; /* from a commit until a watch shows it */
	const struct membership_cause *causes;
	const struct membership_node *nodes, *asides;
	uint32_t cause_count, node_count, aside_count;
};

/* All spans and arrays are borrowed: from the caller when printed, from the arena when
 * parsed. */
struct membership {
	struct pl_span id;
	char instance[MEMBERSHIP_INSTANCE_SIZE]; /* of this start of the shard */
	enum membership_state state;
	struct pl_span host;
	int64_t pid;
	struct pl_span boot;
	struct pl_span version;
	struct pl_span api;
	struct pl_span zone;
	uint32_t weight;    /* MEMBERSHIP_WEIGHT_ONE is one; 1 to MEMBERSHIP_WEIGHT_MAX */
	uint32_t salt;      /* the salt that it chose for the assignment (assign.h); or
	                     * 0 */
	int64_t started_ms; /* wall clock, milliseconds since 1970 */
	const uint16_t *partitions; /* ascending */
	const uint32_t *loads;      /* one a partition, in any one unit; not printed if
	                             * NULL; parsed as zeros if absent */
	uint32_t partition_count;
	double writes_per_s;
	double busy; /* share of its time that the loop was busy, 0 to 1 */
	uint64_t fenced;
	struct membership_work work;
	struct membership_config config[MEMBERSHIP_CONFIGS_MAX];
	uint32_t config_count;
};

/* PL_INVALID: an id, instance, weight or pid that no record can have. Texts that are
 * too long are cut. */
PL_NODISCARD enum pl_code membership_print(const struct membership *member,
                                           struct pl_buf *out, struct pl_err *err);

/* id is that of the key; a record with another id is refused. *out borrows from the
 * arena. PL_INVALID names the field's path. */
PL_NODISCARD enum pl_code membership_parse(struct pl_span id, struct pl_span json,
                                           struct pl_arena *arena, struct membership *out,
                                           struct pl_err *err);

const char *membership_state_name(enum membership_state state);
/* Whether the text is 32 hex digits in lower case. */
bool membership_instance_ok(struct pl_span text);

#endif
