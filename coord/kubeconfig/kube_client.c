#include "coord/kubeconfig/kube_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/kubeconfig/kube_exec.h"
#include "coord/kubeconfig/kubeconfig_files.h"
#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/list.h"

enum {
	TIMEOUT_MS = 30000,
	CONNECT_MS = 5000,
	HEADERS_MAX = 4,
	BEARER_SIZE = KUBECONFIG_TOKEN_MAX + 8,
	EARLY_MS = 10000, /* credentials are renewed before they expire */
};
static const size_t answer_max = (size_t)64 << 20;

/* The connections with one set of certificates. A program may give others later: then new
 * calls take new connections, and the old ones are closed after their last call. */
struct kube_conns {
	struct pl_list link;
	struct kube_client *client;
	struct target_files files;
	struct http *http;
	unsigned calls;
	bool retired, closing;
};

struct kube_client {
	uv_loop_t *loop;
	const struct kubeconfig_target *target;
	struct pl_list all; /* kube_conns */
	struct kube_conns *conns;
	/* The program of the target. */
	struct kube_exec *exec;  /* runs now */
	struct pl_list waiting;  /* calls, for its end */
	struct pl_arena secrets; /* of the credential */
	struct kube_credential credential;
	unsigned generation; /* of the credential; 0: none */
	bool stale;          /* the server refused it */
	uv_timer_t soon;     /* ends waiting calls that were canceled */
	bool closing, soon_closed;
	void (*closed)(void *ctx);
	void *closed_ctx;
};

struct kube_call {
	struct kube_client *client;
	struct pl_list link; /* of the waiting ones */
	struct kube_conns *conns;
	struct http_call *http;      /* NULL: it waits for credentials */
	struct kube_request request; /* texts of a waiting one are in the arena */
	struct pl_arena arena;
	bool canceled;
	unsigned generation;     /* of the credential that it has */
	int status;              /* of a stream; 0: no head yet */
	struct pl_buf complaint; /* the body of a stream that was refused */
};

/* -- connections --------------------------------------------------------------------------- */

static void end_if_closed(struct kube_client *client)
{
	void (*closed)(void *) = client->closed;
	void *ctx = client->closed_ctx;

	if (!client->closing || !pl_list_empty(&client->all) || client->exec != NULL ||
	    !client->soon_closed)
		return;
	pl_arena_done(&client->secrets);
	free(client);
	closed(ctx);
}

static void on_conns_closed(void *ctx)
{
	struct kube_conns *conns = ctx;
	struct kube_client *client = conns->client;

	pl_list_del(&conns->link);
	target_files_close(&conns->files);
	free(conns);
	end_if_closed(client);
}

static void conns_close(struct kube_conns *conns)
{
	if (conns->closing)
		return;
	conns->closing = true;
	http_close(conns->http, on_conns_closed, conns);
}

static void conns_retire(struct kube_conns *conns)
{
	conns->retired = true;
	if (conns->calls == 0)
		conns_close(conns);
}

/* Connections with the certificates of the target, or of its program. */
static enum pl_code conns_open(struct kube_client *client, struct pl_err *err)
{
	const struct kube_credential *credential = &client->credential;
	struct kubeconfig_target target = *client->target;
	struct kube_conns *conns = pl_calloc(1, sizeof *conns);
	struct http_opts opts = {.proxy = target.proxy, .unverified = target.unverified};

	if (conns == NULL)
		return pl_err_set(err, PL_NOMEM, "%.100s", target.server);
	if (credential->cert.len > 0) {
		target.cert_data = credential->cert;
		target.key_data = credential->key;
	}
	conns->client = client;
	if (target_files_open(&target, &conns->files, err) != PL_OK)
		goto fail;
	opts.tls = conns->files.tls;
	if (http_open(client->loop, &opts, &conns->http, err) != PL_OK)
		goto fail_files;
	pl_list_add_tail(&client->all, &conns->link);
	if (client->conns != NULL)
		conns_retire(client->conns);
	client->conns = conns;
	return PL_OK;
fail_files:
	target_files_close(&conns->files);
fail:
	free(conns);
	return err->code;
}

