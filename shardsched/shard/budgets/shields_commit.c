#include <stdlib.h>

#include "shardsched/shard/budgets/shields.h"
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/room/preempts.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "store/base/alloc.h"

bool shields_go(const struct sched *sched, const struct sched_plan *plan)
{
	if (sched->shields.late_others > 0 || sched->shields.rev == 0)
		return false;
	for (uint32_t i = 0; i < plan->shields.count; i++)
		if (plan->shields.at[i].shield->call != 0)
			return false;
	return true;
}

/* -- into a call ----------------------------------------------------------------------
 */

/* It runs, and nobody has asked it to go before. */
static bool is_disturbed(const struct call_item *item)
{
	const struct sched_pod *pod = item->pod;

	return pod != NULL && item->end == STATE_END_TERMINATE &&
	       pod->phase == STATE_BOUND && pod->ask == STATE_ASK_NONE &&
	       pod->ended == STATE_ENDED_NOT && pod->spec != NULL;
}

static int by_name(const void *a, const void *b)
{
	const struct budget_disrupted *x = a, *y = b;

	return pl_span_cmp(x->name, y->name);
}

/* Of the victims in the call those that it covers. PL_NOMEM. */
static enum pl_code notes_of(struct sched *sched, struct call *call,
                             const struct shield *shield, uint32_t from,
                             struct budget_disrupted **out, uint32_t *count)
{
	*count = 0;
	*out = pl_arena_zalloc(&call->arena, call->items - from + 1, sizeof **out);
	if (*out == NULL)
		return PL_NOMEM;
	for (uint32_t i = from; i < call->items; i++) {
		const struct sched_pod *pod = call->item[i].pod;

		if (!is_disturbed(&call->item[i]) || pod->key[1] != shield->key[0] ||
		    !budget_covers(&sched->model.strings, &shield->object,
		                   pod->spec->labels))
			continue;
		(*out)[(*count)++] = (struct budget_disrupted){
			sched_text(sched, pod->key[2]), pod->rev[FACT_STATE]};
	}
	if (*count > 1)
		qsort(*out, *count, sizeof **out, by_name);
	return PL_OK;
}

static enum pl_code lowered(struct sched *sched, struct call *call,
                            const struct shield *shield,
                            const struct budget_disrupted *notes, uint32_t count,
                            struct pl_span *out, struct pl_err *err)
{
	struct pl_span value = pl_span(shield->value.at, shield->value.len);
	struct budget_record record;
	struct pl_buf buf;
	enum pl_code code = budget_record_parse(value, &call->arena, &record, err);

	(void)sched;
	if (code == PL_OK)
		code = budget_record_disrupt(&record, notes, count, &call->arena, &record,
		                             err);
	if (code != PL_OK)
		return code;
	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	code = budget_record_print(&record, &buf, err);
	if (code == PL_OK) {
		*out = pl_arena_dup(&call->arena, pl_buf_span(&buf));
		if (out->at == NULL)
			code = pl_err_set(err, PL_NOMEM, "lower a budget");
	}
	pl_buf_done(&buf);
	return code;
}

static enum pl_code put_one(struct sched *sched, struct call *call,
                            struct plan_shield *part, uint32_t from, struct pl_err *err)
{
	const struct shield *shield = part->shield;
	const struct keys_id id = {.kind = KEYS_BUDGET,
	                           .scope = sched_text(sched, shield->key[0]),
	                           .name = sched_text(sched, shield->key[1])};
	struct call_item item = {.compared = true};
	struct budget_disrupted *notes;
	struct keys_text key;
	uint32_t count = 0;
	enum pl_code code = notes_of(sched, call, shield, from, &notes, &count);

	if (code != PL_OK || count == 0)
		return code;
	code = keys_build(&id, &key, err);
	if (code == PL_OK)
		code = lowered(sched, call, shield, notes, count, &item.value, err);
	if (code != PL_OK)
		return code;
	if (!book_put(&call->book, keys_span(&key), shield->value.rev, item.value))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	part->sent = count;
	return call_item_of(call, &item, keys_span(&key));
}

/* No budget that is not known here covers them: none was made since, and none is there
 * again, as in a store that was put back to an older snapshot. */
static enum pl_code expect_lock(struct sched *sched, struct call *call,
                                struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_BUDGETS_LOCK};
	struct keys_text key;
	enum pl_code code = keys_build(&id, &key, err);

	if (code != PL_OK)
		return code;
	if (!book_expect(&call->book, keys_span(&key), sched->shields.lock_rev))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	return call_item_for(call, &(struct call_item){.id = id, .compared = true});
}

