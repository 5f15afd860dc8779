/* Edits of live pods, bindings and evictions. */
#include "coord/api/verbs/change.h"
#include "shardsched/model/object.h"

/* -- the pod as the client saw it -------------------------------------------------------- */

static bool seen_pod(struct change *change, struct pod_change *out)
{
	const struct cache_entry *spec = change->current.part[OBJECT_MAIN];
	const struct cache_entry *state = change->current.part[OBJECT_STATE];
	struct pl_span whole = object_entry_value(spec, &change->request->arena);
	struct keys_id id;

	if (whole.at == NULL || keys_parse(spec->key, &id, NULL) != PL_OK) {
		answer_no_memory(change->request);
		return false;
	}
	*out = (struct pod_change){.pod = {.partition = id.partition,
	                                   .namespace = change->request->path.namespace,
	                                   .name = change->request->path.name},
	                           .spec = {spec->mod_revision, whole}};
	if (state != NULL)
		out->state = (struct pod_value){state->mod_revision, state->value};
	return true;
}

static void answer_refusal(struct change *change, const struct pod_change_result *result)
{
	struct request *request = change->request;
	struct pl_span why = pl_span_str(pl_arena_printf(
		&request->arena, "%s", result->why == NULL ? "" : result->why));
	struct api_status status;

	switch (result->refusal) {
	case POD_REFUSAL_MALFORMED:
	case POD_REFUSAL_IDENTITY:
	case POD_REFUSAL_MOVES:
	case POD_REFUSAL_FIXED: {
		const struct status_cause cause = {.type = "FieldValueForbidden",
		                                   .field = PL_SPAN_LIT("spec"),
		                                   .message = why};
		struct status_about about = {
			.group = "", .resource = "Pod", .name = request->path.name};

		status = status_invalid(&request->arena, about, &cause, 1);
		break;
	}
	case POD_REFUSAL_NODE:
		status = status_bad_request(why);
		break;
	default:
		status = status_conflict(&request->arena, request_about(request), why);
		break;
	}
	answer_status(request, &status);
}

static bool try_again(struct change *change)
{
	return change->again != NULL && change->wanted_revision == 0 &&
	       ++change->tries < REQUEST_TRIES_MAX && change->again(change);
}

static void on_changed(struct pending_change *pending,
                       const struct pod_change_result *result, const struct pl_err *err)
{
	struct change *change = pending->ctx;
	struct request *request = change->request;

	if (err != NULL) {
		answer_store_error(request, err);
	} else {
		switch (result->outcome) {
		case POD_CHANGE_DONE:
			change->committed(change, result->revision);
			break;
		case POD_CHANGE_UNCHANGED:
			change->committed(change, change->current.revision);
			break;
		case POD_CHANGE_REFUSED:
			answer_refusal(change, result);
			break;
		case POD_CHANGE_CONFLICT:
		case POD_CHANGE_BUSY:
			if (!try_again(change))
				change_conflict(change);
			break;
		}
	}
	request_unbusy(request);
}

static void enqueue(struct change *change, struct pod_change *wanted)
{
	struct request *request = change->request;

	change->pending.change = *wanted;
	change->pending.done = on_changed;
	change->pending.ctx = change;
	request->busy++;
	pod_change_queue_add(request->api->pods, &change->pending);
}

void commit_pod_edit(struct change *change)
{
	struct pod_change wanted;

	if (!seen_pod(change, &wanted))
		return;
	wanted.verb = POD_CHANGE_EDIT;
	wanted.edited = change->stored;
	enqueue(change, &wanted);
}

/* -- bindings ------------------------------------------------------------------------------ */

static void answer_created(struct change *change, int64_t revision)
{
	struct api_status status = {0};

	(void)revision;
	status.code = 201;
	answer_status(change->request, &status);
}

static bool read_target(struct change *change, struct pl_span *node, struct pl_span *uid)
{
	struct request *request = change->request;
	struct cJSON *target = json_get(change->patch.root, "target");
	struct cJSON *meta = json_get(change->patch.root, "metadata");
	struct api_status status;
	struct pl_span kind;
	bool bad_kind;

	*node = target == NULL ? (struct pl_span){0} : meta_text(target, "name");
	*uid = meta == NULL ? (struct pl_span){0} : meta_text(meta, "uid");
	if (meta != NULL)
		(void)request_number(meta_text(meta, "resourceVersion"),
		                     &change->wanted_revision);
	kind = target == NULL ? (struct pl_span){0} : meta_text(target, "kind");
	bad_kind = kind.len > 0 && !pl_span_eq(kind, PL_SPAN_LIT("Node"));
	if (node->len > 0 && !bad_kind)
		return true;
	{
		struct status_cause cause = {.type = "FieldValueRequired",
		                             .field = PL_SPAN_LIT("target.name"),
		                             .message = PL_SPAN_LIT("Required value")};
		struct status_about about = {
			.group = "", .resource = "Binding", .name = request->path.name};

		if (bad_kind)
			cause = (struct status_cause){
				.type = "FieldValueNotSupported",
				.field = PL_SPAN_LIT("target.kind"),
				.message = pl_span_str(pl_arena_printf(
					&request->arena,
					"Unsupported value: \"" PL_SPAN_FMT
					"\": supported values: \"Node\", \"<empty>\"",
					PL_SPAN_ARG(kind)))};
		status = status_invalid(&request->arena, about, &cause, 1);
		answer_status(request, &status);
	}
	return false;
}

