#include "store/base/fault.h"
#include "store/kv/check.h"
#include "tests/harness/t.h"
#include "tests/support/store/etcd/codec_gen.h"
#include "tests/support/store/etcd/codec_ref.h"
#include "tests/support/store/etcd/codec_rig.h"

static enum pl_code decode(struct codec_rig *rig, enum kv_op op, struct kv_result *out)
{
	return codec_decode(op, pl_buf_span(&rig->shape), pl_buf_span(&rig->bytes),
	                    &rig->arena, out, &rig->err);
}

T_CASE(answers_survive_encoding_and_decoding)
{
	struct codec_rig rig;

	codec_rig_init(&rig, 2);
	for (unsigned i = 0; i < TEST_ROUNDS; i++) {
		struct kv_result in, out;
		struct kv_req req;

		codec_rig_reset(&rig);
		req = codec_gen_request(&rig.rng, &rig.gen);
		T_EQ(codec_encode(&req, &rig.again, &rig.shape, &rig.err), PL_OK);
		rig.again.len = 0;
		in = codec_gen_answer(&rig.rng, &rig.gen, &req);
		codec_ref_answer(&in, &rig.bytes);
		T_EQ(decode(&rig, req.op, &out), PL_OK);
		codec_ref_answer(&out, &rig.again);
		T_TRUE(codec_rig_same(&rig));
	}
	codec_rig_done(&rig);
}

static bool inside(struct pl_span part, const struct pl_buf *buf)
{
	return part.at >= buf->at && part.at + part.len <= buf->at + buf->len;
}

T_CASE(records_of_a_real_etcd_are_read_in_place)
{
	const struct kv_record *record;
	struct kv_result got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	codec_rig_recorded(&rig, "etcd_answer/real-get", 2);
	T_EQ(decode(&rig, KV_GET, &got), PL_OK);
	T_EQ(got.op, KV_GET);
	T_EQ(got.header.cluster_id, 0xcdf818194e3a8c32);
	T_EQ(got.header.member_id, 0x8e9e05c52164694d);
	T_EQ(got.header.revision, 4);
	T_EQ(got.header.raft_term, 2);
	T_EQ(got.get.count, 2);
	T_EQ(got.get.total, 2);
	T_TRUE(!got.get.more);
	record = &got.get.records[0];
	T_TRUE(pl_span_eq(record->key, PL_SPAN_LIT("k/a")));
	T_TRUE(pl_span_eq(record->value, PL_SPAN_LIT("two")));
	T_TRUE(inside(record->key, &rig.bytes) && inside(record->value, &rig.bytes));
	T_EQ(record->create_revision, 2);
	T_EQ(record->mod_revision, 3);
	T_EQ(record->version, 2);
	T_EQ(record->lease, 0);
	codec_rig_recorded(&rig, "etcd_answer/real-getlimit", 2);
	T_EQ(decode(&rig, KV_GET, &got), PL_OK);
	T_EQ(got.get.count, 1);
	T_EQ(got.get.total, 2);
	T_TRUE(got.get.more);
	T_EQ(got.get.records[0].value.len, 0);
	codec_rig_recorded(&rig, "etcd_answer/real-getcount", 2);
	T_EQ(decode(&rig, KV_GET, &got), PL_OK);
	T_EQ(got.get.count, 0);
	T_EQ(got.get.total, 2);
	codec_rig_recorded(&rig, "etcd_answer/real-put2", 2);
	T_EQ(decode(&rig, KV_PUT, &got), PL_OK);
	T_TRUE(pl_span_eq(got.put.prev->value, PL_SPAN_LIT("one")));
	codec_rig_recorded(&rig, "etcd_answer/real-put1", 2);
	T_EQ(decode(&rig, KV_PUT, &got), PL_OK);
	T_TRUE(got.put.prev == NULL);
	codec_rig_recorded(&rig, "etcd_answer/real-delete", 2);
	T_EQ(decode(&rig, KV_DELETE, &got), PL_OK);
	T_EQ(got.del.deleted, 4);
	T_EQ(got.del.prev_count, 4);
	codec_rig_done(&rig);
}

