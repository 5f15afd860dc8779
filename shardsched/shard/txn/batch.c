#include "shardsched/shard/txn/batch.h"

#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/txn/commit.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/base/alloc.h"

enum {
	FENCES = 8,     /* compares that the guard puts in front */
	POD_OPS = 2,    /* compares of a pod at most; it has one put and one read */
	NODE_OPS = 3,   /* reads of a node at most */
	GROW_PARTS = 4, /* pods_max grows by this part after each full batch that stood */
	OPS_DEFAULT = 128,
	ARENA_CHUNK = 16 << 10,
};

#define BIT(x) (1u << (x))

static const unsigned states_after[BATCH_STATES] = {
	[BATCH_NONE] = BIT(BATCH_GATHERING) | BIT(BATCH_BROKEN),
	[BATCH_GATHERING] = BIT(BATCH_WAITING) | BIT(BATCH_BROKEN),
	[BATCH_WAITING] = BIT(BATCH_SENT) | BIT(BATCH_BROKEN),
	[BATCH_SENT] = BIT(BATCH_NONE),
	[BATCH_BROKEN] = BIT(BATCH_NONE),
};

static void set_state(struct batch *batch, enum batch_state state)
{
	PL_ASSERT((states_after[batch->state] & BIT(state)) != 0);
	batch->state = state;
}

static void set_broken(struct batch *batch)
{
	if (batch->state != BATCH_BROKEN)
		set_state(batch, BATCH_BROKEN);
}

void batch_init(struct sched *sched)
{
	struct batch *batch = &sched->batch;

	pl_list_init(&batch->nodes);
	pl_list_init(&batch->gangs);
	pl_arena_init(&batch->arena, ARENA_CHUNK, 0);
	batch->pods_max = sched->opts.batch_size;
}

void batch_done(struct sched *sched)
{
	pl_arena_done(&sched->batch.arena);
	free(sched->batch.condition);
}

/* -- contents ----------------------------------------------------------------------- */

/* Counts every pod on a node of its own, which takes most operations. */
bool batch_fits(const struct sched *sched, uint32_t pods, uint32_t nodes)
{
	const struct batch *batch = &sched->batch;
	uint64_t ops = sched->limits.txn_ops == 0 ? OPS_DEFAULT : sched->limits.txn_ops;
	uint64_t keys = batch->conditions + FENCES;

	pods += batch->pods;
	nodes += batch->node_count;
	return (uint64_t)POD_OPS * pods + 2 * (uint64_t)nodes + keys <= ops &&
	       pods + (uint64_t)NODE_OPS * nodes + keys <= ops;
}

static bool batch_has_room(const struct sched *sched)
{
	return sched->batch.pods < sched->batch.pods_max && batch_fits(sched, 1, 1);
}

bool batch_accepts_pod(const struct sched *sched)
{
	const struct batch *batch = &sched->batch;

	if (batch->state > BATCH_GATHERING || !pl_list_empty(&batch->gangs))
		return false;
	return batch->pods == 0 || batch_has_room(sched);
}

bool batch_accepts_gang(const struct sched *sched)
{
	const struct batch *batch = &sched->batch;

	if (batch->state == BATCH_NONE)
		return true;
	return batch->state == BATCH_GATHERING && !pl_list_empty(&batch->gangs) &&
	       batch_has_room(sched);
}

void batch_add_gang(struct sched *sched, struct sched_gang *gang)
{
	struct batch *batch = &sched->batch;

	PL_ASSERT(batch_accepts_gang(sched));
	if (batch->state == BATCH_NONE)
		set_state(batch, BATCH_GATHERING);
	pl_list_add_tail(&batch->gangs, &gang->batched);
}

bool batch_is_gathering(const struct sched *sched)
{
	return sched->batch.state == BATCH_GATHERING ||
	       sched->batch.state == BATCH_BROKEN;
}

/* A gang may have broken the batch by a condition before its last pods come. */
void batch_add(struct sched *sched, struct sched_pod *pod)
{
	struct batch *batch = &sched->batch;
	struct sched_node *node = pod->node;

	PL_ASSERT(pod->stage == POD_ASSUMED);
	PL_ASSERT(batch->state == BATCH_NONE || batch_is_gathering(sched));
	if (batch->state == BATCH_NONE) {
		batch->began_ms = sched->now_ms;
		set_state(batch, BATCH_GATHERING);
	}
	batch->pods++;
	pod->flags |= POD_BATCHED;
	if (node->batched++ == 0) {
		pl_list_add_tail(&batch->nodes, &node->batch);
		batch->node_count++;
	}
	node_set_ready(sched, node);
}

