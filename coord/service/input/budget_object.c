#include "coord/service/input/budget_object.h"

#include "shardsched/model/object.h"

/* The object with a namespace, without a status and without spaces. */
static enum pl_code write_stored(struct pl_arena *arena, struct pl_span json,
                                 struct pl_span namespace, struct pl_span *out,
                                 struct pl_err *err)
{
	struct pl_span meta = object_member(json, "metadata");
	bool named = meta.len > 0 && meta.at[0] == '{' &&
	             object_member(meta, "namespace").len > 0;
	const char *quoted =
		pl_arena_printf(arena, "\"" PL_SPAN_FMT "\"", PL_SPAN_ARG(namespace));
	const struct object_change changes[] = {
		{{"status", NULL}, NULL}, {{"metadata", "namespace", NULL}, quoted}};
	struct pl_buf text, compact;
	enum pl_code code =
		quoted == NULL ? pl_err_set(err, PL_NOMEM, "keep a budget") : PL_OK;

	pl_buf_init(&text, READER_BYTES_MAX);
	pl_buf_init(&compact, BUDGET_OBJECT_MAX);
	if (code == PL_OK)
		code = object_print(json, changes, named ? 1 : 2, &text, err);
	if (code == PL_OK) {
		code = object_compact(pl_buf_span(&text), &compact);
		if (code == PL_OK)
			*out = pl_arena_dup(arena, pl_buf_span(&compact));
		if (code == PL_OK && out->at == NULL)
			code = PL_NOMEM;
		if (code != PL_OK)
			pl_err_set(err, code, "want at most %d bytes", BUDGET_OBJECT_MAX);
	}
	pl_buf_done(&compact);
	pl_buf_done(&text);
	return code;
}

enum pl_code budget_object_check(struct model *model, struct pl_arena *arena,
                                 struct pl_span object, struct budget *out,
                                 struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {.model = model, .arena = arena, .errors = &errors};
	enum pl_code code = budget_parse(&parse, object, out, err);

	if (code == PL_OK && out->rule.kind == BUDGET_NOTHING)
		code = pl_err_set(err, PL_INVALID,
		                  "spec: want minAvailable or maxUnavailable");
	return code;
}

enum pl_code budget_object_read(struct pl_arena *arena, struct pl_span json,
                                struct pl_span namespace, struct budget_object *out,
                                struct pl_err *err)
{
	struct budget budget = {0};
	struct model model;
	enum pl_code code;

	model_init(&model);
	code = write_stored(arena, json, namespace, &out->object, err);
	if (code == PL_OK)
		code = budget_object_check(&model, arena, out->object, &budget, err);
	if (code == PL_OK) {
		out->namespace =
			pl_arena_dup(arena, model_text(&model, budget.namespace));
		out->name = pl_arena_dup(arena, model_text(&model, budget.name));
		if (out->namespace.at == NULL || out->name.at == NULL)
			code = pl_err_set(err, PL_NOMEM, "keep a budget");
	}
	budget_drop(&model, &budget);
	model_done(&model);
	return code == PL_OK ? PL_OK : pl_err_wrap(err, "PodDisruptionBudget");
}
