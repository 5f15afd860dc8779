/* A fixture for tests over the memory store: a store with one session, calls that are
 * answered at once, and watches that record their notes. Everything is copied and freed
 * at the end. */
#ifndef TESTS_SUPPORT_STORE_MEMKV_KIT_H
#define TESTS_SUPPORT_STORE_MEMKV_KIT_H

#include <stdio.h>

#include "store/base/arena.h"
#include "store/kv/calls.h"
#include "store/kv/rewrite.h"
#include "store/memkv/memkv.h"
#include "tests/harness/t.h"

enum { KIT_NOTES_MAX = 4096 };

struct kit {
	struct memkv *mem;
	struct kv *kv;
	struct pl_arena arena;
	struct pl_err err;
	uint64_t now_ms;
	/* The last answer. */
	unsigned answers;
	enum pl_code code;
	struct kv_result result;
};

struct kit_watch {
	struct kit *kit;
	struct kv_watch *watch; /* NULL once the watch has ended */
	unsigned count;
	struct kv_watch_note note[KIT_NOTES_MAX];
	enum pl_code end; /* PL_OK: the watch has not ended */
};

static inline void kit_open(struct kit *kit, const struct memkv_opts *opts)
{
	*kit = (struct kit){.now_ms = opts == NULL ? 0 : opts->now_ms};
	pl_arena_init(&kit->arena, 65536, 0);
	T_EQ(memkv_new(opts, &kit->mem, &kit->err), PL_OK);
	T_EQ(memkv_session(kit->mem, &kit->kv, &kit->err), PL_OK);
}

static inline void kit_on_closed(void *ctx)
{
	*(bool *)ctx = true;
}

static inline void kit_close_session(struct kit *kit, struct kv *kv)
{
	bool closed = false;

	kv_close(kv, kit_on_closed, &closed);
	T_TRUE(!closed);
	memkv_run(kit->mem, kit->now_ms);
	T_TRUE(closed);
}

static inline void kit_close(struct kit *kit)
{
	kit_close_session(kit, kit->kv);
	memkv_free(kit->mem);
	pl_arena_done(&kit->arena);
}

static inline void kit_run(struct kit *kit, uint64_t now_ms)
{
	kit->now_ms = now_ms;
	memkv_run(kit->mem, now_ms);
}

/* Runs everything that is due until then, each at its time. */
static inline void kit_until(struct kit *kit, uint64_t now_ms)
{
	while (memkv_next_ms(kit->mem) <= now_ms) {
		uint64_t next_ms = memkv_next_ms(kit->mem);

		kit_run(kit, next_ms > kit->now_ms ? next_ms : kit->now_ms);
	}
	kit_run(kit, now_ms);
}

static inline void kit_on_done(void *ctx, const struct kv_result *result,
                               const struct pl_err *err)
{
	struct kit *kit = ctx;

	T_TRUE((result == NULL) == (err != NULL));
	kit->answers++;
	kit->code = err == NULL ? PL_OK : err->code;
	kit->result = (struct kv_result){0};
	if (result != NULL)
		T_EQ(kv_result_copy(&kit->arena, result, &kit->result), PL_OK);
}

/* Starts a call and delivers its answer. PL_OK, or the code of the start or of the
 * answer. */
static inline enum pl_code kit_call(struct kit *kit, const struct kv_req *req)
{
	unsigned before = kit->answers;
	enum pl_code code =
		kv_start(kit->kv, req, 1000, kit_on_done, kit, NULL, &kit->err);

	T_EQ(kit->answers, before);
	if (code != PL_OK)
		return code;
	memkv_run(kit->mem, kit->now_ms);
	T_EQ(kit->answers, before + 1);
	return kit->code;
}

static inline void kit_on_note(void *ctx, const struct kv_watch_note *note)
{
	struct kit_watch *watch = ctx;

	T_TRUE(watch->count < KIT_NOTES_MAX && watch->end == PL_OK);
	if (note->what == KV_WATCH_END) {
		watch->end = note->err->code;
		watch->watch = NULL;
	}
	T_EQ(kv_note_copy(&watch->kit->arena, note, &watch->note[watch->count++]), PL_OK);
}

