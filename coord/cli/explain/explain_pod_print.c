#include <stdio.h>

#include "coord/cli/explain/explain_pod.h"
#include "coord/cli/explain/explain_print.h"
#include "coord/cli/output/age.h"
#include "coord/cli/output/output.h"
#include "coord/cli/output/printable.h"
#include "store/base/timestamp.h"

/* The first failure stays. */
struct explain_text {
	struct pl_buf *out;
	enum pl_code code;
};

PL_PRINTF(2, 3) static void add_text(struct explain_text *text, const char *fmt, ...)
{
	char line[2048];
	va_list args;

	if (text->code != PL_OK)
		return;
	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	(void)vsnprintf(line, sizeof line, fmt, args);
	va_end(args);
	text->code = printable_add(text->out, pl_span_str(line), NULL);
}

static void end_line(struct explain_text *text)
{
	if (text->code == PL_OK)
		text->code = pl_buf_add_str(text->out, "\n");
}

/* -- what its state says ---------------------------------------------------------------
 */

static void add_since(struct explain_text *text, const struct pod_explanation *pod)
{
	char stamp[PL_TIMESTAMP_SIZE], age[AGE_SIZE];

	add_text(text, " since %s (%s)", pl_timestamp_print(pod->state.since_ms, stamp),
	         age_text(pod->now_ms - pod->state.since_ms, age));
}

static void add_node(struct explain_text *text, const struct pod_explanation *pod)
{
	const struct pod_state *state = &pod->state;

	add_text(text, " on " PL_SPAN_FMT "/" PL_SPAN_FMT, PL_SPAN_ARG(state->cluster),
	         PL_SPAN_ARG(state->node));
	add_since(text, pod);
	add_text(text, ", placed by " PL_SPAN_FMT " under epoch %lld",
	         PL_SPAN_ARG(state->shard), (long long)state->epoch);
	end_line(text);
	if (state->attempts > 1)
		add_text(text, "  at attempt %u", state->attempts), end_line(text);
}

static void add_waits(struct explain_text *text, const struct pod_explanation *pod)
{
	const struct pod_state *state = &pod->state;

	add_since(text, pod);
	end_line(text);
	if (state->reason.len > 0) {
		add_text(text, "  " PL_SPAN_FMT ": " PL_SPAN_FMT,
		         PL_SPAN_ARG(state->reason), PL_SPAN_ARG(state->message));
		end_line(text);
	}
	if (state->nominated_node.len > 0) {
		add_text(text, "  nominated for " PL_SPAN_FMT "/" PL_SPAN_FMT,
		         PL_SPAN_ARG(state->nominated_cluster),
		         PL_SPAN_ARG(state->nominated_node));
		end_line(text);
	}
	add_text(text, "  %u attempt%s, reported by " PL_SPAN_FMT " under epoch %lld",
	         state->attempts, state->attempts == 1 ? "" : "s",
	         PL_SPAN_ARG(state->shard), (long long)state->epoch);
	end_line(text);
}

static void add_state(struct explain_text *text, const struct pod_explanation *pod)
{
	add_text(text, PL_SPAN_FMT "/" PL_SPAN_FMT " is ", PL_SPAN_ARG(pod->namespace),
	         PL_SPAN_ARG(pod->name));
	if (pod->malformed.code != PL_OK) {
		add_text(text, "malformed: %s", pod->malformed.msg);
		end_line(text);
	} else if (!pod->has_state) {
		add_text(text, "Pending, and no shard has decided it yet");
		end_line(text);
	} else {
		add_text(text, "%s", state_phase_word(pod->state.phase));
		if (state_has_place(&pod->state))
			add_node(text, pod);
		else
			add_waits(text, pod);
	}
}

/* -- where it is judged --------------------------------------------------- */

static void add_owner(struct explain_text *text, const struct pod_explanation *pod)
{
	add_text(text, "  partition %u", pod->partition);
	if (pod->partition != pod->named)
		add_text(text,
		         " (its name falls in %u: it is judged together with others)",
		         pod->named);
	if (pod->owner.len > 0)
		add_text(text, ", of shard " PL_SPAN_FMT, PL_SPAN_ARG(pod->owner));
	else
		add_text(text, ", which no shard owns at the moment");
	end_line(text);
	add_text(text, "  as of revision %lld%s, by %s", (long long)pod->revision,
	         pod->cluster.compacted
	                 ? " and later ones (the store compacted that revision)"
	                 : "",
	         pod->config == 0 ? "the default profile" : "version");
	if (pod->config != 0)
		add_text(text, " %llu of scheduler", (unsigned long long)pod->config);
	end_line(text);
	if (pod->config_err.code != PL_OK)
		add_text(text,
		         "  the current scheduler configuration can not be used: %s",
		         pod->config_err.msg),
			end_line(text);
	else if (pod->config != pod->config_current)
		add_text(
			text,
			"  version %llu is current; its shard has not reported yet that it runs it",
			(unsigned long long)pod->config_current),
			end_line(text);
}

