/*
 * YAML as people write configuration in it, converted to JSON and back.
 *
 * The reader takes libyaml's events, is bounded, and follows Kubernetes' tools in the
 * meaning of plain scalars: null, ~ and an empty scalar are null; true and false (also
 * yes, no, on, off) are booleans; 12, 0x1f, 0o17, 1_000 and 1.5e3 are numbers; all
 * others, and all quoted scalars, are strings. Member names are always strings. The
 * reader refuses anchors, aliases and merges (so that no document can explode), tags
 * other than !!str, duplicate names, infinities and NUL.
 */
#ifndef STORE_BASE_YAML_H
#define STORE_BASE_YAML_H

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/json.h"
#include "store/base/span.h"

/* Takes one document of a stream, as JSON. A code other than PL_OK stops the reading and
 * becomes the result of pl_yaml_to_json; fn must fill err in. */
typedef enum pl_code pl_yaml_fn(void *ctx, struct pl_span json, struct pl_err *err);

/* limits bound the whole stream (NULL: pl_json_limits_default). JSON is accepted, too.
 * Empty documents are skipped. PL_INVALID with line and column, PL_LIMIT, PL_NOMEM: the
 * documents before the error have been passed to fn already. */
PL_NODISCARD enum pl_code pl_yaml_to_json(struct pl_span yaml,
                                          const struct pl_json_limits *limits,
                                          pl_yaml_fn *fn, void *ctx, struct pl_err *err);

/* Writes block style as kubectl does: two spaces a level, sequences as deep as their
 * name, quotes only where needed. The text ends with a newline. */
PL_NODISCARD enum pl_code pl_yaml_from_json(struct pl_json value, struct pl_buf *out,
                                            struct pl_err *err);

#endif
