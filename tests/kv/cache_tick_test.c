/* Waits of a cache over a store that does not answer requests for progress, on virtual
 * time. */
#include "store/kv/prefixed.h"
#include "tests/kv/cache_told_wait.h"

static const struct memkv_opts mute = {.no_progress = true};

static struct cache_opts tick_opts(void)
{
	struct cache_opts opts = cache_opts(100);

	opts.tick = PL_SPAN_LIT(FIXTURE_TICK);
	return opts;
}

/* The cache is at 2, and the store at 3. */
static void open_behind(const struct memkv_opts *store, const struct faulty_rule *rules,
                        size_t count)
{
	struct cache_opts opts = tick_opts();

	open_store_on(store, 1, rules, count);
	faulty_pause(fix.kit.kv, true);
	(void)set_key("p/a", "1"); /* 2 */
	open_cache(&opts);
	run_to(10);
	faulty_pause(fix.kit.kv, false);
	(void)set_key("q/other", "1"); /* 3 */
	T_EQ(cache_revision(fix.cache), 2);
}

static int64_t ticks_at(const char *key)
{
	struct kv_req req = kv_op_get(kv_key(pl_span_str(key)));

	T_EQ(call_without_faults(&req), PL_OK);
	if (fix.kit.result.get.count == 0)
		return 0;
	T_SPAN(fix.kit.result.get.records[0].value, PL_SPAN_LIT("{\"v\":1}"));
	return fix.kit.result.get.records[0].version;
}

static int64_t ticks(void)
{
	return ticks_at(FIXTURE_TICK);
}

T_CASE(a_wait_on_quiet_keys_ends_after_one_tick)
{
	struct told_wait now = {0};
	struct cache_listener listener;

	open_behind(&mute, NULL, 0);
	cache_listen(fix.cache, &listener, on_story, plain);
	run_on(SOON);
	story_clear();
	wait_for(&now, "now", 0, LONG);
	run_on(SOON);
	/* The tick is not part of the content. */
	T_STR(fix.story, "progress 4\nnow ok 4\n");
	T_EQ(cache_count(fix.cache), 1);
	T_EQ(ticks(), 1);
	cache_is_true();
	close_store();
}

T_CASE(without_a_tick_a_wait_on_quiet_keys_does_not_end)
{
	struct cache_opts opts = cache_opts(100);
	struct told_wait now = {0};

	open_store_on(&mute, 1, NULL, 0);
	open_cache(&opts);
	run_to(10);
	(void)set_key("q/other", "1");
	wait_for(&now, "now", 0, 1500);
	run_on(1499);
	T_STR(fix.story, "");
	run_on(1);
	T_STR(fix.story, "now deadline exceeded 1\n");
	T_EQ(ticks(), 0);
	close_store();
}

/* Both in the list and as an event of the watch. */
T_CASE(a_tick_that_is_there_already_is_not_listed)
{
	struct cache_opts opts = tick_opts();

	open_store_on(&mute, 1, NULL, 0);
	(void)set_key(FIXTURE_TICK, "{\"v\":1}");
	(void)set_key("p/a", "1");
	open_cache(&opts);
	run_to(10);
	T_EQ(cache_count(fix.cache), 1);
	(void)set_key(FIXTURE_TICK, "{\"v\":1}");
	(void)set_key(FIXTURE_TICK, NULL);
	run_on(SOON);
	T_EQ(cache_revision(fix.cache), 5);
	cache_is_true();
	close_store();
}

T_CASE(where_progress_works_there_is_no_tick)
{
	struct told_wait now = {0};

	open_behind(NULL, NULL, 0);
	wait_for(&now, "now", 0, LONG);
	run_on(SOON);
	T_STR(fix.story, "now ok 3\n");
	T_EQ(ticks(), 0);
	close_store();
}

T_CASE(a_revision_that_is_reached_costs_no_tick)
{
	struct told_wait there = {0}, coming = {0};

	open_behind(&mute, NULL, 0);
	wait_for(&there, "there", 2, LONG);
	run_on(SOON);
	wait_for(&coming, "coming", 4, LONG);
	(void)set_key("p/b", "1"); /* seen before the question is sent */
	run_on(SOON);
	T_STR(fix.story, "there ok 2\ncoming ok 4\n");
	T_EQ(ticks(), 0);
	close_store();
}

