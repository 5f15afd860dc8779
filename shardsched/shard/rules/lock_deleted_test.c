/*
 * Locks of rules that are deleted by hand while another shard places under the same rule
 * and this shard's view has not heard of it.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/rule_locks_rig.h"

/* The lock was put for b and deleted: its absence does not tell that. */
T_CASE(a_lock_found_missing_by_an_answer_is_made_again)
{
	unsigned txn = begin("z0");

	find_lock(txn);
	other_binds();
	rig_del(&rig, lock);
	T_TRUE(!rig_answer(&rig, txn));
	go_on_deaf();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound() && rig_value(&rig, lock)[0] != 0);
	put_node(1, "n-2", "z1", with_b);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* The first deletion is known, so the second looks as if nothing had been there since. */
T_CASE(a_lock_that_is_deleted_twice_is_made_again)
{
	unsigned txn = begin("z0");

	find_lock(txn);
	rig_del(&rig, lock);
	T_TRUE(!rig_answer(&rig, txn));
	rig_deliver_all(&rig);
	txn = until_sent();
	other_binds();
	rig_del(&rig, lock);
	(void)rig_answer(&rig, txn);
	T_TRUE(!is_bound());
	go_on_deaf();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound() && rig_value(&rig, lock)[0] != 0);
	rig_close(&rig);
}

/* b is elsewhere, and then n-2 comes into the zone of n-1. */
T_CASE(a_missing_node_set_key_is_made_again)
{
	unsigned txn = begin("z1");

	find_lock(txn);
	other_binds();
	T_TRUE(!rig_answer(&rig, txn));
	rig_deliver_all(&rig);
	txn = until_sent();
	put_node(1, "n-2", "z0", with_b);
	rig_del(&rig, SHAPE);
	T_TRUE(!rig_answer(&rig, txn));
	go_on_deaf();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound() && rig_value(&rig, SHAPE)[0] != 0);
	rig_close(&rig);
}

/* A missing lock holds up pods for a short time only. */
T_CASE(a_missing_lock_delays_pods_for_a_short_time)
{
	unsigned txn = begin("z0");

	find_lock(txn);
	rig_fail(&rig, txn, PL_FENCED);
	rig_del(&rig, lock);
	rig_del(&rig, SHAPE);
	wait_ms(5000);
	T_TRUE(is_bound());
	T_TRUE(rig_value(&rig, lock)[0] != 0 && rig_value(&rig, SHAPE)[0] != 0);
	rig_close(&rig);
}

/* Two shards make the lock at once: the second learns of the first. */
T_CASE(a_lock_may_be_made_by_another_shard)
{
	unsigned txn = begin("z0"), made = RIG_OUT_MAX;

	find_lock(txn);
	rig_del(&rig, lock);
	T_TRUE(!rig_answer(&rig, txn));
	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used && rig.out[i].req.txn.then_count == 1 &&
		    pl_span_eq(rig.out[i].req.txn.then[0].put.key, pl_span_str(lock)))
			made = i;
	T_TRUE(made != RIG_OUT_MAX);
	other_binds();
	T_TRUE(!rig_answer(&rig, made));
	go_on_deaf();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

static void put_with_terms(unsigned terms, const char *selector)
{
	struct pl_buf buf = {.max = 65536};

	T_EQ(pl_buf_printf(
		     &buf,
		     "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":\"u-a\","
		     "\"labels\":{\"app\":\"x\"}},\"spec\":{%s\"affinity\":{"
		     "\"podAntiAffinity\":{"
		     "\"requiredDuringSchedulingIgnoredDuringExecution\":[",
		     selector),
	     PL_OK);
	for (unsigned i = 0; i < terms; i++)
		T_EQ(pl_buf_printf(&buf,
		                   "%s{\"topologyKey\":\"zone\",\"labelSelector\":{"
		                   "\"matchLabels\":{\"app\":\"y%u\"}}}",
		                   i == 0 ? "" : ",", i),
		     PL_OK);
	T_EQ(pl_buf_printf(&buf, "]}},\"containers\":[{\"name\":\"c\"}]}}%c", 0), PL_OK);
	rig_put(&rig, "/schedules/0000/web/a/spec", (const char *)buf.at);
	pl_buf_done(&buf);
}

