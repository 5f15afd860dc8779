/* The conflict stats of all shards as text, or as JSON: placet top conflicts. */
#ifndef COORD_CLI_TOP_TOP_H
#define COORD_CLI_TOP_TOP_H

#include "coord/service/shards/conflict_stats.h"
#include "store/base/buf.h"

enum { TOP_LIMIT_MAX = 1000 };

/* limit: rows of nodes that are printed. */
PL_NODISCARD enum pl_code top_text(const struct conflict_stats *stats, uint32_t limit,
                                   struct pl_buf *out);
/* Adds one object on one line. */
PL_NODISCARD enum pl_code top_json(const struct conflict_stats *stats, uint32_t limit,
                                   struct pl_buf *out);

#endif
