/*
 * POST of a plan: where would these objects go? Nothing is stored.
 *
 *	body --> spec --> pods, read in slices --> plan_start --> answered
 *	   `-- the client has gone: canceled
 */
#include <stdio.h>

#include "coord/api/verbs/change.h"
#include "coord/api/verbs/explanation.h"
#include "coord/service/input/pod_input.h"
#include "coord/service/plan/plan.h"
#include "store/base/json_put.h"

enum {
	SLICE_PODS = 64,
	FAULTS_MAX = 16,
	OBJECT_BYTES_MAX = 1 << 20,
	MESSAGE_MAX = 8192,
};

struct plan_request {
	struct request *request;
	struct json_tree body;
	struct pl_json spec;
	/* The objects as texts, which the input reads one after another. */
	struct pl_span *object;
	uint32_t objects, next;
	struct pod_input input;
	struct class_table *classes; /* as the informer has them */
	bool reading;                /* the input is open */
	struct pl_timer slice;       /* while reading */
	struct pl_span *pod;
	struct status_cause fault[FAULTS_MAX];
	unsigned faults;
	struct pl_span without[PLAN_WITHOUT_MAX];
	struct plan_nodes add[PLAN_ADDS_MAX];
	struct plan_opts opts;
	struct plan_op *op; /* NULL: not yet */
	struct pl_json_out out;
	struct pl_buf text;
};

/* -- the end ------------------------------------------------------------------------------ */

static void stop_reading(struct plan_request *plan)
{
	if (!plan->reading)
		return;
	plan->reading = false;
	pl_timer_done(&plan->slice);
	pod_input_close(&plan->input);
	class_table_free(plan->classes);
	plan->classes = NULL;
}

/* The request has been answered, or its client has gone. */
static void plan_end(struct plan_request *plan)
{
	struct request *request = plan->request;

	stop_reading(plan);
	request->abandon = NULL;
	request->api->planning--;
	request_unbusy(request);
}

static void abandon(struct request *request)
{
	struct plan_request *plan = request->work;

	if (plan->op != NULL)
		plan_cancel(plan->op); /* the end of the operation follows */
	else
		plan_end(plan);
}

/* -- faults -------------------------------------------------------------------------------- */

static void add_fault(struct plan_request *plan, const char *field, const char *why)
{
	struct pl_arena *arena = &plan->request->arena;
	struct status_cause *cause = &plan->fault[plan->faults];

	if (plan->faults == FAULTS_MAX)
		return;
	*cause = (struct status_cause){
		.type = "FieldValueInvalid",
		.field = pl_span_str(pl_arena_printf(arena, "%s", field)),
		.message = pl_span_str(pl_arena_printf(arena, "Invalid value: %s", why))};
	plan->faults++;
}

static void answer_faults(struct plan_request *plan)
{
	struct request *request = plan->request;
	struct status_about about = {.group = request->path.resource->group,
	                             .resource = request->path.resource->kind};
	struct api_status status =
		status_invalid(&request->arena, about, plan->fault, plan->faults);

	answer_status(request, &status);
}

static void answer_failed(struct plan_request *plan, const struct pl_err *err)
{
	struct request *request = plan->request;
	struct api_status status;

	switch (err->code) {
	case PL_INVALID:
	case PL_LIMIT:
		add_fault(plan, "spec", err->msg);
		answer_faults(plan);
		return;
	case PL_COMPACTED:
		status = status_expired(pl_span_str(err->msg));
		answer_status(request, &status);
		return;
	default:
		answer_store_error(request, err);
		return;
	}
}

/* -- the answer ---------------------------------------------------------------------------- */

static bool has_node(const struct plan_pod *pod)
{
	return pod->verdict == PLAN_PLACED || pod->verdict == PLAN_PRESENT;
}

/* kube-scheduler's sentence from the reasons. */
static enum pl_code add_sentence(const struct plan_reasons *reasons, struct pl_buf *out)
{
	enum pl_code code =
		pl_buf_printf(out, "0/%u nodes are available: ", reasons->nodes);

