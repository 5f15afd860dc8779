#include "store/base/fault.h"
#include "store/kv/borrowed.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;

static void count_end(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)result;
	(void)err;
	++*(unsigned *)ctx;
}

static void lend_kv(struct kv **out)
{
	struct pl_err err;

	kit_open(&kit, NULL);
	T_OK(borrowed_open(kit.kv, out, &err), &err);
}

static struct kv_put put_of(const char *key)
{
	return (struct kv_put){.key = pl_span_str(key), .value = PL_SPAN_LIT("x")};
}

T_CASE(close_ends_what_was_started_and_leaves_the_kv_open)
{
	struct kv_watch_req req = {.keys = kv_all_keys()};
	struct kv_put a = put_of("a");
	struct kit_watch watch = {.kit = &kit};
	struct kv *lent = NULL;
	unsigned ends = 0;
	bool closed = false;

	lend_kv(&lent);
	T_EQ(kv_watch(lent, &req, kit_on_note, &watch, &watch.watch, NULL), PL_OK);
	T_EQ(kv_put(lent, &a, 1000, count_end, &ends, NULL, NULL), PL_OK);
	kv_close(lent, kit_on_closed, &closed);
	T_EQ(kv_put(lent, &a, 1000, count_end, &ends, NULL, NULL), PL_CANCELED);
	T_EQ(kv_watch(lent, &req, kit_on_note, &watch, NULL, NULL), PL_CANCELED);
	T_EQ(ends, 0);
	T_TRUE(!closed);
	kit_run(&kit, 1);
	T_EQ(ends, 1);
	T_EQ(watch.end, PL_CANCELED);
	T_TRUE(closed);
	T_TRUE(kit_put(&kit, "b", "1") > 0);
	kit_close(&kit);
}

T_CASE(closing_with_nothing_open_ends_later)
{
	struct kv *lent = NULL;
	bool closed = false;

	lend_kv(&lent);
	kv_close(lent, kit_on_closed, &closed);
	T_TRUE(!closed);
	kit_run(&kit, 0);
	T_TRUE(closed);
	kit_close(&kit);
}

T_CASE(calls_and_watches_pass_as_they_are)
{
	struct kv_watch_req req = {.keys = kv_prefix(PL_SPAN_LIT("a"))};
	struct kv_put a = put_of("a");
	struct kit_watch watch = {.kit = &kit};
	struct kv *lent = NULL;
	struct kv_call *call = NULL;
	unsigned ends = 0;

	lend_kv(&lent);
	T_EQ(kv_watch(lent, &req, kit_on_note, &watch, &watch.watch, NULL), PL_OK);
	T_EQ(kv_put(lent, &a, 1000, count_end, &ends, &call, NULL), PL_OK);
	kv_cancel(lent, call);
	T_EQ(kv_progress(lent, watch.watch, 0, NULL), PL_OK);
	kit_run(&kit, 1);
	T_EQ(ends, 1);
	T_STR(kit_told(&watch), "ready@1 put a=x@2 progress@2");
	kv_unwatch(lent, watch.watch);
	kit_run(&kit, 2);
	T_STR(kit_told(&watch), "end(canceled)");
	T_EQ(kv_limits(lent).txn_ops, kv_limits(kit.kv).txn_ops);
	T_EQ(kv_now_ms(lent), 2);
	T_TRUE(kv_room(lent) > 0 && kv_timers(lent) == kv_timers(kit.kv));
	kit_close_session(&kit, lent);
	kit_close(&kit);
}

T_CASE(open_fails_without_memory)
{
	struct kv_put a = put_of("a");
	struct kv *lent = NULL;
	unsigned ends = 0;

	kit_open(&kit, NULL);
	for (unsigned nth = 1; nth <= 2; nth++) {
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		if (borrowed_open(kit.kv, &lent, NULL) == PL_OK)
			kit_close_session(&kit, lent);
	}
	pl_fault_reset();
	T_EQ(borrowed_open(kit.kv, &lent, NULL), PL_OK);
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_EQ(kv_put(lent, &a, 1000, count_end, &ends, NULL, NULL), PL_NOMEM);
	pl_fault_reset();
	T_EQ(ends, 0);
	kit_close_session(&kit, lent);
	kit_close(&kit);
}
