#include "store/etcd/link.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"

enum {
	/* etcd's own floor for clear text is 5 s; one more for its clock. */
	PING_GAP_MS = 6000,
	PING_IDLE_MS = 6000,
	PING_TIMEOUT_MS = 2000,
};

static void link_maybe_closed(struct link *link)
{
	if (!link->closing || link->current != NULL || !pl_list_empty(&link->retiring))
		return;
	pl_timer_done(&link->timer);
	link->on_closed(link->ctx);
}

static void conn_close(struct link_conn *conn)
{
	if (conn->closing)
		return;
	conn->closing = true;
	grpc_conn_close(conn->grpc);
}

/* Only ever the next one when there is no other. */
static void link_wait(struct link *link)
{
	uint64_t at_ms = 0;

	if (link->closing)
		return;
	(void)endpoints_pick(link->env->endpoints, link->last_endpoint, pl_clock_ms(),
	                     &at_ms);
	pl_timer_set(&link->timer, at_ms);
}

static void on_conn_up(void *ctx)
{
	struct link_conn *conn = ctx;
	struct link *link = conn->link;

	conn->up = true;
	if (link->current == conn && !link->closing)
		link->on_up(link->ctx);
}

static void on_conn_down(void *ctx, const struct pl_err *err)
{
	struct link_conn *conn = ctx;
	struct link *link = conn->link;
	struct grpc_traffic traffic = grpc_conn_traffic(conn->grpc);
	bool was_current = link->current == conn;

	PL_ASSERT(conn->calls == 0);
	link->env->bytes_in += traffic.bytes_in;
	link->env->bytes_out += traffic.bytes_out;
	if (was_current) {
		link->current = NULL;
		link->env->reconnects++;
		if (!link->closing)
			endpoints_failed(link->env->endpoints, conn->endpoint, err,
			                 pl_clock_ms(), link->env->rng);
		link_wait(link);
	}
	pl_list_del(&conn->at);
	free(conn);
	if (was_current && !link->closing)
		link->on_down(link->ctx, err);
	else
		link_maybe_closed(link);
}

static const struct grpc_conn_fns conn_fns = {.on_up = on_conn_up,
                                              .on_down = on_conn_down};

static enum pl_code conn_open(struct link *link, unsigned which, struct pl_err *err)
{
	const struct endpoint *endpoint = &link->env->endpoints->at[which];
	struct grpc_conn_opts opts = {
		.host = endpoint->host,
		.port = endpoint->port,
		.tls = link->env->tls,
		.connect_timeout_ms = link->env->connect_timeout_ms,
		.ping_idle_ms = PING_IDLE_MS,
		.ping_gap_ms = PING_GAP_MS,
		.ping_timeout_ms = PING_TIMEOUT_MS,
		.message_max = link->env->message_max,
	};
	struct link_conn *conn = pl_calloc(1, sizeof *conn);
	enum pl_code code;

	if (conn == NULL)
		return pl_err_set(err, PL_NOMEM, "connection for %s", link->name);
	pl_list_init(&conn->at);
	conn->link = link;
	conn->endpoint = which;
	code = grpc_conn_open(link->env->loop, &opts, &conn_fns, conn, &conn->grpc, err);
	if (code != PL_OK) {
		free(conn);
		return code;
	}
	link->current = conn;
	return PL_OK;
}

static void link_connect(struct link *link)
{
	uint64_t now = pl_clock_ms(), at_ms;
	unsigned which =
		endpoints_pick(link->env->endpoints, link->last_endpoint, now, &at_ms);
	struct pl_err err = {0};

	PL_ASSERT(link->current == NULL && !link->closing);
	if (at_ms > now) {
		pl_timer_set(&link->timer, at_ms);
		return;
	}
	if (link->last_endpoint >= 0 && which != (unsigned)link->last_endpoint)
		link->env->failovers++;
	if (conn_open(link, which, &err) == PL_OK) {
		/* Picking starts behind the last one, so a lone failure moves on. */
		link->last_endpoint = (int)which;
		return;
	}
	endpoints_failed(link->env->endpoints, which, &err, now, link->env->rng);
	link_wait(link);
	link->on_down(link->ctx, &err);
}

