/* The transaction of a batch, and its answer. */
#include "coord/service/pods/pod_judge.h"
#include "shardsched/model/parse.h"

/* The part of the changes that is left out where all do not fit. */
enum { LESS_PART = 8 };

/* -- a transaction ----------------------------------------------------------------- */

/* The outcome of adding a change. */
enum step { STEP_ADDED, STEP_LATER, STEP_REFUSED, STEP_FULL, STEP_FAILED };

struct batch_build {
	struct pod_batch *batch;
	struct txn_builder *builder;
	int64_t now_ms;
	struct pl_err *err;
};

static enum step failed(struct batch_build *build, enum pl_code code)
{
	if (build->err->code == PL_OK)
		(void)pl_err_set(build->err, code, "change a pod");
	return STEP_FAILED;
}

static enum step refuse(struct batch_build *build, struct batch_pod *pod,
                        enum pod_refusal refusal, const char *why)
{
	enum pl_code code = pod_refuse(build->batch, pod, refusal, why, build->err);

	return code == PL_OK ? STEP_REFUSED : failed(build, code);
}

static void forget_node(struct batch_node *node)
{
	node->has_alloc = node->has_node = node->known = false;
}

/* The change is refused by what the caller knew of the node, which may be outdated: both
 * values are read first. */
static bool wants_read(struct batch_node *node)
{
	if (!node->known)
		return false;
	if (!node->touched)
		forget_node(node);
	return true;
}

/* The first change of the node in this transaction reads its alloc. */
static enum step open_alloc(struct batch_build *build, struct batch_pod *pod,
                            struct batch_node *node)
{
	struct pl_err why = {0};
	enum pl_code code;

	if (node->touched)
		return STEP_ADDED;
	code = alloc_change_begin(&node->change, &build->batch->made, node->alloc.value,
	                          &why);
	if (code == PL_NOMEM)
		return failed(build, code);
	node->broken = code != PL_OK;
	if (node->broken && pod->kind == POD_BINDING)
		return wants_read(node) ? STEP_LATER
		                        : refuse(build, pod, POD_REFUSAL_NODE, why.msg);
	return STEP_ADDED;
}

static enum step print_state(struct batch_build *build, struct batch_pod *pod,
                             const struct pod *is)
{
	const struct batch_node *node = &build->batch->node[pod->node];
	struct pod_state was = {0}, state;
	struct pl_buf buf;
	enum pl_code code = PL_OK;

	if (pod->change.state.rev != 0)
		code = state_parse(pod->change.state.value, &build->batch->made, &was,
		                   build->err);
	state = (struct pod_state){.phase = STATE_BOUND,
	                           .uid = model_text(&build->batch->model, is->uid),
	                           .cluster = node->key.cluster,
	                           .node = node->key.name,
	                           .shard = pl_span_str(build->batch->who),
	                           .attempts = was.attempts,
	                           .since_ms = build->now_ms};
	pl_buf_init(&buf, STATE_BYTES_MAX);
	if (code == PL_OK)
		code = state_print(&state, &buf, build->err);
	if (code == PL_OK) {
		pod->state = pl_arena_dup(&build->batch->made, pl_buf_span(&buf));
		code = pod->state.at == NULL ? PL_NOMEM : PL_OK;
	}
	pl_buf_done(&buf);
	return code == PL_OK ? STEP_ADDED : failed(build, code);
}

static enum step list_pod(struct batch_build *build, struct batch_pod *pod,
                          const struct pod *is, struct batch_node *node)
{
	const struct pod_change *change = &pod->change;
	const struct alloc_pod name = {.namespace = change->pod.namespace,
	                               .name = change->pod.name,
	                               .partition = change->pod.partition};
	struct model *model = &build->batch->model;
	struct parse parse = {.model = model, .arena = &build->batch->made};
	struct node object = {0};
	struct pl_err why = {0};
	enum pl_code code = node_parse(&parse, node->node.value, &object, &why);
	bool parsed = code == PL_OK;

	if (parsed)
		code = alloc_change_add(&node->change, model, &object, &name, is->spec,
		                        &why);
	node_drop(model, &object);
	if (code == PL_OK)
		return STEP_ADDED;
	if (code == PL_NOMEM)
		return failed(build, code);
	/* Others of this transaction may be in the way, and their commit may fail. */
	if ((node->touched && parsed) || wants_read(node))
		return STEP_LATER;
	return refuse(build, pod, parsed ? POD_REFUSAL_ROOM : POD_REFUSAL_NODE, why.msg);
}

