/* Pods that go to remote nodes, and the shard's own digest. */
#include "tests/support/shardsched/shard/remote_rig.h"

/* -- pods that go there ------------------------------------------------------------ */

T_CASE(a_pod_without_a_local_node_goes_where_there_is_room)
{
	begin();
	put_digest(1, "4000m");
	rig_pod(&rig, 0, "small", "1", "");
	rig_pod(&rig, 0, "large", "3500m", "");
	rig_run_idle(&rig);
	T_TRUE(is_on("small", "mine"));
	T_TRUE(is_on("large", "other"));
	T_EQ(rig_alloc(&rig, 1, "other").pods, 1);
	rig_close(&rig);
}

T_CASE(a_shard_whose_digest_is_full_is_not_listed)
{
	int phase;

	begin();
	put_digest(1, "1000m");
	put_digest(2, "2000m");
	rig_pod(&rig, 0, "large", "4500m", "");
	rig_run_idle(&rig);
	(void)rig_state(&rig, 0, "large", &phase);
	T_EQ(phase, STATE_PENDING);
	T_TRUE(node_of("other") == NULL && node_of("third") == NULL);
	/* Another partition has room, as its digest says. */
	rig_node(&rig, 2, "fourth", "8");
	put_digest(2, "8000m");
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_TRUE(is_on("large", "fourth"));
	T_TRUE(node_of("other") == NULL);
	rig_close(&rig);
}

/* The node, of 16 equal ones in a partition of that shard, that the pod is placed on. */
static unsigned chosen_with(const char *shard, const char *pod)
{
	char key[64], name[16];
	unsigned chosen = 16;

	begin();
	for (unsigned i = 0; i < 16; i++) {
		(void)snprintf(name, sizeof name, "n-%02u", i);
		rig_node(&rig, 3, name, "8");
	}
	(void)snprintf(key, sizeof key, "/digests/%s", shard);
	rig_put(&rig, key,
	        "{\"v\":1,\"partitions\":{\"0003\":[{\"nodes\":16,\"free\":{\"cpu\":"
	        "\"128000m\",\"memory\":\"68719476736\",\"pods\":\"1760\"},\"most\":{"
	        "\"cpu\":\"8000m\",\"memory\":\"68719476736\",\"pods\":\"110\"},"
	        "\"labels\":{\"host\":[]},\"newest\":0}]}}");
	rig_pod(&rig, 0, pod, "6", "");
	rig_run_idle(&rig);
	for (unsigned i = 0; i < 16; i++) {
		(void)snprintf(name, sizeof name, "n-%02u", i);
		if (is_on(pod, name))
			chosen = i;
	}
	rig_close(&rig);
	return chosen;
}

/* Shards with different shares do not meet, whatever the pods. This shard is east-0. */
T_CASE(equal_nodes_are_shared_among_shards)
{
	uint32_t seen = 0;
	char pod[16];

	for (unsigned i = 0; i < 12; i++) {
		unsigned first, second;

		(void)snprintf(pod, sizeof pod, "pod-%u", i);
		first = chosen_with("west-0", pod);
		second = chosen_with("alps-0", pod);
		T_TRUE(first < 8);
		T_TRUE(second >= 8 && second < 16);
		seen |= 1u << first | 1u << second;
	}
	T_TRUE(__builtin_popcount(seen) > 6); /* the whole share is used */
}

/* A digest promised what was not there: the partition is not listed again for the same
 * digest. */
T_CASE(a_useless_remote_list_is_made_once)
{
	unsigned remote_lists = 0;

	begin();
	put_digest(1, "8000m");
	rig_pod(&rig, 0, "large", "6", "");
	for (unsigned i = 0; i < 400; i++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++)
			if (rig.out[n].used)
				(void)rig_answer(&rig, n);
		remote_lists += rig.remote_list[1];
		(void)rig_remote_list_all(&rig);
		rig_deliver_all(&rig);
		rig.now_ms += 1000;
	}
	T_EQ(remote_lists, 1);
	rig_close(&rig);
}

