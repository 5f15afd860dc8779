/* Nodes of others: the whole view, and what comes and goes with it. */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/sched_rig.h"
#include "shardsched/shard/tables/tables.h"

static struct rig rig;

static const struct sched_node *node_of(const char *name)
{
	return node_find(rig.sched, PL_SPAN_LIT("east"), pl_span_str(name));
}

/* Somebody else's. */
static void alloc_lists(uint32_t p, const char *node, uint32_t of, const char *pod)
{
	char key[128], value[256];

	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, node);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"500m\",\"pods\":\"1\"},"
		"\"nonzero\":{\"cpu\":\"500m\",\"memory\":\"209715200\"},"
		"\"pods\":{\"%04u\":{\"web\":[\"%s\"]}}}",
		of, pod);
	rig_put(&rig, key, value);
}

static uint32_t scope_of(const char *name)
{
	const struct sched_node *node = node_of(name);

	return node == NULL || node->slot == SNAPSHOT_NONE ? UINT32_MAX : node->scope;
}

static void begin(void)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "mine", "4");
	rig_node(&rig, 1, "other", "4");
	rig_node(&rig, 2, "third", "4");
	rig_own(&rig, 0);
	rig_settle(&rig);
}

T_CASE(the_view_brings_all_nodes)
{
	begin();
	T_TRUE(node_of("other") == NULL);
	T_EQ(view_clear(rig.sched), 0);
	view_want(rig.sched);
	rig_settle(&rig);
	T_EQ(scope_of("mine"), NODE_HOME);
	T_EQ(scope_of("other"), NODE_ABROAD);
	T_EQ(scope_of("third"), NODE_ABROAD);
	T_EQ(view_clear(rig.sched), rig.store.revision);
	rig_close(&rig);
}

/* Pods are put on own nodes as ever. */
T_CASE(home_comes_first)
{
	int phase;

	begin();
	view_want(rig.sched);
	rig_pod(&rig, 0, "p", "1", "");
	rig_settle(&rig);
	T_TRUE(pl_span_eq(rig_state(&rig, 0, "p", &phase).node, PL_SPAN_LIT("mine")));
	rig_close(&rig);
}

T_CASE(it_is_kept_for_a_while)
{
	begin();
	view_want(rig.sched);
	view_want(rig.sched);
	rig_settle(&rig);
	view_release(rig.sched);
	rig.now_ms += 60000;
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	view_release(rig.sched);
	rig.now_ms += 29000;
	rig_settle(&rig);
	T_TRUE(rig.viewed[SCHED_WHOLE]);
	T_TRUE(sched_deadline_ms(rig.sched) <= rig.now_ms + 1000);
	rig.now_ms += 1000;
	rig_settle(&rig);
	T_TRUE(!rig.viewed[SCHED_WHOLE]);
	T_TRUE(node_of("other") == NULL);
	T_EQ(scope_of("mine"), NODE_HOME);
	T_EQ(view_clear(rig.sched), 0);
	rig_close(&rig);
}

/* What somebody else puts on a node is known by key; until then the node is aside, and
 * the view not clear. */
T_CASE(specs_of_others_are_read)
{
	int64_t revision;

	begin();
	view_want(rig.sched);
	rig_settle(&rig);
	rig_pod(&rig, 2, "guest", "500m", "");
	alloc_lists(1, "other", 2, "guest");
	revision = rig.store.revision;
	rig_node(&rig, 3, "fourth", "4");
	rig_deliver_all(&rig);
	T_EQ(scope_of("other"), NODE_ASIDE);
	T_TRUE(view_clear(rig.sched) < revision);
	rig_run(&rig);
	T_TRUE(view_clear(rig.sched) < revision);
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	T_EQ(view_clear(rig.sched), rig.store.revision);
	T_EQ(rig.sched->snapshot.placed_count, 1);
	rig_close(&rig);
}

/* It ends, and nothing is left of it. */
T_CASE(pods_of_others_are_forgotten)
{
	begin();
	view_want(rig.sched);
	rig_pod(&rig, 2, "guest", "500m", "");
	alloc_lists(1, "other", 2, "guest");
	rig_settle(&rig);
	T_EQ(rig.sched->pods.count, 1);
	rig_put(&rig, "/alloc/0001/east/other", "{\"v\":1,\"generation\":3}");
	rig_settle(&rig);
	T_EQ(rig.sched->pods.count, 0);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}

