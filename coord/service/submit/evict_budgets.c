#include "coord/service/submit/evict_budgets.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/kv/calls.h"

enum { CHUNK = 64 << 10, ROOM_MAX = 256 << 20 };

void evict_budgets_init(struct evict_budgets *budgets, struct model *model)
{
	*budgets = (struct evict_budgets){.model = model};
	pl_arena_init(&budgets->arena, CHUNK, ROOM_MAX);
}

void evict_budgets_forget(struct evict_budgets *budgets)
{
	for (uint32_t i = 0; i < budgets->count; i++)
		budget_drop(budgets->model, &budgets->budget[i].object);
	budgets->count = 0;
	budgets->lock_rev = 0;
	pl_arena_reset(&budgets->arena);
}

void evict_budgets_done(struct evict_budgets *budgets)
{
	evict_budgets_forget(budgets);
	free(budgets->budget);
	pl_arena_done(&budgets->arena);
}

void evict_budgets_clear(struct evict_budgets *budgets)
{
	evict_budgets_forget(budgets);
	budgets->namespaces = 0;
}

/* -- reading ----------------------------------------------------------------------- */

static uint32_t find_namespace(const struct evict_budgets *budgets,
                               struct pl_span namespace)
{
	uint32_t i = 0;

	while (i < budgets->namespaces && !pl_span_eq(budgets->namespace[i], namespace))
		i++;
	return i;
}

bool evict_budgets_namespace(struct evict_budgets *budgets, struct pl_span namespace)
{
	uint32_t i = find_namespace(budgets, namespace);

	if (i == EVICT_BUDGETS_NAMESPACES_MAX)
		return false;
	if (i == budgets->namespaces)
		budgets->namespace[budgets->namespaces++] = namespace;
	return true;
}

static struct pl_span prefix_of(const struct evict_budgets *budgets, uint32_t namespace,
                                struct pl_arena *arena)
{
	const struct keys_id id = {.kind = KEYS_BUDGET,
	                           .scope = budgets->namespace[namespace]};
	struct keys_text text;

