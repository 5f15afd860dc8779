/*
 * Watches: all watches of a client share one stream, on a channel of its own.
 *
 * etcd answers creations in the order in which they were sent and gives a refused one the
 * id -1, so answers are matched by order and the id is taken from the answer. Each watch
 * knows the next revision that it has not seen. After a lost stream it is created again
 * from there, and earlier events are dropped, so that nothing is missed and nothing comes
 * twice.
 *
 *   watches.c          their lives, and the interface
 *   watch_stream.c     the stream: messages, creations, resumption
 *   watch_send.c       what is sent on it
 *   watch_progress.c   progress, and whether the store was rewound
 */
#include "store/etcd/watches.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

enum {
	ARENA_CHUNK = 256 << 10,
	ARENA_MAX = 1 << 30,
	/* A message that is too large would end the stream of all watches. */
	KEYS_MAX = 1 << 20,
};

void watch_free(struct kv_watch *watch)
{
	PL_ASSERT(watch->refs > 0);
	if (--watch->refs > 0)
		return;
	pl_list_del(&watch->at);
	pl_list_del(&watch->in_bucket);
	pl_list_del(&watch->in_all);
	pl_timer_done(&watch->timer);
	free(watch);
}

void watch_note(struct kv_watch *watch, struct kv_watch_note note)
{
	watch->fn(watch->ctx, &note);
}

static void watch_deliver_end(struct kv_watch *watch)
{
	struct client *client = watch->client;
	struct pl_err err = watch->err;
	int64_t compact_revision = watch->compact_revision;
	kv_watch_fn *fn = watch->fn;
	void *ctx = watch->ctx;

	pl_list_del(&watch->in_all);
	watch->life = WATCH_ENDED;
	watch_free(watch);
	fn(ctx, &(struct kv_watch_note){.what = KV_WATCH_END,
	                                .err = &err,
	                                .compact_revision = compact_revision});
	client_maybe_close(client);
}

/* The last note comes from the loop, on a stack of its own; no note comes before it. */
void watch_end_soon(struct kv_watch *watch, const struct pl_err *err)
{
	if (watch->life != WATCH_OPEN)
		return;
	watch->life = WATCH_ENDING;
	watch->err = *err;
	if (watch->state == WATCH_WAITING)
		pl_list_del(&watch->at);
	if (watch->state == WATCH_ACTIVE)
		watch_send_cancel(&watch->client->watches, watch->id);
	pl_timer_set(&watch->timer, 0);
}

void watches_end_all(struct client *client, const struct pl_err *err)
{
	PL_LIST_EACH (link, &client->watches.all)
		watch_end_soon(PL_LIST_ITEM(link, struct kv_watch, in_all), err);
}

static void on_watch_timer(void *ctx)
{
	struct kv_watch *watch = ctx;

	if (watch->life != WATCH_OPEN) {
		watch_deliver_end(watch);
		return;
	}
	if (!watch->progress_due)
		return;
	watch->progress_due = false;
	watch_note(watch, (struct kv_watch_note){
				  .what = KV_WATCH_PROGRESS,
				  .header = {.cluster_id = watch->client->cluster_id,
	                                     .revision = watch->next_revision - 1},
				  .revision = watch->next_revision - 1});
}

/* The keys are stored behind the struct, in the same block. */
static struct kv_watch *watch_new(struct client *client, const struct kv_watch_req *req)
{
	size_t from = req->keys.from.len, to = req->keys.to.len;
	struct kv_watch *watch = pl_calloc(1, sizeof *watch + from + to);

	if (watch == NULL)
		return NULL;
	if (pl_timer_init(&watch->timer, &client->timers.timers, on_watch_timer, watch) !=
	    PL_OK) {
		free(watch);
		return NULL;
	}
	watch->req = *req;
	watch->req.keys.from = pl_span(watch->bytes, from);
	watch->req.keys.to = pl_span(watch->bytes + from, to);
	if (from != 0)
		memcpy(watch->bytes, req->keys.from.at, from);
	if (to != 0)
		memcpy(watch->bytes + from, req->keys.to.at, to);
	watch->client = client;
	watch->refs = 1;
	watch->next_revision = req->from_revision;
	pl_list_init(&watch->at);
	pl_list_init(&watch->in_all);
	pl_list_init(&watch->in_bucket);
	return watch;
}

enum pl_code watches_start(struct client *client, const struct kv_watch_req *req,
                           kv_watch_fn *fn, void *ctx, struct kv_watch **out,
                           struct pl_err *err)
{
	struct watches *watches = &client->watches;
	struct kv_watch *watch;

	if (req->from_revision < 0)
		return pl_err_set(err, PL_INVALID, "watch: from_revision is negative");
	if (req->keys.from.len > KEYS_MAX || req->keys.to.len > KEYS_MAX)
		return pl_err_set(err, PL_LIMIT, "watch: key of more than %d bytes",
		                  KEYS_MAX);
	watch = watch_new(client, req);
	if (watch == NULL)
		return pl_err_set(err, PL_NOMEM, "watch");
	watch->fn = fn;
	watch->ctx = ctx;
	pl_list_add_tail(&watches->all, &watch->in_all);
	pl_list_add_tail(&watches->waiting, &watch->at);
	watches_pump(client);
	if (out != NULL)
		*out = watch;
	return PL_OK;
}

void watches_cancel(struct client *client, struct kv_watch *watch)
{
	struct pl_err err = {0};

	PL_ASSERT(watch->client == client);
	pl_err_set(&err, PL_CANCELED, "watch");
	watch_end_soon(watch, &err);
}

void watches_cancel_all(struct client *client)
{
	struct watches *watches = &client->watches;
	struct pl_err err = {0};

	pl_err_set(&err, PL_CANCELED, "watch: the client closes");
	pl_timer_stop(&watches->timer);
	watches_drop_stream(watches);
	watches_end_all(client, &err);
}

enum pl_code watches_init(struct client *client)
{
	struct watches *watches = &client->watches;
	enum pl_code code;

	pl_list_init(&watches->all);
	pl_list_init(&watches->waiting);
	pl_list_init(&watches->creating);
	for (unsigned i = 0; i < WATCH_BUCKETS; i++)
		pl_list_init(&watches->bucket[i]);
	pl_arena_init(&watches->arena, ARENA_CHUNK, ARENA_MAX);
	code = pl_timer_init(&watches->timer, &client->timers.timers, watches_on_timer,
	                     client);
	if (code != PL_OK)
		return code;
	return pl_timer_init(&watches->progress_timer, &client->timers.timers,
	                     watches_on_progress_timer, client);
}

void watches_done(struct client *client)
{
	struct watches *watches = &client->watches;

	PL_ASSERT(pl_list_empty(&watches->all));
	pl_timer_done(&watches->timer);
	pl_timer_done(&watches->progress_timer);
	pl_arena_done(&watches->arena);
}
