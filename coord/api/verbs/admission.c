/* Admission: what Kubernetes' API server does with objects of some kinds before it stores
 * them. */
#include "coord/api/verbs/change.h"
#include "shardsched/model/object.h"

static bool fail_memory(struct change *change)
{
	answer_no_memory(change->request);
	return false;
}

static const struct schema_resource *namespaces(void)
{
	return schema_resource_find((struct pl_span){0}, PL_SPAN_LIT("v1"),
	                            PL_SPAN_LIT("namespaces"));
}

bool is_namespace(const struct request *request)
{
	return request->path.resource == namespaces();
}

static bool is_terminating(const struct object *namespace)
{
	const struct cache_entry *entry = namespace->part[OBJECT_MAIN];
	struct pl_span status = object_piece_text(entry, object_parts_of(entry)->status);

	return pl_span_eq(object_member(status, "phase"), PL_SPAN_LIT("\"Terminating\""));
}

bool admission_wait(struct change *change)
{
	struct request *request = change->request;

	if (change->objects_fresh || change->kind != CHANGE_CREATE)
		return false;
	change->objects_fresh = true;
	request_wait(request, request->api->sources->source[SOURCE_OBJECTS].cache, 0,
	             create_admitted);
	return true;
}

/* Nothing new comes into a namespace that is not there, or that goes. The write compares
 * the namespace, so this holds when the object is committed, too. */
static bool check_namespace(struct change *change)
{
	struct request *request = change->request;
	const struct request_path *path = &request->path;
	struct status_about about = {
		.group = "", .resource = "namespaces", .name = path->namespace};
	struct object namespace;
	struct keys_text key;
	struct api_status status;

	if (!path->resource->namespaced || change->kind != CHANGE_CREATE)
		return true;
	if (!source_get(request->api->sources, namespaces(), (struct pl_span){0},
	                path->namespace, &namespace)) {
		if (admission_wait(change))
			return false;
		status = status_not_found(&request->arena, about);
		answer_status(request, &status);
		return false;
	}
	if (is_terminating(&namespace)) {
		if (admission_wait(change))
			return false;
		status = status_forbidden(
			&request->arena, request_about(request),
			pl_span_str(pl_arena_printf(
				&request->arena,
				"unable to create new content in namespace " PL_SPAN_FMT
				" because it is being terminated",
				PL_SPAN_ARG(path->namespace))));
		answer_status(request, &status);
		return false;
	}
	if (!object_key(namespaces(), (struct pl_span){0}, path->namespace, &key))
		return true;
	request->write.expect_key = pl_arena_dup(&request->arena, keys_span(&key));
	request->write.expect_revision = namespace.part[OBJECT_MAIN]->mod_revision;
	return request->write.expect_key.at != NULL || fail_memory(change);
}

/* -- namespaces -------------------------------------------------------------------------- */

static bool add_companion(struct change *change, const char *plural, const char *kind,
                          const char *name, const char *rest)
{
	struct request *request = change->request;
	const struct schema_resource *resource = schema_resource_find(
		(struct pl_span){0}, PL_SPAN_LIT("v1"), pl_span_str(plural));
	unsigned at = change->companions;
	char uid[CHANGE_UID_SIZE], time[CHANGE_TIME_SIZE];
	char *text;

	PL_ASSERT(at < sizeof change->companion / sizeof change->companion[0]);
	new_uid(change, uid);
	time_now(change, time);
	text = pl_arena_printf(&request->arena,
	                       "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{"
	                       "\"name\":\"%s\",\"namespace\":\"" PL_SPAN_FMT
	                       "\",\"uid\":\"%s\",\"creationTimestamp\":\"%s\"%s",
	                       kind, name, PL_SPAN_ARG(request->path.name), uid, time,
	                       rest);
	if (text == NULL)
		return false;
	/* A name that no key can have is refused by the checks, which come next. */
	if (!object_key(resource, request->path.name, pl_span_str(name),
	                &change->companion_key[at]))
		return true;
	change->companion[at] = pl_span_str(text);
	change->companions++;
	return true;
}

/* A new namespace comes with the objects that clients wait for in it, in the same
 * transaction. */
static bool admit_namespace(struct change *change)
{
	struct request *request = change->request;
	struct pl_arena *arena = &request->arena;
	struct cJSON *root = change->wanted.root;
	struct cJSON *meta = wanted_meta(change), *labels, *spec, *status, *list;

	if (meta == NULL)
		return fail_memory(change);
	labels = json_get_object(arena, meta, "labels");
	if (labels == NULL ||
	    !meta_set(change, labels, "kubernetes.io/metadata.name", request->path.name))
		return fail_memory(change);
	if (change->kind != CHANGE_CREATE)
		return true;
	spec = json_get_object(arena, root, "spec");
	status = json_get_object(arena, root, "status");
	list = json_new_array(arena);
	if (spec == NULL || status == NULL || list == NULL ||
	    !json_append(list, json_new_str(arena, "kubernetes")) ||
	    !json_set(arena, spec, "finalizers", list) ||
	    !meta_set(change, status, "phase", PL_SPAN_LIT("Active")))
		return fail_memory(change);
	change->companions = 0; /* an admission may be made again */
	if (!add_companion(change, "serviceaccounts", "ServiceAccount", "default",
	                   "}}") ||
	    !add_companion(change, "configmaps", "ConfigMap", "kube-root-ca.crt",
	                   "},\"data\":{\"ca.crt\":\"\"}}"))
		return fail_memory(change);
	return true;
}

/* -- other kinds --------------------------------------------------------------------------- */

static bool set_status_word(struct change *change, const char *member, const char *word)
{
	struct cJSON *status =
		json_get_object(&change->request->arena, change->wanted.root, "status");

	return (status != NULL && meta_set(change, status, member, pl_span_str(word))) ||
	       fail_memory(change);
}

bool admit(struct change *change)
{
	const struct schema_resource *resource = change->request->path.resource;
	bool creates = change->kind == CHANGE_CREATE;

	/* A status is not given with a new object. */
	if (creates && (resource->subresources & SCHEMA_SUB_STATUS) != 0 &&
	    change->source != SOURCE_NODES)
		(void)json_remove(change->wanted.root, "status");
	if (!check_namespace(change))
		return false;
	if (is_namespace(change->request))
		return admit_namespace(change);
	if (change->source == SOURCE_PODS)
		return pod_admit(change);
	if (creates && strcmp(resource->plural, "persistentvolumeclaims") == 0)
		return set_status_word(change, "phase", "Pending");
	if (creates && strcmp(resource->plural, "persistentvolumes") == 0)
		return set_status_word(change, "phase", "Available");
	return true;
}

bool admit_checked(struct change *change)
{
	if (is_event(change->request))
		return event_admit_checked(change);
	return change->source != SOURCE_PODS || pod_admit_checked(change);
}
