#include "coord/janitor/janitor_int.h"

enum {
	LOOK_MAX_MS = 1000,
	LOOK_MIN_MS = 250, /* at 100,000 revisions a second this is 25,000 revisions a
	                    * look */
	RATE_MAX_MS = 60000,
	STEPS = 10, /* a compaction is worth it after this part of keep_revisions */
	BYTE_STEPS = 4,
	SAMPLE_STEPS = 16, /* a look is worth remembering after this part of
	                    * history_bytes */
	LARGE_STEPS = 3,   /* part of what is in use: growth by half of what there was */
	BEGIN_MS = 60000,
};

void compaction_start(struct janitor_core *core, uint64_t now_ms)
{
	core->compaction =
		(struct janitor_compaction){.look_ms = now_ms, .compacted_ms = now_ms};
}

void compaction_check(const struct janitor_core *core)
{
	const struct janitor_compaction *compaction = &core->compaction;

	PL_ASSERT(compaction->pin_count <= JANITOR_PINS_MAX);
	PL_ASSERT(compaction->seq <= core->seq &&
	          (core->leading || compaction->seq == 0));
	/* Only revisions that a look has seen are compacted. */
	PL_ASSERT(compaction->target == 0 || compaction->target <= compaction->revision);
}

static uint64_t step_of(const struct janitor_core *core)
{
	uint64_t step = core->tune.keep_revisions / STEPS;

	return step == 0 ? 1 : step;
}

/* When the next look is due: the faster the revision grows, the sooner. */
static uint64_t look_after_ms(const struct janitor_core *core, int64_t revision,
                              uint64_t now_ms)
{
	const struct janitor_compaction *compaction = &core->compaction;
	uint64_t most = core->tune.interval_ms < LOOK_MAX_MS ? core->tune.interval_ms
	                                                     : LOOK_MAX_MS;
	uint64_t grown = (uint64_t)(revision - compaction->revision);
	uint64_t ms = now_ms - compaction->revision_ms, wait;

	if (ms > RATE_MAX_MS)
		ms = RATE_MAX_MS; /* after a long time the rate may have risen recently */
	if (compaction->revision == 0 || grown == 0 || ms == 0)
		return most;
	wait = step_of(core) / grown * ms + step_of(core) % grown * ms / grown;
	if (wait > most)
		return most;
	return wait < LOOK_MIN_MS ? LOOK_MIN_MS : wait;
}

static void forget_pins(struct janitor_compaction *compaction)
{
	size_t kept = 0;

	for (size_t i = 0; i < compaction->pin_count; i++) {
		if (compaction->pins[i].seen)
			compaction->pins[kept++] = compaction->pins[i];
	}
	compaction->pin_count = kept;
}

static struct janitor_pin *find_pin(struct janitor_compaction *compaction,
                                    int64_t create_revision)
{
	for (size_t i = 0; i < compaction->pin_count; i++) {
		if (compaction->pins[i].create_revision == create_revision)
			return &compaction->pins[i];
	}
	return NULL;
}

static void note_pins(struct janitor_compaction *compaction,
                      const struct janitor_event *event)
{
	PL_ASSERT(event->pin_count <= JANITOR_PINS_MAX);
	for (size_t i = 0; i < compaction->pin_count; i++)
		compaction->pins[i].seen = false;
	for (size_t i = 0; i < event->pin_count; i++) {
		struct janitor_pin *pin = find_pin(compaction, event->pins[i]);

		if (pin != NULL)
			pin->seen = true;
	}
	forget_pins(compaction);
	for (size_t i = 0; i < event->pin_count; i++) {
		if (find_pin(compaction, event->pins[i]) == NULL)
			compaction->pins[compaction->pin_count++] =
				(struct janitor_pin){event->pins[i], event->now_ms, true};
	}
}

/* NULL: no pin is young enough to be honoured. */
static const struct janitor_pin *oldest_pin(const struct janitor_core *core,
                                            uint64_t now_ms)
{
	const struct janitor_pin *oldest = NULL;

	for (size_t i = 0; i < core->compaction.pin_count; i++) {
		const struct janitor_pin *pin = &core->compaction.pins[i];

		if (now_ms - pin->since_ms >= core->tune.pin_max_ms)
			continue;
		if (oldest == NULL || pin->create_revision < oldest->create_revision)
			oldest = pin;
	}
	return oldest;
}

static void report_held(struct janitor_compaction *compaction, int64_t pin,
                        const struct janitor_event *event,
                        struct janitor_actions *actions)
{
	struct janitor_action *action;