T_CASE(partitions_come_and_go_while_it_is_held)
{
	begin();
	view_want(rig.sched);
	rig_settle(&rig);
	rig_own(&rig, 1);
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_HOME);
	rig_lost(&rig, 1);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_lost(&rig, 0);
	rig_settle(&rig);
	T_EQ(scope_of("mine"), NODE_ABROAD);
	rig_del(&rig, "/nodes/0000/east/mine");
	rig_del(&rig, "/alloc/0000/east/mine");
	rig_settle(&rig);
	T_TRUE(node_of("mine") == NULL);
	rig_close(&rig);
}

/* To be handed over: not at home any more, but it counts. */
T_CASE(a_quiet_partition_is_abroad)
{
	begin();
	view_want(rig.sched);
	rig_settle(&rig);
	sched_quiesce(rig.sched, 0);
	T_EQ(scope_of("mine"), NODE_ABROAD);
	rig_settle(&rig);
	T_TRUE(sched_is_quiet(rig.sched, 0));
	rig_close(&rig);
}

/* What went while it was not watched is swept; what came since the list is not. */
T_CASE(a_new_list_sweeps)
{
	begin();
	view_want(rig.sched);
	rig_settle(&rig);
	sched_view_lost(rig.sched, SCHED_WHOLE);
	T_EQ(view_clear(rig.sched), 0);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_del(&rig, "/nodes/0001/east/other");
	rig_del(&rig, "/alloc/0001/east/other");
	sched_view_begin(rig.sched, SCHED_WHOLE);
	sched_view_end(rig.sched, SCHED_WHOLE, 101); /* before there was any node */
	T_EQ(scope_of("third"), NODE_ABROAD);
	rig_view_list(&rig, SCHED_WHOLE);
	T_TRUE(node_of("other") == NULL);
	T_EQ(scope_of("third"), NODE_ABROAD);
	T_EQ(scope_of("mine"), NODE_HOME);
	rig_settle(&rig);
	rig_close(&rig);
}

T_CASE(news_of_a_node_in_a_call_keep_it_back)
{
	int64_t revision;

	begin();
	view_want(rig.sched);
	rig_settle(&rig);
	rig_pod(&rig, 0, "p", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig); /* the commit is under way */
	rig_put(&rig, "/alloc/0000/east/mine", "{\"v\":1,\"generation\":7}");
	revision = rig.store.revision;
	rig_put(&rig, "/digests/x", "{}");
	rig_deliver_all(&rig);
	T_EQ(view_clear(rig.sched), revision - 1);
	rig_settle(&rig);
	T_EQ(view_clear(rig.sched), rig.sched->whole.revision);
	rig_close(&rig);
}

T_CASE(a_rewound_store_empties_everything)
{
	begin();
	view_want(rig.sched);
	rig_settle(&rig);
	sched_rewound(rig.sched);
	T_EQ(rig.sched->nodes.count, 0);
	T_EQ(view_clear(rig.sched), 0);
	for (unsigned part = 0; part < SCHED_PARTS; part++)
		rig_list(&rig, 0, (enum sched_part)part);
	rig_view_list(&rig, SCHED_WHOLE);
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}

T_CASE(a_visit_is_kept_for_a_while)
{
	begin();
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	T_TRUE(node_of("third") == NULL);
	T_EQ(view_clear(rig.sched), 0);
	rig.now_ms += 30000;
	rig_settle(&rig);
	T_TRUE(node_of("other") == NULL);
	rig_close(&rig);
}

/* What a visit does not find any more is gone. */
T_CASE(a_second_visit_sweeps)
{
	begin();
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	rig_del(&rig, "/nodes/0001/east/other");
	rig_del(&rig, "/alloc/0001/east/other");
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	T_TRUE(node_of("other") == NULL);
	rig_close(&rig);
}

