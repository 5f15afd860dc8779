/*
 * Tests only: a gRPC server in memory, on nghttp2's server side.
 *
 * The first part of a call's path is the server's action, the second is the call's
 * number: "/ok/17". Invariant: its memory is its own, so injected faults do not reach it.
 */
#ifndef TESTS_SUPPORT_STORE_NET_FAKE_H2_H
#define TESTS_SUPPORT_STORE_NET_FAKE_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/span.h"

enum { FAKE_CALLS_MAX = 512 };

/* X(name, action) */
#define FAKE_MAP(X)                                                 \
	X(ok, "the request's message back, status 0")               \
	X(frag, "the same in DATA frames of one byte")              \
	X(error, "status 3 with words, and nothing else")           \
	X(silent, "nothing, ever")                                  \
	X(refuse, "RST_STREAM REFUSED_STREAM")                      \
	X(reset, "RST_STREAM INTERNAL_ERROR")                       \
	X(early, "status 0 and a message before the request's end") \
	X(big, "a message of big_size bytes")                       \
	X(lie, "a prefix that claims 4 GiB, then the end")          \
	X(claim, "a prefix that claims big_size, then silence")     \
	X(half, "half a message, then status 0")                    \
	X(two, "two messages")                                      \
	X(none, "status 0 without a message")                       \
	X(nostatus, "a message, no trailers")                       \
	X(badstatus, "grpc-status: x")                              \
	X(html, "HTTP status 404 and a page")                       \
	X(proxy, "HTTP status 503")                                 \
	X(text, "HTTP status 200 and text/plain")                   \
	X(packed, "a message with the compressed flag")             \
	X(garbage, "bytes that are no message")                     \
	X(away, "GOAWAY behind this call, then ok")                 \
	X(early_hints, "an informational answer, then ok")          \
	X(stream, "each message back as it comes, no end")          \
	X(stream_end, "the first message back, then status 0")

#define FAKE_ENUM(name, words) FAKE_##name,
enum fake_act { FAKE_MAP(FAKE_ENUM) FAKE_ACT_COUNT };
const char *fake_act_name(enum fake_act act);

struct fake_opts {
	uint32_t max_streams; /* 0: no limit */
	/* bytes per stream; 0: no window at all; large ones are the connection's, too */
	uint32_t window;
	uint32_t big_size;
};

/* The server's record of a call. */
struct fake_call {
	unsigned heads;   /* HEADERS frames received */
	unsigned wholes;  /* complete requests received */
	unsigned answers; /* grpc-status trailers queued */
	unsigned resets;  /* RST_STREAM frames received */
	char timeout[16]; /* grpc-timeout */
	char token[32];
	bool leader;
};

struct fake_h2;

struct fake_h2 *fake_h2_new(const struct fake_opts *opts);
void fake_h2_free(struct fake_h2 *fake);

/* False: the bytes are not HTTP/2. */
bool fake_h2_feed(struct fake_h2 *fake, struct pl_span data);

/* Moves up to size bytes for the client to *to. */
size_t fake_h2_take(struct fake_h2 *fake, uint8_t *to, size_t size);

const struct fake_call *fake_h2_call(const struct fake_h2 *fake, unsigned number);
unsigned fake_h2_pings(const struct fake_h2 *fake);

/* Opens or closes the windows of all streams, as a slow reader does. */
void fake_h2_window(struct fake_h2 *fake, uint32_t window);
void fake_h2_goaway(struct fake_h2 *fake, int32_t last_stream_id, uint32_t error,
                    const char *text);
void fake_h2_ping_answers(struct fake_h2 *fake, bool answers);

#endif
