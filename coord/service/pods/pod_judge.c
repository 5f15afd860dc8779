#include "coord/service/pods/pod_judge.h"

#include "coord/service/submit/finalizers.h"
#include "shardsched/model/parse.h"
#include "shardsched/records/pod_location.h"
#include "store/keys/partition.h"

static const char *const words[] = {
#define REFUSAL_WORD(name, word) [POD_REFUSAL_##name] = (word),
	POD_REFUSAL_MAP(REFUSAL_WORD)
#undef REFUSAL_WORD
};

const char *pod_refusal_word(enum pod_refusal refusal)
{
	return words[refusal];
}

enum pl_code pod_refuse(struct pod_batch *batch, struct batch_pod *pod,
                        enum pod_refusal refusal, const char *why, struct pl_err *err)
{
	pod->refusal = refusal;
	pod->done = true;
	pod->why = pl_arena_printf(&batch->arena, "%s", why);
	return pod->why == NULL ? pl_err_set(err, PL_NOMEM, "refuse a change") : PL_OK;
}

enum pl_code pod_of_value(struct pod_batch *batch, struct pl_span value, struct pod *out,
                          struct pl_err *err)
{
	struct parse parse = {.model = &batch->model, .arena = &batch->made};

	return pod_parse(&parse, value, out, err);
}

/* The state, if there is one; a pod without one has phase Pending and no place. */
static enum pl_code state_of(struct pod_batch *batch, const struct pod_change *change,
                             struct pod_state *out, struct pl_err *err)
{
	*out = (struct pod_state){.phase = STATE_PENDING};
	if (change->state.rev == 0)
		return PL_OK;
	return state_parse(change->state.value, &batch->arena, out, err);
}

/* -- edits ------------------------------------------------------------------------- */

/* Shards refuse what submission refuses, so no edit may make a pod malformed. */
static enum pl_code check_edited(struct pod_batch *batch, struct pl_span value,
                                 struct pl_err *err)
{
	struct field_errors errors;
	struct parse parse = {.model = &batch->model,
	                      .arena = &batch->made,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	struct rule_terms terms;
	struct pod pod = {0};
	enum pl_code code;

