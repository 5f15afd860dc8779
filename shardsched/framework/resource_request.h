/*
 * What a pod asks for, and whether a node has that free: by adding up, exactly as the
 * plugin that filters by amounts judges it.
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
	int64_t cpu_milli; /* INT64_MIN: none, as the two below */
	int64_t memory;
	int64_t storage;
	bool impossible; /* no node has one of the scalars */
	uint32_t scalars;
	struct scalar_request scalar[SNAPSHOT_SCALARS_MAX];
};

/* What is free on a node, of what is asked for. */
struct free_amounts {
	int64_t pods;
	int64_t cpu_milli;
	int64_t memory;
	int64_t storage;
	int64_t scalar[SNAPSHOT_SCALARS_MAX];
};

/* What some pods on a node hold. */
struct request_sum {
	int64_t cpu_milli;
	int64_t memory;
	int64_t storage;
	uint32_t pods;
	uint32_t zero;
};

/* The plugin of the profile that filters by amounts; -1: there is none. */
int resource_request_plugin(const struct profile *profile);

/* plugin -1: what scalars are asked for does not matter. */
void resource_request_init(struct resource_request *request,
                           const struct snapshot *snapshot, const struct fw_class *class,
                           int plugin);

/* Without these pods, whose scalars are still to be given back. */
void resource_request_available(const struct resource_request *request,
                                const struct snapshot *snapshot, uint32_t slot,
                                const struct request_sum *room, struct free_amounts *out);
bool resource_request_fits(const struct resource_request *request,
                           const struct free_amounts *free);
/* How many such pods have room, one after the other, up to most. */
int64_t resource_request_copies(const struct resource_request *request,
                                const struct free_amounts *free, int64_t most);

/* A pod goes, or comes back. */
void resource_request_return(const struct resource_request *request,
                             const struct resources *resources,
                             struct free_amounts *free);
void resource_request_take(const struct resource_request *request,
                           const struct resources *resources, struct free_amounts *free);
void resource_request_return_scalars(const struct resource_request *request,
                                     const struct resources *resources,
                                     struct free_amounts *free);

#endif
