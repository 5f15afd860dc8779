#include "store/base/fault.h"
#include "store/base/rng.h"
#include "store/kv/prefixed.h"
#include "tests/support/store/memkv/kit.h"

/* A plain fixture, and one behind a root in a store that has other keys around it. */
struct pair {
	struct kit plain, rooted;
};

static void pair_open(struct pair *pair, struct pl_span root)
{
	kit_open(&pair->plain, NULL);
	kit_open(&pair->rooted, NULL);
	T_EQ(prefixed_open(pair->rooted.kv, root, &pair->rooted.kv, NULL), PL_OK);
}

static void pair_close(struct pair *pair)
{
	kit_close(&pair->plain);
	kit_close(&pair->rooted);
}

static bool same_record(const struct kv_record *a, const struct kv_record *b)
{
	return pl_span_eq(a->key, b->key) && pl_span_eq(a->value, b->value) &&
	       a->create_revision == b->create_revision &&
	       a->mod_revision == b->mod_revision && a->version == b->version &&
	       a->lease == b->lease;
}

static void same_records(const struct kv_record *a, const struct kv_record *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		T_TRUE(same_record(&a[i], &b[i]));
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the requests made below. */
static void same_result(const struct kv_result *a, const struct kv_result *b)
{
	T_EQ(a->op, b->op);
	T_EQ(a->header.revision, b->header.revision);
	if (a->op == KV_GET) {
		T_EQ(a->get.count, b->get.count);
		T_EQ(a->get.total, b->get.total);
		T_EQ(a->get.more, b->get.more);
		same_records(a->get.records, b->get.records, a->get.count);
	} else if (a->op == KV_PUT) {
		T_TRUE((a->put.prev == NULL) == (b->put.prev == NULL));
		if (a->put.prev != NULL)
			same_records(a->put.prev, b->put.prev, 1);
	} else if (a->op == KV_DELETE) {
		T_EQ(a->del.deleted, b->del.deleted);
		T_EQ(a->del.prev_count, b->del.prev_count);
		same_records(a->del.prev, b->del.prev, a->del.prev_count);
	} else if (a->op == KV_TXN) {
		T_EQ(a->txn.succeeded, b->txn.succeeded);
		T_EQ(a->txn.count, b->txn.count);
		for (size_t i = 0; i < a->txn.count; i++)
			same_result(&a->txn.results[i], &b->txn.results[i]);
	}
}

static struct pl_rng rng;
static struct pl_arena arena;

/* Short keys over few bytes, 0xff among them, so that they meet. */
static struct pl_span random_key(size_t len_min)
{
	static const uint8_t bytes[] = {'a', 'b', 0xff, 0};
	uint8_t at[3];
	size_t len = pl_rng_between(&rng, len_min, 3);

	for (size_t i = 0; i < len; i++)
		at[i] = bytes[pl_rng_below(&rng, 4)];
	return pl_arena_dup(&arena, pl_span(at, len));
}

static struct kv_keys random_keys(void)
{
	struct pl_span a = random_key(1), b = random_key(1);

	switch (pl_rng_below(&rng, 4)) {
	case 0:
		return kv_key(a);
	case 1:
		return pl_span_cmp(a, b) < 0 ? kv_range(a, b) : kv_range(b, a);
	case 2:
		return kv_prefix(random_key(0));
	default:
		return kv_from(a);
	}
}

static struct kv_req random_op(void)
{
	struct kv_req req;

	switch (pl_rng_below(&rng, 4)) {
	case 0:
		req = kv_op_get(random_keys());
		req.get.limit = (int64_t)pl_rng_below(&rng, 4);
		return req;
	case 1:
		req = kv_op_delete(random_keys());
		req.del.want_prev = true;
		return req;
	default:
		req = kv_op_put(random_key(1), random_key(0));
		req.put.want_prev = true;
		return req;
	}
}

static struct kv_req random_req(void)
{
	struct kv_compare *compare = pl_arena_zalloc(&arena, 1, sizeof *compare);
	struct kv_req *ops = pl_arena_zalloc(&arena, 3, sizeof *ops);

	if (pl_rng_below(&rng, 3) != 0)
		return random_op();
	*compare = (struct kv_compare){.keys = random_keys(),
	                               .target = KV_VERSION,
	                               .relation = KV_LT,
	                               .number = (int64_t)pl_rng_below(&rng, 5)};
	for (unsigned i = 0; i < 3; i++)
		ops[i] = random_op();
	return (struct kv_req){.op = KV_TXN,
	                       .txn = {.compares = compare,
	                               .compare_count = 1,
	                               .then = ops,
	                               .then_count = 2,
	                               .otherwise = ops + 2,
	                               .otherwise_count = 1}};
}

static void random_run(struct pl_span root, uint64_t seed)
{
	static struct kit_watch watches[2];
	struct kv_watch_req watch = {.want_prev = true};
	struct pair pair;
	char told[16384];

	pl_rng_init(&rng, seed);
	pair_open(&pair, root);
	pl_arena_init(&arena, 0, 0);
	watch.keys = seed % 2 == 0 ? kv_prefix(random_key(0)) : kv_from(random_key(1));
	T_EQ(kit_watch(&pair.plain, &watches[0], &watch), PL_OK);
	T_EQ(kit_watch(&pair.rooted, &watches[1], &watch), PL_OK);
	for (unsigned i = 0; i < 60; i++) {
		struct kv_req req = random_req();
		enum pl_code code = kit_call(&pair.plain, &req);

		T_EQ(kit_call(&pair.rooted, &req), code);
		if (code == PL_OK)
			same_result(&pair.plain.result, &pair.rooted.result);
	}
	(void)snprintf(told, sizeof told, "%s", kit_told(&watches[0]));
	T_STR(kit_told(&watches[1]), told);
	pl_arena_done(&arena);
	pair_close(&pair);
}

/* The same operations, answers, revisions and events, whatever the root. */
T_CASE(answers_are_the_same_as_without_a_root)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		random_run(pl_span_str("/root/"), seed);
		random_run(pl_span_str("a"), seed);
		random_run(pl_span_str("a\xff"), seed);
		random_run(pl_span_str("\xff"), seed);
		random_run(pl_span(NULL, 0), seed);
	}
}

