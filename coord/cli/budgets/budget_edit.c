#include "coord/cli/budgets/budget_edit.h"

#include "shardsched/records/txn_builder.h"
#include "store/kv/calls.h"

enum { TRIES_MAX = 32 };

/* -- what stands there --------------------------------------------------------------- */

struct budget_edit {
	struct store_session *session;
	struct keys_text key;
	int64_t rev; /* 0: it is not there */
	struct pl_span value;
	struct txn_builder builder;
};

static enum pl_code edit_begin(struct budget_edit *edit, struct pl_span namespace,
                               struct pl_span name, struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_BUDGET, .scope = namespace, .name = name};

	return keys_build(&id, &edit->key, err);
}

static enum pl_code read_budget(struct budget_edit *edit, struct pl_err *err)
{
	struct kv_req req = kv_op_get(kv_key(keys_span(&edit->key)));
	struct kv_result result;
	enum pl_code code;

	pl_arena_reset(&edit->session->arena);
	code = store_session_call(edit->session, &req, &result, err);
	edit->rev = 0;
	if (code == PL_OK && result.get.count > 0) {
		edit->rev = result.get.records[0].mod_revision;
		edit->value = result.get.records[0].value;
	}
	return code;
}

/* PL_CONFLICT: look again. What nobody knows the outcome of is seen then. */
static enum pl_code commit_budget(struct budget_edit *edit, struct pl_err *err)
{
	struct kv_result result;
	struct kv_req req;
	enum pl_code code;

	if (edit->builder.code != PL_OK)
		return pl_err_set(err, edit->builder.code, "write a budget");
	builder_req(&edit->builder, &req);
	code = store_session_call(edit->session, &req, &result, err);
	if (code == PL_UNKNOWN || (code == PL_OK && !result.txn.succeeded))
		return PL_CONFLICT;
	return code;
}

/* Who goes by what budgets there are compares it. */
static void bump_policy_lock(struct budget_edit *edit)
{
	const struct keys_id id = {.kind = KEYS_BUDGETS_LOCK};
	struct pl_span kept;
	struct keys_text key;

	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a key without names");
	kept = pl_arena_dup(&edit->session->arena, keys_span(&key));
	if (kept.at == NULL)
		edit->builder.code = PL_NOMEM;
	else
		(void)builder_bump(&edit->builder, kept, PL_SPAN_LIT("{\"v\":1}"));
}

static enum pl_code too_many_conflicts(struct pl_err *err)
{
	return pl_err_set(err, PL_CONFLICT, "the budget changes again and again");
}

/* -- putting ------------------------------------------------------------------------- */

/* With what was counted, by its own rule. */
static enum pl_code merge_spec(struct pl_arena *arena, const struct budget_edit *edit,
                               const struct budget_object *given,
                               struct budget_record *record, bool *same,
                               struct pl_err *err)
{
	struct budget was = {0}, is = {0};
	struct parse parse = {.arena = arena};
	struct model model;
	enum pl_code code;

	model_init(&model);
	parse.model = &model;
	code = budget_record_parse(edit->value, arena, record, err);
	if (code == PL_OK)
		code = budget_record_object(record, &parse, given->namespace, given->name,
		                            &was, err);
	if (code != PL_OK)
		pl_err_wrap(err, "what stands there makes no sense; delete it first");
	if (code == PL_OK)
		code = budget_object_check(&model, arena, given->object, &is, err);
	if (code == PL_OK && was.selector != is.selector)
		code = pl_err_set(err, PL_EXISTS,
		                  "spec.selector: it is there with another one, which is "
		                  "not changed; delete it first");
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

static enum pl_code try_put(struct budget_edit *edit, const struct budget_object *given,
                            enum budget_outcome *outcome, struct pl_err *err)
{
	struct budget_record record = {.object = given->object};
	struct pl_arena *arena = &edit->session->arena;
	struct pl_span value;
	struct pl_buf buf;
	bool same = false;
	enum pl_code code = read_budget(edit, err);

	if (code == PL_OK && edit->rev != 0)
		code = merge_spec(arena, edit, given, &record, &same, err);
	*outcome = same             ? BUDGET_UNCHANGED
	           : edit->rev == 0 ? BUDGET_CREATED
	                            : BUDGET_CHANGED;
	if (code != PL_OK || same)
		return code;
	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	code = budget_record_print(&record, &buf, err);
	value = code == PL_OK ? pl_arena_dup(arena, pl_buf_span(&buf))
	                      : (struct pl_span){0};
	pl_buf_done(&buf);
	if (code == PL_OK && value.at == NULL)
		code = pl_err_set(err, PL_NOMEM, "write a budget");
	if (code != PL_OK)
		return code;
	builder_begin(&edit->builder, arena, kv_limits(edit->session->kv));
	(void)builder_put(&edit->builder, keys_span(&edit->key), edit->rev, value);
	if (edit->rev == 0)
		bump_policy_lock(edit);
	return commit_budget(edit, err);
}

enum pl_code budget_put(struct store_session *session, const struct budget_object *given,
                        enum budget_outcome *outcome, struct pl_err *err)
{
	struct budget_edit edit = {.session = session};
	enum budget_outcome first = BUDGET_UNCHANGED;
	enum pl_code code = edit_begin(&edit, given->namespace, given->name, err);

	for (unsigned i = 0; code == PL_OK && i < TRIES_MAX; i++) {
		code = try_put(&edit, given, outcome, err);
		if (i == 0)
			first = *outcome;
		if (code == PL_OK && *outcome == BUDGET_UNCHANGED)
			*outcome = first; /* the try before was ours, as far as we know */
		if (code != PL_CONFLICT)
			return code;
		code = PL_OK;
	}
	return code == PL_OK ? too_many_conflicts(err) : code;
}

/* -- deleting ------------------------------------------------------------------------ */

enum pl_code budget_delete(struct store_session *session, struct pl_span namespace,
                           struct pl_span name, struct pl_err *err)
{
	struct budget_edit edit = {.session = session};
	enum pl_code code = edit_begin(&edit, namespace, name, err);

	for (unsigned i = 0; code == PL_OK && i < TRIES_MAX; i++) {
		code = read_budget(&edit, err);
		if (code == PL_OK && edit.rev == 0)
			return i > 0 ? PL_OK
			             : pl_err_set(err, PL_NOTFOUND, "no such budget");
		if (code != PL_OK)
			return code;
		builder_begin(&edit.builder, &session->arena, kv_limits(session->kv));
		(void)builder_delete(&edit.builder, keys_span(&edit.key), edit.rev);
		bump_policy_lock(&edit);
		code = commit_budget(&edit, err);
		if (code != PL_CONFLICT)
			return code;
		code = PL_OK;
	}
	return code == PL_OK ? too_many_conflicts(err) : code;
}
