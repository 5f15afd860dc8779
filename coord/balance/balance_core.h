/*
 * When and how the weights of members change, decided without I/O.
 *
 *	IDLE --leads--> WATCHING --look--> LOOKING --nothing to do--> WATCHING
 *	                   ^                  | settled, and it is time
 *	                   |                  v
 *	                   +--not worth it-- SEARCHING --worth it--> WRITING
 *	                   +----------------------- written, or not ----+
 *
 * A look is one sample of all loads. Loads are smoothed over several looks. A table is
 * written only when
 *   - the same members took part for BALANCE_SETTLED_LOOKS looks in a row, and each
 *     partition was reported only by the member that it falls to;
 *   - an interval has passed since the last table and since this shard became the
 *     leader;
 *   - the predicted load of the fullest member falls by the threshold at least (the
 *     assignment is a pure function, so it can be predicted);
 *   - no more partitions move than a table may move.
 *
 * With constant loads each table lowers the fullest member's load by a fixed part, and
 * that load can not fall below the mean, so the number of tables is finite.
 */
#ifndef COORD_BALANCE_BALANCE_CORE_H
#define COORD_BALANCE_BALANCE_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "coord/assign/assign.h"
#include "store/base/rng.h"

enum {
	BALANCE_NONE = UINT16_MAX,     /* no member reports the partition */
	BALANCE_MANY = UINT16_MAX - 1, /* more than one member reports the partition */
	BALANCE_MEMBERS_MAX = ASSIGN_MEMBERS_MAX,
	BALANCE_SETTLED_LOOKS = 3,
	BALANCE_LOOKS_PER_INTERVAL = 4,
	BALANCE_GONE_INTERVALS = 20, /* intervals without the member before its factor
	                              * is dropped */
};

struct balance_member {
	struct pl_span id;
	uint32_t weight; /* weight in the shard's record */
	uint32_t salt;
	uint32_t factor;
	bool counts;      /* the member takes part in the assignment */
	uint64_t gone_ms; /* for how long the table has named it while the roster does
	                   * not have it */
	/* Written by the core: */
	uint32_t plan; /* the new factor; 0: the table leaves the member out */
	double load;
};

/* The result of a look. The core borrows it until it asks for another look or goes
 * IDLE. */
struct balance_view {
	struct balance_member *members;
	uint32_t member_count;
	const uint16_t *reporter; /* reporting member of each partition: an index,
	                           * BALANCE_NONE or BALANCE_MANY */
	const uint32_t *load;
	/* The members that take part, with their factors, each marked with its index.
	 * The search changes factors in it; the next look sets them again. */
	struct assign *assign;
};

struct balance_rules {
	bool enabled;
	uint64_t interval_ms;
	uint32_t threshold_percent;
	uint32_t moves_percent;
};

enum balance_event_type {
	BALANCE_EV_LEAD,  /* carries leading */
	BALANCE_EV_RULES, /* carries rules */
	BALANCE_EV_TABLE, /* another table has been applied, whichever balancer wrote it */
	BALANCE_EV_VIEW,  /* carries view, the answer to DO_LOOK */
	BALANCE_EV_NO_VIEW, /* the answer to DO_LOOK while the roster is not complete */
	BALANCE_EV_WRITTEN,
	BALANCE_EV_FAILED, /* the write failed */
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
	BALANCE_DO_LOOK,  /* to be answered with VIEW or BLIND */
	BALANCE_DO_WRITE, /* write the factors that the view's members have in plan */
};

struct balance_action {
	enum balance_action_type type;
	double worst, planned; /* load of the fullest member over the mean */
	uint32_t moves;
};

enum { BALANCE_ACTIONS_MAX = 1 };

struct balance_actions {
	struct balance_action item[BALANCE_ACTIONS_MAX];
	unsigned count;
};

enum balance_state {
	BALANCE_IDLE, /* does not lead, or is disabled */
	BALANCE_WATCHING,
	BALANCE_LOOKING,
	BALANCE_SEARCHING,
	BALANCE_WRITING,
};

struct balance_score {
	double worst; /* load of the fullest member over the mean */
	double cost;  /* the value that the search minimises; the fullest members
	               * dominate it */
	uint32_t moves;
};

struct balance_core {
	enum balance_state state;
	struct balance_rules rules;
	struct pl_rng rng;
	bool leading;
	uint32_t partitions;
	double *smoothed;  /* smoothed load of each partition; negative: unknown */
	uint16_t *before;  /* owner of each partition before the search began */
	uint64_t table_ms; /* when the last table was applied, or when this shard
	                    * became the leader */
	uint64_t look_ms;
	uint64_t members_hash; /* hash of the members that took part at the last look */
	uint32_t settled_looks;
	struct balance_view *view;
	uint32_t rounds; /* rounds of the current search */
	struct balance_score now, best;
};

/* Both arrays have one element a partition and outlive the core. */
void balance_core_init(struct balance_core *core, uint32_t partitions, double *smoothed,
                       uint16_t *before, uint64_t seed);

void balance_step(struct balance_core *core, const struct balance_event *event,
                  struct balance_actions *actions);

/* When to feed BALANCE_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t balance_deadline_ms(const struct balance_core *core);

/* The search runs in rounds of bounded work. */
void balance_search_begin(struct balance_core *core);
/* False: the search has ended, and the view's members have their plans. */
bool balance_search_round(struct balance_core *core);
/* Whether the plan is worth a table; core->best is what the plan brings. */
bool balance_search_end(struct balance_core *core);

#endif
