#include "shardsched/model/parse.h"

#include "shardsched/model/pod_validate.h"
#include "shardsched/model/spec_requests.h"

void parse_begin(struct parse *parse, struct pl_span json, struct pl_err *err)
{
	parse->root = reader_init(&parse->reader, parse->arena, json, err);
	parse->meta = reader_meta(&parse->reader, parse->root);
	maker_init(&parse->maker, parse->model, parse->arena);
	if (parse->errors != NULL)
		field_errors_init(parse->errors, parse->arena);
}

bool parse_checks(struct parse *parse, enum validate_name name, bool namespaced)
{
	if (parse->errors == NULL || parse->reader.code != PL_OK)
		return false;
	validate_init(&parse->check, parse->scope, parse->errors);
	validate_meta(&parse->check, &parse->meta, name, namespaced);
	return true;
}

bool parse_makes(struct parse *parse)
{
	if (parse->reader.code == PL_OK && parse->errors != NULL)
		parse->reader.code =
			field_errors_verdict(parse->errors, parse->reader.err);
	return parse->reader.code == PL_OK;
}

enum pl_code parse_end(struct parse *parse)
{
	if (parse->reader.code == PL_OK && parse->maker.code != PL_OK)
		parse->reader.code = pl_err_set(parse->reader.err, parse->maker.code,
		                                "keep an object");
	return parse->reader.code;
}

static enum pl_code check_draft(struct parse *parse, const struct pod_draft *draft,
                                struct pl_err *err)
{
	if (parse->errors == NULL)
		return PL_OK;
	field_errors_init(parse->errors, parse->arena);
	pod_validate(draft, parse->scope, parse->errors);
	return field_errors_verdict(parse->errors, err);
}

static enum pl_code pod_from_draft(struct parse *parse, const struct pod_draft *draft,
                                   struct pod *out, struct pl_err *err)
{
	enum pl_code code = check_draft(parse, draft, err);

	return code == PL_OK ? pod_make(parse->model, parse->arena, draft, out, err)
	                     : code;
}

enum pl_code pod_parse(struct parse *parse, struct pl_span json, struct pod *out,
                       struct pl_err *err)
{
	struct pod_draft draft;
	enum pl_code code = pod_draft_read(parse->arena, json, &draft, err);

	return code == PL_OK ? pod_from_draft(parse, &draft, out, err) : code;
}

enum pl_code pod_parse_tree(struct parse *parse, struct pl_json root, struct pod *out,
                            struct pl_err *err)
{
	struct pod_draft draft;
	enum pl_code code = pod_draft_read_tree(parse->arena, root, &draft, err);

	return code == PL_OK ? pod_from_draft(parse, &draft, out, err) : code;
}

enum pl_code pod_parse_draft(struct parse *parse, struct pl_json root,
                             struct pod_draft *out, struct pl_err *err)
{
	struct spec_requests requests;
	enum pl_code code = pod_draft_read_tree(parse->arena, root, out, err);

	if (code == PL_OK)
		code = check_draft(parse, out, err);
	return code == PL_OK ? spec_requests_make(parse->arena, out, &requests, err)
	                     : code;
}

enum pl_code node_parse(struct parse *parse, struct pl_span json, struct node *out,
                        struct pl_err *err)
{
	struct node_draft draft;
	enum pl_code code = node_draft_read(parse->arena, json, &draft, err);

	if (code == PL_OK && parse->errors != NULL) {
		field_errors_init(parse->errors, parse->arena);
		node_validate(&draft, parse->scope, parse->errors);
		code = field_errors_verdict(parse->errors, err);
	}
	return code == PL_OK ? node_make(parse->model, parse->arena, &draft, out, err)
	                     : code;
}
