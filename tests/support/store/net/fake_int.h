/* Tests only: the inside of the fake gRPC server, shared by its files. */
#ifndef TESTS_SUPPORT_STORE_NET_FAKE_INT_H
#define TESTS_SUPPORT_STORE_NET_FAKE_INT_H

#include <nghttp2/nghttp2.h>

#include "tests/support/store/net/fake_h2.h"

struct fake_bytes {
	uint8_t *at;
	size_t len, from, cap;
};

struct fake_stream {
	struct fake_stream *next;
	struct fake_h2 *fake;
	int32_t id;
	enum fake_act act;
	unsigned number;
	struct fake_bytes in, out;
	bool ended;    /* the answer's last byte is in out */
	bool trailers; /* grpc-status follows */
	bool answered;
};

struct fake_h2 {
	nghttp2_session *h2;
	struct fake_opts opts;
	struct fake_stream *streams;
	struct fake_bytes out;
	struct fake_call calls[FAKE_CALLS_MAX];
	unsigned pings;
	bool pings_answered;
};

static inline struct fake_call *fake_call_of(const struct fake_stream *stream)
{
	return &stream->fake->calls[stream->number];
}

void fake_bytes_add(struct fake_bytes *bytes, const void *at, size_t len);
void fake_message_add(struct fake_bytes *bytes, uint8_t flags, const void *at,
                      size_t len);

/* Sends the header of an answer; the bytes in stream->out follow. */
void fake_head_send(struct fake_stream *stream, const char *status, const char *type);
void fake_error_send(struct fake_stream *stream);
void fake_reset_send(struct fake_stream *stream, uint32_t error);
/* Answers a complete request as the call's action says. */
void fake_answer(struct fake_stream *stream);

#endif
