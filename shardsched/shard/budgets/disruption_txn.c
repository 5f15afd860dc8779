#include <stdlib.h>

#include "shardsched/shard/budgets/disruption.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/base/alloc.h"

bool disruption_may_go(const struct sched *sched, const struct preemption_plan *plan)
{
	if (sched->disruption.late_others > 0 || sched->disruption.rev == 0)
		return false;
	for (uint32_t i = 0; i < plan->disruption.count; i++)
		if (plan->disruption.at[i].budget_entry->txn != 0)
			return false;
	return true;
}

/* -- into a txn -------------------------------------------------------------- */

/* The entry is a pod that runs and was not asked to leave before. */
static bool is_victim_entry(const struct txn_entry *entry)
{
	const struct sched_pod *pod = entry->pod;

	return entry->kind == ENTRY_TERMINATION &&
	       entry->end == STATE_TRANSITION_TERMINATE && pod->phase == STATE_BOUND &&
	       pod->ask == STATE_ASK_NONE && pod->ended == STATE_ENDED_NOT &&
	       pod->spec != NULL;
}

static int cmp_by_name(const void *a, const void *b)
{
	const struct budget_disrupted *x = a, *y = b;

	return pl_span_cmp(x->name, y->name);
}

/* The victims in the txn that the budget covers. PL_NOMEM. */
static enum pl_code append_notes(struct sched *sched, struct shard_txn *txn,
                                 const struct sched_budget *budget_entry, uint32_t from,
                                 struct budget_disrupted **out, uint32_t *count)
{
	*count = 0;
	*out = pl_arena_zalloc(&txn->arena, txn->entries - from + 1, sizeof **out);
	if (*out == NULL)
		return PL_NOMEM;
	for (uint32_t i = from; i < txn->entries; i++) {
		const struct sched_pod *pod = txn->entry[i].pod;

		if (!is_victim_entry(&txn->entry[i]) ||
		    pod->key[1] != budget_entry->key[0] ||
		    !budget_covers(&sched->model.strings, &budget_entry->object,
		                   pod->spec->labels))
			continue;
		(*out)[(*count)++] = (struct budget_disrupted){
			sched_text(sched, pod->key[2]), pod->rev[FACT_STATE]};
	}
	if (*count > 1)
		qsort(*out, *count, sizeof **out, cmp_by_name);
	return PL_OK;
}

static enum pl_code print_lowered(struct sched *sched, struct shard_txn *txn,
                                  const struct sched_budget *budget_entry,
                                  const struct budget_disrupted *notes, uint32_t count,
                                  struct pl_span *out, struct pl_err *err)
{
	struct pl_span value = pl_span(budget_entry->value.at, budget_entry->value.len);
	struct budget_record record;
	struct pl_buf buf;
	enum pl_code code = budget_record_parse(value, &txn->arena, &record, err);

	(void)sched;
	if (code == PL_OK)
		code = budget_record_disrupt(&record, notes, count, &txn->arena, &record,
		                             err);
	if (code != PL_OK)
		return code;
	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	code = budget_record_print(&record, &buf, err);
	if (code == PL_OK) {
		*out = pl_arena_dup(&txn->arena, pl_buf_span(&buf));
		if (out->at == NULL)
			code = pl_err_set(err, PL_NOMEM, "lower a budget");
	}
	pl_buf_done(&buf);
	return code;
}

static enum pl_code put_budget(struct sched *sched, struct shard_txn *txn,
                               struct plan_budget *part, uint32_t from,
                               struct pl_err *err)
{
	const struct sched_budget *budget_entry = part->budget_entry;
	const struct keys_id id = {.kind = KEYS_BUDGET,
	                           .scope = sched_text(sched, budget_entry->key[0]),
	                           .name = sched_text(sched, budget_entry->key[1])};
	struct txn_entry entry = {.compared = true};
	struct budget_disrupted *notes;
	struct keys_text key;
	uint32_t count = 0;
	enum pl_code code = append_notes(sched, txn, budget_entry, from, &notes, &count);

	if (code != PL_OK || count == 0)
		return code;
	code = keys_build(&id, &key, err);
	if (code == PL_OK)
		code = print_lowered(sched, txn, budget_entry, notes, count, &entry.value,
		                     err);
	if (code != PL_OK)
		return code;
	if (!builder_put(&txn->builder, keys_span(&key), budget_entry->value.rev,
	                 entry.value))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	part->sent = count;
	return txn_add_key(txn, &entry, keys_span(&key));
}

/* No unknown budget covers the victims: none was created since, and none exists again, as
 * in a store that was restored from an older snapshot. */
static enum pl_code expect_lock(struct sched *sched, struct shard_txn *txn,
                                struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_BUDGETS_LOCK};
	struct keys_text key;
	enum pl_code code = keys_build(&id, &key, err);

	if (code != PL_OK)
		return code;
	if (!builder_expect(&txn->builder, keys_span(&key), sched->disruption.lock_rev))
		return txn->builder.code == PL_OK ? PL_BUSY : txn->builder.code;
	return txn_add_id(txn, &(struct txn_entry){.id = id, .compared = true});
}

