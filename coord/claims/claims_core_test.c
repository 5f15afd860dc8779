/* How partitions are taken, kept, handed over and lost, as stories. */
#include "tests/support/coord/claims/claims_story.h"

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
