/* Large gangs whose members rules concern: what happens when they are bound, whatever
 * comes then, wherever a shard dies, and when there is no room. */
#include "shardsched/shard/rules/lock_backoff.h"
#include "tests/support/shardsched/shard/ruled_gang_rig.h"

/* -- pods that come after the flip ------------------------------------------- */

/* Decided before the flip, and sent after it. */
T_CASE(a_decision_made_without_the_gang_fails)
{
	two_shards();
	other_pod("q", "q", apart("a"));
	until_other_binds();
	members("");
	until("bound");
	other_hears();
	T_EQ(node_of("q", others()), NOWHERE);
	both_for(5000);
	if (node_of("q", others()) != NOWHERE)
		T_EQ(members_in(node_of("q", others()) % ZONES), 0);
	all_is_well();
	close_both();
}

static const char *spread_of(const char *key, const char *values)
{
	return text("\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"
	            "\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","
	            "\"labelSelector\":{\"matchExpressions\":[{\"key\":\"%s\","
	            "\"operator\":\"In\",\"values\":[%s]}]}}],",
	            key, values);
}

/* The gang's rule selects the pod, and the pod's rule selects a member; no rule selects
 * its own carriers. So what the gang's record puts is more than what it compares. There
 * are five zones, one of which takes one member less than the others, and a node in z0
 * which only the pod fits on and tolerates: with the pod there, there are too many for
 * either rule, whichever came first. */
T_CASE(two_rules_that_select_each_other_both_hold)
{
	const char *members_rule, *pod_rule;

	two_shards();
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % 5, n % 5 == 4 ? "2" : "4");
	rig_node(&rig, 100 % RIG_PARTITIONS, "n-100", "9");
	put_node(100, 0, "9", "\"taints\":[{\"key\":\"t\",\"effect\":\"NoSchedule\"}]");
	members_rule = spread_of("app", "\"a\",\"p\"");
	other_pod("first", "w", members_rule); /* so it is registered */
	both_for(2000);
	pod_rule = spread_of("two", "\"y\"");
	rig_put(&rig, text("/schedules/%04u/web/p/spec", others()),
	        text("{\"metadata\":{\"namespace\":\"web\",\"name\":\"p\",\"labels\":{"
	             "\"app\":\"p\",\"two\":\"y\"}},\"spec\":{%s\"tolerations\":[{"
	             "\"operator\":\"Exists\"}],\"containers\":[{\"name\":\"c\",\"resources\":{"
	             "\"requests\":{\"cpu\":\"6\"}}}]}}",
	             pod_rule));
	until_other_binds();
	for (uint32_t i = 1; i < MEMBERS; i++)
		member_with(i, members_rule);
	rig_put(&rig, text("/schedules/%04u/web/a-0/spec", local()),
	        text("{\"metadata\":{\"namespace\":\"web\",\"name\":\"a-0\",\"labels\":{"
	             "\"app\":\"a\",\"two\":\"y\"},\"annotations\":{"
	             "\"placet.io/gang\":\"a\",\"placet.io/gang-min\":\"%d\"}},"
	             "\"spec\":{%s\"nodeSelector\":{\"zone\":\"z0\"},\"containers\":[{"
	             "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
	             MEMBERS, members_rule));
	until("bound");
	other_hears();
	T_EQ(node_of("p", others()), NOWHERE);
	both_for(5000);
	T_EQ(node_of("p", others()), NOWHERE);
	all_is_well();
	close_both();
}

/* Another gang is bound, and its pods are not in the allocs yet: no view shows where they
 * are. */
