/*
 * /placet/meta, created when there is none and compared with what it was, decided
 * without I/O.
 *
 *	LISTING --ABSENT--> CREATING --SEEN--> STANDING
 *	   ^  +----------------SEEN--------------^  |
 *	   +------- LOST, from anywhere -----------+
 *
 * Only what the watch shows is believed: the answer to a create says no more than
 * that something will be seen. A record that goes is created anew with another
 * incarnation: nobody can know what else went with it.
 */
#ifndef COORD_META_META_CORE_H
#define COORD_META_META_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/meta/meta.h"
#include "store/base/err.h"
#include "store/base/rng.h"

enum meta_event_type {
	META_EV_LOST,      /* what is known may not be true any more: a list follows */
	META_EV_ABSENT,    /* listed, or removed */
	META_EV_SEEN,      /* meta */
	META_EV_MALFORMED, /* it is there and makes no sense */
	META_EV_DONE,      /* the create is answered */
	META_EV_FAILED,    /* the create; code */
	META_EV_TIMEOUT,   /* meta_deadline_ms() was reached */
};

struct meta_event {
	enum meta_event_type type;
	uint64_t now_ms;
	const struct meta *meta;
	enum pl_code code;
};

enum meta_action_type {
	META_DO_CREATE,      /* core->mine, when absent */
	META_REPORT_KNOWN,   /* core->meta; changed */
	META_REPORT_REFUSED, /* code: PL_INVALID, PL_CONFLICT */
	META_REPORT_TROUBLE, /* code: PL_NOTFOUND, it was removed; else a create failed */
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
	uint32_t partitions; /* that it must have; 0: whatever it has at first */
	struct meta mine;    /* what is created */
	struct meta meta;    /* as it was told last; partitions 0: not yet */
	bool refused;        /* told since */
	bool asked;          /* a create is in flight */
	uint32_t failures;   /* in a row */
	uint64_t create_at_ms;
};

/* incarnation aside mine is what is created; its partitions must be set. */
void meta_core_init(struct meta_core *core, uint32_t partitions, const struct meta *mine,
                    uint64_t seed);
void meta_step(struct meta_core *core, const struct meta_event *event,
               struct meta_actions *actions);
uint64_t meta_deadline_ms(const struct meta_core *core);

#endif
