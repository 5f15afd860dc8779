#include "coord/balance/balance_core.h"

#include <string.h>

#include "store/base/hash.h"

#define NEVER UINT64_MAX

/* The weight of a new sample in the smoothed load; the rest is the old value. */
static const double fresh_part = 0.25;

static void core_check(const struct balance_core *core)
{
	bool working = core->leading && core->rules.enabled;

	PL_ASSERT(working == (core->state != BALANCE_IDLE));
	PL_ASSERT((core->state == BALANCE_SEARCHING || core->state == BALANCE_WRITING) ==
	          (core->view != NULL));
}

static struct balance_action *emit_action(struct balance_actions *actions,
                                          enum balance_action_type type)
{
	struct balance_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < BALANCE_ACTIONS_MAX);
	actions->count++;
	*action = (struct balance_action){.type = type};
	return action;
}

static void watch_members(struct balance_core *core, uint64_t now_ms)
{
	core->state = BALANCE_WATCHING;
	core->view = NULL;
	core->look_ms = now_ms + core->rules.interval_ms / BALANCE_LOOKS_PER_INTERVAL;
}

static void forget_samples(struct balance_core *core)
{
	core->settled_looks = 0;
	core->members_hash = 0;
}

/* Starts afresh: a new leader has no samples from before. */
static void begin_leading(struct balance_core *core, uint64_t now_ms)
{
	forget_samples(core);
	core->table_ms = now_ms;
	for (uint32_t p = 0; p < core->partitions; p++)
		core->smoothed[p] = -1;
	watch_members(core, now_ms);
}

static void on_switch(struct balance_core *core, uint64_t now_ms)
{
	bool working = core->leading && core->rules.enabled;

	if (working && core->state == BALANCE_IDLE)
		begin_leading(core, now_ms);
	if (!working) {
		core->state = BALANCE_IDLE;
		core->view = NULL;
	}
}

static void on_rules(struct balance_core *core, const struct balance_event *event)
{
	bool same = event->rules.interval_ms == core->rules.interval_ms;

	PL_ASSERT(event->rules.interval_ms > 0);
	core->rules = event->rules;
	if (core->state == BALANCE_WATCHING && !same)
		watch_members(core, event->now_ms);
	on_switch(core, event->now_ms);
}

static void smooth_loads(struct balance_core *core, const struct balance_view *view)
{
	for (uint32_t p = 0; p < core->partitions; p++) {
		double load = view->load[p];

		if (view->reporter[p] >= BALANCE_MANY)
			continue;
		if (core->smoothed[p] < 0)
			core->smoothed[p] = load;
		core->smoothed[p] += fresh_part * (load - core->smoothed[p]);
	}
}

static uint64_t hash_of_members(const struct balance_view *view)
{
	uint64_t members_hash = 1;

	for (uint32_t i = 0; i < view->member_count; i++) {
		const struct balance_member *m = &view->members[i];
		struct pl_hash_key key = {members_hash, m->weight};

		if (!m->counts)
			continue;
		key.k1 ^= (uint64_t)m->salt << 32;
		members_hash = pl_hash_keyed(m->id, key) + m->factor;
	}
	return members_hash;
}

/* Whether each partition was reported by exactly the member that it falls to. */
static bool is_settled(const struct balance_core *core, const struct balance_view *view)
{
	if (assign_members(view->assign) == 0)
		return false;
	for (uint32_t p = 0; p < core->partitions; p++)
		if (view->reporter[p] != assign_mark_of(view->assign, p))
			return false;
	return true;
}

/* Whether there is load worth balancing: at least one unit a partition on average. */
static bool is_loaded(const struct balance_core *core)
{
	double total = 0;

	for (uint32_t p = 0; p < core->partitions; p++)
		total += core->smoothed[p];
	return total >= core->partitions;
}

