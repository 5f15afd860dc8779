#include "store/base/fault.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/codec_gen.h"
#include "tests/support/store/etcd/codec_ref.h"
#include "tests/support/store/etcd/codec_rig.h"

static enum pl_code decode(struct codec_rig *rig, struct codec_watch *out)
{
	return codec_watch_decode(pl_buf_span(&rig->bytes), &rig->arena, out, &rig->err);
}

T_CASE(watch_messages_survive_encoding_and_decoding)
{
	struct codec_rig rig;

	codec_rig_init(&rig, 1);
	for (unsigned i = 0; i < TEST_ROUNDS; i++) {
		struct codec_watch in, out;

		codec_rig_reset(&rig);
		in = codec_gen_watch(&rig.rng, &rig.gen);
		codec_ref_watch(&in, &rig.bytes);
		T_EQ(decode(&rig, &out), PL_OK);
		codec_ref_watch(&out, &rig.again);
		T_TRUE(codec_rig_same(&rig));
	}
	codec_rig_done(&rig);
}

T_CASE(messages_of_a_real_etcd_are_decoded)
{
	struct codec_watch got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	codec_rig_recorded(&rig, "etcd_watch/real-watchprev-0", 0);
	T_EQ(decode(&rig, &got), PL_OK);
	T_TRUE(got.created && !got.canceled && !got.fragment);
	T_EQ(got.watch_id, 11);
	T_EQ(got.count, 0);
	codec_rig_recorded(&rig, "etcd_watch/real-watchprev-1", 0);
	T_EQ(decode(&rig, &got), PL_OK);
	T_EQ(got.watch_id, 11);
	T_EQ(got.header.revision, 6);
	T_EQ(got.count, 9);
	T_TRUE(got.events[0].prev == NULL && !got.events[0].is_delete);
	T_EQ(got.events[0].record.mod_revision, 2);
	T_TRUE(pl_span_eq(got.events[1].record.value, PL_SPAN_LIT("two")));
	T_TRUE(pl_span_eq(got.events[1].prev->value, PL_SPAN_LIT("one")));
	T_TRUE(got.events[4].is_delete);
	T_TRUE(pl_span_eq(got.events[4].record.key, PL_SPAN_LIT("k/b")));
	T_EQ(got.events[4].record.mod_revision, 5);
	T_EQ(got.events[4].record.version, 0);
	T_TRUE(pl_span_eq(got.events[4].prev->value, PL_SPAN_LIT("three")));
	codec_rig_done(&rig);
}

T_CASE(a_cancellation_of_a_real_etcd_is_decoded)
{
	struct codec_watch got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	codec_rig_recorded(&rig, "etcd_watch/real-watchcompacted-1", 0);
	T_EQ(decode(&rig, &got), PL_OK);
	T_TRUE(got.canceled && !got.created);
	T_EQ(got.compact_revision, 3);
	T_EQ(got.header.revision, 0);
	T_EQ(got.cancel_reason.len, 0);
	codec_rig_recorded(&rig, "etcd_watch/real-watchbad-0", 0);
	T_EQ(decode(&rig, &got), PL_OK);
	T_TRUE(got.canceled && got.created);
	T_EQ(got.watch_id, -1);
	T_TRUE(pl_span_eq(got.cancel_reason,
	                  PL_SPAN_LIT("rpc error: code = Unauthenticated desc = "
	                              "etcdserver: invalid auth token")));
	codec_rig_recorded(&rig, "etcd_watch/real-watch-1", 0);
	T_EQ(decode(&rig, &got), PL_OK);
	T_EQ(got.watch_id, -1);
	T_TRUE(!got.canceled && !got.created);
	codec_rig_done(&rig);
}

static struct kv_event event_at(int64_t revision)
{
	return (struct kv_event){.record = {.key = PL_SPAN_LIT("k"),
	                                    .create_revision = 1,
	                                    .mod_revision = revision,
	                                    .version = 1}};
}

