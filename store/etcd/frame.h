/* One gRPC message on its way out: begun, filled by an encoder, sent. */
#ifndef STORE_ETCD_FRAME_H
#define STORE_ETCD_FRAME_H

#include "store/base/buf.h"
#include "store/etcd/client.h"

/*
 *	struct frame frame;
 *
 *	frame_begin(&frame);
 *	if (frame.code == PL_OK)
 *		frame.code = codec_...(..., &frame.body, err);
 *	code = frame_send(&frame, stream, err);
 */
struct frame {
	struct pl_buf body;
	size_t start;
	enum pl_code code; /* the first thing that went wrong */
};

void frame_begin(struct frame *frame);

/* Ends it, whatever code says: it is sent, or forgotten. */
PL_NODISCARD enum pl_code frame_send(struct frame *frame, struct grpc_call *stream,
                                     struct pl_err *err);

/* As a call of the client's own. */
PL_NODISCARD enum pl_code frame_ask(struct frame *frame, struct client *client,
                                    struct channel_conn *conn, const char *path,
                                    unary_end_fn *done, void *ctx);

#endif
