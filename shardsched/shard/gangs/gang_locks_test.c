/*
 * A large gang without rules, of whom rules of others find every member: each puts the
 * locks of all of these when it is bound.
 */
#include "shardsched/shard/gangs/gang_kit.h"

/* With a member's state, and the alloc, one more than a transaction takes. */
enum { TOO_MANY = OPS - 1 };

/* Spread over nodes, with the members of the gang. */
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

static bool says(uint32_t i, const char *message)
{
	char name[16];
	int phase_is;
	struct pod_state state;

	(void)snprintf(name, sizeof name, "a-%u", i);
	state = rig_state(&rig, home(), name, &phase_is);
	return phase_is == STATE_PENDING &&
	       pl_span_eq(state.reason, PL_SPAN_LIT("gang.large")) &&
	       memmem(state.message.at, state.message.len, message, strlen(message)) !=
	               NULL;
}

static void is_refused(void)
{
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	T_TRUE(says(0, "the locks of the rules"));
	rig_close(&rig);
}

T_CASE(what_can_never_be_listed_is_not_bound)
{
	begin();
	carriers(TOO_MANY);
	settle_for(5000);
	members("");
	settle_for(5000);
	is_refused();
}

T_CASE(what_can_be_listed_is)
{
	begin();
	carriers(TOO_MANY - 1);
	settle_for(5000);
	members("");
	until("bound");
	close_well();
}

T_CASE(they_may_come_while_room_is_held)
{
	begin();
	members("");
	until("reserving");
	carriers(TOO_MANY);
	settle_for(30000);
	is_refused();
}

static bool lists_a_member(const struct rig_out *out)
{
	const struct kv_txn *txn = &out->req.txn;

	for (size_t i = 0; i < txn->then_count; i++)
		if (txn->then[i].op == KV_PUT &&
		    memmem(txn->then[i].put.key.at, txn->then[i].put.key.len, "/web/a-",
		           7) != NULL)
			return true;
	return false;
}

static void but_for_members(unsigned out)
{
	if (lists_a_member(&rig.out[out]))
		rig_fail(&rig, out, PL_BUSY);
	else
		(void)rig_answer(&rig, out);
}

/* It is bound, and no member can be listed until more goes into a transaction. */
T_CASE(they_may_come_when_it_is_bound)
{
	begin();
	members("");
	until("bound");
	carriers(TOO_MANY);
	for (unsigned i = 0; i < 200; i++) {
		rig.now_ms += 20;
		rig_round(&rig, but_for_members);
	}
	settle_for(30000);
	T_STR(phase(), "bound");
	T_EQ(bound(), 0);
	T_TRUE(says(0, "is bound, and"));
	T_EQ(rig.troubles, 1);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 2 * OPS});
	close_well();
}
