#include "coord/claims/claims_core.h"

#include <string.h>

#include "coord/claims/claims_core_int.h"
#include "store/base/backoff.h"

/* How the core learns facts. claims_work.c has what follows from them. */

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

static struct claims_slot *slot_of(const struct claims_core *core, uint32_t partition)
{
	PL_ASSERT(partition < core->partitions);
	return &core->slot[partition];
}

static bool is_busy(const struct claims_core *core, const struct claims_slot *slot)
{
	if (slot->lost_epoch != 0 || slot->request != CLAIMS_REQUEST_NONE || slot->doubt)
		return true;
	if (slot->epoch != 0)
		return slot->quiescing || claims_is_migrating(core, slot);
	return claims_is_ours(core, slot) || claims_is_wanted(core, slot);
}

void claims_slot_check(const struct claims_core *core, const struct claims_slot *slot)
{
	PL_ASSERT(slot->epoch == 0 ||
	          (claims_is_ours(core, slot) && slot->epoch == slot->key_epoch));
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

/* Puts the slot in line for claims_run(). */
void claims_mark(struct claims_core *core, struct claims_slot *slot)
{
	bool busy = is_busy(core, slot);

	claims_slot_check(core, slot);
	core->busy += busy;
	core->busy -= slot->busy;
	slot->busy = busy;
	pl_list_del(&slot->link);
	pl_list_add_tail(&core->todo, &slot->link);
}

static void mark_all(struct claims_core *core)
{
	for (uint32_t p = 0; p < core->partitions; p++)
		claims_mark(core, &core->slot[p]);
}

void claims_lose(struct claims_core *core, struct claims_slot *slot, enum claims_why why)
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

/* Drops the request in flight: its answer will not be believed. */
static void forget_request(struct claims_slot *slot)
{
	slot->request = CLAIMS_REQUEST_NONE;
	slot->doubt = false;
	slot->failures = 0;
	slot->at_ms = 0;
}

static void session_down(struct claims_core *core, enum claims_why why)
{
	for (uint32_t p = 0; p < core->partitions; p++) {
		claims_lose(core, &core->slot[p], why);
		forget_request(&core->slot[p]);
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

/* Takes a fact if it is newer than the one that is known; facts come in any order. */
static void learn_fact(struct claims_core *core, struct claims_slot *slot,
                       int64_t revision, int64_t epoch, int64_t lease)
{
	PL_ASSERT(revision > 0 && epoch >= 0);
	if (revision <= slot->revision)
		return;
	if (slot->epoch != 0 && (slot->epoch != epoch || core->lease != lease))
		claims_lose(core, slot, CLAIMS_GONE);
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
	claims_mark(core, slot);
}

static void on_quiet(struct claims_core *core, const struct claims_event *event)
{
	struct claims_slot *slot = slot_of(core, event->partition);

	if (!slot->quiescing || slot->epoch != event->epoch)
		return;
	slot->quiet = true;
	claims_mark(core, slot);
}

/* The fact may still say that the partition is ours, but the store refused a write
 * under its epoch. */
static void on_fenced(struct claims_core *core, const struct claims_event *event)
{
	struct claims_slot *slot = slot_of(core, event->partition);

	if (slot->epoch == 0 || slot->epoch != event->epoch)
		return;
	claims_lose(core, slot, CLAIMS_FENCED);
	slot->doubt = true;
	claims_mark(core, slot);
}

static void on_rewound(struct claims_core *core)
{
	for (uint32_t p = 0; p < core->partitions; p++) {
		struct claims_slot *slot = &core->slot[p];

		claims_lose(core, slot, CLAIMS_REWOUND);
		forget_request(slot);
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
	if (slot->epoch != 0)
		return;
	slot->at_ms = now_ms + pl_backoff_ms(&core->rng, slot->failures, RETRY_MIN_MS,
	                                     RETRY_MAX_MS);
	if (slot->failures < UINT8_MAX)
		slot->failures++;
}

/* Whether the answer of a transaction whose compares did not hold contradicts itself.
 * If the key is as the compares want it, then our record is not (which is the
 * session's business), or the answer makes no sense. Or the answer is older than the
 * known fact: the watch was quicker, or the store has gone back in time. */
static bool is_mismatch(const struct claims_core *core, const struct claims_slot *slot,
                        enum claims_request request, const struct claims_event *event)
{
	if (event->revision < slot->revision)
		return true;
	if (request == CLAIMS_REQUEST_CLAIM)
		return event->epoch == 0;
	return request == CLAIMS_REQUEST_RELEASE && event->epoch == slot->given_up &&
	       event->lease == core->lease;
}

static void on_found(struct claims_core *core, struct claims_slot *slot,
                     enum claims_request request, const struct claims_event *event)
{
	learn_fact(core, slot, event->revision, event->epoch, event->lease);
	slot->doubt = false; /* a fact that is newer than the answer stays */
	if (is_mismatch(core, slot, request, event))
		retry_later(core, slot, event->now_ms);
	else if (request != CLAIMS_REQUEST_READ)
		slot->failures = 0;
}

/* The request was applied; epoch 0: the key is deleted. */
static void on_done(struct claims_core *core, struct claims_slot *slot,
                    const struct claims_event *event, int64_t epoch)
{
	slot->failures = 0;
	learn_fact(core, slot, event->revision, epoch, core->lease);
	if (event->revision < slot->revision)
		retry_later(core, slot, event->now_ms);
}

static void on_answer(struct claims_core *core, const struct claims_event *event)
{
	struct claims_slot *slot = slot_of(core, event->partition);
	enum claims_request request = slot->request;

	if (request == CLAIMS_REQUEST_NONE || slot->seq != event->seq)
		return; /* the answer belongs to another session or another store */
	PL_ASSERT(core->inflight > 0 && core->lease != 0);
	slot->request = CLAIMS_REQUEST_NONE;
	core->inflight--;
	switch (event->type) {
	case CLAIMS_EV_CLAIMED:
		on_done(core, slot, event, event->revision);
		break;
	case CLAIMS_EV_RELEASED:
		on_done(core, slot, event, 0);
		break;
	case CLAIMS_EV_FOUND:
		on_found(core, slot, request, event);
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
	claims_mark(core, slot);
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
	pl_list_init(&core->blocked);
	for (uint32_t p = 0; p < core->partitions; p++)
		pl_list_init(&core->slot[p].link);
}

static void on_fact(struct claims_core *core, const struct claims_event *event)
{
	struct claims_slot *slot = slot_of(core, event->partition);
	bool seen = event->type == CLAIMS_EV_SEEN;

	PL_ASSERT(!seen || event->epoch > 0);
	learn_fact(core, slot, event->revision, seen ? event->epoch : 0, event->lease);
	claims_mark(core, slot);
}

static void on_flag(struct claims_core *core, bool *flag, bool on)
{
	if (*flag == on)
		return;
	*flag = on;
	mark_all(core);
}

static void apply_event(struct claims_core *core, const struct claims_event *event)
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
	apply_event(core, event);
	claims_wake(core, event->now_ms);
	claims_run(core, event->now_ms, actions);
	core_check(core);
}

uint64_t claims_deadline_ms(const struct claims_core *core)
{
	uint64_t at = core->next_ms;

	if (!pl_list_empty(&core->todo) ||
	    (!pl_list_empty(&core->blocked) && core->inflight < core->inflight_max))
		return 0;
	return core->lease != 0 && core->safe_until_ms < at ? core->safe_until_ms : at;
}

enum claims_state claims_core_state(const struct claims_core *core, uint32_t partition)
{
	const struct claims_slot *slot = slot_of(core, partition);

	if (slot->epoch != 0)
		return slot->quiescing ? CLAIMS_STATE_QUIESCING : CLAIMS_STATE_OWNED;
	if (slot->request == CLAIMS_REQUEST_CLAIM)
		return CLAIMS_STATE_CLAIMING;
	if (slot->request == CLAIMS_REQUEST_READ || slot->doubt)
		return CLAIMS_STATE_READING;
	if (slot->request == CLAIMS_REQUEST_RELEASE || claims_is_ours(core, slot))
		return CLAIMS_STATE_RELEASING;
	if (slot->revision == 0)
		return CLAIMS_STATE_UNSEEN;
	return slot->key_epoch == 0 ? CLAIMS_STATE_ABSENT : CLAIMS_STATE_OTHER;
}

int64_t claims_core_epoch(const struct claims_core *core, uint32_t partition,
                          uint64_t now_ms)
{
	return claims_is_up(core) && now_ms < core->safe_until_ms
	               ? slot_of(core, partition)->epoch
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
	return core->synced && core->busy == 0 && (claims_is_up(core) || core->leaving);
}
