/* Edits of pods that live, over the store in memory. */
#include "tests/support/coord/service/pod_changes_kit.h"

T_CASE(a_new_pod_is_edited)
{
	up();
	put_spec(0, "", "");
	edit(0, LABELS("web"), "");
	run(1);
	was_done(0);
	T_STR(value_at(key_of(0, "spec")), edited_text[0]);
	T_EQ(rev_at(key_of(0, "spec")), result[0].revision);
	T_EQ(value_at(key_of(0, "state")), NULL);
	down();
}

/* A field that no decision reads leaves the state alone, so the shard goes on where it
 * is. */
T_CASE(a_note_on_a_waiting_pod_keeps_its_state)
{
	up();
	put_spec(0, LABELS("web"), "");
	put_state(0, WAITS);
	edit(0, LABELS("web") NOTE, "");
	run(1);
	was_done(0);
	T_EQ(rev_at(key_of(0, "state")), change[0].state.rev);
	T_STR(value_at(key_of(0, "spec")), edited_text[0]);
	down();
}

T_CASE(a_waiting_pod_begins_anew_when_decisions_would_differ)
{
	static const char *const was[] = {"", "",
	                                  ",\"schedulingGates\":[{\"name\":\"g\"}]"};
	static const char *const is[] = {"", TOLERATES, ""};

	for (unsigned i = 0; i < 3; i++) {
		up();
		put_spec(0, "", was[i]);
		put_state(0, WAITS);
		edit(0, i == 0 ? LABELS("db") : "", is[i]);
		run(1);
		was_done(0);
		T_EQ(value_at(key_of(0, "state")), NULL);
		T_STR(value_at(key_of(0, "spec")), edited_text[0]);
		down();
	}
}

T_CASE(a_note_on_a_placed_pod_touches_nothing_else)
{
	int64_t alloc;

	up();
	put_placed("", "");
	alloc = rev_at(node_key("alloc", "n-1"));
	edit(0, NOTE, "");
	run(1);
	was_done(0);
	T_EQ(rev_at(key_of(0, "state")), change[0].state.rev);
	T_EQ(rev_at(node_key("alloc", "n-1")), alloc);
	down();
}

/* As if the pod had gone and come back. */
T_CASE(other_labels_of_a_placed_pod_put_its_state_and_alloc)
{
	up();
	put_placed(LABELS("web"), "");
	edit(0, LABELS("db"), "");
	run(1);
	was_done(0);
	T_STR(value_at(key_of(0, "spec")), edited_text[0]);
	T_STR(value_at(key_of(0, "state")), state_text[0]);
	T_EQ(rev_at(key_of(0, "state")), result[0].revision);
	T_EQ(rev_at(node_key("alloc", "n-1")), result[0].revision);
	T_TRUE(strstr(value_at(node_key("alloc", "n-1")),
	              "\"generation\":9,\"left\":3,\"used\":{\"cpu\":\"500m\"") != NULL);
	down();
}

/* A decision that another shard makes under a rule about the old labels, or about the new
 * ones, compares the lock of its term. */
T_CASE(other_labels_put_the_locks_of_the_terms_that_find_the_pod)
{
	static const char *const pods[] = {SPREAD_POD("web"), SPREAD_POD("db"),
	                                   SPREAD_POD("other")};
	int64_t other, registry;

	up();
	put_placed(LABELS("web"), "");
	put_registry(pods, 3);
	other = rev_at(lock_key(pods[2]));
	registry = rev_at("/groups/shop/registry");
	edit(0, LABELS("db"), "");
	run(1);
	was_done(0);
	T_EQ(rev_at(lock_key(pods[0])), result[0].revision);
	T_EQ(rev_at(lock_key(pods[1])), result[0].revision);
	T_EQ(rev_at(lock_key(pods[2])), other);
	T_EQ(rev_at("/groups/shop/registry"), registry);
	T_STR(value_at(lock_key(pods[0])), "{\"v\":1,\"shard\":\"api-1\"}");
	down();
}

enum { MANY_TERMS = 40 };

