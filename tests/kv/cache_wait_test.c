/* Waits until a cache has reached a revision, on virtual time. */
#include "tests/kv/cache_told_wait.h"

static void open_synced(const struct faulty_rule *rules, size_t count)
{
	struct cache_opts opts = cache_opts(100);

	open_store(1, rules, count);
	faulty_pause(fix.kit.kv, true);
	(void)set_key("p/a", "1"); /* 2 */
	open_cache(&opts);
	run_to(10);
	faulty_pause(fix.kit.kv, false);
	T_EQ(cache_revision(fix.cache), 2);
}

T_CASE(a_wait_for_what_is_there_ends_later_without_a_read)
{
	struct faulty_rule reads = {.what = FAULTY_SLOW_ANSWER,
	                            .ops = 1u << KV_GET,
	                            .per_mille = 1000,
	                            .delay_min_ms = 50,
	                            .delay_max_ms = 50};
	struct told_wait a = {0};

	open_synced(&reads, 1);
	wait_for(&a, "a", 2, LONG);
	run_on(SOON);
	T_STR(fix.story, "a ok 2\n");
	T_EQ(faulty_count(fix.kit.kv, FAULTY_SLOW_ANSWER), 0);
	close_store();
}

/* The other keys change, and those of the cache do not. */
T_CASE(a_wait_does_not_need_a_change_of_the_keys)
{
	struct told_wait now = {0}, named = {0};
	int64_t revision;

	open_synced(NULL, 0);
	for (int i = 0; i < 5; i++)
		revision = set_key("q/other", "1");
	run_on(SOON);
	T_EQ(cache_revision(fix.cache), 2);
	wait_for(&now, "now", 0, LONG);
	wait_for(&named, "named", revision, LONG);
	run_on(SOON); /* the cache's own check comes after two seconds */
	T_STR(fix.story, "now ok 7\nnamed ok 7\n");
	T_EQ(revision, 7);
	close_store();
}

T_CASE(listeners_have_been_told_when_a_wait_ends)
{
	struct told_wait first = {0}, second = {0}, third = {0};
	struct cache_listener listener;

	open_synced(NULL, 0);
	cache_listen(fix.cache, &listener, on_story, plain);
	run_on(SOON);
	story_clear();
	(void)set_key("p/b", "2");
	(void)set_key("p/c", "3");
	(void)set_key("q/d", "4");
	wait_for(&third, "third", 0, LONG);
	wait_for(&second, "second", 4, LONG);
	wait_for(&first, "first", 3, LONG);
	run_on(SOON);
	T_STR(fix.story, "added p/b - -> 2@3\nprogress 3\nadded p/c - -> 3@4\n"
	                 "progress 4\nfirst ok 4\nsecond ok 4\nprogress 5\nthird ok 5\n");
	close_store();
}

T_CASE(a_revision_that_the_store_has_not_reached_is_refused)
{
	struct told_wait future = {0}, there = {0};

	open_synced(NULL, 0);
	(void)set_key("q/other", "1");
	wait_for(&future, "future", 4, LONG);
	wait_for(&there, "there", 3, LONG);
	run_on(SOON);
	T_STR(fix.story, "future revision in the future 2\nthere ok 3\n");
	close_store();
}

T_CASE(a_wait_may_begin_before_the_first_list)
{
	struct faulty_rule slow = {.what = FAULTY_SLOW_ANSWER,
	                           .ops = 1u << KV_GET,
	                           .per_mille = 1000,
	                           .count = 1,
	                           .delay_min_ms = 300,
	                           .delay_max_ms = 300};
	struct cache_opts opts = cache_opts(0);
	struct told_wait now = {0};

	open_store(1, &slow, 1);
	(void)set_key("p/a", "1"); /* 2 */
	open_cache(&opts);
	run_on(SOON); /* the list is on its way */
	(void)set_key("q/b", "2");
	wait_for(&now, "now", 0, LONG);
	run_on(SOON);
	T_STR(fix.story, "");
	run_on(400);
	T_STR(fix.story, "now ok 3\n"); /* the list was at 2 */
	close_store();
}

