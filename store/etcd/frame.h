/*
 * A gRPC message to be sent: begun, filled by an encoder, sent.
 *
 * Invariant: frame_send() or frame_ask() ends every begun frame, with any code in it; the
 * bytes that are not taken are wiped.
 *
 * Use:
 *
 *	struct frame frame;
 *
 *	frame_begin(&frame);
 *	if (frame.code == PL_OK)
 *		frame.code = codec_...(..., &frame.body, err);
 *	code = frame_send(&frame, stream, err);
 */
#ifndef STORE_ETCD_FRAME_H
#define STORE_ETCD_FRAME_H

#include "store/base/buf.h"
#include "store/etcd/client.h"

struct frame {
	struct pl_buf body;
	size_t start;
	enum pl_code code; /* the first failure, or PL_OK */
};

void frame_begin(struct frame *frame);

/* Sends the frame on a stream, or drops it when code is a failure, which it returns. */
PL_NODISCARD enum pl_code frame_send(struct frame *frame, struct grpc_call *stream,
                                     struct pl_err *err);

/* Sends the frame as a unary call of the client's own. */
PL_NODISCARD enum pl_code frame_ask(struct frame *frame, struct client *client,
                                    struct channel_conn *conn, const char *path,
                                    unary_end_fn *done, void *ctx);

#endif
