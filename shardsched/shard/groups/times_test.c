/*
 * Rules, where what is known of a node or of a pod is of another time than the view. The
 * pod a, ours, is to be where somebody bears app=x, or where nobody does. n-1 is ours,
 * n-2 of another shard, in one zone; n-3 is ours, in another. By the name of b there are
 * pods one after the other, with app=x or not, that others place.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/sched_rig.h"

#define STATE "/schedules/0000/web/a/state"
#define NODE_2 "/nodes/0001/east/n-2"
#define ALLOC_2 "/alloc/0001/east/n-2"
#define SHAPE "/groups/nodes"

static struct rig rig;
static char lock[128]; /* of the term that looks for app=x */
static unsigned home;  /* of b */
static bool anti;      /* a is to be where nobody does */

static const char *key_of_b(const char *what)
{
	static char key[64];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/b/%s", home, what);
	return key;
}

/* Empty, or with b. */
static void put_alloc(uint32_t p, const char *node, unsigned generation, bool b)
{
	char key[64], json[256], pods[160] = "";

	if (b)
		(void)snprintf(
			pods, sizeof pods,
			",\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},\"nonzero\":{"
			"\"memory\":\"209715200\"},\"pods\":{\"%04u\":{\"web\":[\"b\"]}}",
			home);
	(void)snprintf(json, sizeof json, "{\"v\":1,\"generation\":%u%s}", generation,
	               pods);
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, node);
	rig_set(&rig.store, pl_span_str(key), pl_span_str(json));
}

static void put_node(uint32_t p, const char *name, const char *zone)
{
	char key[64], json[512];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"zone\":\"%s\"}},"
	               "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"64Gi\","
	               "\"pods\":\"110\"}}}",
	               name, zone);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_put(&rig, key, json);
	put_alloc(p, name, 1, false);
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
}

static void put_pod(const char *key, const char *name, const char *labels,
                    const char *spec)
{
	char json[640];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{%s}},\"spec\":{%s,\"containers\":[{"
	               "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
	               name, name, labels, spec);
	rig_put(&rig, key, json);
}

static void put_a(bool may_go)
{
	static const char format[] =
		"\"affinity\":{\"pod%sffinity\":{\"requiredDuringSchedulingIgnoredDuring"
		"Execution\":[{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchLabels\":"
		"{\"app\":\"x\"}}}]}},\"nodeSelector\":{\"zone\":\"%s\"}";
	char spec[320];

	(void)snprintf(spec, sizeof spec, format, anti ? "AntiA" : "A",
	               may_go ? "z" : "nowhere");
	put_pod("/schedules/0000/web/a/spec", "a", "", spec);
}

static void put_b(const char *app)
{
	char labels[32];

	(void)snprintf(labels, sizeof labels, "\"app\":\"%s\"", app);
	put_pod(key_of_b("spec"), "b", labels, "\"nodeSelector\":{\"zone\":\"nowhere\"}");
}

static void bump(bool is_x)
{
	if (is_x)
		rig_set(&rig.store, pl_span_str(lock), PL_SPAN_LIT("{\"v\":1}"));
}

/* As the shard does that binds it. */
static void bind_b(uint32_t p, const char *node, unsigned generation, bool is_x)
{
	char state[256];

	(void)snprintf(
		state, sizeof state,
		"{\"v\":1,\"uid\":\"u-b\",\"phase\":\"Bound\",\"cluster\":\"east\","
		"\"node\":\"%s\",\"shard\":\"west-0\",\"epoch\":\"1\","
		"\"attempts\":1,\"since\":\"2025-11-21T09:00:00Z\"}",
		node);
	rig_put(&rig, key_of_b("state"), state);
	put_alloc(p, node, generation, true);
	bump(is_x);
}