	for (uint32_t i = 0; i < reasons->count && code == PL_OK; i++) {
		const struct plan_reason *reason = &reasons->at[i];

		code = reason->nodes > 0
		               ? pl_buf_printf(out, "%s%u " PL_SPAN_FMT,
		                               i > 0 ? ", " : "", reason->nodes,
		                               PL_SPAN_ARG(reason->message))
		               : pl_buf_printf(out, "%s" PL_SPAN_FMT, i > 0 ? ", " : "",
		                               PL_SPAN_ARG(reason->message));
	}
	return code == PL_OK ? pl_buf_add_str(out, ".") : code;
}

static void put_why(struct plan_request *plan, const struct plan_pod *pod)
{
	const struct plan_reasons *reasons = pod->reasons;
	bool some = reasons != NULL && reasons->count > 0;

	pl_json_put_text(&plan->out, "reason",
	                 pl_span_str(some ? reasons->at[0].code
	                                  : plan_verdict_word(pod->verdict)));
	plan->text.len = 0;
	if (pod->message.len > 0)
		pl_json_put_text(&plan->out, "message", pod->message);
	else if (some && add_sentence(reasons, &plan->text) == PL_OK)
		pl_json_put_text(&plan->out, "message", pl_buf_span(&plan->text));
}

static void put_pod(struct plan_request *plan, const struct plan_pod *pod)
{
	struct pl_json_out *out = &plan->out;

	pl_json_out_object(out);
	pl_json_put_text(out, "namespace", pod->namespace);
	pl_json_put_text(out, "name", pod->name);
	pl_json_put_text(out, "cluster", pod->cluster);
	pl_json_put_text(out, "node", pod->node);
	if (!has_node(pod))
		put_why(plan, pod);
	pl_json_out_end(out);
}

static void put_status(struct plan_request *plan, const struct plan *result)
{
	struct pl_json_out *out = &plan->out;
	uint32_t placed = result->verdicts[PLAN_PLACED] + result->verdicts[PLAN_PRESENT];

	pl_json_out_name(out, "fits");
	pl_json_out_bool(out, result->fits);
	pl_json_out_name(out, "revision");
	pl_json_out_int_string(out, result->revision);
	pl_json_put_int(out, "placed", placed);
	pl_json_put_int(out, "unplaced", (int64_t)result->pods - placed);
	pl_json_out_name(out, "pods");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < result->pods; i++)
		put_pod(plan, &result->pod[i]);
	pl_json_out_end(out);
}

