/*
 * Derives a state that is lost or does not parse: the allocs know the pod's place.
 *
 * A transaction that adds a pod to an alloc, or removes it, puts the pod's state too.
 * So as long as state and spec are as they were when all allocs were read, no other
 * alloc has come to list the pod. A shard for which the pod waits, and which decides
 * it meanwhile, compares that there is no state.
 *
 * One thing is lost: whether a terminating pod was to be placed again. It is then
 * placed again; a user can repeat a deletion, and no pod is lost.
 */
#include "coord/service/fsck/repair_int.h"
#include "shardsched/records/pod_state.h"
#include "store/kv/calls.h"

static void build_key(enum keys_kind kind, uint32_t partition, struct pl_span scope,
                      struct pl_span name, struct keys_text *out)
{
	struct keys_id id = {
		.kind = kind, .partition = partition, .scope = scope, .name = name};
	enum pl_code code = keys_build(&id, out, NULL);

	PL_ASSERT(code == PL_OK); /* the key was parsed by the core */
}

static bool is_listed(const struct repair_job *job)
{
	return job->what.node.len > 0;
}

void repair_place_begin(struct repair_job *job)
{
	const struct fsck_repair *what = &job->what;

	build_key(KEYS_STATE, what->partition, what->scope, what->name, &job->key);
	if (is_listed(job))
		build_key(KEYS_ALLOC, what->at, what->cluster, what->node, &job->other);
}

bool repair_place_request(struct repair_job *job, struct pl_arena *arena,
                          struct kv_req *req)
{
	const struct fsck_repair *what = &job->what;
	struct kv_req *gets = pl_arena_alloc(arena, 3 * sizeof *gets);
	struct keys_text text;
	struct pl_span spec;

	build_key(KEYS_SPEC, what->partition, what->scope, what->name, &text);
	spec = pl_arena_dup(arena, keys_span(&text));
	if (gets == NULL || spec.at == NULL)
		return false;
	gets[0] = kv_op_get(kv_key(keys_span(&job->key)));
	gets[1] = kv_op_get(kv_key(spec));
	gets[2] = kv_op_get(kv_key(keys_span(&job->other)));
	*req = (struct kv_req){
		.op = KV_TXN,
		.txn = {.then = gets, .then_count = is_listed(job) ? 3 : 2}};
	return true;
}

void repair_place_apply(struct repair *repair, struct repair_job *job,
                        const struct kv_txn_result *txn)
{
	bool kept = repair_keep(job, &txn->results[0], &job->target) &&
	            repair_keep(job, &txn->results[1], &job->third);

	if (is_listed(job))
		kept = kept && repair_keep(job, &txn->results[2], &job->source);
	if (!kept)
		repair_no_memory(repair);
	job->step = STEP_WRITE;
}

/* *same: the state parses by now, or it is gone and was to go. */
static enum pl_code check_state(struct repair_job *job, bool *same, struct pl_err *err)
{
	const struct fsck_repair *what = &job->what;
	struct pod_state state;
	enum pl_code code = PL_INVALID;

	if (job->target.mod_revision != 0)
		code = state_parse(job->target.value, &job->arena, &state, NULL);
	if (code == PL_NOMEM)
		return pl_err_set(err, PL_NOMEM, "repair");
	*same = code == PL_OK || (job->target.mod_revision == 0 && !is_listed(job));
	if (*same)
		return PL_OK;
	if (job->target.mod_revision != what->state_rev ||
	    (is_listed(job) && job->third.mod_revision != what->spec_rev))
		return pl_err_set(err, PL_CONFLICT,
		                  "the pod has changed since it was checked; try again");
	if (!is_listed(job) && what->allocs_unreadable)
		return pl_err_set(err, PL_CORRUPT,
		                  "an alloc that is lost or malformed may list the "
		                  "pod; try again when allocs are mended");
	return PL_OK;
}

