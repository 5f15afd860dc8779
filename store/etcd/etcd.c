#include "store/etcd/etcd.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/etcd/client.h"
#include "store/kv/check.h"

enum {
	CONNECT_TIMEOUT_MS = 2000,
	INFLIGHT_BYTES_MAX = 64 << 20,
	WATCH_MESSAGE_MAX = 1 << 30,
	CHANNELS = 3,
};

/* -- channels ---------------------------------------------------------------- */

static void on_calls_up(void *ctx)
{
	struct client *client = ctx;

	client->down.code = PL_OK;
	client_pump(client);
}

static void on_calls_down(void *ctx, const struct pl_err *err)
{
	struct client *client = ctx;
	struct pl_err hopeless = {0};

	client->down = *err;
	limits_interrupted(client);
	if (client->on_down != NULL)
		client->on_down(client->on_down_ctx, err);
	if (endpoints_failed_for_good(&client->endpoints, &hopeless))
		calls_fail_queued(client, &hopeless);
}

static void on_watch_up(void *ctx)
{
	watches_pump(ctx);
}

static void on_lease_up(void *ctx)
{
	keepalives_pump(ctx);
}

static void on_other_down(void *ctx, const struct pl_err *err)
{
	struct client *client = ctx;

	if (client->down.code == PL_OK && channel_up(&client->calls_channel) == NULL)
		client->down = *err;
}

static void on_channel_closed(void *ctx)
{
	struct client *client = ctx;

	PL_ASSERT(client->channels_open > 0);
	client->channels_open--;
	client_maybe_close(client);
}

/* -- closing --------------------------------------------------------------- */

static void client_free(struct client *client)
{
	tls_free(client->tls);
	free(client);
}

static void on_timers_closed(void *ctx)
{
	struct client *client = ctx;
	kv_closed_fn *closed = client->closed;
	void *closed_ctx = client->closed_ctx;

	client_free(client);
	if (closed != NULL)
		closed(closed_ctx);
}

static void client_parts_done(struct client *client)
{
	keepalives_done(client);
	watches_done(client);
	calls_done(client);
	limits_done(client);
	auth_done(client);
	loop_timers_close(&client->timers, on_timers_closed, client);
}

void client_maybe_close(struct client *client)
{
	if (client->state != CLIENT_CLOSING || client->channels_open > 0 ||
	    !pl_list_empty(&client->calls.queued) ||
	    !pl_list_empty(&client->calls.inflight) ||
	    !pl_list_empty(&client->watches.all) ||
	    !pl_list_empty(&client->keepalives.waiting) ||
	    !pl_list_empty(&client->keepalives.sent))
		return;
	client->state = CLIENT_FINISHED;
	client_parts_done(client);
}

static void etcd_close(struct kv *kv, kv_closed_fn *closed, void *ctx)
{
	struct client *client = client_of(kv);

	PL_ASSERT(client->state == CLIENT_OPEN);
	client->closed = closed;
	client->closed_ctx = ctx;
	client->state = CLIENT_CLOSING;
	calls_cancel_all(client);
	watches_cancel_all(client);
	keepalives_cancel_all(client);
	channel_close(&client->calls_channel);
	channel_close(&client->watch_channel);
	channel_close(&client->lease_channel);
}

/* -- the interface --------------------------------------------------------- */

static enum pl_code etcd_start(struct kv *kv, const struct kv_req *req,
                               uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                               struct kv_call **out, struct pl_err *err)
{
	struct client *client = client_of(kv);

	if (client->state != CLIENT_OPEN)
		return pl_err_set(err, PL_CANCELED, "%s: the client closes",
		                  kv_op_name(req->op));
	if (req->op == KV_LEASE_KEEP) {
		enum pl_code code = kv_check_req(req, err);

		return code != PL_OK ? code
		                     : keepalives_start(client, req->lease.id, timeout_ms,
		                                        done, ctx, out, err);
	}
	return calls_start(client, req, timeout_ms, done, ctx, out, err);
}

