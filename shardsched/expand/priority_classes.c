#include "shardsched/expand/priority_classes.h"

#include <stdlib.h>

#include "shardsched/model/object.h"
#include "store/base/alloc.h"
#include "store/base/num.h"

void priority_classes_init(struct priority_classes *classes, struct model *model)
{
	*classes = (struct priority_classes){.model = model};
}

void priority_classes_done(struct priority_classes *classes)
{
	for (uint32_t i = 0; i < classes->count; i++)
		priority_class_drop(classes->model, &classes->at[i]);
	free(classes->at);
}

static struct priority_class *find_class(const struct priority_classes *classes,
                                         struct pl_span name)
{
	for (uint32_t i = 0; i < classes->count; i++)
		if (pl_span_eq(model_text(classes->model, classes->at[i].name), name))
			return &classes->at[i];
	return NULL;
}

static enum pl_code keep_class(struct priority_classes *classes,
                               const struct priority_class *class, struct pl_err *err)
{
	struct priority_class *at =
		find_class(classes, model_text(classes->model, class->name));

	if (at != NULL) {
		priority_class_drop(classes->model, at);
		*at = *class;
		return PL_OK;
	}
	if (classes->count == PRIORITY_CLASSES_MAX)
		return pl_err_set(err, PL_LIMIT, "want at most %d PriorityClasses",
		                  PRIORITY_CLASSES_MAX);
	at = pl_realloc(classes->at, (classes->count + 1) * sizeof *at);
	if (at == NULL)
		return pl_err_set(err, PL_NOMEM, "keep a PriorityClass");
	classes->at = at;
	classes->at[classes->count++] = *class;
	return PL_OK;
}

enum pl_code priority_classes_put(struct priority_classes *classes,
                                  struct pl_arena *arena, struct pl_span json,
                                  struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {.model = classes->model, .arena = arena, .errors = &errors};
	struct priority_class class;
	enum pl_code code = priority_class_parse(&parse, json, &class, err);

	if (code == PL_OK) {
		code = keep_class(classes, &class, err);
		if (code != PL_OK)
			priority_class_drop(classes->model, &class);
	}
	return code;
}

/* -- a pod's ------------------------------------------------------------------------- */

/* The member's value; empty: the member is absent or null. */
static struct pl_span spec_member(struct pl_span spec, const char *name)
{
	struct pl_span value = object_member(spec, name);

	return pl_span_eq(value, PL_SPAN_LIT("null")) ||
	                       pl_span_eq(value, PL_SPAN_LIT("\"\""))
	               ? (struct pl_span){0}
	               : value;
}

/* The classes that every cluster has. */
static bool built_in_class(struct pl_span name, int32_t *out)
{
	if (pl_span_eq(name, PL_SPAN_LIT("system-cluster-critical")))
		*out = 2000000000;
	else if (pl_span_eq(name, PL_SPAN_LIT("system-node-critical")))
		*out = 2000001000;
	else
		return false;
	return true;
}

static const struct priority_class *default_class(const struct priority_classes *classes)
{
	const struct priority_class *found = NULL;

	/* the one with the lowest value, as in Kubernetes */
	for (uint32_t i = 0; i < classes->count; i++)
		if (classes->at[i].is_default &&
		    (found == NULL || classes->at[i].value < found->value))
			found = &classes->at[i];
	return found;
}

static enum pl_code check_agreement(struct pl_span priority, int32_t value,
                                    struct pl_err *err)
{
	int64_t number = 0;

	if (priority.len == 0 ||
	    (pl_num_i64(priority, &number, NULL) == PL_OK && number == value))
		return PL_OK;
	return pl_err_set(err, PL_INVALID,
	                  "spec.priority: want %d, as its PriorityClass says, or none",
	                  value);
}

static enum pl_code resolve_named(const struct priority_classes *classes,
                                  struct pl_span quoted, struct pl_span priority,
                                  struct pod_priority *out, struct pl_err *err)
{
	struct pl_span name =
		quoted.len < 2 ? quoted : pl_span(quoted.at + 1, quoted.len - 2);
	const struct priority_class *class = find_class(classes, name);
	int32_t value = 0;

	if (class != NULL) {
		value = class->value;
		out->never = class->never;
	} else if (!built_in_class(name, &value)) {
		if (priority.len > 0)
			return PL_OK;
		return pl_err_set(err, PL_INVALID,
		                  "spec.priorityClassName: want its PriorityClass in the "
		                  "store or in the same input, or spec.priority");
	}
	out->set = priority.len == 0;
	out->priority = value;
	return check_agreement(priority, value, err);
}

enum pl_code priority_classes_resolve(const struct priority_classes *classes,
                                      struct pl_span spec, struct pod_priority *out,
                                      struct pl_err *err)
{
	struct pl_span named = spec_member(spec, "priorityClassName");
	struct pl_span priority = spec_member(spec, "priority");
	const struct priority_class *class = default_class(classes);
	struct pod_priority resolved = {.set = false};
	enum pl_code code = PL_OK;

	if (named.len > 0) {
		code = resolve_named(classes, named, priority, &resolved, err);
	} else if (priority.len == 0 && class != NULL) {
		resolved = (struct pod_priority){
			.set = true,
			.priority = class->value,
			.never = class->never,
			.named = model_text(classes->model, class->name)};
	}
	resolved.never = resolved.never && spec_member(spec, "preemptionPolicy").len == 0;
	if (code == PL_OK)
		*out = resolved;
	return code;
}
