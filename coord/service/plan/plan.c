#include "coord/service/plan/plan.h"

#include <stdlib.h>

#include "coord/config/config_record.h"
#include "coord/service/plan/plan_int.h"
#include "shardsched/records/pod_state.h"
#include "store/base/alloc.h"
#include "store/keys/names.h"
#include "store/kv/calls.h"

enum {
	ARENA_CHUNK = 1 << 16,
	KEPT_MAX = 1 << 28,
	TEXT_MAX = 1 << 10,
	PROGRESS_STEP = 256,
};

const char *plan_verdict_word(enum plan_verdict verdict)
{
#define VERDICT_WORD(name, word) word,
	static const char *const words[] = {PLAN_VERDICT_MAP(VERDICT_WORD)};

	return words[verdict];
}

/* -- the end ------------------------------------------------------------------ */

static void plan_free(struct plan_op *op)
{
	store_snapshot_done(&op->cluster);
	if (op->engine != NULL)
		plan_pods_done(op);
	pl_map_done(&op->gangs);
	gang_free(op->gang);
	engine_free(op->engine);
	free(op->explain);
	pl_buf_done(&op->text);
	pl_arena_done(&op->scratch);
	pl_arena_done(&op->arena);
	free(op);
}

static void plan_finish(struct plan_op *op, const struct pl_err *err)
{
	op->opts.done(op->opts.ctx, err == NULL ? &op->plan : NULL, err);
	sequence_done(&op->sequence);
	plan_free(op);
}

static void report_progress(struct plan_op *op, const char *what, uint64_t count)
{
	if (op->opts.progress != NULL)
		op->opts.progress(op->opts.ctx, op->plan.revision, what, count);
}

/* -- slices: added nodes, given pods, decisions -------------------------------- */

/* One step of a slice. PL_NOTFOUND: there is no other one. */
typedef enum pl_code step_fn(struct plan_op *op, struct pl_err *err);

static enum pl_code read_pod(struct plan_op *op, struct pl_err *err)
{
	if (op->next == op->opts.pod_count)
		return PL_NOTFOUND;
	return plan_pod_add(op, op->opts.pods[op->next++], err);
}

static enum pl_code decide_pod(struct plan_op *op, struct pl_err *err)
{
	enum pl_code code;

	if (op->next == op->pods)
		return PL_NOTFOUND;
	code = plan_decide(op, op->next, err);
	op->next++;
	if (op->next % PROGRESS_STEP == 0 || op->next == op->pods)
		report_progress(op, "pods decided", op->next);
	return code;
}

/* Runs steps until the slice is over (PL_OK), no step is left (PL_NOTFOUND), or one
 * failed. */
static enum pl_code run_slice(struct plan_op *op, step_fn *step, struct pl_err *err)
{
	uint64_t until_ms = kv_now_ms(op->service->kv) + PLAN_SLICE_MS;
	enum pl_code code = PL_OK;

	for (unsigned i = 0; i < PLAN_SLICE_PODS && code == PL_OK; i++) {
		code = step(op, err);
		if (kv_now_ms(op->service->kv) >= until_ms)
			break;
	}
	return code;
}

static void finish_plan(struct plan_op *op)
{
	struct plan *plan = &op->plan;

	plan->pod = op->pod;
	plan->pods = op->pods;
	plan->nodes = (uint32_t)pl_bitset_count(engine_snapshot(op->engine)->open);
	plan->without = op->cluster.without_nodes;
	plan->cluster = &op->cluster;
	plan->fits =
		plan->verdicts[PLAN_PLACED] + plan->verdicts[PLAN_PRESENT] == plan->pods;
	plan_finish(op, NULL);
}

/* Runs a slice of the step, then another one later; next when no step is left. */
static void slices(struct plan_op *op, const struct pl_err *canceled, step_fn *step,
                   sequence_fn *again, void (*next)(struct plan_op *op))
{
	struct pl_err err = {0};
	enum pl_code code;

	if (canceled != NULL) {
		plan_finish(op, canceled);
		return;
	}
	code = run_slice(op, step, &err);
	if (code == PL_OK)
		sequence_pause(&op->sequence, 0, again);
	else if (code == PL_NOTFOUND)
		next(op);
	else
		plan_finish(op, &err);
}

static void on_decide(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)result;
	slices(ctx, err, decide_pod, on_decide, finish_plan);
}

static void begin_deciding(struct plan_op *op)
{
	struct pl_err err = {0};

	op->next = 0;
	if (plan_pods_join(op, &err) != PL_OK)
		plan_finish(op, &err);
	else
		sequence_pause(&op->sequence, 0, on_decide);
}

