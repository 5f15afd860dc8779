#include "coord/service/pods/pod_changes.h"

#include <stdlib.h>

#include "coord/bulk/bulk_writer.h"
#include "store/base/alloc.h"
#include "store/kv/calls.h"

enum { TRIES_MAX = 16, OPS_DEFAULT = 128 };

struct pod_changes {
	struct kv *kv;
	struct pod_changes_opts opts;
	struct bulk_writer *writer;
	struct pl_err failed;
	uint32_t next;                  /* the first change that is in no batch yet */
	uint32_t number[POD_BATCH_MAX]; /* of the batch's pods */
	bool reported[POD_BATCH_MAX];
	unsigned tries; /* transactions in a row that committed nothing */
	/* The request in flight. */
	bool reading;
	struct kv_req *op;
	uint32_t ops;
	struct txn_builder builder;
	struct pod_batch batch;
};

static void changes_fail(struct pod_changes *changes, const struct pl_err *err)
{
	if (changes->failed.code != PL_OK)
		return;
	changes->failed = *err;
	bulk_cancel(changes->writer, err);
}

static void changes_fail_with(struct pod_changes *changes, enum pl_code code)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, code, "change pods: %s", pl_code_name(code));
	changes_fail(changes, &err);
}

static void report(struct pod_changes *changes, uint32_t i,
                   const struct pod_change_result *result)
{
	changes->reported[i] = true;
	changes->opts.report(changes->opts.ctx, changes->number[i], result);
}

/* Reports what was decided without the store. */
static void report_decided(struct pod_changes *changes)
{
	for (uint32_t i = 0; i < changes->batch.pods; i++) {
		const struct batch_pod *pod = &changes->batch.pod[i];
		const struct pod_change_result result = {
			.outcome = pod->refusal == POD_REFUSAL_NONE ? POD_CHANGE_UNCHANGED
		                                                    : POD_CHANGE_REFUSED,
			.refusal = pod->refusal,
			.why = pod->why};

		if (pod->done && !changes->reported[i])
			report(changes, i, &result);
	}
}

static bool has_open(const struct pod_changes *changes)
{
	for (uint32_t i = 0; i < changes->batch.pods; i++)
		if (!changes->batch.pod[i].done)
			return true;
	return false;
}

/* Gives the batch the Node that a binding needs, if the caller knows it: half of what would
 * be read. False: no memory. */
static bool know_node(struct pod_changes *changes, uint32_t at)
{
	struct pod_batch *batch = &changes->batch;
	const struct batch_pod *pod = &batch->pod[at];
	struct batch_node *node;
	struct pod_value value;

	if (changes->opts.know == NULL || pod->done || pod->kind != POD_BINDING)
		return true;
	node = &batch->node[pod->node];
	if (node->has_node || !changes->opts.know(changes->opts.ctx, node->key.cluster,
	                                          node->key.name, &value))
		return true;
	value.value = pl_arena_dup(&batch->arena, value.value);
	if (value.value.at == NULL)
		return false;
	pod_batch_know_node(batch, node->key.cluster, node->key.name, NULL, &value);
	return true;
}

static void fill_batch(struct pod_changes *changes)
{
	struct pl_err err = {0};
	uint32_t at;

	pod_batch_begin(&changes->batch);
	changes->tries = 0;
	while (changes->next < changes->opts.count) {
		enum pl_code code = pod_batch_add(
			&changes->batch, &changes->opts.change[changes->next], &at, &err);

		if (code == PL_BUSY)
			return;
		if (code != PL_OK) {
			changes_fail(changes, &err);
			return;
		}
		changes->number[at] = changes->next++;
		changes->reported[at] = false;
		if (!know_node(changes, at)) {
			changes_fail_with(changes, PL_NOMEM);
			return;
		}
	}
}

static bool make_reads(struct pod_changes *changes, struct pl_arena *arena,
                       struct kv_req *req)
{
	uint64_t most = kv_limits(changes->kv).txn_ops;

	if (pod_batch_reads(&changes->batch, most == 0 ? OPS_DEFAULT : (uint32_t)most,
	                    arena, &changes->op, &changes->ops) != PL_OK) {
		changes_fail_with(changes, PL_NOMEM);
		return false;
	}
	changes->reading = changes->ops > 0;
	*req = (struct kv_req){.op = KV_TXN,
	                       .txn = {.then = changes->op, .then_count = changes->ops}};
	return changes->reading;
}

static bool make_write(struct pod_changes *changes, struct pl_arena *arena,
                       struct kv_req *req)
{
	struct pl_err err = {0};
	uint32_t asked;

