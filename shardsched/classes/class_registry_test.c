/*
 * Classes that come and go: which are known and which are ready. A random history is
 * compared with a list.
 */
#include <stdio.h>

#include "shardsched/classes/class_registry.h"
#include "shardsched/model/parse.h"
#include "shardsched/plugins/plugins.h"
#include "store/base/fault.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

enum { SPECS = 12, READY = 3, STEPS = 4000, SEEDS = 4 };

/* The expected state of one spec. */
struct like {
	uint32_t users;
	uint64_t asked; /* when it became ready last; 0: it is not ready */
	bool known;
};

static struct {
	struct model model;
	struct snapshot snapshot;
	struct profiles profiles;
	struct pl_err err;
	struct class_cache *classes;
	struct cycle *cycle;
	struct class_registry registry;
	struct pod pod[SPECS];
	struct registered_class *held[SPECS];
	struct like like[SPECS];
	uint64_t time;
	uint32_t opened, closed;
	bool refuses;
} r;

static enum pl_code on_opened(void *ctx, struct registered_class *open, struct pl_err *e)
{
	(void)ctx;
	T_EQ(open->extra[0], 0);
	if (r.refuses)
		return pl_err_set(e, PL_BUSY, "not now");
	open->extra[0] = 7;
	r.opened++;
	return PL_OK;
}

static void on_closing(void *ctx, struct registered_class *open)
{
	(void)ctx;
	T_EQ(open->extra[0], 7);
	T_EQ(open->users, 0);
	r.closed++;
}

static struct pod pod_asking(int milli, struct pl_arena *arena)
{
	struct parse parse = {.model = &r.model, .arena = arena};
	struct pod pod;
	char text[256];

	(void)snprintf(text, sizeof text,
	               "{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\"},\"spec\":{"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"%dm\"}}}]}}",
	               milli);
	T_OK(pod_parse(&parse, pl_span_str(text), &pod, &r.err), &r.err);
	pl_arena_reset(arena);
	return pod;
}

static void rig_begin(bool local, bool stays)
{
	const struct class_registry_opts opts = {.snapshot = &r.snapshot,
	                                         .profiles = &r.profiles,
	                                         .ready_max = READY,
	                                         .extra_size = sizeof(uint64_t),
	                                         .local = local,
	                                         .keep_ready = stays,
	                                         .on_opened = on_opened,
	                                         .on_closing = on_closing};
	struct cycle_opts cycle = {.snapshot = &r.snapshot};
	struct pl_arena arena;

	memset(&r, 0, sizeof r);
	model_init(&r.model);
	T_OK(snapshot_init(&r.snapshot, &r.model, &r.err), &r.err);
	T_OK(profiles_parse(&r.model, &plugins, pl_span_str(""), &r.profiles, &r.err),
	     &r.err);
	T_OK(class_cache_new(&r.snapshot, 1 << 20, &r.classes, &r.err), &r.err);
	cycle.cache = class_cache_ops(r.classes);
	T_OK(cycle_new(&cycle, &r.cycle, &r.err), &r.err);
	pl_arena_init(&arena, 1 << 12, 1 << 20);
	for (int i = 0; i < SPECS; i++)
		r.pod[i] = pod_asking(100 + i, &arena);
	pl_arena_done(&arena);
	class_registry_init(&r.registry, &opts);
	r.registry.opts.classes = r.classes;
}

static void rig_end(void)
{
	class_registry_done(&r.registry);
	T_EQ(r.opened, r.closed);
	cycle_free(r.cycle);
	class_cache_free(r.classes);
	for (int i = 0; i < SPECS; i++)
		pod_drop(&r.model, &r.pod[i]);
	profiles_drop(&r.profiles);
	snapshot_done(&r.snapshot);
	model_done(&r.model);
}

static struct registered_class *get(int i)
{
	T_OK(class_registry_get(&r.registry, r.pod[i].spec, &r.held[i], &r.err), &r.err);
	r.like[i].users++;
	r.like[i].known = true;
	return r.held[i];
}

/* Keeps as many as may be ready, of those that may be dropped. */
static void like_trim(bool stays)
{
	for (;;) {
		int oldest = -1;
		uint32_t count = 0;

		for (int i = 0; i < SPECS; i++) {
			const struct like *like = &r.like[i];

			if (like->asked == 0 || (stays && like->users > 0))
				continue;
			count++;
			if (oldest < 0 || like->asked < r.like[oldest].asked)
				oldest = i;
		}
		if (count <= READY)
			return;
		r.like[oldest].asked = 0;
		r.like[oldest].known = r.like[oldest].users > 0;
	}
}

static void put(int i, bool stays)
{
	class_registry_put(&r.registry, r.held[i]);
	if (--r.like[i].users > 0)
		return;
	if (r.like[i].asked != 0)
		r.like[i].asked = ++r.time;
	else
		r.like[i].known = false;
	like_trim(stays);
}

/* Asks the class about a node, so that it has results. */
static struct fw_class *ask(int i, bool all, bool stays)
{
	struct pod_self self = {.name = r.pod[i].name, .nominated = SNAPSHOT_NONE};
	struct cycle_outcome out;
	struct fw_class *class;

	T_OK(all ? class_registry_all(&r.registry, r.held[i], &class, &r.err)
	         : class_registry_fw(&r.registry, r.held[i], &class, &r.err),
	     &r.err);
	T_TRUE(class->view->spec == r.pod[i].spec);
	cycle_run(r.cycle, class, &self, 0, &out);
	r.like[i].asked = ++r.time;
	like_trim(stays);
	return class;
}