enum pl_code kube_client_open(uv_loop_t *loop, const struct kubeconfig_target *target,
                              struct kube_client **out, struct pl_err *err)
{
	struct kube_client *client = pl_calloc(1, sizeof *client);
	int rc;

	if (client == NULL)
		return pl_err_set(err, PL_NOMEM, "%.100s", target->server);
	client->loop = loop;
	client->target = target;
	pl_list_init(&client->all);
	pl_list_init(&client->waiting);
	pl_arena_init(&client->secrets, 0, 0);
	if (conns_open(client, err) != PL_OK) {
		free(client);
		return err->code;
	}
	rc = uv_timer_init(loop, &client->soon);
	PL_ASSERT(rc == 0);
	client->soon.data = client;
	*out = client;
	return PL_OK;
}

/* -- one call --------------------------------------------------------------------------- */

static bool is_good(int status)
{
	return status >= 200 && status < 300;
}

static void on_head(void *ctx, const struct http_answer *answer)
{
	((struct kube_call *)ctx)->status = answer->status;
}

static void on_data(void *ctx, struct pl_span piece)
{
	struct kube_call *call = ctx;

	if (is_good(call->status))
		call->request.data(call->request.ctx, piece);
	else if (pl_buf_add(&call->complaint, piece) != PL_OK)
		pl_buf_clear(&call->complaint, 0); /* only the number is told */
}

static void call_free(struct kube_call *call)
{
	pl_buf_done(&call->complaint);
	pl_arena_done(&call->arena);
	free(call);
}

/* Calling out is the last thing. */
static void call_end(struct kube_call *call, struct pl_span body,
                     const struct pl_err *err)
{
	call->request.done(call->request.ctx, body, err);
	call_free(call);
}

static void on_end(void *ctx, const struct http_end *end)
{
	struct kube_call *call = ctx;
	struct kube_client *client = call->client;
	struct kube_conns *conns = call->conns;
	bool streamed = call->request.data != NULL;
	int status = streamed && call->status != 0 ? call->status : end->answer.status;
	struct pl_span body = streamed ? pl_buf_span(&call->complaint) : end->answer.body;
	struct pl_err err = {0};

	if (end->code != PL_OK)
		err = *end->err;
	else if (!is_good(status))
		(void)kube_status_error(status, body, &err);
	/* The next call asks the program again. */
	if (end->code == PL_OK && status == 401 && call->generation == client->generation)
		client->stale = true;
	conns->calls--;
	if (conns->retired && conns->calls == 0)
		conns_close(conns);
	call_end(call, body, err.code == PL_OK ? NULL : &err);
}

/* The header's value: "Bearer abc"; empty: the target has no token. */
static enum pl_code bearer_of(const struct kube_client *client, char out[BEARER_SIZE],
                              struct pl_err *err)
{
	const struct kubeconfig_target *target = client->target;
	const char *token = client->credential.token != NULL ? client->credential.token
	                                                     : target->token;
	static const char word[] = "Bearer ";

	out[0] = 0;
	if (target->token_file != NULL) {
		memcpy(out, word, sizeof word);
		return kubeconfig_read_token(target->token_file, out + sizeof word - 1,
		                             err);
	}
	if (token != NULL)
		(void)snprintf(out, BEARER_SIZE, "%s%s", word, token);
	return PL_OK;
}

static enum pl_code start_http(struct kube_call *call, const char *url,
                               struct pl_err *err)
{
	const struct kube_request *request = &call->request;
	struct kube_client *client = call->client;
	struct http_header headers[HEADERS_MAX] = {{"Accept", "application/json"}};
	char bearer[BEARER_SIZE];
	struct http_call_opts opts = {
		.method = request->method,
		.url = url,
		.headers = headers,
		.header_count = 1,
		.body = request->body,
		.connect_timeout_ms = CONNECT_MS,
		.idle_timeout_ms = (uint32_t)request->idle_ms,
		.body_max = request->answer_max == 0 ? answer_max : request->answer_max,
		.on_head = request->data == NULL ? NULL : on_head,
		.on_data = request->data == NULL ? NULL : on_data,
		.on_end = on_end,
		.ctx = call};
	enum pl_code code = bearer_of(client, bearer, err);

