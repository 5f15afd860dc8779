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

static void add_sum(struct top_text_out *text, const struct top_conflicts *top)
{
	const struct membership_work *sum = &top->sum;

	add(text,
	    "%" PRIu32 " shards: %.1f placements/s, %.1f conflicts/s, %" PRIu64
	    " pending, watches lag %" PRIu64 " ms",
	    top->shards, sum->placed_per_s, sum->conflicts_per_s, sum->pending,
	    sum->lag_ms);
	if (top->silent > 0)
		add(text, "%" PRIu32 " more tell of no scheduling", top->silent);
	add(text,
	    "since they started: %" PRIu64 " placed, %" PRIu64
	    " conflicts (%.4f a placement); %" PRIu64 " transactions, %" PRIu64
	    " failed (%.4f)",
	    sum->placed, sum->conflicts, share_of(sum->conflicts, sum->placed), sum->txns,
	    sum->txns_failed, share_of(sum->txns_failed, sum->txns));
}

static void add_causes(struct top_text_out *text, const struct top_conflicts *top)
{
	if (top->causes == 0)
		return;
	add(text, "%s", "");
	add(text, "%-10s %12s %14s", "CAUSE", "PLACEMENTS", "TRANSACTIONS");
	for (uint32_t i = 0; i < top->causes; i++)
		add(text, "%-10.*s %12" PRIu64 " %14" PRIu64,
		    PL_SPAN_ARG(top->cause[i].word), top->cause[i].placements,
		    top->cause[i].txns);
}

static void add_shards(struct top_text_out *text, const struct top_conflicts *top)
{
	add(text, "%s", "");
	add(text, "%-24s %10s %10s %9s %8s %8s %8s", "SHARD", "PLACED", "CONFLICTS",
	    "RATIO", "TXNS", "FAILED", "RATIO");
	for (uint32_t i = 0; i < top->shards; i++) {
		const struct membership_work *work = top->shard[i].work;

		add(text,
		    "%-24.*s %10" PRIu64 " %10" PRIu64 " %9.4f %8" PRIu64 " %8" PRIu64
		    " %8.4f",
		    PL_SPAN_ARG(top->shard[i].id), work->placed, work->conflicts,
		    share_of(work->conflicts, work->placed), work->txns,
		    work->txns_failed, share_of(work->txns_failed, work->txns));
	}
}

/* "east/n-7" */
static const char *node_text(const struct top_node *node, char out[512])
{
	(void)snprintf(out, 512, PL_SPAN_FMT "/" PL_SPAN_FMT, PL_SPAN_ARG(node->cluster),
	               PL_SPAN_ARG(node->name));
	return out;
}

static const char *shard_text(const struct top_node *node, char out[512])
{
	if (node->shards == 1)
		(void)snprintf(out, 512, PL_SPAN_FMT, PL_SPAN_ARG(node->shard));
	else
		(void)snprintf(out, 512, PL_SPAN_FMT " and %" PRIu32 " more",
		               PL_SPAN_ARG(node->shard), node->shards - 1);
	return out;
}

static void add_nodes(struct top_text_out *text, const struct top_conflicts *top)
{
	char name[512], shard[512], age[AGE_SIZE];

	if (top->nodes == 0)
		return;
	add(text, "%s", "");
	add(text, "%-36s %10s %-10s %-8s %s", "NODE", "CONFLICTS", "CAUSE", "LAST",
	    "SHARD");
	for (uint32_t i = 0; i < top->nodes && i < top->limit; i++) {
		const struct top_node *node = &top->node[i];
		char count[32];

		(void)snprintf(count, sizeof count, "%s%" PRIu64,
		               node->over > 0 ? "<=" : "", node->count);
		add(text, "%-36s %10s %-10.*s %-8s %s", node_text(node, name), count,
		    PL_SPAN_ARG(node->cause), age_text(top->now_ms - node->at_ms, age),
		    shard_text(node, shard));
	}
}

static void add_excluded(struct top_text_out *text, const struct top_conflicts *top)
{
	char name[512], shard[512], age[AGE_SIZE];

	if (top->asides == 0)
		return;
	add(text, "%s", "");
	add(text, "%-36s %-10s %-8s %s", "SET ASIDE", "CAUSE", "FOR", "SHARD");
	for (uint32_t i = 0; i < top->asides && i < top->limit; i++) {
		const struct top_node *node = &top->aside[i];

		add(text, "%-36s %-10.*s %-8s %s", node_text(node, name),
		    PL_SPAN_ARG(node->cause), age_text(node->at_ms - top->now_ms, age),
		    shard_text(node, shard));
	}
}

enum pl_code top_text(const struct top_conflicts *top, struct pl_buf *out)
{
	struct top_text_out text = {.out = out};

	add_sum(&text, top);
	if (top->sum.conflicts == 0 && top->causes == 0 && top->asides == 0) {
		add(&text, "no conflicts");
		return text.code;
	}
	add_causes(&text, top);
	add_shards(&text, top);
	add_nodes(&text, top);
	add_excluded(&text, top);
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

static void put_causes(const struct top_conflicts *top, struct pl_json_out *out)
{
	pl_json_out_name(out, "causes");
	pl_json_out_object(out);
	for (uint32_t i = 0; i < top->causes; i++) {
		pl_json_out_name_span(out, top->cause[i].word);
		pl_json_out_object(out);
		put_uint(out, "placements", top->cause[i].placements);
		put_uint(out, "txns", top->cause[i].txns);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_nodes(const struct top_conflicts *top, const char *name, const char *at,
                      const struct top_node *nodes, uint32_t count,
                      struct pl_json_out *out)
{
	char stamp[PL_TIMESTAMP_SIZE];

	pl_json_out_name(out, name);
	pl_json_out_array(out);
	for (uint32_t i = 0; i < count && i < top->limit; i++) {
		const struct top_node *node = &nodes[i];

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

enum pl_code top_json(const struct top_conflicts *top, struct pl_buf *to)
{
	struct pl_json_out out;
	char stamp[PL_TIMESTAMP_SIZE];

	pl_json_out_init(&out, to);
	pl_json_out_object(&out);
	put_text(&out, "kind", PL_SPAN_LIT("Conflicts"));
	put_text(&out, "at", pl_span_str(pl_timestamp_print(top->now_ms, stamp)));
	put_work(&out, &top->sum);
	put_uint(&out, "silent", top->silent);
	put_causes(top, &out);
	pl_json_out_name(&out, "shards");
	pl_json_out_array(&out);
	for (uint32_t i = 0; i < top->shards; i++) {
		pl_json_out_object(&out);
		put_text(&out, "name", top->shard[i].id);
		put_work(&out, top->shard[i].work);
		pl_json_out_end(&out);
	}
	pl_json_out_end(&out);
	put_nodes(top, "nodes", "last", top->node, top->nodes, &out);
	put_nodes(top, "aside", "until", top->aside, top->asides, &out);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}