	if (compaction->held == pin)
		return;
	compaction->held = pin;
	action = janitor_emit(actions, JANITOR_REPORT_HELD);
	action->revision = pin - 1;
	while (event->pins[action->item] != pin)
		action->item++;
}

/* -- bytes ------------------------------------------------------------------------- */

/* Whether the look need not be remembered: the remembered ones must reach back over
 * several times history_bytes, however slowly these come together. */
static bool is_remembered(const struct janitor_core *core)
{
	const struct janitor_compaction *compaction = &core->compaction;
	size_t last = (compaction->sample_next + JANITOR_SAMPLES - 1) % JANITOR_SAMPLES;

	return compaction->sample_count == 0 ||
	       compaction->grown - compaction->samples[last].grown >=
	               core->tune.history_bytes / SAMPLE_STEPS;
}

/* Adds to the growth. What the store freed meanwhile is not known, so the real growth
 * may be larger. */
static void note_bytes(struct janitor_core *core, const struct janitor_event *event)
{
	struct janitor_compaction *compaction = &core->compaction;

	if (event->bytes > compaction->bytes && compaction->bytes != 0)
		compaction->grown += event->bytes - compaction->bytes;
	if (event->bytes != 0)
		compaction->bytes = event->bytes;
	if (!is_remembered(core))
		return;
	compaction->samples[compaction->sample_next] = (struct janitor_sample){
		event->revision, compaction->grown, event->now_ms};
	compaction->sample_next = (compaction->sample_next + 1) % JANITOR_SAMPLES;
	if (compaction->sample_count < JANITOR_SAMPLES)
		compaction->sample_count++;
}

/* The newest look since which the store grew by more than history_bytes; 0: none is
 * old enough. */
static int64_t target_by_bytes(const struct janitor_core *core, uint64_t now_ms)
{
	const struct janitor_compaction *compaction = &core->compaction;
	int64_t target = 0;

	for (size_t i = 0; i < compaction->sample_count && core->tune.history_bytes > 0;
	     i++) {
		const struct janitor_sample *sample = &compaction->samples[i];

		if ((compaction->full ||
		     compaction->grown - sample->grown >= core->tune.history_bytes) &&
		    now_ms - sample->at_ms >= JANITOR_YOUNG_MS &&
		    sample->revision > target)
			target = sample->revision;
	}
	return target;
}

/* The growth when that revision was looked at, or before. */
static uint64_t grown_at(const struct janitor_compaction *compaction, int64_t revision)
{
	uint64_t grown = 0;

	for (size_t i = 0; i < compaction->sample_count; i++) {
		const struct janitor_sample *sample = &compaction->samples[i];

		if (sample->revision <= revision && sample->grown > grown)
			grown = sample->grown;
	}
	return grown;
}

/* 0: nothing is to be compacted. */
static int64_t wanted_target(const struct janitor_core *core,
                             const struct janitor_event *event)
{
	uint64_t keep = core->tune.keep_revisions;
	int64_t by_bytes = target_by_bytes(core, event->now_ms), target = 0;

	if ((uint64_t)event->revision > keep)
		target = event->revision - (int64_t)keep;
	return by_bytes > target ? by_bytes : target;
}

/* -- the revision to compact to ---------------------------------------------------- */

/* 0: nothing is to be compacted. */
static int64_t target_of(struct janitor_core *core, const struct janitor_event *event,
                         struct janitor_actions *actions)
{
	const struct janitor_pin *pin = oldest_pin(core, event->now_ms);
	int64_t target = wanted_target(core, event);

	if (target == 0)
		return 0;
	if (pin != NULL && pin->create_revision <= target) {
		report_held(&core->compaction, pin->create_revision, event, actions);
		return pin->create_revision - 1;
	}
	core->compaction.held = 0;
	return target;
}

/* Whether the garbage from before this janitor's term is still there a minute after
 * its first look. How much of the store that is can not be known. The minute spares
 * etcd, which is busiest when everything starts. */
static bool is_overdue(const struct janitor_compaction *compaction, uint64_t now_ms)
{
	return compaction->compacted < compaction->begun &&
	       now_ms - compaction->begun_ms >= BEGIN_MS;
}

/* By how much the compactions of a large store are delayed. A compaction reads every
 * key, so a store that is n times as large is compacted n times less often, within
 * keep_revisions. A full store is not delayed. */
