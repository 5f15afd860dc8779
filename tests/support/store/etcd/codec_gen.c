#include "tests/support/store/etcd/codec_gen.h"

#include "store/kv/check.h"

/* NOLINTBEGIN(misc-no-recursion): KV_TXN_DEPTH_MAX bounds it. */

static void *gen_alloc(struct pl_arena *arena, size_t count, size_t size)
{
	void *at = pl_arena_zalloc(arena, count == 0 ? 1 : count, size);

	PL_ASSERT(at != NULL);
	return at;
}

/* Numbers of every length that a varint can have, of both signs where requested. */
static int64_t random_number(struct pl_rng *rng)
{
	return (int64_t)(pl_rng_next(rng) >> pl_rng_between(rng, 1, 63));
}

static struct pl_span random_bytes(struct pl_rng *rng, struct pl_arena *arena, size_t min)
{
	size_t len = min + (pl_rng_chance(rng, 1, 8) ? pl_rng_below(rng, 300)
	                                             : pl_rng_below(rng, 12));
	uint8_t *at = gen_alloc(arena, len, 1);

	for (size_t i = 0; i < len; i++)
		at[i] = pl_rng_chance(rng, 1, 6) ? 0xff : (uint8_t)pl_rng_next(rng);
	return pl_span(at, len);
}

static struct kv_keys random_keys(struct pl_rng *rng, struct pl_arena *arena)
{
	switch (pl_rng_below(rng, 4)) {
	case 0:
		return (struct kv_keys){.kind = KV_RANGE,
		                        .from = random_bytes(rng, arena, 0),
		                        .to = random_bytes(rng, arena, 2)};
	case 1:
		return (struct kv_keys){.kind = KV_PREFIX,
		                        .from = random_bytes(rng, arena, 0)};
	case 2:
		return (struct kv_keys){.kind = KV_FROM,
		                        .from = random_bytes(rng, arena, 0)};
	default:
		return (struct kv_keys){.kind = KV_ONE,
		                        .from = random_bytes(rng, arena, 1)};
	}
}

static bool random_bool(struct pl_rng *rng)
{
	return pl_rng_chance(rng, 1, 2);
}

static struct kv_compare random_compare(struct pl_rng *rng, struct pl_arena *arena)
{
	struct kv_compare compare = {
		.keys = random_keys(rng, arena),
		.target = (enum kv_target)pl_rng_below(rng, KV_LEASE + 1),
		.relation = (enum kv_relation)pl_rng_below(rng, KV_GT + 1),
		.number = pl_rng_chance(rng, 1, 4) ? 0 : random_number(rng),
	};

	if (pl_rng_chance(rng, 1, 8))
		compare.number = -compare.number;
	if (compare.target == KV_VALUE)
		compare.value = random_bytes(rng, arena, 0);
	return compare;
}

static struct kv_req random_op(struct pl_rng *rng, struct pl_arena *arena,
                               unsigned depth);

static const struct kv_req *random_list(struct pl_rng *rng, struct pl_arena *arena,
                                        unsigned depth, size_t *count)
{
	struct kv_req *ops;

	*count = pl_rng_below(rng, depth == 1 ? 8 : 3);
	ops = gen_alloc(arena, *count, sizeof *ops);
	for (size_t i = 0; i < *count; i++)
		ops[i] = random_op(rng, arena, depth);
	return ops;
}

static struct kv_txn random_txn(struct pl_rng *rng, struct pl_arena *arena,
                                unsigned depth)
{
	struct kv_txn txn = {.compare_count = pl_rng_below(rng, 4)};
	struct kv_compare *compares =
		gen_alloc(arena, txn.compare_count, sizeof *compares);

	for (size_t i = 0; i < txn.compare_count; i++)
		compares[i] = random_compare(rng, arena);
	txn.compares = compares;
	txn.then = random_list(rng, arena, depth, &txn.then_count);
	txn.otherwise = random_list(rng, arena, depth, &txn.otherwise_count);
	return txn;
}

static struct kv_put random_put(struct pl_rng *rng, struct pl_arena *arena)
{
	struct kv_put put = {.key = random_bytes(rng, arena, 1),
	                     .want_prev = random_bool(rng)};

	put.keep_value = pl_rng_chance(rng, 1, 4);
	put.keep_lease = pl_rng_chance(rng, 1, 4);
	if (!put.keep_value)
		put.value = random_bytes(rng, arena, 0);
	if (!put.keep_lease && random_bool(rng))
		put.lease = random_number(rng);
	return put;
}

static struct kv_req random_op(struct pl_rng *rng, struct pl_arena *arena, unsigned depth)
{
	enum kv_op last = depth < KV_TXN_DEPTH_MAX ? KV_TXN : KV_DELETE;
	struct kv_req req = {.op = (enum kv_op)pl_rng_below(rng, last + 1u)};

	switch ((int)req.op) {
	case KV_GET:
		req.get = (struct kv_get){
			.keys = random_keys(rng, arena),
			.limit = random_bool(rng) ? random_number(rng) : 0,
			.revision = random_bool(rng) ? random_number(rng) : 0,
			.keys_only = random_bool(rng),
			.count_only = random_bool(rng),
			.serializable = random_bool(rng)};
		break;
	case KV_PUT:
		req.put = random_put(rng, arena);
		break;
	case KV_DELETE:
		req.del = (struct kv_delete){.keys = random_keys(rng, arena),
		                             .want_prev = random_bool(rng)};
		break;
	default:
		req.txn = random_txn(rng, arena, depth + 1);
	}
	return req;
}

struct kv_req codec_gen_request(struct pl_rng *rng, struct pl_arena *arena)
{
	return random_op(rng, arena, 0);
}