static void on_read(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)result;
	slices(ctx, err, read_pod, on_read, begin_deciding);
}

static void begin_reading(struct plan_op *op)
{
	struct pl_err err = {0};

	op->next = 0;
	if (plan_nodes_mark(op, &err) != PL_OK)
		plan_finish(op, &err);
	else
		sequence_pause(&op->sequence, 0, on_read);
}

static void on_add(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	(void)result;
	slices(ctx, err, plan_node_add, on_add, begin_reading);
}

static void refuse_revision(struct plan_op *op, const struct pl_err *err)
{
	struct pl_err why = *err;

	if (err->code == PL_COMPACTED)
		(void)pl_err_set(&why, PL_COMPACTED,
		                 "revision %lld was compacted: the store as it was then "
		                 "is gone",
		                 (long long)op->opts.at_revision);
	else if (err->code == PL_FUTURE)
		(void)pl_err_set(&why, PL_FUTURE,
		                 "the store has not come to revision %lld",
		                 (long long)op->opts.at_revision);
	plan_finish(op, &why);
}

/* -- the store ------------------------------------------------------------------ */

static enum pl_code on_displaced(void *ctx, const struct keys_id *id, struct pl_span node,
                                 const struct kv_record *record, struct pl_err *err)
{
	struct plan_op *op = ctx;
	struct plan_pod *pod;

	if (op->pods == PLAN_DISPLACED_MAX)
		return pl_err_set(err, PL_LIMIT,
		                  "more than %d pods are on the nodes that are left out",
		                  PLAN_DISPLACED_MAX);
	if (plan_pod_add(op, record->value, err) != PL_OK)
		return err->code;
	pod = &op->pod[op->pods - 1];
	pod->from = pl_arena_dup(&op->arena, node);
	if (!op->item[op->pods - 1].parsed) {
		pod->namespace = pl_arena_dup(&op->arena, id->scope);
		pod->name = pl_arena_dup(&op->arena, id->name);
	}
	return pod->from.at == NULL || pod->name.at == NULL
	               ? pl_err_set(err, PL_NOMEM, "keep the pods of a plan")
	               : PL_OK;
}

/* A pod that leaves its node is not planned again. */
static void on_other(void *ctx, const struct keys_id *id, const struct kv_record *record)
{
	struct plan_op *op = ctx;
	struct pod_state state;

	if (id->kind != KEYS_STATE || op->pods == 0 ||
	    !pl_span_eq(id->scope, op->pod[op->pods - 1].namespace) ||
	    !pl_span_eq(id->name, op->pod[op->pods - 1].name))
		return;
	pl_arena_reset(&op->scratch);
	if (state_parse(record->value, &op->scratch, &state, NULL) == PL_OK &&
	    state.phase == STATE_TERMINATING)
		plan_pod_drop_last(op);
}

static void on_snapshot(void *ctx, const struct pl_err *err)
{
	struct plan_op *op = ctx;
	struct pl_err why = {0};

	op->plan.revision = op->cluster.revision;
	op->plan.displaced = op->pods;
	if (err == NULL && plan_pods_sort(op, &why) != PL_OK)
		err = &why;
	if (err != NULL)
		refuse_revision(op, err);
	else
		sequence_pause(&op->sequence, 0, on_add);
}

static void on_progress(void *ctx, const char *what, uint64_t count)
{
	report_progress(ctx, what, count);
}

static void read_cluster(struct plan_op *op)
{
	const struct engine_opts opts = {
		.config = op->profiles, .seed = op->opts.seed, .scope = VALIDATE_STORED};
	struct pl_err err = {0};

	if (engine_new(&opts, &op->engine, &err) != PL_OK) {
		plan_finish(op, &err);
		return;
	}
	op->cluster = (struct store_snapshot){.engine = op->engine,
	                                      .revision = op->plan.revision,
	                                      .exact = op->opts.at_revision != 0,
	                                      .without = op->opts.without,
	                                      .withouts = op->opts.withouts,
	                                      .displaced = on_displaced,
	                                      .other = on_other,
	                                      .progress = on_progress,
	                                      .done = on_snapshot,
	                                      .ctx = op};
	if (store_snapshot_start(&op->cluster, op->service, &err) != PL_OK)
		plan_finish(op, &err);
}

/* -- the configuration ---------------------------------------------------------- */

