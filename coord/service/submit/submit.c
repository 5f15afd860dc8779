/*
 * Each slot fills a transaction from the source until it is full, and keeps its pods.
 * If the compares do not hold, some pods exist already, and the others are sent again
 * without them. A pod that did not fit waits for the next transaction.
 *
 * Failure modes: a pod that fits into no transaction, a failing source, and an error
 * of the store that sending again can not cure end everything; transactions in flight
 * are settled first.
 */
#include "coord/service/submit/submit.h"

#include <stdlib.h>

#include "coord/bulk/bulk_writer.h"
#include "coord/service/submit/leaving.h"
#include "shardsched/records/txn_builder.h"
#include "store/base/alloc.h"
#include "store/base/map.h"

enum {
	SLOTS_DEFAULT = 8,
	CHUNK = 256 << 10,
	ROOM_MAX = 16 << 20, /* of a slot: more than the bytes of a transaction */
	TRIES_MAX = 16,
};

struct submit_entry {
	struct pl_map_node node; /* keyed by "namespace/name" */
	struct submit_pod pod;
};

struct submit_slot {
	struct pl_arena arena; /* for the slot's pods */
	struct txn_builder builder;
	struct pl_map names;
	struct submit_entry entry[SUBMIT_BATCH_MAX];
	unsigned count;
	unsigned tries; /* with the present pods */
};

struct submit {
	struct kv *kv;
	struct submit_opts opts;
	struct submit_counts counts;
	struct bulk_writer *writer;
	struct submit_pod carried; /* borrowed from the source */
	bool has_carried, exhausted;
	struct pl_err failed; /* the first failure */
	unsigned slots;
	struct submit_slot slot[];
};

static void submit_free(struct submit *submit)
{
	for (unsigned i = 0; i < submit->slots; i++) {
		pl_map_done(&submit->slot[i].names);
		pl_arena_done(&submit->slot[i].arena);
	}
	free(submit);
}

static void submit_fail(struct submit *submit, const struct pl_err *err)
{
	if (submit->failed.code != PL_OK)
		return;
	submit->failed = *err;
	bulk_cancel(submit->writer, err);
}

static void fail_with(struct submit *submit, enum pl_code code, const char *what)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, code, "%s: %s", what, pl_code_name(code));
	submit_fail(submit, &err);
}

/* -- batches ----------------------------------------------------------------------- */

/* Gets the next pod of the source, unless one is waiting already. */
static bool look_ahead(struct submit *submit)
{
	struct pl_err err = {0};
	enum pl_code code;

	if (submit->has_carried)
		return true;
	if (submit->exhausted || submit->failed.code != PL_OK)
		return false;
	code = submit->opts.next(submit->opts.ctx, &submit->carried, &err);
	submit->has_carried = code == PL_OK;
	submit->exhausted = code != PL_OK;
	if (code != PL_OK && code != PL_NOTFOUND)
		submit_fail(submit, &err);
	return code == PL_OK;
}

static bool keep_entry(struct submit_slot *slot, const struct submit_pod *pod,
                       struct submit_entry *out)
{
	size_t len = pod->namespace.len + 1 + pod->name.len;
	uint8_t *key = pl_arena_alloc(&slot->arena, len);
	struct pl_span spec = pl_arena_dup(&slot->arena, pod->spec);

	if (key == NULL || spec.at == NULL)
		return false;
	memcpy(key, pod->namespace.at, pod->namespace.len);
	key[pod->namespace.len] = '/';
	memcpy(key + pod->namespace.len + 1, pod->name.at, pod->name.len);
	*out = (struct submit_entry){
		.node = {.key = pl_span(key, len)},
		.pod = {.namespace = pl_span(key, pod->namespace.len),
	                .name = pl_span(key + pod->namespace.len + 1, pod->name.len),
	                .spec = spec,
	                .location = pod->location},
	};
	return true;
}

