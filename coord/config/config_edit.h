/*
 * New versions of a configuration: one transaction that compares the last current,
 * so two writers can not both win. Validates before anything is sent.
 *
 *	/config/<name>/<version>  {"v":1,"at":"2026-...Z","by":"who","why":"...",
 *	                           "nonce":"<16 hex>","config":{...}}
 *	/config/<name>/current    {"v":1,"version":12}
 *
 * A version's number is never used again: it is one more than current says, or than
 * the highest that is there. The transaction requires its key to be absent.
 */
#ifndef COORD_CONFIG_CONFIG_EDIT_H
#define COORD_CONFIG_CONFIG_EDIT_H

#include "coord/config/config.h"
#include "store/kv/kv.h"

enum { CONFIG_BY_MAX = 256, CONFIG_WHY_MAX = 1024 };

struct config_edit; /* one operation; gone after done */

/* PL_OK: version is what is current now (unchanged when the content is the same).
 * PL_CONFLICT: somebody else was faster, or a guard did not hold. What a write left
 * unknown is settled by reading until timeout_ms is over: only then PL_UNKNOWN. */
typedef void config_edited_fn(void *ctx, uint64_t version, const struct pl_err *err);

struct config_edit_opts {
	enum config_name name;
	struct pl_span config; /* JSON; not looked at by a roll-back */
	struct pl_span by;
	struct pl_span why;
	int64_t at_ms;
	int64_t expect_version; /* -1: whatever is current; else PL_CONFLICT unless it is
	                         */
	/* Compares of the writer's own, such as a leader's. Borrowed until done. */
	const struct kv_compare *guard;
	size_t guard_count;
	uint64_t timeout_ms; /* 0: 10 s */
	uint64_t seed;       /* of the nonce; 0: from the operating system */
	/* Of a roll-back: what to go back to; 0: the one before current. */
	uint64_t to_version;
};

PL_NODISCARD enum pl_code config_edit_start(struct kv *kv,
                                            const struct config_edit_opts *opts,
                                            config_edited_fn *done, void *ctx,
                                            struct config_edit **out, struct pl_err *err);

/* A new version with the content of an old one, and "roll back to <version>" before
 * why. PL_NOTFOUND: that version is not there. PL_INVALID: it does not pass today's
 * schema. */
PL_NODISCARD enum pl_code config_rollback_start(struct kv *kv,
                                                const struct config_edit_opts *opts,
                                                config_edited_fn *done, void *ctx,
                                                struct config_edit **out,
                                                struct pl_err *err);

/* done follows: PL_CANCELED, or PL_UNKNOWN once the write has left. */
void config_edit_cancel(struct config_edit *edit);

#endif
