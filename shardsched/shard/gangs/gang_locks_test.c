/*
 * A large gang without rules, every member of which the terms of other pods select: each
 * puts the locks of all of these when it is bound.
 */
#include "tests/support/shardsched/shard/large_gang_rig.h"

/* With a member's state and the alloc, one more than fits into a transaction. */
enum { TOO_MANY = OPS - 1 };

/* Pods that spread over nodes with the members of the gang. */
static void carriers(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char key[64], json[640];

		(void)snprintf(key, sizeof key, "/schedules/%04u/web/x-%u/spec",
		               i % RIG_PARTITIONS, i);
		(void)snprintf(
			json, sizeof json,
			"{\"metadata\":{\"namespace\":\"web\",\"name\":\"x-%u\","
			"\"labels\":{\"app\":\"x-%u\"}},\"spec\":{"
			"\"topologySpreadConstraints\":[{\"maxSkew\":9,\"topologyKey\":"
			"\"host\",\"whenUnsatisfiable\":\"DoNotSchedule\","
			"\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\","
			"\"operator\":\"In\",\"values\":[\"a\",\"x-%u\"]}]}}],"
			"\"containers\":[{\"name\":\"c\"}]}}",
			i, i, i);
		rig_put(&rig, key, json);
	}
	rig_deliver_all(&rig);
}

static void are_bound(void)
{
	run_for_ms(30000);
	T_EQ(bound(), MEMBERS);
	T_EQ(held(), 0);
	T_EQ(rig.troubles, 0);
	close_well();
}

/* A coarse lock is put in place of the locks (rules/coarse_lock.c). */
T_CASE(more_terms_than_a_transaction_takes_select_a_member)
{
	begin();
	carriers(TOO_MANY);
	run_for_ms(5000);
	members("");
	are_bound();
}

T_CASE(as_many_terms_as_a_transaction_takes_select_a_member)
{
	begin();
	carriers(TOO_MANY - 1);
	run_for_ms(5000);
	members("");
	are_bound();
}

T_CASE(terms_may_come_while_room_is_reserved)
{
	begin();
	members("");
	until("reserving");
	carriers(TOO_MANY);
	are_bound();
}

T_CASE(terms_may_come_after_the_flip)
{
	begin();
	members("");
	until("bound");
	carriers(TOO_MANY);
	are_bound();
}
