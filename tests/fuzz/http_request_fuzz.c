/* Requests of an HTTP/1 connection. Read whole, byte by byte, and in pieces that the
 * first byte chooses, they are the same; no field of an accepted head can be read in two
 * ways. */
#include <stdlib.h>

#include "store/net/http_guard.h"
#include "store/net/http_reader.h"
#include "tests/fuzz/fuzz.h"

enum { FIELDS_MAX = 32 };

static const struct http_server_limits fuzz_limits = {
	.head_bytes = 4096, .fields = FIELDS_MAX, .body_bytes = 10000};

/* A digest of the events: of each kind how many, and of all bytes in their order. */
struct digest {
	uint64_t heads, ends, body_len, bytes, status;
};

static void bytes_add(struct digest *digest, struct pl_span bytes)
{
	for (size_t i = 0; i < bytes.len; i++)
		digest->bytes = (digest->bytes ^ bytes.at[i]) * UINT64_C(0x100000001b3);
	digest->bytes = digest->bytes * 31 + 7;
}

static unsigned fields_named(const struct http_head *head, const char *name)
{
	unsigned count = 0;

	for (size_t i = 0; i < head->field_count; i++)
		count += http_guard_same(head->fields[i].name, name);
	return count;
}

static void head_check(const struct http_head *head, struct pl_span bytes)
{
	PL_ASSERT(bytes.len >= 4 && memcmp(bytes.at + bytes.len - 4, "\r\n\r\n", 4) == 0);
	PL_ASSERT(head->field_count <= FIELDS_MAX && bytes.len <= 4096);
	for (size_t i = 0; i < bytes.len; i++) {
		PL_ASSERT(bytes.at[i] != 0);
		if (bytes.at[i] == '\r')
			PL_ASSERT(bytes.at[i + 1] == '\n');
		if (bytes.at[i] == '\n')
			PL_ASSERT(i > 0 && bytes.at[i - 1] == '\r');
	}
	for (size_t i = 0; i < head->field_count; i++) {
		PL_ASSERT(http_guard_is_token(head->fields[i].name));
		PL_ASSERT(http_guard_is_value(head->fields[i].value));
	}
	PL_ASSERT(head->path.len > 0 && head->path.at[0] == '/');
	PL_ASSERT(fields_named(head, "content-length") == head->has_length);
	PL_ASSERT(fields_named(head, "transfer-encoding") == head->chunked);
	PL_ASSERT(!head->has_length || !head->chunked);
	PL_ASSERT(fields_named(head, "host") == 1 || head->minor == 0);
}

static void event_take(struct digest *digest, enum http_event event,
                       const struct http_head *head, struct pl_span bytes)
{
	switch (event) {
	case HTTP_EVENT_HEAD:
		head_check(head, bytes);
		digest->heads++;
		bytes_add(digest, head->method);
		bytes_add(digest, head->path);
		bytes_add(digest, head->query);
		for (size_t i = 0; i < head->field_count; i++)
			bytes_add(digest, head->fields[i].value);
		break;
	case HTTP_EVENT_BODY:
		PL_ASSERT(bytes.len > 0);
		digest->body_len += bytes.len;
		break;
	case HTTP_EVENT_END:
		digest->ends++;
		PL_ASSERT(digest->ends == digest->heads);
		break;
	case HTTP_EVENT_MORE:
	case HTTP_EVENT_BAD:
		break;
	}
}

static struct digest read_pieces(struct pl_span text, size_t piece)
{
	struct http_field fields[FIELDS_MAX];
	struct http_head head = {.fields = fields, .field_max = FIELDS_MAX};
	enum http_event event = HTTP_EVENT_MORE;
	struct digest digest = {0};
	struct http_reader reader;
	size_t given = 0, taken = 0;

	http_reader_init(&reader, &fuzz_limits);
	while (given < text.len && event != HTTP_EVENT_BAD) {
		struct pl_span in, bytes;

		given = text.len - given < piece ? text.len : given + piece;
		in = pl_span(text.at + taken, given - taken);
		do {
			event = http_reader_next(&reader, &in, &head, &bytes);
			event_take(&digest, event, &head, bytes);
		} while (event != HTTP_EVENT_MORE && event != HTTP_EVENT_BAD);
		taken = given - in.len;
	}
	digest.status = (uint64_t)reader.fault.status;
	PL_ASSERT((event == HTTP_EVENT_BAD) == (digest.status != 0));
	return digest;
}

/* A chunked body that is refused may have given a part of a piece before. */
static void digests_compare(const struct digest *a, const struct digest *b)
{
	PL_ASSERT(a->heads == b->heads && a->ends == b->ends && a->bytes == b->bytes);
	PL_ASSERT((a->status == 0) == (b->status == 0));
	PL_ASSERT(a->status != 0 || a->body_len == b->body_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct digest whole, single, pieces;
	struct pl_span text;

	if (size == 0)
		return 0;
	text = pl_span(data + 1, size - 1);
	whole = read_pieces(text, size);
	single = read_pieces(text, 1);
	pieces = read_pieces(text, (size_t)data[0] + 2);
	digests_compare(&whole, &single);
	digests_compare(&whole, &pieces);
	return 0;
}
