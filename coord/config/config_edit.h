/*
 * Writes new versions of a configuration, each in one transaction that compares the
 * last current, so of two writers at once only one succeeds. The document is validated
 * before anything is sent.
 *
 *	/config/<name>/<version>  {"v":1,"at":"2026-...Z","by":"who","why":"...",
 *	                           "nonce":"<16 hex>","config":{...}}
 *	/config/<name>/current    {"v":1,"version":12}
 *
 * A version number is never used again: the new one is one more than the highest that
 * current names or that is there, and the transaction requires its key to be absent.
 */
#ifndef COORD_CONFIG_CONFIG_EDIT_H
#define COORD_CONFIG_CONFIG_EDIT_H

#include "coord/config/config.h"
#include "store/kv/kv.h"

enum { CONFIG_BY_MAX = 256, CONFIG_WHY_MAX = 1024 };

struct config_edit; /* one operation; freed after done */

/* PL_OK: version is current now (unchanged if the content is the same). PL_CONFLICT:
 * another writer was faster, or a guard did not hold. A write with an unknown outcome
 * is settled by reading until timeout_ms is over, and only then ends as PL_UNKNOWN. */
typedef void config_edited_fn(void *ctx, uint64_t version, const struct pl_err *err);

struct config_edit_opts {
	enum config_name name;
	struct pl_span config; /* JSON; ignored by a roll-back */
	struct pl_span by;
	struct pl_span why;
	int64_t at_ms;
	int64_t expect_version; /* -1: any; else PL_CONFLICT if another version is
	                         * current */
	/* Additional compares, such as a leader's. Borrowed until done. */
	const struct kv_compare *guard;
	size_t guard_count;
	uint64_t timeout_ms; /* 0: 10 s */
	uint64_t seed;       /* of the nonce; 0: from the operating system */
	/* Roll-backs only: the version to go back to; 0: the version before current. */
	uint64_t to_version;
};

PL_NODISCARD enum pl_code config_edit_start(struct kv *kv,
                                            const struct config_edit_opts *opts,
                                            config_edited_fn *done, void *ctx,
                                            struct config_edit **out, struct pl_err *err);

/* Writes a new version with the content of an old one; "roll back to <version>" is put
 * in front of why. PL_NOTFOUND: there is no such version. PL_INVALID: it does not pass
 * the present schema. */
PL_NODISCARD enum pl_code config_rollback_start(struct kv *kv,
                                                const struct config_edit_opts *opts,
                                                config_edited_fn *done, void *ctx,
                                                struct config_edit **out,
                                                struct pl_err *err);

/* done follows, with PL_CANCELED, or with PL_UNKNOWN once the write has been sent. */
void config_edit_cancel(struct config_edit *edit);

#endif