static unsigned del_locks(void)
{
	char keys[RIG_KEYS_MAX / 4][128];
	unsigned count = 0;

	for (size_t i = 0; i < rig.store.keys; i++)
		if (rig.store.key[i].mod_revision != 0 &&
		    pl_span_starts(rig.store.key[i].key, PL_SPAN_LIT("/groups/web/anti")))
			(void)snprintf(keys[count++], sizeof keys[0], PL_SPAN_FMT,
			               PL_SPAN_ARG(rig.store.key[i].key));
	for (unsigned i = 0; i < count; i++)
		rig_del(&rig, keys[i]);
	return count;
}

static bool makes_locks(const struct rig_out *out)
{
	const struct kv_req *req = &out->req;

	return req->op == KV_TXN && req->txn.then_count > 0 &&
	       req->txn.then[0].op == KV_PUT &&
	       pl_span_starts(req->txn.then[0].put.key, PL_SPAN_LIT("/groups/web/anti"));
}

static unsigned lock_calls;

static void answer(unsigned out)
{
	lock_calls += makes_locks(&rig.out[out]);
	(void)rig_answer(&rig, out);
}

/* Each would take a transaction and the watch's way back, with all ruled pods waiting. */
T_CASE(missing_locks_are_made_together)
{
	enum { TERMS = 20 };

	rig_open(&rig, NULL);
	put_node(0, "n-1", "z0", empty);
	put_node(1, "n-2", "z1", empty);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	put_with_terms(TERMS, "\"nodeSelector\":{\"no\":\"where\"},");
	wait_ms(3000);
	T_EQ(del_locks(), TERMS);
	put_with_terms(TERMS, "");
	lock_calls = 0;
	for (unsigned round = 0; round < 200 && !is_bound(); round++) {
		rig_round(&rig, answer);
		rig.now_ms += 5;
	}
	T_TRUE(is_bound());
	/* the last one is the pod's own batch */
	T_TRUE(lock_calls >= 1 && lock_calls <= 3);
	rig_close(&rig);
}

/* A pod without a rule of its own. */
static const char is_a[] =
	"{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":\"u-a\","
	"\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
	"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}";

/* A rule that selects a is registered, and a's node is deleted, while a is on its way
 * there: one answer tells both. */
