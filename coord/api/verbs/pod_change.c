/* Pods: the rules of the scheduler's own fields, where a pod stands, and how it goes. */
#include "coord/api/schema/schema_model_words.h"
#include "coord/api/verbs/change.h"
#include "coord/api/verbs/pod_priority.h"
#include "shardsched/model/parse.h"
#include "shardsched/model/pod_validate.h"
#include "shardsched/records/pod_location.h"

/* Kubernetes lets every pod stay for five minutes on a node that is not ready. */
static bool add_toleration(struct change *change, struct cJSON *list, const char *key)
{
	struct pl_arena *arena = &change->request->arena;
	struct cJSON *item = json_new_object(arena);

	return item != NULL && meta_set(change, item, "key", pl_span_str(key)) &&
	       meta_set(change, item, "operator", PL_SPAN_LIT("Exists")) &&
	       meta_set(change, item, "effect", PL_SPAN_LIT("NoExecute")) &&
	       json_set(arena, item, "tolerationSeconds", json_new_number(arena, 300)) &&
	       json_append(list, item);
}

static bool tolerates(const struct cJSON *list, const char *key)
{
	for (size_t i = 0; i < json_length(list); i++) {
		struct cJSON *item = json_at(list, i);
		struct pl_span own = meta_text(item, "key");
		struct pl_span effect = meta_text(item, "effect");

		if ((own.len == 0 || pl_span_eq(own, pl_span_str(key))) &&
		    (effect.len == 0 || pl_span_eq(effect, PL_SPAN_LIT("NoExecute"))))
			return true;
	}
	return false;
}

static bool default_tolerations(struct change *change, struct cJSON *spec)
{
	static const char *const keys[] = {"node.kubernetes.io/not-ready",
	                                   "node.kubernetes.io/unreachable"};
	struct pl_arena *arena = &change->request->arena;
	struct cJSON *list = json_get(spec, "tolerations");

	if (list == NULL) {
		list = json_new_array(arena);
		if (list == NULL || !json_set(arena, spec, "tolerations", list))
			return false;
	}
	for (unsigned i = 0; i < 2; i++)
		if (!tolerates(list, keys[i]) && !add_toleration(change, list, keys[i]))
			return false;
	return true;
}

bool pod_admit(struct change *change)
{
	struct request *request = change->request;
	struct cJSON *spec;

	if (change->kind != CHANGE_CREATE)
		return true;
	spec = json_get_object(&request->arena, change->wanted.root, "spec");
	if (spec == NULL) {
		answer_no_memory(request);
		return false;
	}
	if (meta_text(spec, "serviceAccountName").len == 0 &&
	    !meta_set(change, spec, "serviceAccountName", PL_SPAN_LIT("default"))) {
		answer_no_memory(request);
		return false;
	}
	if (!default_tolerations(change, spec)) {
		answer_no_memory(request);
		return false;
	}
	return pod_admit_priority(change, spec);
}

/* -- the scheduler's rules ---------------------------------------------------------------- */

/* Takes away the place that only its state says, whose name is the API's (member_name.h).
 * Empty: it has none. */
static struct pl_span hide_place(struct change *change, struct cJSON *spec)
{
	struct pl_span node = {0};

	if (spec == NULL || change->kind != CHANGE_UPDATE ||
	    change_stores(change, "spec", "nodeName"))
		return node;
	node = meta_text(spec, "nodeName");
	if (node.len > 0)
		(void)json_remove(spec, "nodeName");
	return node;
}

/* Reads the pod as a shard would: its faults, and the partition that it falls in. */
bool pod_admit_checked(struct change *change)
{
	struct request *request = change->request;
	struct cJSON *spec = json_get(change->wanted.root, "spec");
	struct pl_span place = hide_place(change, spec);
	struct pl_arena scratch;
	struct field_errors errors = {0};
	struct parse parse = {
		.arena = &scratch, .errors = &errors, .scope = VALIDATE_SUBMITTED};
	struct pod_location location = {0};
	struct pod_draft draft;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_init(&scratch, 16 << 10, READER_ARENA_MAX);
	code = pod_parse_draft(&parse, json_tree_root(&change->wanted), &draft, &err);
	if (code == PL_OK)
		code = pod_location_of_draft(&draft, request->api->service.partitions,
		                             &location, &err);
	if (code == PL_INVALID && errors.count > 0)
		schema_report_model(change->report, &errors,
		                    json_tree_root(&change->wanted));
	pl_arena_done(&scratch);
	if (place.len > 0 && !meta_set(change, spec, "nodeName", place))
		code = PL_NOMEM;
	change->pod = (struct builder_pod){.partition = location.partition,
	                                   .namespace = request->path.namespace,
	                                   .name = request->path.name};
	change->named = location.named;
	if (code == PL_OK)
		return true;
	if (code == PL_NOMEM || change->report->code != PL_OK) {
		answer_no_memory(request);
	} else if (change->report->cause_count > 0) {
		change_invalid(change);
	} else {
		struct api_status status = status_bad_request(
			pl_span_str(pl_arena_printf(&request->arena, "%s", err.msg)));

		answer_status(request, &status);
	}
	return false;
}