	if (code != PL_OK)
		return code;
	if (request->data == NULL)
		opts.timeout_ms = request->timeout_ms == 0
		                          ? TIMEOUT_MS
		                          : (uint32_t)request->timeout_ms;
	if (request->body.len > 0)
		headers[opts.header_count++] = (struct http_header){
			"Content-Type", request->content_type == NULL
						? "application/json"
						: request->content_type};
	if (bearer[0] != 0)
		headers[opts.header_count++] =
			(struct http_header){"Authorization", bearer};
	code = http_call_start(client->conns->http, &opts, &call->http, err);
	explicit_bzero(bearer, sizeof bearer);
	if (code == PL_OK) {
		call->conns = client->conns;
		call->conns->calls++;
		call->generation = client->generation;
	}
	return code;
}

static enum pl_code send_call(struct kube_call *call, struct pl_err *err)
{
	char url[HTTP_URL_MAX];
	int len = snprintf(url, sizeof url, "%s%s", call->client->target->server,
	                   call->request.path);

	if (len < 0 || (size_t)len >= sizeof url)
		return pl_err_set(err, PL_LIMIT, "the request's path is too long");
	return start_http(call, url, err);
}

/* -- calls that wait for credentials ------------------------------------------------------- */

static bool needs_program(const struct kube_client *client)
{
	int64_t expires_ms = client->credential.expires_ms;

	if (client->target->exec == NULL)
		return false;
	return client->generation == 0 || client->stale ||
	       (expires_ms != 0 && pl_clock_wall_ms() >= expires_ms - EARLY_MS);
}

static bool keep_text(struct pl_arena *arena, const char **text)
{
	if (*text != NULL)
		*text = pl_arena_printf(arena, "%s", *text);
	return *text != NULL;
}

/* Copies what the request borrows. PL_NOMEM. */
static enum pl_code keep_request(struct kube_call *call, struct pl_err *err)
{
	struct kube_request *request = &call->request;
	bool good =
		keep_text(&call->arena, &request->path) &&
		(request->method == NULL || keep_text(&call->arena, &request->method)) &&
		(request->content_type == NULL ||
	         keep_text(&call->arena, &request->content_type));

	if (good && request->body.len > 0) {
		request->body = pl_arena_dup(&call->arena, request->body);
		good = request->body.at != NULL;
	}
	return good ? PL_OK
	            : pl_err_set(err, PL_NOMEM, "%.100s", call->client->target->server);
}

/* Copies the credential; other certificates need other connections. */
static enum pl_code take_credential(struct kube_client *client,
                                    const struct kube_credential *given,
                                    struct pl_err *err)
{
	struct kube_credential kept = {.expires_ms = given->expires_ms};
	struct pl_arena secrets;
	bool good = true, other;

	pl_arena_init(&secrets, 0, 0);
	if (given->token != NULL) {
		kept.token = given->token;
		good = keep_text(&secrets, &kept.token);
	}
	kept.cert = pl_arena_dup(&secrets, given->cert);
	kept.key = pl_arena_dup(&secrets, given->key);
	good = good && (given->cert.len == 0 || kept.cert.at != NULL) &&
	       (given->key.len == 0 || kept.key.at != NULL);
	if (!good) {
		pl_arena_done(&secrets);
		return pl_err_set(err, PL_NOMEM, "keep credentials");
	}
	other = !pl_span_eq(kept.cert, client->credential.cert) ||
	        !pl_span_eq(kept.key, client->credential.key);
	pl_arena_done(&client->secrets);
	client->secrets = secrets;
	client->credential = kept;
	client->generation++;
	client->stale = false;
	return other ? conns_open(client, err) : PL_OK;
}

static void fail_waiting(struct kube_client *client, const struct pl_err *err)
{
	struct pl_list calls;

	pl_list_init(&calls);
	pl_list_move(&calls, &client->waiting);
	while (!pl_list_empty(&calls)) {
		struct kube_call *call = PL_LIST_ITEM(calls.next, struct kube_call, link);

		pl_list_del(&call->link);
		call_end(call, (struct pl_span){0}, err);
	}
}

