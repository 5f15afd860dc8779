/* Preemption where disruption budgets protect pods. */
#include "shardsched/records/budget_record.h"
#include "shardsched/shard/inner.h"
#include "store/base/fault.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;
static struct pl_arena arena;

static void pod_in(uint32_t partition, const char *name, const char *app, int priority)
{
	char key[128], json[512];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/spec", partition, name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{\"priority\":%d,"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"1\"}}}]}}",
	               name, name, app, priority);
	rig_put(&rig, key, json);
}

static void pod(const char *name, const char *app, int priority)
{
	pod_in(1, name, app, priority);
}

static void budget(const char *name, const char *app, unsigned healthy, unsigned allowed)
{
	char key[128], value[512];

	(void)snprintf(key, sizeof key, "/budgets/web/%s", name);
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"%s\",\"namespace\":"
	               "\"web\"},\"spec\":{\"minAvailable\":%u,\"selector\":{"
	               "\"matchLabels\":{\"app\":\"%s\"}}}},\"status\":{\"expected\":%u,"
	               "\"desired\":%u,\"healthy\":%u,\"allowed\":%u}}",
	               name, healthy - allowed, app, healthy, healthy - allowed, healthy,
	               allowed);
	rig_put_budget(&rig, key, value);
}

static struct budget_record record(const char *name)
{
	struct budget_record out = {0};
	char key[128];

	(void)snprintf(key, sizeof key, "/budgets/web/%s", name);
	T_OK(budget_record_parse(pl_span_str(rig_value(&rig, key)), &arena, &out,
	                         &rig.err),
	     &rig.err);
	return out;
}

static void says(const char *name, unsigned healthy, unsigned allowed, unsigned noted)
{
	struct budget_record it = record(name);

	T_EQ(it.status.healthy, healthy);
	T_EQ(it.status.allowed, allowed);
	T_EQ(it.disrupted_count, noted);
}

static const char *phase_of(const char *name)
{
	int phase;

	(void)rig_state(&rig, 1, name, &phase);
	return phase < 0 ? "" : state_phase_word((enum state_phase)phase);
}

/* Two nodes of two pods each: a-0, b-0 and a-1, b-1. */
static void up(void)
{
	rig_open(&rig, NULL);
	pl_arena_init(&arena, 0, 0);
	rig_node(&rig, 0, "n-1", "2");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	pod("a-0", "a", 1);
	pod("b-0", "b", 2);
	rig_run_idle(&rig);
	rig_node(&rig, 0, "n-2", "2");
	pod("a-1", "a", 1);
	pod("b-1", "b", 2);
	rig_run_idle(&rig);
	T_STR(phase_of("a-0"), "Bound");
	T_STR(phase_of("b-1"), "Bound");
}

static void down(void)
{
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
	pl_arena_done(&arena);
}

static unsigned terminating(const char *app)
{
	char name[32];
	unsigned count = 0;

	for (unsigned i = 0; i < 2; i++) {
		(void)snprintf(name, sizeof name, "%s-%u", app, i);
		count += strcmp(phase_of(name), "Terminating") == 0;
	}
	return count;
}

T_CASE(a_victim_lowers_its_budgets)
{
	int64_t was;

	up();
	budget("a", "a", 2, 1);
	budget("all", "a", 2, 2);
	budget("b", "b", 2, 2);
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 1);
	T_EQ(terminating("b"), 0);
	says("a", 1, 0, 1);
	says("all", 1, 1, 1);
	says("b", 2, 2, 0);
	/* With the state that was given up. */
	was = record("a").disrupted[0].state_rev;
	T_TRUE(was > 0 && was < rig.store.revision);
	down();
}

T_CASE(unprotected_pods_leave_first)
{
	up();
	budget("a", "a", 2, 0);
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 0); /* though it is the less important one */
	T_EQ(terminating("b"), 1);
	says("a", 2, 0, 0);
	down();
}

T_CASE(as_the_last_resort_budgets_are_overdrawn_and_lowered)
{
	up();
	budget("a", "a", 2, 0);
	budget("b", "b", 2, 0);
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 1);
	says("a", 1, 0, 1);
	says("b", 2, 0, 0);
	down();
}

/* The second search runs when the first plan is decided, and not committed yet. */
T_CASE(what_one_plan_takes_is_gone_for_the_next)
{
	up();
	budget("a", "a", 2, 1);
	rig_run_idle(&rig);
	pod("high-0", "h", 10);
	pod("high-1", "h", 10);
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 1);
	T_EQ(terminating("b"), 1);
	says("a", 1, 0, 1);
	down();
}

