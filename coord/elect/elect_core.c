#include "coord/elect/elect_core.h"

#include <string.h>

#include "store/base/backoff.h"

enum {
	TURN_MS = 50,        /* from one rank to the next */
	TURNS_MAX_MS = 2000, /* candidates further behind do not wait longer, but are
	                      * spread out */
	RETRY_MIN_MS = 50,
	RETRY_MAX_MS = 1000,
	RESIGN_MAX_MS = 2000, /* a stop waits this long for its delete */
	ORPHAN_MS = 5000,     /* a key without a lease is left alone this long */
};

static const char *const state_names[] = {
	[ELECT_OUT] = "out",         [ELECT_FOLLOWING] = "following",
	[ELECT_WAITING] = "waiting", [ELECT_CLAIMING] = "claiming",
	[ELECT_LEADING] = "leading", [ELECT_RESIGNING] = "resigning",
	[ELECT_DONE] = "done",
};

const char *elect_state_name(enum elect_state state)
{
	PL_ASSERT(state <= ELECT_DONE);
	return state_names[state];
}

static bool is_campaigning(const struct elect_core *core)
{
	return core->campaign && core->phase == ELECT_PHASE_RUNNING && core->lease != 0;
}

static bool is_ours(const struct elect_core *core)
{
	return core->lease != 0 && core->known && core->key.create_revision != 0 &&
	       core->key.lease == core->lease;
}

/* Whether the shard is a candidate and the key is absent, as far as the watch shows. */
static bool may_claim(const struct elect_core *core)
{
	return is_campaigning(core) && core->synced && core->known &&
	       core->key.create_revision == 0;
}

/* Whether the key has no lease. No candidate made such a key, and it does not end with
 * any shard. The janitor clears such keys, but it can not clear the one that keeps the
 * janitor from being elected. */
static bool is_orphan(const struct elect_core *core)
{
	return is_campaigning(core) && core->synced && core->known &&
	       core->key.create_revision != 0 && core->key.lease == 0;
}

static void core_check(const struct elect_core *core)
{
	PL_ASSERT(core->epoch == 0 || (is_campaigning(core) && is_ours(core) &&
	                               core->key.create_revision == core->epoch));
	PL_ASSERT(core->epoch == 0 || core->resign == 0);
	PL_ASSERT(core->phase != ELECT_PHASE_STOPPED || core->epoch == 0);
	PL_ASSERT((core->lease == 0) == (core->safe_until_ms == 0));
}

static struct elect_action *emit_action(struct elect_actions *actions,
                                        enum elect_action_type type,
                                        const struct elect_core *core)
{
	struct elect_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < ELECT_ACTIONS_MAX);
	actions->count++;
	*action = (struct elect_action){
		.type = type, .lease = core->lease, .epoch = core->epoch};
	return action;
}

static void back_off(struct elect_core *core, uint64_t now_ms)
{
	core->retry_ms = now_ms + pl_backoff_ms(&core->rng, core->failures++,
	                                        RETRY_MIN_MS, RETRY_MAX_MS);
}

/* Ignores the request in flight. If it takes effect the watch will show it. */
static void forget_requests(struct elect_core *core)
{
	core->op = ELECT_OP_NONE;
	core->doubt = false;
	core->failures = 0;
	core->retry_ms = 0;
}

/* Keeps resign: the delete in flight may find its key in the other store too. */
static void forget_key(struct elect_core *core)
{
	core->known = false;
	core->synced = false;
	core->key = (struct elect_key){0};
	forget_requests(core);
}

static void report_holder(struct elect_core *core, struct elect_actions *actions)
{
	if (core->reported.create_revision == core->key.create_revision &&
	    core->reported.lease == core->key.lease)
		return;
	core->reported = core->key;
	if (!is_ours(core))
		emit_action(actions, ELECT_REPORT_FOLLOW, core)->epoch =
			core->reported.create_revision;
}

/* Takes the key if it is newer than the one that is known. */
static void learn_key(struct elect_core *core, const struct elect_key *key)
{
	if (core->known && key->revision <= core->key.revision)
		return;
	core->known = true;
	core->key = *key;
}

static void on_session(struct elect_core *core, const struct elect_event *event)
{
	int64_t lease = event->now_ms < event->safe_until_ms ? event->lease : 0;

	if (lease != core->lease)
		forget_requests(core);
	if (lease != 0 && lease != core->resign_lease)
		core->resign = 0; /* the key went with its lease */
	core->lease = lease;
	core->safe_until_ms = lease == 0 ? 0 : event->safe_until_ms;
}

