#include "store/base/fault.h"
#include "store/base/rng.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct kv *plain; /* another session of the same store, without faults */

static void open_with(uint64_t seed, const struct faulty_rule *rules, size_t count)
{
	kit_open(&kit, NULL);
	T_EQ(memkv_session(kit.mem, &plain, NULL), PL_OK);
	T_EQ(faulty_open(kit.kv, seed, rules, count, &kit.kv, NULL), PL_OK);
}

static void close_all(void)
{
	kit_close_session(&kit, plain);
	kit_close(&kit);
}

static void put_key(const char *key, const char *value)
{
	struct kv_req req = kv_op_put(pl_span_str(key), pl_span_str(value));

	kit.code = PL_OK;
	kit.answers = 0;
	T_EQ(kv_start(kit.kv, &req, 1000, kit_on_done, &kit, NULL, NULL), PL_OK);
}

/* The value in the store, read past the faults. */
static const char *stored(const char *key)
{
	struct kv *faulty = kit.kv;
	struct kit saved = kit;
	static char text[256];

	kit.kv = plain;
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	(void)snprintf(text, sizeof text, "%s", kit_show(&kit));
	kit.kv = faulty;
	kit.answers = saved.answers;
	kit.code = saved.code;
	kit.result = saved.result;
	return text;
}

static void run_to(uint64_t now_ms)
{
	kit_until(&kit, now_ms);
}

T_CASE(requests_and_answers_are_delayed)
{
	struct faulty_rule rules[] = {{.what = FAULTY_SLOW_REQUEST,
	                               .per_mille = 1000,
	                               .count = 1,
	                               .delay_min_ms = 100,
	                               .delay_max_ms = 100},
	                              {.what = FAULTY_SLOW_ANSWER,
	                               .per_mille = 1000,
	                               .count = 1,
	                               .delay_min_ms = 50,
	                               .delay_max_ms = 50}};

	open_with(1, rules, 2);
	put_key("k", "v");
	run_to(99);
	T_STR(stored("k"), "");
	run_to(149);
	T_STR(stored("k"), "k=v");
	T_EQ(kit.answers, 0);
	run_to(150);
	T_EQ(kit.answers, 1);
	T_EQ(kit.code, PL_OK);
	T_EQ(kit.result.sent_ms, 0);
	close_all();
}

/* The call is slower than its deadline: the caller does not know the outcome, but the
 * store does. */
T_CASE(deadline_holds_for_delayed_calls)
{
	struct faulty_rule rule = {.what = FAULTY_SLOW_REQUEST,
	                           .per_mille = 1000,
	                           .delay_min_ms = 5000,
	                           .delay_max_ms = 5000};

	open_with(1, &rule, 1);
	put_key("k", "v");
	run_to(1000);
	T_EQ(kit.answers, 1);
	T_EQ(kit.code, PL_UNKNOWN);
	T_STR(stored("k"), "");
	run_to(5000);
	T_STR(stored("k"), "k=v");
	T_EQ(kit.answers, 1);
	close_all();
}

T_CASE(calls_are_refused_with_the_code)
{
	struct faulty_rule rules[] = {{.what = FAULTY_REFUSE,
	                               .ops = 1u << KV_PUT,
	                               .prefix = PL_SPAN_LIT("a/"),
	                               .per_mille = 1000,
	                               .code = PL_NOLEADER},
	                              {.what = FAULTY_REFUSE,
	                               .prefix = PL_SPAN_LIT("b/"),
	                               .per_mille = 1000,
	                               .code = PL_BUSY}};
	struct kv_req busy = kv_op_put(kit_key("b/k"), kit_key("v"));

	open_with(1, rules, 2);
	put_key("a/k", "v");
	T_EQ(kit.answers, 0);
	run_to(0);
	T_EQ(kit.code, PL_NOLEADER);
	T_STR(stored("a/k"), "");
	put_key("c/k", "v");
	run_to(0);
	T_EQ(kit.code, PL_OK);
	T_EQ(kit_call(&kit, &busy), PL_BUSY);
	T_EQ(faulty_count(kit.kv, FAULTY_REFUSE), 2);
	faulty_pause(kit.kv, true);
	T_EQ(kit_call(&kit, &busy), PL_OK);
	close_all();
}

