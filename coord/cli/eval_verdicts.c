/*
 * Members are written by name, as the cases have them, so that both can be compared as
 * text, too: nodes and plugins sorted, and reasons as well.
 */
#include "coord/cli/eval_verdicts.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/json_out.h"

enum { REASON_MAX = 4096 };

struct teller {
	struct engine *engine;
	const struct snapshot *snapshot;
	struct cycle *cycle;
	const struct profile *profile;
	const struct engine_decision *decision;
	struct pl_arena *arena;
	struct pl_json_out out;
	uint32_t *slot; /* of nodes, by name */
	int64_t *zeros; /* a column */
	const int64_t *total;
	uint32_t nodes;
	uint8_t plugin[PLUGINS_MAX]; /* by name */
	unsigned plugins;
	enum pl_code code; /* of what is not written */
};

struct named {
	struct pl_span name;
	uint32_t slot;
};

static int by_name(const void *a, const void *b)
{
	return pl_span_cmp(((const struct named *)a)->name,
	                   ((const struct named *)b)->name);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct pl_span text(const struct teller *t, uint32_t id)
{
	return model_text(t->snapshot->model, id);
}

static struct pl_span node_name(const struct teller *t, uint32_t slot)
{
	return text(t, t->snapshot->row[slot].node.name);
}

static const char *plugin_name(const struct teller *t, unsigned plugin)
{
	return t->profile->table->row[plugin]->name;
}

static void begin(struct teller *t, const char *name)
{
	pl_json_out_name(&t->out, name);
	pl_json_out_object(&t->out);
}

static void end(struct teller *t)
{
	pl_json_out_end(&t->out);
}

static void put_text(struct teller *t, const char *name, const char *value)
{
	pl_json_out_name(&t->out, name);
	pl_json_out_str(&t->out, value);
}

/* -- verdicts ---------------------------------------------------------------------- */

static const char *sentence(struct teller *t, const struct reason *reason)
{
	const char *copy = NULL;
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, REASON_MAX);
	code = reason_print(&t->snapshot->model->strings, reason, &buf);
	if (code == PL_OK) {
		copy = pl_arena_printf(t->arena, PL_SPAN_FMT,
		                       PL_SPAN_ARG(pl_buf_span(&buf)));
		code = copy == NULL ? PL_NOMEM : PL_OK;
	}
	t->code = t->code == PL_OK ? code : t->code;
	pl_buf_done(&buf);
	return copy;
}

static void put_reasons(struct teller *t, const struct verdict *say)
{
	const char *reason[VERDICT_REASONS_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < say->count; i++) {
		reason[count] = sentence(t, &say->reason[i]);
		count += reason[count] != NULL;
	}
	qsort(reason, count, sizeof *reason, by_text);
	pl_json_out_name(&t->out, "reasons");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; i < count; i++)
		pl_json_out_str(&t->out, reason[i]);
	end(t);
}

static void put_verdict(struct teller *t, const struct verdict *say, bool with_plugin)
{
	put_text(t, "code", verdict_word(say->code));
	if (say->code == VERDICT_SUCCESS)
		return;
	if (with_plugin && say->plugin >= 0)
		put_text(t, "plugin", plugin_name(t, (unsigned)say->plugin));
	put_reasons(t, say);
}

/* -- filters ----------------------------------------------------------------------- */

static void put_filter(struct teller *t)
{
	struct pl_bitset examined = cycle_examined(t->cycle);

	begin(t, "filter");
	for (uint32_t i = 0; i < t->nodes; i++) {
		uint32_t slot = t->slot[i];
		struct verdict say;

		verdict_clear(&say);
		cycle_why(t->cycle, slot, &say);
		pl_json_out_name_span(&t->out, node_name(t, slot));
		pl_json_out_object(&t->out);
		put_text(t, "code", verdict_word(say.code));
		if (!pl_bitset_has(examined, slot)) {
			pl_json_out_name(&t->out, "examined");
			pl_json_out_bool(&t->out, false);
		}
		if (say.code != VERDICT_SUCCESS) {
			if (say.plugin >= 0)
				put_text(t, "plugin",
				         plugin_name(t, (unsigned)say.plugin));
			put_reasons(t, &say);
		}
		end(t);
	}
	end(t);
}

static bool runs(const struct teller *t, unsigned plugin, enum point point)
{
	const struct profile_point *at = &t->profile->at[point];

	for (unsigned i = 0; i < at->count; i++)
		if (at->plugin[i] == plugin)
			return true;
	return false;
}