static void on_watch_lost(struct elect_core *core, const struct elect_event *event,
                          struct elect_actions *actions)
{
	core->synced = false;
	if (event->code == PL_REWOUND)
		forget_key(core);
	emit_action(actions, ELECT_REPORT_TROUBLE, core)->code = event->code;
}

static void on_answer(struct elect_core *core, const struct elect_event *event,
                      struct elect_actions *actions)
{
	bool refused; /* the key is absent and the claim was refused: our record has
	               * another lease */
	uint32_t failures;

	if (core->op == ELECT_OP_NONE || event->seq != core->seq)
		return; /* the answer of a request that was given up */
	if (event->key.revision < core->asked_revision) {
		forget_key(core);
		emit_action(actions, ELECT_REPORT_TROUBLE, core)->code = PL_REWOUND;
		emit_action(actions, ELECT_DO_RELIST, core);
		return;
	}
	refused = core->op == ELECT_OP_CLAIM && event->key.create_revision == 0;
	failures = refused ? core->failures : 0;
	forget_requests(core);
	learn_key(core, &event->key);
	core->failures = failures;
	if (refused)
		back_off(core, event->now_ms);
}

static void on_failed(struct elect_core *core, const struct elect_event *event,
                      struct elect_actions *actions)
{
	if (core->op == ELECT_OP_NONE || event->seq != core->seq)
		return;
	if (core->op == ELECT_OP_CLAIM && event->code == PL_UNKNOWN)
		core->doubt = true;
	core->op = ELECT_OP_NONE;
	back_off(core, event->now_ms);
	emit_action(actions, ELECT_REPORT_TROUBLE, core)->code = event->code;
}

static void on_stop(struct elect_core *core, const struct elect_event *event)
{
	core->phase = ELECT_PHASE_STOPPING;
	core->give_up_ms = event->now_ms + (event->resign ? RESIGN_MAX_MS : 0);
}

static void on_timeout(struct elect_core *core, uint64_t now_ms)
{
	struct elect_event down = {.now_ms = now_ms};

	if (core->lease != 0 && now_ms >= core->safe_until_ms)
		on_session(core, &down);
}

/* Derives the role from the facts. */
static void reconcile_role(struct elect_core *core, struct elect_actions *actions)
{
	bool mine = is_ours(core);
	int64_t create = core->key.create_revision;

	if (core->epoch != 0 &&
	    (!mine || !is_campaigning(core) || create != core->epoch)) {
		emit_action(actions, ELECT_REPORT_STEP_DOWN, core);
		core->epoch = 0;
	}
	/* A session that was down may come back with the same lease. */
	if (core->resign != 0 && core->known && core->lease != 0 &&
	    (!mine || create != core->resign))
		core->resign = 0;
	if (mine && !is_campaigning(core)) {
		core->resign = create;
		core->resign_lease = core->lease;
	}
	if (mine)
		core->doubt = false;
	if (mine && core->epoch == 0 && core->resign == 0) {
		core->epoch = create;
		emit_action(actions, ELECT_REPORT_LEAD, core);
	}
}

static enum elect_op wanted_op(const struct elect_core *core)
{
	if (core->op != ELECT_OP_NONE || core->lease == 0 ||
	    core->phase == ELECT_PHASE_STOPPED)
		return ELECT_OP_NONE;
	if (core->doubt)
		return ELECT_OP_READ;
	if (core->resign != 0 || is_orphan(core))
		return ELECT_OP_DELETE;
	if (may_claim(core))
		return ELECT_OP_CLAIM;
	return ELECT_OP_NONE;
}

static uint64_t turn_ms(const struct elect_core *core)
{
	uint64_t wait = (uint64_t)core->rank * TURN_MS;

	if (wait < TURNS_MAX_MS)
		return core->since_ms + wait + core->jitter % TURN_MS;
	return core->since_ms + TURNS_MAX_MS + core->jitter % TURNS_MAX_MS;
}

/* UINT64_MAX: nothing is to be requested. */
static uint64_t request_ms(const struct elect_core *core)
{
	enum elect_op op = wanted_op(core);
	uint64_t turn = op == ELECT_OP_CLAIM && core->waiting ? turn_ms(core) : 0;

	if (op == ELECT_OP_DELETE && core->resign == 0)
		turn = turn_ms(core) + ORPHAN_MS;
	if (op == ELECT_OP_NONE)
		return UINT64_MAX;
	return turn > core->retry_ms ? turn : core->retry_ms;
}

