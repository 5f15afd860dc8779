/* A scene is a cluster to decide on: nodes of one size in zones and racks, with pods. */
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
	unsigned pods; /* pods placed so far, the number in the next name */
	size_t bytes_before, bytes_nodes;
};

/* Adds nodes: 4 cpu, 32 GiB and 110 pods a node, as in kube-scheduler's own benches. */
void scene_init(struct scene *scene, unsigned nodes, bool cache);
void scene_done(struct scene *scene);

/* Parses the spec of a pod; the caller ends its reference with model_unref. */
const struct spec *scene_spec(struct scene *scene, const char *json);
struct fw_class *scene_class(struct scene *scene, const struct spec *spec);
void scene_class_close(struct scene *scene, struct fw_class *class);

/* Makes one decision, for a pod with a new name. */
void scene_decide(struct scene *scene, struct fw_class *class, struct cycle_outcome *out);
void scene_place(struct scene *scene, const struct spec *spec, uint32_t slot);
/* Places a pod that started then, with a name as controllers give. */
void scene_place_old(struct scene *scene, const struct spec *spec, uint32_t slot,
                     int64_t started_ms);
void scene_budget(struct scene *scene, const char *json);
/* Places so many pods on each node, one after the other. */
void scene_fill(struct scene *scene, const char *json, unsigned per_node);

/* Bytes in use of the heap, with the allocator's overhead. */
size_t scene_heap(void);

#endif
