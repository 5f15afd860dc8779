/* The fake server's answers. */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/net/unconst.h"
#include "tests/support/store/net/fake_int.h"

enum { PREFIX = 5 };

void fake_bytes_add(struct fake_bytes *bytes, const void *at, size_t len)
{
	if (len == 0)
		return;
	if (bytes->len + len > bytes->cap) {
		bytes->cap = 2 * (bytes->len + len);
		bytes->at = realloc(bytes->at, bytes->cap);
		PL_ASSERT(bytes->at != NULL);
	}
	memcpy(bytes->at + bytes->len, at, len);
	bytes->len += len;
}

void fake_message_add(struct fake_bytes *bytes, uint8_t flags, const void *at, size_t len)
{
	uint8_t prefix[PREFIX] = {flags, (uint8_t)(len >> 24), (uint8_t)(len >> 16),
	                          (uint8_t)(len >> 8), (uint8_t)len};

	fake_bytes_add(bytes, prefix, sizeof prefix);
	fake_bytes_add(bytes, at, len);
}

static nghttp2_nv header_field(const char *name, const char *value)
{
	return (nghttp2_nv){unconst(name), unconst(value), strlen(name), strlen(value),
	                    NGHTTP2_NV_FLAG_NONE};
}

static void trailers_send(struct fake_stream *stream)
{
	nghttp2_nv nv[] = {
		header_field("grpc-status", stream->act == FAKE_badstatus ? "x" : "0"),
		header_field("grpc-message", "")};

	fake_call_of(stream)->answers++;
	(void)nghttp2_submit_trailer(stream->fake->h2, stream->id, nv, 2);
}

static ssize_t on_answer_read(nghttp2_session *h2, int32_t id, uint8_t *to, size_t size,
                              uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct fake_stream *stream = source->ptr;
	size_t left = stream->out.len - stream->out.from;
	size_t count = left < size ? left : size;

	(void)h2;
	(void)id;
	(void)ctx;
	if (stream->act == FAKE_frag && count > 1)
		count = 1;
	if (count == 0 && !stream->ended)
		return NGHTTP2_ERR_DEFERRED;
	if (count > 0)
		memcpy(to, stream->out.at + stream->out.from, count);
	stream->out.from += count;
	if (stream->ended && count == left) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		if (stream->trailers) {
			*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
			trailers_send(stream);
		}
	}
	return (ssize_t)count;
}

void fake_head_send(struct fake_stream *stream, const char *status, const char *type)
{
	nghttp2_data_provider provider = {.source = {.ptr = stream},
	                                  .read_callback = on_answer_read};
	nghttp2_nv nv[] = {header_field(":status", status),
	                   header_field("content-type", type)};

	if (stream->answered)
		return;
	stream->answered = true;
	(void)nghttp2_submit_response(stream->fake->h2, stream->id, nv, 2, &provider);
}

void fake_error_send(struct fake_stream *stream)
{
	nghttp2_nv nv[] = {
		header_field(":status", "200"),
		header_field("content-type", "application/grpc"),
		header_field("grpc-status", "3"),
		header_field("grpc-message", "key %22a%25b%22 is bad%0a\xc3\xa4")};

	stream->answered = true;
	fake_call_of(stream)->answers++;
	(void)nghttp2_submit_response(stream->fake->h2, stream->id, nv, 4, NULL);
}

void fake_reset_send(struct fake_stream *stream, uint32_t error)
{
	(void)nghttp2_submit_rst_stream(stream->fake->h2, NGHTTP2_FLAG_NONE, stream->id,
	                                error);
}

static void hints_send(struct fake_stream *stream)
{
	nghttp2_nv nv[] = {header_field(":status", "103"),
	                   header_field("link", "nowhere")};

	(void)nghttp2_submit_headers(stream->fake->h2, NGHTTP2_FLAG_NONE, stream->id,
	                             NULL, nv, 2, NULL);
}

static void echo_message(struct fake_stream *stream)
{
	fake_bytes_add(&stream->out, stream->in.at, stream->in.len);
}

static void big_make(struct fake_stream *stream)
{
	size_t size = stream->fake->opts.big_size;
	uint8_t *at = malloc(size + 1);

	PL_ASSERT(at != NULL);
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(i * 31 + (i >> 10));
	fake_message_add(&stream->out, 0, at, size);
	free(at);
}

/* Makes the content of the answer's DATA frames. */
static void body_make(struct fake_stream *stream)
{
	uint32_t size = stream->fake->opts.big_size;
	uint8_t claim[PREFIX] = {0, (uint8_t)(size >> 24), (uint8_t)(size >> 16),
	                         (uint8_t)(size >> 8), (uint8_t)size};

	switch (stream->act) {
	case FAKE_big:
		big_make(stream);
		break;
	case FAKE_lie:
		fake_bytes_add(&stream->out,
		               "\0\xff\xff\xff\xff"
		               "abc",
		               PREFIX + 3);
		break;
	case FAKE_claim:
		fake_bytes_add(&stream->out, claim, sizeof claim);
		fake_bytes_add(&stream->out, "abc", 3);
		break;
	case FAKE_half:
		fake_bytes_add(&stream->out, stream->in.at, stream->in.len / 2);
		break;
	case FAKE_two:
		echo_message(stream);
		echo_message(stream);
		break;
	case FAKE_packed:
		fake_message_add(&stream->out, 1, "abc", 3);
		break;
	case FAKE_garbage:
		fake_bytes_add(&stream->out, "Internal Server Error", 21);
		break;
	case FAKE_none:
		break;
	default: /* the other actions return the request */
		echo_message(stream);
		break;
	}
}

void fake_answer(struct fake_stream *stream)
{
	const char *type =
		stream->act == FAKE_text ? "text/plain" : "application/grpc+proto";

	if (stream->act == FAKE_away)
		fake_h2_goaway(stream->fake, stream->id, NGHTTP2_NO_ERROR, "");
	if (stream->act == FAKE_early_hints)
		hints_send(stream);
	body_make(stream);
	stream->ended = stream->act != FAKE_claim;
	stream->trailers = stream->act != FAKE_nostatus;
	if (stream->act == FAKE_html)
		fake_head_send(stream, "404", "text/html");
	else if (stream->act == FAKE_proxy)
		fake_head_send(stream, "503", "text/html");
	else
		fake_head_send(stream, "200", type);
}
