#include "bench/engine/scene.h"

#include <malloc.h>
#include <stdio.h>

#include "bench/engine/bench.h"
#include "shardsched/model/parse.h"
#include "shardsched/plugins/plugins.h"

enum { CLASSES_BYTES = 1 << 30, NAME_SIZE = 32 };

static const char node_format[] =
	"{\"metadata\":{\"name\":\"node-%06u\",\"labels\":{"
	"\"kubernetes.io/hostname\":\"node-%06u\",\"kubernetes.io/os\":\"linux\","
	"\"kubernetes.io/arch\":\"amd64\",\"topology.kubernetes.io/zone\":\"zone-%u\","
	"\"topology.kubernetes.io/rack\":\"rack-%u\"}},"
	"\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"32Gi\","
	"\"ephemeral-storage\":\"100Gi\",\"pods\":\"110\"}}}";

size_t scene_heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void add_node(struct scene *scene, unsigned i)
{
	struct parse parse = {.model = &scene->model, .arena = &scene->arena};
	struct pl_err err = {0};
	struct node node;
	char json[sizeof node_format + 64];
	uint32_t slot;

	(void)snprintf(json, sizeof json, node_format, i, i, i % SCENE_ZONES,
	               i / SCENE_RACK_NODES);
	bench_check(node_parse(&parse, pl_span_str(json), &node, &err), &err, "node");
	bench_check(snapshot_node_add(&scene->snapshot, 0, &node, &slot, &err), &err,
	            "node");
	node_drop(&scene->model, &node);
	pl_arena_reset(&scene->arena);
}

void scene_init(struct scene *scene, unsigned nodes, bool cache)
{
	struct pl_err err = {0};
	struct cycle_opts opts = {.snapshot = &scene->snapshot};

	*scene = (struct scene){.nodes = nodes};
	scene->bytes_before = scene_heap();
	pl_arena_init(&scene->arena, 1 << 16, 0);
	model_init(&scene->model);
	bench_check(snapshot_init(&scene->snapshot, &scene->model, &err), &err,
	            "snapshot");
	for (unsigned i = 0; i < nodes; i++)
		add_node(scene, i);
	scene->bytes_nodes = scene_heap() - scene->bytes_before;
	bench_check(profiles_parse(&scene->model, &plugins, (struct pl_span){0},
	                           &scene->profiles, &err),
	            &err, "profile");
	if (cache)
		bench_check(class_cache_new(&scene->snapshot, CLASSES_BYTES,
		                            &scene->classes, &err),
		            &err, "classes");
	opts.cache = cache ? class_cache_ops(scene->classes) : NULL;
	bench_check(cycle_new(&opts, &scene->cycle, &err), &err, "cycle");
	bench_check(preempt_new(&scene->preempt, &err), &err, "preemption");
}

void scene_done(struct scene *scene)
{
	preempt_free(scene->preempt);
	cycle_free(scene->cycle);
	class_cache_free(scene->classes);
	profiles_drop(&scene->profiles);
	snapshot_done(&scene->snapshot);
	model_done(&scene->model);
	pl_arena_done(&scene->arena);
}

const struct spec *scene_spec(struct scene *scene, const char *json)
{
	struct parse parse = {.model = &scene->model, .arena = &scene->arena};
	struct pl_err err = {0};
	const struct spec *spec;
	struct pod pod;

	bench_check(pod_parse(&parse, pl_span_str(json), &pod, &err), &err, "pod");
	spec = model_ref(&scene->model, MODEL_SPECS, pod.spec);
	pod_drop(&scene->model, &pod);
	pl_arena_reset(&scene->arena);
	return spec;
}

struct fw_class *scene_class(struct scene *scene, const struct spec *spec)
{
	struct pl_err err = {0};
	struct fw_class *class = NULL;

	bench_check(fw_class_open(&scene->snapshot, &scene->profiles.at[0], spec, &class,
	                          &err),
	            &err, "class");
	return class;
}

void scene_class_close(struct scene *scene, struct fw_class *class)
{
	if (scene->classes != NULL)
		class_cache_forget(scene->classes, class);
	fw_class_close(&scene->snapshot, class);
}

void scene_decide(struct scene *scene, struct fw_class *class, struct cycle_outcome *out)
{
	struct pod_self self = {.nominated = SNAPSHOT_NONE, .created_ms = 1};

	cycle_run(scene->cycle, class, &self, scene->pods * UINT64_C(0x9e3779b97f4a7c15),
	          out);
}

void scene_place(struct scene *scene, const struct spec *spec, uint32_t slot)
{
	struct pod_on_node pod = {.spec = spec, .user = scene->pods++};
	struct pl_err err = {0};
	uint32_t placed;

	bench_check(snapshot_pod_add(&scene->snapshot, slot, &pod, &placed, &err), &err,
	            "pod");
}

void scene_place_old(struct scene *scene, const struct spec *spec, uint32_t slot,
                     int64_t started_ms)
{
	struct pod_on_node pod = {
		.spec = spec, .user = scene->pods++, .started_ms = started_ms};
	uint64_t mixed = pod.user * UINT64_C(0x9e3779b97f4a7c15);
	struct pl_err err = {0};
	char name[NAME_SIZE];
	uint32_t placed;

	(void)snprintf(name, sizeof name, "web-%05x-%08x", (unsigned)(mixed >> 32 & 0xff),
	               (unsigned)mixed);
	bench_check(strings_add(&scene->model.strings, pl_span_str(name), &pod.name),
	            NULL, "name");
	bench_check(snapshot_pod_add(&scene->snapshot, slot, &pod, &placed, &err), &err,
	            "pod");
	strings_unref(&scene->model.strings, pod.name);
}

void scene_budget(struct scene *scene, const char *json)
{
	struct parse parse = {.model = &scene->model, .arena = &scene->arena};
	struct pl_err err = {0};
	struct budget budget;

	bench_check(budget_parse(&parse, pl_span_str(json), &budget, &err), &err,
	            "budget");
	pl_arena_reset(&scene->arena);
	bench_check(catalog_put_budget(&scene->snapshot.catalog, &budget, &err), &err,
	            "budget");
}

void scene_fill(struct scene *scene, const char *json, unsigned per_node)
{
	const struct spec *spec = scene_spec(scene, json);

	for (unsigned i = 0; i < per_node; i++)
		PL_BITSET_EACH (slot, scene->snapshot.live)
			scene_place(scene, spec, (uint32_t)slot);
	model_unref(&scene->model, MODEL_SPECS, spec);
}
