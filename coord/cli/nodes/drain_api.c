/*
 * Each round lists the pods of each node that is not empty yet, and asks for the eviction of
 * those that were not asked for: a pod that a budget protects is asked for again in the next
 * round. A node is drained when no pod that runs is on it.
 *
 * An eviction of Kubernetes deletes the pod, where the store's command has it placed again;
 * so the command asks first.
 */
#include "coord/cli/nodes/drain_api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/api/objects/member_name.h"
#include "coord/cli/nodes/cordon_api.h"
#include "coord/cli/output/progress.h"
#include "coord/cli/session/api_object.h"
#include "coord/cli/session/confirm.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/json_out.h"
#include "store/base/map.h"

enum { AGAIN_MS = 500, BODY_MAX = 4096, SHOWN_MAX = 20 };

/* A pod, by its uid, that has been asked to go. */
struct drain_asked {
	struct pl_map_node node;
	uint8_t uid[];
};

/* A pod of the round that is still to be asked. */
struct drain_pod {
	struct drain_pod *next;
	struct pl_span namespace, name, uid;
};

struct draining {
	struct api_session *api;
	struct pl_map asked;
	bool *drained; /* by argument */
	unsigned drained_count;
	struct pl_arena arena; /* of a round */
	struct drain_pod *first, **last;
	const char *node; /* the argument that is listed */
	uint64_t left, withheld, shown;
	struct progress progress;
};

/* -- the pods of a node ---------------------------------------------------------------------- */

static bool has_ended(struct pl_json pod)
{
	const char *phase = field_text_or(pod, "status.phase", "");

	return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static enum pl_code on_pod(void *ctx, struct pl_json pod, struct pl_err *err)
{
	struct draining *draining = ctx;
	struct pl_span uid = api_text(pod, "metadata.uid");
	struct drain_pod *kept;

	if (has_ended(pod))
		return PL_OK;
	draining->left++;
	if (pl_map_get(&draining->asked, uid) != NULL ||
	    field_is_set(pod, "metadata.deletionTimestamp"))
		return PL_OK;
	kept = pl_arena_zalloc(&draining->arena, 1, sizeof *kept);
	if (kept != NULL) {
		kept->namespace = pl_arena_dup(&draining->arena,
		                               api_text(pod, "metadata.namespace"));
		kept->name =
			pl_arena_dup(&draining->arena, api_text(pod, "metadata.name"));
		kept->uid = pl_arena_dup(&draining->arena, uid);
	}
	if (kept == NULL || kept->namespace.at == NULL || kept->name.at == NULL ||
	    kept->uid.at == NULL)
		return pl_err_set(err, PL_NOMEM, "the pods' names");
	*draining->last = kept;
	draining->last = &kept->next;
	return PL_OK;
}

/* Gathers the pods of the node that are to be asked, and counts all. */
static enum pl_code list_pods(struct draining *draining, const char *arg,
                              struct pl_err *err)
{
	const char *slash = strchr(arg, '/');
	char whole[MEMBER_NAME_SIZE];
	struct pl_buf query;
	enum pl_code code;
	size_t len;

	PL_ASSERT(slash != NULL);
	len = member_name_join(pl_span(arg, (size_t)(slash - arg)),
	                       pl_span_str(slash + 1), whole);
	draining->first = NULL;
	draining->last = &draining->first;
	draining->node = arg;
	pl_buf_init(&query, HTTP_URL_MAX);
	code = api_query_field(&query, "spec.nodeName", pl_span(whole, len));
	if (code != PL_OK)
		(void)pl_err_set(err, code, "%.100s: the name is too long", arg);
	else
		code = api_session_list(draining->api, "/api/v1/pods",
		                        pl_buf_span(&query), on_pod, draining, err);
	pl_buf_done(&query);
	return code;
}

/* -- evictions --------------------------------------------------------------------------------- */

static enum pl_code print_eviction(const struct drain_pod *pod, struct pl_buf *body)
{
	struct pl_json_out out;

	pl_json_out_init(&out, body);
	pl_json_out_object(&out);
	pl_json_out_name(&out, "kind");
	pl_json_out_str(&out, "Eviction");
	pl_json_out_name(&out, "apiVersion");
	pl_json_out_str(&out, "policy/v1");
	pl_json_out_name(&out, "metadata");
	pl_json_out_object(&out);
	pl_json_out_name(&out, "name");
	pl_json_out_string(&out, pod->name);
	pl_json_out_name(&out, "namespace");
	pl_json_out_string(&out, pod->namespace);
	pl_json_out_end(&out);
	pl_json_out_name(&out, "deleteOptions");
	pl_json_out_object(&out);
	pl_json_out_name(&out, "preconditions");
	pl_json_out_object(&out);
	pl_json_out_name(&out, "uid");
	pl_json_out_string(&out, pod->uid);
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	pl_json_out_end(&out);
	return pl_json_out_done(&out);
}

static enum pl_code send_eviction(struct draining *draining, const struct drain_pod *pod,
                                  struct pl_err *err)
{
	struct api_request request = {.method = "POST"};
	char path[API_PATH_MAX];
	struct pl_buf body;
	enum pl_code code =
		api_path(path, "/api/v1", pod->namespace, "pods", pod->name, err);

	if (code != PL_OK)
		return code;
	(void)strncat(path, "/eviction", sizeof path - strlen(path) - 1);
	pl_buf_init(&body, BODY_MAX);
	request.path = path;
	if (print_eviction(pod, &body) != PL_OK) {
		code = pl_err_set(err, PL_NOMEM, "an eviction");
	} else {
		request.body = pl_buf_span(&body);
		code = api_session_send(draining->api, &request, NULL, NULL, err);
	}
	pl_buf_done(&body);
	return code;
}

static enum pl_code note_asked(struct draining *draining, struct pl_span uid,
                               struct pl_err *err)
{
	struct drain_asked *asked = pl_calloc(1, sizeof *asked + uid.len);

	if (asked == NULL)
		return pl_err_set(err, PL_NOMEM, "the pods' names");
	memcpy(asked->uid, uid.at, uid.len);
	if (pl_map_add(&draining->asked, &asked->node, pl_span(asked->uid, uid.len)) !=
	    NULL)
		free(asked);
	return PL_OK;
}

static enum pl_code ask_pod(struct draining *draining, const struct drain_pod *pod,
                            struct pl_err *err)
{
	struct pl_err why = {0};
	enum pl_code code;

	if (draining->api->options->dry_run) {
		if (draining->shown++ < SHOWN_MAX)
			(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " would go from %s\n",
			             PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name),
			             draining->node);
		return PL_OK;
	}
	code = send_eviction(draining, pod, &why);
	if (code == PL_THROTTLED) { /* a budget allows it later */
		draining->withheld++;
		return PL_OK;
	}
	if (code == PL_NOTFOUND || code == PL_CONFLICT) /* gone, or another pod by now */
		return PL_OK;
	if (code == PL_OK)
		return note_asked(draining, pod->uid, err);
	*err = why;
	return pl_err_wrap(err, PL_SPAN_FMT "/" PL_SPAN_FMT, PL_SPAN_ARG(pod->namespace),
	                   PL_SPAN_ARG(pod->name));
}

