/*
 * For a person at a terminal: first the outcome, then the reasons, then what would help.
 */
#include <stdio.h>

#include "shardsched/explain/explain.h"
#include "shardsched/explain/reason_text.h"

enum { NEAR_SHOWN = 3, NODES_WIDTH = 7, NAME_WIDTH = 28 };

/* The first failure stays. */
struct text_printer {
	const struct explain *explain;
	struct pl_buf *out;
	enum pl_code code;
};

PL_PRINTF(2, 3) static void add(struct text_printer *text, const char *fmt, ...)
{
	char line[SPEC_RULE_TEXT_SIZE + 64];
	va_list args;

	if (text->code != PL_OK)
		return;
	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	text->code = pl_buf_add_str(text->out, line);
}

static void add_words(struct text_printer *text, const struct reason *reason, bool many)
{
	if (text->code == PL_OK)
		text->code = reason_text(text->explain->model, reason, many, text->out);
}

static void add_amount(struct text_printer *text, const struct reason *reason,
                       int64_t amount)
{
	if (text->code == PL_OK)
		text->code = reason_amount(reason, amount, text->out);
}

/* Padded with spaces to width, as a column. */
static void add_node(struct text_printer *text, uint32_t slot, size_t width)
{
	size_t from = text->out->len;

	if (text->code == PL_OK)
		text->code = reason_node(text->explain->model,
		                         &text->explain->snapshot->row[slot], text->out);
	while (text->code == PL_OK && text->out->len - from < width)
		text->code = pl_buf_add_str(text->out, " ");
}

static const char *plugin_name(const struct explain *explain, unsigned plugin)
{
	return explain->profile->table->row[plugin]->name;
}

static const char *node_noun(uint32_t count)
{
	return count == 1 ? "node" : "nodes";
}

/* -- what it is ---------------------------------------------------------------------- */

static void add_pod(struct text_printer *text)
{
	const struct pod *pod = text->explain->pod;
	const struct model *model = text->explain->model;

	add(text, PL_SPAN_FMT "/" PL_SPAN_FMT,
	    PL_SPAN_ARG(model_text(model, pod->spec->namespace)),
	    PL_SPAN_ARG(model_text(model, pod->name)));
}

static void add_gates(struct text_printer *text)
{
	const struct verdict *gate = &text->explain->decision->gate;

	add(text, " is gated: it is not scheduled until its gates are gone\n");
	for (uint32_t i = 0; i < gate->count; i++) {
		add(text, "  ");
		if (text->code == PL_OK)
			text->code = reason_print(&text->explain->model->strings,
			                          &gate->reason[i], text->out);
		add(text, "\n");
	}
}

static void add_verdict(struct text_printer *text)
{
	const struct explain *explain = text->explain;
	const struct cycle_outcome *outcome = &explain->decision->outcome;

	if (outcome->result == CYCLE_NODE) {
		add(text, " goes to ");
		add_node(text, outcome->node, 0);
		add(text, ", %s of %u feasible among %u %s (score %lld)\n",
		    outcome->best > 1 ? "one of the best" : "the best", explain->feasible,
		    explain->nodes, node_noun(explain->nodes), (long long)outcome->total);
		return;
	}
	if (outcome->result == CYCLE_ERROR) {
		add(text, " could not be judged, and would be tried again: ");
		if (text->code == PL_OK && outcome->pre.count > 0)
			text->code = reason_print(&explain->model->strings,
			                          &outcome->pre.reason[0], text->out);
		add(text, "\n");
		return;
	}
	add(text, " fits on none of %u %s\n", explain->nodes, node_noun(explain->nodes));
}

