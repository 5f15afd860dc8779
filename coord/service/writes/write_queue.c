/*
 * A slot:
 *
 *	IDLE --batch--> FLYING --answer--> IDLE
 *	                  |  ^
 *	   unknown, away  v  | after a while, the same request
 *	                PAUSED
 *
 * A batch that the store refuses goes back to the waiting writes, to be sent one by one.
 */
#include "coord/service/writes/write_queue.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/hash.h"

enum {
	TIMEOUT_MS = 5000,
	PATIENCE_MS = 30000,
	WAITING_MAX = 100000,
	PAUSE_FIRST_MS = 10,
	PAUSE_MAX_MS = 1000,
	ARENA_CHUNK = 64 << 10,
	ARENA_MAX = 64 << 20,
	KEYS_IN_BATCH = WRITE_BATCH_MAX * WRITE_KEYS_MAX,
	ALONE_AFTER = 3, /* attempts in which others were at fault */
	ATTEMPTS_MAX = 1000,
};

enum write_slot_state { WRITE_SLOT_IDLE, WRITE_SLOT_FLYING, WRITE_SLOT_PAUSED };

struct write_slot {
	struct write_queue *queue;
	enum write_slot_state state;
	struct pl_arena arena;
	struct txn_builder builder;
	struct kv_req req;
	struct pl_list writes; /* of the transaction */
	uint32_t count;
	struct pl_timer timer;
	struct kv_call *call;
	uint64_t since_ms, pause_ms;
	bool again; /* an earlier attempt may have been applied */
};

struct write_queue {
	struct write_queue_opts opts;
	struct pl_list waiting;
	uint32_t waiting_count;
	struct pl_timer kick; /* fills slots, and ends */
	struct write_queue_counts counts;
	bool closing;
	void (*closed)(void *ctx);
	void *closed_ctx;
	unsigned slots; /* slots that were initialised */
	struct write_slot slot[WRITE_SLOTS];
};

void write_adds_key(struct write *write, struct pl_span key)
{
	PL_ASSERT(write->keys < WRITE_KEYS_MAX);
	write->key[write->keys++] = pl_hash(key);
}

static void kick(struct write_queue *queue)
{
	if (!pl_timer_is_set(&queue->kick))
		pl_timer_set(&queue->kick, kv_now_ms(queue->opts.kv));
}

static void fail_write(struct write *write, const struct pl_err *err)
{
	struct pl_err why = *err;
	struct write_outcome outcome = {.result = WRITE_FAILED, .err = &why};

	if (write->unsure && why.code != PL_UNKNOWN)
		(void)pl_err_unknown(&why);
	pl_list_del(&write->link);
	write->done(write, &outcome);
}

static struct write *write_of(struct pl_list *link)
{
	return PL_LIST_ITEM(link, struct write, link);
}

/* -- a batch ------------------------------------------------------------------------- */

/* The keys of a batch; few, so they are searched one by one. */
struct batch_keys {
	uint64_t at[KEYS_IN_BATCH];
	uint32_t count;
};

static bool meets(const struct batch_keys *keys, const struct write *write)
{
	for (uint32_t i = 0; i < write->keys; i++)
		for (uint32_t n = 0; n < keys->count; n++)
			if (keys->at[n] == write->key[i])
				return true;
	return false;
}

/* The entry that compares the key that writes have in common. */
static bool add_expect(struct write_slot *slot, struct write *write)
{
	write->expect = UINT32_MAX;
	if (write->expect_key.len == 0)
		return true;
	PL_LIST_EACH (link, &slot->writes) {
		struct write *other = write_of(link);

		if (other->expect != UINT32_MAX &&
		    pl_span_eq(other->expect_key, write->expect_key)) {
			/* Another revision of it cannot be compared as well. */
			if (other->expect_revision != write->expect_revision)
				return false;
			write->expect = other->expect;
			return true;
		}
	}
	write->expect = slot->builder.entries;
	return builder_expect(&slot->builder, write->expect_key, write->expect_revision);
}

/* Adds all entries of the write or none. What the builder had before lies in the arena
 * unchanged, so a copy of it undoes what was added since. */
