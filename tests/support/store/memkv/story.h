/* Callbacks that write a line with their name into a story, so that a test can check the
 * order of calls. */
#ifndef TESTS_SUPPORT_STORE_MEMKV_STORY_H
#define TESTS_SUPPORT_STORE_MEMKV_STORY_H

#include "tests/support/store/memkv/kit.h"

#define KEY(text) kv_key(PL_SPAN_LIT(text))
#define S(text) PL_SPAN_LIT(text)

static struct kit kit;
static char story[512];

/* Gives a name as a context. */
static inline char *named(const char *text)
{
	static char names[32][16];
	static unsigned count;

	T_TRUE(count < 32);
	(void)snprintf(names[count], sizeof names[count], "%s", text);
	return names[count++];
}

static inline void story_add(const char *what)
{
	size_t len = strlen(story);

	(void)snprintf(story + len, sizeof story - len, "%s%s", len == 0 ? "" : " ",
	               what);
}

static inline void on_named(void *ctx, const struct kv_result *result,
                            const struct pl_err *err)
{
	char text[64];

	(void)snprintf(text, sizeof text, "%s:%s", (const char *)ctx,
	               err == NULL ? "ok" : pl_code_name(err->code));
	T_TRUE((result == NULL) == (err != NULL));
	story_add(text);
}

static inline void on_named_note(void *ctx, const struct kv_watch_note *note)
{
	char text[64];
	static const char *const what[] = {"ready", "events", "progress", "end"};

	(void)snprintf(text, sizeof text, "%s:%s@%d", (const char *)ctx, what[note->what],
	               (int)note->revision);
	story_add(text);
}

static inline void start_put(struct kv *kv, const char *key, char *name,
                             struct kv_call **out)
{
	struct kv_put put = {.key = pl_span_str(key), .value = S("1")};

	T_EQ(kv_put(kv, &put, 1000, on_named, name, out, &kit.err), PL_OK);
}

static inline struct kv_watch *start_watch(struct kv *kv, struct kv_keys keys, char *name)
{
	struct kv_watch *started;
	struct kv_watch_req req = {.keys = keys};

	T_EQ(kv_watch(kv, &req, on_named_note, name, &started, &kit.err), PL_OK);
	return started;
}

#endif
