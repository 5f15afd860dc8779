#include "coord/config/config_core.h"

enum { RETRY_MS = 100, RETRY_MAX_MS = 10000 };

static void emit_action(struct config_actions *actions, enum config_action_type type,
                        unsigned name, uint64_t version)
{
	PL_ASSERT(actions->count < CONFIG_ACTIONS_MAX);
	actions->item[actions->count++] = (struct config_action){
		.type = type, .name = (enum config_name)name, .version = version};
}

static void core_check(const struct config_core *core)
{
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		const struct config_track *track = &core->track[i];
		bool waits =
			track->current == CONFIG_NAMED && track->body == CONFIG_UNSEEN;

		PL_ASSERT((track->current == CONFIG_NAMED) == (track->wanted != 0));
		PL_ASSERT(!track->settled || !waits);
		PL_ASSERT(!(track->reading || track->read_at_ms != UINT64_MAX) || waits);
		PL_ASSERT(!track->reading || track->read_at_ms == UINT64_MAX);
	}
	PL_ASSERT(!core->synced || core->listed);
}

void config_core_init(struct config_core *core, uint64_t seed)
{
	*core = (struct config_core){0};
	pl_rng_init(&core->rng, seed);
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++)
		core->track[i].read_at_ms = UINT64_MAX;
}

bool config_core_wants(const struct config_core *core, enum config_name name,
                       uint64_t version)
{
	const struct config_track *track = &core->track[name];

	return track->current == CONFIG_NAMED && track->wanted == version;
}

static void cancel_read(struct config_core *core, unsigned name,
                        struct config_actions *actions)
{
	struct config_track *track = &core->track[name];

	if (track->reading)
		emit_action(actions, CONFIG_DO_UNREAD, name, track->wanted);
	track->reading = false;
	track->read_at_ms = UINT64_MAX;
	track->failures = 0;
}

static void body_forget(struct config_core *core, unsigned name,
                        struct config_actions *actions)
{
	struct config_track *track = &core->track[name];

	cancel_read(core, name, actions);
	track->body = CONFIG_UNSEEN;
	track->body_rev = 0;
	track->body_seen = false;
	track->settled = false;
}

static void current_set(struct config_core *core, unsigned name,
                        enum config_current current, uint64_t version,
                        struct config_actions *actions)
{
	struct config_track *track = &core->track[name];

	PL_ASSERT((current == CONFIG_NAMED) == (version != 0));
	if (track->wanted != version)
		body_forget(core, name, actions);
	track->current = current;
	track->wanted = version;
	track->settled = current == CONFIG_NAMED && track->body == CONFIG_VALID &&
	                 track->settled && !track->refused;
}

static void on_current(struct config_core *core, const struct config_event *event,
                       struct config_actions *actions)
{
	struct config_track *track = &core->track[event->name];

	track->current_seen = true;
	if (event->revision <= track->current_rev)
		return;
	track->current_rev = event->revision;
	current_set(core, event->name, event->is, event->version, actions);
}

static void on_body(struct config_core *core, const struct config_event *event,
                    struct config_actions *actions)
{
	struct config_track *track = &core->track[event->name];

	if (!config_core_wants(core, event->name, event->version))
		return;
	track->body_seen = true;
	if (event->revision < track->body_rev)
		return;
	if (event->revision == track->body_rev && track->body != CONFIG_UNSEEN)
		return;
	cancel_read(core, event->name, actions);
	track->body = event->body;
	track->body_rev = event->revision;
	track->settled = false;
}

/* A read is newer than all notes that came before it. */
static void on_read(struct config_core *core, const struct config_event *event,
                    struct config_actions *actions)
{
	struct config_track *track = &core->track[event->name];

	PL_ASSERT(track->reading && event->version == track->wanted);
	PL_ASSERT(event->body != CONFIG_UNSEEN);
	track->reading = false;
	track->body_rev = 0;
	on_body(core, event, actions);
}

/* A key that the list does not have is gone. A body that it does not have may have
 * stood on an earlier page, before current showed that the body is wanted; a read
 * decides. */
static void on_end(struct config_core *core, const struct config_event *event,
                   struct config_actions *actions)
{
	core->listed = true;
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		struct config_track *track = &core->track[i];

		if (!track->current_seen && track->current != CONFIG_NONE)
			current_set(core, i, CONFIG_NONE, 0, actions);
		if (!track->current_seen && track->current_rev < event->revision)
			track->current_rev = event->revision;
		if (track->current == CONFIG_NAMED && !track->body_seen)
			body_forget(core, i, actions);
	}
}

