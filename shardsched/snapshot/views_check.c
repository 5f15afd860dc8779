/* Everything that views, matchers, tallies and carriers keep up, counted from scratch. */
#include "shardsched/snapshot/views_inner.h"

static struct spec_view_inner *view_of(const struct placed_pod *pod)
{
	return view_inner(pod->view);
}

static bool has_concern(const struct spec_view_inner *view, const struct carrier *carrier)
{
	for (uint32_t i = 0; i < view->view.concerns_count; i++)
		if (view->view.concerns[i] == carrier)
			return true;
	return false;
}

static uint32_t count_carried(const struct spec_view_inner *view,
                              const struct carrier *carrier)
{
	uint32_t times = 0;

	for (uint32_t i = 0; i < view->carries_count; i++)
		times += view->carries[i] == carrier;
	return times;
}

/* How often the matcher counts the pods of a node. */
static uint32_t matched_on(const struct snapshot *snapshot, uint32_t slot,
                           const struct matcher_inner *matcher)
{
	uint32_t count = 0, at = snapshot->row[slot].first_pod;

	for (uint32_t i = 0; i < snapshot->row[slot].pods; i++) {
		const struct placed_pod *pod = &snapshot->placed[at];

		at = pod->next_on_node;
		if (matcher_counts(matcher, pod->flags) &&
		    matcher_finds(snapshot, &matcher->matcher, pod->view->spec))
			count++;
	}
	return count;
}

static uint32_t carried_on(const struct snapshot *snapshot, uint32_t slot,
                           const struct carrier *carrier)
{
	uint32_t count = 0, at = snapshot->row[slot].first_pod;

	for (uint32_t i = 0; i < snapshot->row[slot].pods; i++) {
		count += count_carried(view_of(&snapshot->placed[at]), carrier);
		at = snapshot->placed[at].next_on_node;
	}
	return count;
}

/* Subtracts what it counts: in the end nothing may be left. */
typedef uint32_t count_on_fn(const struct snapshot *snapshot, uint32_t slot,
                             const void *who);

/* The count by node is updated incrementally where it was counted before. */
static uint32_t on_matcher(const struct snapshot *snapshot, uint32_t slot,
                           const void *who)
{
	const struct matcher_inner *matcher = who;

	return matcher->spread ? matcher->matcher.on_node[slot]
	                       : matched_on(snapshot, slot, matcher);
}

static uint32_t on_carrier(const struct snapshot *snapshot, uint32_t slot,
                           const void *who)
{
	return carried_on(snapshot, slot, who);
}

/* Checks sums by domain in place: below count each is reduced to 0 and built up again. */
static void check_counts(const struct snapshot *snapshot, struct domain_counts *counts,
                         count_on_fn *on, const void *who)
{
	uint32_t inside = 0, others = 0;

	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		uint32_t domain = counts->column->value[slot];
		uint32_t pods = on(snapshot, slot, who);

		PL_ASSERT(counts->count[domain] >= pods || domain == 0);
		if (domain != 0)
			counts->count[domain] -= pods;
		*(domain == 0 ? &others : &inside) += pods;
	}
	for (uint32_t domain = 0; domain < counts->cap; domain++)
		PL_ASSERT(counts->count[domain] == 0);
	for (uint32_t slot = 0; slot < snapshot->slots; slot++)
		if (counts->column->value[slot] != 0)
			counts->count[counts->column->value[slot]] +=
				on(snapshot, slot, who);
	PL_ASSERT(counts->inside == inside && counts->others == others);
}

static void check_set(const struct snapshot *snapshot, struct domain_counts *counts)
{
	domain_counts_refresh(counts, snapshot->slots);
	for (uint32_t slot = 0; slot < counts->words * 64; slot++) {
		bool has = (counts->bits[slot / 64] >> slot % 64 & 1) != 0;
		bool want = slot < snapshot->slots && domain_counts_at(counts, slot) != 0;

		PL_ASSERT(has == want);
	}
}

static void check_matcher(const struct snapshot *snapshot, struct matcher_inner *matcher)
{
	uint32_t pods = 0;

	for (uint32_t slot = 0; slot < snapshot->capacity; slot++) {
		uint32_t want = 0;

		if (slot < snapshot->slots)
			want = matched_on(snapshot, slot, matcher);
		PL_ASSERT(!matcher->spread || matcher->matcher.on_node[slot] == want);
		pods += want;
	}
	PL_ASSERT(matcher->matcher.pods == pods);
	PL_LIST_EACH (at, &matcher->tallies) {
		struct tally_inner *tally =
			PL_LIST_ITEM(at, struct tally_inner, of_matcher);

		check_counts(snapshot, &tally->counts, on_matcher, matcher);
		check_set(snapshot, &tally->counts);
		PL_ASSERT(tally->tally.in_domain == tally->counts.count);
		PL_ASSERT(tally->tally.others == tally->counts.others);
	}
}

