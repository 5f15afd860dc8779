/* Gangs are bound whole or not at all. */
#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static uint32_t local(const char *gang)
{
	const struct partition_group group = {.namespace = PL_SPAN_LIT("web"),
	                                      .gang = pl_span_str(gang)};
	uint32_t out = 0;

	T_OK(partition_of_group(&group, RIG_PARTITIONS, &out, &rig.err), &rig.err);
	return out;
}

static void begin(const struct sched_opts *opts, uint32_t nodes, const char *cpu)
{
	rig_open(&rig, opts);
	for (uint32_t i = 0; i < nodes; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "n-%u", i);
		rig_node(&rig, i % RIG_PARTITIONS, name, cpu);
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
}

static void member(const char *gang, uint32_t i, uint32_t min, const char *cpu)
{
	char key[128], json[512];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s-%u/spec", local(gang),
	               gang, i);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s-%u\",\"uid\":"
	               "\"u-%s-%u\",\"annotations\":{\"placet.io/gang\":\"%s\","
	               "\"placet.io/gang-min\":\"%u\"}},\"spec\":{\"containers\":[{"
	               "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
	               gang, i, gang, i, gang, min, cpu);
	rig_put(&rig, key, json);
}

static void members(const char *gang, uint32_t from, uint32_t to, uint32_t min,
                    const char *cpu)
{
	for (uint32_t i = from; i < to; i++)
		member(gang, i, min, cpu);
	rig_deliver_all(&rig);
}

static uint32_t bound(const char *gang)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < 100; i++) {
		char name[32];
		int phase;

		(void)snprintf(name, sizeof name, "%s-%u", gang, i);
		(void)rig_state(&rig, local(gang), name, &phase);
		count += phase == STATE_BOUND;
	}
	return count;
}

static struct sched_figures figures(void)
{
	struct sched_figures is;

	sched_figures(rig.sched, &is);
	return is;
}

static void wait_ms(uint64_t ms)
{
	rig.now_ms += ms;
	rig_run_idle(&rig);
}

static void check_reason(const char *gang, uint32_t i, const char *reason,
                         const char *message)
{
	char name[32];
	struct pod_state state;
	int phase;

	(void)snprintf(name, sizeof name, "%s-%u", gang, i);
	state = rig_state(&rig, local(gang), name, &phase);
	T_EQ(phase, STATE_PENDING);
	T_SPAN(state.reason, pl_span_str(reason));
	T_TRUE(memmem(state.message.at, state.message.len, message, strlen(message)) !=
	       NULL);
}

T_CASE(a_gang_is_bound_in_one_transaction)
{
	begin(NULL, 4, "4");
	members("a", 0, 3, 3, "4");
	rig_run(&rig);
	T_EQ(figures().batches, 1);
	T_EQ(figures().inflight, 1);
	T_EQ(bound("a"), 0);
	T_TRUE(rig_answer(&rig, 0));
	T_EQ(bound("a"), 3);
	rig_run_idle(&rig);
	T_EQ(figures().placed, 3);
	T_EQ(figures().txns, 1);
	rig_close(&rig);
}

T_CASE(a_gang_waits_for_its_minimum)
{
	begin(NULL, 4, "4");
	members("a", 0, 3, 5, "1");
	rig_run_idle(&rig);
	wait_ms(1000);
	T_EQ(bound("a"), 0);
	check_reason("a", 0, "gang.incomplete", "3 of 5");
	check_reason("a", 2, "gang.incomplete", "3 of 5");
	members("a", 3, 5, 5, "1");
	rig_run_idle(&rig);
	T_EQ(bound("a"), 5);
	rig_close(&rig);
}

T_CASE(several_gangs_share_a_transaction)
{
	begin(NULL, 8, "4");
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 64});
	members("a", 0, 4, 4, "1");
	members("b", 0, 4, 4, "1");
	members("c", 0, 4, 4, "1");
	members("d", 0, 12, 12, "1");
	rig_run_idle(&rig);
	T_EQ(bound("a") + bound("b") + bound("c"), 12);
	T_EQ(bound("d"), 12);
	T_EQ(figures().batches, 2);
	rig_close(&rig);
}

