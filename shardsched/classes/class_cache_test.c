/*
 * The class cache: how much it keeps, and what that costs.
 */
#include "shardsched/classes/class_cache.h"
#include "shardsched/plugins/plugins.h"
#include "store/base/fault.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

enum { CLASSES = 6 };

static struct {
	struct profiles profiles;
	struct class_cache *classes;
	struct cycle *cached, *plain;
	struct pod pod[CLASSES];
	struct fw_class *class[CLASSES];
	uint32_t nodes;
} r;

static void add_nodes(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char text[256];

		(void)snprintf(text, sizeof(text),
		               "{'metadata': {'name': 'n%u'}, 'spec': {'taints': [%s]}, "
		               "'status': {'allocatable': {'cpu': '%u', 'memory': "
		               "'8Gi', 'pods': '20'}}}",
		               r.nodes,
		               r.nodes % 5 == 0
		                       ? "{'key': 'k', 'effect': 'PreferNoSchedule'}"
		                       : "",
		               2 + r.nodes % 7);
		put_node(text);
		r.nodes++;
	}
}

static void rig_begin(uint32_t nodes, size_t memory_max)
{
	struct cycle_opts opts = {.snapshot = &snapshot};

	begin();
	memset(&r, 0, sizeof(r));
	T_OK(profiles_parse(&model, &plugins, pl_span_str(""), &r.profiles, &err), &err);
	T_OK(class_cache_new(&snapshot, memory_max, &r.classes, &err), &err);
	T_OK(cycle_new(&opts, &r.plain, &err), &err);
	opts.cache = class_cache_ops(r.classes);
	T_OK(cycle_new(&opts, &r.cached, &err), &err);
	add_nodes(nodes);
	for (int i = 0; i < CLASSES; i++) {
		char text[256];

		(void)snprintf(text, sizeof(text),
		               "{'metadata': {'name': 'p', 'namespace': 'a'}, 'spec': "
		               "{'containers': [{'name': 'c', 'resources': {'requests': "
		               "{'cpu': '%d00m'}}}]}}",
		               i + 1);
		r.pod[i] = pod_from(text);
		T_OK(fw_class_open(&snapshot, &r.profiles.at[0], r.pod[i].spec,
		                   &r.class[i], &err),
		     &err);
	}
}

static void rig_end(void)
{
	for (int i = 0; i < CLASSES; i++) {
		class_cache_forget(r.classes, r.class[i]);
		fw_class_close(&snapshot, r.class[i]);
		pod_drop(&model, &r.pod[i]);
	}
	cycle_free(r.cached);
	cycle_free(r.plain);
	class_cache_free(r.classes);
	profiles_drop(&r.profiles);
	end();
}

static struct cycle_outcome decide(struct cycle *cycle, int class, uint64_t draw)
{
	struct pod_self self = {.name = r.pod[class].name, .nominated = SNAPSHOT_NONE};
	struct cycle_outcome out;

	cycle_run(cycle, r.class[class], &self, draw, &out);
	return out;
}

static struct cycle_outcome decide_both(int class, uint64_t draw)
{
	struct cycle_outcome cached = decide(r.cached, class, draw);
	struct cycle_outcome plain = decide(r.plain, class, draw);

	T_EQ(cached.result, plain.result);
	T_EQ(cached.node, plain.node);
	T_EQ(cached.total, plain.total);
	T_EQ(cached.feasible, plain.feasible);
	T_EQ(cached.best, plain.best);
	return plain;
}

static uint32_t place(int class, uint32_t slot)
{
	struct pod_on_node there = on_node(&r.pod[class]);
	uint32_t placed;

	T_OK(snapshot_pod_add(&snapshot, slot, &there, &placed, &err), &err);
	return placed;
}

static struct class_cache_figures figures(void)
{
	struct class_cache_figures out;

	class_cache_figures(r.classes, &out);
	return out;
}

static uint64_t draw_of(uint64_t number)
{
	return number * UINT64_C(0x9e3779b97f4a7c15);
}

T_CASE(class_results_are_made_once_and_updated)
{
	rig_begin(40, 1 << 20);
	for (uint64_t i = 0; i < 10; i++)
		(void)place(0, decide_both(0, draw_of(i)).node);
	T_EQ(figures().made, 1);
	T_EQ(figures().hits, 9);
	T_EQ(figures().updated, 9);
	T_EQ(figures().results, 1);
	(void)decide_both(1, 0);
	T_EQ(figures().made, 2);
	rig_end();
}

T_CASE(results_are_made_again_when_the_change_log_is_too_short)
{
	rig_begin(3, 1 << 20);
	(void)decide_both(0, 0);
	for (uint32_t i = 0; i <= SNAPSHOT_LOG / 2; i++)
		snapshot_pod_remove(&snapshot, place(1, 2));
	(void)decide_both(0, 0);
	T_EQ(figures().made, 2);
	rig_end();
}

T_CASE(results_used_last_stay)
{
	size_t bytes;

	rig_begin(40, 1 << 20);
	(void)decide_both(0, 0);
	bytes = figures().bytes;
	rig_end();

	rig_begin(40, bytes * 3);
	for (int i = 0; i < 3; i++)
		(void)decide_both(i, 0);
	T_EQ(figures().forgotten, 0);
	(void)decide_both(0, 0);
	(void)decide_both(3, 0); /* evicts the results of 1 */
	T_EQ(figures().forgotten, 1);
	T_EQ(figures().results, 3);
	T_EQ(figures().bytes, bytes * 3);
	(void)decide_both(0, 0);
	(void)decide_both(2, 0);
	T_EQ(figures().made, 4);
	(void)decide_both(1, 0);
	T_EQ(figures().made, 5);
	rig_end();
}

