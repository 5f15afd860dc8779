#include "coord/cli/input/intake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/cli/input/kinds.h"
#include "shardsched/ledger/group.h"
#include "shardsched/model/model.h"
#include "shardsched/model/object.h"
#include "store/base/alloc.h"

enum { ARENA_MAX = 1 << 30, RULES_CHUNK = 4 << 10, KEY_SIZE = 512 };

enum pl_code intake_open(struct intake *intake, const struct intake_opts *opts,
                         struct pl_err *err)
{
	struct pl_span space =
		opts->space.len == 0 ? PL_SPAN_LIT("default") : opts->space;
	enum pl_code code;

	*intake = (struct intake){.opts = *opts};
	code = manifest_open(opts->files, &intake->manifest, err);
	if (code != PL_OK)
		return code;
	intake->opts.space = space;
	expand_init(&intake->expand, space);
	twice_init(&intake->twice);
	pl_arena_init(&intake->arena, 0, ARENA_MAX);
	return PL_OK;
}

void intake_close(struct intake *intake)
{
	free(intake->budget);
	pl_arena_done(&intake->arena);
	twice_done(&intake->twice);
	expand_done(&intake->expand);
	manifest_close(intake->manifest);
}

/* -- the check ------------------------------------------------------------ */

/* What is no object of Kubernetes at all was not meant; those of other kinds may be. */
static enum pl_code pass_over(struct intake *intake, struct pl_span json,
                              struct pl_err *err)
{
	struct pl_span kind = object_member(json, "kind");
	struct pl_span items = object_member(json, "items");
	char word[INTAKE_KIND_SIZE] = "of a kind with a long name";
	unsigned i = 0;

	if (kind.len <= 2 || kind.at[0] != '"')
		return pl_err_set(err, PL_INVALID, "kind: want one");
	if (pl_span_eq(kind, PL_SPAN_LIT("\"List\"")) && items.len > 0 &&
	    !pl_span_eq(items, PL_SPAN_LIT("null")))
		return pl_err_set(err, PL_INVALID, "items: want a list");
	if (kind.len - 2 < sizeof word)
		(void)snprintf(word, sizeof word, "%.*s", (int)kind.len - 2,
		               (const char *)kind.at + 1);
	while (i < intake->kinds && strcmp(intake->passed[i].kind, word) != 0)
		i++;
	if (i == INTAKE_KINDS_MAX)
		i--;
	else if (i == intake->kinds)
		(void)snprintf(intake->passed[intake->kinds++].kind, INTAKE_KIND_SIZE,
		               "%s", i == INTAKE_KINDS_MAX - 1 ? "others" : word);
	intake->passed[i].count++;
	return PL_OK;
}

static enum pl_code came_twice(const char *name, const struct twice_place *first,
                               struct pl_err *err)
{
	return pl_err_set(err, PL_INVALID,
	                  "%s: it is in %s: object %lu, too, with another content", name,
	                  first->file, first->number);
}

/* The names of the pods of the object at hand: what they have in common is what they say.
 * at NULL: they are only looked for. */
static enum pl_code go_through_names(struct intake *intake,
                                     const struct manifest_object *at, struct pl_err *err)
{
	const struct expand *expand = &intake->expand;
	const uint64_t content = pl_hash(expand->hash);
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < expand_count(expand) && code == PL_OK; i++) {
		struct twice_place first;
		struct twice_name name = {.content = content};
		char text[KEY_SIZE];

		(void)snprintf(text, sizeof text, PL_SPAN_FMT "/" PL_SPAN_FMT,
		               PL_SPAN_ARG(expand->in_space), PL_SPAN_ARG(expand->base));
		if (expand->source != EXPAND_POD)
			(void)snprintf(text + strlen(text), sizeof text - strlen(text),
			               "-%" PRIu32, expand->first + i);
		name.name = pl_span_str(text);
		if (at != NULL)
			code = twice_add(&intake->twice, &name, at, err);
		else if (twice_look(&intake->twice, &name, &first) != PL_OK)
			code = came_twice(text, &first, err);
	}
	return code;
}

/* All or none of them. */
static enum pl_code keep_names(struct intake *intake,
                               const struct manifest_object *object, struct pl_err *err)
{
	enum pl_code code;

	if (!intake->opts.once)
		return PL_OK;
	code = go_through_names(intake, NULL, err);
	intake->repeats = intake->repeats || code == PL_INVALID;
	return code == PL_OK ? go_through_names(intake, object, err) : code;
}

static enum pl_code keep_budgets_name(struct intake *intake,
                                      const struct manifest_object *object,
                                      struct pl_err *err)
{
	const struct budget_given *given = &intake->budget[intake->budgets];
	struct twice_name name = {.content = pl_hash(given->object)};
	struct twice_place first;
	char text[KEY_SIZE];

	if (!intake->opts.once)
		return PL_OK;
	(void)snprintf(text, sizeof text,
	               "PodDisruptionBudget " PL_SPAN_FMT "/" PL_SPAN_FMT,
	               PL_SPAN_ARG(given->space), PL_SPAN_ARG(given->name));
	name.name = pl_span_str(text);
	if (twice_look(&intake->twice, &name, &first) != PL_OK)
		return came_twice(text, &first, err);
	return twice_add(&intake->twice, &name, object, err);
}

