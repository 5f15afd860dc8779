/* A cluster to decide on: nodes of one size in zones and racks, and pods on them. */
#ifndef BENCH_ENGINE_SCENE_H
#define BENCH_ENGINE_SCENE_H

#include "shardsched/classes/class_cache.h"
#include "shardsched/preempt/preempt.h"

enum { SCENE_ZONES = 10, SCENE_RACK_NODES = 40 };

struct scene {
	struct model model;
	struct snapshot snapshot;
	struct profiles profiles;
	struct class_cache *classes; /* NULL: without the cache */
	struct cycle *cycle;
	struct preempt *preempt;
	struct pl_arena arena;
	unsigned nodes;
	unsigned pods; /* placed so far, for their names */
	size_t bytes_before, bytes_nodes;
};

/* 4 cpu, 32 GiB and 110 pods a node, as in kube-scheduler's own benches. */
void scene_init(struct scene *scene, unsigned nodes, bool cache);
void scene_done(struct scene *scene);

/* The spec of a pod from JSON; given back with model_unref. */
const struct spec *scene_spec(struct scene *scene, const char *json);
struct fw_class *scene_class(struct scene *scene, const struct spec *spec);
void scene_class_close(struct scene *scene, struct fw_class *class);

/* One decision, for a pod of a name of its own. */
void scene_decide(struct scene *scene, struct fw_class *class, struct cycle_outcome *out);
void scene_place(struct scene *scene, const struct spec *spec, uint32_t slot);
/* One that started then, with a name as controllers give them. */
void scene_place_old(struct scene *scene, const struct spec *spec, uint32_t slot,
                     int64_t started_ms);
void scene_budget(struct scene *scene, const char *json);
/* So many on each node, one after the other. */
void scene_fill(struct scene *scene, const char *json, unsigned per_node);

/* Bytes that the heap has given out, with what the allocator adds. */
size_t scene_heap(void);

#endif
