#include "coord/service/explain/pod_explain.h"

#include <stdio.h>
#include <stdlib.h>

#include "coord/config/config_record.h"
#include "coord/membership/holder.h"
#include "coord/membership/membership.h"
#include "coord/service/base/sequence.h"
#include "shardsched/model/parse.h"
#include "shardsched/records/gang_record.h"
#include "shardsched/records/pod_location.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum { ARENA_CHUNK = 1 << 16 };

struct pod_explain {
	const struct service *service;
	struct pod_explain_opts opts;
	struct sequence sequence;
	struct key_list *owners; /* NULL: not read now */
	bool owners_listed;
	struct pl_span *owner_of; /* by partition */
	struct pl_arena arena;    /* of everything that is read once */
	struct pod_explanation pod;
	struct engine *engine;
	struct pod parsed; /* the spec, while has_parsed */
	bool has_parsed;
	struct engine_decision decision;
};

/* -- the end -------------------------------------------------------------- */

static void explain_finish(struct pod_explain *op, const struct explain *explain,
                           const struct pl_err *err)
{
	op->opts.done(op->opts.ctx, err == NULL ? &op->pod : NULL, explain, err);
	sequence_done(&op->sequence);
	if (op->has_parsed)
		pod_drop(engine_model(op->engine), &op->parsed);
	store_snapshot_done(&op->pod.cluster);
	if (op->engine != NULL)
		queue_position_done(&op->pod.queue);
	engine_free(op->engine);
	pl_arena_done(&op->arena);
	free(op);
}

/* -- keys, at the revision ------------------------------------------------ */

static void read_key(struct pod_explain *op, const struct keys_id *id, sequence_fn *next)
{
	struct pl_err err = {0};
	struct keys_text key;
	struct kv_req req;

	if (keys_build(id, &key, &err) != PL_OK) {
		explain_finish(op, NULL, &err);
		return;
	}
	req = kv_op_get(kv_key(keys_span(&key)));
	req.get.revision = op->pod.revision;
	sequence_send(&op->sequence, &req, next);
}

/* The value, in the arena; at NULL: there is no such key. The first answer sets the
 * revision. False: the operation has ended. */
static bool keep_value(struct pod_explain *op, const struct kv_result *result,
                       const struct pl_err *err, struct pl_span *out)
{
	struct pl_err no_memory;

	*out = (struct pl_span){0};
	if (err != NULL) {
		explain_finish(op, NULL, err);
		return false;
	}
	if (op->pod.revision == 0)
		op->pod.revision = result->header.revision;
	if (result->get.count == 0)
		return true;
	*out = pl_arena_dup(&op->arena, result->get.records[0].value);
	if (out->at != NULL)
		return true;
	(void)pl_err_set(&no_memory, PL_NOMEM, "keep a value");
	explain_finish(op, NULL, &no_memory);
	return false;
}

/* -- the decision --------------------------------------------------------- */

static void count_owned_nodes(struct pod_explain *op)
{
	const struct snapshot *snapshot = engine_snapshot(op->engine);
	struct pod_explanation *pod = &op->pod;
	bool fits = !op->decision.gated && op->decision.outcome.result == CYCLE_NODE;
	struct pl_bitset feasible = {0};

	if (fits)
		feasible = cycle_feasible(engine_cycle(op->engine));
	for (uint32_t slot = 0; slot < snapshot->slots; slot++) {
		if (!pl_bitset_has(snapshot->open, slot) ||
		    !pod->own[store_snapshot_partition(&pod->cluster, slot)])
			continue;
		pod->own_nodes++;
		pod->own_feasible += fits && pl_bitset_has(feasible, slot);
	}
}

static void explain_decision(struct pod_explain *op)
{
	struct explain explain;

	op->pod.nowhere = op->decision.gated || op->decision.outcome.result != CYCLE_NODE;
	count_owned_nodes(op);
	explain_make(op->engine, &op->parsed, &op->decision, &explain);
	explain_finish(op, &explain, NULL);
}

static void on_gang(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct gang_record record;
	struct pl_err malformed = {0};
	struct pl_span value;

	if (!keep_value(op, result, err, &value))
		return;
	if (value.at != NULL)
		op->pod.gang_phase = pl_span_str(
			gang_record_parse(value, &op->arena, &record, &malformed) == PL_OK
				? gang_phase_word(record.phase)
				: "malformed");
	explain_decision(op);
}

