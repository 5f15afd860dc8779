/*
 * For tests and benches: nodes and pods in numbers, put into a store as anybody would put
 * them, and a check of what has become of them.
 *
 * Node n is node-<n> of one of two clusters, pod n is pod-<n> of one of some namespaces;
 * what a pod requests follows from its number. So the check knows without the code under
 * test who takes how much.
 */
#ifndef COORD_WORK_WORKLOAD_H
#define COORD_WORK_WORKLOAD_H

#include "store/base/buf.h"
#include "store/kv/kv.h"

enum {
	WORKLOAD_NODE_CPU_MILLI = 4000,
	WORKLOAD_NODE_PODS = 110,
	WORKLOAD_ZONES = 8,
	WORKLOAD_NAME_SIZE = 32,
	WORKLOAD_WRONG_SIZE = 320,
};

/* X(NAME, name): what the pods ask for, besides their requests. */
#define WORKLOAD_PROFILE_MAP(X) \
	X(BASIC, "basic")       \
	X(NODEAFFINITY, "nodeaffinity")

#define WORKLOAD_PROFILE_ENUM(profile, name) WORKLOAD_##profile,
enum workload_profile { WORKLOAD_PROFILE_MAP(WORKLOAD_PROFILE_ENUM) WORKLOAD_PROFILES };

struct workload_spec {
	uint32_t partitions;
	uint32_t nodes, pods;
	enum workload_profile profile;
};

const char *workload_profile_name(enum workload_profile profile);

/* What a pod requests, in thousandths of a CPU. */
uint32_t workload_pod_cpu(uint32_t pod);

void workload_node_cluster(uint32_t node, char out[WORKLOAD_NAME_SIZE]);
void workload_node_name(uint32_t node, char out[WORKLOAD_NAME_SIZE]);
void workload_pod_namespace(uint32_t pod, char out[WORKLOAD_NAME_SIZE]);
void workload_pod_name(uint32_t pod, char out[WORKLOAD_NAME_SIZE]);
/* Their numbers; false: not one of ours. */
bool workload_node_of(struct pl_span name, uint32_t *out);
bool workload_pod_of(struct pl_span name, uint32_t *out);

/* -- into the store ---------------------------------------------------------------- */

enum workload_part { WORKLOAD_PART_NODES, WORKLOAD_PART_PODS };

struct workload_range {
	enum workload_part part;
	uint32_t first, count;
	unsigned slots; /* transactions in flight; 0: 8 */
};

typedef void workload_done_fn(void *ctx, const struct pl_err *err);

/* New ones; done follows once. */
PL_NODISCARD enum pl_code workload_write(struct kv *kv,
                                         const struct workload_spec *workload,
                                         const struct workload_range *range,
                                         workload_done_fn *done, void *ctx,
                                         struct pl_err *err);

/* -- and what has become of it ------------------------------------------------------- */

struct workload_found {
	int64_t revision;
	uint32_t nodes, allocs, specs, bound, pending;
	uint64_t alloc_bytes, state_bytes;
	/* What may not be: a pod on two nodes, a node that is full beyond what it has, an
	 * alloc that is not the sum of its pods, ... Empty: nothing. */
	char wrong[WORKLOAD_WRONG_SIZE];
};

typedef void workload_found_fn(void *ctx, const struct workload_found *found,
                               const struct pl_err *err);

/* All keys at one revision. */
PL_NODISCARD enum pl_code workload_check(struct kv *kv,
                                         const struct workload_spec *workload,
                                         workload_found_fn *done, void *ctx,
                                         struct pl_err *err);

#endif
