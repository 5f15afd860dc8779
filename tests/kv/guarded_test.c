#include "store/base/fault.h"
#include "store/kv/guarded.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

/*
 * Writes below /s/<d>/ need the fence of /o/<d>, and /s/9 is refused. Writes below
 * /m/<d>/ need any fence, that of /o/<d> if there is no other; /m/9 has none. Other
 * writes are free. The test records which fences were reported broken.
 */

enum { LEASE = 70 };

struct rig {
	struct kit kit;
	struct kv *plain; /* for the writes of others */
	struct guard_fence fence[10];
	char told[256];
};

static enum guard_need need_of(void *ctx, const struct kv_keys *written,
                               struct guard_fence *out)
{
	struct rig *rig = ctx;
	struct pl_span key = written->from;
	unsigned d;

	if (pl_span_starts(key, kit_key("/m/")) && key.len >= 4) {
		if (key.at[3] != '9')
			*out = rig->fence[key.at[3] - '0'];
		return GUARD_ANCHOR;
	}
	if (!pl_span_starts(key, kit_key("/s/")))
		return GUARD_FREE;
	if (key.len < 4 || key.at[3] == '9')
		return GUARD_REFUSE;
	d = (unsigned)(key.at[3] - '0');
	*out = rig->fence[d];
	return GUARD_FENCE;
}

static void on_fenced(void *ctx, const struct guard_fence *fence)
{
	struct rig *rig = ctx;
	size_t len = strlen(rig->told);

	(void)snprintf(rig->told + len, sizeof rig->told - len, "%s%s",
	               len == 0 ? "" : " ", fence->key.at);
}

static void put_fence(struct rig *rig, unsigned d)
{
	struct guard_fence *fence = &rig->fence[d];
	struct kv_req put;

	fence->key.len =
		(size_t)snprintf(fence->key.at, sizeof fence->key.at, "/o/%u", d);
	put = kv_op_put_leased(keys_span(&fence->key), kit_key("me"), LEASE);
	T_EQ(kit_call(&rig->kit, &put), PL_OK);
	fence->create_revision = rig->kit.result.header.revision;
	fence->lease = LEASE;
}

static enum pl_code rig_guard(struct rig *rig)
{
	struct guard guard = {.need = need_of, .fenced = on_fenced, .ctx = rig};

	return guarded_open(rig->plain, &guard, &rig->kit.kv, NULL);
}

static void rig_open(struct rig *rig)
{
	struct memkv_opts opts = {.txn_ops_max = 256};

	memset(rig, 0, sizeof *rig);
	kit_open(&rig->kit, &opts);
	rig->plain = rig->kit.kv;
	T_EQ(kit_lease(&rig->kit, KV_LEASE_GRANT, LEASE, 100), PL_OK);
	put_fence(rig, 1);
	put_fence(rig, 2);
	T_EQ(rig_guard(rig), PL_OK);
}

/* Another client writes past the guard. */
static void call_unguarded(struct rig *rig, const struct kv_req *req)
{
	struct kv *guarded = rig->kit.kv;

	rig->kit.kv = rig->plain;
	T_EQ(kit_call(&rig->kit, req), PL_OK);
	rig->kit.kv = guarded;
}

static void lose_fence(struct rig *rig, unsigned d)
{
	struct kv_req del = kv_op_delete(kv_key(keys_span(&rig->fence[d].key)));

	call_unguarded(rig, &del);
}

static struct kv_req put_of(const char *key, const char *value)
{
	return kv_op_put(pl_span_str(key), pl_span_str(value));
}

static const char *value_of(struct rig *rig, const char *key)
{
	T_EQ(kit_get_at(&rig->kit, kv_key(pl_span_str(key)), 0), PL_OK);
	return kit_show(&rig->kit);
}

static struct rig rig;

