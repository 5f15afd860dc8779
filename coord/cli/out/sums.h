/* How far placing is, for a line of progress: what those say who know. */
#ifndef COORD_CLI_SUMS_H
#define COORD_CLI_SUMS_H

#include "coord/cli/out/progress.h"
#include "store/kv/kv.h"

struct sums {
	uint64_t shards;
	uint64_t placed, pending, conflicts;
	uint64_t total; /* that are to be placed; 0: not known */
	double rate;    /* placements a second */
};

/* What asks for all shards' records. */
struct kv_req sums_request(void);
/* Adds up what they say of themselves since they started. One that makes no sense counts
 * for nothing. */
void sums_add(struct sums *sums, const struct kv_result *result);
/* "[3 shards: ]5 [of 9 ]pods placed, 4 pending, 7 placements/s, 0 conflicts" */
void sums_text(const struct sums *sums, char out[PROGRESS_TEXT_MAX]);

#endif
