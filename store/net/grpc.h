/*
 * gRPC over one HTTP/2 connection: unary calls and bidirectional streams.
 *
 * A connection is made once, to one address; whoever wants another one opens a
 * new object. Calls may be started before it is up: they leave when it is.
 * When it goes down every call on it ends, then on_down is called, once, last.
 */
#ifndef STORE_NET_GRPC_H
#define STORE_NET_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/net/tls.h"

struct grpc_conn;
struct grpc_call;

struct grpc_conn_opts {
	const char *host; /* name or address, without brackets */
	uint16_t port;
	struct tls *tls; /* NULL: clear text. Borrowed until on_down */
	uint32_t connect_timeout_ms;
	/* A PING after this long without a byte from the server, and at once when
	 * grpc_conn_probe() asks; never two within ping_gap_ms, for which servers
	 * throw a client out. Unanswered for ping_timeout_ms: down. */
	uint32_t ping_idle_ms;
	uint32_t ping_gap_ms;
	uint32_t ping_timeout_ms;
	size_t message_max; /* of one message received; PL_LIMIT ends the call */
};

struct grpc_conn_fns {
	void (*on_up)(void *ctx);
	/* err says why; PL_CANCELED after grpc_conn_close(). The object is gone
	 * when this returns. Never called inside grpc_conn_open or _close. */
	void (*on_down)(void *ctx, const struct pl_err *err);
};

/* Did the request reach anybody? */
enum grpc_fate {
	GRPC_UNSENT,   /* no byte of it left, or the server said it was not processed */
	GRPC_MAYBE,    /* it left, and there is no answer */
	GRPC_ANSWERED, /* status is the server's own word */
};

/* gRPC's status codes, as numbered on the wire. */
enum grpc_status {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
};

struct grpc_end {
	enum grpc_fate fate;
	/* PL_OK: the server ended the call; look at status and text. Otherwise
	 * the call ended on our side (PL_TIMEOUT, PL_CANCELED, PL_UNAVAIL, PL_TLS,
	 * PL_PROTO: not gRPC, PL_LIMIT: too large, PL_NOMEM) and err has the words. */
	enum pl_code code;
	uint32_t status;
	const char *text;         /* grpc-message, decoded; "" when there was none */
	const struct pl_err *err; /* set when code is not PL_OK */
	struct pl_span message;   /* unary calls: the answer, when status is 0 */
	/* Unary calls: the request's bytes as they were given, for the taking: who
	 * wants to send them again moves them out and leaves the buffer empty. */
	struct pl_buf *body;
	/* When the request left: a moment before its last byte was given to the
	 * kernel, so that what the server counts from then on began later. 0: that
	 * byte never left. */
	uint64_t sent_ms;
};

struct grpc_call_opts {
	const char *path;  /* "/etcdserverpb.KV/Put" */
	const char *token; /* authorization header; NULL: none. Copied */
	bool need_leader;  /* etcd's "hasleader: true" */
	bool unary;        /* one message each way: body is all we send */
	/* Of the whole call, in pl_clock_ms() time; 0: none (streams only). A call
	 * that misses it is reset and ends with PL_TIMEOUT. */
	uint64_t deadline_ms;
	/* From grpc_frame_begin/end, or empty for a stream that sends later.
	 * Taken: emptied by a successful start. */
	struct pl_buf *body;
	/* Streams only; borrowed bytes, valid during the call. NULL for unary. */
	void (*on_message)(void *ctx, struct pl_span message);
	/* Exactly once, never inside start or cancel. The call is gone after it. */
	void (*on_end)(void *ctx, const struct grpc_end *end);
	void *ctx;
};

PL_NODISCARD enum pl_code grpc_conn_open(uv_loop_t *loop,
                                         const struct grpc_conn_opts *opts,
                                         const struct grpc_conn_fns *fns, void *ctx,
                                         struct grpc_conn **out, struct pl_err *err);
void grpc_conn_close(struct grpc_conn *conn);

/* Something went unanswered for long: find out whether anybody is there. */
void grpc_conn_probe(struct grpc_conn *conn);

/* False from the moment the connection is known to be going down or away
 * (GOAWAY): no new calls, those in flight still end properly. */
bool grpc_conn_usable(const struct grpc_conn *conn);

/* Bytes started but not yet handed to the kernel. */
size_t grpc_conn_unsent(const struct grpc_conn *conn);

/* Bytes of everything read and written since the connection was opened. */
struct grpc_traffic {
	uint64_t bytes_in;
	uint64_t bytes_out;
};
struct grpc_traffic grpc_conn_traffic(const struct grpc_conn *conn);

PL_NODISCARD enum pl_code grpc_call_start(struct grpc_conn *conn,
                                          const struct grpc_call_opts *opts,
                                          struct grpc_call **out, struct pl_err *err);

/* Streams: one more framed message; body is taken. PL_BUSY past 4 MiB unsent. */
PL_NODISCARD enum pl_code grpc_call_send(struct grpc_call *call, struct pl_buf *body,
                                         struct pl_err *err);

/* RST_STREAM; on_end follows with PL_CANCELED and the fate so far. */
void grpc_call_cancel(struct grpc_call *call);

/* A message is written between these two: begin leaves room for the five byte
 * prefix, end fills it in. start is what begin returned. */
PL_NODISCARD enum pl_code grpc_frame_begin(struct pl_buf *buf, size_t *start);
void grpc_frame_end(struct pl_buf *buf, size_t start);

#endif
