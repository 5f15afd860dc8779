/* Edits of pods that live, against memkv. */
#include "tests/support/shardsched/records/txn_builder_kit.h"

static struct builder_edit edit_of(int64_t spec_rev, int64_t state_rev,
                                   enum builder_edit_state then)
{
	return (struct builder_edit){.pod = app(),
	                             .spec_rev = spec_rev,
	                             .state_rev = state_rev,
	                             .spec = L("edited"),
	                             .state = then == BUILDER_STATE_REPUTS ? L("bound")
	                                                                   : L(""),
	                             .then = then};
}

/* The decision is made, then the pod is edited: the decision's transaction fails. */
static void refuses(const struct builder_decision *decision,
                    const struct builder_edit *edit, enum builder_verdict verdict)
{
	begin();
	T_TRUE(builder_edit_pod(&builder, edit));
	T_TRUE(commit());
	T_EQ(found(0).verdict, BUILDER_OURS);
	T_STR(value_at(SPEC), "edited");
	begin();
	T_TRUE(builder_put_state(&builder, decision));
	T_TRUE(!commit());
	T_EQ(found(0).verdict, verdict);
	is_record(found(0).spec, found(0).spec->mod_revision, "edited");
}

T_CASE(a_first_decision_fails_after_an_edit)
{
	struct builder_decision first;
	struct builder_edit edit;

	up();
	first = decided(kit_put(&kit, SPEC, "spec"), 0, "bound");
	edit = edit_of(first.spec_rev, 0, BUILDER_STATE_STAYS);
	refuses(&first, &edit, BUILDER_NEWER);
	T_EQ(value_at(STATE), NULL);
	down();
}

T_CASE(a_decision_about_a_waiting_pod_fails_after_its_state_went)
{
	struct builder_decision next;
	struct builder_edit edit;
	int64_t spec;

	up();
	spec = kit_put(&kit, SPEC, "spec");
	next = decided(0, kit_put(&kit, STATE, "pending"), "bound");
	edit = edit_of(spec, next.state_rev, BUILDER_STATE_GOES);
	refuses(&next, &edit, BUILDER_GONE);
	T_EQ(value_at(STATE), NULL);
	down();
}

T_CASE(a_decision_about_a_placed_pod_fails_after_its_state_was_put_again)
{
	struct builder_decision end;
	struct builder_edit edit;
	int64_t spec;

	up();
	spec = kit_put(&kit, SPEC, "spec");
	end = decided(0, kit_put(&kit, STATE, "bound"), "terminating");
	edit = edit_of(spec, end.state_rev, BUILDER_STATE_REPUTS);
	refuses(&end, &edit, BUILDER_NEWER);
	T_STR(value_at(STATE), "bound");
	down();
}

/* Fields that no decision reads may change under a decision. */
T_CASE(an_edit_that_leaves_the_state_disturbs_no_decision)
{
	struct builder_decision next;
	struct builder_edit edit;
	int64_t spec;

	up();
	spec = kit_put(&kit, SPEC, "spec");
	next = decided(0, kit_put(&kit, STATE, "pending"), "bound");
	edit = edit_of(spec, next.state_rev, BUILDER_STATE_STAYS);
	T_TRUE(builder_edit_pod(&builder, &edit));
	T_TRUE(commit());
	begin();
	T_TRUE(builder_put_state(&builder, &next));
	T_TRUE(commit());
	T_STR(value_at(SPEC), "edited");
	T_STR(value_at(STATE), "bound");
	down();
}

T_CASE(an_edit_fails_when_spec_or_state_is_newer)
{
	struct builder_edit edit;
	int64_t spec, state;

	for (unsigned i = 0; i < 4; i++) {
		bool has_state = i >= 2;

		up();
		spec = kit_put(&kit, SPEC, "spec");
		state = has_state ? kit_put(&kit, STATE, "pending") : 0;
		edit = edit_of(spec, state, BUILDER_STATE_STAYS);
		T_TRUE(builder_edit_pod(&builder, &edit));
		T_EQ(builder.compares, has_state ? 2 : 1);
		kit_put(&kit, i % 2 == 0 ? SPEC : STATE, "newer");
		T_TRUE(!commit());
		T_EQ(found(0).verdict, BUILDER_NEWER);
		T_STR(value_at(i % 2 == 0 ? SPEC : STATE), "newer");
		delete (SPEC);
		if (has_state || i == 1)
			delete (STATE);
		T_TRUE(!commit());
		T_EQ(found(0).verdict, BUILDER_GONE);
		T_EQ(value_at(SPEC), NULL);
		down();
	}
}

/* The answer was lost, and by now a shard has decided for the edited spec. */
T_CASE(an_edit_is_recognised_by_its_spec)
{
	static const enum builder_edit_state then[] = {
		BUILDER_STATE_STAYS, BUILDER_STATE_GOES, BUILDER_STATE_REPUTS};

	for (unsigned i = 0; i < 3; i++) {
		struct builder_edit edit;
		int64_t spec;

		up();
		spec = kit_put(&kit, SPEC, "spec");
		edit = edit_of(spec, kit_put(&kit, STATE, "was"), then[i]);
		T_TRUE(builder_edit_pod(&builder, &edit));
		T_TRUE(commit());
		kit_put(&kit, STATE, "decided since");
		T_TRUE(!commit());
		T_EQ(found(0).verdict, BUILDER_OURS);
		T_STR(value_at(STATE), "decided since");
		kit_put(&kit, SPEC, "another edit");
		T_TRUE(!commit());
		T_EQ(found(0).verdict, BUILDER_NEWER);
		down();
	}
}

T_CASE(a_pod_with_other_keys_is_edited)
{
	struct builder_edit edit;

	up();
	edit = edit_of(kit_put(&kit, SPEC, "spec"), 0, BUILDER_STATE_STAYS);
	kit_put(&kit, SPEC "-old", "a copy by hand");
	T_TRUE(builder_edit_pod(&builder, &edit));
	T_TRUE(!commit());
	T_TRUE(found(0).has_other_keys);
	begin();
	edit.has_other_keys = true;
	T_TRUE(builder_edit_pod(&builder, &edit));
	T_TRUE(commit());
	T_STR(value_at(SPEC), "edited");
	down();
}

T_CASE(an_edit_without_memory_is_not_added)
{
	struct builder_edit edit = edit_of(7, 8, BUILDER_STATE_REPUTS);

	up();
	pl_arena_done(&arena);
	pl_arena_init(&arena, 64, 64);
	begin();
	T_TRUE(!builder_edit_pod(&builder, &edit));
	T_EQ(builder.code, PL_NOMEM);
	T_EQ(builder.entries, 0);
	down();
}