static enum step bind_pod(struct batch_build *build, struct batch_pod *pod,
                          const struct pod *is)
{
	struct batch_node *node = &build->batch->node[pod->node];
	enum step step;

	if (!node->has_alloc || !node->has_node)
		return STEP_LATER;
	if (node->node.rev == 0 || node->alloc.rev == 0)
		return wants_read(node) ? STEP_LATER
		                        : refuse(build, pod, POD_REFUSAL_NODE,
		                                 "there is no such node");
	step = open_alloc(build, pod, node);
	if (step == STEP_ADDED)
		step = list_pod(build, pod, is, node);
	return step == STEP_ADDED ? print_state(build, pod, is) : step;
}

/* A malformed alloc is left to fsck, which reads all specs. */
static enum step touch_node(struct batch_build *build, struct batch_pod *pod)
{
	struct batch_node *node = &build->batch->node[pod->node];
	enum step step = STEP_ADDED;

	if (node->alloc.rev == 0)
		return STEP_ADDED;
	step = open_alloc(build, pod, node);
	if (step == STEP_ADDED && !node->broken)
		alloc_change_edit(&node->change);
	return step;
}

static enum step add_locks(struct batch_build *build, struct batch_pod *pod,
                           struct pod *is)
{
	struct pod_batch *batch = build->batch;
	struct pl_err why = {0};
	/* The registries may ask for labels that only tell replicas apart. */
	enum pl_code code = pod_promote_labels(&batch->model, &batch->made, is, &why);

	if (code == PL_OK)
		code = rule_locks_add(&batch->locks, is->spec, &why);
	if (code == PL_LIMIT)
		return refuse(build, pod, POD_REFUSAL_RULES, why.msg);
	return code == PL_OK ? STEP_ADDED : failed(build, code);
}

static enum step add_locks_of(struct batch_build *build, struct batch_pod *pod,
                              struct pl_span value)
{
	struct pod is = {0};
	struct pl_err why = {0};
	enum pl_code code = pod_of_value(build->batch, value, &is, &why);
	enum step step = code == PL_OK ? add_locks(build, pod, &is) : failed(build, code);

	pod_drop(&build->batch->model, &is);
	return step;
}

static enum step prepare_binding(struct batch_build *build, struct batch_pod *pod)
{
	enum step step = bind_pod(build, pod, &pod->is);

	return step == STEP_ADDED ? add_locks(build, pod, &pod->is) : step;
}

static enum step prepare(struct batch_build *build, struct batch_pod *pod)
{
	enum step step = STEP_ADDED;

	if (pod->kind == POD_BINDING)
		return prepare_binding(build, pod);
	if (pod->relabels)
		step = add_locks_of(build, pod, pod->change.spec.value);
	if (step == STEP_ADDED && pod->relabels)
		step = add_locks_of(build, pod, pod->change.edited);
	if (step == STEP_ADDED && pod->kind == POD_EDIT_PLACED)
		step = touch_node(build, pod);
	return step;
}

/* Without a state the first decision compares the spec. */
static bool is_exact(const struct batch_pod *pod)
{
	if (pod->kind == POD_EDIT_END)
		return true;
	return pod->kind == POD_BINDING && pod->change.exact &&
	       pod->change.state.rev != 0;
}

