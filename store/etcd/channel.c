#include "store/etcd/channel.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"

enum {
	/* etcd allows a PING every 5 s in clear text; one more second covers its clock.
	 */
	PING_GAP_MS = 6000,
	PING_IDLE_MS = 6000,
	PING_TIMEOUT_MS = 2000,
};

static void channel_maybe_close(struct channel *channel)
{
	if (!channel->closing || channel->current != NULL ||
	    !pl_list_empty(&channel->retiring))
		return;
	pl_timer_done(&channel->timer);
	channel->on_closed(channel->ctx);
}

static void conn_close(struct channel_conn *conn)
{
	if (conn->state == CHANNEL_CONN_CLOSING)
		return;
	conn->state = CHANNEL_CONN_CLOSING;
	grpc_conn_close(conn->grpc);
}

/* With a single endpoint this is the same one again. */
static void channel_backoff(struct channel *channel)
{
	uint64_t at_ms = 0;

	if (channel->closing)
		return;
	(void)endpoints_pick(channel->env->endpoints, channel->last_endpoint,
	                     pl_clock_ms(), &at_ms);
	pl_timer_set(&channel->timer, at_ms);
}

static void on_conn_up(void *ctx)
{
	struct channel_conn *conn = ctx;
	struct channel *channel = conn->channel;

	if (conn->state == CHANNEL_CONN_CONNECTING)
		conn->state = CHANNEL_CONN_UP;
	if (channel->current == conn && !channel->closing)
		channel->on_up(channel->ctx);
}

static void on_conn_down(void *ctx, const struct pl_err *err)
{
	struct channel_conn *conn = ctx;
	struct channel *channel = conn->channel;
	struct grpc_traffic traffic = grpc_conn_traffic(conn->grpc);
	bool was_current = channel->current == conn;

	PL_ASSERT(conn->calls == 0);
	channel->env->bytes_in += traffic.bytes_in;
	channel->env->bytes_out += traffic.bytes_out;
	if (was_current) {
		channel->current = NULL;
		channel->env->reconnects++;
		if (!channel->closing)
			endpoints_failed(channel->env->endpoints, conn->endpoint, err,
			                 pl_clock_ms(), channel->env->rng);
		channel_backoff(channel);
	}
	pl_list_del(&conn->at);
	free(conn);
	if (was_current && !channel->closing)
		channel->on_down(channel->ctx, err);
	else
		channel_maybe_close(channel);
}

static const struct grpc_conn_fns conn_fns = {.on_up = on_conn_up,
                                              .on_down = on_conn_down};

static enum pl_code conn_open(struct channel *channel, unsigned which, struct pl_err *err)
{
	const struct endpoint *endpoint = &channel->env->endpoints->at[which];
	struct grpc_conn_opts opts = {
		.host = endpoint->host,
		.port = endpoint->port,
		.tls = channel->env->tls,
		.connect_timeout_ms = channel->env->connect_timeout_ms,
		.ping_idle_ms = PING_IDLE_MS,
		.ping_gap_ms = PING_GAP_MS,
		.ping_timeout_ms = PING_TIMEOUT_MS,
		.message_max = channel->env->message_max,
	};
	struct channel_conn *conn = pl_calloc(1, sizeof *conn);
	enum pl_code code;

	if (conn == NULL)
		return pl_err_set(err, PL_NOMEM, "connection for %s", channel->name);
	pl_list_init(&conn->at);
	conn->channel = channel;
	conn->endpoint = which;
	code = grpc_conn_open(channel->env->loop, &opts, &conn_fns, conn, &conn->grpc,
	                      err);
	if (code != PL_OK) {
		free(conn);
		return code;
	}
	channel->current = conn;
	return PL_OK;
}

static void channel_connect(struct channel *channel)
{
	uint64_t now = pl_clock_ms(), at_ms;
	unsigned which = endpoints_pick(channel->env->endpoints, channel->last_endpoint,
	                                now, &at_ms);
	struct pl_err err = {0};

	PL_ASSERT(channel->current == NULL && !channel->closing);
	if (at_ms > now) {
		pl_timer_set(&channel->timer, at_ms);
		return;
	}
	if (channel->last_endpoint >= 0 && which != (unsigned)channel->last_endpoint)
		channel->env->failovers++;
	if (conn_open(channel, which, &err) == PL_OK) {
		/* Picking starts after the last endpoint, so a single failure moves on.
		 */
		channel->last_endpoint = (int)which;
		return;
	}
	endpoints_failed(channel->env->endpoints, which, &err, now, channel->env->rng);
	channel_backoff(channel);
	channel->on_down(channel->ctx, &err);
}

