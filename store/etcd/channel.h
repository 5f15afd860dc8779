/*
 * A channel: one connection to one of the endpoints, re-made for as long as the channel
 * is open.
 *
 *   waiting --time--> connecting --up--> up --lost, or channel_move()--> waiting
 *
 * A connection of it:
 *
 *   CONNECTING --> UP --channel_move(), with calls--> RETIRING --last call--> CLOSING
 *        \----------\-------channel_move(), channel_close()---------------------^
 *
 * Invariants: at most one connection takes new calls. Moving away leaves the old
 * connection to its calls; it is closed when the last of them has ended. on_closed comes
 * once, after every connection is gone.
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

/* The state that the channels of one client share. */
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
	uint64_t bytes_in; /* traffic of connections that are gone */
	uint64_t bytes_out;
};

struct channel;

enum channel_conn_state {
	CHANNEL_CONN_CONNECTING,
	CHANNEL_CONN_UP,
	CHANNEL_CONN_RETIRING, /* not current any more, its calls go on */
	CHANNEL_CONN_CLOSING,
};

/* A connection of a channel; it lives while it is current or has calls. */
struct channel_conn {
	struct pl_list at; /* in channel.retiring, or in no list */
	struct channel *channel;
	struct grpc_conn *grpc;
	unsigned endpoint;
	unsigned calls;
	uint64_t answered_ms; /* time of the last answer */
	enum channel_conn_state state;
	bool worked; /* an answer came */
};

struct channel {
	struct channel_env *env;
	const char *name;             /* "calls", "watches", "leases" */
	struct channel_conn *current; /* NULL while the channel waits */
	struct pl_list retiring;
	struct pl_timer timer;
	/* index of the endpoint of the last connection; -1: none yet */
	int last_endpoint;
	bool closing;
	/* The callbacks may start calls and may close the channel. */
	void (*on_up)(void *ctx);
	void (*on_down)(void *ctx, const struct pl_err *err);
	void (*on_closed)(void *ctx);
	void *ctx;
};

PL_NODISCARD enum pl_code channel_open(struct channel *channel, struct channel_env *env,
                                       int first);

/* The connection for new calls, or NULL while there is none. */
struct channel_conn *channel_up(struct channel *channel);

/* A call calls hold before its start and release at its end; the connection stays until
 * then. */
void channel_hold(struct channel_conn *conn);
void channel_release(struct channel_conn *conn);

/* The server gave a valid answer. */
void channel_mark_ok(struct channel_conn *conn);

/* True when no answer came on the connection since a call left at sent_ms (0: it did not
 * leave). */
bool channel_is_silent(const struct channel_conn *conn, uint64_t sent_ms);

/* The connection's member does not serve now (no leader, no answers): moves to another
 * member, if conn is still the current connection. */
void channel_move(struct channel_conn *conn, const struct pl_err *why);

/* Adds the bytes of the open connections to *bytes_in and *bytes_out. */
void channel_traffic(const struct channel *channel, uint64_t *bytes_in,
                     uint64_t *bytes_out);

/* Ends the calls; on_closed comes later, after the last of them. */
void channel_close(struct channel *channel);

#endif
