/* Large gangs whose members rules concern: what other pods do between the steps, until
 * the gang is bound. */
#include "tests/support/shardsched/shard/ruled_gang_rig.h"

/* -- as it should be --------------------------------------------------------- */

T_CASE(spreading_over_zones_goes_in_steps)
{
	two_shards();
	members(spread);
	until("reserving");
	until("bound");
	T_EQ(held(), MEMBERS);
	until("none");
	both_for(1000);
	for (uint32_t z = 0; z < ZONES; z++)
		T_EQ(members_in(z), MEMBERS / ZONES);
	all_is_well();
	close_both();
}

T_CASE(affinity_over_zones_goes_in_steps)
{
	uint32_t zone = 0;

	two_shards();
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, "9");
	node_cpus = 9;
	rig_deliver_all(&rig);
	members(by_app("podAffinity", "a"));
	both_for(2000);
	while (members_in(zone) == 0)
		zone++;
	T_EQ(members_in(zone), MEMBERS);
	all_is_well();
	close_both();
}

/* -- pods that come between the steps ---------------------------------------- */

/* From the record on, until its last moment, a pod comes that excludes the members. */
T_CASE(a_pod_that_comes_while_room_is_reserved_counts)
{
	for (unsigned late = 0; late < 2; late++) {
		unsigned flip = RIG_OUT_MAX;
		uint32_t node;

		two_shards();
		members(apart("y"));
		if (late)
			flip = until_flip();
		else
			until("reserving");
		other_pod("y", "y", "");
		other_for(1000);
		node = node_of("y", others());
		T_TRUE(node != NOWHERE);
		if (late)
			T_TRUE(!rig_answer(&rig, flip));
		both_for(20000);
		T_EQ(members_in(node % ZONES), 0);
		all_is_well();
		close_both();
	}
}

/* The lock is newer, and nothing has changed for the gang: it is bound, by the same
 * record. */
T_CASE(a_harmless_pod_does_not_end_the_attempt)
{
	unsigned flip;

	two_shards();
	other_pod("y", "y", "\"nodeSelector\":{\"zone\":\"z1\"},");
	other_for(1000);
	members(apart("y"));
	flip = until_flip();
	other_pod("y-1", "y", "\"nodeSelector\":{\"zone\":\"z1\"},");
	other_for(1000);
	T_TRUE(node_of("y-1", others()) != NOWHERE);
	T_TRUE(!rig_answer(&rig, flip));
	until("bound");
	both_for(1000);
	T_EQ(members_in(1), 0);
	all_is_well();
	close_both();
}

