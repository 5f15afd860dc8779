/*
 * A resource request is what a pod asks for, compared with what a node has free exactly
 * as NodeResourcesFit compares it. Preemption, gangs and nominated pods use it to add up
 * amounts without calling plugins.
 */
#ifndef SHARDSCHED_FRAMEWORK_RESOURCE_REQUEST_H
#define SHARDSCHED_FRAMEWORK_RESOURCE_REQUEST_H

#include "shardsched/framework/cycle.h"

struct scalar_request {
	int64_t amount;
	uint32_t name;
	uint32_t column;
};

struct resource_request {
	/* INT64_MIN: not requested; the same holds for memory and storage */
	int64_t cpu_milli;
	int64_t memory;
	int64_t storage;
	bool impossible; /* no node has one of the requested scalars */
	uint32_t scalars;
	struct scalar_request scalar[SNAPSHOT_SCALARS_MAX];
};

/* The amounts that a node has free of the requested resources. */
struct free_amounts {
	int64_t pods;
	int64_t cpu_milli;
	int64_t memory;
	int64_t storage;
	int64_t scalar[SNAPSHOT_SCALARS_MAX];
};

/* Sum of the requests of some pods on a node. */
struct request_sum {
	int64_t cpu_milli;
	int64_t memory;
	int64_t storage;
	uint32_t pods;
	uint32_t zero;
};

/* The plugin of the profile that filters by free amounts; -1: there is none. */
int resource_request_plugin(const struct profile *profile);

/* plugin -1: requested scalars do not matter. */
void resource_request_init(struct resource_request *request,
                           const struct snapshot *snapshot, const struct fw_class *class,
                           int plugin);

/* The amounts that the node has free without the pods of that sum. The sum has no
 * scalars: the caller returns them (resource_request_return_scalars). */
void resource_request_available(const struct resource_request *request,
                                const struct snapshot *snapshot, uint32_t slot,
                                const struct request_sum *reclaimed,
                                struct free_amounts *out);
bool resource_request_fits(const struct resource_request *request,
                           const struct free_amounts *free);
/* How many such pods fit, one after another, up to most. */
int64_t resource_request_copies(const struct resource_request *request,
                                const struct free_amounts *free, int64_t most);

/* Adds to the free amounts what a removed pod held, or takes what an added one holds. */
void resource_request_return(const struct resource_request *request,
                             const struct resources *resources,
                             struct free_amounts *free);
void resource_request_take(const struct resource_request *request,
                           const struct resources *resources, struct free_amounts *free);
void resource_request_return_scalars(const struct resource_request *request,
                                     const struct resources *resources,
                                     struct free_amounts *free);

#endif