T_CASE(lost_answer_is_unknown)
{
	struct faulty_rule rule = {.what = FAULTY_LOSE_ANSWER, .per_mille = 1000};

	open_with(1, &rule, 1);
	put_key("k", "v");
	run_to(0);
	T_EQ(kit.code, PL_UNKNOWN);
	T_STR(stored("k"), "k=v");
	T_EQ(kit_get_at(&kit, kv_all_keys(), 0), PL_TIMEOUT);
	close_all();
}

T_CASE(late_write_is_applied_after_unknown)
{
	struct faulty_rule rule = {.what = FAULTY_APPLY_LATE,
	                           .per_mille = 1000,
	                           .count = 1,
	                           .delay_min_ms = 300,
	                           .delay_max_ms = 300};

	open_with(1, &rule, 1);
	put_key("k", "v");
	run_to(300);
	T_EQ(kit.code, PL_UNKNOWN);
	T_STR(stored("k"), "");
	run_to(301);
	T_STR(stored("k"), "k=v");
	close_all();
}

/* The watch may show a commit before the answer does. */
T_CASE(answer_waits_for_the_next_note)
{
	static struct kit_watch watch;
	struct kv_watch_req req = {.keys = kv_all_keys()};
	struct faulty_rule rules[] = {{.what = FAULTY_AFTER_NOTE,
	                               .ops = 1u << KV_PUT,
	                               .per_mille = 1000,
	                               .delay_min_ms = 500,
	                               .delay_max_ms = 500},
	                              {.what = FAULTY_SLOW_NOTE,
	                               .per_mille = 1000,
	                               .delay_min_ms = 20,
	                               .delay_max_ms = 20}};

	open_with(1, rules, 2);
	T_EQ(kit_watch(&kit, &watch, &req), PL_OK);
	run_to(30);
	watch.count = 0;
	put_key("k", "v");
	run_to(49);
	T_EQ(watch.count, 0);
	T_EQ(kit.answers, 0);
	run_to(50);
	T_EQ(watch.count, 1);
	T_EQ(kit.answers, 1);
	T_EQ(kit.code, PL_OK);
	kv_unwatch(kit.kv, watch.watch);
	close_all();
}

T_CASE(stalled_watch_goes_on_when_paused)
{
	static struct kit_watch watch;
	struct kv_watch_req req = {.keys = kv_all_keys()};
	struct faulty_rule rule = {.what = FAULTY_STALL_WATCH, .per_mille = 1000};

	open_with(1, &rule, 1);
	T_EQ(kit_watch(&kit, &watch, &req), PL_OK);
	for (unsigned i = 0; i < 5; i++) {
		put_key("k", "v");
		run_to(UINT64_C(1000) * i);
	}
	T_EQ(watch.count, 0);
	faulty_pause(kit.kv, true);
	/* The event of this put comes before the timer that releases the others. */
	put_key("k", "w");
	run_to(5000);
	T_STR(kit_told(&watch), "ready@1 put k=v@2 put k=v@3 put k=v@4 put k=v@5 "
	                        "put k=v@6 put k=w@7");
	kv_unwatch(kit.kv, watch.watch);
	run_to(5000);
	T_EQ(watch.end, PL_CANCELED);
	close_all();
}

T_CASE(watch_ends_with_the_code)
{
	static struct kit_watch watch;
	struct kv_watch_req req = {.keys = kv_prefix(kit_key("a"))};
	struct faulty_rule rules[] = {{.what = FAULTY_END_WATCH,
	                               .per_mille = 1000,
	                               .code = PL_COMPACTED,
	                               .count = 1}};

	open_with(1, rules, 1);
	T_EQ(kit_watch(&kit, &watch, &req), PL_OK);
	put_key("a", "v");
	run_to(0);
	T_EQ(watch.end, PL_COMPACTED);
	T_EQ(watch.count, 1);
	T_TRUE(watch.note[0].compact_revision > 0);
	T_EQ(kit_watch(&kit, &watch, &req), PL_OK);
	run_to(0);
	T_STR(kit_told(&watch), "ready@2");
	close_all(); /* ends the watch, too */
	T_EQ(watch.end, PL_CANCELED);
}

