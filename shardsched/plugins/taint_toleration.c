/*
 * Taints that a pod does not tolerate: hard ones keep it away, soft ones are counted.
 *
 * Nodes with the same taints share a set, and there are few sets: what a class has to do
 * with a set is worked out once and remembered by the set's number, until a node is
 * another than it was, since a number may then be given again.
 */
#include <stdlib.h>

#include "shardsched/plugins/node_event.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/plugins/words.h"
#include "store/base/alloc.h"

/* Sets with higher numbers are looked at each time. */
enum { MEMO_MAX = 4096, MEMO_LEAST = 64 };

struct memo {
	uint32_t stamp; /* of the epoch in which it was made */
	uint32_t soft;  /* PreferNoSchedule ones that are not tolerated */
	bool hard;      /* one of the others is not */
};

struct own {
	struct memo *memo; /* by number of the set */
	uint32_t count;
	uint32_t stamp;
	uint64_t epoch; /* of the nodes */
};

static enum pl_code on_open(struct snapshot *snapshot, const struct plugin_call *call,
                            struct pl_err *err)
{
	uint32_t sets = snapshot->model->intern[MODEL_TAINTS].ids;
	struct own *own = call->own;

	own->count = sets < MEMO_MAX / 2 ? sets * 2 + MEMO_LEAST : MEMO_MAX;
	own->memo = pl_calloc(own->count, sizeof *own->memo);
	if (own->memo == NULL)
		return pl_err_set(err, PL_NOMEM, "remember what is tolerated");
	own->stamp = 1;
	own->epoch = snapshot->nodes_epoch;
	return PL_OK;
}

static void on_close(struct snapshot *snapshot, const struct plugin_call *call)
{
	struct own *own = call->own;

	(void)snapshot;
	free(own->memo);
}

static struct memo judge(const struct taints *taints,
                         const struct tolerations *tolerations)
{
	struct memo out = {.hard = taints_first_untolerated(taints, tolerations,
	                                                    TAINT_HARD) != NULL};

	if ((taints->effects & TAINT_BIT(TAINT_PREFER_NO_SCHEDULE)) == 0)
		return out;
	for (uint32_t i = 0; i < taints->count; i++)
		out.soft += taints->row[i].effect == TAINT_PREFER_NO_SCHEDULE &&
		            !tolerations_cover(tolerations, &taints->row[i]);
	return out;
}

/* Forgets everything when a node has changed. */
static void refresh(const struct plugin_call *call)
{
	struct own *own = call->own;

	if (own->epoch == call->snapshot->nodes_epoch)
		return;
	own->epoch = call->snapshot->nodes_epoch;
	own->stamp++;
	if (own->stamp == 0) {
		memset(own->memo, 0, own->count * sizeof *own->memo);
		own->stamp = 1;
	}
}

static struct memo ask(const struct plugin_call *call, uint32_t slot)
{
	const struct snapshot *snapshot = call->snapshot;
	uint32_t id = snapshot->taints[slot];
	struct own *own = call->own;
	struct memo *memo = id < own->count ? &own->memo[id] : NULL;
	struct memo made;

	/* The row is far away, and only looked at when it must be. */
	if (memo != NULL && memo->stamp == own->stamp)
		return *memo;
	made = judge(snapshot->row[slot].node.taints, call->spec->form->tolerations);
	made.stamp = own->stamp;
	if (memo != NULL)
		*memo = made;
	return made;
}

static void filter(const struct plugin_call *call, struct node_span span)
{
	const uint64_t *tainted = call->snapshot->hard_taints.word + span.word;

	refresh(call);
	SPAN_EACH_WORD(i, span)
	{
		uint32_t first = (span.word + i) * 64;

		WORDS_EACH (bit, span.bits[i] & tainted[i])
			if (ask(call, first + (uint32_t)bit).hard)
				span.bits[i] &= ~(UINT64_C(1) << bit);
	}
}

static void why(const struct plugin_call *call, uint32_t slot, struct verdict *say)
{
	const struct taint *taint =
		taints_first_untolerated(call->snapshot->row[slot].node.taints,
	                                 call->spec->form->tolerations, TAINT_HARD);

	if (taint != NULL)
		verdict_add(say, VERDICT_UNRESOLVABLE,
		            &(struct reason){.code = REASON_TAINT,
		                             .subject = taint->key,
		                             .value = taint->value,
		                             .detail = taint->effect});
}

static bool score(const struct plugin_call *call, struct node_span span, int64_t *out)
{
	const uint64_t *tainted = call->snapshot->soft_taints.word + span.word;
	uint64_t any = 0;

	SPAN_EACH_WORD(i, span)
	any |= span.bits[i] & tainted[i];
	if (any == 0)
		return false;
	refresh(call);
	memset(out, 0, (size_t)span.words * 64 * sizeof *out);
	SPAN_EACH_WORD(i, span)
	{
		uint32_t first = (span.word + i) * 64;

		WORDS_EACH (bit, span.bits[i] & tainted[i])
			out[(size_t)i * 64 + bit] = ask(call, first + (uint32_t)bit).soft;
	}
	return true;
}

static bool hint(const struct plugin_call *call, const struct queue_event *event)
{
	uint32_t slot = node_event_slot(call, event);

	return slot == SNAPSHOT_NONE ||
	       taints_first_untolerated(call->snapshot->row[slot].node.taints,
	                                call->spec->form->tolerations,
	                                TAINT_HARD) == NULL;
}

const struct plugin plugin_taint_toleration = {
	.name = "TaintToleration",
	.refusal = PLUGIN_REFUSES_UNRESOLVABLE,
	.normal = PLUGIN_BY_MAX_DOWN,
	.weight = 3,
	.events = NODE_EVENTS | QUEUE_ON(NODE_TAINTS),
	.hint = hint,
	.own_size = sizeof(struct own),
	.open = on_open,
	.close = on_close,
	.filter = filter,
	.why = why,
	.score = score,
};