/* Keys next to the root are neither seen nor touched by any kind of request. */
T_CASE(keys_outside_the_root_are_out_of_reach)
{
	static struct kit_watch watch;
	struct kit outer, inner;
	struct kv_watch_req all = {.keys = kv_from(kit_key("a"))};
	struct kv_compare any = {.keys = kv_all_keys(),
	                         .target = KV_VERSION,
	                         .relation = KV_EQ,
	                         .number = 1};
	struct kv_req txn = {.op = KV_TXN, .txn = {.compares = &any, .compare_count = 1}};

	kit_open(&outer, NULL);
	inner = outer;
	pl_arena_init(&inner.arena, 0, 0);
	T_EQ(memkv_session(outer.mem, &inner.kv, NULL), PL_OK);
	T_EQ(prefixed_open(inner.kv, kit_key("r/"), &inner.kv, NULL), PL_OK);
	T_EQ(kit_watch(&inner, &watch, &all), PL_OK);
	(void)kit_put(&outer, "r", "below");
	(void)kit_put(&outer, "r", "twice");
	(void)kit_put(&outer, "r.", "below");
	(void)kit_put(&outer, "r/b", "inside");
	(void)kit_put(&outer, "r0", "above");
	(void)kit_put(&outer, "s", "above");
	T_EQ(kit_get_at(&inner, kv_all_keys(), 0), PL_OK);
	T_STR(kit_show(&inner), "b=inside");
	T_EQ(kit_get_at(&inner, kv_from(kit_key("a")), 0), PL_OK);
	T_STR(kit_show(&inner), "b=inside");
	T_EQ(kit_get_at(&inner, kv_range(kit_key("0"), kit_key("\xff")), 0), PL_OK);
	T_STR(kit_show(&inner), "b=inside");
	T_STR(kit_told(&watch), "ready@1 put b=inside@5");
	T_EQ(kit_call(&inner, &txn), PL_OK);
	T_TRUE(inner.result.txn.succeeded); /* "r" has version 2 and does not count */
	T_EQ(kit_delete(&inner, kv_from(kit_key("\x01"))), 1);
	T_EQ(kit_delete(&inner, kv_all_keys()), 0);
	T_EQ(kit_get_at(&outer, kv_all_keys(), 0), PL_OK);
	T_EQ(outer.result.get.count, 4);
	T_EQ(kit_get_at(&inner, kv_key(pl_span("", 0)), 0), PL_INVALID);
	kit_close_session(&outer, inner.kv);
	pl_arena_done(&inner.arena);
	kit_close(&outer);
}