	errors.count = 0;
	code = pod_parse(&parse, value, &pod, err);
	if (code == PL_OK)
		code = rule_terms_of(&batch->model, pod.spec, &batch->made, &terms, err);
	pod_drop(&batch->model, &pod);
	return code;
}

static bool is_same_identity(const struct pod_change *change, const struct pod *was,
                             const struct pod *is, const struct model *model)
{
	return pl_span_eq(model_text(model, is->name), change->pod.name) &&
	       pl_span_eq(model_text(model, is->spec->namespace),
	                  change->pod.namespace) &&
	       (was->uid == 0 || was->uid == is->uid);
}

/* No decision reads anything else of a pod. */
static bool is_quiet(const struct pod *was, const struct pod *is)
{
	return was->spec == is->spec && was->index == is->index &&
	       was->identity_keys == is->identity_keys && was->node == is->node &&
	       was->created_ms == is->created_ms &&
	       (was->deleted_ms == 0) == (is->deleted_ms == 0) &&
	       pod_is_terminal(was) == pod_is_terminal(is);
}

/* The alloc of a placed pod's node has what the pod takes there. */
static bool takes_as_much(const struct pod *was, const struct pod *is)
{
	const struct spec *a = was->spec, *b = is->spec;

	return a->requests == b->requests &&
	       spec_nonzero_cpu_milli(a) == spec_nonzero_cpu_milli(b) &&
	       spec_nonzero_memory(a) == spec_nonzero_memory(b) &&
	       a->template->ports.count == b->template->ports.count &&
	       (a->template->ports.count == 0 ||
	        memcmp(spec_ports(a), spec_ports(b),
	               a->template->ports.count * sizeof(struct spec_port)) == 0);
}

static enum pl_code check_location(struct pod_batch *batch, struct batch_pod *pod,
                                   const struct pod *is, struct pl_err *err)
{
	struct pod_location location;
	struct pl_err why = {0};
	enum pl_code code =
		pod_location_of(&batch->model, is, batch->partitions, &location, &why);

	if (code == PL_NOMEM)
		return pl_err_set(err, PL_NOMEM, "locate a pod");
	if (code != PL_OK)
		return pod_refuse(batch, pod, POD_REFUSAL_MALFORMED, why.msg, err);
	if (location.partition == pod->change.pod.partition)
		return PL_OK;
	return pod_refuse(batch, pod, POD_REFUSAL_MOVES,
	                  "its gang, controller or rules would put the pod into another "
	                  "partition; delete it and create it again",
	                  err);
}

static enum pl_code classify_edit(struct pod_batch *batch, struct batch_pod *pod,
                                  const struct pod *was, const struct pod *is,
                                  const struct pod_state *state, struct pl_err *err)
{
	bool placed = state_has_place(state);

	if (is_quiet(was, is)) {
		pod->kind = POD_EDIT_QUIET;
		return PL_OK;
	}
	if (placed && !takes_as_much(was, is))
		return pod_refuse(batch, pod, POD_REFUSAL_FIXED,
		                  "spec: the requests and host ports of a pod that has a "
		                  "node may not change",
		                  err);
	pod->kind = placed ? POD_EDIT_PLACED : POD_EDIT_FRESH;
	/* Pods that have ended, or that go, are not decided about, and a pod without a state
	 * has none to lose. */
	if (!placed && (pod->change.state.rev == 0 || state->phase != STATE_PENDING ||
	                state->ask == STATE_ASK_DELETE))
		pod->kind = POD_EDIT_QUIET;
	pod->relabels = placed && (was->spec->labels != is->spec->labels ||
	                           was->index != is->index ||
	                           was->identity_keys != is->identity_keys);
	return check_location(batch, pod, is, err);
}

/* The state of a pod that awaits finalizers no more: its shard deletes its keys when it has
 * ended. */
static enum pl_code release_state(struct pod_batch *batch, struct batch_pod *pod,
                                  const struct pod_state *state, struct pl_err *err)
{
	struct pod_state is = *state;
	struct pl_buf buf;
	enum pl_code code;

	is.awaits_finalizers = false;
	pl_buf_init(&buf, STATE_BYTES_MAX);
	code = state_print(&is, &buf, err);
	if (code == PL_OK) {
		pod->change.state.value = pl_arena_dup(&batch->arena, pl_buf_span(&buf));
		if (pod->change.state.value.at == NULL)
			code = pl_err_set(err, PL_NOMEM, "keep a state");
	}
	pl_buf_done(&buf);
	return code;
}

/* Finalizers that came or went decide about the state, too. */
static enum pl_code judge_finalizers(struct pod_batch *batch, struct batch_pod *pod,
                                     const struct pod_state *state, struct pl_err *err)
{
	const struct pod_change *change = &pod->change;
	bool had = has_finalizers(change->spec.value);
	bool has = has_finalizers(change->edited);
	bool released = state->awaits_finalizers && !has;

	if (pod->done || change->state.rev == 0 || (had == has && !released))
		return PL_OK;
	if (released && !state_has_place(state)) {
		pod->kind = POD_EDIT_END;
		return partition_of_pod(change->pod.namespace, change->pod.name,
		                        batch->partitions, &pod->named, err);
	}
	if (pod->kind == POD_EDIT_QUIET)
		pod->kind = POD_EDIT_HELD;
	return released ? release_state(batch, pod, state, err) : PL_OK;
}

static enum pl_code judge_edit(struct pod_batch *batch, struct batch_pod *pod,
                               const struct pod_state *state, struct pl_err *err)
{
	const struct pod_change *change = &pod->change;
	struct pod was = {0}, is = {0};
	struct pl_err why = {0};
	enum pl_code code;

	if (pl_span_eq(change->spec.value, change->edited)) {
		pod->kind = POD_EDIT_NOTHING;
		pod->done = true;
		return PL_OK;
	}
	code = check_edited(batch, change->edited, &why);
	if (code == PL_OK)
		code = pod_of_value(batch, change->edited, &is, &why);
	if (code == PL_OK)
		code = pod_of_value(batch, change->spec.value, &was, &why);
	if (code == PL_NOMEM)
		*err = why;
	else if (code != PL_OK)
		code = pod_refuse(batch, pod, POD_REFUSAL_MALFORMED, why.msg, err);
	else if (!is_same_identity(change, &was, &is, &batch->model))
		code = pod_refuse(batch, pod, POD_REFUSAL_IDENTITY,
		                  "metadata: name, namespace and uid may not change",
		                  err);
	else
		code = classify_edit(batch, pod, &was, &is, state, err);
	if (code == PL_OK && !pod->done)
		code = judge_finalizers(batch, pod, state, err);
	pod_drop(&batch->model, &was);
	pod_drop(&batch->model, &is);
	return code;
}

/* -- bindings ---------------------------------------------------------------------- */

struct binding_fault {
	enum pod_refusal refusal;
	const char *why;
};

static struct binding_fault fault_of_state(const struct pod_state *state)
{
	if (state->ask == STATE_ASK_DELETE || state->phase == STATE_TERMINATING)
		return (struct binding_fault){POD_REFUSAL_LEAVING, "it is being deleted"};
	if (state->phase == STATE_BOUND)
		return (struct binding_fault){POD_REFUSAL_ASSIGNED,
		                              "it is assigned to a node already"};
	if (state->phase != STATE_PENDING)
		return (struct binding_fault){POD_REFUSAL_ENDED, "it has ended"};
	return (struct binding_fault){0};
}

static struct binding_fault fault_of_pod(const struct model *model, const struct pod *pod,
                                         const struct pod_change *change)
{
	if (change->uid.len > 0 &&
	    (pod->uid == 0 || !pl_span_eq(model_text(model, pod->uid), change->uid)))
		return (struct binding_fault){POD_REFUSAL_UID, "its uid is another one"};
	if (pod->deleted_ms != 0)
		return (struct binding_fault){POD_REFUSAL_LEAVING, "it is being deleted"};
	if (pod->node != 0)
		return (struct binding_fault){POD_REFUSAL_ASSIGNED,
		                              "it is assigned to a node already"};
	if (pod_is_terminal(pod))
		return (struct binding_fault){POD_REFUSAL_ENDED, "it has ended"};
	if (pod->spec->template->gates.count > 0)
		return (struct binding_fault){POD_REFUSAL_GATED,
		                              "it has non-empty .spec.schedulingGates"};
	if (pod->spec->template->gang != 0)
		return (struct binding_fault){
			POD_REFUSAL_GANG, "its gang is bound as a whole, by its shard"};
	return (struct binding_fault){0};
}

static enum pl_code judge_binding(struct pod_batch *batch, struct batch_pod *pod,
                                  const struct pod_state *state, struct pl_err *err)
{
	struct binding_fault fault = {0};
	struct pl_err why = {0};
	enum pl_code code = pod_of_value(batch, pod->change.spec.value, &pod->is, &why);

	if (code == PL_NOMEM)
		return pl_err_set(err, PL_NOMEM, "read a pod");
	pod->kind = POD_BINDING;
	pod->relabels = true;
	if (code != PL_OK)
		fault = (struct binding_fault){POD_REFUSAL_MALFORMED, why.msg};
	else
		fault = fault_of_pod(&batch->model, &pod->is, &pod->change);
	if (fault.refusal == POD_REFUSAL_NONE)
		fault = fault_of_state(state);
	return fault.refusal == POD_REFUSAL_NONE
	               ? PL_OK
	               : pod_refuse(batch, pod, fault.refusal, fault.why, err);
}

enum pl_code pod_judge(struct pod_batch *batch, struct batch_pod *pod,
                       struct pl_span at[2], struct pl_err *err)
{
	struct pod_state state;
	struct pl_err why = {0};
	enum pl_code code = state_of(batch, &pod->change, &state, &why);
	bool binds = pod->change.verb == POD_CHANGE_BIND;

	at[0] = binds ? pod->change.cluster : state.cluster;
	at[1] = binds ? pod->change.node : state.node;
	if (code == PL_NOMEM)
		return pl_err_set(err, PL_NOMEM, "read a state");
	if (code != PL_OK) /* the pod may hold a place: fsck's work */
		return pod_refuse(batch, pod, POD_REFUSAL_MALFORMED, why.msg, err);
	return binds ? judge_binding(batch, pod, &state, err)
	             : judge_edit(batch, pod, &state, err);
}