T_CASE(a_visit_of_what_is_owned_by_now_is_moot)
{
	struct sched_action action;

	begin();
	visit_want(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	T_EQ(action.what, SCHED_VISIT);
	rig.visit[1] = true;
	rig_own(&rig, 1);
	rig_lost(&rig, 1);
	rig_visit(&rig, 1);
	T_TRUE(node_of("other") == NULL);
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}

T_CASE(a_visit_that_failed_leaves_nothing)
{
	struct sched_action action;

	begin();
	visit_want(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	sched_visit_records(rig.sched, 1,
	                    rig_get(&rig.store, PL_SPAN_LIT("/nodes/0001/east/other")),
	                    1);
	sched_visit_end(rig.sched, 1, 0);
	T_TRUE(node_of("other") == NULL);
	rig_settle(&rig);
	rig_close(&rig);
}

/* What is wanted while a visit is under way of which nothing will come is not that one.
 */
T_CASE(who_waits_for_a_moot_visit_gets_another)
{
	struct sched_action action;

	begin();
	visit_want(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	rig.visit[1] = true;
	rig_own(&rig, 1);
	rig_lost(&rig, 1);
	visit_want(rig.sched, 1);
	rig_run(&rig); /* not two at once */
	rig_visit(&rig, 1);
	T_TRUE(node_of("other") == NULL);
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}

/* -- pages of lists, and what ends between them ------------------------------------ */

static void pages_of_the_view(void)
{
	struct kv_keys keys = rig_view_keys(SCHED_WHOLE);

	view_want(rig.sched);
	rig.viewed[SCHED_WHOLE] = true;
	rig.view_cursor[SCHED_WHOLE] = rig.store.logged;
	sched_view_begin(rig.sched, SCHED_WHOLE);
	for (uint32_t i = 0; i < rig.store.keys; i++)
		if (kv_key_in(keys, rig.store.key[i].key))
			sched_view_records(rig.sched, SCHED_WHOLE, &rig.store.key[i], 1);
}

static void pages_of_a_visit(void)
{
	struct sched_action action;

	visit_want(rig.sched, 1);
	T_TRUE(sched_next(rig.sched, &action));
	T_EQ(action.what, SCHED_VISIT);
	sched_visit_records(rig.sched, 1,
	                    rig_get(&rig.store, PL_SPAN_LIT("/nodes/0001/east/other")),
	                    1);
	sched_visit_records(rig.sched, 1,
	                    rig_get(&rig.store, PL_SPAN_LIT("/alloc/0001/east/other")),
	                    1);
}

T_CASE(a_visit_grows_old_while_the_view_is_listed)
{
	begin();
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	pages_of_the_view();
	rig.now_ms += 30000;
	rig_run(&rig);
	T_EQ(scope_of("other"), UINT32_MAX);
	sched_view_end(rig.sched, SCHED_WHOLE, rig.store.revision);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_settle(&rig);
	T_EQ(view_clear(rig.sched), rig.store.revision);
	rig_close(&rig);
}

T_CASE(a_visit_fails_while_the_view_is_listed)
{
	begin();
	pages_of_a_visit();
	pages_of_the_view();
	sched_visit_end(rig.sched, 1, 0);
	sched_view_end(rig.sched, SCHED_WHOLE, rig.store.revision);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}

/* What it had brought by then was forgotten with the view: it is made again. */
T_CASE(the_view_ends_during_a_visit)
{
	begin();
	view_want(rig.sched);
	rig_settle(&rig);
	pages_of_a_visit();
	view_release(rig.sched);
	rig.now_ms += 30000;
	rig_run(&rig);
	rig_views(&rig);
	T_TRUE(!rig.viewed[SCHED_WHOLE]);
	sched_visit_end(rig.sched, 1, rig.store.revision);
	rig.now_ms += 1000;
	rig_settle(&rig);
	T_EQ(scope_of("other"), NODE_ABROAD);
	rig_close(&rig);
}

/* -- pods that go there -------------------------------------------------------- */

/* As another shard would tell of a partition with one node. */
static void tell_of(uint32_t p, const char *cpu)
{
	char key[64], value[512];

	(void)snprintf(key, sizeof key, "/digests/other-%u", p);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"partitions\":{\"%04u\":[{\"nodes\":1,\"free\":{\"cpu\":"
		"\"%s\",\"memory\":\"68719476736\",\"pods\":\"110\"},\"most\":{"
		"\"cpu\":\"%s\",\"memory\":\"68719476736\",\"pods\":\"110\"},"
		"\"labels\":{\"host\":[]}}]}}",
		p, cpu, cpu);
	rig_put(&rig, key, value);
}

static bool is_on(const char *pod, const char *node)
{
	int phase;
	struct pod_state state = rig_state(&rig, 0, pod, &phase);

	return phase == STATE_BOUND && pl_span_eq(state.node, pl_span_str(node));
}

T_CASE(what_finds_nothing_at_home_goes_where_there_is_room)
{
	begin();
	tell_of(1, "4000m");
	rig_pod(&rig, 0, "small", "1", "");
	rig_pod(&rig, 0, "large", "3500m", "");
	rig_settle(&rig);
	T_TRUE(is_on("small", "mine"));
	T_TRUE(is_on("large", "other"));
	T_EQ(rig_alloc(&rig, 1, "other").pods, 1);
	rig_close(&rig);
}

T_CASE(nobody_is_visited_who_says_that_he_is_full)
{
	int phase;

	begin();
	tell_of(1, "1000m");
	tell_of(2, "2000m");
	rig_pod(&rig, 0, "large", "4500m", "");
	rig_settle(&rig);
	(void)rig_state(&rig, 0, "large", &phase);
	T_EQ(phase, STATE_PENDING);
	T_TRUE(node_of("other") == NULL && node_of("third") == NULL);
	/* It hears of room. */
	rig_node(&rig, 2, "fourth", "8");
	tell_of(2, "8000m");
	rig.now_ms += 20000;
	rig_settle(&rig);
	T_TRUE(is_on("large", "fourth"));
	T_TRUE(node_of("other") == NULL);
	rig_close(&rig);
}

/* What a digest promised was not there: it is not visited for the same again. */
T_CASE(a_useless_visit_is_made_once)
{
	unsigned visits = 0;

	begin();
	tell_of(1, "8000m");
	rig_pod(&rig, 0, "large", "6", "");
	for (unsigned i = 0; i < 400; i++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++)
			if (rig.out[n].used)
				(void)rig_answer(&rig, n);
		visits += rig.visit[1];
		(void)rig_visit_all(&rig);
		rig_deliver_all(&rig);
		rig.now_ms += 1000;
	}
	T_EQ(visits, 1);
	rig_close(&rig);
}

T_CASE(of_a_class_one_waits_and_the_others_follow)
{
	char name[16];

	begin();
	tell_of(1, "4000m");
	tell_of(2, "4000m");
	for (unsigned i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof name, "p-%u", i);
		rig_pod(&rig, 0, name, "1", "");
	}
	rig_settle(&rig);
	T_EQ(rig_alloc(&rig, 0, "mine").pods, 4);
	T_EQ(rig_alloc(&rig, 1, "other").pods, 4);
	T_EQ(rig_alloc(&rig, 2, "third").pods, 4);
	/* Nobody was told that there is no room. */
	for (unsigned i = 0; i < 12; i++) {
		int phase;

		(void)snprintf(name, sizeof name, "p-%u", i);
		T_EQ(rig_state(&rig, 0, name, &phase).attempts, 1);
		T_EQ(phase, STATE_BOUND);
	}
	rig_close(&rig);
}