static void etcd_cancel(struct kv *kv, struct kv_call *call)
{
	if (call->is_keepalive)
		keepalives_cancel(client_of(kv), call);
	else
		calls_cancel(client_of(kv), call);
}

static enum pl_code etcd_watch(struct kv *kv, const struct kv_watch_req *req,
                               kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                               struct pl_err *err)
{
	struct client *client = client_of(kv);

	if (client->state != CLIENT_OPEN)
		return pl_err_set(err, PL_CANCELED, "watch: the client closes");
	return watches_start(client, req, fn, ctx, out, err);
}

static void etcd_unwatch(struct kv *kv, struct kv_watch *watch)
{
	watches_cancel(client_of(kv), watch);
}

static enum pl_code etcd_progress(struct kv *kv, struct kv_watch *watch, int64_t revision,
                                  struct pl_err *err)
{
	struct client *client = client_of(kv);

	if (client->state != CLIENT_OPEN)
		return pl_err_set(err, PL_CANCELED, "progress: the client closes");
	if (revision == 0)
		return watches_progress(client, watch, err);
	watch_progress_to(watch, revision);
	return PL_OK;
}

static struct kv_limits etcd_limits(struct kv *kv)
{
	struct client *client = client_of(kv);
	struct kv_limits limits = {0};

	if (client->limits.state == LIMITS_KNOWN)
		limits = client->limits.found;
	limits.progress = client->watches.progress_sound;
	return limits;
}

static size_t etcd_room(struct kv *kv)
{
	const struct calls *calls = &client_of(kv)->calls;

	return calls->bytes < calls->bytes_max ? calls->bytes_max - calls->bytes : 0;
}

static void etcd_when_room(struct kv *kv, struct kv_waiter *waiter)
{
	struct client *client = client_of(kv);

	pl_list_del(&waiter->link);
	pl_list_add_tail(&client->calls.waiters, &waiter->link);
	calls_wake_waiters(client);
}

static uint64_t etcd_now_ms(struct kv *kv)
{
	(void)kv;
	return pl_clock_ms();
}

static struct pl_timers *etcd_timers(struct kv *kv)
{
	return &client_of(kv)->timers.timers;
}

static const struct kv_ops etcd_ops = {
	.name = "etcd",
	.start = etcd_start,
	.cancel = etcd_cancel,
	.watch = etcd_watch,
	.unwatch = etcd_unwatch,
	.progress = etcd_progress,
	.limits = etcd_limits,
	.room = etcd_room,
	.when_room = etcd_when_room,
	.now_ms = etcd_now_ms,
	.timers = etcd_timers,
	.close = etcd_close,
};

/* Frees a client whose opening failed: no channel has connected yet. */
static void client_abandon(struct client *client)
{
	client->state = CLIENT_FINISHED;
	pl_timer_done(&client->calls_channel.timer);
	pl_timer_done(&client->watch_channel.timer);
	pl_timer_done(&client->lease_channel.timer);
	client_parts_done(client);
}

/* -- opening --------------------------------------------------------------- */

static enum pl_code client_parts_init(struct client *client, const struct etcd_opts *opts,
                                      struct pl_err *err)
{
	size_t bytes = opts->inflight_bytes_max;

	/* All parts are initialised even when one fails, because client_parts_done()
	 * needs them all. */
	enum pl_code code[] = {
		auth_init(client, opts->user, opts->password, err),
		limits_init(client),
		calls_init(client, bytes == 0 ? INFLIGHT_BYTES_MAX : bytes),
		watches_init(client),
		keepalives_init(client),
	};

	for (size_t i = 0; i < sizeof code / sizeof code[0]; i++)
		if (code[i] != PL_OK)
			return pl_err_set(err, code[i], "open etcd client");
	return PL_OK;
}

