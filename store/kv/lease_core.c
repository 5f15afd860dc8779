#include "store/kv/lease_core.h"

#include <string.h>

#include "store/base/backoff.h"

enum {
	WATCHDOG_MAX_MS = 2000,
	WATCHDOG_MIN_MS = 100,
	RETRY_MIN_MS = 20,
	RELEASE_MAX_MS = 5000,
	PACE = 3, /* keep-alives in a TTL */
};

static const char *const state_names[] = {
	[LEASE_IDLE] = "idle",           [LEASE_GRANTING] = "granting",
	[LEASE_HELD] = "held",           [LEASE_DOUBT] = "doubt",
	[LEASE_EXPIRED] = "expired",     [LEASE_LOST] = "lost",
	[LEASE_RELEASING] = "releasing", [LEASE_RELEASED] = "released",
};

const char *lease_state_name(enum lease_state state)
{
	PL_ASSERT(state <= LEASE_RELEASED);
	return state_names[state];
}

static bool is_held(const struct lease_core *core)
{
	return core->state == LEASE_HELD || core->state == LEASE_DOUBT;
}

static bool is_confirming(const struct lease_core *core)
{
	return core->grant == LEASE_GRANT_CONFIRMING;
}

static void core_check(const struct lease_core *core)
{
	PL_ASSERT(!is_held(core) || (core->id > 0 && core->safe_until_ms > 0));
	PL_ASSERT(core->state != LEASE_GRANTING || core->id > 0);
	PL_ASSERT(core->grant == LEASE_GRANT_REQUESTED || core->state == LEASE_GRANTING);
}

static struct lease_action *add_action(struct lease_actions *actions,
                                       enum lease_action_type type,
                                       const struct lease_core *core)
{
	struct lease_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < LEASE_ACTIONS_MAX);
	actions->count++;
	*action = (struct lease_action){
		.type = type, .id = core->id, .safe_until_ms = core->safe_until_ms};
	return action;
}

uint64_t lease_watchdog_ms(const struct lease_core *core)
{
	uint64_t ms = core->ttl_ms / 4;

	if (ms < WATCHDOG_MIN_MS)
		return WATCHDOG_MIN_MS;
	return ms > WATCHDOG_MAX_MS ? WATCHDOG_MAX_MS : ms;
}

/* A failed request is repeated soon, and then at growing intervals. */
static uint64_t retry_ms(struct lease_core *core)
{
	uint32_t before = core->failures == 0 ? 0 : core->failures - 1;

	return pl_backoff_ms(&core->rng, before, RETRY_MIN_MS, lease_watchdog_ms(core));
}

static void add_request(struct lease_core *core, enum lease_action_type type,
                        uint64_t now_ms, struct lease_actions *actions)
{
	struct lease_action *action = add_action(actions, type, core);

	action->seq = ++core->seq;
	action->timeout_ms = lease_watchdog_ms(core);
	core->asked = true;
	core->ask_ms = now_ms + action->timeout_ms;
}

static void pick_id(struct lease_core *core)
{
	do
		core->id = (int64_t)(pl_rng_next(&core->rng) & INT64_MAX);
	while (core->id == 0);
	core->stale_seq = core->seq;
	core->grant = LEASE_GRANT_REQUESTED;
	core->safe_until_ms = 0;
	core->failures = 0;
	core->ttl_ms = (uint64_t)core->ttl_s * 1000;
}

static void grant_again(struct lease_core *core, uint64_t now_ms,
                        struct lease_actions *actions)
{
	core->state = LEASE_GRANTING;
	pick_id(core);
	add_request(core, LEASE_DO_GRANT, now_ms, actions);
}