static void apply_version(struct config_core *core, unsigned name, int64_t revision,
                          struct config_actions *actions)
{
	struct config_track *track = &core->track[name];
	bool same = track->applied == track->wanted && track->applied_rev == revision;

	track->settled = true;
	if (same && !track->refused)
		return;
	track->applied = track->wanted;
	track->applied_rev = revision;
	track->refused = false;
	emit_action(actions, CONFIG_REPORT_APPLIED, name, track->applied);
}

static void refuse_version(struct config_core *core, unsigned name,
                           struct config_actions *actions)
{
	struct config_track *track = &core->track[name];

	track->settled = true;
	track->refused = true;
	emit_action(actions, CONFIG_REPORT_REFUSED, name, track->wanted);
}

static void decide_name(struct config_core *core, unsigned name,
                        struct config_actions *actions)
{
	struct config_track *track = &core->track[name];

	if (track->settled)
		return;
	if (track->current == CONFIG_NONE) {
		apply_version(core, name, 0, actions);
	} else if (track->current == CONFIG_NAMED && track->body == CONFIG_VALID) {
		apply_version(core, name, track->body_rev, actions);
	} else if (track->current == CONFIG_BROKEN || track->body != CONFIG_UNSEEN) {
		refuse_version(core, name, actions);
	} else if (!track->reading && track->read_at_ms == UINT64_MAX) {
		track->reading = true;
		emit_action(actions, CONFIG_DO_READ, name, track->wanted);
	}
}

static void decide_all(struct config_core *core, struct config_actions *actions)
{
	bool settled = core->listed;

	for (unsigned i = 0; i < CONFIG_NAME_COUNT && core->listed; i++) {
		decide_name(core, i, actions);
		settled = settled && core->track[i].settled;
	}
	if (!settled || core->synced)
		return;
	core->synced = true;
	emit_action(actions, CONFIG_REPORT_SYNCED, 0, 0);
}

static void on_read_failed(struct config_core *core, const struct config_event *event)
{
	struct config_track *track = &core->track[event->name];
	uint64_t pause = RETRY_MAX_MS;

	PL_ASSERT(track->reading);
	if (track->failures < 6)
		pause = (uint64_t)RETRY_MS << track->failures;
	track->failures++;
	track->reading = false;
	track->read_at_ms =
		event->now_ms + pause / 2 + pl_rng_below(&core->rng, pause / 2 + 1);
}

static void on_lost(struct config_core *core, const struct config_event *event,
                    struct config_actions *actions)
{
	core->listed = false;
	core->synced = false;
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		struct config_track *track = &core->track[i];

		cancel_read(core, i, actions);
		if (!event->rewound)
			continue;
		body_forget(core, i, actions);
		track->current_rev = 0;
		track->applied_rev = 0;
	}
	emit_action(actions, CONFIG_REPORT_LOST, 0, 0);
}

static void on_timeout(struct config_core *core, uint64_t now_ms)
{
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		if (core->track[i].read_at_ms <= now_ms)
			core->track[i].read_at_ms = UINT64_MAX;
	}
}

void config_step(struct config_core *core, const struct config_event *event,
                 struct config_actions *actions)
{
	actions->count = 0;
	core_check(core);
	PL_ASSERT(event->type == CONFIG_EV_TIMEOUT ||
	          event->now_ms < config_deadline_ms(core));
	switch (event->type) {
	case CONFIG_EV_BEGIN:
		for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
			core->track[i].current_seen = false;
			core->track[i].body_seen = false;
		}
		break;
	case CONFIG_EV_CURRENT:
		on_current(core, event, actions);
		break;
	case CONFIG_EV_BODY:
		on_body(core, event, actions);
		break;
	case CONFIG_EV_END:
		on_end(core, event, actions);
		decide_all(core, actions);
		break;
	case CONFIG_EV_READ:
		on_read(core, event, actions);
		decide_all(core, actions);
		break;
	case CONFIG_EV_READ_FAILED:
		on_read_failed(core, event);
		break;
	case CONFIG_EV_LOST:
		on_lost(core, event, actions);
		break;
	case CONFIG_EV_TIMEOUT:
		on_timeout(core, event->now_ms);
		decide_all(core, actions);
		break;
	case CONFIG_EV_BATCH:
		decide_all(core, actions);
		break;
	}
	core_check(core);
}

uint64_t config_deadline_ms(const struct config_core *core)
{
	uint64_t at = UINT64_MAX;

	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		if (core->track[i].read_at_ms < at)
			at = core->track[i].read_at_ms;
	}
	return at;
}
