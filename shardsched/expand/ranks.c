#include "shardsched/expand/ranks.h"

#include <stdlib.h>

#include "shardsched/model/object.h"
#include "store/base/alloc.h"
#include "store/base/num.h"

void ranks_init(struct ranks *ranks, struct model *model)
{
	*ranks = (struct ranks){.model = model};
}

void ranks_done(struct ranks *ranks)
{
	for (uint32_t i = 0; i < ranks->count; i++)
		priority_class_drop(ranks->model, &ranks->at[i]);
	free(ranks->at);
}

static struct priority_class *find(const struct ranks *ranks, struct pl_span name)
{
	for (uint32_t i = 0; i < ranks->count; i++)
		if (pl_span_eq(model_text(ranks->model, ranks->at[i].name), name))
			return &ranks->at[i];
	return NULL;
}

static enum pl_code keep(struct ranks *ranks, const struct priority_class *class,
                         struct pl_err *err)
{
	struct priority_class *at = find(ranks, model_text(ranks->model, class->name));

	if (at != NULL) {
		priority_class_drop(ranks->model, at);
		*at = *class;
		return PL_OK;
	}
	if (ranks->count == RANKS_MAX)
		return pl_err_set(err, PL_LIMIT, "want at most %d PriorityClasses",
		                  RANKS_MAX);
	at = pl_realloc(ranks->at, (ranks->count + 1) * sizeof *at);
	if (at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a PriorityClass");
	ranks->at = at;
	ranks->at[ranks->count++] = *class;
	return PL_OK;
}

enum pl_code ranks_put(struct ranks *ranks, struct pl_arena *arena, struct pl_span json,
                       struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {.model = ranks->model, .arena = arena, .errors = &errors};
	struct priority_class class;
	enum pl_code code = priority_class_parse(&parse, json, &class, err);

	if (code == PL_OK) {
		code = keep(ranks, &class, err);
		if (code != PL_OK)
			priority_class_drop(ranks->model, &class);
	}
	return code;
}

/* -- a pod's ------------------------------------------------------------------------- */

/* A member that says something; empty: it is not there, or null. */
static struct pl_span said(struct pl_span spec, const char *name)
{
	struct pl_span value = object_member(spec, name);

	return pl_span_eq(value, PL_SPAN_LIT("null")) ||
	                       pl_span_eq(value, PL_SPAN_LIT("\"\""))
	               ? (struct pl_span){0}
	               : value;
}

/* Those that every cluster has. */
static bool built_in(struct pl_span name, int32_t *out)
{
	if (pl_span_eq(name, PL_SPAN_LIT("system-cluster-critical")))
		*out = 2000000000;
	else if (pl_span_eq(name, PL_SPAN_LIT("system-node-critical")))
		*out = 2000001000;
	else
		return false;
	return true;
}

static const struct priority_class *by_default(const struct ranks *ranks)
{
	for (uint32_t i = 0; i < ranks->count; i++)
		if (ranks->at[i].is_default)
			return &ranks->at[i];
	return NULL;
}

static enum pl_code agree(struct pl_span priority, int32_t value, struct pl_err *err)
{
	int64_t number = 0;

	if (priority.len == 0 ||
	    (pl_num_i64(priority, &number, NULL) == PL_OK && number == value))
		return PL_OK;
	return pl_err_set(err, PL_INVALID,
	                  "spec.priority: want %d, as its PriorityClass says, or none",
	                  value);
}

static enum pl_code judge_named(const struct ranks *ranks, struct pl_span quoted,
                                struct pl_span priority, struct rank *out,
                                struct pl_err *err)
{
	struct pl_span name =
		quoted.len < 2 ? quoted : pl_span(quoted.at + 1, quoted.len - 2);
	const struct priority_class *class = find(ranks, name);
	int32_t value = 0;

	if (class != NULL) {
		value = class->value;
		out->never = class->never;
	} else if (!built_in(name, &value)) {
		if (priority.len > 0)
			return PL_OK;
		return pl_err_set(err, PL_INVALID,
		                  "spec.priorityClassName: want its PriorityClass in the "
		                  "same input, or spec.priority");
	}
	out->set = priority.len == 0;
	out->priority = value;
	return agree(priority, value, err);
}

enum pl_code ranks_judge(const struct ranks *ranks, struct pl_span spec, struct rank *out,
                         struct pl_err *err)
{
	struct pl_span named = said(spec, "priorityClassName");
	struct pl_span priority = said(spec, "priority");
	const struct priority_class *class = by_default(ranks);
	struct rank rank = {.set = false};
	enum pl_code code = PL_OK;

	if (named.len > 0) {
		code = judge_named(ranks, named, priority, &rank, err);
	} else if (priority.len == 0 && class != NULL) {
		rank = (struct rank){.set = true,
		                     .priority = class->value,
		                     .never = class->never,
		                     .named = model_text(ranks->model, class->name)};
	}
	rank.never = rank.never && said(spec, "preemptionPolicy").len == 0;
	if (code == PL_OK)
		*out = rank;
	return code;
}
