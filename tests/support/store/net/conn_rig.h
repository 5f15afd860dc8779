/*
 * Tests only: a grpc_conn to a fake_net, and calls on it whose ends are counted.
 *
 * Invariant: conn_rig_done() checks that each call ended exactly once.
 */
#ifndef TESTS_SUPPORT_STORE_NET_CONN_RIG_H
#define TESTS_SUPPORT_STORE_NET_CONN_RIG_H

#include "store/net/grpc.h"
#include "tests/support/store/net/fake_net.h"

enum { CONN_RIG_CALLS_MAX = 300 };

struct conn_rig_call {
	struct conn_rig *rig;
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
	/* The next step of on_end. */
	bool then_close, then_start;
};

struct conn_rig {
	uv_loop_t loop;
	struct fake_net *net;
	struct grpc_conn *conn; /* NULL: down, or not opened */
	struct conn_rig_call calls[CONN_RIG_CALLS_MAX];
	unsigned call_count, live;
	unsigned ups, downs;
	struct pl_err why; /* reason of on_down, or why opening failed */
	bool close_at_up, close_when_idle;
};

/* Starts the loop and the server; conn_rig_open() opens the connection and fills in host,
 * port and limits where they are zero. */
void conn_rig_init(struct conn_rig *rig, const struct fake_net_opts *net);
PL_NODISCARD enum pl_code conn_rig_open(struct conn_rig *rig,
                                        const struct grpc_conn_opts *opts);
struct conn_rig_call *conn_rig_call(struct conn_rig *rig, enum fake_act act, size_t len);
void conn_rig_close(struct conn_rig *rig);

/* Runs until the connection is down. */
void conn_rig_run(struct conn_rig *rig);
/* Runs until each call that was started has ended, or the connection is down. */
void conn_rig_run_calls(struct conn_rig *rig);

/* Closes the server, runs the loop until it is empty, checks that no handle is left and
 * that each call ended once. */
void conn_rig_done(struct conn_rig *rig);

#endif
