/* Events that are old, malformed, deferred to an answer, or of a store before a
 * rewind. */
#include "shardsched/shard/inner.h"
#include "store/base/fault.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

T_CASE(older_records_are_ignored)
{
	struct sched_figures figures;
	struct kv_record record;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	record = *rig_get(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-1"));
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	sched_events(rig.sched, 0, SCHED_ALLOCS, &(struct kv_event){.record = record}, 1);
	rig_pod(&rig, 1, "b", "1", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "b"), "n-1");
	sched_figures(rig.sched, &figures);
	T_EQ(figures.txns_failed, 0);
	rig_close(&rig);
}

T_CASE(malformed_records_are_reported_and_left_alone)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_node(&rig, 0, "n-2", "4");
	rig_node(&rig, 0, "n-3", "4");
	rig_put(&rig, "/nodes/0000/east/n-1", "{\"metadata\":7}");
	rig_put(&rig, "/alloc/0000/east/n-2", "[]");
	rig_put(&rig, "/schedules/0000/web/bad/spec", "{");
	rig_pod(&rig, 0, "odd", "1", "");
	rig_put(&rig, "/schedules/0000/web/odd/state", "{\"v\":1}");
	rig_put(&rig, "/schedules/0000/web/wrong/spec", rig_pod_json("right", "1", ""));
	rig_put(&rig, "/schedules/0000/Web", "{}");
	rig_pod(&rig, 0, "good", "1", "");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	T_EQ(rig.malformed, 6);
	T_STR(rig_where(&rig, 0, "good"), "n-3");
	/* Once they are put right, all of them are applied. */
	rig_node(&rig, 0, "n-1", "4");
	rig_node(&rig, 0, "n-2", "4");
	rig_pod(&rig, 0, "bad", "1", "");
	rig_del(&rig, "/schedules/0000/web/odd/state");
	rig_run_idle(&rig);
	T_TRUE(strncmp(rig_where(&rig, 0, "bad"), "n-", 2) == 0);
	T_TRUE(strncmp(rig_where(&rig, 0, "odd"), "n-", 2) == 0);
	T_EQ(rig.malformed, 6);
	rig_close(&rig);
}

static void put_pod_with(const char *name, const char *more)
{
	rig_pod(&rig, 0, name, "1", more);
	rig_run_idle(&rig);
}

/* None of these fields would have any effect, and nothing would say so, if values put by
 * hand were not validated. */
T_CASE(pod_that_submission_would_refuse_is_malformed)
{
	static const struct {
		const char *more, *path;
	} bad[] = {
		{",\"tolerations\":[{\"key\":\"gpu\",\"effect\":\"noschedule\"}]",
	         "spec.tolerations[0].effect: want NoSchedule or"},
		{",\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"exists\"}]",
	         "spec.tolerations[0].operator"},
		{",\"nodeSelector\":{\"zone\":\"a b\"}", "spec.nodeSelector"},
		{",\"preemptionPolicy\":\"never\"", "spec.preemptionPolicy"},
		{",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
	         "\"whenUnsatisfiable\":\"doNotSchedule\"}]",
	         "spec.topologySpreadConstraints[0].whenUnsatisfiable"},
		{",\"affinity\":{\"nodeAffinity\":{"
	         "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":"
	         "[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"in\",\"values\":"
	         "[\"a\"]}]}]}}}",
	         "nodeSelectorTerms[0].matchExpressions[0].operator"},
		{",\"overhead\":{\"cpu\":\"-1\"}", "spec.overhead"},
	};

	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		rig_open(&rig, NULL);
		rig_node(&rig, 0, "n-1", "8");
		rig_own(&rig, 0);
		put_pod_with("bad", bad[i].more);
		T_STR(rig_where(&rig, 0, "bad"), "");
		T_EQ(rig.malformed, 1);
		if (strstr(rig.said, bad[i].path) == NULL)
			t_fail(__FILE__, __LINE__, "'%s' does not name %s", rig.said,
			       bad[i].path);
		/* A replica is no better, others are placed, and so is that one once it
		 * is put right. */
		put_pod_with("bad-2", bad[i].more);
		T_EQ(rig.malformed, 2);
		put_pod_with("good", "");
		T_STR(rig_where(&rig, 0, "good"), "n-1");
		put_pod_with("bad", "");
		T_STR(rig_where(&rig, 0, "bad"), "n-1");
		T_EQ(rig.malformed, 2);
		T_EQ(rig.troubles, 0);
		rig_close(&rig);
	}
}