/* The plan waits for a transaction when the list of budgets is lost. */
T_CASE(a_plan_is_made_anew_when_budgets_become_unknown)
{
	up();
	budget("a", "a", 2, 1);
	rig_run_idle(&rig);
	rig.sched->commits += SCHED_INFLIGHT_MAX;
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_TRUE(!pl_list_empty(&rig.sched->disruption.plans));
	sched_view_lost(rig.sched, SCHED_BUDGETS);
	rig.sched->commits -= SCHED_INFLIGHT_MAX;
	rig_run(&rig);
	T_TRUE(pl_list_empty(&rig.sched->disruption.plans));
	T_EQ(terminating("a"), 0);
	rig_view_list(&rig, SCHED_BUDGETS);
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 1);
	says("a", 1, 0, 1);
	down();
}

/* The budget was deleted and created again for other pods while the list was lost, and no
 * turn came in between. */
T_CASE(a_budget_that_a_list_has_again_for_other_pods_counts)
{
	up();
	budget("a", "b", 2, 2);
	rig_run_idle(&rig);
	rig.sched->commits += SCHED_INFLIGHT_MAX;
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_TRUE(!pl_list_empty(&rig.sched->disruption.plans));
	sched_view_lost(rig.sched, SCHED_BUDGETS);
	rig_del_budget(&rig, "/budgets/web/a");
	budget("a", "a", 2, 0);
	rig_view_list(&rig, SCHED_BUDGETS);
	rig.sched->commits -= SCHED_INFLIGHT_MAX;
	rig_run_idle(&rig);
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 0);
	T_EQ(terminating("b"), 1);
	down();
}

T_CASE(what_another_shard_took_is_not_taken_again)
{
	struct conflict_summary conflicts;

	up();
	budget("a", "a", 2, 1);
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig); /* under way */
	budget("a", "a", 1, 0);
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 0);
	T_EQ(terminating("b"), 1);
	says("a", 1, 0, 0);
	sched_conflicts(rig.sched, &conflicts);
	T_EQ(conflicts.txns[CONFLICT_BUDGET], 1);
	T_EQ(conflicts.txns[CONFLICT_GROUP], 0);
	down();
}

T_CASE(a_new_budget_counts)
{
	struct conflict_summary conflicts;

	up();
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	budget("a", "a", 2, 0);
	rig_run_idle(&rig);
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 0);
	T_EQ(terminating("b"), 1);
	sched_conflicts(rig.sched, &conflicts);
	T_EQ(conflicts.txns[CONFLICT_BUDGET], 1);
	/* A deleted budget protects nothing. */
	rig_del_budget(&rig, "/budgets/web/a");
	rig_run_idle(&rig);
	pod("high-1", "h", 10);
	rig_run_idle(&rig);
	T_EQ(terminating("a") + terminating("b"), 2);
	down();
}

/* A budget that a restored store has again is not heard of before the commit. */
T_CASE(a_budget_that_a_restored_store_has_again_is_lowered)
{
	unsigned relists;

	up();
	budget("a", "a", 2, 2);
	rig_del_budget(&rig, "/budgets/web/a");
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	relists = rig.relists;
	/* The store is as it was between the two snapshots, with the older lock, and no
	 * event tells. */
	rig_unset(&rig.store, PL_SPAN_LIT("/budgets/lock"));
	budget("a", "a", 2, 2);
	rig_get(&rig.store, PL_SPAN_LIT("/budgets/lock"))->mod_revision = 1;
	rig.view_cursor[SCHED_BUDGETS] = rig.store.logged;
	rig_run_idle(&rig);
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	T_EQ(rig.relists, relists + 1);
	T_EQ(terminating("a"), 1);
	says("a", 1, 1, 1);
	down();
}

/* The lock was deleted by hand: all budgets are listed once, and then the lock is known
 * to be absent. */
T_CASE(a_deleted_budgets_lock_is_noticed)
{
	up();
	budget("a", "a", 2, 2);
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_del(&rig, "/budgets/lock");
	rig.view_cursor[SCHED_BUDGETS] = rig.store.logged;
	rig_run_idle(&rig);
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 1);
	says("a", 1, 1, 1);
	down();
}

/* While a budget is lowered it is deleted, and created again for other pods, one of which
 * is to leave: that waits until it is known which pods the new one covers. */
T_CASE(a_budget_created_again_for_other_pods_counts)
{
	rig_open(&rig, NULL);
	pl_arena_init(&arena, 0, 0);
	rig_node(&rig, 0, "n-1", "2");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	pod("a-0", "a", 1);
	pod("b-0", "b", 2);
	rig_run_idle(&rig);
	rig_node(&rig, 0, "n-2", "1");
	pod("b-1", "b", 2);
	budget("a", "a", 1, 1);
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_del_budget(&rig, "/budgets/web/a");
	budget("a", "b", 2, 2);
	pod("high-1", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	for (unsigned i = RIG_OUT_MAX; i-- > 0;) /* the last one first */
		if (rig.out[i].used)
			(void)rig_answer(&rig, i);
	rig_run_idle(&rig);
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 1);
	T_EQ(terminating("b"), 1);
	says("a", 1, 1, 1);
	down();
}

