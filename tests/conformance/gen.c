#include "tests/conformance/gen.h"

#include "store/base/rng.h"
#include "tests/conformance/names.h"

enum {
	LEASES = 5, /* with ids of ours */
	LEASES_CHOSEN =
		3, /* leases with an id of the store's choice that histories refer to */
	TXN_LIST_MAX = 4,
	TXN_DEPTH_MAX = 3,
	BIG_VALUE_BYTES = 3000,
};

struct gen {
	struct pl_rng rng;
	struct pl_arena *arena;
};

/* Prefixes of each other, neighbours, and both ends of the order of bytes. */
static const struct pl_span keys[] = {
#define KEY(text)                                         \
	{                                                 \
		(const uint8_t *)(text), sizeof(text) - 1 \
	}
	KEY("a"),        KEY("a\x00"), KEY("a/"),       KEY("a/b"),
	KEY("a/c"),      KEY("a0"),    KEY("b"),        KEY("ba"),
	KEY("c"),        KEY("\x00"),  KEY("\x00\x00"), KEY("\xff"),
	KEY("\xff\xff"), KEY("a\xff"), KEY("k"),        KEY("\xff\x01\x80"),
};
static const struct pl_span values[] = {
	KEY(""), KEY("1"), KEY("2"), KEY("12"), KEY("\x00"), KEY("\xff\x00\xff"),
};
#undef KEY
static uint8_t big_value[BIG_VALUE_BYTES];

#define PICK(gen, array) (array)[random_below(gen, sizeof(array) / sizeof *(array))]

static uint64_t random_below(struct gen *gen, uint64_t bound)
{
	return pl_rng_below(&gen->rng, bound);
}

static bool random_percent(struct gen *gen, unsigned chance)
{
	return pl_rng_chance(&gen->rng, chance, 100);
}

static struct pl_span gen_key(struct gen *gen)
{
	if (pl_rng_chance(&gen->rng, 1, 500))
		return pl_span(NULL, 0);
	return PICK(gen, keys);
}

static struct kv_keys gen_keys(struct gen *gen, unsigned one_percent)
{
	struct kv_keys out = {.kind = KV_ONE, .from = gen_key(gen)};

	if (random_percent(gen, one_percent))
		return out;
	out.kind = (enum kv_keys_kind)random_below(gen, KV_FROM + 1);
	if (out.kind == KV_RANGE)
		out.to = gen_key(gen);
	/* Mostly the right way round. */
	if (out.kind == KV_RANGE && pl_span_cmp(out.from, out.to) > 0 &&
	    random_percent(gen, 90)) {
		struct pl_span from = out.from;

		out.from = out.to;
		out.to = from;
	}
	if (out.kind != KV_ONE && random_percent(gen, 10))
		out.from = pl_span(NULL, 0);
	return out;
}

/* Around the newest revision and around the compacted one, where the edges are. */
static int64_t gen_revision(struct gen *gen)
{
	if (random_percent(gen, 30))
		return relative_to(RELATIVE_COMPACTED, (int64_t)random_below(gen, 5) - 2);
	return relative_to(
		RELATIVE_NOW,
		2 - (int64_t)random_below(gen, random_percent(gen, 50) ? 6 : 60));
}

static int64_t gen_lease(struct gen *gen)
{
	if (random_percent(gen, 15))
		return NAMES_CHOSEN + (int64_t)random_below(gen, LEASES_CHOSEN);
	return 1 + (int64_t)random_below(gen, LEASES);
}

static struct kv_req gen_get(struct gen *gen)
{
	struct kv_req req = {.op = KV_GET, .get = {.keys = gen_keys(gen, 30)}};

	if (random_percent(gen, 30))
		req.get.limit = 1 + (int64_t)random_below(gen, 5);
	if (random_percent(gen, 40))
		req.get.revision = gen_revision(gen);
	req.get.keys_only = random_percent(gen, 10);
	req.get.count_only = random_percent(gen, 10);
	req.get.serializable = random_percent(gen, 10);
	return req;
}

static struct pl_span gen_value(struct gen *gen)
{
	if (random_percent(gen, 3))
		return pl_span(big_value, 1 + random_below(gen, sizeof big_value));
	return PICK(gen, values);
}

static struct kv_req gen_put(struct gen *gen)
{
	struct kv_req req = {.op = KV_PUT,
	                     .put = {.key = gen_key(gen), .value = gen_value(gen)}};

	/* Ids that the stores chose cannot be compared: no key has them. */
	if (random_percent(gen, 20))
		req.put.lease = 1 + (int64_t)random_below(gen, LEASES);
	req.put.want_prev = random_percent(gen, 30);
	req.put.keep_value = random_percent(gen, 6);
	req.put.keep_lease = random_percent(gen, 8);
	if (req.put.keep_value && random_percent(gen, 90))
		req.put.value = pl_span(NULL, 0);
	if (req.put.keep_lease && random_percent(gen, 90))
		req.put.lease = 0;
	return req;
}

static struct kv_req gen_delete(struct gen *gen)
{
	return (struct kv_req){
		.op = KV_DELETE,
		.del = {.keys = gen_keys(gen, 60), .want_prev = random_percent(gen, 40)}};
}