/* The server sent GOAWAY: other members get the new calls. */
static void channel_retire_conn(struct channel_conn *conn)
{
	const struct endpoint *endpoint =
		&conn->channel->env->endpoints->at[conn->endpoint];
	struct pl_err why = {0};

	pl_err_set(&why, PL_UNAVAIL, "%s:%u: the server is going away", endpoint->host,
	           endpoint->port);
	channel_move(conn, &why);
}

static void on_timer(void *ctx)
{
	struct channel *channel = ctx;

	if (channel->closing)
		channel_maybe_close(channel);
	else if (channel->current == NULL)
		channel_connect(channel);
	else if (channel->current->state == CHANNEL_CONN_UP &&
	         !grpc_conn_usable(channel->current->grpc))
		channel_retire_conn(channel->current);
}

enum pl_code channel_open(struct channel *channel, struct channel_env *env, int first)
{
	enum pl_code code =
		pl_timer_init(&channel->timer, env->timers, on_timer, channel);

	if (code != PL_OK)
		return code;
	channel->env = env;
	pl_list_init(&channel->retiring);
	channel->current = NULL;
	channel->closing = false;
	channel->last_endpoint = first;
	pl_timer_set(&channel->timer, 0);
	return PL_OK;
}

struct channel_conn *channel_up(struct channel *channel)
{
	struct channel_conn *conn = channel->current;

	if (conn == NULL || conn->state != CHANNEL_CONN_UP)
		return NULL;
	if (!grpc_conn_usable(conn->grpc)) {
		/* The connection is down or going away. on_timer() looks at it from the
		 * loop. */
		if (!pl_timer_is_set(&channel->timer))
			pl_timer_set(&channel->timer, pl_clock_ms());
		return NULL;
	}
	return conn;
}

void channel_hold(struct channel_conn *conn)
{
	conn->calls++;
}

void channel_release(struct channel_conn *conn)
{
	PL_ASSERT(conn->calls > 0);
	if (--conn->calls == 0 && conn->state == CHANNEL_CONN_RETIRING)
		conn_close(conn);
}

bool channel_is_silent(const struct channel_conn *conn, uint64_t sent_ms)
{
	return sent_ms != 0 && conn->answered_ms <= sent_ms;
}

void channel_mark_ok(struct channel_conn *conn)
{
	conn->answered_ms = pl_clock_ms();
	if (conn->worked)
		return;
	conn->worked = true;
	endpoints_worked(conn->channel->env->endpoints, conn->endpoint);
}

void channel_move(struct channel_conn *conn, const struct pl_err *why)
{
	struct channel *channel = conn->channel;

	if (channel->current != conn || channel->closing)
		return;
	PL_ASSERT(conn->state <= CHANNEL_CONN_UP);
	endpoints_failed(channel->env->endpoints, conn->endpoint, why, pl_clock_ms(),
	                 channel->env->rng);
	conn->state = CHANNEL_CONN_RETIRING;
	channel->current = NULL;
	pl_list_add_tail(&channel->retiring, &conn->at);
	if (conn->calls == 0)
		conn_close(conn);
	channel_backoff(channel);
}

static void conn_traffic(const struct channel_conn *conn, uint64_t *bytes_in,
                         uint64_t *bytes_out)
{
	struct grpc_traffic traffic = grpc_conn_traffic(conn->grpc);

	*bytes_in += traffic.bytes_in;
	*bytes_out += traffic.bytes_out;
}

void channel_traffic(const struct channel *channel, uint64_t *bytes_in,
                     uint64_t *bytes_out)
{
	if (channel->current != NULL)
		conn_traffic(channel->current, bytes_in, bytes_out);
	PL_LIST_EACH (at, &channel->retiring)
		conn_traffic(PL_LIST_ITEM(at, const struct channel_conn, at), bytes_in,
		             bytes_out);
}

void channel_close(struct channel *channel)
{
	PL_ASSERT(!channel->closing);
	channel->closing = true;
	if (channel->current != NULL)
		conn_close(channel->current);
	PL_LIST_EACH (at, &channel->retiring)
		conn_close(PL_LIST_ITEM(at, struct channel_conn, at));
	/* on_closed comes later even when nothing is open. */
	pl_timer_set(&channel->timer, 0);
}
