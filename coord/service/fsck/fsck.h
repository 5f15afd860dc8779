/*
 * The check of a whole store: reads it at one revision, which is pinned meanwhile, and
 * lets the core judge it. repair.h then repairs what can be derived.
 */
#ifndef COORD_SERVICE_FSCK_FSCK_H
#define COORD_SERVICE_FSCK_FSCK_H

#include "coord/service/fsck/fsck_core.h"
#include "store/kv/kv.h"

struct fsck;

struct fsck_opts {
	uint32_t partitions;
	struct pl_span by; /* the name for the pin; copied */
	int64_t wall_ms;   /* present wall-clock time */
	uint64_t seed;
	uint32_t page_keys;   /* 0: 10,000 */
	uint64_t timeout_ms;  /* 0: 10,000; of each call */
	uint64_t patience_ms; /* 0: 30,000; for each page, and for taking the pin */
	fsck_found_fn *found;
	/* Called after each page; may be NULL. */
	void (*progress)(void *ctx, const struct fsck_counts *counts);
	/* Called once. err NULL: everything was read at that revision. fsck_free is
	 * allowed from here on. */
	void (*done)(void *ctx, int64_t revision, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code fsck_open(struct kv *kv, const struct fsck_opts *opts,
                                    struct fsck **out, struct pl_err *err);
/* Allowed after done, even if the kv is closed. NULL does nothing. */
void fsck_free(struct fsck *fsck);
/* done follows, later. */
void fsck_cancel(struct fsck *fsck);

const struct fsck_core *fsck_core(const struct fsck *fsck);

#endif
