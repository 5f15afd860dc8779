/*
 * The inside of a gRPC server, shared by its files: a connection is a TCP handle, a
 * session of nghttp2 and the streams on it.
 *
 * Invariant: any failure of a connection (memory, malformed HTTP/2, a full backlog) ends
 * the whole connection; clients reconnect.
 */
#ifndef STORE_NET_GRPC_SERVER_INT_H
#define STORE_NET_GRPC_SERVER_INT_H

#include <nghttp2/nghttp2.h>

#include "store/base/list.h"
#include "store/net/grpc_frame.h"
#include "store/net/grpc_server.h"

enum {
	BACKLOG = 128,
	INPUT_SIZE = 64 << 10,
	WINDOW = 8 << 20, /* bytes of a stream's window, and of a connection's */
	TEXT_SIZE = 201,
	CHUNK_SIZE = 256 << 10,
};

/* OPEN --server_conn_fail()--> FAILED --the next flush--> CLOSING; grpc_server_close() closes
 * in any state. */
enum server_conn_state { SERVER_CONN_OPEN, SERVER_CONN_FAILED, SERVER_CONN_CLOSING };

struct server_conn {
	struct pl_list link, dirty;
	struct grpc_server *server;
	void *own;
	uv_tcp_t tcp;
	nghttp2_session *h2;
	struct pl_list streams;
	size_t unread;    /* bytes queued and not yet accepted by the kernel */
	unsigned waiting; /* writes that libuv has not completed */
	enum server_conn_state state;
	char input[INPUT_SIZE];
};

struct grpc_stream {
	struct pl_list link;
	struct server_conn *conn;
	void *call; /* the user's object; NULL: none */
	int32_t id;
	struct grpc_decoder decoder;
	struct pl_buf out;
	size_t out_from;
	bool headed, ended, refused;
	enum grpc_status status;
	char text[TEXT_SIZE];
};

struct grpc_server {
	uv_tcp_t tcp;
	uv_prepare_t before;
	uv_check_t after;
	struct grpc_server_opts opts;
	struct grpc_server_fns fns;
	void *ctx;
	struct pl_list conns, dirty;
	struct pl_buf piece;
	uint32_t conn_count;
	unsigned handles;
	bool closing;
	void (*closed)(void *ctx);
	void *closed_ctx;
};

/* The connection has something to send, or is to be closed, when the loop comes round. */
void server_conn_touch(struct server_conn *conn);
void server_conn_fail(struct server_conn *conn);
/* Makes the connection's nghttp2 session. 0, or nghttp2's error. */
int server_session_new(struct server_conn *conn);
/* Calls on_gone and frees the stream. */
void server_stream_free(struct grpc_stream *stream);

#endif
