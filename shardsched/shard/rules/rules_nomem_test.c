/*
 * Rules while any allocation fails: no pod is placed by something that was not kept.
 */
#include "store/base/fault.h"
#include "tests/support/shardsched/shard/rule_locks_rig.h"

/* b goes to n-2, in another zone, from wherever it is. */
static void free_zone(void)
{
	static const char *const allocs[] = {"/alloc/0000/east/n-1",
	                                     "/alloc/0001/east/n-3"};

	put_node(1, "n-2", "z1", with_b);
	for (unsigned i = 0; i < 2; i++)
		if (strstr(rig_value(&rig, allocs[i]), "\"b\"") != NULL)
			rig_put(&rig, allocs[i], empty);
}

/* The event is applied while one allocation fails. a must not be sent by what was not
 * kept, not even before the driver has listed it anew. */
static bool is_kept_from(void (*hear)(unsigned txn), unsigned txn, uint64_t nth)
{
	bool fired;

	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	hear(txn);
	fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_reset();
	go_on_deaf();
	T_TRUE(!is_bound());
	wait_ms(15000);
	T_TRUE(!is_bound());
	free_zone();
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
	return fired;
}

static void hear_events(unsigned txn)
{
	(void)txn;
	(void)rig_view_deliver(&rig, SCHED_FLEET, UINT32_MAX);
}

static void hear_list(unsigned txn)
{
	(void)txn;
	sched_view_lost(rig.sched, SCHED_FLEET);
	rig_view_list(&rig, SCHED_FLEET);
}

/* b is on n-2, and a is tried again by what the view tells. */
static void fail_each(void (*hear)(unsigned txn))
{
	uint64_t nth = 1;

	for (bool fired = true; fired; nth++) {
		unsigned txn = begin("z0");

		find_lock(txn);
		other_binds();
		T_TRUE(!rig_answer(&rig, txn));
		rig_run(&rig);
		fired = is_kept_from(hear, txn, nth);
	}
	T_TRUE(nth > 2);
}

T_CASE(a_view_event_that_is_not_kept_stops_decisions)
{
	fail_each(hear_events);
}

T_CASE(a_view_record_that_is_not_kept_stops_decisions)
{
	fail_each(hear_list);
}

/* b goes there from n-2, which was in another zone; its spec is known. */
static void put_n3(void)
{
	static const char json[] =
		"{\"metadata\":{\"name\":\"n-3\",\"labels\":{\"zone\":\"z0\"}},"
		"\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
		"\"pods\":\"110\"},\"images\":[{\"names\":[\"i\"],\"sizeBytes\":1}]}}";

	rig_put(&rig, "/nodes/0001/east/n-3", json);
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
	binds_b("n-3", "/alloc/0001/east/n-3");
	put_node(1, "n-2", "z0", empty);
	rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
}

T_CASE(a_node_that_is_not_kept_stops_decisions)
{
	uint64_t nth = 1;

	for (bool fired = true; fired; nth++) {
		unsigned txn = begin("z1");

		find_lock(txn);
		other_binds();
		T_TRUE(!rig_answer(&rig, txn));
		rig_deliver_all(&rig);
		txn = until_sent();
		put_n3();
		T_TRUE(!rig_answer(&rig, txn));
		rig_run(&rig);
		fired = is_kept_from(hear_events, txn, nth);
	}
	T_TRUE(nth > 3);
}

static void hear_no_answer(unsigned txn)
{
	rig_fail(&rig, txn, PL_FENCED);
}

/* b, with more entries than there is room for yet. */
static const char with_many[] =
	"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"9\"},\"nonzero\":{"
	"\"memory\":\"209715200\"},\"pods\":{\"0001\":{\"web\":[\"b\",\"b0\",\"b1\",\"b2\","
	"\"b3\",\"b4\",\"b5\",\"b6\",\"b7\"]}}}";