static bool add_to_txn(struct submit_slot *slot, const struct submit_pod *pod)
{
	struct builder_pod named = {.partition = pod->location.partition,
	                            .namespace = pod->namespace,
	                            .name = pod->name};

	return builder_submit(&slot->builder, &named, pod->location.named, pod->spec);
}

/* False: the transaction is full, or has a pod of that name already. */
static bool add_entry(struct submit *submit, struct submit_slot *slot)
{
	struct submit_entry *entry = &slot->entry[slot->count];

	if (slot->count == SUBMIT_BATCH_MAX)
		return false;
	if (!keep_entry(slot, &submit->carried, entry)) {
		if (slot->count == 0)
			fail_with(submit, PL_NOMEM, "keep a pod");
		return false;
	}
	if (pl_map_get(&slot->names, entry->node.key) != NULL ||
	    !add_to_txn(slot, &entry->pod))
		return false;
	(void)!pl_map_add(&slot->names, &entry->node, entry->node.key);
	slot->count++;
	submit->has_carried = false;
	return true;
}

static void forget_entries(struct submit_slot *slot)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (pl_map_has(&slot->entry[i].node))
			pl_map_del(&slot->names, &slot->entry[i].node);
	slot->count = slot->tries = 0;
	pl_arena_reset(&slot->arena);
}

static void refill_slot(struct submit *submit, struct submit_slot *slot)
{
	forget_entries(slot);
	while (look_ahead(submit) && add_entry(submit, slot))
		;
}

static void add_again(struct submit_slot *slot)
{
	for (unsigned i = 0; i < slot->count; i++)
		if (!add_to_txn(slot, &slot->entry[i].pod))
			return; /* builder.code has the failure */
}

static bool on_next(void *ctx, unsigned number, struct pl_arena *arena,
                    struct kv_req *req)
{
	struct submit *submit = ctx;
	struct submit_slot *slot = &submit->slot[number];

	builder_begin(&slot->builder, arena, kv_limits(submit->kv));
	if (slot->count > 0)
		add_again(slot);
	else
		refill_slot(submit, slot);
	if (slot->builder.code != PL_OK)
		fail_with(submit, slot->builder.code,
		          slot->builder.code == PL_LIMIT
		                  ? "a pod that fits into no transaction"
		                  : "fill a transaction");
	if (slot->count == 0 || submit->failed.code != PL_OK)
		return false;
	builder_req(&slot->builder, req);
	if (submit->opts.dry_run)
		req->txn.then_count = 0;
	submit->counts.transactions++;
	return true;
}

/* -- answers ----------------------------------------------------------------------- */

static bool points_home(const struct submit_pod *pod, const struct kv_record *pointer)
{
	char text[POINTER_TEXT_SIZE];

	return pointer != NULL &&
	       pl_span_eq(pointer->value, pointer_text(pod->location.partition, text));
}

/* Whether everything that would be written is there. */
static bool is_there(const struct submit_pod *pod, const struct builder_found *found)
{
	return found->spec != NULL && pl_span_eq(found->spec->value, pod->spec) &&
	       (pod->location.named == pod->location.partition ||
	        points_home(pod, found->pointer));
}

/* Whether the state that was read with the spec says so. A state that does not parse
 * does not. */
static bool is_leaving(struct submit_slot *slot, const struct builder_found *found)
{
	struct pod_state state;

	return found->spec != NULL && found->state != NULL &&
	       state_parse(found->state->value, &slot->arena, &state, NULL) == PL_OK &&
	       state_is_leaving(&state);
}

static void report_pod(const struct submit *submit,
                       void (*fn)(void *ctx, const struct submit_pod *pod),
                       const struct submit_pod *pod)
{
	if (fn != NULL)
		fn(submit->opts.ctx, pod);
}

/* Which of the slot's pods have to be sent again; and whether everything is there. */
struct submit_verdict {
	unsigned again, same;
};

