/*
 * Two shards decide under one lock at once: who has lost lets the other go on. Nodes are
 * in zones of their own, so that a and b never are in each other's way but by the lock.
 */
#include "shardsched/shard/rules/locks_rig.h"

#define DECIDED "{\"v\":1,\"shard\":\"west-0\",\"decides\":true}"
#define PUT "{\"v\":1,\"shard\":\"west-0\"}"

enum { TOOK_MS = 20, QUIET_MS = 3 * TOOK_MS, QUIET_TWICE_MS = 2 * QUIET_MS };
enum { TURN_MIN_MS = 200, TURN_MAX_MS = 400, TURN_TWICE_MS = 2 * TURN_MAX_MS };

/* What took so long is refused: the other shard has put the lock meanwhile. */
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

T_CASE(who_has_lost_waits_until_the_lock_has_rested)
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

T_CASE(the_other_goes_on)
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

/* However long he goes on, it is our turn once. */
T_CASE(a_turn_is_over)
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

/* A pod of his came or went: that may go on for ever. */
T_CASE(who_only_puts_the_lock_is_no_rival)
{
	lose(PUT);
	T_TRUE(is_sent());
	rig_close(&rig);
}

/* What is put by one who has only put it before is no turn of his. */
T_CASE(a_put_does_not_make_us_wait_longer)
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

/* It says of a lock that it was put by somebody who decided under it. */
T_CASE(what_we_put_says_that_we_decide)
{
	unsigned txn = begin("z1");

	find_lock(txn);
	T_TRUE(rig_answer(&rig, txn));
	T_TRUE(strstr(rig_value(&rig, lock), "\"decides\":true}") != NULL);
	rig_close(&rig);
}