/* The server said that it is going away: others take the new calls. */
static void link_leave(struct link_conn *conn)
{
	const struct endpoint *endpoint = &conn->link->env->endpoints->at[conn->endpoint];
	struct pl_err why = {0};

	pl_err_set(&why, PL_UNAVAIL, "%s:%u: the server is going away", endpoint->host,
	           endpoint->port);
	link_move(conn, &why);
}

static void on_timer(void *ctx)
{
	struct link *link = ctx;

	if (link->closing)
		link_maybe_closed(link);
	else if (link->current == NULL)
		link_connect(link);
	else if (link->current->up && !grpc_conn_usable(link->current->grpc))
		link_leave(link->current);
}

enum pl_code link_open(struct link *link, struct link_env *env, int first)
{
	enum pl_code code = pl_timer_init(&link->timer, env->timers, on_timer, link);

	if (code != PL_OK)
		return code;
	link->env = env;
	pl_list_init(&link->retiring);
	link->current = NULL;
	link->closing = false;
	link->last_endpoint = first;
	pl_timer_set(&link->timer, 0);
	return PL_OK;
}

struct link_conn *link_up(struct link *link)
{
	struct link_conn *conn = link->current;

	if (conn == NULL || !conn->up || conn->closing)
		return NULL;
	if (!grpc_conn_usable(conn->grpc)) {
		/* Either it is down and says so in a moment, or it is going away
		 * politely: looked at on a stack of its own. */
		if (!pl_timer_is_set(&link->timer))
			pl_timer_set(&link->timer, pl_clock_ms());
		return NULL;
	}
	return conn;
}

void link_hold(struct link_conn *conn)
{
	conn->calls++;
}

void link_release(struct link_conn *conn)
{
	PL_ASSERT(conn->calls > 0);
	if (--conn->calls == 0 && conn->retiring)
		conn_close(conn);
}

bool link_silent(const struct link_conn *conn, uint64_t sent_ms)
{
	return sent_ms != 0 && conn->answered_ms <= sent_ms;
}

void link_worked(struct link_conn *conn)
{
	conn->answered_ms = pl_clock_ms();
	if (conn->worked)
		return;
	conn->worked = true;
	endpoints_worked(conn->link->env->endpoints, conn->endpoint);
}

void link_move(struct link_conn *conn, const struct pl_err *why)
{
	struct link *link = conn->link;

	if (link->current != conn || link->closing || conn->closing)
		return;
	endpoints_failed(link->env->endpoints, conn->endpoint, why, pl_clock_ms(),
	                 link->env->rng);
	conn->retiring = true;
	link->current = NULL;
	pl_list_add_tail(&link->retiring, &conn->at);
	if (conn->calls == 0)
		conn_close(conn);
	link_wait(link);
}

static void conn_traffic(const struct link_conn *conn, uint64_t *bytes_in,
                         uint64_t *bytes_out)
{
	struct grpc_traffic traffic = grpc_conn_traffic(conn->grpc);

	*bytes_in += traffic.bytes_in;
	*bytes_out += traffic.bytes_out;
}

void link_traffic(const struct link *link, uint64_t *bytes_in, uint64_t *bytes_out)
{
	if (link->current != NULL)
		conn_traffic(link->current, bytes_in, bytes_out);
	PL_LIST_EACH (at, &link->retiring)
		conn_traffic(PL_LIST_ITEM(at, const struct link_conn, at), bytes_in,
		             bytes_out);
}

void link_close(struct link *link)
{
	PL_ASSERT(!link->closing);
	link->closing = true;
	if (link->current != NULL)
		conn_close(link->current);
	PL_LIST_EACH (at, &link->retiring)
		conn_close(PL_LIST_ITEM(at, struct link_conn, at));
	/* Even with nothing open, on_closed comes later. */
	pl_timer_set(&link->timer, 0);
}
