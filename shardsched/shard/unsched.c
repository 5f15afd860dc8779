/*
 * Pods that fit nowhere: why, in their state, for whoever looks. Told after the first
 * attempt and then at most every TELL_EVERY_S, so many a second in all; a pod that is not
 * told now is told after another attempt, which comes soon if it was never told.
 */
#include "shardsched/shard/unsched.h"

#include <stdio.h>
#include <stdlib.h>

#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

enum {
	TELL_EVERY_S = 30,
	TELL_PAUSE_MS = 100,
	LOOK_PAUSE_MS = 1000,
	WHYS_MAX = 4, /* in a message */
	MESSAGE_SIZE = 384,
};

struct why {
	struct sched_pod *pod;
	uint32_t reason;
	bool room; /* only that none is held for it any more */
	char message[MESSAGE_SIZE];
};

struct unsched {
	struct why why[SCHED_TELLS_MAX]; /* in a call */
	uint32_t count;
	uint64_t at_ms; /* when the next call may be made */
	/* Owed a word, but not noted: for want of room, or while it is not known what the
	 * node holds. All pods are looked through for them when that may be otherwise. */
	bool crowded, doubted;
	bool look;
	uint64_t look_ms; /* not before that */
	struct pl_buf text;
};

enum pl_code unsched_new(struct sched *sched, struct pl_err *err)
{
	sched->unsched = pl_calloc(1, sizeof *sched->unsched);
	if (sched->unsched == NULL)
		return pl_err_set(err, PL_NOMEM, "keep reasons");
	pl_buf_init(&sched->unsched->text, STATE_MESSAGE_MAX);
	return PL_OK;
}

void unsched_free(struct sched *sched)
{
	if (sched->unsched == NULL)
		return;
	pl_buf_done(&sched->unsched->text);
	free(sched->unsched);
	sched->unsched = NULL;
}

void unsched_forget(struct sched *sched, struct sched_pod *pod)
{
	struct unsched *unsched = sched->unsched;

	if (unsched == NULL)
		return;
	for (uint32_t i = 0; i < unsched->count; i++)
		if (unsched->why[i].pod == pod)
			unsched->why[i--] = unsched->why[--unsched->count];
}

static struct pl_span word_of(const struct why *why)
{
	return why->room ? PL_SPAN_LIT("nomination.ended")
	                 : pl_span_str(reason_word(why->reason));
}

void unsched_lend(struct sched *sched, struct sched_pod *pod, struct pod_state *out)
{
	const struct unsched *unsched = sched->unsched;

	for (uint32_t i = 0; i < unsched->count; i++) {
		if (unsched->why[i].pod != pod)
			continue;
		out->reason = word_of(&unsched->why[i]);
		out->message = pl_span_str(unsched->why[i].message);
	}
}

/* -- why ------------------------------------------------------------------ */

/* What the plugin says about the first node that it refused. */
static bool asked(struct sched *sched, unsigned plugin, struct verdict *say)
{
	struct pl_bitset set;
	size_t slot;

	if (pl_bitset_make(&sched->arena, sched->snapshot.capacity, &set) != PL_OK)
		return false;
	cycle_refused(sched->cycle, plugin, set);
	slot = pl_bitset_next(set, 0);
	if (slot >= set.bits)
		return false;
	verdict_clear(say);
	cycle_why(sched->cycle, (uint32_t)slot, say);
	return say->count > 0;
}

static void add(struct sched *sched, struct why *why, uint32_t nodes,
                const struct reason *reason)
{
	struct pl_buf *text = &sched->unsched->text;
	size_t len = strlen(why->message);

	pl_buf_clear(text, text->cap);
	if (reason_print(&sched->model.strings, reason, text) != PL_OK)
		return;
	if (nodes > 0)
		(void)snprintf(why->message + len, MESSAGE_SIZE - len,
		               "%s%u node%s: %.*s", len == 0 ? "" : "; ", nodes,
		               nodes == 1 ? "" : "s", PL_SPAN_ARG(pl_buf_span(text)));
	else
		(void)snprintf(why->message + len, MESSAGE_SIZE - len, "%s%.*s",
		               len == 0 ? "" : "; ", PL_SPAN_ARG(pl_buf_span(text)));
}

