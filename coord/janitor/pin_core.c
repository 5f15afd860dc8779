#include "coord/janitor/pin_core.h"

#include <string.h>

#include "store/base/backoff.h"

enum { RETRY_MIN_MS = 50, RETRY_MAX_MS = 1600 };

static void core_check(const struct pin_core *core)
{
	PL_ASSERT((core->state == PIN_HOLDING) == (core->revision != 0));
	PL_ASSERT(core->state != PIN_PUTTING || core->lease != 0);
	PL_ASSERT(!core->asked || core->state == PIN_PUTTING || core->state == PIN_ENDED);
}

static struct pin_action *emit_action(struct pin_actions *actions,
                                      enum pin_action_type type,
                                      const struct pin_core *core)
{
	struct pin_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < PIN_ACTIONS_MAX);
	actions->count++;
	*action = (struct pin_action){
		.type = type, .lease = core->lease, .revision = core->revision};
	return action;
}

static void lose_pin(struct pin_core *core, enum pl_code code,
                     struct pin_actions *actions)
{
	core->state = PIN_ENDED;
	core->revision = 0;
	emit_action(actions, PIN_REPORT_LOST, core)->code = code;
}

static void put_key(struct pin_core *core, struct pin_actions *actions)
{
	core->state = PIN_PUTTING;
	core->asked = true;
	emit_action(actions, PIN_DO_PUT, core);
}

static void on_answer(struct pin_core *core, const struct pin_event *event,
                      struct pin_actions *actions)
{
	core->asked = false;
	if (core->state != PIN_PUTTING)
		return;
	if (event->lease != core->lease || event->create_revision <= 0) {
		lose_pin(core, PL_EXISTS, actions);
		return;
	}
	core->state = PIN_HOLDING;
	core->revision = event->create_revision;
	emit_action(actions, PIN_REPORT_HELD, core);
}

static void on_failed(struct pin_core *core, const struct pin_event *event,
                      struct pin_actions *actions)
{
	core->asked = false;
	if (core->state != PIN_PUTTING)
		return;
	core->retry_ms = event->now_ms + pl_backoff_ms(&core->rng, core->failures++,
	                                               RETRY_MIN_MS, RETRY_MAX_MS);
	emit_action(actions, PIN_REPORT_TROUBLE, core)->code = event->code;
}

void pin_core_init(struct pin_core *core, uint64_t seed)
{
	memset(core, 0, sizeof *core);
	pl_rng_init(&core->rng, seed);
}

void pin_step(struct pin_core *core, const struct pin_event *event,
              struct pin_actions *actions)
{
	actions->count = 0;
	core_check(core);
	PL_ASSERT(event->type == PIN_EV_TIMEOUT || event->now_ms < pin_deadline_ms(core));
	switch (event->type) {
	case PIN_EV_LEASE:
		if (core->state != PIN_GRANTING)
			break; /* the lease was renewed */
		core->lease = event->lease;
		put_key(core, actions);
		break;
	case PIN_EV_GONE:
		if (core->state != PIN_ENDED)
			lose_pin(core, event->code, actions);
		break;
	case PIN_EV_ANSWER:
		on_answer(core, event, actions);
		break;
	case PIN_EV_FAILED:
		on_failed(core, event, actions);
		break;
	case PIN_EV_TIMEOUT:
		if (event->now_ms >= pin_deadline_ms(core))
			put_key(core, actions);
		break;
	}
	core_check(core);
}

uint64_t pin_deadline_ms(const struct pin_core *core)
{
	return core->state == PIN_PUTTING && !core->asked ? core->retry_ms : UINT64_MAX;
}
