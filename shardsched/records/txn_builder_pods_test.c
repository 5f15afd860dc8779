/* Books about pods, against memkv. */
#include "tests/support/shardsched/records/txn_builder_kit.h"

T_CASE(a_new_pod_is_submitted_once)
{
	struct builder_pod pod = app();

	up();
	T_TRUE(builder_submit(&builder, &pod, 3, L("{spec}")));
	T_TRUE(commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	T_STR(value_at(SPEC), "{spec}");
	T_EQ(value_at(POINTER), NULL);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	begin();
	T_TRUE(builder_submit(&builder, &pod, 3, L("{other}")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	is_record(found(0).spec, 2, "{spec}");
	T_TRUE(found(0).state == NULL && found(0).pointer == NULL);
	T_STR(value_at(SPEC), "{spec}");
	down();
}

T_CASE(pod_outside_its_names_partition_has_a_pointer)
{
	struct builder_pod pod = app(), elsewhere = app();

	up();
	T_TRUE(builder_submit(&builder, &pod, 9, L("{spec}")));
	T_TRUE(commit());
	T_STR(value_at(SPEC), "{spec}");
	T_STR(value_at(POINTER), "{\"v\":1,\"at\":3}");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	is_record(found(0).pointer, 2, "{\"v\":1,\"at\":3}");
	/* The same name in another group; then without a group. */
	begin();
	elsewhere.partition = 4;
	T_TRUE(builder_submit(&builder, &elsewhere, 9, L("{other}")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	T_TRUE(found(0).spec == NULL);
	is_record(found(0).pointer, 2, "{\"v\":1,\"at\":3}");
	begin();
	elsewhere.partition = 9;
	T_TRUE(builder_submit(&builder, &elsewhere, 9, L("{other}")));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	is_record(found(0).spec, 2, "{\"v\":1,\"at\":3}");
	down();
}

T_CASE(a_first_decision_compares_the_spec)
{
	struct builder_decision first;
	int64_t rev;

	up();
	rev = kit_put(&kit, SPEC, "spec");
	first = decided(rev, 0, "bound");
	T_TRUE(builder_put_state(&builder, &first));
	rev = kit_put(&kit, SPEC, "edited");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	is_record(found(0).spec, rev, "edited");
	T_TRUE(found(0).state == NULL);
	T_EQ(value_at(STATE), NULL);
	begin();
	first.spec_rev = rev;
	T_TRUE(builder_put_state(&builder, &first));
	T_TRUE(commit());
	T_STR(value_at(STATE), "bound");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	is_record(found(0).state, answer.header.revision, "bound");
	down();
}

T_CASE(a_first_decision_fails_when_there_is_a_state)
{
	struct builder_decision first;
	int64_t rev;

	up();
	first = decided(kit_put(&kit, SPEC, "spec"), 0, "bound");
	rev = kit_put(&kit, STATE, "theirs");
	T_TRUE(builder_put_state(&builder, &first));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	is_record(found(0).state, rev, "theirs");
	T_STR(value_at(STATE), "theirs");
	down();
}

T_CASE(a_first_decision_fails_when_the_pod_is_gone)
{
	struct builder_decision first;

	up();
	first = decided(kit_put(&kit, SPEC, "spec"), 0, "bound");
	T_EQ(kit_delete(&kit, kv_key(kit_key(SPEC))), 1);
	T_TRUE(builder_put_state(&builder, &first));
	T_EQ(builder.compares, 1);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_GONE);
	T_EQ(value_at(STATE), NULL);
	down();
}

/* A key below the pod's name that is neither spec nor state must not prevent decisions
 * about the pod. */
T_CASE(pod_with_other_keys_is_compared_key_by_key)
{
	struct builder_decision first;

	up();
	first = decided(kit_put(&kit, SPEC, "spec"), 0, "bound");
	kit_put(&kit, SPEC "-old", "a copy by hand");
	T_TRUE(builder_put_state(&builder, &first));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	T_TRUE(found(0).has_other_keys);
	begin();
	first.has_other_keys = true;
	T_TRUE(builder_put_state(&builder, &first));
	T_EQ(builder.compares, 2);
	T_TRUE(commit());
	T_STR(value_at(STATE), "bound");
	down();
}

T_CASE(a_later_decision_compares_the_state)
{
	struct builder_decision next;
	int64_t spec, state;

	up();
	spec = kit_put(&kit, SPEC, "spec");
	state = kit_put(&kit, STATE, "pending");
	next = decided(0, state, "bound");
	T_TRUE(builder_put_state(&builder, &next));
	state = kit_put(&kit, STATE, "deleting");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	is_record(found(0).state, state, "deleting");
	is_record(found(0).spec, spec, "spec");
	begin();
	next.state_rev = state;
	T_TRUE(builder_put_state(&builder, &next));
	delete (STATE);
	delete (SPEC);
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_GONE);
	T_TRUE(found(0).spec == NULL && found(0).state == NULL);
	T_EQ(value_at(STATE), NULL);
	down();
}

T_CASE(a_deleted_pod_leaves_nothing)
{
	struct builder_decision last;

	up();
	kit_put(&kit, SPEC, "spec");
	kit_put(&kit, POINTER, "{\"v\":1,\"at\":3}");
	kit_put(&kit, "/schedules/0003/web/app-10/spec", "other");
	last = decided(0, kit_put(&kit, STATE, "terminating"), "");
	T_TRUE(builder_delete_pod(&builder, &last, 9));
	T_TRUE(commit());
	T_EQ(value_at(SPEC), NULL);
	T_EQ(value_at(STATE), NULL);
	T_EQ(value_at(POINTER), NULL);
	T_STR(value_at("/schedules/0003/web/app-10/spec"), "other");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_GONE);
	/* The pod was deleted and submitted again in between. */
	kit_put(&kit, SPEC, "again");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_GONE);
	T_TRUE(found(0).spec != NULL);
	T_STR(value_at(SPEC), "again");
	down();
}

/* Another pod of the name stands where the pointer was, since the pointer was deleted by
 * hand. */
T_CASE(a_deleted_pod_leaves_another_of_its_name)
{
	static const char *const others[] = {"spec of another", "{\"v\":1,\"at\":4}",
	                                     NULL};

	for (unsigned i = 0; i < 3; i++) {
		struct builder_decision last;

		up();
		kit_put(&kit, SPEC, "spec");
		if (others[i] != NULL)
			kit_put(&kit, POINTER, others[i]);
		last = decided(0, kit_put(&kit, STATE, "terminating"), "");
		T_TRUE(builder_delete_pod(&builder, &last, 9));
		T_TRUE(commit());
		T_EQ(value_at(SPEC), NULL);
		T_EQ(value_at(STATE), NULL);
		if (others[i] != NULL)
			T_STR(value_at(POINTER), others[i]);
		down();
	}
}

T_CASE(a_pod_without_a_state_is_deleted_by_its_spec)
{
	struct builder_decision last;

	up();
	last = decided(kit_put(&kit, SPEC, "spec"), 0, "");
	T_TRUE(builder_delete_pod(&builder, &last, 3));
	kit_put(&kit, SPEC, "edited");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	T_STR(value_at(SPEC), "edited");
	begin();
	last.spec_rev = memkv_revision(kit.mem);
	T_TRUE(builder_delete_pod(&builder, &last, 3));
	kit_put(&kit, STATE, "bound");
	T_TRUE(!commit());
	T_EQ(found(0).verdict, BUILDER_NEWER);
	T_STR(value_at(SPEC), "edited");
	delete (STATE);
	T_TRUE(commit());
	T_EQ(value_at(SPEC), NULL);
	down();
}
