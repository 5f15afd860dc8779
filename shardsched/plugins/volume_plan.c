#include "shardsched/plugins/volume_plan.h"

#include "store/base/span.h"

#define NO_PROVISIONER "kubernetes.io/no-provisioner"

/* -- checks of the claims ---------------------------------------------------------------- */

static enum plan_result refuse_pod(struct verdict *verdict, const struct reason *reason)
{
	verdict_add(verdict, VERDICT_UNRESOLVABLE, reason);
	return PLAN_REFUSED;
}

static enum plan_result refuse_missing(struct claim_owner owner,
                                       const struct spec_volume *volume,
                                       struct verdict *verdict)
{
	struct reason reason = volume_claim_missing(owner, volume);

	if (volume->kind == DRAFT_EPHEMERAL)
		reason = (struct reason){.code = REASON_CLAIM_WAITS,
		                         .subject = owner.name,
		                         .value = volume->name};
	return refuse_pod(verdict, &reason);
}

static enum plan_result check_claim(const struct claim *claim, struct claim_owner owner,
                                    const struct spec_volume *volume,
                                    struct verdict *verdict)
{
	struct reason reason = {.code = REASON_NONE, .subject = claim->name};

	if (claim->phase == VOLUME_LOST) {
		reason.code = REASON_CLAIM_LOST;
		reason.value = claim->volume;
	} else if (claim->deleted) {
		reason.code = REASON_CLAIM_DELETED;
	} else if (volume->kind == DRAFT_EPHEMERAL && !claim_is_for(claim, owner)) {
		reason = (struct reason){.code = REASON_CLAIM_FOREIGN,
		                         .subject = owner.spec->namespace,
		                         .value = owner.name,
		                         .detail = volume->name};
	}
	return reason.code == REASON_NONE ? PLAN_MADE : refuse_pod(verdict, &reason);
}

static enum plan_result check_claims(const struct plugin_call *call,
                                     struct verdict *verdict)
{
	struct claim_owner owner = claims_of_call(call);
	const struct spec_volume *volume = spec_volumes(call->spec);
	enum plan_result result = PLAN_NOTHING;

	for (unsigned i = 0; i < call->spec->volumes; i++) {
		const struct claim *claim;

		if (!volume_has_claim(&volume[i]))
			continue;
		claim = volume_claim(call->snapshot, owner, &volume[i]);
		if (claim == NULL)
			return refuse_missing(owner, &volume[i], verdict);
		result = check_claim(claim, owner, &volume[i], verdict);
		if (result == PLAN_REFUSED)
			return result;
	}
	return result;
}

/* -- volumes for an open claim ----------------------------------------------------------- */

static bool is_bound_to(const struct volume *volume, const struct claim *claim)
{
	return volume->claim_uid == 0 || volume->claim_uid == claim->uid;
}

static bool could_hold(const struct volume *volume, const struct claim *claim)
{
	return volume->bytes >= claim->bytes && volume->block == claim->block &&
	       !volume->deleted && volume->class == claim->class;
}

static bool may_be_taken(const struct strings *strings, const struct volume *volume,
                         const struct claim *claim)
{
	return could_hold(volume, claim) && volume->phase == VOLUME_AVAILABLE &&
	       (claim->modes & ~volume->modes) == 0 &&
	       (claim->selector == NULL ||
	        selector_matches(strings, claim->selector, volume->labels));
}

/* A total order that does not depend on the order in which volumes became known. */
int plan_volume_compare(const void *left, const void *right, const void *strings)
{
	const struct plan_volume *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return pl_span_cmp(strings_get(strings, a->volume->name),
	                   strings_get(strings, b->volume->name));
}

/* The selector of the nodes that can reach the volume, if an index can use it. */
static const struct selector *asks_of(const struct volume *volume)
{
	return volume->reachable != NULL && volume->reachable->count == 1
	               ? volume->reachable->term[0].labels
	               : NULL;
}

/* Moves pinned volumes to the front, and sorts the loose ones behind them by size. */
static bool index_open(const struct plugin_call *call, struct plan_claim *it,
                       uint32_t pins)
{
	uint32_t pinned = 0;

	if (!volume_index_init(&it->pinned, call->arena, pins))
		return false;
	for (uint32_t i = 0; i < it->open_count; i++) {
		struct plan_volume one = it->open[i];

		if (!volume_index_add(&it->pinned, pinned, asks_of(one.volume)))
			continue;
		it->open[i] = it->open[pinned];
		it->open[pinned++] = one;
	}
	it->loose = it->open + pinned;
	it->loose_count = it->open_count - pinned;
	volume_sort(it->loose, it->loose_count, sizeof *it->loose, plan_volume_compare,
	            &call->snapshot->model->strings);
	return true;
}

