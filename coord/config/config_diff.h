/*
 * The difference between two JSON documents, path by path. Pure.
 *
 * Object members are compared by name. Arrays of strings, numbers and booleans are
 * compared as sets, because our documents use them as sets (the shards to drain): '+
 * .drain: "a"'. Other arrays are compared element by element. A container that has
 * elements is reported by its elements, so '- .factors: {}' stands only where nothing
 * replaces it.
 */
#ifndef COORD_CONFIG_CONFIG_DIFF_H
#define COORD_CONFIG_CONFIG_DIFF_H

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/json.h"

enum config_change_what { CONFIG_ADDED, CONFIG_REMOVED, CONFIG_CHANGED };

/* Borrowed for the call. */
struct config_change {
	enum config_change_what what;
	const char *path;      /* ".balancer.interval_ms" */
	struct pl_json before; /* absent when added */
	struct pl_json after;  /* absent when removed */
};

typedef enum pl_code config_change_fn(void *ctx, const struct config_change *change);

/* Reports the changes in the order of their paths. Stops at the first result of fn
 * that is not PL_OK and returns it. PL_NOMEM. */
PL_NODISCARD enum pl_code config_diff(struct pl_json before, struct pl_json after,
                                      config_change_fn *fn, void *ctx);

/* Prints "- .handover_ms: 2000\n+ .handover_ms: 500\n"; nothing if there is no change. */
PL_NODISCARD enum pl_code config_diff_text(struct pl_json before, struct pl_json after,
                                           struct pl_buf *out, struct pl_err *err);

PL_NODISCARD enum pl_code config_same(struct pl_json before, struct pl_json after,
                                      bool *out);

#endif