/* The entries come to n-1, which is small, while q is on its way there. */
T_CASE(a_deferred_event_that_is_not_kept_stops_decisions)
{
	static const char alloc[] = "/alloc/0000/east/n-1";
	static const char small[] =
		"{\"metadata\":{\"name\":\"n-1\",\"labels\":{\"zone\":\"z0\"}},"
		"\"status\":{\"allocatable\":{\"cpu\":\"2\",\"memory\":\"64Gi\","
		"\"pods\":\"110\"}}}";
	uint64_t nth = 1;

	for (bool fired = true; fired; nth++) {
		unsigned txn = begin("z0");

		find_lock(txn);
		rig_close(&rig);
		rig_open(&rig, NULL);
		put_node(0, "n-1", "z0", empty);
		rig_put(&rig, "/nodes/0000/east/n-1", small);
		put_node(1, "n-2", "z0", empty);
		rig_own(&rig, 0);
		put_pod_at(0, "a", "\"nodeSelector\":{\"no\":\"where\"},");
		put_pod_at(1, "b", "");
		wait_ms(3000);
		rig_put(&rig, lock, "{\"v\":1}");
		rig_pod(&rig, 0, "q", "2", "");
		rig_deliver_all(&rig);
		txn = until_q_is_sent();
		put_node(0, "n-3", "z0", empty);
		rig_put(&rig, alloc, with_many);
		rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
		put_pod(0, "a");
		hear_events(txn);
		(void)rig_deliver(&rig, 0, SCHED_SCHEDULES, UINT32_MAX);
		fired = is_kept_from(hear_no_answer, txn, nth);
	}
	T_TRUE(nth > 2);
}

static bool compares(const struct kv_txn *txn, const char *key)
{
	for (size_t i = 0; i < txn->compare_count; i++)
		if (pl_span_eq(txn->compares[i].keys.from, pl_span_str(key)))
			return true;
	return false;
}

/* A txn that binds a pod compares both registries. */
static unsigned check_sent(void)
{
	unsigned sent = 0;

	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		if (!rig_out_puts(&rig.out[i], STATE) &&
		    !rig_out_puts(&rig.out[i], "/schedules/0000/web/q/state"))
			continue;
		sent++;
		T_TRUE(compares(&rig.out[i].req.txn, "/groups/registry"));
		T_TRUE(compares(&rig.out[i].req.txn, "/groups/web/registry"));
	}
	return sent;
}

/* The txn has a lot of room, and what comes besides is put alone. */
T_CASE(a_compare_that_is_not_kept_sends_nothing)
{
	const struct sched_opts opts = {.batch_size = 512};
	uint64_t nth = 1;

	for (bool fired = true; fired; nth++) {
		rig_open(&rig, &opts);
		rig_node(&rig, 0, "n-1", "4");
		rig_node(&rig, 0, "n-2", "4");
		rig_own(&rig, 0);
		rig_pod(&rig, 0, "a", "1", ",\"nodeSelector\":{\"host\":\"n-1\"}");
		rig_pod(&rig, 0, "q", "1", ",\"nodeSelector\":{\"host\":\"n-2\"}");
		rig_deliver_all(&rig);
		fired = rig_run_failing(&rig, nth);
		T_TRUE(check_sent() > 0 || fired);
		rig_close(&rig);
	}
	T_TRUE(nth > 10);
}

static const char *lock_prefix;

/* A txn that binds a compares that lock, or puts it. */
static void answer_checked(unsigned out)
{
	const struct kv_txn *txn = &rig.out[out].req.txn;
	bool has = !binds(txn);

	for (size_t i = 0; i < txn->compare_count; i++)
		has = has || pl_span_starts(txn->compares[i].keys.from,
		                            pl_span_str(lock_prefix));
	for (size_t i = 0; i < txn->then_count; i++)
		has = has ||
		      (txn->then[i].op == KV_PUT &&
		       pl_span_starts(txn->then[i].put.key, pl_span_str(lock_prefix)));
	T_TRUE(has);
	(void)rig_answer(&rig, out);
}

/* a comes while one allocation fails. */
static bool comes_with_lock(const char *spec, uint64_t nth)
{
	bool fired;

	rig_put(&rig, "/schedules/0000/web/a/spec", spec);
	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	rig_deliver_all(&rig);
	fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_reset();
	for (unsigned i = 0; i < 400 && !is_bound(); i++, rig.now_ms += 50)
		rig_round(&rig, answer_checked);
	T_TRUE(is_bound());
	rig_close(&rig);
	return fired;
}

#define POD(namespace, name, labels, affinity)                                                                                     \
	"{\"metadata\":{\"namespace\":\"" namespace "\",\"name\":\"" name                                                          \
						    "\",\"uid\":\"u-" name                                                         \
						    "\",\"labels\":{" labels                                                       \
						    "}},\"spec\":{" affinity                                                       \
						    "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}" \
						    "}]}}"