T_CASE(cancel_and_close_end_each_call_once)
{
	struct faulty_rule rule = {.what = FAULTY_SLOW_REQUEST,
	                           .per_mille = 1000,
	                           .delay_min_ms = 100,
	                           .delay_max_ms = 100};
	struct kv_req get = kv_op_get(kv_all_keys());
	struct kv_req set = kv_op_put(kit_key("k"), kit_key("v"));
	struct kv_call *call;

	open_with(1, &rule, 1);
	T_EQ(kv_start(kit.kv, &get, 1000, kit_on_done, &kit, &call, NULL), PL_OK);
	kv_cancel(kit.kv, call);
	T_EQ(kit.answers, 0);
	run_to(0);
	T_EQ(kit.code, PL_CANCELED);
	T_EQ(kv_start(kit.kv, &set, 1000, kit_on_done, &kit, &call, NULL), PL_OK);
	kv_cancel(kit.kv, call);
	run_to(0);
	T_EQ(kit.code, PL_UNKNOWN);
	run_to(100);
	T_STR(stored("k"), "k=v");
	close_all();
}

/* All faults at once, with a close at any moment: every call ends once, nothing is left
 * behind, and the same seed tells the same story. */
static unsigned long run_storm(uint64_t seed, unsigned rounds)
{
	static const enum faulty_what whats[] = {FAULTY_SLOW_REQUEST, FAULTY_SLOW_ANSWER,
	                                         FAULTY_REFUSE,       FAULTY_LOSE_ANSWER,
	                                         FAULTY_APPLY_LATE,   FAULTY_AFTER_NOTE,
	                                         FAULTY_SLOW_NOTE,    FAULTY_STALL_WATCH,
	                                         FAULTY_MERGE_NOTES,  FAULTY_END_WATCH};
	struct faulty_rule rules[10];
	static struct kit_watch watch;
	struct kv_watch_req req = {.keys = kv_all_keys()};
	struct pl_rng rng;
	unsigned long hash = 5381;
	unsigned started = 0;

	for (unsigned i = 0; i < 10; i++)
		rules[i] = (struct faulty_rule){.what = whats[i],
		                                .per_mille = 150,
		                                .delay_min_ms = 1,
		                                .delay_max_ms = 700,
		                                .code = PL_REWOUND};
	open_with(seed, rules, 10);
	pl_rng_init(&rng, seed + 1);
	watch.watch = NULL;
	for (unsigned i = 0; i < rounds; i++) {
		struct kv_req set = kv_op_put(kit_key("k"), kit_key("v"));
		struct kv_req get = kv_op_get(kv_all_keys());
		struct kv_call *call;

		if (watch.watch == NULL)
			T_EQ(kit_watch(&kit, &watch, &req), PL_OK);
		T_EQ(kv_start(kit.kv, i % 3 == 0 ? &get : &set, 500, kit_on_done, &kit,
		              &call, NULL),
		     PL_OK);
		started++;
		if (pl_rng_below(&rng, 10) == 0)
			kv_cancel(kit.kv, call);
		run_to(kit.now_ms + pl_rng_below(&rng, 60));
		hash = hash * 33 + kit.answers * UINT64_C(7) + watch.count +
		       (unsigned)kit.code;
	}
	kit_close_session(&kit, plain);
	kit_close(&kit);
	T_EQ(kit.answers, started);
	if (rounds > 0)
		T_TRUE(watch.end != PL_OK);
	return hash;
}

T_CASE(same_seed_gives_the_same_events_under_all_faults)
{
	for (uint64_t seed = 0; seed < 60; seed++)
		T_TRUE(run_storm(seed, (unsigned)seed * 2) ==
		       run_storm(seed, (unsigned)seed * 2));
}
