#include "coord/claims/claims_core.h"

#include <string.h>

/*
 * A slot in which something changed goes into todo; run() takes one after the other
 * and looks at it afresh, so what is done depends on what is so now and not on the
 * way there. Each look emits one action at most.
 */

enum { RETRY_MIN_MS = 20, RETRY_MAX_MS = 2000, INFLIGHT_DEFAULT = 32 };

static const char *const state_names[] = {
	[CLAIMS_STATE_UNSEEN] = "unseen",       [CLAIMS_STATE_ABSENT] = "absent",
	[CLAIMS_STATE_OTHER] = "other",         [CLAIMS_STATE_CLAIMING] = "claiming",
	[CLAIMS_STATE_OWNED] = "owned",         [CLAIMS_STATE_QUIESCING] = "quiescing",
	[CLAIMS_STATE_RELEASING] = "releasing", [CLAIMS_STATE_READING] = "reading",
};

const char *claims_state_name(enum claims_state state)
{
	PL_ASSERT(state <= CLAIMS_STATE_READING);
	return state_names[state];
}

static uint32_t index_of(const struct claims_core *core, const struct claims_slot *slot)
{
	return (uint32_t)(slot - core->slot);
}

static struct claims_slot *slot_of(const struct claims_core *core, uint32_t partition)
{
	PL_ASSERT(partition < core->partitions);
	return &core->slot[partition];
}

static bool up(const struct claims_core *core)
{
	return core->lease != 0 && !core->closed;
}

/* The newest fact is a key with our lease. */
static bool ours(const struct claims_core *core, const struct claims_slot *slot)
{
	return slot->key_epoch != 0 && core->lease != 0 && slot->key_lease == core->lease;
}

static bool to_move(const struct claims_core *core, const struct claims_slot *slot)
{
	return core->leaving || slot->target == CLAIMS_OTHERS;
}

static bool to_claim(const struct claims_core *core, const struct claims_slot *slot)
{
	return slot->target == CLAIMS_MINE && !core->leaving && slot->revision != 0 &&
	       slot->key_epoch == 0;
}

static bool is_busy(const struct claims_core *core, const struct claims_slot *slot)
{
	if (slot->lost_epoch != 0 || slot->ask != CLAIMS_ASK_NONE || slot->doubt)
		return true;
	if (slot->epoch != 0)
		return slot->quiescing || to_move(core, slot);
	return ours(core, slot) || to_claim(core, slot);
}

static void slot_check(const struct claims_core *core, const struct claims_slot *slot)
{
	PL_ASSERT(slot->epoch == 0 ||
	          (ours(core, slot) && slot->epoch == slot->key_epoch));
	PL_ASSERT(slot->epoch == 0 || slot->epoch != slot->given_up);
	PL_ASSERT(slot->epoch == 0 || slot->lost_epoch == 0);
	PL_ASSERT(slot->epoch != 0 || !slot->quiescing);
}

static void core_check(const struct claims_core *core)
{
	PL_ASSERT(core->inflight <= core->inflight_max);
	PL_ASSERT(core->owned <= core->partitions && core->busy <= core->partitions);
	PL_ASSERT(core->lease != 0 || core->owned == 0);
}

/* Something about it changed. */
static void mark(struct claims_core *core, struct claims_slot *slot)
{
	bool busy = is_busy(core, slot);

	slot_check(core, slot);
	core->busy += busy;
	core->busy -= slot->busy;
	slot->busy = busy;
	pl_list_del(&slot->link);
	pl_list_add_tail(&core->todo, &slot->link);
}

static void mark_all(struct claims_core *core)
{
	for (uint32_t p = 0; p < core->partitions; p++)
		mark(core, &core->slot[p]);
}

static void lose(struct claims_core *core, struct claims_slot *slot, enum claims_why why)
{
	if (slot->epoch == 0)
		return;
	PL_ASSERT(slot->lost_epoch == 0 && core->owned > 0);
	slot->lost_epoch = slot->epoch;
	slot->why = (uint8_t)why;
	slot->epoch = 0;
	slot->quiescing = false;
	slot->quiet = false;
	slot->at_ms = 0;
	core->owned--;
	if (why == CLAIMS_FENCED || why == CLAIMS_HANDED_OVER)
		slot->given_up = slot->lost_epoch;
}

/* What was asked is not waited for any more, and its answer not believed. */
static void forget(struct claims_slot *slot)
{
	slot->ask = CLAIMS_ASK_NONE;
	slot->doubt = false;
	slot->failures = 0;
	slot->at_ms = 0;
}