/* A transaction with put, get, delete and a nested put and get; otherwise a get. */
static void real_txn(struct codec_rig *rig, size_t then_count)
{
	struct kv_keys key = {.kind = KV_ONE, .from = PL_SPAN_LIT("k")};
	struct kv_req in[2] = {{.op = KV_PUT, .put = {.key = key.from}},
	                       {.op = KV_GET, .get = {.keys = key}}};
	struct kv_req then[5] = {
		in[0],
		in[1],
		{.op = KV_DELETE, .del = {.keys = key}},
		{.op = KV_TXN, .txn = {.then = in, .then_count = 2}},
		in[0],
	};
	struct kv_req txn = {.op = KV_TXN,
	                     .txn = {.then = then,
	                             .then_count = then_count,
	                             .otherwise = in + 1,
	                             .otherwise_count = 1}};

	rig->again.len = 0;
	rig->shape.len = 0;
	T_EQ(codec_encode(&txn, &rig->again, &rig->shape, &rig->err), PL_OK);
}

T_CASE(a_real_transaction_has_the_requested_results)
{
	struct kv_result got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	real_txn(&rig, 4);
	codec_rig_recorded(&rig, "etcd_answer/real-txn1", 2);
	T_EQ(decode(&rig, KV_TXN, &got), PL_OK);
	T_TRUE(got.txn.succeeded);
	T_EQ(got.txn.count, 4);
	T_EQ(got.txn.results[1].op, KV_GET);
	T_EQ(got.txn.results[1].get.count, 4);
	T_EQ(got.txn.results[2].del.deleted, 1);
	T_TRUE(pl_span_eq(got.txn.results[2].del.prev[0].value, PL_SPAN_LIT("three")));
	T_EQ(got.txn.results[3].txn.count, 2);
	T_TRUE(got.txn.results[3].txn.succeeded);
	codec_rig_recorded(&rig, "etcd_answer/real-txn2", 2);
	T_EQ(decode(&rig, KV_TXN, &got), PL_OK);
	T_TRUE(!got.txn.succeeded);
	T_EQ(got.txn.count, 1);
	codec_rig_done(&rig);
}

T_CASE(unrequested_results_are_refused)
{
	struct kv_result got = {.op = KV_OP_COUNT};
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	codec_rig_recorded(&rig, "etcd_answer/real-txn1", 2);
	real_txn(&rig, 3);
	T_EQ(decode(&rig, KV_TXN, &got), PL_PROTO);
	T_STR(rig.err.msg, "txn answer: results are not those that were asked for");
	real_txn(&rig, 5);
	T_EQ(decode(&rig, KV_TXN, &got), PL_PROTO);
	T_STR(rig.err.msg, "txn answer: fewer results than were asked for");
	real_txn(&rig, 0);
	T_EQ(decode(&rig, KV_TXN, &got), PL_PROTO);
	T_EQ(got.op, KV_OP_COUNT);
	rig.shape.len = 0;
	T_EQ(decode(&rig, KV_TXN, &got), PL_OK);
	codec_rig_done(&rig);
}

T_CASE(an_answer_is_accepted_for_its_own_request_only)
{
	struct codec_rig rig;
	unsigned refused = 0;

	codec_rig_init(&rig, 5);
	for (unsigned i = 0; i < TEST_ROUNDS; i++) {
		struct kv_result in, out;
		struct kv_req req = {0}, other = {0};

		codec_rig_reset(&rig);
		while (req.op != KV_TXN)
			req = codec_gen_request(&rig.rng, &rig.gen);
		while (other.op != KV_TXN)
			other = codec_gen_request(&rig.rng, &rig.gen);
		T_EQ(codec_encode(&other, &rig.again, &rig.shape, &rig.err), PL_OK);
		in = codec_gen_answer(&rig.rng, &rig.gen, &req);
		codec_ref_answer(&in, &rig.bytes);
		if (decode(&rig, KV_TXN, &out) == PL_OK)
			T_EQ(out.txn.count, out.txn.succeeded
			                            ? other.txn.then_count
			                            : other.txn.otherwise_count);
		else
			refused++;
	}
	T_TRUE(refused > TEST_ROUNDS / 2);
	codec_rig_done(&rig);
}

