#include "shardsched/model/pod.h"

static enum pod_phase phase_of(struct pl_span word)
{
	static const char *const words[] = {"Pending", "Running", "Succeeded", "Failed"};

	if (word.len == 0)
		return POD_PENDING;
	for (unsigned i = POD_PENDING; i < POD_UNKNOWN; i++)
		if (pl_span_eq(word, pl_span_str(words[i])))
			return (enum pod_phase)i;
	return POD_UNKNOWN;
}

enum pl_code pod_make(struct model *model, struct pl_arena *arena,
                      const struct pod_draft *draft, struct pod *out, struct pl_err *err)
{
	struct maker maker;
	struct pod made = {0};
	enum pl_code code = spec_make(model, arena, draft, &made.spec, err);

	if (code != PL_OK)
		return code;
	maker_init(&maker, model, arena);
	made.name = maker_text(&maker, draft->meta.name);
	made.uid = maker_name(&maker, draft->meta.uid);
	made.node = maker_name(&maker, draft->node_name);
	made.nominated = maker_name(&maker, draft->nominated);
	made.created_ms = draft->meta.created_ms;
	made.started_ms = draft->started_ms;
	made.deleted_ms = draft->meta.deleted_ms;
	made.preempted = draft->preempted;
	made.phase = (uint32_t)phase_of(draft->phase);
	if (maker.code != PL_OK) {
		pod_drop(model, &made);
		return pl_err_set(err, maker.code, "keep a pod");
	}
	*out = made;
	return PL_OK;
}

void pod_drop(struct model *model, struct pod *pod)
{
	model_unref(model, MODEL_SPECS, pod->spec);
	strings_unref(&model->strings, pod->name);
	strings_unref(&model->strings, pod->uid);
	strings_unref(&model->strings, pod->node);
	strings_unref(&model->strings, pod->nominated);
	*pod = (struct pod){0};
}