/* The one ahead goes away: the others do not wait for it. */
T_CASE(who_follows_is_not_left_behind)
{
	begin();
	tell_of(1, "4000m");
	rig_pod(&rig, 0, "a", "3500m", "");
	rig_pod(&rig, 0, "b", "3500m", "");
	rig_pod(&rig, 0, "c", "3500m", "");
	rig_deliver_all(&rig);
	rig_views(&rig);
	rig_run(&rig);
	T_TRUE(rig.visit[1]);
	rig_del(&rig, "/schedules/0000/web/b/spec");
	rig_deliver_all(&rig);
	rig_settle(&rig);
	rig.now_ms += 5000;
	rig_settle(&rig);
	T_TRUE(is_on("a", "mine"));
	T_TRUE(is_on("c", "other"));
	rig_close(&rig);
}

/* Other shards have not told what they have: that is waited for, but not for ever. */
T_CASE(who_has_not_told_yet_is_waited_for)
{
	int phase;

	begin();
	sched_set_shards(rig.sched, 2);
	rig_pod(&rig, 0, "large", "6", "");
	rig_pod(&rig, 0, "p", "3500m", "");
	rig_pod(&rig, 0, "q", "3500m", "");
	rig_settle(&rig);
	(void)rig_state(&rig, 0, "large", &phase);
	T_EQ(phase, -1);
	tell_of(1, "4000m");
	rig_settle(&rig);
	T_TRUE(is_on("p", "mine") && is_on("q", "other"));
	(void)rig_state(&rig, 0, "large", &phase);
	T_EQ(phase, STATE_PENDING);
	rig_close(&rig);

	begin();
	sched_set_shards(rig.sched, 2);
	rig_pod(&rig, 0, "large", "6", "");
	rig_settle(&rig);
	rig.now_ms += 5000;
	rig_settle(&rig);
	(void)rig_state(&rig, 0, "large", &phase);
	T_EQ(phase, STATE_PENDING);
	rig_close(&rig);
}