/* The pod was bound by a shard that validated nothing, or was edited since. Its node stays
 * in use, since what the pod requests can be read. */
T_CASE(bound_pod_that_submission_would_refuse_does_not_close_its_node)
{
	static const char more[] =
		",\"tolerations\":[{\"key\":\"gpu\",\"effect\":\"noschedule\"}]";

	for (uint32_t p = 0; p < 2; p++) { /* local; of another shard */
		rig_open(&rig, NULL);
		rig_node(&rig, 0, "n-1", "2");
		rig_own(&rig, 0);
		rig_own(&rig, 1);
		rig_pod(&rig, p, "old", "1", "");
		rig_run_idle(&rig);
		T_STR(rig_where(&rig, p, "old"), "n-1");
		rig_lost(&rig, 0);
		rig_lost(&rig, 1);
		rig_pod(&rig, p, "old", "1", more);
		rig_own(&rig, 0);
		rig_run_idle(&rig);
		T_EQ(rig.malformed, 1);
		rig_pod(&rig, 0, "new", "1", "");
		rig_pod(&rig, 0, "more", "1", "");
		rig_run_idle(&rig);
		T_EQ((strcmp(rig_where(&rig, 0, "new"), "n-1") == 0) +
		             (strcmp(rig_where(&rig, 0, "more"), "n-1") == 0),
		     1);
		sched_check(rig.sched);
		T_EQ(rig.malformed, 1);
		T_EQ(rig.troubles, 0);
		rig_close(&rig);
	}
}

/* A field that only a kubelet reads does not keep a pod from being placed. */
T_CASE(fields_that_no_decision_reads_are_not_validated)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "8");
	rig_own(&rig, 0);
	rig_put(&rig, "/schedules/0000/web/a/spec",
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":\"u-a\","
	        "\"generateName\":\"A_\",\"annotations\":{\"-\":\"\"}},\"spec\":{"
	        "\"containers\":[{\"name\":\"C\",\"ports\":[{\"name\":\"HTTP\"}]},"
	        "{\"name\":\"C\"}]}}");
	rig_run_idle(&rig);
	T_EQ(rig.malformed, 0);
	T_STR(rig_where(&rig, 0, "a"), "n-1");
	rig_close(&rig);
}

T_CASE(node_with_a_misspelt_effect_is_malformed_and_takes_no_pod)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "8");
	rig_node(&rig, 0, "n-2", "1");
	rig_put(&rig, "/nodes/0000/east/n-1",
	        "{\"metadata\":{\"name\":\"n-1\"},\"spec\":{\"taints\":[{\"key\":\"gpu\","
	        "\"effect\":\"noschedule\"}]},\"status\":{\"allocatable\":{\"cpu\":\"8\","
	        "\"memory\":\"32Gi\",\"pods\":\"110\"}}}");
	rig_own(&rig, 0);
	put_pod_with("a", "");
	put_pod_with("b", "");
	T_EQ(rig.malformed, 1);
	T_TRUE(strstr(rig.said, "spec.taints[0].effect: want NoSchedule or") != NULL);
	T_STR(rig_where(&rig, 0, "a"), "n-2");
	T_STR(rig_where(&rig, 0, "b"), "Pending");
	rig_node(&rig, 0, "n-1", "8");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "b"), "n-1");
	rig_close(&rig);
}

#define AWAY                                                                       \
	",\"affinity\":{\"podAntiAffinity\":{"                                     \
	"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{" \
	"\"matchLabels\":{\"app\":\"a\"}},\"topologyKey\":\"zone\"}]}}"

static void put_zone_node(const char *name, const char *taints)
{
	char key[64], json[512];

	(void)snprintf(key, sizeof key, "/nodes/0000/east/%s", name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"z\"}},"
	               "\"spec\":{\"taints\":[%s]},\"status\":{\"allocatable\":{\"cpu\":"
	               "\"8\",\"memory\":\"32Gi\",\"pods\":\"110\"}}}",
	               name, taints);
	rig_put(&rig, key, json);
}