T_CASE(a_put_and_a_delete_keep_their_shape)
{
	struct kv_req put = put_of("/s/1/a", "x");
	struct kv_req del = kv_op_delete(kv_prefix(kit_key("/s/1/")));

	rig_open(&rig);
	put.put.want_prev = true;
	del.del.want_prev = true;
	T_EQ(kit_call(&rig.kit, &put), PL_OK);
	T_EQ(rig.kit.result.op, KV_PUT);
	T_TRUE(rig.kit.result.put.prev == NULL);
	T_EQ(rig.kit.result.header.revision, rig.fence[2].create_revision + 1);
	T_TRUE(rig.kit.result.header.cluster_id != 0);
	T_EQ(kit_call(&rig.kit, &put), PL_OK);
	T_SPAN(rig.kit.result.put.prev->value, kit_key("x"));
	T_EQ(kit_call(&rig.kit, &del), PL_OK);
	T_EQ(rig.kit.result.op, KV_DELETE);
	T_EQ(rig.kit.result.del.deleted, 1);
	T_EQ(rig.kit.result.del.prev_count, 1);
	T_EQ(guarded_metrics(rig.kit.kv)->writes, 3);
	T_STR(rig.told, "");
	kit_close(&rig.kit);
}

T_CASE(write_needs_its_fence)
{
	struct kv_req put = put_of("/s/1/a", "new"), other = put_of("/s/2/a", "fine");
	struct kv_req del = kv_op_delete(kv_key(kit_key("/s/1/a")));

	rig_open(&rig);
	call_unguarded(&rig, &(struct kv_req){.op = KV_PUT,
	                                      .put = {.key = kit_key("/s/1/a"),
	                                              .value = kit_key("old")}});
	lose_fence(&rig, 1);
	T_EQ(kit_call(&rig.kit, &put), PL_FENCED);
	T_STR(rig.told, "/o/1");
	T_EQ(kit_call(&rig.kit, &del), PL_FENCED);
	T_STR(value_of(&rig, "/s/1/a"), "/s/1/a=old");
	T_EQ(kit_call(&rig.kit, &other), PL_OK);
	T_EQ(guarded_metrics(rig.kit.kv)->writes, 3);
	T_EQ(guarded_metrics(rig.kit.kv)->fenced, 2);
	kit_close(&rig.kit);
}

/* A key that was deleted and created again is not the same owner, whatever its lease
 * is. */
T_CASE(create_revision_and_lease_are_both_compared)
{
	struct kv_req put = put_of("/s/1/a", "x");
	struct guard_fence was;

	rig_open(&rig);
	was = rig.fence[1];
	rig.fence[1].lease++;
	T_EQ(kit_call(&rig.kit, &put), PL_FENCED);
	rig.fence[1] = was;
	rig.fence[1].create_revision++;
	T_EQ(kit_call(&rig.kit, &put), PL_FENCED);
	rig.fence[1] = was;
	T_EQ(kit_call(&rig.kit, &put), PL_OK);
	T_STR(rig.told, "/o/1 /o/1");
	kit_close(&rig.kit);
}

T_CASE(keys_of_others_are_refused_at_once)
{
	struct kv_req put = put_of("/s/9/a", "x"), free_put = put_of("/t/9/a", "x");
	struct kv_req range = kv_op_delete(kv_prefix(kit_key("/s/")));
	struct kv_req inner = {.op = KV_TXN,
	                       .txn = {.otherwise = &put, .otherwise_count = 1}};
	struct kv_req outer = {.op = KV_TXN, .txn = {.then = &inner, .then_count = 1}};

	rig_open(&rig);
	T_EQ(kit_call(&rig.kit, &put), PL_FENCED);
	T_EQ(kit_call(&rig.kit, &range), PL_FENCED);
	T_EQ(kit_call(&rig.kit, &outer), PL_FENCED);
	T_EQ(guarded_metrics(rig.kit.kv)->refused, 3);
	T_EQ(guarded_metrics(rig.kit.kv)->writes, 0);
	T_EQ(kit_call(&rig.kit, &free_put), PL_OK);
	T_STR(rig.told, "");
	kit_close(&rig.kit);
}

T_CASE(shared_keys_need_any_fence)
{
	struct kv_req shared = put_of("/m/9/a", "x"), mine = put_of("/m/1/a", "x");
	struct kv_req both[] = {put_of("/m/9/b", "x"), put_of("/s/2/a", "x"),
	                        put_of("/m/1/b", "x")};
	struct kv_req txn = {.op = KV_TXN, .txn = {.then = both, .then_count = 3}};

	rig_open(&rig);
	T_EQ(kit_call(&rig.kit, &shared), PL_FENCED);
	T_EQ(guarded_metrics(rig.kit.kv)->refused, 1);
	T_EQ(kit_call(&rig.kit, &mine), PL_OK);
	T_EQ(guarded_metrics(rig.kit.kv)->writes, 1);
	T_EQ(kit_call(&rig.kit, &txn), PL_OK);
	T_EQ(guarded_metrics(rig.kit.kv)->writes, 2);
	/* The fence is that of the one write that needs its own, so 1 may change. */
	rig.fence[1].create_revision++;
	T_EQ(kit_call(&rig.kit, &txn), PL_OK);
	T_EQ(kit_call(&rig.kit, &mine), PL_FENCED);
	rig.fence[2].create_revision++;
	T_EQ(kit_call(&rig.kit, &txn), PL_FENCED);
	T_STR(rig.told, "/o/1 /o/2");
	kit_close(&rig.kit);
}

