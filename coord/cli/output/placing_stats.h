/* How far placing is, for a line of progress: what those say who know. */
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

/* What asks for all shards' records. */
struct kv_req placing_stats_request(void);
/* Adds up what they say of themselves since they started. One that makes no sense counts
 * for nothing. */
void placing_stats_add(struct placing_stats *stats, const struct kv_result *result);
/* "[3 shards: ]5 [of 9 ]pods placed, 4 pending, 7 placements/s, 0 conflicts" */
void placing_stats_text(const struct placing_stats *stats, char out[PROGRESS_TEXT_MAX]);

#endif