/* Where the first of an object's pods stands tells whether any can. */
static enum pl_code first_home(struct intake *intake, struct pl_err *err)
{
	struct home home;

	return home_of(&intake->expand.model, &intake->expand.pod,
	               intake->opts.partitions, &home, err);
}

/* The rules of its pods can be registered. */
static enum pl_code check_rules(struct intake *intake, struct pl_err *err)
{
	const struct spec *spec = intake->expand.pod.spec;
	struct group_terms terms;
	struct pl_arena arena;
	enum pl_code code = PL_OK;

	if ((intake->expand.same && intake->rules_fit) ||
	    !group_is_carrier(&intake->expand.model, spec))
		return PL_OK;
	pl_arena_init(&arena, RULES_CHUNK, 0);
	code = group_terms_of(&intake->expand.model, spec, &arena, &terms, err);
	pl_arena_done(&arena);
	intake->rules_fit = code == PL_OK;
	return code != PL_LIMIT
	               ? code
	               : pl_err_wrap(err, "Pod " PL_SPAN_FMT "/" PL_SPAN_FMT,
	                             PL_SPAN_ARG(model_text(&intake->expand.model,
	                                                    spec->namespace)),
	                             PL_SPAN_ARG(model_text(&intake->expand.model,
	                                                    intake->expand.pod.name)));
}

static enum pl_code keep_budget(struct intake *intake,
                                const struct manifest_object *object, struct pl_err *err)
{
	uint32_t cap = intake->budgets_cap == 0 ? 16 : intake->budgets_cap * 2;
	struct budget_given *grown;

	if (intake->budgets == INTAKE_BUDGETS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d PodDisruptionBudgets",
		                  INTAKE_BUDGETS_MAX);
	if (intake->budgets == intake->budgets_cap) {
		grown = pl_realloc(intake->budget, cap * sizeof *grown);
		if (grown == NULL)
			return pl_err_set(err, PL_NOMEM, "keep a budget");
		intake->budget = grown;
		intake->budgets_cap = cap;
	}
	if (budget_given(&intake->arena, object->json, intake->opts.space,
	                 &intake->budget[intake->budgets], err) != PL_OK ||
	    keep_budgets_name(intake, object, err) != PL_OK)
		return err->code;
	intake->budgets++;
	return PL_OK;
}

/* One for each path: a thousand pods of a list have it all. */
static void on_unknown(void *ctx, const char *path, const char *like)
{
	struct intake *intake = ctx;
	struct intake_unknown *unknown;
	unsigned i = 0;

	intake->all_known = false;
	while (i < intake->unknowns && strcmp(intake->unknown[i].path, path) != 0)
		i++;
	if (i == INTAKE_UNKNOWN_MAX) {
		intake->unknown_more++;
		return;
	}
	unknown = &intake->unknown[i];
	if (i == intake->unknowns) {
		intake->unknowns++;
		*unknown = (struct intake_unknown){.like = like,
		                                   .file = intake->object->file,
		                                   .number = intake->object->number};
		(void)snprintf(unknown->path, sizeof unknown->path, "%s", path);
	}
	unknown->count++;
}

static void on_first_unknown(void *ctx, const char *path, const char *like)
{
	struct pl_err *err = ctx;
	char text[FIELDS_SAY_SIZE];

	if (err->code != PL_OK)
		return;
	fields_say(text, path, like);
	(void)pl_err_set(err, PL_INVALID, "%s", text);
}

static enum pl_code look_at_fields(struct intake *intake,
                                   const struct manifest_object *object,
                                   enum expand_source source, struct pl_err *err)
{
	struct pl_err first = {0};

	intake->all_known = true;
	switch (intake->opts.fields) {
	case INTAKE_FIELDS_PASS:
		return PL_OK;
	case INTAKE_FIELDS_TELL:
		intake->object = object;
		fields_look(source, object->json, on_unknown, intake);
		intake->object = NULL;
		return PL_OK;
	case INTAKE_FIELDS_REFUSE:
		fields_look(source, object->json, on_first_unknown, &first);
		intake->all_known = first.code == PL_OK;
		if (first.code != PL_OK)
			*err = first;
		return first.code;
	}
	PL_UNREACHABLE("what becomes of unknown fields");
}

/* An object with pods. Typing errors are told first: what else is wrong with it may
 * follow from them. A pod that is like the one before has no others. */
static enum pl_code begin_one(struct intake *intake, const struct manifest_object *object,
                              enum expand_source source, bool tells, struct pl_err *err)
{
	enum pl_code code = expand_begin(&intake->expand, source, object->json, err);
	struct pl_err typo = {0};

	if (code == PL_NOMEM || (intake->expand.same && intake->all_known))
		return code;
	if (!tells && intake->opts.fields != INTAKE_FIELDS_REFUSE)
		return code;
	if (look_at_fields(intake, object, source, &typo) == PL_OK)
		return code;
	*err = typo;
	return typo.code;
}