/* Conditions have no bound but that of a txn: batch_fits counts them, and what does not
 * fit in the end shows when the batch is sent. */
static struct batch_condition *reserve_condition(struct batch *batch)
{
	uint32_t cap = batch->condition_cap == 0 ? 16 : batch->condition_cap * 2;
	struct batch_condition *grown;

	if (batch->conditions < batch->condition_cap)
		return &batch->condition[batch->conditions];
	grown = pl_realloc(batch->condition, cap * sizeof *grown);
	if (grown == NULL)
		return NULL;
	batch->condition = grown;
	batch->condition_cap = cap;
	return &grown[batch->conditions];
}

uint32_t batch_add_condition(struct sched *sched, const struct batch_condition *condition)
{
	struct batch *batch = &sched->batch;
	struct batch_condition *at = reserve_condition(batch);

	PL_ASSERT(batch->state == BATCH_NONE || batch_is_gathering(sched));
	if (at == NULL) {
		set_broken(batch);
		return UINT32_MAX;
	}
	*at = *condition;
	at->key = pl_arena_dup(&batch->arena, condition->key);
	at->value = pl_arena_dup(&batch->arena, condition->value);
	if (at->key.at == NULL || (at->value.at == NULL && condition->value.len > 0))
		set_broken(batch);
	return batch->conditions++;
}

void batch_condition_set_value(struct sched *sched, struct batch_condition *condition,
                               struct pl_span value)
{
	condition->value = pl_arena_dup(&sched->batch.arena, value);
	if (condition->value.at == NULL)
		set_broken(&sched->batch);
}

static void remove_node(struct sched *sched, struct sched_node *node)
{
	node->batched = 0;
	pl_list_del(&node->batch);
	sched->batch.node_count--;
	node_set_ready(sched, node);
}

void batch_pod_left(struct sched *sched, struct sched_pod *pod)
{
	struct batch *batch = &sched->batch;

	PL_ASSERT(batch->pods > 0 && pod->node->batched > 0);
	pod->flags &= (uint16_t)~POD_BATCHED;
	set_broken(batch);
	batch->pods--;
	if (pod->node->batched == 1)
		remove_node(sched, pod->node);
	else
		pod->node->batched--;
}

void batch_break(struct sched *sched)
{
	struct batch *batch = &sched->batch;

	if (batch->state == BATCH_GATHERING || batch->state == BATCH_WAITING)
		set_broken(batch);
}

void batch_close(struct sched *sched)
{
	if (sched->batch.state == BATCH_GATHERING)
		set_state(&sched->batch, BATCH_WAITING);
}

static void batch_end(struct sched *sched, bool applied)
{
	struct batch *batch = &sched->batch;

	PL_ASSERT(pl_list_empty(&batch->nodes) && batch->node_count == 0);
	set_state(batch, BATCH_NONE);
	batch->pods = batch->conditions = batch->node_set = 0;
	batch->number++;
	pl_arena_reset(&batch->arena);
	if (large_gangs_want_turn(sched))
		large_gangs_set_due(sched);
	while (!pl_list_empty(&batch->gangs)) {
		struct sched_gang *gang =
			PL_LIST_ITEM(batch->gangs.next, struct sched_gang, batched);

		pl_list_del(&gang->batched);
		gang_batch_done(sched, gang, applied);
	}
}

/* The pods that are left in it are decided again. */
static void batch_dissolve(struct sched *sched)
{
	struct batch *batch = &sched->batch;

	while (!pl_list_empty(&batch->nodes)) {
		struct sched_node *node =
			PL_LIST_ITEM(batch->nodes.next, struct sched_node, batch);

		PL_LIST_EACH (link, &node->waiting) {
			struct sched_pod *pod =
				PL_LIST_ITEM(link, struct sched_pod, link);

			if ((pod->flags & POD_BATCHED) != 0)
				pod_redecide(sched, pod);
		}
	}
	batch_end(sched, false);
}

/* -- sending ------------------------------------------------------------------------- */

