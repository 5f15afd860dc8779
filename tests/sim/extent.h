/*
 * How large the worlds of a run were. Printed at its end, so that nobody passes by
 * having shrunk them: the smallest world with pods has SCENE_SHARDS_MIN shards,
 * SCENE_CLUSTERS_MIN clusters, SCENE_NODES_MIN nodes and SCENE_PODS_MIN pods.
 */
#ifndef TESTS_SIM_EXTENT_H
#define TESTS_SIM_EXTENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One world; no nodes: its shards coordinate, and place nothing. */
struct extent {
	uint64_t seed;
	unsigned shards, partitions, clusters, nodes, pods;
};

/* Those of one sort. */
struct extents {
	uint64_t count, below; /* how many of them are too small */
	struct extent smallest, largest;
};

struct extent_sum {
	struct extents full, bare; /* with pods; without */
};

/* It has less of something than a world with pods may have. */
bool extent_is_below(const struct extent *extent);
void extent_add(struct extent_sum *sum, const struct extent *extent);
void extent_print(const struct extent_sum *sum, FILE *out);

#endif
