/*
 * Pods out of the store, many at once. What nobody has placed is deleted at once: spec,
 * state and pointer in one transaction. What has a place is marked Terminating: its shard
 * ends it, and gives the place back in the transaction in which it goes.
 */
#ifndef COORD_SUBMIT_REMOVE_H
#define COORD_SUBMIT_REMOVE_H

#include "store/kv/kv.h"

struct removal;

struct remove_pod {
	struct pl_span space, name; /* such as keys can have */
};

enum remove_what {
	REMOVE_GONE,        /* deleted */
	REMOVE_TERMINATING, /* marked */
	REMOVE_ALREADY,     /* was marked before */
	REMOVE_ABSENT,      /* no such pod */
	REMOVE_GARBLED,     /* what stands there makes no sense: why */
};

struct remove_opts {
	uint32_t partitions;
	unsigned slots;                   /* 0: 32; pods at once */
	uint64_t timeout_ms, patience_ms; /* 0: as of writes.h */
	int64_t (*wall_ms)(void *ctx);    /* when it is marked */
	/* Who deletes, for the state's message; borrowed. */
	const char *who;
	/* PL_OK: *out, borrowed until the next call; PL_NOTFOUND: that was all; anything
	 * else ends it all, with err. */
	enum pl_code (*next)(void *ctx, struct remove_pod *out, struct pl_err *err);
	void (*told)(void *ctx, const struct remove_pod *pod, enum remove_what what,
	             const char *why);
	/* The last call: removal is gone. err NULL: told was called for each. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

/* Copies opts; calls nothing before it returns. */
PL_NODISCARD enum pl_code remove_open(struct kv *kv, const struct remove_opts *opts,
                                      struct removal **out, struct pl_err *err);
/* done follows, with PL_CANCELED. */
void remove_cancel(struct removal *removal);

#endif
