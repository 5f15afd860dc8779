#include "coord/kubeconfig/kube_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/kubeconfig/kubeconfig_files.h"
#include "store/base/alloc.h"

enum {
	TIMEOUT_MS = 30000,
	CONNECT_MS = 5000,
	HEADERS_MAX = 4,
	BEARER_SIZE = KUBECONFIG_TOKEN_MAX + 8,
};
static const size_t answer_max = (size_t)64 << 20;

struct kube_client {
	const struct kubeconfig_target *target;
	struct target_files files;
	struct http *http;
	void (*closed)(void *ctx);
	void *closed_ctx;
};

struct kube_call {
	struct http_call *http;
	void (*data)(void *ctx, struct pl_span piece);
	void (*done)(void *ctx, struct pl_span body, const struct pl_err *err);
	void *ctx;
	int status;              /* of a stream; 0: no head yet */
	struct pl_buf complaint; /* the body of a stream that was refused */
};

enum pl_code kube_client_open(uv_loop_t *loop, const struct kubeconfig_target *target,
                              struct kube_client **out, struct pl_err *err)
{
	struct kube_client *client = pl_calloc(1, sizeof *client);
	struct http_opts opts = {0};

	if (client == NULL)
		return pl_err_set(err, PL_NOMEM, "%.100s", target->server);
	client->target = target;
	if (target_files_open(target, &client->files, err) != PL_OK)
		goto fail;
	opts.tls = client->files.tls;
	if (http_open(loop, &opts, &client->http, err) != PL_OK)
		goto fail_files;
	*out = client;
	return PL_OK;
fail_files:
	target_files_close(&client->files);
fail:
	free(client);
	return err->code;
}

static void on_closed(void *ctx)
{
	struct kube_client *client = ctx;
	void (*closed)(void *) = client->closed;
	void *closed_ctx = client->closed_ctx;

	target_files_close(&client->files);
	free(client);
	closed(closed_ctx);
}

void kube_client_close(struct kube_client *client, void (*closed)(void *ctx), void *ctx)
{
	client->closed = closed;
	client->closed_ctx = ctx;
	http_close(client->http, on_closed, client);
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
		call->data(call->ctx, piece);
	else if (pl_buf_add(&call->complaint, piece) != PL_OK)
		pl_buf_clear(&call->complaint, 0); /* only the number is told */
}

static void on_end(void *ctx, const struct http_end *end)
{
	struct kube_call *call = ctx;
	int status = call->data != NULL && call->status != 0 ? call->status
	                                                     : end->answer.status;
	struct pl_span body =
		call->data != NULL ? pl_buf_span(&call->complaint) : end->answer.body;
	struct pl_err err = {0};

	if (end->code != PL_OK)
		err = *end->err;
	else if (!is_good(status))
		(void)kube_status_error(status, body, &err);
	call->done(call->ctx, body, err.code == PL_OK ? NULL : &err);
	pl_buf_done(&call->complaint);
	free(call);
}

/* The header's value: "Bearer abc"; empty: the target has no token. */
static enum pl_code bearer_of(const struct kubeconfig_target *target,
                              char out[BEARER_SIZE], struct pl_err *err)
{
	static const char word[] = "Bearer ";

	out[0] = 0;
	if (target->token_file != NULL) {
		memcpy(out, word, sizeof word);
		return kubeconfig_read_token(target->token_file, out + sizeof word - 1,
		                             err);
	}
	if (target->token != NULL)
		(void)snprintf(out, BEARER_SIZE, "%s%s", word, target->token);
	return PL_OK;
}

static enum pl_code start_http(struct kube_client *client,
                               const struct kube_request *request, struct kube_call *call,
                               const char *url, struct pl_err *err)
{
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
	enum pl_code code = bearer_of(client->target, bearer, err);

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
	code = http_call_start(client->http, &opts, &call->http, err);
	explicit_bzero(bearer, sizeof bearer);
	return code;
}

enum pl_code kube_call_start(struct kube_client *client,
                             const struct kube_request *request, struct kube_call **out,
                             struct pl_err *err)
{
	struct kube_call *call = pl_calloc(1, sizeof *call);
	char url[HTTP_URL_MAX];
	int len =
		snprintf(url, sizeof url, "%s%s", client->target->server, request->path);

	if (call == NULL)
		return pl_err_set(err, PL_NOMEM, "%.100s", client->target->server);
	call->data = request->data;
	call->done = request->done;
	call->ctx = request->ctx;
	pl_buf_init(&call->complaint, 64 << 10);
	if (len < 0 || (size_t)len >= sizeof url)
		(void)pl_err_set(err, PL_LIMIT, "the request's path is too long");
	else if (start_http(client, request, call, url, err) == PL_OK) {
		if (out != NULL)
			*out = call;
		return PL_OK;
	}
	free(call);
	return err->code;
}

void kube_call_cancel(struct kube_call *call)
{
	http_call_cancel(call->http);
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
