/* Derives the value and writes it with compares on all that it was derived from. */
#include <inttypes.h>

#include "coord/service/fsck/repair_int.h"
#include "shardsched/records/gang_record.h"
#include "shardsched/records/pod_location.h"
#include "shardsched/records/pod_state.h"

static enum pl_code print_alloc(struct repair *repair, struct repair_job *job,
                                struct derive *derive, bool *same, struct pl_err *err)
{
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, ALLOC_BYTES_MAX);
	code = derive_print(derive, (uint64_t)repair->opts.revision, &text, same, err);
	if (code == PL_OK)
		code = repair_value(job, &text, err);
	pl_buf_done(&text);
	return code;
}

/* -- holds ------------------------------------------------------------------------- */

static const struct repair_pod *holder_of(const struct repair_job *job,
                                          const struct alloc_reservation *hold)
{
	bool gang = hold->kind == ALLOC_RESERVATION_GANG;

	for (uint32_t i = 0; i < job->pods; i++) {
		const struct repair_pod *pod = &job->pod[i];

		if (pod->gang == gang &&
		    pl_span_eq(pod->pod.namespace, hold->namespace) &&
		    pl_span_eq(pod->pod.name, hold->name) &&
		    (gang || pod->pod.partition == hold->partition))
			return pod;
	}
	return NULL;
}

/* Whether the gang's record reserves room on the node. True if it does not parse. */
static bool gang_is_placed(struct repair_job *job, const struct repair_pod *gang)
{
	struct gang_record record;
	struct gang_record_node here = {.cluster = job->what.scope,
	                                .name = job->what.name};

	if (gang->state_rev == 0)
		return false;
	if (gang_record_parse(gang->state, &job->arena, &record, NULL) != PL_OK)
		return true;
	for (uint32_t i = 0; i < record.nodes; i++)
		if (gang_record_node_cmp(&record.node[i], &here) == 0)
			return true;
	return false;
}

static bool pod_waits(struct repair_job *job, const struct repair_pod *pod)
{
	struct pod_state state;
	bool is_pointer = false;
	uint32_t to;

	if (pod->spec.len == 0 ||
	    (pointer_parse(pod->spec, &is_pointer, &to, NULL) == PL_OK && is_pointer))
		return false;
	return pod->state_rev == 0 ||
	       state_parse(pod->state, &job->arena, &state, NULL) != PL_OK ||
	       state.phase == STATE_PENDING;
}

/* A reservation is kept if it can not be judged. */
static bool is_reserved(void *ctx, const struct alloc_reservation *hold)
{
	struct repair_job *job = ctx;
	const struct repair_pod *pod = holder_of(job, hold);

	if (pod == NULL)
		return true;
	return pod->gang ? gang_is_placed(job, pod) : pod_waits(job, pod);
}

/* Deletes an alloc without its Node if it holds nothing. */
static void settle_without_node(struct repair_job *job, const struct alloc *now,
                                bool *same)
{
	if (job->target.mod_revision == 0) {
		*same = true; /* the alloc is gone too */
	} else if (now->pods == 0 && now->holds == 0) {
		job->value = (struct pl_span){0};
		*same = false;
	}
}

static enum pl_code derive_alloc(struct repair *repair, struct repair_job *job,
                                 bool *same, struct pl_err *err)
{
	struct derive derive = {.model = &repair->model,
	                        .arena = &job->arena,
	                        .cluster = job->what.scope,
	                        .node = job->what.name,
	                        .is_held = is_reserved,
	                        .ctx = job};
	enum pl_code code = derive_begin(&derive, job->target.value, err);

	for (uint32_t i = 0; i < job->pods && code == PL_OK; i++) {
		const struct repair_pod *pod = &job->pod[i];
		const struct derive_keys keys = {.has_spec = pod->spec_rev != 0,
		                                 .has_state = pod->state_rev != 0,
		                                 .spec = pod->spec,
		                                 .state = pod->state};

		if (!pod->gang)
			code = derive_add(&derive, &pod->pod, &keys, err);
	}
	if (code == PL_OK)
		code = print_alloc(repair, job, &derive, same, err);
	if (code == PL_OK && job->source.mod_revision == 0)
		settle_without_node(job, &derive.now, same);
	return code;
}

