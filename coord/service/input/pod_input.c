#include "coord/service/input/pod_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/service/input/similar_kinds.h"
#include "shardsched/model/model.h"
#include "shardsched/model/object.h"
#include "shardsched/records/rule_term.h"
#include "store/base/alloc.h"

enum { ARENA_MAX = 1 << 30, RULES_CHUNK = 4 << 10, KEY_SIZE = 512 };

static enum pl_code next_of_source(struct pod_input *pod_input, struct input_object *out,
                                   struct pl_err *err)
{
	const struct object_source *source = &pod_input->opts.source;

	return source->next(source->ctx, out, err);
}

static void rewind_source(struct pod_input *pod_input)
{
	pod_input->opts.source.rewind(pod_input->opts.source.ctx);
}

void pod_input_open(struct pod_input *pod_input, const struct pod_input_opts *opts)
{
	struct pl_span namespace =
		opts->namespace.len == 0 ? PL_SPAN_LIT("default") : opts->namespace;

	*pod_input = (struct pod_input){.opts = *opts};
	pod_input->opts.namespace = namespace;
	expand_init(&pod_input->expand, namespace);
	duplicates_init(&pod_input->duplicates);
	pl_arena_init(&pod_input->arena, 0, ARENA_MAX);
}

void pod_input_close(struct pod_input *pod_input)
{
	free(pod_input->budget);
	pl_arena_done(&pod_input->arena);
	duplicates_done(&pod_input->duplicates);
	expand_done(&pod_input->expand);
	if (pod_input->opts.source.close != NULL)
		pod_input->opts.source.close(pod_input->opts.source.ctx);
}

/* -- the check ------------------------------------------------------------ */

/* An object without a kind is refused; objects of other kinds are counted and passed
 * over. */
static enum pl_code count_passed(struct pod_input *pod_input, struct pl_span json,
                                 struct pl_err *err)
{
	struct pl_span kind = object_member(json, "kind");
	struct pl_span items = object_member(json, "items");
	char word[POD_INPUT_KIND_SIZE] = "of a kind with a long name";
	unsigned i = 0;

	if (kind.len <= 2 || kind.at[0] != '"')
		return pl_err_set(err, PL_INVALID, "kind: want one");
	if (pl_span_eq(kind, PL_SPAN_LIT("\"List\"")) && items.len > 0 &&
	    !pl_span_eq(items, PL_SPAN_LIT("null")))
		return pl_err_set(err, PL_INVALID, "items: want a list");
	if (kind.len - 2 < sizeof word)
		(void)snprintf(word, sizeof word, "%.*s", (int)kind.len - 2,
		               (const char *)kind.at + 1);
	while (i < pod_input->kinds && strcmp(pod_input->passed[i].kind, word) != 0)
		i++;
	if (i == POD_INPUT_KINDS_MAX)
		i--;
	else if (i == pod_input->kinds)
		(void)snprintf(pod_input->passed[pod_input->kinds++].kind,
		               POD_INPUT_KIND_SIZE, "%s",
		               i == POD_INPUT_KINDS_MAX - 1 ? "others" : word);
	pod_input->passed[i].count++;
	return PL_OK;
}

static enum pl_code report_duplicate(const char *name,
                                     const struct duplicates_place *first,
                                     struct pl_err *err)
{
	return pl_err_set(err, PL_INVALID,
	                  "%s: it is also in %s: object %lu with different content", name,
	                  first->file, first->number);
}

/* The names of the pods of the object at hand: what they have in common is what they say.
 * at NULL: they are only looked for. */
static enum pl_code check_names(struct pod_input *pod_input,
                                const struct input_object *at, struct pl_err *err)
{
	const struct expand *expand = &pod_input->expand;
	const uint64_t content = pl_hash(expand->hash);
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < expand_count(expand) && code == PL_OK; i++) {
		struct duplicates_place first;
		struct duplicates_name name = {.content = content};
		char text[KEY_SIZE];

		(void)snprintf(text, sizeof text, PL_SPAN_FMT "/" PL_SPAN_FMT,
		               PL_SPAN_ARG(expand->in_namespace),
		               PL_SPAN_ARG(expand->base));
		if (expand->source != EXPAND_POD)
			(void)snprintf(text + strlen(text), sizeof text - strlen(text),
			               "-%" PRIu32, expand->first + i);
		name.name = pl_span_str(text);
		if (at != NULL)
			code = duplicates_add(&pod_input->duplicates, &name, at, err);
		else if (duplicates_look(&pod_input->duplicates, &name, &first) != PL_OK)
			code = report_duplicate(text, &first, err);
	}
	return code;
}

