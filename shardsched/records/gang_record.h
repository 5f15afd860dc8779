/*
 * A gang record: the plan of a gang that is too large for one transaction. It is the
 * value of /gangs/<namespace>/<gang>.
 *
 *	{"v":1,"phase":"reserving","shard":"east-0","epoch":"12",
 *	 "until":"2026-11-21T09:00:00.000Z",
 *	 "nodes":[{"at":3,"cluster":"east","node":"n-1","pods":{"w-0":"4711","w-1":"4712"}}]}
 *
 *	(none) --> reserving --all reserved--> bound --all pods are bound--> (none)
 *	               |
 *	               +--a failure--> aborting --all released--> (none)
 *
 * A gang is bound when its record says so; the owner of the gang's partition, whichever
 * shard that is by then, turns the reservations into pods, or releases them. The plan
 * does not change: it has the node of each pod, and the mod_revision of the spec that was
 * decided for. The pods are in the gang's namespace and partition.
 *
 * Nodes are ordered by cluster and name, pods by name; none comes twice. A plain value:
 * spans and arrays are borrowed.
 */
#ifndef SHARDSCHED_RECORDS_GANG_RECORD_H
#define SHARDSCHED_RECORDS_GANG_RECORD_H

#include "store/base/arena.h"
#include "store/base/buf.h"

enum {
	GANG_RECORD_BYTES_MAX = 1 << 20,
	GANG_RECORD_NODES_MAX = 8192,
	GANG_RECORD_PODS_MAX = 16384, /* of all nodes together */
};

/* X(PHASE, word) */
#define GANG_PHASE_MAP(X)         \
	X(RESERVING, "reserving") \
	X(BOUND, "bound")         \
	X(ABORTING, "aborting")

#define GANG_PHASE_ENUM(phase, word) GANG_PHASE_##phase,
enum gang_phase { GANG_PHASE_MAP(GANG_PHASE_ENUM) GANG_PHASES };

struct gang_record_pod {
	struct pl_span name;
	int64_t spec_rev;
};

struct gang_record_node {
	uint32_t partition;
	struct pl_span cluster, name;
	const struct gang_record_pod *pod;
	uint32_t pods; /* at least one */
};

struct gang_record {
	enum gang_phase phase;
	struct pl_span shard; /* the writer, under which epoch of the partition */
	int64_t epoch;
	int64_t until_ms; /* RESERVING: deadline by the wall clock, after which the gang
			   * is given up */
	const struct gang_record_node *node;
	uint32_t nodes; /* at least one */
};

/* Adds the value, or nothing. Asserts the order. PL_INVALID: a name or a time that no
 * record can have; PL_LIMIT: beyond a bound above, or the buffer's; PL_NOMEM. */
PL_NODISCARD enum pl_code gang_record_print(const struct gang_record *record,
                                            struct pl_buf *out, struct pl_err *err);
/* PL_INVALID, PL_LIMIT with the path and the reason. PL_NOMEM. */
PL_NODISCARD enum pl_code gang_record_parse(struct pl_span value, struct pl_arena *arena,
                                            struct gang_record *out, struct pl_err *err);

/* Compares cluster, then name, as strcmp does. */
int gang_record_node_cmp(const struct gang_record_node *a,
                         const struct gang_record_node *b);

const char *gang_phase_word(enum gang_phase phase);

#endif
