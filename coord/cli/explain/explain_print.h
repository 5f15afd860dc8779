/* An explanation as text for a terminal: control characters in names are escaped. */
#ifndef COORD_CLI_EXPLAIN_EXPLAIN_PRINT_H
#define COORD_CLI_EXPLAIN_EXPLAIN_PRINT_H

#include "shardsched/explain/explain.h"

enum { EXPLAIN_OUT_MAX = 256 << 20 };

PL_NODISCARD enum pl_code explain_print(const struct explain *explain,
                                        struct pl_buf *out);

#endif
