/* DELETE of an object or a collection, eviction, binding. */
#include "coord/api/verbs/change.h"

/* -- options ------------------------------------------------------------------------- */

struct delete_options {
	int64_t grace_s;    /* -1: not said */
	struct pl_span uid; /* precondition; empty: none */
	int64_t revision;   /* precondition; 0: none */
};

static bool options_read(struct request *request, struct delete_options *out)
{
	static const char name[] = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
	const struct schema_type *type = schema_type_named(name);
	struct json_tree tree = {0};
	struct cJSON *preconditions, *grace;
	double seconds = 0;

	*out = (struct delete_options){.grace_s = -1};
	if (request->query.gracePeriodSeconds.len > 0 &&
	    !request_number(request->query.gracePeriodSeconds, &out->grace_s)) {
		struct api_status status = status_bad_request(
			PL_SPAN_LIT("gracePeriodSeconds: must be a number"));

		answer_status(request, &status);
		return false;
	}
	if (!body_read(request, type, &tree))
		return false;
	if (tree.root == NULL)
		return true;
	grace = json_get(tree.root, "gracePeriodSeconds");
	if (grace != NULL &&
	    pl_json_as_double(json_tree_value(&tree, grace), &seconds, NULL) == PL_OK)
		out->grace_s = (int64_t)seconds;
	if (json_get(tree.root, "dryRun") != NULL)
		request->change->dry_run = true;
	preconditions = json_get(tree.root, "preconditions");
	if (preconditions != NULL) {
		out->uid = meta_text(preconditions, "uid");
		(void)request_number(meta_text(preconditions, "resourceVersion"),
		                     &out->revision);
	}
	return true;
}

static bool preconditions_hold(struct change *change,
                               const struct delete_options *options)
{
	struct request *request = change->request;
	struct pl_buf buf;
	struct api_status status;
	bool same = true;

	if (options->revision != 0 && options->revision != change->current.revision) {
		change_conflict(change);
		return false;
	}
	if (options->uid.len == 0)
		return true;
	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	if (object_write(&change->current, &buf) == PL_OK) {
		char *quoted =
			pl_arena_printf(&request->arena, "\"uid\":\"" PL_SPAN_FMT "\"",
		                        PL_SPAN_ARG(options->uid));

		same = quoted != NULL &&
		       memmem(buf.at, buf.len, quoted, strlen(quoted)) != NULL;
	}
	pl_buf_done(&buf);
	if (same)
		return true;
	status = status_conflict(&request->arena, request_about(request),
	                         PL_SPAN_LIT("Precondition failed: UID in precondition "
	                                     "differs from the object's"));
	answer_status(request, &status);
	return false;
}

/* -- one object ------------------------------------------------------------------------- */

static void answer_deleted(struct change *change, int64_t revision)
{
	struct request *request = change->request;
	struct api_status status =
		status_deleted(request_about(request), (struct pl_span){0});

	(void)revision;
	answer_status(request, &status);
}

static void deletion_fresh(struct request *request)
{
	struct change *change = request->change;
	struct object current;
	struct delete_options options;

	if (!request_object(request, &current)) {
		struct api_status status =
			status_not_found(&request->arena, request_about(request));

		answer_status(request, &status);
		return;
	}
	change_set_current(change, &current);
	if (!options_read(request, &options) || !preconditions_hold(change, &options))
		return;
	change->grace_s = options.grace_s;
	if (change->source == SOURCE_PODS) {
		commit_pod_delete(change);
		return;
	}
	if (is_namespace(request)) {
		namespace_terminate(change);
		return;
	}
	change->committed = answer_deleted;
	change_commit(change);
}

static bool delete_again(struct change *change)
{
	change->request->query.resourceVersion = (struct pl_span){0};
	request_when_fresh(change->request, deletion_fresh);
	return true;
}

void request_delete(struct request *request)
{
	struct change *change = change_new(request, CHANGE_DELETE);

	if (change == NULL)
		return;
	change->again = delete_again;
	deletion_fresh(request);
}