/* -- answers ----------------------------------------------------------- */

static struct kv_record random_record(struct pl_rng *rng, struct pl_arena *arena)
{
	int64_t created = random_number(rng) / 2 + 1;

	return (struct kv_record){.key = random_bytes(rng, arena, 1),
	                          .value = random_bytes(rng, arena, 0),
	                          .create_revision = created,
	                          .mod_revision = created + random_number(rng) / 4,
	                          .version = random_number(rng) / 2 + 1,
	                          .lease = random_bool(rng) ? 0 : random_number(rng)};
}

static const struct kv_record *random_records(struct pl_rng *rng, struct pl_arena *arena,
                                              size_t *count)
{
	struct kv_record *records;

	*count = pl_rng_below(rng, 5);
	records = gen_alloc(arena, *count, sizeof *records);
	for (size_t i = 0; i < *count; i++)
		records[i] = random_record(rng, arena);
	return *count == 0 ? NULL : records;
}

static struct kv_header random_header(struct pl_rng *rng)
{
	return (struct kv_header){.cluster_id = pl_rng_next(rng),
	                          .member_id = pl_rng_next(rng),
	                          .revision = random_number(rng),
	                          .raft_term = (uint64_t)random_number(rng)};
}

static struct kv_result random_result(struct pl_rng *rng, struct pl_arena *arena,
                                      const struct kv_req *req);

static struct kv_txn_result random_txn_result(struct pl_rng *rng, struct pl_arena *arena,
                                              const struct kv_txn *txn)
{
	bool succeeded = random_bool(rng);
	const struct kv_req *ops = succeeded ? txn->then : txn->otherwise;
	size_t count = succeeded ? txn->then_count : txn->otherwise_count;
	struct kv_result *results = gen_alloc(arena, count, sizeof *results);

	for (size_t i = 0; i < count; i++)
		results[i] = random_result(rng, arena, &ops[i]);
	return (struct kv_txn_result){
		.succeeded = succeeded, .results = results, .count = count};
}

static struct kv_result random_result(struct pl_rng *rng, struct pl_arena *arena,
                                      const struct kv_req *req)
{
	struct kv_result result = {.op = req->op};
	struct kv_record *prev;

	switch ((int)req->op) {
	case KV_GET:
		result.get.records = random_records(rng, arena, &result.get.count);
		result.get.total = (int64_t)result.get.count + random_number(rng) / 2;
		result.get.more = random_bool(rng);
		break;
	case KV_PUT:
		if (random_bool(rng)) {
			prev = gen_alloc(arena, 1, sizeof *prev);
			*prev = random_record(rng, arena);
			result.put.prev = prev;
		}
		break;
	case KV_DELETE:
		result.del.prev = random_records(rng, arena, &result.del.prev_count);
		result.del.deleted = result.del.prev_count != 0
		                             ? (int64_t)result.del.prev_count
		                             : random_number(rng);
		break;
	default:
		result.txn = random_txn_result(rng, arena, &req->txn);
	}
	return result;
}

struct kv_result codec_gen_answer(struct pl_rng *rng, struct pl_arena *arena,
                                  const struct kv_req *req)
{
	struct kv_result result = random_result(rng, arena, req);

	result.header = random_header(rng);
	return result;
}

/* -- watch ------------------------------------------------------------- */

struct kv_watch_req codec_gen_watch_req(struct pl_rng *rng, struct pl_arena *arena)
{
	struct kv_watch_req req = {.keys = random_keys(rng, arena),
	                           .want_prev = random_bool(rng),
	                           .no_puts = random_bool(rng)};

	req.no_deletes = !req.no_puts && random_bool(rng);

	if (req.keys.kind == KV_RANGE && pl_span_cmp(req.keys.from, req.keys.to) >= 0)
		req.keys = (struct kv_keys){.kind = KV_PREFIX, .from = req.keys.from};
	return req;
}

static struct kv_event random_event(struct pl_rng *rng, struct pl_arena *arena,
                                    int64_t revision)
{
	struct kv_event event = {.is_delete = pl_rng_chance(rng, 1, 4)};
	struct kv_record *prev;

	event.record = random_record(rng, arena);
	event.record.mod_revision = revision;
	event.record.create_revision = 1 + (int64_t)pl_rng_below(rng, (uint64_t)revision);
	if (event.is_delete)
		event.record = (struct kv_record){.key = event.record.key,
		                                  .mod_revision = revision};
	if (pl_rng_chance(rng, 1, 3)) {
		prev = gen_alloc(arena, 1, sizeof *prev);
		*prev = random_record(rng, arena);
		event.prev = prev;
	}
	return event;
}

struct codec_watch codec_gen_watch(struct pl_rng *rng, struct pl_arena *arena)
{
	struct codec_watch watch = {.header = random_header(rng),
	                            .watch_id = random_number(rng) - 1,
	                            .created = random_bool(rng),
	                            .canceled = random_bool(rng),
	                            .fragment = random_bool(rng),
	                            .compact_revision =
	                                    random_bool(rng) ? 0 : random_number(rng),
	                            .count = pl_rng_below(rng, 6)};
	struct kv_event *events = gen_alloc(arena, watch.count, sizeof *events);
	int64_t revision = random_number(rng) / 4 + 1;

	if (random_bool(rng))
		watch.cancel_reason = random_bytes(rng, arena, 0);
	for (size_t i = 0; i < watch.count; i++) {
		events[i] = random_event(rng, arena, revision);
		revision += random_bool(rng) ? 0 : random_number(rng) / 16;
	}
	watch.events = events;
	return watch;
}

/* NOLINTEND(misc-no-recursion) */