static void on_view(struct balance_core *core, const struct balance_event *event)
{
	uint64_t members_hash = hash_of_members(event->view);

	PL_ASSERT(assign_partitions(event->view->assign) == core->partitions);
	smooth_loads(core, event->view);
	if (members_hash != core->members_hash || !is_settled(core, event->view))
		core->settled_looks = 0;
	else
		core->settled_looks++;
	core->members_hash = members_hash;
	if (core->settled_looks < BALANCE_SETTLED_LOOKS ||
	    event->now_ms < core->table_ms + core->rules.interval_ms ||
	    assign_members(event->view->assign) < 2 || !is_loaded(core)) {
		watch_members(core, event->now_ms);
		return;
	}
	core->state = BALANCE_SEARCHING;
	core->view = event->view;
	core->look_ms = event->now_ms; /* the first round is due at once */
	balance_search_begin(core);
}

static void run_search(struct balance_core *core, uint64_t now_ms,
                       struct balance_actions *actions)
{
	struct balance_action *action;

	if (balance_search_round(core))
		return;
	if (!balance_search_end(core)) {
		watch_members(core, now_ms);
		return;
	}
	core->state = BALANCE_WRITING;
	action = emit_action(actions, BALANCE_DO_WRITE);
	action->worst = core->now.worst;
	action->planned = core->best.worst;
	action->moves = core->best.moves;
}

static void on_timeout(struct balance_core *core, uint64_t now_ms,
                       struct balance_actions *actions)
{
	if (now_ms < balance_deadline_ms(core))
		return;
	if (core->state == BALANCE_SEARCHING) {
		run_search(core, now_ms, actions);
		return;
	}
	core->state = BALANCE_LOOKING;
	emit_action(actions, BALANCE_DO_LOOK);
}

/* Records the end of a write, unless the write was given up meanwhile. */
static void on_written(struct balance_core *core, const struct balance_event *event)
{
	if (core->state != BALANCE_WRITING)
		return;
	core->table_ms = event->now_ms; /* a failed write also waits a whole interval,
	                                 * since it would probably fail again */
	if (event->type == BALANCE_EV_WRITTEN)
		forget_samples(core);
	watch_members(core, event->now_ms);
}

void balance_core_init(struct balance_core *core, uint32_t partitions, double *smoothed,
                       uint16_t *before, uint64_t seed)
{
	PL_ASSERT(partitions > 0);
	memset(core, 0, sizeof *core);
	core->partitions = partitions;
	core->smoothed = smoothed;
	core->before = before;
	pl_rng_init(&core->rng, seed);
}

void balance_step(struct balance_core *core, const struct balance_event *event,
                  struct balance_actions *actions)
{
	actions->count = 0;
	core_check(core);
	switch (event->type) {
	case BALANCE_EV_LEAD:
		core->leading = event->leading;
		on_switch(core, event->now_ms);
		break;
	case BALANCE_EV_RULES:
		on_rules(core, event);
		break;
	case BALANCE_EV_TABLE:
		core->table_ms = event->now_ms;
		forget_samples(core);
		if (core->state == BALANCE_SEARCHING)
			watch_members(core, event->now_ms);
		break;
	case BALANCE_EV_VIEW:
		if (core->state == BALANCE_LOOKING)
			on_view(core, event);
		break;
	case BALANCE_EV_NO_VIEW:
		if (core->state != BALANCE_LOOKING)
			break;
		forget_samples(core);
		watch_members(core, event->now_ms);
		break;
	case BALANCE_EV_WRITTEN:
	case BALANCE_EV_FAILED:
		on_written(core, event);
		break;
	case BALANCE_EV_TIMEOUT:
		on_timeout(core, event->now_ms, actions);
		break;
	}
	core_check(core);
}

uint64_t balance_deadline_ms(const struct balance_core *core)
{
	switch (core->state) {
	case BALANCE_WATCHING:
	case BALANCE_SEARCHING:
		return core->look_ms;
	case BALANCE_IDLE:
	case BALANCE_LOOKING:
	case BALANCE_WRITING:
		break;
	}
	return NEVER;
}
