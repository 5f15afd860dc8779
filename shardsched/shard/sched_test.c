/* Pods from their specs to their nodes. */
#include "store/base/fault.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

T_CASE(a_pod_flows_to_a_node)
{
	struct sched_figures figures;
	struct alloc alloc;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "2", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	T_TRUE(sched_is_open(rig.sched, 0));
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.generation, 2);
	T_EQ(alloc.pods, 1);
	T_EQ(alloc.used.cpu_milli, 2000);
	T_EQ(alloc.used.pods, 1);
	T_EQ(alloc.pod[0].partition, 1);
	sched_figures(rig.sched, &figures);
	T_EQ(figures.placed, 1);
	T_EQ(figures.echoes, 2);
	T_EQ(figures.conflicts, 0);
	T_EQ(sched_load(rig.sched, 1), 0);
	rig_close(&rig);
}

T_CASE(many_pods_flow_and_a_node_is_put_once_a_batch)
{
	struct sched_figures figures;
	char name[16];

	rig_open(&rig, &(struct sched_opts){.batch_size = 16});
	for (int i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof name, "n-%d", i);
		rig_node(&rig, (uint32_t)i % RIG_PARTITIONS, name, "10");
	}
	for (int i = 0; i < 105; i++) {
		(void)snprintf(name, sizeof name, "p-%d", i);
		rig_pod(&rig, (uint32_t)i % RIG_PARTITIONS, name, "1", "");
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_run_idle(&rig);
	sched_figures(rig.sched, &figures);
	T_EQ(figures.placed, 100);
	T_EQ(figures.txns_failed, 0);
	for (int i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof name, "n-%d", i);
		T_EQ(rig_alloc(&rig, (uint32_t)i % RIG_PARTITIONS, name).pods, 10);
	}
	/* Room comes: the other five pods follow. */
	rig_node(&rig, 0, "n-big", "10");
	rig_run_idle(&rig);
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	sched_figures(rig.sched, &figures);
	T_EQ(figures.placed, 105);
	T_EQ(figures.malformed, 0);
	rig_close(&rig);
}

/* More pods than the node has room for; room comes when one goes. */
T_CASE(room_that_comes_is_taken_at_once)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "4", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	rig_pod(&rig, 1, "b", "4", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "b"), "Pending");
	rig.store.revision++;
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-1"),
	        PL_SPAN_LIT("{\"v\":1,\"generation\":3}"));
	rig_unset(&rig.store, PL_SPAN_LIT("/schedules/0001/web/a/state"));
	rig_unset(&rig.store, PL_SPAN_LIT("/schedules/0001/web/a/spec"));
	rig_run_idle(&rig);
	for (int i = 0; i < 3; i++) { /* the class is in its backoff first */
		rig.now_ms += 1000;
		rig_run_idle(&rig);
	}
	T_STR(rig_where(&rig, 1, "b"), "n-1");
	rig_close(&rig);
}

T_CASE(gated_pods_pointers_and_pods_with_a_node_are_passed_over)
{
	struct queue_stats stats;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 0, "gated", "1", ",\"schedulingGates\":[{\"name\":\"wait\"}]");
	rig_pod(&rig, 0, "named", "1", ",\"nodeName\":\"n-1\"");
	rig_pod(&rig, 0, "others", "1", ",\"schedulerName\":\"another\"");
	rig_put(&rig, "/schedules/0000/web/pointer/spec", "{\"v\":1,\"at\":3}");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	sched_queue_stats(rig.sched, &stats);
	T_EQ(stats.pods[QUEUE_GATED], 1);
	T_EQ(stats.attempts, 0);
	T_EQ(rig.malformed, 0);
	rig_pod(&rig, 0, "gated", "1", ""); /* the gate opens */
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "gated"), "n-1");
	T_STR(rig_where(&rig, 0, "named"), "");
	rig_close(&rig);
}

T_CASE(other_keys_below_a_pods_name_do_not_matter)
{
	struct sched_figures figures;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "2", "");
	rig_put(&rig, "/schedules/0001/web/a/spec-old", "{}");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	sched_figures(rig.sched, &figures);
	T_EQ(figures.txns_failed, 1);
	rig_close(&rig);
}

