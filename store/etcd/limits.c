/*
 * Finds out the server's limits without touching a key.
 *
 *   UNKNOWN --a connection--> ASKING --answered--> KNOWN
 *      ^                        |
 *      \------ no answer -------/   calls go without (open), asked again later
 *
 * Bytes: a frame that claims to be 2 GiB long is refused on its five byte prefix, with
 * the limit in the text. gRPC's limit is etcd's --max-request-bytes plus 512 KiB.
 *
 * Operations: a transaction of n compares and no operations is answered from memory, or
 * refused for its length before anything else is checked (permissions included). n
 * doubles until it is refused, then the gap is halved. The usual limits are powers of
 * two, so the first value above one is tried first.
 *
 * The first calls wait for the answers, so that no request that is too large leaves. They
 * wait for WAIT_MS at most, and not at all once a server has answered with anything else:
 * then calls are sent without known limits and report the server's own error, and the
 * probe is repeated later.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/etcd/client.h"
#include "store/etcd/codec.h"
#include "store/etcd/frame.h"

enum {
	OPS_FIRST = 128,
	OPS_MAX = 16384, /* larger transactions gain nothing */
	GRPC_OVERHEAD_BYTES = 512 * 1024,
	BYTES_DEFAULT = 3 * 512 * 1024,
	OPS_DEFAULT = 128,
	/* Bytes that etcd adds to a request before it measures it. */
	WRAP_BYTES = 128,
	WAIT_MS = 1000, /* time that calls wait for the probe */
	AGAIN_MS = 500, /* pause before the next probe, doubled with each failure */
	AGAIN_DOUBLED_MAX = 7,
};

static void ask_ops(struct client *client, struct channel_conn *conn);

static void limits_learned(struct client *client)
{
	struct limits *limits = &client->limits;

	limits->found.txn_ops = limits->fits == 0 ? OPS_DEFAULT : limits->fits;
	if (limits->found.request_bytes == 0)
		limits->found.request_bytes = BYTES_DEFAULT;
	limits->state = LIMITS_KNOWN;
	pl_timer_stop(&limits->timer);
	client_pump(client);
}

/* This does not pump, because the pump may call it. */
static void limits_failed(struct client *client)
{
	struct limits *limits = &client->limits;
	unsigned doubled = limits->failures < AGAIN_DOUBLED_MAX ? limits->failures
	                                                        : AGAIN_DOUBLED_MAX;

	limits->state = LIMITS_UNKNOWN;
	limits->open = true;
	limits->failures++;
	limits->again_ms = pl_clock_ms() + ((uint64_t)AGAIN_MS << doubled);
}

void limits_interrupted(struct client *client)
{
	if (client->limits.state == LIMITS_ASKING)
		limits_failed(client);
}

static void on_timer(void *ctx)
{
	struct client *client = ctx;

	client->limits.open = true;
	client_pump(client);
}

static uint32_t ops_next(const struct limits *limits)
{
	if (limits->refused == 0)
		return limits->fits == 0 ? OPS_FIRST : limits->fits * 2;
	if (limits->refused == limits->fits * 2 && limits->fits > 0)
		return limits->fits + 1;
	return limits->fits + (limits->refused - limits->fits) / 2;
}

/* The length is checked before the user, so these errors mean that it fits. */
static bool answer_fits(const struct grpc_end *end, enum pl_code code)
{
	return end->status == GRPC_OK || code == PL_AUTH || code == PL_DENIED;
}

static void on_ops_end(void *ctx, const struct channel_conn *asked,
                       const struct grpc_end *end)
{
	struct client *client = ctx;
	struct limits *limits = &client->limits;
	struct channel_conn *conn = channel_up(&client->calls_channel);
	struct status status;

	(void)asked;
	if (client->state != CLIENT_OPEN || limits->state != LIMITS_ASKING)
		return;
	status = status_of(end->status, pl_span_str(end->text));
	if (end->code == PL_OK && end->status != GRPC_OK && status.code == PL_LIMIT)
		limits->refused = limits->asked;
	else if (end->code == PL_OK && answer_fits(end, status.code))
		limits->fits = limits->asked;
	else
		conn = NULL; /* the answer says nothing about the limits */
	if (conn == NULL) {
		limits_failed(client);
		client_pump(client);
	} else if (limits->fits >= OPS_MAX ||
	           (limits->refused != 0 && limits->refused <= limits->fits + 1)) {
		limits_learned(client);
	} else {
		ask_ops(client, conn);
	}
}