/* Each decision under one of the terms compares the registry. */
T_CASE(locks_that_are_too_many_are_replaced_by_their_registry)
{
	static char text[MANY_TERMS][400];
	const char *pods[MANY_TERMS];
	int64_t lock;

	up();
	put_placed(LABELS("web"), "");
	for (unsigned i = 0; i < MANY_TERMS; i++) {
		(void)snprintf(text[i], sizeof text[i],
		               "{\"metadata\":{\"namespace\":\"shop\"},\"spec\":{"
		               "\"topologySpreadConstraints\":[{\"labelSelector\":{"
		               "\"matchExpressions\":[{\"key\":\"app\",\"operator\":"
		               "\"In\",\"values\":[\"db\",\"x%u\"]}]},\"maxSkew\":1,"
		               "\"topologyKey\":\"zone\",\"whenUnsatisfiable\":"
		               "\"DoNotSchedule\"}]}}",
		               i);
		pods[i] = text[i];
	}
	put_registry(pods, MANY_TERMS);
	lock = rev_at(lock_key(pods[0]));
	edit(0, LABELS("db"), "");
	run(1);
	was_done(0);
	T_EQ(rev_at(lock_key(pods[0])), lock);
	T_EQ(rev_at("/groups/shop/registry"), result[0].revision);
	down();
}

/* Between the reads and the commit a term is registered, and the node's alloc is put. */
T_CASE(an_edit_is_made_again_when_what_it_read_has_changed)
{
	static const char *const pods[] = {SPREAD_POD("db")};
	static const struct faulty_rule slow = {.what = FAULTY_SLOW_ANSWER,
	                                        .ops = 1U << KV_TXN,
	                                        .per_mille = 1000,
	                                        .count = 1,
	                                        .delay_min_ms = 50,
	                                        .delay_max_ms = 50};
	char alloc[300];

	for (unsigned i = 0; i < 2; i++) {
		up();
		put_placed(LABELS("web"), "");
		edit(0, LABELS("db"), "");
		T_OK(faulty_open(kit.kv, 1, &slow, 1, &kit.kv, &kit.err), &kit.err);
		service.kv = kit.kv;
		(void)start(1);
		memkv_run(kit.mem, kit.now_ms);
		T_EQ(faulty_count(kit.kv, FAULTY_SLOW_ANSWER), 1);
		if (i == 0) {
			put_registry(pods, 1);
		} else {
			(void)snprintf(alloc, sizeof alloc, listed,
			               partition_of("web-0"));
			(void)kit_put(&kit, node_key("alloc", "n-1"), alloc);
		}
		kit_until(&kit, kit.now_ms + 1000);
		T_EQ(dones, 1);
		was_done(0);
		T_STR(value_at(key_of(0, "spec")), edited_text[0]);
		if (i == 0)
			T_EQ(rev_at(lock_key(pods[0])), result[0].revision);
		down();
	}
}

T_CASE(an_edit_of_a_pod_that_has_changed_is_a_conflict)
{
	for (unsigned i = 0; i < 4; i++) {
		up();
		put_placed("", "");
		edit(0, i % 2 == 0 ? NOTE : LABELS("db"), "");
		if (i < 2)
			(void)kit_put(&kit, key_of(0, "spec"), spec_text[0]);
		else
			(void)kit_put(&kit, key_of(0, "state"), state_text[0]);
		run(1);
		T_EQ(result[0].outcome, POD_CHANGE_CONFLICT);
		T_TRUE(!result[0].doubtful);
		T_STR(value_at(key_of(0, "spec")), spec_text[0]);
		down();
	}
}

T_CASE(an_edit_to_the_same_bytes_writes_nothing)
{
	up();
	put_spec(0, "", "");
	edit(0, "", "");
	run(1);
	T_EQ(result[0].outcome, POD_CHANGE_UNCHANGED);
	T_EQ(rev_at(key_of(0, "spec")), change[0].spec.rev);
	down();
}

T_CASE(edits_that_would_break_the_store_are_refused)
{
	/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as the cases read */
	static const struct {
		bool placed;
		const char *meta, *spec;
		enum pod_refusal refusal;
	} cases[] = {
		{false, ",\"annotations\":{\"placet.io/gang\":\"g-17\"}", "",
	         POD_REFUSAL_MOVES},
		{true, "", ",\"overhead\":{\"cpu\":\"1\"}", POD_REFUSAL_FIXED},
		{false, "", ",\"tolerations\":[{\"effect\":\"noschedule\"}]",
	         POD_REFUSAL_MALFORMED},
		{false, ",\"labels\":7", "", POD_REFUSAL_MALFORMED},
	};

	for (unsigned i = 0; i < 4; i++) {
		up();
		if (cases[i].placed)
			put_placed("", "");
		else
			put_spec(0, "", "");
		edit(0, cases[i].meta, cases[i].spec);
		run(1);
		was_refused(0, cases[i].refusal);
		T_EQ(rev_at(key_of(0, "spec")), change[0].spec.rev);
		down();
	}
}