T_CASE(one_pod_of_a_class_waits_and_the_others_follow)
{
	char name[16];

	begin();
	put_digest(1, "4000m");
	put_digest(2, "4000m");
	for (unsigned i = 0; i < 12; i++) {
		(void)snprintf(name, sizeof name, "p-%u", i);
		rig_pod(&rig, 0, name, "1", "");
	}
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "mine").pods, 4);
	T_EQ(rig_alloc(&rig, 1, "other").pods, 4);
	T_EQ(rig_alloc(&rig, 2, "third").pods, 4);
	/* No status can have said that there is no room. */
	for (unsigned i = 0; i < 12; i++) {
		int phase;

		(void)snprintf(name, sizeof name, "p-%u", i);
		T_EQ(rig_state(&rig, 0, name, &phase).attempts, 1);
		T_EQ(phase, STATE_BOUND);
	}
	rig_close(&rig);
}

/* The leader is deleted: its followers do not wait for it. */
T_CASE(followers_are_not_left_behind)
{
	begin();
	put_digest(1, "4000m");
	rig_pod(&rig, 0, "a", "3500m", "");
	rig_pod(&rig, 0, "b", "3500m", "");
	rig_pod(&rig, 0, "c", "3500m", "");
	rig_deliver_all(&rig);
	rig_views(&rig);
	rig_run(&rig);
	T_TRUE(rig.remote_list[1]);
	rig_del(&rig, "/schedules/0000/web/b/spec");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	rig.now_ms += 5000;
	rig_run_idle(&rig);
	T_TRUE(is_on("a", "mine"));
	T_TRUE(is_on("c", "other"));
	rig_close(&rig);
}

/* Other shards have no digests yet: a pod waits for them, but not for ever. */
T_CASE(shards_without_a_digest_are_waited_for)
{
	int phase;

	begin();
	sched_set_shards(rig.sched, 2);
	rig_pod(&rig, 0, "large", "6", "");
	rig_pod(&rig, 0, "p", "3500m", "");
	rig_pod(&rig, 0, "q", "3500m", "");
	rig_run_idle(&rig);
	(void)rig_state(&rig, 0, "large", &phase);
	T_EQ(phase, -1);
	put_digest(1, "4000m");
	rig_run_idle(&rig);
	T_TRUE(is_on("p", "mine") && is_on("q", "other"));
	(void)rig_state(&rig, 0, "large", &phase);
	T_EQ(phase, STATE_PENDING);
	rig_close(&rig);

	begin();
	sched_set_shards(rig.sched, 2);
	rig_pod(&rig, 0, "large", "6", "");
	rig_run_idle(&rig);
	rig.now_ms += 5000;
	rig_run_idle(&rig);
	(void)rig_state(&rig, 0, "large", &phase);
	T_EQ(phase, STATE_PENDING);
	rig_close(&rig);
}

/* The nodes are known, but not yet the specs of the pods there. */
T_CASE(specs_of_pods_on_listed_nodes_are_waited_for)
{
	int phase;

	begin();
	rig_pod(&rig, 2, "guest", "500m", "");
	alloc_lists(1, "other", 2, "guest");
	put_digest(1, "3500m");
	rig_pod(&rig, 0, "a", "3", "");
	rig_pod(&rig, 0, "b", "3", "");
	rig_deliver_all(&rig);
	rig_views(&rig);
	rig_run(&rig);
	T_TRUE(rig_remote_list_all(&rig));
	rig_run(&rig);
	T_EQ(scope_of("other"), NODE_EXCLUDED);
	(void)rig_state(&rig, 0, "b", &phase);
	T_EQ(phase, -1);
	rig_run_idle(&rig);
	T_TRUE(is_on("a", "mine") && is_on("b", "other"));
	T_EQ(rig_state(&rig, 0, "b", &phase).attempts, 1);
	rig_close(&rig);
}

/* Decisions grow old until the next remote commit may go. */
T_CASE(pods_waiting_through_a_pause_are_decided_again)
{
	unsigned failed = 0;

	begin();
	put_digest(1, "4000m");
	put_digest(2, "4000m");
	rig_pod(&rig, 0, "a", "3", "");
	rig_pod(&rig, 0, "b", "3", "");
	rig_pod(&rig, 0, "c", "3", "");
	rig_run_idle(&rig);
	rig_pod(&rig, 0, "d", "500m", ",\"nodeSelector\":{\"host\":\"other\"}");
	rig_pod(&rig, 0, "e", "500m", ",\"nodeSelector\":{\"host\":\"third\"}");
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_put(&rig, "/alloc/0001/east/other", "{\"v\":1,\"generation\":9}");
	for (unsigned n = 0; n < RIG_OUT_MAX; n++)
		if (rig.out[n].used)
			failed += !rig_answer(&rig, n);
	T_EQ(failed, 1);
	T_TRUE(rig.sched->remote.resume_ms > rig.now_ms);
	rig_run(&rig);
	T_EQ(rig.sched->remote.waiting, 0);
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	T_TRUE(is_on("d", "other") && is_on("e", "third"));
	rig_close(&rig);
}

