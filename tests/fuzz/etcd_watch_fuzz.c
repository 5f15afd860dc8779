/* Watch messages: protobuf-c accepts every message that the codec accepts, and encoded
 * again by protobuf-c it decodes to the same message. */
#include "tests/fuzz/fuzz.h"
#include "tests/support/store/etcd/codec_ref.h"

enum { ARENA_MAX = 16 << 20, BUF_MAX = 16 << 20 };

static void check_events(const struct codec_watch *watch)
{
	int64_t revision = 1;

	for (size_t i = 0; i < watch->count; i++) {
		const struct kv_event *event = &watch->events[i];

		PL_ASSERT(event->record.key.len > 0);
		PL_ASSERT(event->record.mod_revision >= revision);
		PL_ASSERT(event->is_delete || event->record.version > 0);
		PL_ASSERT(event->prev == NULL || event->prev->key.len > 0);
		revision = event->record.mod_revision;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct codec_watch watch = {.watch_id = -7}, again;
	struct pl_buf packed, one, two;
	struct pl_err err = {0};
	struct pl_arena arena;
	enum pl_code code;

	pl_arena_init(&arena, 1 << 16, ARENA_MAX);
	code = codec_watch_decode(pl_span(data, size), &arena, &watch, &err);
	PL_ASSERT(code == PL_OK || (err.code == code && watch.watch_id == -7));
	PL_ASSERT(code == PL_OK || code == PL_PROTO || code == PL_NOMEM);
	if (code == PL_OK) {
		check_events(&watch);
		pl_buf_init(&packed, BUF_MAX);
		pl_buf_init(&one, BUF_MAX);
		pl_buf_init(&two, BUF_MAX);
		PL_ASSERT(codec_ref_watch_reencode(pl_span(data, size), &packed));
		code = codec_watch_decode(pl_buf_span(&packed), &arena, &again, &err);
		PL_ASSERT(code == PL_OK);
		codec_ref_watch(&watch, &one);
		codec_ref_watch(&again, &two);
		PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
		pl_buf_done(&packed);
		pl_buf_done(&one);
		pl_buf_done(&two);
	}
	pl_arena_done(&arena);
	return 0;
}
