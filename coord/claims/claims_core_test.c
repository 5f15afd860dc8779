#include <stdio.h>

#include "coord/claims/claims_core.h"
#include "tests/harness/t.h"

/* Stories of a shard with two partitions and lease 71, a handover within 500 ms, and
 * moves that wait for 200 ms. */

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

static void say_action(const struct claims_action *a)
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

static void say_event(const struct claims_event *e)
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

static void tell(struct claims_event event)
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

static void at(uint64_t ms)
{
	now = ms;
	EV(TIMEOUT, .now_ms = ms);
}

/* Runs to the next time at which something is done. A slot that has changed meanwhile
 * passes in silence. */
static void due(void)
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
static void begin(void)
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

static void begin_owned(void)
{
	begin();
	now += 5;
	EV(CLAIMED, .partition = 0, .revision = 11);
	T_EQ(owned[0], 11);
}

T_CASE(take_and_hand_over)
{
	begin();
	now += 4;
	EV(SEEN, .partition = 0, .revision = 11, .epoch = 11, .lease = US);
	T_EQ(owned[0], 11); /* the watch was quicker than the answer */
	now += 1;
	EV(CLAIMED, .partition = 0, .revision = 11);
	now += 1000;
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	now += 50;
	EV(TARGET, .partition = 0, .target = CLAIMS_MINE); /* the assignment changed
	                                                    * again */
	now += 50;
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	due();
	T_TRUE(!claims_core_may_begin(&core, 0, now));
	now += 20;
	EV(QUIET, .partition = 0, .epoch = 11);
	now += 5;
	EV(RELEASED, .partition = 0, .revision = 20);
	EV(SEEN, .partition = 0, .revision = 21, .epoch = 21, .lease = THEM);
	EV(GONE, .partition = 0, .revision = 20); /* an older event changes nothing */
	T_TRUE(claims_core_settled(&core));
	t_golden("claims/take_and_hand_over.txt", story);
}

T_CASE(taken_by_another)
{
	begin();
	now += 5;
	EV(FOUND, .partition = 0, .revision = 12, .epoch = 11, .lease = THEM);
	now += 100;
	EV(GONE, .partition = 0, .revision = 15); /* the key is absent again: claimed
	                                           * at once */
	now += 5;
	EV(FOUND, .partition = 0, .revision = 16); /* our record has another lease */
	due();
	now += 5;
	EV(CLAIMED, .partition = 0, .revision = 17);
	T_EQ(owned[0], 17);
	t_golden("claims/taken_by_another.txt", story);
}

T_CASE(unknown_claim_that_was_applied)
{
	begin();
	now += 3000;
	EV(UNKNOWN, .partition = 0);
	due();
	now += 5;
	EV(FOUND, .partition = 0, .revision = 14, .epoch = 12, .lease = US);
	T_EQ(owned[0], 12);
	t_golden("claims/unknown_claim_applied.txt", story);
}

/* Applied after the read has found nothing, and after the partition fell to another
 * shard. */
T_CASE(unknown_claim_applied_late)
{
	begin();
	now += 3000;
	EV(UNKNOWN, .partition = 0);
	due();
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	now += 5;
	EV(FOUND, .partition = 0, .revision = 14);
	T_TRUE(claims_core_settled(&core));
	now += 2000;
	EV(SEEN, .partition = 0, .revision = 30, .epoch = 30, .lease = US);
	T_EQ(owned[0], 0);
	now += 5;
	EV(RELEASED, .partition = 0, .revision = 31);
	EV(TARGET, .partition = 0, .target = CLAIMS_MINE);
	now += 3000;
	EV(UNKNOWN, .partition = 0);
	due();
	EV(FOUND, .partition = 0, .revision = 40);
	EV(SEEN, .partition = 0, .revision = 41, .epoch = 41,
	   .lease = US); /* the first */
	T_EQ(owned[0], 41);
	now += 5;
	EV(FOUND, .partition = 0, .revision = 42, .epoch = 41,
	   .lease = US); /* the second */
	T_EQ(owned[0], 41);
	t_golden("claims/unknown_claim_late.txt", story);
}

/* The release may be applied at any time from now on, so epoch 11 is never acted on
 * again. */
