/* Placing stats: how far the shards are with placing pods, for a line of progress. */
#ifndef COORD_CLI_OUTPUT_PLACING_STATS_H
#define COORD_CLI_OUTPUT_PLACING_STATS_H

#include "coord/cli/output/progress.h"
#include "store/kv/kv.h"

struct placing_stats {
	uint64_t shards;
	uint64_t placed, pending, conflicts;
	uint64_t total; /* that are to be placed; 0: not known */
	double rate;    /* placements a second */
};

/* The request for the records of all shards. */
struct kv_req placing_stats_request(void);
/* Adds up what the records have counted since their shards started. A malformed
 * record counts nothing. */
void placing_stats_add(struct placing_stats *stats, const struct kv_result *result);
/* "[3 shards: ]5 [of 9 ]pods placed, 4 pending, 7 placements/s, 0 conflicts" */
void placing_stats_text(const struct placing_stats *stats, char out[PROGRESS_TEXT_MAX]);

#endif