/* How far a gang has come is in its record, if it is too large for one transaction. */
static void read_gang(struct pod_explain *op)
{
	struct keys_id id = {.kind = KEYS_GANG, .scope = op->pod.namespace};
	const struct pod_template *template = op->parsed.spec->template;
	struct keys_text key;

	if (template->gang == 0) {
		explain_decision(op);
		return;
	}
	op->pod.gang = model_text(engine_model(op->engine), template->gang);
	id.name = op->pod.gang;
	if (keys_build(&id, &key, NULL) != PL_OK)
		explain_decision(op);
	else
		read_key(op, &id, on_gang);
}

static enum pl_code decide_pod(struct pod_explain *op, struct pl_err *err)
{
	struct model *model = engine_model(op->engine);
	struct field_errors errors;
	struct parse parse = {.model = model,
	                      .arena = &op->arena,
	                      .errors = &errors,
	                      .scope = VALIDATE_STORED};
	enum pl_code code = pod_parse(&parse, op->pod.spec, &op->parsed, err);

	if (code != PL_OK)
		return pl_err_wrap(err, "the pod's spec");
	op->has_parsed = true;
	if (op->parsed.node != 0)
		return pl_err_set(
			err, PL_INVALID,
			"spec.nodeName: it names a node already; there is nothing to decide");
	code = engine_decide(op->engine, &op->parsed, &op->decision, err);
	if (code != PL_NOTFOUND)
		return code;
	return pl_err_set(
		err, PL_INVALID,
		"spec.schedulerName: no shard schedules for '" PL_SPAN_FMT
		"': the configuration scheduler has no profile of that name",
		PL_SPAN_ARG(model_text(model, op->parsed.spec->template->scheduler)));
}

/* -- the nodes, and the pods on them -------------------------------------- */

static void on_snapshot(void *ctx, const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct pl_err why = {0};

	if (err != NULL)
		explain_finish(op, NULL, err);
	else if (decide_pod(op, &why) != PL_OK)
		explain_finish(op, NULL, &why);
	else
		read_gang(op);
}

static void on_other_record(void *ctx, const struct keys_id *id,
                            const struct kv_record *record)
{
	struct pod_explain *op = ctx;

	if (id->partition < op->pod.partitions)
		queue_position_add(&op->pod.queue, id, record);
}

static void on_progress(void *ctx, const char *what, uint64_t count)
{
	struct pod_explain *op = ctx;

	if (op->opts.progress != NULL)
		op->opts.progress(op->opts.ctx, op->pod.revision, what, count);
}

/* A pod that waits is counted among the pods of its shard. */
static void count_waiting(struct pod_explain *op)
{
	struct pod_explanation *pod = &op->pod;
	bool waits = !pod->has_state || pod->state.phase == STATE_PENDING;
	char *self = pl_arena_alloc(&op->arena, KEYS_SIZE_MAX);

	pod->queue = (struct queue_position){
		.model = engine_model(op->engine), .sort = pod->sort, .own = pod->own};
	queue_position_init(&pod->queue);
	if (pod->owner.len == 0 || !waits || self == NULL)
		return;
	(void)snprintf(self, KEYS_SIZE_MAX, "%04u/" PL_SPAN_FMT "/" PL_SPAN_FMT,
	               pod->partition, PL_SPAN_ARG(pod->namespace),
	               PL_SPAN_ARG(pod->name));
	pod->queue.self = pl_span_str(self);
	queue_position_set_pod(&pod->queue, pod->spec);
	pod->cluster.other = on_other_record;
}

static void read_cluster(struct pod_explain *op)
{
	struct pod_explanation *pod = &op->pod;
	const struct engine_opts opts = {.config = pod->profiles,
	                                 .seed = op->opts.seed,
	                                 .scope = VALIDATE_STORED,
	                                 .keep_scores = true,
	                                 .keep_candidates = true};
	struct pl_err err = {0};

	if (engine_new(&opts, &op->engine, &err) != PL_OK) {
		explain_finish(op, NULL, &err);
		return;
	}
	pod->cluster = (struct store_snapshot){.engine = op->engine,
	                                       .revision = pod->revision,
	                                       .partition = pod->partition,
	                                       .namespace = pod->namespace,
	                                       .name = pod->name,
	                                       .progress = on_progress,
	                                       .done = on_snapshot,
	                                       .ctx = op};
	count_waiting(op);
	if (store_snapshot_start(&pod->cluster, op->service, &err) != PL_OK)
		explain_finish(op, NULL, &err);
}

/* A pod that has run is explained by its state alone. */
static void explain_pod(struct pod_explain *op)
{
	const struct pod_explanation *pod = &op->pod;

	if (pod->has_state &&
	    (pod->state.phase == STATE_SUCCEEDED || pod->state.phase == STATE_FAILED))
		explain_finish(op, NULL, NULL);
	else
		read_cluster(op);
}