static enum pl_code ops_encode(uint32_t count, struct pl_buf *body)
{
	struct kv_compare *compares = pl_calloc(count, sizeof *compares);
	struct kv_req req = {.op = KV_TXN,
	                     .txn = {.compares = compares, .compare_count = count}};
	enum pl_code code;

	if (compares == NULL)
		return PL_NOMEM;
	for (uint32_t i = 0; i < count; i++)
		compares[i] = (struct kv_compare){
			.keys = {.kind = KV_ONE, .from = PL_SPAN_LIT("/")},
			.target = KV_VERSION,
			.relation = KV_EQ,
		};
	code = codec_encode(&req, body, NULL, NULL);
	free(compares);
	return code;
}

static void ask_ops(struct client *client, struct channel_conn *conn)
{
	struct limits *limits = &client->limits;
	struct frame frame;

	limits->asked = ops_next(limits);
	frame_begin(&frame);
	if (frame.code == PL_OK)
		frame.code = ops_encode(limits->asked, &frame.body);
	if (frame_ask(&frame, client, conn, codec_path(KV_TXN), on_ops_end, client) !=
	    PL_OK) {
		limits_failed(client);
		client_pump(client);
	}
}

static void on_bytes_end(void *ctx, const struct channel_conn *asked,
                         const struct grpc_end *end)
{
	struct client *client = ctx;
	struct limits *limits = &client->limits;
	struct channel_conn *conn = channel_up(&client->calls_channel);

	(void)asked;
	if (client->state != CLIENT_OPEN || limits->state != LIMITS_ASKING)
		return;
	if (end->code == PL_OK && end->status != GRPC_OK) {
		uint64_t bytes =
			status_of(end->status, pl_span_str(end->text)).limit_bytes;

		if (bytes > GRPC_OVERHEAD_BYTES &&
		    bytes - GRPC_OVERHEAD_BYTES <= INT32_MAX)
			limits->found.request_bytes =
				(uint32_t)(bytes - GRPC_OVERHEAD_BYTES);
	}
	if (end->code == PL_OK && conn != NULL) {
		ask_ops(client, conn);
		return;
	}
	limits_failed(client);
	client_pump(client);
}

static void ask_bytes(struct client *client, struct channel_conn *conn)
{
	static const uint8_t prefix[5] = {0, 0x7f, 0xff, 0xff, 0xff};
	struct pl_buf body;
	enum pl_code code;

	client->limits.state = LIMITS_ASKING;
	pl_buf_init(&body, sizeof prefix);
	code = pl_buf_add(&body, pl_span(prefix, sizeof prefix));
	if (code == PL_OK)
		code = unary_start(client, conn, codec_path(KV_GET), &body, on_bytes_end,
		                   client);
	pl_buf_done(&body);
	if (code != PL_OK)
		limits_failed(client);
	else if (!client->limits.open)
		pl_timer_set(&client->limits.timer, pl_clock_ms() + WAIT_MS);
}

bool limits_ready(struct client *client)
{
	struct channel_conn *conn = channel_up(&client->calls_channel);

	if (client->limits.state == LIMITS_KNOWN)
		return true;
	if (client->limits.state == LIMITS_UNKNOWN && conn != NULL &&
	    pl_clock_ms() >= client->limits.again_ms) {
		client->limits.fits = 0;
		client->limits.refused = 0;
		ask_bytes(client, conn);
	}
	return client->limits.open;
}

enum pl_code limits_init(struct client *client)
{
	return pl_timer_init(&client->limits.timer, &client->timers.timers, on_timer,
	                     client);
}

void limits_done(struct client *client)
{
	pl_timer_done(&client->limits.timer);
}

enum pl_code limits_check(const struct client *client, uint64_t txn_ops, size_t bytes,
                          struct pl_err *err)
{
	const struct kv_limits *found = &client->limits.found;

	if (client->limits.state != LIMITS_KNOWN)
		return PL_OK;
	if (txn_ops > found->txn_ops)
		return pl_err_set(err, PL_LIMIT,
		                  "transaction has %llu operations in a list, the server "
		                  "allows %u (--max-txn-ops): split it",
		                  (unsigned long long)txn_ops, found->txn_ops);
	if (bytes + WRAP_BYTES > found->request_bytes)
		return pl_err_set(err, PL_LIMIT,
		                  "request has %zu bytes, the server allows %u "
		                  "(--max-request-bytes): split it",
		                  bytes, found->request_bytes);
	return PL_OK;
}
