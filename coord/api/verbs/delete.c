/* DELETE of an object or a collection, eviction, binding. */
#include "coord/api/verbs/finalizer.h"
#include "coord/api/verbs/request_options.h"
#include "shardsched/model/object.h"

/* -- options ------------------------------------------------------------------------- */

bool delete_options_check(struct request *request, struct cJSON *options)
{
	struct options_of_delete words = {
		.propagation = meta_text(options, "propagationPolicy"),
		.has_orphans = json_get(options, "orphanDependents") != NULL};
	struct pl_json dry = {.node = json_get(options, "dryRun")};
	struct pl_span kind = meta_text(options, "kind");
	struct api_status status;
	const char *word = "";

	PL_JSON_EACH (item, dry)
		if (pl_json_as_string(item, &word, NULL) == PL_OK &&
		    strcmp(word, "All") != 0)
			words.dry_run = pl_span_str(word);
	if (kind.len > 0 && !pl_span_eq(kind, PL_SPAN_LIT("DeleteOptions")))
		status = status_bad_request(
			PL_SPAN_LIT("decoded object cannot be converted to "
		                    "DeleteOptions"));
	else if (options_check_delete(&request->arena, &words, &status))
		return true;
	answer_status(request, &status);
	return false;
}

bool delete_options_read(struct change *change, struct cJSON *options)
{
	struct cJSON *grace = json_get(options, "gracePeriodSeconds");
	struct cJSON *preconditions = json_get(options, "preconditions");
	struct pl_span version;
	double seconds = 0;

	if (!delete_options_check(change->request, options))
		return false;
	if (grace != NULL &&
	    pl_json_as_double((struct pl_json){.node = grace}, &seconds, NULL) == PL_OK)
		change->grace_s = (int64_t)seconds;
	if (pl_json_count((struct pl_json){.node = json_get(options, "dryRun")}) > 0)
		change->dry_run = true;
	if (preconditions != NULL) {
		change->uid = meta_text(preconditions, "uid");
		version = meta_text(preconditions, "resourceVersion");
		/* A version that is no number is that of nothing. */
		if (version.len > 0 && !request_number(version, &change->wanted_revision))
			change->wanted_revision = -1;
	}
	return true;
}

static bool options_read(struct change *change)
{
	static const char name[] = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
	struct request *request = change->request;
	const struct schema_type *type = schema_type_named(name);

	change->grace_s = -1;
	if (request->query.gracePeriodSeconds.len > 0 &&
	    !request_number(request->query.gracePeriodSeconds, &change->grace_s)) {
		struct api_status status = status_bad_request(
			PL_SPAN_LIT("gracePeriodSeconds: must be a number"));

		answer_status(request, &status);
		return false;
	}
	if (!body_read(request, type, &change->patch))
		return false;
	return change->patch.root == NULL ||
	       (body_decode(request, &change->patch, type, change->report) &&
	        delete_options_read(change, change->patch.root));
}

static bool preconditions_hold(struct change *change)
{
	struct request *request = change->request;
	struct pl_span uid;
	struct pl_buf buf;
	struct api_status status;
	bool same = true;

	if (change->wanted_revision != 0 &&
	    change->wanted_revision != change->current.revision) {
		change_conflict(change);
		return false;
	}
	if (change->uid.len == 0)
		return true;
	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	if (object_write(&change->current, &buf) != PL_OK) {
		pl_buf_done(&buf);
		answer_no_memory(request);
		return false;
	}
	uid = object_member(object_member(pl_buf_span(&buf), "metadata"), "uid");
	uid = uid.len < 2 ? pl_span("", 0) : pl_span(uid.at + 1, uid.len - 2);
	same = pl_span_eq(uid, change->uid);
	if (!same)
		status = status_conflict(
			&request->arena, request_about(request),
			pl_span_str(pl_arena_printf(
				&request->arena,
				"Precondition failed: UID in precondition: " PL_SPAN_FMT
				", UID in object meta: " PL_SPAN_FMT,
				PL_SPAN_ARG(change->uid), PL_SPAN_ARG(uid))));
	pl_buf_done(&buf);
	if (!same)
		answer_status(request, &status);
	return same;
}

/* -- one object ------------------------------------------------------------------------- */

/* The uid that the object was created with; empty: none is stored. */
static struct pl_span stored_uid(const struct object *object)
{
	const struct cache_entry *entry = object->part[OBJECT_MAIN];
	struct pl_span meta = object_piece_text(entry, object_parts_of(entry)->metadata);
	struct pl_span uid = {0};

	if (meta.len > 0 && meta.at[0] == '{')
		uid = object_member(meta, "uid");
	return uid.len > 2 ? pl_span(uid.at + 1, uid.len - 2) : (struct pl_span){0};
}

static void answer_deleted(struct change *change, int64_t revision)
{
	struct request *request = change->request;
	struct api_status status =
		status_deleted(request_about(request), stored_uid(&change->current));

	(void)revision;
	answer_status(request, &status);
}

static void deletion_fresh(struct request *request)
{
	struct change *change = request->change;
	struct object current;

	if (!request_object(request, &current)) {
		struct api_status status;

		if (change_not_sure(change, deletion_fresh))
			return;
		status = status_not_found(&request->arena, request_about(request));

		if (!event_refuse_derived(request))
			answer_status(request, &status);
		return;
	}
	change_set_current(change, &current);
	change->kind = CHANGE_DELETE;
	if (change->wanted_revision != 0 && change->wanted_revision != current.revision &&
	    change_not_sure(change, deletion_fresh))
		return;
	if (!preconditions_hold(change))
		return;
	if (change->source == SOURCE_PODS) {
		commit_pod_delete(change);
		return;
	}
	if (is_namespace(request)) {
		namespace_terminate(change);
		return;
	}
	if (finalizers_are_kept(change->source) && finalizers_hold(&change->current)) {
		finalizers_await(change);
		return;
	}
	change->committed = answer_deleted;
	change_commit(change);
}

static bool delete_again(struct change *change)
{
	change->sure = false;
	return change_not_sure(change, deletion_fresh);
}

void request_delete(struct request *request)
{
	struct change *change = change_new(request, CHANGE_DELETE);

	if (change == NULL)
		return;
	change->again = delete_again;
	if (options_read(change))
		deletion_fresh(request);
}
