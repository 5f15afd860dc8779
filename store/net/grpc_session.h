/*
 * The client side of gRPC on one HTTP/2 connection, without the connection:
 * bytes that came in, bytes to send out, calls and their ends.
 *
 * Internal to store/net. No I/O and no clock here: grpc_conn.c drives it over a
 * socket, tests and the fuzzer drive it from memory.
 *
 *   waiting --submit--> open --answer, reset, deadline, cancel--> ended --> gone
 *
 * Calls wait here, not in nghttp2, until the server's SETTINGS have come and a
 * stream is free: what waits can be cancelled, and has certainly not been sent.
 * Nothing calls out from inside a user's call or from inside nghttp2, except
 * on_message of streams; the rest is said by grpc_session_deliver().
 *
 * Sent or not: everything serialised has an offset in the outgoing byte stream.
 * A call has left once more bytes were written than its HEADERS frame's offset.
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

/* Serialised and not yet accepted by the kernel: about this much, then it has
 * to drain; the requests behind it can still be called off unsent. */
enum { GRPC_OUT_HIGH = 256 * 1024 };

struct grpc_session_opts {
	const char *scheme;    /* a literal */
	const char *authority; /* copied */
	size_t message_max;
	uint32_t ping_idle_ms, ping_gap_ms, ping_timeout_ms;
};

struct grpc_session_fns {
	/* There is something to send or to deliver: come soon. May be called from
	 * anywhere, so it must not call back. */
	void (*wake)(void *ctx);
	void (*up)(void *ctx); /* from grpc_session_deliver() */
	uint64_t (*now_ms)(void *ctx);
};

struct grpc_session {
	nghttp2_session *h2;
	void *reserve;            /* memory for nghttp2 when there is none left */
	struct pl_timers *timers; /* borrowed */
	struct grpc_session_fns fns;
	void *ctx;
	const char *scheme;
	char *authority;
	size_t message_max;

	struct pl_list waiting, open, ended; /* each call is in one of them */
	struct pl_list borrowing; /* calls whose message lies in the read buffer */
	struct pl_list sending;   /* calls serialised whole, not yet written */
	uint32_t streams;         /* HTTP/2 streams not closed */
	size_t body_bytes;        /* of requests not yet serialised */

	struct pl_buf out;   /* serialised; the driver takes from here */
	uint64_t serialised; /* all bytes that ever went into out */
	uint64_t written;    /* how many of them the kernel has accepted */
	uint64_t received;

	uint64_t now_ms;     /* of the fill that is running */
	uint64_t timeout_ms; /* the last grpc-timeout and how it is written */
	char timeout[GRPC_TIMEOUT_SIZE];

	struct grpc_ping ping;
	struct pl_timer ping_timer;

	uint8_t preface[9]; /* the first bytes received */
	uint8_t preface_len;
	bool up;           /* SETTINGS received */
	bool up_delivered; /* and said so */
	bool away;         /* GOAWAY: no new calls */
	bool lost;         /* a PING was not answered */
	bool dead;         /* every call is ended, nghttp2 is not called again */
	struct pl_err why; /* of the end that is coming; code PL_OK: not known */
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
	int32_t stream_id; /* 0: not submitted */
	bool unary;
	bool need_leader;
	bool has_message;
	bool deferred; /* nghttp2 waits for more of the body */
	bool closed;   /* its HTTP/2 stream is gone */
	void (*on_message)(void *ctx, struct pl_span message);
	void (*on_end)(void *ctx, const struct grpc_end *end);
	void *ctx;

	struct pl_buf body;   /* unary: kept whole until on_end gives it back */
	size_t body_at;       /* serialised up to here */
	uint64_t head_offset; /* where the HEADERS frame begins */
	uint64_t tail_offset; /* behind the last byte of the body */
	uint64_t left_ms;     /* before its last byte can have left */
	uint64_t sent_ms;     /* the same, once that byte was written */

	struct grpc_decoder decoder;
	struct pl_buf message_copy; /* a loose message that had to be moved */
	struct pl_span message;     /* unary */
	struct grpc_reply reply;

	enum grpc_fate fate;
	struct pl_err err; /* code PL_OK: the server ended it */
	const char *token; /* behind path, in the same memory; NULL: none */
	char timeout[GRPC_TIMEOUT_SIZE];
	char path[];
};

PL_NODISCARD enum pl_code grpc_session_init(struct grpc_session *session,
                                            const struct grpc_session_opts *opts,
                                            struct pl_timers *timers,
                                            const struct grpc_session_fns *fns, void *ctx,
                                            struct pl_err *err);
/* Every call must have been delivered; takes a zeroed session too. */
void grpc_session_done(struct grpc_session *session);

/* Bytes from the server. A failure is final: grpc_session_fail() next. */
PL_NODISCARD enum pl_code grpc_session_feed(struct grpc_session *session,
                                            struct pl_span data, struct pl_err *err);

/* Serialises into session->out up to about GRPC_OUT_HIGH bytes. The driver sends
 * all of out and empties it. A failure is final. */
PL_NODISCARD enum pl_code grpc_session_fill(struct grpc_session *session,
                                            struct pl_err *err);

/* The kernel has accepted so many bytes since the beginning. */
void grpc_session_written(struct grpc_session *session, uint64_t total);

/* Ends every call. Bytes that were not written by now never will be. */
void grpc_session_fail(struct grpc_session *session, const struct pl_err *why);

/* Calls out for what has ended. The last thing a driver does in a turn. */
void grpc_session_deliver(struct grpc_session *session);

/* True when nothing can come of it any more: a GOAWAY came and the calls before
 * it are through, or nghttp2 gave up. *why says so. */
bool grpc_session_finished(const struct grpc_session *session, struct pl_err *why);

PL_NODISCARD enum pl_code grpc_session_call(struct grpc_session *session,
                                            const struct grpc_call_opts *opts,
                                            struct grpc_call **out, struct pl_err *err);
void grpc_session_probe(struct grpc_session *session);
size_t grpc_session_unsent(const struct grpc_session *session);

/* Between the files of the session. */

/* No new calls, for the reason in session->why; what waits is unsent. */
void grpc_session_retire(struct grpc_session *session);

/* nghttp2's side of a session: grpc_h2.c. */
PL_NODISCARD enum pl_code grpc_h2_new(struct grpc_session *session, struct pl_err *err);
PL_NODISCARD enum pl_code grpc_h2_submit(struct grpc_session *session,
                                         struct grpc_call *call, struct pl_err *err);
/* Resets the stream unless it is closed, and forgets the call. */
void grpc_h2_detach(struct grpc_call *call, uint32_t error_code);
/* PL_PROTO unless first, as far as it is there, is an HTTP/2 server's. */
PL_NODISCARD enum pl_code grpc_h2_check_preface(const uint8_t *preface, size_t len,
                                                struct pl_err *err);

/* A call's life: grpc_call.c. All of these may be called inside nghttp2. */
void grpc_call_end(struct grpc_call *call, enum grpc_fate fate, const struct pl_err *err);
void grpc_call_data(struct grpc_call *call, struct pl_span data);
void grpc_call_headers(struct grpc_call *call, bool last);
void grpc_call_reset(struct grpc_call *call, uint32_t error_code);
void grpc_call_finish(struct grpc_call *call);
/* The read buffer is about to be used again. */
void grpc_call_keep_message(struct grpc_call *call);
/* As far as is known now; dying: what is not written never will be. */
enum grpc_fate grpc_call_fate(const struct grpc_call *call, bool dying);
enum grpc_fate grpc_call_refused(const struct grpc_call *call);
void grpc_call_free(struct grpc_call *call);

#endif