/* Adds the names of all the object's pods, or none. */
static enum pl_code keep_pod_names(struct pod_input *pod_input,
                                   const struct input_object *object, struct pl_err *err)
{
	enum pl_code code;

	if (!pod_input->opts.once)
		return PL_OK;
	code = check_names(pod_input, NULL, err);
	pod_input->repeats = pod_input->repeats || code == PL_INVALID;
	return code == PL_OK ? check_names(pod_input, object, err) : code;
}

static enum pl_code keep_budgets_name(struct pod_input *pod_input,
                                      const struct input_object *object,
                                      struct pl_err *err)
{
	const struct budget_object *given = &pod_input->budget[pod_input->budgets];
	struct duplicates_name name = {.content = pl_hash(given->object)};
	struct duplicates_place first;
	char text[KEY_SIZE];

	if (!pod_input->opts.once)
		return PL_OK;
	(void)snprintf(text, sizeof text,
	               "PodDisruptionBudget " PL_SPAN_FMT "/" PL_SPAN_FMT,
	               PL_SPAN_ARG(given->namespace), PL_SPAN_ARG(given->name));
	name.name = pl_span_str(text);
	if (duplicates_look(&pod_input->duplicates, &name, &first) != PL_OK)
		return report_duplicate(text, &first, err);
	return duplicates_add(&pod_input->duplicates, &name, object, err);
}

/* Checks that the first of the object's pods has a partition. */
static enum pl_code first_partition(struct pod_input *pod_input, struct pl_err *err)
{
	struct pod_location location;

	return pod_location_of(&pod_input->expand.model, &pod_input->expand.pod,
	                       pod_input->opts.partitions, &location, err);
}

/* The rules of its pods can be registered. */
static enum pl_code check_rules(struct pod_input *pod_input, struct pl_err *err)
{
	const struct spec *spec = pod_input->expand.pod.spec;
	struct rule_terms terms;
	struct pl_arena arena;
	enum pl_code code = PL_OK;

	if ((expand_is_same(&pod_input->expand) && pod_input->rules_fit) ||
	    !rule_is_carrier(&pod_input->expand.model, spec))
		return PL_OK;
	pl_arena_init(&arena, RULES_CHUNK, 0);
	code = rule_terms_of(&pod_input->expand.model, spec, &arena, &terms, err);
	pl_arena_done(&arena);
	pod_input->rules_fit = code == PL_OK;
	return code != PL_LIMIT
	               ? code
	               : pl_err_wrap(err, "Pod " PL_SPAN_FMT "/" PL_SPAN_FMT,
	                             PL_SPAN_ARG(model_text(&pod_input->expand.model,
	                                                    spec->namespace)),
	                             PL_SPAN_ARG(model_text(&pod_input->expand.model,
	                                                    pod_input->expand.pod.name)));
}

static enum pl_code add_budget(struct pod_input *pod_input,
                               const struct input_object *object, struct pl_err *err)
{
	uint32_t cap = pod_input->budgets_cap == 0 ? 16 : pod_input->budgets_cap * 2;
	struct budget_object *grown;

	if (pod_input->budgets == POD_INPUT_BUDGETS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d PodDisruptionBudgets",
		                  POD_INPUT_BUDGETS_MAX);
	if (pod_input->budgets == pod_input->budgets_cap) {
		grown = pl_realloc(pod_input->budget, cap * sizeof *grown);
		if (grown == NULL)
			return pl_err_set(err, PL_NOMEM, "keep a budget");
		pod_input->budget = grown;
		pod_input->budgets_cap = cap;
	}
	if (budget_object_read(&pod_input->arena, object->json, pod_input->opts.namespace,
	                       &pod_input->budget[pod_input->budgets], err) != PL_OK ||
	    keep_budgets_name(pod_input, object, err) != PL_OK)
		return err->code;
	pod_input->budgets++;
	return PL_OK;
}