static void put_refusals(struct teller *t, unsigned plugin)
{
	bool some = false;

	for (uint32_t i = 0; i < t->nodes; i++) {
		struct verdict say;

		verdict_clear(&say);
		cycle_why_plugin(t->cycle, plugin, t->slot[i], &say);
		if (say.code == VERDICT_SUCCESS)
			continue;
		if (!some)
			begin(t, plugin_name(t, plugin));
		some = true;
		pl_json_out_name_span(&t->out, node_name(t, t->slot[i]));
		pl_json_out_object(&t->out);
		put_verdict(t, &say, false);
		end(t);
	}
	if (some)
		end(t);
}

static void put_all_filters(struct teller *t)
{
	begin(t, "allFilter");
	for (unsigned i = 0; i < t->plugins; i++)
		if (runs(t, t->plugin[i], POINT_FILTER) &&
		    !cycle_skipped(t->cycle, t->plugin[i], POINT_FILTER))
			put_refusals(t, t->plugin[i]);
	end(t);
}

static void put_pre_filter(struct teller *t)
{
	const struct outcome *outcome = &t->decision->outcome;

	begin(t, "preFilter");
	put_verdict(t, &outcome->pre, true);
	if (outcome->pre.code == VERDICT_SUCCESS) {
		struct pl_bitset examined = cycle_examined(t->cycle);

		if (outcome->narrowed) {
			pl_json_out_name(&t->out, "nodeNames");
			pl_json_out_array(&t->out);
			for (uint32_t i = 0; i < t->nodes; i++)
				if (pl_bitset_has(examined, t->slot[i]))
					pl_json_out_string(&t->out,
					                   node_name(t, t->slot[i]));
			end(t);
		}
		pl_json_out_name(&t->out, "skipped");
		pl_json_out_array(&t->out);
		for (unsigned i = 0; i < t->plugins; i++)
			if (runs(t, t->plugin[i], POINT_PRE_FILTER) &&
			    cycle_skipped(t->cycle, t->plugin[i], POINT_FILTER))
				pl_json_out_str(&t->out, plugin_name(t, t->plugin[i]));
		end(t);
	}
	end(t);
}

/* -- scores ------------------------------------------------------------------------ */

static bool feasible(const struct teller *t, uint32_t slot)
{
	return pl_bitset_has(cycle_feasible(t->cycle), slot);
}

static void put_column(struct teller *t, const char *name, const int64_t *score)
{
	begin(t, name);
	for (uint32_t i = 0; i < t->nodes; i++)
		if (feasible(t, t->slot[i])) {
			pl_json_out_name_span(&t->out, node_name(t, t->slot[i]));
			pl_json_out_int(&t->out, score[t->slot[i]]);
		}
	end(t);
}

/* Kubernetes' scheduler asks these also when they have nothing to add. */
static bool is_always_asked(const struct teller *t, unsigned plugin)
{
	static const char *const always[] = {"ImageLocality", "NodeAffinity",
	                                     "VolumeBinding"};

	if ((t->profile->enabled >> plugin & 1) == 0)
		return false;
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		if (strcmp(plugin_name(t, plugin), always[i]) == 0)
			return true;
	return false;
}

/* NULL: it is not asked. */
static const int64_t *column_of(const struct teller *t, unsigned plugin)
{
	const int64_t *score = cycle_scores(t->cycle, plugin);

	return score == NULL && is_always_asked(t, plugin) ? t->zeros : score;
}

static void put_weight(struct teller *t, unsigned plugin)
{
	int32_t weight = t->profile->weight[plugin];

	pl_json_out_name(&t->out, plugin_name(t, plugin));
	pl_json_out_int(&t->out, weight == 0 ? 1 : weight);
}

static void put_scores(struct teller *t)
{
	begin(t, "scores");
	for (unsigned i = 0; i < t->plugins; i++)
		if (column_of(t, t->plugin[i]) != NULL)
			put_column(t, plugin_name(t, t->plugin[i]),
			           column_of(t, t->plugin[i]));
	end(t);
	put_column(t, "total", t->total);
	begin(t, "weights");
	for (unsigned i = 0; i < t->plugins; i++)
		if (column_of(t, t->plugin[i]) != NULL)
			put_weight(t, t->plugin[i]);
	end(t);
}

static void put_best(struct teller *t)
{
	const struct outcome *outcome = &t->decision->outcome;

	pl_json_out_name(&t->out, "best");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; t->total != NULL && i < t->nodes; i++)
		if (feasible(t, t->slot[i]) && t->total[t->slot[i]] == outcome->total)
			pl_json_out_string(&t->out, node_name(t, t->slot[i]));
	end(t);
}

/* -- preemption -------------------------------------------------------------------- */

