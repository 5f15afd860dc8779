/*
 * For tests of claims_core: stories of a shard with two partitions and lease 71, a handover
 * within 500 ms, and moves that wait for 200 ms. Each event is told with what follows from
 * it; at any time the core acts under the epochs that it has reported.
 */
#ifndef TESTS_SUPPORT_COORD_CLAIMS_CLAIMS_STORY_H
#define TESTS_SUPPORT_COORD_CLAIMS_CLAIMS_STORY_H

#include <stdio.h>

#include "coord/claims/claims_core.h"
#include "tests/harness/t.h"

enum { US = 71, THEM = 99, PARTITIONS = 2 };

static const char *const event_names[] = {
	[CLAIMS_EV_SESSION] = "session",
	[CLAIMS_EV_SYNCED] = "in sync",
	[CLAIMS_EV_UNSYNCED] = "out of sync",
	[CLAIMS_EV_SEEN] = "key seen",
	[CLAIMS_EV_GONE] = "key gone",
	[CLAIMS_EV_TARGET] = "target",
	[CLAIMS_EV_LEAVING] = "leaving",
	[CLAIMS_EV_QUIET] = "quiet",
	[CLAIMS_EV_FENCED] = "fenced",
	[CLAIMS_EV_REWOUND] = "rewound",
	[CLAIMS_EV_TUNE] = "tune",
	[CLAIMS_EV_CLAIMED] = "answer: claimed",
	[CLAIMS_EV_RELEASED] = "answer: released",
	[CLAIMS_EV_FOUND] = "answer: found",
	[CLAIMS_EV_FAILED] = "answer: failed",
	[CLAIMS_EV_UNKNOWN] = "answer: unknown",
	[CLAIMS_EV_TIMEOUT] = "time",
	[CLAIMS_EV_CLOSE] = "close",
};
static const char *const action_names[] = {
	[CLAIMS_DO_CLAIM] = "claim",         [CLAIMS_DO_RELEASE] = "release",
	[CLAIMS_DO_READ] = "read",           [CLAIMS_REPORT_OWNED] = "OWNED",
	[CLAIMS_REPORT_QUIESCE] = "QUIESCE", [CLAIMS_REPORT_LOST] = "LOST",
};
static const char *const target_names[] = {"unreported", "ours", "another's", "none"};
static const char *const why_names[] = {
	[CLAIMS_KEPT] = "kept",     [CLAIMS_HANDED_OVER] = "handed over",
	[CLAIMS_GONE] = "gone",     [CLAIMS_SESSION] = "session",
	[CLAIMS_FENCED] = "fenced", [CLAIMS_REWOUND] = "rewound",
	[CLAIMS_CLOSED] = "closed",
};

static char story[16384];
static size_t story_len;
static struct claims_core core;
static struct claims_slot slots[PARTITIONS];
static uint64_t now;
static uint32_t asked[PARTITIONS]; /* seq of the last request */
static int64_t owned[PARTITIONS];  /* as reported */

#define SAY(...)      \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static inline void say_action(const struct claims_action *a)
{
	int64_t *own = &owned[a->partition];

	SAY("          -> %s", action_names[a->type]);
	SAY(" %u", a->partition);
	if (a->type == CLAIMS_DO_RELEASE || a->type >= CLAIMS_REPORT_OWNED)
		SAY(" epoch %" PRId64, a->epoch);
	if (a->type == CLAIMS_REPORT_QUIESCE)
		SAY(" until %" PRIu64, a->deadline_ms);
	if (a->type == CLAIMS_REPORT_LOST)
		SAY(" (%s)", why_names[a->why]);
	SAY("\n");
	if (a->type <= CLAIMS_DO_READ)
		asked[a->partition] = a->seq;
	if (a->type == CLAIMS_REPORT_OWNED) {
		T_EQ(*own, 0);
		*own = a->epoch;
	}
	if (a->type == CLAIMS_REPORT_LOST) {
		T_EQ(*own, a->epoch);
		*own = 0;
	}
}

