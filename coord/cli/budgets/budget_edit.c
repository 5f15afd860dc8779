#include "coord/cli/budgets/budget_edit.h"

#include "shardsched/ledger/book.h"
#include "store/kv/calls.h"

enum { TRIES_MAX = 32 };

/* -- what stands there --------------------------------------------------------------- */

struct edit {
	struct store_session *session;
	struct keys_text key;
	int64_t rev; /* 0: it is not there */
	struct pl_span value;
	struct book book;
};

static enum pl_code begin(struct edit *edit, struct pl_span space, struct pl_span name,
                          struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_BUDGET, .scope = space, .name = name};

	return keys_build(&id, &edit->key, err);
}

static enum pl_code look(struct edit *edit, struct pl_err *err)
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
static enum pl_code commit(struct edit *edit, struct pl_err *err)
{
	struct kv_result result;
	struct kv_req req;
	enum pl_code code;

	if (edit->book.code != PL_OK)
		return pl_err_set(err, edit->book.code, "write a budget");
	book_req(&edit->book, &req);
	code = store_session_call(edit->session, &req, &result, err);
	if (code == PL_UNKNOWN || (code == PL_OK && !result.txn.succeeded))
		return PL_CONFLICT;
	return code;
}

/* Who goes by what budgets there are compares it. */
static void bump_lock(struct edit *edit)
{
	const struct keys_id id = {.kind = KEYS_BUDGETS_LOCK};
	struct pl_span kept;
	struct keys_text key;

	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a key without names");
	kept = pl_arena_dup(&edit->session->arena, keys_span(&key));
	if (kept.at == NULL)
		edit->book.code = PL_NOMEM;
	else
		(void)book_bump(&edit->book, kept, PL_SPAN_LIT("{\"v\":1}"));
}

static enum pl_code too_often(struct pl_err *err)
{
	return pl_err_set(err, PL_CONFLICT, "the budget changes again and again");
}

/* -- putting ------------------------------------------------------------------------- */

/* With what was counted, by its own rule. */
static enum pl_code merge(struct pl_arena *arena, const struct edit *edit,
                          const struct budget_given *given, struct budget_record *record,
                          bool *same, struct pl_err *err)
{
	struct budget was = {0}, is = {0};
	struct parse parse = {.arena = arena};
	struct model model;
	enum pl_code code;

	model_init(&model);
	parse.model = &model;
	code = budget_record_parse(edit->value, arena, record, err);
	if (code == PL_OK)
		code = budget_record_object(record, &parse, given->space, given->name,
		                            &was, err);
	if (code != PL_OK)
		pl_err_wrap(err, "what stands there makes no sense; delete it first");
	if (code == PL_OK)
		code = budget_check(&model, arena, given->object, &is, err);
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

static enum pl_code try_put(struct edit *edit, const struct budget_given *given,
                            enum budget_outcome *outcome, struct pl_err *err)
{
	struct budget_record record = {.object = given->object};
	struct pl_arena *arena = &edit->session->arena;
	struct pl_span value;
	struct pl_buf buf;
	bool same = false;
	enum pl_code code = look(edit, err);

	if (code == PL_OK && edit->rev != 0)
		code = merge(arena, edit, given, &record, &same, err);
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
	book_begin(&edit->book, arena, kv_limits(edit->session->kv));
	(void)book_put(&edit->book, keys_span(&edit->key), edit->rev, value);
	if (edit->rev == 0)
		bump_lock(edit);
	return commit(edit, err);
}

enum pl_code budget_put(struct store_session *session, const struct budget_given *given,
                        enum budget_outcome *outcome, struct pl_err *err)
{
	struct edit edit = {.session = session};
	enum budget_outcome first = BUDGET_UNCHANGED;
	enum pl_code code = begin(&edit, given->space, given->name, err);

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
	return code == PL_OK ? too_often(err) : code;
}

/* -- deleting ------------------------------------------------------------------------ */

enum pl_code budget_delete(struct store_session *session, struct pl_span space,
                           struct pl_span name, struct pl_err *err)
{
	struct edit edit = {.session = session};
	enum pl_code code = begin(&edit, space, name, err);

	for (unsigned i = 0; code == PL_OK && i < TRIES_MAX; i++) {
		code = look(&edit, err);
		if (code == PL_OK && edit.rev == 0)
			return i > 0 ? PL_OK
			             : pl_err_set(err, PL_NOTFOUND, "no such budget");
		if (code != PL_OK)
			return code;
		book_begin(&edit.book, &session->arena, kv_limits(session->kv));
		(void)book_delete(&edit.book, keys_span(&edit.key), edit.rev);
		bump_lock(&edit);
		code = commit(&edit, err);
		if (code != PL_CONFLICT)
			return code;
		code = PL_OK;
	}
	return code == PL_OK ? too_often(err) : code;
}
