/*
 * Locks of rules that somebody deletes by hand, while another shard places under the same
 * rule, and the view of ours has not heard of it. Two nodes in one zone, n-1 ours and n-2
 * of the other; two pods that do not go together, a ours and b of the other.
 */
#include "shardsched/shard/sched_rig.h"
#include "store/base/fault.h"

#define STATE "/schedules/0000/web/a/state"
#define SPEC_B "/schedules/0001/web/b/spec"
#define SHAPE "/groups/nodes"

static struct rig rig;
static char lock[128];

/* The alloc of n-2 when b is there, as any shard writes it. */
static const char with_b[] =
	"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},\"nonzero\":{"
	"\"memory\":\"209715200\"},\"pods\":{\"0001\":{\"web\":[\"b\"]}}}";
static const char empty[] = "{\"v\":1,\"generation\":1}";

/* As whoever writes a Node does it. */
static void put_node(uint32_t p, const char *name, const char *zone, const char *alloc)
{
	char key[64], json[512];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"%s\"}},"
	               "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
	               "\"pods\":\"110\"}}}",
	               name, zone);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_put(&rig, key, json);
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, name);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(alloc));
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
}

static void put_pod_at(uint32_t p, const char *name, const char *where)
{
	char key[64], json[640];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{\"app\":\"x\"}},\"spec\":{%s\"affinity\":{"
	               "\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuring"
	               "Execution\":[{\"topologyKey\":\"zone\",\"labelSelector\":{"
	               "\"matchLabels\":{\"app\":\"x\"}}}]}},\"containers\":[{\"name\":"
	               "\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
	               name, name, where);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/spec", p, name);
	rig_put(&rig, key, json);
}

static void put_pod(uint32_t p, const char *name)
{
	put_pod_at(p, name, "");
}

/* The other shard binds b to n-2. */
static void other_binds(void)
{
	rig_put(&rig, "/schedules/0001/web/b/state",
	        "{\"v\":1,\"uid\":\"u-b\",\"phase\":\"Bound\",\"cluster\":\"east\","
	        "\"node\":\"n-2\",\"shard\":\"west-0\",\"epoch\":\"1\",\"attempts\":1,"
	        "\"since\":\"2025-11-21T09:00:00Z\"}");
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0001/east/n-2"), pl_span_str(with_b));
	rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
}

static bool is_bound(void)
{
	return strstr(rig_value(&rig, STATE), "\"Bound\"") != NULL;
}

static bool binds(const struct kv_txn *txn)
{
	for (size_t i = 0; i < txn->then_count; i++)
		if (txn->then[i].op == KV_PUT &&
		    pl_span_eq(txn->then[i].put.key, PL_SPAN_LIT(STATE)) &&
		    strstr((const char *)txn->then[i].put.value.at, "\"Bound\"") != NULL)
			return true;
	return false;
}

/* Everything happens, but the answer to the call that binds a, which is given back. */
static unsigned until_sent(void)
{
	for (unsigned n = 0; n < 200; n++) {
		rig_views(&rig);
		rig_run(&rig);
		(void)rig_visit_all(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && binds(&rig.out[i].req.txn))
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

/* Whatever it does by what it has heard, and what it asks, but not by what it watches. */
static void go_on_deaf(void)
{
	for (unsigned n = 0; n < 50; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used)
				(void)rig_answer(&rig, i);
		rig.now_ms += 20;
	}
}

static void wait_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 50)
		rig_settle(&rig);
}

/* The call that binds a to n-1 is out, b waits. */
static unsigned begin(const char *zone_of_n2)
{
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z0", empty);
	put_node(1, "n-2", zone_of_n2, empty);
	rig_own(&rig, 0);
	put_pod(0, "a");
	put_pod(1, "b");
	rig_deliver_all(&rig);
	return until_sent();
}

/* The one that is compared for a, but for SHAPE. */
static void find_lock(unsigned call)
{
	const struct kv_txn *txn = &rig.out[call].req.txn;

	for (size_t i = 0; i < txn->compare_count; i++)
		if (pl_span_starts(txn->compares[i].keys.from,
		                   PL_SPAN_LIT("/groups/web/anti-affinity-")))
			(void)snprintf(lock, sizeof lock, "%.*s",
			               PL_SPAN_ARG(txn->compares[i].keys.from));
	T_TRUE(lock[0] != 0);
}

