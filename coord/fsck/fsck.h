/*
 * Reads a whole store at one revision, which is pinned meanwhile, and lets the core judge
 * it; then, if wanted, mends what can be derived (mend.h).
 */
#ifndef COORD_FSCK_FSCK_H
#define COORD_FSCK_FSCK_H

#include "coord/fsck/fsck_core.h"
#include "store/kv/kv.h"

struct fsck;

struct fsck_opts {
	uint32_t partitions;
	struct pl_span by; /* who; for the pin, copied */
	int64_t wall_ms;   /* now */
	uint64_t seed;
	uint32_t page_keys;   /* 0: 10,000 */
	uint64_t timeout_ms;  /* 0: 10,000; of each call */
	uint64_t patience_ms; /* 0: 30,000; of each page, and of the pin */
	fsck_found_fn *found;
	/* After each page; may be NULL. */
	void (*progress)(void *ctx, const struct fsck_counts *counts);
	/* Once. err NULL: all was read, at that revision. fsck_free from here on. */
	void (*done)(void *ctx, int64_t revision, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code fsck_open(struct kv *kv, const struct fsck_opts *opts,
                                    struct fsck **out, struct pl_err *err);
/* After done, also when the kv is closed. NULL does nothing. */
void fsck_free(struct fsck *fsck);
/* done follows, later. */
void fsck_cancel(struct fsck *fsck);

const struct fsck_core *fsck_core(const struct fsck *fsck);

#endif
