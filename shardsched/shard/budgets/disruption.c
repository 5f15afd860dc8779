#include "shardsched/shard/budgets/disruption.h"

#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption_plan.h"
#include "store/base/alloc.h"

static struct sched_budget *sched_budget_at(struct pl_map_node *at)
{
	return PL_CONTAINER_OF(at, struct sched_budget, by_name);
}

static struct preemption_plan *plan_at(struct pl_list *link)
{
	return PL_LIST_ITEM(link, struct preemption_plan, disruption.of_all);
}

/* -- values ------------------------------------------------------------------ */

struct sched_budget *sched_budget_find(const struct sched *sched,
                                       const struct keys_id *id)
{
	const struct strings *strings = &sched->model.strings;
	const uint32_t key[2] = {strings_find(strings, id->scope),
	                         strings_find(strings, id->name)};
	struct pl_map_node *at = key[0] == 0 || key[1] == 0
	                                 ? NULL
	                                 : pl_map_get(&sched->disruption.by_name,
	                                              pl_span(key, sizeof key));

	return at == NULL ? NULL : sched_budget_at(at);
}

static struct sched_budget *budget_get(struct sched *sched, const struct keys_id *id)
{
	struct strings *strings = &sched->model.strings;
	struct sched_budget *budget_entry = sched_budget_find(sched, id);

	if (budget_entry != NULL)
		return budget_entry;
	budget_entry = pl_calloc(1, sizeof *budget_entry);
	if (budget_entry == NULL)
		return NULL;
	if (strings_add(strings, id->scope, &budget_entry->key[0]) != PL_OK ||
	    strings_add(strings, id->name, &budget_entry->key[1]) != PL_OK) {
		strings_unref(strings, budget_entry->key[0]);
		free(budget_entry);
		return NULL;
	}
	(void)!pl_map_add(&sched->disruption.by_name, &budget_entry->by_name,
	                  pl_span(budget_entry->key, sizeof budget_entry->key));
	return budget_entry;
}

static struct catalog_key catalog_key_of(const struct sched_budget *budget_entry)
{
	return (struct catalog_key){.namespace = budget_entry->key[0],
	                            .name = budget_entry->key[1]};
}

static void budget_unset(struct sched *sched, struct sched_budget *budget_entry)
{
	if (budget_entry->good)
		catalog_drop_budget(&sched->snapshot.catalog,
		                    catalog_key_of(budget_entry));
	budget_entry->good = false;
	budget_drop(&sched->model, &budget_entry->object);
	free(PL_STEAL(budget_entry->value.at));
	sched->disruption.review = true;
}

static void budget_tidy(struct sched *sched, struct sched_budget *budget_entry)
{
	if (budget_entry->value.at != NULL || budget_entry->plans > 0 ||
	    budget_entry->txn != 0)
		return;
	PL_ASSERT(!budget_entry->good);
	pl_map_del(&sched->disruption.by_name, &budget_entry->by_name);
	strings_unref(&sched->model.strings, budget_entry->key[0]);
	strings_unref(&sched->model.strings, budget_entry->key[1]);
	free(budget_entry->late.at);
	free(budget_entry);
}

/* A copy with references of its own. */
static enum pl_code copy_object(struct sched *sched, const struct budget *of,
                                struct budget *out)
{
	struct strings *strings = &sched->model.strings;

	*out = *of;
	out->disrupted = NULL;
	if (of->disrupted_count > 0) {
		out->disrupted = pl_calloc(of->disrupted_count, sizeof *out->disrupted);
		if (out->disrupted == NULL)
			return PL_NOMEM;
	}
	out->namespace = strings_ref(strings, of->namespace);
	out->name = strings_ref(strings, of->name);
	(void)model_ref(&sched->model, MODEL_SELECTORS, of->selector);
	for (uint32_t i = 0; i < of->disrupted_count; i++)
		out->disrupted[i] = strings_ref(strings, of->disrupted[i]);
	return PL_OK;
}

/* The value was not kept: until budgets are listed again it is not known which pods it
 * protects. */
