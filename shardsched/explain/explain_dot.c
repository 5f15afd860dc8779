/*
 * A sieve from left to right: the pod; each filter that refused a node, with the number
 * of nodes that were left before it; and the scored nodes at the end.
 */
#include "shardsched/explain/explain.h"
#include "shardsched/explain/reason_text.h"

struct dot_out {
	const struct explain *explain;
	struct pl_buf *out;
	enum pl_code code;
};

static void add_str(struct dot_out *dot, const char *text)
{
	if (dot->code == PL_OK)
		dot->code = pl_buf_add_str(dot->out, text);
}

/* Inside of quotes. */
static void add_escaped(struct dot_out *dot, struct pl_span text)
{
	for (size_t i = 0; dot->code == PL_OK && i < text.len; i++) {
		uint8_t byte = text.at[i];

		if (byte == '"' || byte == '\\')
			add_str(dot, "\\");
		if (byte >= ' ' && dot->code == PL_OK)
			dot->code = pl_buf_add(dot->out, pl_span(text.at + i, 1));
	}
}

static void add_uint(struct dot_out *dot, uint64_t value)
{
	if (dot->code == PL_OK)
		dot->code = pl_buf_printf(dot->out, "%llu", (unsigned long long)value);
}

static void add_text(struct dot_out *dot, uint32_t id)
{
	add_escaped(dot, model_text(dot->explain->model, id));
}

static void add_node_name(struct dot_out *dot, uint32_t slot)
{
	struct pl_buf name;

	pl_buf_init(&name, 4096);
	if (dot->code == PL_OK)
		dot->code = reason_node(dot->explain->model,
		                        &dot->explain->snapshot->row[slot], &name);
	add_escaped(dot, pl_buf_span(&name));
	pl_buf_done(&name);
}

static void add_pod(struct dot_out *dot)
{
	add_str(dot, "\tpod [shape=box, style=rounded, label=\"");
	add_text(dot, dot->explain->pod->spec->namespace);
	add_str(dot, "/");
	add_text(dot, dot->explain->pod->name);
	add_str(dot, "\"];\n");
}

/* The reasons of one filter, a line each. */
static void add_reasons(struct dot_out *dot, unsigned plugin)
{
	const struct explain *explain = dot->explain;

	for (uint32_t i = 0; i < explain->reasons; i++) {
		const struct explain_reason *row = &explain->reason[i];
		struct pl_buf words;

		if (row->plugin != plugin)
			continue;
		pl_buf_init(&words, 4096);
		if (dot->code == PL_OK)
			dot->code = reason_text(explain->model, &row->reason,
			                        row->nodes != 1, &words);
		add_str(dot, "\\n");
		add_uint(dot, row->nodes);
		add_str(dot, " ");
		add_escaped(dot, pl_buf_span(&words));
		pl_buf_done(&words);
	}
}

/* Behind that filter, or the pod for 0. */
static void add_from(struct dot_out *dot, unsigned filter)
{
	add_str(dot, filter == 0 ? "\tpod" : "\tf");
	if (filter > 0)
		add_uint(dot, filter);
	add_str(dot, " -> ");
}

/* The number of the last filter drawn, 0: none; *left: nodes behind it. */
static unsigned add_filters(struct dot_out *dot, uint64_t *left)
{
	const struct explain *explain = dot->explain;
	unsigned last = 0;

	for (uint32_t i = 0; i < explain->filters; i++) {
		const struct explain_filter *filter = &explain->filter[i];

		if (filter->alone == 0)
			continue;
		add_str(dot, "\tf");
		add_uint(dot, i + 1);
		add_str(dot, " [shape=box, label=\"");
		add_str(dot, explain->profile->table->row[filter->plugin]->name);
		add_reasons(dot, filter->plugin);
		add_str(dot, "\"];\n");
		add_from(dot, last);
		add_str(dot, "f");
		add_uint(dot, i + 1);
		add_str(dot, " [label=\"");
		add_uint(dot, *left);
		add_str(dot, "\"];\n");
		*left -= filter->first < *left ? filter->first : *left;
		last = i + 1;
	}
	return last;
}

static void add_best(struct dot_out *dot, unsigned last)
{
	const struct explain *explain = dot->explain;

	for (uint32_t i = 0; i < explain->bests; i++) {
		const struct explain_best *best = &explain->best[i];

		add_str(dot, "\tn");
		add_uint(dot, i);
		add_str(dot, i == 0 ? " [style=bold, label=\"" : " [label=\"");
		add_node_name(dot, best->slot);
		for (uint32_t j = 0; j < best->count; j++) {
			add_str(dot, "\\n");
			add_str(dot, explain->profile->table->row[best->share[j].plugin]
			                     ->name);
			add_str(dot, " ");
			add_uint(dot, (uint64_t)best->share[j].weight);
			add_str(dot, " x ");
			add_uint(dot, (uint64_t)best->share[j].score);
		}
		add_str(dot, "\"];\n");
		add_from(dot, last);
		add_str(dot, "n");
		add_uint(dot, i);
		add_str(dot, i == 0 ? " [style=bold, label=\"" : " [label=\"");
		add_uint(dot, (uint64_t)best->total);
		add_str(dot, "\"];\n");
	}
}

enum pl_code explain_dot(const struct explain *explain, struct pl_buf *out)
{
	struct dot_out dot = {.explain = explain, .out = out};
	uint64_t left = explain->examined;
	unsigned last;

	add_str(&dot,
	        "digraph placement {\n\trankdir=LR;\n\tnode [fontname=\"sans-serif\"];\n");
	add_pod(&dot);
	last = add_filters(&dot, &left);
	add_best(&dot, last);
	if (explain->bests == 0) {
		add_from(&dot, last);
		add_str(&dot, explain->decision->gated ? "gated;\n" : "nowhere;\n");
	}
	add_str(&dot, "}\n");
	return dot.code;
}