/* The wait for a change that the store is known to have made. */
T_CASE(a_change_that_is_known_costs_no_tick)
{
	struct told_wait change = {.name = "change"};

	open_behind(&mute, NULL, 0);
	T_EQ(cache_wait_change(fix.cache, &change.wait, 4, LONG, on_end, &change, NULL),
	     PL_OK);
	run_on(SOON);
	T_STR(fix.story, "");
	(void)set_key("p/b", "1"); /* 4 */
	run_on(SOON);
	T_STR(fix.story, "change ok 4\n");
	T_EQ(ticks(), 0);
	cache_is_true();
	close_store();
}

static const struct faulty_rule slow_puts = {.what = FAULTY_SLOW_ANSWER,
                                             .ops = 1u << KV_PUT,
                                             .per_mille = 1000,
                                             .delay_min_ms = 50,
                                             .delay_max_ms = 50};

/* One tick for the waits of one moment, and one for those that come while it is sent. */
T_CASE(waits_share_a_tick)
{
	static struct told_wait wait[20];

	memset(wait, 0, sizeof wait);
	open_behind(&mute, &slow_puts, 1);
	for (unsigned i = 0; i < 10; i++)
		wait_for(&wait[i], "w", 0, LONG);
	run_on(SOON);
	T_EQ(ticks(), 1);
	for (unsigned i = 10; i < 20; i++)
		wait_for(&wait[i], "w", 0, LONG);
	run_on(SOON);
	T_EQ(ticks(), 1); /* not two at once */
	run_on(50);
	T_TRUE(wait[9].wait.cache == NULL && wait[10].wait.cache != NULL);
	run_on(60);
	T_TRUE(wait[19].wait.cache == NULL);
	T_TRUE(strstr(fix.story, "w ok 4\nw ok 5\n") != NULL);
	T_EQ(ticks(), 2);
	close_store();
}

/* The watch has shown the revision of the second wait before its turn comes. */
T_CASE(a_tick_serves_a_wait_that_came_after_it_was_sent)
{
	struct told_wait now = {0}, named = {0};

	open_behind(&mute, &slow_puts, 1);
	wait_for(&now, "now", 0, LONG);
	run_on(SOON);
	wait_for(&named, "named", 4, LONG);
	run_on(100);
	T_STR(fix.story, "named ok 4\nnow ok 4\n");
	T_EQ(ticks(), 1);
	close_store();
}

/* The tick itself is a revision. */
T_CASE(a_revision_beyond_the_tick_is_refused)
{
	struct told_wait next = {0}, future = {0};

	open_behind(&mute, NULL, 0);
	wait_for(&next, "next", 4, LONG);
	wait_for(&future, "future", 5, LONG);
	run_on(SOON);
	T_STR(fix.story, "future revision in the future 4\nnext ok 4\n");
	close_store();
}

T_CASE(a_tick_before_the_first_list)
{
	struct faulty_rule slow = {.what = FAULTY_SLOW_ANSWER,
	                           .ops = 1u << KV_GET,
	                           .per_mille = 1000,
	                           .count = 1,
	                           .delay_min_ms = 300,
	                           .delay_max_ms = 300};
	struct cache_opts opts = tick_opts();
	struct told_wait now = {0};

	open_store_on(&mute, 1, &slow, 1);
	(void)set_key("p/a", "1"); /* 2 */
	open_cache(&opts);
	run_on(SOON); /* the list is on its way */
	(void)set_key("q/b", "2");
	wait_for(&now, "now", 0, LONG);
	run_on(SOON);
	T_STR(fix.story, "");
	run_on(400);
	T_STR(fix.story, "now ok 4\n"); /* the list was at 2 */
	T_EQ(ticks(), 1);
	close_store();
}

T_CASE(a_tick_stands_under_the_root_of_the_kv)
{
	struct cache_opts opts = tick_opts();
	struct told_wait now = {0};

	open_store_on(&mute, 1, NULL, 0);
	T_EQ(prefixed_open(fix.kit.kv, PL_SPAN_LIT("r/"), &fix.kit.kv, NULL), PL_OK);
	open_cache(&opts);
	run_to(10);
	wait_for(&now, "now", 0, LONG);
	run_on(SOON);
	T_STR(fix.story, "now ok 2\n");
	T_EQ(ticks_at("r/" FIXTURE_TICK), 1);
	T_EQ(ticks(), 0);
	close_store();
}

