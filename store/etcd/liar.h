/*
 * Tests only: a server on a port of the loopback interface that answers as etcd
 * would, or as the test says. Its memory is its own: injected faults do not reach
 * it.
 */
#ifndef STORE_ETCD_LIAR_H
#define STORE_ETCD_LIAR_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/list.h"
#include "store/base/span.h"

struct liar;
struct liar_call;

/* A message of a request came. True: the test has seen to it (silence counts);
 * false: answer it as etcd would. */
typedef bool liar_fn(struct liar *liar, struct liar_call *call, struct pl_span message);

struct liar {
	uv_loop_t *loop;
	uv_tcp_t listener;
	struct pl_list conns;
	char endpoint[40]; /* "http://127.0.0.1:40123" */
	unsigned handles;  /* close callbacks that libuv owes */
	liar_fn *fn;       /* NULL: honest throughout */
	bool mute;         /* new connections hear nothing, not even HTTP/2 */
	void *ctx;
	/* What it has seen. */
	unsigned connections, messages, streams;
	unsigned tokens; /* given out: "token.1", "token.2", ... */
	/* What it answers with. */
	int64_t revision;
	int64_t watch_id;
	size_t txn_len; /* of the first transaction: longer ones are refused */
};

void liar_up(struct liar *liar, uv_loop_t *loop);
/* Closes its connections, and runs the loop until they are gone. */
void liar_down(struct liar *liar);
/* Every connection, as a server that dies. */
void liar_cut(struct liar *liar);
/* GOAWAY on every connection: nothing behind last was looked at. */
void liar_goaway(struct liar *liar, int32_t last);

/* "/etcdserverpb.KV/Put" */
bool liar_is(const struct liar_call *call, const char *method);
int32_t liar_stream(const struct liar_call *call);
/* The token that the call was opened with; "": none. */
const char *liar_token(const struct liar_call *call);

/* How a call is answered. What is said outside of fn leaves with liar_flush(). */
void liar_flush(struct liar *liar);
void liar_say(struct liar_call *call, struct pl_span message);
void liar_raw(struct liar_call *call, struct pl_span bytes); /* unframed */
void liar_end(struct liar_call *call, unsigned status, const char *text);
void liar_http(struct liar_call *call, const char *status, const char *type);
void liar_reset(struct liar_call *call, uint32_t error_code);

/* As etcd would. */
void liar_honest(struct liar_call *call, struct pl_span message);

/* Messages: "header", and what follows it. Returned in a static buffer. */
struct pl_span liar_header(int64_t revision);
struct pl_span liar_created(int64_t revision, int64_t watch_id);
/* A creation that is refused: the watch gets no id, and the stream stays open. */
struct pl_span liar_refused(int64_t revision, const char *reason);
struct pl_span liar_event(int64_t revision, int64_t watch_id, const char *key);
struct pl_span liar_kept(int64_t revision, int64_t lease, int64_t ttl_s);

#endif
