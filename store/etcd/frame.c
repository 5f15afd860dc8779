#include "store/etcd/frame.h"

#include <string.h>

enum { BODY_MAX = 8 << 20 };

void frame_begin(struct frame *frame)
{
	pl_buf_init(&frame->body, BODY_MAX);
	frame->code = grpc_frame_begin(&frame->body, &frame->start);
}

/* Bytes that were not taken are wiped, because they may hold a password. */
static void frame_done(struct frame *frame)
{
	if (frame->body.at != NULL)
		explicit_bzero(frame->body.at, frame->body.cap);
	pl_buf_done(&frame->body);
}

enum pl_code frame_send(struct frame *frame, struct grpc_call *stream, struct pl_err *err)
{
	if (frame->code == PL_OK) {
		grpc_frame_end(&frame->body, frame->start);
		frame->code = grpc_call_send(stream, &frame->body, err);
	}
	frame_done(frame);
	return frame->code;
}

enum pl_code frame_ask(struct frame *frame, struct client *client,
                       struct channel_conn *conn, const char *path, unary_end_fn *done,
                       void *ctx)
{
	if (frame->code == PL_OK) {
		grpc_frame_end(&frame->body, frame->start);
		frame->code = unary_start(client, conn, path, &frame->body, done, ctx);
	}
	frame_done(frame);
	return frame->code;
}
