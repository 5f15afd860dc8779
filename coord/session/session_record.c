/* The actions on the record, which is ours, absent, or another shard's. */
#include "coord/session/session_core_int.h"

enum {
	SLOW = 4,        /* paces between looks at a record that only an operator can
	                  * remove */
	RENEWALS = 2,    /* renewals that prove that the other shard lives */
	CLOCKS_MS = 250, /* how far two clocks may drift apart between two looks */
};

/* -- our record -------------------------------------------------------------------- */

static void enter_standing(struct session_core *core, bool anew,
                           struct session_actions *actions)
{
	bool report = anew || !core->up;

	core->state = SESSION_STANDING;
	core->seen_lease = core->lease;
	core->unsure = false;
	core->up = true;
	core->other = (struct session_other){0};
	if (report)
		session_emit(actions, SESSION_REPORT_UP, core);
}

void session_on_put(struct session_core *core, const struct session_event *event,
                    enum session_request_kind asked, struct session_actions *actions)
{
	bool created = asked == SESSION_REQUEST_CREATE;

	PL_ASSERT(created || asked == SESSION_REQUEST_PUT);
	PL_ASSERT(event->revision > 0);
	core->revision = event->revision;
	if (created)
		core->create_revision = event->revision;
	core->stored = core->sent;
	core->failures = 0;
	core->refresh_at_ms = event->now_ms + core->refresh_ms;
	enter_standing(core, created, actions);
}

/* The record is under our lease. If it is not as we left it, its value is unknown. */
static void on_ours(struct session_core *core, const struct session_event *event,
                    enum session_request_kind asked, struct session_actions *actions)
{
	bool anew = core->state != SESSION_STANDING ||
	            core->create_revision != event->create_revision;

	if (anew || core->revision != event->revision)
		core->stored = 0;
	core->create_revision = event->create_revision;
	core->revision = event->revision;
	core->refresh_at_ms = event->now_ms + core->refresh_ms;
	if (asked == SESSION_REQUEST_READ)
		core->failures = 0;
	else
		(void)session_hold(core, event->now_ms); /* another client writes the
		                                          * record too */
	enter_standing(core, anew, actions);
}

/* No living shard has the record: ours replaces it. */
static void take_over(struct session_core *core, const struct session_event *event)
{
	core->state = SESSION_JOINING;
	core->create_revision = event->create_revision;
	core->revision = event->revision;
	core->seen_lease = 0;
	session_plan(core, SESSION_REQUEST_PUT, event->now_ms);
}

void session_on_absent(struct session_core *core, uint64_t now_ms,
                       enum session_request_kind asked, struct session_actions *actions)
{
	if (core->state == SESSION_STANDING)
		session_trouble(core, SESSION_WHY_REMOVED, PL_NOTFOUND, actions);
	core->state = SESSION_JOINING;
	core->stored = 0;
	session_plan(core, SESSION_REQUEST_CREATE,
	             asked == SESSION_REQUEST_CREATE ? session_hold(core, now_ms)
	                                             : now_ms);
}

/* -- another holder ---------------------------------------------------------------- */

/* A store without the lease may need a moment to delete its keys. */
static uint64_t retry_moment(struct session_core *core, const struct session_event *event,
                             enum session_request_kind asked)
{
	bool same = core->other.lease == event->lease;

	if (!same)
		core->other = (struct session_other){.lease = event->lease,
		                                     .gone_by_ms = UINT64_MAX};
	return same && asked != SESSION_REQUEST_READ ? event->now_ms + core->pace_ms
	                                             : event->now_ms;
}

static void on_anothers(struct session_core *core, const struct session_event *event,
                        enum session_request_kind asked, struct session_actions *actions)
{
	bool known = core->other.revision != 0 && core->other.lease == event->lease;
	uint64_t at;

	if (core->up) {
		session_give_up(core, PL_EXISTS, actions);
		return;
	}
	at = retry_moment(core, event, asked);
	core->state = SESSION_WAITING;
	core->other.revision = event->revision;
	if (!known)
		session_trouble(core,
		                event->lease == 0 ? SESSION_WHY_UNCERTAIN
		                                  : SESSION_WHY_TAKEN,
		                PL_EXISTS, actions);
	if (event->lease == 0)
		session_plan(core, SESSION_REQUEST_READ,
		             event->now_ms + SLOW * core->pace_ms);
	else
		session_plan(core, SESSION_REQUEST_TTL, at);
}

void session_on_found(struct session_core *core, const struct session_event *event,
                      enum session_request_kind asked, struct session_actions *actions)
{
	bool ours_before = core->state == SESSION_STANDING &&
	                   core->create_revision == event->create_revision;
	bool free = event->owner == SESSION_OURS_OLD || event->owner == SESSION_DEAD;

	PL_ASSERT(event->create_revision > 0 &&
	          event->revision >= event->create_revision);
	PL_ASSERT((event->owner == SESSION_OURS) == (event->lease == core->lease));
	core->unsure = false;
	if (event->owner == SESSION_OURS) {
		on_ours(core, event, asked, actions);
	} else if (event->lease == 0 && (free || ours_before)) {
		take_over(core, event);
	} else if (free) {
		uint64_t at = retry_moment(core, event, asked);

		core->state = SESSION_WAITING;
		session_plan(core, SESSION_REQUEST_REVOKE, at);
	} else {
		on_anothers(core, event, asked, actions);
	}
}

/* The store rounds the rest down to whole seconds and read it between the request and
 * the answer. The result is the latest moment at which the lease can still exist. */
void session_on_ttl(struct session_core *core, const struct session_event *event,
                    struct session_actions *actions)
{
	struct session_other *other = &core->other;
	uint64_t left_ms = event->left_s < 0 ? 0 : (uint64_t)event->left_s * 1000;
	uint64_t gone_by = event->now_ms + left_ms + 1000;

	PL_ASSERT(core->state == SESSION_WAITING && event->sent_ms <= event->now_ms);
	if (other->gone_by_ms != UINT64_MAX &&
	    event->sent_ms + left_ms > other->gone_by_ms + CLOCKS_MS) {
		other->renewals++;
		other->gone_by_ms = gone_by;
	}
	if (gone_by < other->gone_by_ms)
		other->gone_by_ms = gone_by;
	core->failures = 0;
	if (other->renewals < RENEWALS) {
		session_plan(core, SESSION_REQUEST_READ, event->now_ms + core->pace_ms);
		return;
	}
	core->state = SESSION_ENDED;
	session_emit(actions, SESSION_REPORT_REFUSED, core)->code = PL_EXISTS;
}

void session_on_no_lease(struct session_core *core, uint64_t now_ms)
{
	PL_ASSERT(core->state == SESSION_WAITING);
	core->failures = 0;
	core->state = SESSION_JOINING;
	session_plan(core, SESSION_REQUEST_CREATE, now_ms);
}
