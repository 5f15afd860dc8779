/* DELETE of a collection. */
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
	if (!request_filter(request, filter))
		return;
	request->filter = filter;
	request->query.resourceVersion = (struct pl_span){0};
	request_when_fresh(request, collection_fresh);
}