static struct submit_verdict judge_answer(struct submit *submit, struct submit_slot *slot,
                                          const struct kv_result *result, bool *keep_it)
{
	struct submit_verdict out = {0};

	for (unsigned i = 0; i < slot->count; i++) {
		const struct submit_pod *pod = &slot->entry[i].pod;
		struct builder_found found;

		keep_it[i] = false;
		if (!builder_answer(&slot->builder, result, i, &found)) {
			fail_with(submit, PL_PROTO, "an answer to something else");
			return out;
		}
		if (found.verdict == BUILDER_SAME && submit->opts.dry_run) {
			submit->counts.submitted++;
		} else if (found.verdict == BUILDER_SAME) {
			keep_it[i] = true;
			out.again++;
		} else if (is_leaving(slot, &found)) {
			submit->counts.leaving++;
			report_pod(submit, submit->opts.leaving, pod);
		} else if (found.verdict == BUILDER_OURS || is_there(pod, &found)) {
			out.same++;
		} else {
			submit->counts.others++;
			report_pod(submit, submit->opts.exists, pod);
		}
	}
	return out;
}

static void keep_only(struct submit_slot *slot, const bool *keep_it)
{
	unsigned count = 0;

	for (unsigned i = 0; i < slot->count; i++)
		if (pl_map_has(&slot->entry[i].node))
			pl_map_del(&slot->names, &slot->entry[i].node);
	for (unsigned i = 0; i < slot->count; i++)
		if (keep_it[i])
			slot->entry[count++] = slot->entry[i];
	slot->count = count;
}

static void on_answer(void *ctx, unsigned number, const struct kv_result *result,
                      bool again)
{
	struct submit *submit = ctx;
	struct submit_slot *slot = &submit->slot[number];
	bool keep_it[SUBMIT_BATCH_MAX] = {false};
	struct submit_verdict verdict;

	if (result->op == KV_TXN && result->txn.succeeded) {
		submit->counts.submitted += slot->count;
		forget_entries(slot);
		return;
	}
	verdict = judge_answer(submit, slot, result, keep_it);
	/* everything is there, so an earlier attempt was applied */
	if (again && verdict.same == slot->count)
		submit->counts.submitted += verdict.same;
	else
		submit->counts.unchanged += verdict.same;
	keep_only(slot, keep_it);
	if (slot->count > 0 && ++slot->tries > TRIES_MAX)
		fail_with(submit, PL_CONFLICT, "submit after many tries");
}

static void on_done(void *ctx, const struct pl_err *err)
{
	struct submit *submit = ctx;
	struct submit_counts counts = submit->counts;
	struct submit_opts opts = submit->opts;

	submit_free(submit);
	opts.done(opts.ctx, &counts, err);
}

/* -- life -------------------------------------------------------------------------- */

static void slots_init(struct submit *submit, unsigned slots)
{
	submit->slots = slots;
	for (unsigned i = 0; i < slots; i++) {
		pl_map_init(&submit->slot[i].names);
		pl_arena_init(&submit->slot[i].arena, CHUNK, ROOM_MAX);
	}
}

enum pl_code submit_open(struct kv *kv, const struct submit_opts *opts,
                         struct submit **out, struct pl_err *err)
{
	unsigned slots = opts->slots == 0 ? SLOTS_DEFAULT : opts->slots;
	struct bulk_opts writer = {.slots = slots,
	                           .timeout_ms = opts->timeout_ms,
	                           .patience_ms = opts->patience_ms,
	                           .next = on_next,
	                           .answer = on_answer,
	                           .done = on_done};
	struct submit *submit =
		pl_calloc(1, sizeof *submit + slots * sizeof submit->slot[0]);
	enum pl_code code;

	if (submit == NULL)
		return pl_err_set(err, PL_NOMEM, "submit");
	submit->kv = kv;
	submit->opts = *opts;
	slots_init(submit, slots);
	writer.ctx = submit;
	code = bulk_open(kv, &writer, &submit->writer, err);
	if (code == PL_OK)
		*out = submit;
	else
		submit_free(submit);
	return code;
}

void submit_cancel(struct submit *submit)
{
	bulk_cancel(submit->writer, NULL);
}

const struct submit_counts *submit_counts(const struct submit *submit)
{
	return &submit->counts;
}