T_CASE(an_unknown_outcome_is_found_out)
{
	up();
	budget("a", "a", 2, 1);
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used) {
			(void)rig_exec(&rig.store, &rig.out[i].req.txn);
			rig_fail(&rig, i, PL_UNKNOWN);
		}
	rig.now_ms += 100;
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 1);
	says("a", 1, 0, 1);
	down();
}

T_CASE(a_malformed_budget_is_reported_and_protects_nothing)
{
	up();
	rig_put_budget(&rig, "/budgets/web/a", "{\"v\":1}");
	rig_run_idle(&rig);
	T_EQ(rig.malformed, 1);
	rig.malformed = 0;
	pod("high", "h", 10);
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 1);
	budget("a", "a", 1, 0);
	rig_run_idle(&rig);
	down();
}

T_CASE(budgets_are_followed_while_a_partition_is_owned)
{
	up();
	budget("a", "a", 2, 1);
	rig_run_idle(&rig);
	T_TRUE(sched_view_wanted(rig.sched, SCHED_BUDGETS));
	sched_view_lost(rig.sched, SCHED_BUDGETS);
	rig_view_list(&rig, SCHED_BUDGETS);
	rig_lost(&rig, 0);
	rig_lost(&rig, 1);
	T_TRUE(!sched_view_wanted(rig.sched, SCHED_BUDGETS));
	rig_views(&rig);
	sched_check(rig.sched);
	down();
}

/* The record comes with the lock's, so a commit that does not know it is not stopped by
 * the lock. */
T_CASE(a_budget_that_is_not_kept_is_listed_again)
{
	uint64_t nth = 1;

	for (bool fired = true; fired; nth++) {
		up();
		budget("a", "a", 2, 1);
		pod("high", "h", 10);
		(void)rig_deliver(&rig, 1, SCHED_SCHEDULES, UINT32_MAX);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		(void)rig_view_deliver(&rig, SCHED_BUDGETS, UINT32_MAX);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		sched_run(rig.sched, rig.now_ms, 1763715600000,
		          64); /* nothing is listed yet */
		rig_run_idle(&rig);
		rig.now_ms += 20000;
		rig_run_idle(&rig);
		T_EQ(terminating("a"), 1);
		says("a", 1, 0, 1);
		down();
	}
	T_TRUE(nth > 2);
}

/* The pod's labels are edited while the plan waits for its turn; the edit is heard. */
T_CASE(a_victim_covered_since_the_plan_lowers_its_budget)
{
	up();
	budget("z", "z", 5, 0);
	rig_run_idle(&rig);
	rig.sched->commits += SCHED_INFLIGHT_MAX; /* there is no txn for it */
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_TRUE(!pl_list_empty(&rig.sched->disruption.plans));
	pod("a-0", "z", 1);
	pod("a-1", "z", 1);
	rig_deliver_all(&rig);
	rig.sched->commits -= SCHED_INFLIGHT_MAX;
	rig_run_idle(&rig);
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	if (terminating("a") == 1)
		says("z", 4, 0, 1);
	else
		T_EQ(terminating("b"), 1);
	down();
}

T_CASE(a_pod_covered_before_the_plan_is_protected)
{
	up();
	budget("z", "z", 5, 0);
	pod("a-0", "z", 1);
	pod("a-1", "z", 1);
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_run_idle(&rig);
	T_EQ(terminating("a"), 0);
	T_EQ(terminating("b"), 1);
	down();
}

/* A remote pod on a local node: its labels were edited some time ago, and a budget covers
 * it. */
static void others_relabelled(bool before)
{
	int phase;

	rig_open(&rig, NULL);
	pl_arena_init(&arena, 0, 0);
	rig_node(&rig, 0, "n-1", "1");
	for (uint32_t p = 0; p < 3; p++)
		rig_own(&rig, p);
	pod_in(2, "a-0", before ? "z" : "a", 1);
	rig_run_idle(&rig);
	budget("z", "z", 5, 2);
	rig_run_idle(&rig);
	rig_lost(&rig, 2);
	rig_run_idle(&rig);
	if (!before)
		pod_in(2, "a-0", "z", 1);
	rig.now_ms += 60000;
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_run_idle(&rig);
	rig.now_ms += 2000;
	rig_run_idle(&rig);
	(void)rig_state(&rig, 2, "a-0", &phase);
	T_EQ(phase, STATE_TERMINATING);
	says("z", 4, 1, 1);
	down();
}

T_CASE(a_covered_remote_victim_is_noted)
{
	others_relabelled(true);
}

T_CASE(a_remote_victim_covered_since_an_edit_is_noted)
{
	others_relabelled(false);
}