static void add_excluded(struct explain_text *text, const struct pod_explanation *pod)
{
	for (unsigned i = 0; i < STORE_FLAWS; i++) {
		const struct excluded_nodes *flaw = &pod->cluster.flaw[i];

		if (flaw->nodes == 0)
			continue;
		add_text(text, "  left out: %llu node%s, %s (" PL_SPAN_FMT "%s%s)%s",
		         (unsigned long long)flaw->nodes, flaw->nodes == 1 ? "" : "s",
		         store_flaw_words((enum store_flaw)i),
		         PL_SPAN_ARG(keys_span(&flaw->first)),
		         flaw->err.code == PL_OK ? "" : ": ", flaw->err.msg,
		         i == STORE_FLAW_CLOSED ? "" : "; see fsck");
		end_line(text);
	}
}

static void add_queue(struct explain_text *text, const struct pod_explanation *pod)
{
	const struct queue_position *queue = &pod->queue;

	if (!queue->known)
		return;
	add_text(text,
	         "  of the pods of " PL_SPAN_FMT
	         " that wait %llu come%s before it by %s, %llu "
	         "%s as important, %llu of these older",
	         PL_SPAN_ARG(pod->owner), (unsigned long long)queue->before,
	         queue->before == 1 ? "s" : "",
	         queue->sort == QUEUE_BY_SLA ? "SLA and priority" : "priority",
	         (unsigned long long)queue->alike, queue->alike == 1 ? "is" : "are",
	         (unsigned long long)queue->older);
	end_line(text);
}

static void add_remarks(struct explain_text *text, const struct pod_explanation *pod,
                        const struct explain *explain)
{
	if (pod->gang.len > 0) {
		add_text(text,
		         "  it is of the gang " PL_SPAN_FMT
		         ", which is placed as a whole: here it is decided alone",
		         PL_SPAN_ARG(pod->gang));
		end_line(text);
	}
	if (pod->gang_phase.len > 0) {
		add_text(text, "  the gang's record says: " PL_SPAN_FMT,
		         PL_SPAN_ARG(pod->gang_phase));
		end_line(text);
	}
	if (pod->cluster.kept_room) {
		add_text(text,
		         "  a node is reserved for it, where its victims terminate");
		end_line(text);
	}
	if (pod->owner.len > 0 && explain->decision->outcome.result == CYCLE_NODE &&
	    !explain->decision->gated) {
		add_text(text,
		         "  of the %u nodes of its own shard, which come first, %u %s",
		         pod->own_nodes, pod->own_feasible,
		         pod->own_feasible == 1 ? "is feasible" : "are feasible");
		end_line(text);
	}
}

enum pl_code explain_pod_text(const struct pod_explanation *pod,
                              const struct explain *explain, struct pl_buf *out)
{
	struct explain_text text = {.out = out};

	add_state(&text, pod);
	add_owner(&text, pod);
	if (explain == NULL)
		return text.code;
	add_excluded(&text, pod);
	add_queue(&text, pod);
	add_remarks(&text, pod, explain);
	end_line(&text);
	if (pod->has_state && state_has_place(&pod->state)) {
		add_text(&text, "if it were decided now, as if it had no node:");
		end_line(&text);
	}
	return text.code == PL_OK ? explain_print(explain, out) : text.code;
}

enum pl_code explain_pod_json(const struct pod_explanation *pod,
                              const struct explain *explain, struct pl_buf *to,
                              struct pl_err *err)
{
	struct pl_json_out out;
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, EXPLAIN_OUT_MAX);
	pl_json_out_init(&out, &text);
	pod_explanation_json(pod, explain, &out);
	code = pl_json_out_done(&out);
	if (code == PL_OK)
		code = output_document(OUTPUT_JSON, pl_buf_span(&text), to, err);
	else
		pl_err_set(err, code, "print the explanation");
	pl_buf_done(&text);
	return code;
}