static void budget_missed(struct sched *sched, struct sched_budget *budget_entry)
{
	if (budget_entry != NULL)
		/* so that the list's record is applied, even if it is the same */
		budget_entry->value.rev = 0;
	sched->disruption.missed = true;
	disruption_lost(sched);
	report_relist_view(sched, SCHED_BUDGETS);
}

void sched_budget_publish(struct sched *sched, struct sched_budget *budget_entry)
{
	struct budget copy;
	struct pl_err err = {0};
	enum pl_code code;

	if (!budget_entry->good)
		return;
	code = copy_object(sched, &budget_entry->object, &copy);
	if (code == PL_OK) {
		copy.allowed -= (int32_t)budget_entry->planned;
		code = catalog_put_budget(&sched->snapshot.catalog, &copy, &err);
	}
	if (code != PL_OK)
		budget_missed(sched, budget_entry);
}

static enum pl_code read_value(struct sched *sched,
                               const struct sched_budget *budget_entry,
                               const struct sched_budget_value *value, struct budget *out,
                               struct pl_err *err)
{
	struct parse parse = {.model = &sched->model, .arena = &sched->arena};
	struct budget_record record;
	enum pl_code code;

	pl_arena_reset(&sched->arena);
	code = budget_record_parse(pl_span(value->at, value->len), &sched->arena, &record,
	                           err);
	return code != PL_OK
	               ? code
	               : budget_record_object(
				 &record, &parse, sched_text(sched, budget_entry->key[0]),
				 sched_text(sched, budget_entry->key[1]), out, err);
}

static void report_bad_budget(struct sched *sched, struct sched_budget *budget_entry,
                              const struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_BUDGET,
	                           .scope = sched_text(sched, budget_entry->key[0]),
	                           .name = sched_text(sched, budget_entry->key[1])};

	if (err->code == PL_NOMEM)
		budget_missed(sched, budget_entry);
	else
		report_malformed(sched, &id, err);
}

/* The budget cannot note that many more victims. */
static bool has_no_room(const struct sched_budget *budget_entry, uint32_t more)
{
	return budget_entry->good &&
	       budget_entry->object.disrupted_count + more > BUDGET_DISRUPTED_MAX;
}

/* Exempt pods that another full budget covers are found out again. */
static void clear_exemptions(struct sched *sched, struct sched_budget *budget_entry)
{
	if (!budget_entry->exempts || has_no_room(budget_entry, 1))
		return;
	budget_entry->exempts = false;
	sched->disruption.clear_exempt = sched->disruption.review = true;
}

static void budget_apply(struct sched *sched, struct sched_budget *budget_entry,
                         struct sched_budget_value *value)
{
	struct budget object = {0};
	struct pl_err err = {0};

	sched->disruption.made += !budget_entry->good;
	budget_unset(sched, budget_entry);
	budget_entry->value = *value;
	*value = (struct sched_budget_value){0};
	if (budget_entry->value.at == NULL)
		return;
	if (read_value(sched, budget_entry, &budget_entry->value, &object, &err) !=
	    PL_OK) {
		report_bad_budget(sched, budget_entry, &err);
		return;
	}
	budget_entry->object = object;
	budget_entry->good = true;
	sched_budget_publish(sched, budget_entry);
}

void sched_budget_set(struct sched *sched, struct sched_budget *budget_entry,
                      struct sched_budget_value *value)
{
	if (value->rev <= budget_entry->value.rev) {
		free(PL_STEAL(value->at));
		return;
	}
	budget_apply(sched, budget_entry, value);
	clear_exemptions(sched, budget_entry);
}

/* False: no memory. */
static bool keep_value(struct sched_budget_value *out, const struct kv_record *record,
                       bool gone)
{
	*out = (struct sched_budget_value){.rev = record->mod_revision};
	if (gone)
		return true;
	out->len = record->value.len;
	out->at = pl_malloc(out->len + 1);
	if (out->at == NULL)
		return false;
	if (out->len > 0)
		memcpy(out->at, record->value.at, out->len);
	return true;
}

/* The deferred event is about another budget than the known one: which pods it covers is
 * not known. */