/* The store's limit is lower than the known one: the gang gets a record then, and goes
 * step by step. */
T_CASE(a_gang_that_the_store_refuses_goes_in_steps)
{
	begin(NULL, 4, "4");
	members("a", 0, 4, 4, "4");
	rig_run(&rig);
	rig_fail(&rig, 0, PL_LIMIT);
	rig_run_idle(&rig);
	T_EQ(bound("a"), 4);
	T_STR(rig_value(&rig, "/gangs/web/a"), "");
	rig_close(&rig);
}

/* A member that may not run yet, or runs no more, does not count. */
T_CASE(gated_and_ended_members_do_not_count)
{
	char key[64];

	begin(NULL, 4, "4");
	members("a", 0, 2, 3, "1");
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-2/spec", local("a"));
	rig_put(&rig, key,
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a-2\",\"annotations\":"
	        "{\"placet.io/gang\":\"a\",\"placet.io/gang-min\":\"3\"}},\"spec\":{"
	        "\"schedulingGates\":[{\"name\":\"later\"}],\"containers\":[{\"name\":"
	        "\"c\"}]}}");
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-3/state", local("a"));
	rig_put(&rig, key,
	        "{\"v\":1,\"phase\":\"Succeeded\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	member("a", 3, 3, "1");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	wait_ms(1000);
	T_EQ(bound("a"), 0);
	check_reason("a", 0, "gang.incomplete", "2 of 3");
	member("a", 2, 3, "1"); /* no gate any more */
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_EQ(bound("a"), 3);
	rig_close(&rig);
}

/* An edit deletes the state, and what it said. */
T_CASE(an_edited_member_reports_again)
{
	char key[128];

	begin(NULL, 4, "4");
	members("a", 0, 2, 3, "1");
	rig_run_idle(&rig);
	wait_ms(1000);
	check_reason("a", 1, "gang.incomplete", "2 of 3");
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-1/state", local("a"));
	rig_del(&rig, key);
	member("a", 1, 3, "2");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	wait_ms(1000);
	check_reason("a", 1, "gang.incomplete", "2 of 3");
	rig_close(&rig);
}

T_CASE(a_gang_too_large_for_a_transaction_goes_in_steps)
{
	begin(NULL, 4, "8");
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 32});
	members("a", 0, 16, 16, "1");
	members("b", 0, 4, 4, "1");
	rig_run_idle(&rig);
	T_EQ(bound("a"), 16);
	T_STR(rig_value(&rig, "/gangs/web/a"), "");
	wait_ms(2000);
	T_EQ(bound("b"), 4);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 1024});
	members("a", 16, 17, 16, "1");
	rig_run_idle(&rig);
	T_EQ(bound("a"), 17);
	rig_close(&rig);
}

T_CASE(late_members_join)
{
	begin(NULL, 4, "4");
	members("a", 0, 3, 3, "4");
	rig_run_idle(&rig);
	T_EQ(bound("a"), 3);
	members("a", 3, 4, 3, "4");
	rig_run_idle(&rig);
	T_EQ(bound("a"), 4);
	members("a", 4, 5, 3, "4");
	rig_run_idle(&rig);
	T_EQ(bound("a"), 4);
	check_reason("a", 4, "gang.room", "Insufficient cpu");
	rig_close(&rig);
}

