/*
 * Terminations in txns: an entry puts the pod's state, or deletes its keys. The node's
 * alloc is written by commit_put, which leaves out or marks the pods whose `end` is set
 * in the node's alloc entries. A termination that does not happen is derived again.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/termination/termination.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/keys/partition.h"

/* -- into a txn -------------------------------------------------------------------- */

/* The reason in the state, if the pod has none. */
static struct pl_span reason_of(const struct sched *sched, const struct sched_pod *pod,
                                enum state_transition end)
{
	if (pod_is_victim(pod) && end == STATE_TRANSITION_TERMINATE &&
	    pod->ask == STATE_ASK_NONE)
		return sched_text(sched, sched->preempted);
	if ((pod->flags & POD_TAINTED) != 0 && end == STATE_TRANSITION_TERMINATE &&
	    pod->ask == STATE_ASK_NONE)
		return PL_SPAN_LIT("taint.noexecute");
	if (pod->why != 0)
		return sched_text(sched, pod->why);
	if (end == STATE_TRANSITION_TERMINATE)
		return pod->ask == STATE_ASK_DELETE ? PL_SPAN_LIT("deleted")
		                                    : PL_SPAN_LIT("evicted");
	if (end == STATE_TRANSITION_PENDING && pod->listed == 0)
		return PL_SPAN_LIT("node.gone");
	return end == STATE_TRANSITION_PENDING ? PL_SPAN_LIT("ended") : PL_SPAN_LIT("");
}

static enum state_phase phase_after(const struct sched_pod *pod,
                                    enum state_transition end)
{
	switch (end) {
	case STATE_TRANSITION_TERMINATE:
		return STATE_TERMINATING;
	case STATE_TRANSITION_PENDING:
		return STATE_PENDING;
	case STATE_TRANSITION_FINISH:
		return pod->ended == STATE_ENDED_SUCCEEDED ? STATE_SUCCEEDED
		                                           : STATE_FAILED;
	case STATE_TRANSITION_NONE:
	case STATE_TRANSITION_REMOVE:
		break;
	}
	PL_UNREACHABLE("end of a pod");
}

/* The phase after leaving. A pod may terminate already although its alloc does not say
 * so. */
static bool next_is_pending(const struct sched_pod *pod)
{
	return pod->ask != STATE_ASK_DELETE &&
	       (pod->phase != STATE_TERMINATING || pod->next_pending);
}

static enum pl_code print_state(struct sched *sched, struct shard_txn *txn,
                                const struct sched_pod *pod, enum state_transition end,
                                struct pl_span *out, struct pl_err *err)
{
	bool terminates = end == STATE_TRANSITION_TERMINATE, deleted;
	char uid[UUID_TEXT_LEN];
	struct pod_state state = {
		.phase = phase_after(pod, end),
		.uid = pod_uid_text(sched, pod, uid),
		.shard = pl_span_str(sched->shard),
		.epoch = txn_epoch(sched, pod->key[0]),
		.attempts = end == STATE_TRANSITION_PENDING ? 0 : pod->attempts,
		.reason = reason_of(sched, pod, end),
		.since_ms = sched->wall_ms,
	};
	enum pl_code code;

	deleted = pod->ask == STATE_ASK_DELETE;
	if (terminates) {
		state.ask = deleted ? STATE_ASK_DELETE : STATE_ASK_NONE;
		state.next_pending = next_is_pending(pod);
	}
	if (pod->awaits) {
		state.ask = STATE_ASK_DELETE;
		state.awaits_finalizers = true;
	}
	if (end != STATE_TRANSITION_PENDING) {
		state.cluster = sched_text(sched, pod->at[0]);
		state.node = sched_text(sched, pod->at[1]);
	}
	pl_buf_clear(&sched->buf, sched->buf.cap);
	code = state_print(&state, &sched->buf, err);
	if (code != PL_OK)
		return code;
	*out = pl_arena_dup(&txn->arena, pl_buf_span(&sched->buf));
	return out->at == NULL ? pl_err_set(err, PL_NOMEM, "write a state") : PL_OK;
}

/* The partition of the pod's pointer, if it has one, else its own. */
static uint32_t pointer_partition(const struct sched *sched,
                                  const struct builder_pod *pod)
{
	uint32_t at = pod->partition;

	if (partition_of_pod(pod->namespace, pod->name, sched->opts.partitions, &at,
	                     NULL) != PL_OK)
		return pod->partition;
	return at;
}

enum pl_code termination_put_one(struct sched *sched, struct shard_txn *txn,
                                 struct sched_pod *pod, struct sched_node *node,
                                 struct pl_err *err)
{
	enum state_transition end = termination_of(sched, pod);
	struct builder_decision decided = txn_decided(sched, pod);
	enum pl_code code = PL_OK;
	bool added;

