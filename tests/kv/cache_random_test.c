/*
 * A cache under faults, against a naive model, which is the whole content at each
 * revision. The notes of each listener and watch must lead from the content that it
 * began with to the content of the store, and every read at a past revision must be
 * exact. In every other life the store does not answer requests for progress, and the
 * cache ticks.
 */
#include <stdlib.h>

#include "store/base/rng.h"
#include "tests/kv/cache_fixture.h"

enum { KEYS = 20, REVISIONS = 1200, LISTENERS = 3, WATCHES = 4, WAITS = 4 };

struct content_slot {
	int64_t value; /* 0: absent */
	int64_t mod;
};

struct content {
	struct content_slot slot[KEYS];
};

struct listener {
	struct cache_listener listener;
	struct content content;
	int64_t revision;
	bool joined, unordered;
	unsigned more;
};

struct random_watcher {
	struct cache_watch watch;
	struct content content;
	char from[8];
	struct kv_keys keys;
	int64_t revision;
	bool on;
	bool dozes; /* the watch is not read when it is woken */
};

struct random_wait {
	struct cache_wait wait;
	int64_t revision; /* the content must be as new as this one */
	uint64_t end_ms;
	bool on;
};

static struct content history[REVISIONS];
static int64_t history_end; /* the last revision that stands in it */
static struct listener listeners[LISTENERS];
static struct random_watcher watchers[WATCHES];
static struct random_wait waits[WAITS];
static struct pl_rng rng;
static struct {
	unsigned losts, listed, compacted, past_reads, replays, gaps, reached,
		failed_waits, ticks, reached_by_tick;
} seen;

/* The content at a revision. Those that no change of the test made are ticks. */
static const struct content *content_at(int64_t revision)
{
	T_TRUE(revision >= 0 && revision < REVISIONS);
	T_TRUE(revision <= memkv_revision(fix.kit.mem));
	for (; history_end < revision; history_end++)
		history[history_end + 1] = history[history_end];
	return &history[revision];
}

static unsigned key_index(struct pl_span key)
{
	T_EQ(key.len, 4);
	return (unsigned)((key.at[2] - '0') * 10 + key.at[3] - '0');
}

static int64_t number_of(struct pl_span value)
{
	int64_t n = 0;

	for (size_t i = 0; i < value.len; i++)
		n = n * 10 + value.at[i] - '0';
	return n;
}

static struct content_slot slot_of(const struct cache_entry *entry)
{
	if (entry == NULL)
		return (struct content_slot){0};
	return (struct content_slot){number_of(entry->value), entry->mod_revision};
}

static bool same_slot(struct content_slot a, struct content_slot b)
{
	return a.value == b.value && a.mod == b.mod;
}

/* Checks that a change's type and entries fit together. Returns the key's number. */
static unsigned check_change(const struct cache_note *note)
{
	const struct cache_entry *entry =
		note->after != NULL ? note->after : note->before;

	T_EQ(note->before != NULL, note->type != CACHE_ADDED);
	T_EQ(note->after != NULL, note->type != CACHE_DELETED);
	if (note->before != NULL && note->after != NULL)
		T_SPAN(note->before->key, note->after->key);
	return key_index(entry->key);
}

/* -- reads -------------------------------------------------------------------------- */

static void read_at(int64_t revision)
{
	const struct cache_entry *entry;
	struct content content = {0};
	struct cache_range range;
	enum pl_code code = cache_range_begin(fix.cache, kv_all_keys(), revision, &range);

	if (code != PL_OK) {
		T_EQ(code, PL_COMPACTED);
		seen.gaps++;
		return;
	}
	while ((entry = cache_range_next(&range)) != NULL)
		content.slot[key_index(entry->key)] = slot_of(entry);
	T_MEM(&content, content_at(revision), sizeof content);
	seen.past_reads += revision != cache_revision(fix.cache);
}

/* -- listeners ---------------------------------------------------------------------- */