/* The next by how many it refused; PLUGINS_MAX: none. */
static unsigned next_of(const struct outcome *outcome, uint64_t left)
{
	unsigned best = PLUGINS_MAX;

	for (unsigned i = 0; i < PLUGINS_MAX; i++)
		if ((left >> i & 1) != 0 && outcome->refused[i] > 0 &&
		    (best == PLUGINS_MAX || outcome->refused[i] > outcome->refused[best]))
			best = i;
	return best;
}

static void explain(struct sched *sched, const struct outcome *outcome, struct why *why)
{
	uint64_t left = outcome->refused_by;

	pl_arena_reset(&sched->arena);
	why->message[0] = 0;
	why->reason = REASON_NONE;
	if (outcome->pre.code != VERDICT_SUCCESS && outcome->pre.count > 0) {
		why->reason = outcome->pre.reason[0].code;
		add(sched, why, 0, &outcome->pre.reason[0]);
	}
	for (unsigned n = 0; n < WHYS_MAX; n++) {
		unsigned plugin = next_of(outcome, left);
		struct verdict say;

		if (plugin == PLUGINS_MAX)
			break;
		left &= ~(UINT64_C(1) << plugin);
		if (!asked(sched, plugin, &say))
			continue;
		if (why->reason == REASON_NONE)
			why->reason = say.reason[0].code;
		add(sched, why, outcome->refused[plugin], &say.reason[0]);
	}
	if (why->message[0] == 0)
		(void)snprintf(why->message, MESSAGE_SIZE, "no nodes");
}

/* -- to be told ------------------------------------------------------------ */

static bool is_time(const struct sched *sched, const struct sched_pod *pod)
{
	return sched->unsched->count < sched->opts.tells && pod->call == 0 &&
	       (pod->rev[FACT_STATE] == 0 || pod->told_s == 0 ||
	        !hold_is_said(sched, pod) ||
	        sched->now_ms / 1000 >= (uint64_t)pod->told_s + TELL_EVERY_S);
}

/* Who was never told has to be. */
bool unsched_may_note(const struct sched *sched, const struct sched_pod *pod)
{
	return pod->rev[FACT_STATE] != 0 ||
	       (sched->unsched->count < sched->opts.tells && pod->call == 0);
}

uint32_t unsched_note(struct sched *sched, struct sched_pod *pod,
                      const struct outcome *outcome)
{
	struct unsched *unsched = sched->unsched;
	struct why *why;

	if (outcome->pre.code == VERDICT_SUCCESS && !is_time(sched, pod))
		return REASON_NONE;
	unsched_forget(sched, pod);
	if (!is_time(sched, pod))
		return outcome->pre.count == 0 ? (uint32_t)REASON_NONE
		                               : outcome->pre.reason[0].code;
	why = &unsched->why[unsched->count++];
	why->pod = pod;
	why->room = false;
	explain(sched, outcome, why);
	return why->reason;
}

bool unsched_say(struct sched *sched, struct sched_pod *pod, uint32_t reason,
                 const char *message)
{
	struct why *why;

	unsched_forget(sched, pod);
	if (!is_time(sched, pod))
		return false;
	why = &sched->unsched->why[sched->unsched->count++];
	why->pod = pod;
	why->room = false;
	why->reason = reason;
	(void)snprintf(why->message, sizeof why->message, "%s", message);
	return true;
}

static struct why *why_of(struct unsched *unsched, const struct sched_pod *pod)
{
	for (uint32_t i = 0; i < unsched->count; i++)
		if (unsched->why[i].pod == pod)
			return &unsched->why[i];
	return NULL;
}

void unsched_owe(struct sched *sched, struct sched_pod *pod)
{
	struct unsched *unsched = sched->unsched;
	struct why *why;

	if (unsched == NULL)
		return;
	unsched->doubted = unsched->doubted || hold_is_doubted(sched, pod);
	if (!hold_is_owed(sched, pod) || why_of(unsched, pod) != NULL)
		return;
	if (unsched->count == sched->opts.tells) {
		unsched->crowded = true;
		return;
	}
	why = &unsched->why[unsched->count++];
	why->pod = pod;
	why->reason = REASON_NONE;
	why->room = true;
	hold_ended_say(sched, pod->at, why->message, sizeof why->message);
}

void unsched_learn(struct sched *sched)
{
	if (sched->unsched != NULL && sched->unsched->doubted)
		sched->unsched->look = true;
}

