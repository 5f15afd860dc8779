/*
 * Tests only: a server on a port of the loopback interface that answers as etcd would, or
 * as the test says.
 *
 * Invariant: its memory is its own, so injected faults do not reach it.
 */
#ifndef TESTS_SUPPORT_STORE_ETCD_FAULTY_ETCD_H
#define TESTS_SUPPORT_STORE_ETCD_FAULTY_ETCD_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/list.h"
#include "store/base/span.h"

struct faulty_etcd;
struct faulty_etcd_call;

/* Called for each message of a request. True: the test has handled it (or leaves it
 * unanswered); false: it is answered as etcd would. */
typedef bool faulty_etcd_fn(struct faulty_etcd *faulty, struct faulty_etcd_call *call,
                            struct pl_span message);

struct faulty_etcd {
	uv_loop_t *loop;
	uv_tcp_t listener;
	struct pl_list conns;
	char endpoint[40];  /* "http://127.0.0.1:40123" */
	unsigned handles;   /* close callbacks that libuv owes */
	faulty_etcd_fn *fn; /* NULL: every request is answered as etcd would */
	bool mute;          /* new connections get no bytes, not even HTTP/2's */
	void *ctx;
	/* Counters of what it received. */
	unsigned connections, messages, streams;
	unsigned tokens; /* tokens issued: "token.1", "token.2", ... */
	/* Values of its answers. */
	int64_t revision;
	int64_t watch_id;
	size_t txn_len; /* size of the first transaction: longer ones are refused */
};

void faulty_etcd_start(struct faulty_etcd *faulty, uv_loop_t *loop);
/* Closes its connections and runs the loop until they are gone. */
void faulty_etcd_stop(struct faulty_etcd *faulty);
/* Cuts every connection, as a server that dies. */
void faulty_etcd_cut(struct faulty_etcd *faulty);
/* Sends GOAWAY on every connection: streams after last were not processed. */
void faulty_etcd_goaway(struct faulty_etcd *faulty, int32_t last);

/* Whether the call's method is method, such as "Put" of "/etcdserverpb.KV/Put". */
bool faulty_etcd_is(const struct faulty_etcd_call *call, const char *method);
int32_t faulty_etcd_stream(const struct faulty_etcd_call *call);
/* The token that the call was opened with; "": none. */
const char *faulty_etcd_token(const struct faulty_etcd_call *call);

/* Answers to a call. An answer that is given outside of fn leaves with
 * faulty_etcd_flush(). */
void faulty_etcd_flush(struct faulty_etcd *faulty);
void faulty_etcd_send(struct faulty_etcd_call *call, struct pl_span message);
void faulty_etcd_raw(struct faulty_etcd_call *call, struct pl_span bytes); /* unframed */
void faulty_etcd_end(struct faulty_etcd_call *call, unsigned status, const char *text);
void faulty_etcd_http(struct faulty_etcd_call *call, const char *status,
                      const char *type);
void faulty_etcd_reset(struct faulty_etcd_call *call, uint32_t error_code);

/* Answers the message as etcd would. */
void faulty_etcd_answer(struct faulty_etcd_call *call, struct pl_span message);

/* Messages of etcd, returned in a static buffer. */
struct pl_span faulty_etcd_header(int64_t revision);
struct pl_span faulty_etcd_created(int64_t revision, int64_t watch_id);
/* The answer to a refused creation: the watch gets no id, and the stream stays open. */
struct pl_span faulty_etcd_refused(int64_t revision, const char *reason);
struct pl_span faulty_etcd_event(int64_t revision, int64_t watch_id, const char *key);
struct pl_span faulty_etcd_keepalive(int64_t revision, int64_t lease, int64_t ttl_s);

#endif
