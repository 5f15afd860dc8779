#include <stdlib.h>

#include "store/base/alloc.h"
#include "tests/kv/cache_fixture.h"

static char keeper[] = "", first[] = "first", second[] = "second";

/* Puts one key and puts or deletes another in one revision. */
static int64_t set_two(const char *a, const char *b, bool delete_b)
{
	struct kv_req ops[] = {kv_op_put(pl_span_str(a), kit_key("x")),
	                       delete_b ? kv_op_delete(kv_key(pl_span_str(b)))
	                                : kv_op_put(pl_span_str(b), kit_key("y"))};
	struct kv_req req = {.op = KV_TXN, .txn = {.then = ops, .then_count = 2}};

	T_EQ(call_without_faults(&req), PL_OK);
	return fix.kit.result.header.revision;
}

/* -- notes to a listener ------------------------------------------------------------ */

T_CASE(tells_the_list_and_then_each_change_with_before_and_after)
{
	struct cache_opts opts = cache_opts(100);
	struct cache_listener listener;

	open_store(1, NULL, 0);
	(void)set_key("p/b", "1");
	(void)set_key("p/a", "2");
	(void)set_key("q/c", "not ours");
	open_cache(&opts);
	cache_listen(fix.cache, &listener, on_story, keeper);
	T_STR(fix.story, "");
	run_to(10);
	(void)set_key("p/a", "3");
	(void)set_key("p/b", NULL);
	run_to(20);
	(void)set_key("p/b", "4");
	(void)set_two("p/a", "p/c", false);
	(void)set_two("p/c", "p/b", true);
	run_to(30);
	cache_is_true();
	run_to(20000);
	cache_stop(fix.cache);
	run_on(10);
	T_TRUE(fix.cache == NULL);
	t_golden("cache/list_and_watch.txt", fix.story);
	close_store();
}

/* The changes that a new list finds come as a difference, by revision. */
T_CASE(tells_what_a_new_list_finds_as_a_difference)
{
	struct faulty_rule lost[] = {
		{.what = FAULTY_STALL_WATCH, .per_mille = 1000, .count = 1}};
	struct cache_opts opts = cache_opts(100);
	struct cache_listener listener;

	open_store(1, lost, 1);
	for (unsigned i = 0; i < 8; i++)
		(void)set_key((char[]){'p', '/', (char)('a' + i), 0}, "1");
	faulty_pause(fix.kit.kv, true);
	open_cache(&opts);
	run_to(10);
	cache_listen(fix.cache, &listener, on_story, keeper);
	run_to(20);
	story_add("-- the watch falls silent\n");
	faulty_pause(fix.kit.kv, false);
	(void)set_key("p/h", "2");
	(void)set_key("p/g", NULL);
	(void)set_key("p/c", "3");
	(void)set_key("p/b", NULL);
	(void)set_key("p/b", "again");
	(void)set_two("p/a", "p/x", false);
	(void)set_key("p/y", "gone before it was seen");
	(void)set_key("p/y", NULL);
	run_to(9000);
	cache_is_true();
	t_golden("cache/difference.txt", fix.story);
	close_store();
}

/* Values are kept as far as the first dash, whose rest costs what the user says. */
static enum pl_code keep_head(void *ctx, struct pl_span *value, size_t *bytes)
{
	const uint8_t *dash = memchr(value->at, '-', value->len);

	(void)ctx;
	if (pl_fault_hit(PL_FAULT_PORT)) /* no other use here */
		return PL_NOMEM;
	if (dash != NULL)
		value->len = (size_t)(dash - value->at);
	*bytes += 1000;
	return PL_OK;
}

T_CASE(values_are_kept_as_the_user_makes_them)
{
	struct cache_opts opts = cache_opts(100);
	struct cache_listener listener;

	opts.shorten = keep_head;
	open_store(1, NULL, 0);
	(void)set_key("p/a", "1-one");
	open_cache(&opts);
	run_to(10);
	cache_listen(fix.cache, &listener, on_story, keeper);
	run_to(20);
	T_TRUE(cache_bytes(fix.cache) > 1000 && cache_bytes(fix.cache) < 1500);
	(void)set_key("p/a", "2-two");
	(void)set_key("p/b", "3");
	run_to(30);
	T_TRUE(strstr(fix.story, "added p/a - -> 1@2") != NULL);
	T_TRUE(strstr(fix.story, "updated p/a 1@2 -> 2@3") != NULL);
	T_TRUE(strstr(fix.story, "added p/b - -> 3@4") != NULL);
	T_TRUE(cache_bytes(fix.cache) > 3000);
	close_store();
}

/* As any allocation: everything is listed again. */
T_CASE(a_value_for_which_there_is_no_memory_is_listed_again)
{
	struct cache_opts opts = cache_opts(100);

	opts.shorten = keep_head;
	open_store(1, NULL, 0);
	open_cache(&opts);
	run_to(10);
	pl_fault_arm(PL_FAULT_PORT, 1);
	(void)set_key("p/a", "1-one");
	run_to(20);
	T_TRUE(pl_fault_fired(PL_FAULT_PORT));
	pl_fault_reset();
	T_TRUE(!cache_synced(fix.cache));
	run_to(5000);
	T_TRUE(cache_synced(fix.cache));
	T_EQ(cache_count(fix.cache), 1);
	close_store();
}

