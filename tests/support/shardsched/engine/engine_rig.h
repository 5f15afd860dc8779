/* Fixture of the engine's tests, with short ways to write objects. */
#ifndef TESTS_SUPPORT_SHARDSCHED_ENGINE_ENGINE_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_ENGINE_ENGINE_RIG_H

#include <stdio.h>

#include "shardsched/engine/engine.h"
#include "shardsched/model/parse.h"
#include "tests/harness/t.h"

enum { RIG_JSON_SIZE = 2048 };

struct engine_rig {
	struct engine *engine;
	struct pl_arena arena;
	struct pl_err err;
};

static inline void rig_open(struct engine_rig *rig, const struct engine_opts *opts)
{
	*rig = (struct engine_rig){0};
	T_OK(engine_new(opts, &rig->engine, &rig->err), &rig->err);
	pl_arena_init(&rig->arena, 0, 0);
}

static inline void rig_close(struct engine_rig *rig)
{
	snapshot_check(engine_snapshot(rig->engine));
	engine_free(rig->engine);
	pl_arena_done(&rig->arena);
}

static inline enum pl_code rig_try(struct engine_rig *rig, enum engine_kind kind,
                                   const char *json)
{
	rig->err = (struct pl_err){0};
	return engine_put(rig->engine, kind, pl_span_str(json), NULL, &rig->err);
}

static inline void rig_put(struct engine_rig *rig, enum engine_kind kind,
                           const char *json)
{
	T_OK(rig_try(rig, kind, json), &rig->err);
}

static inline enum pl_code rig_drop(struct engine_rig *rig, enum engine_kind kind,
                                    const char *namespace, const char *name)
{
	return engine_drop(rig->engine, kind, pl_span_str(namespace), pl_span_str(name),
	                   &rig->err);
}

static inline void rig_node(struct engine_rig *rig, const char *name, const char *cpu)
{
	char json[RIG_JSON_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"capacity\":"
	               "{\"cpu\":\"%s\",\"memory\":\"8Gi\",\"pods\":\"110\"}}}",
	               name, cpu);
	rig_put(rig, ENGINE_NODE, json);
}

/* {"metadata":{"name":NAME,...},"spec":{...,"containers":[...]},"status":{...}}: meta
 * and spec begin with a comma when they are not empty. */
static inline const char *rig_pod_json(const char *name, const char *cpu,
                                       const char *spec, const char *status)
{
	static char json[RIG_JSON_SIZE];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"default\",\"name\":\"%s\"},"
	               "\"spec\":{\"priority\":0%s,\"containers\":[{\"name\":\"c\","
	               "\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]},"
	               "\"status\":{%s}}",
	               name, spec, cpu, status);
	return json;
}

static inline void rig_pod(struct engine_rig *rig, const char *name, const char *cpu,
                           const char *node)
{
	char spec[128];

	(void)snprintf(spec, sizeof spec, ",\"nodeName\":\"%s\"", node);
	rig_put(rig, ENGINE_POD, rig_pod_json(name, cpu, spec, ""));
}

static inline struct pod rig_parse(struct engine_rig *rig, const char *json)
{
	struct parse parse = {.model = engine_model(rig->engine), .arena = &rig->arena};
	struct pod pod;

	T_OK(pod_parse(&parse, pl_span_str(json), &pod, &rig->err), &rig->err);
	return pod;
}

/* SNAPSHOT_NONE: there is no such node. */
static inline uint32_t rig_slot(struct engine_rig *rig, const char *name)
{
	uint32_t id =
		strings_find(&engine_model(rig->engine)->strings, pl_span_str(name));

	return id == 0 ? SNAPSHOT_NONE
	               : snapshot_node_find(engine_snapshot(rig->engine), 0, id);
}

/* How many pods are on the node; -1: there is no such node. */
static inline int64_t rig_pods_on(struct engine_rig *rig, const char *name)
{
	uint32_t slot = rig_slot(rig, name);

	return slot == SNAPSHOT_NONE
	               ? -1
	               : (int64_t)engine_snapshot(rig->engine)->row[slot].pods;
}

/* The name of the node for the pod; "": there is none. */
static inline const char *rig_decide(struct engine_rig *rig, const char *json)
{
	struct engine_decision decision;
	struct pod pod = rig_parse(rig, json);
	const char *name = "";

	T_OK(engine_decide(rig->engine, &pod, &decision, &rig->err), &rig->err);
	if (!decision.gated && decision.outcome.result == CYCLE_NODE) {
		const struct snapshot *snapshot = engine_snapshot(rig->engine);
		uint32_t id = snapshot->row[decision.outcome.node].node.name;

		name = (const char *)model_text(snapshot->model, id).at;
	}
	pod_drop(engine_model(rig->engine), &pod);
	return name;
}

#endif