static bool add_exact(struct batch_build *build, const struct batch_pod *pod)
{
	const struct pod_change *change = &pod->change;
	const struct keys_id id = {.kind = KEYS_SPEC,
	                           .partition = change->pod.partition,
	                           .scope = change->pod.namespace,
	                           .name = change->pod.name};
	struct keys_text text;

	if (keys_build(&id, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a name that no key can have");
	return builder_expect(build->builder, keys_span(&text), change->spec.rev);
}

bool pod_change_add_edit(struct txn_builder *builder, const struct pod_change *change,
                         enum pod_change_kind kind)
{
	const struct builder_edit edit = {
		.pod = change->pod,
		.spec_rev = change->spec.rev,
		.state_rev = change->state.rev,
		.spec = change->edited,
		.state = change->state.value,
		.then = kind == POD_EDIT_FRESH ? BUILDER_STATE_GOES
	                : kind == POD_EDIT_PLACED || kind == POD_EDIT_HELD
	                        ? BUILDER_STATE_REPUTS
	                        : BUILDER_STATE_STAYS,
		.has_other_keys = change->has_other_keys,
	};

	return builder_edit_pod(builder, &edit);
}

static bool add_entry(struct batch_build *build, const struct batch_pod *pod)
{
	const struct pod_change *change = &pod->change;
	const struct builder_decision decided = {.pod = change->pod,
	                                         .spec_rev = change->spec.rev,
	                                         .state_rev = change->state.rev,
	                                         .state = pod->state,
	                                         .has_other_keys =
	                                                 change->has_other_keys};

	if (pod->kind == POD_EDIT_END)
		return builder_delete_pod(build->builder, &decided, pod->named) &&
		       add_exact(build, pod);
	if (pod->kind != POD_BINDING)
		return pod_change_add_edit(build->builder, change, pod->kind);
	return builder_put_state(build->builder, &decided) &&
	       (!is_exact(pod) || add_exact(build, pod));
}

static enum step add_pod(struct batch_build *build, struct batch_pod *pod)
{
	enum step step = prepare(build, pod);

	if (step != STEP_ADDED)
		return step;
	pod->entry = build->builder->entries;
	if (!add_entry(build, pod))
		return build->builder->code == PL_NOMEM ? failed(build, PL_NOMEM)
		                                        : STEP_FULL;
	pod->asked = true;
	if (pod->node != POD_BATCH_NO_NODE)
		build->batch->node[pod->node].touched = true;
	return STEP_ADDED;
}

/* The node's part: its alloc; that it has none; the Node, where the caller read both
 * apart, and the alloc may be newer. */
static enum step add_node(struct batch_build *build, const struct batch_node *node)
{
	struct txn_builder *builder = build->builder;
	struct pl_span value;
	enum pl_code code;
	bool room;

	if (node->alloc.rev == 0 || node->broken) {
		room = builder_expect(
			builder,
			pod_batch_node_key(&build->batch->made, KEYS_ALLOC, node),
			node->alloc.rev);
	} else {
		code = alloc_change_print(&node->change, &value, build->err);
		if (code != PL_OK)
			return code == PL_NOMEM ? failed(build, code) : STEP_FULL;
		room = builder_put_alloc(builder, &node->key, node->alloc.rev, value);
	}
	if (room && node->known && node->binds)
		room = builder_expect(
			builder, pod_batch_node_key(&build->batch->made, KEYS_NODE, node),
			node->node.rev);
	if (builder->code == PL_NOMEM)
		return failed(build, PL_NOMEM);
	return room ? STEP_ADDED : STEP_FULL;
}

static void begin_build(struct pod_batch *batch)
{
	pl_arena_reset(&batch->made);
	rule_locks_begin(&batch->locks);
	for (uint32_t i = 0; i < batch->nodes; i++)
		batch->node[i].touched = batch->node[i].broken = false;
	for (uint32_t i = 0; i < batch->pods; i++)
		batch->pod[i].asked = false;
}

/* Adds at most that many changes and what follows from them. STEP_ADDED: all of it is in,
 * *asked of them; STEP_FULL: it does not fit; STEP_REFUSED: one is refused, and the others
 * are to be added anew, without what it has left behind. */
static enum step build_some(struct batch_build *build, uint32_t most, uint32_t *asked)
{
	struct pod_batch *batch = build->batch;
	enum step step = STEP_ADDED;

	begin_build(batch);
	*asked = 0;
	for (uint32_t i = 0; i < batch->pods && *asked < most; i++) {
		if (batch->pod[i].done)
			continue;
		step = add_pod(build, &batch->pod[i]);
		*asked += step == STEP_ADDED;
		if (step != STEP_ADDED && step != STEP_LATER)
			return step;
	}
	for (uint32_t i = 0; i < batch->nodes; i++) {
		if (!batch->node[i].touched)
			continue;
		step = add_node(build, &batch->node[i]);
		if (step != STEP_ADDED)
			return step;
	}
	if (rule_locks_build(&batch->locks, build->builder))
		return STEP_ADDED;
	return build->builder->code == PL_NOMEM ? failed(build, PL_NOMEM) : STEP_FULL;
}

static uint32_t count_open(const struct pod_batch *batch)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < batch->pods; i++)
		count += !batch->pod[i].done;
	return count;
}