/* A partition that takes long to list is used for longer. */
T_CASE(a_slow_list_is_fresh_for_longer)
{
	struct sched_action action;

	begin();
	remote_list_request(rig.sched, 1);
	rig_run_idle(&rig);
	T_TRUE(remote_list_is_fresh(rig.sched, 1));
	rig.now_ms += 100;
	rig_run(&rig);
	T_TRUE(!remote_list_is_fresh(rig.sched, 1));
	T_TRUE(sched_next(rig.sched, &action));
	T_EQ(action.what, SCHED_REMOTE_LIST);
	rig.remote_list[1] = true;
	rig.now_ms += 50;
	rig_run(&rig);
	rig_remote_list(&rig, 1);
	rig.now_ms += 499;
	rig_run(&rig);
	T_TRUE(remote_list_is_fresh(rig.sched, 1));
	rig.now_ms += 1;
	rig_run(&rig);
	T_TRUE(!remote_list_is_fresh(rig.sched, 1));
	rig_run_idle(&rig);
	rig_close(&rig);
}

static void it_changes(unsigned turn)
{
	rig_node(&rig, 1, "other", turn % 2 == 0 ? "5" : "4");
}

/* The node's keys were newer, again and again: it is excluded for a while. */
static void keeps_refusing(void (*change)(unsigned turn), enum conflict_cause cause)
{
	struct conflict_summary summary;
	unsigned tries = 0;

	begin();
	put_digest(1, "4000m");
	rig_pod(&rig, 0, "large", "3500m", "");
	rig_pod(&rig, 0, "small", "1", "");
	for (unsigned i = 0; i < 3000 && scope_of("other") != NODE_EXCLUDED; i++) {
		rig_views(&rig);
		rig_run(&rig);
		(void)rig_remote_list_all(&rig);
		change(i);
		for (unsigned n = 0; n < RIG_OUT_MAX; n++)
			if (rig.out[n].used)
				tries += !rig_answer(&rig, n);
		rig_deliver_all(&rig);
		rig.now_ms += 50;
	}
	T_EQ(scope_of("other"), NODE_EXCLUDED);
	T_TRUE(tries >= 3);
	conflicts_summarize(&rig.sched->conflicts, rig.now_ms, &summary);
	T_EQ(summary.excluded_count, 1);
	T_TRUE(pl_span_eq(summary.excluded[0].name, PL_SPAN_LIT("other")));
	T_EQ(summary.excluded[0].cause, cause);
	T_EQ(summary.nodes, 1);
	T_EQ(summary.node[0].cause, cause);
	for (unsigned i = 0; i < 40; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 500;
	}
	T_EQ(rig_alloc(&rig, 1, "other").pods, 1);
	rig_close(&rig);
}

T_CASE(a_node_that_keeps_refusing_is_excluded)
{
	keeps_refusing(a_pod_comes, CONFLICT_ALLOC);
}

T_CASE(a_node_that_keeps_changing_is_excluded)
{
	keeps_refusing(it_changes, CONFLICT_NODE);
}

/* -- the own digest ---------------------------------------------------------------- */

T_CASE(the_own_digest_says_what_is_free)
{
	begin();
	T_TRUE(strstr(own_digest(),
	              "\"0000\":[{\"nodes\":1,\"free\":{\"cpu\":\"4000m\"") != NULL);
	T_TRUE(strstr(own_digest(), "\"labels\":{\"host\":[\"mine\"]}") != NULL);
	rig_pod(&rig, 0, "p", "1", "");
	rig_run_idle(&rig);
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	T_TRUE(strstr(own_digest(), "\"cpu\":\"3000m\"") != NULL);
	rig_close(&rig);
}

