#include "coord/session/session_core.h"

#include <string.h>

#include "coord/session/session_core_int.h"
#include "store/base/backoff.h"

enum {
	RETRY_MIN_MS = 20,
	PACE_MIN_MS = 250,
	PACE_MAX_MS = 2000,
	PACE = 8, /* looks in a TTL */
};

static const char *const state_names[] = {
	[SESSION_LEASING] = "leasing", [SESSION_JOINING] = "joining",
	[SESSION_WAITING] = "waiting", [SESSION_STANDING] = "standing",
	[SESSION_ENDED] = "ended",
};

const char *session_state_name(enum session_state state)
{
	PL_ASSERT((unsigned)state <= SESSION_ENDED);
	return state_names[state];
}

static void core_check(const struct session_core *core)
{
	PL_ASSERT(!core->up || core->lease != 0);
	PL_ASSERT(core->asked == SESSION_REQUEST_NOTHING || core->lease != 0);
	PL_ASSERT((core->state == SESSION_LEASING) <= (core->lease == 0));
	PL_ASSERT(core->state != SESSION_STANDING ||
	          (core->create_revision > 0 && core->seen_lease == core->lease &&
	           core->revision >= core->create_revision));
	PL_ASSERT(core->sent <= core->wanted && core->stored <= core->sent);
}

struct session_action *session_emit(struct session_actions *actions,
                                    enum session_action_type type,
                                    const struct session_core *core)
{
	struct session_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < SESSION_ACTIONS_MAX);
	actions->count++;
	*action = (struct session_action){.type = type,
	                                  .lease = core->lease,
	                                  .until_ms = core->until_ms,
	                                  .revision = core->create_revision};
	return action;
}

void session_trouble(const struct session_core *core, enum session_why why,
                     enum pl_code code, struct session_actions *actions)
{
	struct session_action *action =
		session_emit(actions, SESSION_REPORT_TROUBLE, core);

	action->why = why;
	action->code = code;
}

/* -- the next request -------------------------------------------------------------- */

void session_plan(struct session_core *core, enum session_request_kind next,
                  uint64_t at_ms)
{
	core->next = next;
	core->next_ms = at_ms;
}

uint64_t session_hold(struct session_core *core, uint64_t now_ms)
{
	core->hold_ms = now_ms + pl_backoff_ms(&core->rng, core->failures++, RETRY_MIN_MS,
	                                       core->pace_ms);
	return core->hold_ms;
}

/* Puts a record that has changed, else reads the record from time to time. */
static void plan_standing(struct session_core *core, uint64_t now_ms)
{
	bool put = core->wanted != core->stored && !core->unsure;
	bool soon = core->unsure || core->urgent > core->stored;
	uint64_t at = soon ? now_ms : core->refresh_at_ms;

	if (core->failures != 0 && at < core->hold_ms)
		at = core->hold_ms;
	session_plan(core, put ? SESSION_REQUEST_PUT : SESSION_REQUEST_READ, at);
}

static void send_next(struct session_core *core, uint64_t now_ms,
                      struct session_actions *actions)
{
	struct session_action *action;

	if (core->lease == 0 || core->state == SESSION_ENDED ||
	    core->asked != SESSION_REQUEST_NOTHING)
		return;
	if (core->state == SESSION_STANDING)
		plan_standing(core, now_ms);
	if (now_ms < core->next_ms)
		return;
	core->asked = core->next;
	action = session_emit(actions, SESSION_DO_REQUEST, core);
	action->request = core->asked;
	action->seq = ++core->seq;
	if (core->asked == SESSION_REQUEST_TTL || core->asked == SESSION_REQUEST_REVOKE)
		action->lease = core->other.lease;
	if (core->asked == SESSION_REQUEST_CREATE || core->asked == SESSION_REQUEST_PUT)
		core->sent = core->wanted;
	action->revision = core->revision;
	action->seen_lease = core->seen_lease;
	PL_ASSERT(action->request != SESSION_REQUEST_NOTHING && action->lease != 0);
}

