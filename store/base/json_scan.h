/* The strict check of a JSON text, which runs before anything is built from it. */
#ifndef STORE_BASE_JSON_SCAN_H
#define STORE_BASE_JSON_SCAN_H

#include "store/base/json.h"

/* PL_OK: text is exactly one JSON value (RFC 8259), within the limits, in well-formed
 * UTF-8, without NUL, with every surrogate paired. */
PL_NODISCARD enum pl_code pl_json_scan(struct pl_span text,
                                       const struct pl_json_limits *limits,
                                       struct pl_err *err);

#endif
