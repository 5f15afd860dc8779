/* The store as a whole: its clock and its queue of deliveries. */
#include "store/memkv/memkv.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/memkv/impl.h"

enum {
	TXN_OPS_DEFAULT = 128,
	REQUEST_BYTES_DEFAULT = 1536 * 1024,
	ROOM_BYTES_DEFAULT = 8 << 20,
	MIN_TTL_DEFAULT_S = 2,
	SCRATCH_CHUNK = 16384,
	REVOKE_AGAIN_MS = 500,
};

static void opts_default(struct memkv_opts *opts)
{
	if (opts->txn_ops_max == 0)
		opts->txn_ops_max = TXN_OPS_DEFAULT;
	if (opts->request_bytes_max == 0)
		opts->request_bytes_max = REQUEST_BYTES_DEFAULT;
	if (opts->min_ttl_s == 0)
		opts->min_ttl_s = MIN_TTL_DEFAULT_S;
	if (opts->room_bytes == 0)
		opts->room_bytes = ROOM_BYTES_DEFAULT;
}

static void on_timers_change(void *ctx)
{
	struct memkv *mem = ctx;

	if (mem->wake != NULL)
		mem->wake(mem->wake_ctx);
}

enum pl_code memkv_new(const struct memkv_opts *opts, struct memkv **out,
                       struct pl_err *err)
{
	struct memkv *mem = pl_calloc(1, sizeof *mem);
	struct mvcc *mvcc = pl_malloc(sizeof *mvcc);

	if (mem == NULL || mvcc == NULL) {
		free(mem);
		free(mvcc);
		return pl_err_set(err, PL_NOMEM, "memory store");
	}
	if (opts != NULL)
		mem->opts = *opts;
	opts_default(&mem->opts);
	mvcc_init(mvcc);
	mem->mvcc = mvcc;
	mem->now_ms = mem->opts.now_ms;
	pl_timers_init(&mem->timers, on_timers_change, mem);
	pl_rng_init(&mem->rng, mem->opts.seed);
	interval_tree_init(&mem->watches, pl_rng_next(&mem->rng));
	mem->cluster_id = pl_rng_next(&mem->rng) | 1;
	mem->member_id = pl_rng_next(&mem->rng) | 1;
	mem->raft_term = 2;
	pl_list_init(&mem->queue);
	pl_list_init(&mem->sessions);
	pl_arena_init(&mem->scratch, SCRATCH_CHUNK, 0);
	*out = mem;
	return PL_OK;
}

void memkv_free(struct memkv *mem)
{
	if (mem == NULL)
		return;
	PL_ASSERT(!mem->running && mem->wake == NULL);
	PL_ASSERT(pl_list_empty(&mem->sessions) && pl_list_empty(&mem->queue));
	while (mem->idle_count > 0)
		call_free(mem, mem->idle[--mem->idle_count]);
	mvcc_done(mem->mvcc);
	free(mem->mvcc);
	pl_arena_done(&mem->scratch);
	pl_timers_done(&mem->timers);
	free(mem);
}

uint64_t mem_now(struct memkv *mem)
{
	if (mem->live) {
		uint64_t now = pl_clock_ms();

		if (now > mem->now_ms)
			mem->now_ms = now;
	}
	return mem->now_ms;
}

struct kv_header mem_header(const struct memkv *mem)
{
	return (struct kv_header){.cluster_id = mem->cluster_id,
	                          .member_id = mem->member_id,
	                          .raft_term = mem->raft_term,
	                          .revision = mem->mvcc->revision};
}

void mem_queue_add(struct memkv *mem, struct mem_delivery *delivery)
{
	bool first = pl_list_empty(&mem->queue);

	pl_list_add_tail(&mem->queue, &delivery->link);
	if (first && mem->wake != NULL && !mem->running)
		mem->wake(mem->wake_ctx);
}

void mem_queue_add_first(struct memkv *mem, struct mem_delivery *delivery)
{
	pl_list_add_head(&mem->queue, &delivery->link);
}