/* -- the lease --------------------------------------------------------------------- */

/* The process stood still between the answer and this note of it. A lease that was
 * held is dropped by its deadline; of a new lease no end would be reported. */
static void held_too_late(struct session_core *core, struct session_actions *actions)
{
	if (core->lease != 0 || core->state == SESSION_ENDED)
		return;
	session_trouble(core, SESSION_WHY_LEASE, PL_TIMEOUT, actions);
	session_emit(actions, SESSION_DO_AGAIN, core);
}

static void on_held(struct session_core *core, const struct session_event *event,
                    struct session_actions *actions)
{
	PL_ASSERT(event->lease != 0);
	PL_ASSERT(core->lease == 0 || core->lease == event->lease);
	if (event->until_ms <= event->now_ms) {
		held_too_late(core, actions);
		return;
	}
	core->until_ms = event->until_ms;
	if (core->lease != 0) {
		if (core->up)
			session_emit(actions, SESSION_REPORT_UP, core);
		return;
	}
	if (core->state == SESSION_ENDED || event->lease == core->given_up)
		return;
	core->lease = event->lease;
	core->state = SESSION_JOINING;
	core->failures = 0;
	session_plan(core, SESSION_REQUEST_CREATE, event->now_ms);
}

static void on_doubt(struct session_core *core, const struct session_event *event,
                     struct session_actions *actions)
{
	if (event->lease != core->lease)
		return;
	if (core->up)
		session_emit(actions, SESSION_REPORT_DOUBT, core)->code = event->code;
	else if (core->state != SESSION_ENDED)
		session_trouble(core, SESSION_WHY_LEASE, event->code, actions);
}

/* Drops the lease. The request in flight was about it and is ignored. */
static void drop_lease(struct session_core *core, enum pl_code code,
                       struct session_actions *actions)
{
	if (core->up)
		session_emit(actions, SESSION_REPORT_DOWN, core)->code = code;
	else if (core->state != SESSION_ENDED)
		session_trouble(core, SESSION_WHY_LEASE, code, actions);
	core->up = false;
	core->lease = 0;
	core->asked = SESSION_REQUEST_NOTHING;
	core->unsure = false;
	core->stored = 0;
	if (core->state == SESSION_ENDED)
		return;
	core->state = SESSION_LEASING;
	session_emit(actions, SESSION_DO_AGAIN, core);
}

void session_give_up(struct session_core *core, enum pl_code code,
                     struct session_actions *actions)
{
	struct session_action *action;

	PL_ASSERT(core->up && core->lease != 0);
	core->given_up = core->lease;
	drop_lease(core, code, actions);
	action = session_emit(actions, SESSION_DO_GIVE_UP, core);
	action->lease = core->given_up;
}

/* -- steps ------------------------------------------------------------------------- */

static void on_failed(struct session_core *core, const struct session_event *event,
                      enum session_request_kind asked, struct session_actions *actions)
{
	uint64_t at = session_hold(core, event->now_ms);
	bool unknown = event->code == PL_UNKNOWN || event->code == PL_TIMEOUT;

	session_trouble(core, SESSION_WHY_REQUEST, event->code, actions);
	switch (asked) {
	case SESSION_REQUEST_CREATE:
	case SESSION_REQUEST_PUT:
		core->unsure = unknown;
		session_plan(core, unknown ? SESSION_REQUEST_READ : asked, at);
		break;
	case SESSION_REQUEST_READ:
	case SESSION_REQUEST_TTL:
	case SESSION_REQUEST_REVOKE: /* the other lease may be gone: reading the record
	                              * tells */
		session_plan(core, SESSION_REQUEST_READ, at);
		break;
	case SESSION_REQUEST_NOTHING:
		PL_UNREACHABLE("nothing was asked");
	}
}

static void on_answer(struct session_core *core, const struct session_event *event,
                      struct session_actions *actions)
{
	enum session_request_kind asked = core->asked;

