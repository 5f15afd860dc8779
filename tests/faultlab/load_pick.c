/* The choice of a worker's next operation. Parts are in the order of their keys. */
#include "tests/faultlab/load_int.h"

static bool slot_chance(struct worker_slot *slot, unsigned percent)
{
	return pl_rng_chance(&slot->worker->load->rng, percent, 100);
}

static void add_part(struct hist_op *op, hist_key key, enum hist_act act, int64_t expect)
{
	PL_ASSERT(op->part_count < HIST_PARTS_MAX);
	op->part[op->part_count++] =
		(struct hist_part){.key = key, .act = act, .expect = expect};
}

static void pick_read(struct worker_slot *slot, hist_key key)
{
	struct hist_op *op = slot_begin(slot);

	op->serializable = slot_chance(slot, 20);
	add_part(op, key, HIST_LOOK, HIST_ANY);
}

/* One to three neighbours, by what is believed about them; one that is not known
 * is read first. Deletes some, and only looks at some others. */
static void pick_registers(struct worker_slot *slot)
{
	struct worker *worker = slot->worker;
	struct pl_rng *rng = &worker->load->rng;
	unsigned count = slot_chance(slot, 70) ? 1 : (unsigned)pl_rng_between(rng, 2, 3);
	unsigned first = (unsigned)pl_rng_below(rng, LOAD_REGISTERS - count + 1);
	struct hist_op *op;

	for (unsigned i = first; i < first + count; i++) {
		if (!worker->reg[i].known) {
			pick_read(slot, hist_key_of(HIST_REGISTER, i));
			return;
		}
	}
	op = slot_begin(slot);
	for (unsigned i = first; i < first + count; i++) {
		int64_t mod = worker->reg[i].mod;
		enum hist_act act = mod != 0 && slot_chance(slot, 10)    ? HIST_DROP
		                    : count > 1 && slot_chance(slot, 15) ? HIST_LOOK
		                                                         : HIST_PUT;

		add_part(op, hist_key_of(HIST_REGISTER, i), act, mod);
	}
}

/* All registers of a neighbourhood as they stood at one revision. */
static void pick_snapshot(struct worker_slot *slot)
{
	unsigned first = (unsigned)pl_rng_below(&slot->worker->load->rng,
	                                        LOAD_REGISTERS - HIST_PARTS_MAX + 1);
	struct hist_op *op = slot_begin(slot);

	for (unsigned i = first; i < first + HIST_PARTS_MAX; i++)
		add_part(op, hist_key_of(HIST_REGISTER, i), HIST_LOOK, HIST_ANY);
}

static void pick_append(struct worker_slot *slot)
{
	struct list_belief *list = &slot->worker->list;

	if (list->now.known && list->value.count >= HIST_LIST_MAX) {
		list->number++; /* a full list: every worker goes on to the next one */
		list->now.known = false;
	}
	if (!list->now.known) {
		pick_read(slot, hist_key_of(HIST_LIST, list->number));
		return;
	}
	add_part(slot_begin(slot), hist_key_of(HIST_LIST, list->number), HIST_PUT,
	         list->now.mod);
}

static void pick_unique(struct worker_slot *slot)
{
	struct hist_op *op = slot_begin(slot);

	add_part(op, hist_key_of(HIST_UNIQUE, op->id), HIST_PUT, 0);
}

static void pick_blind(struct worker_slot *slot)
{
	unsigned number = (unsigned)pl_rng_below(&slot->worker->load->rng, LOAD_BLINDS);

	add_part(slot_begin(slot), hist_key_of(HIST_BLIND, number), HIST_PUT, HIST_ANY);
}

static void pick_op(struct worker_slot *slot)
{
	uint64_t die = pl_rng_below(&slot->worker->load->rng, 100);

	if (die < 45)
		pick_registers(slot);
	else if (die < 70)
		pick_append(slot);
	else if (die < 80)
		pick_snapshot(slot);
	else if (die < 85)
		pick_unique(slot);
	else
		pick_blind(slot);
}

void slot_next(void *ctx)
{
	struct worker_slot *slot = ctx;
	struct worker *worker = slot->worker;

	if (slot == &worker->slot[LOAD_LEASE_SLOT] || slot->op != 0)
		return;
	if (worker->load->phase == LOAD_RUN) {
		pick_op(slot);
		slot_call(slot);
	} else if (worker->load->phase == LOAD_PROVE && !worker->proved &&
	           slot == &worker->slot[0]) {
		pick_blind(slot);
		slot_call(slot);
	}
}

void slot_later(struct worker_slot *slot)
{
	struct load *load = slot->worker->load;

	if (load->phase != LOAD_CLOSE)
		pl_timer_set(&slot->timer,
		             load_now(load) +
		                     pl_rng_between(&load->rng, 1, load->opts.think_ms));
}

void worker_put_leased(struct worker *worker)
{
	struct worker_slot *slot = &worker->slot[LOAD_LEASE_SLOT];
	struct hist_op *op;

	if (slot->op != 0 || worker->load->phase != LOAD_RUN)
		return;
	op = slot_begin(slot);
	op->lease = worker->lessee.id;
	add_part(op, hist_key_of(HIST_LEASED, op->id), HIST_PUT, 0);
	slot_call(slot);
}

static void learn_list(struct list_belief *list, const struct hist_part *part,
                       const struct kv_record *record)
{
	if ((part->key & UINT32_MAX) != list->number)
		return;
	list->now = (struct belief){.known = true, .mod = part->seen_mod};
	list->value = part->seen_value;
	list->len = record == NULL ? 0 : record->value.len;
	PL_ASSERT(list->len < sizeof list->text);
	if (list->len > 0)
		memcpy(list->text, record->value.at, list->len);
}

void worker_learn(struct worker *worker, const struct hist_part *part,
                  const struct kv_record *record)
{
	if (hist_class_of(part->key) == HIST_REGISTER)
		worker->reg[part->key & UINT32_MAX] =
			(struct belief){.known = true, .mod = part->seen_mod};
	else if (hist_class_of(part->key) == HIST_LIST)
		learn_list(&worker->list, part, record);
}

bool worker_idle(const struct worker *worker)
{
	for (unsigned i = 0; i <= LOAD_SLOTS_MAX; i++)
		if (worker->slot[i].op != 0)
			return false;
	return worker->lessee.lease == NULL;
}