/* And ends it. */
static void end_b(uint32_t p, const char *node, unsigned generation, bool is_x)
{
	rig_del(&rig, key_of_b("spec"));
	rig_unset(&rig.store, pl_span_str(key_of_b("state")));
	put_alloc(p, node, generation, false);
	bump(is_x);
}

static bool is_bound(void)
{
	return strstr(rig_value(&rig, STATE), "\"Bound\"") != NULL;
}

static void wait_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 50)
		rig_settle(&rig);
}

/* Whatever it does by what it has heard, and what it asks, but not by what it watches,
 * nor by an answer to that; RIG_OUT_MAX: by all of them. */
static void go_on_deaf(unsigned but)
{
	for (unsigned n = 0; n < 50; n++) {
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig.out[i].used && i != but)
				(void)rig_answer(&rig, i);
		rig.now_ms += 20;
	}
	sched_check(rig.sched);
}

/* What puts that key, or what reads it. */
static unsigned find_call(const char *key, bool reads)
{
	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		const struct kv_txn *txn = &rig.out[i].req.txn;

		if (rig.out[i].used && !reads && rig_out_puts(&rig.out[i], key))
			return i;
		for (size_t n = 0; rig.out[i].used && reads && n < txn->then_count; n++)
			if (txn->then[n].op == KV_GET &&
			    pl_span_eq(txn->then[n].get.keys.from, pl_span_str(key)))
				return i;
	}
	t_fail(__FILE__, __LINE__, "nobody asks for %s", key);
	return 0;
}

static void hear_view(void)
{
	(void)rig_view_deliver(&rig, SCHED_WHOLE, UINT32_MAX);
}

static void hear_pods(void)
{
	(void)rig_deliver(&rig, 0, SCHED_SCHEDULES, UINT32_MAX);
}

static void let_a_go(void)
{
	put_a(true);
	hear_pods();
}

static void find_lock(void)
{
	for (uint32_t i = 0; i < rig.store.keys; i++) {
		struct pl_span key = rig.store.key[i].key;

		if (pl_span_starts(key, PL_SPAN_LIT("/groups/web/")) &&
		    !pl_span_eq(key, PL_SPAN_LIT("/groups/web/registry")))
			(void)snprintf(lock, sizeof lock, "%.*s", PL_SPAN_ARG(key));
	}
	T_TRUE(lock[0] != '\0');
}

/* The term is registered; a can go nowhere yet, and the view is held for it. */
static void begin(unsigned home_of_b)
{
	home = home_of_b;
	rig_open(&rig, NULL);
	put_node(0, "n-1", "z");
	put_node(1, "n-2", "z");
	put_node(0, "n-3", "z3");
	rig_own(&rig, 0);
	put_a(false);
	wait_ms(3000);
	find_lock();
	T_TRUE(rig.viewed[SCHED_WHOLE]);
}