static void session_down(struct claims_core *core, enum claims_why why)
{
	for (uint32_t p = 0; p < core->partitions; p++) {
		lose(core, &core->slot[p], why);
		forget(&core->slot[p]);
	}
	core->inflight = 0;
	core->lease = 0;
	core->safe_until_ms = 0;
	mark_all(core);
}

static void on_session(struct claims_core *core, const struct claims_event *event)
{
	bool good = event->lease != 0 && event->now_ms < event->safe_until_ms;

	if (core->lease != 0 && (!good || core->lease != event->lease))
		session_down(core, CLAIMS_SESSION);
	if (!good || core->closed)
		return;
	core->safe_until_ms = event->safe_until_ms;
	if (core->lease == event->lease)
		return;
	core->lease = event->lease;
	mark_all(core);
}

/* Facts come in any order; the newest counts. */
static void learn(struct claims_core *core, struct claims_slot *slot, int64_t revision,
                  int64_t epoch, int64_t lease)
{
	PL_ASSERT(revision > 0 && epoch >= 0);
	if (revision <= slot->revision)
		return;
	if (slot->epoch != 0 && (slot->epoch != epoch || core->lease != lease))
		lose(core, slot, CLAIMS_GONE);
	if (slot->key_epoch != 0 && epoch == 0) {
		slot->failures = 0;
		slot->at_ms = 0;
	}
	slot->revision = revision;
	slot->key_epoch = epoch;
	slot->key_lease = epoch == 0 ? 0 : lease;
	slot->doubt = false;
}

static void on_target(struct claims_core *core, const struct claims_event *event)
{
	struct claims_slot *slot = slot_of(core, event->partition);

	if (slot->target == event->target)
		return;
	slot->target = (uint8_t)event->target;
	if (slot->epoch != 0 && !slot->quiescing)
		slot->at_ms = event->target == CLAIMS_OTHERS
		                      ? event->now_ms + core->settle_ms
		                      : 0;
	mark(core, slot);
}

static void on_quiet(struct claims_core *core, const struct claims_event *event)
{
	struct claims_slot *slot = slot_of(core, event->partition);

	if (!slot->quiescing || slot->epoch != event->epoch)
		return;
	slot->quiet = true;
	mark(core, slot);
}

/* The fact may still say that it is ours; the store knows better. */
static void on_fenced(struct claims_core *core, const struct claims_event *event)
{
	struct claims_slot *slot = slot_of(core, event->partition);

	if (slot->epoch == 0 || slot->epoch != event->epoch)
		return;
	lose(core, slot, CLAIMS_FENCED);
	slot->doubt = true;
	mark(core, slot);
}

static void on_rewound(struct claims_core *core)
{
	for (uint32_t p = 0; p < core->partitions; p++) {
		struct claims_slot *slot = &core->slot[p];

		lose(core, slot, CLAIMS_REWOUND);
		forget(slot);
		slot->revision = 0;
		slot->key_epoch = 0;
		slot->key_lease = 0;
	}
	core->inflight = 0;
	core->synced = false;
	mark_all(core);
}

static void retry_later(struct claims_core *core, struct claims_slot *slot,
                        uint64_t now_ms)
{
	uint64_t ms = RETRY_MIN_MS;

	if (slot->epoch != 0)
		return;
	for (unsigned i = 0; i < slot->failures && ms < RETRY_MAX_MS; i++)
		ms *= 2;
	if (ms > RETRY_MAX_MS)
		ms = RETRY_MAX_MS;
	if (slot->failures < UINT8_MAX)
		slot->failures++;
	slot->at_ms = now_ms + ms / 2 + pl_rng_below(&core->rng, ms / 2 + 1);
}

/* The compares did not hold, and yet the key is as they want it: what does not is
 * our record (the session's business), or the answer is nonsense. */
static bool found_odd(const struct claims_core *core, const struct claims_slot *slot,
                      enum claims_ask ask, const struct claims_event *event)
{
	if (ask == CLAIMS_ASK_CLAIM)
		return event->epoch == 0;
	return ask == CLAIMS_ASK_RELEASE && event->epoch == slot->given_up &&
	       event->lease == core->lease;
}