	if (end == STATE_TRANSITION_NONE && pod_is_victim_at(pod, node))
		end = STATE_TRANSITION_TERMINATE;
	PL_ASSERT(end != STATE_TRANSITION_NONE && decided.state_rev != 0);
	if (end != STATE_TRANSITION_REMOVE)
		code = print_state(sched, txn, pod, end, &decided.state, err);
	if (code != PL_OK)
		return code;
	added = end == STATE_TRANSITION_REMOVE
	                ? builder_delete_pod(&txn->builder, &decided,
	                                     pointer_partition(sched, &decided.pod))
	                : builder_put_state(&txn->builder, &decided);
	if (!added)
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	txn_add(txn, &(struct txn_entry){.kind = ENTRY_TERMINATION,
	                                 .pod = pod,
	                                 .node = node,
	                                 .value = decided.state,
	                                 .since_ms = sched->wall_ms,
	                                 .compared = true,
	                                 .end = (uint8_t)end});
	if (node == NULL)
		return PL_OK;
	node->listed[alloc_entry_find(node, pod)].end = (uint8_t)end;
	return pod->spec == NULL ? PL_OK : rules_put_locks(sched, txn, pod->spec, true);
}

uint32_t termination_count(const struct sched_node *node)
{
	uint32_t count = 0;

	PL_LIST_EACH (link, &node->ending)
		count += PL_LIST_ITEM(link, struct sched_pod, link)->txn == 0;
	return count;
}

enum pl_code termination_put(struct sched *sched, struct shard_txn *txn,
                             struct sched_node *node, uint32_t *left, struct pl_err *err)
{
	PL_LIST_EACH (link, &node->ending) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);
		enum pl_code code;

		if (*left == 0)
			break;
		if (pod->txn != 0)
			continue;
		code = termination_put_one(sched, txn, pod, node, err);
		if (code != PL_OK)
			return code;
		--*left;
	}
	return PL_OK;
}

void termination_undo(const struct txn_entry *entry)
{
	struct sched_node *node = entry->node;
	uint32_t i;

	if (node == NULL || node->reset)
		return;
	i = alloc_entry_find(node, entry->pod);
	if (i != UINT32_MAX)
		node->listed[i].end = STATE_TRANSITION_NONE;
}

void termination_sealed(struct sched *sched, struct shard_txn *txn,
                        const struct txn_entry *entry)
{
	pod_unlink(sched, entry->pod);
	entry->pod->txn = txn_number(sched, txn);
	txn->placements++;
	if (entry->node != NULL)
		entry->node->departure_ms = 0;
}

/* -- pods that no node lists ------------------------------------------------------- */

static bool is_expected(const struct shard_txn *txn, const struct keys_id *id)
{
	for (uint32_t i = 0; i < txn->entries; i++) {
		const struct keys_id *other = &txn->entry[i].id;

		if (other->kind == KEYS_ALLOC && pl_span_eq(other->scope, id->scope) &&
		    pl_span_eq(other->name, id->name))
			return true;
	}
	return false;
}

/* The pod's node has no alloc, so no alloc has to say that its room is free. */
static enum pl_code expect_no_alloc(struct sched *sched, struct shard_txn *txn,
                                    const struct sched_pod *pod)
{
	struct keys_id id = {.kind = KEYS_ALLOC,
	                     .scope = sched_text(sched, pod->at[0]),
	                     .name = sched_text(sched, pod->at[1])};
	struct keys_text text;
	enum pl_code code = partition_of_node(id.scope, id.name, sched->opts.partitions,
	                                      &id.partition, NULL);

	if (pod->phase == STATE_PENDING || pod->at[1] == 0 || is_expected(txn, &id))
		return PL_OK;
	if (code == PL_OK)
		code = keys_build(&id, &text, NULL);
	if (code != PL_OK)
		return code;
	if (!builder_expect(&txn->builder, keys_span(&text), 0))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	txn_add(txn, &(struct txn_entry){.compared = true});
	return PL_OK;
}

static enum pl_code put_unplaced(struct sched *sched, struct shard_txn *txn,
                                 struct sched_pod *pod, struct pl_err *err)
{
	struct txn_builder was = txn->builder;
	uint32_t entries = txn->entries;
	enum pl_code code = expect_no_alloc(sched, txn, pod);

	if (code == PL_OK)
		code = termination_put_one(sched, txn, pod, NULL, err);
	if (code == PL_OK)
		return PL_OK;
	txn->builder = was;
	txn->entries = entries;
	return code;
}

static void fill_txn(struct sched *sched, struct shard_txn *txn)
{
	PL_LIST_EACH (link, &sched->ending_unplaced) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);
		struct pl_err err = {0};
		enum pl_code code;

		if (txn->placements >= sched->batch_size)
			return;
		if (!termination_is_unplaced(sched, pod)) {
			termination_reconcile(sched, pod);
			continue;
		}
		code = put_unplaced(sched, txn, pod, &err);
		if (code == PL_BUSY && txn->entries > 0)
			return;
		if (code == PL_OK) {
			termination_sealed(sched, txn, &txn->entry[txn->entries - 1]);
			continue;
		}
		if (err.code == PL_OK)
			pl_err_set(&err, code, "make a transaction for the end of a pod");
		report_trouble(sched, &err);
		termination_pause(sched);
		termination_reconcile(sched, pod);
		return;
	}
}

