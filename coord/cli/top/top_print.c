#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/age.h"
#include "coord/cli/output/printable.h"
#include "coord/cli/top/top.h"
#include "store/base/json_out.h"
#include "store/base/timestamp.h"

/* The first failure stays. */
struct top_text_out {
	struct pl_buf *out;
	enum pl_code code;
};

/* A line. */
PL_PRINTF(2, 3) static void add(struct top_text_out *text, const char *fmt, ...)
{
	char line[1024];
	va_list args;

	if (text->code != PL_OK)
		return;
	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	text->code = printable_add(text->out, pl_span_str(line), NULL);
	if (text->code == PL_OK)
		text->code = pl_buf_add_str(text->out, "\n");
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (double)part / (double)whole;
}

static void add_sum(struct top_text_out *text, const struct conflict_stats *stats)
{
	const struct membership_work *sum = &stats->sum;

	add(text,
	    "%" PRIu32 " shards: %.1f placements/s, %.1f conflicts/s, %" PRIu64
	    " pending, watches lag %" PRIu64 " ms",
	    stats->shards, sum->placed_per_s, sum->conflicts_per_s, sum->pending,
	    sum->lag_ms);
	if (stats->silent > 0)
		add(text, "%" PRIu32 " more tell of no scheduling", stats->silent);
	add(text,
	    "since they started: %" PRIu64 " placed, %" PRIu64
	    " conflicts (%.4f a placement); %" PRIu64 " transactions, %" PRIu64
	    " failed (%.4f)",
	    sum->placed, sum->conflicts, share_of(sum->conflicts, sum->placed), sum->txns,
	    sum->txns_failed, share_of(sum->txns_failed, sum->txns));
}

static void add_causes(struct top_text_out *text, const struct conflict_stats *stats)
{
	if (stats->causes == 0)
		return;
	add(text, "%s", "");
	add(text, "%-10s %12s %14s", "CAUSE", "PLACEMENTS", "TRANSACTIONS");
	for (uint32_t i = 0; i < stats->causes; i++)
		add(text, "%-10.*s %12" PRIu64 " %14" PRIu64,
		    PL_SPAN_ARG(stats->cause[i].word), stats->cause[i].placements,
		    stats->cause[i].txns);
}

static void add_shards(struct top_text_out *text, const struct conflict_stats *stats)
{
	add(text, "%s", "");
	add(text, "%-24s %10s %10s %9s %8s %8s %8s", "SHARD", "PLACED", "CONFLICTS",
	    "RATIO", "TXNS", "FAILED", "RATIO");
	for (uint32_t i = 0; i < stats->shards; i++) {
		const struct membership_work *work = stats->shard[i].work;

		add(text,
		    "%-24.*s %10" PRIu64 " %10" PRIu64 " %9.4f %8" PRIu64 " %8" PRIu64
		    " %8.4f",
		    PL_SPAN_ARG(stats->shard[i].id), work->placed, work->conflicts,
		    share_of(work->conflicts, work->placed), work->txns,
		    work->txns_failed, share_of(work->txns_failed, work->txns));
	}
}

/* "east/n-7" */
static const char *node_text(const struct conflict_node *node, char out[512])
{
	(void)snprintf(out, 512, PL_SPAN_FMT "/" PL_SPAN_FMT, PL_SPAN_ARG(node->cluster),
	               PL_SPAN_ARG(node->name));
	return out;
}

static const char *shard_text(const struct conflict_node *node, char out[512])
{
	if (node->shards == 1)
		(void)snprintf(out, 512, PL_SPAN_FMT, PL_SPAN_ARG(node->shard));
	else
		(void)snprintf(out, 512, PL_SPAN_FMT " and %" PRIu32 " more",
		               PL_SPAN_ARG(node->shard), node->shards - 1);
	return out;
}

static void add_nodes(struct top_text_out *text, const struct conflict_stats *stats,
                      uint32_t limit)
{
	char name[512], shard[512], age[AGE_SIZE];

	if (stats->nodes == 0)
		return;
	add(text, "%s", "");
	add(text, "%-36s %10s %-10s %-8s %s", "NODE", "CONFLICTS", "CAUSE", "LAST",
	    "SHARD");
	for (uint32_t i = 0; i < stats->nodes && i < limit; i++) {
		const struct conflict_node *node = &stats->node[i];
		char count[32];

		(void)snprintf(count, sizeof count, "%s%" PRIu64,
		               node->over > 0 ? "<=" : "", node->count);
		add(text, "%-36s %10s %-10.*s %-8s %s", node_text(node, name), count,
		    PL_SPAN_ARG(node->cause), age_text(stats->now_ms - node->at_ms, age),
		    shard_text(node, shard));
	}
}

