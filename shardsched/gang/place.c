#include "shardsched/gang/gang_int.h"
#include "store/base/rng.h"

/* The draw for one member follows from the gang's draw. */
static uint64_t draw_of(const struct gang *gang, uint32_t member)
{
	return pl_rng_mix(gang->opts->draw +
	                  (member + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15));
}

static bool exceeds_work(struct gang *gang)
{
	if (gang->opts->work_max == 0 || gang->out->work < gang->opts->work_max)
		return false;
	gang->out->result = GANG_TOO_MUCH;
	return true;
}

static void fail_member(struct gang *gang, uint32_t member,
                        const struct cycle_outcome *why)
{
	gang->blocked = member;
	gang->last = *why;
	gang->out->result = GANG_FAILED;
}

bool gang_run_cycle(struct gang *gang, uint32_t member, struct cycle_outcome *out)
{
	const struct gang_member *entry = &gang->members[member];

	if (exceeds_work(gang))
		return false;
	gang->out->work++;
	cycle_run(gang->cycle, entry->class, &entry->self, draw_of(gang, member), out);
	gang->out->refused_by |= out->refused_by;
	if (out->result != CYCLE_ERROR)
		return true;
	fail_member(gang, member, out);
	return false;
}

bool gang_run_groups(struct gang *gang, gang_group_fn *see)
{
	for (uint32_t i = 0; i < gang->group_count; i++) {
		struct gang_group *group = &gang_groups(gang)[i];
		uint32_t member = ((const uint32_t *)gang->by_group.at)[group->at];
		struct cycle_outcome out;

		if (!gang_run_cycle(gang, member, &out))
			return false;
		group->feasible = out.result == CYCLE_NODE ? out.feasible : 0;
		if (!see(gang, group))
			return false;
	}
	gang->asked = true;
	return true;
}

static bool assume_member(struct gang *gang, uint32_t member, uint32_t slot)
{
	const struct gang_member *entry = &gang->members[member];
	const struct pod_on_node pod = {.spec = entry->class->view->spec,
	                                .name = entry->self.name,
	                                .uid = entry->self.uid};
	struct gang_placement *at =
		(struct gang_placement *)gang->placements.at + gang->placement_count;
	enum pl_code code =
		snapshot_pod_add(gang->snapshot, slot, &pod, &at->placed, gang->err);

	if (code != PL_OK)
		return gang_fail(gang, code, NULL);
	at->member = member;
	gang->placement_count++;
	((uint32_t *)gang->slot.at)[member] = slot;
	return true;
}

static void forget_last(struct gang *gang)
{
	const struct gang_placement *at = gang->placements.at;

	snapshot_pod_remove(gang->snapshot, at[--gang->placement_count].placed);
}

static void forget_all(struct gang *gang)
{
	const struct gang_placement *at = gang->placements.at;

	while (gang->placement_count > 0) {
		gang_unreserve(gang, at[gang->placement_count - 1].member);
		forget_last(gang);
	}
}

/* Plugins reserve what the node was chosen for, so that later members see it. A plugin
 * may refuse: then the member is not placed. */
static bool reserve_member(struct gang *gang, uint32_t member, struct cycle_outcome *out)
{
	struct verdict verdict;

	if (gang_reserve(gang, member, &verdict) == VERDICT_SUCCESS)
		return true;
	out->result = verdict.code == VERDICT_ERROR ? CYCLE_ERROR : CYCLE_NONE;
	gang->out->refused_by |= UINT64_C(1) << verdict.plugin;
	out->pre = verdict;
	((uint32_t *)gang->slot.at)[member] = SNAPSHOT_NONE;
	forget_last(gang);
	return false;
}

/* false: the member was refused, or the try is over. */
static bool place_member(struct gang *gang, struct gang_group *group, uint32_t member)
{
	struct cycle_outcome out;

	if (!gang_run_cycle(gang, member, &out))
		return false;
	if (out.result == CYCLE_NODE) {
		if (!assume_member(gang, member, out.node))
			return false;
		if (reserve_member(gang, member, &out)) {
			group->placed++;
			return true;
		}
	}
	if (out.result == CYCLE_ERROR) {
		fail_member(gang, member, &out);
		return false;
	}
	gang->blocked = member;
	gang->last = out;
	return false;
}

/* Places as many members of the group as find a node. */
static void place_group(struct gang *gang, struct gang_group *group)
{
	const uint32_t *member = (const uint32_t *)gang->by_group.at + group->at;
	const uint32_t *slot = gang->slot.at;

	group->refused = 0;
	for (uint32_t i = group->alike ? group->placed : 0; i < group->count; i++) {
		if (slot[member[i]] != SNAPSHOT_NONE)
			continue;
		if (place_member(gang, group, member[i]))
			continue;
		group->refused =
			group->alike ? group->count - group->placed : group->refused + 1;
		if (gang_has_stopped(gang) || group->alike)
			return;
	}
}

static bool is_lost(const struct gang *gang)
{
	return gang_has_stopped(gang) || gang->lost > gang->count - gang->need;
}

/* false: another round would change nothing. */
static bool place_round(struct gang *gang, bool first)
{
	const uint32_t *order = gang->order.at;
	bool came = false, waits = false;

	for (uint32_t i = 0; i < gang->group_count && !is_lost(gang); i++) {
		struct gang_group *group = &gang_groups(gang)[order[i]];
		uint32_t before = group->placed;

		if (!first && (!group->retries || group->refused == 0))
			continue;
		place_group(gang, group);
		came |= group->placed > before;
		waits |= group->retries && group->refused > 0;
		if (!group->retries)
			gang->lost += group->refused;
	}
	return came && waits && !is_lost(gang);
}

/* Reports the try that placed most members. */
static void report_try(struct gang *gang)
{
	if (gang->placement_count < gang->out->placed)
		return;
	gang->out->placed = gang->placement_count;
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
	/* The minimum suffices, even when work_max ended the try. */
	holds = (!gang_has_stopped(gang) || gang->out->result == GANG_TOO_MUCH) &&
	        gang->placement_count >= gang->need;
	if (holds)
		gang->out->placed = gang->placement_count;
	else
		report_try(gang);
	forget_all(gang);
	return holds;
}