/* Writes transactions that hold only a transaction, from the inside out. */
static void nested_answer(struct pl_buf *out, unsigned depth)
{
	uint8_t inner[512], outer[512];
	size_t len = 0;

	for (unsigned i = 1; i < depth; i++) {
		size_t at = 0;

		T_TRUE(len + 8 < 128);
		outer[at++] = 0x1a; /* responses */
		outer[at++] = (uint8_t)(len + 2);
		outer[at++] = 0x22; /* response_txn */
		outer[at++] = (uint8_t)len;
		memcpy(outer + at, inner, len);
		len += at;
		memcpy(inner, outer, len);
	}
	T_EQ(pl_buf_add(out, pl_span("\x0a\x00", 2)), PL_OK); /* header */
	T_EQ(pl_buf_add(out, pl_span(inner, len)), PL_OK);
}

T_CASE(nesting_is_bounded)
{
	struct kv_result got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	nested_answer(&rig.bytes, KV_TXN_DEPTH_MAX);
	T_EQ(decode(&rig, KV_TXN, &got), PL_OK);
	rig.bytes.len = 0;
	nested_answer(&rig.bytes, KV_TXN_DEPTH_MAX + 1);
	T_EQ(decode(&rig, KV_TXN, &got), PL_PROTO);
	T_STR(rig.err.msg, "txn answer: nested too deeply");
	codec_rig_done(&rig);
}

