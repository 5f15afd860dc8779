/* A cluster with the real plugins, for tests of preemption and gangs. */
#ifndef TESTS_SUPPORT_SHARDSCHED_PREEMPT_PREEMPT_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_PREEMPT_PREEMPT_RIG_H

#include <stdarg.h>

#include "shardsched/classes/class_cache.h"
#include "shardsched/plugins/plugins.h"
#include "shardsched/preempt/preempt_int.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

enum { RIG_CLASSES = 4096 };

static struct rig {
	struct profiles profiles;
	struct class_cache *classes;
	struct cycle *cycle;
	struct preempt *preempt;
	struct fw_class *class[RIG_CLASSES];
	uint32_t class_count;
} rig;

static inline void rig_begin(const char *config, bool cached)
{
	struct cycle_opts opts = {.snapshot = &snapshot};

	begin();
	memset(&rig, 0, sizeof rig);
	T_OK(profiles_parse(&model, &plugins, pl_span_str(config), &rig.profiles, &err),
	     &err);
	T_OK(class_cache_new(&snapshot, 64 << 20, &rig.classes, &err), &err);
	opts.cache = cached ? class_cache_ops(rig.classes) : NULL;
	T_OK(cycle_new(&opts, &rig.cycle, &err), &err);
	T_OK(preempt_new(&rig.preempt, &err), &err);
}

static inline void rig_close_classes(void)
{
	while (rig.class_count > 0) {
		struct fw_class *class = rig.class[--rig.class_count];

		class_cache_forget(rig.classes, class);
		fw_class_close(&snapshot, class);
	}
}

static inline void rig_end(void)
{
	rig_close_classes();
	preempt_free(rig.preempt);
	cycle_free(rig.cycle);
	class_cache_free(rig.classes);
	for (uint32_t i = 0; i < snapshot.slots; i++) {
		while (snapshot.row[i].first_nomination != SNAPSHOT_NONE)
			snapshot_nominate_end(&snapshot,
			                      snapshot.row[i].first_nomination);
		while (snapshot.row[i].first_pod != SNAPSHOT_NONE)
			snapshot_pod_remove(&snapshot, snapshot.row[i].first_pod);
	}
	profiles_drop(&rig.profiles);
	end();
}

static inline struct fw_class *rig_class(const struct spec *spec)
{
	struct fw_class *class;

	for (uint32_t i = 0; i < rig.class_count; i++)
		if (rig.class[i] -> view -> spec == spec)
			return rig.class[i];
	T_TRUE(rig.class_count < RIG_CLASSES);
	T_OK(fw_class_open(&snapshot,
	                   profiles_find(&rig.profiles, spec->template->scheduler), spec,
	                   &class, &err),
	     &err);
	rig.class[rig.class_count++] = class;
	return class;
}

static inline struct pod_self rig_self(const struct pod *pod)
{
	struct pod_self self = {.name = pod->name,
	                        .uid = pod->uid,
	                        .nominated = SNAPSHOT_NONE,
	                        .created_ms = pod->created_ms};

	if (pod->nominated != 0)
		self.nominated = snapshot_node_find(&snapshot, 0, pod->nominated);
	return self;
}

/* Adds the pod to the node, whatever its JSON says. */
static inline uint32_t rig_put_placed(uint32_t slot, const struct pod *pod)
{
	struct pod_on_node there = on_node(pod);
	uint32_t placed;

	there.started_ms = pod->started_ms;
	if (pod->deleted_ms != 0)
		there.flags |= PLACED_TERMINATING;
	if (pod->preempted)
		there.flags |= PLACED_PREEMPTED;
	T_OK(snapshot_pod_add(&snapshot, slot, &there, &placed, &err), &err);
	return placed;
}

static inline void rig_budget(const char *text)
{
	struct parse parse = {.model = &model, .arena = &arena};
	struct budget budget;
	char room[4096];

	T_OK(budget_parse(&parse, json_of(room, text), &budget, &err), &err);
	pl_arena_reset(&arena);
	T_OK(catalog_put_budget(&snapshot.catalog, &budget, &err), &err);
}

/* JSON built piece by piece, with quotes written as ' */
struct rig_text {
	char at[4096];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static inline void rig_say(struct rig_text *text,
                                                                 const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): two lines above */
	text->len += (size_t)vsnprintf(text->at + text->len, sizeof text->at - text->len,
	                               fmt, args);
	va_end(args);
	T_TRUE(text->len < sizeof text->at);
}

#endif