T_CASE(lease_keys_outside_the_root_are_left_out)
{
	struct kit outer, inner;
	struct kv_req put;
	int64_t id = 77;

	kit_open(&outer, NULL);
	inner = outer;
	pl_arena_init(&inner.arena, 0, 0);
	T_EQ(memkv_session(outer.mem, &inner.kv, NULL), PL_OK);
	T_EQ(prefixed_open(inner.kv, kit_key("r/"), &inner.kv, NULL), PL_OK);
	T_EQ(kit_lease(&inner, KV_LEASE_GRANT, id, 10), PL_OK);
	put = kv_op_put_leased(kit_key("mine"), kit_key("1"), id);
	T_EQ(kit_call(&inner, &put), PL_OK);
	put = kv_op_put_leased(kit_key("other"), kit_key("1"), id);
	T_EQ(kit_call(&outer, &put), PL_OK);
	T_EQ(kit_lease(&inner, KV_LEASE_TTL, id, 0), PL_OK);
	T_EQ(inner.result.lease.key_count, 1);
	T_TRUE(pl_span_eq(inner.result.lease.keys[0], kit_key("mine")));
	kit_close_session(&outer, inner.kv);
	pl_arena_done(&inner.arena);
	kit_close(&outer);
}

static enum pl_code answered;

static void on_answered(void *ctx, const struct kv_result *result,
                        const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	answered = err == NULL ? PL_OK : err->code;
}

/* Without memory for the answer a write ends as unknown, but a read does not. */
T_CASE(each_allocation_may_fail)
{
	bool unknown = false;

	for (uint64_t nth = 1; nth < 40; nth++) {
		struct kit kit;
		struct kv_req put = kv_op_put(kit_key("k"), kit_key("new"));
		enum pl_code code;

		kit_open(&kit, NULL);
		T_EQ(prefixed_open(kit.kv, kit_key("r/"), &kit.kv, NULL), PL_OK);
		(void)kit_put(&kit, "k", "old");
		put.put.want_prev = true;
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = kv_start(kit.kv, &put, 1000, on_answered, NULL, NULL, NULL);
		memkv_run(kit.mem, 0);
		pl_fault_arm(PL_FAULT_ALLOC, 0);
		if (code != PL_OK)
			T_EQ(code, PL_NOMEM);
		unknown = unknown || answered == PL_UNKNOWN;
		T_EQ(kit_get_at(&kit, kv_all_keys(), 0), PL_OK);
		if (code != PL_OK)
			T_STR(kit_show(&kit), "k=old");
		kit_close(&kit);
	}
	T_TRUE(unknown);
}

/* A caller that counts the bytes of a request knows nothing of the root. */
T_CASE(limits_leave_room_for_the_root)
{
	struct pair pair;
	struct kv_limits plain, rooted;

	pair_open(&pair, kit_key("0123456789/"));
	plain = kv_limits(pair.plain.kv);
	rooted = kv_limits(pair.rooted.kv);
	T_EQ(rooted.txn_ops, plain.txn_ops);
	T_TRUE(rooted.progress && plain.progress);
	T_EQ(plain.request_bytes - rooted.request_bytes, 6 * 11 * plain.txn_ops);
	pair_close(&pair);
}