static bool are_nodes_free(const struct sched *sched)
{
	PL_LIST_EACH (at, &sched->batch.nodes) {
		const struct sched_node *node =
			PL_LIST_ITEM(at, struct sched_node, batch);

		if (node->txn != 0)
			return false;
		PL_LIST_EACH (link, &node->waiting) {
			const struct sched_pod *pod =
				PL_LIST_ITEM(link, struct sched_pod, link);

			if ((pod->flags & POD_BATCHED) != 0 && pod->txn != 0)
				return false; /* the pod's status is being written */
		}
	}
	return true;
}

bool batch_is_ready(const struct sched *sched)
{
	const struct batch *batch = &sched->batch;

	if (batch->state == BATCH_BROKEN)
		return true;
	return batch->state == BATCH_WAITING && sched->commits < sched->opts.inflight &&
	       are_nodes_free(sched);
}

enum pl_code batch_put_condition(struct shard_txn *txn,
                                 const struct batch_condition *condition)
{
	struct txn_builder *builder = &txn->builder;
	struct txn_entry entry = {.compared = condition->how != BATCH_BUMP};
	bool fits = false;

	switch (condition->how) {
	case BATCH_EXPECT:
		fits = builder_expect(builder, condition->key, condition->rev);
		break;
	case BATCH_PUT:
		fits = builder_put(builder, condition->key, condition->rev,
		                   condition->value);
		break;
	case BATCH_BUMP:
		fits = builder_bump(builder, condition->key, condition->value);
		break;
	}
	if (!fits)
		return builder->code == PL_OK ? PL_BUSY : builder->code;
	if (condition->how != BATCH_EXPECT)
		entry.value = condition->value;
	return txn_add_key(txn, &entry, condition->key);
}

static enum pl_code fill_txn(struct sched *sched, struct shard_txn *txn, bool others,
                             struct pl_err *err)
{
	const struct batch *batch = &sched->batch;
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; code == PL_OK && i < batch->conditions; i++)
		code = batch_put_condition(txn, &batch->condition[i]);
	PL_LIST_EACH (at, &batch->nodes) {
		struct sched_node *node = PL_LIST_ITEM(at, struct sched_node, batch);

		if (code != PL_OK)
			break;
		code = commit_put(sched, txn, node, others ? COMMIT_ALL : COMMIT_BATCHED,
		                  err);
		node->full = txn->full && !others;
	}
	if (code == PL_OK)
		return PL_OK;
	commit_undo(sched, txn, 0);
	builder_begin(&txn->builder, &txn->arena, sched->limits);
	return code;
}

void batch_too_large(struct sched *sched)
{
	const struct pl_list *gangs = &sched->batch.gangs;

	if (!pl_list_empty(gangs) && gangs->next->next == gangs)
		gang_too_large(PL_LIST_ITEM(gangs->next, struct sched_gang, batched));
}

/* One of its nodes has no room in its alloc for what was decided: the pods go to other
 * nodes. */
static bool close_full_node(struct sched *sched)
{
	PL_LIST_EACH (at, &sched->batch.nodes) {
		struct sched_node *node = PL_LIST_ITEM(at, struct sched_node, batch);

		if (!node->full)
			continue;
		node_reconcile(sched, node);
		return true;
	}
	return false;
}

static void give_up_on_gangs(struct sched *sched, const struct pl_err *err)
{
	if (err->code == PL_BUSY || err->code == PL_LIMIT) {
		batch_too_large(sched);
		return;
	}
	PL_LIST_EACH (link, &sched->batch.gangs)
		PL_LIST_ITEM(link, struct sched_gang, batched)->pause = true;
	report_trouble(sched, err);
}

/* The pod is decided again, and its status says that too much is to be compared for it. */
static void refuse_only_pod(struct sched *sched)
{
	const struct sched_node *node =
		PL_LIST_ITEM(sched->batch.nodes.next, struct sched_node, batch);

	PL_LIST_EACH (link, &node->waiting) {
		const struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		if ((pod->flags & POD_BATCHED) != 0)
			class_more_of(pool_class_of(pod->queue.class))
				->class_rules.coarse = true;
	}
}

/* The batch is too large, or memory is missing. A pod that can not be sent even alone is
 * refused until the repair. */
