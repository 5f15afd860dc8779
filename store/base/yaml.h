/*
 * YAML as people write configuration in it, to JSON and back.
 *
 * Read with libyaml's events, bounded, and by the rules of Kubernetes' tools for
 * what a plain scalar means: null, ~ and nothing are null; true and false (yes, no,
 * on, off as well) are booleans; 12, 0x1f, 0o17, 1_000, 1.5e3 are numbers; all else,
 * and whatever is quoted, is a string. Names of members are strings whatever they
 * look like. Refused: anchors, aliases and merges (no document of ours repeats
 * itself, and so none can explode), tags but !!str, names that come twice,
 * infinities, NUL.
 */
#ifndef STORE_BASE_YAML_H
#define STORE_BASE_YAML_H

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/json.h"
#include "store/base/span.h"

/* One document of a stream, as JSON. What is not PL_OK stops the reading, and is
 * what pl_yaml_to_json gives; fn fills err in then. */
typedef enum pl_code pl_yaml_fn(void *ctx, struct pl_span json, struct pl_err *err);

/* limits, of the whole stream (NULL: pl_json_limits_default). JSON is YAML too.
 * Documents with nothing in them are passed over. PL_INVALID with line and column,
 * PL_LIMIT, PL_NOMEM; documents before the fault have been told. */
PL_NODISCARD enum pl_code pl_yaml_to_json(struct pl_span yaml,
                                          const struct pl_json_limits *limits,
                                          pl_yaml_fn *fn, void *ctx, struct pl_err *err);

/* In block style, as kubectl prints: two spaces a level, sequences as deep as their
 * name, quotes only where they are needed. Ends with a newline. */
PL_NODISCARD enum pl_code pl_yaml_from_json(struct pl_json value, struct pl_buf *out,
                                            struct pl_err *err);

#endif