/* The pod is where it was, and its name does not lead to another one. */
static enum pl_code derive_pointer(struct repair *repair, struct repair_job *job,
                                   bool *same, struct pl_err *err)
{
	struct parse parse = {.model = &repair->model, .arena = &job->arena};
	char text[POINTER_TEXT_SIZE];
	struct pl_err ignored = {0};
	struct pod pod = {0};
	struct pod_location location = {0};
	bool is_pointer = true;
	uint32_t to = 0;
	enum pl_code code = pod_parse(&parse, job->source.value, &pod, err);

	if (code == PL_OK)
		code = pod_location_of(&repair->model, &pod, repair->opts.partitions,
		                       &location, err);
	pod_drop(&repair->model, &pod);
	if (code != PL_OK)
		return code;
	if (location.partition != job->what.at)
		return pl_err_set(err, PL_CORRUPT, "the pod belongs elsewhere");
	if (job->target.mod_revision != 0 &&
	    pointer_parse(job->target.value, &is_pointer, &to, &ignored) == PL_OK &&
	    !is_pointer)
		return pl_err_set(err, PL_EXISTS, "another pod has the name");
	job->value = pl_arena_dup(&job->arena, pointer_text(job->what.at, text));
	if (job->value.at == NULL)
		return pl_err_set(err, PL_NOMEM, "repair");
	*same = pl_span_eq(job->value, job->target.value);
	return PL_OK;
}

static bool is_reserved_for(const struct repair_job *job, const struct alloc *alloc)
{
	for (uint32_t i = 0; i < alloc->holds; i++) {
		const struct alloc_reservation *hold = &alloc->hold[i];

		if (hold->kind == ALLOC_RESERVATION_NOMINATED &&
		    hold->partition == job->what.partition &&
		    pl_span_eq(hold->namespace, job->what.scope) &&
		    pl_span_eq(hold->name, job->what.name))
			return true;
	}
	return false;
}

/* The state names this node, and the alloc has no reservation for the pod. */
static enum pl_code is_nominated_wrongly(struct repair_job *job,
                                         const struct pod_state *state, bool *out,
                                         struct pl_err *err)
{
	struct alloc alloc = {0};
	enum pl_code code = PL_OK;

	*out = pl_span_eq(state->nominated_cluster, job->what.cluster) &&
	       pl_span_eq(state->nominated_node, job->what.node);
	if (*out && job->source.mod_revision != 0)
		code = alloc_parse(job->source.value, &job->arena, &alloc, err);
	*out = *out && !is_reserved_for(job, &alloc);
	return code;
}

static enum pl_code derive_state(struct repair_job *job, bool *same, struct pl_err *err)
{
	struct pod_state state;
	struct pl_buf text;
	bool wrong = false;
	enum pl_code code;

	*same = true;
	if (job->target.mod_revision == 0)
		return PL_OK;
	code = state_parse(job->target.value, &job->arena, &state, err);
	if (code == PL_OK)
		code = is_nominated_wrongly(job, &state, &wrong, err);
	if (code != PL_OK || !wrong)
		return code;
	*same = false;
	state.nominated_cluster = state.nominated_node = (struct pl_span){0};
	pl_buf_init(&text, STATE_BYTES_MAX);
	code = state_print(&state, &text, err);
	if (code == PL_OK)
		code = repair_value(job, &text, err);
	pl_buf_done(&text);
	return code;
}

static bool expect_pods(struct repair_job *job)
{
	for (uint32_t i = 0; i < job->pods; i++) {
		const struct alloc_pod *pod = &job->pod[i].pod;
		struct keys_id id = {.kind = job->pod[i].gang ? KEYS_GANG : KEYS_STATE,
		                     .partition = pod->partition,
		                     .scope = pod->namespace,
		                     .name = pod->name};
		struct keys_text key;
		enum pl_code code = keys_build(&id, &key, NULL);

		PL_ASSERT(code == PL_OK);
		if (!builder_expect(&job->builder, keys_span(&key),
		                    job->pod[i].state_rev))
			return false;
	}
	return true;
}