/* The nodes are seen, but not yet what runs there. */
T_CASE(specs_of_pods_there_are_waited_for)
{
	int phase;

	begin();
	rig_pod(&rig, 2, "guest", "500m", "");
	alloc_lists(1, "other", 2, "guest");
	tell_of(1, "3500m");
	rig_pod(&rig, 0, "a", "3", "");
	rig_pod(&rig, 0, "b", "3", "");
	rig_deliver_all(&rig);
	rig_views(&rig);
	rig_run(&rig);
	T_TRUE(rig_visit_all(&rig));
	rig_run(&rig);
	T_EQ(scope_of("other"), NODE_ASIDE);
	(void)rig_state(&rig, 0, "b", &phase);
	T_EQ(phase, -1);
	rig_settle(&rig);
	T_TRUE(is_on("a", "mine") && is_on("b", "other"));
	T_EQ(rig_state(&rig, 0, "b", &phase).attempts, 1);
	rig_close(&rig);
}

/* Until the next errand may go, what was decided grows old. */
T_CASE(what_waits_through_a_pause_is_decided_again)
{
	unsigned failed = 0;

	begin();
	tell_of(1, "4000m");
	tell_of(2, "4000m");
	rig_pod(&rig, 0, "a", "3", "");
	rig_pod(&rig, 0, "b", "3", "");
	rig_pod(&rig, 0, "c", "3", "");
	rig_settle(&rig);
	rig_pod(&rig, 0, "d", "500m", ",\"nodeSelector\":{\"host\":\"other\"}");
	rig_pod(&rig, 0, "e", "500m", ",\"nodeSelector\":{\"host\":\"third\"}");
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_put(&rig, "/alloc/0001/east/other", "{\"v\":1,\"generation\":9}");
	for (unsigned n = 0; n < RIG_OUT_MAX; n++)
		if (rig.out[n].used)
			failed += !rig_answer(&rig, n);
	T_EQ(failed, 1);
	T_TRUE(rig.sched->abroad.resume_ms > rig.now_ms);
	rig_run(&rig);
	T_EQ(rig.sched->abroad.waiting, 0);
	rig.now_ms += 1000;
	rig_settle(&rig);
	T_TRUE(is_on("d", "other") && is_on("e", "third"));
	rig_close(&rig);
}

/* What takes long to list is used for longer. */
T_CASE(what_was_seen_is_fresh_as_long_as_it_took)
{
	struct sched_action action;

	begin();
	visit_want(rig.sched, 1);
	rig_settle(&rig);
	T_TRUE(visit_is_fresh(rig.sched, 1));
	rig.now_ms += 100;
	rig_run(&rig);
	T_TRUE(!visit_is_fresh(rig.sched, 1));
	T_TRUE(sched_next(rig.sched, &action));
	T_EQ(action.what, SCHED_VISIT);
	rig.visit[1] = true;
	rig.now_ms += 50;
	rig_run(&rig);
	rig_visit(&rig, 1);
	rig.now_ms += 499;
	rig_run(&rig);
	T_TRUE(visit_is_fresh(rig.sched, 1));
	rig.now_ms += 1;
	rig_run(&rig);
	T_TRUE(!visit_is_fresh(rig.sched, 1));
	rig_settle(&rig);
	rig_close(&rig);
}

static void somebody_comes(unsigned turn)
{
	char value[64];

	(void)snprintf(value, sizeof value, "{\"v\":1,\"generation\":%u}", turn + 5);
	rig_put(&rig, "/alloc/0001/east/other", value);
}

static void it_changes(unsigned turn)
{
	rig_node(&rig, 1, "other", turn % 2 == 0 ? "5" : "4");
}

