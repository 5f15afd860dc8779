#include "coord/cli/pods/wait_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/alloc.h"

enum { ARENA_MAX = 1 << 20, WAITS_MAX = 16 << 20, FIRST_CAP = 1024 };

void wait_summary_init(struct wait_summary *summary)
{
	*summary = (struct wait_summary){0};
	pl_arena_init(&summary->arena, 0, ARENA_MAX);
}

void wait_summary_done(struct wait_summary *summary)
{
	pl_arena_done(&summary->arena);
	free(summary->waited_us);
	summary->waited_us = NULL;
}

static void count_name(struct wait_summary *summary, struct summary_names *names,
                       struct pl_span name)
{
	struct pl_span kept;

	for (uint32_t i = 0; i < names->count; i++) {
		if (!pl_span_eq(names->row[i].name, name))
			continue;
		names->row[i].count++;
		return;
	}
	kept = names->count < WAIT_SUMMARY_NAMES_MAX ? pl_arena_dup(&summary->arena, name)
	                                             : pl_span(NULL, 0);
	if (kept.at == NULL)
		names->others++;
	else
		names->row[names->count++] = (struct summary_name){kept, 1};
}

static bool grow_waits(struct wait_summary *summary)
{
	size_t cap = summary->cap == 0 ? FIRST_CAP : summary->cap * 2;
	uint32_t *grown = NULL;

	if (cap <= WAITS_MAX)
		grown = pl_realloc(summary->waited_us, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	summary->waited_us = grown;
	summary->cap = cap;
	return true;
}

void wait_summary_bound(struct wait_summary *summary, const struct pod_state *state,
                        uint64_t seen_us, uint64_t now_us)
{
	uint64_t waited_us = now_us - seen_us;

	summary->bound++;
	if (summary->first_us == 0)
		summary->first_us = now_us;
	summary->last_us = now_us;
	count_name(summary, &summary->clusters, state->cluster);
	count_name(summary, &summary->shards, state->shard);
	if (seen_us == 0)
		return;
	if (summary->waits == summary->cap && !grow_waits(summary)) {
		summary->short_of_memory = true;
		return;
	}
	summary->waited_us[summary->waits++] =
		waited_us < UINT32_MAX ? (uint32_t)waited_us : UINT32_MAX;
}

/* -- printing --------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	const struct summary_name *x = a, *y = b;

	return pl_span_cmp(x->name, y->name);
}

static int compare_waits(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void print_names(const char *what, struct summary_names *names)
{
	qsort(names->row, names->count, sizeof names->row[0], compare_names);
	(void)printf("%-10s", what);
	for (uint32_t i = 0; i < names->count; i++)
		(void)printf("%s" PL_SPAN_FMT " %" PRIu64, i == 0 ? "" : ", ",
		             PL_SPAN_ARG(names->row[i].name), names->row[i].count);
	if (names->others > 0)
		(void)printf(", others %" PRIu64, names->others);
	(void)printf("\n");
}

static double wait_at_ms(const struct wait_summary *summary, unsigned permille)
{
	size_t at = (summary->waits - 1) * permille / 1000;

	return summary->waited_us[at] / 1e3;
}

void wait_summary_print(struct wait_summary *summary)
{
	double took_s = (double)(summary->last_us - summary->first_us) / 1e6;

	if (summary->bound == 0)
		return;
	if (summary->bound > 1 && took_s > 0)
		(void)printf("placed    the first to the last in %.2f s: %.0f/s\n",
		             took_s, (double)(summary->bound - 1) / took_s);
	if (summary->waits > 0) {
		qsort(summary->waited_us, summary->waits, sizeof summary->waited_us[0],
		      compare_waits);
		(void)printf(
			"waited    from seen in the store to seen bound: p50 %.1f ms, "
			"p90 %.1f, p99 %.1f, most %.1f%s\n",
			wait_at_ms(summary, 500), wait_at_ms(summary, 900),
			wait_at_ms(summary, 990), wait_at_ms(summary, 1000),
			summary->short_of_memory ? " (not of all)" : "");
	}
	print_names("clusters", &summary->clusters);
	print_names("shards", &summary->shards);
	(void)fflush(stdout);
}