static void on_listen(void *ctx, const struct cache_note *note)
{
	struct listener *l = ctx;
	struct content_slot *slot;

	switch (note->type) {
	case CACHE_ADDED:
	case CACHE_UPDATED:
	case CACHE_DELETED:
		slot = &l->content.slot[check_change(note)];
		T_TRUE(same_slot(*slot, slot_of(note->before)));
		*slot = slot_of(note->after);
		T_TRUE(l->unordered || note->revision >= l->revision);
		if (!l->unordered)
			l->revision = note->revision;
		l->more = note->more;
		seen.listed += note->listed && !l->unordered;
		if (cache_revision(fix.cache) > 0)
			read_at(cache_revision(fix.cache));
		break;
	case CACHE_SYNCED:
		T_EQ(l->more, 0);
		l->revision = note->revision;
		l->unordered = false;
		/* At this moment the content is the store's at that revision. */
		T_MEM(&l->content, content_at(note->revision), sizeof l->content);
		break;
	case CACHE_PROGRESS:
		T_EQ(l->more, 0);
		T_TRUE(note->revision >= l->revision);
		l->revision = note->revision;
		T_MEM(&l->content, content_at(note->revision), sizeof l->content);
		break;
	case CACHE_LOST:
		seen.losts++;
		l->more = 0;
		if (note->err->code == PL_REWOUND || note->err->code == PL_LIMIT)
			l->unordered = true;
		break;
	case CACHE_TROUBLE:
		break;
	case CACHE_STOPPED:
		l->joined = false;
		break;
	}
}

static void toggle_listener(struct listener *l)
{
	if (l->joined) {
		cache_unlisten(&l->listener);
		l->joined = false;
		return;
	}
	memset(l, 0, sizeof *l);
	l->joined = l->unordered = true;
	cache_listen(fix.cache, &l->listener, on_listen, l);
}

/* -- watches ------------------------------------------------------------------------ */

static void read_changes(struct random_watcher *w)
{
	struct cache_note note;
	enum pl_code code;

	while ((code = cache_watch_next(&w->watch, &note)) == PL_OK) {
		unsigned key = check_change(&note);

		T_TRUE(note.revision >= w->revision);
		w->revision = note.revision;
		T_TRUE(same_slot(w->content.slot[key], slot_of(note.before)));
		w->content.slot[key] = slot_of(note.after);
		seen.replays++;
		if (!note.more)
			T_TRUE(cache_watch_revision(&w->watch) >= note.revision);
	}
	if (code == PL_NOTFOUND) {
		T_EQ(cache_watch_revision(&w->watch), cache_revision(fix.cache));
		return;
	}
	T_TRUE(code == PL_COMPACTED || code == PL_REWOUND || code == PL_CANCELED);
	seen.compacted += code == PL_COMPACTED;
	cache_watch_end(&w->watch);
	w->on = false;
}

static void on_wake(void *ctx)
{
	struct random_watcher *w = ctx;

	if (!w->dozes)
		read_changes(w);
}

static void toggle_watcher(struct random_watcher *w)
{
	int64_t now = cache_revision(fix.cache);
	int64_t revision = now - (int64_t)pl_rng_below(&rng, 30);
	enum pl_code code;

	if (w->on) {
		cache_watch_end(&w->watch);
		w->on = false;
		return;
	}
	if (revision < 0)
		return;
	memset(w, 0, sizeof *w);
	(void)snprintf(w->from, sizeof w->from, "p/%u", (unsigned)pl_rng_below(&rng, 2));
	w->keys =
		pl_rng_below(&rng, 2) == 0 ? kv_all_keys() : kv_prefix(kit_key(w->from));
	w->dozes = pl_rng_below(&rng, 4) == 0;
	code = cache_watch_begin(fix.cache, &w->watch, w->keys, revision, on_wake, w);
	if (code != PL_OK) {
		T_EQ(code, PL_COMPACTED);
		return;
	}
	w->on = true;
	w->revision = revision;
	w->content = *content_at(revision);
}

/* -- waits -------------------------------------------------------------------------- */

static void on_wait_end(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct random_wait *w = ctx;

	T_TRUE(w->on && w->wait.cache == NULL);
	T_TRUE(fix.kit.now_ms <= w->end_ms);
	w->on = false;
	if (err != NULL) {
		T_TRUE(err->code != PL_FUTURE);
		seen.failed_waits++;
		return;
	}
	T_TRUE(revision >= w->revision);
	read_at(revision);
	for (unsigned i = 0; i < LISTENERS; i++)
		if (listeners[i].joined && !listeners[i].listener.behind)
			T_MEM(&listeners[i].content, content_at(revision),
			      sizeof listeners[i].content);
	seen.reached++;
	seen.reached_by_tick += !kv_limits(fix.kit.kv).progress;
}

