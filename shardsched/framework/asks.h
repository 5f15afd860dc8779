/*
 * What a pod asks for, and whether a node has that free: by adding up, exactly as the
 * plugin that filters by amounts judges it.
 */
#ifndef SHARDSCHED_FRAMEWORK_ASKS_H
#define SHARDSCHED_FRAMEWORK_ASKS_H

#include "shardsched/framework/cycle.h"

struct ask_scalar {
	int64_t amount;
	uint32_t name;
	uint32_t column;
};

struct asks {
	int64_t cpu_milli; /* INT64_MIN: none, as the two below */
	int64_t memory;
	int64_t storage;
	bool impossible; /* no node has one of the scalars */
	uint32_t scalars;
	struct ask_scalar scalar[SNAPSHOT_SCALARS_MAX];
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
struct room {
	int64_t cpu_milli;
	int64_t memory;
	int64_t storage;
	uint32_t pods;
	uint32_t zero;
};

/* The plugin of the profile that filters by amounts; -1: there is none. */
int asks_plugin(const struct profile *profile);

/* plugin -1: what scalars are asked for does not matter. */
void asks_init(struct asks *asks, const struct snapshot *snapshot,
               const struct fw_class *class, int plugin);

/* Without these pods, whose scalars are still to be given back. */
void asks_free(const struct asks *asks, const struct snapshot *snapshot, uint32_t slot,
               const struct room *room, struct free_amounts *out);
bool asks_fit(const struct asks *asks, const struct free_amounts *free);
/* How many such pods have room, one after the other, up to most. */
int64_t asks_times(const struct asks *asks, const struct free_amounts *free,
                   int64_t most);

/* A pod goes, or comes back. */
void asks_give(const struct asks *asks, const struct resources *resources,
               struct free_amounts *free);
void asks_take(const struct asks *asks, const struct resources *resources,
               struct free_amounts *free);
void asks_give_scalars(const struct asks *asks, const struct resources *resources,
                       struct free_amounts *free);

#endif
