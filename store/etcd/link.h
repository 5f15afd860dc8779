/*
 * A connection that is kept: to one of the endpoints, again and again.
 *
 *   waiting --time--> connecting --up--> up --lost, or link_move()--> waiting
 *
 * Moving away leaves the old connection to its calls: it retires, and is closed
 * when the last of them has ended.
 */
#ifndef STORE_ETCD_LINK_H
#define STORE_ETCD_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "store/base/list.h"
#include "store/base/timers.h"
#include "store/etcd/endpoints.h"
#include "store/net/grpc.h"

/* What the links of one client share. */
struct link_env {
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

struct link;

/* One connection of a link; alive while it has calls or is the current one. */
struct link_conn {
	struct pl_list at; /* in link.retiring, or alone */
	struct link *link;
	struct grpc_conn *grpc;
	unsigned endpoint;
	unsigned calls;
	uint64_t answered_ms; /* when the last answer came */
	bool up;
	bool worked;
	bool retiring;
	bool closing;
};

struct link {
	struct link_env *env;
	const char *name;          /* "calls", "watches", "leases" */
	struct link_conn *current; /* NULL while waiting */
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

PL_NODISCARD enum pl_code link_open(struct link *link, struct link_env *env, int first);

/* The connection for new calls, or NULL. */
struct link_conn *link_up(struct link *link);

/* A call brackets its life with these; hold comes before the call's start. */
void link_hold(struct link_conn *conn);
void link_release(struct link_conn *conn);

/* The server gave a proper answer. */
void link_worked(struct link_conn *conn);

/* Nothing has come back on it since a call left at sent_ms (0: it did not). */
bool link_silent(const struct link_conn *conn, uint64_t sent_ms);

/* This connection's member is of no use now (no leader, no answers): go to
 * another one, if conn still is the current connection. */
void link_move(struct link_conn *conn, const struct pl_err *why);

/* Adds the bytes of the connections that are open. */
void link_traffic(const struct link *link, uint64_t *bytes_in, uint64_t *bytes_out);

/* Ends the calls; on_closed comes later, after the last of them. */
void link_close(struct link *link);

#endif