/* Never shortens what an earlier answer has promised. */
static bool extend_safe_time(struct lease_core *core, const struct lease_event *event)
{
	uint64_t until;

	PL_ASSERT(event->sent_ms <= event->now_ms && event->ttl_s > 0);
	core->ttl_ms = (uint64_t)event->ttl_s * 1000;
	until = event->sent_ms + core->ttl_ms;
	until -= core->margin_ms < core->ttl_ms / 2 ? core->margin_ms : core->ttl_ms / 2;
	if (until <= core->safe_until_ms)
		return false;
	core->safe_until_ms = until;
	return true;
}

static void on_confirmed(struct lease_core *core, const struct lease_event *event,
                         struct lease_actions *actions)
{
	if (!extend_safe_time(core, event) && is_held(core))
		return; /* overtaken by a later answer */
	core->asked = false;
	core->failures = 0;
	if (core->safe_until_ms <= event->now_ms) {
		/* The answer came so late that it says nothing about now. */
		PL_ASSERT(core->state == LEASE_GRANTING);
		core->grant = LEASE_GRANT_CONFIRMING;
		add_request(core, LEASE_DO_KEEP, event->now_ms, actions);
		return;
	}
	core->grant = LEASE_GRANT_REQUESTED;
	core->state = LEASE_HELD;
	core->ask_ms = event->sent_ms + core->ttl_ms / PACE;
	if (core->ask_ms <= event->now_ms)
		core->ask_ms = event->now_ms + RETRY_MIN_MS;
	add_action(actions, LEASE_REPORT_HELD, core);
}

static void on_grant_failed(struct lease_core *core, const struct lease_event *event,
                            struct lease_actions *actions)
{
	if (event->code == PL_EXISTS && core->grant == LEASE_GRANT_DOUBTFUL) {
		core->grant = LEASE_GRANT_CONFIRMING;
		add_request(core, LEASE_DO_KEEP, event->now_ms, actions);
		return;
	}
	if (event->code == PL_EXISTS) {
		grant_again(core, event->now_ms, actions);
		return;
	}
	if (event->code == PL_UNKNOWN || event->code == PL_TIMEOUT)
		core->grant = LEASE_GRANT_DOUBTFUL;
	core->failures++;
	core->ask_ms = event->now_ms + retry_ms(core);
	add_action(actions, LEASE_REPORT_TROUBLE, core)->code = event->code;
}

static void on_keep_failed(struct lease_core *core, const struct lease_event *event,
                           struct lease_actions *actions)
{
	if (event->code == PL_NOLEASE) {
		core->state = LEASE_LOST;
		add_action(actions, LEASE_REPORT_LOST, core);
		return;
	}
	core->failures++;
	core->ask_ms = event->now_ms + retry_ms(core);
	if (core->state == LEASE_DOUBT)
		return;
	core->state = LEASE_DOUBT;
	add_action(actions, LEASE_REPORT_DOUBT, core)->code = event->code;
}

/* The grant ran out before the core learnt of it; the lease has not been used. */
static void on_confirm_failed(struct lease_core *core, const struct lease_event *event,
                              struct lease_actions *actions)
{
	if (event->code == PL_NOLEASE) {
		grant_again(core, event->now_ms, actions);
		return;
	}
	core->failures++;
	core->ask_ms = event->now_ms + retry_ms(core);
	add_action(actions, LEASE_REPORT_TROUBLE, core)->code = event->code;
}

static void finish_release(struct lease_core *core, enum pl_code code,
                           struct lease_actions *actions)
{
	core->state = LEASE_RELEASED;
	core->asked = false;
	add_action(actions, LEASE_REPORT_RELEASED, core)->code = code;
}

static void on_revoke_failed(struct lease_core *core, const struct lease_event *event,
                             struct lease_actions *actions)
{
	if (core->state != LEASE_RELEASING)
		return; /* of an expired lease, which the store ends by itself */
	if (event->code == PL_NOLEASE) {
		finish_release(core, PL_OK, actions);
		return;
	}
	core->failures++;
	core->ask_ms = event->now_ms + retry_ms(core);
	if (core->ask_ms >= core->give_up_ms)
		finish_release(core, event->code, actions);
}