/* Calls that callbacks start meanwhile wait for another run, or need none. */
static void send_waiting(struct kube_client *client)
{
	struct pl_list calls;

	pl_list_init(&calls);
	pl_list_move(&calls, &client->waiting);
	while (!pl_list_empty(&calls)) {
		struct kube_call *call = PL_LIST_ITEM(calls.next, struct kube_call, link);
		struct pl_err err = {0};

		pl_list_del(&call->link);
		if (call->canceled)
			(void)pl_err_set(&err, PL_CANCELED, "canceled");
		else if (send_call(call, &err) == PL_OK)
			continue;
		call_end(call, (struct pl_span){0}, &err);
	}
}

static void on_credential(void *ctx, const struct kube_credential *given,
                          const struct pl_err *err)
{
	struct kube_client *client = ctx;
	struct pl_err why = {0};

	client->exec = NULL;
	if (err != NULL)
		why = *err;
	else
		(void)!take_credential(client, given, &why);
	if (why.code == PL_OK)
		send_waiting(client);
	else
		fail_waiting(client, &why);
	end_if_closed(client);
}

static enum pl_code wait_for_program(struct kube_call *call, struct pl_err *err)
{
	struct kube_client *client = call->client;

	if (keep_request(call, err) != PL_OK)
		return err->code;
	if (client->exec == NULL &&
	    kube_exec_start(client->loop, client->target, on_credential, client,
	                    &client->exec, err) != PL_OK)
		return err->code;
	pl_list_add_tail(&client->waiting, &call->link);
	return PL_OK;
}

static void on_soon(uv_timer_t *timer)
{
	struct kube_client *client = timer->data;
	struct pl_err err = {0};

	(void)pl_err_set(&err, PL_CANCELED, "canceled");
	PL_LIST_EACH (link, &client->waiting) {
		struct kube_call *call = PL_LIST_ITEM(link, struct kube_call, link);

		if (!call->canceled)
			continue;
		pl_list_del(&call->link);
		(void)uv_timer_start(timer, on_soon, 0, 0); /* for others */
		call_end(call, (struct pl_span){0}, &err);
		return;
	}
}

/* -- calls --------------------------------------------------------------------------------- */

enum pl_code kube_call_start(struct kube_client *client,
                             const struct kube_request *request, struct kube_call **out,
                             struct pl_err *err)
{
	struct kube_call *call = pl_calloc(1, sizeof *call);
	enum pl_code code;

	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "%.100s", client->target->server);
	call->client = client;
	call->request = *request;
	pl_arena_init(&call->arena, 0, 0);
	pl_buf_init(&call->complaint, 64 << 10);
	if (client->closing)
		code = pl_err_set(err, PL_CANCELED, "the client closes");
	else
		code = needs_program(client) ? wait_for_program(call, err)
		                             : send_call(call, err);
	if (code == PL_OK && out != NULL)
		*out = call;
	if (code != PL_OK)
		call_free(call);
	return code;
}

void kube_call_cancel(struct kube_call *call)
{
	if (call->http != NULL) {
		http_call_cancel(call->http);
		return;
	}
	call->canceled = true;
	(void)uv_timer_start(&call->client->soon, on_soon, 0, 0);
}

static void on_soon_closed(uv_handle_t *handle)
{
	struct kube_client *client = handle->data;

	client->soon_closed = true;
	end_if_closed(client);
}

void kube_client_close(struct kube_client *client, void (*closed)(void *ctx), void *ctx)
{
	client->closing = true;
	client->closed = closed;
	client->closed_ctx = ctx;
	PL_LIST_EACH (link, &client->waiting)
		PL_LIST_ITEM(link, struct kube_call, link)->canceled = true;
	if (client->exec != NULL)
		kube_exec_cancel(client->exec);
	uv_close((uv_handle_t *)&client->soon, on_soon_closed);
	PL_LIST_EACH (link, &client->all)
		conns_close(PL_LIST_ITEM(link, struct kube_conns, link));
}

enum pl_code kube_path_escape(struct pl_buf *path, struct pl_span text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:";
	enum pl_code code = PL_OK;

	for (size_t i = 0; i < text.len && code == PL_OK; i++)
		code = text.at[i] != 0 && strchr(plain, text.at[i]) != NULL
		               ? pl_buf_add(path, pl_span(text.at + i, 1))
		               : pl_buf_printf(path, "%%%02X", text.at[i]);
	return code;
}
