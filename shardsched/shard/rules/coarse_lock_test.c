/*
 * Pods selected by more terms than a transaction has room for locks, and pods decided
 * under that many terms.
 */
#include "tests/support/shardsched/shard/sched_rig.h"

enum { OPS = 16, CARRIERS = 20, NODES = 3 };

#define REGISTRY "/groups/web/registry"

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

/* Each spreads over nodes with all pods of app a. */
static void carriers(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char name[16], labels[32], rules[512];

		(void)snprintf(name, sizeof name, "x-%u", i);
		(void)snprintf(labels, sizeof labels, "\"app\":\"x-%u\"", i);
		(void)snprintf(rules, sizeof rules,
		               "\"topologySpreadConstraints\":[{\"maxSkew\":9,"
		               "\"topologyKey\":\"host\",\"whenUnsatisfiable\":"
		               "\"DoNotSchedule\",\"labelSelector\":{"
		               "\"matchExpressions\":[{\"key\":\"app\",\"operator\":"
		               "\"In\",\"values\":[\"a\",\"x-%u\"]}]}}],",
		               i);
		put_pod(name, labels, "1m", rules);
	}
}

static void run_for_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 100)
		rig_run_idle(&rig);
}

/* n-0 is the only large node. */
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
	T_EQ(rig.malformed, 0);
	T_EQ(rig.troubles, 0);
	rig_close(&rig);
}

static const char *where(const char *name)
{
	return rig_where(&rig, 1, name);
}

static int64_t rev_of(const char *key)
{
	struct kv_record *record = rig_get(&rig.store, pl_span_str(key));

	return record == NULL ? 0 : record->mod_revision;
}

static void put_ended_state(const char *name, enum state_ask ask, enum state_ended ended)
{
	struct pl_buf buf = {.max = 4096};
	int phase;
	struct pod_state state = rig_state(&rig, 1, name, &phase);
	char key[128];

	state.ask = ask;
	state.ended = ended;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/state", name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static void are_bound(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "x-%u", i);
		T_TRUE(where(name)[0] == 'n');
	}
}

T_CASE(a_pod_that_many_terms_select_is_bound_and_ends)
{
	up();
	carriers(CARRIERS);
	run_for_ms(5000);
	are_bound(CARRIERS);
	put_pod("a", "\"app\":\"a\"", "60", "");
	run_for_ms(5000);
	T_STR(where("a"), "n-0");
	put_ended_state("a", STATE_ASK_DELETE, STATE_ENDED_SUCCEEDED);
	put_pod("b", "\"app\":\"b\"", "60", "");
	run_for_ms(15000);
	T_STR(where("a"), "");
	T_STR(where("b"), "n-0");
	down();
}

/* The terms come after the pod. */
T_CASE(a_bound_pod_that_many_new_terms_select_ends)
{
	up();
	put_pod("a", "\"app\":\"a\"", "60", "");
	run_for_ms(5000);
	T_STR(where("a"), "n-0");
	carriers(CARRIERS);
	run_for_ms(5000);
	are_bound(CARRIERS);
	put_ended_state("a", STATE_ASK_DELETE, STATE_ENDED_SUCCEEDED);
	put_pod("b", "\"app\":\"b\"", "60", "");
	run_for_ms(15000);
	T_STR(where("a"), "");
	T_STR(where("b"), "n-0");
	down();
}

T_CASE(a_pod_that_many_terms_select_is_a_victim)
{
	up();
	put_pod("a", "\"app\":\"a\"", "60", "");
	run_for_ms(5000);
	carriers(CARRIERS);
	run_for_ms(5000);
	rig_priority = 10;
	rig_pod(&rig, 1, "vip", "60", "");
	rig_priority = 0;
	run_for_ms(5000);
	T_STR(where("a"), "Terminating");
	put_ended_state("a", STATE_ASK_NONE, STATE_ENDED_FAILED);
	run_for_ms(15000);
	T_STR(where("vip"), "n-0");
	down();
}

/* A few locks are put one by one, and the registry stays as it is. */
T_CASE(a_few_locks_are_put_one_by_one)
{
	int64_t was;

	up();
	carriers(OPS / 4);
	run_for_ms(5000);
	was = rev_of(REGISTRY);
	put_pod("a", "\"app\":\"a\"", "1", "");
	run_for_ms(5000);
	T_STR(where("a"), "n-0");
	T_EQ(rev_of(REGISTRY), was);
	carriers(OPS / 4 + 1);
	run_for_ms(5000);
	was = rev_of(REGISTRY);
	put_pod("b", "\"app\":\"a\"", "1", "");
	run_for_ms(5000);
	T_STR(where("b"), "n-0");
	T_TRUE(rev_of(REGISTRY) > was);
	down();
}

