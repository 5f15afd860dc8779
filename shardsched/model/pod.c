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
	struct identity_labels identity;
	enum pl_code code = spec_make(model, arena, draft, &made.spec, &identity, err);

	if (code != PL_OK)
		return code;
	maker_init(&maker, model, arena);
	made.index = identity.index;
	made.identity_keys = (uint8_t)identity.keys;
	made.name = maker_text(&maker, draft->meta.name);
	made.uid = maker_name(&maker, draft->meta.uid);
	made.node = maker_name(&maker, draft->node_name);
	made.nominated = maker_name(&maker, draft->nominated);
	made.created_ms = draft->meta.created_ms;
	made.started_ms = draft->started_ms;
	made.deleted_ms = draft->meta.deleted_ms;
	made.preempted = draft->preempted;
	made.phase = (uint8_t)phase_of(draft->phase);
	if (maker.code != PL_OK) {
		pod_drop(model, &made);
		return pl_err_set(err, maker.code, "keep a pod");
	}
	*out = made;
	return PL_OK;
}

struct pod pod_copy(struct model *model, const struct pod *pod)
{
	struct pod out = *pod;

	out.spec = model_ref(model, MODEL_SPECS, pod->spec);
	strings_ref(&model->strings, pod->name);
	strings_ref(&model->strings, pod->uid);
	strings_ref(&model->strings, pod->node);
	strings_ref(&model->strings, pod->nominated);
	return out;
}

enum pl_code pod_promote_labels(struct model *model, struct pl_arena *arena,
                                struct pod *pod, struct pl_err *err)
{
	const struct identity_labels identity = pod_identity(pod);
	uint32_t due = identity_due_labels(model, pod->name, &identity);
	const struct spec *joined;
	enum pl_code code;

	if (due == 0)
		return PL_OK;
	code = spec_promote_labels(model, arena, pod->spec, pod->name, &identity, due,
	                           &joined, err);
	if (code != PL_OK)
		return code;
	model_unref(model, MODEL_SPECS, pod->spec);
	pod->spec = joined;
	pod->identity_keys &= (uint8_t)~due;
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