static void set_late_other(struct sched *sched, struct sched_budget *budget_entry,
                           bool other)
{
	sched->disruption.late_others += other;
	sched->disruption.late_others -= budget_entry->late_other;
	budget_entry->late_other = other;
}

static void apply_value(struct sched *sched, const struct keys_id *id,
                        const struct kv_record *record, bool gone)
{
	struct sched_budget *budget_entry =
		gone ? sched_budget_find(sched, id) : budget_get(sched, id);
	struct sched_budget_value value;
	bool other;

	if (budget_entry == NULL && gone)
		return;
	if (budget_entry == NULL || !keep_value(&value, record, gone)) {
		if (budget_entry != NULL)
			budget_tidy(sched, budget_entry);
		budget_missed(sched, NULL);
		return;
	}
	budget_entry->seen = sched->disruption.seen;
	other = !gone &&
	        /* a new budget by the same name */
	        record->create_revision > budget_entry->value.rev;
	if (budget_entry->txn != 0) {
		free(budget_entry->late.at);
		budget_entry->late = value;
		set_late_other(sched, budget_entry,
		               budget_entry->late_other || gone || other);
		return;
	}
	sched->disruption.made += budget_entry->good && other;
	sched_budget_set(sched, budget_entry, &value);
	budget_tidy(sched, budget_entry);
}

void sched_budget_apply_deferred(struct sched *sched, struct sched_budget *budget_entry)
{
	budget_entry->txn = 0;
	sched->disruption.review = true;
	sched->disruption.made += budget_entry->late_other;
	set_late_other(sched, budget_entry, false);
	if (budget_entry->late.rev != 0)
		sched_budget_set(sched, budget_entry, &budget_entry->late);
	budget_entry->late.rev = 0;
	budget_tidy(sched, budget_entry);
}

/* -- the view ---------------------------------------------------------------- */

bool disruption_wanted(const struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		if (sched->partition[i].owned)
			return true;
	return false;
}

void disruption_begin(struct sched *sched)
{
	sched->disruption.seen++;
	sched->disruption.missed = false;
	disruption_lost(sched);
}

static void apply_lock(struct disruption *disruption, const struct kv_record *record,
                       bool gone)
{
	disruption->lock_seen = disruption->seen;
	disruption->lock_rev = gone ? 0 : record->mod_revision;
}

static void apply_record(struct sched *sched, const struct kv_record *record, bool gone)
{
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK)
		return;
	if (id.kind == KEYS_BUDGET)
		apply_value(sched, &id, record, gone);
	else if (id.kind == KEYS_BUDGETS_LOCK)
		apply_lock(&sched->disruption, record, gone);
}

void disruption_records(struct sched *sched, const struct kv_record *records,
                        size_t count)
{
	for (size_t i = 0; i < count; i++)
		apply_record(sched, &records[i], false);
}

static void sweep_missing(struct sched *sched, int64_t revision)
{
	const struct kv_record gone = {.mod_revision = revision};

	PL_MAP_EACH (at, &sched->disruption.by_name) {
		struct sched_budget *budget_entry = sched_budget_at(at);
		const struct keys_id id = {
			.kind = KEYS_BUDGET,
			.scope = sched_text(sched, budget_entry->key[0]),
			.name = sched_text(sched, budget_entry->key[1])};

		if (budget_entry->seen != sched->disruption.seen &&
		    budget_entry->value.rev <= revision)
			apply_value(sched, &id, &gone, true);
	}
}

void disruption_end(struct sched *sched, int64_t revision)
{
	sweep_missing(sched, revision);
	if (sched->disruption.lock_seen != sched->disruption.seen)
		sched->disruption.lock_rev = 0;
	if (!sched->disruption.missed)
		sched->disruption.rev = revision;
}

void disruption_events(struct sched *sched, const struct kv_event *events, size_t count,
                       int64_t revision)
{
	for (size_t i = 0; i < count; i++)
		apply_record(sched, &events[i].record, events[i].is_delete);
	if (sched->disruption.rev != 0 && revision > sched->disruption.rev)
		sched->disruption.rev = revision;
}