static void on_found(struct claims_core *core, struct claims_slot *slot,
                     enum claims_ask ask, const struct claims_event *event)
{
	learn(core, slot, event->revision, event->epoch, event->lease);
	slot->doubt = false; /* what was newer than the answer stands */
	if (found_odd(core, slot, ask, event))
		retry_later(core, slot, event->now_ms);
	else if (ask != CLAIMS_ASK_READ)
		slot->failures = 0;
}

static void on_answer(struct claims_core *core, const struct claims_event *event)
{
	struct claims_slot *slot = slot_of(core, event->partition);
	enum claims_ask ask = slot->ask;

	if (ask == CLAIMS_ASK_NONE || slot->seq != event->seq)
		return; /* of another session, or another store */
	PL_ASSERT(core->inflight > 0 && core->lease != 0);
	slot->ask = CLAIMS_ASK_NONE;
	core->inflight--;
	switch (event->type) {
	case CLAIMS_EV_CLAIMED:
		slot->failures = 0;
		learn(core, slot, event->revision, event->revision, core->lease);
		break;
	case CLAIMS_EV_RELEASED:
		slot->failures = 0;
		learn(core, slot, event->revision, 0, 0);
		break;
	case CLAIMS_EV_FOUND:
		on_found(core, slot, ask, event);
		break;
	case CLAIMS_EV_UNKNOWN:
		slot->doubt = slot->doubt || slot->epoch == 0;
		retry_later(core, slot, event->now_ms);
		break;
	default:
		PL_ASSERT(event->type == CLAIMS_EV_FAILED);
		retry_later(core, slot, event->now_ms);
		break;
	}
	mark(core, slot);
}

static struct claims_action *emit(struct claims_core *core, struct claims_slot *slot,
                                  enum claims_action_type type,
                                  struct claims_actions *actions)
{
	struct claims_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < actions->max);
	actions->count++;
	*action = (struct claims_action){.type = type,
	                                 .partition = index_of(core, slot),
	                                 .epoch = slot->epoch,
	                                 .lease = core->lease};
	mark(core, slot);
	return action;
}

static void tell_lost(struct claims_core *core, struct claims_slot *slot,
                      struct claims_actions *actions)
{
	int64_t epoch = slot->lost_epoch;
	struct claims_action *action;

	slot->lost_epoch = 0;
	action = emit(core, slot, CLAIMS_TELL_LOST, actions);
	action->epoch = epoch;
	action->why = slot->why;
}

static bool has_room(struct claims_core *core, struct claims_slot *slot)
{
	if (core->inflight < core->inflight_max)
		return true;
	pl_list_del(&slot->link);
	pl_list_add_tail(&core->hungry, &slot->link);
	return false;
}

static void send(struct claims_core *core, struct claims_slot *slot, enum claims_ask ask,
                 struct claims_actions *actions)
{
	static const enum claims_action_type types[] = {
		[CLAIMS_ASK_CLAIM] = CLAIMS_DO_CLAIM,
		[CLAIMS_ASK_RELEASE] = CLAIMS_DO_RELEASE,
		[CLAIMS_ASK_READ] = CLAIMS_DO_READ,
	};
	struct claims_action *action;

	PL_ASSERT(slot->epoch == 0 && slot->ask == CLAIMS_ASK_NONE);
	if (!has_room(core, slot))
		return;
	core->inflight++;
	slot->ask = (uint8_t)ask;
	slot->seq = ++core->seq;
	action = emit(core, slot, types[ask], actions);
	action->seq = slot->seq;
	if (ask == CLAIMS_ASK_RELEASE)
		action->epoch = slot->given_up = slot->key_epoch;
}

/* True: its time has not come. */
static bool wait(struct claims_core *core, const struct claims_slot *slot,
                 uint64_t now_ms)
{
	if (now_ms >= slot->at_ms)
		return false;
	if (slot->at_ms < core->next_ms)
		core->next_ms = slot->at_ms;
	return true;
}

static void adopt(struct claims_core *core, struct claims_slot *slot,
                  struct claims_actions *actions)
{
	slot->epoch = slot->key_epoch;
	slot->doubt = false;
	slot->failures = 0;
	slot->at_ms = 0;
	core->owned++;
	(void)emit(core, slot, CLAIMS_TELL_OWNED, actions);
}

static void work_owned(struct claims_core *core, struct claims_slot *slot,
                       uint64_t now_ms, struct claims_actions *actions)
{
	if (!to_move(core, slot) || !core->synced)
		return;
	if (!core->leaving && wait(core, slot, now_ms))
		return;
	slot->quiescing = true;
	slot->at_ms = now_ms + core->handover_ms;
	emit(core, slot, CLAIMS_TELL_QUIESCE, actions)->deadline_ms = slot->at_ms;
}