static const char *victim_name(struct teller *t, uint32_t placed)
{
	const struct placed *pod = &t->snapshot->placed[placed];
	struct pl_span space = text(t, pod->view->spec->namespace);
	const char *name = pl_arena_printf(t->arena, "%.*s/%.*s", PL_SPAN_ARG(space),
	                                   PL_SPAN_ARG(text(t, pod->name)));

	if (name == NULL)
		t->code = PL_NOMEM;
	return name == NULL ? "" : name;
}

static void put_victims(struct teller *t, const uint32_t *victim, uint32_t count,
                        bool sorted)
{
	const char **name = pl_arena_zalloc(t->arena, count + 1, sizeof *name);

	if (name == NULL) {
		t->code = PL_NOMEM;
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		name[i] = victim_name(t, victim[i]);
	if (sorted)
		qsort(name, count, sizeof *name, by_text);
	pl_json_out_name(&t->out, "victims");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; i < count; i++)
		pl_json_out_str(&t->out, name[i]);
	end(t);
}

static const struct preempt_candidate *candidate_of(const struct preempt_outcome *preempt,
                                                    uint32_t slot)
{
	for (uint32_t i = 0; i < preempt->candidates; i++)
		if (preempt->candidate[i].node == slot)
			return &preempt->candidate[i];
	return NULL;
}

static bool is_tied(const struct preempt_outcome *preempt,
                    const struct preempt_candidate *candidate)
{
	for (uint32_t i = 0; i < preempt->tied_count; i++)
		if (&preempt->candidate[preempt->tied[i]] == candidate)
			return true;
	return false;
}

static void put_candidates(struct teller *t, const struct preempt_outcome *preempt)
{
	begin(t, "candidates");
	for (uint32_t i = 0; i < t->nodes; i++) {
		const struct preempt_candidate *it = candidate_of(preempt, t->slot[i]);

		if (it == NULL)
			continue;
		pl_json_out_name_span(&t->out, node_name(t, t->slot[i]));
		pl_json_out_object(&t->out);
		if (it->violations != 0) {
			pl_json_out_name(&t->out, "pdbViolations");
			pl_json_out_int(&t->out, it->violations);
		}
		put_victims(t, preempt->all_victims + it->first, it->count, false);
		end(t);
	}
	end(t);
}

static void put_nominated(struct teller *t, const struct preempt_outcome *preempt)
{
	if (preempt->tied_count == 1) {
		pl_json_out_name(&t->out, "nominatedNode");
		pl_json_out_string(&t->out, node_name(t, preempt->node));
	}
	pl_json_out_name(&t->out, "nominatedOneOf");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; i < t->nodes; i++)
		if (is_tied(preempt, candidate_of(preempt, t->slot[i])))
			pl_json_out_string(&t->out, node_name(t, t->slot[i]));
	end(t);
	if (preempt->tied_count == 1)
		put_victims(t, preempt->victim, preempt->victims, true);
}

static void put_post_filter(struct teller *t)
{
	const struct preempt_outcome *preempt = &t->decision->preempt;

	begin(t, "postFilter");
	if (preempt->code == VERDICT_SUCCESS)
		put_candidates(t, preempt);
	put_text(t, "code", verdict_word(preempt->code));
	if (preempt->code == VERDICT_SUCCESS)
		put_nominated(t, preempt);
	end(t);
}

/* -- all of it --------------------------------------------------------------------- */

static enum pl_code list_nodes(struct teller *t)
{
	const struct snapshot *snapshot = t->snapshot;
	struct named *at = pl_arena_zalloc(t->arena, snapshot->nodes + 1, sizeof *at);

	t->slot = pl_arena_zalloc(t->arena, snapshot->nodes + 1, sizeof *t->slot);
	t->zeros = pl_arena_zalloc(t->arena, snapshot->slots + 1U, sizeof *t->zeros);
	if (at == NULL || t->slot == NULL || t->zeros == NULL)
		return PL_NOMEM;
	for (uint32_t slot = 0; slot < snapshot->slots; slot++)
		if (snapshot->row[slot].node.name != 0)
			at[t->nodes++] = (struct named){node_name(t, slot), slot};
	qsort(at, t->nodes, sizeof *at, by_name);
	for (uint32_t i = 0; i < t->nodes; i++)
		t->slot[i] = at[i].slot;
	return PL_OK;
}

static void list_plugins(struct teller *t)
{
	struct named at[PLUGINS_MAX];

	t->plugins = t->profile->table->count;
	for (unsigned i = 0; i < t->plugins; i++)
		at[i] = (struct named){pl_span_str(plugin_name(t, i)), i};
	qsort(at, t->plugins, sizeof *at, by_name);
	for (unsigned i = 0; i < t->plugins; i++)
		t->plugin[i] = (uint8_t)at[i].slot;
}

