#include "coord/service/explain/pod_explain.h"
#include "store/base/json_put.h"
#include "store/base/timestamp.h"

static void put_state(const struct pod_explanation *pod, struct pl_json_out *out)
{
	const struct pod_state *state = &pod->state;
	char stamp[PL_TIMESTAMP_SIZE];

	pl_json_put_text(out, "phase", pl_span_str(state_phase_word(state->phase)));
	pl_json_put_text(out, "cluster", state->cluster);
	pl_json_put_text(out, "node", state->node);
	if (state->nominated_node.len > 0) {
		pl_json_out_name(out, "nominated");
		pl_json_out_object(out);
		pl_json_put_text(out, "cluster", state->nominated_cluster);
		pl_json_put_text(out, "node", state->nominated_node);
		pl_json_out_end(out);
	}
	pl_json_put_text(out, "shard", state->shard);
	pl_json_out_name(out, "epoch");
	pl_json_out_int_string(out, state->epoch);
	pl_json_put_int(out, "attempts", state->attempts);
	pl_json_put_text(out, "reason", state->reason);
	pl_json_put_text(out, "message", state->message);
	pl_json_put_text(out, "since",
	                 pl_span_str(pl_timestamp_print(state->since_ms, stamp)));
}

static void put_excluded(const struct pod_explanation *pod, struct pl_json_out *out)
{
	pl_json_out_name(out, "leftOut");
	pl_json_out_array(out);
	for (unsigned i = 0; i < STORE_FLAWS; i++) {
		const struct excluded_nodes *flaw = &pod->cluster.flaw[i];

		if (flaw->nodes == 0)
			continue;
		pl_json_out_object(out);
		pl_json_put_text(out, "reason",
		                 pl_span_str(store_flaw_code((enum store_flaw)i)));
		pl_json_put_text(out, "message",
		                 pl_span_str(store_flaw_words((enum store_flaw)i)));
		pl_json_put_int(out, "nodes", (int64_t)flaw->nodes);
		pl_json_put_text(out, "first", keys_span(&flaw->first));
		if (flaw->err.code != PL_OK)
			pl_json_put_text(out, "why", pl_span_str(flaw->err.msg));
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
}

static void put_config(const struct pod_explanation *pod, struct pl_json_out *out)
{
	pl_json_out_name(out, "scheduler");
	pl_json_out_object(out);
	pl_json_put_int(out, "version", (int64_t)pod->config);
	pl_json_put_int(out, "current", (int64_t)pod->config_current);
	if (pod->config_err.code != PL_OK)
		pl_json_put_text(out, "refused", pl_span_str(pod->config_err.msg));
	pl_json_out_end(out);
}

static void put_owner(const struct pod_explanation *pod, struct pl_json_out *out)
{
	pl_json_put_text(out, "namespace", pod->namespace);
	pl_json_put_text(out, "name", pod->name);
	pl_json_out_name(out, "revision");
	pl_json_out_int_string(out, pod->revision);
	if (pod->cluster.compacted) {
		pl_json_out_name(out, "compacted");
		pl_json_out_bool(out, true);
	}
	pl_json_put_int(out, "partition", pod->partition);
	if (pod->partition != pod->named)
		pl_json_put_int(out, "named", pod->named);
	pl_json_put_text(out, "owner", pod->owner);
	pl_json_put_text(out, "gang", pod->gang);
	pl_json_put_text(out, "gangPhase", pod->gang_phase);
	put_config(pod, out);
}

static void put_queue(const struct pod_explanation *pod, struct pl_json_out *out)
{
	const struct queue_position *queue = &pod->queue;

	if (!queue->known)
		return;
	pl_json_out_name(out, "queue");
	pl_json_out_object(out);
	pl_json_put_text(out, "sort",
	                 pl_span_str(queue->sort == QUEUE_BY_SLA ? "sla" : "priority"));
	pl_json_put_int(out, "before", (int64_t)queue->before);
	pl_json_put_int(out, "alike", (int64_t)queue->alike);
	pl_json_put_int(out, "older", (int64_t)queue->older);
	pl_json_out_end(out);
}

static void put_decision(const struct pod_explanation *pod, const struct explain *explain,
                         struct pl_json_out *out)
{
	put_excluded(pod, out);
	put_queue(pod, out);
	pl_json_out_name(out, "own");
	pl_json_out_object(out);
	pl_json_put_int(out, "nodes", pod->own_nodes);
	pl_json_put_int(out, "feasible", pod->own_feasible);
	pl_json_out_end(out);
	pl_json_out_name(out, "decision");
	explain_json(explain, out);
}

void pod_explanation_json(const struct pod_explanation *pod,
                          const struct explain *explain, struct pl_json_out *out)
{
	pl_json_out_object(out);
	pl_json_put_text(out, "kind", PL_SPAN_LIT("PodExplanation"));
	put_owner(pod, out);
	if (pod->has_state) {
		pl_json_out_name(out, "state");
		pl_json_out_object(out);
		put_state(pod, out);
		pl_json_out_end(out);
	}
	if (pod->malformed.code != PL_OK)
		pl_json_put_text(out, "malformed", pl_span_str(pod->malformed.msg));
	if (explain != NULL)
		put_decision(pod, explain, out);
	pl_json_out_end(out);
}