/* NULL: the alloc does not list the pod any more. */
static const struct alloc_pod *find_listed(const struct repair_job *job,
                                           const struct alloc *alloc)
{
	const struct alloc_pod name = {.partition = job->what.partition,
	                               .namespace = job->what.scope,
	                               .name = job->what.name};

	for (uint32_t i = 0; i < alloc->pods; i++)
		if (alloc_pod_cmp(&alloc->pod[i], &name) == 0)
			return &alloc->pod[i];
	return NULL;
}

static enum pl_code check_alloc(struct repair_job *job, bool *leaving, struct pl_err *err)
{
	struct alloc alloc = {0};
	const struct alloc_pod *at;
	enum pl_code code = PL_OK;

	if (job->source.mod_revision != 0)
		code = alloc_parse(job->source.value, &job->arena, &alloc, err);
	if (code != PL_OK)
		return code;
	at = find_listed(job, &alloc);
	if (at == NULL)
		return pl_err_set(err, PL_CONFLICT,
		                  "no alloc lists the pod any more; try again");
	*leaving = at->leaving;
	return PL_OK;
}

/* A spec that does not parse has no uid; its pod can still be deleted then. */
static enum pl_code read_uid(struct repair *repair, struct repair_job *job,
                             struct pl_span *out, struct pl_err *err)
{
	struct parse parse = {.model = &repair->model, .arena = &job->arena};
	struct pl_err ignored = {0};
	struct pod pod = {0};
	enum pl_code code;

	if (job->third.mod_revision == 0)
		return pl_err_set(err, PL_NOTFOUND,
		                  "the pod's spec is gone, too; placet submit brings it "
		                  "back");
	code = pod_parse(&parse, job->third.value, &pod, &ignored);
	if (code == PL_OK && pod.uid != 0 &&
	    pl_span_eq(model_text(&repair->model, pod.name), job->what.name)) {
		*out = pl_arena_dup(&job->arena, model_text(&repair->model, pod.uid));
		code = out->at == NULL ? PL_NOMEM : PL_OK;
	}
	pod_drop(&repair->model, &pod);
	return code == PL_NOMEM ? pl_err_set(err, PL_NOMEM, "repair") : PL_OK;
}

static enum pl_code print_state(struct repair_job *job, const struct pod_state *state,
                                struct pl_err *err)
{
	struct pl_buf text;
	enum pl_code code;

	pl_buf_init(&text, STATE_BYTES_MAX);
	code = state_print(state, &text, err);
	if (code == PL_OK)
		code = repair_value(job, &text, err);
	pl_buf_done(&text);
	return code;
}

enum pl_code repair_place_derive(struct repair *repair, struct repair_job *job,
                                 bool *same, struct pl_err *err)
{
	struct pod_state state = {.phase = STATE_BOUND,
	                          .cluster = job->what.cluster,
	                          .node = job->what.node,
	                          .since_ms = job->what.wall_ms};
	enum pl_code code = check_state(job, same, err);

	job->value = (struct pl_span){0};
	if (code != PL_OK || *same || !is_listed(job))
		return code;
	code = check_alloc(job, &state.next_pending, err);
	if (code == PL_OK)
		code = read_uid(repair, job, &state.uid, err);
	if (code != PL_OK)
		return code;
	if (state.next_pending)
		state.phase = STATE_TERMINATING;
	state.message = PL_SPAN_LIT("placet fsck: as the alloc of its node says");
	return print_state(job, &state, err);
}

bool repair_place_build(struct repair_job *job)
{
	const struct fsck_repair *what = &job->what;
	struct txn_builder *builder = &job->builder;
	struct keys_text spec;

	if (!is_listed(job))
		return builder_delete(builder, keys_span(&job->key),
		                      job->target.mod_revision);
	build_key(KEYS_SPEC, what->partition, what->scope, what->name, &spec);
	return builder_put(builder, keys_span(&job->key), job->target.mod_revision,
	                   job->value) &&
	       builder_expect(builder, keys_span(&job->other),
	                      job->source.mod_revision) &&
	       builder_expect(builder, keys_span(&spec), job->third.mod_revision);
}