T_CASE(a_gang_waits_for_one_that_is_bound_and_not_listed)
{
	char name[16];
	struct partition_group group = {.namespace = PL_SPAN_LIT("web")};
	uint32_t p = RIG_PARTITIONS;

	two_shards();
	members(spread);
	until("reserving");
	for (unsigned i = 0; p != others(); i++) {
		(void)snprintf(name, sizeof name, "b-%u", i);
		group.gang = pl_span_str(name);
		T_OK(partition_of_group(&group, RIG_PARTITIONS, &p, &rig.err), &rig.err);
	}
	rig_put(&rig, text("/gangs/web/%s", name),
	        "{\"v\":1,\"phase\":\"bound\",\"shard\":\"east-1\",\"epoch\":\"1\","
	        "\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":[{\"at\":0,"
	        "\"cluster\":\"east\",\"node\":\"n-0\",\"pods\":{\"b\":\"7\"}}]}");
	rig_deliver_all(&rig);
	run_for_ms(5000);
	T_STR(phase(), "reserving");
	both_for(2000); /* the owner sees that nothing is left of the gang */
	all_is_well();
	close_both();
}

/* The pod's rule was not known when the gang was bound, and the shard that was to list
 * the members may be dead. */
T_CASE(nothing_is_decided_under_rules_while_a_gang_is_bound_and_not_listed)
{
	for (unsigned dead = 0; dead < 2; dead++) {
		two_shards();
		members(spread);
		until("bound");
		T_EQ(bound(), 0);
		if (dead) {
			sched_free(rig.sched);
			rig.sched = NULL;
			another_shard();
		}
		other_pod("q", "q", apart("a"));
		other_for(8000);
		T_EQ(node_of("q", others()), NOWHERE);
		T_EQ(bound(), 0);
		if (dead)
			for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
				if (p != others())
					rig_own(&rig, p);
		both_for(5000);
		T_EQ(node_of("q", others()), NOWHERE); /* members are in all zones */
		rig_node(&rig, 101 % RIG_PARTITIONS, "n-101", "4");
		put_zone(101, 9, "4");
		both_for(20000);
		all_is_well();
		close_both();
	}
}

/* -- shards that die --------------------------------------------------------- */

/* The shard dies at each txn; the last one was applied, or not. */
T_CASE(the_next_owner_keeps_the_rules)
{
	bool reached = true;
	unsigned in[2] = {0};

	for (unsigned die = 0; reached; die++) {
		node_cpus = 4;
		begin_unowned();
		for (uint32_t n = 0; n < NODES; n++)
			put_zone(n, n % ZONES, "4");
		own_all();
		members(spread);
		reached = dies_at(die / 2, die % 2 == 0);
		in[0] += strcmp(phase(), "reserving") == 0;
		in[1] += strcmp(phase(), "bound") == 0;
		if (reached) {
			another_shard();
			own_all();
		}
		all_is_well();
		for (uint32_t z = 0; z < ZONES; z++)
			T_EQ(members_in(z), MEMBERS / ZONES);
		rig_close(&rig);
	}
	T_TRUE(in[0] > 2 && in[1] > 2);
}

/* The flip that was sent cannot be applied any more, since its epoch is over; sent anew
 * under the next epoch it would be, though most members are gone. */
T_CASE(a_flip_of_an_old_epoch_is_not_sent_again)
{
	for (unsigned waits = 0; waits < 2; waits++) {
		unsigned flip;

		two_shards();
		members("");
		flip = until_flip();
		if (waits)
			rig_fail(&rig, flip, PL_UNKNOWN);
		rig_lost(&rig, local());
		for (uint32_t i = 4; i < MEMBERS; i++)
			rig_del(&rig, text("/schedules/%04u/web/a-%u/spec", local(), i));
		rig_own(&rig, local());
		if (!waits)
			rig_fail(&rig, flip, PL_UNKNOWN);
		rig.now_ms += 20;
		rig_run(&rig);
		T_EQ(flip_out(), RIG_OUT_MAX);
		both_for(5000);
		T_EQ(bound(), 0);
		T_EQ(held(), 0);
		T_STR(phase(), "none");
		members("");
		both_for(5000);
		all_is_well();
		close_both();
	}
}

/* -- limits ------------------------------------------------------------------ */

T_CASE(more_locks_than_a_transaction_takes_are_reported)
{
	struct pod_state state;
	int phase_is;

	two_shards();
	for (uint32_t i = 0; i < MEMBERS; i++)
		member_with(i, apart(text("x-%u", i)));
	rig_deliver_all(&rig);
	both_for(5000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	state = rig_state(&rig, local(), "a-0", &phase_is);
	T_SPAN(state.reason, PL_SPAN_LIT("gang.large"));
	T_TRUE(memmem(state.message.at, state.message.len, "the locks of the rules",
	              22) != NULL);
	close_both();
}

/* -- failing allocations ----------------------------------------------------- */

static enum pl_code live_through(void)
{
	const struct sched_opts opts = {.shard = "east-0", .partitions = RIG_PARTITIONS};
	enum pl_code code = sched_new(&opts, &rig.sched, &rig.err);

	if (code != PL_OK)
		return code;
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
	own_all();
	for (int i = 0; i < 5; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 11000;
	}
	return PL_OK;
}

T_CASE_SECONDS(any_allocation_may_fail, 200)
{
	bool fired = true;
	uint64_t nth = 1;

	for (; fired; nth += 11) { /* the others have tests of their own */
		enum pl_code code;

		node_cpus = 4;
		begin_unowned();
		for (uint32_t n = 0; n < NODES; n++)
			put_zone(n, n % ZONES, "4");
		members(spread);
		sched_free(rig.sched);
		rig.sched = NULL;
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = live_through();
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE(code == PL_OK || (fired && code == PL_NOMEM));
		if (code == PL_OK)
			close_well();
		else
			rig_close(&rig);
	}
	T_TRUE(nth > 250);
}

/* -- competitors for one lock ------------------------------------------------ */

/* Another shard puts each lock that the flip compares, and decides under it. */
static void put_locks_of(unsigned slot)
{
	const struct kv_txn *txn = &rig.out[slot].req.txn;
	char key[4][KEYS_SIZE_MAX];
	unsigned count = 0;

	for (size_t i = 0; i < txn->compare_count && count < 4; i++) {
		struct pl_span at = txn->compares[i].keys.from;
		struct keys_id id;

		if (keys_parse(at, &id, NULL) == PL_OK && id.kind == KEYS_GROUP)
			(void)snprintf(key[count++], sizeof key[0], PL_SPAN_FMT,
			               PL_SPAN_ARG(at));
	}
	T_TRUE(count > 0);
	for (unsigned i = 0; i < count; i++)
		rig_put(&rig, key[i], "{\"v\":1,\"shard\":\"west-0\",\"decides\":true}");
}

/* A gang whose flip fails has not lost a turn: pods go on. */
T_CASE(a_gang_whose_flip_failed_keeps_no_pod_waiting)
{
	unsigned flip, runs = 0;

	two_shards();
	members(spread);
	flip = until_flip();
	put_locks_of(flip);
	T_TRUE(!rig_answer(&rig, flip));
	rig_put(&rig, text("/schedules/%04u/web/q/spec", local()),
	        text("{\"metadata\":{\"namespace\":\"web\",\"name\":\"q\",\"labels\":{"
	             "\"app\":\"q\"}},\"spec\":{%s\"containers\":[{\"name\":\"c\","
	             "\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}]}}",
	             apart("none")));
	rig_deliver_all(&rig);
	for (; node_of("q", local()) == NOWHERE && runs < 500; runs++) {
		(void)answer_all();
		rig.now_ms++;
		rig_run(&rig);
		T_TRUE(!lock_backoff_waits(rig.sched));
	}
	T_TRUE(runs < 500);
	both_for(20000);
	all_is_well();
	close_both();
}
