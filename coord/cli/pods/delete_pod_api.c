/*
 * Names are gathered first, so that the question says how many pods go; then each pod is
 * deleted with the uid that it was seen with, so that a new one of its name stays.
 */
#include "coord/cli/pods/delete_pod_api.h"

#include <inttypes.h>
#include <stdio.h>

#include "coord/cli/output/message.h"
#include "coord/cli/session/api_object.h"
#include "coord/cli/session/confirm.h"
#include "store/base/clock.h"
#include "store/base/json_out.h"

enum { AGAIN_MS = 200, BODY_MAX = 4096 };

struct deletion {
	struct deletion *next;
	struct pl_span namespace, name, uid;
	bool terminates; /* the pod was still there when it had been deleted */
};

struct deleting {
	struct pods_request *job;
	struct api_session *api;
	struct pl_arena arena, scratch;
	struct deletion *first, **last;
	uint64_t count;
};

/* -- which pods --------------------------------------------------------------------------- */

static enum pl_code add_pod(void *ctx, struct pl_json pod, struct pl_err *err)
{
	struct deleting *deleting = ctx;
	struct deletion *deletion =
		pl_arena_zalloc(&deleting->arena, 1, sizeof *deletion);

	if (deletion == NULL)
		return pl_err_set(err, PL_NOMEM, "the pods' names");
	deletion->namespace =
		pl_arena_dup(&deleting->arena, api_text(pod, "metadata.namespace"));
	deletion->name = pl_arena_dup(&deleting->arena, api_text(pod, "metadata.name"));
	deletion->uid = pl_arena_dup(&deleting->arena, api_text(pod, "metadata.uid"));
	if (deletion->namespace.at == NULL || deletion->name.at == NULL ||
	    deletion->uid.at == NULL)
		return pl_err_set(err, PL_NOMEM, "the pods' names");
	*deleting->last = deletion;
	deleting->last = &deletion->next;
	deleting->count++;
	return PL_OK;
}

static enum pl_code find_all(struct deleting *deleting, struct pl_err *err)
{
	const struct pods_request *job = deleting->job;
	char path[API_PATH_MAX];
	struct pl_buf query;
	enum pl_code code = api_path(path, "/api/v1", pl_span_str(job->given.namespace),
	                             "pods", (struct pl_span){0}, err);

	if (code != PL_OK)
		return code;
	pl_buf_init(&query, HTTP_URL_MAX);
	code = api_query_labels(&query, &job->query);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "--selector: too long");
	else
		code = api_session_list(deleting->api, path, pl_buf_span(&query), add_pod,
		                        deleting, err);
	pl_buf_done(&query);
	return code;
}

static enum pl_code pod_get(struct deleting *deleting, struct pl_span namespace,
                            struct pl_span name, struct pl_json *out, struct pl_err *err)
{
	char path[API_PATH_MAX];
	enum pl_code code = api_path(path, "/api/v1", namespace, "pods", name, err);

	pl_arena_reset(&deleting->scratch);
	return code == PL_OK ? api_session_get(deleting->api, path, &deleting->scratch,
	                                       out, err)
	                     : code;
}

static enum pl_code find_named(struct deleting *deleting, struct pl_err *err)
{
	const struct options *options = deleting->api->options;
	struct pods_request *job = deleting->job;
	enum pl_code code = PL_OK;

	for (unsigned i = 0; i < options->arg_count && code == PL_OK; i++) {
		struct pl_span namespace, name;
		struct pl_json pod;

		code = pods_args_name(&job->given, options->args[i], &namespace, &name,
		                      err);
		if (code == PL_OK)
			code = pod_get(deleting, namespace, name, &pod, err);
		if (code == PL_OK) {
			code = add_pod(deleting, pod, err);
		} else if (code == PL_NOTFOUND) {
			job->absent++;
			if (!job->ignore_absent)
				print_message(PL_SPAN_FMT "/" PL_SPAN_FMT ": no such pod",
				              PL_SPAN_ARG(namespace), PL_SPAN_ARG(name));
			code = PL_OK;
		}
	}
	return code;
}

/* -- one after the other ------------------------------------------------------------------- */

static enum pl_code print_options(const struct deletion *pod, bool force,
                                  struct pl_buf *out)
{
	struct pl_json_out json;

	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	if (force) {
		pl_json_out_name(&json, "gracePeriodSeconds");
		pl_json_out_int(&json, 0);
	}
	pl_json_out_name(&json, "preconditions");
	pl_json_out_object(&json);
	pl_json_out_name(&json, "uid");
	pl_json_out_string(&json, pod->uid);
	pl_json_out_end(&json);
	pl_json_out_end(&json);
	return pl_json_out_done(&json);
}