/* For the newest revision, by its number or as that of the moment, or for an older one. */
static void toggle_wait(struct random_wait *w)
{
	int64_t newest = memkv_revision(fix.kit.mem);
	int64_t older = newest - (int64_t)pl_rng_below(&rng, 5);
	uint64_t timeout_ms = pl_rng_below(&rng, 4000);
	bool now = pl_rng_below(&rng, 2) == 0;

	if (w->on) {
		cache_wait_end(&w->wait);
		w->on = false;
		return;
	}
	w->on = true;
	w->revision = now || older <= 0 ? newest : older;
	w->end_ms = fix.kit.now_ms + timeout_ms;
	T_EQ(cache_wait(fix.cache, &w->wait, now ? 0 : w->revision, timeout_ms,
	                on_wait_end, w, NULL),
	     PL_OK);
}

/* -- the store ---------------------------------------------------------------------- */

static unsigned any_key(char *name, size_t size)
{
	unsigned key = (unsigned)pl_rng_below(&rng, KEYS);

	(void)snprintf(name, size, "p/%02u", key);
	return key;
}

/* Changes one to three keys in one revision. */
static int64_t change_store(int64_t value)
{
	unsigned count = pl_rng_below(&rng, 4) == 0 ? 3 : 1, keys[3];
	struct content content = *content_at(memkv_revision(fix.kit.mem));
	struct kv_req ops[3];
	char name[3][8], text[16];
	struct kv_req req = {.op = KV_TXN, .txn = {.then = ops, .then_count = count}};
	int64_t revision;

	(void)snprintf(text, sizeof text, "%" PRId64, value);
	for (unsigned i = 0; i < count; i++) {
		keys[i] = any_key(name[i], sizeof name[i]);
		if ((i > 0 && keys[i] == keys[0]) || (i > 1 && keys[i] == keys[1])) {
			i--;
			continue;
		}
		ops[i] = pl_rng_below(&rng, 3) == 0
		                 ? kv_op_delete(kv_key(pl_span_str(name[i])))
		                 : kv_op_put(pl_span_str(name[i]), pl_span_str(text));
	}
	/* The history comes first, because the watch brings the change before the
	 * answer. */
	revision = memkv_revision(fix.kit.mem) + 1;
	T_TRUE(revision < REVISIONS);
	for (unsigned i = 0; i < count; i++)
		content.slot[keys[i]] = ops[i].op == KV_PUT
		                                ? (struct content_slot){value, revision}
		                                : (struct content_slot){0};
	history[revision] = content;
	history_end = revision;
	T_EQ(call_without_faults(&req), PL_OK);
	return memkv_revision(fix.kit.mem);
}

static void random_act(unsigned i)
{
	int64_t revision = change_store((int64_t)i + 1);
	int64_t now;

	if (pl_rng_below(&rng, 40) == 0)
		compact_to(revision - (int64_t)pl_rng_below(&rng, 10));
	if (pl_rng_below(&rng, 3) == 0)
		run_on(pl_rng_below(&rng, 300));
	if (pl_rng_below(&rng, 10) == 0)
		toggle_listener(&listeners[pl_rng_below(&rng, LISTENERS)]);
	if (pl_rng_below(&rng, 5) == 0)
		toggle_watcher(&watchers[pl_rng_below(&rng, WATCHES)]);
	if (pl_rng_below(&rng, 5) == 0)
		toggle_wait(&waits[pl_rng_below(&rng, WAITS)]);
	now = cache_revision(fix.cache);
	if (now > 0 && cache_synced(fix.cache))
		read_at(now -
		        (int64_t)pl_rng_below(&rng, (uint64_t)(now < 20 ? now : 20)));
}

static void readers_equal_the_store(void)
{
	const struct content *truth = content_at(memkv_revision(fix.kit.mem));

	cache_is_true();
	T_EQ(cache_revision(fix.cache), memkv_revision(fix.kit.mem));
	for (unsigned i = 0; i < LISTENERS; i++)
		if (listeners[i].joined)
			T_MEM(&listeners[i].content, truth, sizeof *truth);
	for (unsigned i = 0; i < WATCHES; i++) {
		struct random_watcher *w = &watchers[i];

		if (w->on)
			read_changes(w);
		for (unsigned k = 0; k < KEYS && w->on; k++) {
			char name[8];

			(void)snprintf(name, sizeof name, "p/%02u", k);
			if (kv_key_in(w->keys, pl_span_str(name)))
				T_TRUE(same_slot(w->content.slot[k], truth->slot[k]));
		}
		if (w->on)
			cache_watch_end(&w->watch);
	}
}

