#include <stdlib.h>

#include "coord/service/plan/plan_int.h"
#include "shardsched/model/parse.h"
#include "store/base/alloc.h"

enum { PODS_FIRST = 64 };

/* -- one after another ------------------------------------------------------ */

static bool reserve(struct plan_op *op)
{
	uint32_t cap = op->cap == 0 ? PODS_FIRST : op->cap * 2;
	void *grown;

	if (op->pods < op->cap)
		return true;
	grown = pl_realloc(op->pod, cap * sizeof *op->pod);
	if (grown == NULL)
		return false;
	op->pod = grown;
	grown = pl_realloc(op->item, cap * sizeof *op->item);
	if (grown == NULL)
		return false;
	op->item = grown;
	op->cap = cap;
	return true;
}

static struct pl_span text_of(const struct plan_op *op, uint32_t id)
{
	return id == 0 ? (struct pl_span){0} : model_text(engine_model(op->engine), id);
}

enum pl_code plan_pod_add(struct plan_op *op, struct pl_span json, struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {.model = engine_model(op->engine),
	                      .arena = &op->scratch,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	struct pl_err why = {0};
	struct plan_item *item;
	enum pl_code code;

	if (!reserve(op))
		return pl_err_set(err, PL_NOMEM, "keep the pods of a plan");
	item = &op->item[op->pods];
	*item = (struct plan_item){.twin = PLAN_NONE, .next = PLAN_NONE};
	op->pod[op->pods++] = (struct plan_pod){.verdict = PLAN_REFUSED};
	pl_arena_reset(&op->scratch);
	code = pod_parse(&parse, json, &item->pod, &why);
	if (code == PL_NOMEM) {
		*err = why;
		return code;
	}
	if (code != PL_OK)
		return plan_set_message(op, op->pods - 1, pl_span_str(why.msg), err);
	item->parsed = true;
	op->pod[op->pods - 1].namespace = text_of(op, item->pod.spec->namespace);
	op->pod[op->pods - 1].name = text_of(op, item->pod.name);
	op->pod[op->pods - 1].gang = text_of(op, item->pod.spec->template->gang);
	return PL_OK;
}

static void item_done(struct plan_op *op, struct plan_item *item)
{
	if (item->parsed)
		pod_drop(engine_model(op->engine), &item->pod);
}

void plan_pod_drop_last(struct plan_op *op)
{
	PL_ASSERT(op->pods > 0);
	item_done(op, &op->item[--op->pods]);
}

void plan_pods_done(struct plan_op *op)
{
	for (uint32_t i = 0; i < op->pods; i++)
		item_done(op, &op->item[i]);
	free(op->item);
	free(op->pod);
}

/* -- the most important first ----------------------------------------------- */

struct rank {
	struct plan_pod pod;
	struct plan_item item;
	uint32_t at;
};

static int by_importance(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->item.parsed != y->item.parsed)
		return x->item.parsed ? -1 : 1;
	if (x->item.parsed && x->item.pod.spec->priority != y->item.pod.spec->priority)
		return x->item.pod.spec->priority > y->item.pod.spec->priority ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

enum pl_code plan_pods_sort(struct plan_op *op, struct pl_err *err)
{
	struct rank *ranks;

	if (op->pods < 2)
		return PL_OK;
	ranks = pl_calloc(op->pods, sizeof *ranks);
	if (ranks == NULL)
		return pl_err_set(err, PL_NOMEM, "order the pods of a plan");
	for (uint32_t i = 0; i < op->pods; i++)
		ranks[i] = (struct rank){op->pod[i], op->item[i], i};
	qsort(ranks, op->pods, sizeof *ranks, by_importance);
	for (uint32_t i = 0; i < op->pods; i++) {
		op->pod[i] = ranks[i].pod;
		op->item[i] = ranks[i].item;
	}
	free(ranks);
	return PL_OK;
}

/* -- pods that belong together ---------------------------------------------- */

/* The first pod of its name. */
struct named {
	struct pl_map_node by_name;
	uint32_t key[2]; /* namespace, name */
	uint32_t at;
};

static struct pl_span key_span(const uint32_t key[2])
{
	return pl_span(key, 2 * sizeof key[0]);
}

static bool find_twin(struct plan_op *op, struct pl_map *names, uint32_t at)
{
	struct plan_item *item = &op->item[at];
	const uint32_t key[2] = {item->pod.spec->namespace, item->pod.name};
	struct pl_map_node *node = pl_map_get(names, key_span(key));
	struct named *named;

	if (node != NULL) {
		item->twin = PL_CONTAINER_OF(node, struct named, by_name)->at;
		return true;
	}
	named = pl_arena_zalloc(&op->arena, 1, sizeof *named);
	if (named == NULL)
		return false;
	*named = (struct named){.key = {key[0], key[1]}, .at = at};
	(void)!pl_map_add(names, &named->by_name, key_span(named->key));
	return true;
}

static struct plan_gang *find_gang(const struct plan_op *op, const struct spec *spec)
{
	const uint32_t key[2] = {spec->namespace, spec->template->gang};
	struct pl_map_node *node =
		key[1] == 0 ? NULL : pl_map_get(&op->gangs, key_span(key));

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct plan_gang, by_name);
}