static void check(void)
{
	uint32_t known = 0;

	for (int i = 0; i < SPECS; i++) {
		const struct registered_class *open =
			class_registry_find(&r.registry, r.pod[i].spec);

		T_EQ(open != NULL, r.like[i].known);
		known += r.like[i].known;
		if (open == NULL)
			continue;
		T_TRUE(open->spec == r.pod[i].spec);
		T_EQ(open->users, r.like[i].users);
		T_EQ(open->ready != NULL, r.like[i].asked != 0);
	}
	T_EQ(r.registry.count, known);
	T_EQ(r.opened - r.closed, known);
}

static void step(struct pl_rng *rng, bool stays)
{
	int i = (int)pl_rng_below(rng, SPECS);
	uint64_t how = pl_rng_below(rng, 10);

	if (how < 4) {
		bool idle = r.like[i].users == 0 && r.like[i].asked != 0;

		(void)get(i);
		if (idle)
			r.like[i].asked = ++r.time;
	} else if (how < 7 && r.like[i].users > 0) {
		put(i, stays);
	} else if (r.like[i].users > 0) {
		(void)ask(i, how == 9, stays);
	}
}

static void history(uint64_t seed, bool local, bool stays)
{
	struct pl_rng rng;

	pl_rng_init(&rng, seed);
	rig_begin(local, stays);
	for (unsigned n = 0; n < STEPS; n++) {
		step(&rng, stays);
		check();
	}
	for (int i = 0; i < SPECS; i++)
		while (r.like[i].users > 0)
			put(i, stays);
	check();
	rig_end();
}

T_CASE(random_history_agrees_with_a_list)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		history(seed, true, false);
		history(seed, false, true);
	}
}

T_CASE(waiting_class_that_is_not_asked_is_not_ready)
{
	rig_begin(true, false);
	for (int i = 0; i < SPECS; i++)
		T_TRUE(get(i)->ready == NULL);
	T_EQ(r.registry.ready_count, 0);
	for (int i = 0; i < SPECS; i++)
		put(i, false);
	T_EQ(r.registry.count, 0);
	rig_end();
}

T_CASE(unrestricted_variant_considers_all_nodes)
{
	struct fw_class *class, *all;

	rig_begin(true, false);
	(void)get(0);
	class = ask(0, false, false);
	all = ask(0, true, false);
	T_TRUE(class != all && class->local && !all->local);
	T_TRUE(ask(0, false, false) == class);
	put(0, false);
	rig_end();
	rig_begin(false, true);
	(void)get(0);
	T_TRUE(ask(0, false, true) == ask(0, true, true));
	put(0, true);
	rig_end();
}

/* A gang's classes are all there at once. */
T_CASE(held_registry_keeps_all_classes_ready)
{
	struct fw_class *class[SPECS];

	rig_begin(true, false);
	for (int i = 0; i < SPECS; i++)
		(void)get(i);
	class_registry_hold(&r.registry);
	for (int i = 0; i < SPECS; i++)
		class[i] = ask(i, false, false);
	for (int i = 0; i < SPECS; i++)
		T_TRUE(ask(i, false, false) == class[i]);
	T_EQ(r.registry.ready_count, SPECS);
	class_registry_release(&r.registry);
	T_EQ(r.registry.ready_count, READY);
	for (int i = 0; i < SPECS; i++)
		put(i, false);
	rig_end();
}

T_CASE(class_that_can_not_be_opened_leaves_nothing)
{
	struct registered_class *open;
	struct fw_class *class;
	bool fired = true;

	rig_begin(true, false);
	r.refuses = true;
	T_EQ(class_registry_get(&r.registry, r.pod[0].spec, &open, &r.err), PL_BUSY);
	r.refuses = false;
	T_TRUE(class_registry_find(&r.registry, r.pod[0].spec) == NULL);
	for (uint64_t nth = 1; fired; nth++) {
		enum pl_code code;

		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = class_registry_get(&r.registry, r.pod[0].spec, &open, &r.err);
		if (code == PL_OK) {
			code = class_registry_fw(&r.registry, open, &class, &r.err);
			class_registry_put(&r.registry, open);
		}
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_EQ(code, fired ? PL_NOMEM : PL_OK);
	}
	rig_end();
}

/* Between two pods that are alike there may be a moment without any. */
static void pod_anew(void)
{
	struct pl_arena arena;

	pod_drop(&r.model, &r.pod[0]);
	pl_arena_init(&arena, 1 << 12, 1 << 20);
	r.pod[0] = pod_asking(100, &arena);
	pl_arena_done(&arena);
}

T_CASE(known_class_holds_its_spec)
{
	struct registered_class *open;
	struct fw_class *class;

	rig_begin(true, false);
	open = get(0);
	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, 2);
	T_EQ(class_registry_fw(&r.registry, open, &class, &r.err), PL_NOMEM);
	pl_fault_reset();
	class_registry_put(&r.registry, open);
	pod_anew();
	T_TRUE(class_registry_find(&r.registry, r.pod[0].spec) == open);
	T_TRUE(get(0) == open);
	(void)ask(0, false, false);
	put(0, false);
	pod_anew();
	T_TRUE(class_registry_find(&r.registry, r.pod[0].spec) == open);
	rig_end();
}
