#include "coord/cli/pods/get_pods_api.h"

#include "coord/api/objects/member_name.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/row_list.h"
#include "coord/cli/pods/pod_object_row.h"
#include "coord/cli/pods/pod_row.h"
#include "coord/cli/session/api_object.h"
#include "coord/cli/session/api_rows.h"
#include "store/base/clock.h"

struct asking_pods {
	const struct pod_pick *pick;
	struct row_list list;
	struct pl_arena arena; /* of one row */
	int64_t now_ms;
	unsigned absent;
};

static enum pl_code add_pod(void *ctx, struct pl_json pod, struct pl_err *err)
{
	struct asking_pods *asking = ctx;
	const char *phase = asking->pick->filter.phase;
	struct output_row row;

	pl_arena_reset(&asking->arena);
	if (pod_object_row(pod, asking->now_ms, &asking->arena, &row) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "print the pods");
	if (phase != NULL && !pl_span_eq(pod_row_phase(&row), pl_span_str(phase)))
		return PL_OK;
	return row_list_add(&asking->list, &row, err);
}

/* The query has all that the server can select. */
static enum pl_code make_query(const struct pod_filter *filter, struct pl_buf *query)
{
	char node[MEMBER_NAME_SIZE];
	size_t len;
	enum pl_code code = api_query_labels(query, filter->query);

	if (code != PL_OK || filter->node.len == 0)
		return code;
	len = member_name_join(filter->cluster, filter->node, node);
	return api_query_field(query, "spec.nodeName", pl_span(node, len));
}

static enum pl_code list_pods(struct asking_pods *asking, struct api_session *api,
                              struct pl_err *err)
{
	const struct pod_filter *filter = &asking->pick->filter;
	char path[API_PATH_MAX];
	struct pl_buf query;
	enum pl_code code = api_path(path, "/api/v1", filter->namespace, "pods",
	                             (struct pl_span){0}, err);

	if (code != PL_OK)
		return code;
	pl_buf_init(&query, HTTP_URL_MAX);
	code = make_query(filter, &query);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "--selector: too long");
	else
		code = api_session_list(api, path, pl_buf_span(&query), add_pod, asking,
		                        err);
	pl_buf_done(&query);
	return code;
}

/* -- with --watch --------------------------------------------------------------------------- */

static enum pl_code watched_row(const void *ctx, struct pl_json pod,
                                struct pl_arena *arena, struct output_row *out,
                                bool *shown)
{
	const struct pod_filter *filter = &((const struct pod_pick *)ctx)->filter;
	enum pl_code code = pod_object_row(pod, pl_clock_wall_ms(), arena, out);

	if (code != PL_OK)
		return code;
	*shown = (filter->phase == NULL ||
	          pl_span_eq(pod_row_phase(out), pl_span_str(filter->phase))) &&
	         pod_filter_names(filter, api_text(pod, "metadata.namespace"),
	                          api_text(pod, "metadata.name"));
	return PL_OK;
}

/* A misspelt name would be waited for without end. */
static void tell_missing(const void *ctx, struct row_watch *rows)
{
	const struct pod_pick *pick = ctx;

	for (size_t i = 0; i < pick->filter.name_count; i++) {
		const struct pod_name *name = &pick->filter.names[i];

		if (!pod_filter_is_repeated(&pick->filter, i) &&
		    !row_watch_has(rows, name->namespace, name->name))
			print_message(
				PL_SPAN_FMT "/" PL_SPAN_FMT ": does not exist (yet)",
				PL_SPAN_ARG(name->namespace), PL_SPAN_ARG(name->name));
	}
}

/* The namespace of the option, or of all the names. */
static struct pl_span watched_namespace(const struct pod_filter *filter)
{
	struct pl_span all =
		filter->name_count > 0 ? filter->names[0].namespace : filter->namespace;

	for (size_t i = 1; i < filter->name_count; i++)
		if (!pl_span_eq(filter->names[i].namespace, all))
			return (struct pl_span){0};
	return all;
}

static enum pl_code watch_pods_api(const struct pod_pick *pick, struct api_session *api,
                                   struct pl_err *err)
{
	struct api_rows_opts opts = {.words = "get pods",
	                             .schema = &pod_schema,
	                             .state_column = POD_ROW_PHASE,
	                             .row = watched_row,
	                             .first = tell_missing,
	                             .ctx = pick};
	char path[API_PATH_MAX];
	struct pl_buf query;
	enum pl_code code = api_path(path, "/api/v1", watched_namespace(&pick->filter),
	                             "pods", (struct pl_span){0}, err);

	if (code != PL_OK)
		return code;
	pl_buf_init(&query, HTTP_URL_MAX);
	code = make_query(&pick->filter, &query);
	opts.path = path;
	opts.query = pl_buf_span(&query);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "--selector: too long");
	else
		code = api_rows_watch(api, &opts, err);
	pl_buf_done(&query);
	return code;
}

/* -- once ----------------------------------------------------------------------------------- */

static enum pl_code get_named(struct asking_pods *asking, struct api_session *api,
                              const struct pod_name *name, struct pl_err *err)
{
	char path[API_PATH_MAX];
	struct pl_arena arena;
	struct pl_json pod;
	enum pl_code code =
		api_path(path, "/api/v1", name->namespace, "pods", name->name, err);

	if (code != PL_OK)
		return code;
	pl_arena_init(&arena, 0, 0);
	code = api_session_get(api, path, &arena, &pod, err);
	if (code == PL_OK) {
		code = add_pod(asking, pod, err);
	} else if (code == PL_NOTFOUND) {
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such pod",
		              PL_SPAN_ARG(name->namespace), PL_SPAN_ARG(name->name));
		asking->absent++;
		code = PL_OK;
	}
	pl_arena_done(&arena);
	return code;
}

static enum pl_code get_each(struct asking_pods *asking, struct api_session *api,
                             struct pl_err *err)
{
	const struct pod_filter *filter = &asking->pick->filter;
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < filter->name_count && code == PL_OK; i++)
		if (!pod_filter_is_repeated(filter, i))
			code = get_named(asking, api, &filter->names[i], err);
	return code;
}

enum pl_code get_pods_api(const struct pod_pick *pick, struct api_session *api,
                          struct pl_err *err)
{
	struct asking_pods asking = {.pick = pick, .now_ms = pl_clock_wall_ms()};
	bool named = pick->filter.name_count > 0;
	enum pl_code code;

	if (api->options->watch)
		return watch_pods_api(pick, api, err);
	code = row_list_init(&asking.list, &pod_schema, api->options->format, err);
	if (code != PL_OK)
		return code;
	pl_arena_init(&asking.arena, 0, 0);
	code = named ? get_each(&asking, api, err) : list_pods(&asking, api, err);
	if (code == PL_OK)
		code = row_list_end(&asking.list, named ? NULL : "no pods", err);
	if (code == PL_OK && asking.absent > 0)
		code = pl_err_set(err, PL_NOTFOUND, "%u not found", asking.absent);
	pl_arena_done(&asking.arena);
	row_list_done(&asking.list);
	return code;
}
