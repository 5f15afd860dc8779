/* Pods that are decided under more terms than a transaction has room for; and the driver,
 * which tells the limits each turn. */
#include "shardsched/shard/sched_rig.h"

enum { OPS = 16, CARRIERS = 20, NODES = 3 };

static struct rig rig;

static void put_pod(const char *name, const char *labels, const char *cpu,
                    const char *rules)
{
	static char json[1 << 19];
	char key[64];

	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/spec", name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{%s}},\"spec\":{%s\"containers\":[{\"name\":"
	               "\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
	               name, name, labels, rules, cpu);
	rig_put(&rig, key, json);
}

/* n-0 is the only large one. */
static void up(void)
{
	rig_open(&rig, NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
	for (uint32_t i = 0; i < NODES; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "n-%u", i);
		rig_node(&rig, 0, name, i == 0 ? "64" : "1");
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
}

static void down(void)
{
	T_EQ(rig.garbled, 0);
	T_EQ(rig.troubles, 0);
	rig_close(&rig);
}

static const char *where(const char *name)
{
	return rig_where(&rig, 1, name);
}

/* So many terms of its own, each of which finds it. */
static void put_ruled(const char *app, uint32_t terms)
{
	static char rules[1 << 18];
	char labels[32];
	size_t len = (size_t)snprintf(rules, sizeof rules,
	                              "\"affinity\":{\"podAffinity\":{\"required"
	                              "DuringSchedulingIgnoredDuringExecution\":[");

	for (uint32_t i = 0; i < terms; i++)
		len += (size_t)snprintf(
			rules + len, sizeof rules - len,
			"%s{\"topologyKey\":\"host\",\"labelSelector\":{\"matchExpressions"
			"\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"%s\","
			"\"y-%u\"]}]}}",
			i == 0 ? "" : ",", app, i);
	(void)snprintf(rules + len, sizeof rules - len, "]}},");
	(void)snprintf(labels, sizeof labels, "\"app\":\"%s\"", app);
	put_pod("c", labels, "1", rules);
}

/* As the driver does: the limits are told each turn, the same each time. How many turns.
 */
static unsigned turns_for(uint64_t ms, bool each)
{
	unsigned turns = 0;

	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 10) {
		bool more = true;

		for (unsigned i = 0; more && i < 50; i++) {
			if (each)
				sched_set_limits(rig.sched,
				                 (struct kv_limits){.txn_ops = OPS});
			rig_views(&rig);
			rig_run(&rig);
			turns++;
			more = rig_visit_all(&rig);
			for (unsigned n = 0; n < RIG_OUT_MAX; n++)
				if (rig.out[n].used) {
					(void)rig_answer(&rig, n);
					more = true;
				}
			rig_deliver_all(&rig);
			more = more || sched_deadline_ms(rig.sched) <= rig.now_ms;
		}
	}
	return turns;
}

static void too_many(bool each)
{
	struct pod_state state;
	int phase;
	unsigned turns;
	struct sched_figures figures;

	up();
	put_ruled("c", CARRIERS);
	turns = turns_for(60000, each);
	sched_figures(rig.sched, &figures);
	state = rig_state(&rig, 1, "c", &phase);
	T_EQ(phase, STATE_PENDING);
	T_SPAN(state.reason, PL_SPAN_LIT("rules.many"));
	put_pod("d", "\"app\":\"d\"", "60", "");
	(void)turns_for(5000, each);
	T_STR(where("d"), "n-0");
	T_TRUE(turns < 7000);
	down();
}

T_CASE(who_has_too_many_is_told_once)
{
	too_many(false);
}

T_CASE(so_it_is_where_limits_are_told_each_turn)
{
	too_many(true);
}

/* Others under rules, meanwhile. */
static void others(bool each)
{
	up();
	put_ruled("c", CARRIERS);
	(void)turns_for(3000, each);
	put_pod("e", "\"app\":\"e\"", "1m",
	        "\"topologySpreadConstraints\":[{\"maxSkew\":9,\"topologyKey\":\"host\","
	        "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":"
	        "{\"app\":\"e\"}}}],");
	(void)turns_for(20000, each);
	T_TRUE(where("e")[0] == 'n');
	down();
}

T_CASE(others_go_on)
{
	others(false);
}

T_CASE(others_go_on_where_limits_are_told_each_turn)
{
	others(true);
}
