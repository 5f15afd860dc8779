/*
 * How large the worlds of a run were. Printed at its end, so that no run passes by having
 * shrunk them: the smallest world with pods has SCENARIO_SHARDS_MIN shards,
 * SCENARIO_CLUSTERS_MIN clusters, SCENARIO_NODES_MIN nodes and SCENARIO_PODS_MIN pods.
 */
#ifndef TESTS_SIM_EXTENT_H
#define TESTS_SIM_EXTENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The size of one world; nodes 0: its shards coordinate, and place nothing. */
struct extent {
	uint64_t seed;
	unsigned shards, partitions, clusters, nodes, pods;
};

/* The sizes of worlds of one sort. */
struct extents {
	uint64_t count, below; /* worlds; worlds that are too small */
	struct extent smallest, largest;
};

struct extent_sum {
	struct extents full, bare; /* worlds with pods; without */
};

/* The world has less of something than a world with pods may have. */
bool extent_is_below(const struct extent *extent);
void extent_add(struct extent_sum *sum, const struct extent *extent);
void extent_print(const struct extent_sum *sum, FILE *out);

#endif