/* Once everything is heard, and b bears what a looks for, or is no more. */
static void end(unsigned generation)
{
	T_TRUE(!is_bound());
	wait_ms(5000);
	T_TRUE(!is_bound());
	end_b(1, "n-2", generation, true);
	wait_ms(1000);
	if (!anti) {
		put_b("x");
		bind_b(1, "n-2", generation + 1, true);
	}
	wait_ms(10000);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* The one that makes a place for a, and then one by its name that makes none. */
static void put_first(void)
{
	put_b(anti ? "y" : "x");
}

static void put_second(void)
{
	put_b(anti ? "x" : "y");
}

/* Either way. */
static void twice(void (*story)(void))
{
	anti = false;
	story();
	anti = true;
	story();
}

/* A list of its partition has n-2 with b, and is slow: by the time that it comes the node
 * has gone, b waits again, and the view has told that. */
T_CASE(a_node_that_has_gone_does_not_come_back_by_an_older_list)
{
	struct kv_record node, alloc;

	begin(1);
	put_b("x");
	bind_b(1, "n-2", 2, true);
	visit_want(rig.sched, 1);
	rig_run(&rig);
	T_TRUE(rig.visit[1]);
	node = *rig_get(&rig.store, PL_SPAN_LIT(NODE_2));
	alloc = *rig_get(&rig.store, PL_SPAN_LIT(ALLOC_2));
	hear_view();
	go_on_deaf(RIG_OUT_MAX);
	rig_del(&rig, NODE_2);
	rig_unset(&rig.store, pl_span_str(key_of_b("state")));
	rig_unset(&rig.store, PL_SPAN_LIT(ALLOC_2));
	rig_set(&rig.store, PL_SPAN_LIT(SHAPE), PL_SPAN_LIT("{\"v\":1}"));
	bump(true);
	hear_view();
	rig.visit[1] = false;
	sched_visit_records(rig.sched, 1, &alloc, 1);
	sched_visit_records(rig.sched, 1, &node, 1);
	sched_visit_end(rig.sched, 1, alloc.mod_revision);
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	T_TRUE(!is_bound());
	rig_close(&rig);
}

/* The view tells of b on n-2. By the time that its spec is read that is another's, which
 * waits. */
T_CASE(a_spec_that_is_newer_than_who_is_listed)
{
	unsigned call;

	begin(1);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	hear_view();
	call = find_call(key_of_b("spec"), true);
	end_b(1, "n-2", 3, false);
	put_b("x");
	T_TRUE(rig_answer(&rig, call));
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	end(4);
}

/* Likewise, and b is ours: what is heard of our pods is ahead of the view. */
T_CASE(a_spec_of_ours_that_is_newer_than_who_is_listed)
{
	begin(0);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	wait_ms(100);
	end_b(1, "n-2", 3, false);
	put_b("x");
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	end(4);
}

/* So far ahead that it has told all of that before the view tells of n-2. */
static void tell_of_n_2_late(bool edited)
{
	begin(0);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	end_b(1, "n-2", 3, false);
	put_b("x");
	if (edited)
		put_b("x");
	hear_pods();
	T_TRUE(rig_view_deliver(&rig, SCHED_WHOLE, 1));
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	end(4);
}

T_CASE(who_is_listed_later_and_came_before)
{
	tell_of_n_2_late(false);
}

T_CASE(who_is_listed_later_and_came_before_and_is_edited)
{
	tell_of_n_2_late(true);
}

/* The label of b, of ours, is edited while n-2 lists it. It is b all the same. */
T_CASE(an_edited_spec_is_of_who_is_listed)
{
	begin(0);
	put_b("y");
	bind_b(1, "n-2", 2, false);
	hear_pods();
	put_b("x");
	hear_pods();
	hear_view();
	let_a_go();
	for (unsigned n = 0; n < 10; n++)
		go_on_deaf(RIG_OUT_MAX);
	T_TRUE(is_bound());
	rig_close(&rig);
}

/* While the view is lost b ends, and another comes to n-2 by its name. */
static void lose_the_view(void)
{
	begin(1);
	put_first();
	bind_b(1, "n-2", 2, !anti);
	wait_ms(100);
	sched_view_lost(rig.sched, SCHED_WHOLE);
	end_b(1, "n-2", 3, !anti);
	put_second();
	bind_b(1, "n-2", 4, anti);
	rig_view_list(&rig, SCHED_WHOLE);
	let_a_go();
	go_on_deaf(RIG_OUT_MAX);
	end(5);
}

T_CASE(a_spec_that_is_older_than_who_is_listed)
{
	twice(lose_the_view);
}

/* Likewise, but there is no view then: visits tell of n-2. */
static void close_the_view(void)
{
	begin(1);
	put_first();
	bind_b(1, "n-2", 2, !anti);
	wait_ms(100);
	rig_del(&rig, "/schedules/0000/web/a/spec");
	wait_ms(20000);
	visit_want(rig.sched, 1);
	wait_ms(60000);
	T_TRUE(!rig.viewed[SCHED_WHOLE]);
	visit_want(rig.sched, 1);
	wait_ms(1000);
	end_b(1, "n-2", 3, !anti);
	put_second();
	bind_b(1, "n-2", 4, anti);
	visit_want(rig.sched, 1);
	wait_ms(1000);
	put_a(true);
	wait_ms(5000);
	end(5);
}

T_CASE(a_spec_that_was_older_before_the_view_was_there)
{
	twice(close_the_view);
}

/* Others have come to n-2 and gone, as a list tells that is ahead of the view, so b may
 * be another by now; as far as the view has come it is who it was. */
T_CASE(who_stays_while_more_has_changed_counts_as_before)
{
	unsigned call;

	anti = true;
	begin(1);
	put_b("x");
	bind_b(1, "n-2", 2, true);
	wait_ms(100);
	bind_b(1, "n-2", 4, false);
	visit_want(rig.sched, 1);
	rig_run(&rig);
	rig_visit(&rig, 1);
	let_a_go();
	call = find_call(key_of_b("spec"), true);
	go_on_deaf(call);
	T_TRUE(!is_bound());
	T_TRUE(rig_answer(&rig, call));
	go_on_deaf(RIG_OUT_MAX);
	end(5);
}

/* n-3 lists b still, since its news waits for an answer, when the view tells that b is on
 * n-2, where it is another. */
static void move_to_another_node(void)
{
	unsigned call;

	begin(1);
	put_first();
	bind_b(0, "n-3", 2, !anti);
	wait_ms(100);
	put_pod("/schedules/0000/web/q/spec", "q", "",
	        "\"nodeSelector\":{\"zone\":\"z3\"}");
	hear_pods();
	call = find_call("/schedules/0000/web/q/state", false);
	end_b(0, "n-3", 3, !anti);
	put_second();
	bind_b(1, "n-2", 2, anti);
	hear_view();
	let_a_go();
	go_on_deaf(call);
	T_TRUE(!is_bound());
	T_TRUE(!rig_answer(&rig, call));
	go_on_deaf(RIG_OUT_MAX);
	end(3);
}

T_CASE(a_spec_that_is_known_from_another_node)
{
	twice(move_to_another_node);
}

/* b is ours, waits, and is told why: in that call it is when another by its name comes to
 * n-2, of which nothing else is heard. */
static void come_under_a_call(void)
{
	unsigned call;

	begin(0);
	put_first();
	hear_pods();
	call = find_call(key_of_b("state"), false);
	if (!anti)
		let_a_go();
	go_on_deaf(call);
	if (anti)
		put_a(true);
	rig_del(&rig, key_of_b("spec"));
	put_second();
	bind_b(1, "n-2", 2, anti);
	if (anti)
		T_TRUE(rig_deliver(&rig, 0, SCHED_SCHEDULES, 1));
	hear_view();
	go_on_deaf(call);
	T_TRUE(!is_bound());
	T_TRUE(!rig_answer(&rig, call));
	go_on_deaf(RIG_OUT_MAX);
	end(3);
}

T_CASE(a_spec_of_who_is_in_a_call)
{
	twice(come_under_a_call);
}

/* b is ours and bound to n-2 by others, as the view tells; what is heard of our pods has
 * not come so far. */
static void come_ahead_of_the_watch(void)
{
	begin(0);
	put_first();
	if (!anti)
		put_a(true);
	wait_ms(1000);
	if (anti)
		put_a(true);
	rig_del(&rig, key_of_b("spec"));
	put_second();
	bind_b(1, "n-2", 2, anti);
	if (anti)
		T_TRUE(rig_deliver(&rig, 0, SCHED_SCHEDULES, 1));
	hear_view();
	go_on_deaf(RIG_OUT_MAX);
	end(3);
}

T_CASE(a_spec_of_ours_that_is_older_than_who_is_listed)
{
	twice(come_ahead_of_the_watch);
}