T_CASE(tells_a_store_that_went_back)
{
	struct cache_opts opts = cache_opts(100);
	struct memkv_snapshot *backup;
	struct cache_listener listener;

	open_store(1, NULL, 0);
	(void)set_key("p/same", "1");
	(void)set_key("p/changed", "1");
	T_EQ(memkv_save(fix.kit.mem, &backup, NULL), PL_OK);
	(void)set_key("p/changed", "2");
	(void)set_key("p/new", "1");
	open_cache(&opts);
	run_to(10);
	cache_listen(fix.cache, &listener, on_story, keeper);
	run_to(20);
	T_EQ(memkv_restore(fix.kit.mem, backup, NULL), PL_OK);
	memkv_snapshot_free(backup);
	run_to(9000);
	cache_is_true();
	t_golden("cache/rewound.txt", fix.story);
	close_store();
}

static enum { LEAVE, LEAVE_OTHER, JOIN, STOP } act;
static unsigned act_at, act_notes;
static struct cache_listener actor, other, joining;

static void on_act(void *ctx, const struct cache_note *note)
{
	story_note(ctx, note);
	if (act_notes++ != act_at)
		return;
	if (act == LEAVE)
		cache_unlisten(&actor);
	else if (act == LEAVE_OTHER)
		cache_unlisten(&other);
	else if (act == JOIN)
		cache_listen(fix.cache, &joining, on_story, keeper);
	else
		cache_stop(fix.cache);
}

/* The number of notes that the named listener got. */
static unsigned told_to(const char *name)
{
	char line[32];
	unsigned count = 0;

	(void)snprintf(line, sizeof line, "%s: ", name);
	for (const char *at = fix.story; (at = strstr(at, line)) != NULL; at++)
		count++;
	return count;
}

static void act_in_notes(void)
{
	struct cache_opts opts = cache_opts(4);

	act_notes = 0;
	joining = (struct cache_listener){0};
	open_store(1, NULL, 0);
	(void)set_key("p/a", "1");
	(void)set_key("p/b", "1");
	open_cache(&opts);
	cache_listen(fix.cache, &actor, on_act, first);
	cache_listen(fix.cache, &other, on_story, second);
	run_to(10);
	if (fix.cache != NULL) {
		(void)set_key("p/a", "2");
		(void)set_key("p/b", NULL);
	}
	run_to(20);
	cache_unlisten(&actor); /* a second time, or after STOPPED, does no harm */
	if (fix.cache != NULL)
		cache_is_true();
	close_store();
}

T_CASE(listener_that_leaves_in_a_note_is_told_nothing_more)
{
	act = LEAVE;
	for (act_at = 0; act_at < 6; act_at++) {
		act_in_notes();
		T_EQ(told_to(first), act_at + 1);
		/* 2 added, synced, updated, deleted, 2 progress, stopped */
		T_EQ(told_to(second), 8);
	}
}

T_CASE(listener_that_another_removes_in_a_note_is_told_nothing_more)
{
	act = LEAVE_OTHER;
	for (act_at = 0; act_at < 6; act_at++) {
		act_in_notes();
		T_EQ(told_to(first), 7);
		T_TRUE(told_to(second) <= act_at);
	}
}

T_CASE(listener_that_joins_in_a_note_is_told_the_content_first)
{
	act = JOIN;
	for (act_at = 0; act_at < 6; act_at++) {
		act_in_notes();
		T_TRUE(strstr(fix.story, "\nadded p/a ") != NULL);
		T_TRUE(strstr(fix.story, "\nsynced ") != NULL);
		T_EQ(told_to(first), 7);
	}
}

T_CASE(nothing_but_stopped_follows_a_stop_in_a_note)
{
	act = STOP;
	for (act_at = 0; act_at < 6; act_at++) {
		act_in_notes();
		T_EQ(told_to(first), act_at + 2);
		T_TRUE(strstr(fix.story, "first: stopped") != NULL);
		T_TRUE(strstr(fix.story, "second: stopped") != NULL);
	}
}

T_CASE(late_listener_is_told_the_content_and_then_what_happens)
{
	struct cache_opts opts = cache_opts(0);
	struct cache_listener late;

	open_store(1, NULL, 0);
	(void)set_key("p/a", "1");
	(void)set_key("p/b", "2");
	open_cache(&opts);
	run_to(10);
	cache_listen(fix.cache, &late, on_story, keeper);
	T_STR(fix.story, "");
	(void)set_key("p/a", "3"); /* before it was told anything */
	run_to(10);
	T_STR(fix.story,
	      "added p/a - -> 3@4 listed\nadded p/b - -> 2@3 listed\nsynced 4\n");
	close_store();
}

T_CASE(late_listener_may_leave_or_stop_the_cache_while_it_is_told_the_content)
{
	struct cache_opts opts = cache_opts(0);

	for (act = LEAVE; act <= STOP; act++) {
		for (act_at = 0; act_at < 3; act_at++) {
			act_notes = 0;
			joining = (struct cache_listener){0};
			open_store(1, NULL, 0);
			for (char c = 'a'; c < 'd'; c++)
				(void)set_key((char[]){'p', '/', c, 0}, "1");
			open_cache(&opts);
			run_to(10);
			cache_listen(fix.cache, &actor, on_act, first);
			cache_listen(fix.cache, &other, on_story, second);
			run_to(20);
			/* added three times, synced; and stopped */
			T_EQ(told_to(first), act == LEAVE  ? act_at + 1
			                     : act == STOP ? act_at + 2
			                                   : 4);
			T_EQ(told_to(second), act == LEAVE_OTHER ? 0
			                      : act == STOP      ? 1
			                                         : 4);
			close_store();
		}
	}
}

static int64_t revisions[8];
static unsigned revision_count;

static void on_revision(void *ctx, const struct cache_note *note)
{
	(void)ctx;
	if (note->after != NULL && !note->listed)
		revisions[revision_count++] = cache_revision(fix.cache);
}