/* One line for each sentence. */
static void add_warnings(struct text_printer *text)
{
	const struct explain *explain = text->explain;

	for (uint32_t i = 0; i < explain->warnings; i++) {
		const struct explain_warning *warning = &explain->warning[i];
		char line[SPEC_RULE_TEXT_SIZE];

		if (warning->rule.impossible) {
			spec_rule_impossible_text(&warning->rule, line);
			add(text, "  warning: %s\n", line);
		}
		if (warning->no_node) {
			spec_rule_topology_text(
				warning->rule.path,
				model_text(explain->model, warning->rule.topology_key),
				line);
			add(text, "  warning: %s\n", line);
		}
	}
}

/* -- why ----------------------------------------------------------------------------- */

/* "12 nodes lack 2 cpu; 3 have a taint gpu=only:NoSchedule" */
static void add_summary(struct text_printer *text)
{
	const struct explain *explain = text->explain;

	for (uint32_t i = 0; i < explain->reasons; i++) {
		const struct explain_reason *row = &explain->reason[i];

		add(text, "%s%u ", i == 0 ? "  " : "; ", row->nodes);
		if (i == 0)
			add(text, "%s ", node_noun(row->nodes));
		add_words(text, &row->reason, row->nodes != 1);
		if (row->lacks_most > row->reason.lacks)
			add(text, " or more");
	}
	if (explain->unlisted > 0)
		add(text, "; and other reasons");
	if (explain->reasons > 0)
		add(text, "\n");
}

static void add_filters(struct text_printer *text)
{
	const struct explain *explain = text->explain;
	bool headed = false;

	for (uint32_t i = 0; i < explain->filters; i++) {
		const struct explain_filter *filter = &explain->filter[i];

		if (filter->alone == 0)
			continue;
		if (!headed)
			add(text,
			    "\nfilter                       refused   as the first\n");
		headed = true;
		add(text, "%-28s %*u   %u\n", plugin_name(explain, filter->plugin),
		    NODES_WIDTH, filter->alone, filter->first);
	}
	if (headed && explain->examined < explain->nodes)
		add(text, "%u more %s not looked at: the pod's rules name others\n",
		    explain->nodes - explain->examined,
		    explain->nodes - explain->examined == 1 ? "was" : "were");
}

/* Only when there are several clusters. */
static void add_clusters(struct text_printer *text)
{
	const struct explain *explain = text->explain;

	if (explain->clusters < 2)
		return;
	add(text, "\n%-*s %*s   feasible   refused by\n", NAME_WIDTH, "cluster",
	    NODES_WIDTH, "nodes");
	for (uint32_t i = 0; i < explain->clusters; i++) {
		const struct explain_cluster *cluster = &explain->cluster[i];
		struct pl_span name =
			cluster->others ? PL_SPAN_LIT("(all others)")
			: cluster->cluster == 0
				? PL_SPAN_LIT("(none)")
				: model_text(explain->model, cluster->cluster);
		const char *between = " ";

		add(text, "%-*.*s %*u %10u  ", NAME_WIDTH, PL_SPAN_ARG(name), NODES_WIDTH,
		    cluster->nodes, cluster->feasible);
		for (uint32_t j = 0; j < explain->filters; j++) {
			if (cluster->alone[j] == 0)
				continue;
			add(text, "%s%s %u", between,
			    plugin_name(explain, explain->filter[j].plugin),
			    cluster->alone[j]);
			between = ", ";
		}
		add(text, "\n");
	}
}

/* -- what would help ----------------------------------------------------------------- */

static void add_cures(struct text_printer *text)
{
	const struct explain *explain = text->explain;
	bool headed = false;

	for (uint32_t i = 0; i < explain->reasons; i++) {
		const struct explain_reason *row = &explain->reason[i];

		if (row->only == 0)
			continue;
		if (!headed)
			add(text, "\nwhat would help\n");
		headed = true;
		add(text, "  %u %s would do, but ", row->only, node_noun(row->only));
		add_words(text, &row->reason, row->only != 1);
		if (reason_is_amount(&row->reason) &&
		    row->lacks_most > row->reason.lacks) {
			add(text, " or more, up to ");
			add_amount(text, &row->reason, row->lacks_most);
		}
		add(text, "\n");
	}
}

