/* Judges a node by a plan. */
#include "shardsched/plugins/volume_plan.h"

static bool reaches(const struct snapshot *snapshot, const struct node_row *row,
                    const struct volume *volume)
{
	/* Without the node's name: as in kube-scheduler, matchFields of a volume exclude
	 * no node. */
	return volume->reachable == NULL ||
	       node_selector_matches(&snapshot->model->strings, volume->reachable,
	                             row->node.labels, 0);
}

static unsigned judge_bound(const struct snapshot *snapshot,
                            const struct volume_plan *plan, const struct node_row *row)
{
	for (uint32_t i = 0; i < plan->bound_count; i++) {
		if (plan->bound[i] == NULL)
			return PLAN_GONE;
		if (!reaches(snapshot, row, plan->bound[i]))
			return PLAN_NODE;
	}
	return 0;
}

/* Whether an earlier claim has chosen the volume. */
static bool is_chosen(const struct volume_plan *plan, uint32_t before,
                      const struct volume *volume)
{
	for (uint32_t i = 0; i < before; i++)
		if (plan->open[i].chosen == volume)
			return true;
	return false;
}

/* The best of the volumes that are pinned to the node. */
static struct plan_volume choose_pinned(const struct snapshot *snapshot,
                                        const struct volume_plan *plan, uint32_t at,
                                        const struct node_row *row)
{
	const struct plan_claim *it = &plan->open[at];
	struct plan_volume best = {0};
	struct volume_walk walk = {0};
	uint32_t item;

	while ((item = volume_walk_next(&walk, &it->pinned, row->node.labels)) !=
	       UINT32_MAX) {
		const struct plan_volume *one = &it->open[item];

		if ((best.volume == NULL ||
		     plan_volume_compare(one, &best, &snapshot->model->strings) < 0) &&
		    !is_chosen(plan, at, one->volume) &&
		    reaches(snapshot, row, one->volume))
			best = *one;
	}
	return best;
}

static const struct volume *choose_volume(const struct snapshot *snapshot,
                                          const struct volume_plan *plan, uint32_t at,
                                          const struct node_row *row)
{
	const struct plan_claim *it = &plan->open[at];
	struct plan_volume best;

	for (uint32_t i = 0; i < it->bound_to_count; i++) {
		const struct volume *own = it->bound_to[i].volume;

		if (!is_chosen(plan, at, own))
			return reaches(snapshot, row, own) ? own : NULL;
	}
	best = choose_pinned(snapshot, plan, at, row);
	for (uint32_t i = 0; i < it->loose_count; i++) {
		const struct plan_volume *one = &it->loose[i];

		if (best.volume != NULL &&
		    plan_volume_compare(one, &best, &snapshot->model->strings) > 0)
			break;
		if (!is_chosen(plan, at, one->volume) &&
		    reaches(snapshot, row, one->volume))
			return one->volume;
	}
	return best.volume;
}

static bool has_access(const struct snapshot *snapshot, const struct plan_claim *it,
                       uint32_t item, const struct node_row *row)
{
	return selector_matches(&snapshot->model->strings, it->capacities[item]->nodes,
	                        row->node.labels);
}

static bool capacity_reaches(const struct snapshot *snapshot, const struct plan_claim *it,
                             const struct node_row *row)
{
	struct volume_walk walk = {0};
	uint32_t item;

	while ((item = volume_walk_next(&walk, &it->capacity_index, row->node.labels)) !=
	       UINT32_MAX)
		if (has_access(snapshot, it, item, row))
			return true;
	for (item = it->capacity_pinned; item < it->capacity_count; item++)
		if (has_access(snapshot, it, item, row))
			return true;
	return false;
}

static unsigned judge_provisioning(const struct snapshot *snapshot,
                                   const struct plan_claim *it,
                                   const struct node_row *row)
{
	if (it->provisioning == PLAN_NOT_PROVISIONED)
		return PLAN_NONE;
	if (!plan_class_is_anywhere(it->class) &&
	    !node_selector_matches(&snapshot->model->strings, it->class->topologies,
	                           row->node.labels, 0))
		return PLAN_NONE;
	return it->provisioning == PLAN_BY_CAPACITY &&
	                       !capacity_reaches(snapshot, it, row)
	               ? PLAN_SPACE
	               : 0;
}

static unsigned judge_waiting(const struct snapshot *snapshot,
                              const struct volume_plan *plan, const struct node_row *row)
{
	unsigned refusal = 0;

	for (uint32_t i = 0; i < plan->placed_count; i++)
		if (plan->placed[i].claim->selected_node != row->node.name)
			return PLAN_NONE;
	for (uint32_t i = 0; i < plan->open_count; i++)
		plan->open[i].chosen = choose_volume(snapshot, plan, i, row);
	for (uint32_t i = 0; i < plan->placed_count && refusal == 0; i++)
		refusal = judge_provisioning(snapshot, &plan->placed[i], row);
	for (uint32_t i = 0; i < plan->open_count && refusal == 0; i++)
		if (plan->open[i].chosen == NULL)
			refusal = judge_provisioning(snapshot, &plan->open[i], row);
	return refusal;
}

unsigned volume_plan_judge(const struct snapshot *snapshot,
                           const struct volume_plan *plan, uint32_t slot)
{
	const struct node_row *row = &snapshot->row[slot];

	return judge_bound(snapshot, plan, row) | judge_waiting(snapshot, plan, row);
}