/* The pod that is bound there is still in the node's zone. */
T_CASE(rules_count_the_pods_of_a_node_that_submission_would_refuse)
{
	static const char pod[] =
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"u-%s\","
		"\"labels\":{\"app\":\"a\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
		"\"image\":\"i\"}]" AWAY "}}";
	char json[1024];

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "8");
	put_zone_node("n-1", "");
	rig_own(&rig, 0);
	(void)snprintf(json, sizeof json, pod, "a", "a");
	rig_put(&rig, "/schedules/0000/web/a/spec", json);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "a"), "n-1");
	put_zone_node("n-1", "{\"key\":\"gpu\",\"effect\":\"noschedule\"}");
	rig_node(&rig, 0, "n-2", "8");
	put_zone_node("n-2", "");
	rig_run_idle(&rig);
	T_EQ(rig.malformed, 1);
	(void)snprintf(json, sizeof json, pod, "b", "b");
	rig_put(&rig, "/schedules/0000/web/b/spec", json);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "b"), "Pending");
	sched_check(rig.sched);
	rig_close(&rig);
}

/* A state whose alloc does not list the pod, and the other way round. */
T_CASE(a_mismatch_that_lasts_is_reported)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_node(&rig, 0, "n-2", "4");
	rig_pod(&rig, 0, "a", "1", "");
	rig_pod(&rig, 0, "b", "1", "");
	rig_put(&rig, "/schedules/0000/web/a/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_put(&rig, "/alloc/0000/east/n-2",
	        "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"9m\",\"pods\":\"1\"},"
	        "\"pods\":{\"0000\":{\"web\":[\"b\"]}}}");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	T_EQ(rig.malformed, 0);
	for (int i = 0; i < 3; i++) {
		rig.now_ms += 5000;
		rig_run_idle(&rig);
	}
	T_EQ(rig.malformed, 3); /* a, b, and the sums of n-2 */
	T_STR(rig_where(&rig, 0, "b"), "");
	rig_pod(&rig, 0, "c", "1", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "c"), "n-1");
	rig_close(&rig);
}

#define ALLOC "/alloc/0000/east/n-1"
#define LISTS(name)                                                                   \
	"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"      \
	"\"nonzero\":{\"memory\":\"209715200\"},\"pods\":{\"0001\":{\"web\":[\"" name \
	"\"]}}}"
#define EMPTY "{\"v\":1,\"generation\":3}"

static bool reads(unsigned out, const char *key)
{
	const struct kv_txn *txn = &rig.out[out].req.txn;

	for (size_t i = 0; rig.out[out].used && i < txn->then_count; i++)
		if (txn->then[i].op == KV_GET &&
		    pl_span_eq(txn->then[i].get.keys.from, pl_span_str(key)))
			return true;
	return false;
}

/* The store is ahead of what is known of the alloc. */
T_CASE(a_pod_that_ends_while_its_spec_is_read_is_not_reported_missing)
{
	unsigned read = 0;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "1", "");
	rig_put(&rig, ALLOC, LISTS("a"));
	rig_own(&rig, 0);
	rig_run(&rig);
	while (!reads(read, "/schedules/0001/web/a/spec")) {
		T_TRUE(read < RIG_OUT_MAX - 1);
		read++;
	}
	rig_del(&rig, "/schedules/0001/web/a/spec");
	rig_put(&rig, ALLOC, EMPTY);
	(void)rig_answer(&rig, read);
	T_EQ(rig.malformed, 0);
	rig_run_idle(&rig);
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

T_CASE(a_missing_spec_is_reported_once)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_put(&rig, ALLOC, LISTS("a"));
	rig_own(&rig, 0);
	for (int i = 0; i < 5; i++) {
		rig_run_idle(&rig);
		T_EQ(rig.malformed, 1);
		rig.now_ms += 5000;
		rig_put(&rig, ALLOC, LISTS("a"));
	}
	rig_pod(&rig, 1, "a", "1", "");
	rig_put(&rig, ALLOC, LISTS("a"));
	rig_run_idle(&rig);
	rig_del(&rig, "/schedules/0001/web/a/spec");
	rig_put(&rig, ALLOC, EMPTY);
	rig_run_idle(&rig);
	T_EQ(rig.malformed, 1);
	rig_put(&rig, ALLOC, LISTS("a"));
	rig_run_idle(&rig);
	T_EQ(rig.malformed, 2);
	rig_close(&rig);
}