static void add_near(struct text_printer *text)
{
	const struct explain *explain = text->explain;

	if (explain->nears > 0)
		add(text, "\nnearest\n");
	for (uint32_t i = 0; i < explain->nears && i < NEAR_SHOWN; i++) {
		const struct explain_near *near = &explain->near[i];

		add(text, "  ");
		add_node(text, near->slot, NAME_WIDTH);
		for (uint32_t j = 0; j < near->count; j++) {
			add(text, j == 0 ? " " : ", ");
			add_words(text, &near->reason[j].reason, false);
		}
		add(text, "\n");
	}
}

/* -- scores -------------------------------------------------------------------------- */

static void add_best(struct text_printer *text)
{
	const struct explain *explain = text->explain;

	add(text, "\n%-*s   total  = weight x score of each plugin\n", NAME_WIDTH + 2,
	    "scores");
	for (uint32_t i = 0; i < explain->bests; i++) {
		const struct explain_best *best = &explain->best[i];

		add(text, i == 0 ? "* " : "  ");
		add_node(text, best->slot, NAME_WIDTH);
		add(text, " %7lld ", (long long)best->total);
		for (uint32_t j = 0; j < best->count; j++)
			add(text, "%s%s %d x %lld", j == 0 ? " " : ", ",
			    plugin_name(explain, best->share[j].plugin),
			    best->share[j].weight, (long long)best->share[j].score);
		add(text, "\n");
	}
}

/* -- preemption ---------------------------------------------------------------------- */

static void add_victims(struct text_printer *text, const uint32_t *victim, uint32_t count)
{
	const struct explain *explain = text->explain;

	for (uint32_t i = 0; i < count; i++) {
		const struct placed_pod *placed = &explain->snapshot->placed[victim[i]];
		const struct spec *spec = placed->view->spec;

		add(text, "%s" PL_SPAN_FMT "/" PL_SPAN_FMT " (priority %d)",
		    i == 0 ? " " : ", ",
		    PL_SPAN_ARG(model_text(explain->model, spec->namespace)),
		    PL_SPAN_ARG(model_text(explain->model, placed->name)),
		    spec->priority);
	}
}

static void add_preemption(struct text_printer *text)
{
	const struct preempt_outcome *preempt = &text->explain->decision->preempt;

	if (preempt->code != VERDICT_SUCCESS) {
		add(text, "\npreemption would not help%s\n",
		    preempt->tried > 0 ? ": no pods of lower priority make enough room"
		                       : "");
		return;
	}
	add(text, "\npreemption would make room on ");
	add_node(text, preempt->node, 0);
	add(text, " (%u tried), by evicting\n ", preempt->tried);
	add_victims(text, preempt->victim, preempt->victims);
	add(text, "\n");
	if (preempt->violations > 0)
		add(text, "  %u of them against a disruption budget\n",
		    preempt->violations);
	for (uint32_t i = 0; i < preempt->candidates && i < EXPLAIN_CANDIDATES_MAX; i++) {
		const struct preempt_candidate *other = &preempt->candidate[i];

		if (other->node == preempt->node)
			continue;
		add(text, "  or on ");
		add_node(text, other->node, 0);
		add(text, ":");
		add_victims(text, &preempt->all_victims[other->first], other->count);
		add(text, "\n");
	}
}

enum pl_code explain_text(const struct explain *explain, struct pl_buf *out)
{
	struct text_printer text = {.explain = explain, .out = out};

	add_pod(&text);
	if (explain->decision->gated) {
		add_gates(&text);
		add_warnings(&text);
		return text.code;
	}
	add_verdict(&text);
	add_summary(&text);
	add_warnings(&text);
	add_filters(&text);
	add_clusters(&text);
	if (explain->decision->outcome.result == CYCLE_NODE) {
		add_best(&text);
		return text.code;
	}
	add_cures(&text);
	add_near(&text);
	if (explain->decision->tried_preemption)
		add_preemption(&text);
	return text.code;
}
