#include "coord/api/verbs/request_turns.h"
#include "tests/harness/t.h"

enum { REQUESTS = 3 * REQUEST_TURN_WRITES };

static struct pl_list link[REQUESTS];
static unsigned begun;
static uint64_t time_ms;
static struct request_turns turns;

static void on_begin(struct pl_list *at)
{
	T_TRUE(at == &link[begun] || at == &link[begun + 1]);
	begun = (unsigned)(at - link) + 1;
}

static uint64_t now_ms(void *ctx)
{
	(void)ctx;
	return time_ms;
}

T_CASE(a_turn_begins_some_and_later_ones_the_rest_in_order)
{
	struct pl_timers timers;
	unsigned at_once = 0;

	pl_timers_init(&timers, NULL, NULL);
	T_EQ(request_turns_open(&turns, &timers, on_begin, now_ms, NULL), PL_OK);
	for (unsigned i = 0; i < REQUESTS; i++) {
		pl_list_init(&link[i]);
		at_once += request_turns_may(&turns, &link[i]);
	}
	T_EQ(at_once, REQUEST_TURN_WRITES);
	begun = at_once;
	pl_list_del(&link[REQUEST_TURN_WRITES + 1]); /* the client has gone */
	pl_timers_run(&timers, time_ms);
	T_EQ(begun, 2 * REQUEST_TURN_WRITES + 1);
	pl_timers_run(&timers, time_ms);
	T_EQ(begun, REQUESTS);
	pl_timers_run(&timers, time_ms);
	/* Nothing waits: the next one begins at once, and no timer is left. */
	pl_timers_run(&timers, time_ms);
	T_TRUE(!pl_timer_is_set(&turns.next));
	pl_list_init(&link[0]);
	T_TRUE(request_turns_may(&turns, &link[0]));
	request_turns_close(&turns);
	pl_timers_done(&timers);
}