T_CASE(unknown_release)
{
	begin_owned();
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	due();
	EV(QUIET, .partition = 0, .epoch = 11);
	T_EQ(owned[0], 0);
	EV(TARGET, .partition = 0, .target = CLAIMS_MINE); /* falls to us again
	                                                    * meanwhile */
	now += 3000;
	EV(UNKNOWN, .partition = 0);
	due();
	EV(FOUND, .partition = 0, .revision = 30, .epoch = 11, .lease = US);
	T_EQ(owned[0], 0);
	now += 3000;
	EV(UNKNOWN, .partition = 0);
	due();
	EV(FOUND, .partition = 0, .revision = 31);
	now += 5;
	EV(CLAIMED, .partition = 0, .revision = 32);
	T_EQ(owned[0], 32);
	t_golden("claims/unknown_release.txt", story);
}

T_CASE(session_lost)
{
	begin_owned();
	now += 100;
	EV(GONE, .partition = 1, .revision = 12);
	EV(TARGET, .partition = 1, .target = CLAIMS_MINE);
	now += 10;
	EV(SESSION, .lease = 0);
	T_EQ(owned[0], 0);
	EV(CLAIMED, .partition = 1, .revision = 13); /* under the old lease */
	EV(SEEN, .partition = 1, .revision = 13, .epoch = 13, .lease = US);
	T_EQ(owned[1], 0);
	now += 1000;
	EV(SESSION, .lease = US + 1, .safe_until_ms = 70000);
	EV(GONE, .partition = 0, .revision = 14);
	EV(GONE, .partition = 1, .revision = 14);
	now += 5;
	EV(CLAIMED, .partition = 0, .revision = 15);
	T_EQ(owned[0], 15);
	t_golden("claims/session_lost.txt", story);
}

/* The session has not reported its end, but the clock has reached it, before any
 * answer that waited. */
T_CASE(session_ran_out)
{
	begin_owned();
	T_EQ(claims_core_epoch(&core, 0, 59999), 11);
	T_EQ(claims_core_epoch(&core, 0, 60000), 0);
	now = 60000;
	EV(SESSION, .lease = US, .safe_until_ms = 90000);
	T_TRUE(strstr(story, "LOST 0 epoch 11 (session)") != NULL);
	t_golden("claims/session_ran_out.txt", story);
}

T_CASE(key_deleted_by_hand)
{
	begin_owned();
	now += 1000;
	EV(GONE, .partition = 0, .revision = 50);
	T_EQ(owned[0], 0);
	now += 5;
	EV(CLAIMED, .partition = 0, .revision = 51);
	T_EQ(owned[0], 51);
	EV(SEEN, .partition = 0, .revision = 52, .epoch = 51); /* overwritten by hand */
	T_EQ(owned[0], 0);
	EV(GONE, .partition = 0, .revision = 53);
	now += 5;
	EV(CLAIMED, .partition = 0, .revision = 54);
	T_EQ(owned[0], 54);
	t_golden("claims/deleted_by_hand.txt", story);
}

T_CASE(fenced)
{
	begin_owned();
	now += 1000;
	EV(FENCED, .partition = 0, .epoch = 9); /* of an older epoch */
	T_EQ(owned[0], 11);
	EV(FENCED, .partition = 0, .epoch = 11);
	T_EQ(owned[0], 0);
	now += 5;
	EV(FOUND, .partition = 0, .revision = 60, .epoch = 59, .lease = THEM);
	EV(GONE, .partition = 0, .revision = 58);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_OTHER);
	t_golden("claims/fenced.txt", story);
}

/* Revisions start again; a key under our lease is adopted again. */
T_CASE(rewound)
{
	begin_owned();
	EV(GONE, .partition = 1, .revision = 12);
	EV(TARGET, .partition = 1, .target = CLAIMS_MINE);
	now += 10;
	EV(REWOUND, .on = true);
	T_EQ(owned[0], 0);
	EV(CLAIMED, .partition = 1, .revision = 13); /* from before the rewind */
	EV(SEEN, .partition = 0, .revision = 6, .epoch = 5, .lease = US);
	EV(SEEN, .partition = 1, .revision = 6, .epoch = 4, .lease = THEM);
	EV(SYNCED, .on = true);
	T_EQ(owned[0], 5);
	T_EQ(owned[1], 0);
	t_golden("claims/rewound.txt", story);
}

