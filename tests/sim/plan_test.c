/*
 * How small a world may be: no world with pods is below the smallest scenario, whatever
 * is drawn and whatever is asked for; and how a run reports how large its worlds were.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/harness/t.h"
#include "tests/sim/extent.h"
#include "tests/sim/plan.h"

enum { SEEDS = 4000 };

static struct extent extent_of(const struct plan *plan, uint64_t seed)
{
	return (struct extent){.seed = seed,
	                       .shards = plan->shards,
	                       .partitions = plan->partitions,
	                       .clusters = plan->scenario.clusters,
	                       .nodes = plan->scenario.nodes,
	                       .pods = plan->scenario.pods};
}

T_CASE(no_seed_draws_a_world_below_the_smallest)
{
	struct plan_request request = {.profile = "all"};
	struct extent_sum sum = {0};
	struct plan plan;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct extent extent;

		T_TRUE(plan_draw(&plan, &request, seed));
		extent = extent_of(&plan, seed);
		T_TRUE(!extent_is_below(&extent));
		extent_add(&sum, &extent);
	}
	T_TRUE(sum.full.count > SEEDS / 6 && sum.full.below == 0);
	T_EQ(sum.full.count + sum.bare.count, SEEDS);
	T_EQ(sum.full.smallest.nodes, SCENARIO_NODES_MIN);
	T_EQ(sum.full.smallest.shards, SCENARIO_SHARDS_MIN);
	T_TRUE(sum.full.largest.nodes > 200);
}

static void refused(struct plan_request request, const char *option)
{
	struct plan plan;
	struct pl_err err;

	T_CODE(plan_check(&request, &err), PL_INVALID, &err);
	T_TRUE(strncmp(err.msg, option, strlen(option)) == 0);
	T_TRUE(strstr(err.msg, "--small") != NULL);
	T_TRUE(!plan_draw(&plan, &request, 3));
	request.small = true;
	T_OK(plan_check(&request, &err), &err);
	T_TRUE(plan_draw(&plan, &request, 3));
}

T_CASE(a_smaller_world_with_pods_is_refused)
{
	refused((struct plan_request){.profile = "all", .nodes = 59}, "--nodes 59:");
	refused((struct plan_request){.profile = "all", .shards = 2}, "--shards 2:");
	refused((struct plan_request){.profile = "net", .partitions = 3},
	        "--partitions 3:");
	refused((struct plan_request){.profile = "tenth",
	                              .work = PLAN_WORK_FULL,
	                              .shards = 1,
	                              .partitions = 1},
	        "--shards 1:");
}

/* A world without a row of pods leaves nothing to draw from. */
T_CASE(a_world_too_small_for_a_row_of_pods_is_always_refused)
{
	struct plan_request request = {.profile = "all", .nodes = 3, .small = true};
	struct plan plan;
	struct pl_err err;

	T_CODE(plan_check(&request, &err), PL_INVALID, &err);
	T_TRUE(!plan_draw(&plan, &request, 3));
	request.nodes = 4;
	T_OK(plan_check(&request, &err), &err);
}

T_CASE(worlds_without_pods_may_be_small)
{
	struct plan_request none = {
		.profile = "all", .work = PLAN_WORK_NONE, .shards = 1, .partitions = 1};
	struct plan_request tenth = {.profile = "tenth", .shards = 2};
	struct plan_request least = {.profile = "all",
	                             .work = PLAN_WORK_FULL,
	                             .shards = SCENARIO_SHARDS_MIN,
	                             .partitions = SCENARIO_PARTITIONS_MIN,
	                             .nodes = SCENARIO_NODES_MIN};
	struct pl_err err;

	T_OK(plan_check(&none, &err), &err);
	T_OK(plan_check(&tenth, &err), &err);
	T_OK(plan_check(&least, &err), &err);
}

T_CASE(an_unknown_profile_is_refused)
{
	struct plan_request request = {.profile = "calm"};
	struct plan plan;
	struct pl_err err;

	T_CODE(plan_check(&request, &err), PL_INVALID, &err);
	T_TRUE(strstr(err.msg, "orderly") != NULL);
	T_TRUE(!plan_draw(&plan, &request, 1));
}

static char *print(const struct extent *extent, unsigned count)
{
	struct extent_sum sum = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	T_TRUE(out != NULL);
	for (unsigned i = 0; i < count; i++)
		extent_add(&sum, &extent[i]);
	extent_print(&sum, out);
	T_EQ(fclose(out), 0);
	return text;
}

T_CASE(a_run_says_how_large_its_worlds_were)
{
	const struct extent extents[] = {
		{9, 3, 5, 2, 60, 300},   {8, 4, 9, 3, 60, 300}, {7, 3, 5, 2, 60, 300},
		{6, 5, 8, 4, 90, 450},   {5, 2, 4, 0, 0, 0},    {4, 6, 16, 5, 300, 1500},
		{3, 6, 16, 5, 300, 1500}};
	char *text = print(extents, 7);

	T_STR(text, "6 worlds with nodes and pods\n"
	            "  smallest seed 7: 3 shards, 5 partitions, 2 clusters, 60 nodes, "
	            "300 pods of 20 kinds\n"
	            "  largest  seed 3: 6 shards, 16 partitions, 5 clusters, 300 nodes, "
	            "1500 pods of 20 kinds\n"
	            "1 worlds whose shards coordinate only\n"
	            "  smallest seed 5: 2 shards, 4 partitions\n"
	            "  largest  seed 5: 2 shards, 4 partitions\n");
	free(text);
}

T_CASE(small_worlds_are_reported)
{
	const struct extent extents[] = {{1, 3, 4, 2, 60, 300}, {2, 3, 4, 2, 4, 20}};
	char *text = print(extents, 2);

	T_TRUE(strstr(text, "20 pods of 4 kinds\n") != NULL);
	T_TRUE(strstr(text, "\nSMALL WORLDS: 1 of 2 with pods are below 3 shards") !=
	       NULL);
	free(text);
}
