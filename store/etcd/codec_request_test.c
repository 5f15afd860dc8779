#include "store/base/fault.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/codec_gen.h"
#include "tests/support/store/etcd/codec_ref.h"
#include "tests/support/store/etcd/codec_rig.h"

T_CASE(requests_are_written_byte_for_byte_as_protobuf_c_writes_them)
{
	struct codec_rig rig;

	codec_rig_init(&rig, 1);
	for (unsigned i = 0; i < TEST_ROUNDS; i++) {
		struct kv_req req;

		codec_rig_reset(&rig);
		req = codec_gen_request(&rig.rng, &rig.gen);
		codec_ref_request(&req, &rig.again);
		T_EQ(codec_encode(&req, &rig.bytes, &rig.shape, &rig.err), PL_OK);
		T_TRUE(codec_rig_same(&rig));
		T_EQ(rig.shape.len != 0, req.op == KV_TXN);
	}
	codec_rig_done(&rig);
}

T_CASE(watch_requests_are_written_as_protobuf_c_writes_them)
{
	struct codec_rig rig;

	codec_rig_init(&rig, 2);
	for (unsigned i = 0; i < TEST_ROUNDS; i++) {
		struct codec_watch_create create = {0};
		struct kv_watch_req req;

		codec_rig_reset(&rig);
		req = codec_gen_watch_req(&rig.rng, &rig.gen);
		create.req = &req;
		create.watch_id = (int64_t)pl_rng_below(&rig.rng, 1000);
		create.from_revision = (int64_t)pl_rng_below(&rig.rng, 1u << 20);
		create.fragment = pl_rng_chance(&rig.rng, 1, 2);
		create.progress_notify = pl_rng_chance(&rig.rng, 1, 2);
		codec_ref_watch_create(&create, &rig.again);
		T_EQ(codec_watch_create(&create, &rig.bytes, &rig.err), PL_OK);
		T_TRUE(codec_rig_same(&rig));
	}
	codec_rig_done(&rig);
}

static void expect_bytes(const struct codec_rig *rig, struct pl_span want)
{
	T_TRUE(pl_span_eq(pl_buf_span(&rig->bytes), want));
}

T_CASE(small_requests_have_known_bytes)
{
	struct kv_req req = {.op = KV_GET};
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	req.get.keys = (struct kv_keys){.kind = KV_PREFIX, .from = PL_SPAN_LIT("a\xff")};
	T_EQ(codec_encode(&req, &rig.bytes, NULL, NULL), PL_OK);
	expect_bytes(&rig, PL_SPAN_LIT("\x0a\x02"
	                               "a\xff\x12\x01"
	                               "b"));
	codec_rig_reset(&rig);
	req.get.keys = (struct kv_keys){.kind = KV_PREFIX};
	T_EQ(codec_encode(&req, &rig.bytes, NULL, NULL), PL_OK);
	expect_bytes(&rig, PL_SPAN_LIT("\x0a\x01\x00\x12\x01\x00"));
	codec_rig_reset(&rig);
	req.get.keys =
		(struct kv_keys){.kind = KV_PREFIX, .from = PL_SPAN_LIT("\xff\xff")};
	T_EQ(codec_encode(&req, &rig.bytes, NULL, NULL), PL_OK);
	expect_bytes(&rig, PL_SPAN_LIT("\x0a\x02\xff\xff\x12\x01\x00"));
	codec_rig_reset(&rig);
	T_EQ(codec_keepalive_encode(300, &rig.bytes, NULL), PL_OK);
	expect_bytes(&rig, PL_SPAN_LIT("\x08\xac\x02"));
	codec_rig_reset(&rig);
	T_EQ(codec_watch_cancel(5, &rig.bytes, NULL), PL_OK);
	expect_bytes(&rig, PL_SPAN_LIT("\x12\x02\x08\x05"));
	codec_rig_reset(&rig);
	T_EQ(codec_watch_progress(&rig.bytes, NULL), PL_OK);
	expect_bytes(&rig, PL_SPAN_LIT("\x1a\x00"));
	codec_rig_reset(&rig);
	T_EQ(codec_auth_encode("root", "pw", &rig.bytes, NULL), PL_OK);
	expect_bytes(&rig, PL_SPAN_LIT("\x0a\x04root\x12\x02pw"));
	codec_rig_done(&rig);
}

