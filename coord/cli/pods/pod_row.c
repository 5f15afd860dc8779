#include "coord/cli/pods/pod_row.h"

#include "coord/cli/output/age.h"
#include "store/base/timestamp.h"

enum pod_column {
	NAMESPACE,
	NAME,
	PHASE = POD_ROW_PHASE,
	CLUSTER,
	NODE,
	AGE,
	SINCE,
	NOMINATED,
	ATTEMPTS,
	REASON,
	MESSAGE,
	SHARD,
	EPOCH,
	PARTITION,
	POD_UID,
	COLUMN_COUNT,
};

static const struct output_column columns[] = {
	[NAMESPACE] = {"NAMESPACE", "namespace", OUTPUT_ALWAYS},
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[PHASE] = {"PHASE", "phase", OUTPUT_ALWAYS},
	[CLUSTER] = {"CLUSTER", "cluster", OUTPUT_ALWAYS},
	[NODE] = {"NODE", "node", OUTPUT_ALWAYS},
	[AGE] = {"AGE", NULL, OUTPUT_ALWAYS},
	[SINCE] = {NULL, "since", OUTPUT_ALWAYS},
	[NOMINATED] = {"NOMINATED", "nominated", OUTPUT_ON_WIDE},
	[ATTEMPTS] = {"ATTEMPTS", "attempts", OUTPUT_ON_WIDE},
	[REASON] = {"REASON", "reason", OUTPUT_ALWAYS},
	[MESSAGE] = {"MESSAGE", "message", OUTPUT_ON_WIDE},
	[SHARD] = {"SHARD", "shard", OUTPUT_ON_WIDE},
	[EPOCH] = {"EPOCH", "epoch", OUTPUT_ON_WIDE},
	[PARTITION] = {"PARTITION", "partition", OUTPUT_ON_WIDE},
	[POD_UID] = {"UID", "uid", OUTPUT_ON_WIDE},
};

const struct output_schema pod_schema = {"Pod", columns, COLUMN_COUNT, 2};

struct pl_span pod_row_phase(const struct output_row *row)
{
	return row->cells[PHASE].text;
}

static enum pl_code put_malformed(struct output_row *row, struct pl_arena *arena,
                                  const char *why)
{
	struct pl_span text = pl_arena_dup(arena, pl_span_str(why));

	if (text.at == NULL)
		return PL_NOMEM;
	output_text(row, PHASE, PL_SPAN_LIT(POD_PHASE_MALFORMED));
	output_text(row, REASON, text);
	return PL_OK;
}

static enum pl_code put_since(struct output_row *row, struct pl_arena *arena,
                              int64_t since_ms, int64_t now_ms)
{
	char *age = pl_arena_alloc(arena, AGE_SIZE);
	char *since = pl_arena_alloc(arena, PL_TIMESTAMP_SIZE);

	if (age == NULL || since == NULL)
		return PL_NOMEM;
	output_text(row, AGE, pl_span_str(age_text(now_ms - since_ms, age)));
	output_text(row, SINCE, pl_span_str(pl_timestamp_print(since_ms, since)));
	return PL_OK;
}

/* The node on which capacity is reserved for the pod. */
static enum pl_code put_nominated(struct output_row *row, struct pl_arena *arena,
                                  const struct pod_state *state)
{
	const char *text;

	if (state->nominated_node.len == 0)
		return PL_OK;
	text = pl_arena_printf(arena, PL_SPAN_FMT "/" PL_SPAN_FMT,
	                       PL_SPAN_ARG(state->nominated_cluster),
	                       PL_SPAN_ARG(state->nominated_node));
	if (text == NULL)
		return PL_NOMEM;
	output_text(row, NOMINATED, pl_span_str(text));
	return PL_OK;
}

/* A shard leaves a gated pod alone and writes no reason, so the row does. */
static void put_gated(struct output_row *row)
{
	output_text(row, REASON, PL_SPAN_LIT("pod.gated"));
	output_text(row, MESSAGE, PL_SPAN_LIT("waiting for scheduling gates"));
}

static enum pl_code put_state(struct output_row *row, struct pl_arena *arena,
                              const struct pod_state *state)
{
	output_text(row, CLUSTER, state->cluster);
	output_text(row, NODE, state->node);
	output_text(row, REASON, state->reason);
	output_text(row, MESSAGE, state->message);
	output_text(row, SHARD, state->shard);
	output_text(row, POD_UID, state->uid);
	if (state->attempts > 0)
		output_int(row, ATTEMPTS, state->attempts);
	if (state->epoch > 0)
		output_int_string(row, EPOCH, state->epoch);
	return put_nominated(row, arena, state);
}

enum pl_code pod_row(const struct pod_info *info, int64_t now_ms, struct pl_arena *arena,
                     struct output_row *out)
{
	struct output_row row = {0};
	struct pod_state state;
	struct pl_err err = {0};
	const char *phase;
	enum pl_code code = pod_info_state(info, arena, &state, &phase, &err);

	if (code == PL_NOMEM)
		return code;
	output_text(&row, NAMESPACE, info->namespace);
	output_text(&row, NAME, info->name);
	output_text(&row, PHASE, pl_span_str(phase));
	output_int(&row, PARTITION, info->partition);
	if (code != PL_OK)
		code = put_malformed(&row, arena, err.msg);
	else if (info->has_state)
		code = put_state(&row, arena, &state);
	if (err.code == PL_OK && info->gated && state.phase == STATE_PENDING &&
	    state.reason.len == 0)
		put_gated(&row);
	if (code == PL_OK && err.code == PL_OK && info->has_state)
		code = put_since(&row, arena, state.since_ms, now_ms);
	if (code == PL_OK)
		*out = row;
	return code;
}

enum pl_code pod_row_decided(const struct pod_decided *pod, struct pl_arena *arena,
                             struct output_row *out)
{
	const struct pod_state *state = pod->state;
	struct output_row row = {0};
	enum pl_code code;

	output_text(&row, NAMESPACE, pod->namespace);
	output_text(&row, NAME, pod->name);
	output_text(&row, PHASE, pl_span_str(state_phase_word(state->phase)));
	code = put_state(&row, arena, state);
	if (pod->gated && state->phase == STATE_PENDING)
		put_gated(&row);
	if (code == PL_OK && pod->has_since)
		code = put_since(&row, arena, state->since_ms, pod->now_ms);
	if (code == PL_OK)
		*out = row;
	return code;
}