T_CASE(revision_moves_on_with_the_last_change_of_a_revision)
{
	struct cache_opts opts = cache_opts(10);
	struct cache_listener listener;

	revision_count = 0;
	open_store(1, NULL, 0);
	open_cache(&opts);
	cache_listen(fix.cache, &listener, on_revision, NULL);
	run_to(10);
	(void)set_two("p/a", "p/b", false);
	(void)set_key("p/a", "1");
	run_to(20);
	T_EQ(revision_count, 3);
	T_EQ(revisions[0], 1);
	T_EQ(revisions[1], 2);
	T_EQ(revisions[2], 3);
	close_store();
}

/* -- watches ------------------------------------------------------------------------ */

struct watcher {
	struct cache_watch watch;
	struct kv_keys keys;
	unsigned wakes;
	enum pl_code code;
	char name[16];
};

static void on_wake(void *ctx)
{
	struct watcher *w = ctx;
	struct cache_note note;

	w->wakes++;
	while ((w->code = cache_watch_next(&w->watch, &note)) == PL_OK)
		story_note(w->name, &note);
	if (w->code != PL_NOTFOUND)
		story_add("%s%s%s\n", w->name, w->name[0] == 0 ? "" : ": ",
		          pl_code_name(w->code));
}

static enum pl_code begin_watch(struct watcher *w, struct kv_keys keys, int64_t revision)
{
	return cache_watch_begin(fix.cache, &w->watch, keys, revision, on_wake, w);
}

T_CASE(watch_from_inside_the_window_gets_every_change_after_its_revision)
{
	struct cache_opts opts = cache_opts(100);
	struct watcher w = {0};
	int64_t start;

	open_store(1, NULL, 0);
	(void)set_key("p/a", "1");
	open_cache(&opts);
	run_to(10);
	start = cache_revision(fix.cache);
	(void)set_key("p/a", "2");
	(void)set_key("p/b", "1");
	(void)set_key("p/a", NULL);
	(void)set_two("p/a", "p/b", true);
	run_to(20);
	T_EQ(begin_watch(&w, kv_all_keys(), start), PL_OK);
	T_EQ(cache_watch_revision(&w.watch), start);
	T_EQ(w.wakes, 0); /* never inside the call */
	run_to(20);
	T_EQ(w.wakes, 1);
	T_STR(fix.story, "updated p/a 1@2 -> 2@3\nadded p/b - -> 1@4\n"
	                 "deleted p/a 2@3 -> - at 5\nadded p/a - -> x@6 more\n"
	                 "deleted p/b 1@4 -> - at 6\n");
	T_EQ(cache_watch_revision(&w.watch), 6);
	story_clear();
	run_to(10000);
	T_EQ(w.wakes, 1);
	(void)set_key("p/c", "1");
	run_to(10010);
	T_EQ(w.wakes, 2);
	T_STR(fix.story, "added p/c - -> 1@7\n");
	cache_watch_end(&w.watch);
	cache_watch_end(&w.watch);
	(void)set_key("p/c", "2");
	run_to(10020);
	T_EQ(w.wakes, 2);
	close_store();
}

T_CASE(watch_of_some_keys_is_not_woken_by_others)
{
	struct cache_opts opts = cache_opts(100);
	struct watcher one = {.name = "one"}, range = {.name = "range"};

	open_store(1, NULL, 0);
	open_cache(&opts);
	run_to(10);
	T_EQ(begin_watch(&one, kv_key(kit_key("p/b")), cache_revision(fix.cache)), PL_OK);
	T_EQ(begin_watch(&range, kv_prefix(kit_key("p/a")), cache_revision(fix.cache)),
	     PL_OK);
	(void)set_key("p/c", "1");
	(void)set_key("p/ab", "1");
	run_to(20);
	T_EQ(one.wakes, 0);
	T_EQ(range.wakes, 1);
	/* `more` counts only the changes that the watch will see. */
	(void)set_two("p/b", "p/c", false);
	(void)set_two("p/ab", "p/ac", false);
	run_to(30);
	T_STR(fix.story,
	      "range: added p/ab - -> 1@3\none: added p/b - -> x@4\n"
	      "range: updated p/ab 1@3 -> x@5 more\nrange: added p/ac - -> y@5\n");
	T_EQ(cache_watch_revision(&one.watch), 5);
	close_store();
}

T_CASE(watch_from_outside_the_window_is_compacted)
{
	struct cache_opts opts = cache_opts(4);
	struct watcher w = {0};
	int64_t last;

	open_store(1, NULL, 0);
	(void)set_key("p/a", "1");
	open_cache(&opts);
	T_EQ(begin_watch(&w, kv_all_keys(), 2), PL_FUTURE);
	run_to(10);
	T_EQ(begin_watch(&w, kv_all_keys(), 1), PL_COMPACTED); /* before the list */
	T_EQ(begin_watch(&w, kv_all_keys(), 3), PL_FUTURE);
	for (unsigned i = 0; i < 10; i++)
		last = set_key("p/a", "2");
	run_to(20);
	T_EQ(begin_watch(&w, kv_all_keys(), last - 5), PL_COMPACTED);
	T_EQ(begin_watch(&w, kv_all_keys(), last - 4), PL_OK);
	run_to(30);
	T_STR(fix.story, "updated p/a 2@8 -> 2@9\nupdated p/a 2@9 -> 2@10\n"
	                 "updated p/a 2@10 -> 2@11\nupdated p/a 2@11 -> 2@12\n");
	close_store();
}

static void on_wake_only(void *ctx)
{
	((struct watcher *)ctx)->wakes++;
}

