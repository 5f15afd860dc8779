#include "store/etcd/codec_gen.h"

#include "store/kv/check.h"

/* NOLINTBEGIN(misc-no-recursion): KV_TXN_DEPTH_MAX bounds it. */

static void *take(struct pl_arena *arena, size_t count, size_t size)
{
	void *at = pl_arena_zalloc(arena, count == 0 ? 1 : count, size);

	PL_ASSERT(at != NULL);
	return at;
}

/* Numbers of every length that a varint can have, both signs where asked for. */
static int64_t some_number(struct pl_rng *rng)
{
	return (int64_t)(pl_rng_next(rng) >> pl_rng_between(rng, 1, 63));
}

static struct pl_span some_bytes(struct pl_rng *rng, struct pl_arena *arena, size_t min)
{
	size_t len = min + (pl_rng_chance(rng, 1, 8) ? pl_rng_below(rng, 300)
	                                             : pl_rng_below(rng, 12));
	uint8_t *at = take(arena, len, 1);

	for (size_t i = 0; i < len; i++)
		at[i] = pl_rng_chance(rng, 1, 6) ? 0xff : (uint8_t)pl_rng_next(rng);
	return pl_span(at, len);
}

static struct kv_keys some_keys(struct pl_rng *rng, struct pl_arena *arena)
{
	switch (pl_rng_below(rng, 4)) {
	case 0:
		return (struct kv_keys){.kind = KV_RANGE,
		                        .from = some_bytes(rng, arena, 0),
		                        .to = some_bytes(rng, arena, 2)};
	case 1:
		return (struct kv_keys){.kind = KV_PREFIX,
		                        .from = some_bytes(rng, arena, 0)};
	case 2:
		return (struct kv_keys){.kind = KV_FROM,
		                        .from = some_bytes(rng, arena, 0)};
	default:
		return (struct kv_keys){.kind = KV_ONE,
		                        .from = some_bytes(rng, arena, 1)};
	}
}

static bool coin(struct pl_rng *rng)
{
	return pl_rng_chance(rng, 1, 2);
}

static struct kv_compare some_compare(struct pl_rng *rng, struct pl_arena *arena)
{
	struct kv_compare compare = {
		.keys = some_keys(rng, arena),
		.target = (enum kv_target)pl_rng_below(rng, KV_LEASE + 1),
		.relation = (enum kv_relation)pl_rng_below(rng, KV_GT + 1),
		.number = pl_rng_chance(rng, 1, 4) ? 0 : some_number(rng),
	};

	if (pl_rng_chance(rng, 1, 8))
		compare.number = -compare.number;
	if (compare.target == KV_VALUE)
		compare.value = some_bytes(rng, arena, 0);
	return compare;
}

static struct kv_req some_op(struct pl_rng *rng, struct pl_arena *arena, unsigned depth);

static const struct kv_req *some_list(struct pl_rng *rng, struct pl_arena *arena,
                                      unsigned depth, size_t *count)
{
	struct kv_req *ops;

	*count = pl_rng_below(rng, depth == 1 ? 8 : 3);
	ops = take(arena, *count, sizeof *ops);
	for (size_t i = 0; i < *count; i++)
		ops[i] = some_op(rng, arena, depth);
	return ops;
}

static struct kv_txn some_txn(struct pl_rng *rng, struct pl_arena *arena, unsigned depth)
{
	struct kv_txn txn = {.compare_count = pl_rng_below(rng, 4)};
	struct kv_compare *compares = take(arena, txn.compare_count, sizeof *compares);

	for (size_t i = 0; i < txn.compare_count; i++)
		compares[i] = some_compare(rng, arena);
	txn.compares = compares;
	txn.then = some_list(rng, arena, depth, &txn.then_count);
	txn.otherwise = some_list(rng, arena, depth, &txn.otherwise_count);
	return txn;
}

static struct kv_put some_put(struct pl_rng *rng, struct pl_arena *arena)
{
	struct kv_put put = {.key = some_bytes(rng, arena, 1), .want_prev = coin(rng)};

	put.keep_value = pl_rng_chance(rng, 1, 4);
	put.keep_lease = pl_rng_chance(rng, 1, 4);
	if (!put.keep_value)
		put.value = some_bytes(rng, arena, 0);
	if (!put.keep_lease && coin(rng))
		put.lease = some_number(rng);
	return put;
}

static struct kv_req some_op(struct pl_rng *rng, struct pl_arena *arena, unsigned depth)
{
	enum kv_op last = depth < KV_TXN_DEPTH_MAX ? KV_TXN : KV_DELETE;
	struct kv_req req = {.op = (enum kv_op)pl_rng_below(rng, last + 1u)};

	switch ((int)req.op) {
	case KV_GET:
		req.get = (struct kv_get){.keys = some_keys(rng, arena),
		                          .limit = coin(rng) ? some_number(rng) : 0,
		                          .revision = coin(rng) ? some_number(rng) : 0,
		                          .keys_only = coin(rng),
		                          .count_only = coin(rng),
		                          .serializable = coin(rng)};
		break;
	case KV_PUT:
		req.put = some_put(rng, arena);
		break;
	case KV_DELETE:
		req.del = (struct kv_delete){.keys = some_keys(rng, arena),
		                             .want_prev = coin(rng)};
		break;
	default:
		req.txn = some_txn(rng, arena, depth + 1);
	}
	return req;
}

struct kv_req codec_gen_request(struct pl_rng *rng, struct pl_arena *arena)
{
	return some_op(rng, arena, 0);
}

