#include <stdio.h>

#include "store/base/fault.h"
#include "store/etcd/codec.h"
#include "store/etcd/codec_gen.h"
#include "store/etcd/codec_ref.h"
#include "tests/harness/t.h"

enum { ROUNDS = 2000, BUF_MAX = 64 << 20 };

/* What a case works with; done() also frees. */
struct bench {
	struct pl_rng rng;
	struct pl_arena gen, arena;
	struct pl_buf bytes, again, shape;
	struct pl_err err;
};

static void bench_init(struct bench *b, uint64_t seed)
{
	*b = (struct bench){0};
	pl_rng_init(&b->rng, seed);
	pl_arena_init(&b->gen, 0, 0);
	pl_arena_init(&b->arena, 0, 1 << 20);
	pl_buf_init(&b->bytes, BUF_MAX);
	pl_buf_init(&b->again, BUF_MAX);
	pl_buf_init(&b->shape, BUF_MAX);
}

static void bench_reset(struct bench *b)
{
	pl_arena_reset(&b->gen);
	pl_arena_reset(&b->arena);
	b->bytes.len = 0;
	b->again.len = 0;
	b->shape.len = 0;
}

static void bench_done(struct bench *b)
{
	pl_arena_done(&b->gen);
	pl_arena_done(&b->arena);
	pl_buf_done(&b->bytes);
	pl_buf_done(&b->again);
	pl_buf_done(&b->shape);
}

static bool same(const struct pl_buf *a, const struct pl_buf *b)
{
	return pl_span_eq(pl_buf_span(a), pl_buf_span(b));
}

T_CASE(requests_are_written_byte_for_byte_as_protobuf_c_writes_them)
{
	struct bench b;

	bench_init(&b, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct kv_req req;

		bench_reset(&b);
		req = codec_gen_request(&b.rng, &b.gen);
		codec_ref_request(&req, &b.again);
		T_EQ(codec_encode(&req, &b.bytes, &b.shape, &b.err), PL_OK);
		T_TRUE(same(&b.bytes, &b.again));
		T_EQ(b.shape.len != 0, req.op == KV_TXN);
	}
	bench_done(&b);
}

T_CASE(answers_come_out_as_they_went_in)
{
	struct bench b;

	bench_init(&b, 2);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct kv_result in, out;
		struct kv_req req;

		bench_reset(&b);
		req = codec_gen_request(&b.rng, &b.gen);
		T_EQ(codec_encode(&req, &b.again, &b.shape, &b.err), PL_OK);
		b.again.len = 0;
		in = codec_gen_answer(&b.rng, &b.gen, &req);
		codec_ref_answer(&in, &b.bytes);
		T_EQ(codec_decode(req.op, pl_buf_span(&b.shape), pl_buf_span(&b.bytes),
		                  &b.arena, &out, &b.err),
		     PL_OK);
		codec_ref_answer(&out, &b.again);
		T_TRUE(same(&b.bytes, &b.again));
	}
	bench_done(&b);
}
