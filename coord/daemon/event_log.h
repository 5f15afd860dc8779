/*
 * The event log: turns the notes of one shard into events of the log, and limits their
 * number. Events of single partitions are logged at debug only; their sum is logged
 * once the partitions have been quiet for EVENT_LOG_QUIET_MS. The same trouble is
 * logged once a minute.
 */
#ifndef COORD_DAEMON_EVENT_LOG_H
#define COORD_DAEMON_EVENT_LOG_H

#include "coord/shard/shard.h"

enum {
	EVENT_LOG_QUIET_MS = 1000,
	EVENT_LOG_LATEST_MS = 10000, /* the sum is logged by then although partitions
	                              * still change */
	EVENT_LOG_AGAIN_MS = 60000,
	EVENT_LOG_TROUBLES = 16, /* troubles that are told apart; a new one replaces
	                          * the oldest */
	EVENT_LOG_WHYS = CLAIMS_CLOSED + 1,
};

struct event_log_trouble {
	uint64_t hash; /* of part and error; 0: the slot is free */
	uint64_t logged_ms;
	uint64_t repeated; /* repetitions since it was logged */
};

struct event_log {
	const char *id;
	uint32_t owned;
	uint32_t gained, lost; /* since the sum was logged */
	uint32_t lost_for[EVENT_LOG_WHYS];
	uint64_t first_ms, last_ms; /* first and last of these changes */
	struct event_log_trouble trouble[EVENT_LOG_TROUBLES];
};

void event_log_init(struct event_log *event_log, const char *id);
void event_log_note(struct event_log *event_log, const struct shard_note *note,
                    uint64_t now_ms);
/* When event_log_due() is to be called. UINT64_MAX: never. */
uint64_t event_log_deadline_ms(const struct event_log *event_log);
void event_log_due(struct event_log *event_log, uint64_t now_ms);

#endif
