#include <stdlib.h>

#include "coord/cli/top/top.h"

static int compare_conflicts(const void *a, const void *b)
{
	const struct top_shard *x = a, *y = b;

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
	const struct top_node *x = a, *y = b;
	int order = pl_span_cmp(x->cluster, y->cluster);

	return order != 0 ? order : pl_span_cmp(x->name, y->name);
}

static int compare_counts(const void *a, const void *b)
{
	const struct top_node *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->at_ms != y->at_ms)
		return x->at_ms > y->at_ms ? -1 : 1;
	return compare_names(a, b);
}

static void add_causes(struct top_conflicts *top, const struct membership_work *work)
{
	for (uint32_t i = 0; i < work->cause_count; i++) {
		const struct membership_cause *from = &work->causes[i];
		uint32_t at = 0;

		while (at < top->causes && !pl_span_eq(top->cause[at].word, from->word))
			at++;
		if (at == TOP_CAUSES_MAX)
			continue;
		if (at == top->causes)
			top->cause[top->causes++] =
				(struct membership_cause){.word = from->word};
		top->cause[at].placements += from->placements;
		top->cause[at].txns += from->txns;
	}
}

static void add_nodes(struct top_node *to, uint32_t *count, struct pl_span shard,
                      const struct membership_node *from, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes; i++)
		to[(*count)++] = (struct top_node){.cluster = from[i].cluster,
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

/* What several shards tell of one node. */
static void merge_nodes(struct top_node *node, uint32_t *count)
{
	uint32_t kept = 0;

	if (*count < 2)
		return;
	qsort(node, *count, sizeof *node, compare_names);
	for (uint32_t i = 1; i < *count; i++) {
		struct top_node *last = &node[kept], *next = &node[i];

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
                                 struct top_conflicts *top)
{
	size_t members = roster_count(roster) + 1;

	top->shard = pl_arena_zalloc(arena, members, sizeof *top->shard);
	top->node =
		pl_arena_zalloc(arena, members * MEMBERSHIP_NODES_MAX, sizeof *top->node);
	top->aside = pl_arena_zalloc(arena, members * MEMBERSHIP_NODES_MAX,
	                             sizeof *top->aside);
	return top->shard == NULL || top->node == NULL || top->aside == NULL ? PL_NOMEM
	                                                                     : PL_OK;
}

static void add_shard(struct top_conflicts *top, const struct roster_entry *entry)
{
	const struct membership_work *work = &entry->member.work;
	uint32_t asides = top->asides;

	if (entry->malformed || !work->known) {
		top->silent++;
		return;
	}
	top->shard[top->shards++] =
		(struct top_shard){.id = entry->member.id, .work = work};
	add_sum(&top->sum, work);
	add_causes(top, work);
	add_nodes(top->node, &top->nodes, entry->member.id, work->nodes,
	          work->node_count);
	add_nodes(top->aside, &top->asides, entry->member.id, work->asides,
	          work->aside_count);
	/* Those whose time is over since it was told. */
	for (uint32_t i = top->asides; i-- > asides;)
		if (top->aside[i].at_ms <= top->now_ms)
			top->aside[i] = top->aside[--top->asides];
}

enum pl_code top_collect(const struct roster *roster, struct pl_arena *arena,
                         struct top_conflicts *out, struct pl_err *err)
{
	struct top_conflicts top = {.now_ms = out->now_ms, .limit = out->limit};

	if (reserve_rows(roster, arena, &top) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "gather what the shards tell");
	for (const struct roster_entry *entry = roster_first(roster); entry != NULL;
	     entry = roster_next(roster, entry))
		add_shard(&top, entry);
	merge_nodes(top.node, &top.nodes);
	merge_nodes(top.aside, &top.asides);
	if (top.shards > 1)
		qsort(top.shard, top.shards, sizeof *top.shard, compare_conflicts);
	if (top.causes > 1)
		qsort(top.cause, top.causes, sizeof top.cause[0], compare_placements);
	*out = top;
	return PL_OK;
}