static void channel_callbacks(struct client *client)
{
	client->calls_channel = (struct channel){
		.name = "calls", .on_up = on_calls_up, .on_down = on_calls_down};
	client->watch_channel = (struct channel){
		.name = "watches", .on_up = on_watch_up, .on_down = on_other_down};
	client->lease_channel = (struct channel){
		.name = "leases", .on_up = on_lease_up, .on_down = on_other_down};
	client->calls_channel.on_closed = on_channel_closed;
	client->watch_channel.on_closed = on_channel_closed;
	client->lease_channel.on_closed = on_channel_closed;
	client->calls_channel.ctx = client;
	client->watch_channel.ctx = client;
	client->lease_channel.ctx = client;
}

static enum pl_code client_channels_open(struct client *client,
                                         const struct etcd_opts *opts)
{
	struct channel *channels[CHANNELS] = {
		&client->calls_channel, &client->watch_channel, &client->lease_channel};
	/* All three channels begin at one member, and clients spread over the members. */
	int before = (int)pl_rng_below(&client->rng, client->endpoints.count) - 1;

	client->env = (struct channel_env){
		.loop = client->loop,
		.timers = &client->timers.timers,
		.endpoints = &client->endpoints,
		.tls = client->tls,
		.rng = &client->rng,
		.connect_timeout_ms = opts->connect_timeout_ms == 0
	                                      ? CONNECT_TIMEOUT_MS
	                                      : opts->connect_timeout_ms,
		.message_max = opts->watch_message_max == 0 ? WATCH_MESSAGE_MAX
	                                                    : opts->watch_message_max,
	};
	channel_callbacks(client);
	for (unsigned i = 0; i < CHANNELS; i++) {
		if (channel_open(channels[i], &client->env, before) != PL_OK)
			return PL_NOMEM;
		client->channels_open++;
	}
	return PL_OK;
}

static struct client *client_new(uv_loop_t *loop, const struct etcd_opts *opts,
                                 struct pl_err *err)
{
	struct client *client = pl_calloc(1, sizeof *client);

	if (client == NULL) {
		pl_err_set(err, PL_NOMEM, "open etcd client");
		return NULL;
	}
	client->kv.ops = &etcd_ops;
	client->loop = loop;
	client->on_down = opts->on_down;
	client->on_down_ctx = opts->ctx;
	pl_rng_init(&client->rng, opts->seed == 0 ? pl_rng_seed_random() : opts->seed);
	if (endpoints_parse(&client->endpoints, opts->endpoints, err) != PL_OK)
		goto fail_client;
	if (client->endpoints.tls && tls_new(&opts->tls, &client->tls, err) != PL_OK)
		goto fail_client;
	return client;

fail_client:
	free(client);
	return NULL;
}

enum pl_code etcd_open(uv_loop_t *loop, const struct etcd_opts *opts, struct kv **out,
                       struct pl_err *err)
{
	struct pl_err local = {0};
	struct client *client = client_new(loop, opts, &local);

	if (client == NULL) {
		if (err != NULL)
			*err = local;
		return local.code;
	}
	loop_timers_open(&client->timers, loop);
	if (client_parts_init(client, opts, &local) != PL_OK ||
	    client_channels_open(client, opts) != PL_OK) {
		/* The parts that were opened end on the loop. */
		client_abandon(client);
		if (local.code == PL_OK)
			pl_err_set(&local, PL_NOMEM, "open etcd client");
		if (err != NULL)
			*err = local;
		return local.code;
	}
	*out = &client->kv;
	return PL_OK;
}

struct etcd_stats etcd_stats(const struct kv *kv)
{
	const struct client *client = PL_CONTAINER_OF_CONST(kv, struct client, kv);
	struct etcd_stats stats = client->stats;

	stats.reconnects = client->env.reconnects;
	stats.failovers = client->env.failovers;
	channel_traffic(&client->calls_channel, &stats.bytes_in, &stats.bytes_out);
	channel_traffic(&client->watch_channel, &stats.bytes_in, &stats.bytes_out);
	channel_traffic(&client->lease_channel, &stats.bytes_in, &stats.bytes_out);
	stats.bytes_in += client->env.bytes_in;
	stats.bytes_out += client->env.bytes_out;
	return stats;
}