static enum pl_code check_one(struct intake *intake, const struct manifest_object *object,
                              enum expand_source source, struct pl_err *err)
{
	enum pl_code code = kinds_check(object->json, source, err);

	intake->objects += source != EXPAND_NOTHING;
	if (code != PL_OK) {
		/* Whatever else it says may be something else. */
	} else if (source == EXPAND_CLASS || source == EXPAND_BUDGET) {
		code = look_at_fields(intake, object, source, err);
		intake->all_known = false; /* that is said of pods */
	}
	if (code != PL_OK) {
		/* What else is wrong with it may follow from that. */
	} else if (source == EXPAND_NOTHING) {
		code = pass_over(intake, object->json, err);
	} else if (source == EXPAND_CLASS) {
		code = expand_class(&intake->expand, object->json, err);
	} else if (source == EXPAND_BUDGET) {
		code = keep_budget(intake, object, err);
	} else {
		code = begin_one(intake, object, source, true, err);
		if (code == PL_OK)
			code = first_home(intake, err);
		if (code == PL_OK)
			code = check_rules(intake, err);
		if (code == PL_OK)
			code = keep_names(intake, object, err);
		if (code == PL_OK)
			intake->pods += expand_count(&intake->expand);
	}
	return code == PL_OK
	               ? code
	               : pl_err_wrap(err, "%s: object %lu", object->file, object->number);
}

static void forget(struct intake *intake)
{
	manifest_rewind(intake->manifest);
	intake->pods = intake->objects = intake->refused = 0;
	intake->kinds = 0;
	intake->budgets = 0;
	intake->unknowns = 0;
	intake->unknown_more = 0;
	twice_clear(&intake->twice);
	intake->repeats = false;
	pl_arena_reset(&intake->arena);
	memset(intake->passed, 0, sizeof intake->passed);
}

static enum pl_code next_checked(struct intake *intake, bool *pods, bool *late,
                                 struct pl_err *err)
{
	struct manifest_object object;
	enum pl_code code = manifest_next(intake->manifest, &object, err);
	enum expand_source source;

	if (code != PL_OK)
		return code;
	source = expand_source_of(object.json);
	*late = *late || (source == EXPAND_CLASS && *pods);
	*pods = *pods || source < EXPAND_CLASS;
	return check_one(intake, &object, source, err);
}

static enum pl_code check_all(struct intake *intake, bool tells, bool *late,
                              struct pl_err *err)
{
	bool pods = false;

	forget(intake);
	for (;;) {
		struct pl_err why = {0};
		enum pl_code code = next_checked(intake, &pods, late, &why);

		if (code == PL_NOTFOUND)
			break;
		if (code == PL_NOMEM) {
			*err = why;
			return code;
		}
		if (code == PL_OK)
			continue;
		intake->refused++;
		if (tells && intake->opts.refused != NULL)
			intake->opts.refused(intake->opts.ctx, &why);
	}
	manifest_rewind(intake->manifest);
	return PL_OK;
}

enum pl_code intake_check(struct intake *intake, struct pl_err *err)
{
	bool late = false;
	enum pl_code code = check_all(intake, false, &late, err);

	/* With the classes that came behind the pods, or to tell what is wrong. */
	if (code == PL_OK && (late || intake->refused > 0))
		code = check_all(intake, true, &late, err);
	return code;
}

/* -- the pods ------------------------------------------------------------- */

/* An object with pods; those that the check refused are passed over. */
static enum pl_code next_object(struct intake *intake, struct pl_err *err)
{
	for (;;) {
		struct manifest_object object;
		struct pl_err why = {0};
		enum pl_code code = manifest_next(intake->manifest, &object, &why);
		enum expand_source source;

		if (code == PL_NOTFOUND)
			return code;
		if (code == PL_OK) {
			source = expand_source_of(object.json);
			if (source >= EXPAND_CLASS ||
			    kinds_check(object.json, source, &why) != PL_OK)
				continue;
			code = begin_one(intake, &object, source, false, &why);
			if (code == PL_OK)
				code = check_rules(intake, &why);
			if (code == PL_OK && intake->repeats)
				code = go_through_names(intake, NULL, &why);
		}
		if (code == PL_OK)
			return code;
		if (code == PL_NOMEM) {
			*err = why;
			return code;
		}
	}
}

enum pl_code intake_next(struct intake *intake, struct intake_pod *out,
                         struct pl_err *err)
{
	for (;;) {
		enum pl_code code = PL_NOTFOUND;

		if (intake->expanding)
			code = expand_next(&intake->expand, &out->pod, err);
		if (code == PL_OK &&
		    home_of(&intake->expand.model, out->pod.pod, intake->opts.partitions,
		            &out->home, err) == PL_OK)
			return PL_OK;
		if (code != PL_OK && code != PL_NOTFOUND)
			return code;
		intake->expanding = false;
		code = next_object(intake, err);
		if (code != PL_OK)
			return code;
		intake->expanding = true;
	}
}
