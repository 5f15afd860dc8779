/* Pods that are decided in a batch are committed together, and hold up no other pod. */
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

/* A rule that selects no pod, so that other pods have nothing to do with it. */
#define APART                                                                  \
	",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"      \
	"\"host\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{" \
	"\"matchLabels\":{\"app\":\"x\"}}}]"

static struct sched_figures base; /* figures of learning the rule */

static void begin(const struct sched_opts *opts)
{
	int phase;

	rig_open(&rig, opts);
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		char name[16];

		(void)snprintf(name, sizeof name, "n-%u", p);
		rig_node(&rig, p, name, "8");
		rig_own(&rig, p);
	}
	rig_pod(&rig, 0, "first", "1", APART);
	rig_run_idle(&rig);
	(void)rig_state(&rig, 0, "first", &phase);
	T_EQ(phase, STATE_BOUND);
	sched_figures(rig.sched, &base);
}

/* Each fourth pod goes to one node. */
static void pods(uint32_t from, uint32_t to, const char *more)
{
	for (uint32_t i = from; i < to; i++) {
		char name[16], text[512];

		(void)snprintf(name, sizeof name, "p-%u", i);
		(void)snprintf(text, sizeof text,
		               "%s,\"nodeSelector\":{\"host\":\"n-%u\"}", more,
		               i % RIG_PARTITIONS);
		rig_pod(&rig, i % RIG_PARTITIONS, name, "1", text);
	}
	rig_deliver_all(&rig);
}

static uint32_t bound(uint32_t from, uint32_t to)
{
	uint32_t count = 0;

	for (uint32_t i = from; i < to; i++) {
		char name[16];
		int phase;

		(void)snprintf(name, sizeof name, "p-%u", i);
		(void)rig_state(&rig, i % RIG_PARTITIONS, name, &phase);
		count += phase == STATE_BOUND;
	}
	return count;
}

static struct sched_figures figures(void)
{
	struct sched_figures is;

	sched_figures(rig.sched, &is);
	is.batches -= base.batches;
	is.decided -= base.decided;
	is.placed -= base.placed;
	return is;
}

static uint32_t out(void)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		count += rig.out[i].used;
	return count;
}

static void touch(uint32_t p)
{
	char key[64];
	const char *value;

	(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-%u", p, p);
	value = rig_value(&rig, key);
	rig_put(&rig, key, value);
}

T_CASE(a_batch_is_committed_whole_or_not_at_all)
{
	begin(NULL);
	pods(0, 4, APART);
	rig_run(&rig);
	T_EQ(out(), 1);
	T_EQ(figures().batches, 1);
	touch(2);
	T_TRUE(!rig_answer(&rig, 0));
	T_EQ(bound(0, 4), 0);
	T_EQ(figures().conflicts + figures().decided_again, 4); /* not only the one pod */
	rig_run(&rig);
	T_EQ(figures().decided, 4 + 2); /* half as many at once */
	T_EQ(figures().batches_failed, 1);
	rig_run_idle(&rig);
	T_EQ(bound(0, 4), 4);
	rig_close(&rig);
}

/* A second batch waits for the first; other pods do not. */
T_CASE(batches_go_one_at_a_time)
{
	begin(NULL);
	pods(0, 4, APART);
	rig_run(&rig);
	pods(4, 8, APART);
	pods(8, 12, "");
	rig_run(&rig);
	rig_run(&rig);
	T_EQ(figures().batches, 1);
	T_EQ(figures().decided, 8);
	T_TRUE(rig_answer(&rig, 0));
	T_EQ(bound(0, 4), 4);
	rig_run_idle(&rig);
	T_EQ(bound(0, 12), 12);
	T_EQ(figures().batches, 2);
	T_EQ(figures().decided_again, 0);
	rig_close(&rig);
}

/* Other pods that wait at its nodes go along, but are not decided again with it. */
T_CASE(nodes_in_a_txn_are_waited_for)
{
	begin(NULL);
	pods(0, 8, "");
	rig_run(&rig);
	T_EQ(out(), 1);
	pods(8, 12, APART);
	pods(12, 14, "");
	rig_run(&rig);
	T_EQ(out(), 1);
	T_EQ(figures().batches, 0);
	T_TRUE(rig_answer(&rig, 0));
	rig_run(&rig);
	T_EQ(out(), 1);
	T_EQ(figures().batches, 1);
	touch(1);
	T_TRUE(!rig_answer(&rig, 0));
	T_EQ(bound(8, 14), 0);
	rig_run_idle(&rig);
	T_EQ(bound(0, 14), 14);
	rig_close(&rig);
}

T_CASE(a_batch_breaks_when_a_pod_of_it_goes)
{
	begin(NULL);
	pods(0, 8, "");
	rig_run(&rig);
	pods(8, 12, APART);
	rig_run(&rig);
	T_EQ(figures().decided, 12);
	rig_del(&rig, "/schedules/0001/web/p-9/spec");
	rig_deliver_all(&rig);
	rig_run(&rig); /* the pods that counted on it are decided again */
	T_EQ(figures().decided_again, 3);
	T_EQ(figures().decided, 15);
	rig_run_idle(&rig);
	T_EQ(bound(0, 9) + bound(10, 12), 11);
	rig_close(&rig);
}

T_CASE(a_batch_breaks_when_a_partition_is_lost)
{
	begin(NULL);
	pods(0, 8, "");
	rig_run(&rig);
	pods(8, 12, APART);
	rig_run(&rig);
	rig_lost(&rig, 3);
	rig_run(&rig);
	(void)rig_answer(&rig, 0);
	rig_own(&rig, 3);
	for (int i = 0; i < 5; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 10000;
	}
	T_EQ(bound(0, 12), 12);
	rig_close(&rig);
}

/* The batch has as many pods as the store takes at once. */
T_CASE(a_batch_is_as_large_as_a_txn)
{
	begin(&(struct sched_opts){.batch_size = 16});
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 32});
	pods(0, 24, APART);
	rig_run_idle(&rig);
	T_EQ(bound(0, 24), 24);
	T_TRUE(figures().batches >= 3);
	T_EQ(figures().batches_failed, 0);
	rig_close(&rig);
}

