/* No write to a partition without its epoch; and a store that went back in time. */
#include "store/keys/partition.h"
#include "tests/support/coord/shard/shard_fixture.h"

/* -- the guard --------------------------------------------------------------------- */

struct ending {
	bool done;
	enum pl_code code;
};

static void on_write(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct ending *ending = ctx;

	(void)result;
	T_TRUE(!ending->done);
	ending->done = true;
	ending->code = err == NULL ? PL_OK : err->code;
}

static enum pl_code write_at(struct shard_node *node, const char *key,
                             struct ending *ending)
{
	struct kv_put put = {.key = pl_span_str(key), .value = PL_SPAN_LIT("{}")};

	*ending = (struct ending){0};
	return kv_put(shard_kv(node->shard), &put, 1000, on_write, ending, NULL, NULL);
}

static const char *key_in(uint32_t partition, const char *what)
{
	static char key[64];

	(void)snprintf(key, sizeof key, "/schedules/%04u/ns/pod/%s", partition, what);
	return key;
}

T_CASE(writes_to_owned_partitions_pass_and_others_are_refused)
{
	struct ending ending;
	uint32_t p;

	open_three();
	p = owned_partition(&nodes[0]);
	T_EQ(write_at(&nodes[0], key_in(p, "state"), &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_TRUE(ending.done);
	T_EQ(ending.code, PL_OK);
	T_EQ(write_at(&nodes[1], key_in(p, "state"), &ending), PL_FENCED);
	T_EQ(write_at(&nodes[1], key_in(PARTITIONS, "spec"), &ending), PL_FENCED);
	T_EQ(write_at(&nodes[1], key_in(9999, "spec"), &ending), PL_FENCED);
	T_EQ(write_at(&nodes[1], "/schedules/", &ending), PL_FENCED);
	T_EQ(write_at(&nodes[1], "/digests/b", &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_EQ(ending.code, PL_OK);
	T_EQ(shard_fenced(nodes[0].shard) + shard_fenced(nodes[1].shard), 0);
	down();
}

static enum pl_code write_both(struct shard_node *node, const char *one, const char *two,
                               struct ending *ending)
{
	struct kv_req ops[] = {
		kv_op_put(pl_span_str(one), PL_SPAN_LIT("{}")),
		kv_op_put(pl_span_str(two), PL_SPAN_LIT("{}")),
	};
	struct kv_req txn = {.op = KV_TXN, .txn = {.then = ops, .then_count = 2}};

	*ending = (struct ending){0};
	return kv_start(shard_kv(node->shard), &txn, 1000, on_write, ending, NULL, NULL);
}

/* For pods of owned partitions, on nodes and with pods of other partitions. */
T_CASE(shared_keys_pass_with_any_own_fence)
{
	static const char *const shared[] = {"/budgets/ns/b", "/groups/ns/term",
	                                     "/groups/nodes"};
	char other[64], alloc[64], mine[64];
	struct ending ending;
	uint32_t p, q;

	open_three();
	p = owned_partition(&nodes[0]);
	q = owned_partition(&nodes[1]);
	(void)snprintf(mine, sizeof mine, "%s", key_in(p, "state"));
	(void)snprintf(other, sizeof other, "%s", key_in(q, "state"));
	(void)snprintf(alloc, sizeof alloc, "/alloc/%04u/east/n", q);
	for (unsigned i = 0; i < 2; i++) { /* room is reserved for gangs of owned
	                                    * partitions */
		T_EQ(write_at(&nodes[i], alloc, &ending), PL_OK);
		kit_run(&kit, kit.now_ms);
		T_EQ(ending.code, PL_OK);
	}
	T_EQ(write_at(&nodes[0], other, &ending), PL_FENCED);
	T_EQ(write_both(&nodes[0], mine, other, &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_EQ(ending.code, PL_OK);
	T_EQ(write_both(&nodes[0], mine, alloc, &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_EQ(ending.code, PL_OK);
	for (unsigned i = 0; i < sizeof shared / sizeof shared[0]; i++) {
		T_EQ(write_at(&nodes[0], shared[i], &ending), i == 0 ? PL_FENCED : PL_OK);
		kit_run(&kit, kit.now_ms);
		T_EQ(write_both(&nodes[0], mine, shared[i], &ending), PL_OK);
		kit_run(&kit, kit.now_ms);
		T_EQ(ending.code, PL_OK);
	}
	/* With a registry only locks are written, and nothing with a lock that is made
	 * again. */
	T_EQ(write_both(&nodes[0], "/groups/ns/registry", shared[0], &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_EQ(ending.code, PL_OK);
	down();
}

/* Only the owner of a gang's partition writes how far the gang has come. */
T_CASE(a_gangs_record_needs_the_fence_of_its_partition)
{
	unsigned written = 0;

	open_three();
	for (unsigned g = 0; g < 12; g++) {
		struct partition_group group = {.namespace = PL_SPAN_LIT("ns")};
		char name[8], key[32], mine[64];
		uint32_t p = 0;

		(void)snprintf(name, sizeof name, "g-%u", g);
		(void)snprintf(key, sizeof key, "/gangs/ns/%s", name);
		(void)snprintf(mine, sizeof mine, "%s",
		               key_in(owned_partition(&nodes[0]), "state"));
		group.gang = pl_span_str(name);
		T_OK(partition_of_group(&group, PARTITIONS, &p, NULL), NULL);
		for (unsigned i = 0; i < 2; i++) {
			struct ending ending;
			bool ours = shard_epoch(nodes[i].shard, p) != 0;

			T_EQ(write_at(&nodes[i], key, &ending), ours ? PL_OK : PL_FENCED);
			kit_run(&kit, kit.now_ms);
			written += ours;
			if (!ours && i == 0)
				T_EQ(write_both(&nodes[0], mine, key, &ending),
				     PL_FENCED);
		}
	}
	T_TRUE(written > 2);
	down();
}

T_CASE(ranges_are_judged_whole)
{
	static const struct {
		const char *from, *to; /* to NULL: a prefix; "": no upper end */
		enum pl_code code;
	} cases[] = {
		{"/schedules/", NULL, PL_FENCED},
		{"/sched", NULL, PL_FENCED},
		{"", NULL, PL_FENCED},
		{"/schedules/0000/", NULL, PL_OK},
		{"/schedules/0000", NULL, PL_FENCED},
		{"/schedules/0000/ns/", NULL, PL_OK},
		{"/schedules/0000/a", "/schedules/0000/b", PL_OK},
		{"/schedules/0000/a", "/schedules/00000", PL_OK},
		{"/schedules/0000/a", "/schedules/0001/b", PL_FENCED},
		{"/schedules/0000/a", "/schedules/00001", PL_FENCED},
		{"/s", "/schedules/", PL_OK},
		{"/a", "/schedules/0", PL_FENCED},
		{"/schedules0", "/sd", PL_OK},
		{"/schedules/0000/a", "", PL_FENCED},
		{"/sz", "", PL_OK},
		{"/groups/", NULL, PL_OK},
		{"/schedules/00x0/", NULL, PL_FENCED},
	};
	struct ending ending;

	up();
	node_open(&nodes[0], "a", 100);
	settle();
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct kv_delete del = {
			.keys = cases[i].to == NULL   ? kv_prefix(kit_key(cases[i].from))
		                : cases[i].to[0] == 0 ? kv_from(kit_key(cases[i].from))
		                                      : kv_range(kit_key(cases[i].from),
		                                                 kit_key(cases[i].to))};
		enum pl_code code;

		ending = (struct ending){0};
		code = kv_delete(shard_kv(nodes[0].shard), &del, 1000, on_write, &ending,
		                 NULL, NULL);
		if (code != cases[i].code)
			t_fail(__FILE__, __LINE__, "'%s' to '%s': %s", cases[i].from,
			       cases[i].to == NULL ? "(prefix)" : cases[i].to,
			       pl_code_name(code));
		kit_run(&kit, kit.now_ms);
		T_EQ(ending.done, code == PL_OK);
		T_EQ(ending.code, PL_OK);
	}
	T_EQ(shard_owned(nodes[0].shard), PARTITIONS);
	down();
}

static void ignore_end(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	(void)ctx;
	(void)result;
	(void)err;
}

T_CASE(a_write_under_an_epoch_that_is_lost_does_not_happen)
{
	struct kv_lease_req revoke;
	struct ending ending;
	uint32_t p;

	open_three();
	p = owned_partition(&nodes[0]);
	revoke = (struct kv_lease_req){.id = nodes[0].lease};
	T_EQ(kv_lease_revoke(kit.kv, &revoke, 1000, ignore_end, NULL, NULL, NULL), PL_OK);
	/* The shard has not heard of it. */
	T_TRUE(shard_epoch(nodes[0].shard, p) != 0);
	T_EQ(write_at(&nodes[0], key_in(p, "state"), &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_TRUE(ending.done);
	T_EQ(ending.code, PL_FENCED);
	T_EQ(nodes[0].epoch[p], 0);
	T_TRUE(value_at(key_in(p, "state")) == NULL);
	T_EQ(shard_fenced(nodes[0].shard), 1);
	T_EQ(nodes[0].reports[SHARD_FENCED], 1);
	settle();
	T_TRUE(strstr(value_at("/shards/a"), "\"fenced\":1") != NULL);
	down();
}

/* -- a rewound store --------------------------------------------------------------- */

T_CASE(a_restored_store_costs_every_epoch_and_is_owned_again)
{
	struct memkv_snapshot *snapshot = NULL;

	open_three();
	T_OK(memkv_save(kit.mem, &snapshot, &kit.err), &kit.err);
	configure(CONFIG_SHARDS, "{\"drain\":[\"b\"]}");
	settle();
	T_EQ(shard_owned(nodes[1].shard), 0);
	T_OK(memkv_restore(kit.mem, snapshot, &kit.err), &kit.err);
	for (unsigned i = 0; i < node_count; i++)
		memkv_reconnect(nodes[i].kv);
	/* Epochs may come twice now: the lease tells them apart. */
	memset(last_epoch, 0, sizeof last_epoch);
	settle();
	for (unsigned i = 0; i < node_count; i++)
		T_EQ(nodes[i].reports[SHARD_REWOUND], 1);
	T_EQ(shard_state(nodes[1].shard), MEMBERSHIP_ACTIVE); /* the drain is lost */
	T_TRUE(shard_owned(nodes[1].shard) > 0);
	memkv_snapshot_free(snapshot);
	down();
}

T_CASE(another_incarnation_costs_every_epoch_and_all_is_read_again)
{
	struct shard_node *leader;
	unsigned had, lost;

	open_three();
	/* Keys under a shard's own lease are its own again. */
	for (unsigned i = 0; i < node_count; i++)
		nodes[i].epochs_may_return = true;
	had = shard_owned(nodes[0].shard);
	lost = nodes[0].reports[SHARD_LOST];
	leader = leader_of("janitor");
	another_life("24");
	for (unsigned i = 0; i < node_count; i++)
		T_EQ(nodes[i].reports[SHARD_REWOUND], 1);
	T_EQ(nodes[0].reports[SHARD_LOST], lost + had);
	T_TRUE(leader->reports[SHARD_FOLLOW] > 0);
	settle();
	T_TRUE(leader_of("janitor") != NULL && leader_of("balancer") != NULL);
	down();
}

T_CASE(another_store_with_other_partitions_ends_all_work)
{
	open_three();
	another_life("25");
	run_ms(STEP_MS);
	for (unsigned i = 0; i < node_count; i++) {
		T_EQ(nodes[i].reports[SHARD_REFUSED], 1);
		T_EQ(nodes[i].refused.code, PL_CONFLICT);
		for (uint32_t p = 0; p < PARTITIONS; p++)
			T_EQ(nodes[i].epoch[p], 0);
	}
	run_ms(SETTLED_MS);
	T_EQ(owned_by_all(), 0);
	for (unsigned i = 0; i < node_count; i++) {
		shard_leave(nodes[i].shard);
		until(&nodes[i], SHARD_CLOSED, 20000);
	}
	down();
}

/* The watch shows nothing; only the store knows that the key has changed. */
T_CASE(a_fenced_shard_gives_up_before_it_hears_why)
{
	const struct faulty_rule deaf = {.what = FAULTY_SLOW_NOTE,
	                                 .prefix = PL_SPAN_LIT("/partitions/"),
	                                 .per_mille = 1000,
	                                 .delay_min_ms = 60000,
	                                 .delay_max_ms = 60000};
	struct ending ending;
	char key[32];
	int64_t epoch;
	uint32_t p;

	up();
	fault_rules = &deaf;
	fault_rule_count = 1;
	node_open(&nodes[0], "a", 100);
	faulty_pause(nodes[0].kv, true);
	settle();
	faulty_pause(nodes[0].kv, false);
	p = owned_partition(&nodes[0]);
	(void)snprintf(key, sizeof key, "/partitions/%04u/owner", p);
	T_EQ(kit_delete(&kit, kv_key(kit_key(key))), 1);
	run_ms(1000);
	epoch = shard_epoch(nodes[0].shard, p);
	T_TRUE(epoch != 0);
	T_EQ(write_at(&nodes[0], key_in(p, "state"), &ending), PL_OK);
	kit_run(&kit, kit.now_ms);
	T_EQ(ending.code, PL_FENCED);
	T_TRUE(shard_epoch(nodes[0].shard, p) != epoch);
	T_EQ(nodes[0].why[p], CLAIMS_FENCED);
	down();
}