static void on_failed(struct lease_core *core, const struct lease_event *event,
                      struct lease_actions *actions)
{
	core->asked = false;
	switch (core->state) {
	case LEASE_GRANTING:
		if (is_confirming(core))
			on_confirm_failed(core, event, actions);
		else
			on_grant_failed(core, event, actions);
		break;
	case LEASE_HELD:
	case LEASE_DOUBT:
		on_keep_failed(core, event, actions);
		break;
	case LEASE_RELEASING:
		on_revoke_failed(core, event, actions);
		break;
	case LEASE_IDLE:
	case LEASE_EXPIRED:
	case LEASE_LOST:
	case LEASE_RELEASED:
		break;
	}
}

/* An answer to an earlier keep-alive than the last counts, too, because only the time of
 * its request matters. */
static bool is_answer(const struct lease_core *core, const struct lease_event *event)
{
	if (event->seq <= core->stale_seq)
		return false; /* about a lease that was given up */
	switch (event->type) {
	case LEASE_EV_GRANTED:
		return core->state == LEASE_GRANTING && !is_confirming(core) &&
		       event->seq == core->seq;
	case LEASE_EV_KEPT:
		return is_held(core) || is_confirming(core);
	case LEASE_EV_REVOKED:
		return core->state == LEASE_RELEASING && event->seq == core->seq;
	case LEASE_EV_FAILED:
		/* If the lease is gone, that is true whichever request found it out. */
		return (core->asked && event->seq == core->seq) ||
		       (is_held(core) && event->code == PL_NOLEASE);
	case LEASE_EV_START:
	case LEASE_EV_TIMEOUT:
	case LEASE_EV_REGRANT:
	case LEASE_EV_GIVE_UP:
	case LEASE_EV_RELEASE:
		break;
	}
	PL_UNREACHABLE("not an answer");
}

static void on_expired(struct lease_core *core, uint64_t now_ms,
                       struct lease_actions *actions)
{
	core->state = LEASE_EXPIRED;
	add_action(actions, LEASE_REPORT_EXPIRED, core);
	/* The store may still keep the lease; it is revoked so that a successor need not
	 * wait. */
	add_request(core, LEASE_DO_REVOKE, now_ms, actions);
	core->asked = false;
}

static void ask_next(struct lease_core *core, uint64_t now_ms,
                     struct lease_actions *actions)
{
	switch (core->state) {
	case LEASE_GRANTING:
		add_request(core, is_confirming(core) ? LEASE_DO_KEEP : LEASE_DO_GRANT,
		            now_ms, actions);
		break;
	case LEASE_HELD:
	case LEASE_DOUBT:
		add_request(core, LEASE_DO_KEEP, now_ms, actions);
		break;
	case LEASE_RELEASING:
		add_request(core, LEASE_DO_REVOKE, now_ms, actions);
		break;
	case LEASE_IDLE:
	case LEASE_EXPIRED:
	case LEASE_LOST:
	case LEASE_RELEASED:
		PL_UNREACHABLE("nothing to ask");
	}
}

static void on_timeout(struct lease_core *core, uint64_t now_ms,
                       struct lease_actions *actions)
{
	if (is_held(core) && now_ms >= core->safe_until_ms) {
		on_expired(core, now_ms, actions);
		return;
	}
	if (core->state == LEASE_RELEASING && now_ms >= core->give_up_ms) {
		finish_release(core, PL_TIMEOUT, actions);
		return;
	}
	if (now_ms < core->ask_ms)
		return;
	if (core->asked) { /* the watchdog: there was no answer at all */
		struct lease_event silence = {.now_ms = now_ms, .code = PL_TIMEOUT};

		on_failed(core, &silence, actions);
		if (core->state == LEASE_RELEASED)
			return;
		core->ask_ms = now_ms; /* the next request is due */
	}
	ask_next(core, now_ms, actions);
}