static void check_carrier(const struct snapshot *snapshot, struct carrier_inner *carrier)
{
	check_counts(snapshot, &carrier->counts, on_carrier, &carrier->carrier);
	check_set(snapshot, &carrier->counts);
	PL_ASSERT(carrier->carrier.in_domain == carrier->counts.count);
	PL_ASSERT(carrier->carrier.inside == carrier->counts.inside);
	PL_ASSERT(carrier->carrier.pods ==
	          carrier->counts.inside + carrier->counts.others);
}

static void check_chain(const struct snapshot *snapshot, const struct spec_view *view)
{
	uint32_t pods = 0;

	for (uint32_t i = view->first_pod; i != SNAPSHOT_NONE;
	     i = snapshot->placed[i].next_of_view) {
		PL_ASSERT(snapshot->placed[i].view == view);
		pods++;
	}
	PL_ASSERT(pods == view->pods);
}

static void check_view(const struct snapshot *snapshot, const struct views *views,
                       const struct spec_view_inner *view)
{
	const struct spec *spec = view->view.spec;
	const struct labels *namespace =
		catalog_namespace_labels(&snapshot->catalog, spec->namespace);

	PL_ASSERT(views->by_spec[spec->item.id] == view);
	PL_ASSERT(view->view.users > 0 && view->namespace->labels == namespace);
	check_chain(snapshot, &view->view);
	PL_MAP_EACH (node, &views->matchers) {
		struct matcher_inner *matcher =
			PL_CONTAINER_OF(node, struct matcher_inner, by_key);

		PL_ASSERT(matcher_has_view(matcher, view) ==
		          matcher_finds(snapshot, &matcher->matcher, spec));
	}
	PL_MAP_EACH (node, &views->carriers) {
		struct carrier_inner *carrier =
			PL_CONTAINER_OF(node, struct carrier_inner, by_key);
		bool want = view->view.asked > 0 &&
		            rule_finds(&snapshot->model->strings, &carrier->rule, spec,
		                       namespace);

		PL_ASSERT(has_concern(view, &carrier->carrier) == want);
	}
}

void views_check(const struct snapshot *snapshot)
{
	const struct views *views = snapshot->inner->views;

	if (!view_is_reconciled(snapshot))
		return;
	PL_MAP_EACH (node, &views->matchers)
		check_matcher(snapshot,
		              PL_CONTAINER_OF(node, struct matcher_inner, by_key));
	PL_MAP_EACH (node, &views->carriers)
		check_carrier(snapshot,
		              PL_CONTAINER_OF(node, struct carrier_inner, by_key));
	for (uint32_t id = 0; id < views->by_spec_cap; id++)
		if (views->by_spec[id] != NULL)
			check_view(snapshot, views, views->by_spec[id]);
}

size_t views_memory(const struct snapshot *snapshot)
{
	const struct views *views = snapshot->inner->views;
	size_t bytes = sizeof *views + views->by_spec_cap * sizeof(void *) +
	               views->namespaces.count * sizeof(struct view_namespace) +
	               views->by_label.count * sizeof(struct view_label_index);

	for (uint32_t id = 0; id < views->by_spec_cap; id++) {
		const struct spec_view_inner *view = views->by_spec[id];

		if (view != NULL)
			bytes += sizeof *view +
			         (view->found_cap + view->concerns_cap +
			          view->carries_count) *
			                 sizeof(void *) +
			         (view->labels + 1) * sizeof *view->label;
	}
	bytes += views->matchers.count * sizeof(struct matcher_inner);
	PL_MAP_EACH (node, &views->matchers)
		if (PL_CONTAINER_OF(node, struct matcher_inner, by_key)->spread)
			bytes += snapshot->capacity * sizeof(uint32_t);
	PL_MAP_EACH (node, &views->columns) {
		struct view_column *users =
			PL_CONTAINER_OF(node, struct view_column, by_column);

		PL_LIST_EACH (at, &users->tallies)
			bytes += sizeof(struct tally_inner) +
			         domain_counts_memory(PL_LIST_ITEM(
					 at, struct domain_counts, of_column));
		PL_LIST_EACH (at, &users->carriers)
			bytes += sizeof(struct carrier_inner) +
			         domain_counts_memory(PL_LIST_ITEM(
					 at, struct domain_counts, of_column));
	}
	return bytes;
}