/* -- answers ----------------------------------------------------------- */

static struct kv_record some_record(struct pl_rng *rng, struct pl_arena *arena)
{
	int64_t created = some_number(rng) / 2 + 1;

	return (struct kv_record){.key = some_bytes(rng, arena, 1),
	                          .value = some_bytes(rng, arena, 0),
	                          .create_revision = created,
	                          .mod_revision = created + some_number(rng) / 4,
	                          .version = some_number(rng) / 2 + 1,
	                          .lease = coin(rng) ? 0 : some_number(rng)};
}

static const struct kv_record *some_records(struct pl_rng *rng, struct pl_arena *arena,
                                            size_t *count)
{
	struct kv_record *records;

	*count = pl_rng_below(rng, 5);
	records = take(arena, *count, sizeof *records);
	for (size_t i = 0; i < *count; i++)
		records[i] = some_record(rng, arena);
	return *count == 0 ? NULL : records;
}

static struct kv_header some_header(struct pl_rng *rng)
{
	return (struct kv_header){.cluster_id = pl_rng_next(rng),
	                          .member_id = pl_rng_next(rng),
	                          .revision = some_number(rng),
	                          .raft_term = (uint64_t)some_number(rng)};
}

static struct kv_result some_result(struct pl_rng *rng, struct pl_arena *arena,
                                    const struct kv_req *req);

static struct kv_txn_result some_txn_result(struct pl_rng *rng, struct pl_arena *arena,
                                            const struct kv_txn *txn)
{
	bool succeeded = coin(rng);
	const struct kv_req *ops = succeeded ? txn->then : txn->otherwise;
	size_t count = succeeded ? txn->then_count : txn->otherwise_count;
	struct kv_result *results = take(arena, count, sizeof *results);

	for (size_t i = 0; i < count; i++)
		results[i] = some_result(rng, arena, &ops[i]);
	return (struct kv_txn_result){
		.succeeded = succeeded, .results = results, .count = count};
}

static struct kv_result some_result(struct pl_rng *rng, struct pl_arena *arena,
                                    const struct kv_req *req)
{
	struct kv_result result = {.op = req->op};
	struct kv_record *prev;

	switch ((int)req->op) {
	case KV_GET:
		result.get.records = some_records(rng, arena, &result.get.count);
		result.get.total = (int64_t)result.get.count + some_number(rng) / 2;
		result.get.more = coin(rng);
		break;
	case KV_PUT:
		if (coin(rng)) {
			prev = take(arena, 1, sizeof *prev);
			*prev = some_record(rng, arena);
			result.put.prev = prev;
		}
		break;
	case KV_DELETE:
		result.del.prev = some_records(rng, arena, &result.del.prev_count);
		result.del.deleted = result.del.prev_count != 0
		                             ? (int64_t)result.del.prev_count
		                             : some_number(rng);
		break;
	default:
		result.txn = some_txn_result(rng, arena, &req->txn);
	}
	return result;
}

struct kv_result codec_gen_answer(struct pl_rng *rng, struct pl_arena *arena,
                                  const struct kv_req *req)
{
	struct kv_result result = some_result(rng, arena, req);

	result.header = some_header(rng);
	return result;
}

/* -- watch ------------------------------------------------------------- */

struct kv_watch_req codec_gen_watch_req(struct pl_rng *rng, struct pl_arena *arena)
{
	struct kv_watch_req req = {.keys = some_keys(rng, arena),
	                           .want_prev = coin(rng),
	                           .no_puts = coin(rng)};

	req.no_deletes = !req.no_puts && coin(rng);

	if (req.keys.kind == KV_RANGE && pl_span_cmp(req.keys.from, req.keys.to) >= 0)
		req.keys = (struct kv_keys){.kind = KV_PREFIX, .from = req.keys.from};
	return req;
}

static struct kv_event some_event(struct pl_rng *rng, struct pl_arena *arena,
                                  int64_t revision)
{
	struct kv_event event = {.is_delete = pl_rng_chance(rng, 1, 4)};
	struct kv_record *prev;

	event.record = some_record(rng, arena);
	event.record.mod_revision = revision;
	event.record.create_revision = 1 + (int64_t)pl_rng_below(rng, (uint64_t)revision);
	if (event.is_delete)
		event.record = (struct kv_record){.key = event.record.key,
		                                  .mod_revision = revision};
	if (pl_rng_chance(rng, 1, 3)) {
		prev = take(arena, 1, sizeof *prev);
		*prev = some_record(rng, arena);
		event.prev = prev;
	}
	return event;
}

struct codec_watch codec_gen_watch(struct pl_rng *rng, struct pl_arena *arena)
{
	struct codec_watch watch = {.header = some_header(rng),
	                            .watch_id = some_number(rng) - 1,
	                            .created = coin(rng),
	                            .canceled = coin(rng),
	                            .fragment = coin(rng),
	                            .compact_revision = coin(rng) ? 0 : some_number(rng),
	                            .count = pl_rng_below(rng, 6)};
	struct kv_event *events = take(arena, watch.count, sizeof *events);
	int64_t revision = some_number(rng) / 4 + 1;

	if (coin(rng))
		watch.cancel_reason = some_bytes(rng, arena, 0);
	for (size_t i = 0; i < watch.count; i++) {
		events[i] = some_event(rng, arena, revision);
		revision += coin(rng) ? 0 : some_number(rng) / 16;
	}
	watch.events = events;
	return watch;
}

/* NOLINTEND(misc-no-recursion) */
