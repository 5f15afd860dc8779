/*
 * A connection that is kept: to one of the endpoints, again and again.
 *
 *   waiting --time--> connecting --up--> up --lost, or channel_move()--> waiting
 *
 * Moving away leaves the old connection to its calls: it retires, and is closed
 * when the last of them has ended.
 */
#ifndef STORE_ETCD_CHANNEL_H
#define STORE_ETCD_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/list.h"
#include "store/base/timers.h"
#include "store/etcd/endpoints.h"
#include "store/net/grpc.h"

/* What the links of one client share. */
struct channel_env {
	uv_loop_t *loop;
	struct pl_timers *timers;
	struct endpoints *endpoints;
	struct tls *tls; /* NULL: clear text */
	struct pl_rng *rng;
	uint32_t connect_timeout_ms;
	size_t message_max;
	uint64_t reconnects;
	uint64_t failovers;
	uint64_t bytes_in; /* of connections that are gone */
	uint64_t bytes_out;
};

struct channel;

/* One connection of a link; alive while it has calls or is the current one. */
struct channel_conn {
	struct pl_list at; /* in link.retiring, or alone */
	struct channel *channel;
	struct grpc_conn *grpc;
	unsigned endpoint;
	unsigned calls;
	uint64_t answered_ms; /* when the last answer came */
	bool up;
	bool worked;
	bool retiring;
	bool closing;
};

struct channel {
	struct channel_env *env;
	const char *name;             /* "calls", "watches", "leases" */
	struct channel_conn *current; /* NULL while waiting */
	struct pl_list retiring;
	struct pl_timer timer;
	int last_endpoint; /* -1: none yet */
	bool closing;
	/* Callbacks: may start calls, may close the link. */
	void (*on_up)(void *ctx);
	void (*on_down)(void *ctx, const struct pl_err *err);
	void (*on_closed)(void *ctx);
	void *ctx;
};

PL_NODISCARD enum pl_code channel_open(struct channel *channel, struct channel_env *env,
                                       int first);

/* The connection for new calls, or NULL. */
struct channel_conn *channel_up(struct channel *channel);

/* A call brackets its life with these; hold comes before the call's start. */
void channel_hold(struct channel_conn *conn);
void channel_release(struct channel_conn *conn);

/* The server gave a proper answer. */
void channel_mark_ok(struct channel_conn *conn);

/* Nothing has come back on it since a call left at sent_ms (0: it did not). */
bool channel_is_silent(const struct channel_conn *conn, uint64_t sent_ms);

/* This connection's member is of no use now (no leader, no answers): go to
 * another one, if conn still is the current connection. */
void channel_move(struct channel_conn *conn, const struct pl_err *why);

/* Adds the bytes of the connections that are open. */
void channel_traffic(const struct channel *channel, uint64_t *bytes_in,
                     uint64_t *bytes_out);

/* Ends the calls; on_closed comes later, after the last of them. */
void channel_close(struct channel *channel);

#endif