T_CASE(batches_follow_what_the_store_takes_and_who_conflicts)
{
	struct sched_figures figures;
	char name[16];

	rig_open(&rig, &(struct sched_opts){.batch_size = 64, .inflight = 1});
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 16});
	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof name, "n-%d", i);
		rig_node(&rig, 0, name, "1");
		(void)snprintf(name, sizeof name, "p-%d", i);
		rig_pod(&rig, 0, name, "1", "");
	}
	rig_own(&rig, 0);
	rig_run(&rig);
	T_TRUE(rig.out[0].used);
	T_TRUE(rig.out[0].req.txn.compare_count <= 16);
	T_TRUE(rig.out[0].req.txn.otherwise_count <= 16);
	rig_fail(&rig, 0, PL_LIMIT);
	sched_figures(rig.sched, &figures);
	T_EQ(figures.batch_size, 32);
	rig_run_idle(&rig);
	sched_figures(rig.sched, &figures);
	T_EQ(figures.placed, 40);
	rig_close(&rig);
}

#define APART(key)                                                                    \
	",\"affinity\":{\"podAntiAffinity\":{"                                        \
	"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"" key \
	"\",\"labelSelector\":{}}]}}"

/* Other shards' nodes are in zones, too; a host is one node's own business. */
T_CASE(rules_that_reach_further_take_the_fleet_view)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 0, "host", "1", APART("kubernetes.io/hostname"));
	rig_pod(&rig, 0, "zone", "1", APART("topology.kubernetes.io/zone"));
	for (uint32_t p = 0; p + 1 < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_run(&rig);
	T_TRUE(!rig.viewed[SCHED_FLEET]);
	rig_run_idle(&rig);
	T_TRUE(rig.viewed[SCHED_FLEET]);
	T_STR(rig_where(&rig, 0, "host"), "n-1");
	T_STR(rig_where(&rig, 0, "zone"), "n-1");
	rig_close(&rig);
}

static void put_host(uint32_t p, const char *name, const char *host)
{
	char key[64], json[256];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{"
	               "\"kubernetes.io/hostname\":\"%s\"}},\"status\":{"
	               "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"64Gi\","
	               "\"pods\":\"110\"}}}",
	               name, host);
	rig_node(&rig, p, name, "4");
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_put(&rig, key, json);
}

/* A shard that sees both nodes decides like shards that see one of them each. */
T_CASE(nodes_of_one_name_in_two_clusters_are_two_hosts)
{
	rig_open(&rig, NULL);
	put_host(0, "n-1", "h");
	put_host(1, "n-2", "h");
	rig_pod(&rig, 0, "a", "1", APART("kubernetes.io/hostname"));
	rig_pod(&rig, 0, "b", "1", APART("kubernetes.io/hostname"));
	rig_pod(&rig, 0, "c", "1", APART("kubernetes.io/hostname"));
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_run_idle(&rig);
	T_EQ((rig_where(&rig, 0, "a")[0] == 'n') + (rig_where(&rig, 0, "b")[0] == 'n') +
	             (rig_where(&rig, 0, "c")[0] == 'n'),
	     2);
	rig_close(&rig);
}

static void beside_which(const char *name, const char *replica)
{
	char more[400];

	(void)snprintf(more, sizeof more,
	               ",\"affinity\":{\"podAffinity\":{"
	               "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
	               "\"topologyKey\":\"host\",\"labelSelector\":{"
	               "\"matchLabels\":{\"statefulset.kubernetes.io/pod-name\":\"%s\"}"
	               "}}]}}",
	               replica);
	rig_pod(&rig, 1, name, "1", more);
}

static void run_for_a_while(void)
{
	for (int i = 0; i < 3; i++) {
		rig_run_idle(&rig);
		sched_check(rig.sched);
		rig.now_ms += 10000;
	}
}

