/* Pods that terminate are said to be gone, once, and nothing else is touched. */
#include "bench/live/member.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;

static const char leaving[] =
	"{\"v\":1,\"phase\":\"Terminating\",\"cluster\":\"west\",\"node\":\"node-5\","
	"\"next\":\"Pending\",\"since\":\"2026-11-21T09:00:00.000Z\"}";
static const char bound[] =
	"{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"west\",\"node\":\"node-5\","
	"\"since\":\"2026-11-21T09:00:00.000Z\"}";

static void turn_loop(void *ctx)
{
	(void)ctx;
	kit_run(&kit, kit.now_ms + 1);
}

static const char *value_of(const char *key)
{
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	return pl_arena_printf(&kit.arena, PL_SPAN_FMT,
	                       PL_SPAN_ARG(kit.result.get.records[0].value));
}

static bool is_gone(const char *key)
{
	return strstr(value_of(key), "\"ended\":\"Gone\"") != NULL;
}

static char *key_of(unsigned number)
{
	return pl_arena_printf(&kit.arena, "/schedules/0001/sched-0/before-%u/state",
	                       number);
}

static struct member *member_up(void)
{
	struct member *member;

	kit_open(&kit, NULL);
	member = member_open(kit.kv, 1);
	turn_loop(NULL);
	return member;
}

static void member_down(struct member *member)
{
	member_close(member, turn_loop, NULL);
	kit_close(&kit);
}

T_CASE(only_terminating_pods_are_reported_gone)
{
	struct member *member = member_up();

	(void)kit_put(&kit, key_of(1), leaving);
	(void)kit_put(&kit, key_of(2), bound);
	(void)kit_put(&kit, "/schedules/0001/sched-0/before-3/spec", "{}");
	(void)kit_put(&kit, key_of(4), "malformed");
	for (int i = 0; i < 3; i++)
		turn_loop(NULL);
	T_TRUE(is_gone(key_of(1)));
	T_TRUE(strstr(value_of(key_of(1)), "\"next\":\"Pending\"") != NULL);
	T_STR(value_of(key_of(2)), bound);
	T_STR(value_of(key_of(4)), "malformed");
	member_down(member);
}

/* More pods terminate than one transaction takes, and one of them changes meanwhile. */
T_CASE(pods_that_terminate_at_once_do_not_delay_each_other)
{
	struct member *member;

	kit_open(&kit, NULL);
	for (unsigned i = 0; i < 200; i++)
		(void)kit_put(&kit, key_of(i), leaving);
	(void)kit_put(&kit, key_of(100), bound);
	member = member_open(kit.kv, 1); /* all pods reach the new member together */
	for (int i = 0; i < 20; i++)
		turn_loop(NULL);
	for (unsigned i = 0; i < 200; i++)
		T_EQ(is_gone(key_of(i)), i != 100);
	T_STR(value_of(key_of(100)), bound);
	member_down(member);
}
