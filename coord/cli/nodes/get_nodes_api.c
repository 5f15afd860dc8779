#include "coord/cli/nodes/get_nodes_api.h"

#include "coord/api/objects/member_name.h"
#include "coord/cli/nodes/node_row.h"
#include "coord/cli/output/message.h"
#include "coord/cli/output/row_list.h"
#include "coord/cli/session/api_object.h"
#include "coord/cli/session/api_rows.h"

struct asking_nodes {
	const struct node_pick *pick;
	struct row_list list;
	struct pl_arena arena; /* of one row */
	unsigned absent;
};

static enum pl_code add_node(void *ctx, struct pl_json node, struct pl_err *err)
{
	struct asking_nodes *asking = ctx;
	struct pl_span wanted = asking->pick->filter.cluster, cluster, name;
	struct output_row row;

	api_node_name(api_text(node, "metadata.name"), &cluster, &name);
	if (asking->pick->filter.name_count == 0 && wanted.len > 0 &&
	    !pl_span_eq(cluster, wanted))
		return PL_OK;
	pl_arena_reset(&asking->arena);
	if (node_object_row(node, &asking->arena, &row) != PL_OK)
		return pl_err_set(err, PL_NOMEM, "print the nodes");
	return row_list_add(&asking->list, &row, err);
}

static enum pl_code watched_row(const void *ctx, struct pl_json node,
                                struct pl_arena *arena, struct output_row *out,
                                bool *shown)
{
	const struct node_filter *filter = &((const struct node_pick *)ctx)->filter;
	struct pl_span cluster, name;

	api_node_name(api_text(node, "metadata.name"), &cluster, &name);
	*shown = node_filter_names(filter, cluster, name);
	return node_object_row(node, arena, out);
}

static enum pl_code watch_nodes_api(const struct node_pick *pick, struct api_session *api,
                                    struct pl_err *err)
{
	struct api_rows_opts opts = {.words = "get nodes",
	                             .path = "/api/v1/nodes",
	                             .schema = &node_schema,
	                             .state_column = NODE_ROW_STATE,
	                             .row = watched_row,
	                             .ctx = pick};
	struct pl_buf query;
	enum pl_code code;

	pl_buf_init(&query, HTTP_URL_MAX);
	code = api_query_labels(&query, pick->filter.query);
	opts.query = pl_buf_span(&query);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "--selector: too long");
	else
		code = api_rows_watch(api, &opts, err);
	pl_buf_done(&query);
	return code;
}

static enum pl_code list_nodes(struct asking_nodes *asking, struct api_session *api,
                               struct pl_err *err)
{
	struct pl_buf query;
	enum pl_code code;

	pl_buf_init(&query, HTTP_URL_MAX);
	code = api_query_labels(&query, asking->pick->filter.query);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "--selector: too long");
	else
		code = api_session_list(api, "/api/v1/nodes", pl_buf_span(&query),
		                        add_node, asking, err);
	pl_buf_done(&query);
	return code;
}

static enum pl_code get_named(struct asking_nodes *asking, struct api_session *api,
                              const struct node_name *name, struct pl_err *err)
{
	char path[API_PATH_MAX], whole[MEMBER_NAME_SIZE];
	size_t len = member_name_join(name->cluster, name->name, whole);
	struct pl_arena arena;
	struct pl_json node;
	enum pl_code code = api_path(path, "/api/v1", (struct pl_span){0}, "nodes",
	                             pl_span(whole, len), err);

	if (code != PL_OK)
		return code;
	pl_arena_init(&arena, 0, 0);
	code = api_session_get(api, path, &arena, &node, err);
	if (code == PL_OK) {
		code = add_node(asking, node, err);
	} else if (code == PL_NOTFOUND) {
		print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such node",
		              PL_SPAN_ARG(name->cluster), PL_SPAN_ARG(name->name));
		asking->absent++;
		code = PL_OK;
	}
	pl_arena_done(&arena);
	return code;
}

static enum pl_code get_each(struct asking_nodes *asking, struct api_session *api,
                             struct pl_err *err)
{
	const struct node_filter *filter = &asking->pick->filter;
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < filter->name_count && code == PL_OK; i++)
		if (!node_filter_is_repeated(filter, i))
			code = get_named(asking, api, &filter->names[i], err);
	return code;
}

enum pl_code get_nodes_api(const struct node_pick *pick, struct api_session *api,
                           struct pl_err *err)
{
	struct asking_nodes asking = {.pick = pick};
	bool named = pick->filter.name_count > 0;
	enum pl_code code;

	if (api->options->watch)
		return watch_nodes_api(pick, api, err);
	code = row_list_init(&asking.list, &node_schema, api->options->format, err);
	if (code != PL_OK)
		return code;
	pl_arena_init(&asking.arena, 0, 0);
	code = named ? get_each(&asking, api, err) : list_nodes(&asking, api, err);
	if (code == PL_OK)
		code = row_list_end(&asking.list, named ? NULL : "no nodes", err);
	if (code == PL_OK && asking.absent > 0)
		code = pl_err_set(err, PL_NOTFOUND, "%u not found", asking.absent);
	pl_arena_done(&asking.arena);
	row_list_done(&asking.list);
	return code;
}
