#include "coord/service/budgets/budget_edit.h"

#include <stdlib.h>

#include "coord/service/base/sequence.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"

enum { TRIES_MAX = 32, ARENA_MAX = 64 << 20 };

struct budget_edit {
	struct sequence sequence;
	budget_edit_fn *done;
	void *ctx;
	bool deletes;
	struct budget_object budget; /* that is put */
	int64_t seen;                /* revision that the edit was made from */
	struct keys_text key;
	unsigned tries;             /* that have been committed */
	bool unsure;                /* one of them may have been applied */
	enum budget_outcome first;  /* outcome that the first try wanted */
	enum budget_outcome wanted; /* outcome that this try wants */
	struct pl_arena arena;      /* of a try */
	int64_t rev;                /* as read; 0: the budget is absent */
	struct pl_span value;
	struct txn_builder builder;
};

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err);

/* revision: of the budget as it stands now; 0: it is not known, or absent. */
static void edit_finish(struct budget_edit *edit, enum budget_outcome outcome,
                        int64_t revision, const struct pl_err *err)
{
	budget_edit_fn *done = edit->done;
	void *ctx = edit->ctx;
	struct pl_err why = {0};

	if (err != NULL)
		why = *err;
	sequence_done(&edit->sequence);
	pl_arena_done(&edit->arena);
	free(edit);
	done(ctx, outcome, revision, err == NULL ? NULL : &why);
}

static void read_budget(struct budget_edit *edit)
{
	struct kv_req req = kv_op_get(kv_key(keys_span(&edit->key)));

	sequence_send(&edit->sequence, &req, on_read);
}

/* -- deciding ------------------------------------------------------------- */

/* The budget that is put, with what was counted of the one that stands there. */
static enum pl_code merge_spec(struct budget_edit *edit, struct budget_record *record,
                               bool *same, struct pl_err *err)
{
	const struct budget_object *given = &edit->budget;
	struct budget was = {0}, is = {0};
	struct parse parse = {.arena = &edit->arena};
	struct model model;
	enum pl_code code;

	model_init(&model);
	parse.model = &model;
	code = budget_record_parse(edit->value, &edit->arena, record, err);
	if (code == PL_OK)
		code = budget_record_object(record, &parse, given->namespace, given->name,
		                            &was, err);
	if (code != PL_OK)
		pl_err_wrap(err, "the budget in the store is malformed; delete it first");
	if (code == PL_OK)
		code = budget_object_check(&model, &edit->arena, given->object, &is, err);
	if (code == PL_OK && was.selector != is.selector)
		code = pl_err_set(
			err, PL_EXISTS,
			"spec.selector: the budget exists with another selector, which can not be changed; delete it first");
	*same = code == PL_OK && pl_span_eq(record->object, given->object);
	if (code == PL_OK && record->counted)
		record->status = budget_status_of(is.rule, record->status.expected,
		                                  record->status.healthy);
	record->object = given->object;
	budget_drop(&model, &was);
	budget_drop(&model, &is);
	model_done(&model);
	return code;
}

static enum pl_code print_record(struct budget_edit *edit,
                                 const struct budget_record *record, struct pl_span *out,
                                 struct pl_err *err)
{
	struct pl_buf buf;
	enum pl_code code;

	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	code = budget_record_print(record, &buf, err);
	if (code == PL_OK)
		*out = pl_arena_dup(&edit->arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	if (code == PL_OK && out->at == NULL)
		code = pl_err_set(err, PL_NOMEM, "write a budget");
	return code;
}

static void bump_lock(struct budget_edit *edit)
{
	const struct keys_id id = {.kind = KEYS_BUDGETS_LOCK};
	struct pl_span kept;
	struct keys_text key;

	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a key without names");
	kept = pl_arena_dup(&edit->arena, keys_span(&key));
	if (kept.at == NULL)
		edit->builder.code = PL_NOMEM;
	else
		(void)builder_bump(&edit->builder, kept, PL_SPAN_LIT("{\"v\":1}"));
}

/* The budget is not the one that the client saw. */
static enum pl_code fail_changed(struct pl_err *err)
{
	return pl_err_set(err, PL_CONFLICT, "the budget has changed since it was read");
}

/* Whether another client has written since. A try of this edit may have been applied. */
static bool is_other(const struct budget_edit *edit)
{
	return edit->seen != BUDGET_ANY_REVISION && edit->rev != edit->seen;
}

/* *writes: a transaction was built; else the edit ends with edit->wanted. */
static enum pl_code decide_put(struct budget_edit *edit, bool *writes, struct pl_err *err)
{
	struct budget_record record = {.object = edit->budget.object};
	struct pl_span value;
	bool same = false;
	enum pl_code code = PL_OK;