/* LOST goes first; the release follows when the slot is looked at again. */
static void work_quiescing(struct claims_core *core, struct claims_slot *slot,
                           uint64_t now_ms, struct claims_actions *actions)
{
	bool to_nobody = slot->target == CLAIMS_NOBODYS && !core->leaving;

	if ((!slot->quiet && wait(core, slot, now_ms)) || !core->synced || to_nobody)
		return;
	if (!has_room(core, slot))
		return;
	lose(core, slot, CLAIMS_HANDED_OVER);
	tell_lost(core, slot, actions);
}

/* A key of ours that is not acted on: taken up, or to be rid of. */
static void work_found(struct claims_core *core, struct claims_slot *slot,
                       uint64_t now_ms, struct claims_actions *actions)
{
	bool keep = slot->key_epoch != slot->given_up && !to_move(core, slot);

	if (keep)
		adopt(core, slot, actions);
	else if (slot->ask != CLAIMS_ASK_NONE || wait(core, slot, now_ms))
		return;
	else if (slot->doubt)
		send(core, slot, CLAIMS_ASK_READ, actions);
	else if (core->synced)
		send(core, slot, CLAIMS_ASK_RELEASE, actions);
}

static void work_idle(struct claims_core *core, struct claims_slot *slot, uint64_t now_ms,
                      struct claims_actions *actions)
{
	bool claim = core->synced && to_claim(core, slot);

	if (slot->ask != CLAIMS_ASK_NONE || (!claim && !slot->doubt) ||
	    wait(core, slot, now_ms))
		return;
	send(core, slot, slot->doubt ? CLAIMS_ASK_READ : CLAIMS_ASK_CLAIM, actions);
}

static void work(struct claims_core *core, struct claims_slot *slot, uint64_t now_ms,
                 struct claims_actions *actions)
{
	if (slot->lost_epoch != 0)
		tell_lost(core, slot, actions);
	else if (!up(core))
		return;
	else if (slot->quiescing)
		work_quiescing(core, slot, now_ms, actions);
	else if (slot->epoch != 0)
		work_owned(core, slot, now_ms, actions);
	else if (ours(core, slot))
		work_found(core, slot, now_ms, actions);
	else
		work_idle(core, slot, now_ms, actions);
}

static struct claims_slot *next_of(struct claims_core *core)
{
	struct pl_list *from = &core->todo;

	if (pl_list_empty(from)) {
		from = &core->hungry;
		if (pl_list_empty(from) || core->inflight == core->inflight_max)
			return NULL;
	}
	return PL_LIST_ITEM(from->next, struct claims_slot, link);
}

static void run(struct claims_core *core, uint64_t now_ms, struct claims_actions *actions)
{
	struct claims_slot *slot;

	while (actions->count < actions->max && (slot = next_of(core)) != NULL) {
		pl_list_del(&slot->link);
		work(core, slot, now_ms, actions);
		slot_check(core, slot);
	}
}

/* Slots whose time has come; and when the next one's does. */
static void wake(struct claims_core *core, uint64_t now_ms)
{
	if (now_ms < core->next_ms)
		return;
	core->next_ms = UINT64_MAX;
	for (uint32_t p = 0; p < core->partitions; p++) {
		struct claims_slot *slot = &core->slot[p];

		if (slot->at_ms != 0 && !wait(core, slot, now_ms))
			mark(core, slot);
	}
}

void claims_core_init(struct claims_core *core, const struct claims_core_opts *opts)
{
	PL_ASSERT(opts->partitions > 0);
	memset(core, 0, sizeof *core);
	memset(opts->slots, 0, opts->partitions * sizeof *opts->slots);
	core->slot = opts->slots;
	core->partitions = opts->partitions;
	core->inflight_max = opts->inflight != 0 ? opts->inflight : INFLIGHT_DEFAULT;
	core->handover_ms = opts->handover_ms;
	core->settle_ms = opts->settle_ms;
	core->next_ms = UINT64_MAX;
	pl_rng_init(&core->rng, opts->seed);
	pl_list_init(&core->todo);
	pl_list_init(&core->hungry);
	for (uint32_t p = 0; p < core->partitions; p++)
		pl_list_init(&core->slot[p].link);
}

