#include "coord/service/shards/conflict_stats.h"

#include <stdlib.h>

static int compare_conflicts(const void *a, const void *b)
{
	const struct conflict_shard *x = a, *y = b;

	if (x->work->conflicts != y->work->conflicts)
		return x->work->conflicts > y->work->conflicts ? -1 : 1;
	return pl_span_cmp(x->id, y->id);
}

static int compare_placements(const void *a, const void *b)
{
	const struct membership_cause *x = a, *y = b;

	if (x->placements != y->placements)
		return x->placements > y->placements ? -1 : 1;
	return pl_span_cmp(x->word, y->word);
}

static int compare_names(const void *a, const void *b)
{
	const struct conflict_node *x = a, *y = b;
	int order = pl_span_cmp(x->cluster, y->cluster);

	return order != 0 ? order : pl_span_cmp(x->name, y->name);
}

static int compare_counts(const void *a, const void *b)
{
	const struct conflict_node *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->at_ms != y->at_ms)
		return x->at_ms > y->at_ms ? -1 : 1;
	return compare_names(a, b);
}

static void add_causes(struct conflict_stats *stats, const struct membership_work *work)
{
	for (uint32_t i = 0; i < work->cause_count; i++) {
		const struct membership_cause *from = &work->causes[i];
		uint32_t at = 0;

		while (at < stats->causes &&
		       !pl_span_eq(stats->cause[at].word, from->word))
			at++;
		if (at == CONFLICT_CAUSES_MAX)
			continue;
		if (at == stats->causes)
			stats->cause[stats->causes++] =
				(struct membership_cause){.word = from->word};
		stats->cause[at].placements += from->placements;
		stats->cause[at].txns += from->txns;
	}
}

static void add_nodes(struct conflict_node *to, uint32_t *count, struct pl_span shard,
                      const struct membership_node *from, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes; i++)
		to[(*count)++] = (struct conflict_node){.cluster = from[i].cluster,
		                                        .name = from[i].name,
		                                        .cause = from[i].cause,
		                                        .shard = shard,
		                                        .count = from[i].count,
		                                        .over = from[i].over,
		                                        .most = from[i].count,
		                                        .shards = 1,
		                                        .at_ms = from[i].at_ms};
}

static void add_sum(struct membership_work *sum, const struct membership_work *work)
{
	sum->placed += work->placed;
	sum->conflicts += work->conflicts;
	sum->txns += work->txns;
	sum->txns_failed += work->txns_failed;
	sum->pending += work->pending;
	sum->placed_per_s += work->placed_per_s;
	sum->conflicts_per_s += work->conflicts_per_s;
	if (work->lag_ms > sum->lag_ms)
		sum->lag_ms = work->lag_ms;
}

/* Merges the counts of several shards for one node. */
static void merge_nodes(struct conflict_node *node, uint32_t *count)
{
	uint32_t kept = 0;

	if (*count < 2)
		return;
	qsort(node, *count, sizeof *node, compare_names);
	for (uint32_t i = 1; i < *count; i++) {
		struct conflict_node *last = &node[kept], *next = &node[i];

		if (compare_names(last, next) != 0) {
			node[++kept] = *next;
			continue;
		}
		last->count += next->count;
		last->over += next->over;
		last->shards++;
		if (next->at_ms > last->at_ms)
			last->at_ms = next->at_ms;
		if (next->most > last->most) {
			last->most = next->most;
			last->shard = next->shard;
			last->cause = next->cause;
		}
	}
	*count = kept + 1;
	qsort(node, *count, sizeof *node, compare_counts);
}

static enum pl_code reserve_rows(const struct roster *roster, struct pl_arena *arena,
                                 struct conflict_stats *stats)
{
	size_t members = roster_count(roster) + 1;

	stats->shard = pl_arena_zalloc(arena, members, sizeof *stats->shard);
	stats->node = pl_arena_zalloc(arena, members * MEMBERSHIP_NODES_MAX,
	                              sizeof *stats->node);
	stats->excluded = pl_arena_zalloc(arena, members * MEMBERSHIP_NODES_MAX,
	                                  sizeof *stats->excluded);
	return stats->shard == NULL || stats->node == NULL || stats->excluded == NULL
	               ? PL_NOMEM
	               : PL_OK;
}

static void add_shard(struct conflict_stats *stats, const struct roster_entry *entry)
{
	const struct membership_work *work = &entry->member.work;
	uint32_t before = stats->excluded_count;

	if (entry->malformed || !work->known) {
		stats->silent++;
		return;
	}
	stats->shard[stats->shards++] =
		(struct conflict_shard){.id = entry->member.id, .work = work};
	add_sum(&stats->sum, work);
	add_causes(stats, work);
	add_nodes(stats->node, &stats->nodes, entry->member.id, work->nodes,
	          work->node_count);
	add_nodes(stats->excluded, &stats->excluded_count, entry->member.id, work->asides,
	          work->aside_count);
	/* A node whose exclusion has ended since the record was written does not count. */
	for (uint32_t i = stats->excluded_count; i-- > before;)
		if (stats->excluded[i].at_ms <= stats->now_ms)
			stats->excluded[i] = stats->excluded[--stats->excluded_count];
}

enum pl_code conflict_stats_collect(const struct roster *roster, int64_t now_ms,
                                    struct pl_arena *arena, struct conflict_stats *out,
                                    struct pl_err *err)
{
	struct conflict_stats stats = {.now_ms = now_ms};

	if (reserve_rows(roster, arena, &stats) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "gather what the shards tell");
	for (const struct roster_entry *entry = roster_first(roster); entry != NULL;
	     entry = roster_next(roster, entry))
		add_shard(&stats, entry);
	merge_nodes(stats.node, &stats.nodes);
	merge_nodes(stats.excluded, &stats.excluded_count);
	if (stats.shards > 1)
		qsort(stats.shard, stats.shards, sizeof *stats.shard, compare_conflicts);
	if (stats.causes > 1)
		qsort(stats.cause, stats.causes, sizeof stats.cause[0],
		      compare_placements);
	*out = stats;
	return PL_OK;
}
