#include "shardsched/gang/inner.h"

/* Chance for one decision out of the gang's. */
static uint64_t draw_of(const struct gang *gang, uint32_t member)
{
	uint64_t x = gang->opts->draw + (member + UINT64_C(1)) * 0x9E3779B97F4A7C15;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

static bool is_too_much(struct gang *gang)
{
	if (gang->opts->work_max == 0 || gang->out->work < gang->opts->work_max)
		return false;
	gang->out->result = GANG_TOO_MUCH;
	gang->stop = true;
	return true;
}

static void fails(struct gang *gang, uint32_t member, const struct outcome *why)
{
	gang->blocked = member;
	gang->last = *why;
	gang->out->result = GANG_FAILED;
	gang->stop = true;
}

bool gang_ask(struct gang *gang, uint32_t member, struct outcome *out)
{
	const struct gang_member *who = &gang->members[member];

	if (is_too_much(gang))
		return false;
	gang->out->work++;
	cycle_run(gang->cycle, who->class, &who->self, draw_of(gang, member), out);
	gang->out->refused_by |= out->refused_by;
	if (out->result != CYCLE_ERROR)
		return true;
	fails(gang, member, out);
	return false;
}

bool gang_ask_groups(struct gang *gang, gang_see_fn *see)
{
	for (uint32_t i = 0; i < gang->group_count; i++) {
		struct gang_group *group = &gang_groups(gang)[i];
		uint32_t member = ((const uint32_t *)gang->by_group.at)[group->at];
		struct outcome out;

		if (!gang_ask(gang, member, &out))
			return false;
		group->feasible = out.result == CYCLE_NODE ? out.feasible : 0;
		if (!see(gang, group))
			return false;
	}
	gang->asked = true;
	return true;
}

static bool stand(struct gang *gang, uint32_t member, uint32_t slot)
{
	const struct gang_member *who = &gang->members[member];
	const struct pod_on_node pod = {.spec = who->class->view->spec,
	                                .name = who->self.name,
	                                .uid = who->self.uid};
	struct gang_stand *at = (struct gang_stand *)gang->stands.at + gang->stand_count;
	enum pl_code code =
		snapshot_pod_add(gang->snapshot, slot, &pod, &at->placed, gang->err);

	if (code != PL_OK)
		return gang_fails(gang, code, NULL);
	at->member = member;
	gang->stand_count++;
	((uint32_t *)gang->slot.at)[member] = slot;
	return true;
}

static void take_off_last(struct gang *gang)
{
	const struct gang_stand *at = gang->stands.at;

	snapshot_pod_remove(gang->snapshot, at[--gang->stand_count].placed);
}

static void take_off_all(struct gang *gang)
{
	const struct gang_stand *at = gang->stands.at;

	while (gang->stand_count > 0) {
		gang_unreserve(gang, at[gang->stand_count - 1].member);
		take_off_last(gang);
	}
}

/* What the node was chosen for is there for the next ones to see. A plugin may still
 * find that it is not to be had: then the member stands nowhere. */
static bool hold(struct gang *gang, uint32_t member, struct outcome *out)
{
	struct verdict say;

	if (gang_reserve(gang, member, &say) == VERDICT_SUCCESS)
		return true;
	out->result = say.code == VERDICT_ERROR ? CYCLE_ERROR : CYCLE_NONE;
	gang->out->refused_by |= UINT64_C(1) << say.plugin;
	out->pre = say;
	((uint32_t *)gang->slot.at)[member] = SNAPSHOT_NONE;
	take_off_last(gang);
	return false;
}

/* false: it was refused, or all is over. */
static bool place(struct gang *gang, struct gang_group *group, uint32_t member)
{
	struct outcome out;

	if (!gang_ask(gang, member, &out))
		return false;
	if (out.result == CYCLE_NODE) {
		if (!stand(gang, member, out.node))
			return false;
		if (hold(gang, member, &out)) {
			group->placed++;
			return true;
		}
	}
	if (out.result == CYCLE_ERROR) {
		fails(gang, member, &out);
		return false;
	}
	gang->blocked = member;
	gang->last = out;
	return false;
}

/* As many members of the group as find a node. */
static void place_group(struct gang *gang, struct gang_group *group)
{
	const uint32_t *member = (const uint32_t *)gang->by_group.at + group->at;
	const uint32_t *slot = gang->slot.at;

	group->refused = 0;
	for (uint32_t i = group->alike ? group->placed : 0; i < group->count; i++) {
		if (slot[member[i]] != SNAPSHOT_NONE)
			continue;
		if (place(gang, group, member[i]))
			continue;
		group->refused =
			group->alike ? group->count - group->placed : group->refused + 1;
		if (gang->stop || group->alike)
			return;
	}
}

static bool is_lost(const struct gang *gang)
{
	return gang->stop || gang->lost > gang->count - gang->need;
}

/* false: more rounds would change nothing. */
static bool place_round(struct gang *gang, bool first)
{
	const uint32_t *order = gang->order.at;
	bool came = false, waits = false;

	for (uint32_t i = 0; i < gang->group_count && !is_lost(gang); i++) {
		struct gang_group *group = &gang_groups(gang)[order[i]];
		uint32_t before = group->placed;

		if (!first && (!group->patient || group->refused == 0))
			continue;
		place_group(gang, group);
		came |= group->placed > before;
		waits |= group->patient && group->refused > 0;
		if (!group->patient)
			gang->lost += group->refused;
	}
	return came && waits && !is_lost(gang);
}

/* Of the try that came furthest. */
static void tell(struct gang *gang)
{
	if (gang->stand_count < gang->out->placed)
		return;
	gang->out->placed = gang->stand_count;
	gang->out->blocked = gang->blocked;
	if (gang->blocked != SNAPSHOT_NONE)
		gang->out->why = gang->last;
}

bool gang_try(struct gang *gang)
{
	uint32_t *slot = gang->slot.at;
	bool holds;

	for (uint32_t i = 0; i < gang->count; i++)
		slot[i] = SNAPSHOT_NONE;
	for (uint32_t i = 0; i < gang->group_count; i++)
		gang_groups(gang)[i].placed = 0;
	gang->lost = 0;
	gang->blocked = SNAPSHOT_NONE;
	gang->out->tries++;
	for (unsigned round = 0; round < GANG_ROUNDS; round++)
		if (!place_round(gang, round == 0))
			break;
	/* With the minimum, it may end wherever the work does. */
	holds = (!gang->stop || gang->out->result == GANG_TOO_MUCH) &&
	        gang->stand_count >= gang->need;
	if (holds)
		gang->out->placed = gang->stand_count;
	else
		tell(gang);
	take_off_all(gang);
	return holds;
}
