/*
 * Tests only: a grpc_conn to a fake_net, what it said, and calls on it whose
 * ends are counted.
 */
#ifndef STORE_NET_FAKE_PEER_H
#define STORE_NET_FAKE_PEER_H

#include "store/net/fake_net.h"
#include "store/net/grpc.h"

enum { PEER_CALLS_MAX = 300 };

struct peer_call {
	struct peer *peer;
	struct grpc_call *call; /* NULL: ended, or not started */
	enum fake_act act;
	unsigned number;
	unsigned ended, messages;
	enum grpc_fate fate;
	enum pl_code code;
	uint32_t status;
	uint64_t sent_ms;
	size_t message_len;
	char text[240];
	/* From on_end: what to do next. */
	bool then_close, then_start;
};

struct peer {
	uv_loop_t loop;
	struct fake_net *net;
	struct grpc_conn *conn; /* NULL: down, or not opened */
	struct peer_call calls[PEER_CALLS_MAX];
	unsigned call_count, live;
	unsigned ups, downs;
	struct pl_err why; /* of on_down, or of opening */
	bool close_at_up, close_when_idle;
};

/* The server and the loop, and a connection when conn is not NULL: host, port
 * and limits are filled in where they are zero. */
void peer_init(struct peer *peer, const struct fake_net_opts *net);
PL_NODISCARD enum pl_code peer_open(struct peer *peer, const struct grpc_conn_opts *opts);
struct peer_call *peer_call(struct peer *peer, enum fake_act act, size_t len);
void peer_close(struct peer *peer);

/* Runs until the connection is down. */
void peer_run(struct peer *peer);
/* Runs until each call that was started has ended, or the connection is down. */
void peer_run_calls(struct peer *peer);

/* Closes the server, runs the loop dry, checks that nothing is left and that
 * each call ended once. */
void peer_done(struct peer *peer);

#endif
