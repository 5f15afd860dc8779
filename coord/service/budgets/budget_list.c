#include "coord/service/budgets/budget_list.h"

#include <stdlib.h>

#include "coord/service/base/key_list.h"
#include "shardsched/model/parse.h"
#include "store/base/alloc.h"

enum { CHUNK = 1 << 20 };

struct budget_list {
	struct budget_list_opts opts;
	struct key_list *keys; /* NULL: done */
	bool listed;           /* the one prefix was asked for */
	struct model model;
	struct pl_arena arena, scratch; /* of what was found; of one value */
	struct budget_info *budget;
	size_t count, cap;
};

static bool grow_budgets(struct budget_list *list)
{
	size_t cap = list->cap == 0 ? 64 : list->cap * 2;
	struct budget_info *grown = NULL;

	if (list->count < list->cap)
		return true;
	if (cap <= BUDGET_LIST_MAX)
		grown = pl_realloc(list->budget, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	list->budget = grown;
	list->cap = cap;
	return true;
}

static enum pl_code read_budget(struct budget_list *list, const struct keys_id *id,
                                struct pl_span value, struct budget_info *out,
                                struct pl_err *err)
{
	struct parse parse = {.model = &list->model, .arena = &list->scratch};
	struct budget_record record = {0};
	struct budget budget = {0};
	enum pl_code code;

	pl_arena_reset(&list->scratch);
	code = budget_record_parse(value, &list->scratch, &record, err);
	if (code == PL_OK)
		code = budget_record_object(&record, &parse, id->scope, id->name, &budget,
		                            err);
	out->rule = budget.rule;
	out->counted = record.counted;
	out->status = record.status;
	out->disrupted = record.disrupted_count;
	budget_drop(&list->model, &budget);
	return code;
}

static enum pl_code on_budget(void *ctx, const struct kv_record *record,
                              struct pl_err *err)
{
	struct budget_list *list = ctx;
	struct pl_err why = {0};
	struct budget_info *out;
	struct keys_id id;
	enum pl_code code;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_BUDGET)
		return PL_OK;
	if (!grow_budgets(list))
		return pl_err_set(err, PL_NOMEM, "keep the budgets");
	out = &list->budget[list->count];
	*out = (struct budget_info){.namespace = pl_arena_dup(&list->arena, id.scope),
	                            .name = pl_arena_dup(&list->arena, id.name)};
	code = read_budget(list, &id, record->value, out, &why);
	if (code != PL_OK && code != PL_NOMEM)
		out->note = pl_arena_dup(&list->arena, pl_span_str(why.msg));
	if (code == PL_NOMEM || out->namespace.at == NULL || out->name.at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the budgets");
	list->count++;
	return PL_OK;
}

static enum pl_code on_prefix(void *ctx, struct keys_text *out, struct pl_err *err)
{
	struct budget_list *list = ctx;
	const struct keys_id id = {.kind = KEYS_BUDGET, .scope = list->opts.namespace};

	if (list->listed)
		return PL_NOTFOUND;
	list->listed = true;
	return keys_prefix(&id, id.scope.len == 0 ? 1 : 2, out, err);
}

static void on_done(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct budget_list *list = ctx;

	(void)revision;
	list->keys = NULL;
	list->opts.done(list->opts.ctx, err);
}

enum pl_code budget_list_start(const struct service *service,
                               const struct budget_list_opts *opts,
                               struct budget_list **out, struct pl_err *err)
{
	struct budget_list *list = pl_calloc(1, sizeof *list);
	struct key_list_opts keys = {
		.prefix = on_prefix, .each = on_budget, .done = on_done, .ctx = list};

	if (list == NULL)
		return pl_err_set(err, PL_NOMEM, "list the budgets");
	list->opts = *opts;
	if (key_list_start(service, &keys, &list->keys, err) != PL_OK) {
		free(list);
		return err->code;
	}
	model_init(&list->model);
	pl_arena_init(&list->arena, CHUNK, 0);
	pl_arena_init(&list->scratch, CHUNK, READER_ARENA_MAX);
	*out = list;
	return PL_OK;
}

void budget_list_cancel(struct budget_list *list)
{
	key_list_cancel(list->keys);
}

void budget_list_free(struct budget_list *list)
{
	if (list == NULL)
		return;
	PL_ASSERT(list->keys == NULL);
	pl_arena_done(&list->scratch);
	pl_arena_done(&list->arena);
	model_done(&list->model);
	free(list->budget);
	free(list);
}

const struct budget_info *budget_list_budgets(const struct budget_list *list,
                                              size_t *count)
{
	*count = list->count;
	return list->budget;
}