/* Each fits alone. */
T_CASE(one_of_two_gangs_that_do_not_fit_together_waits)
{
	char key[64];

	begin(NULL, 4, "4");
	members("a", 0, 3, 3, "4");
	members("b", 0, 3, 3, "4");
	rig_run_idle(&rig);
	T_EQ(bound("a") + bound("b"), 3);
	T_TRUE(bound("a") == 0 || bound("b") == 0);
	check_reason(bound("a") == 0 ? "a" : "b", 0, "gang.room", "no room");
	check_reason(bound("a") == 0 ? "a" : "b", 2, "gang.room", "no room");
	for (uint32_t i = 4; i < 6; i++) {
		(void)snprintf(key, sizeof key, "n-%u", i);
		rig_node(&rig, i % RIG_PARTITIONS, key, "4");
	}
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	wait_ms(20000);
	T_EQ(bound("a"), 3);
	T_EQ(bound("b"), 3);
	rig_close(&rig);
}

static void touch(uint32_t n)
{
	char key[64];

	(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-%u", n % RIG_PARTITIONS, n);
	rig_put(&rig, key, rig_value(&rig, key));
}

T_CASE(a_conflict_on_one_node_unbinds_all)
{
	begin(NULL, 4, "4");
	members("a", 0, 4, 4, "4");
	rig_run(&rig);
	touch(2);
	T_TRUE(!rig_answer(&rig, 0));
	T_EQ(bound("a"), 0);
	rig_run_idle(&rig);
	T_EQ(bound("a"), 4);
	T_EQ(figures().batches_failed, 1);
	rig_close(&rig);
}

/* And the outcome of a txn with an unknown outcome is found out. */
T_CASE(a_gang_is_not_bound_twice)
{
	struct kv_result ignored;

	begin(NULL, 4, "4");
	members("a", 0, 4, 4, "4");
	rig_run(&rig);
	ignored = rig_exec(&rig.store, &rig.out[0].req.txn);
	T_TRUE(ignored.txn.succeeded);
	rig_fail(&rig, 0, PL_UNKNOWN);
	wait_ms(100);
	T_EQ(bound("a"), 4);
	for (uint32_t n = 0; n < 4; n++) {
		char name[16];

		(void)snprintf(name, sizeof name, "n-%u", n);
		T_EQ(rig_alloc(&rig, n, name).pods, 1);
	}
	rig_close(&rig);
}

T_CASE(a_member_that_goes_during_the_txn_makes_it_fail)
{
	char key[64];

	begin(NULL, 4, "4");
	members("a", 0, 4, 4, "4");
	rig_run(&rig);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-1/spec", local("a"));
	rig_del(&rig, key);
	T_TRUE(!rig_answer(&rig, 0));
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	wait_ms(1000);
	T_EQ(bound("a"), 0);
	check_reason("a", 0, "gang.incomplete", "3 of 4");
	rig_close(&rig);
}

T_CASE(members_that_contradict_each_other_wait)
{
	begin(NULL, 4, "4");
	members("a", 0, 2, 2, "1");
	rig_run_idle(&rig);
	T_EQ(bound("a"), 2);
	member("b", 0, 2, "1");
	member("b", 1, 1, "1");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_EQ(bound("b"), 0);
	check_reason("b", 0, "gang.disagrees", "gang-min");
	member("b", 1, 2, "1");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_EQ(bound("b"), 2);
	rig_close(&rig);
}

/* There are as many members as when it was refused. */
T_CASE(a_replaced_member_is_tried)
{
	char key[64];

	begin(NULL, 4, "4");
	members("a", 0, 2, 3, "1");
	members("a", 2, 3, 3, "8");
	for (uint32_t i = 0; i < 60; i++)
		wait_ms(1000);
	check_reason("a", 0, "gang.room", "Insufficient cpu");
	member("a", 2, 3, "4");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_EQ(bound("a"), 3);
	members("b", 0, 2, 2, "1");
	members("b", 2, 3, 2, "8");
	for (uint32_t i = 0; i < 60; i++)
		wait_ms(1000);
	T_EQ(bound("b"), 2);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/b-2/spec", local("b"));
	rig_del(&rig, key);
	member("b", 3, 2, "1");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_EQ(bound("b"), 3);
	rig_close(&rig);
}

/* The txn that compares or puts a lock of a rule; RIG_OUT_MAX: there is none. */
static unsigned txn_with_lock(char *key, size_t size)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		const struct kv_txn *txn = &rig.out[i].req.txn;

		for (size_t n = 0; rig.out[i].used && n < txn->compare_count; n++) {
			struct pl_span is = txn->compares[n].keys.from;

			if (!pl_span_starts(is, PL_SPAN_LIT("/groups/web/spread-")))
				continue;
			(void)snprintf(key, size, "%.*s", PL_SPAN_ARG(is));
			if (txn->then_count > 4) /* not the registration */
				return i;
		}
	}
	return RIG_OUT_MAX;
}

