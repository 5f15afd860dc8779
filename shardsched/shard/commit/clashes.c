/* What a commit conflicted with, for the counts in conflicts.h. */
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/inner.h"

static int64_t rev_of(const struct kv_record *record)
{
	return record == NULL ? 0 : record->mod_revision;
}

/* How many of its placements go to that node. */
static uint32_t placements_on(const struct call *call, const struct sched_node *node)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < call->items; i++)
		count +=
			call->item[i].id.kind == KEYS_STATE && call->item[i].node == node;
	return count;
}

static enum conflict_cause pod_cause(const struct sched_pod *pod,
                                     const struct book_found *found)
{
	if (rev_of(found->state) != pod->rev[FACT_STATE])
		return CONFLICT_STATE;
	return CONFLICT_SPEC;
}

static enum conflict_cause node_cause(const struct call_item *item,
                                      const struct book_found *found)
{
	if (item->id.kind == KEYS_NODE)
		return CONFLICT_NODE;
	return rev_of(found->node) != item->node->rev[FACT_NODE] ? CONFLICT_NODE
	                                                         : CONFLICT_ALLOC;
}

static enum conflict_cause other_cause(enum keys_kind kind)
{
	if (kind == KEYS_ALLOC)
		return CONFLICT_ALLOC;
	if (shields_concern(kind))
		return CONFLICT_BUDGET;
	return kind == KEYS_REGISTRY || kind == KEYS_REGISTRY_GLOBAL ? CONFLICT_REGISTRY
	                                                             : CONFLICT_GROUP;
}

/* Lost meanwhile: what is known of it was forgotten, and says nothing. */
static bool is_lost(const struct call_item *item)
{
	return (item->pod != NULL && (item->pod->flags & POD_RESET) != 0) ||
	       (item->node != NULL && item->node->reset);
}

static enum conflict_cause count(struct sched *sched, const struct call *call,
                                 const struct call_item *item,
                                 const struct book_found *found)
{
	const uint32_t *key = item->node == NULL ? NULL : item->node->key;
	enum conflict_cause cause = other_cause(item->id.kind);
	uint32_t placements = call->placements;

	if (item->id.kind == KEYS_STATE) {
		cause = pod_cause(item->pod, found);
		placements = 1;
	} else if (item->node != NULL) {
		cause = node_cause(item, found);
		placements = placements_on(call, item->node);
	}
	conflicts_add(&sched->conflicts, key, cause, placements, sched->now_ms);
	return cause;
}

void clash_failed(struct sched *sched, const struct call *call,
                  const struct kv_result *result)
{
	const struct sched_node *counted = NULL;
	uint32_t causes = 0;

	if (!call_commits(call))
		return;
	for (uint32_t i = 0; i < call->items; i++) {
		struct book_found found;

		if (is_lost(&call->item[i]) ||
		    !book_answer(&call->book, result, i, &found) ||
		    found.verdict == BOOK_OURS || found.verdict == BOOK_SAME)
			continue;
		/* It may be compared for itself, behind its alloc. */
		if (call->item[i].id.kind == KEYS_NODE && call->item[i].node == counted)
			continue;
		counted = call->item[i].pod == NULL ? call->item[i].node : counted;
		call->item[i].cause = (uint8_t)count(sched, call, &call->item[i], &found);
		causes |= 1U << call->item[i].cause;
	}
	for (unsigned i = 0; i < CONFLICT_CAUSES; i++)
		sched->conflicts.txns[i] += causes >> i & 1;
}

void clash_call(struct sched *sched, const struct call *call, enum conflict_cause cause)
{
	if (!call_commits(call))
		return;
	sched->conflicts.txns[cause]++;
	conflicts_add(&sched->conflicts, NULL, cause, call->placements, sched->now_ms);
}
