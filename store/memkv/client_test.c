/* The rules of the kv interface: when callbacks come, and in which order. */
#include "store/base/clock.h"
#include "store/base/fault.h"
#include "store/memkv/impl.h"
#include "tests/support/store/memkv/mvcc_audit.h"
#include "tests/support/store/memkv/story.h"

static struct kit_watch watch[1];

static void on_timer(void *ctx)
{
	story_add(ctx);
}

T_CASE(notes_come_before_the_answer_of_their_write)
{
	struct kv *other;
	struct pl_timer timer = {0};

	kit_open(&kit, NULL);
	T_EQ(memkv_session(kit.mem, &other, &kit.err), PL_OK);
	T_EQ(pl_timer_init(&timer, kv_timers(kit.kv), on_timer, named("timer")), PL_OK);
	pl_timer_set(&timer, 2000);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 1, 2), PL_OK);
	(void)start_watch(kit.kv, KEY("b"), named("w1"));
	(void)start_watch(other, kv_all_keys(), named("w2"));
	start_put(kit.kv, "b", named("put1"), NULL);
	start_put(other, "a", named("put2"), NULL);
	T_STR(story, "");
	T_EQ(memkv_next_ms(kit.mem), 0);
	kit_run(&kit, 0);
	T_STR(story, "w1:ready@1 w2:ready@1 w2:events@2 w1:events@2 put1:ok "
	             "w2:events@3 put2:ok");
	story[0] = 0;
	T_EQ(memkv_next_ms(kit.mem), 2000);
	T_EQ(kit_call(&kit,
	              &(struct kv_req){.op = KV_PUT, .put = {.key = S("l"), .lease = 1}}),
	     PL_OK);
	kit_run(&kit, 5000);
	T_STR(story, "w2:events@4 timer w2:events@5");
	T_EQ(kv_now_ms(kit.kv), 5000);
	pl_timer_done(&timer);
	kit_close_session(&kit, other);
	kit_close(&kit);
}

T_CASE(canceled_writes_have_happened_and_reads_have_not)
{
	struct kv_get get = {.keys = KEY("a")};
	struct kv_call *call[3];

	kit_open(&kit, NULL);
	start_put(kit.kv, "a", named("put"), &call[0]);
	T_EQ(kv_get(kit.kv, &get, 1000, on_named, named("get"), &call[1], &kit.err),
	     PL_OK);
	T_EQ(kv_get(kit.kv, &get, 1000, on_named, named("again"), &call[2], &kit.err),
	     PL_OK);
	kv_cancel(kit.kv, call[0]);
	kv_cancel(kit.kv, call[1]);
	kit_run(&kit, 0);
	T_STR(story, "put:outcome unknown get:canceled again:ok");
	T_EQ(kit_get_at(&kit, KEY("a"), 0), PL_OK);
	T_STR(kit_show(&kit), "a=1");
	kit_close(&kit);
}

T_CASE(closing_ends_what_the_session_started_and_nothing_else)
{
	struct kv *other;
	bool closed = false;

	kit_open(&kit, NULL);
	T_EQ(memkv_session(kit.mem, &other, &kit.err), PL_OK);
	(void)start_watch(kit.kv, kv_all_keys(), named("mine"));
	(void)start_watch(other, kv_all_keys(), named("other"));
	kit_run(&kit, 0);
	story[0] = 0;
	start_put(other, "a", named("put"), NULL);
	kv_close(other, kit_on_closed, &closed);
	T_EQ(kv_put(other, &(struct kv_put){.key = S("b")}, 1, on_named, named("late"),
	            NULL, &kit.err),
	     PL_CANCELED);
	T_TRUE(!closed);
	kit_run(&kit, 0);
	T_TRUE(closed);
	T_STR(story, "mine:events@2 put:outcome unknown other:end@2");
	kit_close(&kit);
}

/* Each callback starts something, and nothing is called inside anything else. */
static unsigned depth, rounds;

static void on_again(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)result;
	T_TRUE(err == NULL && depth == 0);
	depth++;
	if (++rounds < 1000)
		T_EQ(kv_put(kit.kv, &(struct kv_put){.key = S("k")}, 1000, on_again, ctx,
		            NULL, &kit.err),
		     PL_OK);
	depth--;
}

T_CASE(steps_bound_a_client_that_never_stops)
{
	kit_open(&kit, NULL);
	T_EQ(kv_put(kit.kv, &(struct kv_put){.key = S("k")}, 1000, on_again, NULL, NULL,
	            &kit.err),
	     PL_OK);
	T_TRUE(memkv_step(kit.mem, 7, 10));
	T_EQ(rounds, 10);
	T_EQ(kv_now_ms(kit.kv), 0); /* the clock waits */
	T_TRUE(!memkv_step(kit.mem, 7, SIZE_MAX));
	T_EQ(rounds, 1000);
	T_EQ(kv_now_ms(kit.kv), 7);
	kit_close(&kit);
}

/* -- room -------------------------------------------------------------- */

static unsigned woken;
static struct kv_waiter waiter[3];

