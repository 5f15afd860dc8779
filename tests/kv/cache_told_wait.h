/* Waits of a cache whose ends are told in the fixture's story. */
#ifndef TESTS_KV_CACHE_TOLD_WAIT_H
#define TESTS_KV_CACHE_TOLD_WAIT_H

#include "tests/kv/cache_fixture.h"

enum { SOON = 5, LONG = 60000 };

static char plain[] = "";

/* A wait whose end is told in the story: "a ok 7", "b timeout 3". */
struct told_wait {
	struct cache_wait wait;
	const char *name;
	struct told_wait *also; /* ended in the callback; NULL: none */
	bool stops;             /* the cache, in the callback */
};

static inline void on_end(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct told_wait *told = ctx;

	T_TRUE(told->wait.cache == NULL);
	T_TRUE(err != NULL || revision == cache_revision(fix.cache));
	story_add("%s %s %" PRId64 "\n", told->name,
	          pl_code_name(err == NULL ? PL_OK : err->code), revision);
	if (told->also != NULL)
		cache_wait_end(&told->also->wait);
	if (told->stops)
		cache_stop(fix.cache);
}

static inline void wait_for(struct told_wait *told, const char *name, int64_t revision,
                            uint64_t timeout_ms)
{
	size_t len = fix.story_len;

	told->name = name;
	T_EQ(cache_wait(fix.cache, &told->wait, revision, timeout_ms, on_end, told, NULL),
	     PL_OK);
	T_EQ(fix.story_len, len); /* not from inside the call */
}

#endif
