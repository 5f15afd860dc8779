#include <math.h>

#include "coord/membership/membership_int.h"
#include "store/base/timestamp.h"

static const double rate_max = 1e12;
static const struct pl_json_range count_range = {0, INT64_MAX};

/* The fields: rates first, then counts. */
static const struct {
	const char *name;
	size_t offset;
} counts[] = {
	{"placed", offsetof(struct membership_work, placed)},
	{"pending", offsetof(struct membership_work, pending)},
	{"conflicts", offsetof(struct membership_work, conflicts)},
	{"txns", offsetof(struct membership_work, txns)},
	{"txns_failed", offsetof(struct membership_work, txns_failed)},
	{"lag_ms", offsetof(struct membership_work, lag_ms)},
};

enum { COUNTS = sizeof counts / sizeof counts[0] };

static uint64_t *count_of(struct membership_work *work, size_t offset)
{
	return (uint64_t *)(void *)((uint8_t *)work + offset);
}

static void print_count(struct pl_json_out *out, const char *name, uint64_t value)
{
	pl_json_out_name(out, name);
	pl_json_out_int(out, (int64_t)(value & INT64_MAX));
}

static void print_rate(struct pl_json_out *out, const char *name, double value)
{
	pl_json_out_name(out, name);
	pl_json_out_double(out, !isfinite(value) || value < 0 ? 0
	                        : value > rate_max            ? rate_max
	                                                      : value);
}

static void print_text(struct pl_json_out *out, const char *name, struct pl_span text)
{
	pl_json_out_name(out, name);
	pl_json_out_string(out, text);
}

