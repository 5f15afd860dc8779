#include <string.h>

#include "coord/janitor/janitor_int.h"

enum {
	FIRST_MS = 1000,
	PAGE_PAUSE_MS = 50,
	RETRY_MS = 500, /* pause after a removal with an unknown outcome */
	TRIES_MAX = 4,
};

void sweep_start(struct janitor_core *core, uint64_t now_ms)
{
	struct janitor_sweep *sweep = &core->sweep;

	sweep->stage = JANITOR_OWNERS;
	sweep->config = 0;
	sweep->next = false;
	sweep->seq = 0;
	sweep->garbage = 0;
	sweep->before_count = 0;
	sweep->now_count = 0;
	sweep->at_ms = now_ms + FIRST_MS + pl_rng_below(&core->rng, FIRST_MS);
}

void sweep_check(const struct janitor_core *core)
{
	const struct janitor_sweep *sweep = &core->sweep;

	PL_ASSERT(sweep->seq <= core->seq && (core->leading || sweep->seq == 0));
	PL_ASSERT(sweep->stage < JANITOR_STAGES && sweep->item < JANITOR_PAGE);
	PL_ASSERT(sweep->before_count <= JANITOR_ORPHANS &&
	          sweep->now_count <= JANITOR_ORPHANS);
}

static bool at_start(const struct janitor_sweep *sweep)
{
	return sweep->stage == JANITOR_OWNERS && !sweep->next && sweep->garbage == 0;
}

void sweep_tune(struct janitor_core *core, uint64_t now_ms)
{
	uint64_t at = now_ms + core->tune.interval_ms;

	if (at_start(&core->sweep) && core->sweep.at_ms > at)
		core->sweep.at_ms = at;
}

/* The next sweep begins from the first stage, an interval from now. */
static void schedule_next(struct janitor_core *core, uint64_t now_ms)
{
	struct janitor_sweep *sweep = &core->sweep;

	sweep->stage = JANITOR_OWNERS;
	sweep->config = 0;
	sweep->next = false;
	sweep->garbage = 0;
	sweep->now_count = 0;
	sweep->at_ms = now_ms + core->tune.interval_ms;
}

static void next_stage(struct janitor_core *core, uint64_t now_ms)
{
	struct janitor_sweep *sweep = &core->sweep;

	sweep->next = false;
	if (sweep->stage == JANITOR_DIGESTS) {
		memcpy(sweep->before, sweep->now, sizeof sweep->before);
		sweep->before_count = sweep->now_count;
		sweep->now_count = 0;
	}
	if (sweep->stage == JANITOR_VERSIONS && sweep->config + 1 < core->configs)
		sweep->config++;
	else if (sweep->stage == JANITOR_VERSIONS)
		schedule_next(core, now_ms);
	else
		sweep->stage++;
	if (sweep->stage == JANITOR_VERSIONS && core->configs == 0)
		schedule_next(core, now_ms);
}

static void end_page(struct janitor_core *core, uint64_t now_ms)
{
	struct janitor_sweep *sweep = &core->sweep;

	sweep->at_ms = now_ms + PAGE_PAUSE_MS;
	if (sweep->more)
		sweep->next = true;
	else
		next_stage(core, now_ms);
}

static void send_request(struct janitor_core *core, enum janitor_action_type type,
                         struct janitor_actions *actions)
{
	struct janitor_action *action = janitor_emit(actions, type);

	core->sweep.seq = ++core->seq;
	core->sweep.paging = type == JANITOR_DO_PAGE;
	action->seq = core->seq;
	action->stage = core->sweep.stage;
	action->config = core->sweep.config;
	action->next = core->sweep.next;
	action->item = core->sweep.item;
}

/* Removes the garbage of the page item by item, then goes on with the sweep. */
static void continue_page(struct janitor_core *core, uint64_t now_ms,
                          struct janitor_actions *actions)
{
	struct janitor_sweep *sweep = &core->sweep;

	if (sweep->garbage == 0) {
		end_page(core, now_ms);
		return;
	}
	sweep->item = 0;
	while ((sweep->garbage >> sweep->item & 1) == 0)
		sweep->item++;
	sweep->tries = 0;
	send_request(core, JANITOR_DO_REMOVE, actions);
}

