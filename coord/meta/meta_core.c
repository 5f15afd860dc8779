#include "coord/meta/meta_core.h"

#include <string.h>

#include "store/base/backoff.h"
#include "store/keys/keys.h"

enum { RETRY_MIN_MS = 50, RETRY_MAX_MS = 3200 };

static void core_check(const struct meta_core *core)
{
	PL_ASSERT(core->mine.partitions > 0 &&
	          core->mine.partitions <= KEYS_PARTITIONS_MAX);
	PL_ASSERT(core->meta.partitions == 0 ||
	          core->meta.partitions == core->partitions);
}

static struct meta_action *emit_action(struct meta_actions *actions,
                                       enum meta_action_type type)
{
	struct meta_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < META_ACTIONS_MAX);
	actions->count++;
	*action = (struct meta_action){.type = type};
	return action;
}

static uint64_t retry_at_ms(struct meta_core *core, uint64_t now_ms)
{
	return now_ms +
	       pl_backoff_ms(&core->rng, core->failures++, RETRY_MIN_MS, RETRY_MAX_MS);
}

/* Each create has a new incarnation. */
static void create_record(struct meta_core *core, struct meta_actions *actions)
{
	static const char digits[] = "0123456789abcdef";
	char *out = core->mine.incarnation;

	for (size_t i = 0; i < META_INCARNATION_SIZE - 1; i++)
		out[i] = digits[pl_rng_below(&core->rng, 16)];
	out[META_INCARNATION_SIZE - 1] = 0;
	core->asked = true;
	emit_action(actions, META_DO_CREATE);
}

static void refuse_record(struct meta_core *core, enum pl_code code,
                          struct meta_actions *actions)
{
	core->state = META_STANDING;
	core->refused = true;
	emit_action(actions, META_REPORT_REFUSED)->code = code;
}

static void on_seen(struct meta_core *core, const struct meta *meta,
                    struct meta_actions *actions)
{
	bool first = core->meta.partitions == 0;
	bool same = strcmp(core->meta.incarnation, meta->incarnation) == 0;

	PL_ASSERT(meta->partitions > 0 && meta->partitions <= KEYS_PARTITIONS_MAX);
	core->failures = 0;
	if (core->partitions != 0 && meta->partitions != core->partitions) {
		refuse_record(core, PL_CONFLICT, actions);
		return;
	}
	core->state = META_STANDING;
	core->partitions = meta->partitions;
	core->mine.partitions = meta->partitions;
	core->meta = *meta;
	if (!first && same && !core->refused)
		return; /* reported already */
	core->refused = false;
	emit_action(actions, META_REPORT_KNOWN)->changed = !first && !same;
}

static void on_absent(struct meta_core *core, uint64_t now_ms,
                      struct meta_actions *actions)
{
	if (core->meta.partitions != 0 || core->state == META_STANDING)
		emit_action(actions, META_REPORT_TROUBLE)->code = PL_NOTFOUND;
	core->state = META_CREATING;
	core->create_at_ms = now_ms;
	if (!core->asked)
		create_record(core, actions);
}

/* The watch will show the outcome. If it shows nothing, the create is sent again. */
static void on_answer(struct meta_core *core, const struct meta_event *event,
                      struct meta_actions *actions)
{
	core->asked = false;
	core->create_at_ms = retry_at_ms(core, event->now_ms);
	if (event->type == META_EV_FAILED && core->state == META_CREATING)
		emit_action(actions, META_REPORT_TROUBLE)->code = event->code;
}

void meta_core_init(struct meta_core *core, uint32_t partitions, const struct meta *mine,
                    uint64_t seed)
{
	memset(core, 0, sizeof *core);
	pl_rng_init(&core->rng, seed);
	core->partitions = partitions;
	core->mine = *mine;
	core_check(core);
}

void meta_step(struct meta_core *core, const struct meta_event *event,
               struct meta_actions *actions)
{
	actions->count = 0;
	core_check(core);
	PL_ASSERT(event->type == META_EV_TIMEOUT ||
	          event->now_ms < meta_deadline_ms(core));
	switch (event->type) {
	case META_EV_LOST:
		core->state = META_LISTING;
		break;
	case META_EV_ABSENT:
		on_absent(core, event->now_ms, actions);
		break;
	case META_EV_SEEN:
		on_seen(core, event->meta, actions);
		break;
	case META_EV_MALFORMED:
		refuse_record(core, PL_INVALID, actions);
		break;
	case META_EV_DONE:
	case META_EV_FAILED:
		on_answer(core, event, actions);
		break;
	case META_EV_TIMEOUT:
		if (event->now_ms >= meta_deadline_ms(core))
			create_record(core, actions);
		break;
	}
	core_check(core);
}

uint64_t meta_deadline_ms(const struct meta_core *core)
{
	return core->state == META_CREATING && !core->asked ? core->create_at_ms
	                                                    : UINT64_MAX;
}
