#include "shardsched/model/reader.h"
#include "shardsched/model/validate.h"
#include "shardsched/plugins/node_affinity.h"

static const char required_name[] = "requiredDuringSchedulingIgnoredDuringExecution";
static const char preferred_name[] = "preferredDuringSchedulingIgnoredDuringExecution";

enum { WEIGHT_MAX = 100 };

/* State of a parse. */
struct affinity_parse {
	struct reader reader;
	struct validate check;
	struct field_errors errors;
	struct pl_err *err;
};

/* -- unknown fields ---------------------------------------------------------------------- */

/* An absent object has no unknown fields. */
static enum pl_code only_known(struct pl_json object, const char *const *known,
                               struct pl_err *err)
{
	return object.node == NULL ? PL_OK : pl_json_only(object, known, err);
}

static enum pl_code check_rows(struct pl_json term, const char *name, struct pl_err *err)
{
	static const char *const known[] = {"key", "operator", "values", NULL};

	PL_JSON_EACH (row, pl_json_member(term, name)) {
		enum pl_code code = only_known(row, known, err);

		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code check_term(struct pl_json term, struct pl_err *err)
{
	static const char *const known[] = {"matchExpressions", "matchFields", NULL};
	enum pl_code code = only_known(term, known, err);

	if (code == PL_OK)
		code = check_rows(term, known[0], err);
	return code == PL_OK ? check_rows(term, known[1], err) : code;
}

static enum pl_code check_required(struct pl_json required, struct pl_err *err)
{
	static const char *const known[] = {"nodeSelectorTerms", NULL};
	enum pl_code code = only_known(required, known, err);

	PL_JSON_EACH (term, pl_json_member(required, known[0]))
		if (code == PL_OK)
			code = check_term(term, err);
	return code;
}

static enum pl_code check_preferred(struct pl_json list, struct pl_err *err)
{
	static const char *const known[] = {"weight", "preference", NULL};
	enum pl_code code = PL_OK;

	PL_JSON_EACH (item, list) {
		if (code == PL_OK)
			code = only_known(item, known, err);
		if (code == PL_OK)
			code = check_term(pl_json_member(item, known[1]), err);
	}
	return code;
}

static enum pl_code check_known(struct pl_json json, struct pl_json added,
                                struct pl_err *err)
{
	static const char *const known[] = {"apiVersion", "kind", "addedAffinity", NULL};
	static const char *const parts[] = {required_name, preferred_name, NULL};
	enum pl_code code = only_known(json, known, err);

	if (code == PL_OK)
		code = only_known(added, parts, err);
	if (code == PL_OK)
		code = check_required(pl_json_member(added, required_name), err);
	return code == PL_OK ? check_preferred(pl_json_member(added, preferred_name), err)
	                     : code;
}

/* -- parsing ----------------------------------------------------------------------------- */

static struct draft_node_terms read_preferred(struct affinity_parse *parts,
                                              struct pl_json added)
{
	struct reader *reader = &parts->reader;
	struct draft_node_terms out = {0};
	struct pl_json list = reader_list(reader, added, preferred_name, &out.count);
	uint32_t i = 0;

	out.at = reader_alloc(reader, out.count, sizeof *out.at);
	if (out.at == NULL)
		return (struct draft_node_terms){0};
	out.set = true;
	PL_JSON_EACH (item, list) {
		out.at[i] = reader_node_term(reader,
		                             reader_object(reader, item, "preference"));
		out.at[i++].weight = reader_int32(reader, item, "weight");
	}
	return out;
}

static void validate_preferred(struct validate *v, const struct draft_node_terms *terms)
{
	for (uint32_t i = 0; i < terms->count; i++) {
		size_t mark = validate_index(v, preferred_name, i);

		if (terms->at[i].weight < 1 || terms->at[i].weight > WEIGHT_MAX)
			validate_add(v, "weight", FIELD_INVALID, "want 1 to 100");
		validate_node_term(v, &terms->at[i]);
		validate_back(v, mark);
	}
}

/* A term that passes validation may still not parse, such as Gt with a word. */
static enum pl_code check_made(const struct node_selector *made, const char *name,
                               struct pl_json added, struct pl_err *err)
{
	for (uint64_t i = 0; made != NULL && i < made->count; i++)
		if (node_term_is_invalid(&made->term[i]))
			return pl_json_fail(pl_json_member(added, name), PL_INVALID, err,
			                    "term %llu can not be parsed",
			                    (unsigned long long)i);
	return PL_OK;
}

static enum pl_code make_args(struct affinity_parse *parts, struct model *model,
                              struct pl_json added, struct node_affinity_args *out)
{
	struct draft_node_terms required =
		reader_node_selector(&parts->reader, added, required_name);
	struct draft_node_terms preferred = read_preferred(parts, added);
	enum pl_code code = parts->reader.code;
	struct maker maker;

	if (code != PL_OK)
		return code;
	validate_init(&parts->check, VALIDATE_SUBMITTED, &parts->errors);
	validate_into(&parts->check, "addedAffinity");
	if (required.set)
		validate_node_selector(&parts->check, required_name, &required);
	validate_preferred(&parts->check, &preferred);
	code = field_errors_verdict(&parts->errors, parts->err);
	if (code != PL_OK)
		return code;
	maker_init(&maker, model, parts->reader.arena);
	out->required = node_selector_make(&maker, required);
	out->preferred = node_selector_make(&maker, preferred);
	if (maker.code != PL_OK)
		return pl_err_set(parts->err, maker.code, "addedAffinity");
	code = check_made(out->required, required_name, added, parts->err);
	return code == PL_OK
	               ? check_made(out->preferred, preferred_name, added, parts->err)
	               : code;
}

enum pl_code node_affinity_args_parse(struct model *model, struct pl_json json,
                                      void *args, struct pl_err *err)
{
	struct node_affinity_args *out = args;
	struct affinity_parse parts = {.err = err};
	struct pl_json added;
	struct pl_arena arena;
	enum pl_code code;

	*out = (struct node_affinity_args){0};
	if (json.node == NULL)
		return PL_OK;
	pl_arena_init(&arena, 0, READER_ARENA_MAX);
	reader_over(&parts.reader, &arena, err);
	field_errors_init(&parts.errors, &arena);
	added = reader_object(&parts.reader, json, "addedAffinity");
	code = parts.reader.code;
	if (code == PL_OK && added.node != NULL)
		code = make_args(&parts, model, added, out);
	if (code == PL_OK)
		code = check_known(json, added, err);
	if (code != PL_OK)
		node_affinity_args_drop(model, out);
	pl_arena_done(&arena);
	return code;
}

void node_affinity_args_drop(struct model *model, void *args)
{
	struct node_affinity_args *drop = args;

	model_unref(model, MODEL_NODE_SELECTORS, drop->required);
	model_unref(model, MODEL_NODE_SELECTORS, drop->preferred);
	*drop = (struct node_affinity_args){0};
}
