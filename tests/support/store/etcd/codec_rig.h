/* The state that the codec's test cases share. */
#ifndef TESTS_SUPPORT_STORE_ETCD_CODEC_RIG_H
#define TESTS_SUPPORT_STORE_ETCD_CODEC_RIG_H

#include "store/base/rng.h"
#include "store/etcd/codec.h"

enum { TEST_ROUNDS = 1000, TEST_BUF_MAX = 64 << 20 };

/* A case's random numbers, arenas and buffers. */
struct codec_rig {
	struct pl_rng rng;
	struct pl_arena gen;   /* generated messages */
	struct pl_arena arena; /* decoded messages */
	struct pl_buf bytes, again, shape;
	struct pl_err err;
};

static inline void codec_rig_init(struct codec_rig *rig, uint64_t seed)
{
	*rig = (struct codec_rig){0};
	pl_rng_init(&rig->rng, seed);
	pl_arena_init(&rig->gen, 0, 0);
	pl_arena_init(&rig->arena, 0, 1 << 20);
	pl_buf_init(&rig->bytes, TEST_BUF_MAX);
	pl_buf_init(&rig->again, TEST_BUF_MAX);
	pl_buf_init(&rig->shape, TEST_BUF_MAX);
}

static inline void codec_rig_reset(struct codec_rig *rig)
{
	pl_arena_reset(&rig->gen);
	pl_arena_reset(&rig->arena);
	rig->bytes.len = 0;
	rig->again.len = 0;
	rig->shape.len = 0;
	rig->err = (struct pl_err){0};
}

static inline void codec_rig_done(struct codec_rig *rig)
{
	pl_arena_done(&rig->gen);
	pl_arena_done(&rig->arena);
	pl_buf_done(&rig->bytes);
	pl_buf_done(&rig->again);
	pl_buf_done(&rig->shape);
}

static inline bool codec_rig_same(const struct codec_rig *rig)
{
	return pl_span_eq(pl_buf_span(&rig->bytes), pl_buf_span(&rig->again));
}

/* Loads a recorded answer of a real etcd 3.4.23 from the fuzz corpus into rig->bytes. */
void codec_rig_recorded(struct codec_rig *rig, const char *file, size_t skip);

#endif