/* The status is written again after it was deleted. */
T_CASE(a_deleted_pending_status_is_written_again)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "huge", "64", "");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "huge"), "Pending");
	rig_del(&rig, "/schedules/0001/web/huge/state");
	T_STR(rig_where(&rig, 1, "huge"), "");
	rig_deliver_all(&rig);
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "huge"), "Pending");
	rig_close(&rig);
}

/* The store is rewound while an event is deferred to an answer. */
T_CASE(events_deferred_before_a_rewind_are_dropped)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "2", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run(&rig);
	rig.store.revision += 100;
	rig_put(&rig, "/alloc/0000/east/n-1", "{\"v\":1,\"generation\":9}");
	rig_deliver_all(&rig);
	rig_lost(&rig, 0);
	rig_lost(&rig, 1);
	rig.store.revision -= 80;
	rig_put(&rig, "/alloc/0000/east/n-1", "{\"v\":1,\"generation\":2}");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_fail(&rig, 0, PL_FENCED);
	for (int i = 0; i < 20; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 1000;
	}
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	rig_close(&rig);
}

/* The spec is known while a node of this shard lists the pod; the state, only while the
 * partition is owned. */
T_CASE(a_malformed_state_is_forgotten_with_its_partition)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "2", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	rig_put(&rig, "/schedules/0001/web/a/state", "{");
	rig_run_idle(&rig);
	T_EQ(rig.malformed, 1);
	rig_lost(&rig, 1);
	rig_del(&rig, "/schedules/0001/web/a/state");
	rig_own(&rig, 1);
	rig_put(&rig, "/alloc/0000/east/n-1", "{\"v\":1,\"generation\":9}");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	rig_close(&rig);
}

/* The spec of a listed pod was to come with the list of its partition, which is lost
 * before the list has come. */
T_CASE(a_spec_is_read_by_key_when_its_partition_is_lost_unlisted)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "2", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	rig_lost(&rig, 0);
	rig_lost(&rig, 1);
	T_OK(sched_own(rig.sched, 1, ++rig.epoch, &rig.err), &rig.err);
	rig_own(&rig, 0);
	rig_own(&rig, 2);
	rig_run_idle(&rig);
	rig_lost(&rig, 1);
	rig_run_idle(&rig);
	rig_pod(&rig, 2, "b", "2", "");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 2, "b"), "n-1");
	rig_close(&rig);
}

/* The spec is not watched here, and the alloc that lists the pod does not change. */
T_CASE(a_repaired_remote_spec_is_found)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "b"), "n-1");
	rig_lost(&rig, 0);
	rig_lost(&rig, 1);
	rig_put(&rig, "/schedules/0001/web/a/spec", "{");
	rig_del(&rig, "/schedules/0001/web/b/spec");
	rig_own(&rig, 0);
	rig_pod(&rig, 0, "c", "1", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "c"), "Pending");
	T_EQ(rig.malformed, 2);
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "c"), "Pending");
	T_EQ(rig.malformed, 2);
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "c"), "n-1");
	rig_close(&rig);
}

/* The pod is known from a node of this shard, and deleted when its partition is acquired:
 * only the alloc still has it. */
T_CASE(a_deleted_pod_known_from_an_alloc_is_not_placed)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "2", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	rig_lost(&rig, 0);
	rig_lost(&rig, 1);
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	rig_del(&rig, "/schedules/0001/web/a/spec");
	rig_del(&rig, "/schedules/0001/web/a/state");
	rig_own(&rig, 1);
	rig_put(&rig, "/alloc/0000/east/n-1", "{\"v\":1,\"generation\":9}");
	rig_deliver_all(&rig);
	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		T_TRUE(!rig.out[i].used);
	rig_lost(&rig, 1);
	rig_close(&rig);
}

/* The store is restored to a state before the node grew; its alloc is the same as
 * then. */