/* A plain conflict returns what the caller asked for in that case. */
T_CASE(failed_compare_is_not_a_broken_fence)
{
	struct kv_compare never = kv_if_mod_rev(kit_key("/s/1/a"), KV_GT, 1000);
	struct kv_req then = put_of("/s/1/a", "x");
	struct kv_req otherwise[] = {kv_op_get(kv_key(kit_key("/o/1"))),
	                             put_of("/s/2/b", "y")};
	struct kv_req txn = {.op = KV_TXN,
	                     .txn = {.compares = &never,
	                             .compare_count = 1,
	                             .then = &then,
	                             .then_count = 1,
	                             .otherwise = otherwise,
	                             .otherwise_count = 2}};

	rig_open(&rig);
	T_EQ(kit_call(&rig.kit, &txn), PL_OK);
	T_EQ(rig.kit.result.op, KV_TXN);
	T_TRUE(!rig.kit.result.txn.succeeded);
	T_EQ(rig.kit.result.txn.count, 2);
	T_EQ(rig.kit.result.txn.results[0].get.count, 1);
	T_STR(value_of(&rig, "/s/2/b"), "/s/2/b=y");
	/* The list otherwise is fenced as well. */
	lose_fence(&rig, 2);
	T_EQ(kit_call(&rig.kit, &txn), PL_FENCED);
	T_STR(rig.told, "/o/2");
	kit_close(&rig.kit);
}

T_CASE(nested_transactions_carry_the_fences_of_all_owners)
{
	struct kv_req deep[] = {put_of("/s/2/a", "x"), put_of("/t", "free")};
	struct kv_req list[] = {put_of("/s/1/a", "x"),
	                        {.op = KV_TXN, .txn = {.then = deep, .then_count = 2}},
	                        put_of("/s/1/b", "x")};
	struct kv_req txn = {.op = KV_TXN, .txn = {.then = list, .then_count = 3}};

	rig_open(&rig);
	T_EQ(kit_call(&rig.kit, &txn), PL_OK);
	T_TRUE(rig.kit.result.txn.succeeded);
	T_EQ(rig.kit.result.txn.count, 3);
	T_EQ(rig.kit.result.txn.results[1].txn.count, 2);
	lose_fence(&rig, 1);
	lose_fence(&rig, 2);
	T_EQ(kit_call(&rig.kit, &txn), PL_FENCED);
	T_STR(rig.told, "/o/1 /o/2");
	kit_close(&rig.kit);
}

static unsigned fences_made;

/* Each key has its own fence. */
static enum guard_need need_each(void *ctx, const struct kv_keys *written,
                                 struct guard_fence *out)
{
	(void)ctx;
	out->key.len = (size_t)snprintf(out->key.at, sizeof out->key.at, "/o" PL_SPAN_FMT,
	                                PL_SPAN_ARG(written->from));
	out->create_revision = 0;
	out->lease = 0;
	fences_made++;
	return GUARD_FENCE;
}

T_CASE(limits_leave_room_for_fences)
{
	static char keys[GUARD_FENCES_MAX + 1][8];
	struct kv_req puts[GUARD_FENCES_MAX + 1];
	struct kv_req txn = {.op = KV_TXN, .txn = {.then = puts}};
	struct guard each = {.need = need_each, .fenced = on_fenced, .ctx = &rig};

	rig_open(&rig);
	T_EQ(kv_limits(rig.plain).txn_ops, 256);
	T_EQ(kv_limits(rig.kit.kv).txn_ops, 256 - 64);
	T_EQ(kv_limits(rig.plain).fences, 0);
	T_EQ(kv_limits(rig.kit.kv).fences, 32);
	T_EQ(kv_limits(rig.kit.kv).request_bytes,
	     kv_limits(rig.plain).request_bytes - 64 * 256);
	kit_close(&rig.kit);
	rig_open(&rig);
	T_EQ(guarded_open(rig.kit.kv, &each, &rig.kit.kv, NULL), PL_OK);
	for (unsigned i = 0; i <= GUARD_FENCES_MAX; i++) {
		(void)snprintf(keys[i], sizeof keys[i], "/k%u", i);
		puts[i] = put_of(keys[i], "x");
	}
	txn.txn.then_count = GUARD_FENCES_MAX;
	T_EQ(kit_call(&rig.kit, &txn), PL_OK);
	txn.txn.then_count++;
	T_EQ(kit_call(&rig.kit, &txn), PL_LIMIT);
	T_TRUE(fences_made > GUARD_FENCES_MAX);
	kit_close(&rig.kit);
}

