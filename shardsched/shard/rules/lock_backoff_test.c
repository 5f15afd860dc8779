/*
 * Two shards decide under one lock at once: the one that has lost lets the other go on.
 * Each node is in a zone of its own, so a and b conflict by the lock only.
 */
#include "tests/support/shardsched/shard/rule_locks_rig.h"

#define DECIDED "{\"v\":1,\"shard\":\"west-0\",\"decides\":true}"
#define PUT "{\"v\":1,\"shard\":\"west-0\"}"

enum { TOOK_MS = 20, QUIET_MS = 3 * TOOK_MS, QUIET_TWICE_MS = 2 * QUIET_MS };
enum { TURN_MIN_MS = 200, TURN_MAX_MS = 400, TURN_TWICE_MS = 2 * TURN_MAX_MS };

/* The slow txn fails: the other shard has put the lock meanwhile. */
static void lose(const char *value)
{
	unsigned txn = begin("z1");

	find_lock(txn);
	rig.now_ms += TOOK_MS;
	rig_put(&rig, lock, value);
	T_TRUE(!rig_answer(&rig, txn));
	rig_deliver_all(&rig);
	rig_run(&rig);
}

static bool is_sent(void)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used && binds(&rig.out[i].req.txn))
			return true;
	return false;
}

static void at(uint64_t ms)
{
	rig.now_ms = ms;
	rig_deliver_all(&rig);
	rig_run(&rig);
}

T_CASE(the_loser_waits_until_the_lock_has_rested)
{
	uint64_t lost_ms;

	lose(DECIDED);
	lost_ms = rig.now_ms;
	T_TRUE(!is_sent());
	at(lost_ms + QUIET_MS - 1);
	T_TRUE(!is_sent());
	T_TRUE(sched_deadline_ms(rig.sched) <= lost_ms + QUIET_MS);
	at(lost_ms + QUIET_MS);
	T_TRUE(is_sent());
	rig_close(&rig);
}

T_CASE(the_winner_goes_on_at_once)
{
	uint64_t lost_ms;

	lose(DECIDED);
	lost_ms = rig.now_ms;
	rig_put(&rig, lock, DECIDED);
	at(lost_ms + QUIET_MS - 1);
	at(lost_ms + QUIET_MS);
	T_TRUE(!is_sent());
	at(lost_ms + QUIET_TWICE_MS - 1);
	T_TRUE(is_sent());
	rig_close(&rig);
}

/* However long the other shard goes on, this one gets its turn. */
T_CASE(the_loser_tries_again_after_a_turn)
{
	uint64_t lost_ms, now_ms;

	lose(DECIDED);
	lost_ms = now_ms = rig.now_ms;
	while (!is_sent() && now_ms < lost_ms + TURN_TWICE_MS) {
		rig_put(&rig, lock, DECIDED);
		at(++now_ms);
	}
	T_TRUE(now_ms >= lost_ms + TURN_MIN_MS && now_ms < lost_ms + TURN_MAX_MS);
	rig_close(&rig);
}

/* The other shard's pod came or went, which may go on for ever. */
T_CASE(a_shard_that_only_puts_the_lock_is_no_competitor)
{
	lose(PUT);
	T_TRUE(is_sent());
	rig_close(&rig);
}

/* A put after mere puts is no decision of the other shard. */
T_CASE(a_mere_put_does_not_prolong_the_wait)
{
	uint64_t lost_ms;

	lose(DECIDED);
	lost_ms = rig.now_ms;
	rig_put(&rig, lock, PUT);
	at(lost_ms + QUIET_MS - 1);
	at(lost_ms + QUIET_MS);
	T_TRUE(is_sent());
	rig_close(&rig);
}

/* The value of a lock that was decided under says so. */
T_CASE(a_lock_value_says_that_its_writer_decided)
{
	unsigned txn = begin("z1");

	find_lock(txn);
	T_TRUE(rig_answer(&rig, txn));
	T_TRUE(strstr(rig_value(&rig, lock), "\"decides\":true}") != NULL);
	rig_close(&rig);
}