static void print_causes(const struct membership_work *work, struct pl_json_out *out)
{
	pl_json_out_name(out, "causes");
	pl_json_out_object(out);
	for (uint32_t i = 0; i < work->cause_count; i++) {
		const struct membership_cause *cause = &work->causes[i];

		pl_json_out_name_span(out, cause->word);
		pl_json_out_object(out);
		print_count(out, "placements", cause->placements);
		print_count(out, "txns", cause->txns);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void print_nodes(struct pl_json_out *out, const char *name, const char *at,
                        const struct membership_node *nodes, uint32_t count)
{
	char stamp[PL_TIMESTAMP_SIZE];

	if (count == 0)
		return;
	pl_json_out_name(out, name);
	pl_json_out_array(out);
	for (uint32_t i = 0; i < count; i++) {
		const struct membership_node *node = &nodes[i];

		pl_json_out_object(out);
		print_text(out, "cluster", node->cluster);
		print_text(out, "node", node->name);
		print_text(out, "cause", node->cause);
		if (node->count != 0)
			print_count(out, "count", node->count);
		if (node->over != 0)
			print_count(out, "over", node->over);
		pl_json_out_name(out, at);
		pl_json_out_str(out, pl_timestamp_print(node->at_ms, stamp));
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

void membership_work_print(const struct membership_work *work, struct pl_json_out *out)
{
	struct membership_work copy = *work;

	PL_ASSERT(work->cause_count <= MEMBERSHIP_CAUSES_MAX &&
	          work->node_count <= MEMBERSHIP_NODES_MAX &&
	          work->aside_count <= MEMBERSHIP_NODES_MAX);
	if (!work->known)
		return;
	pl_json_out_name(out, "work");
	pl_json_out_object(out);
	for (unsigned i = 0; i < COUNTS; i++)
		print_count(out, counts[i].name, *count_of(&copy, counts[i].offset));
	print_rate(out, "placed_per_s", work->placed_per_s);
	print_rate(out, "conflicts_per_s", work->conflicts_per_s);
	if (work->cause_count > 0)
		print_causes(work, out);
	print_nodes(out, "nodes", "at", work->nodes, work->node_count);
	print_nodes(out, "aside", "until", work->asides, work->aside_count);
	pl_json_out_end(out);
}

/* -- parsing ----------------------------------------------------------------------- */

static enum pl_code parse_count(struct pl_json object, const char *name, uint64_t *out,
                                struct pl_err *err)
{
	int64_t value = 0;
	enum pl_code code =
		pl_json_int_in(object, name, PL_JSON_OPTIONAL, count_range, &value, err);

	*out = (uint64_t)value;
	return code;
}

static enum pl_code parse_rate(struct pl_json object, const char *name, double *out,
                               struct pl_err *err)
{
	enum pl_code code = pl_json_double(object, name, PL_JSON_OPTIONAL, out, err);

	if (code == PL_OK && (*out < 0 || *out > rate_max))
		return pl_json_fail(pl_json_member(object, name), PL_INVALID, err,
		                    "want 0 to %g", rate_max);
	return code;
}

static enum pl_code parse_text(struct pl_json object, const char *name,
                               struct pl_span *out, struct pl_err *err)
{
	const char *text = "";
	enum pl_code code = pl_json_string(object, name, PL_JSON_REQUIRED, &text, err);

	*out = pl_span_str(text);
	if (code == PL_OK && out->len > MEMBERSHIP_TEXT_MAX)
		return pl_json_fail(pl_json_member(object, name), PL_INVALID, err,
		                    "want at most %d bytes", MEMBERSHIP_TEXT_MAX);
	return code;
}

static enum pl_code parse_node(struct pl_json item, const char *at,
                               struct membership_node *out, struct pl_err *err)
{
	struct pl_span stamp = {0};
	struct pl_err why;
	enum pl_code code = parse_text(item, "cluster", &out->cluster, err);

	if (code == PL_OK)
		code = parse_text(item, "node", &out->name, err);
	if (code == PL_OK)
		code = parse_text(item, "cause", &out->cause, err);
	if (code == PL_OK)
		code = parse_count(item, "count", &out->count, err);
	if (code == PL_OK)
		code = parse_count(item, "over", &out->over, err);
	if (code == PL_OK)
		code = parse_text(item, at, &stamp, err);
	if (code == PL_OK && pl_timestamp_parse(stamp, &out->at_ms, &why) != PL_OK)
		code = pl_json_fail(pl_json_member(item, at), PL_INVALID, err, "%s",
		                    why.msg);
	return code;
}

static enum pl_code too_many(struct pl_json list, size_t max, struct pl_err *err)
{
	if (pl_json_count(list) > max)
		return pl_json_fail(list, PL_INVALID, err, "want at most %zu", max);
	return PL_OK;
}

static enum pl_code parse_nodes(struct pl_json work, const char *name, const char *at,
                                struct pl_arena *arena,
                                const struct membership_node **out, uint32_t *count,
                                struct pl_err *err)
{
	struct pl_json list = {0};
	struct membership_node *nodes;
	enum pl_code code = pl_json_array(work, name, PL_JSON_OPTIONAL, &list, err);

	if (code == PL_OK)
		code = too_many(list, MEMBERSHIP_NODES_MAX, err);
	if (code != PL_OK || pl_json_count(list) == 0)
		return code;
	nodes = pl_arena_zalloc(arena, MEMBERSHIP_NODES_MAX, sizeof *nodes);
	if (nodes == NULL)
		return pl_err_set(err, PL_NOMEM, "record of a shard");
	PL_JSON_EACH (item, list) {
		code = parse_node(item, at, &nodes[*count], err);
		if (code != PL_OK)
			return code;
		(*count)++;
	}
	*out = nodes;
	return PL_OK;
}

static enum pl_code parse_causes(struct pl_json work, struct pl_arena *arena,
                                 struct membership_work *out, struct pl_err *err)
{
	struct pl_json list = {0};
	struct membership_cause *causes;
	enum pl_code code = pl_json_object(work, "causes", PL_JSON_OPTIONAL, &list, err);

	if (code == PL_OK)
		code = too_many(list, MEMBERSHIP_CAUSES_MAX, err);
	if (code != PL_OK || pl_json_count(list) == 0)
		return code;
	causes = pl_arena_zalloc(arena, MEMBERSHIP_CAUSES_MAX, sizeof *causes);
	if (causes == NULL)
		return pl_err_set(err, PL_NOMEM, "record of a shard");
	PL_JSON_EACH (item, list) {
		struct membership_cause *cause = &causes[out->cause_count];

		cause->word = pl_span_str(pl_json_key(item));
		if (pl_json_type(item) != PL_JSON_OBJECT)
			return pl_json_fail(item, PL_INVALID, err, "want an object");
		code = parse_count(item, "placements", &cause->placements, err);
		if (code == PL_OK)
			code = parse_count(item, "txns", &cause->txns, err);
		if (code != PL_OK)
			return code;
		out->cause_count++;
	}
	out->causes = causes;
	return PL_OK;
}

enum pl_code membership_work_parse(struct pl_json root, struct pl_arena *arena,
                                   struct membership_work *out, struct pl_err *err)
{
	struct pl_json work = {0};
	enum pl_code code = pl_json_object(root, "work", PL_JSON_OPTIONAL, &work, err);

	if (code != PL_OK || work.node == NULL)
		return code;
	out->known = true;
	for (unsigned i = 0; i < COUNTS && code == PL_OK; i++)
		code = parse_count(work, counts[i].name, count_of(out, counts[i].offset),
		                   err);
	if (code == PL_OK)
		code = parse_rate(work, "placed_per_s", &out->placed_per_s, err);
	if (code == PL_OK)
		code = parse_rate(work, "conflicts_per_s", &out->conflicts_per_s, err);
	if (code == PL_OK)
		code = parse_causes(work, arena, out, err);
	if (code == PL_OK)
		code = parse_nodes(work, "nodes", "at", arena, &out->nodes,
		                   &out->node_count, err);
	if (code == PL_OK)
		code = parse_nodes(work, "aside", "until", arena, &out->asides,
		                   &out->aside_count, err);
	return code;
}
