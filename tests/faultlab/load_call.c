/*
 * An operation as the history records it, made into a call, and its answer written
 * down. One read is a get, one put without a compare is a put; anything else is a
 * transaction that compares, does all parts, and reads all keys when it is refused.
 */
#include <stdio.h>

#include "tests/faultlab/load_int.h"

/* Texts that a request borrows while it is started. */
struct texts {
	char key[HIST_PARTS_MAX][HIST_KEY_SIZE];
	char value[HIST_PARTS_MAX][HIST_VALUE_SIZE];
	struct pl_span keys[HIST_PARTS_MAX];
	struct pl_span values[HIST_PARTS_MAX];
	struct kv_compare compare[HIST_PARTS_MAX];
	struct kv_req then[HIST_PARTS_MAX];
	struct kv_req otherwise[HIST_PARTS_MAX];
	size_t compare_count;
};

uint64_t load_now(const struct load *load)
{
	return kv_now_ms(load->scribe);
}

struct hist_op *slot_begin(struct worker_slot *slot)
{
	struct worker *worker = slot->worker;

	PL_ASSERT(slot->op == 0);
	slot->op = hist_op_start(worker->load->hist, (uint16_t)worker->index,
	                         load_now(worker->load));
	return hist_op(worker->load->hist, slot->op);
}

/* A list grows by what the worker believes it holds. */
static void write_value(const struct worker *worker, struct hist_op *op, unsigned part,
                        struct texts *texts)
{
	struct hist_part *to = &op->part[part];
	const struct list_belief *list = &worker->list;
	bool grows = hist_class_of(to->key) == HIST_LIST && to->expect != 0;
	struct hist_value before = grows ? list->value : (struct hist_value){0};
	int len = snprintf(texts->value[part], HIST_VALUE_SIZE, "%.*s%s%u",
	                   grows ? (int)list->len : 0, list->text, grows ? "," : "",
	                   op->id);

	PL_ASSERT(len > 0 && len < HIST_VALUE_SIZE);
	to->value = hist_value_add(before, op->id);
	texts->values[part] = pl_span(texts->value[part], (size_t)len);
}

static struct kv_compare compare_of(const struct hist_op *op, struct pl_span key,
                                    int64_t expect)
{
	if (expect == 0 && op->id % 2 == 0)
		return kv_if_absent(key); /* the other way to say it */
	return kv_if_mod_rev(key, KV_EQ, expect);
}

static void write_texts(const struct worker *worker, struct hist_op *op,
                        struct texts *texts)
{
	texts->compare_count = 0;
	for (unsigned i = 0; i < op->part_count; i++) {
		struct pl_span key = hist_key_text(op->part[i].key, texts->key[i]);

		texts->keys[i] = key;
		texts->otherwise[i] = kv_op_get(kv_key(key));
		if (op->part[i].expect != HIST_ANY)
			texts->compare[texts->compare_count++] =
				compare_of(op, key, op->part[i].expect);
		switch (op->part[i].act) {
		case HIST_LOOK:
			texts->then[i] = kv_op_get(kv_key(key));
			break;
		case HIST_PUT:
			write_value(worker, op, i, texts);
			texts->then[i] =
				kv_op_put_leased(key, texts->values[i], op->lease);
			break;
		case HIST_DROP:
			texts->then[i] = kv_op_delete(kv_key(key));
			break;
		}
	}
}

static struct kv_req request_of(const struct hist_op *op, const struct texts *texts)
{
	struct kv_req req = texts->then[0];

	if (op->part_count == 1 && texts->compare_count == 0) {
		if (req.op == KV_GET)
			req.get.serializable = op->serializable;
		return req;
	}
	return (struct kv_req){.op = KV_TXN,
	                       .txn = {.compares = texts->compare,
	                               .compare_count = texts->compare_count,
	                               .then = texts->then,
	                               .then_count = op->part_count,
	                               .otherwise = texts->otherwise,
	                               .otherwise_count = op->part_count}};
}