static inline enum pl_code kit_watch(struct kit *kit, struct kit_watch *watch,
                                     const struct kv_watch_req *req)
{
	watch->kit = kit;
	watch->count = 0;
	watch->end = PL_OK;
	return kv_watch(kit->kv, req, kit_on_note, watch, &watch->watch, &kit->err);
}

static inline struct pl_span kit_key(const char *text)
{
	return pl_span_str(text);
}

static inline int64_t kit_put(struct kit *kit, const char *key, const char *value)
{
	struct kv_req req = kv_op_put(pl_span_str(key), pl_span_str(value));

	T_EQ(kit_call(kit, &req), PL_OK);
	return kit->result.header.revision;
}

static inline int64_t kit_put_leased(struct kit *kit, const char *key, const char *value,
                                     int64_t lease)
{
	struct kv_req req = kv_op_put_leased(pl_span_str(key), pl_span_str(value), lease);

	T_EQ(kit_call(kit, &req), PL_OK);
	return kit->result.header.revision;
}

static inline int64_t kit_delete(struct kit *kit, struct kv_keys keys)
{
	struct kv_req req = kv_op_delete(keys);

	T_EQ(kit_call(kit, &req), PL_OK);
	return kit->result.del.deleted;
}

static inline enum pl_code kit_get_at(struct kit *kit, struct kv_keys keys,
                                      int64_t revision)
{
	struct kv_req req = kv_op_get(keys);

	req.get.revision = revision;
	return kit_call(kit, &req);
}

static inline enum pl_code kit_compact(struct kit *kit, int64_t revision)
{
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = revision}};

	return kit_call(kit, &req);
}

static inline enum pl_code kit_lease(struct kit *kit, enum kv_op op, int64_t id,
                                     int64_t ttl_s)
{
	struct kv_req req = {.op = op,
	                     .lease = {.id = id, .ttl_s = ttl_s, .want_keys = true}};

	return kit_call(kit, &req);
}

/* The records of the last get, as "a=1 b=2". */
static inline const char *kit_show(struct kit *kit)
{
	static char text[4096];
	size_t len = 0;

	text[0] = 0;
	for (size_t i = 0; i < kit->result.get.count; i++) {
		const struct kv_record *record = &kit->result.get.records[i];

		len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s=%.*s",
		                        i == 0 ? "" : " ", PL_SPAN_ARG(record->key),
		                        PL_SPAN_ARG(record->value));
	}
	return text;
}

/* The notes of a watch, as "ready@1 put a=1@2 del a@3(a=1)". They are forgotten. */
static inline const char *kit_told(struct kit_watch *watch)
{
	static char text[16384];
	size_t len = 0;

#define KIT_ADD(...) len += (size_t)snprintf(text + len, sizeof text - len, __VA_ARGS__)
	text[0] = 0;
	for (unsigned n = 0; n < watch->count; n++) {
		const struct kv_watch_note *note = &watch->note[n];

		KIT_ADD("%s", n == 0 ? "" : " ");
		if (note->what == KV_WATCH_READY)
			KIT_ADD("ready@%" PRId64, note->revision);
		if (note->what == KV_WATCH_PROGRESS)
			KIT_ADD("progress@%" PRId64, note->revision);
		if (note->what == KV_WATCH_END)
			KIT_ADD("end(%s)", pl_code_name(watch->end));
		for (size_t i = 0; i < note->count; i++) {
			const struct kv_event *event = &note->events[i];

			T_EQ(event->record.mod_revision, note->revision);
			KIT_ADD("%s%s " PL_SPAN_FMT, i == 0 ? "" : "+",
			        event->is_delete ? "del" : "put",
			        PL_SPAN_ARG(event->record.key));
			if (!event->is_delete)
				KIT_ADD("=" PL_SPAN_FMT,
				        PL_SPAN_ARG(event->record.value));
			if (event->prev != NULL)
				KIT_ADD("(" PL_SPAN_FMT ")",
				        PL_SPAN_ARG(event->prev->value));
		}
		if (note->count != 0)
			KIT_ADD("@%" PRId64, note->revision);
	}
#undef KIT_ADD
	watch->count = 0;
	return text;
}

#endif
