#include <stdio.h>

#include "shardsched/shard/txn/conflicts.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

enum { NODES = 300 };

static struct strings strings;
static struct conflicts conflicts;
static struct conflict_summary summary;
static uint32_t key[NODES][2];

static void up(void)
{
	char name[16];

	strings_init(&strings);
	for (unsigned i = 0; i < NODES; i++) {
		(void)snprintf(name, sizeof name, "n-%03u", i);
		T_EQ(strings_add(&strings, PL_SPAN_LIT("east"), &key[i][0]), PL_OK);
		T_EQ(strings_add(&strings, pl_span_str(name), &key[i][1]), PL_OK);
	}
	conflicts_init(&conflicts, &strings);
}

/* The table is the last holder of the names: it releases what it holds. */
static void down(void)
{
	conflicts_done(&conflicts);
	for (unsigned i = 0; i < NODES; i++) {
		strings_unref(&strings, key[i][0]);
		strings_unref(&strings, key[i][1]);
	}
	T_EQ(strings_find(&strings, PL_SPAN_LIT("east")), 0);
	strings_done(&strings);
}

T_CASE(counts_by_cause_and_by_node)
{
	up();
	conflicts_add(&conflicts, key[1], CONFLICT_ALLOC, 2, 1000);
	conflicts_add(&conflicts, key[2], CONFLICT_NODE, 1, 2000);
	conflicts_add(&conflicts, key[1], CONFLICT_NODE, 1, 3000);
	conflicts_add(&conflicts, NULL, CONFLICT_FENCED, 7, 3000);
	conflicts_summarize(&conflicts, 3500, &summary);
	T_EQ(summary.placements[CONFLICT_ALLOC], 2);
	T_EQ(summary.placements[CONFLICT_NODE], 2);
	T_EQ(summary.placements[CONFLICT_FENCED], 7);
	T_EQ(summary.nodes, 2);
	T_SPAN(summary.node[0].name, PL_SPAN_LIT("n-001"));
	T_EQ(summary.node[0].count, 3);
	T_EQ(summary.node[0].over, 0);
	T_EQ(summary.node[0].cause, CONFLICT_NODE);
	T_EQ(summary.node[0].ago_ms, 500);
	T_STR(conflict_cause_name(CONFLICT_STATE), "state");
	down();
}

/* The promise of space-saving, against the true counts. */
T_CASE(the_node_with_most_conflicts_is_found_among_many)
{
	uint64_t seed = t_seed(), truth[NODES] = {0};
	struct pl_rng rng;

	up();
	pl_rng_init(&rng, seed);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t a = pl_rng_below(&rng, NODES), b = pl_rng_below(&rng, NODES);
		uint64_t n = pl_rng_below(&rng, a * b / NODES + 1);

		conflicts_add(&conflicts, key[n], CONFLICT_ALLOC, 1, 1000);
		truth[n]++;
	}
	conflicts_summarize(&conflicts, 1000, &summary);
	T_EQ(summary.nodes, CONFLICT_SUMMARY_MAX);
	T_EQ(conflicts.rows, CONFLICT_ROWS);
	for (unsigned i = 0; i < conflicts.rows; i++) {
		const struct conflict_row *row = &conflicts.row[i];

		for (unsigned n = 0; n < NODES; n++)
			if (key[n][1] == row->key[1])
				T_TRUE(truth[n] <= row->count &&
				       row->count - row->over <= truth[n]);
	}
	for (unsigned i = 1; i < summary.nodes; i++)
		T_TRUE(summary.node[i - 1].count >= summary.node[i].count);
	T_TRUE(summary.node[0].count >= truth[0]);
	down();
}

T_CASE(old_conflicts_fade)
{
	up();
	conflicts_add(&conflicts, key[1], CONFLICT_ALLOC, 5, 1000);
	conflicts_add(&conflicts, key[2], CONFLICT_ALLOC, 3, 1000 + CONFLICT_FADE_MS);
	conflicts_summarize(&conflicts, 1000 + CONFLICT_FADE_MS, &summary);
	T_SPAN(summary.node[0].name, PL_SPAN_LIT("n-002"));
	T_EQ(summary.node[1].count, 2);
	conflicts_add(&conflicts, key[3], CONFLICT_ALLOC, 1, 1000 + 9 * CONFLICT_FADE_MS);
	T_EQ(conflicts.rows, 1);
	T_EQ(conflicts.placements[CONFLICT_ALLOC], 9);
	down();
}

T_CASE(a_node_is_excluded_until_its_time_is_over)
{
	up();
	conflicts_exclude(&conflicts, key[1], CONFLICT_ALLOC, 5000, 1000);
	conflicts_exclude(&conflicts, key[2], CONFLICT_NODE, 9000, 1000);
	conflicts_exclude(&conflicts, key[1], CONFLICT_NODE, 7000, 2000);
	conflicts_summarize(&conflicts, 2000, &summary);
	T_EQ(summary.excluded_count, 2);
	T_SPAN(summary.excluded[0].name, PL_SPAN_LIT("n-002"));
	T_EQ(summary.excluded[1].left_ms, 5000);
	T_EQ(summary.excluded[1].cause, CONFLICT_NODE);
	conflicts_summarize(&conflicts, 7000, &summary);
	T_EQ(summary.excluded_count, 1);
	conflicts_exclude(&conflicts, key[2], CONFLICT_NODE, 0, 7500);
	conflicts_summarize(&conflicts, 7500, &summary);
	T_EQ(summary.excluded_count, 0);
	T_EQ(conflicts.excluded_count, 0);
	down();
}

T_CASE(of_too_many_exclusions_the_longest_are_kept)
{
	up();
	for (unsigned i = 0; i < NODES; i++)
		conflicts_exclude(&conflicts, key[i], CONFLICT_ALLOC,
		                  2000 + (i * 7919) % NODES, 1000);
	conflicts_summarize(&conflicts, 1000, &summary);
	T_EQ(summary.excluded_count, CONFLICT_SUMMARY_MAX);
	T_EQ(summary.excluded_all, CONFLICT_EXCLUDED_MAX);
	for (unsigned i = 0; i < summary.excluded_count; i++)
		T_EQ(summary.excluded[i].left_ms, 1000 + NODES - 1 - i);
	down();
}
