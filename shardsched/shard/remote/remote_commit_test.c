/*
 * How much is in flight on remote nodes: how many txns at once, how many placements in
 * one, and the pause after a conflict. Successes add a little; each conflict halves it.
 */
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/sched_rig.h"

enum {
	FIRST_WINDOW = 2,
	FIRST_MOST = 8,
	MOST_MAX = 32,
	PAUSE_MS = 20,
	PAUSE_MAX_MS = 250
};

static struct rig rig;
static struct remote_state *is;

static void begin(void)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "mine", "4");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	is = &rig.sched->remote;
}

static void answered(uint32_t placements, bool conflict)
{
	const struct shard_txn txn = {.kind = TXN_REMOTE, .placements = placements};

	remote_commit_ended(rig.sched, &txn, conflict);
}

static void now_is(uint32_t window, uint32_t placements_max, uint64_t pause_ms)
{
	T_EQ(is->window, window);
	T_EQ(is->placements_max, placements_max);
	T_EQ(is->pause_ms, pause_ms);
}

T_CASE(remote_commits_begin_small)
{
	begin();
	now_is(FIRST_WINDOW, FIRST_MOST, 0);
	T_EQ(is->resume_ms, 0);
	T_EQ(remote_commit_room(rig.sched), FIRST_WINDOW * FIRST_MOST);
	rig_close(&rig);
}

/* Both are halved, down to one; the pause doubles up to its maximum, and counts from
 * now. */
T_CASE(each_conflict_halves_remote_commits)
{
	static const uint64_t pause_ms[] = {20, 40, 80, 160, 250, 250};
	static const uint32_t placements_max[] = {4, 2, 1, 1, 1, 1};

	begin();
	for (unsigned i = 0; i < 6; i++) {
		rig.sched->now_ms += 1000;
		answered(placements_max[i], true);
		now_is(1, placements_max[i], pause_ms[i]);
		T_EQ(is->resume_ms, rig.sched->now_ms + pause_ms[i]);
	}
	rig_close(&rig);
}

/* One txn more once as many as may be in flight succeeded; one placement more after each
 * full txn. Neither exceeds its maximum. */
T_CASE(successes_grow_remote_commits)
{
	begin();
	answered(FIRST_MOST, false);
	now_is(FIRST_WINDOW, FIRST_MOST + 1, 0);
	answered(FIRST_MOST, false); /* not full any more */
	now_is(FIRST_WINDOW + 1, FIRST_MOST + 1, 0);
	answered(1, false);
	answered(1, false);
	now_is(FIRST_WINDOW + 1, FIRST_MOST + 1, 0);
	answered(1, false);
	now_is(FIRST_WINDOW + 2, FIRST_MOST + 1, 0);
	for (unsigned i = 0; i < 200; i++)
		answered(is->placements_max, false);
	now_is(SCHED_REMOTE_MAX, MOST_MAX, 0);
	rig_close(&rig);
}

/* A conflict begins the count again; successes after it halve the pause of the next
 * conflict. */
T_CASE(growth_starts_over_after_a_conflict)
{
	begin();
	for (unsigned i = 0; i < 200; i++)
		answered(is->placements_max, false);
	answered(MOST_MAX, true);
	now_is(SCHED_REMOTE_MAX / 2, MOST_MAX / 2, PAUSE_MS);
	for (unsigned i = 1; i < SCHED_REMOTE_MAX / 2; i++)
		answered(1, false);
	T_EQ(is->window, SCHED_REMOTE_MAX / 2);
	answered(MOST_MAX / 2, true);
	now_is(SCHED_REMOTE_MAX / 4, MOST_MAX / 4, PAUSE_MS);
	answered(1, true);
	answered(1, true);
	now_is(1, MOST_MAX / 16, PAUSE_MS * UINT64_C(4));
	answered(1, false);
	now_is(2, MOST_MAX / 16, PAUSE_MS * UINT64_C(2));
	answered(1, true);
	now_is(1, MOST_MAX / 32, PAUSE_MS * UINT64_C(4));
	rig_close(&rig);
}

/* How much is in flight follows how often it conflicts: nearly the maximum where it
 * hardly ever does, next to nothing where every other txn does. */
T_CASE(remote_commits_follow_the_rate_of_conflicts)
{
	static const uint32_t one_in[] = {400, 60, 12, 4, 2};
	uint64_t before = UINT64_MAX;

	begin();
	for (unsigned k = 0; k < 5; k++) {
		struct pl_rng rng;
		uint64_t sum = 0;

		pl_rng_init(&rng, 7);
		for (unsigned i = 0; i < 4000; i++) {
			bool conflict = pl_rng_chance(&rng, 1, one_in[k]);

			answered(is->placements_max, conflict);
			T_TRUE(is->window >= 1 && is->window <= SCHED_REMOTE_MAX);
			T_TRUE(is->placements_max >= 1 && is->placements_max <= MOST_MAX);
			T_TRUE(is->pause_ms <= PAUSE_MAX_MS);
			sum += (uint64_t)is->window * is->placements_max;
		}
		T_TRUE(sum < before);
		T_TRUE(k > 0 || sum > UINT64_C(4000) * 224);
		before = sum;
	}
	T_TRUE(before < UINT64_C(4000) * 8); /* of 256 */
	rig_close(&rig);
}

/* Placements that wait or are in flight take of the room; during a pause there is
 * none. */
T_CASE(room_is_what_waiting_placements_leave)
{
	begin();
	is->waiting = 5;
	T_EQ(remote_commit_room(rig.sched), FIRST_WINDOW * FIRST_MOST - 5);
	is->out = 1;
	T_EQ(remote_commit_room(rig.sched), FIRST_MOST - 5);
	is->waiting = FIRST_MOST + 1;
	T_EQ(remote_commit_room(rig.sched), 0);
	is->waiting = 0;
	is->out = 0;
	answered(1, true);
	T_EQ(remote_commit_room(rig.sched), 0);
	T_TRUE(!remote_commit_is_ready(rig.sched));
	rig.sched->now_ms += PAUSE_MS - 1;
	T_EQ(remote_commit_room(rig.sched), 0);
	rig.sched->now_ms++;
	T_EQ(remote_commit_room(rig.sched), FIRST_MOST / 2);
	rig_close(&rig);
}
