/*
 * Reads versions as they stand in the store, for people: one version, or the newest
 * ones. What does not parse is reported beside what does, not instead of it.
 */
#ifndef COORD_CONFIG_CONFIG_READ_H
#define COORD_CONFIG_CONFIG_READ_H

#include "coord/config/config.h"
#include "store/kv/kv.h"

enum { CONFIG_HISTORY_MAX = 1000 };

struct config_version {
	uint64_t version;
	bool current;
	int64_t at_ms; /* 0, and the spans empty, if the record does not parse */
	struct pl_span by;
	struct pl_span why;
	struct pl_span config; /* the document as it was written; empty in a history */
	struct pl_err refused; /* PL_OK: the document passes its schema */
};

struct config_found {
	uint64_t current;          /* 0: there is none, so the default is in force */
	struct pl_err current_err; /* PL_OK unless current does not parse */
	const struct config_version *versions; /* newest first */
	size_t count;
	bool more; /* older versions were left out */
};

struct config_read; /* one operation; freed after done */

/* found is NULL exactly if err is not. Both are borrowed for the call. */
typedef void config_found_fn(void *ctx, const struct config_found *found,
                             const struct pl_err *err);

struct config_read_opts {
	enum config_name name;
	uint64_t version;    /* the version to read; 0: the current one */
	uint32_t limit;      /* of a history: number of versions; 0: CONFIG_HISTORY_MAX */
	uint64_t timeout_ms; /* 0: 10 s */
};

/* Reads one version with its content. Version 0 is the default; it is found if nothing
 * is current. PL_NOTFOUND: there is no such version. PL_INVALID: current does not
 * parse. */
PL_NODISCARD enum pl_code config_read_start(struct kv *kv,
                                            const struct config_read_opts *opts,
                                            config_found_fn *done, void *ctx,
                                            struct config_read **out, struct pl_err *err);

PL_NODISCARD enum pl_code config_history_start(struct kv *kv,
                                               const struct config_read_opts *opts,
                                               config_found_fn *done, void *ctx,
                                               struct config_read **out,
                                               struct pl_err *err);

/* done follows, with PL_CANCELED. */
void config_read_cancel(struct config_read *read);

#endif