/* One read for the waits of one moment, and one for those that come while it is sent. */
T_CASE(waits_share_a_read)
{
	struct faulty_rule reads = {.what = FAULTY_SLOW_ANSWER,
	                            .ops = 1u << KV_GET,
	                            .per_mille = 1000,
	                            .delay_min_ms = 50,
	                            .delay_max_ms = 50};
	static struct told_wait wait[60];

	memset(wait, 0, sizeof wait);
	open_synced(&reads, 1);
	for (unsigned i = 0; i < 30; i++)
		wait_for(&wait[i], "w", 0, LONG);
	run_on(SOON);
	(void)set_key("q/other", "1"); /* the first read does not know it */
	for (unsigned i = 30; i < 60; i++)
		wait_for(&wait[i], "w", 0, LONG);
	run_on(60);
	T_TRUE(wait[29].wait.cache == NULL && wait[30].wait.cache != NULL);
	run_on(60);
	T_TRUE(wait[59].wait.cache == NULL);
	T_TRUE(strstr(fix.story, "w ok 2\nw ok 3\n") != NULL);
	T_EQ(faulty_count(fix.kit.kv, FAULTY_SLOW_ANSWER), 2);
	close_store();
}

/* -- ends with an error ------------------------------------------------------------- */

static const struct faulty_rule stalled = {.what = FAULTY_STALL_WATCH, .per_mille = 1000};

T_CASE(a_wait_ends_with_its_time)
{
	struct told_wait a = {0}, b = {0};

	open_synced(&stalled, 1);
	(void)set_key("p/a", "2"); /* 3 */
	wait_for(&a, "a", 3, 300);
	wait_for(&b, "b", 0, 500);
	run_on(299);
	T_STR(fix.story, "");
	run_on(1);
	T_STR(fix.story, "a deadline exceeded 2\n");
	run_on(200);
	T_STR(fix.story, "a deadline exceeded 2\nb deadline exceeded 2\n");
	close_store();
}

/* The cache finds that its watch shows nothing and lists again. */
T_CASE(a_wait_ends_when_the_watch_is_lost)
{
	struct told_wait a = {0};
	struct cache_listener listener;

	open_synced(&stalled, 1);
	cache_listen(fix.cache, &listener, on_story, plain);
	(void)set_key("p/a", "2");
	run_on(SOON);
	story_clear();
	wait_for(&a, "a", 0, LONG);
	run_on(4000);
	T_TRUE(strncmp(fix.story, "lost 2 (deadline exceeded)\na deadline exceeded 2\n",
	               49) == 0);
	faulty_pause(fix.kit.kv, true);
	run_on(4000);
	wait_for(&a, "again", 0, LONG);
	run_on(SOON);
	T_TRUE(strstr(fix.story, "again ok 3\n") != NULL);
	close_store();
}

T_CASE(a_wait_ends_when_the_store_is_another)
{
	struct faulty_rule rewound = {.what = FAULTY_END_WATCH,
	                              .per_mille = 1000,
	                              .code = PL_REWOUND,
	                              .count = 1};
	struct told_wait a = {0};

	open_synced(&rewound, 1);
	(void)set_key("q/other", "1");
	wait_for(&a, "a", 0, LONG);
	run_on(SOON);
	T_STR(fix.story, "a store rewound or replaced 0\n");
	close_store();
}

T_CASE(a_wait_ends_when_the_store_does_not_answer)
{
	struct faulty_rule refused = {.what = FAULTY_REFUSE,
	                              .ops = 1u << KV_GET,
	                              .per_mille = 1000,
	                              .code = PL_UNAVAIL};
	struct faulty_rule busy = refused;
	struct told_wait a = {0}, b = {0};

	busy.code = PL_BUSY;
	open_synced(&refused, 1);
	wait_for(&a, "a", 0, LONG);
	run_on(SOON);
	T_STR(fix.story, "a service unavailable 2\n");
	close_store();
	open_synced(&busy, 1); /* the read can not be started */
	wait_for(&b, "b", 0, LONG);
	run_on(SOON);
	T_STR(fix.story, "b too much in flight 2\n");
	close_store();
}

