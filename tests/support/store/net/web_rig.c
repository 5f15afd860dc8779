#include "tests/support/store/net/web_rig.h"

#include <stdio.h>
#include <stdlib.h>

enum { READ_SIZE = 64 * 1024, FEED = 32 * 1024 };

/* -- the server ----------------------------------------------------------------------- */

static void respond(struct http_exchange *exchange, int status, struct pl_span body)
{
	const struct http_field fields[] = {
		{PL_SPAN_LIT("content-type"), PL_SPAN_LIT("text/x")}};

	http_respond(exchange, status, fields, 1, body);
}

static void feed(struct web_rig *rig, struct http_exchange *exchange)
{
	while (rig->fed < WEB_BIG && http_exchange_pending(exchange) < rig->feed_to) {
		static uint8_t bytes[FEED];

		memset(bytes, 'f', sizeof bytes);
		http_stream_send_copy(exchange, pl_span(bytes, sizeof bytes));
		rig->fed += sizeof bytes;
	}
	if (rig->fed >= WEB_BIG)
		http_stream_end(exchange);
}

static bool is_path(const struct http_request *request, const char *path)
{
	return pl_span_eq(request->path, pl_span_str(path));
}

static void route(struct web_rig *rig, struct http_exchange *exchange,
                  const struct http_request *request)
{
	if (is_path(request, "/hello"))
		respond(exchange, 200, PL_SPAN_LIT("hello"));
	else if (is_path(request, "/echo"))
		respond(exchange, 200, request->body);
	else if (is_path(request, "/none"))
		respond(exchange, 204, pl_span(NULL, 0));
	else if (is_path(request, "/big"))
		http_respond_blob(exchange, 200, NULL, 0, rig->big);
	else if (is_path(request, "/stream") || is_path(request, "/feed"))
		http_stream_begin(exchange, 200, NULL, 0);
	else if (!is_path(request, "/later"))
		respond(exchange, 404, PL_SPAN_LIT("none"));
	if (is_path(request, "/feed"))
		feed(rig, exchange);
}

static void span_print(char out[WEB_TEXT], struct pl_span text)
{
	(void)snprintf(out, WEB_TEXT, PL_SPAN_FMT, PL_SPAN_ARG(text));
}

/* "ann O=dev O=ops", or why the client is not trusted. */
static void client_note(struct web_rig *rig, const struct tls_client *client)
{
	size_t used = 0;

	rig->subject[0] = 0;
	if (client == NULL)
		return;
	if (client->state != TLS_CLIENT_TRUSTED) {
		(void)snprintf(rig->subject, sizeof rig->subject, "! %s", client->why);
		return;
	}
	(void)snprintf(rig->subject, sizeof rig->subject, PL_SPAN_FMT,
	               PL_SPAN_ARG(client->name));
	for (size_t i = 0; i < client->group_count; i++) {
		used = strlen(rig->subject);
		(void)snprintf(rig->subject + used, sizeof rig->subject - used,
		               " O=" PL_SPAN_FMT, PL_SPAN_ARG(client->groups[i]));
	}
}

static void on_request(void *ctx, struct http_exchange *exchange,
                       const struct http_request *request)
{
	struct web_rig *rig = ctx;

	rig->requests++;
	rig->last = exchange;
	rig->version = request->version;
	rig->body_len = request->body.len;
	(void)snprintf(rig->line, sizeof rig->line,
	               PL_SPAN_FMT " " PL_SPAN_FMT "%s" PL_SPAN_FMT,
	               PL_SPAN_ARG(request->method), PL_SPAN_ARG(request->path),
	               request->query.len > 0 ? "?" : "", PL_SPAN_ARG(request->query));
	client_note(rig, request->client);
	span_print(rig->host, http_request_field(request, "host"));
	T_TRUE(http_exchange_request(exchange) == request);
	T_TRUE(request->peer_is_local && strncmp(request->peer, "127.0.0.1:", 10) == 0);
	http_exchange_set_user(exchange, rig);
	route(rig, exchange, request);
}

static void on_room(void *user, struct http_exchange *exchange)
{
	struct web_rig *rig = user;

	rig->rooms++;
	if (is_path(http_exchange_request(exchange), "/feed"))
		feed(rig, exchange);
}

static void on_gone(void *user, struct http_exchange *exchange)
{
	struct web_rig *rig = user;

	rig->gones++;
	if (rig->last == exchange)
		rig->last = NULL;
}

static void on_closed(void *ctx)
{
	struct web_rig *rig = ctx;

	rig->closed = true;
}

static bool tls_open(struct web_rig *rig, const char *dir)
{
	char cert[WEB_TEXT], key[WEB_TEXT], ca[WEB_TEXT];
	struct tls_server_files files = {
		.cert_file = cert, .key_file = key, .client_ca_file = ca};

	(void)snprintf(cert, sizeof cert, "%s/server.pem", dir);
	(void)snprintf(key, sizeof key, "%s/server-key.pem", dir);
	(void)snprintf(ca, sizeof ca, "%s/ca.pem", dir);
	return tls_server_new(&files, &rig->tls, NULL) == PL_OK;
}