/* Counts each path once: a thousand pods of a list share it. */
static void on_unknown(void *ctx, const char *path, const char *like)
{
	struct pod_input *pod_input = ctx;
	struct pod_input_unknown *unknown;
	unsigned i = 0;

	pod_input->all_known = false;
	while (i < pod_input->unknowns && strcmp(pod_input->unknown[i].path, path) != 0)
		i++;
	if (i == POD_INPUT_UNKNOWN_MAX) {
		pod_input->unknown_more++;
		return;
	}
	unknown = &pod_input->unknown[i];
	if (i == pod_input->unknowns) {
		pod_input->unknowns++;
		*unknown =
			(struct pod_input_unknown){.like = like,
		                                   .file = pod_input->object->file,
		                                   .number = pod_input->object->number};
		(void)snprintf(unknown->path, sizeof unknown->path, "%s", path);
	}
	unknown->count++;
}

static void on_first_unknown(void *ctx, const char *path, const char *like)
{
	struct pl_err *err = ctx;
	char text[UNKNOWN_FIELD_TEXT_SIZE];

	if (err->code != PL_OK)
		return;
	unknown_field_text(text, path, like);
	(void)pl_err_set(err, PL_INVALID, "%s", text);
}

static enum pl_code check_fields(struct pod_input *pod_input,
                                 const struct input_object *object,
                                 enum expand_source source, struct pl_err *err)
{
	struct pl_err first = {0};

	pod_input->all_known = true;
	switch (pod_input->opts.fields) {
	case POD_INPUT_FIELDS_PASS:
		return PL_OK;
	case POD_INPUT_FIELDS_TELL:
		pod_input->object = object;
		unknown_fields_find(source, object->json, on_unknown, pod_input);
		pod_input->object = NULL;
		return PL_OK;
	case POD_INPUT_FIELDS_REFUSE:
		unknown_fields_find(source, object->json, on_first_unknown, &first);
		pod_input->all_known = first.code == PL_OK;
		if (first.code != PL_OK)
			*err = first;
		return first.code;
	}
	PL_UNREACHABLE("what becomes of unknown fields");
}

/* Begins an object with pods. Misspelt fields are reported first: other errors may
 * follow from them. A pod that is like the one before has no others. */
static enum pl_code begin_object(struct pod_input *pod_input,
                                 const struct input_object *object,
                                 enum expand_source source, bool tells,
                                 struct pl_err *err)
{
	enum pl_code code = expand_begin(&pod_input->expand, source, object->json, err);
	struct pl_err typo = {0};

	if (code == PL_NOMEM ||
	    (expand_is_same(&pod_input->expand) && pod_input->all_known))
		return code;
	if (!tells && pod_input->opts.fields != POD_INPUT_FIELDS_REFUSE)
		return code;
	if (check_fields(pod_input, object, source, &typo) == PL_OK)
		return code;
	*err = typo;
	return typo.code;
}

/* A pod that is like the one before has the same rules. */
static void warn_of_rules(struct pod_input *pod_input, const struct input_object *object)
{
	const struct expand *expand = &pod_input->expand;

	if (pod_input->opts.fields != POD_INPUT_FIELDS_PASS && !expand_is_same(expand))
		rule_warnings_add(&pod_input->rules, &expand->model, expand->pod.spec,
		                  object, expand->source != EXPAND_POD);
}

static enum pl_code check_object(struct pod_input *pod_input,
                                 const struct input_object *object,
                                 enum expand_source source, struct pl_err *err)
{
	enum pl_code code = similar_kinds_check(object->json, source, err);

	pod_input->objects += source != EXPAND_NOTHING;
	if (code != PL_OK) {
		/* Any other error may follow from the wrong kind. */
	} else if (source == EXPAND_CLASS || source == EXPAND_BUDGET) {
		code = check_fields(pod_input, object, source, err);
		pod_input->all_known = false; /* all_known is about pods */
	}
	if (code != PL_OK) {
		/* Any other error may follow from the unknown field. */
	} else if (source == EXPAND_NOTHING) {
		code = count_passed(pod_input, object->json, err);
	} else if (source == EXPAND_CLASS) {
		code = expand_class(&pod_input->expand, object->json, err);
	} else if (source == EXPAND_BUDGET) {
		code = add_budget(pod_input, object, err);
	} else {
		code = begin_object(pod_input, object, source, true, err);
		if (code == PL_OK)
			code = first_partition(pod_input, err);
		if (code == PL_OK)
			code = check_rules(pod_input, err);
		if (code == PL_OK)
			code = keep_pod_names(pod_input, object, err);
		if (code == PL_OK)
			warn_of_rules(pod_input, object);
		if (code == PL_OK)
			pod_input->pods += expand_count(&pod_input->expand);
	}
	return code == PL_OK
	               ? code
	               : pl_err_wrap(err, "%s: object %lu", object->file, object->number);
}

