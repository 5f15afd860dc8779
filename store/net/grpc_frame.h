/*
 * gRPC's message framing: a flag byte, four bytes of length, the message.
 *
 * Pure. The decoder is fed whatever chunks the network brings. A message that
 * lies whole in one chunk is handed out where it lies; others are put together
 * in a buffer that grows with the bytes that came, never with the length that a
 * prefix only claims.
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
	struct pl_buf body; /* the message so far, when it comes in pieces */
	size_t message_max;
	size_t want; /* length of the message, once the prefix is whole */
	uint8_t prefix[GRPC_PREFIX_SIZE];
	uint8_t prefix_len;
	bool handed; /* body was given out and is to be emptied */
};

void grpc_decoder_init(struct grpc_decoder *decoder, size_t message_max);
void grpc_decoder_done(struct grpc_decoder *decoder);

/* Consumes from *in. *got: *message is the next message, borrowed until the
 * next call or until the bytes behind *in go. Not *got: *in was used up.
 * PL_LIMIT: larger than message_max. PL_PROTO: compressed or not gRPC. After a
 * failure the decoder is of no more use. */
PL_NODISCARD enum pl_code grpc_decoder_next(struct grpc_decoder *decoder,
                                            struct pl_span *in, bool *got,
                                            struct pl_span *message, struct pl_err *err);

/* False in the middle of a message. */
bool grpc_decoder_between(const struct grpc_decoder *decoder);

#endif
