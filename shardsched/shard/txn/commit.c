/*
 * From ready nodes to txns.
 *
 * The first txn goes at once; further ones while it is in flight when they are full, so
 * that slow arrivals are not sent in pieces. A node that conflicted lately goes alone.
 */
#include "shardsched/shard/txn/commit.h"

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/termination/termination.h"
#include "shardsched/shard/txn/cooldown.h"
#include "shardsched/shard/txn/inflight.h"

/* The state that the pod is to have, in the txn's arena. */
static enum pl_code print_state(struct sched *sched, struct shard_txn *txn,
                                const struct sched_pod *pod, struct pl_span *out,
                                struct pl_err *err)
{
	const struct sched_node *node = pod->node;
	char uid[UUID_TEXT_LEN];
	const struct pod_state state = {
		.phase = STATE_BOUND,
		.uid = pod_uid_text(sched, pod, uid),
		.cluster = sched_text(sched, node->key[0]),
		.node = sched_text(sched, node->key[1]),
		.shard = pl_span_str(sched->shard),
		.epoch = sched->partition[pod->key[0]].epoch,
		.attempts = pod->attempts + pod_attempts(pod),
		.since_ms = sched->wall_ms,
	};
	enum pl_code code;

	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = state_print(&state, &sched->buf, err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(&txn->arena, pl_buf_span(&sched->buf));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "write a state") : PL_OK;
}

static uint8_t is_batched(const struct sched_pod *pod)
{
	return (pod->flags & POD_BATCHED) != 0;
}

static enum pl_code put_pod(struct sched *sched, struct shard_txn *txn,
                            struct sched_pod *pod, struct pl_err *err)
{
	struct builder_decision decided = txn_decided(sched, pod);
	enum pl_code code = alloc_entry_room(pod->node, 1);

	if (code != PL_OK)
		return pl_err_set(err, code, "list a pod");
	code = print_state(sched, txn, pod, &decided.state, err);
	if (code != PL_OK)
		return code;
	if (!builder_put_state(&txn->builder, &decided))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	txn_add(txn, &(struct txn_entry){.kind = ENTRY_PLACEMENT,
	                                 .pod = pod,
	                                 .node = pod->node,
	                                 .value = decided.state,
	                                 .compared = true,
	                                 .batched = is_batched(pod)});
	alloc_entry_add(sched, pod->node, pod, pod->placed, true);
	/* A node that lacks memory to show a pod leaves the snapshot, and no pod waits there
	 * any more. */
	if (pod->stage != POD_ASSUMED)
		return pl_err_set(err, PL_NOMEM, "show a pod");
	return PL_OK;
}

/*
 * False: the Node has to be compared beside the alloc.
 *
 * A writer that changes a Node writes its alloc as well; but the two are watched apart,
 * and the known alloc may be newer than the known Node. So the Node is compared too,
 * unless the alloc is the shard's own, written when the Node was the known one, or came
 * in one transaction with it. A Node that is newer than the alloc is compared as well:
 * the alloc alone would not show that the store went back to before that Node.
 */
static bool is_node_older(const struct sched_node *node)
{
	int64_t is = node->rev[FACT_NODE], alloc = node->rev[FACT_ALLOC];

	return is == alloc || (node->alloc == NODE_ALLOC_OWN && is < alloc);
}

static enum pl_code expect_node(struct shard_txn *txn, struct sched_node *node,
                                const struct builder_node *name)
{
	const struct keys_id id = {.kind = KEYS_NODE,
	                           .partition = name->partition,
	                           .scope = name->cluster,
	                           .name = name->name};
	struct keys_text text;
	enum pl_code code = keys_build(&id, &text, NULL);

	if (code != PL_OK)
		return code;
	if (!builder_expect(&txn->builder, keys_span(&text), node->rev[FACT_NODE]))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	txn_add(txn,
	        &(struct txn_entry){.kind = ENTRY_NODE, .node = node, .compared = true});
	return PL_OK;
}

/* Bytes that have to stay free in the alloc. A placement leaves room for some pods that
 * are asked to leave later, which names them a second time; a gang's reservation leaves
 * room for the pods that it becomes. */
