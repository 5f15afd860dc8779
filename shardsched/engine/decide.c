#include "shardsched/engine/engine_int.h"
#include "store/base/hash.h"

uint64_t engine_draw(const struct engine *engine, const struct pod *pod, uint64_t attempt)
{
	struct pl_hash_key key = {engine->opts.seed, attempt};
	struct pl_span namespace = model_text(&engine->model, pod->spec->namespace);
	uint32_t identity = pod->uid != 0 ? pod->uid : pod->name;

	key.k0 = pl_hash_keyed(namespace, key);
	return pl_hash_keyed(model_text(&engine->model, identity), key);
}

/* Runs the PostFilter plugins of the profile, which may find room by preemption. */
static void run_post_filters(struct engine *engine, const struct profile *profile,
                             struct engine_decision *out)
{
	struct preempt_request request = {
		.preempt = engine->preempt,
		.last = &out->outcome,
		.opts = {.draw = out->draw, .keep_all = engine->opts.keep_candidates}};
	struct verdict verdict;
	enum verdict_code code;

	out->tried_preemption = profile->at[POINT_POST_FILTER].count > 0;
	if (!out->tried_preemption)
		return;
	cycle_set_post_filter_ctx(engine->cycle, &request);
	code = cycle_post_filter(engine->cycle, &verdict);
	cycle_set_post_filter_ctx(engine->cycle, NULL);
	if (request.ran)
		out->preempt = request.out;
	else
		out->preempt.code = code;
}

/* Returns a reference. The pod may have been read before a selector asked for its
 * labels. */
static enum pl_code spec_with_labels(struct engine *engine, const struct pod *pod,
                                     const struct spec **out, struct pl_err *err)
{
	struct identity_labels identity = pod_identity(pod);
	enum pl_code code;
	struct pod is;

	if (identity_due_labels(&engine->model, pod->name, &identity) == 0) {
		*out = model_ref(&engine->model, MODEL_SPECS, pod->spec);
		return PL_OK;
	}
	is = pod_copy(&engine->model, pod);
	code = engine_pod_promote_labels(engine, &is, err);

	if (code == PL_OK)
		*out = model_ref(&engine->model, MODEL_SPECS, is.spec);
	pod_drop(&engine->model, &is);
	return code;
}

enum pl_code engine_pod_class(struct engine *engine, const struct pod *pod,
                              struct fw_class **out, struct pl_err *err)
{
	const struct spec *spec;
	enum pl_code code = spec_with_labels(engine, pod, &spec, err);

	if (code != PL_OK)
		return code;
	code = engine_class(engine, spec, out, err);
	model_unref(&engine->model, MODEL_SPECS, spec);
	return code;
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
	struct pod_self self = {.name = pod->name,
	                        .uid = pod->uid,
	                        .nominated = engine_pod_nominated(engine, pod),
	                        .created_ms = pod->created_ms};
	struct fw_class *class = NULL;
	enum pl_code code = engine_pod_class(engine, pod, &class, err);

	if (code != PL_OK)
		return code;
	*out = (struct engine_decision){.profile = class->profile, .draw = draw};
	out->gated = fw_gated(class->profile, class->view->spec, &engine->snapshot, &self,
	                      &out->gate);
	if (!out->gated) {
		cycle_run(engine->cycle, class, &self, out->draw, &out->outcome);
		if (out->outcome.result == CYCLE_NONE)
			run_post_filters(engine, class->profile, out);
	}
	engine_release(engine, class);
	return PL_OK;
}