static void record_seen(struct worker *worker, struct hist_part *part,
                        const struct kv_get_result *got)
{
	const struct kv_record *record = got->count > 0 ? &got->records[0] : NULL;

	part->seen = true;
	part->seen_mod = record == NULL ? 0 : record->mod_revision;
	if (record != NULL && !hist_value_parse(record->value, &part->seen_value))
		part->seen_value = (struct hist_value){0};
	worker_learn(worker, part, record);
}

static enum hist_outcome record_answer(struct worker *worker, struct hist_op *op,
                                       const struct kv_result *result)
{
	if (result->op == KV_GET) {
		record_seen(worker, &op->part[0], &result->get);
		return HIST_OK;
	}
	if (result->op != KV_TXN)
		return HIST_OK;
	PL_ASSERT(result->txn.count == op->part_count);
	for (unsigned i = 0; i < op->part_count; i++)
		if (!result->txn.succeeded || op->part[i].act == HIST_LOOK)
			record_seen(worker, &op->part[i], &result->txn.results[i].get);
	return result->txn.succeeded ? HIST_OK : HIST_REFUSED;
}

/* Learns the keys of a write that was applied. */
static void learn_own(struct worker *worker, const struct hist_op *op)
{
	for (unsigned i = 0; i < op->part_count; i++)
		if (op->part[i].act != HIST_LOOK &&
		    hist_class_of(op->part[i].key) == HIST_REGISTER)
			worker->reg[op->part[i].key & UINT32_MAX] = (struct belief){
				.known = true,
				.mod = op->part[i].act == HIST_PUT ? op->revision : 0};
}

/* After an unknown outcome nothing is believed: it is read again. */
static void forget_keys(struct worker *worker, const struct hist_op *op)
{
	for (unsigned i = 0; i < op->part_count; i++) {
		if (hist_class_of(op->part[i].key) == HIST_REGISTER)
			worker->reg[op->part[i].key & UINT32_MAX].known = false;
		else if (hist_class_of(op->part[i].key) == HIST_LIST)
			worker->list.now.known = false;
	}
}

static void slot_end(struct worker_slot *slot, enum hist_outcome outcome,
                     enum pl_code code, int64_t revision)
{
	struct load *load = slot->worker->load;
	uint32_t id = slot->op;

	slot->op = 0;
	load->outcome[outcome]++;
	hist_op_end(load->hist, id, outcome, code, revision, load_now(load));
	if (outcome == HIST_OK)
		learn_own(slot->worker, hist_op(load->hist, id));
	else if (outcome != HIST_REFUSED)
		forget_keys(slot->worker, hist_op(load->hist, id));
	if (outcome == HIST_OK && load->phase == LOAD_PROVE)
		slot->worker->proved = true;
	slot_later(slot);
}

static bool is_write(const struct hist_op *op)
{
	for (unsigned i = 0; i < op->part_count; i++)
		if (op->part[i].act != HIST_LOOK)
			return true;
	return false;
}

static void on_answer(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct worker_slot *slot = ctx;
	struct hist_op *op = hist_op(slot->worker->load->hist, slot->op);
	enum hist_outcome outcome;

	if (err == NULL) {
		outcome = record_answer(slot->worker, op, result);
		if (outcome == HIST_OK && hist_class_of(op->part[0].key) == HIST_LIST &&
		    op->part[0].act == HIST_PUT)
			slot->worker->list.now.known = false; /* read it again */
		slot_end(slot, outcome, PL_OK, result->header.revision);
	} else if (err->code == PL_UNKNOWN && is_write(op)) {
		slot_end(slot, HIST_UNKNOWN, err->code, 0);
	} else {
		slot_end(slot, HIST_FAILED, err->code, 0);
	}
}

void slot_call(struct worker_slot *slot)
{
	struct load *load = slot->worker->load;
	struct hist_op *op = hist_op(load->hist, slot->op);
	struct texts texts;
	struct pl_err err = {0};
	struct kv_req req;
	uint64_t timeout_ms = pl_rng_between(&load->rng, load->opts.timeout_min_ms,
	                                     load->opts.timeout_max_ms);

	write_texts(slot->worker, op, &texts);
	req = request_of(op, &texts);
	if (kv_start(slot->worker->kv, &req, timeout_ms, on_answer, slot, NULL, &err) !=
	    PL_OK)
		slot_end(slot, HIST_FAILED, err.code, 0);
}
