/* DELETE of a collection. */
#include "coord/api/verbs/change.h"
#include "coord/api/verbs/deleter.h"

static void on_deleted(void *ctx, uint64_t count, const struct pl_err *err)
{
	struct request *request = ctx;
	struct api_status status = {0};

	(void)count;
	if (err != NULL) {
		answer_store_error(request, err);
	} else {
		status = status_deleted(request_about(request), (struct pl_span){0});
		answer_status(request, &status);
	}
	request_unbusy(request);
}

static void collection_fresh(struct request *request)
{
	struct deleter_opts opts = {.resource = request->path.resource,
	                            .namespace = request->path.namespace,
	                            .filter = request->filter,
	                            .grace_s = -1,
	                            .dry_run = request->query.dryRun.len > 0,
	                            .done = on_deleted,
	                            .ctx = request};
	struct pl_err err = {0};

	(void)request_number(request->query.gracePeriodSeconds, &opts.grace_s);
	if (deleter_start(request->api, &opts, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}

/* The words of the body count as if they were those of the query. */
static bool read_options(struct request *request)
{
	static const char name[] = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
	const struct schema_type *type = schema_type_named(name);
	struct schema_report *report =
		pl_arena_zalloc(&request->arena, 1, sizeof *report);
	struct pl_json grace;
	struct json_tree tree = {0};
	double seconds = 0;

	if (report == NULL) {
		answer_no_memory(request);
		return false;
	}
	schema_report_init(report, &request->arena);
	if (!body_read(request, type, &tree))
		return false;
	if (tree.root == NULL)
		return true;
	if (!body_decode(request, &tree, type, report) ||
	    !delete_options_check(request, tree.root))
		return false;
	if (pl_json_count((struct pl_json){.node = json_get(tree.root, "dryRun")}) > 0)
		request->query.dryRun = PL_SPAN_LIT("All");
	grace = (struct pl_json){.node = json_get(tree.root, "gracePeriodSeconds")};
	if (grace.node != NULL && pl_json_as_double(grace, &seconds, NULL) == PL_OK &&
	    seconds >= 0)
		request->query.gracePeriodSeconds = pl_span_str(
			pl_arena_printf(&request->arena, "%lld", (long long)seconds));
	return true;
}

void request_delete_collection(struct request *request)
{
	struct object_filter *filter =
		pl_arena_zalloc(&request->arena, 1, sizeof *filter);
	enum source_kind kind;

	if (filter == NULL) {
		answer_no_memory(request);
		return;
	}
	if (!source_of_resource(request->path.resource, &kind) ||
	    (kind != SOURCE_OBJECTS && kind != SOURCE_PODS && kind != SOURCE_BUDGETS)) {
		struct api_status status = status_no_such_method();

		answer_status(request, &status);
		return;
	}
	if (!read_options(request) || !request_filter(request, filter))
		return;
	request->filter = filter;
	request->query.resourceVersion = (struct pl_span){0};
	request_when_fresh(request, collection_fresh);
}
