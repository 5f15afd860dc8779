/* Answers and facts that are late, of another lease or epoch, or out of order, and how many
 * requests are on their way. */
#include "tests/support/coord/claims/claims_story.h"

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
