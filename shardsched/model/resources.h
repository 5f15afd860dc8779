/*
 * Amounts of resources as the scheduler counts them: CPU in thousandths, all else
 * in whole units, rounded up. Shared: of machines of one kind, of replicas.
 *
 * Only what is scheduled is in them: CPU, memory, ephemeral storage, the number of
 * pods, and *scalars*: extended resources, huge pages, attachable volumes.
 * No amount is negative or above RESOURCES_MOST, so that sums of a million of them
 * can be made in 64 bits with resources_sum, which stops at the end.
 */
#ifndef SHARDSCHED_MODEL_RESOURCES_H
#define SHARDSCHED_MODEL_RESOURCES_H

#include "shardsched/model/model.h"

#define RESOURCES_MOST INT64_MAX

struct resource_row {
	int64_t amount; /* never 0 for pods */
	uint32_t name;
	uint32_t zero;
};

struct resources {
	struct intern_item item;
	uint32_t zero;
	int64_t cpu_milli;
	int64_t memory;
	int64_t storage; /* ephemeral */
	int64_t pods;
	uint64_t count;
	struct resource_row row[]; /* scalars by name */
};

/* A sum of amounts in 10^-9, exact. */
struct resource_sum {
	struct pl_span name;
	pl_int128 nano;
};

enum { RESOURCE_NAMES_MAX = 256 };

struct resource_sums {
	struct resource_sum *at; /* room for RESOURCE_NAMES_MAX */
	uint32_t count;
};

/* false: too many different names */
bool resource_sums_add(struct resource_sums *sums, struct pl_span name, pl_int128 nano);
bool resource_sums_max(struct resource_sums *sums, struct pl_span name, pl_int128 nano);
pl_int128 resource_sums_get(const struct resource_sums *sums, struct pl_span name);

/* False: the amount is beyond RESOURCES_MOST. Negative amounts give 0. */
bool resource_units(pl_int128 nano, int64_t *out);
bool resource_milli(pl_int128 nano, int64_t *out);

/* Returns the value with a reference. An amount above the maximum becomes the maximum, so
 * the caller checks before. zeros: scalars of amount 0 are kept, as on nodes. */
const struct resources *resources_make(struct maker *maker,
                                       const struct resource_sums *sums, bool zeros);

/* The amount of a scalar; 0 when it is not among the resources. */
int64_t resources_get(const struct resources *resources, uint32_t name);

static inline int64_t resources_sum(int64_t a, int64_t b)
{
	return a > RESOURCES_MOST - b ? RESOURCES_MOST : a + b;
}

/* Names, as Kubernetes sorts them. */
bool resource_is_native(struct pl_span name);      /* no domain, or kubernetes.io */
bool resource_is_extended(struct pl_span name);    /* example.com/gpu */
bool resource_is_huge_pages(struct pl_span name);  /* hugepages-2Mi */
bool resource_is_scalar(struct pl_span name);      /* counted by name */
bool resource_is_whole(struct pl_span name);       /* fractions make no sense */
bool resource_is_standard(struct pl_span name);    /* may stand without a domain */
bool resource_is_container(struct pl_span name);   /* ... in a container */
bool resource_may_overcommit(struct pl_span name); /* request below limit */

#endif
