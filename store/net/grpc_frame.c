#include "store/net/grpc_frame.h"

#include "store/net/grpc.h"

/* Bytes of buffer that a decoder keeps between messages. Most messages are smaller, and a
 * watch that once received 64 MB should not hold on to them. */
enum { BODY_KEEP = 256 * 1024 };

enum pl_code grpc_frame_begin(struct pl_buf *buf, size_t *start)
{
	enum pl_code code = pl_buf_reserve(buf, GRPC_PREFIX_SIZE);

	if (code != PL_OK)
		return code;
	*start = buf->len;
	buf->len += GRPC_PREFIX_SIZE;
	return PL_OK;
}

void grpc_frame_end(struct pl_buf *buf, size_t start)
{
	size_t len = buf->len - start - GRPC_PREFIX_SIZE;
	uint8_t *at = buf->at + start;

	PL_ASSERT(buf->len >= start + GRPC_PREFIX_SIZE && len <= UINT32_MAX);
	at[0] = 0; /* not compressed */
	at[1] = (uint8_t)(len >> 24);
	at[2] = (uint8_t)(len >> 16);
	at[3] = (uint8_t)(len >> 8);
	at[4] = (uint8_t)len;
}

void grpc_decoder_init(struct grpc_decoder *decoder, size_t message_max)
{
	*decoder = (struct grpc_decoder){.message_max = message_max};
}

void grpc_decoder_done(struct grpc_decoder *decoder)
{
	pl_buf_done(&decoder->body);
}

bool grpc_decoder_between(const struct grpc_decoder *decoder)
{
	return decoder->prefix_len == 0;
}

static void span_skip(struct pl_span *span, size_t count)
{
	PL_ASSERT(count <= span->len);
	if (count == 0)
		return;
	span->at += count;
	span->len -= count;
}

static enum pl_code prefix_check(struct grpc_decoder *decoder, struct pl_err *err)
{
	const uint8_t *at = decoder->prefix;

	decoder->want =
		(size_t)at[1] << 24 | (size_t)at[2] << 16 | (size_t)at[3] << 8 | at[4];
	if (at[0] == 1)
		return pl_err_set(err, PL_PROTO,
		                  "compressed message, which was not asked for");
	if (at[0] != 0)
		return pl_err_set(err, PL_PROTO, "not a gRPC message: flags 0x%02x",
		                  at[0]);
	if (decoder->want > decoder->message_max)
		return pl_err_set(err, PL_LIMIT, "message of %zu bytes, at most %zu",
		                  decoder->want, decoder->message_max);
	return PL_OK;
}

/* True once the prefix is complete. */
static bool prefix_take(struct grpc_decoder *decoder, struct pl_span *in)
{
	while (decoder->prefix_len < GRPC_PREFIX_SIZE && in->len > 0) {
		decoder->prefix[decoder->prefix_len++] = in->at[0];
		span_skip(in, 1);
	}
	return decoder->prefix_len == GRPC_PREFIX_SIZE;
}

static enum pl_code body_take(struct grpc_decoder *decoder, struct pl_span *in,
                              struct pl_err *err)
{
	size_t missing = decoder->want - decoder->body.len;
	size_t count = in->len < missing ? in->len : missing;
	enum pl_code code;

	/* The buffer doubles as it grows, but never past what the prefix claims. */
	decoder->body.max = decoder->want;
	code = pl_buf_add(&decoder->body, pl_span(in->at, count));
	if (code != PL_OK)
		return pl_err_set(err, code, "message of %zu bytes", decoder->want);
	span_skip(in, count);
	return PL_OK;
}

enum pl_code grpc_decoder_next(struct grpc_decoder *decoder, struct pl_span *in,
                               bool *got, struct pl_span *message, struct pl_err *err)
{
	enum pl_code code;

	*got = false;
	if (decoder->handed) {
		pl_buf_clear(&decoder->body, BODY_KEEP);
		decoder->handed = false;
	}
	if (decoder->prefix_len < GRPC_PREFIX_SIZE) {
		if (!prefix_take(decoder, in))
			return PL_OK;
		code = prefix_check(decoder, err);
		if (code != PL_OK)
			return code;
	}
	if (decoder->body.len == 0 && in->len >= decoder->want) {
		*message = pl_span(in->at, decoder->want);
		span_skip(in, decoder->want);
	} else {
		code = body_take(decoder, in, err);
		if (code != PL_OK)
			return code;
		if (decoder->body.len < decoder->want)
			return PL_OK;
		*message = pl_buf_span(&decoder->body);
		decoder->handed = true;
	}
	decoder->prefix_len = 0;
	*got = true;
	return PL_OK;
}
