/*
 * /placet/meta: what is fixed when a store is initialised, and which life of the
 * store this is.
 *
 *	{"v":1,"partitions":64,"created":"2026-...Z","version":"0.1.0",
 *	 "incarnation":"<32 hex>"}
 *
 * Written once, by whoever comes first; after that only the incarnation changes,
 * when an operator has restored the store from a snapshot (placet store restored).
 */
#ifndef COORD_META_META_H
#define COORD_META_META_H

#include "store/base/buf.h"
#include "store/kv/kv.h"

enum { META_INCARNATION_SIZE = 33, META_PARTITIONS_DEFAULT = 64 };

struct meta {
	uint32_t partitions;
	int64_t created_ms;
	char version[32];
	char incarnation[META_INCARNATION_SIZE];
};

PL_NODISCARD enum pl_code meta_print(const struct meta *meta, struct pl_buf *out,
                                     struct pl_err *err);
PL_NODISCARD enum pl_code meta_parse(struct pl_span json, struct meta *out,
                                     struct pl_err *err);

struct meta_watch;

enum meta_what {
	META_KNOWN,   /* meta: at first, and again when the incarnation is another */
	META_REFUSED, /* PL_INVALID: garbled; PL_CONFLICT: not the partitions wanted */
	META_TROUBLE,
	META_STOPPED,
};

struct meta_note {
	enum meta_what what;
	const struct meta *meta;
	bool changed; /* KNOWN: another incarnation than before: drop caches and epochs */
	const struct pl_err *err;
};

typedef void meta_fn(void *ctx, const struct meta_note *note);

struct meta_opts {
	uint32_t partitions; /* 0: take what there is, else META_PARTITIONS_DEFAULT */
	const char *version;
	int64_t created_ms;
	uint64_t seed; /* of the incarnation */
};

/* Creates it when there is none, then watches it. */
PL_NODISCARD enum pl_code meta_open(struct kv *kv, const struct meta_opts *opts,
                                    meta_fn *fn, void *ctx, struct meta_watch **out,
                                    struct pl_err *err);
void meta_stop(struct meta_watch *watch);

#endif