static void send_request(struct elect_core *core, struct elect_actions *actions)
{
	static const enum elect_action_type types[] = {
		[ELECT_OP_CLAIM] = ELECT_DO_CLAIM,
		[ELECT_OP_READ] = ELECT_DO_READ,
		[ELECT_OP_DELETE] = ELECT_DO_DELETE,
	};
	struct elect_action *action;

	core->op = wanted_op(core);
	PL_ASSERT(core->op != ELECT_OP_NONE);
	core->asked_revision = core->known ? core->key.revision : 0;
	action = emit_action(actions, types[core->op], core);
	action->seq = ++core->seq;
	action->epoch = core->resign;
	if (core->op == ELECT_OP_DELETE && core->resign == 0) {
		action->epoch = core->key.create_revision;
		action->lease = 0;
	}
}

/* Waits for this candidate's turn: a free role goes to the lowest rank, not to the
 * quickest shard. */
static void take_turn(struct elect_core *core, uint64_t now_ms)
{
	bool before = core->waiting;

	core->waiting = may_claim(core) || is_orphan(core);
	if (!core->waiting || before)
		return;
	core->since_ms = now_ms;
	core->jitter = pl_rng_next(&core->rng);
}

static void finish_stop(struct elect_core *core, uint64_t now_ms,
                        struct elect_actions *actions)
{
	bool open = core->op != ELECT_OP_NONE || core->doubt || core->resign != 0;

	if (core->phase != ELECT_PHASE_STOPPING)
		return;
	if (open && core->lease != 0 && now_ms < core->give_up_ms)
		return;
	core->phase = ELECT_PHASE_STOPPED;
	core->op = ELECT_OP_NONE;
	emit_action(actions, ELECT_REPORT_DONE, core);
}

void elect_core_init(struct elect_core *core, uint64_t seed)
{
	memset(core, 0, sizeof *core);
	core->reported.create_revision = -1;
	pl_rng_init(&core->rng, seed);
}

static void apply_event(struct elect_core *core, const struct elect_event *event,
                        struct elect_actions *actions)
{
	switch (event->type) {
	case ELECT_EV_SESSION:
		on_session(core, event);
		break;
	case ELECT_EV_CAMPAIGN:
		core->campaign = event->campaign;
		core->rank = event->rank;
		break;
	case ELECT_EV_SEEN:
		core->synced = true;
		learn_key(core, &event->key);
		break;
	case ELECT_EV_WATCH_LOST:
		on_watch_lost(core, event, actions);
		break;
	case ELECT_EV_ANSWER:
		on_answer(core, event, actions);
		break;
	case ELECT_EV_FAILED:
		on_failed(core, event, actions);
		break;
	case ELECT_EV_STOP:
		on_stop(core, event);
		break;
	case ELECT_EV_TIMEOUT:
		on_timeout(core, event->now_ms);
		break;
	}
}

void elect_step(struct elect_core *core, const struct elect_event *event,
                struct elect_actions *actions)
{
	actions->count = 0;
	core_check(core);
	PL_ASSERT(event->type == ELECT_EV_TIMEOUT ||
	          event->now_ms < elect_deadline_ms(core));
	if (core->phase == ELECT_PHASE_STOPPED)
		return;
	apply_event(core, event, actions);
	reconcile_role(core, actions);
	if (core->known)
		report_holder(core, actions);
	finish_stop(core, event->now_ms, actions);
	take_turn(core, event->now_ms);
	if (request_ms(core) <= event->now_ms)
		send_request(core, actions);
	core_check(core);
}

static uint64_t earlier_ms(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t elect_deadline_ms(const struct elect_core *core)
{
	uint64_t at;

	if (core->phase == ELECT_PHASE_STOPPED)
		return UINT64_MAX;
	at = request_ms(core);
	if (core->lease != 0)
		at = earlier_ms(at, core->safe_until_ms);
	if (core->phase == ELECT_PHASE_STOPPING)
		at = earlier_ms(at, core->give_up_ms);
	return at;
}

enum elect_state elect_state(const struct elect_core *core)
{
	if (core->phase == ELECT_PHASE_STOPPED)
		return ELECT_DONE;
	if (core->epoch != 0)
		return ELECT_LEADING;
	if (core->resign != 0)
		return ELECT_RESIGNING;
	if (!is_campaigning(core) || !core->known)
		return ELECT_OUT;
	if (core->op != ELECT_OP_NONE || core->doubt)
		return ELECT_CLAIMING;
	return core->key.create_revision == 0 ? ELECT_WAITING : ELECT_FOLLOWING;
}