T_CASE(a_batch_of_too_many_bytes_is_halved)
{
	begin(&(struct sched_opts){.batch_size = 16});
	sched_set_limits(rig.sched,
	                 (struct kv_limits){.txn_ops = 512, .request_bytes = 2400});
	pods(0, 16, APART);
	rig_run_idle(&rig);
	T_EQ(bound(0, 16), 16);
	T_TRUE(figures().batches >= 4 && figures().decided_again > 0);
	T_EQ(figures().batches_failed, 0);
	rig_close(&rig);
}

T_CASE(unknown_outcomes)
{
	begin(NULL);
	pods(0, 4, APART);
	rig_run(&rig);
	(void)rig_exec(&rig.store, &rig.out[0].req.txn);
	rig_fail(&rig, 0, PL_UNKNOWN);
	pods(4, 8, APART);
	rig_run(&rig);
	T_EQ(figures().batches, 1);
	for (int i = 0; i < 5; i++) {
		rig.now_ms += 1000;
		rig_run_idle(&rig);
	}
	T_EQ(bound(0, 8), 8);
	T_EQ(figures().placed, 8);
	T_EQ(figures().decided_again, 0);
	rig_close(&rig);
}

/* The first txn is in flight, so that the batch goes into one whose memory is not there
 * yet. Pods that wait at the batch's nodes go along; a store that takes few bytes makes
 * the batch be filled twice. */
static bool fails_while_sent(uint32_t bytes, uint64_t nth)
{
	bool fired;

	begin(NULL);
	sched_set_limits(rig.sched,
	                 (struct kv_limits){.txn_ops = 512, .request_bytes = bytes});
	pods(0, 1, "");
	rig_run(&rig);
	T_EQ(out(), 1);
	pods(5, 8, APART);
	pods(9, 12, "");
	fired = rig_run_failing(&rig, nth);
	sched_check(rig.sched);
	for (int i = 0; i < 5; i++) {
		rig_run_idle(&rig);
		rig.now_ms += 10000;
	}
	T_EQ(bound(0, 1) + bound(5, 8) + bound(9, 12), 7);
	rig_close(&rig);
	return fired;
}

T_CASE_SECONDS(any_allocation_may_fail_while_a_batch_is_sent, 60)
{
	static const uint32_t bytes[] = {0, 1600, 2400, 3200};

	for (unsigned i = 0; i < 4; i++) {
		uint64_t nth = 1;

		while (fails_while_sent(bytes[i], nth))
			nth++;
		T_TRUE(nth > 100);
	}
}