static void on_room(void *ctx)
{
	unsigned which = *(unsigned *)ctx;
	struct kv_put put = {.key = S("k"), .value = S("0123456789")};

	T_EQ(woken++, which);
	if (kv_put(kit.kv, &put, 1000, on_named, named("late"), NULL, &kit.err) != PL_OK)
		story_add("refused");
}

T_CASE(room_is_bounded_and_waiters_come_in_order)
{
	static unsigned name[3] = {0, 1, 2};
	struct kv_put put = {.key = S("k"), .value = S("0123456789")};
	unsigned started = 0;
	enum pl_code code = PL_OK;

	kit_open(&kit, &(struct memkv_opts){.room_bytes = 200});
	T_EQ(kv_room(kit.kv), 200);
	while (code == PL_OK) {
		code = kv_put(kit.kv, &put, 1000, on_named, named("put"), NULL, &kit.err);
		started += code == PL_OK;
	}
	T_EQ(code, PL_BUSY);
	T_EQ(started, 2);
	T_EQ(kv_room(kit.kv), 50);
	for (unsigned i = 0; i < 3; i++) {
		waiter[i] = (struct kv_waiter){.fn = on_room, .ctx = &name[i]};
		pl_list_init(&waiter[i].link);
		kv_when_room(kit.kv, &waiter[i]);
	}
	pl_list_del(&waiter[2].link); /* cancels the wait */
	T_EQ(woken, 0);
	kit_run(&kit, 0);
	T_EQ(woken, 2);
	T_STR(story, "put:ok put:ok late:ok late:ok");
	story[0] = 0;
	kv_when_room(kit.kv, &waiter[2]);
	kit_close(&kit);
	T_EQ(woken, 3);
	T_STR(story, "refused"); /* woken by the close */
}

/* -- limits ------------------------------------------------------------ */

T_CASE(requests_over_the_limits_are_refused_at_once)
{
	static uint8_t big[70000];
	struct kv_req ops[5], inner = {.op = KV_TXN}, outer = {.op = KV_TXN};
	struct kv_put put = {.key = S("k"), .value = pl_span(big, sizeof big)};

	kit_open(&kit,
	         &(struct memkv_opts){.txn_ops_max = 4, .request_bytes_max = 65536});
	T_EQ(kv_limits(kit.kv).txn_ops, 4);
	T_EQ(kv_limits(kit.kv).request_bytes, 65536);
	for (unsigned i = 0; i < 5; i++)
		ops[i] = kv_op_get(KEY("k"));
	inner.txn.then = ops;
	inner.txn.then_count = 5;
	T_EQ(kit_call(&kit, &inner), PL_LIMIT);
	inner.txn.then_count = 4;
	T_EQ(kit_call(&kit, &inner), PL_OK);
	/* The outer transaction and the inner one share the limit. */
	outer.txn.then = &inner;
	outer.txn.then_count = 1;
	T_EQ(kit_call(&kit, &outer), PL_LIMIT);
	inner.txn.then_count = 3;
	T_EQ(kit_call(&kit, &outer), PL_OK);
	T_EQ(kv_put(kit.kv, &put, 1000, kit_on_done, &kit, NULL, &kit.err), PL_LIMIT);
	put.value.len = 65000;
	T_EQ(kv_put(kit.kv, &put, 1000, kit_on_done, &kit, NULL, &kit.err), PL_OK);
	kit_run(&kit, 0);
	kit_close(&kit);
}

T_CASE(contradictory_requests_are_invalid)
{
	const struct kv_req bad[] = {
		{.op = KV_GET},
		{.op = KV_PUT},
		{.op = KV_DELETE},
		{.op = KV_GET, .get = {.keys = {.kind = KV_RANGE, .from = S("a")}}},
		{.op = KV_PUT,
	         .put = {.key = S("a"), .value = S("1"), .keep_value = true}},
		{.op = KV_PUT, .put = {.key = S("a"), .lease = 1, .keep_lease = true}},
		{.op = KV_LEASE_GRANT, .lease = {.ttl_s = 0}},
		{.op = KV_LEASE_GRANT, .lease = {.ttl_s = 9000000001}},
		{.op = KV_COMPACT},
		{.op = KV_OP_COUNT},
	};
	struct kv_req twice[] = {kv_op_put(S("a"), S("1")), kv_op_put(S("a"), S("2"))};
	struct kv_req txn = {.op = KV_TXN, .txn = {.then = twice, .then_count = 2}};

	kit_open(&kit, NULL);
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		T_EQ(kit_call(&kit, &bad[i]), PL_INVALID);
	T_EQ(kit_call(&kit, &txn), PL_INVALID);
	T_EQ(kit_watch(&kit, &watch[0],
	               &(struct kv_watch_req){.keys = kv_range(S("b"), S("a"))}),
	     PL_INVALID);
	T_EQ(kit_get_at(&kit, kv_all_keys(), 0), PL_OK);
	T_EQ(kit.result.header.revision, 1);
	kit_close(&kit);
}