#define ANTI(more, app)                                                         \
	"\"affinity\":{\"podAntiAffinity\":{"                                   \
	"\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":" \
	"\"zone\"," more "\"labelSelector\":{\"matchLabels\":{\"app\":\"" app   \
	"\"}}}]}},"

/* a's term is new, and its class cannot be moved to the lane of unregistered ones;
 * /groups/nodes is known since w was placed. */
T_CASE(a_class_that_cannot_be_moved_is_not_decided)
{
	uint64_t nth = 1;

	lock_prefix = "/groups/web/anti-affinity-";
	for (bool fired = true; fired; nth++) {
		rig_open(&rig, NULL);
		put_node(0, "n-1", "z0", empty);
		rig_own(&rig, 0);
		rig_put(&rig, "/schedules/0000/other/w/spec",
		        POD("other", "w", "\"app\":\"w\"", ANTI("", "w")));
		wait_ms(3000);
		fired = comes_with_lock(POD("web", "a", "\"app\":\"x\"", ANTI("", "x")),
		                        nth);
	}
	T_TRUE(nth > 3);
}

/* A rule of c selects the namespace of a, which is the first pod of it. */
T_CASE(a_namespace_that_is_not_kept_stops_decisions)
{
	uint64_t nth = 1;

	lock_prefix = "/groups/other/anti-affinity-";
	for (bool fired = true; fired; nth++) {
		rig_open(&rig, NULL);
		put_node(0, "n-1", "z0", empty);
		rig_own(&rig, 0);
		rig_put(&rig, "/schedules/0000/other/c/spec",
		        POD("other", "c", "\"app\":\"c\"",
		            "\"nodeSelector\":{\"no\":\"where\"}," ANTI(
				    "\"namespaceSelector\":{\"matchLabels\":{\"kubernetes"
				    ".io/metadata.name\":\"web\"}},",
				    "x")));
		wait_ms(3000);
		fired = comes_with_lock(POD("web", "a", "\"app\":\"x\"", ""), nth);
	}
	T_TRUE(nth > 3);
}

static uint64_t fail_nth;
static bool has_failed;

/* One allocation fails while the spec of far/b is applied. */
static void answer_failing(unsigned out)
{
	const struct kv_txn *txn = &rig.out[out].req.txn;
	struct kv_result result = rig_exec(&rig.store, txn);
	bool reads = false;

	for (size_t i = 0; i < txn->then_count; i++)
		reads = reads || (txn->then[i].op == KV_GET &&
		                  pl_span_eq(txn->then[i].get.keys.from,
		                             PL_SPAN_LIT("/schedules/0001/far/b/spec")));
	rig.out[out].used = false;
	pl_fault_reset();
	if (reads)
		pl_fault_arm(PL_FAULT_ALLOC, fail_nth);
	sched_answer(rig.sched, rig.out[out].txn, &result, NULL);
	has_failed = has_failed || pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_reset();
}

/* b, on a remote node, is the first known pod of its namespace, which a's rule
 * selects. */
T_CASE(a_remote_namespace_that_is_not_kept_stops_decisions)
{
	static const char alloc[] =
		"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\","
		"\"pods\":\"1\"},\"nonzero\":{\"memory\":\"209715200\"},"
		"\"pods\":{\"0001\":{\"far\":[\"b\"]}}}";

	fail_nth = 1;
	for (bool fired = true; fired; fail_nth++) {
		rig_open(&rig, NULL);
		put_node(0, "n-1", "z0", empty);
		put_node(1, "n-2", "z0", alloc);
		rig_put(&rig, "/schedules/0001/far/b/spec",
		        POD("far", "b", "\"app\":\"x\"", ""));
		rig_own(&rig, 0);
		rig_put(&rig, "/schedules/0000/web/a/spec",
		        POD("web", "a", "\"app\":\"a\"",
		            ANTI("\"namespaceSelector\":{\"matchLabels\":{\"kubernetes"
		                 ".io/metadata.name\":\"far\"}},",
		                 "x")));
		has_failed = false;
		for (unsigned i = 0; i < 300; i++, rig.now_ms += 50)
			rig_round(&rig, answer_failing);
		T_TRUE(!is_bound());
		fired = has_failed;
		put_node(1, "n-2", "z1", alloc);
		wait_ms(20000);
		T_TRUE(is_bound());
		rig_close(&rig);
	}
	T_TRUE(fail_nth > 3);
}
