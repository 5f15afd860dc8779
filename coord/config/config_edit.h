/*
 * New versions of a configuration: one transaction that compares the last current,
 * so two writers can not both win. Validates before anything is sent.
 *
 *	/config/<name>/<version>  {"v":1,"at":"2026-...Z","by":"who","why":"...",
 *	                           "config":{...}}
 *	/config/<name>/current    {"v":1,"version":12}
 */
#ifndef COORD_CONFIG_CONFIG_EDIT_H
#define COORD_CONFIG_CONFIG_EDIT_H

#include "coord/config/config.h"
#include "store/kv/kv.h"

struct config_edit; /* one operation; gone after done */

/* PL_OK: version is what is current now (unchanged when the content is the same).
 * PL_CONFLICT: somebody else was faster. PL_UNKNOWN has been settled by a read. */
typedef void config_edited_fn(void *ctx, uint64_t version, const struct pl_err *err);

struct config_edit_opts {
	enum config_name name;
	struct pl_span config; /* JSON */
	struct pl_span by;
	struct pl_span why;
	int64_t at_ms;
	int64_t expect_version; /* -1: whatever is current; else PL_CONFLICT unless it is
	                         */
	/* Compares of the writer's own, such as a leader's. Borrowed until done. */
	const struct kv_compare *guard;
	size_t guard_count;
	uint64_t timeout_ms;
};

PL_NODISCARD enum pl_code config_edit_start(struct kv *kv,
                                            const struct config_edit_opts *opts,
                                            config_edited_fn *done, void *ctx,
                                            struct config_edit **out, struct pl_err *err);
void config_edit_cancel(struct config_edit *edit);

#endif