T_CASE(a_pod_keeps_its_uid)
{
	up();
	put_spec(0, "", "");
	edit(0, "", "");
	memcpy(strstr(edited_text[0], "u-0"), "u-9", 3);
	run(1);
	was_refused(0, POD_REFUSAL_IDENTITY);
	down();
}

T_CASE(a_pod_whose_state_is_malformed_is_left_to_fsck)
{
	up();
	put_spec(0, "", "");
	put_state(0, "\"phase\":\"Bound\"");
	edit(0, NOTE, "");
	run(1);
	was_refused(0, POD_REFUSAL_MALFORMED);
	down();
}

/* -- finalizers ------------------------------------------------------------------------- */

#define HOLD ",\"finalizers\":[\"example.com/a\"]"
#define AWAITS "\"ask\":\"delete\",\"awaits\":\"finalizers\""

/* A deletion that has read the pod without them compares the state. */
T_CASE(finalizers_that_come_or_go_put_the_state_again)
{
	for (unsigned i = 0; i < 4; i++) {
		up();
		put_spec(0, i % 2 == 0 ? "" : HOLD, "");
		put_state(0, i < 2 ? BOUND_TO("n-1") : WAITS);
		edit(0, i % 2 == 0 ? HOLD : "", "");
		run(1);
		was_done(0);
		T_STR(value_at(key_of(0, "spec")), edited_text[0]);
		T_STR(value_at(key_of(0, "state")), state_text[0]);
		T_EQ(rev_at(key_of(0, "state")), result[0].revision);
		down();
	}
}

T_CASE(the_last_finalizer_of_a_pod_that_waits_for_it_is_its_end)
{
	static const char *const states[] = {"\"phase\":\"Pending\"," AWAITS,
	                                     "\"phase\":\"Failed\"," AWAITS
	                                     ",\"cluster\":\"east\",\"node\":\"n-1\""};

	for (unsigned i = 0; i < 2; i++) {
		up();
		put_spec(0, ",\"finalizers\":[\"example.com/a\",\"example.com/b\"]", "");
		put_state(0, states[i]);
		edit(0, HOLD, "");
		run(1);
		was_done(0);
		T_STR(value_at(key_of(0, "spec")), edited_text[0]);
		put_spec(0, HOLD, "");
		put_state(0, states[i]);
		edit(0, LABELS("web"), "");
		run(1);
		was_done(0);

		T_EQ(value_at(key_of(0, "spec")), NULL);
		T_EQ(value_at(key_of(0, "state")), NULL);
		down();
	}
}

T_CASE(the_last_finalizer_is_not_the_end_of_a_pod_that_has_changed)
{
	for (unsigned i = 0; i < 2; i++) {
		up();
		put_spec(0, HOLD, "");
		put_state(0, "\"phase\":\"Pending\"," AWAITS);
		edit(0, "", "");
		(void)kit_put(&kit, key_of(0, i == 0 ? "spec" : "state"),
		              i == 0 ? spec_text[0] : state_text[0]);
		run(1);
		T_EQ(result[0].outcome, POD_CHANGE_CONFLICT);
		T_STR(value_at(key_of(0, "spec")), spec_text[0]);
		T_STR(value_at(key_of(0, "state")), state_text[0]);
		down();
	}
}

/* The shard deletes the pod's keys when it has ended. */
T_CASE(a_pod_on_its_node_awaits_no_finalizers_any_more)
{
	for (unsigned i = 0; i < 2; i++) {
		up();
		put_placed(HOLD, "");
		put_state(0, BOUND_TO("n-1") "," AWAITS);
		edit(0, i == 0 ? "" : LABELS("db"), "");
		run(1);
		was_done(0);
		T_STR(value_at(key_of(0, "spec")), edited_text[0]);
		T_TRUE(strstr(value_at(key_of(0, "state")),
		              "\"ask\":\"delete\",\"cluster\"") != NULL);
		T_EQ(rev_at(key_of(0, "state")), result[0].revision);
		down();
	}
}

T_CASE(a_pod_that_awaits_finalizers_is_not_decided_anew)
{
	up();
	put_spec(0, HOLD, "");
	put_state(0, "\"phase\":\"Pending\"," AWAITS);
	edit(0, HOLD, TOLERATES);
	run(1);
	was_done(0);
	T_STR(value_at(key_of(0, "state")), state_text[0]);
	down();
}