/* -- rounds ------------------------------------------------------------------------------------ */

static enum pl_code drain_node(struct draining *draining, unsigned at, struct pl_err *err)
{
	const char *arg = draining->api->options->args[at];
	uint64_t before = draining->left;
	enum pl_code code = list_pods(draining, arg, err);

	for (struct drain_pod *pod = draining->first; pod != NULL && code == PL_OK;
	     pod = pod->next)
		code = ask_pod(draining, pod, err);
	if (code != PL_OK || draining->left > before || draining->api->options->dry_run)
		return code;
	draining->drained[at] = true;
	draining->drained_count++;
	progress_end(&draining->progress);
	(void)printf("%s drained\n", arg);
	(void)fflush(stdout);
	return PL_OK;
}

static bool is_duplicate(const struct options *options, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (strcmp(options->args[i], options->args[at]) == 0)
			return true;
	return false;
}

static enum pl_code drain_round(struct draining *draining, struct pl_err *err)
{
	const struct options *options = draining->api->options;
	enum pl_code code = PL_OK;

	pl_arena_reset(&draining->arena);
	draining->left = 0;
	draining->withheld = 0;
	for (unsigned i = 0; i < options->arg_count && code == PL_OK; i++)
		if (!draining->drained[i] && !is_duplicate(options, i))
			code = drain_node(draining, i, err);
	return code;
}

static enum pl_code time_is_up(const struct draining *draining, struct pl_err *err)
{
	if (draining->withheld > 0)
		return pl_err_set(err, PL_TIMEOUT,
		                  "%" PRIu64 " pods are still there; %" PRIu64
		                  " wait for their budgets",
		                  draining->left, draining->withheld);
	return pl_err_set(err, PL_TIMEOUT,
	                  "%" PRIu64 " pods are still there; their members have to say "
	                  "that they have ended",
	                  draining->left);
}

static enum pl_code drain_all(struct draining *draining, uint64_t timeout_ms,
                              struct pl_err *err)
{
	uint64_t begin_ms = pl_clock_ms();
	enum pl_code code = drain_round(draining, err);

	while (code == PL_OK && draining->left > 0 && !draining->api->options->dry_run) {
		if (timeout_ms > 0 && pl_clock_ms() - begin_ms > timeout_ms)
			return time_is_up(draining, err);
		progress_print(&draining->progress, pl_clock_ms(),
		               "%u nodes drained, %" PRIu64 " pods are left, %" PRIu64
		               " wait for their budgets",
		               draining->drained_count, draining->left,
		               draining->withheld);
		api_session_pause(draining->api, AGAIN_MS);
		code = drain_round(draining, err);
	}
	if (draining->shown > SHOWN_MAX)
		(void)printf("and %" PRIu64 " more\n", draining->shown - SHOWN_MAX);
	return code;
}

enum pl_code drain_api(struct api_session *api, uint64_t timeout_ms, struct pl_err *err)
{
	struct draining draining = {.api = api};
	enum pl_code code = PL_OK;

	if (!api->options->dry_run)
		code = ask(api->options,
		           "The API deletes evicted pods, and who made them has to make "
		           "them again. Go on?",
		           err);
	if (code == PL_OK)
		code = cordon_api(api, true, err);
	if (code != PL_OK)
		return code;
	draining.drained = pl_calloc(api->options->arg_count, sizeof *draining.drained);
	if (draining.drained == NULL)
		return pl_err_set(err, PL_NOMEM, "drain");
	pl_map_init(&draining.asked);
	pl_arena_init(&draining.arena, 0, 0);
	progress_init(&draining.progress, pl_clock_ms());
	code = drain_all(&draining, timeout_ms, err);
	progress_end(&draining.progress);
	PL_MAP_EACH (node, &draining.asked) {
		pl_map_del(&draining.asked, node);
		free(PL_CONTAINER_OF(node, struct drain_asked, node));
	}
	pl_map_done(&draining.asked);
	pl_arena_done(&draining.arena);
	free(draining.drained);
	return code;
}
