#include "coord/janitor/janitor_int.h"

enum {
	LOOK_MAX_MS = 1000,
	LOOK_MIN_MS = 250, /* so that 100,000 revisions a second are 25,000 a look */
	RATE_MAX_MS = 60000,
	STEPS = 10, /* of keep_revisions: what makes a compaction worth it */
	BYTE_STEPS = 4,
	SAMPLE_STEPS = 16, /* of history_bytes: what makes a look worth remembering */
	LARGE_STEPS = 3,   /* of what is in use, and so half of what was */
	BEGIN_MS = 60000,
};

void pace_start(struct janitor_core *core, uint64_t now_ms)
{
	core->pace = (struct janitor_pace){.look_ms = now_ms, .compacted_ms = now_ms};
}

void pace_check(const struct janitor_core *core)
{
	const struct janitor_pace *pace = &core->pace;

	PL_ASSERT(pace->pin_count <= JANITOR_PINS_MAX);
	PL_ASSERT(pace->seq <= core->seq && (core->leading || pace->seq == 0));
	/* Nothing is compacted that a look has not seen from far enough. */
	PL_ASSERT(pace->target == 0 || pace->target <= pace->revision);
}

static uint64_t step_of(const struct janitor_core *core)
{
	uint64_t step = core->tune.keep_revisions / STEPS;

	return step == 0 ? 1 : step;
}

/* The sooner, the faster the revision grows. */
static uint64_t look_after_ms(const struct janitor_core *core, int64_t revision,
                              uint64_t now_ms)
{
	const struct janitor_pace *pace = &core->pace;
	uint64_t most = core->tune.interval_ms < LOOK_MAX_MS ? core->tune.interval_ms
	                                                     : LOOK_MAX_MS;
	uint64_t grown = (uint64_t)(revision - pace->revision);
	uint64_t ms = now_ms - pace->revision_ms, wait;

	if (ms > RATE_MAX_MS)
		ms = RATE_MAX_MS; /* long ago: may have been faster of late */
	if (pace->revision == 0 || grown == 0 || ms == 0)
		return most;
	wait = step_of(core) / grown * ms + step_of(core) % grown * ms / grown;
	if (wait > most)
		return most;
	return wait < LOOK_MIN_MS ? LOOK_MIN_MS : wait;
}

static void forget_pins(struct janitor_pace *pace)
{
	size_t kept = 0;

	for (size_t i = 0; i < pace->pin_count; i++) {
		if (pace->pins[i].seen)
			pace->pins[kept++] = pace->pins[i];
	}
	pace->pin_count = kept;
}

static struct janitor_pin *find_pin(struct janitor_pace *pace, int64_t create_revision)
{
	for (size_t i = 0; i < pace->pin_count; i++) {
		if (pace->pins[i].create_revision == create_revision)
			return &pace->pins[i];
	}
	return NULL;
}

static void see_pins(struct janitor_pace *pace, const struct janitor_event *event)
{
	PL_ASSERT(event->pin_count <= JANITOR_PINS_MAX);
	for (size_t i = 0; i < pace->pin_count; i++)
		pace->pins[i].seen = false;
	for (size_t i = 0; i < event->pin_count; i++) {
		struct janitor_pin *pin = find_pin(pace, event->pins[i]);

		if (pin != NULL)
			pin->seen = true;
	}
	forget_pins(pace);
	for (size_t i = 0; i < event->pin_count; i++) {
		if (find_pin(pace, event->pins[i]) == NULL)
			pace->pins[pace->pin_count++] =
				(struct janitor_pin){event->pins[i], event->now_ms, true};
	}
}

/* NULL: none that is young enough. */
static const struct janitor_pin *oldest_pin(const struct janitor_core *core,
                                            uint64_t now_ms)
{
	const struct janitor_pin *oldest = NULL;

	for (size_t i = 0; i < core->pace.pin_count; i++) {
		const struct janitor_pin *pin = &core->pace.pins[i];

		if (now_ms - pin->since_ms >= core->tune.pin_max_ms)
			continue;
		if (oldest == NULL || pin->create_revision < oldest->create_revision)
			oldest = pin;
	}
	return oldest;
}