static bool txn_disturbs(const struct shard_txn *txn, uint32_t from)
{
	for (uint32_t i = from; i < txn->entries; i++)
		if (is_victim_entry(&txn->entry[i]))
			return true;
	return false;
}

enum pl_code disruption_put(struct sched *sched, struct shard_txn *txn,
                            struct preemption_plan *plan, uint32_t from,
                            struct pl_err *err)
{
	struct plan_disruption *disruption = &plan->disruption;
	bool disturbing = txn_disturbs(txn, from);
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < disruption->count; i++)
		disruption->at[i].sent = 0;
	for (uint32_t i = 0; i < disruption->count && code == PL_OK; i++)
		code = put_budget(sched, txn, &disruption->at[i], from, err);
	return code == PL_OK && disturbing ? expect_lock(sched, txn, err) : code;
}

void disruption_seal(struct preemption_plan *plan, uint8_t txn)
{
	for (uint32_t i = 0; i < plan->disruption.count; i++)
		if (plan->disruption.at[i].sent > 0)
			plan->disruption.at[i].budget_entry->txn = txn;
}

/* -- the outcome ------------------------------------------------------------- */

/* The plan that has the budget in a txn: there is at most one. */
static struct plan_budget *plan_budget_sent(struct sched *sched,
                                            const struct sched_budget *budget_entry)
{
	PL_LIST_EACH (link, &sched->disruption.plans) {
		struct preemption_plan *plan =
			PL_LIST_ITEM(link, struct preemption_plan, disruption.of_all);

		for (uint32_t i = 0;
		     plan->state == PREEMPTION_PLAN_SENT && i < plan->disruption.count;
		     i++)
			if (plan->disruption.at[i].budget_entry == budget_entry &&
			    plan->disruption.at[i].sent > 0)
				return &plan->disruption.at[i];
	}
	return NULL;
}

static struct sched_budget *sched_budget_of(const struct sched *sched,
                                            const struct txn_entry *entry)
{
	return entry->id.kind != KEYS_BUDGET ? NULL
	                                     : sched_budget_find(sched, &entry->id);
}

void disruption_txn_applied(struct sched *sched, const struct txn_entry *entry,
                            int64_t revision)
{
	struct sched_budget *budget_entry = sched_budget_of(sched, entry);
	struct plan_budget *part;
	struct sched_budget_value value = {.rev = revision, .len = entry->value.len};

	if (budget_entry == NULL)
		return;
	part = plan_budget_sent(sched, budget_entry);
	if (part != NULL) {
		budget_entry->planned -= part->sent;
		part->left -= part->sent;
		part->sent = 0;
	}
	if (sched->disruption.rev != 0) /* else it will be listed */
		value.at = pl_malloc(value.len);
	if (value.at == NULL) {
		report_relist_view(sched, SCHED_BUDGETS);
	} else {
		memcpy(value.at, entry->value.at, value.len);
		sched_budget_set(sched, budget_entry, &value);
	}
	sched_budget_apply_deferred(sched, budget_entry);
}

void disruption_unsend(struct sched *sched, const struct txn_entry *entry)
{
	struct sched_budget *budget_entry = sched_budget_of(sched, entry);
	struct plan_budget *part;

	if (budget_entry == NULL)
		return;
	part = plan_budget_sent(sched, budget_entry);
	if (part != NULL)
		part->sent = 0;
	sched_budget_apply_deferred(sched, budget_entry);
}

/* A budget was created or deleted that is not known yet. Or the store is an older one, or
 * the lock was deleted by hand: then there is nothing to wait for, and budgets are listed
 * anew. */
static void lock_is_another(struct sched *sched, int64_t revision)
{
	struct disruption *disruption = &sched->disruption;

	if (revision > disruption->need_rev)
		disruption->need_rev = revision;
	if (revision >= disruption->lock_rev)
		return;
	disruption_lost(sched);
	report_relist_view(sched, SCHED_BUDGETS);
}

void disruption_txn_failed(struct sched *sched, const struct txn_entry *entry,
                           const struct builder_found *found, int64_t revision)
{
	const struct kv_record *record = found->record;
	const struct kv_event event = {
		.is_delete = record == NULL,
		.record = record == NULL ? (struct kv_record){.mod_revision = revision}
	                                 : *record};
	struct keys_text key;
	struct kv_event told = event;

	if (found->verdict == BUILDER_SAME)
		return;
	if (entry->id.kind == KEYS_BUDGETS_LOCK) {
		lock_is_another(sched, record == NULL ? 0 : record->mod_revision);
		return;
	}
	if (keys_build(&entry->id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a budget of ours");
	told.record.key = keys_span(&key);
	disruption_events(sched, &told, 1, 0);
}
