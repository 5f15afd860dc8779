/* The parts of the server. A connection has a session of the kv. A call on it is unary, a
 * stream of watches, or a stream of keep-alives. Answers that the kv still owes when the
 * stream has gone are dropped. */
#ifndef STORE_SERVE_SERVE_INT_H
#define STORE_SERVE_SERVE_INT_H

#include "store/base/arena.h"
#include "store/net/grpc_server.h"
#include "store/serve/message.h"
#include "store/serve/serve.h"

enum {
	SERVE_MESSAGE_MAX = 2 << 20, /* bytes of a request */
	SERVE_ANSWER_MAX = 256 << 20,
	SERVE_WATCHES_MAX = 65536, /* watches of a stream */
	SERVE_TIMEOUT_MS = 60000,  /* for the kv; clients wait as long as they like */
};

/* OPEN --serve_close--> CLOSING --the server has closed--> GONE */
enum serve_state {
	SERVE_OPEN,
	SERVE_CLOSING,
	SERVE_GONE, /* only sessions are left to be closed */
};

struct serve {
	struct serve_opts opts;
	struct grpc_server *server;
	unsigned sessions;
	enum serve_state state;
	void (*closed)(void *ctx);
	void *closed_ctx;
	/* For one message at a time. */
	struct pl_arena arena;
	struct pl_buf out;
};

struct serve_conn {
	struct serve *serve;
	struct kv *kv;
	struct kv_header last; /* the newest header, for answers without their own */
};

enum call_kind { CALL_UNARY, CALL_WATCH, CALL_KEEP };

struct serve_call {
	enum call_kind kind;
	enum kv_op op;
	struct serve_conn *conn;
	struct grpc_stream *stream; /* NULL: the stream has gone */
	unsigned pending;           /* answers and ends of watches that the kv owes */
	bool asked, half;
	struct pl_list watches;
	struct pl_timer progress_notify; /* of the progress that some watches want */
	uint32_t watch_count;
	int64_t last_id;
};

/* -- unary.c ------------------------------------------------------------------ */

void unary_message(struct serve_call *call, struct pl_span message);
/* The status and the words with which etcd reports such an error. */
enum grpc_status unary_status(const struct pl_err *err, const char **words);

/* -- streams.c ---------------------------------------------------------------- */

void watch_message(struct serve_call *call, struct pl_span message);
/* Prepares a new stream. */
PL_NODISCARD enum pl_code watch_begin(struct serve_call *call);
/* Cancels the watches of a stream that has gone. */
void watch_drop(struct serve_call *call);
void keep_message(struct serve_call *call, struct pl_span message);

/* Frees the call if nothing is owed and its stream has gone. */
void call_free_when_done(struct serve_call *call);
/* Sends what is in serve->out, or ends the stream if code is an error. */
void call_send(struct serve_call *call, enum pl_code code);

#endif