	if (keys_prefix(&id, 2, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a namespace that no key can have");
	return pl_arena_dup(arena, keys_span(&text));
}

static struct pl_span lock_key(struct pl_arena *arena)
{
	const struct keys_id id = {.kind = KEYS_BUDGETS_LOCK};
	struct keys_text text;

	if (keys_build(&id, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a key without names");
	return pl_arena_dup(arena, keys_span(&text));
}

uint32_t evict_budgets_op_count(const struct evict_budgets *budgets)
{
	return budgets->namespaces == 0 ? 0 : budgets->namespaces + 1;
}

enum pl_code evict_budgets_ops(struct evict_budgets *budgets, struct pl_arena *arena,
                               struct kv_req *op)
{
	struct pl_span lock;

	if (budgets->namespaces == 0)
		return PL_OK;
	lock = lock_key(arena);
	if (lock.at == NULL)
		return PL_NOMEM;
	op[budgets->namespaces] = kv_op_get(kv_key(lock));
	for (uint32_t i = 0; i < budgets->namespaces; i++) {
		struct pl_span prefix = prefix_of(budgets, i, arena);

		if (prefix.at == NULL)
			return PL_NOMEM;
		op[i] = kv_op_get(kv_prefix(prefix));
	}
	return PL_OK;
}

static bool grow_budgets(struct evict_budgets *budgets)
{
	uint32_t cap = budgets->cap == 0 ? 16 : budgets->cap * 2;
	struct evict_budget *grown;

	if (budgets->count < budgets->cap)
		return true;
	grown = pl_realloc(budgets->budget, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	budgets->budget = grown;
	budgets->cap = cap;
	return true;
}

static enum pl_code read_one(struct evict_budgets *budgets,
                             const struct kv_record *record, struct evict_budget *out,
                             struct pl_err *err)
{
	struct parse parse = {.model = budgets->model, .arena = &budgets->arena};
	struct pl_span key = pl_arena_dup(&budgets->arena, record->key);
	struct keys_id id;
	enum pl_code code;

	*out = (struct evict_budget){.rev = record->mod_revision};
	if (key.at == NULL)
		return pl_err_set(err, PL_NOMEM, "read a budget");
	code = keys_parse(key, &id, err);
	if (code == PL_OK)
		code = keys_build(&id, &out->key, err);
	if (code == PL_OK)
		code = budget_record_parse(record->value, &budgets->arena, &out->found,
		                           err);
	if (code == PL_OK)
		code = budget_record_object(&out->found, &parse, id.scope, id.name,
		                            &out->object, err);
	out->namespace = id.scope;
	out->name = id.name;
	return code;
}

static bool is_lock(const struct kv_record *record)
{
	struct keys_id id;

	return keys_parse(record->key, &id, NULL) == PL_OK &&
	       id.kind == KEYS_BUDGETS_LOCK;
}

enum pl_code evict_budgets_read(struct evict_budgets *budgets,
                                const struct kv_get_result *found, struct pl_err *err)
{
	for (size_t i = 0; i < found->count; i++) {
		struct pl_err why = {0};

		if (is_lock(&found->records[i])) {
			budgets->lock_rev = found->records[i].mod_revision;
			continue;
		}
		if (!grow_budgets(budgets))
			return pl_err_set(err, PL_NOMEM, "read the budgets");
		if (read_one(budgets, &found->records[i],
		             &budgets->budget[budgets->count], &why) == PL_OK)
			budgets->count++;
		else if (why.code == PL_NOMEM)
			return pl_err_set(err, PL_NOMEM, "read the budgets");
	}
	return PL_OK;
}

/* -- disruptions ------------------------------------------------------------------- */

void evict_budgets_release(struct evict_budgets *budgets)
{
	for (uint32_t i = 0; i < budgets->count; i++) {
		budgets->budget[i].updated = budgets->budget[i].found;
		budgets->budget[i].touched = false;
	}
	budgets->used = false;
}

static bool budget_covers_pod(const struct evict_budgets *budgets,
                              const struct evict_budget *budget, struct pl_span namespace,
                              const struct labels *labels)
{
	return pl_span_eq(budget->namespace, namespace) &&
	       budget_covers(&budgets->model->strings, &budget->object, labels);
}

/* Whether the budget can not note another disrupted pod. Each pod that goes is noted
 * until the counter has counted it. */
static bool is_full(const struct evict_budget *budget)
{
	return budget->updated.disrupted_count >= BUDGET_DISRUPTED_MAX;
}

const struct evict_budget *evict_budgets_against(const struct evict_budgets *budgets,
                                                 struct pl_span namespace,
                                                 const struct labels *labels, bool past)
{
	for (uint32_t i = 0; i < budgets->count; i++) {
		const struct evict_budget *budget = &budgets->budget[i];

		if (budget_covers_pod(budgets, budget, namespace, labels) &&
		    (is_full(budget) ||
		     (!past && !budget_record_allows(&budget->updated, 1))))
			return budget;
	}
	return NULL;
}

enum pl_code evict_budgets_disrupt(struct evict_budgets *budgets,
                                   struct pl_span namespace, const struct labels *labels,
                                   struct pl_span name, int64_t state_rev,
                                   struct pl_err *err)
{
	const struct budget_disrupted pod = {name, state_rev};
	enum pl_code code = PL_OK;

	budgets->used = true;
	for (uint32_t i = 0; i < budgets->count && code == PL_OK; i++) {
		struct evict_budget *budget = &budgets->budget[i];

		if (!budget_covers_pod(budgets, budget, namespace, labels))
			continue;
		budget->touched = true;
		code = budget_record_disrupt(&budget->updated, &pod, 1, &budgets->arena,
		                             &budget->updated, err);
	}
	return code;
}

static bool build_budget(struct evict_budgets *budgets, struct txn_builder *builder,
                         const struct evict_budget *budget)
{
	struct pl_buf buf;
	struct pl_span value = {0};
	bool fits = false;

	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	if (budget_record_print(&budget->updated, &buf, NULL) == PL_OK)
		value = pl_arena_dup(&budgets->arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	if (value.at == NULL)
		builder->code = PL_NOMEM;
	else
		fits = builder_put(builder, keys_span(&budget->key), budget->rev, value);
	return fits;
}

bool evict_budgets_build(struct evict_budgets *budgets, struct txn_builder *builder)
{
	struct pl_span lock;

	for (uint32_t i = 0; i < budgets->count; i++)
		if (budgets->budget[i].touched &&
		    !build_budget(budgets, builder, &budgets->budget[i]))
			return false;
	if (!budgets->used)
		return true;
	lock = lock_key(builder->arena);
	if (lock.at == NULL)
		builder->code = PL_NOMEM;
	return lock.at != NULL && builder_expect(builder, lock, budgets->lock_rev);
}