static enum pl_code ended;
static unsigned ends;

static void on_end(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	ended = err == NULL ? PL_OK : err->code;
	ends++;
}

T_CASE(cancel_ends_as_canceled_or_unknown)
{
	struct faulty_rule lose_answer = {
		.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_TXN, .per_mille = 1000};
	struct kv_req put = put_of("/s/1/a", "x"), get = kv_op_get(kv_all_keys());
	struct kv_call *call;

	rig_open(&rig);
	T_EQ(kv_start(rig.kit.kv, &put, 1000, on_end, NULL, &call, NULL), PL_OK);
	kv_cancel(rig.kit.kv, call);
	T_EQ(ends, 0);
	kit_run(&rig.kit, 1);
	T_EQ(ends, 1);
	T_EQ(ended, PL_UNKNOWN);
	T_EQ(kv_start(rig.kit.kv, &get, 1000, on_end, NULL, &call, NULL), PL_OK);
	kv_cancel(rig.kit.kv, call);
	kit_run(&rig.kit, 2);
	T_EQ(ended, PL_CANCELED);
	kit_close(&rig.kit);
	rig_open(&rig);
	kit_close_session(&rig.kit, rig.kit.kv);
	T_EQ(memkv_session(rig.kit.mem, &rig.plain, NULL), PL_OK);
	T_EQ(faulty_open(rig.plain, 1, &lose_answer, 1, &rig.plain, NULL), PL_OK);
	T_EQ(rig_guard(&rig), PL_OK);
	T_EQ(kit_call(&rig.kit, &put), PL_UNKNOWN);
	T_STR(rig.told, "");
	kit_close(&rig.kit);
}

T_CASE(invalid_requests_are_refused)
{
	struct kv_req put = put_of("", "x");

	rig_open(&rig);
	T_EQ(kit_call(&rig.kit, &put), PL_INVALID);
	kit_close(&rig.kit);
}

/* Every path with each allocation failing once: nothing leaks. */
static enum pl_code run_scenario(void)
{
	struct kv_req put = put_of("/s/1/a", "x"), list[] = {put, put_of("/s/2/b", "y")};
	struct kv_req txn = {.op = KV_TXN, .txn = {.then = list, .then_count = 2}};
	struct kv *guarded;
	struct guard guard = {.need = need_of, .fenced = on_fenced, .ctx = &rig};
	enum pl_code code = guarded_open(rig.plain, &guard, &guarded, NULL);

	if (code != PL_OK)
		return code;
	rig.kit.kv = guarded;
	code = kv_start(guarded, &put, 1000, on_end, NULL, NULL, NULL);
	if (code == PL_OK)
		code = kv_start(guarded, &txn, 1000, on_end, NULL, NULL, NULL);
	memkv_run(rig.kit.mem, rig.kit.now_ms);
	if (code == PL_OK && ended != PL_OK)
		code = ended == PL_UNKNOWN ? PL_NOMEM : ended;
	return code;
}

T_CASE(each_allocation_may_fail)
{
	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;

		rig_open(&rig);
		kit_close_session(&rig.kit, rig.kit.kv);
		T_EQ(memkv_session(rig.kit.mem, &rig.plain, NULL), PL_OK);
		rig.kit.kv = rig.plain;
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = run_scenario();
		if (!pl_fault_fired(PL_FAULT_ALLOC)) {
			T_EQ(code, PL_OK);
			T_TRUE(nth > 3);
			break;
		}
		if (code != PL_OK)
			T_EQ(code, PL_NOMEM);
		pl_fault_reset();
		kit_close(&rig.kit);
	}
	pl_fault_reset();
	kit_close(&rig.kit);
}
