#include "store/kv/relist_core.h"

#include <string.h>

#include "store/base/backoff.h"

#define NEVER UINT64_MAX

enum {
	CHECK_DEFAULT_MS = 10000,
	STALL_DEFAULT_MS = 10000,
	BACKOFF_MIN_MS = 50,
	BACKOFF_MAX_MS = 5000,
	/* How long a list waits for the watch, because listing without a watch costs the
	 * store more. */
	OPEN_TIMEOUT_MS = 1000,
};

static struct relist_action *add_action(struct relist_actions *actions,
                                        enum relist_action_type type)
{
	struct relist_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < RELIST_ACTIONS_MAX);
	actions->count++;
	*action = (struct relist_action){.type = type};
	return action;
}

static bool has_watch(const struct relist_core *core)
{
	return core->watch != RELIST_WATCH_NONE;
}

static void core_check(const struct relist_core *core)
{
	PL_ASSERT(core->list_revision <= core->seen_revision);
	PL_ASSERT(
		core->state != RELIST_WATCHING ||
		(core->list_revision > 0 && core->watch_revision >= core->list_revision));
	PL_ASSERT(core->state != RELIST_WATCHING || has_watch(core));
}

static uint64_t backoff_ms(struct relist_core *core)
{
	uint32_t before = core->failures == 0 ? 0 : core->failures - 1;

	return pl_backoff_ms(&core->rng, before, BACKOFF_MIN_MS, BACKOFF_MAX_MS);
}

static void start_fetch(struct relist_core *core, struct relist_actions *actions)
{
	core->state = RELIST_LISTING;
	core->fetch_at_ms = NEVER;
	core->asked_revision = core->seen_revision;
	add_action(actions, RELIST_DO_FETCH)->revision = core->list_revision;
}

static void start_watch(struct relist_core *core, int64_t from,
                        struct relist_actions *actions)
{
	core->watch = RELIST_WATCH_OPENED;
	add_action(actions, RELIST_DO_WATCH)->revision = from;
}

static void stop_watch(struct relist_core *core, struct relist_actions *actions)
{
	if (has_watch(core))
		add_action(actions, RELIST_DO_UNWATCH);
	core->watch = RELIST_WATCH_NONE;
}

static void open_watch(struct relist_core *core, uint64_t now_ms,
                       struct relist_actions *actions)
{
	core->state = RELIST_OPENING;
	core->fetch_at_ms = now_ms + OPEN_TIMEOUT_MS;
	core->heard_revision = 0;
	start_watch(core, 0, actions);
}

/* Starts over: at once, unless it is the second time in a row. */
static void restart_list(struct relist_core *core, enum pl_code code, uint64_t now_ms,
                         struct relist_actions *actions)
{
	stop_watch(core, actions);
	core->list_revision = 0;
	if (code == PL_REWOUND) {
		core->seen_revision = 0;
		core->cluster_id = 0;
	}
	if (core->failures++ == 0) {
		open_watch(core, now_ms, actions);
	} else {
		core->state = RELIST_OPENING;
		core->fetch_at_ms = now_ms + backoff_ms(core);
	}
	add_action(actions, RELIST_REPORT_LOST)->code = code;
}

/* Learns what a linearizable read says about the store. False: it is another store. */
static bool same_store(struct relist_core *core, const struct relist_event *event)
{
	if (core->cluster_id != 0 && event->cluster_id != core->cluster_id)
		return false;
	if (event->revision < core->asked_revision)
		return false;
	core->cluster_id = event->cluster_id;
	if (event->revision > core->seen_revision)
		core->seen_revision = event->revision;
	return true;
}

static void watch_begin(struct relist_core *core, uint64_t now_ms,
                        struct relist_actions *actions)
{
	core->state = RELIST_WATCHING;
	core->watch_revision = core->list_revision;
	core->stall_at_ms = NEVER;
	core->want_revision = 0;
	core->check_at_ms = now_ms + core->check_ms;
	if (has_watch(core)) {
		if (core->watch == RELIST_WATCH_RESUMED)
			/* the watch may have resumed on another store */
			core->check_at_ms = now_ms;
		return;
	}
	/* The watch does not begin at the next revision: a compaction to exactly the
	 * list's revision would remove its deletions and still let a watch begin behind
	 * it. */
	core->heard_revision = core->list_revision - 1;
	start_watch(core, core->list_revision, actions);
}

static void on_page(struct relist_core *core, const struct relist_event *event,
                    struct relist_actions *actions)
{
	bool first = core->list_revision == 0;
	bool has_deferred = has_watch(core);