T_CASE(full_store_accepts_writes_after_compaction)
{
	struct kv_req put = kv_op_put(S("key"), S("value"));
	struct kv_req status = {.op = KV_STATUS};
	enum pl_code code = PL_OK;

	kit_open(&kit, &(struct memkv_opts){.quota_bytes = 4096});
	while (code == PL_OK)
		code = kit_call(&kit, &put);
	T_EQ(code, PL_NOSPACE);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 1, 5), PL_OK); /* within the limit */
	T_EQ(kit_call(&kit, &status), PL_OK);
	T_STR(kit.result.status.version, "3.4.23");
	T_TRUE(kit.result.status.alarm_nospace);
	T_TRUE(kit.result.status.db_bytes > 3000);
	T_EQ(kit_compact(&kit, kit.result.header.revision), PL_OK);
	T_EQ(kit_call(&kit, &put), PL_OK);
	T_EQ(kit_delete(&kit, kv_all_keys()), 1);
	T_EQ(kit_compact(&kit, kit.result.header.revision), PL_OK);
	T_EQ(kit_call(&kit, &status), PL_OK);
	T_EQ(kit.result.status.db_bytes, 0);
	T_TRUE(!kit.result.status.alarm_nospace);
	kit_close(&kit);
}

/* -- leases ------------------------------------------------------------ */

T_CASE(keys_outlive_their_lease_by_the_delay)
{
	struct kv_req put = kv_op_put_leased(S("a"), S("1"), 1);

	kit_open(&kit, &(struct memkv_opts){.expiry_delay_ms = 300, .min_ttl_s = 1});
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 1, 1), PL_OK);
	T_EQ(kit_call(&kit, &put), PL_OK);
	kit_run(&kit, 1299);
	T_EQ(kit_lease(&kit, KV_LEASE_KEEP, 1, 0), PL_NOLEASE);
	T_EQ(kit_get_at(&kit, KEY("a"), 0), PL_OK);
	T_STR(kit_show(&kit), "a=1");
	kit_run(&kit, 1300);
	T_EQ(kit_get_at(&kit, KEY("a"), 0), PL_OK);
	T_STR(kit_show(&kit), "");
	kit_close(&kit);
}

T_CASE(the_store_chooses_lease_ids)
{
	int64_t id;

	kit_open(&kit, NULL);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 0, 10), PL_OK);
	id = kit.result.lease.id;
	T_TRUE(id > 0);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 0, 10), PL_OK);
	T_TRUE(kit.result.lease.id != id);
	T_EQ(kit_lease(&kit, KV_LEASE_TTL, id, 0), PL_OK);
	T_EQ(kit.result.lease.ttl_s, 10);
	kit_close(&kit);
}

T_CASE(leases_expire_later_without_memory)
{
	struct kv_req put = kv_op_put_leased(S("a"), S("1"), 1);

	kit_open(&kit, NULL);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, 1, 2), PL_OK);
	T_EQ(kit_call(&kit, &put), PL_OK);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	kit_run(&kit, 2000);
	mvcc_audit(kit.mem->mvcc);
	T_EQ(kit_get_at(&kit, KEY("a"), 0), PL_OK);
	T_STR(kit_show(&kit), "a=1");
	kit_run(&kit, 2500);
	T_EQ(kit_get_at(&kit, KEY("a"), 0), PL_OK);
	T_STR(kit_show(&kit), "");
	kit_close(&kit);
}

/* -- on a loop --------------------------------------------------------- */

static struct memkv_loop *attached;
static struct pl_timer loop_timer;

static void on_detached(void *ctx)
{
	*(bool *)ctx = true;
}

static void on_loop_closed(void *ctx)
{
	pl_timer_done(&loop_timer);
	memkv_detach(attached, on_detached, ctx);
}

static void on_loop_timer(void *ctx)
{
	story_add("timer");
	kv_close(kit.kv, on_loop_closed, ctx);
}

static void on_loop_put(void *ctx, const struct kv_result *result,
                        const struct pl_err *err)
{
	on_named(named("put"), result, err);
	pl_timer_set(&loop_timer, kv_now_ms(kit.kv) + 2);
	(void)ctx;
}

T_CASE(a_loop_drives_the_store)
{
	uv_loop_t loop;
	bool detached = false;
	struct kv_put put = {.key = S("a")};

	T_EQ(uv_loop_init(&loop), 0);
	kit_open(&kit, NULL);
	T_EQ(memkv_attach(kit.mem, &loop, &attached, &kit.err), PL_OK);
	T_TRUE(kv_now_ms(kit.kv) > 0 && kv_now_ms(kit.kv) <= pl_clock_ms());
	T_EQ(pl_timer_init(&loop_timer, kv_timers(kit.kv), on_loop_timer, &detached),
	     PL_OK);
	T_EQ(kv_put(kit.kv, &put, 1000, on_loop_put, NULL, NULL, &kit.err), PL_OK);
	T_STR(story, "");
	T_EQ(uv_run(&loop, UV_RUN_DEFAULT), 0);
	T_TRUE(detached);
	T_STR(story, "put:ok timer");
	T_EQ(uv_loop_close(&loop), 0);
	memkv_free(kit.mem);
	pl_arena_done(&kit.arena);
}