T_CASE(slow_watch_falls_out_of_the_window_and_is_woken_once)
{
	struct cache_opts opts = cache_opts(4);
	struct watcher w = {0};
	struct cache_note note;

	open_store(1, NULL, 0);
	open_cache(&opts);
	run_to(10);
	T_EQ(cache_watch_begin(fix.cache, &w.watch, kv_all_keys(), 1, on_wake_only, &w),
	     PL_OK);
	for (unsigned i = 0; i < 5; i++) {
		(void)set_key("p/a", "1");
		run_on(10);
	}
	T_EQ(w.wakes, 1);
	T_EQ(cache_watch_revision(&w.watch), 0);
	T_EQ(cache_watch_next(&w.watch, &note), PL_COMPACTED);
	T_EQ(cache_watch_next(&w.watch, &note), PL_COMPACTED);
	cache_watch_end(&w.watch);
	close_store();
}

T_CASE(watch_needs_a_window)
{
	struct cache_opts opts = cache_opts(0);
	struct watcher w = {0};

	open_store(1, NULL, 0);
	open_cache(&opts);
	run_to(10);
	T_EQ(begin_watch(&w, kv_all_keys(), 1), PL_UNSUPPORTED);
	close_store();
}

/* A watch from a revision before the loss sees the outcome of the changes that it has
 * missed. */
T_CASE(watch_goes_on_over_a_lost_watch_of_the_store)
{
	struct faulty_rule lost[] = {
		{.what = FAULTY_STALL_WATCH, .per_mille = 1000, .count = 1}};
	struct cache_opts opts = cache_opts(100);
	struct watcher idle = {.name = "idle"}, late = {.name = "late"},
		       gap = {.name = "gap"};
	struct cache_range range;

	open_store(1, lost, 1);
	(void)set_key("p/a", "1");
	(void)set_key("p/b", "1");
	faulty_pause(fix.kit.kv, true);
	open_cache(&opts);
	run_to(10);
	T_EQ(begin_watch(&idle, kv_all_keys(), 3), PL_OK);
	faulty_pause(fix.kit.kv, false);
	(void)set_key("p/a", "2");
	(void)set_key("p/b", NULL);
	(void)set_key("p/a", "3");
	run_to(9000);
	T_STR(fix.story, "idle: updated p/a 1@2 -> 3@6 more listed\n"
	                 "idle: deleted p/b 1@3 -> - at 6 listed\n");
	story_clear();
	T_EQ(begin_watch(&late, kv_all_keys(), 3), PL_OK);
	run_to(9010);
	T_STR(fix.story, "late: updated p/a 1@2 -> 3@6 more listed\n"
	                 "late: deleted p/b 1@3 -> - at 6 listed\n");
	T_EQ(cache_range_begin(fix.cache, kv_all_keys(), 3, &range), PL_OK);
	/* Changes that came and went in between are not known, however. */
	T_EQ(begin_watch(&gap, kv_all_keys(), 4), PL_COMPACTED);
	T_EQ(begin_watch(&gap, kv_all_keys(), 5), PL_COMPACTED);
	T_EQ(cache_range_begin(fix.cache, kv_all_keys(), 4, &range), PL_COMPACTED);
	T_EQ(cache_range_begin(fix.cache, kv_all_keys(), 6, &range), PL_OK);
	T_EQ(begin_watch(&gap, kv_all_keys(), 6), PL_OK);
	close_store();
}

T_CASE(watch_ends_when_the_store_is_another)
{
	struct cache_opts opts = cache_opts(100);
	struct memkv_snapshot *backup;
	struct watcher w = {0};

	open_store(1, NULL, 0);
	(void)set_key("p/a", "1");
	T_EQ(memkv_save(fix.kit.mem, &backup, NULL), PL_OK);
	(void)set_key("p/a", "2");
	open_cache(&opts);
	run_to(10);
	T_EQ(begin_watch(&w, kv_all_keys(), 3), PL_OK);
	T_EQ(memkv_restore(fix.kit.mem, backup, NULL), PL_OK);
	memkv_snapshot_free(backup);
	run_to(9000);
	T_STR(fix.story, "store rewound or replaced\n");
	cache_watch_end(&w.watch);
	T_EQ(begin_watch(&w, kv_all_keys(), 3), PL_FUTURE);
	T_EQ(begin_watch(&w, kv_all_keys(), 2), PL_OK);
	close_store();
}

T_CASE(watch_ends_with_the_cache)
{
	struct cache_opts opts = cache_opts(100);
	struct watcher idle = {.name = "idle"}, awake = {.name = "awake"};
	struct cache_note note;

	open_store(1, NULL, 0);
	open_cache(&opts);
	run_to(10);
	T_EQ(begin_watch(&idle, kv_all_keys(), 1), PL_OK);
	T_EQ(cache_watch_begin(fix.cache, &awake.watch, kv_all_keys(), 1, on_wake_only,
	                       &awake),
	     PL_OK);
	(void)set_key("p/a", "1");
	run_to(20);
	story_clear();
	cache_stop(fix.cache);
	T_STR(fix.story, "");
	run_to(30);
	T_TRUE(fix.cache == NULL);
	T_STR(fix.story, "idle: canceled\n");
	T_EQ(cache_watch_next(&awake.watch, &note), PL_CANCELED);
	T_EQ(awake.wakes, 1);
	cache_watch_end(&awake.watch);
	cache_watch_end(&idle.watch);
	close_store();
}

/* -- reading ------------------------------------------------------------------------ */