	if (!same_store(core, event)) {
		restart_list(core, PL_REWOUND, event->now_ms, actions);
		return;
	}
	if (first)
		core->list_revision = event->revision;
	if (event->more)
		start_fetch(core, actions);
	else
		watch_begin(core, event->now_ms, actions);
	if (first)
		add_action(actions, RELIST_REPORT_BEGIN)->revision = core->list_revision;
	add_action(actions, RELIST_REPORT_PAGE);
	if (!event->more)
		add_action(actions, RELIST_REPORT_END)->revision = core->list_revision;
	if (!event->more && has_deferred)
		add_action(actions, RELIST_DO_RELEASE);
}

static void on_page_failed(struct relist_core *core, const struct relist_event *event,
                           struct relist_actions *actions)
{
	if (core->list_revision != 0 && event->code == PL_COMPACTED) {
		restart_list(core, PL_COMPACTED, event->now_ms, actions);
		return;
	}
	if (core->list_revision != 0 && event->code == PL_FUTURE) {
		restart_list(core, PL_REWOUND, event->now_ms, actions);
		return;
	}
	core->failures++;
	core->fetch_at_ms = event->now_ms + backoff_ms(core);
	add_action(actions, RELIST_REPORT_TROUBLE)->code = event->code;
}

static bool other_cluster(const struct relist_core *core,
                          const struct relist_event *event)
{
	return event->cluster_id != 0 && core->cluster_id != 0 &&
	       event->cluster_id != core->cluster_id;
}

/* A revision that a watch has shown is committed, so later reads must not be below it. */
static void raise_heard(struct relist_core *core, int64_t revision)
{
	if (revision > core->heard_revision)
		core->heard_revision = revision;
	if (revision > core->seen_revision)
		core->seen_revision = revision;
}

static void raise_watched(struct relist_core *core, const struct relist_event *event)
{
	core->watch_revision = event->revision;
	if (event->revision >= core->want_revision)
		core->stall_at_ms = NEVER;
	else /* behind, but moving */
		core->stall_at_ms = event->now_ms + core->stall_ms;
}

static void on_events(struct relist_core *core, const struct relist_event *event,
                      struct relist_actions *actions)
{
	if (other_cluster(core, event) || event->revision <= core->heard_revision) {
		restart_list(core, PL_REWOUND, event->now_ms, actions);
		return;
	}
	raise_heard(core, event->revision);
	if (core->state != RELIST_WATCHING || event->revision <= core->list_revision)
		return; /* deferred by the driver, or shown by the list */
	core->failures = 0;
	raise_watched(core, event);
	add_action(actions, RELIST_REPORT_EVENTS);
}

static void on_deferred(struct relist_core *core, const struct relist_event *event,
                        struct relist_actions *actions)
{
	if (event->revision <= core->list_revision)
		return;
	PL_ASSERT(event->revision > core->watch_revision);
	raise_watched(core, event);
	add_action(actions, RELIST_REPORT_EVENTS);
}

static void on_progress(struct relist_core *core, const struct relist_event *event,
                        struct relist_actions *actions)
{
	if (other_cluster(core, event)) {
		restart_list(core, PL_REWOUND, event->now_ms, actions);
		return;
	}
	raise_heard(core, event->revision);
	if (core->state != RELIST_WATCHING || event->revision < core->watch_revision)
		return; /* from a member that lags; the events were told in order */
	core->failures = 0;
	raise_watched(core, event);
	add_action(actions, RELIST_REPORT_PROGRESS)->revision = event->revision;
}

static void on_ready(struct relist_core *core, const struct relist_event *event,
                     struct relist_actions *actions)
{
	if (other_cluster(core, event)) {
		restart_list(core, PL_REWOUND, event->now_ms, actions);
		return;
	}
	if (core->watch == RELIST_WATCH_OPENED) {
		core->watch = RELIST_WATCH_READY;
	} else {
		core->watch = RELIST_WATCH_RESUMED;
		if (core->state == RELIST_WATCHING && core->check_at_ms != NEVER)
			/* the watch may have resumed on another store */
			core->check_at_ms = event->now_ms;
	}
	if (core->state != RELIST_OPENING)
		return;
	if (event->cluster_id != 0)
		core->cluster_id = event->cluster_id;
	raise_heard(core, event->revision);
	/* the list must not be older than what the watch has seen */
	start_fetch(core, actions);
}

/* Before the end of the list the core does without the watch, unless the reason concerns
 * the list, too. */
static void on_ended(struct relist_core *core, const struct relist_event *event,
                     struct relist_actions *actions)
{
	if (core->state == RELIST_WATCHING || event->code == PL_REWOUND) {
		restart_list(core, event->code, event->now_ms, actions);
		return;
	}
	core->watch = RELIST_WATCH_NONE;
	if (core->state == RELIST_OPENING)
		start_fetch(core, actions);
}