static bool find_open(const struct plugin_call *call, struct plan_claim *it)
{
	const struct catalog *catalog = &call->snapshot->catalog;
	const struct strings *strings = &call->snapshot->model->strings;
	const struct volume *volume = NULL;
	uint32_t count = 0, pins = 0;

	while ((volume = catalog_next_open_volume(catalog, it->claim->class, volume)))
		count++;
	if (count == 0)
		return true;
	it->open = pl_arena_alloc(call->arena, count * sizeof *it->open);
	if (it->open == NULL)
		return false;
	while ((volume = catalog_next_open_volume(catalog, it->claim->class, volume))) {
		if (!may_be_taken(strings, volume, it->claim))
			continue;
		pins += volume_index_pins(asks_of(volume));
		it->open[it->open_count++] = (struct plan_volume){volume->bytes, volume};
	}
	return index_open(call, it, pins);
}

static bool may_be_its_own(const struct volume *volume, const struct claim *claim)
{
	return could_hold(volume, claim) && is_bound_to(volume, claim);
}

static bool find_bound_to(const struct plugin_call *call, struct plan_claim *it)
{
	const struct catalog *catalog = &call->snapshot->catalog;
	const struct catalog_key key = {it->claim->namespace, it->claim->name, 0};
	const struct volume *volume = NULL;
	uint32_t count = 0;

	while ((volume = catalog_next_claimed_volume(catalog, key, volume)))
		count += may_be_its_own(volume, it->claim);
	if (count == 0)
		return true;
	it->bound_to = pl_arena_alloc(call->arena, count * sizeof *it->bound_to);
	if (it->bound_to == NULL)
		return false;
	while ((volume = catalog_next_claimed_volume(catalog, key, volume)))
		if (may_be_its_own(volume, it->claim))
			it->bound_to[it->bound_to_count++] =
				(struct plan_volume){volume->bytes, volume};
	volume_sort(it->bound_to, count, sizeof *it->bound_to, plan_volume_compare,
	            &call->snapshot->model->strings);
	return true;
}

/* -- where a volume can be provisioned --------------------------------------------------- */

static bool capacity_fits(const struct csi_capacity *capacity, const struct claim *claim)
{
	int64_t most = capacity->bytes_max >= 0 ? capacity->bytes_max : capacity->bytes;

	return most >= claim->bytes && (capacity->nodes->flags & SELECTOR_NOTHING) == 0;
}

/* Moves pinned capacities to the front. */
static bool index_capacities(struct plan_claim *it, struct pl_arena *arena)
{
	uint32_t pins = 0;

	for (uint32_t i = 0; i < it->capacity_count; i++)
		pins += volume_index_pins(it->capacities[i]->nodes);
	if (!volume_index_init(&it->capacity_index, arena, pins))
		return false;
	for (uint32_t i = 0; i < it->capacity_count; i++) {
		const struct csi_capacity *one = it->capacities[i];

		if (!volume_index_add(&it->capacity_index, it->capacity_pinned,
		                      one->nodes))
			continue;
		it->capacities[i] = it->capacities[it->capacity_pinned];
		it->capacities[it->capacity_pinned++] = one;
	}
	return true;
}

static bool find_capacities(const struct plugin_call *call, struct plan_claim *it)
{
	const struct catalog *catalog = &call->snapshot->catalog;
	const struct csi_capacity *capacity = NULL;
	uint32_t count = 0;

	while ((capacity = catalog_next_capacity(catalog, it->class->name, capacity)))
		count += capacity_fits(capacity, it->claim);
	if (count == 0)
		return true;
	it->capacities =
		pl_arena_alloc(call->arena, count * sizeof(struct csi_capacity *));
	if (it->capacities == NULL)
		return false;
	while ((capacity = catalog_next_capacity(catalog, it->class->name, capacity)))
		if (capacity_fits(capacity, it->claim))
			it->capacities[it->capacity_count++] = capacity;
	return index_capacities(it, call->arena);
}

