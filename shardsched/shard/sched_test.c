/* Pods from their specs to their nodes. */
#include "shardsched/shard/sched_rig.h"

static struct rig rig;

static const char *bound_to(uint32_t p, const char *name)
{
	static char text[128];
	int phase;
	struct pod_state state = rig_state(&rig, p, name, &phase);

	if (phase != STATE_BOUND)
		return phase < 0 ? "" : state_phase_word(state.phase);
	(void)snprintf(text, sizeof text, "%.*s", PL_SPAN_ARG(state.node));
	return text;
}

T_CASE(a_pod_flows_to_a_node)
{
	struct sched_figures figures;
	struct alloc alloc;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 1, "a", "2", "");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	T_TRUE(sched_is_open(rig.sched, 0));
	rig_settle(&rig);
	T_STR(bound_to(1, "a"), "n-1");
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.generation, 2);
	T_EQ(alloc.pods, 1);
	T_EQ(alloc.used.cpu_milli, 2000);
	T_EQ(alloc.used.pods, 1);
	T_EQ(alloc.pod[0].partition, 1);
	sched_figures(rig.sched, &figures);
	T_EQ(figures.placed, 1);
	T_EQ(figures.echoes, 2);
	T_EQ(figures.conflicts, 0);
	T_EQ(sched_load(rig.sched, 1), 0);
	rig_close(&rig);
}

T_CASE(many_pods_flow_and_a_node_is_put_once_a_batch)
{
	struct sched_figures figures;
	char name[16];

	rig_open(&rig, &(struct sched_opts){.batch = 16});
	for (int i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof name, "n-%d", i);
		rig_node(&rig, (uint32_t)i % RIG_PARTITIONS, name, "10");
	}
	for (int i = 0; i < 105; i++) {
		(void)snprintf(name, sizeof name, "p-%d", i);
		rig_pod(&rig, (uint32_t)i % RIG_PARTITIONS, name, "1", "");
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	rig_settle(&rig);
	sched_figures(rig.sched, &figures);
	T_EQ(figures.placed, 100);
	T_EQ(figures.txns_failed, 0);
	for (int i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof name, "n-%d", i);
		T_EQ(rig_alloc(&rig, (uint32_t)i % RIG_PARTITIONS, name).pods, 10);
	}
	/* Room comes: the five others follow. */
	rig_node(&rig, 0, "n-big", "10");
	rig_settle(&rig);
	rig.now_ms += 20000;
	rig_settle(&rig);
	sched_figures(rig.sched, &figures);
	T_EQ(figures.placed, 105);
	T_EQ(figures.garbled, 0);
	rig_close(&rig);
}