static void forget_check(struct pod_input *pod_input)
{
	rewind_source(pod_input);
	pod_input->pods = pod_input->objects = pod_input->refused = 0;
	pod_input->kinds = 0;
	pod_input->budgets = 0;
	pod_input->unknowns = 0;
	pod_input->unknown_more = 0;
	rule_warnings_clear(&pod_input->rules);
	duplicates_clear(&pod_input->duplicates);
	pod_input->repeats = false;
	pl_arena_reset(&pod_input->arena);
	memset(pod_input->passed, 0, sizeof pod_input->passed);
}

static enum pl_code check_next(struct pod_input *pod_input, bool *pods, bool *late,
                               struct pl_err *err)
{
	struct input_object object;
	enum pl_code code = next_of_source(pod_input, &object, err);
	enum expand_source source;

	if (code != PL_OK)
		return code;
	source = expand_source_of(object.json);
	*late = *late || (source == EXPAND_CLASS && *pods);
	*pods = *pods || source < EXPAND_CLASS;
	return check_object(pod_input, &object, source, err);
}

static enum pl_code check_objects(struct pod_input *pod_input, bool tells, bool *late,
                                  struct pl_err *err)
{
	bool pods = false;

	forget_check(pod_input);
	for (;;) {
		struct pl_err why = {0};
		enum pl_code code = check_next(pod_input, &pods, late, &why);

		if (code == PL_NOTFOUND)
			break;
		if (code == PL_NOMEM) {
			*err = why;
			return code;
		}
		if (code == PL_OK)
			continue;
		pod_input->refused++;
		if (tells && pod_input->opts.refused != NULL)
			pod_input->opts.refused(pod_input->opts.ctx, &why);
	}
	rewind_source(pod_input);
	return PL_OK;
}

enum pl_code pod_input_check(struct pod_input *pod_input, struct pl_err *err)
{
	bool late = false;
	enum pl_code code = PL_OK;

	if (pod_input->opts.classes != NULL)
		code = class_table_expand(pod_input->opts.classes, &pod_input->expand,
		                          err);
	if (code == PL_OK)
		code = check_objects(pod_input, false, &late, err);

	/* Reads again with the classes that came after the pods, or to report what
	 * is wrong. */
	if (code == PL_OK && (late || pod_input->refused > 0))
		code = check_objects(pod_input, true, &late, err);
	return code;
}

/* -- the pods ------------------------------------------------------------- */

/* Finds the next object with pods; objects that the check refused are passed over. */
static enum pl_code next_object(struct pod_input *pod_input, struct pl_err *err)
{
	for (;;) {
		struct input_object object;
		struct pl_err why = {0};
		enum pl_code code = next_of_source(pod_input, &object, &why);
		enum expand_source source;

		if (code == PL_NOTFOUND)
			return code;
		if (code == PL_OK) {
			source = expand_source_of(object.json);
			if (source >= EXPAND_CLASS ||
			    similar_kinds_check(object.json, source, &why) != PL_OK)
				continue;
			code = begin_object(pod_input, &object, source, false, &why);
			if (code == PL_OK)
				code = check_rules(pod_input, &why);
			if (code == PL_OK && pod_input->repeats)
				code = check_names(pod_input, NULL, &why);
		}
		if (code == PL_OK)
			return code;
		if (code == PL_NOMEM) {
			*err = why;
			return code;
		}
	}
}

enum pl_code pod_input_next(struct pod_input *pod_input, struct pod_input_pod *out,
                            struct pl_err *err)
{
	for (;;) {
		enum pl_code code = PL_NOTFOUND;

		if (pod_input->expanding)
			code = expand_next(&pod_input->expand, &out->pod, err);
		if (code == PL_OK &&
		    pod_location_of(&pod_input->expand.model, out->pod.pod,
		                    pod_input->opts.partitions, &out->location,
		                    err) == PL_OK)
			return PL_OK;
		if (code != PL_OK && code != PL_NOTFOUND)
			return code;
		pod_input->expanding = false;
		code = next_object(pod_input, err);
		if (code != PL_OK)
			return code;
		pod_input->expanding = true;
	}
}
