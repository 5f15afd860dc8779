/*
 * What a shard tells, as events of the log; no more of them than somebody reads.
 * Partitions are events of their own at debug only: what has become of them all is said
 * once they have been quiet for a while. The same trouble again is said once a minute.
 */
#ifndef COORD_DAEMON_JOURNAL_H
#define COORD_DAEMON_JOURNAL_H

#include "coord/shard/shard.h"

enum {
	JOURNAL_QUIET_MS = 1000,
	JOURNAL_LATEST_MS = 10000, /* it is said although they are not quiet */
	JOURNAL_AGAIN_MS = 60000,
	JOURNAL_TROUBLES = 16, /* that are told apart; the oldest one makes room */
	JOURNAL_WHYS = CLAIMS_CLOSED + 1,
};

struct journal_trouble {
	uint64_t hash; /* of part and error; 0: none */
	uint64_t said_ms;
	uint64_t repeated; /* since then, and not said */
};

struct journal {
	const char *id;
	uint32_t owned;
	uint32_t gained, lost; /* since it was said */
	uint32_t lost_for[JOURNAL_WHYS];
	uint64_t first_ms, last_ms; /* of these */
	struct journal_trouble trouble[JOURNAL_TROUBLES];
};

void journal_init(struct journal *journal, const char *id);
void journal_note(struct journal *journal, const struct shard_note *note,
                  uint64_t now_ms);
/* When journal_due() is to be called. UINT64_MAX: never. */
uint64_t journal_deadline_ms(const struct journal *journal);
void journal_due(struct journal *journal, uint64_t now_ms);

#endif