static bool add_write(struct write_slot *slot, struct write *write,
                      struct batch_keys *keys)
{
	struct txn_builder before = slot->builder;
	bool fits = add_expect(slot, write);

	write->entry = slot->builder.entries;
	if (!fits || !write->add(write, &slot->builder)) {
		before.code = slot->builder.code;
		slot->builder = before;
		return false;
	}
	write->entries = slot->builder.entries - write->entry;
	PL_ASSERT(write->entries > 0 && write->entries <= WRITE_ENTRIES_MAX);
	for (uint32_t i = 0; i < write->keys; i++)
		keys->at[keys->count++] = write->key[i];
	pl_list_del(&write->link);
	pl_list_add_tail(&slot->writes, &write->link);
	slot->count++;
	slot->queue->waiting_count--;
	return true;
}

/* Takes waiting writes, the oldest first, as long as they fit. */
static void fill_slot(struct write_slot *slot)
{
	struct write_queue *queue = slot->queue;
	struct batch_keys keys = {.count = 0};

	pl_arena_reset(&slot->arena);
	builder_begin(&slot->builder, &slot->arena, kv_limits(queue->opts.kv));
	slot->count = 0;
	PL_LIST_EACH (link, &queue->waiting) {
		struct write *write = write_of(link);
		bool alone = write->attempts >= ALONE_AFTER;

		if (meets(&keys, write) || (alone && slot->count > 0))
			continue;
		if (!add_write(slot, write, &keys) || alone ||
		    slot->count == WRITE_BATCH_MAX)
			break;
	}
}

/* The first waiting write cannot be sent at all. */
static void fail_first(struct write_slot *slot)
{
	struct write_queue *queue = slot->queue;
	struct pl_err err = {0};
	enum pl_code code = slot->builder.code;

	(void)pl_err_set(&err, code == PL_OK ? PL_LIMIT : code,
	                 code == PL_NOMEM ? "a write"
	                                  : "the write is too large for a transaction");
	queue->waiting_count--;
	fail_write(write_of(queue->waiting.next), &err);
}

static void send_slot(struct write_slot *slot);

static void fill_slots(struct write_queue *queue)
{
	for (unsigned i = 0; i < WRITE_SLOTS; i++) {
		struct write_slot *slot = &queue->slot[i];

		if (slot->state != WRITE_SLOT_IDLE || pl_list_empty(&queue->waiting))
			continue;
		fill_slot(slot);
		if (slot->count == 0) {
			fail_first(slot);
			kick(queue);
			return;
		}
		builder_req(&slot->builder, &slot->req);
		slot->since_ms = kv_now_ms(queue->opts.kv);
		slot->pause_ms = PAUSE_FIRST_MS;
		slot->again = false;
		queue->counts.transactions++;
		send_slot(slot);
	}
}

/* -- the answer ---------------------------------------------------------------------- */

static void wait_again(struct write_queue *queue, struct write *write)
{
	pl_list_del(&write->link);
	pl_list_add_head(&queue->waiting, &write->link);
	queue->waiting_count++;
}

/* Reads the verdicts of the failed transaction about one write. */
static bool read_verdicts(const struct write_slot *slot, const struct write *write,
                          const struct kv_result *result,
                          struct builder_found found[WRITE_ENTRIES_MAX], bool *refused)
{
	struct builder_found expect;

	*refused = false;
	for (uint32_t i = 0; i < write->entries; i++) {
		if (!builder_answer(&slot->builder, result, write->entry + i, &found[i]))
			return false;
		*refused = *refused || found[i].verdict == BUILDER_NEWER ||
		           found[i].verdict == BUILDER_GONE;
	}
	if (write->expect != UINT32_MAX) {
		if (!builder_answer(&slot->builder, result, write->expect, &expect))
			return false;
		*refused = *refused || expect.verdict == BUILDER_NEWER ||
		           expect.verdict == BUILDER_GONE;
	}
	return true;
}

static int64_t written_at(const struct builder_found *found)
{
	const struct kv_record *record = found->record != NULL  ? found->record
	                                 : found->state != NULL ? found->state
	                                 : found->spec != NULL  ? found->spec
	                                 : found->alloc != NULL ? found->alloc
	                                                        : found->node;

	return record == NULL ? 0 : record->mod_revision;
}