/* Plans rely on a known revision: without it they are made anew. */
void disruption_lost(struct sched *sched)
{
	sched->disruption.rev = 0;
	sched->disruption.review = true;
}

void disruption_forget(struct sched *sched)
{
	disruption_lost(sched);
	sched->disruption.need_rev = sched->disruption.lock_rev = 0;
	PL_MAP_EACH (at, &sched->disruption.by_name) {
		struct sched_budget *budget_entry = sched_budget_at(at);

		budget_unset(sched, budget_entry);
		clear_exemptions(sched, budget_entry);
		budget_entry->value.rev = 0;
		free(PL_STEAL(budget_entry->late.at));
		budget_entry->late.rev = 0;
		set_late_other(sched, budget_entry, false);
		budget_tidy(sched, budget_entry);
	}
}

bool disruption_known(const struct sched *sched)
{
	return sched->disruption.rev != 0 &&
	       sched->disruption.rev >= sched->disruption.need_rev;
}

/* -- plans ------------------------------------------------------------------- */

static struct plan_budget *plan_budget_of(const struct plan_disruption *plan,
                                          const struct sched_budget *budget_entry)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->at[i].budget_entry == budget_entry)
			return &plan->at[i];
	return NULL;
}

static bool plan_add_budget(struct plan_disruption *plan,
                            struct sched_budget *budget_entry)
{
	struct plan_budget *part = plan_budget_of(plan, budget_entry), *grown;

	if (part == NULL) {
		grown = pl_realloc(plan->at, (plan->count + 1) * sizeof *grown);
		if (grown == NULL)
			return false;
		plan->at = grown;
		part = &grown[plan->count++];
		*part = (struct plan_budget){.budget_entry = budget_entry};
		budget_entry->plans++;
	}
	part->left++;
	budget_entry->planned++;
	return true;
}

static bool plan_add_victim(struct sched *sched, struct plan_disruption *plan,
                            const struct sched_pod *victim)
{
	const struct catalog *catalog = &sched->snapshot.catalog;
	const struct budget *budget = NULL;

	if (victim->spec == NULL)
		return true;
	for (;;) {
		struct keys_id id = {.scope = sched_text(sched, victim->key[1])};
		struct sched_budget *budget_entry;

		budget = catalog_next_in_budget(catalog, victim->key[1], budget);
		if (budget == NULL)
			return true;
		id.name = sched_text(sched, budget->name);
		budget_entry = sched_budget_find(sched, &id);
		if (budget_entry == NULL ||
		    !budget_covers(&sched->model.strings, budget, victim->spec->labels))
			continue;
		if (!plan_add_budget(plan, budget_entry))
			return false;
	}
}

bool disruption_plan(struct sched *sched, struct preemption_plan *plan)
{
	struct plan_disruption *disruption = &plan->disruption;
	bool complete = true;

	pl_list_init(&disruption->of_all);
	pl_list_add_tail(&sched->disruption.plans, &disruption->of_all);
	disruption->made = sched->disruption.made;
	disruption->clean = true;
	for (uint32_t i = 0; i < plan->victims && complete; i++)
		complete = plan_add_victim(sched, disruption, plan->victim[i]);
	for (uint32_t i = 0; i < disruption->count; i++) {
		struct sched_budget *budget_entry = disruption->at[i].budget_entry;

		sched_budget_publish(sched, budget_entry);
		disruption->clean =
			disruption->clean &&
			(int64_t)budget_entry->planned <= budget_entry->object.allowed;
	}
	return complete;
}

static void exempt_covered(const struct sched *sched,
                           const struct sched_budget *budget_entry)
{
	PODS_EACH(pod, sched)
	{
		if (pod->key[1] == budget_entry->key[0] && pod->spec != NULL &&
		    budget_covers(&sched->model.strings, &budget_entry->object,
		                  pod->spec->labels))
			pod->exempt = true;
	}
}

