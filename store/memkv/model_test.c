/*
 * Random histories from a seed against the simple model: every answer and every note must
 * be what the model says. MODEL_SEED=n runs one more seed.
 */
#include <stdlib.h>

#include "store/base/fault.h"
#include "store/base/rng.h"
#include "store/memkv/impl.h"
#include "tests/support/store/memkv/kit.h"
#include "tests/support/store/memkv/model.h"
#include "tests/support/store/memkv/mvcc_audit.h"

enum { WATCHES = 6, STEPS = 1500, OPS_MAX = 4 };

static struct kit kit;
static struct model model;
static struct pl_rng rng;
static struct pl_arena arena;

struct watched {
	struct kv_watch_req req;
	struct kv_watch *watch;
	int64_t next;      /* the revision that may come next */
	int64_t past_end;  /* the watch reads past events up to there, */
	int64_t compacted; /* of which those up to here were compacted */
	int64_t ready;     /* the revision that READY must say */
	bool announced;
	bool open;
	enum pl_code end; /* the code that END must have */
};

static struct watched watched[WATCHES];

static uint64_t below(uint64_t bound)
{
	return pl_rng_below(&rng, bound);
}

static bool chance(uint64_t percent)
{
	return pl_rng_chance(&rng, percent, 100);
}

static struct pl_span any_key(void)
{
	return model_key[below(MODEL_KEYS)];
}

static struct kv_keys any_keys(void)
{
	struct kv_keys keys = kv_key(any_key());

	if (chance(60))
		return keys;
	keys.kind = (enum kv_keys_kind)below(4);
	keys.to = any_key();
	if (keys.kind != KV_ONE && chance(20))
		keys.from = pl_span(NULL, 0);
	if (keys.kind == KV_RANGE && keys.to.len == 1 && keys.to.at[0] == 0)
		keys.to = PL_SPAN_LIT("b");
	return keys;
}

static struct pl_span any_value(void)
{
	static const char *const values[] = {"", "1", "2", "33"};

	return pl_span_str(values[below(4)]);
}

static int64_t any_revision(void)
{
	int64_t low = model.compacted > 3 ? model.compacted - 3 : 0;

	return low + (int64_t)below((uint64_t)(model.revision - low) + 3);
}

static struct kv_put any_put(void)
{
	struct kv_put put = {.key = any_key(), .want_prev = chance(40)};

	put.keep_value = chance(10);
	put.keep_lease = chance(10);
	if (!put.keep_value)
		put.value = any_value();
	if (!put.keep_lease && chance(30))
		put.lease = 1 + (int64_t)below(MODEL_LEASES);
	return put;
}

static struct kv_get any_get(void)
{
	return (struct kv_get){
		.keys = any_keys(),
		.limit = chance(30) ? (int64_t)below(4) : 0,
		.revision = chance(20) ? any_revision() : 0,
		.keys_only = chance(20),
		.count_only = chance(20),
	};
}

static struct kv_compare any_compare(void)
{
	struct kv_compare compare = {
		.keys = any_keys(),
		.target = (enum kv_target)below(5),
		.relation = (enum kv_relation)below(4),
		.number = (int64_t)below(4),
		.value = any_value(),
	};

	if (chance(40) &&
	    (compare.target == KV_MOD_REV || compare.target == KV_CREATE_REV))
		compare.number = any_revision();
	return compare;
}

/* NOLINTBEGIN(misc-no-recursion): any_op makes no deeper one below depth 2. */

static struct kv_req any_op(unsigned depth);

static const struct kv_req *any_list(unsigned depth, size_t *count)
{
	struct kv_req *ops;

	*count = below(OPS_MAX + 1);
	ops = pl_arena_alloc(&arena, (*count + 1) * sizeof *ops);
	for (size_t i = 0; i < *count; i++)
		ops[i] = any_op(depth + 1);
	return ops;
}