/* Puts /groups/nodes, because decisions under rules were made with that node and its
 * pods. */
static bool bump_shape(struct txn_builder *builder)
{
	const struct keys_id id = {.kind = KEYS_TOPOLOGY};
	struct keys_text key;
	enum pl_code code = keys_build(&id, &key, NULL);

	PL_ASSERT(code == PL_OK);
	return builder_bump(builder, keys_span(&key), PL_SPAN_LIT("{\"v\":1}"));
}

static bool make_builder(struct repair *repair, struct repair_job *job,
                         struct pl_arena *arena)
{
	struct builder_node node = {.partition = job->what.partition,
	                            .cluster = job->what.scope,
	                            .name = job->what.name};
	struct txn_builder *builder = &job->builder;
	bool fits, alloc = job->what.what == FSCK_REPAIR_ALLOC;

	builder_begin(builder, arena, kv_limits(repair->kv));
	if (repair_is_of_rules(job))
		return repair_rules_build(job);
	if (job->what.what == FSCK_REPAIR_PLACE)
		return repair_place_build(job);
	if (job->value.len == 0) /* with an empty alloc the rest of its node goes too */
		return builder_delete_node(builder, &node, 0, job->target.mod_revision) &&
		       expect_pods(job);
	if (alloc && job->target.mod_revision != 0)
		fits = builder_put_alloc(builder, &node, job->target.mod_revision,
		                         job->value);
	else
		fits = builder_put(builder, keys_span(&job->key),
		                   job->target.mod_revision, job->value);
	return fits &&
	       builder_expect(builder, keys_span(&job->other),
	                      job->source.mod_revision) &&
	       expect_pods(job) && (!alloc || bump_shape(builder));
}

static enum pl_code derive_value(struct repair *repair, struct repair_job *job,
                                 bool *same, struct pl_err *err)
{
	if (repair_is_of_rules(job))
		return repair_rules_derive(repair, job, same, err);
	if (job->what.what == FSCK_REPAIR_PLACE)
		return repair_place_derive(repair, job, same, err);
	if (job->what.what == FSCK_REPAIR_STATE)
		return derive_state(job, same, err);
	return job->what.what == FSCK_REPAIR_ALLOC
	               ? derive_alloc(repair, job, same, err)
	               : derive_pointer(repair, job, same, err);
}

/* True: req is to be sent. */
bool repair_write(struct repair *repair, struct repair_job *job, struct pl_arena *arena,
                  struct kv_req *req)
{
	struct pl_err err = {0};
	bool same = false;
	enum pl_code code = derive_value(repair, job, &same, &err);

	if (code != PL_OK) {
		repair_refuse(repair, job, &err);
		return false;
	}
	if (same || repair->opts.dry_run) {
		repair_finish(repair, job, same ? REPAIR_RIGHT : REPAIR_WOULD, NULL);
		return false;
	}
	if (make_builder(repair, job, arena)) {
		builder_req(&job->builder, req);
		return true;
	}
	(void)pl_err_set(&err, job->builder.code == PL_NOMEM ? PL_NOMEM : PL_LIMIT,
	                 "%" PRIu32 " pods are more than a transaction of this store "
	                 "compares; raise etcd's --max-txn-ops",
	                 job->pods);
	repair_refuse(repair, job, &err);
	return false;
}

void repair_apply_written(struct repair *repair, struct repair_job *job,
                          const struct kv_result *result, bool again)
{
	struct builder_found found = {0};
	struct pl_err err;

	if (result->txn.succeeded ||
	    (again && builder_answer(&job->builder, result, 0, &found) &&
	     found.verdict == BUILDER_OURS)) {
		repair_finish(repair, job, REPAIR_DONE, NULL);
		return;
	}
	if (++job->tries == REPAIR_TRIES_MAX) {
		(void)pl_err_set(&err, PL_CONFLICT,
		                 "other clients keep changing it; try again later");
		repair_refuse(repair, job, &err);
		return;
	}
	job->step = STEP_READ;
	if (!repair_begin_try(repair, job))
		repair_no_memory(repair);
}
