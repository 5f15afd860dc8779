/*
 * gRPC client over one HTTP/2 connection: unary calls and bidirectional streams.
 *
 * Invariants:
 *   - A connection is made once, to one address. To reach another address, or to
 *     reconnect, open a new object.
 *   - A call may be started before the connection is up; it is sent as soon as it is up.
 *   - Every call that was started ends with exactly one on_end, also when the connection
 *     goes down; on_down comes once, after all of these, and is the last callback.
 *   - No callback runs inside grpc_conn_open(), grpc_conn_close(), grpc_call_start() or
 *     grpc_call_cancel().
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
	const char *host; /* a name or an address (IPv6 without brackets) */
	uint16_t port;
	struct tls *tls; /* NULL: clear text; borrowed until on_down */
	uint32_t connect_timeout_ms;
	/* The client sends a PING after ping_idle_ms without a byte from the server while
	 * calls are in flight, and at once when grpc_conn_probe() asks, but never two
	 * within ping_gap_ms, because servers close connections for that. A PING that is
	 * unanswered for ping_timeout_ms takes the connection down. */
	uint32_t ping_idle_ms;
	uint32_t ping_gap_ms;
	uint32_t ping_timeout_ms;
	/* bytes of one received message; a larger one ends its call with PL_LIMIT */
	size_t message_max;
};

struct grpc_conn_fns {
	void (*on_up)(void *ctx);
	/* err says why; it is PL_CANCELED after grpc_conn_close(). conn is invalid from
	 * now on. */
	void (*on_down)(void *ctx, const struct pl_err *err);
};

/* Whether the server can have seen the request. */
enum grpc_fate {
	GRPC_UNSENT,   /* no byte of it left, or the server says it was not processed */
	GRPC_MAYBE,    /* the call left, and no answer came */
	GRPC_ANSWERED, /* the server ended the call; grpc_end.status is valid */
};

/* gRPC's status codes, with the numbers of the wire. */
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
	/* PL_OK: the server ended the call; see status and text. Otherwise our side ended
	 * it and err says why: PL_TIMEOUT, PL_CANCELED, PL_UNAVAIL, PL_TLS, PL_PROTO (not
	 * gRPC), PL_LIMIT (message too large) or PL_NOMEM. */
	enum pl_code code;
	uint32_t status;
	const char *text; /* grpc-message, decoded; "" when the server sent none */
	const struct pl_err *err; /* NULL when code is PL_OK */
	struct pl_span message;   /* unary calls with status 0: the answer, borrowed */
	/* Unary calls: the request's bytes as they were given. A caller that wants to
	 * send the request again moves them out and leaves the buffer empty. */
	struct pl_buf *body;
	/* When the request left: a time before its last byte was given to the kernel, so
	 * that a duration that the server counts from the arrival began later. 0: the
	 * last byte did not leave. */
	uint64_t sent_ms;
};

struct grpc_call_opts {
	const char *path;  /* "/etcdserverpb.KV/Put" */
	const char *token; /* the authorization header; NULL: none; copied */
	/* sends etcd's "hasleader: true": the call fails without a leader */
	bool need_leader;
	bool unary; /* one message each way: body is the whole request */
	/* Deadline of the whole call in pl_clock_ms() time; 0: none (streams only). A
	 * call that misses it is reset and ends with PL_TIMEOUT. */
	uint64_t deadline_ms;
	/* A framed message (grpc_frame_begin(), grpc_frame_end()), or empty for a stream
	 * that sends later. A successful start takes the bytes and leaves the buffer
	 * empty. */
	struct pl_buf *body;
	/* Streams only, NULL for unary calls. message is borrowed until the return. */
	void (*on_message)(void *ctx, struct pl_span message);
	/* Exactly once, never inside start or cancel. The call is invalid after it. */
	void (*on_end)(void *ctx, const struct grpc_end *end);
	void *ctx;
};

PL_NODISCARD enum pl_code grpc_conn_open(uv_loop_t *loop,
                                         const struct grpc_conn_opts *opts,
                                         const struct grpc_conn_fns *fns, void *ctx,
                                         struct grpc_conn **out, struct pl_err *err);
void grpc_conn_close(struct grpc_conn *conn);

/* Sends a PING soon, because a call was not answered in time: finds out whether the
 * server is alive. */
void grpc_conn_probe(struct grpc_conn *conn);

/* False as soon as the connection is known to go down or the server sent GOAWAY: no new
 * calls can be started; those in flight still end properly. */
bool grpc_conn_usable(const struct grpc_conn *conn);

/* Bytes of started calls that the kernel has not accepted yet. */
size_t grpc_conn_unsent(const struct grpc_conn *conn);

/* Bytes read and written since the connection was opened. */
struct grpc_traffic {
	uint64_t bytes_in;
	uint64_t bytes_out;
};
struct grpc_traffic grpc_conn_traffic(const struct grpc_conn *conn);

PL_NODISCARD enum pl_code grpc_call_start(struct grpc_conn *conn,
                                          const struct grpc_call_opts *opts,
                                          struct grpc_call **out, struct pl_err *err);

/* Streams only: sends one more framed message and takes body's bytes. PL_BUSY: more than
 * 4 MiB of the stream are unsent. */
PL_NODISCARD enum pl_code grpc_call_send(struct grpc_call *call, struct pl_buf *body,
                                         struct pl_err *err);

/* Resets the stream; on_end follows with PL_CANCELED and the fate so far. */
void grpc_call_cancel(struct grpc_call *call);

/* A message is appended between these two: begin reserves the five byte prefix, end fills
 * it in. start is what begin returned. */
PL_NODISCARD enum pl_code grpc_frame_begin(struct pl_buf *buf, size_t *start);
void grpc_frame_end(struct pl_buf *buf, size_t start);

#endif