/* -- the configuration ---------------------------------------------------- */

static void on_config(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct pod_explanation *pod = &op->pod;
	struct config_value value;
	struct pl_span json;

	if (!keep_value(op, result, err, &json))
		return;
	if (json.at == NULL) {
		pl_err_set(&pod->config_err, PL_NOTFOUND, "version %llu does not exist",
		           (unsigned long long)pod->config);
	} else if (config_record_value(CONFIG_SCHEDULER, pod->config, json, &op->arena,
	                               &value, &pod->config_err) == PL_OK) {
		pod->profiles = value.scheduler.profiles;
		pod->sort = value.scheduler.sort;
	}
	if (pod->config_err.code != PL_OK)
		pod->config = 0;
	explain_pod(op);
}

static void read_config(struct pod_explain *op)
{
	const struct keys_id id = {.kind = KEYS_CONFIG,
	                           .name = PL_SPAN_LIT("scheduler"),
	                           .version = op->pod.config};

	if (op->pod.config == 0)
		explain_pod(op);
	else
		read_key(op, &id, on_config);
}

/* The version that the pod's shard runs; the current one where that is not known. */
static void on_shard(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct pod_explanation *pod = &op->pod;
	struct membership member;
	struct pl_span value;

	if (!keep_value(op, result, err, &value))
		return;
	if (value.at != NULL &&
	    membership_parse(pod->owner, value, &op->arena, &member, NULL) == PL_OK) {
		pod->config = 0;
		for (uint32_t i = 0; i < member.config_count; i++)
			if (pl_span_eq(member.config[i].name, PL_SPAN_LIT("scheduler")))
				pod->config = member.config[i].version;
	}
	read_config(op);
}

static void on_current(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct pod_explanation *pod = &op->pod;
	const struct keys_id shard = {.kind = KEYS_SHARD, .name = pod->owner};
	struct pl_span value;

	if (!keep_value(op, result, err, &value))
		return;
	if (value.at != NULL)
		(void)!config_current_parse(value, &op->arena, &pod->config_current,
		                            &pod->config_err);
	pod->config = pod->config_current;
	if (pod->owner.len == 0)
		read_config(op);
	else
		read_key(op, &shard, on_shard);
}

/* -- the shard ------------------------------------------------------------ */

static enum pl_code on_owners_prefix(void *ctx, struct keys_text *out, struct pl_err *err)
{
	struct pod_explain *op = ctx;
	const struct keys_id id = {.kind = KEYS_OWNER};

	if (op->owners_listed)
		return PL_NOTFOUND;
	op->owners_listed = true;
	return keys_prefix(&id, 1, out, err);
}

static enum pl_code on_owner(void *ctx, const struct kv_record *record,
                             struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct holder holder;
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK || id.kind != KEYS_OWNER ||
	    id.partition >= op->pod.partitions ||
	    holder_parse(record->value, &holder, NULL) != PL_OK)
		return PL_OK;
	op->owner_of[id.partition] = pl_arena_dup(&op->arena, pl_span_str(holder.shard));
	return op->owner_of[id.partition].at == NULL
	               ? pl_err_set(err, PL_NOMEM, "keep the owners")
	               : PL_OK;
}

static void on_owners(void *ctx, int64_t revision, const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct pod_explanation *pod = &op->pod;
	const struct keys_id current = {.kind = KEYS_CONFIG_CURRENT,
	                                .name = PL_SPAN_LIT("scheduler")};

	(void)revision;
	op->owners = NULL;
	if (err != NULL) {
		explain_finish(op, NULL, err);
		return;
	}
	pod->owner = op->owner_of[pod->partition];
	for (uint32_t p = 0; p < pod->partitions; p++)
		pod->own[p] =
			pod->owner.len > 0 && pl_span_eq(op->owner_of[p], pod->owner);
	read_key(op, &current, on_current);
}

static void list_owners(struct pod_explain *op)
{
	const struct key_list_opts opts = {.revision = op->pod.revision,
	                                   .prefix = on_owners_prefix,
	                                   .each = on_owner,
	                                   .done = on_owners,
	                                   .ctx = op};
	struct pl_err err = {0};
	enum pl_code code = PL_OK;

	op->owner_of =
		pl_arena_zalloc(&op->arena, op->pod.partitions, sizeof *op->owner_of);
	op->pod.own =
		pl_arena_zalloc(&op->arena, op->pod.partitions, sizeof *op->pod.own);
	if (op->owner_of == NULL || op->pod.own == NULL)
		code = pl_err_set(&err, PL_NOMEM, "keep the owners");
	if (code == PL_OK)
		code = key_list_start(op->service, &opts, &op->owners, &err);
	if (code != PL_OK)
		explain_finish(op, NULL, &err);
}

