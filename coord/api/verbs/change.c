/* The parts that creations, updates and deletions have in common: the object that a change is made
 * from, the commit by the kind of key, and the answer. */
#include "coord/api/verbs/change.h"

#include "coord/api/objects/pod_event.h"
#include "coord/service/nodes/node_change.h"
#include "shardsched/model/object.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { STORED_MAX = 1400 << 10 };

/* -- life ---------------------------------------------------------------------------- */

struct change *change_new(struct request *request, enum change_kind kind)
{
	struct change *change = pl_arena_zalloc(&request->arena, 1, sizeof *change);
	struct schema_report *report =
		pl_arena_zalloc(&request->arena, 1, sizeof *report);
	bool has_source;

	if (change == NULL || report == NULL) {
		answer_no_memory(request);
		return NULL;
	}
	change->request = request;
	change->kind = kind;
	change->report = report;
	change->dry_run = request->query.dryRun.len > 0;
	change->is_status = pl_span_eq(request->path.subresource, PL_SPAN_LIT("status"));
	schema_report_init(report, &request->arena);
	has_source = source_of_resource(request->path.resource, &change->source);
	PL_ASSERT(has_source);
	request->change = change;
	return change;
}

void change_drop(struct change *change)
{
	for (unsigned i = 0; i < OBJECT_PART_COUNT; i++) {
		if (change->current.part[i] != object_no_entry)
			cache_entry_unref(change->current.part[i]);
		change->current.part[i] = NULL;
	}
}

void change_set_current(struct change *change, const struct object *current)
{
	change_drop(change);
	change->current = *current;
	for (unsigned i = 0; i < OBJECT_PART_COUNT; i++)
		if (current->part[i] != NULL && current->part[i] != object_no_entry)
			change->current.part[i] = cache_entry_ref(current->part[i]);
}

bool change_not_sure(struct change *change, void (*fresh)(struct request *request))
{
	struct request *request = change->request;

	if (change->sure)
		return false;
	change->sure = true;
	request->query.resourceVersion = (struct pl_span){0};
	request_when_fresh(request, fresh);
	return true;
}

/* -- answers ------------------------------------------------------------------------- */

void change_invalid(struct change *change)
{
	struct request *request = change->request;
	struct schema_report *report = change->report;
	struct status_cause *causes =
		pl_arena_zalloc(&request->arena, report->cause_count, sizeof *causes);
	struct status_about about = {.group = request->path.resource->group,
	                             .resource = request->path.resource->kind,
	                             .name = request->path.name};
	struct api_status status;

	if (causes == NULL) {
		answer_no_memory(request);
		return;
	}
	for (uint32_t i = 0; i < report->cause_count; i++)
		causes[i] = (struct status_cause){.type = report->cause[i].type,
		                                  .field = report->cause[i].field,
		                                  .message = report->cause[i].message};
	status = status_invalid(&request->arena, about, causes, report->cause_count);
	answer_status(request, &status);
}

/* The value as its key will hold it. */
static struct pl_span value_for(struct change *change)
{
	struct pl_buf buf;
	struct pl_span out = {0};