static void tell_held(struct janitor_pace *pace, int64_t pin,
                      const struct janitor_event *event, struct janitor_actions *actions)
{
	struct janitor_action *action;

	if (pace->held == pin)
		return;
	pace->held = pin;
	action = janitor_emit(actions, JANITOR_TELL_HELD);
	action->revision = pin - 1;
	while (event->pins[action->item] != pin)
		action->item++;
}

/* -- bytes ---------------------------------------------------------------- */

/* Those that are remembered reach back over several times what may stay, however slowly
 * that comes together. */
static bool is_remembered(const struct janitor_core *core)
{
	const struct janitor_pace *pace = &core->pace;
	size_t last = (pace->sample_next + JANITOR_SAMPLES - 1) % JANITOR_SAMPLES;

	return pace->sample_count == 0 || pace->grown - pace->samples[last].grown >=
	                                          core->tune.history_bytes / SAMPLE_STEPS;
}

/* What is freed meanwhile is not known: so growth may be more than is seen. */
static void see_bytes(struct janitor_core *core, const struct janitor_event *event)
{
	struct janitor_pace *pace = &core->pace;

	if (event->bytes > pace->bytes && pace->bytes != 0)
		pace->grown += event->bytes - pace->bytes;
	if (event->bytes != 0)
		pace->bytes = event->bytes;
	if (!is_remembered(core))
		return;
	pace->samples[pace->sample_next] =
		(struct janitor_sample){event->revision, pace->grown, event->now_ms};
	pace->sample_next = (pace->sample_next + 1) % JANITOR_SAMPLES;
	if (pace->sample_count < JANITOR_SAMPLES)
		pace->sample_count++;
}

/* The newest look since which more has come than may stay; 0: none is old enough. */
static int64_t target_by_bytes(const struct janitor_core *core, uint64_t now_ms)
{
	const struct janitor_pace *pace = &core->pace;
	int64_t target = 0;

	for (size_t i = 0; i < pace->sample_count && core->tune.history_bytes > 0; i++) {
		const struct janitor_sample *sample = &pace->samples[i];

		if ((pace->full ||
		     pace->grown - sample->grown >= core->tune.history_bytes) &&
		    now_ms - sample->at_ms >= JANITOR_YOUNG_MS &&
		    sample->revision > target)
			target = sample->revision;
	}
	return target;
}

/* As it was when that revision was looked at, or before. */
static uint64_t grown_at(const struct janitor_pace *pace, int64_t revision)
{
	uint64_t grown = 0;

	for (size_t i = 0; i < pace->sample_count; i++) {
		const struct janitor_sample *sample = &pace->samples[i];

		if (sample->revision <= revision && sample->grown > grown)
			grown = sample->grown;
	}
	return grown;
}

/* 0: nothing. */
static int64_t wanted(const struct janitor_core *core, const struct janitor_event *event)
{
	uint64_t keep = core->tune.keep_revisions;
	int64_t by_bytes = target_by_bytes(core, event->now_ms), target = 0;

	if ((uint64_t)event->revision > keep)
		target = event->revision - (int64_t)keep;
	return by_bytes > target ? by_bytes : target;
}

/* -- how far -------------------------------------------------------------- */

/* 0: nothing. */
static int64_t target_of(struct janitor_core *core, const struct janitor_event *event,
                         struct janitor_actions *actions)
{
	const struct janitor_pin *pin = oldest_pin(core, event->now_ms);
	int64_t target = wanted(core, event);

	if (target == 0)
		return 0;
	if (pin != NULL && pin->create_revision <= target) {
		tell_held(&core->pace, pin->create_revision, event, actions);
		return pin->create_revision - 1;
	}
	core->pace.held = 0;
	return target;
}

/* How much of what was there when we came is garbage nobody knows, so that is cleared
 * soon. Not at once: who comes when everything starts finds etcd at its busiest. */
static bool is_overdue(const struct janitor_pace *pace, uint64_t now_ms)
{
	return pace->compacted < pace->begun && now_ms - pace->begun_ms >= BEGIN_MS;
}

/* A compaction reads every key there is: so a store that is so many times as large is
 * compacted as many times less often, within what keep_revisions allows. Not one that has
 * no room. */
static uint64_t largeness(const struct janitor_core *core, uint64_t now_ms)
{
	uint64_t history = core->tune.history_bytes, times;

	if (history == 0 || core->pace.full || is_overdue(&core->pace, now_ms))
		return 1;
	times = core->pace.bytes / history;
	return times < 1 ? 1 : times > STEPS ? STEPS : times;
}

