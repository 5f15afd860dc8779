#include "tests/support/store/net/web_h2.h"

#include <stdlib.h>

#include "store/net/unconst.h"

struct web_h2_stream *web_h2_stream(struct web_h2 *h2, int32_t id)
{
	T_TRUE(id > 0 && id / 2 < WEB_H2_STREAMS);
	return &h2->streams[id / 2];
}

static int on_field(nghttp2_session *session, const nghttp2_frame *frame,
                    const uint8_t *name, size_t name_len, const uint8_t *value,
                    size_t value_len, uint8_t flags, void *ctx)
{
	(void)session;
	(void)flags;
	if (!pl_span_eq(pl_span(name, name_len), PL_SPAN_LIT(":status")))
		return 0;
	T_EQ(value_len, 3);
	web_h2_stream(ctx, frame->hd.stream_id)->status =
		(value[0] - '0') * 100 + (value[1] - '0') * 10 + value[2] - '0';
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *data, size_t len, void *ctx)
{
	struct web_h2_stream *stream = web_h2_stream(ctx, id);

	(void)session;
	(void)flags;
	for (size_t i = 0; i < len && stream->len + i + 1 < sizeof stream->body; i++)
		stream->body[stream->len + i] = (char)data[i];
	stream->len += len;
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *ctx)
{
	struct web_h2_stream *stream = web_h2_stream(ctx, id);

	(void)session;
	stream->closed = true;
	stream->error = error;
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct web_h2 *h2 = ctx;

	(void)session;
	if (frame->hd.type == NGHTTP2_GOAWAY) {
		h2->away = true;
		h2->away_error = frame->goaway.error_code;
	}
	return 0;
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *data, size_t len,
                       int flags, void *ctx)
{
	struct web_h2 *h2 = ctx;

	(void)session;
	(void)flags;
	if (!h2->client->ended)
		web_send(h2->client, data, len);
	return (ssize_t)len;
}

struct web_h2 *web_h2_open(struct web_rig *rig, const struct web_h2_opts *opts)
{
	static const struct web_h2_opts standard;
	struct web_h2 *h2 = calloc(1, sizeof *h2);
	nghttp2_session_callbacks *callbacks;
	nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 65535};
	nghttp2_option *option;

	opts = opts == NULL ? &standard : opts;
	T_TRUE(h2 != NULL);
	h2->client = web_connect(rig);
	T_EQ(nghttp2_session_callbacks_new(&callbacks), 0);
	T_EQ(nghttp2_option_new(&option), 0);
	nghttp2_option_set_no_auto_window_update(option, opts->no_window);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	T_EQ(nghttp2_session_client_new2(&h2->session, callbacks, h2, option), 0);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	if (opts->window != 0 || opts->no_window)
		window.value = opts->window;
	T_EQ(nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, &window, 1), 0);
	web_h2_step(h2);
	return h2;
}

void web_h2_close(struct web_h2 *h2)
{
	nghttp2_session_del(h2->session);
	web_leave(h2->client);
	free(h2);
}

static ssize_t on_body(nghttp2_session *session, int32_t id, uint8_t *to, size_t size,
                       uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct web_h2 *h2 = ctx;
	size_t len = h2->body.len - h2->body_at;

	(void)session;
	(void)id;
	(void)source;
	if (len == 0 && h2->body_open)
		return NGHTTP2_ERR_DEFERRED;
	len = len < size ? len : size;
	memcpy(to, h2->body.at + h2->body_at, len);
	h2->body_at += len;
	if (h2->body_at == h2->body.len && !h2->body_open)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)len;
}

static nghttp2_nv nv_of(const char *name, const char *value)
{
	return (nghttp2_nv){unconst(name), unconst(value), strlen(name), strlen(value),
	                    NGHTTP2_NV_FLAG_NONE};
}

int32_t web_h2_ask(struct web_h2 *h2, const char *method, const char *path,
                   const char *field, const char *value)
{
	nghttp2_data_provider provider = {.read_callback = on_body};
	nghttp2_nv nv[] = {
		nv_of(":method", method), nv_of(":scheme", "http"), nv_of(":path", path),
		nv_of(":authority", "x"),
		nv_of(field == NULL ? "x" : field, field == NULL ? "y" : value)};
	bool body = h2->body.len > 0 || h2->body_open;
	int32_t id;

	h2->body_at = 0;
	id = nghttp2_submit_request(h2->session, NULL, nv, sizeof nv / sizeof nv[0],
	                            body ? &provider : NULL, NULL);
	T_TRUE(id > 0);
	web_h2_step(h2);
	return id;
}

void web_h2_step(struct web_h2 *h2)
{
	struct web_client *client = h2->client;
	ssize_t taken = nghttp2_session_mem_recv(h2->session,
	                                         (const uint8_t *)client->got + h2->fed,
	                                         client->got_len - h2->fed);

	T_TRUE(taken >= 0);
	h2->fed += (size_t)taken;
	T_EQ(nghttp2_session_send(h2->session), 0);
}

void web_h2_wait(struct web_h2 *h2, int32_t id)
{
	web_h2_step(h2);
	while (!web_h2_stream(h2, id)->closed) {
		T_TRUE(!h2->client->ended);
		web_turn(h2->client->rig);
		web_h2_step(h2);
	}
}

void web_h2_wait_end(struct web_h2 *h2)
{
	web_h2_step(h2);
	while (!h2->client->ended) {
		web_turn(h2->client->rig);
		web_h2_step(h2);
	}
}
