/*
 * The selector for pods without constraints of their own: the conjunction of the
 * selectors of all services that select the pod and of its controller.
 */
#include "shardsched/model/reader.h"
#include "shardsched/plugins/pod_topology_spread.h"

/* Draft of the selector: pairs that must be equal, and requirements. */
struct selector_parts {
	const struct model *model;
	struct pl_arena arena;
	struct draft_pair *pair;
	uint32_t pairs, pairs_max;
	struct draft_requirements rows;
	bool failed;
};

/* A key that occurs again gets the last value. */
static void add_pair(struct selector_parts *parts, uint32_t key, uint32_t value)
{
	struct draft_pair pair = {model_text(parts->model, key),
	                          model_text(parts->model, value)};

	for (uint32_t i = 0; i < parts->pairs; i++)
		if (pl_span_eq(parts->pair[i].key, pair.key)) {
			parts->pair[i] = pair;
			return;
		}
	if (parts->pairs == parts->pairs_max) {
		uint32_t max = parts->pairs_max * 2 + 16;
		struct draft_pair *more =
			pl_arena_zalloc(&parts->arena, max, sizeof *more);

		if (more == NULL) {
			parts->failed = true;
			return;
		}
		if (parts->pairs > 0)
			memcpy(more, parts->pair, parts->pairs * sizeof *more);
		parts->pair = more;
		parts->pairs_max = max;
	}
	parts->pair[parts->pairs++] = pair;
}

/* Adds a selector that is a map from keys to values. */
static void add_map(struct selector_parts *parts, const struct selector *map)
{
	for (uint32_t i = 0; i < map->count; i++)
		if (map->row[i].op == SELECTOR_IN && map->row[i].count == 1)
			add_pair(parts, map->row[i].key,
			         *selector_values(map, &map->row[i]));
}

static struct pl_span word_of(uint32_t op)
{
	switch ((enum selector_op)op) {
	case SELECTOR_IN:
		return PL_SPAN_LIT("In");
	case SELECTOR_NOT_IN:
		return PL_SPAN_LIT("NotIn");
	case SELECTOR_EXISTS:
		return PL_SPAN_LIT("Exists");
	case SELECTOR_NOT_EXISTS:
		return PL_SPAN_LIT("DoesNotExist");
	case SELECTOR_GT:
	case SELECTOR_LT:
	case SELECTOR_BAD:
		break; /* not allowed for pods, or invalid as a whole */
	}
	PL_UNREACHABLE("operator of a controller's selector");
}

static bool add_row(struct selector_parts *parts, const struct selector *from,
                    const struct selector_row *row)
{
	struct draft_requirement *out = &parts->rows.at[parts->rows.count];

	*out = (struct draft_requirement){
		.key = model_text(parts->model, row->key),
		.op = word_of(row->op),
		.values.count = row->count,
		.values.at = pl_arena_zalloc(&parts->arena, row->count + 1U,
	                                     sizeof *out->values.at)};
	if (out->values.at == NULL)
		return false;
	for (uint32_t i = 0; i < row->count; i++)
		out->values.at[i] =
			model_text(parts->model, selector_values(from, row)[i]);
	parts->rows.count++;
	return true;
}

static void add_rows(struct selector_parts *parts, const struct selector *from)
{
	if (from->flags != 0)
		return;
	parts->rows.at =
		pl_arena_zalloc(&parts->arena, from->count + 1U, sizeof *parts->rows.at);
	parts->failed = parts->failed || parts->rows.at == NULL;
	for (uint32_t i = 0; i < from->count && !parts->failed; i++)
		parts->failed = !add_row(parts, from, &from->row[i]);
}

static void add_services(struct selector_parts *parts, const struct snapshot *snapshot,
                         const struct spec *spec)
{
	const struct workload *one = NULL;

	while ((one = catalog_next_in_workload(&snapshot->catalog, spec->namespace,
	                                       one)) != NULL)
		if (one->kind == WORKLOAD_SERVICE &&
		    selector_matches(&snapshot->model->strings, one->selector,
		                     spec->labels))
			add_map(parts, one->selector);
}

static void add_controller(struct selector_parts *parts, const struct snapshot *snapshot,
                           const struct spec *spec)
{
	static const struct {
		const char *api, *kind;
		enum workload_kind sort;
	} known[] = {{"v1", "ReplicationController", WORKLOAD_REPLICATION_CONTROLLER},
	             {"apps/v1", "ReplicaSet", WORKLOAD_REPLICA_SET},
	             {"apps/v1", "StatefulSet", WORKLOAD_STATEFUL_SET}};
	struct pl_span api = model_text(parts->model, spec->template->owner_api);
	struct pl_span kind = model_text(parts->model, spec->template->owner_kind);
	struct catalog_key key = {.namespace = spec->namespace,
	                          .name = spec_owner_name(spec)};
	const struct workload *owner;

	for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (!pl_span_eq(kind, pl_span_str(known[i].kind)) ||
		    !pl_span_eq(api, pl_span_str(known[i].api)))
			continue;
		key.sort = known[i].sort;
		owner = catalog_find_workload(&snapshot->catalog, key);
		if (owner == NULL)
			return;
		if (owner->kind == WORKLOAD_REPLICATION_CONTROLLER)
			add_map(parts, owner->selector);
		else
			add_rows(parts, owner->selector);
	}
}

enum pl_code spread_default_selector(struct snapshot *snapshot, const struct spec *spec,
                                     const struct selector **out, struct pl_err *err)
{
	struct selector_parts parts = {.model = snapshot->model};
	const struct selector *made = NULL;
	struct maker maker;

	pl_arena_init(&parts.arena, 0, READER_ARENA_MAX);
	add_services(&parts, snapshot, spec);
	if (spec->template->owner_kind != 0)
		add_controller(&parts, snapshot, spec);
	maker_init(&maker, snapshot->model, &parts.arena);
	if (!parts.failed && parts.pairs + parts.rows.count > 0)
		made = selector_make(&maker, (struct draft_selector){
						     .labels = {parts.pair, parts.pairs},
						     .expressions = parts.rows,
						     .set = true,
					     });
	pl_arena_done(&parts.arena);
	if (parts.failed || maker.code != PL_OK) {
		model_unref(snapshot->model, MODEL_SELECTORS, made);
		return pl_err_set(err, parts.failed ? PL_NOMEM : maker.code,
		                  "selector of default spreading");
	}
	*out = made;
	return PL_OK;
}
