#include "tests/support/store/net/fake_h2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "tests/support/store/net/fake_int.h"

#define FAKE_NAME(name, words) #name,
static const char *const act_names[FAKE_ACT_COUNT] = {FAKE_MAP(FAKE_NAME)};

const char *fake_act_name(enum fake_act act)
{
	return act_names[act];
}

static void path_take(struct fake_stream *stream, const char *path)
{
	const char *slash = strchr(path + 1, '/');
	size_t len = slash == NULL ? strlen(path + 1) : (size_t)(slash - path - 1);

	stream->act = FAKE_error;
	for (unsigned i = 0; i < FAKE_ACT_COUNT; i++) {
		if (strlen(act_names[i]) == len &&
		    memcmp(act_names[i], path + 1, len) == 0)
			stream->act = (enum fake_act)i;
	}
	stream->number = slash == NULL ? 0 : (unsigned)strtoul(slash + 1, NULL, 10);
	PL_ASSERT(stream->number < FAKE_CALLS_MAX);
	fake_call_of(stream)->heads++;
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct fake_h2 *fake = ctx;
	struct fake_stream *stream = calloc(1, sizeof *stream);

	PL_ASSERT(stream != NULL);
	stream->fake = fake;
	stream->id = frame->hd.stream_id;
	stream->next = fake->streams;
	fake->streams = stream;
	return nghttp2_session_set_stream_user_data(h2, stream->id, stream);
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len,
                     uint8_t flags, void *ctx)
{
	struct fake_stream *stream =
		nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	const char *key = (const char *)name, *text = (const char *)value;

	(void)name_len;
	(void)value_len;
	(void)flags;
	(void)ctx;
	if (strcmp(key, ":path") == 0)
		path_take(stream, text);
	if (strcmp(key, "grpc-timeout") == 0)
		(void)snprintf(fake_call_of(stream)->timeout, 16, "%s", text);
	if (strcmp(key, "authorization") == 0)
		(void)snprintf(fake_call_of(stream)->token, 32, "%s", text);
	if (strcmp(key, "hasleader") == 0)
		fake_call_of(stream)->leader = strcmp(text, "true") == 0;
	return 0;
}

static void headers_came(struct fake_stream *stream)
{
	if (stream->act == FAKE_refuse)
		fake_reset_send(stream, NGHTTP2_REFUSED_STREAM);
	if (stream->act == FAKE_early) {
		fake_message_add(&stream->out, 0, "early", 5);
		stream->ended = stream->trailers = true;
		fake_head_send(stream, "200", "application/grpc");
	}
}

static void request_came(struct fake_stream *stream)
{
	fake_call_of(stream)->wholes++;
	switch (stream->act) {
	case FAKE_silent:
	case FAKE_refuse:
	case FAKE_early:
	case FAKE_stream:
	case FAKE_stream_end:
		break;
	case FAKE_reset:
		fake_reset_send(stream, NGHTTP2_INTERNAL_ERROR);
		break;
	case FAKE_error:
		fake_error_send(stream);
		break;
	default: /* all other actions answer with a body */
		fake_answer(stream);
		break;
	}
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *ctx)
{
	struct fake_stream *stream = nghttp2_session_get_stream_user_data(h2, id);

	(void)flags;
	(void)ctx;
	if (stream == NULL)
		return 0;
	if (stream->act != FAKE_stream && stream->act != FAKE_stream_end) {
		fake_bytes_add(&stream->in, data, len);
		return 0;
	}
	fake_call_of(stream)->wholes++;
	fake_bytes_add(&stream->out, data, len);
	if (stream->act == FAKE_stream_end)
		stream->ended = stream->trailers = true;
	if (stream->answered)
		(void)nghttp2_session_resume_data(h2, id);
	else
		fake_head_send(stream, "200", "application/grpc");
	return 0;
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *ctx)
{
	struct fake_h2 *fake = ctx;
	struct fake_stream *stream = NULL;

	if (frame->hd.stream_id != 0)
		stream = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
	if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
		fake->pings++;
		if (fake->pings_answered)
			(void)nghttp2_submit_ping(h2, NGHTTP2_FLAG_ACK,
			                          frame->ping.opaque_data);
	}
	if (stream == NULL)
		return 0;
	if (frame->hd.type == NGHTTP2_RST_STREAM)
		fake_call_of(stream)->resets++;
	if (frame->hd.type == NGHTTP2_HEADERS)
		headers_came(stream);
	if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
		request_came(stream);
	return 0;
}

