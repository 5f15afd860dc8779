/*
 * The client side of gRPC on one HTTP/2 connection, without the connection: bytes in,
 * bytes out, calls and their ends. Internal to store/net. No I/O and no clock:
 * grpc_conn.c drives it over a socket, tests and the fuzzer drive it from memory.
 *
 * A call:
 *
 *   waiting --submit--> open --answer, reset, deadline, cancel--> ended --> freed
 *
 * The session (a lost PING takes it to DEAD, too; see grpc_ping.h):
 *
 *   CONNECTING --SETTINGS--> UP --GOAWAY, no stream numbers left--> AWAY --> DEAD
 *        \-------------------\------------grpc_session_fail()-------------^
 *
 * Invariants:
 *   - A call waits here, not in nghttp2, until the server's SETTINGS have come and a
 *     stream is free. A waiting call can be cancelled and has certainly not been sent.
 *   - User callbacks never run inside a user's call or inside nghttp2, except on_message
 *     of streams. grpc_session_deliver() makes the others.
 *   - Every serialised byte has an offset in the outgoing byte stream. A call has left
 *     once more bytes were written than its HEADERS frame's offset.
 */
#ifndef STORE_NET_GRPC_SESSION_H
#define STORE_NET_GRPC_SESSION_H

#include <nghttp2/nghttp2.h>

#include "store/base/list.h"
#include "store/base/timers.h"
#include "store/net/grpc.h"
#include "store/net/grpc_frame.h"
#include "store/net/grpc_ping.h"
#include "store/net/grpc_reply.h"

enum { GRPC_TIMEOUT_SIZE = 12 };

/* Bytes serialised and not yet accepted by the kernel: about this many, then they must
 * drain. Requests behind them can still be cancelled unsent. */
enum { GRPC_OUT_HIGH = 256 * 1024 };

struct grpc_session_opts {
	const char *scheme;    /* "http" or "https", a literal */
	const char *authority; /* copied */
	size_t message_max;
	uint32_t ping_idle_ms, ping_gap_ms, ping_timeout_ms;
};

struct grpc_session_fns {
	/* There is something to send or to deliver: the driver comes back soon. Called
	 * from anywhere, so it must not call back. */
	void (*wake)(void *ctx);
	void (*up)(void *ctx); /* from grpc_session_deliver() */
	uint64_t (*now_ms)(void *ctx);
};

enum grpc_session_state {
	GRPC_SESSION_CONNECTING, /* no SETTINGS yet: calls wait */
	GRPC_SESSION_UP,
	GRPC_SESSION_AWAY, /* takes no new calls; open calls end properly */
	GRPC_SESSION_DEAD, /* every call has ended, nghttp2 is not called any more */
};

struct grpc_session {
	nghttp2_session *h2;
	void *reserve; /* memory for one growth inside nghttp2; see grpc_h2.c */
	struct pl_timers *timers; /* borrowed */
	struct grpc_session_fns fns;
	void *ctx;
	const char *scheme;
	char *authority;
	size_t message_max;

	struct pl_list waiting, open, ended; /* each call is in exactly one of them */
	struct pl_list borrowing; /* calls whose message still lies in the read buffer */
	struct pl_list sending;   /* calls serialised completely, not yet written */
	uint32_t streams;         /* open HTTP/2 streams */
	size_t body_bytes;        /* bytes of requests that are not serialised yet */

	struct pl_buf out;   /* serialised bytes; the driver sends and empties it */
	uint64_t serialised; /* bytes that ever went into out */
	uint64_t written;    /* bytes of these that the kernel accepted */
	uint64_t received;

	uint64_t now_ms;     /* time of the grpc_session_fill() that is running */
	uint64_t timeout_ms; /* the last grpc-timeout, and its text below */
	char timeout[GRPC_TIMEOUT_SIZE];

	struct grpc_ping ping;
	struct pl_timer ping_timer;

	uint8_t preface[9]; /* the first bytes received, to recognise other protocols */
	uint8_t preface_len;
	enum grpc_session_state state;
	bool up_due;       /* fns.up is to be called */
	struct pl_err why; /* reason of the coming end; code PL_OK: not known yet */
};

enum grpc_call_state { GRPC_CALL_WAITING, GRPC_CALL_OPEN, GRPC_CALL_ENDED };

#define GRPC_OFFSET_NONE UINT64_MAX

struct grpc_call {
	struct pl_list link;
	struct pl_list borrowing;
	struct pl_list sending;
	struct grpc_session *session;
	struct pl_timer deadline;
	enum grpc_call_state state;
	int32_t stream_id; /* 0: not submitted yet */
	bool unary;
	bool need_leader;
	bool has_message;
	bool deferred; /* nghttp2 waits for more bytes of the body */
	bool closed;   /* the HTTP/2 stream is closed */
	void (*on_message)(void *ctx, struct pl_span message);
	void (*on_end)(void *ctx, const struct grpc_end *end);
	void *ctx;