/* It was put for b, and deleted: by its absence nobody can tell that. */
T_CASE(a_lock_that_is_missed_in_an_answer)
{
	unsigned call = begin("z0");

	find_lock(call);
	other_binds();
	rig_del(&rig, lock);
	T_TRUE(!rig_answer(&rig, call));
	go_on_deaf();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound() && rig_value(&rig, lock)[0] != 0);
	put_node(1, "n-2", "z1", with_b);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* That it was deleted before is known: it is as if it had not been there since. */
T_CASE(a_lock_that_is_deleted_twice)
{
	unsigned call = begin("z0");

	find_lock(call);
	rig_del(&rig, lock);
	T_TRUE(!rig_answer(&rig, call));
	rig_deliver_all(&rig);
	call = until_sent();
	other_binds();
	rig_del(&rig, lock);
	(void)rig_answer(&rig, call);
	T_TRUE(!is_bound());
	go_on_deaf();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound() && rig_value(&rig, lock)[0] != 0);
	rig_close(&rig);
}

/* b stands elsewhere, and then n-2 comes into the zone of n-1. */
T_CASE(what_nodes_there_are_is_missed_in_an_answer)
{
	unsigned call = begin("z1");

	find_lock(call);
	other_binds();
	T_TRUE(!rig_answer(&rig, call));
	rig_deliver_all(&rig);
	call = until_sent();
	put_node(1, "n-2", "z0", with_b);
	rig_del(&rig, SHAPE);
	T_TRUE(!rig_answer(&rig, call));
	go_on_deaf();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound() && rig_value(&rig, SHAPE)[0] != 0);
	rig_close(&rig);
}

/* Nobody is held up by that for long. */
T_CASE(what_is_not_there_is_made_again)
{
	unsigned call = begin("z0");

	find_lock(call);
	rig_fail(&rig, call, PL_FENCED);
	rig_del(&rig, lock);
	rig_del(&rig, SHAPE);
	wait_ms(5000);
	T_TRUE(is_bound());
	T_TRUE(rig_value(&rig, lock)[0] != 0 && rig_value(&rig, SHAPE)[0] != 0);
	rig_close(&rig);
}

/* Two shards make it at once: who comes second hears of the first. */
T_CASE(somebody_else_makes_it)
{
	unsigned call = begin("z0"), made = RIG_OUT_MAX;

	find_lock(call);
	rig_del(&rig, lock);
	T_TRUE(!rig_answer(&rig, call));
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

/* Each would be a transaction and the watch's way back, with all wide pods waiting. */
T_CASE(many_are_made_together)
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
	T_TRUE(lock_calls >= 1 && lock_calls <= 3); /* the last is the pod's own bundle */
	rig_close(&rig);
}

/* A rule that finds a is registered and its node goes, while it is on its way there: one
 * answer tells both. */
T_CASE(a_registry_and_a_node_that_is_gone_in_an_answer)
{
	static const char registry[] = "/groups/web/registry";
	static const char is_a[] =
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":\"u-a\","
		"\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
		"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}";
	char terms[4096];
	unsigned call = begin("z0");

	find_lock(call);
	(void)snprintf(terms, sizeof terms, "%s", rig_value(&rig, registry));
	rig_close(&rig);
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z0", empty);
	rig_own(&rig, 0);
	rig_put(&rig, "/schedules/0000/web/a/spec", is_a);
	rig_deliver_all(&rig);
	call = until_sent();
	rig_put(&rig, registry, terms);
	rig_put(&rig, lock, "{\"v\":1}");
	rig_del(&rig, "/alloc/0000/east/n-1");
	rig_del(&rig, "/nodes/0000/east/n-1");
	T_TRUE(!rig_answer(&rig, call));
	T_TRUE(!is_bound());
	put_node(0, "n-2", "z0", empty);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* Nothing but what binds a is answered: no spec is read. */
static void go_on_unread(void)
{
	for (unsigned n = 0; n < 20; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && binds(&rig.out[i].req.txn))
				(void)rig_answer(&rig, i);
		rig.now_ms += 20;
	}
}

