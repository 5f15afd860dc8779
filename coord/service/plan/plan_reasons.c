#include <stdlib.h>

#include "coord/service/plan/plan_int.h"
#include "store/base/alloc.h"

enum { MESSAGE_MAX = 1 << 10 };

static struct plan_reasons *reasons_new(struct plan_op *op, uint32_t most,
                                        struct pl_err *err)
{
	uint32_t count = most < PLAN_REASONS_MAX ? most : (uint32_t)PLAN_REASONS_MAX;
	struct plan_reasons *reasons = pl_arena_zalloc(
		&op->arena, 1, sizeof *reasons + count * sizeof(struct plan_reason));

	if (reasons == NULL)
		(void)pl_err_set(err, PL_NOMEM, "keep the reasons of a plan");
	return reasons;
}

static const char *plugin_name(const struct profile *profile, unsigned plugin)
{
	return plugin < profile->table->count ? profile->table->row[plugin]->name : NULL;
}

static bool add_reason(struct plan_op *op, struct plan_reasons *reasons,
                       const struct profile *profile, unsigned plugin,
                       const struct reason *reason, uint32_t nodes, uint32_t only)
{
	const struct strings *strings = &engine_model(op->engine)->strings;
	struct plan_reason *row;
	struct pl_span text;

	if (reasons->count == PLAN_REASONS_MAX) {
		reasons->unlisted++;
		return true;
	}
	pl_buf_clear(&op->text, MESSAGE_MAX);
	(void)!reason_print(strings, reason, &op->text); /* a long text is cut */
	text = pl_arena_dup(&op->arena, pl_buf_span(&op->text));
	if (text.at == NULL && op->text.len > 0)
		return false;
	row = &reasons->at[reasons->count++];
	*row = (struct plan_reason){.plugin = plugin_name(profile, plugin),
	                            .code = reason_word((enum reason_code)reason->code),
	                            .message = text,
	                            .nodes = nodes,
	                            .only = only};
	return true;
}

/* Reasons of the framework itself, or of PreFilter, which hold for the pod. */
static bool add_verdict(struct plan_op *op, struct plan_reasons *reasons,
                        const struct profile *profile, const struct verdict *verdict)
{
	for (uint32_t i = 0; i < verdict->count; i++)
		if (!add_reason(op, reasons, profile,
		                verdict->plugin < 0 ? PLUGINS_MAX
		                                    : (unsigned)verdict->plugin,
		                &verdict->reason[i], 0, 0))
			return false;
	return true;
}

enum pl_code plan_explain(struct plan_op *op, uint32_t at,
                          const struct engine_decision *decision, struct pl_err *err)
{
	struct explain *explain = op->explain;
	struct plan_reasons *reasons;
	bool kept = true;

	explain_make(op->engine, &op->item[at].pod, decision, explain);
	reasons = reasons_new(op, PLAN_REASONS_MAX, err);
	if (reasons == NULL)
		return PL_NOMEM;
	reasons->nodes = explain->nodes;
	reasons->unlisted = explain->unlisted;
	if (decision->gated)
		kept = add_verdict(op, reasons, decision->profile, &decision->gate);
	else if (decision->outcome.pre.code != VERDICT_SUCCESS)
		kept = add_verdict(op, reasons, decision->profile,
		                   &decision->outcome.pre);
	else
		for (uint32_t i = 0; i < explain->reasons && kept; i++)
			kept = add_reason(
				op, reasons, decision->profile, explain->reason[i].plugin,
				&explain->reason[i].reason, explain->reason[i].nodes,
				explain->reason[i].only);
	if (!kept)
		return pl_err_set(err, PL_NOMEM, "keep the reasons of a plan");
	op->pod[at].reasons = reasons;
	return PL_OK;
}

enum pl_code plan_reasons_of_cycle(struct plan_op *op, const struct profile *profile,
                                   const struct cycle_outcome *outcome,
                                   const struct plan_reasons **out, struct pl_err *err)
{
	struct plan_reasons *reasons = reasons_new(op, PLAN_REASONS_MAX, err);

	if (reasons == NULL)
		return PL_NOMEM;
	reasons->nodes = (uint32_t)pl_bitset_count(engine_snapshot(op->engine)->open);
	if (!add_verdict(op, reasons, profile, &outcome->pre))
		return pl_err_set(err, PL_NOMEM, "keep the reasons of a plan");
	for (unsigned i = 0; i < PLUGINS_MAX; i++) {
		if (outcome->refused[i] == 0)
			continue;
		if (reasons->count == PLAN_REASONS_MAX)
			reasons->unlisted++;
		else
			reasons->at[reasons->count++] =
				(struct plan_reason){.plugin = plugin_name(profile, i),
			                             .code = "gang.room",
			                             .nodes = outcome->refused[i]};
	}
	*out = reasons;
	return PL_OK;
}
