#include "coord/cli/eval/eval_case.h"

#include <string.h>

#include "coord/cli/eval/eval_verdicts.h"
#include "shardsched/model/pod_validate.h"
#include "store/base/json_out.h"

static const struct pl_json_limits limits = {
	.bytes = EVAL_LINE_MAX, .depth = 96, .values = 1 << 20};

/* Every node is tried for preemption, as when the cases were recorded. */
static const char config[] =
	"{\"profiles\":[{\"pluginConfig\":[{\"name\":\"DefaultPreemption\",\"args\":"
	"{\"minCandidateNodesPercentage\":100,\"minCandidateNodesAbsolute\":100}}]}]}";

enum pl_code eval_case_read(struct pl_arena *arena, struct pl_span line,
                            struct eval_case *out, struct pl_err *err)
{
	struct eval_case it = {.id = "", .category = ""};
	enum pl_code code = pl_json_parse(arena, line, &limits, &it.root, err);

	if (code == PL_OK)
		code = pl_json_string(it.root, "id", PL_JSON_OPTIONAL, &it.id, err);
	if (code == PL_OK)
		code = pl_json_string(it.root, "category", PL_JSON_OPTIONAL, &it.category,
		                      err);
	if (code == PL_OK)
		code = pl_json_object(it.root, "pod", PL_JSON_REQUIRED, &it.pod, err);
	if (code == PL_OK)
		code = pl_json_object(it.root, "expect", PL_JSON_OPTIONAL, &it.expect,
		                      err);
	if (code == PL_OK)
		*out = it;
	return code;
}

bool eval_case_is_validity(const struct eval_case *it)
{
	return strcmp(it->category, "invalid") == 0;
}

bool eval_case_is_an_error(const struct eval_case *it)
{
	bool error = false;

	return pl_json_bool(it->expect, "error", PL_JSON_OPTIONAL, &error, NULL) ==
	               PL_OK &&
	       error;
}

/* The JSON of one object, as a client would send it. */
static enum pl_code text_of(struct pl_json value, struct pl_buf *text, struct pl_err *err)
{
	struct pl_json_out out;
	enum pl_code code;

	pl_buf_clear(text, SIZE_MAX);
	pl_json_out_init(&out, text);
	pl_json_out_value(&out, value);
	code = pl_json_out_done(&out);
	if (code != PL_OK)
		return pl_json_fail(value, code, err, "%s", pl_code_name(code));
	return PL_OK;
}

static enum pl_code put_list(struct engine *engine, const struct eval_case *it,
                             enum engine_kind kind, struct pl_buf *text,
                             struct pl_err *err)
{
#define KIND_LIST(kind, name, list) list,
	static const char *const lists[] = {ENGINE_KIND_MAP(KIND_LIST)};
	struct pl_json list = {0};
	enum pl_code code =
		pl_json_array(it->root, lists[kind], PL_JSON_OPTIONAL, &list, err);
	size_t at = 0;

	PL_JSON_EACH (item, list) {
		if (code != PL_OK)
			break;
		code = text_of(item, text, err);
		if (code != PL_OK)
			break;
		code = engine_put(engine, kind, pl_buf_span(text), NULL, err);
		if (code != PL_OK)
			pl_err_wrap(err, "%s[%zu]", lists[kind], at);
		at++;
	}
	return code;
}

/* Pods are put last, when the nodes and objects that they refer to are there. */
static enum pl_code put_cluster(struct engine *engine, const struct eval_case *it,
                                struct pl_buf *text, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (unsigned kind = 0; kind < ENGINE_KINDS && code == PL_OK; kind++)
		if (kind != ENGINE_POD)
			code = put_list(engine, it, (enum engine_kind)kind, text, err);
	return code == PL_OK ? put_list(engine, it, ENGINE_POD, text, err) : code;
}

static enum pl_code decide_case(struct engine *engine, struct pl_arena *arena,
                                const struct pod *pod, struct pl_buf *out,
                                struct pl_err *err)
{
	struct engine_decision decision = {0};
	enum pl_code code = engine_decide(engine, pod, &decision, err);

	return code == PL_OK ? eval_verdicts(engine, arena, &decision, out, err) : code;
}

static enum pl_code run_decision(struct engine *engine, struct pl_arena *arena,
                                 const struct eval_case *it, struct pl_buf *text,
                                 struct pl_buf *out, struct pl_err *err)
{
	struct parse parse = {.model = engine_model(engine), .arena = arena};
	struct pod pod;
	enum pl_code code = put_cluster(engine, it, text, err);

	if (code == PL_OK)
		code = text_of(it->pod, text, err);
	if (code != PL_OK)
		return code;
	code = pod_parse(&parse, pl_buf_span(text), &pod, err);
	if (code != PL_OK) {
		pl_err_wrap(err, "pod");
		return code;
	}
	code = decide_case(engine, arena, &pod, out, err);
	pod_drop(engine_model(engine), &pod);
	return code;
}

struct engine_opts eval_engine_opts(void)
{
	return (struct engine_opts){.config = pl_span_str(config),
	                            .keep_scores = true,
	                            .keep_candidates = true,
	                            .unique = true,
	                            .no_cache = true};
}

static enum pl_code run_scheduled(struct pl_arena *arena, const struct eval_case *it,
                                  struct pl_buf *text, struct pl_buf *out,
                                  struct pl_err *err)
{
	const struct engine_opts opts = eval_engine_opts();
	struct engine *engine = NULL;
	enum pl_code code = engine_new(&opts, &engine, err);

	if (code == PL_OK)
		code = run_decision(engine, arena, it, text, out, err);
	engine_free(engine);
	return code;
}

static enum pl_code run_validated(struct pl_arena *arena, const struct eval_case *it,
                                  struct pl_buf *text, struct pl_buf *out,
                                  struct pl_err *err)
{
	struct field_errors errors;
	struct pod_draft draft;
	struct pl_err why = {0};
	enum pl_code code = text_of(it->pod, text, err);

	if (code != PL_OK)
		return code;
	code = pod_draft_read(arena, pl_buf_span(text), &draft, &why);
	if (code != PL_OK)
		return eval_not_decoded(&why, out, err);
	field_errors_init(&errors, arena);
	pod_validate(&draft, VALIDATE_SUBMITTED, &errors);
	return eval_validity(&errors, out, err);
}

enum pl_code eval_case_run(struct pl_arena *arena, const struct eval_case *it,
                           struct pl_buf *out, struct pl_err *err)
{
	struct pl_err own = {0};
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, EVAL_LINE_MAX);
	code = eval_case_is_validity(it) ? run_validated(arena, it, &text, out, &own)
	                                 : run_scheduled(arena, it, &text, out, &own);
	pl_buf_done(&text);
	return code == PL_OK ? code : pl_err_set(err, code, "%s", own.msg);
}