static bool disturbs(const struct call *call, uint32_t from)
{
	for (uint32_t i = from; i < call->items; i++)
		if (is_disturbed(&call->item[i]))
			return true;
	return false;
}

enum pl_code shields_put(struct sched *sched, struct call *call, struct sched_plan *plan,
                         uint32_t from, struct pl_err *err)
{
	struct plan_shields *shields = &plan->shields;
	bool disturbing = disturbs(call, from);
	enum pl_code code = PL_OK;

	for (uint32_t i = 0; i < shields->count; i++)
		shields->at[i].sent = 0;
	for (uint32_t i = 0; i < shields->count && code == PL_OK; i++)
		code = put_one(sched, call, &shields->at[i], from, err);
	return code == PL_OK && disturbing ? expect_lock(sched, call, err) : code;
}

void shields_seal(struct sched_plan *plan, uint8_t call)
{
	for (uint32_t i = 0; i < plan->shields.count; i++)
		if (plan->shields.at[i].sent > 0)
			plan->shields.at[i].shield->call = call;
}

/* -- what became of it ----------------------------------------------------------------
 */

/* The plan that has it in a call: there is one at most. */
static struct plan_shield *sent_of(struct sched *sched, const struct shield *shield)
{
	PL_LIST_EACH (link, &sched->shields.plans) {
		struct sched_plan *plan =
			PL_LIST_ITEM(link, struct sched_plan, shields.of_all);

		for (uint32_t i = 0; plan->sent && i < plan->shields.count; i++)
			if (plan->shields.at[i].shield == shield &&
			    plan->shields.at[i].sent > 0)
				return &plan->shields.at[i];
	}
	return NULL;
}

static struct shield *shield_of(const struct sched *sched, const struct call_item *item)
{
	return item->id.kind != KEYS_BUDGET ? NULL : shield_find(sched, &item->id);
}

void shields_stand(struct sched *sched, const struct call_item *item, int64_t revision)
{
	struct shield *shield = shield_of(sched, item);
	struct plan_shield *part;
	struct shield_value value = {.rev = revision, .len = item->value.len};

	if (shield == NULL)
		return;
	part = sent_of(sched, shield);
	if (part != NULL) {
		shield->planned -= part->sent;
		part->left -= part->sent;
		part->sent = 0;
	}
	if (sched->shields.rev != 0) /* else it will be listed */
		value.at = pl_malloc(value.len);
	if (value.at == NULL) {
		tell_anew(sched, SCHED_BUDGETS);
	} else {
		memcpy(value.at, item->value.at, value.len);
		shield_set(sched, shield, &value);
	}
	shield_free_again(sched, shield);
}

void shields_unsend(struct sched *sched, const struct call_item *item)
{
	struct shield *shield = shield_of(sched, item);
	struct plan_shield *part;

	if (shield == NULL)
		return;
	part = sent_of(sched, shield);
	if (part != NULL)
		part->sent = 0;
	shield_free_again(sched, shield);
}

/* A budget was made or deleted that is not heard of yet. Or the store is an older one, or
 * a hand took the lock away: then there is nothing to wait for, and all is listed. */
static void lock_is_another(struct sched *sched, int64_t revision)
{
	struct shields *shields = &sched->shields;

	if (revision > shields->need_rev)
		shields->need_rev = revision;
	if (revision >= shields->lock_rev)
		return;
	shields_lost(sched);
	tell_anew(sched, SCHED_BUDGETS);
}

void shields_failed(struct sched *sched, const struct call_item *item,
                    const struct book_found *found, int64_t revision)
{
	const struct kv_record *record = found->record;
	const struct kv_event event = {
		.is_delete = record == NULL,
		.record = record == NULL ? (struct kv_record){.mod_revision = revision}
	                                 : *record};
	struct keys_text key;
	struct kv_event told = event;

	if (found->verdict == BOOK_SAME)
		return;
	if (item->id.kind == KEYS_BUDGETS_LOCK) {
		lock_is_another(sched, record == NULL ? 0 : record->mod_revision);
		return;
	}
	if (keys_build(&item->id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("a budget of ours");
	told.record.key = keys_span(&key);
	shields_events(sched, &told, 1, 0);
}