static void stream_free(struct fake_stream *stream)
{
	free(stream->in.at);
	free(stream->out.at);
	free(stream);
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t error, void *ctx)
{
	struct fake_h2 *fake = ctx;

	(void)error;
	(void)nghttp2_session_set_stream_user_data(h2, id, NULL);
	for (struct fake_stream **at = &fake->streams; *at != NULL; at = &(*at)->next) {
		struct fake_stream *stream = *at;

		if (stream->id == id) {
			*at = stream->next;
			stream_free(stream);
			break;
		}
	}
	return 0;
}

/* --- opening and closing -------------------------------------------------- */

struct fake_h2 *fake_h2_new(const struct fake_opts *opts)
{
	nghttp2_settings_entry settings[2] = {
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, opts->window},
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, opts->max_streams},
	};
	struct fake_h2 *fake = calloc(1, sizeof *fake);
	nghttp2_session_callbacks *cbs = NULL;
	nghttp2_option *option = NULL;
	int rc;

	PL_ASSERT(fake != NULL && nghttp2_session_callbacks_new(&cbs) == 0 &&
	          nghttp2_option_new(&option) == 0);
	fake->opts = *opts;
	fake->pings_answered = true;
	nghttp2_option_set_no_auto_ping_ack(option, 1);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cbs, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cbs, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cbs, on_stream_close);
	rc = nghttp2_session_server_new2(&fake->h2, cbs, fake, option);
	PL_ASSERT(rc == 0);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(cbs);
	rc = nghttp2_submit_settings(fake->h2, NGHTTP2_FLAG_NONE, settings,
	                             opts->max_streams == 0 ? 1 : 2);
	PL_ASSERT(rc == 0);
	if (opts->window > 65535)
		rc = nghttp2_session_set_local_window_size(fake->h2, NGHTTP2_FLAG_NONE, 0,
		                                           (int32_t)opts->window);
	PL_ASSERT(rc == 0);
	return fake;
}

void fake_h2_free(struct fake_h2 *fake)
{
	if (fake == NULL)
		return;
	nghttp2_session_del(fake->h2);
	while (fake->streams != NULL) {
		struct fake_stream *stream = fake->streams;

		fake->streams = stream->next;
		stream_free(stream);
	}
	free(fake->out.at);
	free(fake);
}

bool fake_h2_feed(struct fake_h2 *fake, struct pl_span data)
{
	return nghttp2_session_mem_recv(fake->h2, data.at, data.len) >= 0;
}

static void out_collect(struct fake_h2 *fake)
{
	const uint8_t *at;
	ssize_t len;

	for (;;) {
		len = nghttp2_session_mem_send(fake->h2, &at);
		if (len <= 0)
			return;
		fake_bytes_add(&fake->out, at, (size_t)len);
	}
}

size_t fake_h2_take(struct fake_h2 *fake, uint8_t *to, size_t size)
{
	struct fake_bytes *out = &fake->out;
	size_t count;

	if (out->from == out->len) {
		out->from = out->len = 0;
		out_collect(fake);
	}
	count = out->len - out->from < size ? out->len - out->from : size;
	if (count > 0)
		memcpy(to, out->at + out->from, count);
	out->from += count;
	return count;
}

const struct fake_call *fake_h2_call(const struct fake_h2 *fake, unsigned number)
{
	PL_ASSERT(number < FAKE_CALLS_MAX);
	return &fake->calls[number];
}

unsigned fake_h2_pings(const struct fake_h2 *fake)
{
	return fake->pings;
}

void fake_h2_window(struct fake_h2 *fake, uint32_t window)
{
	nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};

	(void)nghttp2_submit_settings(fake->h2, NGHTTP2_FLAG_NONE, settings, 1);
}

void fake_h2_goaway(struct fake_h2 *fake, int32_t last_stream_id, uint32_t error,
                    const char *text)
{
	(void)nghttp2_submit_goaway(fake->h2, NGHTTP2_FLAG_NONE, last_stream_id, error,
	                            (const uint8_t *)text, strlen(text));
}

void fake_h2_ping_answers(struct fake_h2 *fake, bool answers)
{
	fake->pings_answered = answers;
}
