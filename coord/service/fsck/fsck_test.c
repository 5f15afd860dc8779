/* The check and the repair in general: a valid store, keys of any kind, faults. */
#include "tests/harness/torture.h"
#include "tests/support/coord/service/fsck/fsck_fixture.h"

T_CASE(a_valid_store_is_clean)
{
	const struct fsck_counts *counts;

	up();
	clean();
	counts = fsck_core_counts(fsck_core(fsck));
	T_EQ(counts->nodes, 3);
	T_EQ(counts->allocs, 3);
	T_EQ(counts->pods, 4);
	T_EQ(counts->bound, 3);
	T_EQ(counts->pointers, 1);
	T_TRUE(r.pages > 4);
	repair(false);
	T_EQ(m.count[REPAIR_DONE] + m.count[REPAIR_RIGHT] + m.count[REPAIR_REFUSED], 0);
	/* Nothing of the pin is left. */
	T_EQ(kit_get_at(&kit, kv_prefix(PL_SPAN_LIT("/pins/")), 0), PL_OK);
	T_EQ(kit.result.get.count, 0);
	down();
}

/* Readers of a whole prefix pass over them. */
T_CASE(ticks_are_no_finding)
{
	uint64_t had;

	up();
	check();
	had = fsck_core_counts(fsck_core(fsck))->records;
	(void)kit_put(&kit, "/nodes/tick", "{\"v\":1}");
	(void)kit_put(&kit, "/schedules/tick", "{\"v\":1}");
	(void)kit_put(&kit, "/budgets/tick", "{\"v\":1}");
	clean();
	T_EQ(fsck_core_counts(fsck_core(fsck))->records, had + 3);
	repair(false);
	T_EQ(m.count[REPAIR_DONE] + m.count[REPAIR_RIGHT] + m.count[REPAIR_REFUSED], 0);
	down();
}

T_CASE(key_malformed)
{
	up();
	(void)kit_put(&kit, "/nodes/7/east/n", "{}");
	(void)kit_put(&kit, "/schedules/0001/web/a/what", "{}");
	finds(FSCK_KEY_MALFORMED, 2);
	mends_not();
}

/* Before, after and between the partitions: each is read once. */
T_CASE(keys_that_are_in_no_partition)
{
	static const char *const keys[] = {
		"/alloc/!",        "/alloc/0003",        "/alloc/0003!", "/alloc/0004/",
		"/alloc/0007~",    "/alloc/9999/east/n", "/alloc/~",     "/nodes/~",
		"/schedules/0000", "/schedules/0008"};
	enum { KEYS = sizeof keys / sizeof keys[0] };
	uint64_t had;

	up();
	check();
	had = fsck_core_counts(fsck_core(fsck))->records;
	for (unsigned i = 0; i < KEYS; i++)
		(void)kit_put(&kit, keys[i], "{}");
	finds(FSCK_KEY_MALFORMED, KEYS);
	T_EQ(fsck_core_counts(fsck_core(fsck))->records, had + KEYS);
	mends_not();
}

T_CASE(owner_malformed)
{
	up();
	(void)kit_put(&kit, "/partitions/0004/owner", "east");
	finds(FSCK_OWNER_MALFORMED, 1);
	mends_not();
}

/* -- faults ------------------------------------------------------------------------ */

static void break_much(void)
{
	drop(node_key(KEYS_ALLOC, "n-0"));
	(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-1"), "{");
	put_state("web", "c", state_of("Bound", "n-2", "1"));
	drop(pod_key(KEYS_SPEC, "db", gang_pod()));
}

T_CASE(answers_that_are_lost_change_nothing)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_TXN, .per_mille = 400},
		{.what = FAULTY_APPLY_LATE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 90},
		{.what = FAULTY_REFUSE, .per_mille = 200, .code = PL_UNAVAIL},
	};

	up_over(rules, sizeof rules / sizeof rules[0]);
	break_much();
	faulty_pause(kit.kv, false);
	check();
	repair(false);
	faulty_pause(kit.kv, true);
	T_EQ(m.count[REPAIR_DONE], 4);
	clean();
	down();
}

/* Another client repairs it, or changes it, between reading and writing. */
T_CASE(a_key_that_changed_meanwhile_is_read_again)
{
	static const struct faulty_rule rules[] = {{.what = FAULTY_SLOW_REQUEST,
	                                            .ops = 1u << KV_TXN,
	                                            .per_mille = 1000,
	                                            .delay_min_ms = 10,
	                                            .delay_max_ms = 10}};

	for (uint64_t at = 5; at < 85; at += 10) {
		bool both = at < 45;

		up_over(rules, 1);
		put_state("web", "c", state_of("Bound", "n-2", "1"));
		check();
		faulty_pause(kit.kv, false);
		T_OK(repair_start(false), &kit.err);
		kit_run(&kit, kit.now_ms + at % 40);
		faulty_pause(kit.kv, true);
		put_state("web", "c", state_of("Pending", NULL, "1"));
		if (both)
			(void)kit_put(&kit, node_key(KEYS_ALLOC, "n-2"),
			              "{\"v\":1,\"generation\":9}");
		run_until(&m.over);
		T_CODE(m.err.code, PL_OK, &m.err);
		/* At 35 ms it was repaired already. */
		if (both || at % 40 != 35)
			clean();
		down();
	}
}

T_CASE(a_store_that_is_away_ends_it)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_REFUSE, .per_mille = 1000, .code = PL_UNAVAIL}};

	up_over(rules, 1);
	faulty_pause(kit.kv, false);
	T_OK(start(), &kit.err);
	run_until(&r.over);
	T_TRUE(r.err.code != PL_OK);
	faulty_pause(kit.kv, true);
	down();
}

T_CASE(canceled)
{
	up();
	T_OK(start(), &kit.err);
	fsck_cancel(fsck);
	run_until(&r.over);
	T_EQ(r.err.code, PL_CANCELED);
	down();
}

T_CASE(without_memory_it_ends)
{
	up();
	break_much();
	without_memory();
	T_EQ(m.count[REPAIR_WOULD], 4);
	down();
}