static const char *keys_at(struct kv_keys orders, int64_t revision)
{
	static char text[256];
	const struct cache_entry *entry;
	struct cache_range range;
	size_t len = 0;
	enum pl_code code = cache_range_begin(fix.cache, orders, revision, &range);

	if (code != PL_OK)
		return pl_code_name(code);
	text[0] = 0;
	while ((entry = cache_range_next(&range)) != NULL)
		len += (size_t)snprintf(
			text + len, sizeof text - len, PL_SPAN_FMT "=" PL_SPAN_FMT " ",
			PL_SPAN_ARG(entry->key), PL_SPAN_ARG(entry->value));
	T_TRUE(cache_range_next(&range) == NULL);
	return text;
}

T_CASE(range_reads_in_order_now_and_at_a_past_revision)
{
	struct cache_opts opts = cache_opts(4);

	open_store(1, NULL, 0);
	(void)set_key("p/b", "1"); /* 2 */
	(void)set_key("p/c", "1"); /* 3 */
	open_cache(&opts);
	T_STR(keys_at(kv_all_keys(), 0), "");
	T_STR(keys_at(kv_all_keys(), 3), "revision in the future");
	run_to(10);
	(void)set_key("p/a", "1");  /* 4 */
	(void)set_key("p/b", "2");  /* 5 */
	(void)set_key("p/c", NULL); /* 6 */
	(void)set_key("p/c", "3");  /* 7 */
	run_to(20);
	T_STR(keys_at(kv_all_keys(), 0), "p/a=1 p/b=2 p/c=3 ");
	T_STR(keys_at(kv_all_keys(), 7), "p/a=1 p/b=2 p/c=3 ");
	T_STR(keys_at(kv_all_keys(), 6), "p/a=1 p/b=2 ");
	T_STR(keys_at(kv_all_keys(), 5), "p/a=1 p/b=2 p/c=1 ");
	T_STR(keys_at(kv_all_keys(), 4), "p/a=1 p/b=1 p/c=1 ");
	T_STR(keys_at(kv_all_keys(), 3), "p/b=1 p/c=1 ");
	T_STR(keys_at(kv_all_keys(), 2), "revision compacted");
	T_STR(keys_at(kv_all_keys(), 8), "revision in the future");
	T_STR(keys_at(kv_prefix(kit_key("p/b")), 3), "p/b=1 ");
	T_STR(keys_at(kv_from(kit_key("p/b\0")), 0), "p/b=2 p/c=3 ");
	T_STR(keys_at(kv_range(kit_key("p/a"), kit_key("p/c")), 0), "p/a=1 p/b=2 ");
	T_STR(keys_at(kv_key(kit_key("p/c")), 5), "p/c=1 ");
	(void)set_key("p/c", NULL); /* 8: 4 leaves the window */
	run_to(30);
	T_STR(keys_at(kv_all_keys(), 3), "revision compacted");
	T_STR(keys_at(kv_all_keys(), 4), "p/a=1 p/b=1 p/c=1 ");
	T_STR(keys_at(kv_all_keys(), 8), "p/a=1 p/b=2 ");
	T_EQ(cache_count(fix.cache), 2);
	T_TRUE(cache_get(fix.cache, kit_key("p/c")) == NULL);
	close_store();
}

/* Where changes leave nothing behind, a past revision can not be read. */
T_CASE(range_at_a_past_revision_needs_a_window)
{
	struct cache_opts opts = cache_opts(0);

	open_store(1, NULL, 0);
	(void)set_key("p/a", "1"); /* 2 */
	(void)set_key("p/b", "1"); /* 3 */
	open_cache(&opts);
	run_to(10);
	T_STR(keys_at(kv_all_keys(), 3), "p/a=1 p/b=1 ");
	(void)set_key("p/a", "2");  /* 4 */
	(void)set_key("p/b", NULL); /* 5 */
	run_to(20);
	T_STR(keys_at(kv_all_keys(), 3), "revision compacted");
	T_STR(keys_at(kv_all_keys(), 4), "revision compacted");
	T_STR(keys_at(kv_all_keys(), 5), "p/a=2 ");
	T_STR(keys_at(kv_all_keys(), 0), "p/a=2 ");
	close_store();
}

/* Reads at the cache's revision while a later revision is applied. */
static void on_more(void *ctx, const struct cache_note *note)
{
	if (note->more)
		(void)snprintf(ctx, 64, "%s",
		               keys_at(kv_all_keys(), cache_revision(fix.cache)));
}

T_CASE(range_inside_a_revision_never_mixes_two)
{
	for (uint32_t window = 0; window < 3; window++) {
		struct cache_opts opts = cache_opts(window);
		struct cache_listener listener;
		char seen[64] = "";

		open_store(1, NULL, 0);
		(void)set_key("p/a", "1");
		(void)set_key("p/b", "1");
		open_cache(&opts);
		cache_listen(fix.cache, &listener, on_more, seen);
		run_to(10);
		(void)set_two("p/a", "p/b", false);
		run_to(20);
		T_STR(seen, window == 0 ? "revision compacted" : "p/a=1 p/b=1 ");
		close_store();
	}
}

static bool wants_odd(void *ctx, struct pl_span key)
{
	(void)ctx;
	return (key.at[key.len - 1] & 1) != 0;
}

T_CASE(keeps_only_entries_that_pass_the_filter)
{
	struct cache_opts opts = cache_opts(10);
	struct cache_listener listener;

	opts.wants = wants_odd;
	open_store(1, NULL, 0);
	for (char c = 'a'; c < 'h'; c++)
		(void)set_key((char[]){'p', '/', c, 0}, "1");
	open_cache(&opts);
	run_to(10);
	T_STR(keys_at(kv_all_keys(), 0), "p/a=1 p/c=1 p/e=1 p/g=1 ");
	cache_listen(fix.cache, &listener, on_story, keeper);
	run_to(10);
	story_clear();
	(void)set_two("p/a", "p/b", false); /* nothing more of the revision */
	(void)set_key("p/d", NULL);
	run_to(20);
	T_STR(fix.story, "updated p/a 1@2 -> x@9\nprogress 9\nprogress 10\n");
	close_store();
}