static inline void say_event(const struct claims_event *e)
{
	SAY("[%6" PRIu64 "] %s", now, event_names[e->type]);
	if (e->type == CLAIMS_EV_SESSION && e->lease != 0)
		SAY(" up: lease %" PRId64 " until %" PRIu64, e->lease, e->safe_until_ms);
	else if (e->type == CLAIMS_EV_SESSION)
		SAY(" down");
	else if ((e->type >= CLAIMS_EV_SEEN && e->type <= CLAIMS_EV_TARGET) ||
	         e->type == CLAIMS_EV_QUIET || e->type == CLAIMS_EV_FENCED ||
	         (e->type >= CLAIMS_EV_CLAIMED && e->type <= CLAIMS_EV_UNKNOWN))
		SAY(" %u", e->partition);
	if (e->type == CLAIMS_EV_TARGET)
		SAY(" %s", target_names[e->target]);
	if (e->revision != 0)
		SAY(" at revision %" PRId64, e->revision);
	if (e->epoch != 0)
		SAY(" epoch %" PRId64, e->epoch);
	if (e->revision != 0 && e->lease != 0)
		SAY(" lease %" PRId64, e->lease);
	SAY("\n");
}

static inline void tell(struct claims_event event)
{
	struct claims_actions actions = {.max = CLAIMS_ACTIONS_MAX};

	event.now_ms = now;
	if (event.seq == 0)
		event.seq = asked[event.partition];
	claims_step(&core, &event, &actions);
	say_event(&event);
	for (unsigned i = 0; i < actions.count; i++)
		say_action(&actions.item[i]);
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_EQ(claims_core_epoch(&core, p, now), owned[p]);
	SAY("          %s, %s", claims_state_name(claims_core_state(&core, 0)),
	    claims_state_name(claims_core_state(&core, 1)));
	if (claims_core_settled(&core))
		SAY(", settled");
	if (claims_deadline_ms(&core) != UINT64_MAX &&
	    claims_deadline_ms(&core) != core.safe_until_ms)
		SAY(", next at %" PRIu64, claims_deadline_ms(&core));
	SAY("\n");
}

#define EV(what, ...) tell((struct claims_event){.type = CLAIMS_EV_##what, __VA_ARGS__})

static inline void at(uint64_t ms)
{
	now = ms;
	EV(TIMEOUT, .now_ms = ms);
}

/* Runs to the next time at which something is done. A slot that has changed meanwhile
 * passes in silence. */
static inline void due(void)
{
	struct claims_event event = {.type = CLAIMS_EV_TIMEOUT};
	struct claims_actions none = {.max = 0};

	do {
		T_TRUE(claims_deadline_ms(&core) < core.safe_until_ms);
		now = claims_deadline_ms(&core);
		event.now_ms = now;
		claims_step(&core, &event, &none);
	} while (slots[0].at_ms != now && slots[1].at_ms != now);
	at(now);
}

/* Up and in sync at revision 10 with no keys. Partition 0 falls to us, 1 to another
 * shard. */
static inline void begin(void)
{
	struct claims_core_opts opts = {.slots = slots,
	                                .partitions = PARTITIONS,
	                                .handover_ms = 500,
	                                .settle_ms = 200,
	                                .seed = 3};

	claims_core_init(&core, &opts);
	now = 1000;
	EV(SESSION, .lease = US, .safe_until_ms = 60000);
	EV(GONE, .partition = 0, .revision = 10);
	EV(SEEN, .partition = 1, .revision = 10, .epoch = 7, .lease = THEM);
	EV(SYNCED, .on = true);
	EV(TARGET, .partition = 1, .target = CLAIMS_OTHERS);
	EV(TARGET, .partition = 0, .target = CLAIMS_MINE);
}

static inline void begin_owned(void)
{
	begin();
	now += 5;
	EV(CLAIMED, .partition = 0, .revision = 11);
	T_EQ(owned[0], 11);
}

#endif