T_CASE(replicas_share_a_class_until_a_selector_asks_for_one)
{
	struct queue_stats stats;
	char db[16], w[16], node[128];

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "16");
	rig_node(&rig, 1, "n-2", "16");
	for (uint32_t i = 0; i < 4; i++) {
		(void)snprintf(db, sizeof db, "db-%u", i);
		rig_replica(&rig, i, db, "1", "");
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_run_idle(&rig);
	sched_queue_stats(rig.sched, &stats);
	T_EQ(stats.classes, 1);
	for (uint32_t i = 0; i < 4; i++) {
		(void)snprintf(w, sizeof w, "w-%u", i);
		(void)snprintf(db, sizeof db, "db-%u", i);
		beside_which(w, db);
		run_for_a_while();
		(void)snprintf(node, sizeof node, "%s", rig_where(&rig, 1, w));
		T_STR(rig_where(&rig, i, db), node);
	}
	rig_close(&rig);
}

/* The pod's txn is in flight when another pod asks for its label; the txn fails. */
T_CASE(a_replica_that_is_sent_is_queued_in_its_new_class)
{
	char node[16];

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "16");
	rig_node(&rig, 1, "n-2", "16");
	rig_replica(&rig, 0, "db-0", "1", "");
	rig_replica(&rig, 0, "db-1", "1", "");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_run(&rig);
	T_TRUE(rig.out[0].used);
	beside_which("w", "db-1");
	rig_deliver_all(&rig);
	rig_run(&rig);
	sched_check(rig.sched);
	rig_fail(&rig, 0, PL_FENCED);
	sched_check(rig.sched);
	run_for_a_while();
	(void)snprintf(node, sizeof node, "%s", rig_where(&rig, 1, "w"));
	T_STR(rig_where(&rig, 0, "db-1"), node);
	rig_close(&rig);
}

/* The pod's txn is in flight all the while. */
T_CASE(a_partition_comes_and_goes_twice_under_a_txn)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "2", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run(&rig);
	T_TRUE(rig.out[0].used);
	for (int i = 0; i < 2; i++) {
		rig_lost(&rig, 1);
		rig_lost(&rig, 0);
		rig_own(&rig, 1);
		rig_own(&rig, 0);
		rig_run(&rig);
	}
	rig_fail(&rig, 0, PL_FENCED);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	rig_close(&rig);
}

/* A txn made under an epoch that is over is not sent again under the next epoch. */
T_CASE(a_txn_of_an_old_epoch_is_only_read)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "2", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run(&rig);
	rig_lost(&rig, 1);
	rig_own(&rig, 1);
	rig_fail(&rig, 0, PL_UNKNOWN);
	rig.now_ms += 20;
	rig_run(&rig);
	T_TRUE(rig.out[0].used);
	T_EQ(rig.out[0].req.txn.compare_count, 0);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	rig_close(&rig);
}

/* The same for a txn that waits to be sent, and when the store went back. */
T_CASE(a_txn_of_an_old_epoch_that_waits_is_only_read)
{
	for (int i = 0; i < 2; i++) {
		rig_open(&rig, NULL);
		rig_node(&rig, 0, "n-1", "4");
		rig_pod(&rig, 1, "a", "2", "");
		rig_own(&rig, 0);
		rig_own(&rig, 1);
		rig_run(&rig);
		rig_fail(&rig, 0, PL_UNKNOWN);
		if (i == 0) {
			rig_lost(&rig, 1);
			rig_own(&rig, 1);
		} else {
			sched_rewound(rig.sched);
		}
		rig.now_ms += 20;
		rig_run(&rig);
		T_TRUE(rig.out[0].used);
		T_EQ(rig.out[0].req.txn.compare_count, 0);
		rig_close(&rig);
	}
}

/* A txn that the store refuses as too large was not applied before either. */
T_CASE(an_unknown_txn_that_is_too_large_is_only_read)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 0, "a", "2", "");
	rig_own(&rig, 0);
	rig_run(&rig);
	rig_fail(&rig, 0, PL_UNKNOWN);
	rig.now_ms += 20;
	rig_run(&rig);
	T_TRUE(rig.out[0].used && rig.out[0].req.txn.compare_count > 0);
	rig_fail(&rig, 0, PL_LIMIT);
	rig.now_ms += 1000;
	rig_run(&rig);
	T_TRUE(rig.out[0].used);
	T_EQ(rig.out[0].req.txn.compare_count, 0);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "a"), "n-1");
	rig_close(&rig);
}