/* Orders "p/3/b" by "b/3". */
static size_t by_name(void *ctx, struct pl_span key, uint8_t *out)
{
	(void)ctx;
	T_EQ(key.len, 5);
	out[0] = key.at[4];
	out[1] = '/';
	out[2] = key.at[2];
	return 3;
}

T_CASE(orders_and_finds_by_other_bytes_than_the_key)
{
	struct cache_opts opts = cache_opts(10);
	const struct cache_entry *entry;
	struct watcher w = {0};

	opts.order = by_name;
	open_store(1, NULL, 0);
	(void)set_key("p/1/c", "1");
	(void)set_key("p/2/a", "2");
	(void)set_key("p/3/b", "3");
	(void)set_key("p/0/b", "4");
	open_cache(&opts);
	run_to(10);
	T_STR(keys_at(kv_all_keys(), 0), "p/2/a=2 p/0/b=4 p/3/b=3 p/1/c=1 ");
	T_STR(keys_at(kv_prefix(kit_key("b/")), 0), "p/0/b=4 p/3/b=3 ");
	entry = cache_get(fix.cache, kit_key("b/3"));
	T_SPAN(entry->value, kit_key("3"));
	T_SPAN(cache_entry_order(entry), kit_key("b/3"));
	T_EQ(begin_watch(&w, kv_prefix(kit_key("b/")), 5), PL_OK);
	(void)set_key("p/1/c", NULL);
	(void)set_key("p/0/b", NULL);
	run_to(20);
	T_STR(fix.story, "deleted p/0/b 4@5 -> - at 7\n");
	T_STR(keys_at(kv_all_keys(), 5), "p/2/a=2 p/0/b=4 p/3/b=3 p/1/c=1 ");
	close_store();
}

/* -- objects and memory --------------------------------------------------------------- */

struct parsed {
	struct pl_span value; /* lies in the entry */
	int number;
};

static unsigned objects;

static enum pl_code parse_record(void *ctx, const struct kv_record *record, void **object,
                                 size_t *bytes)
{
	struct parsed *parsed = pl_calloc(1, sizeof *parsed);

	(void)ctx;
	if (parsed == NULL)
		return PL_NOMEM;
	parsed->value = record->value;
	parsed->number = atoi((const char[]){(char)record->value.at[0], 0});
	objects++;
	*object = parsed;
	*bytes += sizeof *parsed;
	return PL_OK;
}

static void free_object(void *object)
{
	objects--;
	free(object);
}

T_CASE(entries_carry_a_parsed_object_and_outlive_the_cache)
{
	struct cache_opts opts = cache_opts(2);
	const struct cache_entry *kept;
	const struct parsed *parsed;

	objects = 0;
	opts.parse = parse_record;
	opts.free_object = free_object;
	open_store(1, NULL, 0);
	(void)set_key("p/a", "1");
	(void)set_key("p/b", "2");
	open_cache(&opts);
	run_to(10);
	T_EQ(objects, 2);
	kept = cache_entry_ref(cache_get(fix.cache, kit_key("p/b")));
	for (unsigned i = 0; i < 5; i++)
		(void)set_key("p/b", "7");
	run_to(20);
	T_EQ(objects, 1 + 1 + 3); /* a; the kept one; the newest and two in the window */
	parsed = kept->object;
	T_EQ(parsed->number, 2);
	cache_stop(fix.cache);
	run_to(30);
	T_EQ(objects, 1);
	T_SPAN(parsed->value, kit_key("2"));
	T_SPAN(kept->value, kit_key("2"));
	T_SPAN(kept->key, kit_key("p/b"));
	cache_entry_unref(kept);
	cache_entry_unref(NULL);
	T_EQ(objects, 0);
	close_store();
}

T_CASE(values_are_dropped_where_the_object_is_enough)
{
	struct cache_opts opts = cache_opts(2);
	const struct cache_entry *entry;

	objects = 0;
	opts.parse = parse_record;
	opts.free_object = free_object;
	opts.drop_values = true;
	open_store(1, NULL, 0);
	(void)set_key("p/a", "3");
	open_cache(&opts);
	run_to(10);
	entry = cache_get(fix.cache, kit_key("p/a"));
	T_EQ(entry->value.len, 0);
	T_EQ(((const struct parsed *)entry->object)->number, 3);
	close_store();
	T_EQ(objects, 0);
}

static char large[1001];

T_CASE(window_gives_way_before_entries_do)
{
	struct cache_opts opts = cache_opts(1000);
	struct watcher w = {0};
	int64_t last = 0;

	memset(large, 'x', 1000);
	opts.bytes_max = 40000;
	open_store(1, NULL, 0);
	open_cache(&opts);
	run_to(10);
	for (unsigned i = 0; i < 100; i++) {
		last = set_key((char[]){'p', '/', (char)('a' + i % 10), 0}, large);
		run_on(1);
		T_TRUE(cache_bytes(fix.cache) <= opts.bytes_max);
	}
	T_EQ(cache_count(fix.cache), 10);
	T_EQ(begin_watch(&w, kv_all_keys(), last - 40), PL_COMPACTED);
	T_EQ(begin_watch(&w, kv_all_keys(), last - 10), PL_OK);
	T_STR(fix.story, "");
	cache_is_true();
	close_store();
}