T_CASE(one_answer_brings_a_registry_and_a_deleted_node)
{
	static const char registry[] = "/groups/web/registry";
	char terms[4096];
	unsigned txn = begin("z0");

	find_lock(txn);
	(void)snprintf(terms, sizeof terms, "%s", rig_value(&rig, registry));
	rig_close(&rig);
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z0", empty);
	rig_own(&rig, 0);
	rig_put(&rig, "/schedules/0000/web/a/spec", is_a);
	rig_deliver_all(&rig);
	txn = until_sent();
	rig_put(&rig, registry, terms);
	rig_put(&rig, lock, "{\"v\":1}");
	rig_del(&rig, "/alloc/0000/east/n-1");
	rig_del(&rig, "/nodes/0000/east/n-1");
	T_TRUE(!rig_answer(&rig, txn));
	T_TRUE(!is_bound());
	put_node(0, "n-2", "z0", empty);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* Like put_node, with that many kinds of resources. */
static void put_kinds(uint32_t p, const char *name, const char *zone, const char *alloc,
                      unsigned from, unsigned to)
{
	struct pl_buf buf = {.max = 65536};
	char key[64];

	put_node(p, name, zone, alloc);
	T_EQ(pl_buf_printf(&buf,
	                   "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"%s\"}},"
	                   "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":"
	                   "\"64Gi\",\"pods\":\"110\"",
	                   name, zone),
	     PL_OK);
	for (unsigned i = from; i < to; i++)
		T_EQ(pl_buf_printf(&buf, ",\"example.com/r%u\":\"1\"", i), PL_OK);
	T_EQ(pl_buf_printf(&buf, "}}}%c", 0), PL_OK);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_put(&rig, key, (const char *)buf.at);
	pl_buf_done(&buf);
}

/* One kind more than can be counted. */
static void put_rich(uint32_t p, const char *name, const char *zone, const char *alloc)
{
	put_kinds(p, name, zone, alloc, 0, SNAPSHOT_SCALARS_MAX + 1);
}

/* A Node beyond the limit does not stop decisions under rules. */
T_CASE(an_uncounted_node_does_not_stop_rules)
{
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z0", empty);
	put_rich(1, "n-2", "z1", empty);
	rig_own(&rig, 0);
	put_pod(0, "a");
	wait_ms(30000);
	T_TRUE(is_bound());
	T_TRUE(rig.troubles >= 1 && rig.troubles <= 4);
	rig_close(&rig);
}

/* Pods on the node count, and nothing is put there. With fewer kinds it is like any other
 * node. */
T_CASE(pods_on_an_uncounted_node_count_for_rules)
{
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z0", empty);
	put_rich(0, "n-3", "z1", empty);
	put_rich(1, "n-2", "z0", with_b);
	put_pod(1, "b");
	rig_own(&rig, 0);
	put_pod(0, "a");
	wait_ms(30000);
	T_TRUE(!is_bound());
	put_node(0, "n-3", "z1", empty);
	wait_ms(30000);
	T_STR(rig_where(&rig, 0, "a"), "n-3");
	rig_close(&rig);
}

/* There is room for one of two; when that one goes, for the other. */
T_CASE(an_uncounted_node_is_counted_when_there_is_room)
{
	rig_open(&rig, NULL);
	put_kinds(0, "n-1", "z0", empty, 0, SNAPSHOT_SCALARS_MAX);
	rig_own(&rig, 0);
	put_kinds(0, "n-3", "z1", empty, SNAPSHOT_SCALARS_MAX, SNAPSHOT_SCALARS_MAX + 1);
	put_pod_at(0, "a", "\"nodeSelector\":{\"zone\":\"z1\"},");
	wait_ms(15000);
	T_TRUE(!is_bound());
	rig_del(&rig, "/nodes/0000/east/n-1");
	rig_del(&rig, "/alloc/0000/east/n-1");
	wait_ms(15000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

static unsigned until_status_write(void)
{
	for (unsigned n = 0; n < 200; n++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig_out_puts(&rig.out[i], STATE))
				return i;
		rig.now_ms += 20;
	}
	t_fail(__FILE__, __LINE__, "no status is written");
	return 0;
}

/* Everything but the answer to that txn. */
static void answer_all_but(unsigned txn)
{
	for (unsigned n = 0; n < 200; n++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && i != txn)
				(void)rig_answer(&rig, i);
		rig_deliver_all(&rig);
		rig.now_ms += 20;
	}
}

/* The status of a is being written when a finds a node after all. Nothing is sent for a
 * before that txn has ended, and meanwhile a rule that selects it is registered. */
T_CASE(a_registry_that_comes_during_a_status_write_redecides_the_pod)
{
	const struct sched_pod *a;
	unsigned status_txn;

	rig_open(&rig, NULL);
	rig_own(&rig, 0);
	rig_put(&rig, "/schedules/0000/web/a/spec", is_a);
	rig_deliver_all(&rig);
	status_txn = until_status_write();
	put_node(0, "n-1", "z0", empty);
	answer_all_but(status_txn);
	a = pod_find(rig.sched, 0, PL_SPAN_LIT("web"), PL_SPAN_LIT("a"));
	T_TRUE(a->stage == POD_ASSUMED && a->txn != 0);
	put_pod_at(0, "c", "\"nodeSelector\":{\"no\":\"where\"},");
	answer_all_but(status_txn);
	T_TRUE(rig_value(&rig, "/groups/web/registry")[0] != 0);
	T_TRUE(rig_answer(&rig, status_txn));
	lock[0] = 0;
	find_lock(until_sent());
	rig_close(&rig);
}
