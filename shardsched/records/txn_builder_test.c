/* Books of many entries, and about other keys, against memkv. */
#include "tests/support/shardsched/records/txn_builder_kit.h"

enum { MANY = 4 };

struct placement {
	struct builder_decision pod;
	struct builder_node node;
	int64_t alloc_rev;
	char name[2][8], spec[64], state[64], alloc[64];
};

static struct placement many[MANY];

static void put_many(void)
{
	for (unsigned i = 0; i < MANY; i++) {
		struct placement *place = &many[i];

		(void)snprintf(place->name[0], 8, "app-%u", i);
		(void)snprintf(place->name[1], 8, "n-%u", i);
		(void)snprintf(place->spec, 64, "/schedules/0003/web/app-%u/spec", i);
		(void)snprintf(place->state, 64, "/schedules/0003/web/app-%u/state", i);
		(void)snprintf(place->alloc, 64, "/alloc/0005/east/n-%u", i);
		place->pod = decided(kit_put(&kit, place->spec, "spec"), 0, "bound");
		place->pod.pod.name = pl_span_str(place->name[0]);
		place->node = n1();
		place->node.name = pl_span_str(place->name[1]);
		place->alloc_rev = kit_put(&kit, place->alloc, "alloc");
	}
}

static void builder_many(void)
{
	begin();
	for (unsigned i = 0; i < MANY; i++) {
		T_TRUE(builder_put_state(&builder, &many[i].pod));
		T_TRUE(builder_put_alloc(&builder, &many[i].node, many[i].alloc_rev,
		                         L("alloc+")));
	}
	T_EQ(builder.entries, 2 * MANY);
}

T_CASE(failed_compare_is_attributed_to_its_entry)
{
	for (unsigned bad = 0; bad < 2 * MANY; bad++) {
		int64_t before, changed;
		const char *key;

		up();
		put_many();
		builder_many();
		key = bad % 2 == 0 ? many[bad / 2].spec : many[bad / 2].alloc;
		changed = kit_put(&kit, key, "changed");
		before = memkv_revision(kit.mem);
		T_TRUE(!commit());
		T_EQ(memkv_revision(kit.mem), before);
		for (unsigned i = 0; i < 2 * MANY; i++) {
			struct builder_found got = found(i);

			T_EQ(got.verdict, i == bad ? BUILDER_NEWER : BUILDER_SAME);
			if (i == bad)
				is_record(i % 2 == 0 ? got.spec : got.alloc, changed,
				          "changed");
		}
		down();
	}
}

T_CASE(resent_transaction_reveals_that_it_was_applied)
{
	up();
	put_many();
	builder_many();
	T_TRUE(builder_put(&builder, L("/groups/web/t"), 0, L("4")));
	T_TRUE(commit());
	/* The answer is lost; in between a node and a pod have changed again. */
	kit_put(&kit, many[1].alloc, "later");
	delete (many[2].state);
	delete (many[2].spec);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	T_EQ(found(3).verdict, BUILDER_NEWER);
	T_EQ(found(4).verdict, BUILDER_GONE);
	T_EQ(found(5).verdict, BUILDER_OURS);
	T_EQ(found(2 * MANY).verdict, BUILDER_OURS);
	down();
}

T_CASE(equal_values_of_other_writers_are_not_ours)
{
	up();
	put_many();
	builder_many();
	T_TRUE(builder_put(&builder, L("/groups/web/t"), 0, L("4")));
	kit_put(&kit, "/groups/web/t", "4");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_SAME);
	T_EQ(found(2 * MANY).verdict, BUILDER_NEWER);
	/* Alone there is nothing else to go by. */
	begin();
	T_TRUE(builder_put(&builder, L("/groups/web/t"), 0, L("4")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	down();
}

T_CASE(other_keys_are_expected_and_put)
{
	int64_t rev;

	up();
	rev = kit_put(&kit, "/groups/registry", "r");
	T_TRUE(builder_expect(&builder, L("/groups/registry"), rev));
	T_TRUE(builder_put(&builder, L("/groups/web/t"), 0, L("1")));
	T_TRUE(commit());
	T_STR(value_at("/groups/web/t"), "1");
	begin();
	T_TRUE(builder_expect(&builder, L("/groups/registry"), rev));
	T_TRUE(builder_put(&builder, L("/groups/web/t"), answer.header.revision, L("2")));
	rev = kit_put(&kit, "/groups/registry", "r2");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	is_record(found(0).record, rev, "r2");
	T_EQ(found(1).verdict, BUILDER_SAME);
	T_STR(value_at("/groups/web/t"), "1");
	down();
}

T_CASE(other_key_is_deleted_as_it_was_seen)
{
	int64_t rev;

	up();
	rev = kit_put(&kit, "/budgets/web/b", "1");
	T_TRUE(builder_delete(&builder, L("/budgets/web/b"), rev));
	(void)kit_put(&kit, "/budgets/web/b", "2");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	rev = found(0).record->mod_revision;
	begin();
	T_TRUE(builder_delete(&builder, L("/budgets/web/b"), rev));
	T_TRUE(commit());
	T_TRUE(value_at("/budgets/web/b") == NULL);
	T_TRUE(!commit()); /* sent again, it fails by its own writes */
	T_EQ(found(0).verdict, BUILDER_GONE);
	down();
}

T_CASE(an_answer_to_something_else_is_no_answer)
{
	struct builder_pod pod = app();
	struct kv_result other = {.op = KV_PUT};
	struct builder_found out;

	up();
	T_TRUE(builder_submit(&builder, &pod, 3, L("{}")));
	T_TRUE(!builder_answer(&builder, &other, 0, &out));
	other = (struct kv_result){.op = KV_TXN};
	T_TRUE(!builder_answer(&builder, &other, 0, &out));
	other.txn.succeeded = true;
	T_TRUE(!builder_answer(&builder, &other, 0, &out));
	down();
}