static struct kv_txn any_txn(unsigned depth)
{
	size_t count = below(3);
	struct kv_compare *compares = pl_arena_alloc(&arena, 3 * sizeof *compares);
	struct kv_txn txn = {.compares = compares, .compare_count = count};

	for (size_t i = 0; i < count; i++)
		compares[i] = any_compare();
	txn.then = any_list(depth, &txn.then_count);
	txn.otherwise = any_list(depth, &txn.otherwise_count);
	return txn;
}

static struct kv_req any_op(unsigned depth)
{
	uint64_t dice = below(100);

	if (dice < 25)
		return (struct kv_req){.op = KV_GET, .get = any_get()};
	if (dice < 65)
		return (struct kv_req){.op = KV_PUT, .put = any_put()};
	if (dice < 80 || depth > 2)
		return (struct kv_req){
			.op = KV_DELETE,
			.del = {.keys = any_keys(), .want_prev = chance(50)}};
	return (struct kv_req){.op = KV_TXN, .txn = any_txn(depth)};
}

/* NOLINTEND(misc-no-recursion) */

static struct kv_req any_req(void)
{
	static const enum kv_op lease_ops[] = {KV_LEASE_GRANT, KV_LEASE_GRANT,
	                                       KV_LEASE_REVOKE, KV_LEASE_KEEP,
	                                       KV_LEASE_TTL};

	if (chance(85))
		return any_op(0);
	if (chance(15))
		return (struct kv_req){.op = KV_COMPACT,
		                       .compact = {.revision = any_revision() + 1}};
	return (struct kv_req){.op = lease_ops[below(5)],
	                       .lease = {.id = 1 + (int64_t)below(MODEL_LEASES),
	                                 .ttl_s = 1 + (int64_t)below(5),
	                                 .want_keys = true}};
}

/* The next revision up to now of which the watch must be told; 0: none. */
static int64_t next_wanted(struct watched *w)
{
	for (; w->next <= model.revision; w->next++) {
		unsigned live = 0;

		if (!model_note_wanted(&model, &w->req, w->next))
			continue;
		/* All events that the watch wants there may have been compacted away. */
		for (unsigned i = 0; i < model.events[w->next]; i++)
			live += !model.event[w->next][i].is_delete &&
			        kv_key_in(w->req.keys,
			                  model_key[model.event[w->next][i].key]) &&
			        !w->req.no_puts;
		if (w->next != w->compacted || w->next > w->past_end || live > 0)
			return w->next;
	}
	return 0;
}

/* Notes come before the answer to their write, but the model needs the answer first, so
 * notes wait. */
static struct {
	struct watched *watched;
	struct kv_watch_note note;
	enum pl_code end;
} told[KIT_NOTES_MAX];
static unsigned told_count;

static void on_note(void *ctx, const struct kv_watch_note *note)
{
	T_TRUE(told_count < KIT_NOTES_MAX);
	told[told_count].watched = ctx;
	told[told_count].end = note->err == NULL ? PL_OK : note->err->code;
	T_EQ(kv_note_copy(&kit.arena, note, &told[told_count++].note), PL_OK);
}

static void told_check(struct watched *w, const struct kv_watch_note *note,
                       enum pl_code end)
{
	int64_t wanted;

	switch (note->what) {
	case KV_WATCH_READY:
		T_TRUE(!w->announced);
		T_EQ(note->revision, w->ready);
		w->announced = true;
		return;
	case KV_WATCH_EVENTS:
		T_TRUE(w->announced && w->end == PL_OK);
		wanted = next_wanted(w);
		T_EQ(note->revision, wanted);
		model_note_check(&model, &w->req, wanted,
		                 wanted <= w->past_end ? w->compacted : -1, note);
		w->next++;
		return;
	case KV_WATCH_PROGRESS:
		return;
	case KV_WATCH_END:
		T_EQ(end, w->end);
		w->open = false;
		return;
	}
}

