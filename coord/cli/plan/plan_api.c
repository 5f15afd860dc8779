#include "coord/cli/plan/plan_api.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/input/objects.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/row_list.h"
#include "coord/cli/session/api_object.h"
#include "store/base/json_out.h"

enum { BODY_MAX = 64 << 20, OUT_MAX = 256 << 20 };

/* -- what is asked ------------------------------------------------------------------------ */

static enum pl_code add_object(void *ctx, struct pl_span kind, struct pl_span json,
                               struct pl_err *err)
{
	(void)kind, (void)err;
	pl_json_out_raw(ctx, json);
	return PL_OK;
}

static enum pl_code put_objects(struct pl_json_out *out, const struct pods_args *given,
                                struct pl_err *err)
{
	enum pl_code code = PL_OK;

	pl_json_out_name(out, "objects");
	pl_json_out_array(out);
	for (unsigned i = 0; i < given->files.count && code == PL_OK; i++)
		code = objects_read(given->files.path[i], add_object, out, err);
	pl_json_out_end(out);
	return code;
}

static enum pl_code put_nodes(struct pl_json_out *out, const struct plan_opts *opts,
                              struct pl_err *err)
{
	if (opts->adds == 0)
		return PL_OK;
	pl_json_out_name(out, "addNodes");
	pl_json_out_array(out);
	for (unsigned i = 0; i < opts->adds; i++) {
		if (opts->add[i].json.len > 0)
			return pl_err_set(err, PL_UNSUPPORTED,
			                  "--add-nodes N:FILE: needs the store "
			                  "(--endpoints); the API takes shapes");
		pl_json_out_object(out);
		pl_json_out_name(out, "count");
		pl_json_out_int(out, opts->add[i].count);
		pl_json_out_name(out, "shape");
		pl_json_out_string(out, opts->add[i].shape);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	return PL_OK;
}

static void put_clusters(struct pl_json_out *out, const struct plan_opts *opts)
{
	if (opts->withouts == 0)
		return;
	pl_json_out_name(out, "withoutClusters");
	pl_json_out_array(out);
	for (unsigned i = 0; i < opts->withouts; i++)
		pl_json_out_string(out, opts->without[i]);
	pl_json_out_end(out);
}

static enum pl_code print_plan(const struct plan_asked *asked, struct pl_buf *body,
                               struct pl_err *err)
{
	struct pl_json_out out;
	enum pl_code code;

	pl_json_out_init(&out, body);
	pl_json_out_object(&out);
	pl_json_out_name(&out, "apiVersion");
	pl_json_out_str(&out, "placet.io/v1");
	pl_json_out_name(&out, "kind");
	pl_json_out_str(&out, "Plan");
	pl_json_out_name(&out, "metadata");
	pl_json_out_object(&out);
	pl_json_out_name(&out, "name");
	pl_json_out_str(&out, "plan");
	pl_json_out_end(&out);
	pl_json_out_name(&out, "spec");
	pl_json_out_object(&out);
	code = put_objects(&out, asked->given, err);
	put_clusters(&out, asked->opts);
	if (code == PL_OK)
		code = put_nodes(&out, asked->opts, err);
	if (code != PL_OK)
		return code;
	if (asked->opts->at_revision > 0) {
		pl_json_out_name(&out, "atRevision");
		pl_json_out_int_string(&out, asked->opts->at_revision);
	}
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	code = pl_json_out_done(&out);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "the plan's objects");
}

/* -- what is answered --------------------------------------------------------------------- */

enum planned_column { NAMESPACE, NAME, VERDICT, NODE, REASON, COLUMN_COUNT };

static const struct output_column columns[] = {
	[NAMESPACE] = {"NAMESPACE", "namespace", OUTPUT_ALWAYS},
	[NAME] = {"NAME", "name", OUTPUT_ALWAYS},
	[VERDICT] = {"VERDICT", "verdict", OUTPUT_ALWAYS},
	[NODE] = {"NODE", "node", OUTPUT_ALWAYS},
	[REASON] = {"REASON", "reason", OUTPUT_IF_USED},
};

static const struct output_schema schema = {"PlannedPod", columns, COLUMN_COUNT, 2};

/* "unschedulable" is the verdict of a pod that no node has room for; the reasons of others
 * are words of their own. */
static struct pl_span verdict_of(struct pl_json pod)
{
	struct pl_span reason = api_text(pod, "reason");

	if (api_text(pod, "node").len > 0)
		return PL_SPAN_LIT("placed");
	if (pl_span_eq(reason, PL_SPAN_LIT("gated")) ||
	    pl_span_eq(reason, PL_SPAN_LIT("refused")) ||
	    pl_span_eq(reason, PL_SPAN_LIT("failed")))
		return reason;
	return PL_SPAN_LIT("unschedulable");
}