/* For a large store growth by half, as a garbage collector would wait for. */
static uint64_t byte_step(const struct janitor_core *core, uint64_t times)
{
	uint64_t step = core->tune.history_bytes / BYTE_STEPS,
		 large = core->pace.bytes / LARGE_STEPS;

	return times > 1 && large > step ? large : step;
}

static bool is_worth_it(const struct janitor_core *core, int64_t target, uint64_t now_ms)
{
	const struct janitor_pace *pace = &core->pace;
	uint64_t times = largeness(core, now_ms);

	if (target <= pace->compacted)
		return false;
	return pace->full ||
	       (uint64_t)(target - pace->compacted) >= step_of(core) * times ||
	       grown_at(pace, target) > pace->compacted_grown + byte_step(core, times) ||
	       now_ms - pace->compacted_ms >= core->tune.interval_ms * times;
}

static void compact(struct janitor_core *core, int64_t target,
                    struct janitor_actions *actions)
{
	struct janitor_action *action = janitor_emit(actions, JANITOR_DO_COMPACT);

	core->pace.target = target;
	core->pace.target_grown = grown_at(&core->pace, target);
	core->pace.seq = ++core->seq;
	action->seq = core->seq;
	action->revision = target;
}

static void on_looked(struct janitor_core *core, const struct janitor_event *event,
                      struct janitor_actions *actions)
{
	struct janitor_pace *pace = &core->pace;
	int64_t target;

	if (event->revision < pace->revision) /* another store */
		pace_start(core, event->now_ms);
	pace->look_ms =
		event->now_ms + look_after_ms(core, event->revision, event->now_ms);
	if (pace->begun == 0) {
		pace->begun = event->revision;
		pace->begun_ms = event->now_ms;
	}
	pace->full = event->full;
	pace->revision = event->revision;
	pace->revision_ms = event->now_ms;
	see_bytes(core, event);
	if (event->too_many) {
		if (!pace->crowded)
			janitor_emit(actions, JANITOR_TELL_CROWDED);
		pace->crowded = true;
		return;
	}
	pace->crowded = false;
	see_pins(pace, event);
	target = target_of(core, event, actions);
	if (is_worth_it(core, target, event->now_ms))
		compact(core, target, actions);
}

static void on_compacted(struct janitor_core *core, uint64_t now_ms)
{
	core->pace.compacted = core->pace.target;
	core->pace.compacted_grown = core->pace.target_grown;
	core->pace.compacted_ms = now_ms;
	core->pace.target = 0;
}

static void on_failed(struct janitor_core *core, const struct janitor_event *event,
                      struct janitor_actions *actions)
{
	struct janitor_pace *pace = &core->pace;
	bool compacting = pace->target != 0;

	if (compacting && event->code == PL_COMPACTED) {
		on_compacted(core, event->now_ms); /* by somebody else */
		return;
	}
	if (event->code == PL_FUTURE) /* another store */
		pace_start(core, event->now_ms);
	pace->target = 0;
	pace->look_ms = event->now_ms + LOOK_MAX_MS;
	janitor_emit(actions, JANITOR_TELL_TROUBLE)->code = event->code;
}

void pace_event(struct janitor_core *core, const struct janitor_event *event,
                struct janitor_actions *actions)
{
	core->pace.seq = 0;
	if (event->type == JANITOR_EV_FAILED) {
		on_failed(core, event, actions);
	} else if (event->type == JANITOR_EV_LOOKED) {
		on_looked(core, event, actions);
	} else {
		PL_ASSERT(event->type == JANITOR_EV_COMPACTED);
		on_compacted(core, event->now_ms);
		janitor_emit(actions, JANITOR_TELL_COMPACTED)->revision =
			core->pace.compacted;
	}
}

void pace_timeout(struct janitor_core *core, struct janitor_actions *actions)
{
	core->pace.seq = ++core->seq;
	janitor_emit(actions, JANITOR_DO_LOOK)->seq = core->seq;
}

uint64_t pace_deadline_ms(const struct janitor_core *core)
{
	return core->pace.seq == 0 ? core->pace.look_ms : UINT64_MAX;
}
