#include "shardsched/preempt/budgets.h"

#include "shardsched/snapshot/view.h"

struct budget_use {
	const struct budget *budget; /* NULL: the end of its namespace */
	int64_t left;
	uint64_t node; /* that left is of */
};

void budgets_done(struct budgets *budgets)
{
	number_map_done(&budgets->by_space);
	number_map_done(&budgets->by_spec);
	scratch_done(&budgets->uses);
	scratch_done(&budgets->lists);
}

void budgets_begin(struct budgets *budgets, const struct snapshot *snapshot)
{
	budgets->snapshot = snapshot;
	number_map_clear(&budgets->by_space);
	number_map_clear(&budgets->by_spec);
	budgets->uses_count = 0;
	budgets->lists_count = 0;
	budgets->node = 0;
}

void budgets_node(struct budgets *budgets)
{
	budgets->node++;
}

static struct budget_use *uses_of(const struct budgets *budgets)
{
	return budgets->uses.at;
}

static uint32_t *lists_of(const struct budgets *budgets)
{
	return budgets->lists.at;
}

static bool add_use(struct budgets *budgets, const struct budget *budget)
{
	if (!scratch_grow(&budgets->uses, (size_t)budgets->uses_count + 1,
	                  sizeof(struct budget_use)))
		return false;
	uses_of(budgets)[budgets->uses_count++] = (struct budget_use){.budget = budget};
	return true;
}

/* The budgets of a namespace, one behind the other. */
static bool find_space(struct budgets *budgets, uint32_t namespace, uint32_t *first)
{
	const struct budget *budget = NULL;

	if (number_map_get(&budgets->by_space, namespace, first))
		return true;
	*first = budgets->uses_count;
	for (;;) {
		budget = catalog_next_in_budget(&budgets->snapshot->catalog, namespace,
		                                budget);
		if (!add_use(budgets, budget))
			return false;
		if (budget == NULL)
			break;
	}
	return number_map_add(&budgets->by_space, namespace, *first);
}

/* Whether it is about pods with these labels at all. */
static bool concerns(const struct budgets *budgets, const struct budget *budget,
                     const struct spec *spec)
{
	return spec->labels->count > 0 && !selector_is_everything(budget->selector) &&
	       selector_matches(&budgets->snapshot->model->strings, budget->selector,
	                        spec->labels);
}

static bool add_list(struct budgets *budgets, uint32_t number)
{
	if (!scratch_grow(&budgets->lists, (size_t)budgets->lists_count + 1,
	                  sizeof(uint32_t)))
		return false;
	lists_of(budgets)[budgets->lists_count++] = number;
	return true;
}

/* The list of a class. */
static bool find_spec(struct budgets *budgets, const struct spec *spec, uint32_t *at)
{
	uint32_t first;

	if (number_map_get(&budgets->by_spec, spec->item.id, at))
		return true;
	if (!find_space(budgets, spec->namespace, &first))
		return false;
	*at = budgets->lists_count;
	if (!add_list(budgets, 0))
		return false;
	for (uint32_t i = first; uses_of(budgets)[i].budget != NULL; i++) {
		if (!concerns(budgets, uses_of(budgets)[i].budget, spec))
			continue;
		if (!add_list(budgets, i))
			return false;
		lists_of(budgets)[*at]++;
	}
	return number_map_add(&budgets->by_spec, spec->item.id, *at);
}

static bool was_granted(const struct budget *budget, uint32_t name)
{
	for (uint32_t i = 0; i < budget->disrupted_count; i++)
		if (budget->disrupted[i] == name)
			return true;
	return false;
}

bool budgets_take(struct budgets *budgets, const struct placed *pod, bool *no_memory)
{
	bool overdrawn = false;
	uint32_t at;

	if (budgets->snapshot->catalog.count[CATALOG_BUDGET] == 0)
		return false;
	if (!find_spec(budgets, pod->view->spec, &at)) {
		*no_memory = true;
		return false;
	}
	for (uint32_t i = 1; i <= lists_of(budgets)[at]; i++) {
		struct budget_use *use = &uses_of(budgets)[lists_of(budgets)[at + i]];

		if (was_granted(use->budget, pod->name))
			continue;
		if (use->node != budgets->node)
			*use = (struct budget_use){use->budget, use->budget->allowed,
			                           budgets->node};
		use->left--;
		overdrawn |= use->left < 0;
	}
	return overdrawn;
}