/* Checks that the notes are right and that none is missing. */
static void watches_check(void)
{
	for (unsigned i = 0; i < told_count; i++)
		told_check(told[i].watched, &told[i].note, told[i].end);
	told_count = 0;
	for (unsigned i = 0; i < WATCHES; i++)
		if (watched[i].open) {
			T_TRUE(watched[i].announced && watched[i].end == PL_OK);
			T_EQ(next_wanted(&watched[i]), 0);
		}
	pl_arena_reset(&kit.arena);
	pl_arena_reset(&arena);
}

static void open_watch(struct watched *w)
{
	struct pl_err err;

	*w = (struct watched){.open = true, .compacted = model.compacted};
	w->req = (struct kv_watch_req){.keys = any_keys(),
	                               .from_revision = chance(60) ? any_revision() : 0,
	                               .want_prev = chance(50)};
	w->req.no_puts = chance(15);
	w->req.no_deletes = !w->req.no_puts && chance(15);
	if (w->req.keys.kind == KV_RANGE &&
	    pl_span_cmp(w->req.keys.from, w->req.keys.to) >= 0)
		w->req.keys = kv_all_keys();
	w->past_end = model.revision;
	w->next = w->req.from_revision == 0 ? model.revision + 1 : w->req.from_revision;
	w->ready = w->next - 1;
	if (w->next < model.compacted && w->next <= model.revision)
		w->end = PL_COMPACTED;
	T_EQ(kv_watch(kit.kv, &w->req, on_note, w, &w->watch, &err), PL_OK);
}

/* Runs the request with an allocation that fails. Nothing may have happened then. */
static bool call_without_memory(const struct kv_req *req, enum pl_code *code)
{
	uint64_t bytes = kit.mem->mvcc->bytes;
	bool fired;

	pl_fault_arm(PL_FAULT_ALLOC, 1 + below(10));
	*code = kv_start(kit.kv, req, 1000, kit_on_done, &kit, NULL, &kit.err);
	fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_arm(PL_FAULT_ALLOC, 0);
	mvcc_audit(kit.mem->mvcc);
	if (*code == PL_NOMEM) {
		T_TRUE(fired);
		T_EQ(kit.mem->mvcc->bytes, bytes);
		T_EQ(kit.mem->mvcc->revision, model.revision);
		T_TRUE(pl_list_empty(&kit.mem->queue));
		return false;
	}
	if (*code == PL_OK) {
		kit_run(&kit, kit.now_ms);
		*code = kit.code;
	}
	return true;
}

static void step_request(void)
{
	struct kv_req req = any_req();
	enum pl_code code;

	if (!chance(30) || !call_without_memory(&req, &code))
		code = kit_call(&kit, &req);
	model_check(&model, &req, code, &kit.result);
}

static void step_time(void)
{
	kit_run(&kit, kit.now_ms + below(1500));
	model_advance(&model, kit.now_ms);
}

static void step_watch(void)
{
	struct watched *w = &watched[below(WATCHES)];

	if (w->open && w->end == PL_OK) {
		w->end = PL_CANCELED;
		kv_unwatch(kit.kv, w->watch);
	} else if (!w->open) {
		open_watch(w);
	}
	kit_run(&kit, kit.now_ms);
}

static void history(uint64_t seed)
{
	pl_rng_init(&rng, seed);
	pl_arena_init(&arena, 65536, 0);
	model_init(&model);
	kit_open(&kit, &(struct memkv_opts){.seed = seed});
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t dice = below(100);

		if (dice < 88)
			step_request();
		else if (dice < 92)
			step_time();
		else
			step_watch();
		watches_check();
		mvcc_audit(kit.mem->mvcc);
	}
	for (unsigned i = 0; i < WATCHES; i++)
		watched[i].end = PL_CANCELED;
	kit_close(&kit);
	pl_arena_done(&arena);
}

T_CASE(random_histories_agree_with_the_model)
{
	const char *more = getenv("MODEL_SEED");

	for (uint64_t seed = 1; seed <= 8; seed++)
		history(seed);
	if (more != NULL)
		history(strtoull(more, NULL, 10));
}