	if (change->source != SOURCE_BUDGETS)
		return change->stored;
	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	if (pl_buf_printf(&buf, "{\"budget\":" PL_SPAN_FMT "}",
	                  PL_SPAN_ARG(change->stored)) == PL_OK)
		out = pl_arena_dup(&change->request->arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	return out;
}

void change_show(struct change *change, int http_status, const struct object *object)
{
	if (change->is_scale)
		answer_scale(change->request, http_status, object);
	else
		answer_object(change->request, http_status, object);
}

void change_answer(struct change *change, int http_status, int64_t revision)
{
	struct request *request = change->request;
	struct object_parts parts;
	struct cache_entry entry = {.value = value_for(change),
	                            .mod_revision = revision,
	                            .create_revision = revision,
	                            .object = &parts};
	struct object object = {.resource = request->path.resource,
	                        .namespace = request->path.namespace,
	                        .name = request->path.name,
	                        .part = {&entry, change->current.part[OBJECT_STATE]},
	                        .revision = revision};

	object_parts_find(entry.value, &parts); /* printed here */
	if (change->current.part[OBJECT_MAIN] != NULL)
		entry.create_revision =
			change->current.part[OBJECT_MAIN]->create_revision;
	if (change->dry_run && change->kind == CHANGE_CREATE)
		object.revision = 0;
	change_show(change, http_status, &object);
}

void change_conflict(struct change *change)
{
	struct request *request = change->request;
	struct api_status status =
		status_modified(&request->arena, request_about(request));

	answer_status(request, &status);
}

/* -- what is stored ------------------------------------------------------------------- */

/* Removes the members that only the answer shows: they are computed anew each time. */
static bool strip_shown(struct change *change)
{
	struct cJSON *meta = json_get(change->wanted.root, "metadata");

	if (meta != NULL) {
		(void)json_remove(meta, "resourceVersion");
		(void)json_remove(meta, "selfLink");
	}
	return change->source != SOURCE_PODS || pod_strip(change);
}

/* A node's own name has no cluster in it. */
static bool plain_node_name(struct change *change)
{
	struct cJSON *meta = json_get(change->wanted.root, "metadata");

	return change->source != SOURCE_NODES || meta == NULL ||
	       meta_set(change, meta, "name", change->node.name);
}

/* The wanted object stays as it is: it may be admitted again. */
static bool stored_form(struct change *change, struct json_tree *out)
{
	*out = change->wanted;
	return !is_event(change->request) || event_stored_form(change, out);
}

static bool print_stored(struct change *change)
{
	struct request *request = change->request;
	struct json_tree tree;
	struct pl_json_out out;
	struct pl_buf buf;
	struct api_status status;
	bool ok;

	if (!strip_shown(change) || !plain_node_name(change) ||
	    !stored_form(change, &tree)) {
		answer_no_memory(request);
		return false;
	}
	pl_buf_init(&buf, STORED_MAX);
	pl_json_out_init(&out, &buf);
	pl_json_out_value(&out, json_tree_root(&tree));
	ok = pl_json_out_done(&out) == PL_OK;
	if (ok)
		change->stored = pl_arena_dup(&request->arena, pl_buf_span(&buf));
	pl_buf_done(&buf);
	if (ok && change->stored.at != NULL)
		return true;
	status = status_too_large(&request->arena,
	                          PL_SPAN_LIT("the object is too large to be stored"));
	answer_status(request, &status);
	return false;
}

/* -- writes ----------------------------------------------------------------------------- */

static void written(struct change *change, int64_t revision)
{
	change_answer(change, change->kind == CHANGE_CREATE ? 201 : 200, revision);
}

static bool has_generated_name(const struct change *change)
{
	const struct cJSON *meta = json_get(change->wanted.root, "metadata");

	return meta_text(meta, "generateName").len > 0;
}

static void refused(struct change *change)
{
	struct request *request = change->request;
	struct api_status status;

	if (change->kind != CHANGE_CREATE) {
		change_conflict(change);
		return;
	}
	if (meta_another_name(change)) {
		/* All that follows from the name is made anew. */
		create_admitted(request);
		return;
	}
	status = has_generated_name(change)
	                 ? status_no_free_name(&request->arena, request_about(request))
	                 : status_exists(&request->arena, request_about(request));
	answer_status(request, &status);
}

/* A change that no client's version binds is made again from the newer object. */
static void refuse_or_again(struct change *change)
{
	if (change->again == NULL || change->wanted_revision != 0 ||
	    ++change->tries >= REQUEST_TRIES_MAX || !change->again(change))
		refused(change);
}

/* The object goes, by its deletion or with its last finalizer. */
static bool deletes(const struct change *change)
{
	return change->kind == CHANGE_DELETE || change->ends;
}

static int64_t current_revision(const struct change *change)
{
	const struct cache_entry *entry = change->current.part[OBJECT_MAIN];

	return entry == NULL ? 0 : entry->mod_revision;
}

/* The object itself is as it was compared with: its namespace has changed. */
static bool is_namespace_newer(struct change *change, const struct write_outcome *outcome)
{
	if (change->kind != CHANGE_CREATE || ++change->tries >= REQUEST_TRIES_MAX)
		return false;
	for (uint32_t i = 0; i < outcome->found_count; i++)
		if (outcome->found[i].verdict != BUILDER_SAME)
			return false;
	return outcome->found_count > 0;
}

/* A placement came between: the Node is as it was seen, its alloc is not. */
static bool is_alloc_newer(struct change *change, const struct write_outcome *outcome)
{
	const struct kv_record *node;

	if (change->source != SOURCE_NODES || outcome->found_count == 0)
		return false;
	node = outcome->found[0].node;
	return (node == NULL ? 0 : node->mod_revision) == current_revision(change) &&
	       outcome->found[0].alloc != NULL && ++change->tries < REQUEST_TRIES_MAX;
}

static void on_write(struct write *write, const struct write_outcome *outcome)
{
	struct change *change = write->ctx;
	struct request *request = change->request;

	switch (outcome->result) {
	case WRITE_DONE:
		change->committed(change, outcome->revision);
		break;
	case WRITE_REFUSED:
		if (is_namespace_newer(change, outcome)) {
			change->objects_fresh = false;
			(void)admission_wait(change);
			break;
		}
		if (is_alloc_newer(change, outcome)) {
			change_commit(change);
			break;
		}
		refuse_or_again(change);
		break;
	case WRITE_FAILED:
		if (change->lease != 0)
			event_store_lease_lost(request->api->events, change->lease);
		answer_store_error(request, outcome->err);
		break;
	}
	request_unbusy(request);
}

void change_enqueue(struct change *change)
{
	struct request *request = change->request;
	struct pl_err err = {0};

	request->write.done = on_write;
	request->write.ctx = change;
	if (write_queue_add(request->api->writes, &request->write, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}

/* /objects */

static bool add_object(struct write *write, struct txn_builder *builder)
{
	struct change *change = write->ctx;

	if (deletes(change))
		return builder_delete(builder, keys_span(&change->key),
		                      current_revision(change));
	if (!builder_put_leased(builder, keys_span(&change->key),
	                        current_revision(change), change->stored, change->lease))
		return false;
	for (unsigned i = 0; i < change->companions; i++)
		if (!builder_put(builder, keys_span(&change->companion_key[i]), 0,
		                 change->companion[i]))
			return false;
	return true;
}

bool object_key(const struct schema_resource *resource, struct pl_span namespace,
                struct pl_span name, struct keys_text *out)
{
	/* Both resources of events are one store. */
	bool core = resource->group[0] == 0 || resource_is_events(resource);
	struct keys_id id = {.kind = resource->namespaced ? KEYS_OBJECT_IN : KEYS_OBJECT,
	                     .group = core ? PL_SPAN_LIT("core")
	                                   : pl_span_str(resource->group),
	                     .resource = pl_span_str(resource->plural),
	                     .scope = namespace,
	                     .name = name};

	return keys_build(&id, out, NULL) == PL_OK;
}

/* Names that a key cannot have. */
static void answer_bad_name(struct change *change)
{
	struct request *request = change->request;
	const struct status_cause cause = {
		.type = "FieldValueInvalid",
		.field = PL_SPAN_LIT("metadata.name"),
		.message = pl_span_str(pl_arena_printf(
			&request->arena,
			"Invalid value: \"" PL_SPAN_FMT
			"\": a lowercase RFC 1123 subdomain "
			"must consist of lower case alphanumeric characters, '-' or '.', and "
			"must start and end with an alphanumeric character",
			PL_SPAN_ARG(request->path.name)))};
	struct status_about about = {.group = request->path.resource->group,
	                             .resource = request->path.resource->kind,
	                             .name = request->path.name};
	struct api_status status = status_invalid(&request->arena, about, &cause, 1);

	answer_status(request, &status);
}

static void commit_object(struct change *change)
{
	struct request *request = change->request;
	struct write *write = &request->write;

	if (!object_key(request->path.resource, request->path.namespace,
	                request->path.name, &change->key)) {
		answer_bad_name(change);
		return;
	}
	write->add = add_object;
	write->keys = 0;
	write_adds_key(write, keys_span(&change->key));
	if (is_event(request) && change->kind != CHANGE_DELETE)
		event_commit(change);
	else
		change_enqueue(change);
}

/* Pods */

static bool add_pod(struct write *write, struct txn_builder *builder)
{
	struct change *change = write->ctx;

	return builder_submit(builder, &change->pod, change->named, change->stored);
}

static void commit_pod(struct change *change)
{
	struct request *request = change->request;
	struct write *write = &request->write;

	if (change->kind == CHANGE_UPDATE) {
		commit_pod_edit(change);
		return;
	}
	write->add = add_pod;
	write->keys = 0;
	write_adds_key(write, change->pod.namespace);
	write->key[0] ^= pl_hash(change->pod.name);
	change_enqueue(change);
}

/* Nodes */

static bool add_node(struct write *write, struct txn_builder *builder)
{
	struct change *change = write->ctx;
	struct node_seen seen = {.node_rev = current_revision(change),
	                         .alloc_rev = change->alloc_rev,
	                         .alloc = change->node_alloc};
	struct node_change to = {0};
	struct pl_err err = {0};

	if (seen.node_rev != 0)
		seen.node = change->current.part[OBJECT_MAIN]->value;
	if (node_change(deletes(change) ? NODES_DELETE : NODES_REPLACE, change->stored,
	                &seen, builder->arena, &to, &err) != PL_OK ||
	    to.what == NODE_SAME) {
		builder->code = PL_CONFLICT;
		return false;
	}
	if (to.what == NODE_DELETE)
		return builder_delete_node(builder, &change->node, seen.node_rev,
		                           seen.alloc_rev);
	return builder_put_node(builder, &change->node, seen.node_rev, seen.alloc_rev,
	                        to.node, to.alloc);
}

/* The alloc is not in an informer: it changes with every placement. */
static void on_alloc(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;
	struct write *write = &request->write;
	struct node_seen seen = {.node_rev = current_revision(change)};
	struct node_change to = {0};
	struct pl_err why = {0};
	struct api_status status;
	enum pl_code code = PL_OK;

	change->call = NULL;
	if (err != NULL) {
		answer_store_error(request, err);
		request_unbusy(request);
		return;
	}
	change->alloc_rev = 0;
	change->node_alloc = (struct pl_span){0};
	if (result->get.count > 0) {
		change->alloc_rev = result->get.records[0].mod_revision;
		change->node_alloc =
			pl_arena_dup(&request->arena, result->get.records[0].value);
	}
	seen.alloc_rev = change->alloc_rev;
	seen.alloc = change->node_alloc;
	if (seen.node_rev != 0)
		seen.node = change->current.part[OBJECT_MAIN]->value;
	code = node_change(deletes(change) ? NODES_DELETE : NODES_REPLACE, change->stored,
	                   &seen, &request->arena, &to, &why);
	if (code != PL_OK) {
		status =
			code == PL_CONFLICT
				? status_conflict(&request->arena, request_about(request),
		                                  pl_span_str(why.msg))
				: status_internal(&request->arena, pl_span_str(why.msg));
		answer_status(request, &status);
	} else if (to.what == NODE_SAME) {
		written(change, current_revision(change));
	} else {
		write->add = add_node;
		write->keys = 0;
		write_adds_key(write, keys_span(&change->key));
		change_enqueue(change);
	}
	request_unbusy(request);
}

static void commit_node(struct change *change)
{
	struct request *request = change->request;
	struct keys_id id = {.kind = KEYS_ALLOC};
	struct kv_get get;
	struct pl_err err = {0};

	member_name_split(request->path.name, &change->node.cluster, &change->node.name);
	if (partition_of_node(change->node.cluster, change->node.name,
	                      request->api->service.partitions, &change->node.partition,
	                      &err) != PL_OK) {
		answer_bad_name(change);
		return;
	}
	id.partition = change->node.partition;
	id.scope = change->node.cluster;
	id.name = change->node.name;
	if (keys_build(&id, &change->key, &err) != PL_OK) {
		answer_bad_name(change);
		return;
	}
	get = (struct kv_get){.keys = kv_key(keys_span(&change->key))};
	if (kv_get(request->api->kv, &get, request->api->service.timeout_ms, on_alloc,
	           change, &change->call, &err) == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}

/* Budgets: what was counted of them stays (budget_edit.h). */

static void on_budget(void *ctx, enum budget_outcome outcome, int64_t revision,
                      const struct pl_err *err)
{
	struct change *change = ctx;
	struct request *request = change->request;
	struct api_status status;

	(void)outcome;
	if (err == NULL) {
		change->committed(change, revision);
	} else if (err->code == PL_CONFLICT || err->code == PL_NOTFOUND) {
		refuse_or_again(change);
	} else if (err->code == PL_EXISTS) {
		status = status_conflict(&request->arena, request_about(request),
		                         pl_span_str(err->msg));
		answer_status(request, &status);
	} else {
		answer_store_error(request, err);
	}
	request_unbusy(request);
}

static void commit_budget(struct change *change)
{
	struct request *request = change->request;
	struct budget_object budget = {.namespace = request->path.namespace,
	                               .name = request->path.name,
	                               .object = change->stored};
	struct budget_edit *edit;
	struct pl_err err = {0};
	enum pl_code code;

	code = deletes(change)
	               ? budget_delete_start(&request->api->service, budget.namespace,
	                                     budget.name, current_revision(change),
	                                     on_budget, change, &edit, &err)
	               : budget_put_start(&request->api->service, &budget,
	                                  current_revision(change), on_budget, change,
	                                  &edit, &err);
	if (code == PL_OK)
		request->busy++;
	else
		answer_store_error(request, &err);
}

void change_commit(struct change *change)
{
	struct request *request = change->request;

	if (change->committed == NULL)
		change->committed = written;
	if (change->source == SOURCE_NODES)
		member_name_split(request->path.name, &change->node.cluster,
		                  &change->node.name);
	if (change->kind != CHANGE_DELETE && !print_stored(change))
		return;
	if (change->source == SOURCE_CONFIGS) {
		commit_config(change);
		return;
	}
	if (change->source == SOURCE_SHARDS) {
		commit_shard(change);
		return;
	}
	if (change->dry_run) {
		change->committed(change, current_revision(change));
		return;
	}
	if (change->source == SOURCE_TOKENS) {
		commit_token(change);
		return;
	}
	switch (change->source) {
	case SOURCE_OBJECTS:
		commit_object(change);
		return;
	case SOURCE_PODS:
		commit_pod(change);
		return;
	case SOURCE_NODES:
		commit_node(change);
		return;
	case SOURCE_BUDGETS:
		commit_budget(change);
		return;
	default: {
		struct api_status status = status_no_such_method();

		answer_status(request, &status);
		return;
	}
	}
}
