/*
 * The value of /placet/meta: what is fixed when a store is initialised, and the
 * incarnation of the store.
 *
 *	{"v":1,"partitions":64,"created":"2026-...Z","version":"0.1.0",
 *	 "incarnation":"<32 hex>"}
 *
 * The first shard writes it once. After that only the incarnation changes, when an
 * operator has restored the store from a snapshot (placet store restored).
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
	META_KNOWN,   /* meta: at first, and again with each other incarnation */
	META_REFUSED, /* PL_INVALID: the value does not parse; PL_CONFLICT: another
	               * number of partitions */
	META_TROUBLE,
	META_STOPPED,
};

struct meta_note {
	enum meta_what what;
	const struct meta *meta;
	bool changed; /* KNOWN: the incarnation has changed: drop caches and epochs */
	const struct pl_err *err;
};

typedef void meta_fn(void *ctx, const struct meta_note *note);

struct meta_opts {
	uint32_t partitions; /* 0: as many as the store has; META_PARTITIONS_DEFAULT in
	                      * a new one */
	const char *version;
	int64_t created_ms;
	uint64_t seed; /* of the incarnation */
};

/* Creates the key if it is absent, then watches it. */
PL_NODISCARD enum pl_code meta_open(struct kv *kv, const struct meta_opts *opts,
                                    meta_fn *fn, void *ctx, struct meta_watch **out,
                                    struct pl_err *err);
void meta_stop(struct meta_watch *watch);

#endif