/* Kubernetes names all gates in one sentence. */
static void put_gates(struct teller *t, const struct verdict *gate)
{
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, REASON_MAX);
	code = pl_buf_add_str(&buf, "waiting for scheduling gates: [");
	for (uint32_t i = 0; i < gate->count && code == PL_OK; i++) {
		struct pl_span name = text(t, gate->reason[i].subject);

		code = pl_buf_printf(&buf, "%s%.*s", i > 0 ? " " : "", PL_SPAN_ARG(name));
	}
	if (code == PL_OK)
		code = pl_buf_add_str(&buf, "]");
	pl_json_out_name(&t->out, "reasons");
	pl_json_out_array(&t->out);
	pl_json_out_string(&t->out, pl_buf_span(&buf));
	end(t);
	pl_buf_done(&buf);
	t->code = t->code == PL_OK ? code : t->code;
}

static void put_pre_enqueue(struct teller *t)
{
	const struct verdict *gate = &t->decision->gate;

	begin(t, "preEnqueue");
	put_text(t, "code", verdict_word(gate->code));
	put_text(t, "plugin", plugin_name(t, (unsigned)gate->plugin));
	if (gate->count > 0 && gate->reason[0].code == REASON_GATED)
		put_gates(t, gate);
	else
		put_reasons(t, gate);
	end(t);
}

static void put_cycle(struct teller *t)
{
	const struct outcome *outcome = &t->decision->outcome;
	bool filtered = outcome->pre.code == VERDICT_SUCCESS;

	if (outcome->result == CYCLE_NODE) {
		t->total = cycle_totals(t->cycle);
		t->code = t->total == NULL ? PL_NOMEM : t->code;
	}
	if (filtered)
		put_all_filters(t);
	put_best(t);
	if (outcome->result == CYCLE_ERROR) {
		pl_json_out_name(&t->out, "error");
		pl_json_out_bool(&t->out, true);
	}
	if (filtered)
		put_filter(t);
	if (t->decision->tried_preemption)
		put_post_filter(t);
	put_pre_filter(t);
	if (t->total != NULL)
		put_scores(t);
}

static enum pl_code finish(struct teller *t, struct pl_err *err)
{
	enum pl_code code = pl_json_out_done(&t->out);

	code = code == PL_OK ? t->code : code;
	return code == PL_OK ? code : pl_err_set(err, code, "print verdicts");
}

enum pl_code eval_verdicts(struct engine *engine, struct pl_arena *arena,
                           const struct engine_decision *decision, struct pl_buf *out,
                           struct pl_err *err)
{
	struct teller t = {.engine = engine,
	                   .snapshot = engine_snapshot(engine),
	                   .cycle = engine_cycle(engine),
	                   .profile = decision->profile,
	                   .decision = decision,
	                   .arena = arena};

	if (list_nodes(&t) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "print verdicts");
	list_plugins(&t);
	pl_json_out_init(&t.out, out);
	pl_json_out_object(&t.out);
	if (decision->gated)
		put_pre_enqueue(&t);
	else
		put_cycle(&t);
	end(&t);
	return finish(&t, err);
}

static void put_errors(struct teller *t, const struct field_errors *errors)
{
	pl_json_out_name(&t->out, "errors");
	pl_json_out_array(&t->out);
	for (uint32_t i = 0; i < errors->count; i++) {
		pl_json_out_object(&t->out);
		put_text(t, "detail", errors->at[i].detail);
		put_text(t, "field", errors->at[i].path);
		put_text(t, "type", field_fault_word(errors->at[i].fault));
		end(t);
	}
	end(t);
}

enum pl_code eval_validity(const struct field_errors *errors, struct pl_buf *out,
                           struct pl_err *err)
{
	struct teller t = {.code = errors->code};

	pl_json_out_init(&t.out, out);
	pl_json_out_object(&t.out);
	if (errors->count > 0)
		put_errors(&t, errors);
	pl_json_out_name(&t.out, "valid");
	pl_json_out_bool(&t.out, errors->count == 0);
	end(&t);
	return finish(&t, err);
}

enum pl_code eval_not_decoded(const struct pl_err *why, struct pl_buf *out,
                              struct pl_err *err)
{
	struct teller t = {0};

	pl_json_out_init(&t.out, out);
	pl_json_out_object(&t.out);
	put_text(&t, "decodeError", why->msg);
	pl_json_out_name(&t.out, "valid");
	pl_json_out_bool(&t.out, false);
	end(&t);
	return finish(&t, err);
}
