#include "coord/janitor/janitor_core.h"

#include <string.h>

#include "coord/janitor/janitor_int.h"

struct janitor_action *janitor_emit(struct janitor_actions *actions,
                                    enum janitor_action_type type)
{
	struct janitor_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < JANITOR_ACTIONS_MAX);
	actions->count++;
	*action = (struct janitor_action){.type = type};
	return action;
}

static void core_check(const struct janitor_core *core)
{
	PL_ASSERT(core->leading == (core->elected && core->tune.enabled));
	compaction_check(core);
	sweep_check(core);
}

static void start_work(struct janitor_core *core, uint64_t now_ms)
{
	compaction_start(core, now_ms);
	sweep_start(core, now_ms);
}

static void on_change(struct janitor_core *core, uint64_t now_ms)
{
	bool leading = core->elected && core->tune.enabled;

	if (leading != core->leading)
		start_work(core, now_ms);
	core->leading = leading;
	if (leading)
		sweep_tune(core, now_ms);
}

static void on_answer(struct janitor_core *core, const struct janitor_event *event,
                      struct janitor_actions *actions)
{
	if (event->seq == 0)
		return;
	if (event->seq == core->compaction.seq)
		compaction_event(core, event, actions);
	else if (event->seq == core->sweep.seq)
		sweep_event(core, event, actions);
	/* any other answer belongs to a request that was given up */
}

static void on_timeout(struct janitor_core *core, uint64_t now_ms,
                       struct janitor_actions *actions)
{
	if (!core->leading)
		return;
	if (now_ms >= compaction_deadline_ms(core))
		compaction_timeout(core, actions);
	if (now_ms >= sweep_deadline_ms(core))
		sweep_timeout(core, actions);
}

void janitor_core_init(struct janitor_core *core, const struct janitor_tune *tune,
                       uint32_t configs, uint64_t seed)
{
	memset(core, 0, sizeof *core);
	core->tune = *tune;
	core->configs = configs;
	pl_rng_init(&core->rng, seed);
}

void janitor_step(struct janitor_core *core, const struct janitor_event *event,
                  struct janitor_actions *actions)
{
	actions->count = 0;
	core_check(core);
	PL_ASSERT(event->type == JANITOR_EV_TIMEOUT ||
	          event->now_ms < janitor_deadline_ms(core));
	switch (event->type) {
	case JANITOR_EV_LEAD:
		core->elected = event->leading;
		on_change(core, event->now_ms);
		break;
	case JANITOR_EV_TUNE:
		core->tune = event->tune;
		on_change(core, event->now_ms);
		break;
	case JANITOR_EV_REWOUND:
		start_work(core, event->now_ms);
		break;
	case JANITOR_EV_TIMEOUT:
		on_timeout(core, event->now_ms, actions);
		break;
	case JANITOR_EV_LOOKED:
	case JANITOR_EV_COMPACTED:
	case JANITOR_EV_PAGE:
	case JANITOR_EV_REMOVED:
	case JANITOR_EV_FAILED:
		on_answer(core, event, actions);
		break;
	}
	core_check(core);
}

uint64_t janitor_deadline_ms(const struct janitor_core *core)
{
	uint64_t compaction = compaction_deadline_ms(core),
		 sweep = sweep_deadline_ms(core);

	if (!core->leading)
		return UINT64_MAX;
	return compaction < sweep ? compaction : sweep;
}