/* As other_binds, there. */
static void binds_b(const char *node, const char *alloc)
{
	char state[256];

	(void)snprintf(
		state, sizeof state,
		"{\"v\":1,\"uid\":\"u-b\",\"phase\":\"Bound\",\"cluster\":\"east\","
		"\"node\":\"%s\",\"shard\":\"west-0\",\"epoch\":\"1\",\"attempts\":"
		"1,\"since\":\"2025-11-21T09:00:00Z\"}",
		node);
	rig_put(&rig, "/schedules/0001/web/b/state", state);
	rig_set(&rig.store, pl_span_str(alloc), pl_span_str(with_b));
	rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
}

/* b comes to n-1 while a is on its way there. The view tells that, and the lock, and n-1
 * waits for the answer, which has an alloc that is newer still. So the lock is known, and
 * that b is there since then, but not yet what b is. */
T_CASE(who_came_in_news_that_waited_for_an_answer)
{
	static const char alloc[] = "/alloc/0000/east/n-1";
	unsigned call = begin("z0");

	find_lock(call);
	binds_b("n-1", alloc);
	rig_deliver_all(&rig);
	rig_put(&rig, alloc, with_b);
	T_TRUE(!rig_answer(&rig, call));
	go_on_unread();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	put_node(1, "n-2", "z1", empty);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* Nothing is answered. */
static unsigned until_q_is_sent(void)
{
	for (unsigned n = 0; n < 200; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig_out_puts(&rig.out[i], "/schedules/0000/web/q/state"))
				return i;
		rig.now_ms += 20;
	}
	t_fail(__FILE__, __LINE__, "q is not sent");
	return 0;
}

/* b comes to n-1 while q is on its way there, and the view is lost: what its list has of
 * n-1 waits for that answer, and is newer than b and the lock. */