/* Whether that very pod is there. */
static enum pl_code is_there(struct deleting *deleting, const struct deletion *pod,
                             bool *out, struct pl_err *err)
{
	struct pl_json seen;
	enum pl_code code = pod_get(deleting, pod->namespace, pod->name, &seen, err);

	*out = code == PL_OK && pl_span_eq(api_text(seen, "metadata.uid"), pod->uid);
	return code == PL_NOTFOUND ? PL_OK : code;
}

static enum pl_code delete_pod(struct deleting *deleting, struct deletion *pod,
                               struct pl_err *err)
{
	struct api_request request = {.method = "DELETE"};
	char path[API_PATH_MAX];
	struct pl_buf body;
	enum pl_code code =
		api_path(path, "/api/v1", pod->namespace, "pods", pod->name, err);

	if (code != PL_OK)
		return code;
	pl_buf_init(&body, BODY_MAX);
	code = print_options(pod, deleting->job->force, &body);
	request.path = path;
	request.body = pl_buf_span(&body);
	if (code != PL_OK)
		(void)pl_err_set(err, code, "the options of a deletion");
	else
		code = api_session_send(deleting->api, &request, NULL, NULL, err);
	pl_buf_done(&body);
	if (code == PL_OK)
		code = is_there(deleting, pod, &pod->terminates, err);
	if (code == PL_NOTFOUND)
		code = PL_OK;
	if (code == PL_OK)
		(void)printf(PL_SPAN_FMT "/" PL_SPAN_FMT " %s\n",
		             PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name),
		             deleting->job->words[pod->terminates ? POD_REQUEST_ACCEPTED
		                                                  : POD_REQUEST_GONE]);
	return code;
}

static enum pl_code await_gone(struct deleting *deleting, struct pl_err *err)
{
	uint64_t begin_ms = pl_clock_ms(), most_ms = deleting->job->timeout_ms;

	for (struct deletion *pod = deleting->first; pod != NULL;) {
		bool there = pod->terminates;

		if (there && is_there(deleting, pod, &there, err) != PL_OK)
			return err->code;
		if (!there) {
			pod = pod->next;
			continue;
		}
		if (most_ms > 0 && pl_clock_ms() - begin_ms > most_ms)
			return pl_err_set(
				err, PL_TIMEOUT,
				PL_SPAN_FMT "/" PL_SPAN_FMT
					    " and perhaps others are still there",
				PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name));
		api_session_pause(deleting->api, AGAIN_MS);
	}
	return PL_OK;
}

static enum pl_code delete_all(struct deleting *deleting, struct pl_err *err)
{
	enum pl_code code = PL_OK;

	for (struct deletion *pod = deleting->first; pod != NULL && code == PL_OK;
	     pod = pod->next)
		code = delete_pod(deleting, pod, err);
	(void)fflush(stdout);
	if (code == PL_OK && deleting->job->wait)
		code = await_gone(deleting, err);
	return code;
}

/* -- the command -------------------------------------------------------------------------- */

static enum pl_code find_and_delete(struct deleting *deleting, struct pl_err *err)
{
	struct pods_request *job = deleting->job;
	bool named = deleting->api->options->arg_count > 0;
	char question[64];
	enum pl_code code = named ? find_named(deleting, err) : find_all(deleting, err);

	if (code != PL_OK)
		return code;
	if (deleting->count == 0 && !named)
		print_message("no such pods");
	if (deleting->count > 0) {
		(void)snprintf(question, sizeof question, "%s %" PRIu64 " pod%s?",
		               job->question, deleting->count,
		               deleting->count == 1 ? "" : "s");
		code = ask(deleting->api->options, question, err);
		if (code == PL_OK)
			code = delete_all(deleting, err);
	}
	if (code == PL_OK && job->absent > 0 && !job->ignore_absent)
		code = pl_err_set(err, PL_NOTFOUND, "%" PRIu64 " not found", job->absent);
	return code;
}

enum pl_code delete_pod_api(struct pods_request *job, struct api_session *api,
                            struct pl_err *err)
{
	struct deleting deleting = {.job = job, .api = api};
	enum pl_code code;

	if (job->given.files.count > 0)
		return pl_err_set(
			err, PL_UNSUPPORTED,
			"-f: needs the store (--endpoints); of the API, kubectl "
			"delete -f");
	deleting.last = &deleting.first;
	pl_arena_init(&deleting.arena, 1 << 16, 0);
	pl_arena_init(&deleting.scratch, 1 << 14, 0);
	code = find_and_delete(&deleting, err);
	pl_arena_done(&deleting.scratch);
	pl_arena_done(&deleting.arena);
	return code;
}
