/*
 * A cache over a store in memory with faults, and a second session past the faults that
 * writes. The fixture's story says in lines what listeners were told.
 */
#ifndef TESTS_KV_CACHE_FIXTURE_H
#define TESTS_KV_CACHE_FIXTURE_H

#include "store/base/fault.h"
#include "store/kv/cache/cache.h"
#include "store/kv/keys.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { STORY_SIZE = 32768 };

struct cache_fixture {
	struct kit kit; /* kit.kv has the faults */
	struct kv *plain, *session;
	struct cache *cache;          /* NULL: none, or it has stopped */
	struct cache_listener keeper; /* knows when the cache has stopped */
	char story[STORY_SIZE];
	size_t story_len;
};

static struct cache_fixture fix;

__attribute__((format(printf, 1, 2))) static inline void story_add(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (fix.story_len + 200 < STORY_SIZE)
		fix.story_len += (size_t)vsnprintf(fix.story + fix.story_len,
		                                   STORY_SIZE - fix.story_len, fmt, args);
	va_end(args);
}

static inline void story_clear(void)
{
	fix.story_len = 0;
	fix.story[0] = 0;
}

static inline void story_entry(const struct cache_entry *entry)
{
	if (entry == NULL)
		story_add("-");
	else
		story_add(PL_SPAN_FMT "@%" PRId64, PL_SPAN_ARG(entry->value),
		          entry->mod_revision);
}

/* "updated p/1 a@2 -> b@3 more" */
static inline void story_note(const char *listener, const struct cache_note *note)
{
	const struct cache_entry *entry =
		note->after != NULL ? note->after : note->before;

	story_add("%s%s%s", listener, listener[0] == 0 ? "" : ": ",
	          cache_note_type_name(note->type));
	if (entry != NULL) {
		story_add(" " PL_SPAN_FMT " ", PL_SPAN_ARG(entry->key));
		story_entry(note->before);
		story_add(" -> ");
		story_entry(note->after);
		if (note->after == NULL || note->after->mod_revision != note->revision)
			story_add(" at %" PRId64, note->revision);
	} else {
		story_add(" %" PRId64, note->revision);
	}
	story_add("%s%s", note->more ? " more" : "", note->listed ? " listed" : "");
	if (note->err != NULL)
		story_add(" (%s)", pl_code_name(note->err->code));
	story_add("\n");
}

/* A listener whose context is its name. */
static inline void on_story(void *ctx, const struct cache_note *note)
{
	story_note(ctx, note);
}

static inline void on_keeper(void *ctx, const struct cache_note *note)
{
	(void)ctx;
	if (note->type == CACHE_STOPPED)
		fix.cache = NULL;
}

static inline void run_to(uint64_t now_ms)
{
	kit_until(&fix.kit, now_ms);
}

static inline void run_on(uint64_t ms)
{
	run_to(fix.kit.now_ms + ms);
}

static inline void open_store_on(const struct memkv_opts *opts, uint64_t seed,
                                 const struct faulty_rule *rules, size_t count)
{
	memset(&fix, 0, sizeof fix);
	kit_open(&fix.kit, opts);
	T_EQ(memkv_session(fix.kit.mem, &fix.plain, NULL), PL_OK);
	fix.session = fix.kit.kv;
	T_EQ(faulty_open(fix.kit.kv, seed, rules, count, &fix.kit.kv, NULL), PL_OK);
}

static inline void open_store(uint64_t seed, const struct faulty_rule *rules,
                              size_t count)
{
	open_store_on(NULL, seed, rules, count);
}

static inline struct cache_opts cache_opts(uint32_t window)
{
	return (struct cache_opts){.list = {.keys = kv_prefix(kit_key("p/")),
	                                    .page_keys = 3,
	                                    .call_timeout_ms = 1000,
	                                    .check_ms = 2000,
	                                    .stall_ms = 1000,
	                                    .seed = 3},
	                           .window_changes = window};
}

static inline void open_cache(const struct cache_opts *opts)
{
	T_EQ(cache_open(fix.kit.kv, opts, &fix.cache, NULL), PL_OK);
	cache_listen(fix.cache, &fix.keeper, on_keeper, NULL);
}

static inline void close_store(void)
{
	if (fix.cache != NULL) {
		cache_stop(fix.cache);
		run_on(5000);
		T_TRUE(fix.cache == NULL);
	}
	kit_close_session(&fix.kit, fix.plain);
	kit_close(&fix.kit);
}

/* Straight to the store, past the faults. */
static inline enum pl_code call_without_faults(const struct kv_req *req)
{
	struct kv *faulty = fix.kit.kv;
	enum pl_code code;

	fix.kit.kv = fix.plain;
	code = kit_call(&fix.kit, req);
	fix.kit.kv = faulty;
	return code;
}

/* value NULL: the key is deleted. */
static inline int64_t set_key(const char *key, const char *value)
{
	struct kv_req req = value == NULL
	                            ? kv_op_delete(kv_key(pl_span_str(key)))
	                            : kv_op_put(pl_span_str(key), pl_span_str(value));

	T_EQ(call_without_faults(&req), PL_OK);
	return fix.kit.result.header.revision;
}

static inline void compact_to(int64_t revision)
{
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = revision}};
	enum pl_code code = revision > 0 ? call_without_faults(&req) : PL_OK;

	T_TRUE(code == PL_OK || code == PL_COMPACTED);
}

#define FIXTURE_TICK "p/tick"

/* The cache holds just what the store holds, but for the tick. */
static inline void cache_is_true(void)
{
	struct kv_req req = kv_op_get(kv_prefix(kit_key("p/")));
	const struct cache_entry *entry;
	struct cache_range range;
	size_t count = 0;

	T_TRUE(cache_synced(fix.cache));
	T_EQ(call_without_faults(&req), PL_OK);
	T_EQ(cache_range_begin(fix.cache, kv_all_keys(), 0, &range), PL_OK);
	for (size_t i = 0; i < fix.kit.result.get.count; i++) {
		const struct kv_record *record = &fix.kit.result.get.records[i];

		if (pl_span_eq(record->key, PL_SPAN_LIT(FIXTURE_TICK)))
			continue;
		count++;
		entry = cache_range_next(&range);
		T_TRUE(entry != NULL);
		T_SPAN(entry->key, record->key);
		T_SPAN(entry->value, record->value);
		T_EQ(entry->mod_revision, record->mod_revision);
		T_EQ(entry->create_revision, record->create_revision);
		T_EQ(entry->version, record->version);
		T_TRUE(cache_get(fix.cache, record->key) == entry);
	}
	T_EQ(cache_count(fix.cache), count);
	T_TRUE(cache_range_next(&range) == NULL);
}

#endif
