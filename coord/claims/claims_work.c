/*
 * The actions on a slot.
 *
 * A changed slot goes into todo. claims_run() takes one slot after the other and
 * decides from its present state, not from the change. Each step emits one action at
 * most.
 */
#include "coord/claims/claims_core_int.h"

static uint32_t index_of(const struct claims_core *core, const struct claims_slot *slot)
{
	return (uint32_t)(slot - core->slot);
}

static struct claims_action *emit_action(struct claims_core *core,
                                         struct claims_slot *slot,
                                         enum claims_action_type type,
                                         struct claims_actions *actions)
{
	struct claims_action *action = &actions->item[actions->count];

	PL_ASSERT(actions->count < actions->max);
	actions->count++;
	*action = (struct claims_action){.type = type,
	                                 .partition = index_of(core, slot),
	                                 .epoch = slot->epoch,
	                                 .lease = core->lease};
	claims_mark(core, slot);
	return action;
}

static void report_lost(struct claims_core *core, struct claims_slot *slot,
                        struct claims_actions *actions)
{
	int64_t epoch = slot->lost_epoch;
	struct claims_action *action;

	slot->lost_epoch = 0;
	action = emit_action(core, slot, CLAIMS_REPORT_LOST, actions);
	action->epoch = epoch;
	action->why = slot->why;
}

static bool has_room(struct claims_core *core, struct claims_slot *slot)
{
	if (core->inflight < core->inflight_max)
		return true;
	pl_list_del(&slot->link);
	pl_list_add_tail(&core->blocked, &slot->link);
	return false;
}

static void send_request(struct claims_core *core, struct claims_slot *slot,
                         enum claims_request request, struct claims_actions *actions)
{
	static const enum claims_action_type types[] = {
		[CLAIMS_REQUEST_CLAIM] = CLAIMS_DO_CLAIM,
		[CLAIMS_REQUEST_RELEASE] = CLAIMS_DO_RELEASE,
		[CLAIMS_REQUEST_READ] = CLAIMS_DO_READ,
	};
	struct claims_action *action;

	PL_ASSERT(slot->epoch == 0 && slot->request == CLAIMS_REQUEST_NONE);
	if (!has_room(core, slot))
		return;
	core->inflight++;
	slot->request = (uint8_t)request;
	slot->seq = ++core->seq;
	action = emit_action(core, slot, types[request], actions);
	action->seq = slot->seq;
	if (request == CLAIMS_REQUEST_RELEASE)
		action->epoch = slot->given_up = slot->key_epoch;
}

/* True: the slot's time has not come yet. */
static bool is_early(struct claims_core *core, const struct claims_slot *slot,
                     uint64_t now_ms)
{
	if (now_ms >= slot->at_ms)
		return false;
	if (slot->at_ms < core->next_ms)
		core->next_ms = slot->at_ms;
	return true;
}

static void adopt_slot(struct claims_core *core, struct claims_slot *slot,
                       struct claims_actions *actions)
{
	slot->epoch = slot->key_epoch;
	slot->doubt = false;
	slot->failures = 0;
	slot->at_ms = 0;
	core->owned++;
	(void)emit_action(core, slot, CLAIMS_REPORT_OWNED, actions);
}

static void work_owned(struct claims_core *core, struct claims_slot *slot,
                       uint64_t now_ms, struct claims_actions *actions)
{
	if (!claims_is_migrating(core, slot) || !core->synced)
		return;
	if (!core->leaving && is_early(core, slot, now_ms))
		return;
	slot->quiescing = true;
	slot->at_ms = now_ms + core->handover_ms;
	emit_action(core, slot, CLAIMS_REPORT_QUIESCE, actions)->deadline_ms =
		slot->at_ms;
}

/* Reports LOST first; the release follows when the slot is looked at again. If no
 * member takes the partition, OWNED follows instead, under the same epoch: quiescing
 * can not be called off, and a shard that only finishes its work would not serve the
 * partition any more. */
static void work_quiescing(struct claims_core *core, struct claims_slot *slot,
                           uint64_t now_ms, struct claims_actions *actions)
{
	bool to_none = slot->target == CLAIMS_NOBODYS && !core->leaving;

	if ((!slot->quiet && is_early(core, slot, now_ms)) || !core->synced)
		return;
	if (!to_none && !has_room(core, slot))
		return;
	claims_lose(core, slot, to_none ? CLAIMS_KEPT : CLAIMS_HANDED_OVER);
	report_lost(core, slot, actions);
}

/* Handles a key of ours that the shard does not act on: it adopts the key or releases
 * it. */
static void work_found(struct claims_core *core, struct claims_slot *slot,
                       uint64_t now_ms, struct claims_actions *actions)
{
	bool keep = slot->key_epoch != slot->given_up && !claims_is_migrating(core, slot);

	if (keep)
		adopt_slot(core, slot, actions);
	else if (slot->request != CLAIMS_REQUEST_NONE || is_early(core, slot, now_ms))
		return;
	else if (slot->doubt)
		send_request(core, slot, CLAIMS_REQUEST_READ, actions);
	else if (core->synced)
		send_request(core, slot, CLAIMS_REQUEST_RELEASE, actions);
}

static void work_idle(struct claims_core *core, struct claims_slot *slot, uint64_t now_ms,
                      struct claims_actions *actions)
{
	bool claim = core->synced && claims_is_wanted(core, slot);

	if (slot->request != CLAIMS_REQUEST_NONE || (!claim && !slot->doubt) ||
	    is_early(core, slot, now_ms))
		return;
	send_request(core, slot, slot->doubt ? CLAIMS_REQUEST_READ : CLAIMS_REQUEST_CLAIM,
	             actions);
}

static void work_slot(struct claims_core *core, struct claims_slot *slot, uint64_t now_ms,
                      struct claims_actions *actions)
{
	if (slot->lost_epoch != 0)
		report_lost(core, slot, actions);
	else if (!claims_is_up(core))
		return;
	else if (slot->quiescing)
		work_quiescing(core, slot, now_ms, actions);
	else if (slot->epoch != 0)
		work_owned(core, slot, now_ms, actions);
	else if (claims_is_ours(core, slot))
		work_found(core, slot, now_ms, actions);
	else
		work_idle(core, slot, now_ms, actions);
}

static struct claims_slot *next_of(struct claims_core *core)
{
	struct pl_list *from = &core->todo;

	if (pl_list_empty(from)) {
		from = &core->blocked;
		if (pl_list_empty(from) || core->inflight == core->inflight_max)
			return NULL;
	}
	return PL_LIST_ITEM(from->next, struct claims_slot, link);
}

void claims_run(struct claims_core *core, uint64_t now_ms, struct claims_actions *actions)
{
	struct claims_slot *slot;

	while (actions->count < actions->max && (slot = next_of(core)) != NULL) {
		pl_list_del(&slot->link);
		work_slot(core, slot, now_ms, actions);
		claims_slot_check(core, slot);
	}
}

/* Marks the slots whose time has come and finds the time of the next one. */
void claims_wake(struct claims_core *core, uint64_t now_ms)
{
	if (now_ms < core->next_ms)
		return;
	core->next_ms = UINT64_MAX;
	for (uint32_t p = 0; p < core->partitions; p++) {
		struct claims_slot *slot = &core->slot[p];

		if (slot->at_ms != 0 && !is_early(core, slot, now_ms))
			claims_mark(core, slot);
	}
}