static void read_key(struct plan_op *op, const struct keys_id *id, sequence_fn *next)
{
	struct pl_err err = {0};
	struct keys_text key;
	struct kv_req req;

	if (keys_build(id, &key, &err) != PL_OK) {
		plan_finish(op, &err);
		return;
	}
	req = kv_op_get(kv_key(keys_span(&key)));
	req.get.revision = op->plan.revision;
	sequence_send(&op->sequence, &req, next);
}

/* Borrowed until the next answer; at NULL: there is no such key. False: the operation has
 * ended. */
static bool value_of(struct plan_op *op, const struct kv_result *result,
                     const struct pl_err *err, struct pl_span *out)
{
	*out = (struct pl_span){0};
	if (err != NULL) {
		refuse_revision(op, err);
		return false;
	}
	if (op->plan.revision == 0)
		op->plan.revision = result->header.revision;
	if (result->get.count > 0)
		*out = result->get.records[0].value;
	return true;
}

static void on_config(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct plan_op *op = ctx;
	struct plan *plan = &op->plan;
	struct config_value value;
	struct pl_span json;

	if (!value_of(op, result, err, &json))
		return;
	if (json.at == NULL)
		pl_err_set(&plan->config_err, PL_NOTFOUND, "version %llu does not exist",
		           (unsigned long long)plan->config);
	else
		json = pl_arena_dup(&op->arena, json);
	if (json.at != NULL &&
	    config_record_value(CONFIG_SCHEDULER, plan->config, json, &op->arena, &value,
	                        &plan->config_err) == PL_OK)
		op->profiles = value.scheduler.profiles;
	else
		plan->config = 0;
	read_cluster(op);
}

static void on_current(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct plan_op *op = ctx;
	struct keys_id id = {.kind = KEYS_CONFIG, .name = PL_SPAN_LIT("scheduler")};
	struct pl_span value;

	if (!value_of(op, result, err, &value))
		return;
	if (value.at != NULL)
		(void)!config_current_parse(value, &op->arena, &op->plan.config,
		                            &op->plan.config_err);
	id.version = op->plan.config;
	if (id.version == 0)
		read_cluster(op);
	else
		read_key(op, &id, on_config);
}

static void on_start(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_CONFIG_CURRENT,
	                           .name = PL_SPAN_LIT("scheduler")};

	(void)result;
	if (err != NULL)
		plan_finish(ctx, err);
	else
		read_key(ctx, &id, on_current);
}

/* -- life ------------------------------------------------------------------------ */

static enum pl_code check_opts(const struct plan_opts *opts, struct pl_err *err)
{
	if (opts->pod_count > PLAN_PODS_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d pods", PLAN_PODS_MAX);
	if (opts->at_revision < 0)
		return pl_err_set(err, PL_INVALID, "at_revision: want 1 or more");
	if (opts->withouts > PLAN_WITHOUT_MAX)
		return pl_err_set(err, PL_LIMIT, "without: more than %d clusters",
		                  PLAN_WITHOUT_MAX);
	for (unsigned i = 0; i < opts->withouts; i++)
		if (names_check(NAMES_CLUSTER, opts->without[i], err) != PL_OK)
			return pl_err_wrap(err, "without[%u]", i);
	return plan_nodes_check(opts, err);
}

enum pl_code plan_start(const struct service *service, const struct plan_opts *opts,
                        struct plan_op **out, struct pl_err *err)
{
	struct plan_op *op;

	if (check_opts(opts, err) != PL_OK)
		return err->code;
	op = pl_calloc(1, sizeof *op);
	if (op == NULL)
		return pl_err_set(err, PL_NOMEM, "plan");
	op->service = service;
	op->opts = *opts;
	op->plan.revision = opts->at_revision;
	op->refused = PLAN_NONE;
	pl_arena_init(&op->arena, ARENA_CHUNK, KEPT_MAX);
	pl_arena_init(&op->scratch, ARENA_CHUNK, 0);
	pl_buf_init(&op->text, TEXT_MAX);
	pl_map_init(&op->gangs);
	op->explain = pl_calloc(1, sizeof *op->explain);
	if (op->explain == NULL)
		(void)pl_err_set(err, PL_NOMEM, "plan");
	if (op->explain == NULL || sequence_init(&op->sequence, service->kv,
	                                         service->timeout_ms, op, err) != PL_OK) {
		plan_free(op);
		return err->code;
	}
	sequence_pause(&op->sequence, 0, on_start);
	*out = op;
	return PL_OK;
}

void plan_cancel(struct plan_op *op)
{
	sequence_cancel(&op->sequence);
	if (op->cluster.keys != NULL)
		store_snapshot_cancel(&op->cluster);
}
