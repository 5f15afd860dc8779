/* A store that takes less than it was taken for, as one of several members that was
 * started with other flags does. It refuses txns that serve no pod: other pods go on, and
 * less is sent. */
#include "store/kv/check.h"
#include "tests/support/shardsched/shard/large_gang_rig.h"

static uint64_t most; /* operations in a list that the store takes */

static void answer_limited(unsigned i)
{
	uint64_t ops = kv_txn_ops(&rig.out[i].req);

	if (most == 0 || ops <= most) {
		(void)rig_answer(&rig, i);
		return;
	}
	rig_fail(&rig, i, PL_LIMIT);
}

static void run_for(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 50)
		rig_round(&rig, answer_limited);
}

static void up(uint64_t takes)
{
	most = takes;
	begin();
	run_for(500);
	members("");
}

static void give_up_gang(void)
{
	char key[128];

	for (uint32_t i = 0; i < MEMBERS; i++) {
		(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-%u/spec", local(),
		               i);
		rig_del(&rig, key);
		(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-%u/state", local(),
		               i);
		if (rig_value(&rig, key)[0] != 0)
			rig_del(&rig, key);
	}
}

static uint32_t plain_bound(uint32_t count)
{
	uint32_t is = 0;

	for (uint32_t i = 0; i < count; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "b-%u", i);
		is += rig_where(&rig, 1, name)[0] == 'n';
	}
	return is;
}

/* The gang waits, or its user gives it up; its nodes are not lost for others, and pods
 * under rules do not wait for ever. */
static void others_go_on(uint64_t takes)
{
	uint32_t busy = 0, plain;

	up(takes);
	run_for(500);
	if (takes == 0) {
		run_for(5000);
		T_EQ(bound(), MEMBERS);
		rig_close(&rig);
		return;
	}
	T_STR(phase(), "reserving");
	give_up_gang();
	run_for(30000);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "b-%u", i);
		rig_pod(&rig, 1, name, "1", "");
	}
	run_for(300000);
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		busy += rig.sched->txn[i].state == TXN_RETRY;
	plain = plain_bound(MEMBERS);
	T_EQ(plain, MEMBERS);
	T_EQ(busy, 0);
	rig_close(&rig);
}

T_CASE_SECONDS(a_gang_goes_where_the_store_takes_what_it_said, 100)
{
	others_go_on(0);
}

T_CASE_SECONDS(a_gangs_reservations_are_released_to_others, 100)
{
	others_go_on(12);
}

static uint32_t holds(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "n-%u", i);
		count += rig_alloc(&rig, i % RIG_PARTITIONS, name).holds;
	}
	return count;
}

/* Nominations on each node, long expired. */
static void nominate(void)
{
	for (uint32_t i = 0; i < NODES; i++) {
		char key[64], alloc[512];

		(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-%u",
		               i % RIG_PARTITIONS, i);
		(void)snprintf(
			alloc, sizeof alloc,
			"{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"1000m\","
			"\"pods\":\"1\"},\"holds\":[{\"kind\":\"nominated\","
			"\"namespace\":\"web\",\"name\":\"v-%u\",\"at\":1,\"used\":{"
			"\"cpu\":\"1000m\",\"pods\":\"1\"},\"until\":"
			"\"2020-01-01T00:00:00.000Z\"}]}",
			i);
		rig_put(&rig, key, alloc);
	}
}

/* Many nominations end at once: the same with commits. */
static void releases(uint64_t takes)
{
	most = takes;
	begin_unowned();
	nominate();
	own_all();
	run_for(200000);
	T_EQ(holds(), 0); /* no pod's placement takes one along */
	for (uint32_t i = 0; i < MEMBERS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "b-%u", i);
		rig_pod(&rig, 1, name, "1", "");
	}
	run_for(200000);
	T_EQ(plain_bound(MEMBERS), MEMBERS);
	rig_close(&rig);
}

T_CASE_SECONDS(nominations_end, 100)
{
	releases(0);
}

T_CASE_SECONDS(nominations_end_a_few_at_a_time, 100)
{
	releases(12);
}

/* Nodes without such reservations, and pods under rules. */
static void rules_go_on(uint64_t takes)
{
	most = takes;
	begin_unowned();
	nominate();
	rig_node(&rig, 1, "free", "8");
	own_all();
	run_for(100000);
	rig_put(&rig, "/schedules/0001/web/r/spec",
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"r\",\"uid\":\"u-r\","
	        "\"labels\":{\"app\":\"r\"}},\"spec\":{\"topologySpreadConstraints\":[{"
	        "\"maxSkew\":9,\"topologyKey\":\"host\",\"whenUnsatisfiable\":"
	        "\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{\"app\":\"r\"}}}],"
	        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":"
	        "\"4\"}}}]}}");
	rig_pod(&rig, 1, "p", "4", "");
	run_for(200000);
	T_STR(rig_where(&rig, 1, "r"), "free");
	T_STR(rig_where(&rig, 1, "p"), "free");
	rig_close(&rig);
}

T_CASE_SECONDS(pods_under_rules_go_on_beside_reservations, 100)
{
	rules_go_on(0);
}

T_CASE_SECONDS(pods_under_rules_go_on_beside_refused_txns, 100)
{
	rules_go_on(14);
}

/* Many members on a node: fewer go at once. */
static void many_on_a_node(uint64_t takes)
{
	most = takes;
	rig_open(&rig, NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
	for (uint32_t i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "n-%u", i);
		rig_node(&rig, i % RIG_PARTITIONS, name, "8");
	}
	own_all();
	run_for(500);
	members("");
	run_for(300000);
	T_EQ(bound(), MEMBERS);
	rig_close(&rig);
}

T_CASE_SECONDS(many_of_a_gang_are_bound_on_a_node, 100)
{
	many_on_a_node(0);
}

T_CASE_SECONDS(many_of_a_gang_are_bound_a_few_at_a_time, 100)
{
	many_on_a_node(8);
}