bool disruption_exempt_victims(const struct sched *sched,
                               const struct preemption_plan *plan)
{
	bool exempts = false;

	for (uint32_t i = 0; i < plan->disruption.count; i++) {
		struct sched_budget *budget_entry = plan->disruption.at[i].budget_entry;

		if (!has_no_room(budget_entry, plan->disruption.at[i].left) ||
		    plan->disruption.at[i].left > BUDGET_DISRUPTED_MAX)
			continue;
		exempts = budget_entry->exempts = true;
		exempt_covered(sched, budget_entry);
	}
	return exempts;
}

void disruption_unplan(struct sched *sched, struct preemption_plan *plan)
{
	struct plan_disruption *disruption = &plan->disruption;

	if (disruption->of_all.next == NULL)
		return;
	for (uint32_t i = 0; i < disruption->count; i++) {
		struct sched_budget *budget_entry = disruption->at[i].budget_entry;

		budget_entry->planned -= disruption->at[i].left;
		budget_entry->plans--;
		sched_budget_publish(sched, budget_entry);
		budget_tidy(sched, budget_entry);
	}
	free(disruption->at);
	disruption->at = NULL;
	disruption->count = 0;
	pl_list_del(&disruption->of_all);
}

/* The plan relies on budgets that do not allow it any more. */
static bool is_plan_overdrawn(const struct sched *sched,
                              const struct preemption_plan *plan)
{
	const struct plan_disruption *disruption = &plan->disruption;

	if (disruption->made != sched->disruption.made || sched->disruption.rev == 0)
		return true;
	for (uint32_t i = 0; i < disruption->count; i++) {
		const struct sched_budget *budget_entry = disruption->at[i].budget_entry;

		if (!budget_entry->good ||
		    (disruption->clean &&
		     (int64_t)budget_entry->planned > budget_entry->object.allowed))
			return true;
	}
	return false;
}

void disruption_run(struct sched *sched)
{
	struct pl_list *plans = &sched->disruption.plans;

	if (!sched->disruption.review)
		return;
	sched->disruption.review = false;
	if (sched->disruption.clear_exempt) {
		sched->disruption.clear_exempt = false;
		preemption_clear_exempt(sched);
	}
	/* The youngest plan goes first, since the others may be kept then. */
	for (struct pl_list *link = plans->prev, *prev = link->prev; link != plans;
	     link = prev, prev = link->prev) {
		struct preemption_plan *plan = plan_at(link);

		if (plan->state == PREEMPTION_PLAN_SENT)
			continue;
		if (is_plan_overdrawn(sched, plan))
			preemption_cancel(sched, plan);
		else
			node_set_ready(sched, plan->node);
	}
}

/* -- life -------------------------------------------------------------------- */

void disruption_init(struct sched *sched)
{
	pl_map_init(&sched->disruption.by_name);
	pl_list_init(&sched->disruption.plans);
}

/* There are no plans and no txns any more. */
void disruption_done(struct sched *sched)
{
	PL_ASSERT(pl_list_empty(&sched->disruption.plans));
	PL_MAP_EACH (at, &sched->disruption.by_name)
		sched_budget_at(at)->txn = 0;
	disruption_forget(sched);
	PL_ASSERT(sched->disruption.by_name.count == 0);
	pl_map_done(&sched->disruption.by_name);
}

void disruption_check(const struct sched *sched)
{
	uint32_t others = 0;

	PL_MAP_EACH (at, &sched->disruption.by_name) {
		const struct sched_budget *budget_entry = sched_budget_at(at);
		uint32_t planned = 0, plans = 0;

		PL_LIST_EACH (link, &sched->disruption.plans) {
			const struct plan_budget *part =
				plan_budget_of(&plan_at(link)->disruption, budget_entry);

			planned += part == NULL ? 0 : part->left;
			plans += part != NULL;
		}
		PL_ASSERT(planned == budget_entry->planned &&
		          plans == budget_entry->plans);
		PL_ASSERT(budget_entry->txn == 0 ||
		          txn_is_posted(&sched->txn[budget_entry->txn - 1]));
		PL_ASSERT(budget_entry->late.rev == 0 || budget_entry->txn != 0);
		PL_ASSERT(!budget_entry->late_other || budget_entry->late.rev != 0);
		others += budget_entry->late_other;
	}
	PL_ASSERT(others == sched->disruption.late_others);
}