/* -- deletion ------------------------------------------------------------------------------ */

/* One request about one pod. */
static enum pl_code next_pod(void *ctx, struct pod_request *out, struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;

	(void)err;
	if (change->asked)
		return PL_NOTFOUND;
	change->asked = true;
	*out = (struct pod_request){.verb = POD_REQUEST_DELETE,
	                            .namespace = request->path.namespace,
	                            .name = request->path.name,
	                            .at = POD_REQUEST_BY_NAME,
	                            .under_budgets = change->evicts,
	                            .uid = change->uid,
	                            .version = change->wanted_revision,
	                            .ended = change->grace_s == 0 ? STATE_ENDED_GONE
	                                                          : STATE_ENDED_NOT};
	return PL_OK;
}

static void on_report(void *ctx, const struct pod_request *request,
                      enum pod_request_outcome outcome, const char *why)
{
	struct change *change = ctx;

	(void)request;
	change->outcome = outcome;
	change->why =
		why == NULL ? "" : pl_arena_printf(&change->request->arena, "%s", why);
}

/* 429, on which kubectl waits and tries again. Without Retry-After: clients' HTTP code
 * would wait and repeat the request by itself, and say nothing. */
static void answer_withheld(struct change *change)
{
	struct request *request = change->request;
	struct status_cause *cause = pl_arena_zalloc(&request->arena, 1, sizeof *cause);
	struct api_status status = status_too_many_requests(
		PL_SPAN_LIT("Cannot evict pod as it would violate the pod's disruption "
	                    "budget."),
		0);

	if (cause != NULL) {
		cause->type = "DisruptionBudget";
		cause->message = pl_span_str(change->why);
		status.has_details = true;
		status.causes = cause;
		status.cause_count = 1;
	}
	answer_status(request, &status);
}

static void on_deleted(void *ctx, const struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;

	if (err != NULL) {
		answer_store_error(request, err);
	} else if (change->outcome == POD_REQUEST_ABSENT) {
		struct api_status status =
			status_not_found(&request->arena, request_about(request));

		answer_status(request, &status);
	} else if (change->outcome == POD_REQUEST_MALFORMED) {
		struct api_status status =
			status_internal(&request->arena, pl_span_str(change->why));

		answer_status(request, &status);
	} else if (change->outcome == POD_REQUEST_WITHHELD) {
		answer_withheld(change);
	} else if (change->outcome == POD_REQUEST_CHANGED) {
		struct api_status status =
			status_conflict(&request->arena, request_about(request),
		                        pl_span_str(change->why));

		answer_status(request, &status);
	} else if (change->evicts) {
		struct api_status status = {.code = 201};

		answer_status(request, &status);
	} else {
		/* As Kubernetes: the object as it was when it was asked to go. */
		answer_object(request, 200, &change->current);
	}
	request_unbusy(request);
}

void commit_pod_delete(struct change *change)
{
	struct request *request = change->request;
	struct pod_request_opts opts = {
		.partitions = request->api->service.partitions,
		.slots = 1,
		.timeout_ms = request->api->service.timeout_ms,
		.wall_ms = request->api->wall_ms(request->api->clock_ctx),
		.who = (const char *)request->user_name.at,
		.next = next_pod,
		.report = on_report,
		.done = on_deleted,
		.ctx = change};
	struct pod_requests *requests;
	struct pl_err err = {0};

	if (change->dry_run) {
		answer_object(request, 200, &change->current);
		return;
	}
	if (pod_requests_open(request->api->kv, &opts, &requests, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}
