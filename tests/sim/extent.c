#include "tests/sim/extent.h"

#include <inttypes.h>

#include "tests/sim/scene.h"

_Static_assert(SCENE_PODS_MIN >= SCENE_KINDS * SCENE_GROUP,
               "the smallest world has pods of every kind");

bool extent_is_below(const struct extent *extent)
{
	return extent->nodes != 0 &&
	       (extent->shards < SCENE_SHARDS_MIN ||
	        extent->partitions < SCENE_PARTITIONS_MIN ||
	        extent->clusters < SCENE_CLUSTERS_MIN ||
	        extent->nodes < SCENE_NODES_MIN || extent->pods < SCENE_PODS_MIN);
}

/* By nodes, then by shards, then by partitions. */
static bool is_smaller(const struct extent *a, const struct extent *b)
{
	if (a->nodes != b->nodes)
		return a->nodes < b->nodes;
	if (a->shards != b->shards)
		return a->shards < b->shards;
	return a->partitions < b->partitions;
}

/* Of equals the first seed, whoever was done first. */
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

static void print_one(const char *word, const struct extent *extent, FILE *out)
{
	unsigned kinds = (extent->pods + SCENE_GROUP - 1) / SCENE_GROUP;

	(void)fprintf(out, "  %-8s seed %" PRIu64 ": %u shards, %u partitions", word,
	              extent->seed, extent->shards, extent->partitions);
	if (extent->nodes != 0)
		(void)fprintf(out, ", %u clusters, %u nodes, %u pods of %u kinds",
		              extent->clusters, extent->nodes, extent->pods,
		              kinds < SCENE_KINDS ? kinds : SCENE_KINDS);
	(void)fputc('\n', out);
}

static void print_sort(const char *words, const struct extents *extents, FILE *out)
{
	(void)fprintf(out, "%" PRIu64 " worlds %s\n", extents->count, words);
	if (extents->count == 0)
		return;
	print_one("smallest", &extents->smallest, out);
	print_one("largest", &extents->largest, out);
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
		              sum->full.below, sum->full.count, SCENE_SHARDS_MIN,
		              SCENE_PARTITIONS_MIN, SCENE_CLUSTERS_MIN, SCENE_NODES_MIN,
		              SCENE_PODS_MIN);
}
