#include "coord/service/plan/plan.h"
#include "store/base/json_put.h"

static void put_reasons(struct pl_json_out *out, const struct plan_reasons *reasons)
{
	pl_json_put_int(out, "nodes", reasons->nodes);
	pl_json_out_name(out, "reasons");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < reasons->count; i++) {
		const struct plan_reason *reason = &reasons->at[i];

		pl_json_out_object(out);
		pl_json_put_text(out, "plugin", pl_span_str(reason->plugin));
		pl_json_put_text(out, "reason", pl_span_str(reason->code));
		pl_json_put_text(out, "message", reason->message);
		if (reason->nodes > 0) {
			pl_json_put_int(out, "nodes", reason->nodes);
			pl_json_put_int(out, "only", reason->only);
		}
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	if (reasons->unlisted > 0)
		pl_json_put_int(out, "unlistedReasons", reasons->unlisted);
}

static void put_preempts(struct pl_json_out *out, const struct plan_pod *pod)
{
	if (pod->preempts.node.len == 0)
		return;
	pl_json_out_name(out, "preemption");
	pl_json_out_object(out);
	pl_json_put_text(out, "cluster", pod->preempts.cluster);
	pl_json_put_text(out, "node", pod->preempts.node);
	pl_json_put_int(out, "victims", pod->preempts.victims);
	pl_json_out_end(out);
}

static void put_pod(struct pl_json_out *out, const struct plan_pod *pod)
{
	pl_json_out_object(out);
	pl_json_put_text(out, "namespace", pod->namespace);
	pl_json_put_text(out, "name", pod->name);
	pl_json_put_text(out, "verdict", pl_span_str(plan_verdict_word(pod->verdict)));
	pl_json_put_text(out, "cluster", pod->cluster);
	pl_json_put_text(out, "node", pod->node);
	pl_json_put_true(out, "added", pod->added);
	pl_json_put_text(out, "displacedFrom", pod->from);
	pl_json_put_text(out, "gang", pod->gang);
	pl_json_put_text(out, "message", pod->message);
	if (pod->reasons != NULL)
		put_reasons(out, pod->reasons);
	put_preempts(out, pod);
	pl_json_out_end(out);
}

static void put_excluded(struct pl_json_out *out, const struct store_snapshot *cluster)
{
	pl_json_out_name(out, "leftOut");
	pl_json_out_array(out);
	for (unsigned i = 0; i < STORE_FLAWS; i++) {
		const struct excluded_nodes *flaw = &cluster->flaw[i];

		if (flaw->nodes == 0)
			continue;
		pl_json_out_object(out);
		pl_json_put_text(out, "reason",
		                 pl_span_str(store_flaw_code((enum store_flaw)i)));
		pl_json_put_text(out, "message",
		                 pl_span_str(store_flaw_words((enum store_flaw)i)));
		pl_json_put_int(out, "nodes", (int64_t)flaw->nodes);
		pl_json_put_text(out, "first", keys_span(&flaw->first));
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_scheduler(struct pl_json_out *out, const struct plan *plan)
{
	pl_json_out_name(out, "scheduler");
	pl_json_out_object(out);
	pl_json_put_int(out, "version", (int64_t)plan->config);
	if (plan->config_err.code != PL_OK)
		pl_json_put_text(out, "refused", pl_span_str(plan->config_err.msg));
	pl_json_out_end(out);
}

static void put_totals(struct pl_json_out *out, const struct plan *plan)
{
	pl_json_out_name(out, "totals");
	pl_json_out_object(out);
	pl_json_put_int(out, "pods", plan->pods);
	pl_json_put_int(out, "displaced", plan->displaced);
	for (unsigned i = 0; i < PLAN_VERDICTS; i++)
		pl_json_put_int(out, plan_verdict_word((enum plan_verdict)i),
		                plan->verdicts[i]);
	pl_json_out_end(out);
}

void plan_json(const struct plan *plan, struct pl_json_out *out)
{
	pl_json_out_object(out);
	pl_json_put_text(out, "kind", PL_SPAN_LIT("Plan"));
	pl_json_put_int(out, "v", 1);
	pl_json_out_name(out, "revision");
	pl_json_out_int_string(out, plan->revision);
	pl_json_put_true(out, "compacted", plan->cluster->compacted);
	put_scheduler(out, plan);
	pl_json_out_name(out, "fits");
	pl_json_out_bool(out, plan->fits);
	pl_json_put_int(out, "nodes", plan->nodes);
	pl_json_put_int(out, "nodesAdded", plan->added);
	pl_json_put_int(out, "nodesWithout", (int64_t)plan->without);
	put_totals(out, plan);
	put_excluded(out, plan->cluster);
	pl_json_out_name(out, "pods");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < plan->pods; i++)
		put_pod(out, &plan->pod[i]);
	pl_json_out_end(out);
	pl_json_out_end(out);
}