/* A zone that is new, or that nodes have left, counts. */
T_CASE(a_node_relabelled_meanwhile_counts)
{
	unsigned flip;

	two_shards();
	rig_node(&rig, 0, "n-100", "4");
	rig_deliver_all(&rig);
	put_zone(100, 0, "4");
	members(spread);
	flip = until_flip();
	put_zone(100, 7, "0"); /* where there never can be one */
	T_TRUE(!rig_answer(&rig, flip));
	both_for(20000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	put_zone(100, 0, "4");
	both_for(60000);
	all_is_well();
	close_both();
}

/* -- nodes that were written meanwhile --------------------------------------- */

static uint64_t cycles(void)
{
	struct plugin_metrics figures;
	uint64_t most = 0;

	for (unsigned i = 0; i < PLUGINS_MAX; i++) {
		cycle_plugin_metrics(rig.sched->cycle, i, &figures);
		most = figures.runs > most ? figures.runs : most;
	}
	return most;
}

/* Reservations planned there are planned again, after all members have been asked
 * once. */
T_CASE(all_nodes_that_were_written_are_judged_at_once)
{
	uint64_t before;

	two_shards();
	members(spread);
	until("reserving");
	for (uint32_t n = 0; n < NODES; n++)
		put_alloc(n);
	rig_deliver_all(&rig);
	before = cycles();
	rig_run(&rig);
	T_TRUE(cycles() > before);
	T_TRUE(cycles() - before <= MEMBERS);
	until("bound");
	both_for(1000);
	all_is_well();
	close_both();
}

/* Nothing is put on one of the nodes for a while, since it has refused too often: that
 * does not mean that the gang cannot go there. */
T_CASE(an_excluded_node_is_waited_for)
{
	const uint32_t other = others();
	struct sched_node *node;

	two_shards();
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, "2"); /* so all of them are needed */
	rig_deliver_all(&rig);
	members(spread);
	until("reserving");
	node = node_find(rig.sched, PL_SPAN_LIT("east"),
	                 pl_span_str(text("n-%u", other)));
	T_TRUE(node != NULL && !node_is_local(rig.sched, node) &&
	       reservations_close_node(node));
	for (unsigned i = 0; i < 5; i++)
		remote_commit_refused(rig.sched, node, CONFLICT_ALLOC);
	put_alloc(other);
	put_alloc((other + 1) % RIG_PARTITIONS);
	rig_deliver_all(&rig);
	T_TRUE(node->scope == NODE_EXCLUDED && !reservations_close_node(node));
	rig_run(&rig);
	(void)answer_all();
	T_STR(phase(), "reserving");
	both_for(8000);
	T_EQ(bound(), MEMBERS);
	all_is_well();
	close_both();
}

/* -- terms that come --------------------------------------------------------- */

/* Until then no rule concerned the members. */
T_CASE(a_term_registered_before_the_flip_counts)
{
	unsigned flip;
	uint32_t node;

	two_shards();
	members("");
	flip = until_flip();
	other_pod("q", "q", apart("a"));
	other_for(2000);
	node = node_of("q", others());
	T_TRUE(node != NOWHERE);
	T_TRUE(!rig_answer(&rig, flip));
	both_for(20000);
	T_EQ(members_in(node % ZONES), 0);
	all_is_well();
	close_both();
}

/* -- pods about to be placed here -------------------------------------------- */

/* A decision that is not committed yet cannot be relied on. */
T_CASE(a_gang_does_not_rely_on_uncommitted_decisions)
{
	unsigned flip;

	two_shards();
	other_pod("b", "b", "\"nodeSelector\":{\"zone\":\"z1\"},");
	other_for(1000);
	for (uint32_t n = 0; n < NODES; n++)
		put_zone(n, n % ZONES, "9");
	node_cpus = 9;
	rig_deliver_all(&rig);
	members(by_app("podAffinity", "b"));
	flip = until_flip();
	/* The pod that they were to be near goes, and another one is about to come. */
	rig_put(&rig, text("/schedules/%04u/web/b-1/spec", local()),
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"b-1\",\"labels\":{"
	        "\"app\":\"b\"}},\"spec\":{\"nodeSelector\":{\"zone\":\"z1\"},"
	        "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	        "\"cpu\":\"1\"}}}]}}");
	rig_put(&rig, text("/schedules/%04u/web/b/state", others()),
	        text("%.*s,\"ended\":\"Succeeded\"}",
	             (int)strlen(rig_value(
			     &rig, text("/schedules/%04u/web/b/state", others()))) -
	                     1,
	             rig_value(&rig, text("/schedules/%04u/web/b/state", others()))));
	other_for(1000);
	T_TRUE(!rig_answer(&rig, flip));
	for (unsigned i = 0; i < 400; i++) {
		rig_deliver_all(&rig);
		rig.now_ms += 5;
		rig_run(&rig);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++) {
			if (!rig.out[n].used)
				continue;
			T_TRUE(node_of("b-1", local()) != NOWHERE || n != flip_out());
			(void)rig_fail(&rig, n, PL_BUSY);
		}
	}
	both_for(30000);
	T_EQ(members_in(1), MEMBERS);
	all_is_well();
	close_both();
}