/* Something was newer there, again and again: the node is left alone for a while. */
static void keeps_refusing(void (*change)(unsigned turn), enum conflict_cause cause)
{
	struct conflict_summary summary;
	unsigned tries = 0;

	begin();
	tell_of(1, "4000m");
	rig_pod(&rig, 0, "large", "3500m", "");
	rig_pod(&rig, 0, "small", "1", "");
	for (unsigned i = 0; i < 3000 && scope_of("other") != NODE_ASIDE; i++) {
		rig_views(&rig);
		rig_run(&rig);
		(void)rig_visit_all(&rig);
		change(i);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++)
			if (rig.out[n].used)
				tries += !rig_answer(&rig, n);
		rig_deliver_all(&rig);
		rig.now_ms += 50;
	}
	T_EQ(scope_of("other"), NODE_ASIDE);
	T_TRUE(tries >= 3);
	conflicts_tell(&rig.sched->conflicts, rig.now_ms, &summary);
	T_EQ(summary.asides, 1);
	T_TRUE(pl_span_eq(summary.aside[0].name, PL_SPAN_LIT("other")));
	T_EQ(summary.aside[0].cause, cause);
	T_EQ(summary.nodes, 1);
	T_EQ(summary.node[0].cause, cause);
	for (unsigned i = 0; i < 40; i++) {
		rig_settle(&rig);
		rig.now_ms += 500;
	}
	T_EQ(rig_alloc(&rig, 1, "other").pods, 1);
	rig_close(&rig);
}

T_CASE(a_node_that_keeps_refusing_is_set_aside)
{
	keeps_refusing(somebody_comes, CONFLICT_ALLOC);
}

T_CASE(a_node_that_keeps_changing_is_set_aside_for_that)
{
	keeps_refusing(it_changes, CONFLICT_NODE);
}

/* -- what is said to others ------------------------------------------------------ */

static const char *own_digest(void)
{
	return rig_value(&rig, "/digests/east-0");
}

T_CASE(the_own_digest_says_what_is_free)
{
	begin();
	T_TRUE(strstr(own_digest(),
	              "\"0000\":[{\"nodes\":1,\"free\":{\"cpu\":\"4000m\"") != NULL);
	T_TRUE(strstr(own_digest(), "\"labels\":{\"host\":[\"mine\"]}") != NULL);
	rig_pod(&rig, 0, "p", "1", "");
	rig_settle(&rig);
	rig.now_ms += 1000;
	rig_settle(&rig);
	T_TRUE(strstr(own_digest(), "\"cpu\":\"3000m\"") != NULL);
	rig_close(&rig);
}

static uint32_t puts_of_digests(void)
{
	uint32_t puts = 0;

	for (uint32_t i = 0; i < rig.store.logged; i++)
		puts += pl_span_eq(rig.store.log[i].record.key,
		                   PL_SPAN_LIT("/digests/east-0"));
	return puts;
}

T_CASE(it_is_written_when_it_tells_something_else_and_not_too_often)
{
	char name[16];
	uint32_t before;

	begin();
	rig_node(&rig, 0, "large", "64");
	rig.now_ms += 1000;
	rig_settle(&rig);
	before = puts_of_digests();
	for (unsigned i = 0; i < 20; i++) { /* within a second */
		(void)snprintf(name, sizeof name, "p-%u", i);
		rig_pod(&rig, 0, name, "3", "");
		rig.now_ms += 40;
		rig_settle(&rig);
	}
	T_EQ(puts_of_digests(), before);
	rig.now_ms += 1000;
	rig_settle(&rig);
	T_EQ(puts_of_digests(), before + 1);
	/* Little is told later. */
	rig_pod(&rig, 0, "tiny", "1m", "");
	rig.now_ms += 2000;
	rig_settle(&rig);
	T_EQ(puts_of_digests(), before + 1);
	rig.now_ms += 30000;
	rig_settle(&rig);
	T_EQ(puts_of_digests(), before + 2);
	rig.now_ms += 60000;
	rig_settle(&rig);
	T_EQ(puts_of_digests(), before + 2);
	/* Many shards: each more rarely. */
	sched_set_shards(rig.sched, 1000);
	for (unsigned i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof name, "q-%u", i);
		rig_node(&rig, 0, name, "64");
		rig.now_ms += 1000;
		rig_settle(&rig);
	}
	T_TRUE(puts_of_digests() <= before + 5);
	rig_close(&rig);
}

T_CASE(who_owns_everything_tells_nobody)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "mine", "4");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_settle(&rig);
	rig.now_ms += 5000;
	rig_settle(&rig);
	T_STR(own_digest(), "");
	rig_lost(&rig, 3);
	rig.now_ms += 5000;
	rig_settle(&rig);
	T_TRUE(own_digest()[0] != 0);
	rig_close(&rig);
}
