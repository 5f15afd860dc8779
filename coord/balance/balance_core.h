/*
 * When and how the weights of members change, decided without I/O.
 *
 *	IDLE --leads--> WATCHING --look--> LOOKING --nothing to do--> WATCHING
 *	                   ^                  | settled, and it is time
 *	                   |                  v
 *	                   +--not worth it-- SEARCHING --worth it--> WRITING
 *	                   +----------------------- written, or not ----+
 *
 * Loads are smoothed over several looks. A table is written only when
 *   - the same members have counted, and each partition was reported by the member
 *     that it falls to and by nobody else, for some looks in a row;
 *   - an interval has passed since the last table, and since we lead;
 *   - the load of the fullest member, as predicted (the assignment is a pure function),
 *     falls by the threshold at least;
 *   - and no more partitions move than a table may move.
 * With loads that stay, each table takes the fullest member down by a fixed part of
 * what it was, and it can not fall below the mean: so there are finitely many.
 */
#ifndef COORD_BALANCE_BALANCE_CORE_H
#define COORD_BALANCE_BALANCE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/assign/assign.h"
#include "store/base/rng.h"

enum {
	BALANCE_NOBODY = UINT16_MAX,   /* reports a partition */
	BALANCE_MANY = UINT16_MAX - 1, /* do */
	BALANCE_MEMBERS_MAX = ASSIGN_MEMBERS_MAX,
	BALANCE_SETTLED_LOOKS = 3,
	BALANCE_LOOKS_PER_INTERVAL = 4,
	BALANCE_GONE_INTERVALS = 20, /* before a factor is forgotten */
};

struct balance_member {
	struct pl_span id;
	uint32_t weight; /* of its record */
	uint32_t salt;
	uint32_t factor;
	bool counts;      /* has a part in the assignment */
	uint64_t gone_ms; /* named by the table, and not there for so long */
	/* The core's: */
	uint32_t plan; /* the factor to be; 0: to be left out */
	double load;
};

/* What a look brings. Borrowed until the core asks for another one, or goes IDLE. */
struct balance_view {
	struct balance_member *members;
	uint32_t member_count;
	const uint16_t *reporter; /* of each partition: an index, or as above */
	const uint32_t *load;
	/* Those who count, with their factors and marked with their index. The search
	 * tries others on it; a look finds it as it should be. */
	struct assign *assign;
};

struct balance_rules {
	bool enabled;
	uint64_t interval_ms;
	uint32_t threshold_percent;
	uint32_t moves_percent;
};

enum balance_event_type {
	BALANCE_EV_LEAD,  /* leading */
	BALANCE_EV_RULES, /* rules */
	BALANCE_EV_TABLE, /* another table is applied: ours or somebody else's */
	BALANCE_EV_VIEW,  /* view, as asked for */
	BALANCE_EV_BLIND, /* there is no complete view now */
	BALANCE_EV_WRITTEN,
	BALANCE_EV_FAILED, /* the write */
	BALANCE_EV_TIMEOUT,
};

struct balance_event {
	enum balance_event_type type;
	uint64_t now_ms;
	bool leading;
	struct balance_rules rules;
	struct balance_view *view;
};

enum balance_action_type {
	BALANCE_DO_LOOK,  /* answer with VIEW or BLIND */
	BALANCE_DO_WRITE, /* the plans of the view's members */
};

struct balance_action {
	enum balance_action_type type;
	double worst, planned; /* the fullest member's load over the mean */
	uint32_t moves;
};

enum { BALANCE_ACTIONS_MAX = 1 };

struct balance_actions {
	struct balance_action item[BALANCE_ACTIONS_MAX];
	unsigned count;
};

enum balance_state {
	BALANCE_IDLE, /* does not lead, or is not enabled */
	BALANCE_WATCHING,
	BALANCE_LOOKING,
	BALANCE_SEARCHING,
	BALANCE_WRITING,
};

struct balance_score {
	double worst; /* the fullest member's load over the mean */
	double cost;  /* what the search makes less: falls with the fullest ones */
	uint32_t moves;
};

struct balance_core {
	enum balance_state state;
	struct balance_rules rules;
	struct pl_rng rng;
	bool leading;
	uint32_t partitions;
	double *smoothed;  /* load of each partition; negative: not known */
	uint16_t *before;  /* who has it now, while searching */
	uint64_t table_ms; /* the last table, or since when we lead */
	uint64_t look_ms;
	uint64_t members_hash; /* hash of who counted at the last look */
	uint32_t settled_looks;
	struct balance_view *view;
	uint32_t rounds; /* of the search */
	struct balance_score now, best;
};

/* Both arrays have room for the partitions, and outlive the core. */
void balance_core_init(struct balance_core *core, uint32_t partitions, double *smoothed,
                       uint16_t *before, uint64_t seed);

void balance_step(struct balance_core *core, const struct balance_event *event,
                  struct balance_actions *actions);

/* When to feed BALANCE_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t balance_deadline_ms(const struct balance_core *core);

/* The search, in steps of bounded work. */
void balance_search_begin(struct balance_core *core);
/* False: it has ended, and the view's members have their plans. */
bool balance_search_round(struct balance_core *core);
/* Whether the plan is worth a table; core->best is what it brings. */
bool balance_search_end(struct balance_core *core);

#endif