T_CASE(who_came_before_what_a_list_says_last_and_waits)
{
	static const char alloc[] = "/alloc/0000/east/n-1";
	unsigned call = begin("z0");

	find_lock(call);
	rig_close(&rig);
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z0", empty);
	put_node(1, "n-2", "z0", empty);
	rig_own(&rig, 0);
	put_pod_at(0, "a", "\"nodeSelector\":{\"no\":\"where\"},");
	put_pod_at(1, "b", "");
	wait_ms(3000);
	rig_put(&rig, lock, "{\"v\":1}");
	rig_pod(&rig, 0, "q", "8", "");
	rig_deliver_all(&rig);
	call = until_q_is_sent();
	binds_b("n-1", alloc);
	rig_put(&rig, alloc, with_b);
	sched_view_lost(rig.sched, SCHED_WHOLE);
	rig_view_list(&rig, SCHED_WHOLE);
	put_pod(0, "a");
	(void)rig_deliver(&rig, 0, SCHED_SCHEDULES, UINT32_MAX);
	for (unsigned n = 0; n < 200; n++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (i != call && rig.out[i].used)
				(void)rig_answer(&rig, i);
		rig.now_ms += 20;
	}
	T_TRUE(!is_bound());
	T_TRUE(!rig_answer(&rig, call));
	wait_ms(5000);
	T_TRUE(!is_bound());
	put_node(1, "n-2", "z1", empty);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* n-3 comes with b while the allocs of ours are listed: the view tells of them, and that
 * the lock was put, before the list, which is older, has come to its end. */
T_CASE(what_is_newer_than_a_list_outlives_it)
{
	static const char alloc[] = "/alloc/0000/east/n-3";
	unsigned call = begin("z0");
	int64_t listed;

	find_lock(call);
	rig_put(&rig, "/alloc/0000/east/n-1", empty);
	T_TRUE(!rig_answer(&rig, call));
	sched_list_begin(rig.sched, 0, SCHED_ALLOCS);
	sched_list_records(rig.sched, 0, SCHED_ALLOCS,
	                   rig_get(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-1")), 1);
	listed = rig.store.revision;
	put_node(0, "n-3", "z0", empty);
	binds_b("n-3", alloc);
	(void)rig_view_deliver(&rig, SCHED_WHOLE, UINT32_MAX);
	(void)rig_deliver(&rig, 0, SCHED_NODES, UINT32_MAX);
	for (unsigned n = 0; n < 20; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && !binds(&rig.out[i].req.txn))
				(void)rig_answer(&rig, i);
	}
	sched_list_end(rig.sched, 0, SCHED_ALLOCS, listed);
	go_on_unread();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* The node to which q is on its way goes and comes again, with b, before q hears that it
 * is gone. */
T_CASE(a_node_that_is_there_again_when_its_end_is_heard)
{
	static const char *const name[] = {"n-2", "n-3"};
	static const char *const alloc[] = {"/alloc/0001/east/n-2",
	                                    "/alloc/0001/east/n-3"};
	static const char *const node[] = {"/nodes/0001/east/n-2",
	                                   "/nodes/0001/east/n-3"};
	unsigned call = begin("z0"), to;
	struct kv_result early;

	find_lock(call);
	rig_close(&rig);
	rig_open(&rig, NULL);
	put_node(1, "n-2", "z0", empty);
	put_node(1, "n-3", "z0", empty);
	rig_own(&rig, 0);
	put_pod_at(0, "a", "\"nodeSelector\":{\"no\":\"where\"},");
	put_pod_at(1, "b", "");
	wait_ms(3000);
	T_TRUE(rig.viewed[SCHED_WHOLE]);
	rig_put(&rig, lock, "{\"v\":1}");
	rig_pod(&rig, 0, "q", "4", "");
	rig_deliver_all(&rig);
	call = until_q_is_sent();
	to = rig_out_puts(&rig.out[call], alloc[1]);
	rig_del(&rig, alloc[to]);
	rig_del(&rig, node[to]);
	rig_put(&rig, SHAPE, "{\"v\":1}");
	early = rig_exec(&rig.store, &rig.out[call].req.txn);
	T_TRUE(!early.txn.succeeded);
	put_node(1, name[to], "z0", empty);
	(void)rig_view_deliver(&rig, SCHED_WHOLE, UINT32_MAX);
	rig.out[call].used = false;
	sched_answer(rig.sched, rig.out[call].call, &early, NULL);
	binds_b(name[to], alloc[to]);
	put_pod(0, "a");
	rig_deliver_all(&rig);
	for (unsigned n = 0; n < 200; n++) {
		rig_round(&rig, NULL);
		rig.now_ms += 20;
	}
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* What asks for b's spec. */
static unsigned find_read(void)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used && rig.out[i].req.txn.then_count > 0 &&
		    rig.out[i].req.txn.then[0].op == KV_GET &&
		    pl_span_eq(rig.out[i].req.txn.then[0].get.keys.from,
		               PL_SPAN_LIT(SPEC_B)))
			return i;
	t_fail(__FILE__, __LINE__, "nothing reads it");
	return 0;
}

/* n-2 lists b, whose spec is read as it is then, NULL: it is gone; the answer is late. By
 * then b was removed and is there again, and the view has told that. */
static void answer_late(const char *then)
{
	struct kv_result early;
	unsigned call = begin("z0");

	find_lock(call);
	other_binds();
	T_TRUE(!rig_answer(&rig, call));
	rig_deliver_all(&rig);
	rig_run(&rig);
	call = find_read();
	if (then == NULL)
		rig_del(&rig, SPEC_B);
	else
		rig_put(&rig, SPEC_B, then);
	early = rig_exec(&rig.store, &rig.out[call].req.txn);
	rig_put(&rig, "/alloc/0001/east/n-2", empty);
	rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
	put_pod(1, "b");
	other_binds();
	rig_deliver_all(&rig);
	rig.out[call].used = false;
	sched_answer(rig.sched, rig.out[call].call, &early, NULL);
	go_on_unread();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	put_node(1, "n-2", "z1", with_b);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

T_CASE(who_was_not_there_when_it_was_read_and_is_by_now)
{
	answer_late(NULL);
}

T_CASE(who_made_no_sense_when_it_was_read_and_does_by_now)
{
	answer_late("{");
}

T_CASE(who_was_another_when_it_was_read)
{
	answer_late(
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"b\",\"uid\":\"u-0\","
		"\"labels\":{\"app\":\"y\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
		"\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
}

/* It stood on n-3 and made no sense, which is known. Then it does, and goes to n-2; the
 * view tells of that first. */
T_CASE(who_made_no_sense_before_it_came)
{
	unsigned call = begin("z0");

	find_lock(call);
	put_node(1, "n-3", "z0", with_b);
	rig_put(&rig, SPEC_B, "{");
	rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
	T_TRUE(!rig_answer(&rig, call));
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_TRUE(rig_answer(&rig, find_read()));
	put_pod(1, "b");
	other_binds();
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0001/east/n-3"), pl_span_str(empty));
	rig_deliver_all(&rig);
	go_on_unread();
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	put_node(1, "n-2", "z1", with_b);
	wait_ms(20000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* -- whatever allocation fails ---------------------------------------------------------
 */

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

/* It is heard while one fails. a may not be sent by what was not kept, be it before the
 * driver has listed it anew. */
static bool is_kept_from(void (*hear)(unsigned call), unsigned call, uint64_t nth)
{
	bool fired;

	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	hear(call);
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

static void hear_events(unsigned call)
{
	(void)call;
	(void)rig_view_deliver(&rig, SCHED_WHOLE, UINT32_MAX);
}

static void hear_list(unsigned call)
{
	(void)call;
	sched_view_lost(rig.sched, SCHED_WHOLE);
	rig_view_list(&rig, SCHED_WHOLE);
}

/* b is on n-2, and a is tried again by what the view tells. */
static void fail_each(void (*hear)(unsigned call))
{
	uint64_t nth = 1;

	for (bool fired = true; fired; nth++) {
		unsigned call = begin("z0");

		find_lock(call);
		other_binds();
		T_TRUE(!rig_answer(&rig, call));
		rig_run(&rig);
		fired = is_kept_from(hear, call, nth);
	}
	T_TRUE(nth > 2);
}

T_CASE(what_the_view_tells_is_not_kept)
{
	fail_each(hear_events);
}

T_CASE(what_the_view_lists_is_not_kept)
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

T_CASE(a_node_that_came_is_not_kept)
{
	uint64_t nth = 1;

	for (bool fired = true; fired; nth++) {
		unsigned call = begin("z1");

		find_lock(call);
		other_binds();
		T_TRUE(!rig_answer(&rig, call));
		rig_deliver_all(&rig);
		call = until_sent();
		put_n3();
		T_TRUE(!rig_answer(&rig, call));
		rig_run(&rig);
		fired = is_kept_from(hear_events, call, nth);
	}
	T_TRUE(nth > 3);
}

static void hear_no_answer(unsigned call)
{
	rig_fail(&rig, call, PL_FENCED);
}

/* b, with more than there is room for yet. */
static const char with_many[] =
	"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"9\"},\"nonzero\":{"
	"\"memory\":\"209715200\"},\"pods\":{\"0001\":{\"web\":[\"b\",\"b0\",\"b1\",\"b2\","
	"\"b3\",\"b4\",\"b5\",\"b6\",\"b7\"]}}}";

/* They come to n-1, which is small, while q is on its way there. */
T_CASE(what_waited_for_an_answer_is_not_kept)
{
	static const char alloc[] = "/alloc/0000/east/n-1";
	static const char small[] =
		"{\"metadata\":{\"name\":\"n-1\",\"labels\":{\"zone\":\"z0\"}},"
		"\"status\":{\"allocatable\":{\"cpu\":\"2\",\"memory\":\"64Gi\","
		"\"pods\":\"110\"}}}";
	uint64_t nth = 1;

	for (bool fired = true; fired; nth++) {
		unsigned call = begin("z0");

		find_lock(call);
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
		call = until_q_is_sent();
		put_node(0, "n-3", "z0", empty);
		rig_put(&rig, alloc, with_many);
		rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
		put_pod(0, "a");
		hear_events(call);
		(void)rig_deliver(&rig, 0, SCHED_SCHEDULES, UINT32_MAX);
		fired = is_kept_from(hear_no_answer, call, nth);
	}
	T_TRUE(nth > 2);
}