static void on_checked(struct relist_core *core, const struct relist_event *event,
                       struct relist_actions *actions)
{
	core->check_at_ms = event->now_ms + core->check_ms;
	if (!same_store(core, event)) {
		restart_list(core, PL_REWOUND, event->now_ms, actions);
		return;
	}
	if (event->revision <= core->watch_revision) {
		core->failures = 0;
		return;
	}
	core->want_revision = event->revision;
	if (core->stall_at_ms == NEVER)
		core->stall_at_ms = event->now_ms + core->stall_ms;
	add_action(actions, RELIST_DO_PROGRESS)->revision = event->revision;
}

static void on_open_timeout(struct relist_core *core, uint64_t now_ms,
                            struct relist_actions *actions)
{
	if (!has_watch(core)) {
		open_watch(core, now_ms, actions);
		return;
	}
	stop_watch(core, actions);
	start_fetch(core, actions);
}

static void on_timeout(struct relist_core *core, uint64_t now_ms,
                       struct relist_actions *actions)
{
	if (core->state == RELIST_OPENING && now_ms >= core->fetch_at_ms) {
		on_open_timeout(core, now_ms, actions);
		return;
	}
	if (core->state == RELIST_LISTING && now_ms >= core->fetch_at_ms) {
		start_fetch(core, actions);
		return;
	}
	if (core->state != RELIST_WATCHING)
		return;
	if (now_ms >= core->stall_at_ms) {
		restart_list(core, PL_TIMEOUT, now_ms, actions);
		return;
	}
	if (now_ms >= core->check_at_ms) {
		core->check_at_ms = NEVER;
		core->asked_revision = core->seen_revision;
		add_action(actions, RELIST_DO_CHECK);
	}
}

static void on_watch(struct relist_core *core, const struct relist_event *event,
                     struct relist_actions *actions)
{
	switch (event->type) {
	case RELIST_EV_READY:
		on_ready(core, event, actions);
		break;
	case RELIST_EV_EVENTS:
		on_events(core, event, actions);
		break;
	case RELIST_EV_PROGRESS:
		on_progress(core, event, actions);
		break;
	case RELIST_EV_ENDED:
		on_ended(core, event, actions);
		break;
	default:
		PL_UNREACHABLE("not about a watch");
	}
}

static void on_check(struct relist_core *core, const struct relist_event *event,
                     struct relist_actions *actions)
{
	if (event->type == RELIST_EV_CHECKED) {
		on_checked(core, event, actions);
		return;
	}
	core->check_at_ms = event->now_ms + backoff_ms(core) + core->check_ms / 4;
	add_action(actions, RELIST_REPORT_TROUBLE)->code = event->code;
}

void relist_core_init(struct relist_core *core, uint64_t check_ms, uint64_t stall_ms,
                      uint64_t seed)
{
	memset(core, 0, sizeof *core);
	core->check_ms = check_ms == 0 ? CHECK_DEFAULT_MS : check_ms;
	core->stall_ms = stall_ms == 0 ? STALL_DEFAULT_MS : stall_ms;
	pl_rng_init(&core->rng, seed);
}

void relist_step(struct relist_core *core, const struct relist_event *event,
                 struct relist_actions *actions)
{
	actions->count = 0;
	core_check(core);
	switch (event->type) {
	case RELIST_EV_START:
		PL_ASSERT(core->state == RELIST_IDLE);
		open_watch(core, event->now_ms, actions);
		break;
	case RELIST_EV_PAGE:
		PL_ASSERT(core->state == RELIST_LISTING && core->fetch_at_ms == NEVER);
		on_page(core, event, actions);
		break;
	case RELIST_EV_PAGE_FAILED:
		PL_ASSERT(core->state == RELIST_LISTING && core->fetch_at_ms == NEVER);
		on_page_failed(core, event, actions);
		break;
	case RELIST_EV_TIMEOUT:
		on_timeout(core, event->now_ms, actions);
		break;
	case RELIST_EV_READY:
	case RELIST_EV_EVENTS:
	case RELIST_EV_PROGRESS:
	case RELIST_EV_ENDED:
		PL_ASSERT(has_watch(core));
		on_watch(core, event, actions);
		break;
	case RELIST_EV_DEFERRED:
		PL_ASSERT(core->state == RELIST_WATCHING);
		on_deferred(core, event, actions);
		break;
	case RELIST_EV_CHECKED:
	case RELIST_EV_CHECK_FAILED:
		PL_ASSERT(core->state == RELIST_WATCHING);
		on_check(core, event, actions);
		break;
	}
	core_check(core);
}

uint64_t relist_deadline_ms(const struct relist_core *core)
{
	switch (core->state) {
	case RELIST_IDLE:
		break;
	case RELIST_OPENING:
	case RELIST_LISTING:
		return core->fetch_at_ms;
	case RELIST_WATCHING:
		return core->check_at_ms < core->stall_at_ms ? core->check_at_ms
		                                             : core->stall_at_ms;
	}
	return NEVER;
}
