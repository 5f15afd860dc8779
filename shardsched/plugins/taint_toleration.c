/*
 * TaintToleration: hard taints that a pod does not tolerate refuse a node, soft ones are
 * counted.
 *
 * Nodes with equal taints share a set, and there are few sets: what a class makes of a
 * set is computed once and remembered by the set's number. It is forgotten when any node
 * changes, since a number may then be given again.
 */
#include <stdlib.h>

#include "shardsched/plugins/node_event.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/plugins/slot_words.h"
#include "store/base/alloc.h"

/* Sets with higher numbers are computed each time. */
enum { MEMO_MAX = 4096, MEMO_LEAST = 64 };

struct taint_memo {
	uint32_t stamp; /* of the epoch for which it was computed */
	uint32_t soft;  /* number of PreferNoSchedule taints that are not tolerated */
	bool hard;      /* a NoSchedule or NoExecute taint is not tolerated */
};

struct taint_toleration_class {
	struct taint_memo *memo; /* by number of the set */
	uint32_t count;
	uint32_t stamp;
	uint64_t epoch; /* of the snapshot's nodes */
};

static enum pl_code on_open(struct snapshot *snapshot, const struct plugin_call *call,
                            struct pl_err *err)
{
	uint32_t sets = snapshot->model->intern[MODEL_TAINTS].ids;
	struct taint_toleration_class *class_state = call->class_state;

	class_state->count = sets < MEMO_MAX / 2 ? sets * 2 + MEMO_LEAST : MEMO_MAX;
	class_state->memo = pl_calloc(class_state->count, sizeof *class_state->memo);
	if (class_state->memo == NULL)
		return pl_err_set(err, PL_NOMEM, "tolerated taints: out of memory");
	class_state->stamp = 1;
	class_state->epoch = snapshot->nodes_epoch;
	return PL_OK;
}

static void on_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct taint_toleration_class *class_state = call->class_state;

	(void)snapshot;
	free(class_state->memo);
}

static struct taint_memo judge_taints(const struct taints *taints,
                                      const struct tolerations *tolerations)
{
	struct taint_memo out = {.hard = taints_first_untolerated(taints, tolerations,
	                                                          TAINT_HARD) != NULL};

	if ((taints->effects & TAINT_BIT(TAINT_PREFER_NO_SCHEDULE)) == 0)
		return out;
	for (uint32_t i = 0; i < taints->count; i++)
		out.soft += taints->row[i].effect == TAINT_PREFER_NO_SCHEDULE &&
		            !tolerations_cover(tolerations, &taints->row[i]);
	return out;
}

/* Forgets all sets when a node has changed. */
static void refresh_memo(const struct plugin_call *call)
{
	struct taint_toleration_class *class_state = call->class_state;

	if (class_state->epoch == call->snapshot->nodes_epoch)
		return;
	class_state->epoch = call->snapshot->nodes_epoch;
	class_state->stamp++;
	if (class_state->stamp == 0) {
		memset(class_state->memo, 0,
		       class_state->count * sizeof *class_state->memo);
		class_state->stamp = 1;
	}
}

static struct taint_memo memo_of(const struct plugin_call *call, uint32_t slot)
{
	const struct snapshot *snapshot = call->snapshot;
	uint32_t id = snapshot->taints[slot];
	struct taint_toleration_class *class_state = call->class_state;
	struct taint_memo *memo = id < class_state->count ? &class_state->memo[id] : NULL;
	struct taint_memo made;

	/* The row is a cache miss, and is only read when the memo has nothing. */
	if (memo != NULL && memo->stamp == class_state->stamp)
		return *memo;
	made = judge_taints(snapshot->row[slot].node.taints,
	                    call->spec->template->tolerations);
	made.stamp = class_state->stamp;
	if (memo != NULL)
		*memo = made;
	return made;
}

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	const uint64_t *tainted = call->snapshot->hard_taints.word + span.word;

	refresh_memo(call);
	SPAN_EACH_WORD(i, span)
	{
		uint32_t first = (span.word + i) * 64;

		SLOT_WORDS_EACH(bit, span.bits[i] & tainted[i])
		if (memo_of(call, first + (uint32_t)bit).hard)
			span.bits[i] &= ~(UINT64_C(1) << bit);
	}
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	const struct taint *taint =
		taints_first_untolerated(call->snapshot->row[slot].node.taints,
	                                 call->spec->template->tolerations, TAINT_HARD);

	if (taint != NULL)
		verdict_add(verdict, VERDICT_UNRESOLVABLE,
		            &(struct reason){.code = REASON_TAINT,
		                             .subject = taint->key,
		                             .value = taint->value,
		                             .detail = taint->effect});
}

static bool score_nodes(const struct plugin_call *call, struct node_span span,
                        int64_t *out)
{
	const uint64_t *tainted = call->snapshot->soft_taints.word + span.word;
	uint64_t any = 0;

	SPAN_EACH_WORD(i, span)
	any |= span.bits[i] & tainted[i];
	if (any == 0)
		return false;
	refresh_memo(call);
	memset(out, 0, (size_t)span.words * 64 * sizeof *out);
	SPAN_EACH_WORD(i, span)
	{
		uint32_t first = (span.word + i) * 64;

		SLOT_WORDS_EACH(bit, span.bits[i] & tainted[i])
		out[(size_t)i * 64 + bit] = memo_of(call, first + (uint32_t)bit).soft;
	}
	return true;
}

static bool queueing_hint(const struct plugin_call *call, const struct queue_event *event)
{
	uint32_t slot = node_event_slot(call, event);

	return slot == SNAPSHOT_NONE ||
	       taints_first_untolerated(call->snapshot->row[slot].node.taints,
	                                call->spec->template->tolerations,
	                                TAINT_HARD) == NULL;
}

const struct plugin plugin_taint_toleration = {
	.name = "TaintToleration",
	.refusal = PLUGIN_REFUSES_UNRESOLVABLE,
	.normal = PLUGIN_BY_MAX_DOWN,
	.weight = 3,
	.events = NODE_EVENTS | QUEUE_ON(NODE_TAINTS),
	.hint = queueing_hint,
	.class_state_size = sizeof(struct taint_toleration_class),
	.open = on_open,
	.close = on_close,
	.filter = filter_nodes,
	.why = explain_refusal,
	.score = score_nodes,
};
