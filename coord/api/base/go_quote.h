/* Text in double quotes as Go prints it with %q, which Kubernetes' messages use. */
#ifndef COORD_API_BASE_GO_QUOTE_H
#define COORD_API_BASE_GO_QUOTE_H

#include "store/base/arena.h"
#include "store/base/span.h"

/* NULL: no memory. */
PL_NODISCARD const char *go_quote(struct pl_arena *arena, struct pl_span text);

#endif