static void settle_write(struct write_slot *slot, struct write *write,
                         const struct kv_result *result)
{
	struct write_queue *queue = slot->queue;
	struct builder_found found[WRITE_ENTRIES_MAX];
	struct write_outcome outcome = {
		.found = found, .found_count = write->entries, .result = WRITE_REFUSED};
	struct pl_err err = {0};
	bool refused;

	if (result->txn.succeeded) {
		outcome = (struct write_outcome){.result = WRITE_DONE,
		                                 .revision = result->header.revision};
	} else if (!read_verdicts(slot, write, result, found, &refused)) {
		(void)pl_err_set(&err, PL_PROTO, "the store's answer is not to this txn");
		outcome = (struct write_outcome){.result = WRITE_FAILED, .err = &err};
	} else if ((slot->again || write->unsure) && write->entries > 0 &&
	           found[0].verdict == BUILDER_OURS) {
		outcome.result = WRITE_DONE;
		outcome.revision = written_at(&found[0]);
	} else if (!refused && ++write->attempts < ATTEMPTS_MAX) {
		wait_again(queue, write);
		return;
	}
	queue->counts.conflicts += outcome.result == WRITE_REFUSED;
	pl_list_del(&write->link);
	write->done(write, &outcome);
}

static void settle_slot(struct write_slot *slot, const struct kv_result *result)
{
	struct pl_list writes;

	slot->state = WRITE_SLOT_IDLE;
	pl_list_init(&writes);
	pl_list_move(&writes, &slot->writes);
	while (!pl_list_empty(&writes))
		settle_write(slot, write_of(writes.prev), result);
	kick(slot->queue);
}

static void fail_slot(struct write_slot *slot, const struct pl_err *err)
{
	slot->state = WRITE_SLOT_IDLE;
	while (!pl_list_empty(&slot->writes))
		fail_write(write_of(slot->writes.next), err);
	kick(slot->queue);
}

/* One of the writes is at fault, or all are: each goes again alone. */
static void split_slot(struct write_slot *slot)
{
	slot->state = WRITE_SLOT_IDLE;
	while (!pl_list_empty(&slot->writes)) {
		struct write *write = write_of(slot->writes.prev);

		write->unsure = write->unsure || slot->again;
		if (write->attempts < ALONE_AFTER)
			write->attempts = ALONE_AFTER;
		wait_again(slot->queue, write);
	}
	kick(slot->queue);
}

/* Whether sending again may help. A write that times out ends as PL_UNKNOWN. */
static bool is_passing(enum pl_code code)
{
	return code == PL_UNKNOWN || code == PL_BUSY || code == PL_UNAVAIL ||
	       code == PL_TIMEOUT || code == PL_NOLEADER || code == PL_THROTTLED;
}

static void retry_slot(struct write_slot *slot, const struct pl_err *err)
{
	struct write_queue *queue = slot->queue;
	uint64_t now_ms = kv_now_ms(queue->opts.kv);
	struct pl_err last = *err;

	slot->again = slot->again || err->code == PL_UNKNOWN;
	if (is_passing(err->code) && now_ms - slot->since_ms < queue->opts.patience_ms &&
	    (!queue->closing || slot->again)) {
		slot->state = WRITE_SLOT_PAUSED;
		pl_timer_set(&slot->timer, now_ms + slot->pause_ms);
		slot->pause_ms = slot->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS
		                                                   : slot->pause_ms * 2;
		return;
	}
	if (!is_passing(err->code) && err->code != PL_CANCELED && slot->count > 1) {
		split_slot(slot);
		return;
	}
	if (slot->again && last.code != PL_UNKNOWN)
		(void)pl_err_unknown(&last);
	fail_slot(slot, &last);
}

static void on_answer(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct write_slot *slot = ctx;

	slot->call = NULL;
	if (err != NULL)
		retry_slot(slot, err);
	else
		settle_slot(slot, result);
}