T_CASE(deleted_keys_leave_the_cache_with_the_window)
{
	struct cache_opts opts = cache_opts(4);
	size_t before;

	open_store(1, NULL, 0);
	(void)set_key("p/0", "1");
	open_cache(&opts);
	run_to(10);
	for (unsigned i = 0; i < 10; i++)
		(void)set_key("p/0", "1");
	run_to(20);
	before = cache_bytes(fix.cache);
	for (unsigned i = 0; i < 50; i++) {
		char key[16];

		(void)snprintf(key, sizeof key, "p/k%u", i);
		(void)set_key(key, "1");
		(void)set_key(key, NULL);
	}
	for (unsigned i = 0; i < 10; i++)
		(void)set_key("p/0", "1");
	run_to(30);
	T_EQ(cache_bytes(fix.cache), before);
	close_store();
}

/* The second put of the transaction does not fit, so the content has half of a
 * revision, and neither a watch nor a range must go on from there. */
T_CASE(watch_does_not_go_on_over_a_change_that_did_not_fit)
{
	struct cache_opts opts = cache_opts(100);
	struct kv_req ops[2];
	struct kv_req req = {.op = KV_TXN, .txn = {.then = ops, .then_count = 2}};
	struct watcher w = {0}, late = {0};

	memset(large, 'x', 1000);
	opts.bytes_max = 8000;
	open_store(1, NULL, 0);
	open_cache(&opts);
	run_to(10);
	for (char c = 'a'; c < 'f'; c++)
		(void)set_key((char[]){'p', '/', c, 0}, large);
	run_to(20);
	ops[0] = kv_op_put(kit_key("p/0"), kit_key("1"));
	ops[1] = kv_op_put(kit_key("p/h"), pl_span(large, 1000));
	T_TRUE(cache_synced(fix.cache));
	T_EQ(begin_watch(&w, kv_all_keys(), cache_revision(fix.cache)), PL_OK);
	T_EQ(call_without_faults(&req), PL_OK);
	T_TRUE(!cache_synced(fix.cache));
	T_EQ(begin_watch(&late, kv_all_keys(), cache_revision(fix.cache)), PL_COMPACTED);
	T_STR(keys_at(kv_all_keys(), cache_revision(fix.cache)), "revision compacted");
	(void)set_key("p/h", NULL);
	(void)set_key("p/e", NULL);
	(void)set_key("p/d", NULL);
	(void)set_key("p/c", NULL);
	run_to(100000);
	T_TRUE(cache_synced(fix.cache));
	T_EQ(w.code, PL_COMPACTED);
	cache_is_true();
	close_store();
}

/* A hundred keys and, between them, fifty deleted ones in the window. The keys go while
 * the watch is silent. Gives the bytes before that. */
static size_t lose_a_hundred_keys(size_t bytes_max)
{
	struct faulty_rule lost = {
		.what = FAULTY_STALL_WATCH, .per_mille = 1000, .count = 1};
	struct cache_opts opts = cache_opts(1000);
	size_t bytes;
	char key[16];

	opts.bytes_max = bytes_max;
	opts.list.page_keys = 1000;
	open_store(1, &lost, 1);
	faulty_pause(fix.kit.kv, true);
	open_cache(&opts);
	run_to(10);
	for (unsigned i = 0; i < 150; i++) {
		(void)snprintf(key, sizeof key, "p/%03u", i);
		(void)set_key(key, "1");
		if (i % 3 == 2)
			(void)set_key(key, NULL);
	}
	run_to(20);
	bytes = cache_bytes(fix.cache);
	faulty_pause(fix.kit.kv, false);
	for (unsigned i = 0; i < 150; i++) {
		(void)snprintf(key, sizeof key, "p/%03u", i);
		(void)set_key(key, NULL);
	}
	run_to(9000);
	cache_is_true();
	T_EQ(cache_count(fix.cache), 0);
	close_store();
	return bytes;
}

T_CASE(list_that_only_deletes_is_applied_at_any_maximum)
{
	size_t bytes = lose_a_hundred_keys(0);

	for (size_t more = 0; more < 6000; more += 150)
		(void)lose_a_hundred_keys(bytes + more);
}

T_CASE(content_of_the_same_size_takes_the_place_of_another)
{
	struct faulty_rule lost = {
		.what = FAULTY_STALL_WATCH, .per_mille = 1000, .count = 1};
	struct cache_opts opts = cache_opts(100);

	memset(large, 'x', 1000);
	opts.bytes_max = 15000;
	open_store(1, &lost, 1);
	for (char c = 'a'; c < 'k'; c++)
		(void)set_key((char[]){'p', '/', c, 0}, large);
	faulty_pause(fix.kit.kv, true);
	open_cache(&opts);
	run_to(10);
	cache_is_true();
	faulty_pause(fix.kit.kv, false);
	for (char c = 'a'; c < 'k'; c++) {
		(void)set_key((char[]){'p', '/', c, 0}, NULL);
		(void)set_key((char[]){'p', '/', (char)(c + 10), 0}, large);
	}
	run_to(30000);
	cache_is_true();
	T_TRUE(cache_bytes(fix.cache) <= opts.bytes_max);
	close_store();
}

T_CASE(list_that_fails_again_and_again_is_read_less_and_less_often)
{
	struct cache_opts opts = cache_opts(0);
	struct cache_listener listener;
	unsigned losts = 0;

	memset(large, 'x', 1000);
	opts.bytes_max = 2000;
	open_store(1, NULL, 0);
	for (char c = 'a'; c < 'f'; c++)
		(void)set_key((char[]){'p', '/', c, 0}, large);
	open_cache(&opts);
	cache_listen(fix.cache, &listener, on_story, keeper);
	run_to(600000);
	for (const char *at = fix.story; (at = strstr(at, "lost ")) != NULL; at++)
		losts++;
	T_TRUE(losts > 6 && losts < 20);
	close_store();
}