/* Pods that the members' rules select must not have changed since the members were
 * decided. */
T_CASE(members_with_rules_compare_and_put_locks)
{
	unsigned with = RIG_OUT_MAX;
	char lock[128], key[64], json[768];

	begin(NULL, 4, "4");
	for (uint32_t i = 0; i < 4; i++) {
		(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-%u/spec",
		               local("a"), i);
		(void)snprintf(json, sizeof json,
		               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a-%u\","
		               "\"labels\":{\"app\":\"a\"},\"annotations\":{"
		               "\"placet.io/gang\":\"a\",\"placet.io/gang-min\":\"4\"}},"
		               "\"spec\":{\"topologySpreadConstraints\":[{\"maxSkew\":1,"
		               "\"topologyKey\":\"host\",\"whenUnsatisfiable\":"
		               "\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":{"
		               "\"app\":\"a\"}}}],\"containers\":[{\"name\":\"c\"}]}}",
		               i);
		rig_put(&rig, key, json);
	}
	rig_deliver_all(&rig);
	for (unsigned n = 0; n < 200 && with == RIG_OUT_MAX; n++) {
		rig_views(&rig);
		rig_run(&rig);
		with = txn_with_lock(lock, sizeof lock);
		for (unsigned i = 0; i < RIG_OUT_MAX && with == RIG_OUT_MAX; i++)
			if (rig.out[i].used)
				(void)rig_answer(&rig, i);
		if (with == RIG_OUT_MAX)
			rig_deliver_all(&rig);
		rig.now_ms += 20;
	}
	T_TRUE(with != RIG_OUT_MAX);
	rig_put(&rig, lock, "{\"v\":1,\"shard\":\"west-0\"}");
	T_TRUE(!rig_answer(&rig, with));
	T_EQ(bound("a"), 0);
	rig_run_idle(&rig);
	wait_ms(2000);
	T_EQ(bound("a"), 4);
	for (uint32_t i = 0; i < 4; i++) {
		(void)snprintf(key, sizeof key, "n-%u", i);
		T_EQ(rig_alloc(&rig, i, key).pods, 1);
	}
	rig_close(&rig);
}

T_CASE(a_lost_partition_forgets_its_gangs)
{
	begin(NULL, 4, "4");
	members("a", 0, 4, 4, "4");
	members("b", 0, 3, 4, "4");
	rig_run(&rig);
	rig_lost(&rig, local("a"));
	rig_run(&rig);
	(void)rig_answer(&rig, 0);
	rig_run(&rig);
	rig_own(&rig, local("a"));
	rig_run_idle(&rig);
	T_TRUE(bound("a") == 4);
	rig_close(&rig);
}

T_CASE(new_settings_keep_gangs)
{
	const struct sched_settings other = {.backoff_first_ms = 77};

	begin(NULL, 4, "4");
	members("a", 0, 4, 4, "4");
	rig_run(&rig);
	members("b", 0, 3, 4, "1");
	rig_run(&rig);
	T_OK(sched_configure(rig.sched, &other, &rig.err), &rig.err);
	T_TRUE(rig_answer(&rig, 0));
	rig_run_idle(&rig);
	T_EQ(bound("a"), 4);
	members("b", 3, 4, 4, "1");
	rig_run_idle(&rig);
	T_EQ(bound("b"), 0);
	rig_close(&rig);
}