T_CASE(without_memory_bound_nothing_is_kept)
{
	rig_begin(40, 0);
	for (int i = 0; i < CLASSES; i++)
		(void)decide_both(i, draw_of((uint64_t)i));
	T_EQ(figures().results, 0);
	T_EQ(figures().bytes, 0);
	rig_end();
}

static struct fw_class *class_of(const char *text, struct pod *pod)
{
	struct fw_class *class;

	*pod = pod_from(text);
	T_OK(fw_class_open(&snapshot, &r.profiles.at[0], pod->spec, &class, &err), &err);
	return class;
}

static uint32_t node_for(struct cycle *cycle, struct fw_class *class)
{
	struct pod_self self = {.nominated = SNAPSHOT_NONE};
	struct cycle_outcome out;

	cycle_run(cycle, class, &self, 5, &out);
	return out.result == CYCLE_NODE ? out.node : SNAPSHOT_NONE;
}

static void close_class(struct fw_class *class, struct pod *pod)
{
	class_cache_forget(r.classes, class);
	fw_class_close(&snapshot, class);
	pod_drop(&model, pod);
}

T_CASE(classes_with_equal_requests_share_results)
{
	static const char *const text[] = {
		"{'metadata': {'name': 'p', 'namespace': 'a', 'labels': {'app': 'x'}}, "
		"'spec': {'priority': 7, 'containers': [{'name': 'c', 'resources': "
		"{'requests': {'cpu': '900m'}}}]}}",
		"{'metadata': {'name': 'q', 'namespace': 'b'}, 'spec': {'containers': "
		"[{'name': 'c', 'resources': {'requests': {'cpu': '900m'}}}]}}",
		"{'metadata': {'name': 'q', 'namespace': 'b'}, 'spec': {'nodeSelector': "
		"{'zone': 'z'}, 'containers': [{'name': 'c', 'resources': "
		"{'requests': {'cpu': '900m'}}}]}}",
		"{'metadata': {'name': 'q', 'namespace': 'b'}, 'spec': {'volumes': "
		"[{'name': 'v', 'gcePersistentDisk': {'pdName': 'd'}}], 'containers': "
		"[{'name': 'c', 'resources': {'requests': {'cpu': '900m'}}}]}}",
	};
	struct fw_class *class[4];
	struct pod pod[4];

	rig_begin(40, 1 << 20);
	for (int i = 0; i < 4; i++) {
		class[i] = class_of(text[i], &pod[i]);
		T_EQ(node_for(r.cached, class[i]), node_for(r.plain, class[i]));
		T_EQ(figures().results, i < 2 ? 1 : i);
	}
	T_EQ(figures().made, 3);
	/* The results outlive the class that made them, and go with the last one. */
	close_class(class[0], &pod[0]);
	T_EQ(figures().results, 3);
	T_EQ(node_for(r.cached, class[1]), node_for(r.plain, class[1]));
	T_EQ(figures().made, 3);
	for (int i = 1; i < 4; i++)
		close_class(class[i], &pod[i]);
	T_EQ(figures().results, 0);
	T_EQ(figures().bytes, 0);
	rig_end();
}

T_CASE(results_grow_with_the_cluster)
{
	rig_begin(500, 1 << 20);
	for (int i = 0; i < CLASSES; i++)
		(void)decide_both(i, 7);
	add_nodes(600);
	for (int i = 0; i < CLASSES; i++)
		(void)place(i, decide_both(i, 8).node);
	for (int i = 0; i < CLASSES; i++)
		(void)decide_both(i, 9);
	T_EQ(figures().results, CLASSES);
	rig_end();
}

/* Pods come and go, nodes change, pods are decided: with updated results, and with new
 * ones. */
T_CASE(a_steady_state_allocates_nothing)
{
	rig_begin(300, 1 << 20);
	for (uint64_t round = 0; round < 40; round++) {
		if (round == 20)
			pl_fault_arm(PL_FAULT_ALLOC, 1);
		for (int i = 0; i < CLASSES; i++) {
			struct cycle_outcome out = decide(r.cached, i, draw_of(round));

			T_EQ(out.result, CYCLE_NODE);
			T_EQ(decide(r.plain, i, draw_of(round)).node, out.node);
			snapshot_pod_remove(&snapshot, place(i, out.node));
		}
	}
	T_TRUE(!pl_fault_fired(PL_FAULT_ALLOC));
	pl_fault_reset();
	T_TRUE(figures().hits > 0);
	rig_end();
}

/* Without memory a decision goes without the cache, or the cycle fails; the next one is
 * right. */
T_CASE(no_memory)
{
	bool fired = true;

	for (uint64_t nth = 1; fired; nth++) {
		struct cycle_outcome out;

		rig_begin(40, 1 << 20);
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		out = decide(r.cached, 0, 3);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE(out.result == CYCLE_NODE || (fired && out.result == CYCLE_ERROR));
		if (out.result == CYCLE_NODE)
			T_EQ(out.node, decide(r.plain, 0, 3).node);
		(void)decide_both(0, 4);
		T_EQ(figures().results, 1);
		T_TRUE(fired || nth > 10);
		rig_end();
	}
}

static enum pl_code make(void)
{
	struct class_cache *classes = NULL;
	enum pl_code code = class_cache_new(&snapshot, 0, &classes, &err);

	class_cache_free(classes);
	return code;
}

T_CASE(no_memory_at_all)
{
	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_CODE(make(), PL_NOMEM, &err);
	pl_fault_reset();
	class_cache_free(NULL);
}