static size_t spare_bytes_of(const struct shard_txn *txn, const struct sched_node *node)
{
	if (txn->kind == TXN_GANG)
		return txn->spare_bytes;
	for (uint32_t i = 0; i < node->count; i++)
		if (node->listed[i].sent)
			return ALLOC_LEAVE_BYTES;
	return 0;
}

static enum pl_code print_alloc(struct sched *sched, const struct shard_txn *txn,
                                struct sched_node *node, struct pl_err *err)
{
	enum pl_code code;

	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = alloc_entries_print(sched, node, &sched->buf, err);
	if (code == PL_OK && sched->buf.len + spare_bytes_of(txn, node) > ALLOC_BYTES_MAX)
		code = pl_err_set(err, PL_LIMIT, "alloc of %u pods: no room for more",
		                  node->count);
	return code;
}

static enum pl_code write_alloc(struct sched *sched, struct shard_txn *txn,
                                struct sched_node *node, struct pl_err *err)
{
	const struct builder_node key = {.partition = node->partition,
	                                 .cluster = sched_text(sched, node->key[0]),
	                                 .name = sched_text(sched, node->key[1])};
	struct pl_span value;
	enum pl_code code;

	code = print_alloc(sched, txn, node, err);
	txn->full = code == PL_LIMIT;
	if (code != PL_OK)
		return code;
	value = pl_arena_dup(&txn->arena, pl_buf_span(&sched->buf));
	if (value.at == NULL)
		return pl_err_set(err, PL_NOMEM, "write an alloc");
	if (!builder_put_alloc(&txn->builder, &key, node->rev[FACT_ALLOC], value))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	txn_add(txn, &(struct txn_entry){.kind = ENTRY_ALLOC,
	                                 .node = node,
	                                 .value = value,
	                                 .compared = true});
	if (is_node_older(node))
		return PL_OK;
	return expect_node(txn, node, &key);
}

static enum pl_code put_alloc(struct sched *sched, struct shard_txn *txn,
                              struct sched_node *node, struct pl_err *err)
{
	enum pl_code code;

	reservations_send(sched, node);
	code = write_alloc(sched, txn, node, err);
	if (code == PL_OK)
		code = preemption_report(sched, txn, node, err);
	if (code == PL_OK)
		code = nominations_report(sched, txn, node, err);
	if (code != PL_OK) {
		reservations_unsend(sched, node);
		preemption_undo(sched, node);
	}
	return code;
}

enum pl_code commit_put(struct sched *sched, struct shard_txn *txn,
                        struct sched_node *node, uint32_t count, struct pl_err *err)
{
	enum pl_code code = PL_OK;
	uint32_t left = count;

	txn->full = false;
	/* The batch goes without terminations */
	if (count < COMMIT_BATCHED && node_may_write(sched, node))
		code = termination_put(sched, txn, node, &left, err);
	if (code != PL_OK)
		return code;
	PL_LIST_EACH (link, &node->waiting) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		if (left == 0)
			break;
		if (pod->txn != 0) /* the pod's status is being written */
			continue;
		if (count == COMMIT_BATCHED && (pod->flags & POD_BATCHED) == 0)
			continue;
		code = put_pod(sched, txn, pod, err);
		if (code == PL_OK)
			code = rules_expect_registries(sched, txn, pod->key[1]);
		if (code != PL_OK)
			return code;
		left--;
	}
	if (count < COMMIT_BATCHED && node_may_write(sched, node) &&
	    preemption_goes(sched, node))
		code = preemption_put(sched, txn, node, err);
	return code != PL_OK ? code : put_alloc(sched, txn, node, err);
}

