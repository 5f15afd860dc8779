#include "store/net/grpc_reply.h"

#include <stdlib.h>

#include "store/base/alloc.h"

void grpc_reply_done(struct grpc_reply *reply)
{
	free(reply->text);
	reply->text = NULL;
}

/* Parses decimal digits and nothing else, with a value of at most max. */
static bool number_parse(struct pl_span text, uint32_t max, uint32_t *out)
{
	uint32_t value = 0;

	if (text.len == 0 || text.len > 9)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
		value = value * 10 + (uint32_t)(text.at[i] - '0');
	}
	if (value > max)
		return false;
	*out = value;
	return true;
}

static int hex_value(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

/* Decodes the byte at *at and moves *at past it. */
static uint8_t text_byte(struct pl_span in, size_t *at)
{
	uint8_t byte = in.at[(*at)++];
	int high, low;

	if (byte != '%' || in.len - *at < 2)
		return byte;
	high = hex_value(in.at[*at]);
	low = hex_value(in.at[*at + 1]);
	if (high < 0 || low < 0)
		return byte;
	*at += 2;
	return (uint8_t)(high * 16 + low);
}

size_t grpc_text_decode(struct pl_span in, char *out, size_t size)
{
	size_t len = 0, at = 0;

	PL_ASSERT(size > 0);
	while (at < in.len && len + 1 < size) {
		uint8_t byte = text_byte(in, &at);

		out[len++] = (char)(byte < ' ' || byte == 0x7f ? ' ' : byte);
	}
	out[len] = 0;
	return len;
}

static void on_status(struct grpc_reply *reply, struct pl_span value)
{
	if (reply->has_status || !number_parse(value, UINT32_MAX, &reply->grpc_status))
		reply->bad_status = true;
	reply->has_status = true;
}

/* Without memory for the text the status alone is reported. */
static void on_text(struct grpc_reply *reply, struct pl_span value)
{
	size_t size = value.len < GRPC_TEXT_MAX ? value.len + 1 : GRPC_TEXT_MAX;

	if (reply->text != NULL)
		return;
	reply->text = pl_malloc(size);
	if (reply->text != NULL)
		(void)grpc_text_decode(value, reply->text, size);
}

static void on_type(struct grpc_reply *reply, struct pl_span value)
{
	static const char want[] = "application/grpc";
	size_t len = sizeof want - 1;

	/* "+proto" or parameters may follow; "application/grpc-web" is another type. */
	reply->grpc_type =
		pl_span_starts(value, pl_span(want, len)) &&
		(value.len == len || value.at[len] == '+' || value.at[len] == ';');
}

void grpc_reply_header(struct grpc_reply *reply, struct pl_span name,
                       struct pl_span value)
{
	uint32_t status = 0;

	switch (name.len) { /* the length rules out most names cheaply */
	case 7:
		if (!pl_span_eq(name, PL_SPAN_LIT(":status")))
			return;
		reply->http_status =
			number_parse(value, 999, &status) ? (uint16_t)status : 1;
		return;
	case 11:
		if (pl_span_eq(name, PL_SPAN_LIT("grpc-status")))
			on_status(reply, value);
		return;
	case 12:
		if (pl_span_eq(name, PL_SPAN_LIT("grpc-message")))
			on_text(reply, value);
		else if (pl_span_eq(name, PL_SPAN_LIT("content-type")))
			on_type(reply, value);
		return;
	default: /* all other headers are ignored */
		return;
	}
}

enum pl_code grpc_reply_check(const struct grpc_reply *reply, struct pl_err *err)
{
	unsigned status = reply->http_status;

	if (status >= 100 && status < 200)
		return PL_OK; /* an informational block: the answer is still to come */
	if (status == 429 || (status >= 502 && status <= 504))
		return pl_err_set(err, PL_UNAVAIL, "HTTP status %u from a proxy", status);
	if (status != 200)
		return pl_err_set(err, PL_PROTO, "not a gRPC server: HTTP status %u",
		                  status);
	if (!reply->grpc_type)
		return pl_err_set(
			err, PL_PROTO,
			"not a gRPC server: content-type is not application/grpc");
	return PL_OK;
}

enum pl_code grpc_reply_end(const struct grpc_reply *reply, struct pl_err *err)
{
	enum pl_code code = grpc_reply_check(reply, err);

	if (code != PL_OK)
		return code;
	if (!reply->has_status)
		return pl_err_set(err, PL_PROTO, "answer ended without grpc-status");
	if (reply->bad_status)
		return pl_err_set(err, PL_PROTO, "answer has a malformed grpc-status");
	return PL_OK;
}
