/* Config text is configuration as people write it: a file of JSON or YAML, or single
 * values by their path; all become one document. */
#ifndef COORD_CLI_CONFIG_CONFIG_TEXT_H
#define COORD_CLI_CONFIG_CONFIG_TEXT_H

#include "store/base/arena.h"
#include "store/base/err.h"
#include "store/base/json.h"

enum { CONFIG_TEXT_MAX = 1 << 20 };

/* path "-": standard input. One document, in the arena. */
PL_NODISCARD enum pl_code config_text_read(const char *path, struct pl_arena *arena,
                                           struct pl_json *out, struct pl_err *err);

PL_NODISCARD enum pl_code config_text_parse(struct pl_span yaml, struct pl_arena *arena,
                                            struct pl_json *out, struct pl_err *err);

/* "balancer.interval_ms=60000": a copy of base with that value there. Names that hold
 * a dot have a backslash before it; the value is YAML ("[east-0, east-1]"), and an
 * empty one takes the member away. */
PL_NODISCARD enum pl_code config_text_set(struct pl_json base, const char *assignment,
                                          struct pl_arena *arena, struct pl_json *out,
                                          struct pl_err *err);

/* The document as JSON on one line, in the arena. */
PL_NODISCARD enum pl_code config_text_print(struct pl_json value, struct pl_arena *arena,
                                            struct pl_span *out, struct pl_err *err);

#endif