void commit_undo(struct sched *sched, struct shard_txn *txn, uint32_t entries)
{
	while (txn->entries > entries) {
		const struct txn_entry *entry = &txn->entry[--txn->entries];

		switch (entry->kind) {
		case ENTRY_PLACEMENT:
			(void)alloc_entry_del(sched, entry->node,
			                      alloc_entry_find(entry->node, entry->pod));
			break;
		case ENTRY_TERMINATION:
			termination_undo(entry);
			break;
		case ENTRY_ALLOC:
		case ENTRY_NODE:
			reservations_unsend(sched, entry->node);
			preemption_undo(sched, entry->node);
			break;
		case ENTRY_CONDITION:
			if (!txn_key_has_partition(entry->id.kind))
				rules_undo(sched, txn, entry);
			break;
		case ENTRY_READ:
		case ENTRY_STATUS:
			break;
		}
	}
}

static void seal_placement(struct sched *sched, struct shard_txn *txn,
                           struct sched_pod *pod)
{
	pod_unlink(sched, pod);
	pod_set_stage(pod, POD_COMMITTING);
	pod->placed = SNAPSHOT_NONE; /* the alloc entry has the number now */
	pod->txn = txn_number(sched, txn);
	pod->flags &= (uint16_t)~POD_BATCHED;
	txn->placements++;
}

static void seal_node(struct sched *sched, struct shard_txn *txn, struct sched_node *node)
{
	node->txn = txn_number(sched, txn);
	preemption_seal(node);
	node_set_ready(sched, node);
}

void commit_seal(struct sched *sched, struct shard_txn *txn, uint32_t from)
{
	for (uint32_t i = from; i < txn->entries; i++) {
		const struct txn_entry *entry = &txn->entry[i];

		switch (entry->kind) {
		case ENTRY_PLACEMENT:
			seal_placement(sched, txn, entry->pod);
			break;
		case ENTRY_TERMINATION:
			termination_sealed(sched, txn, entry);
			break;
		case ENTRY_STATUS:
			entry->pod->txn = txn_number(sched, txn);
			break;
		case ENTRY_ALLOC:
			txn->nodes++;
			seal_node(sched, txn, entry->node);
			break;
		case ENTRY_NODE:
			seal_node(sched, txn, entry->node);
			break;
		case ENTRY_CONDITION:
		case ENTRY_READ:
			break;
		}
	}
}

static uint32_t count_eligible(const struct sched *sched, const struct sched_node *node)
{
	uint32_t count = node_may_write(sched, node) ? termination_count(node) : 0;

	PL_LIST_EACH (link, &node->waiting)
		count += PL_LIST_ITEM(link, struct sched_pod, link)->txn == 0;
	return count;
}

/* The pod that goes if only one goes; NULL: no pod comes or goes. */
static struct sched_pod *first_pod(const struct sched *sched,
                                   const struct sched_node *node)
{
	const struct pl_list *lists[] = {&node->ending, &node->waiting};

	for (unsigned i = node_may_write(sched, node) ? 0 : 1; i < 2; i++)
		PL_LIST_EACH (link, lists[i]) {
			struct sched_pod *pod =
				PL_LIST_ITEM(link, struct sched_pod, link);

			if (pod->txn == 0)
				return pod;
		}
	return NULL;
}

static bool has_leaving(const struct sched_node *node)
{
	for (uint32_t i = 0; i < node->count; i++)
		if (node->listed[i].leaving)
			return true;
	return false;
}

/* Not even one pod goes into a txn of its own. A pod that is to leave is tried again
 * after a while. Pods that are to come go to other nodes if the alloc has no room for
 * them; else the pod that was tried is refused until the repair. The other pods of the
 * node go on. */
static void give_up_node(struct sched *sched, struct sched_node *node, bool full,
                         const struct pl_err *err)
{
	struct sched_pod *pod = first_pod(sched, node);
	bool leaves = pod != NULL && pod->linked == LINKED_TERMINATING;

	if (full && !leaves && !node->full) {
		node_set_full(sched, node);
		return;
	}
	if (!full || !leaves || !has_leaving(node)) /* else there will be room soon */
		report_repair(sched, err);
	if (pod == NULL) /* nothing can go before the repair */
		return;
	if (leaves) {
		termination_pause(sched);
		termination_reconcile(sched, pod);
	} else {
		pod_withdraw(sched, pod);
		pod->flags |= POD_REFUSED;
	}
	node_set_ready(sched, node);
}

