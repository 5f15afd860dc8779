#include "shardsched/budget/counter.h"

#include <stdlib.h>

#include "shardsched/budget/counter_inner.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 16 << 10 };

static struct counted_budget *counted_budget_at(struct pl_map_node *at)
{
	return PL_CONTAINER_OF(at, struct counted_budget, by_name);
}

void counted_budget_touch(struct counter *counter, struct counted_budget *budget)
{
	if (counted_budget_is_good(budget) && pl_list_empty(&budget->dirty))
		pl_list_add_tail(&counter->dirty, &budget->dirty);
}

/* -- namespaces --------------------------------------------------------------------- */

static struct pl_span name_key(const uint32_t *name)
{
	return pl_span(name, sizeof *name);
}

struct budget_namespace *namespace_find(const struct counter *counter,
                                        struct pl_span name)
{
	uint32_t id = strings_find(&counter->model.strings, name);
	struct pl_map_node *at =
		id == 0 ? NULL : pl_map_get(&counter->namespaces, name_key(&id));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct budget_namespace, by_name);
}

static struct budget_namespace *namespace_get(struct counter *counter,
                                              struct pl_span name)
{
	struct budget_namespace *namespace = namespace_find(counter, name);

	if (namespace != NULL)
		return namespace;
	namespace = pl_calloc(1, sizeof *namespace);
	if (namespace == NULL)
		return NULL;
	if (strings_add(&counter->model.strings, name, &namespace->name) != PL_OK) {
		free(namespace);
		return NULL;
	}
	pl_list_init(&namespace->budgets);
	pl_list_init(&namespace->label_sets);
	(void)!pl_map_add(&counter->namespaces, &namespace->by_name,
	                  name_key(&namespace->name));
	return namespace;
}

static void namespace_tidy(struct counter *counter, struct budget_namespace *namespace)
{
	if (!pl_list_empty(&namespace->budgets))
		return;
	pods_forget(counter, namespace);
	PL_ASSERT(pl_list_empty(&namespace->label_sets));
	pl_map_del(&counter->namespaces, &namespace->by_name);
	strings_unref(&counter->model.strings, namespace->name);
	free(namespace);
}

/* -- budgets ------------------------------------------------------------------------ */

static struct counted_budget *counted_budget_find(const struct counter *counter,
                                                  const struct keys_id *id)
{
	const struct strings *strings = &counter->model.strings;
	const uint32_t key[2] = {strings_find(strings, id->scope),
	                         strings_find(strings, id->name)};
	struct pl_map_node *at =
		key[0] == 0 || key[1] == 0
			? NULL
			: pl_map_get(&counter->budgets, pl_span(key, sizeof key));

	return at == NULL ? NULL : counted_budget_at(at);
}

static struct counted_budget *counted_budget_get(struct counter *counter,
                                                 const struct keys_id *id)
{
	struct strings *strings = &counter->model.strings;
	struct counted_budget *budget = counted_budget_find(counter, id);

	if (budget != NULL)
		return budget;
	budget = pl_calloc(1, sizeof *budget);
	if (budget == NULL)
		return NULL;
	budget->namespace = namespace_get(counter, id->scope);
	if (budget->namespace == NULL ||
	    strings_add(strings, id->scope, &budget->key[0]) != PL_OK ||
	    strings_add(strings, id->name, &budget->key[1]) != PL_OK) {
		strings_unref(strings, budget->key[0]);
		if (budget->namespace != NULL)
			namespace_tidy(counter, budget->namespace);
		free(budget);
		return NULL;
	}
	pl_list_init(&budget->dirty);
	pl_list_init(&budget->noting);
	pl_list_add_tail(&budget->namespace->budgets, &budget->of_namespace);
	(void)!pl_map_add(&counter->budgets, &budget->by_name,
	                  pl_span(budget->key, sizeof budget->key));
	return budget;
}

void counted_budget_free(struct counter *counter, struct counted_budget *budget)
{
	strings_unref(&counter->model.strings, budget->key[0]);
	strings_unref(&counter->model.strings, budget->key[1]);
	free(budget->value);
	free(budget->sent);
	free(budget);
}

/* To be called when a budget has come or gone, or has another selector. */
static enum pl_code match_all(struct counter *counter,
                              const struct budget_namespace *namespace)
{
	enum pl_code code = PL_OK;

	PL_LIST_EACH (link, &namespace->label_sets)
		if (code == PL_OK)
			code = label_set_match(
				counter,
				PL_LIST_ITEM(link, struct label_set, of_namespace));
	return code;
}

static void set_budget_state(struct counted_budget *budget, enum counted_state state)
{
	PL_ASSERT(budget->state != COUNTED_GONE);
	PL_ASSERT((budget->value != NULL) ==
	          (state == COUNTED_NOT_YET || state == COUNTED_ONCE));
	budget->state = state;
}

static void counted_budget_unset(struct counter *counter, struct counted_budget *budget)
{
	budget_drop(&counter->model, &budget->object);
	free(PL_STEAL(budget->value));
	set_budget_state(budget, COUNTED_MALFORMED);
	pl_list_del(&budget->dirty);
	pl_list_del(&budget->noting);
}

static void counted_budget_drop(struct counter *counter, struct counted_budget *budget)
{
	struct budget_namespace *namespace = budget->namespace;

	counted_budget_unset(counter, budget);
	pl_list_del(&budget->of_namespace);
	pl_map_del(&counter->budgets, &budget->by_name);
	/* Matching less needs no memory. */
	if (match_all(counter, namespace) != PL_OK)
		PL_UNREACHABLE("a match that grew");
	namespace_tidy(counter, namespace);
	budget->namespace = NULL;
	set_budget_state(budget, COUNTED_GONE);
	if (budget->sent != NULL)
		pl_list_add_tail(&counter->gone, &budget->dirty);
	else
		counted_budget_free(counter, budget);
}