static void deliver_one(struct mem_delivery *delivery)
{
	switch (delivery->kind) {
	case DELIVERY_CALL:
		call_deliver(PL_CONTAINER_OF(delivery, struct mem_call, delivery));
		return;
	case DELIVERY_NOTE:
		note_deliver(PL_CONTAINER_OF(delivery, struct mem_note, delivery));
		return;
	case DELIVERY_READY:
		watch_deliver_ready(PL_CONTAINER_OF(delivery, struct mem_watch, ready));
		return;
	case DELIVERY_END:
		watch_deliver_end(PL_CONTAINER_OF(delivery, struct mem_watch, end));
		return;
	case DELIVERY_ROOM:
		session_deliver_room(PL_CONTAINER_OF(delivery, struct mem_session, room));
		return;
	case DELIVERY_CLOSED:
		session_deliver_closed(
			PL_CONTAINER_OF(delivery, struct mem_session, closed));
		return;
	}
	PL_UNREACHABLE("kind of delivery");
}

/* Without memory the keys stay a little longer, as on a busy server. */
static void expire_leases(struct memkv *mem)
{
	struct mem_lease *lease = mem_lease_next_due(mem->mvcc);

	while (lease != NULL && lease->due_ms <= mem->now_ms) {
		if (exec_revoke(mem, lease) != PL_OK)
			mem_lease_set_due(mem->mvcc, lease, lease->expiry_ms,
			                  mem->now_ms + REVOKE_AGAIN_MS);
		lease = mem_lease_next_due(mem->mvcc);
	}
}

/* The leases are copied first, because their places in the heap change. */
enum pl_code memkv_renew_leases(struct memkv *mem, uint64_t grace_ms, struct pl_err *err)
{
	struct pl_heap *due = &mem->mvcc->due;
	size_t count = due->count;
	struct pl_heap_node **node =
		pl_malloc((count + 1) * sizeof(struct pl_heap_node *));
	uint64_t from = mem_now(mem) + grace_ms;

	if (node == NULL)
		return pl_err_set(err, PL_NOMEM, "renew leases");
	for (size_t i = 0; i < count; i++)
		node[i] = due->node[i];
	for (size_t i = 0; i < count; i++) {
		struct mem_lease *lease = PL_CONTAINER_OF(node[i], struct mem_lease, due);
		uint64_t expiry = from + (uint64_t)lease->ttl_s * 1000;

		mem_lease_set_due(mem->mvcc, lease, expiry,
		                  expiry + mem->opts.expiry_delay_ms);
	}
	free((void *)node);
	if (mem->wake != NULL)
		mem->wake(mem->wake_ctx);
	return PL_OK;
}

size_t memkv_leases(const struct memkv *mem)
{
	return mem->mvcc->due.count;
}

int64_t memkv_revision(const struct memkv *mem)
{
	return mem->mvcc->revision;
}

static uint64_t next_due_ms(const struct memkv *mem)
{
	const struct mem_lease *lease = mem_lease_next_due(mem->mvcc);
	uint64_t due = pl_timers_next_ms(&mem->timers);

	return lease != NULL && lease->due_ms < due ? lease->due_ms : due;
}

uint64_t memkv_next_ms(const struct memkv *mem)
{
	return pl_list_empty(&mem->queue) ? next_due_ms(mem) : mem->now_ms;
}

static bool step_queue(struct memkv *mem, uint64_t now_ms, size_t count)
{
	for (;;) {
		uint64_t due;

		while (!pl_list_empty(&mem->queue)) {
			struct mem_delivery *delivery =
				PL_LIST_ITEM(mem->queue.next, struct mem_delivery, link);

			if (count-- == 0)
				return true;
			pl_list_del(&delivery->link);
			deliver_one(delivery);
		}
		due = next_due_ms(mem);
		if (due == UINT64_MAX || (due > now_ms && due > mem->now_ms))
			break;
		if (due > mem->now_ms)
			mem->now_ms = due;
		expire_leases(mem);
		if (count-- == 0)
			return true;
		pl_timers_run(&mem->timers, mem->now_ms);
	}
	if (now_ms > mem->now_ms)
		mem->now_ms = now_ms;
	return false;
}

bool memkv_step(struct memkv *mem, uint64_t now_ms, size_t count)
{
	bool more;

	PL_ASSERT(!mem->running);
	mem->running = true;
	more = step_queue(mem, now_ms, count);
	mem->running = false;
	return more;
}

void memkv_run(struct memkv *mem, uint64_t now_ms)
{
	while (memkv_step(mem, now_ms, SIZE_MAX))
		continue;
}
