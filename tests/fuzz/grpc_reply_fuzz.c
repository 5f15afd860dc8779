/* Random header fields, one a line: "name: value". */
#include <string.h>

#include "store/net/grpc_reply.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const uint8_t *data, size_t size)
{
	char out[64], again[64];
	size_t len = grpc_text_decode(pl_span(data, size), out, sizeof out);

	PL_ASSERT(len < sizeof out && out[len] == 0 && strlen(out) == len && len <= size);
	for (size_t i = 0; i < len; i++)
		PL_ASSERT((unsigned char)out[i] >= ' ' && out[i] != 0x7f);
	PL_ASSERT(grpc_text_decode(pl_span(data, size), again, 1) == 0);
}

static void line_take(struct grpc_reply *reply, const uint8_t *at, size_t len)
{
	const uint8_t *colon = memchr(at + (len > 0), ':', len - (len > 0));
	size_t name_len = colon == NULL ? len : (size_t)(colon - at);
	size_t value_at = colon == NULL ? len : name_len + 1;

	if (value_at < len && at[value_at] == ' ')
		value_at++;
	grpc_reply_header(reply, pl_span(at, name_len),
	                  pl_span(at + value_at, len - value_at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct grpc_reply reply = {0};
	struct pl_err err;

	check_text(data, size);
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end == NULL ? size - at : (size_t)(end - data) - at;

		line_take(&reply, data + at, len);
		at += len + 1;
	}
	PL_ASSERT(reply.text == NULL || strlen(reply.text) < GRPC_TEXT_MAX);
	if (grpc_reply_end(&reply, &err) == PL_OK)
		PL_ASSERT(reply.http_status < 201 && reply.has_status);
	else
		PL_ASSERT(err.code == PL_PROTO || err.code == PL_UNAVAIL);
	grpc_reply_done(&reply);
	return 0;
}