	if (is_other(edit) && !edit->unsure)
		return fail_changed(err);
	if (edit->rev != 0)
		code = merge_spec(edit, &record, &same, err);
	if (code == PL_OK && is_other(edit) && !same)
		code = fail_changed(err);
	edit->wanted = same             ? BUDGET_UNCHANGED
	               : edit->rev == 0 ? BUDGET_CREATED
	                                : BUDGET_CHANGED;
	*writes = code == PL_OK && !same;
	if (*writes)
		code = print_record(edit, &record, &value, err);
	if (!*writes || code != PL_OK)
		return code;
	(void)builder_put(&edit->builder, keys_span(&edit->key), edit->rev, value);
	if (edit->rev == 0)
		bump_lock(edit);
	return PL_OK;
}

/* A budget that is gone after a try was deleted by that, as far as can be known. */
static enum pl_code decide_delete(struct budget_edit *edit, bool *writes,
                                  struct pl_err *err)
{
	edit->wanted = BUDGET_DELETED;
	*writes = edit->rev != 0;
	if (edit->rev == 0)
		return edit->tries > 0 ? PL_OK
		                       : pl_err_set(err, PL_NOTFOUND, "no such budget");
	if (is_other(edit))
		return fail_changed(err);
	(void)builder_delete(&edit->builder, keys_span(&edit->key), edit->rev);
	bump_lock(edit);
	return PL_OK;
}

/* -- reading and committing ----------------------------------------------- */

static void on_committed(void *ctx, const struct kv_result *result,
                         const struct pl_err *err)
{
	struct budget_edit *edit = ctx;
	struct pl_err often;

	if (err != NULL && err->code != PL_UNKNOWN) {
		edit_finish(edit, edit->wanted, 0, err);
		return;
	}
	if (err == NULL && result->txn.succeeded) {
		edit_finish(edit, edit->wanted, result->header.revision, NULL);
		return;
	}
	edit->unsure = edit->unsure || err != NULL;
	/* A change by another client, or an unknown outcome: the next read shows it. */
	if (++edit->tries < TRIES_MAX) {
		read_budget(edit);
		return;
	}
	(void)pl_err_set(&often, PL_CONFLICT, "the budget changes again and again");
	edit_finish(edit, edit->wanted, 0, &often);
}

static void decide(struct budget_edit *edit)
{
	struct pl_err err = {0};
	struct kv_req req;
	bool writes = false;
	enum pl_code code;

	builder_begin(&edit->builder, &edit->arena, kv_limits(edit->sequence.kv));
	code = edit->deletes ? decide_delete(edit, &writes, &err)
	                     : decide_put(edit, &writes, &err);
	if (code == PL_OK && writes && edit->builder.code != PL_OK)
		code = pl_err_set(&err, edit->builder.code, "write a budget");
	if (edit->tries == 0)
		edit->first = edit->wanted;
	if (code != PL_OK || !writes) {
		/* The value of the try before stands there: it was applied. */
		edit_finish(edit,
		            edit->wanted == BUDGET_UNCHANGED ? edit->first : edit->wanted,
		            edit->rev, code == PL_OK ? NULL : &err);
		return;
	}
	builder_req(&edit->builder, &req);
	sequence_send(&edit->sequence, &req, on_committed);
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct budget_edit *edit = ctx;
	struct pl_err no_memory;

	if (err != NULL) {
		edit_finish(edit, edit->wanted, 0, err);
		return;
	}
	pl_arena_reset(&edit->arena);
	edit->rev = 0;
	if (result->get.count > 0) {
		edit->rev = result->get.records[0].mod_revision;
		edit->value = pl_arena_dup(&edit->arena, result->get.records[0].value);
	}
	if (edit->rev == 0 || edit->value.at != NULL) {
		decide(edit);
		return;
	}
	(void)pl_err_set(&no_memory, PL_NOMEM, "keep a budget");
	edit_finish(edit, edit->wanted, 0, &no_memory);
}

/* -- life ----------------------------------------------------------------- */

static enum pl_code edit_start(const struct service *service,
                               const struct budget_edit *what, struct budget_edit **out,
                               struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_BUDGET,
	                           .scope = what->budget.namespace,
	                           .name = what->budget.name};
	struct budget_edit *edit = pl_calloc(1, sizeof *edit);

	if (edit == NULL)
		return pl_err_set(err, PL_NOMEM, "edit a budget");
	*edit = *what;
	if (keys_build(&id, &edit->key, err) != PL_OK ||
	    sequence_init(&edit->sequence, service->kv, service->timeout_ms, edit, err) !=
	            PL_OK) {
		free(edit);
		return err->code;
	}
	pl_arena_init(&edit->arena, 0, ARENA_MAX);
	read_budget(edit);
	*out = edit;
	return PL_OK;
}

enum pl_code budget_put_start(const struct service *service,
                              const struct budget_object *budget, int64_t seen,
                              budget_edit_fn *done, void *ctx, struct budget_edit **out,
                              struct pl_err *err)
{
	const struct budget_edit what = {
		.budget = *budget, .seen = seen, .done = done, .ctx = ctx};

	return edit_start(service, &what, out, err);
}

enum pl_code budget_delete_start(const struct service *service, struct pl_span namespace,
                                 struct pl_span name, int64_t seen, budget_edit_fn *done,
                                 void *ctx, struct budget_edit **out, struct pl_err *err)
{
	const struct budget_edit what = {.budget = {.namespace = namespace, .name = name},
	                                 .seen = seen,
	                                 .deletes = true,
	                                 .done = done,
	                                 .ctx = ctx};

	return edit_start(service, &what, out, err);
}

void budget_edit_cancel(struct budget_edit *edit)
{
	sequence_cancel(&edit->sequence);
}