static void send_slot(struct write_slot *slot)
{
	struct write_queue *queue = slot->queue;
	struct pl_err err = {0};

	slot->state = WRITE_SLOT_FLYING;
	if (kv_start(queue->opts.kv, &slot->req, queue->opts.timeout_ms, on_answer, slot,
	             &slot->call, &err) != PL_OK)
		retry_slot(slot, &err);
}

static void on_pause_over(void *ctx)
{
	send_slot(ctx);
}

/* -- life ---------------------------------------------------------------------------- */

static void queue_free(struct write_queue *queue)
{
	for (unsigned i = 0; i < queue->slots; i++) {
		pl_timer_done(&queue->slot[i].timer);
		pl_arena_done(&queue->slot[i].arena);
	}
	pl_timer_done(&queue->kick);
	free(queue);
}

static void end_if_over(struct write_queue *queue)
{
	void (*closed)(void *) = queue->closed;
	void *ctx = queue->closed_ctx;
	struct pl_err err = {0};

	(void)pl_err_set(&err, PL_CANCELED, "the server stops");
	while (!pl_list_empty(&queue->waiting)) {
		queue->waiting_count--;
		fail_write(write_of(queue->waiting.next), &err);
	}
	for (unsigned i = 0; i < WRITE_SLOTS; i++)
		if (queue->slot[i].state != WRITE_SLOT_IDLE)
			return;
	queue_free(queue);
	closed(ctx);
}

static void on_kick(void *ctx)
{
	struct write_queue *queue = ctx;

	if (queue->closing)
		end_if_over(queue);
	else
		fill_slots(queue);
}

enum pl_code write_queue_open(const struct write_queue_opts *opts,
                              struct write_queue **out, struct pl_err *err)
{
	struct write_queue *queue = pl_calloc(1, sizeof *queue);
	struct pl_timers *timers = kv_timers(opts->kv);

	if (queue == NULL)
		return pl_err_set(err, PL_NOMEM, "a write queue");
	queue->opts = *opts;
	if (queue->opts.timeout_ms == 0)
		queue->opts.timeout_ms = TIMEOUT_MS;
	if (queue->opts.patience_ms == 0)
		queue->opts.patience_ms = PATIENCE_MS;
	if (queue->opts.waiting_max == 0)
		queue->opts.waiting_max = WAITING_MAX;
	pl_list_init(&queue->waiting);
	if (pl_timer_init(&queue->kick, timers, on_kick, queue) != PL_OK) {
		free(queue);
		return pl_err_set(err, PL_NOMEM, "a write queue");
	}
	for (unsigned i = 0; i < WRITE_SLOTS; i++) {
		struct write_slot *slot = &queue->slot[i];

		slot->queue = queue;
		pl_list_init(&slot->writes);
		if (pl_timer_init(&slot->timer, timers, on_pause_over, slot) != PL_OK) {
			queue_free(queue);
			return pl_err_set(err, PL_NOMEM, "a write queue");
		}
		pl_arena_init(&slot->arena, ARENA_CHUNK, ARENA_MAX);
		queue->slots++;
	}
	*out = queue;
	return PL_OK;
}

void write_queue_close(struct write_queue *queue, void (*closed)(void *ctx), void *ctx)
{
	PL_ASSERT(!queue->closing);
	queue->closing = true;
	queue->closed = closed;
	queue->closed_ctx = ctx;
	kick(queue);
}

enum pl_code write_queue_add(struct write_queue *queue, struct write *write,
                             struct pl_err *err)
{
	if (queue->closing)
		return pl_err_set(err, PL_CANCELED, "the server stops");
	if (queue->waiting_count >= queue->opts.waiting_max)
		return pl_err_set(err, PL_BUSY, "%u writes are waiting",
		                  (unsigned)queue->waiting_count);
	write->since_ms = kv_now_ms(queue->opts.kv);
	write->attempts = 0;
	write->unsure = false;
	pl_list_init(&write->link);
	pl_list_add_tail(&queue->waiting, &write->link);
	queue->waiting_count++;
	queue->counts.writes++;
	kick(queue);
	return PL_OK;
}

void write_queue_counts(const struct write_queue *queue, struct write_queue_counts *out)
{
	*out = queue->counts;
}
