/*
 * What a shard tells, as events of the log; no more of them than somebody reads.
 * Partitions are events of their own at debug only: what has become of them all is said
 * once they have been quiet for a while. The same trouble again is said once a minute.
 */
#ifndef COORD_DAEMON_EVENT_LOG_H
#define COORD_DAEMON_EVENT_LOG_H

#include "coord/shard/shard.h"

enum {
	EVENT_LOG_QUIET_MS = 1000,
	EVENT_LOG_LATEST_MS = 10000, /* it is said although they are not quiet */
	EVENT_LOG_AGAIN_MS = 60000,
	EVENT_LOG_TROUBLES = 16, /* that are told apart; the oldest one makes room */
	EVENT_LOG_WHYS = CLAIMS_CLOSED + 1,
};

struct event_log_trouble {
	uint64_t hash; /* of part and error; 0: none */
	uint64_t logged_ms;
	uint64_t repeated; /* since then, and not said */
};

struct event_log {
	const char *id;
	uint32_t owned;
	uint32_t gained, lost; /* since it was said */
	uint32_t lost_for[EVENT_LOG_WHYS];
	uint64_t first_ms, last_ms; /* of these */
	struct event_log_trouble trouble[EVENT_LOG_TROUBLES];
};

void event_log_init(struct event_log *event_log, const char *id);
void event_log_note(struct event_log *event_log, const struct shard_note *note,
                    uint64_t now_ms);
/* When event_log_due() is to be called. UINT64_MAX: never. */
uint64_t event_log_deadline_ms(const struct event_log *event_log);
void event_log_due(struct event_log *event_log, uint64_t now_ms);

#endif