static enum pl_code pod_row(struct pl_json pod, struct pl_arena *arena,
                            struct output_row *row)
{
	size_t victims = pl_json_count(pl_json_member(pod, "victims"));
	const char *message = field_text_or(pod, "message", "");
	char *text;

	*row = (struct output_row){0};
	output_text(row, NAMESPACE, api_text(pod, "namespace"));
	output_text(row, NAME, api_text(pod, "name"));
	output_text(row, VERDICT, verdict_of(pod));
	if (api_text(pod, "node").len > 0) {
		text = pl_arena_printf(arena, "%s/%s", field_text_or(pod, "cluster", ""),
		                       field_text_or(pod, "node", ""));
		if (text == NULL)
			return PL_NOMEM;
		output_text(row, NODE, pl_span_str(text));
	}
	if (victims == 0) {
		output_text(row, REASON, pl_span_str(message));
		return PL_OK;
	}
	text = pl_arena_printf(arena, "%s%s%zu pod%s would be evicted", message,
	                       *message == 0 ? "" : "; ", victims,
	                       victims == 1 ? "" : "s");
	if (text == NULL)
		return PL_NOMEM;
	output_text(row, REASON, pl_span_str(text));
	return PL_OK;
}

static enum pl_code print_pods(struct pl_json pods, struct pl_err *err)
{
	struct row_list list;
	struct pl_arena arena;
	enum pl_code code = row_list_init(&list, &schema, OUTPUT_TABLE, err);

	if (code != PL_OK)
		return code;
	pl_arena_init(&arena, 0, 0);
	PL_JSON_EACH (pod, pods) {
		struct output_row row;

		pl_arena_reset(&arena);
		code = pod_row(pod, &arena, &row);
		if (code == PL_OK)
			code = row_list_add(&list, &row, err);
		if (code != PL_OK)
			break;
	}
	if (code == PL_OK)
		code = row_list_end(&list, NULL, err);
	pl_arena_done(&arena);
	row_list_done(&list);
	return code;
}

static enum pl_code print_text(struct pl_json plan, struct pl_err *err)
{
	int64_t placed = field_int(plan, "status.placed", 0);
	int64_t pods = placed + field_int(plan, "status.unplaced", 0);
	struct pl_buf out;
	enum pl_code code;

	pl_buf_init(&out, OUT_MAX);
	code = pl_buf_printf(
		&out, "%" PRId64 " of %" PRId64 " pod%s fit%s, as of revision %.24s\n",
		placed, pods, pods == 1 ? "" : "s", pods == 1 ? "s" : "",
		field_text_or(plan, "status.revision", "?"));
	if (code == PL_OK)
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code == PL_OK ? print_pods(field_at(plan, "status.pods"), err) : code;
}

static enum pl_code print_json(struct pl_json plan, struct pl_err *err)
{
	struct pl_json_out json;
	struct pl_buf out;
	enum pl_code code;

	pl_buf_init(&out, OUT_MAX);
	pl_json_out_init(&json, &out);
	pl_json_out_value(&json, plan);
	code = pl_json_out_done(&json);
	if (code == PL_OK)
		code = pl_buf_add_str(&out, "\n");
	if (code != PL_OK)
		(void)pl_err_set(err, code, "print the plan");
	else
		code = print_result(&out, err);
	pl_buf_done(&out);
	return code;
}

/* -- the command -------------------------------------------------------------------------- */

static enum pl_code send_plan(struct api_session *api, const struct plan_asked *asked,
                              struct pl_arena *arena, struct pl_json *out,
                              struct pl_err *err)
{
	struct api_request request = {.method = "POST"};
	const char *namespace = asked->given->namespace != NULL ? asked->given->namespace
	                                                        : api->target.namespace;
	char path[API_PATH_MAX];
	struct pl_buf body;
	enum pl_code code =
		api_path(path, "/apis/placet.io/v1",
	                 pl_span_str(namespace == NULL ? "default" : namespace), "plans",
	                 (struct pl_span){0}, err);

	if (code != PL_OK)
		return code;
	pl_buf_init(&body, BODY_MAX);
	code = print_plan(asked, &body, err);
	request.path = path;
	request.body = pl_buf_span(&body);
	if (code == PL_OK)
		code = api_session_send(api, &request, arena, out, err);
	pl_buf_done(&body);
	return code;
}

enum pl_code plan_api(struct api_session *api, const struct plan_asked *asked, bool *fits,
                      struct pl_err *err)
{
	struct pl_arena arena;
	struct pl_json plan;
	enum pl_code code;

	pl_arena_init(&arena, 1 << 16, 0);
	code = send_plan(api, asked, &arena, &plan, err);
	if (code == PL_OK) {
		*fits = field_bool(plan, "status.fits", false);
		code = api->options->format == OUTPUT_JSON ? print_json(plan, err)
		                                           : print_text(plan, err);
	}
	pl_arena_done(&arena);
	return code;
}