static void put_plan(struct plan_request *plan, const struct plan *result)
{
	struct pl_json_out *out = &plan->out;
	struct pl_json metadata = pl_json_member(json_tree_root(&plan->body), "metadata");

	pl_json_out_object(out);
	pl_json_put_text(out, "kind", PL_SPAN_LIT("Plan"));
	pl_json_put_text(out, "apiVersion", PL_SPAN_LIT("placet.io/v1"));
	pl_json_out_name(out, "metadata");
	if (pl_json_type(metadata) == PL_JSON_OBJECT) {
		pl_json_out_value(out, metadata);
	} else {
		pl_json_out_object(out);
		pl_json_out_end(out);
	}
	pl_json_out_name(out, "spec");
	pl_json_out_value(out, plan->spec);
	pl_json_out_name(out, "status");
	pl_json_out_object(out);
	put_status(plan, result);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

/* A plan tells where pods are: those that it displaces, and those that are there already.
 * False: it has been answered. */
static bool may_see_pods(struct request *request, const struct plan *result)
{
	struct pl_span seen = request->path.namespace;
	struct api_status status;

	for (uint32_t i = 0; i < result->pods; i++) {
		struct pl_span namespace = result->pod[i].namespace;

		if (namespace.len == 0 || pl_span_eq(namespace, seen))
			continue;
		if (!request_may_read(request, "list", "pods", namespace,
		                      (struct pl_span){0})) {
			status = status_forbidden(
				&request->arena, request_about(request),
				PL_SPAN_LIT("the plan tells of pods in namespaces that "
			                    "the user may not list"));
			answer_status(request, &status);
			return false;
		}
		seen = namespace;
	}
	return true;
}

static void on_planned(void *ctx, const struct plan *result, const struct pl_err *err)
{
	struct plan_request *plan = ctx;
	struct pl_buf buf;

	if (err != NULL) {
		answer_failed(plan, err);
		plan_end(plan);
		return;
	}
	if (!may_see_pods(plan->request, result)) {
		plan_end(plan);
		return;
	}
	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	pl_buf_init(&plan->text, MESSAGE_MAX);
	pl_json_out_init(&plan->out, &buf);
	put_plan(plan, result);
	if (pl_json_out_done(&plan->out) == PL_OK)
		answer_made(plan->request, 201, pl_buf_span(&buf));
	else
		answer_no_memory(plan->request);
	pl_buf_done(&plan->text);
	pl_buf_done(&buf);
	plan_end(plan);
}

/* -- the pods -------------------------------------------------------------------------------- */

static enum pl_code next_object(void *ctx, struct input_object *out, struct pl_err *err)
{
	struct plan_request *plan = ctx;

	(void)err;
	if (plan->next == plan->objects)
		return PL_NOTFOUND;
	*out = (struct input_object){.file = "spec.objects",
	                             .number = plan->next + 1,
	                             .json = plan->object[plan->next]};
	plan->next++;
	return PL_OK;
}

static void rewind_objects(void *ctx)
{
	struct plan_request *plan = ctx;

	plan->next = 0;
}

static void on_refused(void *ctx, const struct pl_err *err)
{
	add_fault(ctx, "spec.objects", err->msg);
}

static void start_plan(struct plan_request *plan)
{
	struct pl_err err = {0};

	stop_reading(plan);
	plan->opts.pods = plan->pod;
	plan->opts.without = plan->without;
	plan->opts.add = plan->add;
	plan->opts.done = on_planned;
	plan->opts.ctx = plan;
	if (plan_start(&plan->request->api->service, &plan->opts, &plan->op, &err) ==
	    PL_OK)
		return;
	answer_failed(plan, &err);
	plan_end(plan);
}

/* Takes some pods at a time, so that other clients have their turns. */
static void on_slice(void *ctx)
{
	struct plan_request *plan = ctx;
	struct request *request = plan->request;
	struct pod_input_pod pod;
	struct pl_err err = {0};

	for (unsigned i = 0; i < SLICE_PODS; i++) {
		enum pl_code code = pod_input_next(&plan->input, &pod, &err);
		struct pl_span kept;

		if (code == PL_NOTFOUND) {
			start_plan(plan);
			return;
		}
		kept = code == PL_OK ? pl_arena_dup(&request->arena, pod.pod.json)
		                     : (struct pl_span){0};
		if (kept.at == NULL) {
			answer_no_memory(request);
			plan_end(plan);
			return;
		}
		plan->pod[plan->opts.pod_count++] = kept;
	}
	/* Timers that are due now run before anything else: a moment later. */
	pl_timer_set(&plan->slice, request->api->now_ms(request->api->clock_ctx) + 1);
}

/* False: it has been answered. */
static bool check_pods(struct plan_request *plan)
{
	struct request *request = plan->request;
	struct pl_err err = {0};

	if (pod_input_check(&plan->input, &err) != PL_OK) {
		answer_failed(plan, &err);
		return false;
	}
	if (plan->input.pods > PLAN_REQUEST_PODS_MAX)
		add_fault(plan, "spec.objects",
		          pl_arena_printf(&request->arena,
		                          "%llu pods; at most %d are planned at once",
		                          (unsigned long long)plan->input.pods,
		                          PLAN_REQUEST_PODS_MAX));
	if (plan->faults > 0) {
		answer_faults(plan);
		return false;
	}
	plan->pod =
		pl_arena_zalloc(&request->arena, plan->input.pods + 1, sizeof *plan->pod);
	if (plan->pod == NULL)
		answer_no_memory(request);
	return plan->pod != NULL;
}

/* The PriorityClasses that pods may name; a malformed one is as good as none. False: no
 * memory. */
static bool read_classes(struct plan_request *plan)
{
	struct sources *sources = plan->request->api->sources;
	const struct schema_resource *resource =
		schema_resource_find(PL_SPAN_LIT("scheduling.k8s.io"), PL_SPAN_LIT("v1"),
	                             PL_SPAN_LIT("priorityclasses"));
	const struct pl_span none = {0};
	char prefix[SOURCE_ORDER_MAX];
	size_t len = source_prefix(resource, none, none, prefix);
	struct source_walk walk;
	struct object object;

	plan->classes = class_table_new();
	if (plan->classes == NULL ||
	    source_walk_begin(sources, resource, pl_span(prefix, len), none, 0, &walk) !=
	            PL_OK)
		return plan->classes != NULL;
	while (source_walk_next(&walk, &object))
		if (class_table_put(plan->classes, object.part[OBJECT_MAIN]->value,
		                    NULL) == PL_NOMEM)
			return false;
	return true;
}

static void read_pods(struct plan_request *plan)
{
	struct request *request = plan->request;
	struct pod_input_opts opts = {
		.source = {.next = next_object, .rewind = rewind_objects, .ctx = plan},
		.namespace = request->path.namespace,
		.partitions = request->api->service.partitions,
		.fields = POD_INPUT_FIELDS_PASS,
		.once = true,
		.refused = on_refused,
		.ctx = plan};

	if (!read_classes(plan) ||
	    pl_timer_init(&plan->slice, kv_timers(request->api->kv), on_slice, plan) !=
	            PL_OK) {
		class_table_free(plan->classes);
		plan->classes = NULL;
		answer_no_memory(request);
		plan_end(plan);
		return;
	}
	opts.classes = plan->classes;
	pod_input_open(&plan->input, &opts);
	plan->reading = true;
	if (check_pods(plan))
		on_slice(plan);
	else
		plan_end(plan);
}

/* -- the spec ---------------------------------------------------------------------------------- */

static struct pl_span print_json(struct request *request, struct pl_json value)
{
	struct pl_json_out out;
	struct pl_span text = {0};
	struct pl_buf buf;

	pl_buf_init(&buf, OBJECT_BYTES_MAX);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, value);
	if (pl_json_out_done(&out) == PL_OK)
		text = pl_arena_dup(&request->arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	return text;
}

static struct pl_span text_of(struct pl_json of, const char *name)
{
	struct pl_json value = pl_json_member(of, name);
	const char *text = "";

	if (pl_json_type(value) == PL_JSON_STRING)
		(void)!pl_json_as_string(value, &text, NULL);
	return pl_span_str(text);
}

static bool read_objects(struct plan_request *plan)
{
	struct request *request = plan->request;
	struct pl_json objects = pl_json_member(plan->spec, "objects");
	char field[40];

	plan->object = pl_arena_zalloc(&request->arena, pl_json_count(objects) + 1,
	                               sizeof *plan->object);
	if (plan->object == NULL)
		return false;
	PL_JSON_EACH (item, objects) {
		struct pl_span text = {0};

		(void)snprintf(field, sizeof field, "spec.objects[%u]",
		               (unsigned)plan->objects);
		if (pl_json_type(item) != PL_JSON_OBJECT)
			add_fault(plan, field, "must be an object");
		else
			text = print_json(request, item);
		if (pl_json_type(item) == PL_JSON_OBJECT && text.len == 0)
			add_fault(plan, field, "the object is too large");
		plan->object[plan->objects++] = text;
	}
	return true;
}

static void read_without(struct plan_request *plan)
{
	PL_JSON_EACH (item, pl_json_member(plan->spec, "withoutClusters")) {
		const char *text = "";

		if (plan->opts.withouts == PLAN_WITHOUT_MAX) {
			add_fault(plan, "spec.withoutClusters", "too many clusters");
			return;
		}
		(void)!pl_json_as_string(item, &text, NULL);
		plan->without[plan->opts.withouts++] = pl_span_str(text);
	}
}

/* A shape without amounts is the name of a node that is there. */
static struct pl_span node_named(struct request *request, struct pl_span name)
{
	const struct schema_resource *nodes = schema_resource_find(
		(struct pl_span){0}, PL_SPAN_LIT("v1"), PL_SPAN_LIT("nodes"));
	struct object object;

	if (name.len == 0 || name.len >= MEMBER_NAME_SIZE ||
	    !request_may_read(request, "get", "nodes", (struct pl_span){0}, name) ||
	    !source_get(request->api->sources, nodes, (struct pl_span){0}, name, &object))
		return (struct pl_span){0};
	return pl_arena_dup(&request->arena, object.part[OBJECT_MAIN]->value);
}

static void read_node(struct plan_request *plan, struct pl_json item,
                      struct plan_nodes *out, const char *field)
{
	struct request *request = plan->request;
	const struct pl_json_range range = {1, PLAN_NODES_MAX};
	struct pl_json template = pl_json_member(item, "template");
	struct pl_span shape = text_of(item, "shape");
	int64_t count = 0;

	if (pl_json_as_int(pl_json_member(item, "count"), range, &count, NULL) != PL_OK)
		add_fault(plan, field, "count: must be 1 to 100000");
	*out = (struct plan_nodes){.count = (uint32_t)count,
	                           .cluster = text_of(item, "cluster")};
	if (pl_json_type(template) == PL_JSON_OBJECT && shape.len == 0) {
		out->json = print_json(request, template);
		return;
	}
	if (shape.len > 0 && memchr(shape.at, '=', shape.len) == NULL) {
		out->json = node_named(request, shape);
		if (out->json.len == 0)
			add_fault(plan, field, "shape: there is no such node");
		return;
	}
	out->shape = shape;
}

static void read_nodes(struct plan_request *plan)
{
	char field[40];

	PL_JSON_EACH (item, pl_json_member(plan->spec, "addNodes")) {
		if (plan->opts.adds == PLAN_ADDS_MAX) {
			add_fault(plan, "spec.addNodes", "too many rows");
			return;
		}
		(void)snprintf(field, sizeof field, "spec.addNodes[%u]", plan->opts.adds);
		read_node(plan, item, &plan->add[plan->opts.adds++], field);
	}
}

/* False: it has been answered. */
static bool read_spec(struct plan_request *plan)
{
	struct request *request = plan->request;
	struct pl_span revision;

	plan->spec = pl_json_member(json_tree_root(&plan->body), "spec");
	if (!read_objects(plan)) {
		answer_no_memory(request);
		return false;
	}
	read_without(plan);
	read_nodes(plan);
	revision = text_of(plan->spec, "atRevision");
	if (revision.len > 0 && !request_number(revision, &plan->opts.at_revision))
		add_fault(plan, "spec.atRevision", "must be a number");
	if (plan->objects == 0 && plan->opts.withouts == 0)
		add_fault(plan, "spec", "wants objects, or withoutClusters");
	if (plan->faults == 0)
		return true;
	answer_faults(plan);
	return false;
}

static bool read_body(struct plan_request *plan)
{
	struct request *request = plan->request;
	const struct schema_type *type = request->path.resource->type;
	struct schema_report *report =
		pl_arena_zalloc(&request->arena, 1, sizeof *report);
	struct api_status status;

	if (report == NULL) {
		answer_no_memory(request);
		return false;
	}
	schema_report_init(report, &request->arena);
	if (!body_read(request, type, &plan->body))
		return false;
	if (plan->body.root == NULL) {
		status = status_bad_request(PL_SPAN_LIT("the body is empty"));
		answer_status(request, &status);
		return false;
	}
	return body_decode(request, &plan->body, type, report);
}

void request_plan(struct request *request)
{
	struct api *api = request->api;
	struct plan_request *plan = pl_arena_zalloc(&request->arena, 1, sizeof *plan);
	struct api_status status;

	if (plan == NULL) {
		answer_no_memory(request);
		return;
	}
	if (request->verb != REQUEST_CREATE || request->path.name.len > 0) {
		status = status_no_such_method();
		answer_status(request, &status);
		return;
	}
	if (api->planning >= PLANS_MAX ||
	    request_has_its_share(request, abandon, api->planning, PLANS_MAX)) {
		status = status_too_many_requests(
			PL_SPAN_LIT("too many plans are being made"), 1);
		answer_status(request, &status);
		return;
	}
	plan->request = request;
	if (!read_body(plan) || !read_spec(plan))
		return;
	api->planning++;
	request->busy++;
	request_may_be_abandoned(request, abandon, plan);
	read_pods(plan);
}
