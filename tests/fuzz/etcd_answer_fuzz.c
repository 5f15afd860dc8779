/*
 * Answers to calls. The first byte chooses the operation, the second a request that a
 * transaction's answer is checked against.
 *
 * protobuf-c accepts every answer about keys that the codec accepts; encoded again by
 * protobuf-c, the answer decodes to the same result.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/support/store/etcd/codec_gen.h"
#include "tests/support/store/etcd/codec_ref.h"

enum { ARENA_MAX = 16 << 20, BUF_MAX = 16 << 20 };

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the request */
static void check_ops(const struct kv_txn *txn, const struct kv_txn_result *result)
{
	const struct kv_req *ops = result->succeeded ? txn->then : txn->otherwise;

	PL_ASSERT(result->count ==
	          (result->succeeded ? txn->then_count : txn->otherwise_count));
	for (size_t i = 0; i < result->count; i++) {
		PL_ASSERT(result->results[i].op == ops[i].op);
		if (ops[i].op == KV_TXN)
			check_ops(&ops[i].txn, &result->results[i].txn);
	}
}

/* A shape can only refuse answers, and an answer that it accepts fits the request. */
static void check_shape(uint8_t seed, struct pl_span bytes, bool accepted,
                        struct pl_arena *arena)
{
	struct kv_req req = {.op = KV_GET};
	struct kv_result result;
	struct pl_buf body, shape;
	struct pl_rng rng;
	enum pl_code code;

	pl_buf_init(&body, BUF_MAX);
	pl_buf_init(&shape, BUF_MAX);
	pl_rng_init(&rng, seed);
	while (req.op != KV_TXN)
		req = codec_gen_request(&rng, arena);
	PL_ASSERT(codec_encode(&req, &body, &shape, NULL) == PL_OK);
	code = codec_decode(KV_TXN, pl_buf_span(&shape), bytes, arena, &result, NULL);
	PL_ASSERT(code != PL_OK || accepted);
	if (code == PL_OK)
		check_ops(&req.txn, &result.txn);
	pl_buf_done(&body);
	pl_buf_done(&shape);
}

static void check_again(const struct kv_result *result, struct pl_span bytes,
                        struct pl_arena *arena)
{
	struct kv_result again;
	struct pl_buf packed, one, two;

	pl_buf_init(&packed, BUF_MAX);
	pl_buf_init(&one, BUF_MAX);
	pl_buf_init(&two, BUF_MAX);
	PL_ASSERT(codec_ref_answer_reencode(result->op, bytes, &packed));
	PL_ASSERT(codec_decode(result->op, pl_span(NULL, 0), pl_buf_span(&packed), arena,
	                       &again, NULL) == PL_OK);
	codec_ref_answer(result, &one);
	codec_ref_answer(&again, &two);
	PL_ASSERT(pl_span_eq(pl_buf_span(&one), pl_buf_span(&two)));
	pl_buf_done(&packed);
	pl_buf_done(&one);
	pl_buf_done(&two);
}

static void check_lease(const struct kv_result *result)
{
	PL_ASSERT(result->lease.id != 0);
	PL_ASSERT(result->lease.ttl_s > 0 || result->op == KV_LEASE_TTL);
	for (size_t i = 0; i < result->lease.key_count; i++)
		PL_ASSERT(result->lease.keys[i].len > 0);
}

static void check_status(const struct kv_status_result *status)
{
	PL_ASSERT(status->version[0] != 0);
	for (const char *at = status->version; *at != 0; at++)
		PL_ASSERT(*at > ' ' && *at <= '~');
}

static void check_result(const struct kv_result *result, struct pl_span bytes,
                         struct pl_arena *arena)
{
	PL_ASSERT(result->header.revision >= 0);
	switch (result->op) {
	case KV_GET:
	case KV_PUT:
	case KV_DELETE:
	case KV_TXN:
		check_again(result, bytes, arena);
		return;
	case KV_LEASE_GRANT:
	case KV_LEASE_KEEP:
	case KV_LEASE_TTL:
		check_lease(result);
		return;
	case KV_STATUS:
		check_status(&result->status);
		return;
	case KV_COMPACT:
	case KV_LEASE_REVOKE:
	case KV_OP_COUNT:
		return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_result result = {.op = KV_OP_COUNT};
	struct pl_err err = {0};
	struct pl_arena arena;
	struct pl_span bytes;
	const char *token = NULL;
	enum pl_code code;
	enum kv_op op;

	if (size < 2)
		return 0;
	bytes = pl_span(data + 2, size - 2);
	pl_arena_init(&arena, 1 << 16, ARENA_MAX);
	op = (enum kv_op)(data[0] % (KV_OP_COUNT + 1));
	if (op == KV_OP_COUNT) {
		code = codec_auth_decode(bytes, &arena, &token, &err);
		PL_ASSERT(code != PL_OK || token[0] != 0);
	} else {
		code = codec_decode(op, pl_span(NULL, 0), bytes, &arena, &result, &err);
		PL_ASSERT(code == PL_OK ? result.op == op : result.op == KV_OP_COUNT);
		if (code == PL_OK)
			check_result(&result, bytes, &arena);
		if (op == KV_TXN)
			check_shape(data[1], bytes, code == PL_OK, &arena);
	}
	PL_ASSERT(code == PL_OK || err.code == code);
	PL_ASSERT(code == PL_OK || code == PL_PROTO || code == PL_NOMEM ||
	          (code == PL_NOLEASE && (op == KV_LEASE_KEEP || op == KV_LEASE_TTL)));
	pl_arena_done(&arena);
	return 0;
}
