/*
 * gRPC server: incoming calls on a port, in clear text. The other end of grpc.h.
 *
 *   on_conn -> on_call -> on_message... on_half_close -> on_gone -> on_conn_gone
 *
 * Invariants:
 *   - A call is answered with framed messages and one end, inside a callback or later.
 *     What is sent leaves when the loop comes round.
 *   - Nothing that a client does is trusted: the size of its messages, its calls and what
 *     it leaves unread are bounded; a client beyond these bounds loses its connection.
 *   - on_gone comes exactly once for every call that on_call accepted, and on_conn_gone
 *     once for every accepted connection, after the last on_gone.
 */
#ifndef STORE_NET_GRPC_SERVER_H
#define STORE_NET_GRPC_SERVER_H

#include <uv.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/net/grpc.h"

enum {
	GRPC_SERVER_CONNS = 1024,
	GRPC_SERVER_STREAMS = 1024,         /* open streams of one connection */
	GRPC_SERVER_UNREAD_MAX = 256 << 20, /* bytes that one client may leave unread */
};

struct grpc_server;
struct grpc_stream;

/* No callback may close the server. */
struct grpc_server_fns {
	/* Returns the user's object for the connection; NULL: the connection is closed at
	 * once. */
	void *(*on_conn)(void *ctx);
	/* After the last on_gone of the connection. */
	void (*on_conn_gone)(void *conn);
	/* Returns the user's object for the call; NULL: answered as unimplemented. */
	void *(*on_call)(void *conn, struct grpc_stream *stream, struct pl_span path);
	/* message is borrowed until the return. */
	void (*on_message)(void *call, struct pl_span message);
	/* A message claims that many bytes, which is too large: the user should end the
	 * call. */
	void (*on_large)(void *call, uint64_t bytes);
	void (*on_half_close)(void *call); /* the client sends no more messages */
	void (*on_gone)(void *call);       /* stream is invalid from now on */
};

struct grpc_server_opts {
	const char *host; /* an IPv4 or IPv6 address */
	uint16_t port;    /* 0: the kernel chooses a free port */
	size_t message_max;
};

/* PL_EXISTS: the port is taken. PL_INVALID: it can not listen there. */
PL_NODISCARD enum pl_code grpc_server_open(uv_loop_t *loop,
                                           const struct grpc_server_opts *opts,
                                           const struct grpc_server_fns *fns, void *ctx,
                                           struct grpc_server **out, struct pl_err *err);
uint16_t grpc_server_port(const struct grpc_server *server);
/* Closes every call and connection; closed is called later, once. */
void grpc_server_close(struct grpc_server *server, void (*closed)(void *ctx), void *ctx);

/* Sends one message, framed by grpc_frame_begin() and grpc_frame_end(); the bytes are
 * copied. Without memory, or with too much unread, the connection is lost and the call
 * with it. */
void grpc_stream_send(struct grpc_stream *stream, struct pl_span framed);
/* Ends the call; text is cut at 200 bytes. */
void grpc_stream_end(struct grpc_stream *stream, enum grpc_status status,
                     const char *text);

#endif
