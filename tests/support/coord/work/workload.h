/*
 * A workload fixture for tests and benches: numbered nodes and pods, written to a
 * store as a client would write them, and a check of the result.
 *
 * Node n is node-<n> of one of two clusters, pod n is pod-<n> of one of some
 * namespaces. The requests of a pod follow from its number, so the check knows what
 * each pod takes without the code under test.
 */
#ifndef TESTS_SUPPORT_COORD_WORK_WORKLOAD_H
#define TESTS_SUPPORT_COORD_WORK_WORKLOAD_H

#include "store/base/buf.h"
#include "store/kv/kv.h"

enum {
	WORKLOAD_NODE_CPU_MILLI = 4000,
	WORKLOAD_NODE_PODS = 110,
	WORKLOAD_ZONES = 8,
	WORKLOAD_NAME_SIZE = 32,
	WORKLOAD_WRONG_SIZE = 320,
};

/* X(NAME, name): what the pods want besides their requests. */
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

/* Requests of a pod, in thousandths of a CPU. */
uint32_t workload_pod_cpu(uint32_t pod);

void workload_node_cluster(uint32_t node, char out[WORKLOAD_NAME_SIZE]);
void workload_node_name(uint32_t node, char out[WORKLOAD_NAME_SIZE]);
void workload_pod_namespace(uint32_t pod, char out[WORKLOAD_NAME_SIZE]);
void workload_pod_name(uint32_t pod, char out[WORKLOAD_NAME_SIZE]);
/* The number of a node or pod; false: it is not one of the workload. */
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

/* Creates the objects; done follows once. */
PL_NODISCARD enum pl_code workload_write(struct kv *kv,
                                         const struct workload_spec *workload,
                                         const struct workload_range *range,
                                         workload_done_fn *done, void *ctx,
                                         struct pl_err *err);

/* -- and what has become of it ----------------------------------------------------- */

struct workload_found {
	int64_t revision;
	uint32_t nodes, allocs, specs, bound, pending;
	uint64_t alloc_bytes, state_bytes;
	/* The invalid thing that was found: a pod on two nodes, a node with more than it has, an alloc
	 * that is not the sum of its pods, ... Empty: nothing. */
	char wrong[WORKLOAD_WRONG_SIZE];
};

typedef void workload_found_fn(void *ctx, const struct workload_found *found,
                               const struct pl_err *err);

/* Reads all keys at one revision. */
PL_NODISCARD enum pl_code workload_check(struct kv *kv,
                                         const struct workload_spec *workload,
                                         workload_found_fn *done, void *ctx,
                                         struct pl_err *err);

#endif
