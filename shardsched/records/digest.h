/*
 * A digest: what a shard's partitions have to offer, roughly, for other shards. It is the
 * value of /digests/<shard>.
 *
 *	{"v":1,"partitions":{"0007":[
 *	 {"nodes":78,"taints":["dedicated=gpu:NoSchedule"],
 *	  "free":{"cpu":"41200m","memory":"8589934592","pods":"2100","nvidia.com/gpu":"3"},
 *	  "most":{"cpu":"4000m","memory":"4294967296","pods":"110","nvidia.com/gpu":"1"},
 *	  "labels":{"zone":["a","b"],"kubernetes.io/hostname":[]},"least":-10,
 *	  "newest":4711}]}}
 *
 * Schedulable nodes of a partition are grouped in classes by their hard taints.
 *
 *	free     the sum of what is free on the nodes; reserved room counts as taken
 *	most     the largest free amount of each resource on any one node
 *	least    the lowest priority of a pod or a reservation there: a pod that is not
 *	         more important preempts nothing there
 *	labels   the labels that any of the nodes has; an empty list of values stands for
 *	         more values than are listed
 *	more     the nodes have labels that are not listed
 *	other    the class also holds nodes with other taints
 *	newest   the revision of the latest change on any of the nodes: equal contents
 *	         with a newer revision may have been different in between
 *
 * Invariant: a digest errs on one side only. What it does not admit fits on no node
 * there; what it admits may prove wrong, and a stale digest costs only a remote list.
 *
 * A plain value; spans and arrays are borrowed. Members that are zero are left out.
 */
#ifndef SHARDSCHED_RECORDS_DIGEST_H
#define SHARDSCHED_RECORDS_DIGEST_H

#include "store/base/arena.h"
#include "store/base/buf.h"

enum {
	DIGEST_CLASSES_MAX = 8, /* of a partition */
	DIGEST_TAINTS_MAX = 16,
	DIGEST_LABELS_MAX = 64,
	DIGEST_VALUES_MAX = 16, /* of a label */
	DIGEST_SCALARS_MAX = 64,
	DIGEST_TEXT_MAX = 1024, /* bytes of a name, a value or a taint */
	DIGEST_BYTES_MAX = 1 << 20,
};

struct digest_scalar {
	struct pl_span name;
	int64_t amount;
};

struct digest_capacity {
	int64_t cpu_milli, memory, storage, pods;
	const struct digest_scalar *scalar;
	uint32_t scalars;
};

struct digest_label {
	struct pl_span key;
	const struct pl_span *value;
	uint32_t values; /* 0: any */
};

struct digest_class {
	uint32_t nodes;
	bool more, other;
	const struct pl_span *taint; /* key=value:Effect */
	uint32_t taints;
	struct digest_capacity free, most;
	const struct digest_label *label;
	uint32_t labels;
	int32_t least; /* DIGEST_NO_PODS: neither pods nor reservations */
	int64_t newest;
};

#define DIGEST_NO_PODS INT32_MAX

struct digest_partition {
	uint32_t partition;
	const struct digest_class *class;
	uint32_t classes;
};

/* Ordered by partition, without duplicates. */
struct digest {
	const struct digest_partition *part;
	uint32_t parts;
};

/* Adds the value, or nothing. Asserts the order. PL_LIMIT: beyond a bound above, or the
 * buffer's; PL_INVALID: a negative amount; PL_NOMEM. */
PL_NODISCARD enum pl_code digest_print(const struct digest *digest, struct pl_buf *out,
                                       struct pl_err *err);
/* PL_INVALID, PL_LIMIT with the path and the reason; PL_NOMEM. Unknown members are
 * ignored. */
PL_NODISCARD enum pl_code digest_parse(struct pl_span value, struct pl_arena *arena,
                                       struct digest *out, struct pl_err *err);

/* digest_partition_hash covers everything in the digest; digest_class_kind only what pods
 * select by, not the amounts. */
uint64_t digest_partition_hash(const struct digest_partition *part);
uint64_t digest_class_kind(const struct digest_class *class);

#endif
