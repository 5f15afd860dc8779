/*
 * Flow: whose request is answered next, and which ones are too many. Pure: the caller gives
 * the time, runs what may run, and says when it has ended.
 *
 *	enter --a seat is free--> RUNNING -----------leave-----> out
 *	      --none, but room--> WAITING --flow_next--> RUNNING
 *	                             `-----queue_ms-----> refused
 *	      --no room---------> refused
 *
 * Requests wait in a queue of their user. A seat that is free goes to the users in turn, by
 * deficit round robin: a round gives each the same cost, so one that lists gets fewer
 * requests through than one that gets, and a user with a thousand waiting requests delays
 * another's only one by as much as a user with one. No user has more than inflight_per_user
 * seats, so one whose requests are slow does not take all of them.
 *
 * Invariants: running <= inflight, of a user <= inflight_per_user (but for a limit that was
 * lowered meanwhile); a user with no item takes no memory; watches are counted apart and
 * never wait.
 */
#ifndef COORD_ACCESS_FLOW_FLOW_H
#define COORD_ACCESS_FLOW_FLOW_H

#include "coord/access/roles/access_document.h"
#include "store/base/list.h"
#include "store/base/map.h"

enum flow_state { FLOW_OUT, FLOW_WAITING, FLOW_RUNNING, FLOW_WATCHING };

struct flow_user;

/* A request; embedded in the caller's. Zeroed: out. */
struct flow_item {
	struct pl_list link; /* of its user's queue */
	struct pl_list age;  /* of all that wait, the oldest first */
	struct flow_user *user;
	enum flow_state state;
	uint32_t cost;
	uint64_t since_ms;
};

struct flow {
	struct access_limits limits;
	struct pl_map users;
	struct pl_list turn; /* users whose requests wait, the next one first */
	struct pl_list age;
	uint32_t running, waiting, watching;
	/* Since the start. */
	uint64_t entered, queued, refused, expired;
};

void flow_init(struct flow *flow, const struct access_limits *limits);
/* All items are out. */
void flow_done(struct flow *flow);
void flow_set_limits(struct flow *flow, const struct access_limits *limits);

enum flow_kind { FLOW_GET, FLOW_CHANGE, FLOW_LIST, FLOW_WATCH };
enum flow_verdict { FLOW_RUN, FLOW_WAIT, FLOW_REFUSE };

/* REFUSE: the item is out, for there are too many, or there is no memory. */
enum flow_verdict flow_enter(struct flow *flow, struct flow_item *item,
                             struct pl_span user, enum flow_kind kind, uint64_t now_ms);
/* The request has ended, or its client has gone; takes an item that is out. */
void flow_leave(struct flow *flow, struct flow_item *item);
/* The next item that may run now; NULL: none. It is RUNNING. */
struct flow_item *flow_next(struct flow *flow);
/* An item that has waited too long; NULL: none. It is out. */
struct flow_item *flow_expire(struct flow *flow, uint64_t now_ms);
/* When flow_expire has something to give. UINT64_MAX: never. */
uint64_t flow_deadline_ms(const struct flow *flow);
/* Whether flow_next has something to give. */
bool flow_ready(const struct flow *flow);

#endif