static bool waits_for_reads(const struct pod_batch *batch, const struct batch_pod *pod)
{
	const struct batch_node *node;

	if (pod->kind != POD_BINDING)
		return false;
	node = &batch->node[pod->node];
	return !node->has_alloc || !node->has_node;
}

/* The one change that does not fit even alone: its node's alloc has no more bytes for a
 * pod, or it is too large. */
static enum pl_code refuse_large(struct pod_batch *batch, struct pl_err *err)
{
	for (uint32_t i = 0; i < batch->pods; i++)
		if (!batch->pod[i].done && !waits_for_reads(batch, &batch->pod[i]))
			return pod_refuse(batch, &batch->pod[i], POD_REFUSAL_ROOM,
			                  "it does not fit into a transaction with the "
			                  "pods and rules that it concerns",
			                  err);
	return PL_OK;
}

enum pl_code pod_batch_build(struct pod_batch *batch, struct txn_builder *builder,
                             struct pl_arena *arena, struct kv_limits limits,
                             int64_t now_ms, uint32_t *asked, struct pl_err *err)
{
	struct batch_build build = {batch, builder, now_ms, err};
	uint32_t most = count_open(batch);

	*asked = 0;
	err->code = PL_OK;
	while (most > 0) {
		enum step step;

		builder_begin(builder, arena, limits);
		step = build_some(&build, most, asked);
		if (step == STEP_FAILED)
			return err->code;
		/* Where none was asked for, those that are left wait for reads. */
		if (step == STEP_ADDED)
			return PL_OK;
		if (step == STEP_FULL && most == 1 && refuse_large(batch, err) != PL_OK)
			return err->code;
		if (step == STEP_FULL && most > 1)
			most -= (most + LESS_PART - 1) / LESS_PART;
		else
			most = count_open(batch);
	}
	*asked = 0;
	return PL_OK;
}

/* -- the answer -------------------------------------------------------------------- */

/* The values that were read are outdated: by this transaction, or by the one that was in its way. */
static void forget_read(struct pod_batch *batch, bool succeeded)
{
	for (uint32_t i = 0; i < batch->nodes; i++)
		if (batch->node[i].touched)
			forget_node(&batch->node[i]);
	if (!succeeded || rule_locks_registers(&batch->locks))
		rule_locks_forget(&batch->locks);
}

bool pod_batch_answer(struct pod_batch *batch, const struct txn_builder *builder,
                      const struct kv_result *result, uint32_t number,
                      struct builder_found *out)
{
	struct batch_pod *pod = &batch->pod[number];
	struct builder_found exact;

	PL_ASSERT(number < batch->pods && pod->asked);
	if (!builder_answer(builder, result, pod->entry, out))
		return false;
	pod->asked = false;
	if (is_exact(pod) && out->verdict == BUILDER_SAME &&
	    builder_answer(builder, result, pod->entry + 1, &exact) &&
	    exact.verdict != BUILDER_SAME)
		out->verdict = BUILDER_NEWER;
	if (pod->kind == POD_EDIT_END && out->verdict == BUILDER_GONE)
		out->verdict = BUILDER_OURS; /* the pod was to go anyway */
	pod->done = out->verdict != BUILDER_SAME;
	forget_read(batch, result->txn.succeeded);
	return true;
}
