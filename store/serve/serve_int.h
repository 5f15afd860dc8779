/* A connection has a session of the kv; a call on it is unary, a stream of watches or one
 * of keep-alives. What the kv still owes when its stream has gone finds nobody. */
#ifndef STORE_SERVE_SERVE_INT_H
#define STORE_SERVE_SERVE_INT_H

#include "store/base/arena.h"
#include "store/net/grpc_server.h"
#include "store/serve/message.h"
#include "store/serve/serve.h"

enum {
	SERVE_MESSAGE_MAX = 2 << 20, /* of a request */
	SERVE_ANSWER_MAX = 256 << 20,
	SERVE_WATCHES_MAX = 65536, /* of a stream */
	SERVE_TIMEOUT_MS = 60000,  /* for the kv; clients wait as long as they like */
};

struct serve {
	struct serve_opts opts;
	struct grpc_server *server;
	unsigned sessions;
	bool closing, server_gone;
	void (*closed)(void *ctx);
	void *closed_ctx;
	/* Of one message. */
	struct pl_arena arena;
	struct pl_buf out;
};

struct serve_conn {
	struct serve *serve;
	struct kv *kv;
	struct kv_header last; /* that the kv gave: for what it gives none for */
};

enum call_kind { CALL_UNARY, CALL_WATCH, CALL_KEEP };

struct serve_call {
	enum call_kind kind;
	enum kv_op op;
	struct serve_conn *conn;
	struct grpc_stream *stream; /* NULL: it has gone */
	unsigned pending;           /* what the kv owes: answers, ends of watches */
	bool asked, half;
	struct pl_list watches;
	struct pl_timer progress_notify; /* of progress, for those that want them */
	uint32_t watch_count;
	int64_t last_id;
};

/* -- unary.c ------------------------------------------------------------------ */

void unary_message(struct serve_call *call, struct pl_span message);
/* How an error is said in etcd's words. */
enum grpc_status unary_status(const struct pl_err *err, const char **words);

/* -- streams.c ---------------------------------------------------------------- */

void watch_message(struct serve_call *call, struct pl_span message);
/* For a new stream. */
PL_NODISCARD enum pl_code watch_begin(struct serve_call *call);
/* The stream has gone: nobody wants them any more. */
void watch_drop(struct serve_call *call);
void keep_message(struct serve_call *call, struct pl_span message);

/* Freed when nothing is owed and its stream has gone. */
void call_free_when_done(struct serve_call *call);
/* What stands in serve->out. */
void call_send(struct serve_call *call, enum pl_code code);

#endif
