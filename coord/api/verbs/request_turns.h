/*
 * Turns of requests that write: a creation is checked and printed for a tenth of a
 * millisecond, and clients that wait for one transaction send their next ones together. So
 * only some of them begin in a turn of the loop, and reads that come meanwhile need not wait
 * for all.
 */
#ifndef COORD_API_VERBS_REQUEST_TURNS_H
#define COORD_API_VERBS_REQUEST_TURNS_H

#include "store/base/err.h"
#include "store/base/list.h"
#include "store/base/timers.h"

enum { REQUEST_TURN_WRITES = 8 };

struct request_turns {
	struct pl_list waiting; /* requests that begin in later turns, in their order */
	struct pl_timer next;   /* the next turn */
	unsigned begun;         /* in this turn */
	void (*begin)(struct pl_list *link);
	uint64_t (*now_ms)(void *ctx);
	void *ctx;
};

/* begin is called for what waited. PL_NOMEM. */
PL_NODISCARD enum pl_code request_turns_open(struct request_turns *turns,
                                             struct pl_timers *timers,
                                             void (*begin)(struct pl_list *link),
                                             uint64_t (*now_ms)(void *ctx), void *ctx);
void request_turns_close(struct request_turns *turns);
/* Whether the request may begin now. Else it waits, unless its link is deleted. */
bool request_turns_may(struct request_turns *turns, struct pl_list *link);

#endif