T_CASE(malformed_answers_are_refused)
{
	static const struct {
		enum kv_op op;
		struct pl_span bytes;
		const char *why;
	} cases[] = {
		{KV_GET, {NULL, 0}, "get answer: no header"},
		{KV_PUT, {NULL, 0}, "put answer: no header"},
		{KV_DELETE, {NULL, 0}, "delete answer: no header"},
		{KV_TXN, {NULL, 0}, "txn answer: no header"},
		{KV_COMPACT, {NULL, 0}, "compact answer: no header"},
		{KV_LEASE_REVOKE, {NULL, 0}, "lease revoke answer: no header"},
		{KV_LEASE_GRANT, {NULL, 0}, "lease grant answer: no lease in it"},
		{KV_LEASE_TTL, {NULL, 0}, "lease ttl answer: no header"},
		{KV_LEASE_KEEP, {NULL, 0}, "lease keep answer: malformed message"},
		{KV_STATUS, {NULL, 0}, "status answer: empty text"},
#define BYTES(text) {(const uint8_t *)"" text, sizeof(text) - 1}
		{KV_GET, BYTES("\x0a\x00\x0a\x00"), "get answer: two headers"},
		{KV_GET, BYTES("\x0a\x02\x18"), "get answer: malformed message"},
		{KV_GET, BYTES("\x08\x01"), "get answer: field of the wrong type"},
		{KV_GET, BYTES("\x0a\x00\x12\x00"), "get answer: impossible record"},
		{KV_GET, BYTES("\x0a\x00\x12\x02\x0a\x05"),
	         "get answer: malformed record"},
		/* no version; changed before it was created */
		{KV_GET, BYTES("\x0a\x00\x12\x07\x0a\x01k\x10\x01\x18\x01"),
	         "get answer: impossible record"},
		{KV_GET, BYTES("\x0a\x00\x12\x09\x0a\x01k\x10\x02\x18\x01\x20\x01"),
	         "get answer: impossible record"},
		{KV_GET, BYTES("\x0a\x00\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	         "get answer: impossible count"},
		{KV_GET, BYTES("\x0a\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
	         "get answer: malformed header"},
		{KV_GET, BYTES("\x0a\x00\x12\x09\x0a\x01k\x10\x01\x18\x01\x20\x01"),
	         "get answer: impossible count"},
		{KV_DELETE,
	         BYTES("\x0a\x00\x10\x02\x1a\x09\x0a\x01k\x10\x01\x18\x01\x20"
	               "\x01"),
	         "delete answer: impossible count"},
		{KV_TXN, BYTES("\x0a\x00\x1a\x00"),
	         "txn answer: malformed result in a transaction"},
		{KV_TXN, BYTES("\x0a\x00\x1a\x04\x0a\x00\x12\x00"),
	         "txn answer: malformed result in a transaction"},
		{KV_STATUS, BYTES("\x0a\x00\x12\x01\x0a"),
	         "status answer: unprintable text"},
		{KV_STATUS, BYTES("\x0a\x00\x12\x01"),
	         "status answer: malformed message"},
		/* groups, field 0, a varint without an end */
		{KV_PUT, BYTES("\x0a\x00\x43"), "put answer: malformed message"},
		{KV_PUT, BYTES("\x0a\x00\x00\x01"), "put answer: malformed message"},
		{KV_PUT, BYTES("\x0a\x00\x80\x80\x80\x80\x80\x00"),
	         "put answer: malformed message"},
#undef BYTES
	};
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct kv_result got = {.op = KV_OP_COUNT};

		codec_rig_reset(&rig);
		T_EQ(pl_buf_add(&rig.bytes, cases[i].bytes), PL_OK);
		T_EQ(decode(&rig, cases[i].op, &got), PL_PROTO);
		T_STR(rig.err.msg, cases[i].why);
		T_EQ(got.op, KV_OP_COUNT);
	}
	codec_rig_done(&rig);
}

T_CASE(unknown_fields_are_skipped)
{
	struct kv_result got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	T_EQ(pl_buf_add(&rig.bytes, pl_span("\x0a\x00\x28\x01\x32\x01x\x39"
	                                    "12345678\x45"
	                                    "1234\x20\x03",
	                                    23)),
	     PL_OK);
	T_EQ(decode(&rig, KV_GET, &got), PL_OK);
	T_EQ(got.get.total, 3);
	codec_rig_done(&rig);
}

T_CASE(leases_of_a_real_etcd)
{
	struct codec_keepalive keepalive;
	struct kv_result got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	codec_rig_recorded(&rig, "etcd_answer/real-grant", 2);
	T_EQ(decode(&rig, KV_LEASE_GRANT, &got), PL_OK);
	T_EQ(got.lease.id, 4711);
	T_EQ(got.lease.ttl_s, 60);
	codec_rig_recorded(&rig, "etcd_answer/real-keep", 2);
	T_EQ(decode(&rig, KV_LEASE_KEEP, &got), PL_OK);
	T_EQ(got.lease.id, 4711);
	T_EQ(got.lease.ttl_s, 60);
	T_EQ(got.header.revision, 5);
	codec_rig_recorded(&rig, "etcd_answer/real-keepgone", 2);
	T_EQ(decode(&rig, KV_LEASE_KEEP, &got), PL_NOLEASE);
	T_STR(rig.err.msg, "lease 1268 is gone");
	T_EQ(codec_keepalive_decode(pl_buf_span(&rig.bytes), &keepalive, &rig.err),
	     PL_OK);
	T_EQ(keepalive.id, 4712);
	T_EQ(keepalive.ttl_s, 0);
	codec_rig_recorded(&rig, "etcd_answer/real-ttl", 2);
	T_EQ(decode(&rig, KV_LEASE_TTL, &got), PL_OK);
	T_EQ(got.lease.granted_s, 60);
	T_TRUE(got.lease.ttl_s <= 60 && got.lease.ttl_s > 50);
	T_EQ(got.lease.key_count, 1);
	T_TRUE(pl_span_eq(got.lease.keys[0], PL_SPAN_LIT("k/l")));
	codec_rig_recorded(&rig, "etcd_answer/real-ttlgone", 2);
	T_EQ(decode(&rig, KV_LEASE_TTL, &got), PL_NOLEASE);
	codec_rig_recorded(&rig, "etcd_answer/real-revoke", 2);
	T_EQ(decode(&rig, KV_LEASE_REVOKE, &got), PL_OK);
	T_TRUE(got.header.revision > 5);
	codec_rig_done(&rig);
}

T_CASE(compaction_status_and_token_of_a_real_etcd)
{
	const char *token = NULL;
	struct kv_result got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	codec_rig_recorded(&rig, "etcd_answer/real-compact", 2);
	T_EQ(decode(&rig, KV_COMPACT, &got), PL_OK);
	codec_rig_recorded(&rig, "etcd_answer/real-status", 2);
	T_EQ(decode(&rig, KV_STATUS, &got), PL_OK);
	T_STR(got.status.version, "3.4.23");
	T_TRUE(got.status.db_bytes >= got.status.db_bytes_in_use);
	T_TRUE(got.status.db_bytes_in_use > 0);
	T_EQ(got.status.leader, got.header.member_id);
	T_TRUE(got.status.raft_index > 0);
	T_TRUE(!got.status.alarm_nospace && !got.status.alarm_corrupt);
	codec_rig_recorded(&rig, "etcd_answer/real-auth", 2);
	T_EQ(codec_auth_decode(pl_buf_span(&rig.bytes), &rig.arena, &token, &rig.err),
	     PL_OK);
	T_STR(token, "YPfEZWRzfvhhXPOX.24");
	codec_rig_done(&rig);
}

T_CASE(alarms_are_seen_in_the_status)
{
	struct kv_result got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	T_EQ(pl_buf_add_str(&rig.bytes, "\x12\x03"
	                                "3.4\x42\x1d"
	                                "memberID:17 alarm:NOSPACE xyz\x42\x0d"
	                                "alarm:CORRUPT\x0a"),
	     PL_OK);
	T_EQ(pl_buf_add(&rig.bytes, pl_span("", 1)), PL_OK);
	T_EQ(decode(&rig, KV_STATUS, &got), PL_OK);
	T_TRUE(got.status.alarm_nospace && got.status.alarm_corrupt);
	codec_rig_done(&rig);
}

/* The token goes into a header: a line break in it would begin another header. */
T_CASE(a_token_must_be_valid_in_a_header)
{
	static const struct pl_span bad[] = {
		{NULL, 0},
		{(const uint8_t *)"\x12\x00", 2},
		{(const uint8_t *)"\x12\x03"
	                          "a\nb",
	         5},
		{(const uint8_t *)"\x12\x03"
	                          "a b",
	         5},
		{(const uint8_t *)"\x12\x02"
	                          "a\xc3",
	         4},
	};
	const char *token = NULL;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		T_EQ(codec_auth_decode(bad[i], &rig.arena, &token, &rig.err), PL_PROTO);
	T_TRUE(token == NULL);
	codec_rig_done(&rig);
}

T_CASE(decoding_survives_any_failing_allocation)
{
	static const struct {
		const char *file;
		enum kv_op op;
	} cases[] = {{"etcd_answer/real-get", KV_GET},
	             {"etcd_answer/real-txn1", KV_TXN},
	             {"etcd_answer/real-put2", KV_PUT},
	             {"etcd_answer/real-delete", KV_DELETE},
	             {"etcd_answer/real-ttl", KV_LEASE_TTL},
	             {"etcd_answer/real-status", KV_STATUS}};
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		bool failed = true;

		codec_rig_recorded(&rig, cases[i].file, 2);
		/* Small chunks: nearly every object needs its own. */
		for (uint64_t nth = 1; failed; nth++) {
			struct kv_result got = {.op = KV_OP_COUNT};
			enum pl_code code;

			pl_arena_done(&rig.arena);
			pl_arena_init(&rig.arena, 1, 0);
			pl_fault_arm(PL_FAULT_ALLOC, nth);
			code = decode(&rig, cases[i].op, &got);
			pl_fault_arm(PL_FAULT_ALLOC, 0);
			failed = code != PL_OK;
			T_EQ(code, failed ? PL_NOMEM : PL_OK);
			T_EQ(got.op, failed ? KV_OP_COUNT : cases[i].op);
			T_TRUE(nth < 100);
		}
	}
	codec_rig_done(&rig);
}

T_CASE(an_answer_may_not_use_more_than_the_arena_allows)
{
	struct kv_result got;
	struct codec_rig rig;

	codec_rig_init(&rig, 0);
	T_EQ(pl_buf_add(&rig.bytes, pl_span("\x0a\x00", 2)), PL_OK);
	/* Two bytes on the wire become a record of 64 bytes in memory. */
	for (unsigned i = 0; i < 20000; i++)
		T_EQ(pl_buf_add(&rig.bytes, pl_span("\x12\x00", 2)), PL_OK);
	T_EQ(decode(&rig, KV_GET, &got), PL_NOMEM);
	codec_rig_done(&rig);
}
