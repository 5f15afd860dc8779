/*
 * The end of a namespace: marked as Terminating, emptied, removed.
 *
 *	DELETE --> Terminating (nothing new comes in: creations compare the namespace)
 *	       --> everything in it is deleted, again and again, until nothing is left
 *	       --> the namespace itself goes
 *
 * Every API server empties every namespace that terminates: at its beginning and with each
 * change. What two of them do at once is refused by compares and harmless.
 */
#include "coord/api/verbs/namespace.h"

static bool set_phase(struct change *change)
{
	struct request *request = change->request;
	struct pl_err err = {0};
	struct json_tree *tree = &change->wanted;
	struct cJSON *meta, *status;
	char time[CHANGE_TIME_SIZE];

	if (json_tree_parse(&request->arena, change->current.part[OBJECT_MAIN]->value,
	                    NULL, tree, &err) != PL_OK)
		return false;
	meta = wanted_meta(change);
	status = json_get_object(&request->arena, tree->root, "status");
	time_now(change, time);
	if (meta == NULL || status == NULL)
		return false;
	if (json_get(meta, "deletionTimestamp") == NULL &&
	    !meta_set(change, meta, "deletionTimestamp", pl_span_str(time)))
		return false;
	return meta_set(change, status, "phase", PL_SPAN_LIT("Terminating"));
}

void namespace_terminate(struct change *change)
{
	static const char *const kept[] = {"default", "kube-system", "kube-public"};
	struct request *request = change->request;

	for (unsigned i = 0; i < sizeof kept / sizeof kept[0]; i++) {
		if (pl_span_eq(request->path.name, pl_span_str(kept[i]))) {
			struct api_status status = status_forbidden(
				&request->arena, request_about(request),
				PL_SPAN_LIT("this namespace may not be deleted"));

			answer_status(request, &status);
			return;
		}
	}
	if (!set_phase(change)) {
		answer_no_memory(request);
		return;
	}
	change->kind = CHANGE_UPDATE;
	change_commit(change);
}