/* The end of a pod cannot break anti-affinity to it. */
T_CASE(an_end_puts_no_anti_affinity_locks)
{
	static const char away[] =
		"\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnored"
		"DuringExecution\":[{\"topologyKey\":\"host\",\"labelSelector\":{"
		"\"matchLabels\":{\"app\":\"a\"}}}]}},";
	struct kv_keys locks = kv_prefix(PL_SPAN_LIT("/groups/web/anti-affinity-"));
	uint32_t at;
	int64_t was;

	up();
	put_pod("a", "\"app\":\"a\"", "60", "");
	put_pod("far", "\"app\":\"far\"", "100m", away);
	run_for_ms(5000);
	T_TRUE(where("a")[0] == 'n' && where("far")[0] == 'n');
	at = rig_at(&rig.store, locks.from);
	T_TRUE(kv_key_in(locks, rig.store.key[at].key));
	was = rig.store.key[at].mod_revision;
	put_ended_state("a", STATE_ASK_DELETE, STATE_ENDED_SUCCEEDED);
	run_for_ms(5000);
	T_STR(where("a"), "");
	at = rig_at(&rig.store, locks.from);
	T_EQ(rig.store.key[at].mod_revision, was);
	down();
}

/* A pod with so many terms of its own, each of which selects it. */
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

/* The locks that are only put are few enough alone, and too many beside those that are
 * compared. */
T_CASE(put_locks_give_way_to_compared_ones)
{
	up();
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 64});
	carriers(16);
	run_for_ms(5000);
	are_bound(16);
	put_ruled("a", 48);
	run_for_ms(5000);
	T_TRUE(where("c")[0] == 'n');
	down();
}

/* The only bound is what a transaction takes. */
T_CASE(a_pod_under_a_thousand_terms_is_bound_where_they_fit)
{
	up();
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 8192});
	put_ruled("c", 1100);
	run_for_ms(20000);
	T_TRUE(where("c")[0] == 'n');
	down();
}

/* Locks that are compared have to be compared one by one. */
T_CASE(a_pod_under_too_many_terms_reports_it)
{
	struct pod_state state;
	int phase;

	up();
	put_ruled("c", CARRIERS);
	run_for_ms(20000);
	state = rig_state(&rig, 1, "c", &phase);
	T_EQ(phase, STATE_PENDING);
	T_SPAN(state.reason, PL_SPAN_LIT("rules.many"));
	put_pod("d", "\"app\":\"d\"", "60", ""); /* no pod waits for it */
	run_for_ms(5000);
	T_STR(where("d"), "n-0");
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 64});
	run_for_ms(400000);
	T_TRUE(where("c")[0] == 'n');
	down();
}

/* The limits are set each turn, as the driver does, and are the same each time. How many
 * turns. */
static unsigned departures_for(uint64_t ms, bool each)
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
			more = rig_remote_list_all(&rig);
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

	up();
	put_ruled("c", CARRIERS);
	turns = departures_for(60000, each);
	state = rig_state(&rig, 1, "c", &phase);
	T_EQ(phase, STATE_PENDING);
	T_SPAN(state.reason, PL_SPAN_LIT("rules.many"));
	put_pod("d", "\"app\":\"d\"", "60", "");
	(void)departures_for(5000, each);
	T_STR(where("d"), "n-0");
	T_TRUE(turns < 7000);
	down();
}

T_CASE(too_many_terms_are_reported_once)
{
	too_many(false);
}

T_CASE(too_many_terms_are_reported_once_with_limits_set_each_turn)
{
	too_many(true);
}

/* Other pods under rules, meanwhile. */
static void others(bool each)
{
	up();
	put_ruled("c", CARRIERS);
	(void)departures_for(3000, each);
	put_pod("e", "\"app\":\"e\"", "1m",
	        "\"topologySpreadConstraints\":[{\"maxSkew\":9,\"topologyKey\":\"host\","
	        "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":"
	        "{\"app\":\"e\"}}}],");
	(void)departures_for(20000, each);
	T_TRUE(where("e")[0] == 'n');
	down();
}

T_CASE(other_pods_go_on_beside_too_many_terms)
{
	others(false);
}

T_CASE(other_pods_go_on_with_limits_set_each_turn)
{
	others(true);
}

static bool puts_state(unsigned out, const char *name)
{
	char key[64];

	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/state", name);
	return rig_out_puts(&rig.out[out], key);
}

static unsigned until_sent(const char *name)
{
	for (unsigned n = 0; n < 200; n++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && puts_state(i, name))
				return i;
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used)
				(void)rig_answer(&rig, i);
		rig_deliver_all(&rig);
		rig.now_ms += 20;
	}
	t_fail(__FILE__, __LINE__, "nothing is sent");
	return 0;
}

/* Another shard has put the registry as a coarse lock. What came with that put is not
 * known yet. */
T_CASE(decisions_wait_for_the_view_after_a_coarse_lock)
{
	char value[1 << 14];
	unsigned txn;

	up();
	carriers(2);
	run_for_ms(5000);
	carriers(3);
	rig_deliver_all(&rig);
	txn = until_sent("x-2");
	(void)snprintf(value, sizeof value, "%s", rig_value(&rig, REGISTRY));
	rig_put(&rig, REGISTRY, value);
	T_TRUE(!rig_answer(&rig, txn));
	for (unsigned n = 0; n < 50; n++) { /* no watched event comes in */
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used) {
				T_TRUE(!puts_state(i, "x-2"));
				(void)rig_answer(&rig, i);
			}
		rig.now_ms += 20;
	}
	run_for_ms(5000);
	are_bound(3);
	down();
}