T_CASE(other_requests_go_through_protobuf_c)
{
	static const struct {
		struct kv_req req;
		struct pl_span want;
	} cases[] = {
		{{.op = KV_COMPACT, .compact = {.revision = 7, .physical = true}},
	         {(const uint8_t *)"\x08\x07\x10\x01", 4}},
		{{.op = KV_LEASE_GRANT, .lease = {.id = 9, .ttl_s = 5}},
	         {(const uint8_t *)"\x08\x05\x10\x09", 4}},
		{{.op = KV_LEASE_GRANT, .lease = {.ttl_s = 5}},
	         {(const uint8_t *)"\x08\x05", 2}},
		{{.op = KV_LEASE_REVOKE, .lease = {.id = 9}},
	         {(const uint8_t *)"\x08\x09", 2}},
		{{.op = KV_LEASE_KEEP, .lease = {.id = 9}},
	         {(const uint8_t *)"\x08\x09", 2}},
		{{.op = KV_LEASE_TTL, .lease = {.id = 9, .want_keys = true}},
	         {(const uint8_t *)"\x08\x09\x10\x01", 4}},
		{{.op = KV_STATUS}, {NULL, 0}},
	};
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		codec_rig_reset(&rig);
		T_EQ(codec_encode(&cases[i].req, &rig.bytes, &rig.shape, NULL), PL_OK);
		expect_bytes(&rig, cases[i].want);
		T_EQ(rig.shape.len, 0);
	}
	codec_rig_done(&rig);
}

/* gRPC's prefix is in the buffer already and must stay, also on failure. */
T_CASE(a_request_that_is_refused_leaves_nothing_behind)
{
	struct kv_req put = {.op = KV_PUT};
	struct kv_req txn = {.op = KV_TXN, .txn = {.then = &put, .then_count = 1}};
	struct kv_watch_req watch_req = {.keys = {.kind = KV_ONE}};
	struct codec_watch_create create = {.req = &watch_req};
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	T_EQ(pl_buf_add_str(&rig.bytes, "12345"), PL_OK);
	T_EQ(codec_encode(&txn, &rig.bytes, &rig.shape, &rig.err), PL_INVALID);
	T_STR(rig.err.msg, "txn.then[0].put: empty key");
	T_EQ(codec_watch_create(&create, &rig.bytes, &rig.err), PL_INVALID);
	T_STR(rig.err.msg, "watch: empty key");
	T_EQ(codec_auth_encode("", "x", &rig.bytes, &rig.err), PL_INVALID);
	rig.bytes.max = 64;
	put.put.key = PL_SPAN_LIT("key");
	put.put.value = PL_SPAN_LIT("a value that does not fit into what is left of 64 "
	                            "bytes, however it is written");
	T_EQ(codec_encode(&txn, &rig.bytes, &rig.shape, &rig.err), PL_LIMIT);
	T_STR(rig.err.msg, "request of 94 bytes is over the limit of 64");
	T_EQ(rig.shape.len, 0);
	T_TRUE(pl_span_eq(pl_buf_span(&rig.bytes), PL_SPAN_LIT("12345")));
	codec_rig_done(&rig);
}

T_CASE(encoding_survives_any_failing_allocation)
{
	for (uint64_t nth = 1;; nth++) {
		struct codec_rig rig;
		bool failed = false;

		codec_rig_init(&rig, 3);
		for (unsigned i = 0; i < 20; i++) {
			struct kv_req req;
			enum pl_code code;

			codec_rig_reset(&rig);
			req = codec_gen_request(&rig.rng, &rig.gen);
			pl_buf_done(&rig.bytes);
			pl_buf_done(&rig.shape);
			if (!failed)
				pl_fault_arm(PL_FAULT_ALLOC, nth);
			code = codec_encode(&req, &rig.bytes, &rig.shape, &rig.err);
			pl_fault_arm(PL_FAULT_ALLOC, 0);
			T_TRUE(code == PL_OK || code == PL_NOMEM);
			if (code == PL_NOMEM)
				T_TRUE(rig.bytes.len == 0 && rig.shape.len == 0);
			failed |= code == PL_NOMEM;
		}
		codec_rig_done(&rig);
		if (!failed)
			break;
	}
}

T_CASE(an_empty_message_needs_no_bytes)
{
	struct kv_req reqs[] = {{.op = KV_TXN}, {.op = KV_STATUS}};
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	for (unsigned i = 0; i < 2; i++) {
		T_EQ(codec_encode(&reqs[i], &rig.bytes, &rig.shape, NULL), PL_OK);
		T_EQ(rig.bytes.len, 0);
		pl_buf_done(&rig.bytes);
	}
	T_EQ(rig.shape.len, 2);
	codec_rig_done(&rig);
}

T_CASE(operations_are_counted_as_etcd_counts_them)
{
	struct kv_compare compares[5] = {0};
	struct kv_req get = {.op = KV_GET};
	struct kv_req deep[3] = {get, get, get};
	struct kv_req inner[2] = {
		get, {.op = KV_TXN, .txn = {.otherwise = deep, .otherwise_count = 3}}};
	struct kv_req outer = {.op = KV_TXN,
	                       .txn = {.compares = compares,
	                               .compare_count = 5,
	                               .then = inner,
	                               .then_count = 2}};

	T_EQ(codec_txn_ops(&get), 0);
	T_EQ(codec_txn_ops(&inner[1]), 3);
	T_EQ(codec_txn_ops(&outer), 8);
}