/* -- the pod -------------------------------------------------------------- */

static void on_state(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct pl_span value;

	if (!keep_value(op, result, err, &value))
		return;
	if (value.at != NULL)
		op->pod.has_state = state_parse(value, &op->arena, &op->pod.state,
		                                &op->pod.malformed) == PL_OK;
	list_owners(op);
}

static void read_state(struct pod_explain *op)
{
	const struct keys_id id = {.kind = KEYS_STATE,
	                           .partition = op->pod.partition,
	                           .scope = op->pod.namespace,
	                           .name = op->pod.name};

	read_key(op, &id, on_state);
}

static void on_pointed(void *ctx, const struct kv_result *result,
                       const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct pl_err why;

	if (!keep_value(op, result, err, &op->pod.spec))
		return;
	if (op->pod.spec.at != NULL) {
		read_state(op);
		return;
	}
	(void)pl_err_set(
		&why, PL_NOTFOUND,
		"the pod's name points to partition %u, where no pod has that name; see placet fsck",
		op->pod.partition);
	explain_finish(op, NULL, &why);
}

/* Follows the pointer, if the pod stands with its group. */
static void on_spec(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	struct pod_explanation *pod = &op->pod;
	struct keys_id id = {
		.kind = KEYS_SPEC, .scope = pod->namespace, .name = pod->name};
	struct pl_err why = {0};
	bool is_pointer = false;

	if (!keep_value(op, result, err, &pod->spec))
		return;
	if (pod->spec.at == NULL)
		(void)pl_err_set(&why, PL_NOTFOUND,
		                 "there is no pod " PL_SPAN_FMT "/" PL_SPAN_FMT
		                 " (placet get pods -n " PL_SPAN_FMT ")",
		                 PL_SPAN_ARG(pod->namespace), PL_SPAN_ARG(pod->name),
		                 PL_SPAN_ARG(pod->namespace));
	else if (pointer_parse(pod->spec, &is_pointer, &id.partition, &why) != PL_OK)
		(void)pl_err_wrap(&why, "the pod's key");
	else if (is_pointer && id.partition >= pod->partitions)
		(void)pl_err_set(&why, PL_INVALID,
		                 "the pointer of the pod names partition %u of %u",
		                 id.partition, pod->partitions);
	if (why.code != PL_OK) {
		explain_finish(op, NULL, &why);
	} else if (is_pointer) {
		pod->partition = id.partition;
		read_key(op, &id, on_pointed);
	} else {
		read_state(op);
	}
}

/* -- life ----------------------------------------------------------------- */

static void on_start(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pod_explain *op = ctx;
	const struct keys_id id = {.kind = KEYS_SPEC,
	                           .partition = op->pod.named,
	                           .scope = op->pod.namespace,
	                           .name = op->pod.name};

	(void)result;
	if (err != NULL)
		explain_finish(op, NULL, err);
	else
		read_key(op, &id, on_spec);
}

enum pl_code pod_explain_start(const struct service *service,
                               const struct pod_explain_opts *opts,
                               struct pod_explain **out, struct pl_err *err)
{
	struct pod_explain *op;
	uint32_t partition;

	if (partition_of_pod(opts->pod.namespace, opts->pod.name, service->partitions,
	                     &partition, err) != PL_OK)
		return err->code;
	op = pl_calloc(1, sizeof *op);
	if (op == NULL)
		return pl_err_set(err, PL_NOMEM, "explain a pod");
	op->service = service;
	op->opts = *opts;
	op->pod = (struct pod_explanation){.namespace = opts->pod.namespace,
	                                   .name = opts->pod.name,
	                                   .named = partition,
	                                   .partition = partition,
	                                   .partitions = service->partitions,
	                                   .now_ms = opts->wall_ms};
	if (sequence_init(&op->sequence, service->kv, service->timeout_ms, op, err) !=
	    PL_OK) {
		free(op);
		return err->code;
	}
	pl_arena_init(&op->arena, ARENA_CHUNK, 0);
	sequence_pause(&op->sequence, 0, on_start);
	*out = op;
	return PL_OK;
}

void pod_explain_cancel(struct pod_explain *op)
{
	sequence_cancel(&op->sequence);
	if (op->owners != NULL)
		key_list_cancel(op->owners);
	if (op->pod.cluster.keys != NULL)
		store_snapshot_cancel(&op->pod.cluster);
}