/* Remembers the digest, and says whether the last sweep has remembered it too. */
static bool is_orphan_still(struct janitor_sweep *sweep, const struct janitor_item *item)
{
	struct janitor_orphan orphan = {item->hash, item->mod_revision};

	if (sweep->now_count < JANITOR_ORPHANS)
		sweep->now[sweep->now_count++] = orphan;
	for (size_t i = 0; i < sweep->before_count; i++) {
		if (sweep->before[i].hash == orphan.hash &&
		    sweep->before[i].mod_revision == orphan.mod_revision)
			return true;
	}
	return false;
}

/* The versions come in order, the oldest first. */
static bool is_too_old(const struct janitor_core *core, const struct janitor_page *page,
                       size_t index)
{
	return !page->no_current && page->total > core->tune.config_history &&
	       index < page->total - core->tune.config_history;
}

static bool is_garbage(struct janitor_core *core, const struct janitor_page *page,
                       size_t index)
{
	const struct janitor_item *item = &page->items[index];

	switch (core->sweep.stage) {
	case JANITOR_OWNERS:
	case JANITOR_LEADERS:
		return item->lease == 0;
	case JANITOR_DIGESTS:
		return !item->shard_lives && is_orphan_still(&core->sweep, item);
	case JANITOR_VERSIONS:
		return !item->current && is_too_old(core, page, index);
	case JANITOR_STAGES:
		break;
	}
	PL_UNREACHABLE("stage of a sweep");
}

static void on_page(struct janitor_core *core, const struct janitor_event *event,
                    struct janitor_actions *actions)
{
	const struct janitor_page *page = &event->page;

	PL_ASSERT(page->count <= JANITOR_PAGE && core->sweep.paging);
	core->sweep.garbage = 0;
	core->sweep.more = page->more;
	for (size_t i = 0; i < page->count; i++) {
		if (is_garbage(core, page, i))
			core->sweep.garbage |= UINT64_C(1) << i;
	}
	continue_page(core, event->now_ms, actions);
}

static enum janitor_why why_of(enum janitor_stage stage)
{
	if (stage == JANITOR_DIGESTS)
		return JANITOR_NO_SHARD;
	return stage == JANITOR_VERSIONS ? JANITOR_OLD_VERSION : JANITOR_NO_LEASE;
}

static void end_item(struct janitor_core *core, uint64_t now_ms,
                     struct janitor_actions *actions)
{
	core->sweep.garbage &= ~(UINT64_C(1) << core->sweep.item);
	continue_page(core, now_ms, actions);
}

static void on_removed(struct janitor_core *core, const struct janitor_event *event,
                       struct janitor_actions *actions)
{
	struct janitor_sweep *sweep = &core->sweep;
	struct janitor_action *action;

	PL_ASSERT(!sweep->paging);
	if (event->removed || (event->absent && sweep->tries != 0)) {
		action = janitor_emit(actions, JANITOR_REPORT_REMOVED);
		action->item = sweep->item;
		action->why = why_of(sweep->stage);
	}
	end_item(core, event->now_ms, actions);
}

static void on_failed(struct janitor_core *core, const struct janitor_event *event,
                      struct janitor_actions *actions)
{
	struct janitor_sweep *sweep = &core->sweep;

	janitor_emit(actions, JANITOR_REPORT_TROUBLE)->code = event->code;
	if (sweep->paging || event->code == PL_FENCED)
		schedule_next(core, event->now_ms);
	else if (event->code == PL_UNKNOWN && ++sweep->tries < TRIES_MAX)
		sweep->at_ms = event->now_ms + RETRY_MS;
	else
		end_item(core, event->now_ms, actions);
}

void sweep_event(struct janitor_core *core, const struct janitor_event *event,
                 struct janitor_actions *actions)
{
	core->sweep.seq = 0;
	if (event->type == JANITOR_EV_FAILED) {
		on_failed(core, event, actions);
	} else if (event->type == JANITOR_EV_PAGE) {
		on_page(core, event, actions);
	} else {
		PL_ASSERT(event->type == JANITOR_EV_REMOVED);
		on_removed(core, event, actions);
	}
}

void sweep_timeout(struct janitor_core *core, struct janitor_actions *actions)
{
	bool removing = core->sweep.garbage != 0;

	send_request(core, removing ? JANITOR_DO_REMOVE : JANITOR_DO_PAGE, actions);
}

uint64_t sweep_deadline_ms(const struct janitor_core *core)
{
	return core->sweep.seq == 0 ? core->sweep.at_ms : UINT64_MAX;
}
