/* What the codec's test cases share. */
#ifndef STORE_ETCD_CODEC_TEST_H
#define STORE_ETCD_CODEC_TEST_H

#include "store/base/rng.h"
#include "store/etcd/codec.h"

enum { TEST_ROUNDS = 1000, TEST_BUF_MAX = 64 << 20 };

/* Everything that a case works with. */
struct lab {
	struct pl_rng rng;
	struct pl_arena gen;   /* what is made up */
	struct pl_arena arena; /* what is decoded */
	struct pl_buf bytes, again, shape;
	struct pl_err err;
};

static inline void lab_init(struct lab *lab, uint64_t seed)
{
	*lab = (struct lab){0};
	pl_rng_init(&lab->rng, seed);
	pl_arena_init(&lab->gen, 0, 0);
	pl_arena_init(&lab->arena, 0, 1 << 20);
	pl_buf_init(&lab->bytes, TEST_BUF_MAX);
	pl_buf_init(&lab->again, TEST_BUF_MAX);
	pl_buf_init(&lab->shape, TEST_BUF_MAX);
}

static inline void lab_reset(struct lab *lab)
{
	pl_arena_reset(&lab->gen);
	pl_arena_reset(&lab->arena);
	lab->bytes.len = 0;
	lab->again.len = 0;
	lab->shape.len = 0;
	lab->err = (struct pl_err){0};
}

static inline void lab_done(struct lab *lab)
{
	pl_arena_done(&lab->gen);
	pl_arena_done(&lab->arena);
	pl_buf_done(&lab->bytes);
	pl_buf_done(&lab->again);
	pl_buf_done(&lab->shape);
}

static inline bool lab_same(const struct lab *lab)
{
	return pl_span_eq(pl_buf_span(&lab->bytes), pl_buf_span(&lab->again));
}

/* An answer that a real etcd 3.4.23 gave, from the fuzz corpus, into lab->bytes. */
void lab_recorded(struct lab *lab, const char *file, size_t skip);

#endif
