/* Commits read nothing for the case that they fail, as long as none fails. */
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static void conflicts_are(uint64_t conflicts)
{
	struct sched_figures figures;

	sched_figures(rig.sched, &figures);
	T_EQ(figures.conflicts, conflicts);
	T_EQ(figures.taken_back, 0);
}

static const struct kv_txn *sent(unsigned out)
{
	T_TRUE(rig.out[out].used);
	return &rig.out[out].req.txn;
}

static void eight_go_well(void)
{
	for (int i = 0; i < 8; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "s-%d", i);
		rig_pod(&rig, 1, name, "1", "");
		rig_deliver_all(&rig);
		rig_run(&rig);
		T_TRUE(sent(0)->otherwise_count > 0);
		rig_run_idle(&rig);
	}
}

/* The values are read once the txn is known to have failed. */
T_CASE(a_commit_after_many_that_went_well_reads_only_when_it_fails)
{
	struct sched_figures figures;

	rig_open(&rig, &(struct sched_opts){.batch_size = 1, .inflight = 1});
	rig_node(&rig, 0, "n-1", "16");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	eight_go_well();
	rig_pod(&rig, 1, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_EQ(sent(0)->otherwise_count, 0);
	rig_pod(&rig, 1, "a", "2", ""); /* another pod by now */
	T_TRUE(!rig_answer(&rig, 0));
	conflicts_are(0);
	rig_run(&rig);
	T_EQ(sent(0)->compare_count, 0);
	T_TRUE(sent(0)->then_count > 0 && sent(0)->then[0].op == KV_GET);
	T_TRUE(rig_answer(&rig, 0));
	conflicts_are(1);
	rig_run(&rig);
	T_TRUE(sent(0)->otherwise_count > 0);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	sched_figures(rig.sched, &figures);
	T_EQ(figures.txns, 10);
	T_EQ(figures.txns_failed, 1);
	T_EQ(figures.placed, 9);
	rig_close(&rig);
}

/* The txn was applied and its answer lost; then it fails, and its reads show that it was
 * applied. */
T_CASE(a_commit_that_reads_when_it_fails_may_find_itself)
{
	struct sched_figures figures;

	rig_open(&rig, &(struct sched_opts){.batch_size = 1, .inflight = 1});
	rig_node(&rig, 0, "n-1", "16");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	eight_go_well();
	rig_pod(&rig, 1, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_EQ(sent(0)->otherwise_count, 0);
	(void)rig_exec(&rig.store, &rig.out[0].req.txn);
	rig_fail(&rig, 0, PL_UNKNOWN);
	rig.now_ms += 1000;
	rig_run(&rig);
	T_TRUE(!rig_answer(&rig, 0)); /* the same txn again */
	rig_run(&rig);
	T_TRUE(rig_answer(&rig, 0));
	conflicts_are(0);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	sched_figures(rig.sched, &figures);
	T_EQ(figures.placed, 9);
	rig_close(&rig);
}