static bool send_unplaced(struct sched *sched)
{
	struct shard_txn *txn = txn_begin(sched, TXN_COMMIT);

	if (txn == NULL)
		return false;
	if (txn_reserve(txn, 2 * sched->batch_size + 2) == PL_OK)
		fill_txn(sched, txn);
	if (txn->entries == 0) {
		txn_end(sched, txn);
		return false;
	}
	txn_post(sched, txn);
	return true;
}

static bool can_send(const struct sched *sched)
{
	return !pl_list_empty(&sched->ending_unplaced) &&
	       sched->commits < sched->opts.inflight;
}

void termination_run(struct sched *sched)
{
	termination_retry(sched);
	while (can_send(sched) && send_unplaced(sched))
		;
}

uint64_t termination_deadline_ms(const struct sched *sched)
{
	if (can_send(sched))
		return 0;
	return termination_retry_ms(sched);
}

/* -- answers ----------------------------------------------------------------------- */

/* The pod's room is free, or the pod is known to leave. */
static void listed_leave(struct sched *sched, const struct txn_entry *entry)
{
	struct sched_node *node = entry->node;
	uint32_t i = node == NULL || node->reset ? UINT32_MAX
	                                         : alloc_entry_find(node, entry->pod);
	uint32_t placed;

	if (i == UINT32_MAX)
		return;
	node->listed[i].end = STATE_TRANSITION_NONE;
	if (entry->end == STATE_TRANSITION_TERMINATE) {
		node->listed[i].leaving = true;
		alloc_entry_mark(sched, node, i);
		return;
	}
	placed = alloc_entry_del(sched, node, i);
	if (placed == SNAPSHOT_NONE)
		return;
	snapshot_pod_remove(&sched->snapshot, placed);
	emit_queue_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
	reservations_retry_nominated(sched, node);
}

/* The event of the deletion may come late; older events are ignored until then. */
static void mark_removed(struct sched_pod *pod, int64_t revision)
{
	pod->rev[FACT_SPEC] = pod->rev[FACT_STATE] = revision;
	pod->flags |= POD_DELETED;
	pod->phase = PHASE_NONE;
}

static void apply_end(struct sched *sched, const struct txn_entry *entry,
                      int64_t revision)
{
	struct sched_pod *pod = entry->pod;
	enum state_transition end = (enum state_transition)entry->end;

	pod->flags &= (uint16_t)~POD_TAINTED;
	if (end == STATE_TRANSITION_TERMINATE) {
		if (pod_is_victim(pod) && pod->ask == STATE_ASK_NONE)
			pod_set_reason(sched, pod, sched->preempted);
		pod->next_pending = next_is_pending(pod);
		if (pod->next_pending)
			pod->ask = STATE_ASK_NONE;
	}
	if (end == STATE_TRANSITION_REMOVE) {
		mark_removed(pod, revision);
	} else {
		pod->rev[FACT_STATE] = revision;
		pod->seen[FACT_STATE] =
			sched->partition[pod->key[0]].generation[SCHED_SCHEDULES];
		pod->phase = (uint8_t)phase_after(pod, end);
		pod->since_ms = entry->since_ms;
	}
	if (end == STATE_TRANSITION_TERMINATE)
		return;
	pod->attempts = end == STATE_TRANSITION_PENDING ? 0 : pod->attempts;
	if (!pod->awaits)
		pod->ask = STATE_ASK_NONE;
	pod->ended = pod->next_pending = 0;
	pod_set_at(sched, pod, 0, 0);
	pod_set_reason(sched, pod, 0);
}

void termination_stands(struct sched *sched, const struct txn_entry *entry,
                        int64_t revision)
{
	struct sched_pod *pod = entry->pod;
	bool reset = (pod->flags & POD_RESET) != 0;

	pod->txn = 0;
	pod->flags &= (uint16_t)~POD_RESET;
	if (entry->end == STATE_TRANSITION_TERMINATE)
		sched->figures.terminated++;
	else
		sched->figures.ended++;
	if (!reset)
		apply_end(sched, entry, revision);
	listed_leave(sched, entry);
}

void termination_unsent(const struct sched *sched, const struct txn_entry *entry)
{
	struct sched_pod *pod = entry->pod;

	pod->txn = 0;
	pod->flags &= (uint16_t)~POD_RESET;
	/* The state of a remote pod may be outdated, and is read again. For a pod that
	 * became local meanwhile the list has come, and brought nothing new if the state
	 * had been read before. */
	if (entry->epoch == 0 && !pod_is_owned(sched, pod)) {
		pod->flags &= (uint16_t)~POD_TAINTED;
		pod->rev[FACT_STATE] = 0;
	}
	termination_undo(entry);
}