static bool is_to_look(const struct sched *sched)
{
	const struct unsched *unsched = sched->unsched;

	return unsched->look || (unsched->crowded && unsched->count < sched->opts.tells);
}

/* Nobody else would tell those that are never tried, or not soon. */
static void look(struct sched *sched)
{
	struct unsched *unsched = sched->unsched;

	if (!is_to_look(sched) || sched->now_ms < unsched->look_ms)
		return;
	unsched->look_ms = sched->now_ms + LOOK_PAUSE_MS;
	unsched->look = unsched->crowded = unsched->doubted = false;
	for (uint32_t i = 0; i < sched->opts.partitions; i++) {
		struct sched_partition *part = &sched->partition[i];

		if (!part->owned || !part->open)
			continue;
		PODS_OF_EACH(pod, sched, i)
		unsched_owe(sched, pod);
	}
}

uint32_t unsched_why(struct sched *sched, const struct outcome *outcome, char *out,
                     size_t size)
{
	struct why why;

	explain(sched, outcome, &why);
	(void)snprintf(out, size, "%s", why.message);
	return why.reason;
}

static bool put(struct sched *sched, struct call *call, const struct why *why)
{
	struct sched_pod *pod = why->pod;
	int64_t since_ms = pod->phase == STATE_PENDING ? pod->since_ms : sched->wall_ms;
	char uid[UUID_TEXT_LEN];
	struct pod_state state = {
		.phase = STATE_PENDING,
		.uid = pod_uid_text(sched, pod, uid),
		.shard = pl_span_str(sched->shard),
		.epoch = sched->partition[pod->key[0]].epoch,
		.attempts = pod->attempts + pod_attempts(pod),
		.ask = why->room ? (enum state_ask)pod->ask : STATE_ASK_NONE,
		.reason = word_of(why),
		.message = pl_span_str(why->message),
		.since_ms = since_ms,
	};
	struct book_decided decided = call_decided(sched, pod);

	hold_say(sched, pod, &state);
	pl_buf_clear(&sched->buf, sched->buf.cap);
	if (state_print(&state, &sched->buf, NULL) != PL_OK)
		return true; /* nothing that can be said */
	decided.state = pl_arena_dup(&call->arena, pl_buf_span(&sched->buf));
	if (decided.state.at == NULL || !book_put_state(&call->book, &decided))
		return false;
	call_item_add(call, &(struct call_item){.pod = pod,
	                                        .value = decided.state,
	                                        .ask = (uint8_t)state.ask,
	                                        .since_ms = since_ms});
	pod->call = call_number(sched, call);
	/* What is in its way is told with its next attempt. */
	pod->told_s = why->room ? 0 : (uint32_t)(sched->now_ms / 1000);
	return true;
}

static bool is_due(struct sched *sched, const struct why *why)
{
	struct unsched *unsched = sched->unsched;

	if (why->room) {
		unsched->doubted = unsched->doubted || hold_is_doubted(sched, why->pod);
		return hold_is_owed(sched, why->pod);
	}
	return why->pod->place == POD_QUEUED && why->pod->call == 0;
}

void unsched_run(struct sched *sched)
{
	struct unsched *unsched = sched->unsched;
	enum pl_code code;
	struct call *call;
	uint32_t done = 0;

	look(sched);
	if (unsched->count == 0 || sched->now_ms < unsched->at_ms)
		return;
	call = call_begin(sched, CALL_TELL);
	if (call == NULL)
		return;
	unsched->at_ms = sched->now_ms + TELL_PAUSE_MS;
	code = call_room(call, sched->opts.tells);
	while (code == PL_OK && done < unsched->count &&
	       (!is_due(sched, &unsched->why[done]) ||
	        put(sched, call, &unsched->why[done])))
		done++;
	unsched->count -= done;
	memmove(unsched->why, unsched->why + done, unsched->count * sizeof *unsched->why);
	if (call->items == 0)
		call_end(sched, call);
	else
		call_post(sched, call);
}

uint64_t unsched_deadline_ms(const struct sched *sched)
{
	const struct unsched *unsched = sched->unsched;
	uint64_t look_ms = is_to_look(sched) ? unsched->look_ms : UINT64_MAX;

	if (unsched->count == 0 || sched->call[SCHED_INFLIGHT_MAX].state != CALL_FREE ||
	    look_ms < unsched->at_ms)
		return look_ms;
	return unsched->at_ms;
}
