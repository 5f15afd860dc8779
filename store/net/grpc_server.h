/*
 * The other end of grpc.h: calls that come in, on a port, in clear text.
 *
 *	on_conn --> on_call --> on_message... on_half_close --> on_gone --> on_conn_gone
 *
 * Whoever answers sends framed messages and an end, at once or later; what is sent
 * leaves when the loop comes round. Nothing that a client does is trusted: its messages
 * are bounded, and one that does not read what it asked for is shut out.
 */
#ifndef STORE_NET_GRPC_SERVER_H
#define STORE_NET_GRPC_SERVER_H

#include <uv.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/net/grpc.h"

enum {
	GRPC_SERVER_CONNS = 1024,
	GRPC_SERVER_STREAMS = 1024,         /* of a connection */
	GRPC_SERVER_UNREAD_MAX = 256 << 20, /* bytes that a connection may leave */
};

struct grpc_server;
struct grpc_stream;

/* None may close the server. */
struct grpc_server_fns {
	/* What it returns is the connection's own; NULL: it is closed at once. */
	void *(*on_conn)(void *ctx);
	/* After the last of its calls is gone. */
	void (*on_conn_gone)(void *conn);
	/* What it returns is the call's own; NULL: answered as unimplemented. */
	void *(*on_call)(void *conn, struct grpc_stream *stream, struct pl_span path);
	/* Borrowed. */
	void (*on_message)(void *call, struct pl_span message);
	/* A message of that many bytes is too large: end the call. */
	void (*on_large)(void *call, uint64_t bytes);
	void (*on_half_close)(void *call); /* no more messages come */
	void (*on_gone)(void *call);       /* the stream may not be used any more */
};

struct grpc_server_opts {
	const char *host; /* an address */
	uint16_t port;    /* 0: a free one */
	size_t message_max;
};

/* PL_EXISTS: the port is taken. */
PL_NODISCARD enum pl_code grpc_server_open(uv_loop_t *loop,
                                           const struct grpc_server_opts *opts,
                                           const struct grpc_server_fns *fns, void *ctx,
                                           struct grpc_server **out, struct pl_err *err);
uint16_t grpc_server_port(const struct grpc_server *server);
/* Every call and connection goes; then closed is called, later. */
void grpc_server_close(struct grpc_server *server, void (*closed)(void *ctx), void *ctx);

/* One message (grpc_frame_begin and _end); copied. Without memory the connection is
 * lost, and the call with it. */
void grpc_stream_send(struct grpc_stream *stream, struct pl_span framed);
/* The last; text is cut at 200 bytes. */
void grpc_stream_end(struct grpc_stream *stream, enum grpc_status status,
                     const char *text);

#endif