	if (asked == SESSION_REQUEST_NOTHING || event->seq != core->seq)
		return; /* the answer of a request that was given up */
	core->asked = SESSION_REQUEST_NOTHING;
	switch (event->type) {
	case SESSION_EV_PUT:
		session_on_put(core, event, asked, actions);
		break;
	case SESSION_EV_FOUND:
		session_on_found(core, event, asked, actions);
		break;
	case SESSION_EV_ABSENT:
		session_on_absent(core, event->now_ms, asked, actions);
		break;
	case SESSION_EV_TTL:
		session_on_ttl(core, event, actions);
		break;
	case SESSION_EV_NOLEASE:
		session_on_no_lease(core, event->now_ms);
		break;
	default:
		on_failed(core, event, asked, actions);
		break;
	}
}

static void on_publish(struct session_core *core, bool urgent)
{
	core->wanted++;
	if (urgent)
		core->urgent = core->wanted;
}

static void on_refresh(struct session_core *core, const struct session_event *event)
{
	core->refresh_ms = event->refresh_ms;
	if (core->refresh_at_ms > event->now_ms + core->refresh_ms)
		core->refresh_at_ms = event->now_ms + core->refresh_ms;
}

void session_core_init(struct session_core *core, uint64_t ttl_ms, uint64_t refresh_ms,
                       uint64_t seed)
{
	PL_ASSERT(ttl_ms > 0 && refresh_ms > 0);
	memset(core, 0, sizeof *core);
	pl_rng_init(&core->rng, seed);
	core->refresh_ms = refresh_ms;
	core->pace_ms = ttl_ms / PACE;
	if (core->pace_ms < PACE_MIN_MS)
		core->pace_ms = PACE_MIN_MS;
	if (core->pace_ms > PACE_MAX_MS)
		core->pace_ms = PACE_MAX_MS;
	core->wanted = 1;
}

static void dispatch_event(struct session_core *core, const struct session_event *event,
                           struct session_actions *actions)
{
	switch (event->type) {
	case SESSION_EV_HELD:
		on_held(core, event, actions);
		break;
	case SESSION_EV_DOUBT:
		on_doubt(core, event, actions);
		break;
	case SESSION_EV_LEASE_GONE:
		if (core->lease != 0 && event->lease == core->lease)
			drop_lease(core, event->code, actions);
		break;
	case SESSION_EV_LEASE_TROUBLE:
		if (core->state != SESSION_ENDED)
			session_trouble(core, SESSION_WHY_LEASE, event->code, actions);
		break;
	case SESSION_EV_PUBLISH:
		on_publish(core, event->urgent);
		break;
	case SESSION_EV_LOOK:
		core->unsure = core->state == SESSION_STANDING;
		break;
	case SESSION_EV_REFRESH:
		on_refresh(core, event);
		break;
	case SESSION_EV_TIMEOUT:
		if (core->lease != 0 && event->now_ms >= core->until_ms)
			drop_lease(core, PL_TIMEOUT, actions);
		break;
	case SESSION_EV_PUT:
	case SESSION_EV_FOUND:
	case SESSION_EV_ABSENT:
	case SESSION_EV_TTL:
	case SESSION_EV_NOLEASE:
	case SESSION_EV_FAILED:
		on_answer(core, event, actions);
		break;
	}
}

void session_step(struct session_core *core, const struct session_event *event,
                  struct session_actions *actions)
{
	actions->count = 0;
	core_check(core);
	PL_ASSERT(event->type == SESSION_EV_TIMEOUT ||
	          event->now_ms < session_deadline_ms(core));
	dispatch_event(core, event, actions);
	send_next(core, event->now_ms, actions);
	core_check(core);
}

uint64_t session_deadline_ms(const struct session_core *core)
{
	if (core->lease == 0)
		return UINT64_MAX;
	if (core->asked != SESSION_REQUEST_NOTHING || core->state == SESSION_ENDED ||
	    core->until_ms < core->next_ms)
		return core->until_ms;
	return core->next_ms;
}
