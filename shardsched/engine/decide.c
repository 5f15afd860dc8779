#include "shardsched/engine/engine_int.h"
#include "store/base/hash.h"

uint64_t engine_draw(const struct engine *engine, const struct pod *pod, uint64_t attempt)
{
	struct pl_hash_key key = {engine->opts.seed, attempt};
	struct pl_span space = model_text(&engine->model, pod->spec->namespace);
	uint32_t who = pod->uid != 0 ? pod->uid : pod->name;

	key.k0 = pl_hash_keyed(space, key);
	return pl_hash_keyed(model_text(&engine->model, who), key);
}

static struct pod_self self_of(const struct engine *engine, const struct pod *pod)
{
	struct pod_self self = {.name = pod->name,
	                        .uid = pod->uid,
	                        .nominated = SNAPSHOT_NONE,
	                        .created_ms = pod->created_ms};

	if (pod->nominated != 0)
		self.nominated = snapshot_node_find(&engine->snapshot, 0, pod->nominated);
	return self;
}

/* False: it stays in front of the queue. */
static bool enters(struct engine *engine, const struct fw_class *class,
                   const struct pod_self *self, struct engine_decision *out)
{
	const struct profile_point *at = &class->profile->at[POINT_PRE_ENQUEUE];
	struct plugin_call call = {.snapshot = &engine->snapshot,
	                           .spec = class->view->spec,
	                           .view = class->view,
	                           .pod = self};

	for (unsigned i = 0; i < at->count; i++) {
		const struct plugin *row = class->profile->table->row[at->plugin[i]];

		call.args = class->profile->args[at->plugin[i]];
		call.own = class->own[at->plugin[i]];
		verdict_clear(&out->gate);
		if (row->pre_enqueue(&call, &out->gate) == VERDICT_SUCCESS)
			continue;
		out->gate.plugin = at->plugin[i];
		out->gated = true;
		return false;
	}
	return true;
}

/* The plugins that may make room, one after the other until one does. */
static void make_room(struct engine *engine, const struct fw_class *class,
                      const struct pod_self *self, struct engine_decision *out)
{
	const struct profile_point *at = &class->profile->at[POINT_POST_FILTER];
	struct preempt_job job = {
		.preempt = engine->preempt,
		.last = &out->outcome,
		.opts = {.draw = out->draw, .keep_all = engine->opts.keep_candidates}};
	struct plugin_call call = {.snapshot = &engine->snapshot,
	                           .spec = class->view->spec,
	                           .view = class->view,
	                           .pod = self};
	enum verdict_code code = VERDICT_UNSCHEDULABLE;
	struct verdict say;

	cycle_lend(engine->cycle, &job);
	for (unsigned i = 0; i < at->count && code != VERDICT_SUCCESS; i++) {
		const struct plugin *row = class->profile->table->row[at->plugin[i]];

		call.args = class->profile->args[at->plugin[i]];
		call.own = class->own[at->plugin[i]];
		verdict_clear(&say);
		code = row->post_filter(&call, engine->cycle, &say);
	}
	cycle_lend(engine->cycle, NULL);
	out->tried_preemption = at->count > 0;
	if (job.ran)
		out->preempt = job.out;
	else
		out->preempt.code = code;
}

enum pl_code engine_decide(struct engine *engine, const struct pod *pod,
                           struct engine_decision *out, struct pl_err *err)
{
	return engine_decide_with(engine, pod, engine_draw(engine, pod, 0), out, err);
}

enum pl_code engine_decide_with(struct engine *engine, const struct pod *pod,
                                uint64_t draw, struct engine_decision *out,
                                struct pl_err *err)
{
	struct pod_self self = self_of(engine, pod);
	struct fw_class *class = NULL;
	enum pl_code code = engine_class(engine, pod->spec, &class, err);

	if (code != PL_OK)
		return code;
	*out = (struct engine_decision){.profile = class->profile, .draw = draw};
	if (enters(engine, class, &self, out)) {
		cycle_run(engine->cycle, class, &self, out->draw, &out->outcome);
		if (out->outcome.result == CYCLE_NONE)
			make_room(engine, class, &self, out);
	}
	engine_release(engine, class);
	return PL_OK;
}