/* A connector binds to nodes of its own clusters only. False: it has been answered. */
static bool may_bind(struct request *request, struct pl_span cluster)
{
	const struct access_attributes asked = {
		.is_resource = true,
		.verb = PL_SPAN_LIT("create"),
		.resource = PL_SPAN_LIT("pods"),
		.subresource = PL_SPAN_LIT("binding"),
		.namespace = request->path.namespace,
		.name = request->path.name,
		.cluster = cluster,
	};
	struct api_status status;

	if (!request->by_cluster)
		return true;
	/* A client that has gone is not known any more. */
	if (request->identity != NULL &&
	    access_allows(request->api->access, request->identity, &asked, NULL))
		return true;
	status = status_forbidden(&request->arena, request_about(request),
	                          PL_SPAN_LIT("the node is of another cluster"));
	answer_status(request, &status);
	return false;
}

static void answer_no_pod(struct request *request)
{
	struct api_status status =
		status_not_found(&request->arena, request_about(request));

	answer_status(request, &status);
}

static void bind_fresh(struct request *request)
{
	struct change *change = request->change;
	struct pod_change wanted;
	struct object current;
	struct pl_span node;

	if (!request_object(request, &current)) {
		if (!change_not_sure(change, bind_fresh))
			answer_no_pod(request);
		return;
	}
	change_set_current(change, &current);
	if (!read_target(change, &node, &wanted.uid))
		return;
	{
		struct pl_span uid = wanted.uid;

		if (!seen_pod(change, &wanted))
			return;
		wanted.uid = uid;
	}
	if (change->wanted_revision != 0 && change->wanted_revision != current.revision) {
		if (!change_not_sure(change, bind_fresh))
			change_conflict(change);
		return;
	}
	wanted.verb = POD_CHANGE_BIND;
	wanted.exact = change->wanted_revision != 0;
	member_name_split(node, &wanted.cluster, &wanted.node);
	if (!may_bind(request, wanted.cluster))
		return;
	if (change->dry_run)
		answer_created(change, current.revision);
	else
		enqueue(change, &wanted);
}

static bool bind_again(struct change *change)
{
	change->sure = false;
	return change_not_sure(change, bind_fresh);
}

void request_bind(struct request *request)
{
	const struct schema_type *type = schema_type_named("io.k8s.api.core.v1.Binding");
	struct change *change = change_new(request, CHANGE_UPDATE);

	if (change == NULL || !body_read(request, type, &change->patch))
		return;
	if (change->patch.root == NULL) {
		struct api_status status =
			status_bad_request(PL_SPAN_LIT("the body is empty"));

		answer_status(request, &status);
		return;
	}
	if (!body_decode(request, &change->patch, type, change->report) ||
	    !body_is_of(request, &change->patch, "Binding"))
		return;
	change->again = bind_again;
	change->committed = answer_created;
	bind_fresh(request);
}

/* -- evictions ------------------------------------------------------------------------------ */

static void evict_fresh(struct request *request)
{
	struct change *change = request->change;
	struct object current;

	if (!request_object(request, &current)) {
		if (!change_not_sure(change, evict_fresh))
			answer_no_pod(request);
		return;
	}
	change_set_current(change, &current);
	change->evicts = true;
	commit_pod_delete(change);
}

void request_evict(struct request *request)
{
	const struct schema_type *type =
		schema_type_named("io.k8s.api.policy.v1.Eviction");
	struct change *change = change_new(request, CHANGE_DELETE);
	struct cJSON *options;

	if (change == NULL || !body_read(request, type, &change->patch))
		return;
	change->grace_s = -1;
	if (change->patch.root != NULL) {
		if (!body_decode(request, &change->patch, type, change->report) ||
		    !body_is_of(request, &change->patch, "Eviction"))
			return;
		options = json_get(change->patch.root, "deleteOptions");
		if (options != NULL && !delete_options_read(change, options))
			return;
	}
	evict_fresh(request);
}