static void add_excluded(struct top_text_out *text, const struct conflict_stats *stats,
                         uint32_t limit)
{
	char name[512], shard[512], age[AGE_SIZE];

	if (stats->excluded_count == 0)
		return;
	add(text, "%s", "");
	add(text, "%-36s %-10s %-8s %s", "EXCLUDED", "CAUSE", "FOR", "SHARD");
	for (uint32_t i = 0; i < stats->excluded_count && i < limit; i++) {
		const struct conflict_node *node = &stats->excluded[i];

		add(text, "%-36s %-10.*s %-8s %s", node_text(node, name),
		    PL_SPAN_ARG(node->cause), age_text(node->at_ms - stats->now_ms, age),
		    shard_text(node, shard));
	}
}

enum pl_code top_text(const struct conflict_stats *stats, uint32_t limit,
                      struct pl_buf *out)
{
	struct top_text_out text = {.out = out};

	add_sum(&text, stats);
	if (stats->sum.conflicts == 0 && stats->causes == 0 &&
	    stats->excluded_count == 0) {
		add(&text, "no conflicts");
		return text.code;
	}
	add_causes(&text, stats);
	add_shards(&text, stats);
	add_nodes(&text, stats, limit);
	add_excluded(&text, stats, limit);
	return text.code;
}

/* -- for machines ---------------------------------------------------------------------
 */

static void put_uint(struct pl_json_out *out, const char *name, uint64_t value)
{
	pl_json_out_name(out, name);
	pl_json_out_int(out, (int64_t)(value & INT64_MAX));
}

static void put_double(struct pl_json_out *out, const char *name, double value)
{
	pl_json_out_name(out, name);
	pl_json_out_double(out, value);
}

static void put_text(struct pl_json_out *out, const char *name, struct pl_span value)
{
	pl_json_out_name(out, name);
	pl_json_out_string(out, value);
}

static void put_work(struct pl_json_out *out, const struct membership_work *work)
{
	put_uint(out, "placed", work->placed);
	put_uint(out, "conflicts", work->conflicts);
	put_double(out, "conflicts_per_placement",
	           share_of(work->conflicts, work->placed));
	put_uint(out, "txns", work->txns);
	put_uint(out, "txns_failed", work->txns_failed);
	put_double(out, "failed_per_txn", share_of(work->txns_failed, work->txns));
	put_double(out, "placed_per_s", work->placed_per_s);
	put_double(out, "conflicts_per_s", work->conflicts_per_s);
	put_uint(out, "pending", work->pending);
	put_uint(out, "lag_ms", work->lag_ms);
}

static void put_causes(const struct conflict_stats *stats, struct pl_json_out *out)
{
	pl_json_out_name(out, "causes");
	pl_json_out_object(out);
	for (uint32_t i = 0; i < stats->causes; i++) {
		pl_json_out_name_span(out, stats->cause[i].word);
		pl_json_out_object(out);
		put_uint(out, "placements", stats->cause[i].placements);
		put_uint(out, "txns", stats->cause[i].txns);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_nodes(uint32_t limit, const char *name, const char *at,
                      const struct conflict_node *nodes, uint32_t count,
                      struct pl_json_out *out)
{
	char stamp[PL_TIMESTAMP_SIZE];

	pl_json_out_name(out, name);
	pl_json_out_array(out);
	for (uint32_t i = 0; i < count && i < limit; i++) {
		const struct conflict_node *node = &nodes[i];

		pl_json_out_object(out);
		put_text(out, "cluster", node->cluster);
		put_text(out, "node", node->name);
		put_text(out, "cause", node->cause);
		put_text(out, "shard", node->shard);
		put_uint(out, "shards", node->shards);
		if (node->count > 0)
			put_uint(out, "conflicts", node->count);
		if (node->over > 0)
			put_uint(out, "at_most_too_high_by", node->over);
		put_text(out, at, pl_span_str(pl_timestamp_print(node->at_ms, stamp)));
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

enum pl_code top_json(const struct conflict_stats *stats, uint32_t limit,
                      struct pl_buf *to)
{
	struct pl_json_out out;
	char stamp[PL_TIMESTAMP_SIZE];

	pl_json_out_init(&out, to);
	pl_json_out_object(&out);
	put_text(&out, "kind", PL_SPAN_LIT("Conflicts"));
	put_text(&out, "at", pl_span_str(pl_timestamp_print(stats->now_ms, stamp)));
	put_work(&out, &stats->sum);
	put_uint(&out, "silent", stats->silent);
	put_causes(stats, &out);
	pl_json_out_name(&out, "shards");
	pl_json_out_array(&out);
	for (uint32_t i = 0; i < stats->shards; i++) {
		pl_json_out_object(&out);
		put_text(&out, "name", stats->shard[i].id);
		put_work(&out, stats->shard[i].work);
		pl_json_out_end(&out);
	}
	pl_json_out_end(&out);
	put_nodes(limit, "nodes", "last", stats->node, stats->nodes, &out);
	put_nodes(limit, "aside", "until", stats->excluded, stats->excluded_count, &out);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}