/* A list that fails is trouble for those who wait for its end. */
T_CASE(a_wait_ends_with_the_trouble_of_the_first_list)
{
	struct faulty_rule refused = {.what = FAULTY_REFUSE,
	                              .ops = 1u << KV_GET,
	                              .per_mille = 1000,
	                              .code = PL_UNAVAIL};
	struct cache_opts opts = cache_opts(0);
	struct told_wait a = {0};

	open_store(1, &refused, 1);
	open_cache(&opts);
	run_on(SOON); /* the list has failed for the first time */
	faulty_pause(fix.kit.kv, true);
	wait_for(&a, "a", 0, LONG);
	run_on(SOON); /* the wait has its revision */
	faulty_pause(fix.kit.kv, false);
	T_STR(fix.story, "");
	run_on(1000);
	T_STR(fix.story, "a service unavailable 0\n");
	close_store();
}

/* -- lives -------------------------------------------------------------------------- */

T_CASE(a_stop_cancels_waits_before_it_is_told)
{
	struct faulty_rule reads = {.what = FAULTY_SLOW_ANSWER,
	                            .ops = 1u << KV_GET,
	                            .per_mille = 1000,
	                            .delay_min_ms = 50,
	                            .delay_max_ms = 50};
	struct told_wait reading = {0}, fresh = {0};
	struct cache_listener listener;

	open_synced(&reads, 1);
	cache_listen(fix.cache, &listener, on_story, plain);
	run_on(SOON);
	story_clear();
	wait_for(&reading, "reading", 0, 20);
	run_on(SOON);
	wait_for(&fresh, "fresh", 0, LONG);
	cache_stop(fix.cache);
	T_STR(fix.story, "");
	run_on(1000);
	T_STR(fix.story, "fresh canceled 2\nreading canceled 2\nstopped 0\n");
	close_store();
}

T_CASE(a_wait_that_is_ended_is_not_told)
{
	struct told_wait a = {0}, b = {0}, c = {.also = &b}, zeroed = {0};

	open_synced(NULL, 0);
	wait_for(&a, "a", 0, LONG);
	wait_for(&c, "c", 0, LONG);
	wait_for(&b, "b", 0, LONG);
	cache_wait_end(&a.wait);
	cache_wait_end(&a.wait);
	cache_wait_end(&zeroed.wait);
	run_on(SOON);
	T_STR(fix.story, "c ok 2\n");
	close_store();
}

/* In the end of a wait for what is there, for what is read, and for the future. */
T_CASE(the_cache_may_be_stopped_at_the_end_of_a_wait)
{
	for (int64_t revision = 0; revision < 10; revision += 2) {
		struct told_wait a = {.stops = true}, b = {0};

		open_synced(NULL, 0);
		wait_for(&a, "a", revision, LONG);
		wait_for(&b, "b", revision, LONG);
		run_on(100);
		T_TRUE(fix.cache == NULL);
		T_TRUE(strstr(fix.story, "b canceled ") != NULL);
		close_store();
	}
}

/* The first of two waits whose time is up stops the cache. */
T_CASE(a_stop_at_the_end_of_a_time_cancels_the_others)
{
	struct told_wait a = {.stops = true}, b = {0};

	open_synced(&stalled, 1);
	(void)set_key("p/a", "2");
	wait_for(&a, "a", 0, 300);
	wait_for(&b, "b", 0, 300);
	run_on(1000);
	T_STR(fix.story, "a deadline exceeded 2\nb canceled 2\n");
	close_store();
}

T_CASE(any_allocation_of_a_wait_may_fail)
{
	bool fired = true;

	for (uint64_t nth = 1; fired; nth++) {
		struct told_wait a = {.name = "a"};
		enum pl_code code;

		open_synced(NULL, 0);
		(void)set_key("q/other", "1");
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = cache_wait(fix.cache, &a.wait, 0, LONG, on_end, &a, NULL);
		T_TRUE(code == PL_OK || code == PL_NOMEM);
		run_on(LONG);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE((code == PL_OK) == (fix.story_len > 0));
		T_TRUE(a.wait.cache == NULL);
		T_TRUE(fired || strcmp(fix.story, "a ok 3\n") == 0);
		close_store();
	}
}
