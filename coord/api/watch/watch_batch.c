/*
 * Events of a channel, sent to its watchers together.
 *
 * A channel of n watchers costs n writes to sockets for each event, and those writes cost
 * more than everything else. So a channel with many watchers sends at most once in n/4
 * milliseconds: an event after a quiet time with the others of its turn, and those that
 * follow within this time together. Then a thousand watchers take about a third of a core
 * at most, and no event waits for more than BATCH_MS_MAX.
 *
 * Events of one revision are never parted: they are encoded one after the other, and leave
 * in one piece.
 */
#include "coord/api/watch/watch_hub_int.h"

enum {
	WATCHERS_PER_MS = 4,
	BATCH_MS_MAX = 30,
	BATCH_BYTES = 256 << 10, /* a batch is sent when it has as many */
	BATCH_KEEP = 64 << 10,   /* of its buffer, until the next one */
	BATCH_BYTES_MAX = OBJECT_TEXT_MAX,
};

static uint64_t batch_ms(const struct watch_channel *channel)
{
	uint64_t ms = channel->users / WATCHERS_PER_MS;

	return ms < BATCH_MS_MAX ? ms : BATCH_MS_MAX;
}

static uint64_t due_ms(const struct watch_channel *channel)
{
	return channel->batch.sent_ms + batch_ms(channel);
}

bool watch_batch_takes(const struct watch_channel *channel)
{
	/* Each watcher of a Table gets bytes of its own: the first has the columns. */
	return channel->shape.as != ACCEPT_AS_TABLE &&
	       (channel->batch.bytes.len > 0 || batch_ms(channel) > 0);
}

static void set_timer(struct watch_hub *hub, uint64_t at_ms)
{
	if (pl_timer_is_set(&hub->batches) && hub->batches_ms <= at_ms)
		return;
	hub->batches_ms = at_ms;
	pl_timer_set(&hub->batches, at_ms);
}

void watch_batch_add(struct watch_hub *hub, struct watch_channel *channel,
                     const struct http_blob *blob, int64_t revision)
{
	struct watch_batch *batch = &channel->batch;

	if (batch->bytes.len >= BATCH_BYTES && batch->revision != revision)
		watch_batch_flush(hub, channel);
	batch->bytes.max = BATCH_BYTES_MAX;
	if (pl_buf_add(&batch->bytes, pl_span(blob->at, blob->len)) != PL_OK) {
		watch_batch_flush(hub, channel);
		watch_channel_expire(channel);
		return;
	}
	batch->revision = revision;
	if (batch->events++ > 0)
		return;
	pl_list_add_tail(&hub->batched, &batch->link);
	set_timer(hub, due_ms(channel));
}

void watch_batch_flush(struct watch_hub *hub, struct watch_channel *channel)
{
	struct watch_batch *batch = &channel->batch;
	struct http_blob *blob;

	if (batch->bytes.len == 0)
		return;
	pl_list_del(&batch->link);
	batch->sent_ms = hub->now_ms(hub->ctx);
	blob = http_blob_new(batch->bytes.len);
	if (blob == NULL) {
		pl_buf_clear(&batch->bytes, BATCH_KEEP);
		batch->events = 0;
		watch_channel_expire(channel);
		return;
	}
	memcpy(blob->at, batch->bytes.at, batch->bytes.len);
	PL_LIST_EACH (link, &channel->live) {
		watcher_send(PL_LIST_ITEM(link, struct watcher, link), blob,
		             batch->revision);
		hub->deliveries += batch->events - 1; /* the other one was counted */
	}
	http_blob_unref(blob);
	pl_buf_clear(&batch->bytes, BATCH_KEEP);
	batch->events = 0;
}

void watch_batch_on_timer(void *ctx)
{
	struct watch_hub *hub = ctx;
	uint64_t now_ms = hub->now_ms(hub->ctx);

	PL_LIST_EACH (link, &hub->batched) {
		struct watch_channel *channel =
			PL_LIST_ITEM(link, struct watch_channel, batch.link);

		if (due_ms(channel) <= now_ms)
			watch_batch_flush(hub, channel);
		else
			set_timer(hub, due_ms(channel));
	}
}