static void rig_end(struct web_rig *rig)
{
	T_EQ(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
	T_EQ(uv_loop_close(&rig->loop), 0);
	tls_server_free(rig->tls);
	http_blob_unref(rig->big);
}

bool web_try_open(struct web_rig *rig, const struct web_opts *opts)
{
	static const struct web_opts standard;
	static const struct http_server_fns fns = {
		.on_request = on_request, .on_room = on_room, .on_gone = on_gone};
	struct http_server_opts server = {.host = "127.0.0.1"};

	opts = opts == NULL ? &standard : opts;
	memset(rig, 0, sizeof *rig);
	T_EQ(uv_loop_init(&rig->loop), 0);
	rig->big = http_blob_new(WEB_BIG);
	if (rig->big != NULL)
		memset(rig->big->at, 'b', WEB_BIG);
	server.limits = opts->limits;
	rig->feed_to =
		opts->limits.unread_bytes == 0 ? WEB_BIG : opts->limits.unread_bytes / 2;
	server.gzip_local = opts->gzip_local;
	if (rig->big != NULL &&
	    (opts->cert_dir == NULL || tls_open(rig, opts->cert_dir))) {
		server.tls = rig->tls;
		if (http_server_open(&rig->loop, &server, &fns, rig, &rig->server,
		                     NULL) == PL_OK)
			return true;
	}
	rig_end(rig);
	return false;
}

void web_open(struct web_rig *rig, const struct web_opts *opts)
{
	T_TRUE(web_try_open(rig, opts));
}

void web_close(struct web_rig *rig)
{
	http_server_close(rig->server, on_closed, rig);
	T_TRUE(!rig->closed);
	rig_end(rig);
	T_TRUE(rig->closed);
	T_EQ(rig->gones, rig->requests);
	T_TRUE(rig->last == NULL);
}

void web_turn(struct web_rig *rig)
{
	(void)uv_run(&rig->loop, UV_RUN_ONCE);
}

void web_counts(const struct web_rig *rig, struct http_server_counts *counts)
{
	http_server_counts(rig->server, counts);
}

/* -- clients -------------------------------------------------------------------------- */

static void on_client_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf)
{
	struct web_client *client = handle->data;

	(void)hint;
	if (client->got_cap - client->got_len < READ_SIZE + 1) {
		client->got_cap = client->got_cap * 2 + READ_SIZE + 1;
		client->got = realloc(client->got, client->got_cap);
		T_TRUE(client->got != NULL);
	}
	*buf = uv_buf_init(client->got + client->got_len, READ_SIZE);
}

static void on_client_read(uv_stream_t *tcp, ssize_t count, const uv_buf_t *buf)
{
	struct web_client *client = tcp->data;

	(void)buf;
	if (count < 0)
		client->ended = true;
	else
		client->got_len += (size_t)count;
	client->got[client->got_len] = 0;
}

void web_reading(struct web_client *client, bool on)
{
	if (client->reading == on || client->ended)
		return;
	client->reading = on;
	if (on)
		T_EQ(uv_read_start((uv_stream_t *)&client->tcp, on_client_alloc,
		                   on_client_read),
		     0);
	else
		T_EQ(uv_read_stop((uv_stream_t *)&client->tcp), 0);
}

static void on_connected(uv_connect_t *connect, int status)
{
	struct web_client *client = connect->handle->data;

	T_EQ(status, 0);
	client->connected = true;
	web_reading(client, true);
}

struct web_client *web_connect(struct web_rig *rig)
{
	struct web_client *client = calloc(1, sizeof *client);
	struct sockaddr_in addr;

	T_TRUE(client != NULL);
	client->rig = rig;
	client->got = calloc(1, 1);
	T_EQ(uv_tcp_init(&rig->loop, &client->tcp), 0);
	client->tcp.data = client;
	T_EQ(uv_ip4_addr("127.0.0.1", http_server_port(rig->server), &addr), 0);
	T_EQ(uv_tcp_connect(&client->connect, &client->tcp, (struct sockaddr *)&addr,
	                    on_connected),
	     0);
	while (!client->connected)
		web_turn(rig);
	return client;
}

struct web_write {
	uv_write_t write;
	char bytes[];
};

static void on_sent(uv_write_t *write, int status)
{
	(void)status;
	free(PL_CONTAINER_OF(write, struct web_write, write));
}

void web_send(struct web_client *client, const void *bytes, size_t len)
{
	struct web_write *write = malloc(sizeof *write + len);
	uv_buf_t buf;

	T_TRUE(write != NULL);
	memcpy(write->bytes, bytes, len);
	buf = uv_buf_init(write->bytes, (unsigned)len);
	T_EQ(uv_write(&write->write, (uv_stream_t *)&client->tcp, &buf, 1, on_sent), 0);
}

void web_text(struct web_client *client, const char *text)
{
	web_send(client, text, strlen(text));
}

void web_finish(struct web_client *client)
{
	T_EQ(uv_shutdown(&client->shutdown, (uv_stream_t *)&client->tcp, NULL), 0);
}

static void on_left(uv_handle_t *handle)
{
	struct web_client *client = handle->data;

	free(client->got);
	free(client);
}

void web_leave(struct web_client *client)
{
	uv_close((uv_handle_t *)&client->tcp, on_left);
}

bool web_has(const struct web_client *client, const char *text)
{
	return memmem(client->got, client->got_len, text, strlen(text)) != NULL;
}

void web_wait_text(struct web_client *client, const char *text)
{
	while (!web_has(client, text)) {
		if (client->ended)
			t_fail(__FILE__, __LINE__, "no \"%s\" in \"%.2000s\"", text,
			       client->got);
		web_turn(client->rig);
	}
}

void web_wait_len(struct web_client *client, size_t len)
{
	while (client->got_len < len) {
		T_TRUE(!client->ended);
		web_turn(client->rig);
	}
}

void web_wait_end(struct web_client *client)
{
	while (!client->ended)
		web_turn(client->rig);
}

struct web_client *web_ask(struct web_rig *rig, const char *text)
{
	struct web_client *client = web_connect(rig);

	web_text(client, text);
	web_wait_end(client);
	return client;
}