	if (pod_batch_build(&changes->batch, &changes->builder, arena,
	                    kv_limits(changes->kv), changes->opts.wall_ms, &asked,
	                    &err) != PL_OK) {
		changes_fail(changes, &err);
		return false;
	}
	report_decided(changes);
	if (asked > 0)
		builder_req(&changes->builder, req);
	return asked > 0;
}

static bool on_next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct pod_changes *changes = ctx;
	bool made = false;

	(void)slot;
	while (!made && changes->failed.code == PL_OK) {
		if (!has_open(changes)) {
			if (changes->next == changes->opts.count)
				return false;
			fill_batch(changes);
			report_decided(changes);
			continue;
		}
		made = make_reads(changes, arena, req);
		if (!made && changes->failed.code == PL_OK)
			made = make_write(changes, arena, req);
	}
	return made;
}

static int64_t revision_of(const struct batch_pod *pod, const struct kv_result *result,
                           const struct builder_found *found)
{
	const struct kv_record *own =
		pod->kind == POD_BINDING ? found->state : found->spec;

	return result->txn.succeeded ? result->header.revision
	       : own == NULL         ? 0
	                             : own->mod_revision;
}

static void settle_pod(struct pod_changes *changes, uint32_t i,
                       const struct kv_result *result, bool again)
{
	struct builder_found found;
	struct pod_change_result to = {0};

	if (!pod_batch_answer(&changes->batch, &changes->builder, result, i, &found)) {
		changes_fail_with(changes, PL_PROTO);
		return;
	}
	if (found.verdict == BUILDER_SAME)
		return;
	changes->tries = 0;
	to.outcome =
		found.verdict == BUILDER_OURS ? POD_CHANGE_DONE : POD_CHANGE_CONFLICT;
	to.revision = revision_of(&changes->batch.pod[i], result, &found);
	to.spec = found.spec;
	to.state = found.state;
	to.doubtful = again && found.verdict != BUILDER_OURS;
	report(changes, i, &to);
}

/* Others are faster, time and again. */
static void give_up(struct pod_changes *changes)
{
	static const struct pod_change_result busy = {
		.outcome = POD_CHANGE_BUSY, .why = "its node or its rules keep changing"};

	for (uint32_t i = 0; i < changes->batch.pods; i++)
		if (!changes->batch.pod[i].done) {
			changes->batch.pod[i].done = true;
			report(changes, i, &busy);
		}
}

static void on_answer(void *ctx, unsigned slot, const struct kv_result *result,
                      bool again)
{
	struct pod_changes *changes = ctx;
	struct pl_err err = {0};

	(void)slot;
	if (changes->reading) {
		if (pod_batch_take(&changes->batch, changes->op, result, changes->ops,
		                   &err) != PL_OK)
			changes_fail(changes, &err);
		return;
	}
	changes->tries++;
	for (uint32_t i = 0; i < changes->batch.pods; i++)
		if (changes->batch.pod[i].asked)
			settle_pod(changes, i, result, again);
	if (changes->tries == TRIES_MAX)
		give_up(changes);
}

/* -- life -------------------------------------------------------------------------- */

static void on_done(void *ctx, const struct pl_err *err)
{
	struct pod_changes *changes = ctx;
	struct pod_changes_opts opts = changes->opts;

	pod_batch_done(&changes->batch);
	free(changes);
	opts.done(opts.ctx, err);
}

enum pl_code pod_changes_start(const struct service *service,
                               const struct pod_changes_opts *opts,
                               struct pod_changes **out, struct pl_err *err)
{
	const struct bulk_opts writer = {.slots = 1,
	                                 .timeout_ms = service->timeout_ms,
	                                 .patience_ms = opts->patience_ms,
	                                 .next = on_next,
	                                 .answer = on_answer,
	                                 .done = on_done};
	struct pod_changes *changes = pl_calloc(1, sizeof *changes);
	struct bulk_opts with = writer;
	enum pl_code code;

	if (changes == NULL)
		return pl_err_set(err, PL_NOMEM, "change pods");
	changes->kv = service->kv;
	changes->opts = *opts;
	pod_batch_init(&changes->batch, service->partitions, opts->who);
	with.ctx = changes;
	code = bulk_open(service->kv, &with, &changes->writer, err);
	if (code == PL_OK) {
		*out = changes;
		return PL_OK;
	}
	pod_batch_done(&changes->batch);
	free(changes);
	return code;
}

void pod_changes_cancel(struct pod_changes *changes)
{
	bulk_cancel(changes->writer, NULL);
}