/* Two statuses are in one txn; one of the pods is another by then, and the txn fails. */
T_CASE(a_pod_crowded_out_of_the_status_txn_gets_its_status)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "huge", "64", "");
	rig_pod(&rig, 1, "large", "32", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run(&rig);
	T_TRUE(rig.out[0].used);
	rig_pod(&rig, 1, "large", "16", "");
	rig_run_idle(&rig);
	rig.now_ms += 100;
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "huge"), "Pending");
	T_STR(rig_where(&rig, 1, "large"), "Pending");
	rig_close(&rig);
}

/* More pods than one status txn has room for. */
T_CASE(every_pod_that_fits_nowhere_gets_a_status)
{
	enum { HUGE_PODS = 150 };

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	for (int i = 0; i < HUGE_PODS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "huge-%d", i);
		rig_pod(&rig, 1, name, "64", "");
	}
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	for (int i = 0; i < 40; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 100;
	}
	for (int i = 0; i < HUGE_PODS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "huge-%d", i);
		T_STR(rig_where(&rig, 1, name), "Pending");
	}
	rig_close(&rig);
}

static void conflicts_are(uint64_t conflicts, uint64_t taken_back)
{
	struct sched_figures figures;

	sched_figures(rig.sched, &figures);
	T_EQ(figures.conflicts, conflicts);
	T_EQ(figures.taken_back, taken_back);
}

/* One of three decided pods is in a txn; the others are held up by it. */
T_CASE(a_node_that_is_handed_over_is_no_conflict)
{
	rig_open(&rig, &(struct sched_opts){.batch_size = 2, .inflight = 1});
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "p-%d", i);
		rig_pod(&rig, 1, name, "1", "");
		rig_deliver_all(&rig);
		rig_run(&rig);
	}
	sched_quiesce(rig.sched, 0);
	conflicts_are(0, 2);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "p-0"), "n-1");
	rig_lost(&rig, 0);
	rig_run_idle(&rig);
	conflicts_are(0, 2);
	rig_close(&rig);
}

/* The conflict comes while the pod is in a txn, and before it is in one. */
T_CASE(another_writer_on_the_node_is_a_conflict)
{
	rig_open(&rig, &(struct sched_opts){.batch_size = 1, .inflight = 1});
	rig_node(&rig, 0, "n-1", "4");
	rig_node(&rig, 2, "n-2", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_put(&rig, "/alloc/0000/east/n-1",
	        "{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},"
	        "\"pods\":{\"0001\":{\"web\":[\"c\"]}}}");
	rig_pod(&rig, 1, "c", "1", ",\"nodeName\":\"n-1\"");
	T_TRUE(!rig_answer(&rig, 0));
	conflicts_are(2, 0);
	rig_run_idle(&rig);
	conflicts_are(2, 0);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	T_STR(rig_where(&rig, 1, "b"), "n-1");
	rig_close(&rig);
}

/* Any allocation may fail: the pod is placed in the end. */
static enum pl_code live_through(void)
{
	const struct sched_opts opts = {.shard = "east-0", .partitions = RIG_PARTITIONS};
	struct sched *sched = NULL;
	enum pl_code code = sched_new(&opts, &sched, &rig.err);

	if (code != PL_OK)
		return code;
	rig.sched = sched;
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	for (int i = 0; i < 4; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 11000;
	}
	sched_free(sched);
	rig.sched = NULL;
	rig.owned[0] = rig.owned[1] = false;
	return PL_OK;
}

T_CASE_SECONDS(any_allocation_may_fail, 60)
{
	uint64_t nth = 1;

	for (bool fired = true; fired; nth++) {
		enum pl_code code;

		rig_open(&rig, NULL);
		sched_free(rig.sched);
		rig_node(&rig, 0, "n-1", "4");
		rig_pod(&rig, 1, "a", "2", "");
		rig_pod(&rig, 1, "b", "9", "");
		rig_replica(&rig, 1, "c", "9", "");
		beside_which("d", "c");
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		rig.sched = NULL;
		code = live_through();
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE(code == PL_OK || (fired && code == PL_NOMEM));
		if (code == PL_OK) {
			T_STR(rig_where(&rig, 1, "a"), "n-1");
			T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
		}
		rig_close(&rig);
	}
	T_TRUE(nth > 50);
}