static enum pl_code read_budget(struct counter *counter, const struct counted_budget *of,
                                struct pl_span value, struct budget_record *record,
                                struct budget *out, struct pl_err *err)
{
	struct parse parse = {.model = &counter->model, .arena = &counter->arena};
	enum pl_code code;

	pl_arena_reset(&counter->arena);
	code = budget_record_parse(value, &counter->arena, record, err);
	if (code != PL_OK)
		return code;
	return budget_record_object(record, &parse,
	                            model_text(&counter->model, of->key[0]),
	                            model_text(&counter->model, of->key[1]), out, err);
}

static enum pl_code replace_value(struct counter *counter, struct counted_budget *budget,
                                  const struct kv_record *record, struct pl_err *err)
{
	struct budget object = {0};
	struct budget_record stored = {0};
	bool alike;
	enum pl_code code =
		read_budget(counter, budget, record->value, &stored, &object, err);
	uint8_t *copy = code == PL_OK ? pl_malloc(record->value.len) : NULL;

	if (code == PL_OK && copy == NULL)
		code = pl_err_set(err, PL_NOMEM, "keep a budget");
	if (code != PL_OK || copy == NULL) {
		budget_drop(&counter->model, &object);
		return code;
	}
	memcpy(copy, record->value.at, record->value.len);
	alike = counted_budget_is_good(budget) &&
	        budget->object.selector == object.selector;
	counted_budget_unset(counter, budget);
	budget->object = object;
	budget->value = copy;
	budget->len = record->value.len;
	set_budget_state(budget, stored.counted ? COUNTED_ONCE : COUNTED_NOT_YET);
	if (!stored.counted || stored.disrupted_count > 0)
		pl_list_add_tail(&counter->noting, &budget->noting);
	counted_budget_touch(counter, budget);
	code = alike ? PL_OK : match_all(counter, budget->namespace);
	return code == PL_OK ? PL_OK
	                     : pl_err_set(err, code, "count the pods of a budget");
}

enum pl_code counted_budget_set(struct counter *counter, struct counted_budget *budget,
                                const struct kv_record *record, struct pl_err *err)
{
	enum pl_code code = replace_value(counter, budget, record, err);

	budget->rev = code == PL_NOMEM ? 0 : record->mod_revision;
	if (code == PL_OK)
		return PL_OK;
	counted_budget_unset(counter, budget);
	if (match_all(counter, budget->namespace) != PL_OK)
		PL_UNREACHABLE("a match that grew");
	return code;
}

enum pl_code counter_budget(struct counter *counter, const struct keys_id *id,
                            const struct kv_record *record, struct pl_err *err)
{
	struct counted_budget *budget;

	PL_ASSERT(id->kind == KEYS_BUDGET);
	if (record == NULL) {
		budget = counted_budget_find(counter, id);
		if (budget != NULL)
			counted_budget_drop(counter, budget);
		return PL_OK;
	}
	budget = counted_budget_get(counter, id);
	if (budget == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a budget");
	budget->seen = counter->budgets_seen;
	if (record->mod_revision <= budget->rev)
		return PL_OK;
	return counted_budget_set(counter, budget, record, err);
}

void counter_budgets_begin(struct counter *counter)
{
	counter->budgets_seen++;
}

void counter_budgets_end(struct counter *counter)
{
	PL_MAP_EACH (at, &counter->budgets)
		if (counted_budget_at(at)->seen != counter->budgets_seen)
			counted_budget_drop(counter, counted_budget_at(at));
}

/* -- life --------------------------------------------------------------------------- */

enum pl_code counter_new(uint32_t pods_max, struct counter **out, struct pl_err *err)
{
	struct counter *counter = pl_calloc(1, sizeof *counter);

	if (counter == NULL)
		return pl_err_set(err, PL_NOMEM, "count the pods of budgets");
	model_init(&counter->model);
	pl_arena_init(&counter->arena, ARENA_CHUNK, READER_ARENA_MAX);
	pl_buf_init(&counter->buf, BUDGET_BYTES_MAX);
	pl_map_init(&counter->budgets);
	pl_map_init(&counter->namespaces);
	pl_map_init(&counter->label_sets);
	pl_map_init(&counter->pods);
	pl_list_init(&counter->dirty);
	pl_list_init(&counter->noting);
	pl_list_init(&counter->gone);
	counter->pods_max = pods_max == 0 ? COUNTER_PODS_MAX : pods_max;
	*out = counter;
	return PL_OK;
}

void counter_forget(struct counter *counter)
{
	PL_MAP_EACH (at, &counter->budgets)
		counted_budget_drop(counter, counted_budget_at(at));
	PL_ASSERT(counter->pods.count == 0 && counter->label_sets.count == 0);
	counter->listing = false;
	counter->view_rev = 0;
	counter->stale_ms = 0;
}

void counter_free(struct counter *counter)
{
	if (counter == NULL)
		return;
	counter_forget(counter);
	PL_LIST_EACH (link, &counter->gone) {
		pl_list_del(link);
		counted_budget_free(counter,
		                    PL_LIST_ITEM(link, struct counted_budget, dirty));
	}
	pl_map_done(&counter->budgets);
	pl_map_done(&counter->namespaces);
	pl_map_done(&counter->label_sets);
	pl_map_done(&counter->pods);
	pl_buf_done(&counter->buf);
	pl_arena_done(&counter->arena);
	model_done(&counter->model);
	free(counter);
}
