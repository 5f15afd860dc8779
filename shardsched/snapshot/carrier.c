#include <stdlib.h>

#include "shardsched/snapshot/views_inner.h"
#include "store/base/alloc.h"

void carrier_publish(struct carrier_inner *carrier)
{
	carrier->carrier.in_domain = carrier->counts.count;
	carrier->carrier.inside = carrier->counts.inside;
}

void carrier_add(struct carrier *carrier, uint32_t slot)
{
	carrier->pods++;
	domain_counts_add(&carrier->inner->counts, slot, 1);
	carrier->inside = carrier->inner->counts.inside;
}

void carrier_sub(struct carrier *carrier, uint32_t slot)
{
	PL_ASSERT(carrier->pods > 0);
	carrier->pods--;
	domain_counts_sub(&carrier->inner->counts, slot, 1);
	carrier->inside = carrier->inner->counts.inside;
}

/* -- whom it concerns ---------------------------------------- */

static enum pl_code add_concern(struct carrier_inner *carrier,
                                struct spec_view_inner *view, struct pl_err *err)
{
	struct spec_view *shown = &view->view;
	enum pl_code code = views_reserve(&shown->concerns, shown->concerns_count,
	                                  &view->concerns_cap, err);

	if (code == PL_OK)
		shown->concerns[shown->concerns_count++] = &carrier->carrier;
	return code;
}

static void remove_concern(struct carrier_inner *carrier, struct spec_view *view)
{
	for (uint32_t i = 0; i < view->concerns_count; i++) {
		if (view->concerns[i] != &carrier->carrier)
			continue;
		view->concerns[i] = view->concerns[--view->concerns_count];
		return;
	}
}

struct carrier_search {
	struct snapshot *snapshot;
	struct carrier_inner *carrier;
	struct spec_view_inner *view;
	struct pl_err *err;
};

static enum pl_code on_rule(void *ctx, struct rule *rule)
{
	struct carrier_search *find = ctx;
	struct carrier_inner *carrier = PL_CONTAINER_OF(rule, struct carrier_inner, rule);

	if (!rule_finds(&find->snapshot->model->strings, rule, find->view->view.spec,
	                view_namespace_labels(find->view)))
		return PL_OK;
	return add_concern(carrier, find->view, find->err);
}

enum pl_code carriers_find(struct snapshot *snapshot, struct spec_view_inner *view,
                           struct pl_err *err)
{
	struct carrier_search find = {.snapshot = snapshot, .view = view, .err = err};

	return rule_index_each(&snapshot->inner->views->carrier_index, view->view.spec,
	                       on_rule, &find);
}

static enum pl_code on_view(void *ctx, struct spec_view_inner *view)
{
	struct carrier_search *find = ctx;

	if (view->view.asked == 0 ||
	    !rule_finds(&find->snapshot->model->strings, &find->carrier->rule,
	                view->view.spec, view_namespace_labels(view)))
		return PL_OK;
	return add_concern(find->carrier, view, find->err);
}

static enum pl_code unlink_view(void *ctx, struct spec_view_inner *view)
{
	remove_concern(ctx, &view->view);
	return PL_OK;
}

enum pl_code carrier_rematch(struct snapshot *snapshot, struct carrier_inner *carrier,
                             struct spec_view_inner *view, const struct labels *namespace,
                             struct pl_err *err)
{
	if (view->view.asked == 0)
		return PL_OK;
	remove_concern(carrier, &view->view);
	if (!rule_finds(&snapshot->model->strings, &carrier->rule, view->view.spec,
	                namespace))
		return PL_OK;
	return add_concern(carrier, view, err);
}

/* -- its life ---------------------------------------- */

static void carrier_free(struct snapshot *snapshot, struct carrier_inner *carrier)
{
	struct views *views = snapshot->inner->views;

	PL_ASSERT(carrier->users == 0 && carrier->carrier.pods == 0);
	(void)views_each(views, &carrier->rule, unlink_view, carrier);
	rule_index_del(&views->carrier_index, &carrier->rule);
	if (pl_map_has(&carrier->by_key))
		pl_map_del(&views->carriers, &carrier->by_key);
	pl_list_del(&carrier->reads_namespaces);
	view_column_leave(snapshot, &carrier->counts);
	model_unref(snapshot->model, MODEL_POD_TERMS, carrier->carrier.term);
	free(carrier);
}

static enum pl_code carrier_begin(struct snapshot *snapshot, struct carrier_inner *made,
                                  struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	struct carrier_search find = {snapshot, made, NULL, err};
	enum pl_code code = rule_index_add(&views->carrier_index, &made->rule, err);

	if (code == PL_OK && rule_reads_namespaces(&made->rule))
		pl_list_add_tail(&views->carriers_of_namespaces, &made->reads_namespaces);
	if (code == PL_OK)
		code = views_each(views, &made->rule, on_view, &find);
	return code;
}

static enum pl_code carrier_new(struct snapshot *snapshot, struct carrier shown,
                                const uint64_t key[3], struct carrier_inner **out,
                                struct pl_err *err)
{
	struct views *views = snapshot->inner->views;
	struct carrier_inner *made = pl_calloc(1, sizeof *made);
	enum pl_code code;

	if (made == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a rule that pods carry");
	code = view_column_join(snapshot, &made->counts, shown.term->topology_key, true,
	                        err);
	if (code != PL_OK) {
		free(made);
		return code;
	}
	made->carrier = shown;
	made->carrier.term = model_ref(snapshot->model, MODEL_POD_TERMS, shown.term);
	made->carrier.column = made->counts.column;
	made->carrier.inner = made;
	made->rule = (struct rule){.term = &made->carrier.term, .count = 1};
	for (unsigned i = 0; i < 3; i++)
		made->key[i] = key[i];
	pl_list_init(&made->reads_namespaces);
	carrier_publish(made);
	code = carrier_begin(snapshot, made, err);
	if (code != PL_OK) {
		carrier_free(snapshot, made);
		return code;
	}
	views_map_add(&views->carriers, &made->by_key,
	              pl_span(made->key, sizeof made->key));
	*out = made;
	return PL_OK;
}

enum pl_code carrier_ref(struct snapshot *snapshot, const struct spec_term *term,
                         enum carrier_kind kind, struct carrier **out, struct pl_err *err)
{
	uint64_t key[3] = {term->term->item.id, (uint64_t)kind, (uint64_t)term->weight};
	struct pl_map_node *node =
		pl_map_get(&snapshot->inner->views->carriers, pl_span(key, sizeof key));
	struct carrier_inner *carrier = NULL;
	enum pl_code code;

	if (node != NULL) {
		carrier = PL_CONTAINER_OF(node, struct carrier_inner, by_key);
	} else {
		struct carrier shown = {
			.term = term->term, .kind = kind, .weight = term->weight};

		code = carrier_new(snapshot, shown, key, &carrier, err);
		if (code != PL_OK)
			return code;
	}
	PL_ASSERT(carrier != NULL);
	carrier->users++;
	*out = &carrier->carrier;
	return PL_OK;
}

void carrier_unref(struct snapshot *snapshot, struct carrier *carrier)
{
	PL_ASSERT(carrier->inner->users > 0);
	if (--carrier->inner->users == 0)
		carrier_free(snapshot, carrier->inner);
}

void carrier_refresh(const struct snapshot *snapshot, const struct carrier *carrier)
{
	domain_counts_refresh(&carrier->inner->counts, snapshot->slots);
}

const uint64_t *carrier_nodes(const struct carrier *carrier)
{
	return domain_counts_nodes(&carrier->inner->counts);
}
