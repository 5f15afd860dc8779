#include "tests/sim/extent.h"

#include <inttypes.h>

#include "tests/sim/scenario.h"

_Static_assert(SCENARIO_PODS_MIN >= SCENARIO_KINDS * SCENARIO_GROUP,
               "the smallest world has pods of every kind");

bool extent_is_below(const struct extent *extent)
{
	return extent->nodes != 0 &&
	       (extent->shards < SCENARIO_SHARDS_MIN ||
	        extent->partitions < SCENARIO_PARTITIONS_MIN ||
	        extent->clusters < SCENARIO_CLUSTERS_MIN ||
	        extent->nodes < SCENARIO_NODES_MIN || extent->pods < SCENARIO_PODS_MIN);
}

/* Compares nodes, then shards, then partitions. */
static bool is_smaller(const struct extent *a, const struct extent *b)
{
	if (a->nodes != b->nodes)
		return a->nodes < b->nodes;
	if (a->shards != b->shards)
		return a->shards < b->shards;
	return a->partitions < b->partitions;
}

/* Among equals the first seed counts, whichever ended first. */
static bool goes_before(const struct extent *a, const struct extent *b, bool smaller)
{
	if (is_smaller(a, b) || is_smaller(b, a))
		return is_smaller(a, b) == smaller;
	return a->seed < b->seed;
}

void extent_add(struct extent_sum *sum, const struct extent *extent)
{
	struct extents *to = extent->nodes != 0 ? &sum->full : &sum->bare;

	if (to->count == 0 || goes_before(extent, &to->smallest, true))
		to->smallest = *extent;
	if (to->count == 0 || goes_before(extent, &to->largest, false))
		to->largest = *extent;
	to->count++;
	to->below += extent_is_below(extent);
}

static void print_extent(const char *word, const struct extent *extent, FILE *out)
{
	unsigned kinds = (extent->pods + SCENARIO_GROUP - 1) / SCENARIO_GROUP;

	(void)fprintf(out, "  %-8s seed %" PRIu64 ": %u shards, %u partitions", word,
	              extent->seed, extent->shards, extent->partitions);
	if (extent->nodes != 0)
		(void)fprintf(out, ", %u clusters, %u nodes, %u pods of %u kinds",
		              extent->clusters, extent->nodes, extent->pods,
		              kinds < SCENARIO_KINDS ? kinds : SCENARIO_KINDS);
	(void)fputc('\n', out);
}

static void print_sort(const char *words, const struct extents *extents, FILE *out)
{
	(void)fprintf(out, "%" PRIu64 " worlds %s\n", extents->count, words);
	if (extents->count == 0)
		return;
	print_extent("smallest", &extents->smallest, out);
	print_extent("largest", &extents->largest, out);
}

void extent_print(const struct extent_sum *sum, FILE *out)
{
	print_sort("with nodes and pods", &sum->full, out);
	print_sort("whose shards coordinate only", &sum->bare, out);
	if (sum->full.below > 0)
		(void)fprintf(out,
		              "SMALL WORLDS: %" PRIu64 " of %" PRIu64
		              " with pods are below %d shards, %d partitions, %d "
		              "clusters, %d nodes and %d pods: they prove little\n",
		              sum->full.below, sum->full.count, SCENARIO_SHARDS_MIN,
		              SCENARIO_PARTITIONS_MIN, SCENARIO_CLUSTERS_MIN,
		              SCENARIO_NODES_MIN, SCENARIO_PODS_MIN);
}