/* The node has something to write even if no pod comes or goes. */
static bool has_own_write(const struct sched *sched, const struct sched_node *node)
{
	return (reservations_go(sched, node) || preemption_goes(sched, node)) &&
	       node_may_write(sched, node);
}

enum pl_code commit_add(struct sched *sched, struct shard_txn *txn,
                        struct sched_node *node, uint32_t room)
{
	uint32_t entries = txn->entries, count;
	struct pl_err err = {0};
	enum pl_code code = PL_OK;

	preemption_check(sched, node);
	if (pl_list_empty(&node->ready))
		/* the plan was canceled and nothing else is to be written */
		return PL_OK;
	count = count_eligible(sched, node);
	if (entries > 0 && count > 0 && room == 0)
		return PL_BUSY;
	if (count > room)
		count = room;
	for (bool more = count > 0 || has_own_write(sched, node); more; count /= 2) {
		struct txn_builder was = txn->builder;

		more = count > 1 || (count == 1 && has_own_write(sched, node));
		code = commit_put(sched, txn, node, count, &err);
		if (code == PL_OK) {
			commit_seal(sched, txn, entries);
			return PL_OK;
		}
		commit_undo(sched, txn, entries);
		txn->builder = was;
		if (entries > 0 && code == PL_BUSY)
			return PL_BUSY; /* the next txn takes it */
	}
	pl_list_del(&node->ready);
	if (code == PL_OK) /* the statuses of all waiting pods are being written */
		return PL_BUSY;
	if (err.code == PL_OK)
		pl_err_set(&err, code, "%.*s/%.*s: %s does not go into a transaction",
		           PL_SPAN_ARG(sched_text(sched, node->key[0])),
		           PL_SPAN_ARG(sched_text(sched, node->key[1])),
		           preemption_goes(sched, node) ? "making room" : "one pod");
	if (preemption_goes(sched, node)) {
		preemption_shrink(sched, node, &err);
		node_set_ready(sched, node);
		return PL_BUSY;
	}
	give_up_node(sched, node, txn->full, &err);
	return code;
}

static bool send_commit(struct sched *sched)
{
	const uint32_t entries =
		(COMMIT_POD_ENTRIES + COMMIT_NODE_ENTRIES) * (sched->batch_size + 1);
	struct shard_txn *txn = txn_begin(sched, TXN_COMMIT);

	if (txn == NULL)
		return false;
	(void)!txn_reserve(txn, entries);
	PL_LIST_EACH (link, &sched->ready) {
		struct sched_node *node = PL_LIST_ITEM(link, struct sched_node, ready);
		bool apart = node->alone_ms > sched->now_ms;
		uint32_t room;

		if (txn->entry == NULL || txn->placements >= sched->batch_size ||
		    cooldown_is_full(sched, txn) ||
		    txn->entries - txn->extra_entries + COMMIT_NODE_ENTRIES > entries)
			break;
		if (apart && txn->entries > 0)
			continue;
		room = entries - (txn->entries - txn->extra_entries) -
		       COMMIT_NODE_ENTRIES;
		if (room > sched->batch_size - txn->placements)
			room = sched->batch_size - txn->placements;
		if (commit_add(sched, txn, node, room) == PL_BUSY && txn->entries > 0)
			break;
		if (apart && txn->entries > 0)
			break;
	}
	if (txn->entries == 0) {
		txn_end(sched, txn);
		return false;
	}
	txn_post(sched, txn);
	return true;
}

bool commit_is_ready(const struct sched *sched)
{
	const struct sched_node *first;

	if (pl_list_empty(&sched->ready) || sched->commits >= sched->opts.inflight ||
	    objects_labels_are_behind(sched))
		return false;
	first = PL_LIST_ITEM(sched->ready.next, struct sched_node, ready);
	return sched->commits == 0 ||
	       sched->waiting + sched->ending >= sched->batch_size ||
	       first->alone_ms > sched->now_ms;
}

void commit_run(struct sched *sched)
{
	while (commit_is_ready(sched) && send_commit(sched))
		;
}
