#include "store/net/http_reader.h"

#include "store/net/http_guard.h"

enum { EMPTIES_MAX = 4 };

void http_reader_init(struct http_reader *reader, const struct http_server_limits *limits)
{
	*reader = (struct http_reader){
		.head_max = limits->head_bytes,
		.field_max = limits->fields,
		.body_max = limits->body_bytes,
	};
}

bool http_reader_is_inside(const struct http_reader *reader)
{
	return reader->state != HTTP_READER_HEAD || reader->scanned > 0;
}

static enum http_event refuse(struct http_reader *reader, int status, const char *text)
{
	reader->state = HTTP_READER_BAD;
	reader->fault = (struct http_fault){status, text};
	return HTTP_EVENT_BAD;
}

static void head_reset(struct http_reader *reader)
{
	reader->state = HTTP_READER_HEAD;
	reader->scanned = reader->line_at = 0;
	reader->lines = reader->empties = 0;
	reader->left = reader->body_len = 0;
	reader->chunked = (struct http_chunked){0};
}

static void span_skip(struct pl_span *span, size_t count)
{
	*span = pl_span(span->at + count, span->len - count);
}

/* Checks a whole line of a head. HTTP_EVENT_MORE: fine. */
static enum http_event line_check(struct http_reader *reader, struct pl_span line)
{
	bool version_ok = true;
	const char *wrong = reader->lines == 0
	                            ? http_guard_request_line(line, &version_ok)
	                            : http_guard_field_line(line);

	if (wrong != NULL)
		return refuse(reader, 400, wrong);
	if (!version_ok)
		return refuse(reader, 505, "the version is not supported");
	if (reader->lines++ > reader->field_max)
		return refuse(reader, 431, "the request has too many header fields");
	return HTTP_EVENT_MORE;
}

static enum http_event head_whole(struct http_reader *reader, struct pl_span *in,
                                  struct http_head *head, struct pl_span *bytes)
{
	struct http_fault fault;

	*bytes = pl_span(in->at, reader->scanned);
	span_skip(in, reader->scanned);
	fault = http_head_parse(head, *bytes);
	if (fault.status != 0)
		return refuse(reader, fault.status, fault.text);
	if (head->has_length && head->length > reader->body_max)
		return refuse(reader, 413, "the request's body is too large");
	head_reset(reader);
	reader->left = head->length;
	reader->state = head->chunked ? HTTP_READER_CHUNKS : HTTP_READER_LENGTH;
	return HTTP_EVENT_HEAD;
}

static enum http_event head_too_large(struct http_reader *reader)
{
	if (reader->lines == 0)
		return refuse(reader, 414, "the request's target is too long");
	return refuse(reader, 431, "the request's head is too large");
}

/* An empty line before a request is skipped, as RFC 9112 asks. The CR may have been
 * looked at already. */
static bool empty_skip(struct http_reader *reader, struct pl_span *in)
{
	if (reader->lines > 0 || reader->scanned > 1 || in->len < 2 ||
	    memcmp(in->at, "\r\n", 2) != 0 || reader->empties == EMPTIES_MAX)
		return false;
	reader->empties++;
	reader->scanned = 0;
	span_skip(in, 2);
	return true;
}

static enum http_event head_next(struct http_reader *reader, struct pl_span *in,
                                 struct http_head *head, struct pl_span *bytes)
{
	while (empty_skip(reader, in)) {
	}
	while (reader->scanned < in->len) {
		const uint8_t *from = in->at + reader->scanned;
		const uint8_t *lf = memchr(from, '\n', in->len - reader->scanned);
		size_t end = lf == NULL ? in->len : (size_t)(lf - in->at) + 1;
		struct pl_span line;

		if (end > reader->head_max)
			return head_too_large(reader);
		reader->scanned = end;
		if (lf == NULL)
			break;
		line = pl_span(in->at + reader->line_at, end - reader->line_at - 1);
		if (line.len == 0 || line.at[line.len - 1] != '\r')
			return refuse(reader, 400, "a line ends without CR");
		line.len--;
		if (line.len == 0 && reader->lines > 0)
			return head_whole(reader, in, head, bytes);
		if (line_check(reader, line) == HTTP_EVENT_BAD)
			return HTTP_EVENT_BAD;
		reader->line_at = end;
	}
	return HTTP_EVENT_MORE;
}

static enum http_event length_next(struct http_reader *reader, struct pl_span *in,
                                   struct pl_span *bytes)
{
	size_t len = reader->left < in->len ? (size_t)reader->left : in->len;

	if (reader->left == 0) {
		head_reset(reader);
		return HTTP_EVENT_END;
	}
	if (len == 0)
		return HTTP_EVENT_MORE;
	*bytes = pl_span(in->at, len);
	span_skip(in, len);
	reader->left -= len;
	return HTTP_EVENT_BODY;
}

static enum http_event chunks_next(struct http_reader *reader, struct pl_span *in,
                                   struct pl_span *bytes)
{
	const char *wrong = http_chunked_next(&reader->chunked, in, bytes);

	if (wrong != NULL)
		return refuse(reader, 400, wrong);
	reader->body_len += bytes->len;
	if (reader->body_len + reader->chunked.left > reader->body_max)
		return refuse(reader, 413, "the request's body is too large");
	if (bytes->len > 0)
		return HTTP_EVENT_BODY;
	if (reader->chunked.state != HTTP_CHUNKED_DONE)
		return HTTP_EVENT_MORE;
	head_reset(reader);
	return HTTP_EVENT_END;
}

enum http_event http_reader_next(struct http_reader *reader, struct pl_span *in,
                                 struct http_head *head, struct pl_span *bytes)
{
	*bytes = pl_span(NULL, 0);
	switch (reader->state) {
	case HTTP_READER_HEAD:
		return head_next(reader, in, head, bytes);
	case HTTP_READER_LENGTH:
		return length_next(reader, in, bytes);
	case HTTP_READER_CHUNKS:
		return chunks_next(reader, in, bytes);
	case HTTP_READER_BAD:
		break;
	}
	return HTTP_EVENT_BAD;
}