T_CASE(content_that_is_too_large_is_lost_and_listed_again_later)
{
	struct cache_opts opts = cache_opts(1000);
	struct cache_listener listener;
	struct watcher w = {0};

	memset(large, 'x', 1000);
	opts.bytes_max = 20000;
	open_store(1, NULL, 0);
	for (unsigned i = 0; i < 10; i++)
		(void)set_key((char[]){'p', '/', (char)('a' + i), 0}, large);
	open_cache(&opts);
	run_to(10);
	cache_listen(fix.cache, &listener, on_story, keeper);
	run_to(20);
	T_EQ(begin_watch(&w, kv_all_keys(), cache_revision(fix.cache)), PL_OK);
	story_clear();
	for (unsigned i = 10; i < 25; i++)
		(void)set_key((char[]){'p', '/', (char)('a' + i), 0}, large);
	run_to(30);
	T_TRUE(strstr(fix.story, "lost ") != NULL &&
	       strstr(fix.story, "(over a limit)") != NULL);
	T_EQ(w.code, PL_COMPACTED);
	T_TRUE(!cache_synced(fix.cache));
	T_TRUE(cache_count(fix.cache) >= 10); /* the content stays as it was */
	T_TRUE(cache_bytes(fix.cache) <= opts.bytes_max);
	run_to(10000);
	T_TRUE(!cache_synced(fix.cache));
	for (unsigned i = 10; i < 25; i++)
		(void)set_key((char[]){'p', '/', (char)('a' + i), 0}, NULL);
	story_clear();
	run_to(100000);
	T_TRUE(strstr(fix.story, "deleted p/k ") != NULL);
	T_TRUE(strstr(fix.story, "synced ") != NULL);
	cache_is_true();
	close_store();
}

static void on_written(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	(void)result;
	(void)err;
	*(bool *)ctx = true;
}

T_CASE(store_that_went_back_while_nothing_was_watched_is_noticed)
{
	struct cache_opts opts = cache_opts(100);
	struct memkv_snapshot *backup;
	struct cache_listener listener;
	struct watcher w = {0};

	memset(large, 'x', 1000);
	opts.bytes_max = 20000;
	open_store(1, NULL, 0);
	(void)set_key("p/a", "1");
	T_EQ(memkv_save(fix.kit.mem, &backup, NULL), PL_OK);
	(void)set_key("p/a", "2");
	open_cache(&opts);
	run_to(10);
	cache_listen(fix.cache, &listener, on_story, keeper);
	run_to(20);
	for (unsigned i = 0; i < 25; i++)
		(void)set_key((char[]){'p', '/', (char)('a' + i), 0}, large);
	run_to(30);
	T_TRUE(strstr(fix.story, "(over a limit)") != NULL);
	T_EQ(memkv_restore(fix.kit.mem, backup, NULL), PL_OK);
	memkv_snapshot_free(backup);
	story_clear();
	run_to(20000);
	T_TRUE(strstr(fix.story, "lost 0 (store rewound or replaced)\n") == fix.story);
	T_TRUE(strstr(fix.story, "synced 2\n") != NULL);
	cache_is_true();
	T_EQ(begin_watch(&w, kv_all_keys(), 3), PL_FUTURE);
	close_store();
}

/* Writes once more if the store had no memory. */
static void set_at_last(const char *key, const char *value)
{
	struct kv_req req = value == NULL
	                            ? kv_op_delete(kv_key(pl_span_str(key)))
	                            : kv_op_put(pl_span_str(key), pl_span_str(value));
	bool written = false;

	if (kv_start(fix.plain, &req, 1000, on_written, &written, NULL, NULL) != PL_OK)
		T_EQ(kv_start(fix.plain, &req, 1000, on_written, &written, NULL, NULL),
		     PL_OK);
	run_on(0);
	T_TRUE(written);
}

/* Whichever allocation fails, in the end the cache equals the store. */
static void life_without(uint64_t nth, bool *fired)
{
	struct cache_opts opts = cache_opts(8);
	struct cache_listener listener;
	struct watcher w = {0};

	objects = 0;
	opts.parse = parse_record;
	opts.free_object = free_object;
	open_store(1, NULL, 0);
	for (char c = 'a'; c < 'f'; c++)
		(void)set_key((char[]){'p', '/', c, 0}, "1");
	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	if (cache_open(fix.kit.kv, &opts, &fix.cache, NULL) == PL_OK) {
		cache_listen(fix.cache, &fix.keeper, on_keeper, NULL);
		cache_listen(fix.cache, &listener, on_story, keeper);
		run_to(10);
		if (cache_watch_begin(fix.cache, &w.watch, kv_all_keys(),
		                      cache_revision(fix.cache), on_wake, &w) == PL_OK)
			run_to(20);
		for (unsigned i = 0; i < 3; i++) {
			set_at_last("p/b", "2");
			set_at_last("p/c", NULL);
			set_at_last("p/x", "3");
			run_on(10);
		}
		run_to(20000);
	}
	*fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_arm(PL_FAULT_ALLOC, 0);
	if (fix.cache != NULL) {
		run_on(100000);
		cache_is_true();
	}
	close_store();
	T_EQ(objects, 0);
}

T_CASE_SECONDS(cache_recovers_from_each_allocation_that_fails, 60)
{
	bool fired = true;
	uint64_t nth;

	for (nth = 1; fired; nth++)
		life_without(nth, &fired);
	T_TRUE(nth > 20);
}