static struct kv_compare gen_compare(struct gen *gen)
{
	struct kv_compare compare = {
		.keys = gen_keys(gen, 60),
		.target = (enum kv_target)random_below(gen, KV_LEASE + 1),
		.relation = (enum kv_relation)random_below(gen, KV_GT + 1)};

	if (compare.target == KV_VALUE)
		compare.value = PICK(gen, values);
	else if (random_percent(gen, 80))
		compare.number =
			relative_to(RELATIVE_KEY, (int64_t)random_below(gen, 3) - 1);
	else
		compare.number = (int64_t)random_below(gen, 4);
	return compare;
}

static struct kv_req gen_txn(struct gen *gen, unsigned depth);

static struct kv_req gen_txn_op(struct gen *gen, /* NOLINT(misc-no-recursion) */
                                unsigned depth)
{
	uint64_t dice = random_below(gen, 100);

	if (dice < 12 && depth < TXN_DEPTH_MAX)
		return gen_txn(gen, depth + 1);
	if (dice < 60)
		return gen_put(gen);
	return dice < 85 ? gen_get(gen) : gen_delete(gen);
}

static const struct kv_req *gen_list(struct gen *gen, /* NOLINT(misc-no-recursion) */
                                     unsigned depth, size_t *count)
{
	struct kv_req *ops;

	*count = random_below(gen, TXN_LIST_MAX + 1);
	ops = pl_arena_zalloc(gen->arena, *count, sizeof *ops);
	PL_ASSERT(ops != NULL);
	for (size_t i = 0; i < *count; i++)
		ops[i] = gen_txn_op(gen, depth);
	return ops;
}

static struct kv_req gen_txn(struct gen *gen, /* NOLINT(misc-no-recursion) */
                             unsigned depth)
{
	struct kv_req req = {.op = KV_TXN};
	size_t count = random_below(gen, 4);
	struct kv_compare *compares =
		pl_arena_zalloc(gen->arena, count, sizeof *compares);

	PL_ASSERT(compares != NULL);
	for (size_t i = 0; i < count; i++)
		compares[i] = gen_compare(gen);
	req.txn.compares = compares;
	req.txn.compare_count = count;
	req.txn.then = gen_list(gen, depth, &req.txn.then_count);
	req.txn.otherwise = gen_list(gen, depth, &req.txn.otherwise_count);
	return req;
}

/* All live longer than any run: what expires is another test's. */
static struct kv_req gen_lease_call(struct gen *gen)
{
	static const int64_t ttls_s[] = {600, 1000, 3600, 0};
	struct kv_req req = {.lease = {.id = gen_lease(gen)}};
	uint64_t dice = random_below(gen, 100);

	if (dice < 40) {
		req.op = KV_LEASE_GRANT;
		req.lease.ttl_s = PICK(gen, ttls_s);
		if (req.lease.id >= NAMES_CHOSEN)
			req.lease.id = 0;
	} else if (dice < 55) {
		req.op = KV_LEASE_REVOKE;
	} else if (dice < 70) {
		req.op = KV_LEASE_KEEP;
	} else {
		req.op = KV_LEASE_TTL;
		req.lease.want_keys = random_percent(gen, 70);
	}
	return req;
}

/* Waited for: what a watch still finds of a compacted revision depends on it. */
static struct kv_req gen_compact(struct gen *gen)
{
	return (struct kv_req){
		.op = KV_COMPACT,
		.compact = {.revision = gen_revision(gen), .physical = true}};
}

static struct step gen_watch(struct gen *gen)
{
	struct step step = {.kind = STEP_WATCH,
	                    .slot = (unsigned)random_below(gen, HISTORY_SLOTS)};

	step.watch.keys = gen_keys(gen, 20);
	if (random_percent(gen, 70))
		step.watch.from_revision = gen_revision(gen);
	step.watch.want_prev = random_percent(gen, 40);
	step.watch.no_puts = random_percent(gen, 10);
	step.watch.no_deletes = random_percent(gen, 10);
	return step;
}

static struct step gen_step(struct gen *gen)
{
	uint64_t dice = random_below(gen, 1000);
	struct step step = {.kind = STEP_CALL};

	if (dice < 330)
		step.req = gen_put(gen);
	else if (dice < 400)
		step.req = gen_delete(gen);
	else if (dice < 600)
		step.req = gen_get(gen);
	else if (dice < 900)
		step.req = gen_txn(gen, 1);
	else if (dice < 960)
		step.req = gen_lease_call(gen);
	else if (dice < 965)
		step.req = gen_compact(gen);
	else if (dice < 985)
		step = gen_watch(gen);
	else
		step = (struct step){.kind = dice < 991   ? STEP_UNWATCH
		                             : dice < 995 ? STEP_DROP
		                                          : STEP_MEET,
		                     .slot = (unsigned)random_below(gen, HISTORY_SLOTS)};
	return step;
}

struct history gen_history(uint64_t seed, size_t count, struct pl_arena *arena)
{
	struct gen gen = {.arena = arena};
	struct history history = {.arena = arena, .count = count};

	history.steps = pl_arena_zalloc(arena, count, sizeof *history.steps);
	PL_ASSERT(history.steps != NULL);
	pl_rng_init(&gen.rng, seed);
	for (size_t i = 0; i < count; i++)
		history.steps[i] = gen_step(&gen);
	return history;
}
