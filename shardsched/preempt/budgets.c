#include "shardsched/preempt/budgets.h"

#include <string.h>

#include "shardsched/snapshot/view.h"

struct budget_use {
	const struct budget *budget; /* NULL: the end of its namespace */
	int64_t allowed;
	uint64_t taken; /* upper half: number of the node; lower half: pods taken there */
};

/* Index of the use that is never overdrawn, and the value for a list that has to be gone
 * through. */
enum { NO_BUDGET = 0 };
#define SEVERAL UINT32_MAX

/* The budgets that protect the pods of a spec, found in run. */
struct spec_list {
	uint64_t run;
	uint32_t at;  /* index in lists */
	uint32_t one; /* the only use, NO_BUDGET, or SEVERAL */
};

void budgets_done(struct budgets *budgets)
{
	number_map_done(&budgets->by_namespace);
	scratch_done(&budgets->by_spec);
	scratch_done(&budgets->uses);
	scratch_done(&budgets->lists);
}

void budgets_begin(struct budgets *budgets, const struct snapshot *snapshot)
{
	budgets->snapshot = snapshot;
	number_map_clear(&budgets->by_namespace);
	budgets->run++;
	budgets->uses_count = 0;
	budgets->lists_count = 0;
	budgets->node = 0;
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
	uses_of(budgets)[budgets->uses_count++] = (struct budget_use){
		budget, budget == NULL ? INT64_MAX : budget->allowed, 0};
	return true;
}

/* Sets *first to the namespace's first budget in uses, and adds them when they are
 * new. */
static bool find_namespace(struct budgets *budgets, uint32_t namespace, uint32_t *first)
{
	const struct budget *budget = NULL;

	if (number_map_get(&budgets->by_namespace, namespace, first))
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
	return number_map_add(&budgets->by_namespace, namespace, *first);
}

/* Whether the budget is about pods with these labels. */
static bool budget_selects(const struct budgets *budgets, const struct budget *budget,
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

static uint32_t single_use(const struct budgets *budgets, uint32_t at)
{
	const uint32_t *list = lists_of(budgets) + at;

	if (list[0] == 0)
		return NO_BUDGET;
	if (list[0] > 1 || uses_of(budgets)[list[1]].budget->disrupted_count > 0)
		return SEVERAL;
	return list[1];
}

/* Makes the list of budgets for a spec. */
static bool find_spec(struct budgets *budgets, const struct spec *spec)
{
	uint32_t first, at;

	if (!find_namespace(budgets, spec->namespace, &first) ||
	    !scratch_grow_zeroed(&budgets->by_spec, (size_t)spec->item.id + 1,
	                         sizeof(struct spec_list)))
		return false;
	at = budgets->lists_count;
	if (!add_list(budgets, 0))
		return false;
	for (uint32_t i = first; uses_of(budgets)[i].budget != NULL; i++) {
		if (!budget_selects(budgets, uses_of(budgets)[i].budget, spec))
			continue;
		if (!add_list(budgets, i))
			return false;
		lists_of(budgets)[at]++;
	}
	((struct spec_list *)budgets->by_spec.at)[spec->item.id] =
		(struct spec_list){budgets->run, at, single_use(budgets, at)};
	return true;
}

static bool is_disrupted(const struct budget *budget, uint32_t name)
{
	for (uint32_t i = 0; i < budget->disrupted_count; i++)
		if (budget->disrupted[i] == name)
			return true;
	return false;
}

/* Node numbers grow, so what was taken on an earlier node is less than begin. */
static inline bool charge_use(struct budget_use *use, uint64_t begin)
{
	uint64_t taken = use->taken < begin ? begin : use->taken;

	use->taken = ++taken;
	return (int64_t)(taken - begin) > use->allowed;
}

static bool charge_list(const struct budgets *budgets, uint32_t at, uint32_t name)
{
	const uint32_t *list = lists_of(budgets) + at;
	bool overdrawn = false;

	for (uint32_t i = 1; i <= list[0]; i++) {
		struct budget_use *use = &uses_of(budgets)[list[i]];

		if (!is_disrupted(use->budget, name))
			overdrawn |= charge_use(use, budgets->node << 32);
	}
	return overdrawn;
}

/* Copies of the fields that the loop over pods reads, which no write can alias. */
struct protection_view {
	const struct spec_list *list;
	struct budget_use *use;
	size_t cap; /* length of list */
	uint64_t run, begin;
};

static struct protection_view protection_view_of(const struct budgets *budgets)
{
	return (struct protection_view){budgets->by_spec.at, uses_of(budgets),
	                                budgets->by_spec.cap, budgets->run,
	                                budgets->node << 32};
}

static inline bool spec_is_known(const struct protection_view *split_pods, uint32_t spec)
{
	return spec < split_pods->cap && split_pods->list[spec].run == split_pods->run;
}

static bool charge_pod(const struct budgets *budgets, const struct spec_list *list,
                       uint32_t placed)
{
	return charge_list(budgets, list->at, budgets->snapshot->placed[placed].name);
}

static bool split_pods(struct budgets *budgets, const struct budget_pods *pods,
                       uint32_t *order, uint32_t *protected)
{
	/* The others are collected behind, until it is known how many pods are
	 * protected. */
	uint32_t *others = order + pods->count;
	const uint32_t *spec = pods->spec, all = pods->count;
	struct protection_view at = protection_view_of(budgets);
	uint32_t count = 0;

	for (uint32_t i = 0; i < all; i++) {
		const struct spec_list *list;
		bool is_protected;

		if (!spec_is_known(&at, spec[i])) {
			if (!find_spec(budgets, budgets->snapshot->placed[pods->placed[i]]
			                                .view->spec))
				return false;
			at = protection_view_of(budgets);
		}
		list = &at.list[spec[i]];
		is_protected = list->one != SEVERAL
		                       ? charge_use(&at.use[list->one], at.begin)
		                       : charge_pod(budgets, list, pods->placed[i]);
		order[count] = i;
		others[i - count] = i;
		count += is_protected;
	}
	memmove(order + count, others, (all - count) * sizeof *order);
	*protected = count;
	return true;
}

bool budgets_split(struct budgets *budgets, const struct budget_pods *pods,
                   uint32_t *order, uint32_t *protected)
{
	*protected = 0;
	if (budgets->snapshot->catalog.count[CATALOG_BUDGET] == 0)
		return true;
	if (budgets->uses_count == 0 && !add_use(budgets, NULL))
		return false;
	budgets->node++;
	return split_pods(budgets, pods, order, protected);
}