T_CASE(slow_hand_over)
{
	begin_owned();
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	due();
	now += 10;
	EV(UNSYNCED, .on = false);
	due(); /* the deadline; but nothing is released without a complete view */
	T_EQ(owned[0], 11);
	now += 100;
	EV(SYNCED, .on = true);
	T_EQ(owned[0], 0);
	EV(QUIET, .partition = 0, .epoch = 11); /* too late to matter */
	now += 5;
	EV(RELEASED, .partition = 0, .revision = 33);
	T_TRUE(claims_core_settled(&core));
	t_golden("claims/slow_hand_over.txt", story);
}

/* The partition is released although it falls to no member, and without waiting. */
T_CASE(leaving)
{
	begin_owned();
	EV(TARGET, .partition = 0, .target = CLAIMS_NOBODYS);
	at(now + 1000);
	T_EQ(owned[0], 11); /* no other member would take it */
	EV(GONE, .partition = 1, .revision = 12);
	EV(TARGET, .partition = 1, .target = CLAIMS_MINE);
	EV(LEAVING, .on = true);
	EV(QUIET, .partition = 0, .epoch = 11);
	now += 5;
	EV(RELEASED, .partition = 0, .revision = 14);
	EV(CLAIMED, .partition = 1, .revision = 13); /* the claim was on its way */
	T_EQ(owned[1], 0);
	now += 5;
	EV(RELEASED, .partition = 1, .revision = 15);
	T_TRUE(claims_core_settled(&core));
	t_golden("claims/leaving.txt", story);
}

/* Answers to requests under another lease say nothing about this one. */
T_CASE(answers_of_an_old_lease)
{
	uint32_t old;

	begin();
	old = asked[0];
	EV(SESSION, .lease = 0);
	EV(SESSION, .lease = US + 1, .safe_until_ms = 70000);
	T_TRUE(asked[0] != old);
	EV(CLAIMED, .partition = 0, .revision = 11, .seq = old);
	T_EQ(owned[0], 0);
	EV(FAILED, .partition = 0, .seq = old);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_CLAIMING);
	EV(FOUND, .partition = 0, .revision = 12, .epoch = 11, .lease = US);
	T_EQ(owned[0], 0);
	EV(GONE, .partition = 0, .revision = 13);
	EV(CLAIMED, .partition = 0, .revision = 14);
	T_EQ(owned[0], 14);
}

/* The session has another lease and did not report its end in between. */
T_CASE(another_lease_is_another_session)
{
	begin_owned();
	EV(SESSION, .lease = US + 1, .safe_until_ms = 70000);
	T_EQ(owned[0], 0);
	EV(GONE, .partition = 0, .revision = 12);
	EV(CLAIMED, .partition = 0, .revision = 13);
	T_EQ(owned[0], 13);
}

/* QUIET of an earlier epoch: the work under the present one has not ended. */
T_CASE(quiet_of_another_epoch_says_nothing)
{
	begin_owned();
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	due();
	EV(QUIET, .partition = 0, .epoch = 10);
	T_EQ(owned[0], 11);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_QUIESCING);
	EV(QUIET, .partition = 0, .epoch = 11);
	T_EQ(owned[0], 0);
}

/* The user has heard LOST, and the partition falls to us again before the release was
 * sent. */
T_CASE(an_epoch_that_was_handed_over_is_not_acted_on_again)
{
	struct claims_actions one = {.max = 1};
	struct claims_event quiet = {
		.type = CLAIMS_EV_QUIET, .partition = 0, .epoch = 11};

	begin_owned();
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	due();
	quiet.now_ms = now;
	claims_step(&core, &quiet, &one);
	T_EQ(one.item[0].type, CLAIMS_REPORT_LOST);
	owned[0] = 0;
	EV(TARGET, .partition = 0, .target = CLAIMS_MINE);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_RELEASING);
	EV(RELEASED, .partition = 0, .revision = 20);
	EV(CLAIMED, .partition = 0, .revision = 21);
	T_EQ(owned[0], 21);
}