/* -- ticks that fail ---------------------------------------------------------------- */

T_CASE(a_wait_ends_when_the_tick_is_refused)
{
	struct faulty_rule refused = {.what = FAULTY_REFUSE,
	                              .ops = 1u << KV_PUT,
	                              .per_mille = 1000,
	                              .code = PL_DENIED};
	struct faulty_rule busy = refused;
	struct told_wait a = {0}, b = {0};

	busy.code = PL_BUSY;
	open_behind(&mute, &refused, 1);
	wait_for(&a, "a", 0, LONG);
	run_on(SOON);
	T_STR(fix.story, "a permission denied 2\n");
	close_store();
	open_behind(&mute, &busy, 1); /* the tick can not be started */
	wait_for(&b, "b", 0, LONG);
	run_on(SOON);
	T_STR(fix.story, "b too much in flight 2\n");
	close_store();
}

T_CASE(a_tick_whose_outcome_is_unknown_is_put_again)
{
	struct faulty_rule lost = {.what = FAULTY_LOSE_ANSWER,
	                           .ops = 1u << KV_PUT,
	                           .per_mille = 1000,
	                           .count = 1};
	struct told_wait now = {0}, named = {0};

	open_behind(&mute, &lost, 1);
	wait_for(&now, "now", 0, LONG);
	wait_for(&named, "named", 4, LONG); /* the revision of the first tick */
	run_on(SOON);
	T_STR(fix.story, "");
	T_EQ(ticks(), 1);
	run_on(100);
	T_STR(fix.story, "named ok 4\nnow ok 5\n");
	T_EQ(ticks(), 2);
	close_store();
}

T_CASE(without_an_outcome_a_wait_ends_with_its_time)
{
	struct faulty_rule lost = {
		.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_PUT, .per_mille = 1000};
	struct told_wait now = {0};

	open_behind(&mute, &lost, 1);
	wait_for(&now, "now", 0, 250);
	run_on(249);
	T_STR(fix.story, "");
	run_on(1);
	T_STR(fix.story, "now deadline exceeded 6\n");
	T_EQ(ticks(), 3);
	close_store();
}

/* -- lives -------------------------------------------------------------------------- */

T_CASE(a_stop_cancels_the_tick)
{
	struct told_wait asked = {0}, fresh = {0};

	open_behind(&mute, &slow_puts, 1);
	wait_for(&asked, "asked", 0, LONG);
	run_on(SOON);
	wait_for(&fresh, "fresh", 0, LONG);
	cache_stop(fix.cache);
	T_STR(fix.story, "");
	run_on(1000);
	T_STR(fix.story, "fresh canceled 4\nasked canceled 4\n");
	T_TRUE(fix.cache == NULL);
	close_store();
}

/* In the end of a wait for what is there, for what is ticked, and for the future. */
T_CASE(the_cache_may_be_stopped_at_the_end_of_a_ticked_wait)
{
	for (int64_t revision = 0; revision < 10; revision++) {
		struct told_wait a = {.stops = true}, b = {0};

		open_behind(&mute, NULL, 0);
		wait_for(&a, "a", revision, LONG);
		wait_for(&b, "b", revision, LONG);
		run_on(100);
		T_TRUE(fix.cache == NULL);
		T_TRUE(strstr(fix.story, "b canceled ") != NULL);
		close_store();
	}
}

T_CASE(any_allocation_of_a_tick_may_fail)
{
	bool fired = true;

	for (uint64_t nth = 1; fired; nth++) {
		struct told_wait a = {.name = "a"};
		enum pl_code code;

		open_behind(&mute, NULL, 0);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = cache_wait(fix.cache, &a.wait, 0, LONG, on_end, &a, NULL);
		T_TRUE(code == PL_OK || code == PL_NOMEM);
		run_on(LONG);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE((code == PL_OK) == (fix.story_len > 0));
		T_TRUE(a.wait.cache == NULL);
		T_TRUE(fired || strcmp(fix.story, "a ok 4\n") == 0);
		close_store();
	}
}
