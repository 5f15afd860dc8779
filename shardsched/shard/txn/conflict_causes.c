/* With what a commit conflicted, for the counts of conflicts.h. */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/txn/inflight.h"

static int64_t rev_of(const struct kv_record *record)
{
	return record == NULL ? 0 : record->mod_revision;
}

/* How many of its pods come to that node or leave it. */
static uint32_t placements_on(const struct shard_txn *txn, const struct sched_node *node)
{
	uint32_t record_conflict = 0;

	for (uint32_t i = 0; i < txn->entries; i++)
		record_conflict +=
			txn->entry[i].id.kind == KEYS_STATE && txn->entry[i].node == node;
	return record_conflict;
}

static enum conflict_cause cause_of_pod(const struct sched_pod *pod,
                                        const struct builder_found *found)
{
	if (rev_of(found->state) != pod->rev[FACT_STATE])
		return CONFLICT_STATE;
	return CONFLICT_SPEC;
}

static enum conflict_cause cause_of_node(const struct txn_entry *entry,
                                         const struct builder_found *found)
{
	if (entry->id.kind == KEYS_NODE)
		return CONFLICT_NODE;
	return rev_of(found->node) != entry->node->rev[FACT_NODE] ? CONFLICT_NODE
	                                                          : CONFLICT_ALLOC;
}

static enum conflict_cause cause_of_kind(enum keys_kind kind)
{
	if (kind == KEYS_ALLOC)
		return CONFLICT_ALLOC;
	if (disruption_concerns(kind))
		return CONFLICT_BUDGET;
	return kind == KEYS_REGISTRY || kind == KEYS_REGISTRY_GLOBAL ? CONFLICT_REGISTRY
	                                                             : CONFLICT_GROUP;
}

/* The entry's pod or node was forgotten meanwhile, so its revisions say nothing. */
static bool is_entry_lost(const struct txn_entry *entry)
{
	return (entry->pod != NULL && (entry->pod->flags & POD_RESET) != 0) ||
	       (entry->node != NULL && entry->node->reset);
}

static enum conflict_cause record_conflict(struct sched *sched,
                                           const struct shard_txn *txn,
                                           const struct txn_entry *entry,
                                           const struct builder_found *found)
{
	const uint32_t *key = entry->node == NULL ? NULL : entry->node->key;
	enum conflict_cause cause = cause_of_kind(entry->id.kind);
	uint32_t placements = txn->placements;

	if (entry->id.kind == KEYS_STATE) {
		cause = cause_of_pod(entry->pod, found);
		placements = 1;
	} else if (entry->node != NULL) {
		cause = cause_of_node(entry, found);
		placements = placements_on(txn, entry->node);
	}
	conflicts_add(&sched->conflicts, key, cause, placements, sched->now_ms);
	return cause;
}

void txn_record_conflicts(struct sched *sched, const struct shard_txn *txn,
                          const struct kv_result *result)
{
	const struct sched_node *counted = NULL;
	uint32_t causes = 0;

	if (!txn_commits(txn))
		return;
	for (uint32_t i = 0; i < txn->entries; i++) {
		struct builder_found found;

		if (is_entry_lost(&txn->entry[i]) ||
		    !builder_answer(&txn->builder, result, i, &found) ||
		    found.verdict == BUILDER_OURS || found.verdict == BUILDER_SAME)
			continue;
		/* A Node is compared by an entry of its own, behind its alloc. */
		if (txn->entry[i].id.kind == KEYS_NODE && txn->entry[i].node == counted)
			continue;
		counted = txn->entry[i].pod == NULL ? txn->entry[i].node : counted;
		txn->entry[i].cause =
			(uint8_t)record_conflict(sched, txn, &txn->entry[i], &found);
		causes |= 1U << txn->entry[i].cause;
	}
	for (unsigned i = 0; i < CONFLICT_CAUSES; i++)
		sched->conflicts.txns[i] += causes >> i & 1;
}

void txn_record_conflict(struct sched *sched, const struct shard_txn *txn,
                         enum conflict_cause cause)
{
	if (!txn_commits(txn))
		return;
	sched->conflicts.txns[cause]++;
	conflicts_add(&sched->conflicts, NULL, cause, txn->placements, sched->now_ms);
}