/* However often the claim failed before, the key is absent now. */
T_CASE(a_key_that_goes_is_claimed_at_once)
{
	begin();
	for (unsigned i = 0; i < 6; i++) {
		EV(FAILED, .partition = 0);
		due();
	}
	EV(FAILED, .partition = 0);
	EV(SEEN, .partition = 0, .revision = 12, .epoch = 12, .lease = THEM);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_OTHER);
	EV(GONE, .partition = 0, .revision = 13);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_CLAIMING);
}

/* The known members may be outdated. */
T_CASE(nothing_is_handed_over_or_claimed_out_of_sync)
{
	begin_owned();
	EV(UNSYNCED, .on = false);
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	at(now + 1000);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_OWNED);
	EV(GONE, .partition = 1, .revision = 12);
	EV(TARGET, .partition = 1, .target = CLAIMS_MINE);
	T_EQ(claims_core_state(&core, 1), CLAIMS_STATE_ABSENT);
	EV(SYNCED, .on = true);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_QUIESCING);
	T_EQ(claims_core_state(&core, 1), CLAIMS_STATE_CLAIMING);
}

/* The store says that the claim was applied long before the known fact. */
T_CASE(a_claim_from_the_past_is_not_repeated_at_once)
{
	uint32_t first;

	begin();
	EV(GONE, .partition = 0, .revision = 1000);
	first = asked[0];
	EV(CLAIMED, .partition = 0, .revision = 11);
	T_EQ(owned[0], 0);
	T_EQ(asked[0], first);
	due();
	T_TRUE(asked[0] != first);
}

/* The key was deleted by hand, another shard claimed it, and the watch has shown both: it
 * does not matter that the claim was granted. */
T_CASE(a_claim_that_the_watch_has_overtaken_is_not_reported)
{
	uint32_t first;

	begin();
	first = asked[0];
	EV(GONE, .partition = 0, .revision = 12);
	EV(SEEN, .partition = 0, .revision = 13, .epoch = 13, .lease = THEM);
	EV(CLAIMED, .partition = 0, .revision = 11, .seq = first);
	EV(SEEN, .partition = 0, .revision = 11, .epoch = 11, .lease = US);
	T_EQ(owned[0], 0);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_OTHER);
	T_TRUE(claims_core_settled(&core));
}

/* The core cannot know of a deletion that no fact has told. It acts until one does, and
 * then never again under that epoch. */
T_CASE(a_deletion_that_is_heard_late_ends_the_epoch)
{
	begin();
	now += 2000;
	EV(CLAIMED, .partition = 0, .revision = 11);
	T_EQ(owned[0], 11);
	EV(SEEN, .partition = 0, .revision = 13, .epoch = 13, .lease = THEM);
	T_EQ(owned[0], 0);
	EV(SEEN, .partition = 0, .revision = 11, .epoch = 11, .lease = US);
	EV(GONE, .partition = 0, .revision = 12);
	T_EQ(owned[0], 0);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_OTHER);
}

/* A watch that catches up tells of the claim, the deletion and another shard's claim in
 * one note: nothing of that is reported. */
T_CASE(what_was_over_before_it_was_looked_at_is_not_reported)
{
	struct claims_event note[] = {
		{.type = CLAIMS_EV_SEEN, .revision = 11, .epoch = 11, .lease = US},
		{.type = CLAIMS_EV_GONE, .revision = 12},
		{.type = CLAIMS_EV_SEEN, .revision = 13, .epoch = 13, .lease = THEM},
	};
	struct claims_actions none = {.max = 0};

	begin();
	for (size_t i = 0; i < sizeof note / sizeof note[0]; i++) {
		note[i].now_ms = now;
		claims_step(&core, &note[i], &none);
	}
	EV(CLAIMED, .partition = 0, .revision = 11);
	T_EQ(owned[0], 0);
	T_TRUE(claims_core_settled(&core));
}

T_CASE(leaving_waits_for_nothing_to_settle)
{
	begin_owned();
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_OWNED);
	EV(LEAVING, .on = true);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_QUIESCING);
}