T_CASE(a_node_is_not_overfilled_after_a_restore)
{
	struct kv_record *node, small;

	rig_open(&rig, &(struct sched_opts){.batch_size = 1, .inflight = 1});
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	small = *rig_get(&rig.store, PL_SPAN_LIT("/nodes/0000/east/n-1"));
	rig_put(&rig, "/nodes/0000/east/n-1", rig_node_json("n-1", "16", ""));
	rig_pod(&rig, 1, "b", "8", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	node = rig_get(&rig.store, PL_SPAN_LIT("/nodes/0000/east/n-1"));
	node->mod_revision = small.mod_revision;
	node->value = small.value;
	T_TRUE(!rig_answer(&rig, 0));
	T_STR(rig_where(&rig, 1, "b"), "");
	rig_close(&rig);
}

/* Node and alloc are deleted after a txn was applied, and before its answer. */
T_CASE(a_node_missing_from_a_list_goes_when_its_txn_is_answered)
{
	struct kv_result late;

	rig_open(&rig, &(struct sched_opts){.batch_size = 1, .inflight = 1});
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	late = rig_exec(&rig.store, &rig.out[0].req.txn);
	T_TRUE(late.txn.succeeded);
	rig_del(&rig, "/nodes/0000/east/n-1");
	rig_del(&rig, "/alloc/0000/east/n-1");
	rig_list(&rig, 0, SCHED_NODES);
	rig_list(&rig, 0, SCHED_ALLOCS);
	rig.out[0].used = false;
	sched_answer(rig.sched, rig.out[0].txn, &late, NULL);
	rig_pod(&rig, 1, "b", "1", "");
	rig_deliver_all(&rig);
	for (unsigned n = 0; n < 20; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
			T_TRUE(!rig_out_puts(&rig.out[i], "/alloc/0000/east/n-1"));
			if (rig.out[i].used)
				(void)rig_answer(&rig, i);
		}
		rig.now_ms += 100;
	}
	rig_close(&rig);
}

static void put_and_miss(uint32_t p)
{
	rig_pod(&rig, p, "a", "1", "");
	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	(void)rig_deliver(&rig, p, SCHED_SCHEDULES, UINT32_MAX);
	T_TRUE(pl_fault_fired(PL_FAULT_ALLOC));
	pl_fault_reset();
}

/* Each relist is requested once, whatever else there is to report. */
T_CASE(events_that_were_not_kept_are_listed_anew)
{
	char key[64];

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	for (uint32_t p = 0; p < 3; p++)
		rig_own(&rig, p);
	rig_run_idle(&rig);
	rig.relists = 0;
	for (unsigned i = 0; i < 70; i++) {
		(void)snprintf(key, sizeof key, "/schedules/0000/W%u", i);
		rig_put(&rig, key, "{}");
	}
	rig_deliver_all(&rig);
	put_and_miss(1);
	put_and_miss(2);
	put_and_miss(2); /* once */
	rig_run(&rig);
	T_EQ(rig.relists, 2);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	T_STR(rig_where(&rig, 2, "a"), "n-1");
	rig_close(&rig);
}

/* -- records that were not kept ---------------------------------------------- */

static bool lists_without(uint64_t nth)
{
	bool fired;

	rig.owned[0] = true;
	T_OK(sched_own(rig.sched, 0, ++rig.epoch, &rig.err), &rig.err);
	rig_list(&rig, 0, SCHED_NODES);
	rig_list(&rig, 0, SCHED_ALLOCS);
	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	rig_list(&rig, 0, SCHED_SCHEDULES);
	fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_reset();
	return fired;
}

/* Also when no more reports fit. */
T_CASE(list_records_that_were_not_kept_are_listed_anew)
{
	uint64_t nth = 1;

	for (bool fired = true; fired; nth += 3) {
		rig_open(&rig, NULL);
		rig_node(&rig, 0, "n-1", "4");
		for (unsigned i = 0; i < 2 * SCHED_NOTES_MAX; i++) {
			char key[64];

			(void)snprintf(key, sizeof key, "/schedules/0000/web/b-%u/spec",
			               i);
			rig_put(&rig, key, "none");
		}
		rig_pod(&rig, 0, "z", "1", "");
		fired = lists_without(nth);
		for (unsigned i = 0; i < 3; i++) {
			rig_run_idle(&rig);
			rig.now_ms += 11000;
		}
		T_TRUE(sched_is_open(rig.sched, 0));
		T_STR(rig_where(&rig, 0, "z"), "n-1");
		rig_close(&rig);
	}
	T_TRUE(nth > 30);
}