static bool join_gang(struct plan_op *op, uint32_t at)
{
	const struct spec *spec = op->item[at].pod.spec;
	struct plan_gang *gang = find_gang(op, spec);

	if (spec->template->gang == 0)
		return true;
	if (gang != NULL) {
		op->item[gang->last].next = at;
		gang->last = at;
		gang->count++;
		return true;
	}
	gang = pl_arena_zalloc(&op->arena, 1, sizeof *gang);
	if (gang == NULL)
		return false;
	*gang = (struct plan_gang){.key = {spec->namespace, spec->template->gang},
	                           .first = at,
	                           .last = at,
	                           .count = 1};
	(void)!pl_map_add(&op->gangs, &gang->by_name, key_span(gang->key));
	return true;
}

static void count_member(const struct plan_op *op, const struct placed_pod *placed)
{
	const struct snapshot *snapshot = engine_snapshot(op->engine);
	const struct spec *spec = placed->view->spec;
	struct plan_gang *gang = find_gang(op, spec);
	uint32_t topology_key = spec->template->gang_domain;

	if (gang == NULL || (placed->flags & PLACED_TERMINATING) != 0)
		return;
	gang->present++;
	if (topology_key != 0 && gang->present_node == 0 &&
	    labels_get(snapshot->row[placed->node].node.labels, topology_key) != 0)
		gang->present_node = placed->node + 1;
}

/* Members that are on nodes already count for the minimum, and the others have to share
 * the domain of one of them. */
static void count_present(const struct plan_op *op)
{
	const struct snapshot *snapshot = engine_snapshot(op->engine);

	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		if (snapshot->row[slot].node.name == 0)
			continue;
		for (uint32_t at = snapshot->row[slot].first_pod; at != SNAPSHOT_NONE;
		     at = snapshot->placed[at].next_on_node)
			count_member(op, &snapshot->placed[at]);
	}
}

enum pl_code plan_pods_join(struct plan_op *op, struct pl_err *err)
{
	struct pl_map names;
	bool kept = true;

	pl_map_init(&names);
	for (uint32_t i = 0; i < op->pods && kept; i++) {
		if (!op->item[i].parsed)
			continue;
		kept = find_twin(op, &names, i);
		if (kept && op->item[i].twin == PLAN_NONE)
			kept = join_gang(op, i);
	}
	pl_map_done(&names);
	if (!kept)
		return pl_err_set(err, PL_NOMEM, "keep the pods of a plan");
	if (pl_map_first(&op->gangs) != NULL)
		count_present(op);
	return PL_OK;
}

struct plan_gang *plan_gang_of(const struct plan_op *op, uint32_t at)
{
	return find_gang(op, op->item[at].pod.spec);
}