static bool plan_provisioning(const struct plugin_call *call, struct plan_claim *it)
{
	struct pl_span provisioner =
		strings_get(&call->snapshot->model->strings, it->class->provisioner);
	const struct csi_driver *driver = catalog_find_csi_driver(
		&call->snapshot->catalog,
		(struct catalog_key){0, it->class->provisioner, 0});

	if (provisioner.len == 0 || pl_span_eq(provisioner, PL_SPAN_LIT(NO_PROVISIONER)))
		return true;
	it->provisioning = driver != NULL && driver->has_capacity && it->claim->bytes > 0
	                           ? PLAN_BY_CAPACITY
	                           : PLAN_PROVISIONED;
	return it->provisioning != PLAN_BY_CAPACITY || find_capacities(call, it);
}

/* -- the plan ---------------------------------------------------------------------------- */

static bool is_bound(const struct claim *claim)
{
	return claim->volume != 0 && claim->bind_completed;
}

/* false: the claim is neither bound nor waiting for its first consumer. */
static bool sort_claim(const struct plugin_call *call, const struct claim *claim,
                       struct volume_plan *plan)
{
	const struct storage_class *class = claim_class(call->snapshot, claim);
	struct plan_claim *it;

	if (is_bound(claim)) {
		plan->bound[plan->bound_count++] = claim_volume(call->snapshot, claim);
		return true;
	}
	if (class == NULL || !class->waits || claim->volume != 0)
		return false;
	it = claim->selected_node != 0 ? &plan->placed[plan->placed_count++]
	                               : &plan->open[plan->open_count++];
	*it = (struct plan_claim){.claim = claim, .class = class};
	return true;
}

/* By size; equal sizes in the pod's order. */
static void sort_open(struct volume_plan *plan)
{
	for (uint32_t i = 1; i < plan->open_count; i++) {
		struct plan_claim it = plan->open[i];
		uint32_t at = i;

		for (; at > 0 && plan->open[at - 1].claim->bytes > it.claim->bytes; at--)
			plan->open[at] = plan->open[at - 1];
		plan->open[at] = it;
	}
}

static bool find_all(const struct plugin_call *call, struct volume_plan *plan)
{
	bool good = true;

	for (uint32_t i = 0; i < plan->placed_count && good; i++)
		good = plan_provisioning(call, &plan->placed[i]);
	for (uint32_t i = 0; i < plan->open_count && good; i++)
		good = find_bound_to(call, &plan->open[i]) &&
		       find_open(call, &plan->open[i]) &&
		       plan_provisioning(call, &plan->open[i]);
	return good;
}

static bool fits_anywhere(const struct volume_plan *plan)
{
	bool anywhere = plan->placed_count == 0;

	for (uint32_t i = 0; i < plan->bound_count; i++)
		anywhere &= plan->bound[i] != NULL && plan->bound[i]->reachable == NULL;
	for (uint32_t i = 0; i < plan->open_count; i++) {
		const struct plan_claim *it = &plan->open[i];

		anywhere &= it->bound_to_count == 0 &&
		            it->provisioning == PLAN_PROVISIONED &&
		            plan_class_is_anywhere(it->class);
	}
	return anywhere;
}

static bool alloc_plan(struct volume_plan *plan, struct pl_arena *arena, uint32_t claims)
{
	*plan = (struct volume_plan){
		.bound = pl_arena_alloc(arena, claims * sizeof(struct volume *)),
		.placed = pl_arena_alloc(arena, claims * sizeof *plan->placed),
		.open = pl_arena_alloc(arena, claims * sizeof *plan->open),
	};
	return plan->bound != NULL && plan->placed != NULL && plan->open != NULL;
}

enum plan_result volume_plan_make(const struct plugin_call *call,
                                  struct volume_plan *plan, struct verdict *verdict)
{
	enum plan_result result = check_claims(call, verdict);
	const struct spec_volume *volume = spec_volumes(call->spec);

	if (result != PLAN_MADE)
		return result;
	if (!alloc_plan(plan, call->arena, call->spec->volumes))
		return PLAN_FAILED;
	for (unsigned i = 0; i < call->spec->volumes; i++) {
		const struct claim *claim;

		if (!volume_has_claim(&volume[i]))
			continue;
		claim = volume_claim(call->snapshot, claims_of_call(call), &volume[i]);
		if (!sort_claim(call, claim, plan))
			return refuse_pod(verdict,
			                  &(struct reason){.code = REASON_CLAIM_UNBOUND});
	}
	sort_open(plan);
	if (!find_all(call, plan))
		return PLAN_FAILED;
	plan->anywhere = fits_anywhere(plan);
	return PLAN_MADE;
}
