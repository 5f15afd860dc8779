/*
 * The bounds of the events that clients report: how long they stay, and how many.
 *
 *	time    a slot of minutes has one lease; what is written in it hangs on that lease,
 *	        and goes EVENT_KEEP_S to EVENT_KEEP_S + EVENT_SLOT_S later. A repeated event
 *	        is written again, so it stays.
 *	number  events of a namespace, and of all. Beyond it those that were written longest
 *	        ago go.
 *
 * Invariants: each server has its own leases, which are never kept alive; counts are those of
 * the server's informer, so several servers bound the same events. A few more than the bound
 * may stand there for a moment.
 */
#ifndef COORD_API_VERBS_EVENT_STORE_H
#define COORD_API_VERBS_EVENT_STORE_H

#include "coord/api/verbs/request.h"

enum {
	EVENT_KEEP_S = 3600,
	EVENT_SLOT_S = 300,
	EVENTS_MAX = 20000,
	EVENTS_IN_NAMESPACE_MAX = 4000,
};

struct event_store;

struct event_store_opts {
	uint32_t all_max, namespace_max; /* 0: the numbers above */
};

PL_NODISCARD enum pl_code event_store_open(struct api *api,
                                           const struct event_store_opts *opts,
                                           struct event_store **out, struct pl_err *err);
/* Ends writes and requests; closed is called later, once. */
void event_store_close(struct event_store *store, void (*closed)(void *ctx), void *ctx);

/* An event has come (by 1) or gone (by -1). */
void event_store_counted(struct event_store *store, struct pl_span namespace, int by);
/* Counts all of them anew, as the informer has them. */
void event_store_recount(struct event_store *store);

/* Waits for the lease of the present slot. Lies in the user's memory. */
struct event_lease_wait {
	struct pl_list link;
	/* Called once, later or at once. lease 0: err says why. */
	void (*fn)(void *ctx, int64_t lease, const struct pl_err *err);
	void *ctx;
};
void event_store_lease(struct event_store *store, struct event_lease_wait *wait);
/* The lease was found to be gone: the next write gets another one. */
void event_store_lease_lost(struct event_store *store, int64_t lease);

#endif
