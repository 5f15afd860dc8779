/* A victim counts for spreading until the store says that it leaves. */
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

#define APART                                                             \
	",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":" \
	"\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","               \
	"\"labelSelector\":{\"matchLabels\":{\"set\":\"db\"}}}]"

static void node_in(const char *name, const char *zone, const char *cpu)
{
	char key[128], json[256];

	(void)snprintf(key, sizeof key, "/nodes/0000/east/%s", name);
	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"%s\"}},"
		"\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"%s\",\"memory\":\"64Gi\","
		"\"pods\":\"110\"}}}",
		name, zone, cpu);
	rig_put(&rig, key, json);
	(void)snprintf(key, sizeof key, "/alloc/0000/east/%s", name);
	rig_put(&rig, key, "{\"v\":1,\"generation\":1}");
}

static bool has_phase(const char *name, enum state_phase want)
{
	int phase;

	(void)rig_state(&rig, 1, name, &phase);
	return phase == (int)want;
}

static const char db_0[] = "/schedules/0001/web/db-0/state";
static unsigned kept;

/* Answers everything but what writes that. */
static void answer(unsigned out)
{
	if (rig_out_puts(&rig.out[out], db_0))
		kept = out;
	else
		(void)rig_answer(&rig, out);
}

/* The txn that is not answered; RIG_OUT_MAX: there is none. */
static unsigned run_all_but(void)
{
	kept = RIG_OUT_MAX;
	for (unsigned round = 0; round < 30; round++) {
		rig_round(&rig, answer);
		rig.now_ms += 50;
	}
	return kept;
}

static void settle(void)
{
	for (unsigned i = 0; i < 20; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 1000;
	}
}

/* n-2 is all of zone b, and too small for any pod: so zone a may have one only. */
T_CASE(a_victim_counts_until_it_leaves)
{
	unsigned plan;

	rig_open(&rig, NULL);
	node_in("n-1", "a", "4");
	node_in("n-2", "b", "100m");
	node_in("n-3", "a", "1");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_replica(&rig, 1, "db-0", "3", APART);
	settle();
	T_TRUE(has_phase("db-0", STATE_BOUND));

	rig_priority = 10;
	rig_pod(&rig, 1, "high", "2", "");
	plan = run_all_but();
	T_TRUE(plan != RIG_OUT_MAX);
	rig_replica(&rig, 1, "db-1", "500m", APART);
	T_EQ(run_all_but(), plan);
	T_TRUE(has_phase("db-0", STATE_BOUND));
	T_TRUE(!has_phase("db-1", STATE_BOUND));

	T_TRUE(rig_answer(&rig, plan));
	rig_deliver_all(&rig);
	settle();
	T_TRUE(has_phase("db-0", STATE_TERMINATING));
	T_TRUE(has_phase("db-1", STATE_BOUND));
	rig_close(&rig);
}