static void batch_give_up(struct sched *sched, const struct pl_err *err)
{
	struct batch *batch = &sched->batch;
	struct sched_node *node;

	set_broken(batch);
	if (close_full_node(sched))
		return;
	if (batch->pods > 1)
		batch->pods_max = batch->pods / 2;
	if (!pl_list_empty(&batch->gangs)) {
		give_up_on_gangs(sched, err);
		return;
	}
	if (batch->pods > 1)
		return;
	if (batch->pods == 1 && (err->code == PL_BUSY || err->code == PL_LIMIT)) {
		refuse_only_pod(sched);
		return;
	}
	node = PL_LIST_ITEM(batch->nodes.next, struct sched_node, batch);
	PL_LIST_EACH (link, &node->waiting) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		if ((pod->flags & POD_BATCHED) == 0)
			continue;
		pod_withdraw(sched, pod);
		pod->flags |= POD_REFUSED;
		break;
	}
	report_repair(sched, err);
}

static void post_txn(struct sched *sched, struct shard_txn *txn)
{
	struct batch *batch = &sched->batch;

	commit_seal(sched, txn, 0);
	while (!pl_list_empty(&batch->nodes))
		remove_node(sched,
		            PL_LIST_ITEM(batch->nodes.next, struct sched_node, batch));
	set_state(batch, BATCH_SENT);
	sched->figures.batches++;
	txn_post(sched, txn);
}

static uint32_t count_waiting(const struct batch *batch)
{
	uint32_t count = 0;

	PL_LIST_EACH (at, &batch->nodes)
		count += PL_LIST_ITEM(at, struct sched_node, batch)->waiting_count;
	return count;
}

static void send_batch(struct sched *sched)
{
	struct batch *batch = &sched->batch;
	struct shard_txn *txn = txn_begin(sched, TXN_COMMIT);
	struct pl_err err = {0};
	enum pl_code code;

	if (txn == NULL)
		return;
	txn->batch = true;
	code = txn_reserve(txn, COMMIT_POD_ENTRIES * count_waiting(batch) +
	                                COMMIT_NODE_ENTRIES * batch->node_count +
	                                batch->conditions);
	if (code == PL_OK)
		code = fill_txn(sched, txn, true, &err);
	if ((code == PL_BUSY || code == PL_LIMIT) && batch->state == BATCH_WAITING)
		code = fill_txn(sched, txn, false, &err);
	if (code == PL_OK) {
		post_txn(sched, txn);
		return;
	}
	txn_end(sched, txn);
	/* A node left the snapshot while the txn was filled, and took its pods out of the
	 * batch. */
	if (batch->state == BATCH_BROKEN)
		return;
	if (err.code == PL_OK)
		pl_err_set(&err, code, "make a transaction for a batch");
	batch_give_up(sched, &err);
}

void batch_run(struct sched *sched)
{
	struct batch *batch = &sched->batch;

	if (batch->state == BATCH_WAITING && batch_is_ready(sched))
		send_batch(sched);
	if (batch->state == BATCH_BROKEN)
		batch_dissolve(sched);
}

/* -- its answer --------------------------------------------------------------------- */

static void redecide_entry(struct sched *sched, const struct txn_entry *entry)
{
	struct sched_pod *pod =
		pod_find(sched, entry->id.partition, entry->id.scope, entry->id.name);

	if (pod != NULL && pod->stage == POD_ASSUMED && pod->txn == 0)
		pod_redecide(sched, pod);
}

void batch_ended(struct sched *sched, const struct shard_txn *txn)
{
	struct batch *batch = &sched->batch;
	bool applied = txn->outcome == TXN_APPLIED;
	uint32_t step = sched->opts.batch_size / GROW_PARTS + 1;

	PL_ASSERT(batch->state == BATCH_SENT && txn->batch);
	for (uint32_t i = 0; !applied && i < txn->entries; i++)
		if (txn->entry[i].batched)
			redecide_entry(sched, &txn->entry[i]);
	sched->figures.batches_failed += !applied;
	lock_backoff_batch_done(sched, applied && rules_batch_has_node_set(sched),
	                        batch->began_ms);
	if (!applied) {
		batch->pods_max = batch->pods > 1 ? batch->pods / 2 : 1;
	} else if (batch->pods >= batch->pods_max) {
		batch->pods_max = batch->pods_max + step < sched->opts.batch_size
		                          ? batch->pods_max + step
		                          : sched->opts.batch_size;
	}
	batch_end(sched, applied);
}