static void count_ticks(bool expected)
{
	struct kv_req req = kv_op_get(kv_key(PL_SPAN_LIT(FIXTURE_TICK)));

	T_EQ(call_without_faults(&req), PL_OK);
	T_TRUE(expected || fix.kit.result.get.count == 0);
	if (fix.kit.result.get.count > 0)
		seen.ticks += (unsigned)fix.kit.result.get.records[0].version;
}

static void random_life(uint64_t seed)
{
	const struct faulty_rule rules[] = {
		{.what = FAULTY_SLOW_REQUEST, .per_mille = 200, .delay_max_ms = 1500},
		{.what = FAULTY_SLOW_ANSWER, .per_mille = 200, .delay_max_ms = 1500},
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 100},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_UNAVAIL},
		{.what = FAULTY_SLOW_NOTE, .per_mille = 100, .delay_max_ms = 800},
		{.what = FAULTY_MERGE_NOTES, .per_mille = 700},
		{.what = FAULTY_STALL_WATCH, .per_mille = 10},
		{.what = FAULTY_END_WATCH, .per_mille = 15, .code = PL_COMPACTED},
		{.what = FAULTY_END_WATCH, .per_mille = 5, .code = PL_REWOUND}};
	const struct memkv_opts store = {.no_progress = seed % 2 == 0};
	struct cache_opts opts;

	pl_rng_init(&rng, seed);
	open_store_on(&store, seed, rules, sizeof rules / sizeof rules[0]);
	memset(history, 0, sizeof history);
	history_end = 0;
	memset(listeners, 0, sizeof listeners);
	memset(watchers, 0, sizeof watchers);
	memset(waits, 0, sizeof waits);
	opts = cache_opts((uint32_t)pl_rng_between(&rng, 1, 40));
	opts.list.seed = seed + 1;
	opts.list.page_keys = (uint32_t)pl_rng_between(&rng, 2, 30);
	opts.tick = PL_SPAN_LIT(FIXTURE_TICK);
	if (seed % 4 == 0) /* then the window, or even the content, is too large */
		opts.bytes_max = pl_rng_between(&rng, 6500, 14000);
	open_cache(&opts);
	for (unsigned i = 0; i < 400; i++)
		random_act(i);
	faulty_pause(fix.kit.kv, true);
	run_on(200000);
	if (cache_synced(fix.cache)) {
		readers_equal_the_store();
	} else {
		T_EQ(seed % 4, 0);
		for (unsigned i = 0; i < WATCHES; i++)
			if (watchers[i].on)
				cache_watch_end(&watchers[i].watch);
	}
	count_ticks(store.no_progress);
	close_store();
	for (unsigned i = 0; i < LISTENERS; i++)
		T_TRUE(!listeners[i].joined);
	for (unsigned i = 0; i < WAITS; i++)
		T_TRUE(!waits[i].on);
}

T_CASE_SECONDS(all_readers_equal_the_store_after_random_faults, 120)
{
	uint64_t seed = t_seed();

	for (uint64_t i = 0; i < 100; i++)
		random_life(seed + i);
	t_note(__FILE__, __LINE__,
	       "losts %u listed %u compacted %u past %u replays %u gaps %u reached %u "
	       "failed waits %u ticks %u reached by tick %u",
	       seen.losts, seen.listed, seen.compacted, seen.past_reads, seen.replays,
	       seen.gaps, seen.reached, seen.failed_waits, seen.ticks,
	       seen.reached_by_tick);
	T_REACHED(seen.losts > 100);
	T_REACHED(seen.listed > 100);
	T_REACHED(seen.compacted > 50);
	T_REACHED(seen.past_reads > 1000);
	T_REACHED(seen.replays > 1000);
	T_REACHED(seen.gaps > 100);
	T_REACHED(seen.reached > 500);
	T_REACHED(seen.failed_waits > 500);
	T_REACHED(seen.ticks > 500);
	T_REACHED(seen.reached_by_tick > 200);
}
