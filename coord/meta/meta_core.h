/*
 * /placet/meta: created if it is absent, and compared with what it was; decided
 * without I/O.
 *
 *	LISTING --ABSENT--> CREATING --SEEN--> STANDING
 *	   ^  +----------------SEEN--------------^  |
 *	   +------- LOST, from anywhere -----------+
 *
 * Only the watch is believed: the answer to a create means no more than that the watch
 * will show something. A record that is deleted is created again with another
 * incarnation, because anything else may have been deleted with it.
 */
#ifndef COORD_META_META_CORE_H
#define COORD_META_META_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/meta/meta.h"
#include "store/base/err.h"
#include "store/base/rng.h"

enum meta_event_type {
	META_EV_LOST,      /* the known value may be outdated; a list follows */
	META_EV_ABSENT,    /* the list does not have the key, or it was deleted */
	META_EV_SEEN,      /* meta */
	META_EV_MALFORMED, /* the value does not parse */
	META_EV_DONE,      /* the create was answered */
	META_EV_FAILED,    /* code: the create failed */
	META_EV_TIMEOUT,   /* meta_deadline_ms() was reached */
};

struct meta_event {
	enum meta_event_type type;
	uint64_t now_ms;
	const struct meta *meta;
	enum pl_code code;
};

enum meta_action_type {
	META_DO_CREATE,      /* create core->mine if the key is absent */
	META_REPORT_KNOWN,   /* core->meta; changed */
	META_REPORT_REFUSED, /* code: PL_INVALID, PL_CONFLICT */
	META_REPORT_TROUBLE, /* code: PL_NOTFOUND, the key was deleted; else a create
	                      * failed */
};

struct meta_action {
	enum meta_action_type type;
	bool changed;
	enum pl_code code;
};

enum { META_ACTIONS_MAX = 3 };

struct meta_actions {
	struct meta_action item[META_ACTIONS_MAX];
	unsigned count;
};

enum meta_state { META_LISTING, META_CREATING, META_STANDING };

struct meta_core {
	enum meta_state state;
	struct pl_rng rng;
	uint32_t partitions; /* the number required; 0: accept the first one that is
	                      * seen */
	struct meta mine;    /* the value that is created */
	struct meta meta;    /* as reported last; partitions is 0 before that */
	bool refused;        /* refused since the last report */
	bool asked;          /* a create is in flight */
	uint32_t failures;   /* in a row */
	uint64_t create_at_ms;
};

/* mine is what is created; its partitions must be set, its incarnation is chosen here. */
void meta_core_init(struct meta_core *core, uint32_t partitions, const struct meta *mine,
                    uint64_t seed);
void meta_step(struct meta_core *core, const struct meta_event *event,
               struct meta_actions *actions);
uint64_t meta_deadline_ms(const struct meta_core *core);

#endif