/* The member that was to take it has gone too, so it is ours again. */
T_CASE(without_a_successor_it_is_kept)
{
	begin_owned();
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	due();
	EV(TARGET, .partition = 0, .target = CLAIMS_NOBODYS);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_QUIESCING);
	EV(QUIET, .partition = 0, .epoch = 11);
	T_EQ(owned[0], 11);
	T_TRUE(claims_core_may_begin(&core, 0, now));
	T_TRUE(claims_core_settled(&core));
	at(now + 1000);
	T_EQ(owned[0], 11);
	EV(TARGET, .partition = 0, .target = CLAIMS_OTHERS);
	due();
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_QUIESCING);
	EV(QUIET, .partition = 0, .epoch = 11);
	T_EQ(owned[0], 0);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_RELEASING);
}

/* A store that went back in time unnoticed answers with revisions that are older than
 * the known ones. They teach nothing, and nothing is requested again at once. */
T_CASE(answers_from_the_past_are_not_repeated_at_once)
{
	begin();
	EV(FAILED, .partition = 0);
	EV(GONE, .partition = 0, .revision = 1000);
	due();
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_CLAIMING);
	EV(FOUND, .partition = 0, .revision = 50, .epoch = 49, .lease = THEM);
	T_EQ(claims_core_state(&core, 0), CLAIMS_STATE_ABSENT);
	T_TRUE(claims_deadline_ms(&core) > now);
	due();
	EV(CLAIMED, .partition = 0, .revision = 51);
	T_EQ(owned[0], 0);
	T_TRUE(claims_deadline_ms(&core) > now);
}

/* At most three are in flight; the others follow as answers come. */
T_CASE(bounded_in_flight)
{
	enum { MANY = 10 };
	static struct claims_slot many[MANY];
	struct claims_core_opts opts = {.slots = many, .partitions = MANY, .inflight = 3};
	struct claims_actions actions = {.max = 0};
	uint32_t seqs[MANY] = {0};
	unsigned flying = 0, taken = 0;

	claims_core_init(&core, &opts);
	claims_step(&core,
	            &(struct claims_event){.type = CLAIMS_EV_SESSION,
	                                   .lease = US,
	                                   .safe_until_ms = 9000},
	            &actions);
	for (uint32_t p = 0; p < MANY; p++) {
		claims_step(&core,
		            &(struct claims_event){.type = CLAIMS_EV_GONE,
		                                   .partition = p,
		                                   .revision = 5},
		            &actions);
		claims_step(&core,
		            &(struct claims_event){.type = CLAIMS_EV_TARGET,
		                                   .partition = p,
		                                   .target = CLAIMS_MINE},
		            &actions);
	}
	claims_step(&core, &(struct claims_event){.type = CLAIMS_EV_SYNCED}, &actions);
	T_EQ(actions.count, 0);
	T_EQ(claims_deadline_ms(&core), 0);
	while (taken < MANY) {
		actions.max = CLAIMS_ACTIONS_MAX;
		claims_step(&core, &(struct claims_event){.type = CLAIMS_EV_TIMEOUT},
		            &actions);
		for (unsigned i = 0; i < actions.count; i++) {
			T_EQ(actions.item[i].type == CLAIMS_DO_CLAIM ||
			             actions.item[i].type == CLAIMS_REPORT_OWNED,
			     true);
			if (actions.item[i].type != CLAIMS_DO_CLAIM)
				continue;
			flying++;
			seqs[actions.item[i].partition] = actions.item[i].seq;
		}
		T_TRUE(flying <= 3);
		if (claims_deadline_ms(&core) == 0)
			continue;
		T_TRUE(flying == 3 || flying + taken == MANY);
		actions.max = 0;
		for (uint32_t p = 0; p < MANY; p++) {
			if (seqs[p] == 0)
				continue;
			claims_step(&core,
			            &(struct claims_event){.type = CLAIMS_EV_CLAIMED,
			                                   .partition = p,
			                                   .seq = seqs[p],
			                                   .revision = 6 + taken},
			            &actions);
			seqs[p] = 0;
			flying--;
			taken++;
			break;
		}
	}
	actions.max = 1;
	claims_step(&core, &(struct claims_event){.type = CLAIMS_EV_TIMEOUT}, &actions);
	T_EQ(core.owned, MANY);
}
