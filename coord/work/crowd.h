/*
 * For tests and benches: nodes and pods in numbers, put into a store as anybody would put
 * them, and a check of what has become of them.
 *
 * Node n is node-<n> of one of two clusters, pod n is pod-<n> of one of some namespaces;
 * what a pod requests follows from its number. So the check knows without the code under
 * test who takes how much.
 */
#ifndef COORD_WORK_CROWD_H
#define COORD_WORK_CROWD_H

#include "store/base/buf.h"
#include "store/kv/kv.h"

enum {
	CROWD_NODE_CPU_MILLI = 4000,
	CROWD_NODE_PODS = 110,
	CROWD_ZONES = 8,
	CROWD_NAME_SIZE = 32,
	CROWD_WRONG_SIZE = 320,
};

/* X(NAME, name): what the pods ask for, besides their requests. */
#define CROWD_PROFILE_MAP(X) \
	X(BASIC, "basic")    \
	X(NODEAFFINITY, "nodeaffinity")

#define CROWD_PROFILE_ENUM(profile, name) CROWD_##profile,
enum crowd_profile { CROWD_PROFILE_MAP(CROWD_PROFILE_ENUM) CROWD_PROFILES };

struct crowd {
	uint32_t partitions;
	uint32_t nodes, pods;
	enum crowd_profile profile;
};

const char *crowd_profile_name(enum crowd_profile profile);

/* What a pod requests, in thousandths of a CPU. */
uint32_t crowd_pod_cpu(uint32_t pod);

void crowd_node_cluster(uint32_t node, char out[CROWD_NAME_SIZE]);
void crowd_node_name(uint32_t node, char out[CROWD_NAME_SIZE]);
void crowd_pod_space(uint32_t pod, char out[CROWD_NAME_SIZE]);
void crowd_pod_name(uint32_t pod, char out[CROWD_NAME_SIZE]);
/* Their numbers; false: not one of ours. */
bool crowd_node_of(struct pl_span name, uint32_t *out);
bool crowd_pod_of(struct pl_span name, uint32_t *out);

/* -- into the store ---------------------------------------------------------------- */

enum crowd_part { CROWD_PART_NODES, CROWD_PART_PODS };

struct crowd_range {
	enum crowd_part part;
	uint32_t first, count;
	unsigned slots; /* transactions in flight; 0: 8 */
};

typedef void crowd_done_fn(void *ctx, const struct pl_err *err);

/* New ones; done follows once. */
PL_NODISCARD enum pl_code crowd_write(struct kv *kv, const struct crowd *crowd,
                                      const struct crowd_range *range,
                                      crowd_done_fn *done, void *ctx, struct pl_err *err);

/* -- and what has become of it ------------------------------------------------------- */

struct crowd_found {
	int64_t revision;
	uint32_t nodes, allocs, specs, bound, pending;
	uint64_t alloc_bytes, state_bytes;
	/* What may not be: a pod on two nodes, a node that is full beyond what it has, an
	 * alloc that is not the sum of its pods, ... Empty: nothing. */
	char wrong[CROWD_WRONG_SIZE];
};

typedef void crowd_found_fn(void *ctx, const struct crowd_found *found,
                            const struct pl_err *err);

/* All keys at one revision. */
PL_NODISCARD enum pl_code crowd_check(struct kv *kv, const struct crowd *crowd,
                                      crowd_found_fn *done, void *ctx,
                                      struct pl_err *err);

#endif