static void on_fact(struct claims_core *core, const struct claims_event *event)
{
	struct claims_slot *slot = slot_of(core, event->partition);
	bool seen = event->type == CLAIMS_EV_SEEN;

	PL_ASSERT(!seen || event->epoch > 0);
	learn(core, slot, event->revision, seen ? event->epoch : 0, event->lease);
	mark(core, slot);
}

static void on_flag(struct claims_core *core, bool *flag, bool on)
{
	if (*flag == on)
		return;
	*flag = on;
	mark_all(core);
}

static void apply(struct claims_core *core, const struct claims_event *event)
{
	switch (event->type) {
	case CLAIMS_EV_SESSION:
		on_session(core, event);
		break;
	case CLAIMS_EV_SYNCED:
		on_flag(core, &core->synced, true);
		break;
	case CLAIMS_EV_UNSYNCED:
		on_flag(core, &core->synced, false);
		break;
	case CLAIMS_EV_SEEN:
	case CLAIMS_EV_GONE:
		on_fact(core, event);
		break;
	case CLAIMS_EV_TARGET:
		on_target(core, event);
		break;
	case CLAIMS_EV_LEAVING:
		on_flag(core, &core->leaving, event->on);
		break;
	case CLAIMS_EV_QUIET:
		on_quiet(core, event);
		break;
	case CLAIMS_EV_FENCED:
		on_fenced(core, event);
		break;
	case CLAIMS_EV_REWOUND:
		on_rewound(core);
		break;
	case CLAIMS_EV_TUNE:
		core->handover_ms = event->handover_ms;
		core->settle_ms = event->settle_ms;
		break;
	case CLAIMS_EV_CLAIMED:
	case CLAIMS_EV_RELEASED:
	case CLAIMS_EV_FOUND:
	case CLAIMS_EV_FAILED:
	case CLAIMS_EV_UNKNOWN:
		on_answer(core, event);
		break;
	case CLAIMS_EV_TIMEOUT:
		break;
	case CLAIMS_EV_CLOSE:
		core->closed = true;
		session_down(core, CLAIMS_CLOSED);
		break;
	}
}

void claims_step(struct claims_core *core, const struct claims_event *event,
                 struct claims_actions *actions)
{
	PL_ASSERT(actions->max <= CLAIMS_ACTIONS_MAX);
	actions->count = 0;
	core_check(core);
	if (core->lease != 0 && event->now_ms >= core->safe_until_ms)
		session_down(core, CLAIMS_SESSION);
	apply(core, event);
	wake(core, event->now_ms);
	run(core, event->now_ms, actions);
	core_check(core);
}

uint64_t claims_deadline_ms(const struct claims_core *core)
{
	uint64_t at = core->next_ms;

	if (!pl_list_empty(&core->todo) ||
	    (!pl_list_empty(&core->hungry) && core->inflight < core->inflight_max))
		return 0;
	return core->lease != 0 && core->safe_until_ms < at ? core->safe_until_ms : at;
}

enum claims_state claims_core_state(const struct claims_core *core, uint32_t partition)
{
	const struct claims_slot *slot = slot_of(core, partition);

	if (slot->epoch != 0)
		return slot->quiescing ? CLAIMS_STATE_QUIESCING : CLAIMS_STATE_OWNED;
	if (slot->ask == CLAIMS_ASK_CLAIM)
		return CLAIMS_STATE_CLAIMING;
	if (slot->ask == CLAIMS_ASK_READ || slot->doubt)
		return CLAIMS_STATE_READING;
	if (slot->ask == CLAIMS_ASK_RELEASE || ours(core, slot))
		return CLAIMS_STATE_RELEASING;
	if (slot->revision == 0)
		return CLAIMS_STATE_UNSEEN;
	return slot->key_epoch == 0 ? CLAIMS_STATE_ABSENT : CLAIMS_STATE_OTHER;
}

int64_t claims_core_epoch(const struct claims_core *core, uint32_t partition,
                          uint64_t now_ms)
{
	return up(core) && now_ms < core->safe_until_ms ? slot_of(core, partition)->epoch
	                                                : 0;
}

bool claims_core_may_begin(const struct claims_core *core, uint32_t partition,
                           uint64_t now_ms)
{
	return claims_core_epoch(core, partition, now_ms) != 0 &&
	       !slot_of(core, partition)->quiescing && !core->leaving;
}

bool claims_core_settled(const struct claims_core *core)
{
	return core->synced && core->busy == 0 && (up(core) || core->leaving);
}