T_CASE(a_changed_digest_is_written_and_not_too_often)
{
	char name[16];
	uint32_t before;

	begin();
	rig_node(&rig, 0, "large", "64");
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	before = puts_of_digests();
	for (unsigned i = 0; i < 20; i++) { /* within a second */
		(void)snprintf(name, sizeof name, "p-%u", i);
		rig_pod(&rig, 0, name, "3", "");
		rig.now_ms += 40;
		rig_run_idle(&rig);
	}
	T_EQ(puts_of_digests(), before);
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	T_EQ(puts_of_digests(), before + 1);
	/* A small difference is written later. */
	rig_pod(&rig, 0, "tiny", "1m", "");
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	T_EQ(puts_of_digests(), before + 1);
	rig.now_ms += 30000;
	rig_run_idle(&rig);
	T_EQ(puts_of_digests(), before + 2);
	rig.now_ms += 60000;
	rig_run_idle(&rig);
	T_EQ(puts_of_digests(), before + 2);
	/* With many shards each writes more rarely. */
	sched_set_shards(rig.sched, 1000);
	for (unsigned i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof name, "q-%u", i);
		rig_node(&rig, 0, name, "64");
		rig.now_ms += 1000;
		rig_run_idle(&rig);
	}
	T_TRUE(puts_of_digests() <= before + 5);
	rig_close(&rig);
}

T_CASE(a_shard_that_owns_everything_writes_no_digest)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "mine", "4");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_run_idle(&rig);
	rig.now_ms += 5000;
	rig_run_idle(&rig);
	T_STR(own_digest(), "");
	rig_lost(&rig, 3);
	rig.now_ms += 5000;
	rig_run_idle(&rig);
	T_TRUE(own_digest()[0] != 0);
	rig_close(&rig);
}

/* Labels and taints as long as they may be. */
static void put_with_labels(uint32_t p, unsigned class, unsigned n)
{
	struct pl_buf buf = {.max = 1 << 20};
	char name[32], key[64], text[56];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = 0;
	(void)snprintf(name, sizeof name, "w-%u-%u-%u", p, class, n);
	rig_node(&rig, p, name, "4");
	T_EQ(pl_buf_printf(&buf, "{\"metadata\":{\"name\":\"%s\",\"labels\":{", name),
	     PL_OK);
	for (unsigned i = 0; i < DIGEST_LABELS_MAX; i++)
		T_EQ(pl_buf_printf(&buf, "%s\"%s.%s.%s/%s%u\":\"%s-%u\"",
		                   i == 0 ? "" : ",", text, text, text, text, i, text, n),
		     PL_OK);
	T_EQ(pl_buf_printf(&buf,
	                   "}},\"spec\":{\"taints\":[{\"key\":\"t%u\",\"effect\":"
	                   "\"NoSchedule\"}]},\"status\":{\"allocatable\":{\"cpu\":\"4\","
	                   "\"memory\":\"64Gi\",\"pods\":\"110\"}}}%c",
	                   class, 0),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_put(&rig, key, (const char *)buf.at);
	pl_buf_done(&buf);
}

/* Labels are left out when the digest is too large; free room is not. */
T_CASE(a_digest_that_would_be_too_large_is_shortened)
{
	struct digest digest;

	rig_open(&rig, NULL);
	for (uint32_t p = 0; p < 2; p++)
		for (unsigned n = 0; n < DIGEST_CLASSES_MAX * DIGEST_VALUES_MAX; n++)
			put_with_labels(p, n % DIGEST_CLASSES_MAX,
			                n / DIGEST_CLASSES_MAX);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	rig.now_ms += 5000;
	rig_run_idle(&rig);
	T_TRUE(own_digest()[0] != 0);
	T_OK(digest_parse(pl_span_str(own_digest()), &rig.store.arena, &digest, &rig.err),
	     &rig.err);
	T_EQ(digest.parts, 2);
	T_EQ(digest.part[0].classes, DIGEST_CLASSES_MAX);
	for (uint32_t i = 0; i < digest.part[0].classes; i++) {
		const struct digest_class *class = &digest.part[0].class[i];

		T_TRUE(class->more && !class->other && class->taints == 1);
		T_EQ(class->nodes, DIGEST_VALUES_MAX);
	}
	rig_close(&rig);
}
