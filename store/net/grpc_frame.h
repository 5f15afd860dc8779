/*
 * gRPC's message framing: a flag byte, four bytes of length, the message.
 *
 * The decoder is pure; it is fed with chunks of any size. A message that lies whole in
 * one chunk is handed out in place; any other is assembled in a buffer.
 *
 * Invariant: the buffer grows with the bytes that arrived, never with the length that a
 * prefix claims.
 */
#ifndef STORE_NET_GRPC_FRAME_H
#define STORE_NET_GRPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/span.h"

enum { GRPC_PREFIX_SIZE = 5 };

struct grpc_decoder {
	struct pl_buf body; /* the message so far, when it arrives in pieces */
	size_t message_max;
	size_t want; /* length of the message; valid once the prefix is complete */
	uint8_t prefix[GRPC_PREFIX_SIZE];
	uint8_t prefix_len;
	bool handed; /* body was handed out; the next call empties it */
};

void grpc_decoder_init(struct grpc_decoder *decoder, size_t message_max);
void grpc_decoder_done(struct grpc_decoder *decoder);

/* Consumes bytes of *in. *got true: *message is the next message, borrowed until the next
 * call and until the bytes of *in go. *got false: *in was consumed and more bytes are
 * needed. PL_LIMIT: the message is larger than message_max. PL_PROTO: it is compressed or
 * not gRPC. PL_NOMEM. The decoder can not be used after a failure. */
PL_NODISCARD enum pl_code grpc_decoder_next(struct grpc_decoder *decoder,
                                            struct pl_span *in, bool *got,
                                            struct pl_span *message, struct pl_err *err);

/* True between two messages, false in the middle of one. */
bool grpc_decoder_between(const struct grpc_decoder *decoder);

#endif