	struct pl_buf body;   /* unary: kept complete until on_end hands it back */
	size_t body_at;       /* bytes of body that are serialised */
	uint64_t head_offset; /* offset of its HEADERS frame */
	uint64_t tail_offset; /* offset behind the last byte of the body */
	uint64_t left_ms;     /* time before its last byte can have left */
	uint64_t sent_ms;     /* the same once that byte was written; 0: not yet */

	struct grpc_decoder decoder;
	struct pl_buf message_copy; /* owns a message that had to leave the read buffer */
	struct pl_span message;     /* the answer of a unary call */
	struct grpc_reply reply;

	enum grpc_fate fate;
	struct pl_err err; /* PL_OK: the server ended the call */
	const char *token; /* stored behind path in the same block; NULL: none */
	char timeout[GRPC_TIMEOUT_SIZE];
	char path[];
};

PL_NODISCARD enum pl_code grpc_session_init(struct grpc_session *session,
                                            const struct grpc_session_opts *opts,
                                            struct pl_timers *timers,
                                            const struct grpc_session_fns *fns, void *ctx,
                                            struct pl_err *err);
/* Every call must have been delivered. Accepts a zeroed session. */
void grpc_session_done(struct grpc_session *session);

/* Processes bytes from the server. A failure is final: grpc_session_fail() comes next. */
PL_NODISCARD enum pl_code grpc_session_feed(struct grpc_session *session,
                                            struct pl_span data, struct pl_err *err);

/* Serialises into session->out up to about GRPC_OUT_HIGH bytes. The driver sends all of
 * out and empties it. A failure is final. */
PL_NODISCARD enum pl_code grpc_session_fill(struct grpc_session *session,
                                            struct pl_err *err);

/* The kernel has accepted total bytes since the connection was opened. */
void grpc_session_written(struct grpc_session *session, uint64_t total);

/* Ends every call. Bytes that were not written by now are never written. */
void grpc_session_fail(struct grpc_session *session, const struct pl_err *why);

/* Runs the user callbacks that are due. The last thing that a driver does in a turn. */
void grpc_session_deliver(struct grpc_session *session);

/* True when the session is over: a GOAWAY came and the calls before it have ended, a PING
 * was not answered, or nghttp2 gave up. *why gets the reason. */
bool grpc_session_finished(const struct grpc_session *session, struct pl_err *why);

PL_NODISCARD enum pl_code grpc_session_call(struct grpc_session *session,
                                            const struct grpc_call_opts *opts,
                                            struct grpc_call **out, struct pl_err *err);
void grpc_session_probe(struct grpc_session *session);
size_t grpc_session_unsent(const struct grpc_session *session);

/* Shared by the files of the session. */

/* The server's SETTINGS came. */
void grpc_session_up(struct grpc_session *session);

/* Takes no new calls, for the reason in session->why; waiting calls end as unsent. */
void grpc_session_retire(struct grpc_session *session);

/* nghttp2's side of a session: grpc_h2.c and grpc_h2_out.c. */
PL_NODISCARD enum pl_code grpc_h2_new(struct grpc_session *session, struct pl_err *err);
PL_NODISCARD enum pl_code grpc_h2_submit(struct grpc_session *session,
                                         struct grpc_call *call, struct pl_err *err);
/* Resets the stream unless it is closed; nghttp2 forgets the call. */
void grpc_h2_detach(struct grpc_call *call, uint32_t error_code);
/* PL_PROTO or PL_TLS when the bytes of preface, as far as they are there, can not begin
 * an HTTP/2 server's answer. */
PL_NODISCARD enum pl_code grpc_h2_check_preface(const uint8_t *preface, size_t len,
                                                struct pl_err *err);

/* A call's life: grpc_call.c. All of these may be called inside nghttp2. */
void grpc_call_end(struct grpc_call *call, enum grpc_fate fate, const struct pl_err *err);
void grpc_call_data(struct grpc_call *call, struct pl_span data);
void grpc_call_headers(struct grpc_call *call, bool last);
void grpc_call_reset(struct grpc_call *call, uint32_t error_code);
void grpc_call_finish(struct grpc_call *call);
/* Copies a unary call's message, because the read buffer is about to be reused. */
void grpc_call_keep_message(struct grpc_call *call);
/* The fate as far as it is known; dying: bytes that were not written never will be. */
enum grpc_fate grpc_call_fate(const struct grpc_call *call, bool dying);
enum grpc_fate grpc_call_refused(const struct grpc_call *call);
void grpc_call_free(struct grpc_call *call);

#endif