/* The user wants to be rid of any lease, including one that the store may have granted
 * unknown to the core. */
static void on_release(struct lease_core *core, uint64_t now_ms,
                       struct lease_actions *actions)
{
	bool none = core->state == LEASE_IDLE || core->state == LEASE_LOST;

	if (core->state == LEASE_RELEASING || core->state == LEASE_RELEASED)
		return;
	if (none || (core->state == LEASE_GRANTING && core->seq == 0)) {
		finish_release(core, PL_OK, actions);
		return;
	}
	core->state = LEASE_RELEASING;
	core->grant = LEASE_GRANT_REQUESTED;
	core->failures = 0;
	core->give_up_ms =
		now_ms + (core->ttl_ms < RELEASE_MAX_MS ? core->ttl_ms : RELEASE_MAX_MS);
	add_request(core, LEASE_DO_REVOKE, now_ms, actions);
}

void lease_core_init(struct lease_core *core, int64_t ttl_s, uint64_t margin_ms,
                     uint64_t seed)
{
	PL_ASSERT(ttl_s > 0 && ttl_s < INT64_C(1) << 32);
	memset(core, 0, sizeof *core);
	core->ttl_s = ttl_s;
	core->ttl_ms = (uint64_t)ttl_s * 1000;
	core->margin_ms = margin_ms == 0 ? core->ttl_ms / 10 : margin_ms;
	PL_ASSERT(core->margin_ms < core->ttl_ms / 2);
	pl_rng_init(&core->rng, seed);
}

static void on_answer(struct lease_core *core, const struct lease_event *event,
                      struct lease_actions *actions)
{
	if (!is_answer(core, event))
		return; /* to a request that was given up */
	switch (event->type) {
	case LEASE_EV_GRANTED:
	case LEASE_EV_KEPT:
		on_confirmed(core, event, actions);
		break;
	case LEASE_EV_REVOKED:
		finish_release(core, PL_OK, actions);
		break;
	default:
		on_failed(core, event, actions);
		break;
	}
}

void lease_step(struct lease_core *core, const struct lease_event *event,
                struct lease_actions *actions)
{
	actions->count = 0;
	core_check(core);
	PL_ASSERT(event->type == LEASE_EV_TIMEOUT || event->type == LEASE_EV_START ||
	          event->now_ms < lease_deadline_ms(core));
	switch (event->type) {
	case LEASE_EV_START:
		PL_ASSERT(core->state == LEASE_IDLE);
		grant_again(core, event->now_ms, actions);
		break;
	case LEASE_EV_REGRANT:
		if (core->state == LEASE_LOST || core->state == LEASE_EXPIRED)
			grant_again(core, event->now_ms, actions);
		break;
	case LEASE_EV_GIVE_UP:
		if (is_held(core))
			on_expired(core, event->now_ms, actions);
		break;
	case LEASE_EV_TIMEOUT:
		on_timeout(core, event->now_ms, actions);
		break;
	case LEASE_EV_RELEASE:
		on_release(core, event->now_ms, actions);
		break;
	case LEASE_EV_GRANTED:
	case LEASE_EV_KEPT:
	case LEASE_EV_REVOKED:
	case LEASE_EV_FAILED:
		on_answer(core, event, actions);
		break;
	}
	core_check(core);
}

uint64_t lease_deadline_ms(const struct lease_core *core)
{
	switch (core->state) {
	case LEASE_GRANTING:
		return core->ask_ms;
	case LEASE_HELD:
	case LEASE_DOUBT:
		return core->ask_ms < core->safe_until_ms ? core->ask_ms
		                                          : core->safe_until_ms;
	case LEASE_RELEASING:
		return core->ask_ms < core->give_up_ms ? core->ask_ms : core->give_up_ms;
	case LEASE_IDLE:
	case LEASE_EXPIRED:
	case LEASE_LOST:
	case LEASE_RELEASED:
		break;
	}
	return UINT64_MAX;
}