static uint64_t store_size_factor(const struct janitor_core *core, uint64_t now_ms)
{
	uint64_t history = core->tune.history_bytes, times;

	if (history == 0 || core->compaction.full ||
	    is_overdue(&core->compaction, now_ms))
		return 1;
	times = core->compaction.bytes / history;
	return times < 1 ? 1 : times > STEPS ? STEPS : times;
}

/* A large store waits for growth by half, as a garbage collector does. */
static uint64_t byte_step(const struct janitor_core *core, uint64_t times)
{
	uint64_t step = core->tune.history_bytes / BYTE_STEPS,
		 large = core->compaction.bytes / LARGE_STEPS;

	return times > 1 && large > step ? large : step;
}

static bool is_worth_it(const struct janitor_core *core, int64_t target, uint64_t now_ms)
{
	const struct janitor_compaction *compaction = &core->compaction;
	uint64_t times = store_size_factor(core, now_ms);

	if (target <= compaction->compacted)
		return false;
	return compaction->full ||
	       (uint64_t)(target - compaction->compacted) >= step_of(core) * times ||
	       grown_at(compaction, target) >
	               compaction->compacted_grown + byte_step(core, times) ||
	       now_ms - compaction->compacted_ms >= core->tune.interval_ms * times;
}

static void request_compact(struct janitor_core *core, int64_t target,
                            struct janitor_actions *actions)
{
	struct janitor_action *action = janitor_emit(actions, JANITOR_DO_COMPACT);

	core->compaction.target = target;
	core->compaction.target_grown = grown_at(&core->compaction, target);
	core->compaction.seq = ++core->seq;
	action->seq = core->seq;
	action->revision = target;
}

static void on_looked(struct janitor_core *core, const struct janitor_event *event,
                      struct janitor_actions *actions)
{
	struct janitor_compaction *compaction = &core->compaction;
	int64_t target;

	if (event->revision < compaction->revision) /* another store */
		compaction_start(core, event->now_ms);
	compaction->look_ms =
		event->now_ms + look_after_ms(core, event->revision, event->now_ms);
	if (compaction->begun == 0) {
		compaction->begun = event->revision;
		compaction->begun_ms = event->now_ms;
	}
	compaction->full = event->full;
	compaction->revision = event->revision;
	compaction->revision_ms = event->now_ms;
	note_bytes(core, event);
	if (event->too_many) {
		if (!compaction->pins_overflowed)
			janitor_emit(actions, JANITOR_REPORT_TOO_MANY_PINS);
		compaction->pins_overflowed = true;
		return;
	}
	compaction->pins_overflowed = false;
	note_pins(compaction, event);
	target = target_of(core, event, actions);
	if (is_worth_it(core, target, event->now_ms))
		request_compact(core, target, actions);
}

static void on_compacted(struct janitor_core *core, uint64_t now_ms)
{
	core->compaction.compacted = core->compaction.target;
	core->compaction.compacted_grown = core->compaction.target_grown;
	core->compaction.compacted_ms = now_ms;
	core->compaction.target = 0;
}

static void on_failed(struct janitor_core *core, const struct janitor_event *event,
                      struct janitor_actions *actions)
{
	struct janitor_compaction *compaction = &core->compaction;
	bool compacting = compaction->target != 0;

	if (compacting && event->code == PL_COMPACTED) {
		on_compacted(core, event->now_ms); /* already compacted by another
		                                    * client */
		return;
	}
	if (event->code == PL_FUTURE) /* another store */
		compaction_start(core, event->now_ms);
	compaction->target = 0;
	compaction->look_ms = event->now_ms + LOOK_MAX_MS;
	janitor_emit(actions, JANITOR_REPORT_TROUBLE)->code = event->code;
}

void compaction_event(struct janitor_core *core, const struct janitor_event *event,
                      struct janitor_actions *actions)
{
	core->compaction.seq = 0;
	if (event->type == JANITOR_EV_FAILED) {
		on_failed(core, event, actions);
	} else if (event->type == JANITOR_EV_LOOKED) {
		on_looked(core, event, actions);
	} else {
		PL_ASSERT(event->type == JANITOR_EV_COMPACTED);
		on_compacted(core, event->now_ms);
		janitor_emit(actions, JANITOR_REPORT_COMPACTED)->revision =
			core->compaction.compacted;
	}
}

void compaction_timeout(struct janitor_core *core, struct janitor_actions *actions)
{
	core->compaction.seq = ++core->seq;
	janitor_emit(actions, JANITOR_DO_LOOK)->seq = core->seq;
}

uint64_t compaction_deadline_ms(const struct janitor_core *core)
{
	return core->compaction.seq == 0 ? core->compaction.look_ms : UINT64_MAX;
}