T_CASE(impossible_messages_are_refused)
{
	struct kv_event events[2] = {event_at(5), event_at(5)};
	struct codec_watch in = {.events = events, .count = 2};
	struct codec_watch got = {.watch_id = 77};
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	T_EQ(decode(&rig, &got), PL_PROTO);
	T_STR(rig.err.msg, "watch answer: no header");
	codec_ref_watch(&in, &rig.bytes);
	T_EQ(decode(&rig, &got), PL_OK);
	got.watch_id = 77;
	rig.bytes.len = 0;
	events[1] = event_at(4);
	codec_ref_watch(&in, &rig.bytes);
	T_EQ(decode(&rig, &got), PL_PROTO);
	T_STR(rig.err.msg, "watch answer: malformed event, or one out of order");
	rig.bytes.len = 0;
	events[1] = event_at(5);
	events[1].record.key.len = 0;
	codec_ref_watch(&in, &rig.bytes);
	T_EQ(decode(&rig, &got), PL_PROTO);
	rig.bytes.len = 0;
	in = (struct codec_watch){.watch_id = -2};
	codec_ref_watch(&in, &rig.bytes);
	T_EQ(decode(&rig, &got), PL_PROTO);
	rig.bytes.len = 0;
	in = (struct codec_watch){.compact_revision = -1};
	codec_ref_watch(&in, &rig.bytes);
	T_EQ(decode(&rig, &got), PL_PROTO);
	T_EQ(got.watch_id, 77);
	codec_rig_done(&rig);
}

/* Sixteen values of 4 MB: no byte is copied, the arena holds the events only. */
T_CASE(a_message_of_64_megabytes_is_not_copied)
{
	enum { COUNT = 16, VALUE = 4 << 20 };
	static const uint8_t head[] = {0x0a, 0x00};
	struct pl_buf bytes;
	struct codec_watch got;
	struct pl_arena arena;

	pl_arena_init(&arena, 0, 8192);
	pl_buf_init(&bytes, 80 << 20);
	T_EQ(pl_buf_add(&bytes, pl_span(head, sizeof head)), PL_OK);
	for (unsigned i = 0; i < COUNT; i++) {
		/* events, kv, key "k", the three numbers, value */
		static const uint8_t event[] = {0x5a, 0x93, 0x80, 0x80, 0x02, 0x12,
		                                0x8e, 0x80, 0x80, 0x02, 0x0a, 0x01,
		                                'k',  0x10, 0x01, 0x18, 0x01, 0x20,
		                                0x01, 0x2a, 0x80, 0x80, 0x80, 0x02};

		T_EQ(pl_buf_add(&bytes, pl_span(event, sizeof event)), PL_OK);
		T_EQ(pl_buf_reserve(&bytes, VALUE), PL_OK);
		memset(bytes.at + bytes.len, (int)i, VALUE);
		bytes.len += VALUE;
	}
	T_EQ(codec_watch_decode(pl_buf_span(&bytes), &arena, &got, NULL), PL_OK);
	T_EQ(got.count, COUNT);
	for (unsigned i = 0; i < COUNT; i++) {
		T_EQ(got.events[i].record.value.len, VALUE);
		T_EQ(got.events[i].record.value.at[VALUE - 1], i);
	}
	pl_buf_done(&bytes);
	pl_arena_done(&arena);
}

T_CASE(decoding_survives_any_failing_allocation)
{
	bool failed = true;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	codec_rig_recorded(&rig, "etcd_watch/real-watchprev-1", 0);
	for (uint64_t nth = 1; failed; nth++) {
		struct codec_watch got = {.watch_id = 77};
		enum pl_code code;

		pl_arena_done(&rig.arena);
		pl_arena_init(&rig.arena, 1, 0);
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = decode(&rig, &got);
		pl_fault_arm(PL_FAULT_ALLOC, 0);
		failed = code != PL_OK;
		T_EQ(code, failed ? PL_NOMEM : PL_OK);
		T_EQ(got.watch_id, failed ? 77 : 11);
		T_TRUE(nth < 10);
	}
	codec_rig_done(&rig);
}
