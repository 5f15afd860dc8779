#include "shardsched/shard/budgets/shields.h"

#include <stdlib.h>

#include "shardsched/shard/inner.h"
#include "shardsched/shard/room/plans.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "store/base/alloc.h"

static struct shield *shield_at(struct pl_map_node *at)
{
	return PL_CONTAINER_OF(at, struct shield, by_name);
}

static struct sched_plan *plan_at(struct pl_list *link)
{
	return PL_LIST_ITEM(link, struct sched_plan, shields.of_all);
}

/* -- what stands there ----------------------------------------------------------------
 */

struct shield *shield_find(const struct sched *sched, const struct keys_id *id)
{
	const struct strings *strings = &sched->model.strings;
	const uint32_t key[2] = {strings_find(strings, id->scope),
	                         strings_find(strings, id->name)};
	struct pl_map_node *at =
		key[0] == 0 || key[1] == 0
			? NULL
			: pl_map_get(&sched->shields.by_name, pl_span(key, sizeof key));

	return at == NULL ? NULL : shield_at(at);
}

static struct shield *get(struct sched *sched, const struct keys_id *id)
{
	struct strings *strings = &sched->model.strings;
	struct shield *shield = shield_find(sched, id);

	if (shield != NULL)
		return shield;
	shield = pl_calloc(1, sizeof *shield);
	if (shield == NULL)
		return NULL;
	if (strings_add(strings, id->scope, &shield->key[0]) != PL_OK ||
	    strings_add(strings, id->name, &shield->key[1]) != PL_OK) {
		strings_unref(strings, shield->key[0]);
		free(shield);
		return NULL;
	}
	(void)!pl_map_add(&sched->shields.by_name, &shield->by_name,
	                  pl_span(shield->key, sizeof shield->key));
	return shield;
}

static struct catalog_key key_of(const struct shield *shield)
{
	return (struct catalog_key){.namespace = shield->key[0], .name = shield->key[1]};
}

static void unset(struct sched *sched, struct shield *shield)
{
	if (shield->good)
		catalog_drop_budget(&sched->snapshot.catalog, key_of(shield));
	shield->good = false;
	budget_drop(&sched->model, &shield->object);
	free(PL_STEAL(shield->value.at));
	sched->shields.review = true;
}

static void tidy(struct sched *sched, struct shield *shield)
{
	if (shield->value.at != NULL || shield->plans > 0 || shield->call != 0)
		return;
	PL_ASSERT(!shield->good);
	pl_map_del(&sched->shields.by_name, &shield->by_name);
	strings_unref(&sched->model.strings, shield->key[0]);
	strings_unref(&sched->model.strings, shield->key[1]);
	free(shield->late.at);
	free(shield);
}

/* A copy with references of its own. */
static enum pl_code copy_of(struct sched *sched, const struct budget *of,
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

/* It could not be kept: until it was listed again nobody knows whom it protects. */
static void miss(struct sched *sched, struct shield *shield)
{
	if (shield != NULL)
		shield->value.rev = 0; /* the list's is news, be it the same */
	sched->shields.missed = true;
	shields_lost(sched);
	tell_anew(sched, SCHED_BUDGETS);
}

void shield_publish(struct sched *sched, struct shield *shield)
{
	struct budget copy;
	struct pl_err err = {0};
	enum pl_code code;

	if (!shield->good)
		return;
	code = copy_of(sched, &shield->object, &copy);
	if (code == PL_OK) {
		copy.allowed -= (int32_t)shield->planned;
		code = catalog_put_budget(&sched->snapshot.catalog, &copy, &err);
	}
	if (code != PL_OK)
		miss(sched, shield);
}

static enum pl_code read(struct sched *sched, const struct shield *shield,
                         const struct shield_value *value, struct budget *out,
                         struct pl_err *err)
{
	struct parse parse = {.model = &sched->model, .arena = &sched->arena};
	struct budget_record record;
	enum pl_code code;

	pl_arena_reset(&sched->arena);
	code = budget_record_parse(pl_span(value->at, value->len), &sched->arena, &record,
	                           err);
	return code != PL_OK ? code
	                     : budget_record_object(
				       &record, &parse, sched_text(sched, shield->key[0]),
				       sched_text(sched, shield->key[1]), out, err);
}

static void tell_bad(struct sched *sched, struct shield *shield, const struct pl_err *err)
{
	const struct keys_id id = {.kind = KEYS_BUDGET,
	                           .scope = sched_text(sched, shield->key[0]),
	                           .name = sched_text(sched, shield->key[1])};

	if (err->code == PL_NOMEM)
		miss(sched, shield);
	else
		tell_garbled(sched, &id, err);
}

/* It can not note so many more. */
static bool is_full(const struct shield *shield, uint32_t more)
{
	return shield->good &&
	       shield->object.disrupted_count + more > BUDGET_DISRUPTED_MAX;
}

/* Some may be protected by another that is full still: that is found out again. */
static void unspare(struct sched *sched, struct shield *shield)
{
	if (!shield->spares || is_full(shield, 1))
		return;
	shield->spares = false;
	sched->shields.unspare = sched->shields.review = true;
}

static void set(struct sched *sched, struct shield *shield, struct shield_value *value)
{
	struct budget object = {0};
	struct pl_err err = {0};

	sched->shields.made += !shield->good;
	unset(sched, shield);
	shield->value = *value;
	*value = (struct shield_value){0};
	if (shield->value.at == NULL)
		return;
	if (read(sched, shield, &shield->value, &object, &err) != PL_OK) {
		tell_bad(sched, shield, &err);
		return;
	}
	shield->object = object;
	shield->good = true;
	shield_publish(sched, shield);
}

void shield_set(struct sched *sched, struct shield *shield, struct shield_value *value)
{
	if (value->rev <= shield->value.rev) {
		free(PL_STEAL(value->at));
		return;
	}
	set(sched, shield, value);
	unspare(sched, shield);
}

/* False: it could not be kept. */
static bool keep(struct shield_value *out, const struct kv_record *record, bool gone)
{
	*out = (struct shield_value){.rev = record->mod_revision};
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

/* What waits is not the budget that is known: whom it covers, nobody can say yet. */
static void set_other(struct sched *sched, struct shield *shield, bool other)
{
	sched->shields.late_others += other;
	sched->shields.late_others -= shield->late_other;
	shield->late_other = other;
}

static void take(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, bool gone)
{
	struct shield *shield = gone ? shield_find(sched, id) : get(sched, id);
	struct shield_value value;
	bool other;

	if (shield == NULL && gone)
		return;
	if (shield == NULL || !keep(&value, record, gone)) {
		if (shield != NULL)
			tidy(sched, shield);
		miss(sched, NULL);
		return;
	}
	shield->seen = sched->shields.seen;
	other = !gone && record->create_revision > shield->value.rev; /* by its name */
	if (shield->call != 0) {
		free(shield->late.at);
		shield->late = value;
		set_other(sched, shield, shield->late_other || gone || other);
		return;
	}
	sched->shields.made += shield->good && other;
	shield_set(sched, shield, &value);
	tidy(sched, shield);
}

void shield_free_again(struct sched *sched, struct shield *shield)
{
	shield->call = 0;
	sched->shields.review = true;
	sched->shields.made += shield->late_other;
	set_other(sched, shield, false);
	if (shield->late.rev != 0)
		shield_set(sched, shield, &shield->late);
	shield->late.rev = 0;
	tidy(sched, shield);
}

/* -- the view -------------------------------------------------------------------------
 */

bool shields_wanted(const struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		if (sched->partition[i].owned)
			return true;
	return false;
}

void shields_begin(struct sched *sched)
{
	sched->shields.seen++;
	sched->shields.missed = false;
	shields_lost(sched);
}

static void take_lock(struct shields *shields, const struct kv_record *record, bool gone)
{
	shields->lock_seen = shields->seen;
	shields->lock_rev = gone ? 0 : record->mod_revision;
}

static void take_record(struct sched *sched, const struct kv_record *record, bool gone)
{
	struct keys_id id;

	if (keys_parse(record->key, &id, NULL) != PL_OK)
		return;
	if (id.kind == KEYS_BUDGET)
		take(sched, &id, record, gone);
	else if (id.kind == KEYS_BUDGETS_LOCK)
		take_lock(&sched->shields, record, gone);
}

void shields_records(struct sched *sched, const struct kv_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++)
		take_record(sched, &records[i], false);
}

static void sweep(struct sched *sched, int64_t revision)
{
	const struct kv_record gone = {.mod_revision = revision};

	PL_MAP_EACH (at, &sched->shields.by_name) {
		struct shield *shield = shield_at(at);
		const struct keys_id id = {.kind = KEYS_BUDGET,
		                           .scope = sched_text(sched, shield->key[0]),
		                           .name = sched_text(sched, shield->key[1])};

		if (shield->seen != sched->shields.seen && shield->value.rev <= revision)
			take(sched, &id, &gone, true);
	}
}

void shields_end(struct sched *sched, int64_t revision)
{
	sweep(sched, revision);
	if (sched->shields.lock_seen != sched->shields.seen)
		sched->shields.lock_rev = 0;
	if (!sched->shields.missed)
		sched->shields.rev = revision;
}

void shields_events(struct sched *sched, const struct kv_event *events, size_t count,
                    int64_t revision)
{
	for (size_t i = 0; i < count; i++)
		take_record(sched, &events[i].record, events[i].is_delete);
	if (sched->shields.rev != 0 && revision > sched->shields.rev)
		sched->shields.rev = revision;
}

/* Plans go by what is known up to a revision: without it they are made anew. */
void shields_lost(struct sched *sched)
{
	sched->shields.rev = 0;
	sched->shields.review = true;
}

void shields_forget(struct sched *sched)
{
	shields_lost(sched);
	sched->shields.need_rev = sched->shields.lock_rev = 0;
	PL_MAP_EACH (at, &sched->shields.by_name) {
		struct shield *shield = shield_at(at);

		unset(sched, shield);
		unspare(sched, shield);
		shield->value.rev = 0;
		free(PL_STEAL(shield->late.at));
		shield->late.rev = 0;
		set_other(sched, shield, false);
		tidy(sched, shield);
	}
}

bool shields_known(const struct sched *sched)
{
	return sched->shields.rev != 0 && sched->shields.rev >= sched->shields.need_rev;
}

/* -- plans ----------------------------------------------------------------------------
 */

static struct plan_shield *part_of(const struct plan_shields *plan,
                                   const struct shield *shield)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->at[i].shield == shield)
			return &plan->at[i];
	return NULL;
}

static bool plan_for(struct plan_shields *plan, struct shield *shield)
{
	struct plan_shield *part = part_of(plan, shield), *grown;

	if (part == NULL) {
		grown = pl_realloc(plan->at, (plan->count + 1) * sizeof *grown);
		if (grown == NULL)
			return false;
		plan->at = grown;
		part = &grown[plan->count++];
		*part = (struct plan_shield){.shield = shield};
		shield->plans++;
	}
	part->left++;
	shield->planned++;
	return true;
}

static bool plan_victim(struct sched *sched, struct plan_shields *plan,
                        const struct sched_pod *victim)
{
	const struct catalog *catalog = &sched->snapshot.catalog;
	const struct budget *budget = NULL;

	if (victim->spec == NULL)
		return true;
	for (;;) {
		struct keys_id id = {.scope = sched_text(sched, victim->key[1])};
		struct shield *shield;

		budget = catalog_next_in_budget(catalog, victim->key[1], budget);
		if (budget == NULL)
			return true;
		id.name = sched_text(sched, budget->name);
		shield = shield_find(sched, &id);
		if (shield == NULL ||
		    !budget_covers(&sched->model.strings, budget, victim->spec->labels))
			continue;
		if (!plan_for(plan, shield))
			return false;
	}
}

bool shields_plan(struct sched *sched, struct sched_plan *plan)
{
	struct plan_shields *shields = &plan->shields;
	bool whole = true;

	pl_list_init(&shields->of_all);
	pl_list_add_tail(&sched->shields.plans, &shields->of_all);
	shields->made = sched->shields.made;
	shields->clean = true;
	for (uint32_t i = 0; i < plan->victims && whole; i++)
		whole = plan_victim(sched, shields, plan->victim[i]);
	for (uint32_t i = 0; i < shields->count; i++) {
		struct shield *shield = shields->at[i].shield;

		shield_publish(sched, shield);
		shields->clean = shields->clean &&
		                 (int64_t)shield->planned <= shield->object.allowed;
	}
	return whole;
}

static void spare_all(const struct sched *sched, const struct shield *shield)
{
	PODS_EACH(pod, sched)
	{
		if (pod->key[1] == shield->key[0] && pod->spec != NULL &&
		    budget_covers(&sched->model.strings, &shield->object,
		                  pod->spec->labels))
			pod->spared = true;
	}
}

bool shields_spare(const struct sched *sched, const struct sched_plan *plan)
{
	bool spares = false;

	for (uint32_t i = 0; i < plan->shields.count; i++) {
		struct shield *shield = plan->shields.at[i].shield;

		if (!is_full(shield, plan->shields.at[i].left) ||
		    plan->shields.at[i].left > BUDGET_DISRUPTED_MAX)
			continue;
		spares = shield->spares = true;
		spare_all(sched, shield);
	}
	return spares;
}

void shields_unplan(struct sched *sched, struct sched_plan *plan)
{
	struct plan_shields *shields = &plan->shields;

	if (shields->of_all.next == NULL)
		return;
	for (uint32_t i = 0; i < shields->count; i++) {
		struct shield *shield = shields->at[i].shield;

		shield->planned -= shields->at[i].left;
		shield->plans--;
		shield_publish(sched, shield);
		tidy(sched, shield);
	}
	free(shields->at);
	shields->at = NULL;
	shields->count = 0;
	pl_list_del(&shields->of_all);
}

/* What it was made for is not so any more. */
static bool is_off(const struct sched *sched, const struct sched_plan *plan)
{
	const struct plan_shields *shields = &plan->shields;

	if (shields->made != sched->shields.made || sched->shields.rev == 0)
		return true;
	for (uint32_t i = 0; i < shields->count; i++) {
		const struct shield *shield = shields->at[i].shield;

		if (!shield->good ||
		    (shields->clean && (int64_t)shield->planned > shield->object.allowed))
			return true;
	}
	return false;
}

void shields_run(struct sched *sched)
{
	struct pl_list *plans = &sched->shields.plans;

	if (!sched->shields.review)
		return;
	sched->shields.review = false;
	if (sched->shields.unspare) {
		sched->shields.unspare = false;
		preempts_unspare(sched);
	}
	/* The youngest first: the others may be kept then. */
	for (struct pl_list *link = plans->prev, *prev = link->prev; link != plans;
	     link = prev, prev = link->prev) {
		struct sched_plan *plan = plan_at(link);

		if (plan->sent)
			continue;
		if (is_off(sched, plan))
			preempts_cancel(sched, plan);
		else
			node_ready(sched, plan->node);
	}
}

/* -- life -----------------------------------------------------------------------------
 */

void shields_init(struct sched *sched)
{
	pl_map_init(&sched->shields.by_name);
	pl_list_init(&sched->shields.plans);
}

/* There are no plans and no calls any more. */
void shields_done(struct sched *sched)
{
	PL_ASSERT(pl_list_empty(&sched->shields.plans));
	PL_MAP_EACH (at, &sched->shields.by_name)
		shield_at(at)->call = 0;
	shields_forget(sched);
	PL_ASSERT(sched->shields.by_name.count == 0);
	pl_map_done(&sched->shields.by_name);
}

void shields_check(const struct sched *sched)
{
	uint32_t others = 0;

	PL_MAP_EACH (at, &sched->shields.by_name) {
		const struct shield *shield = shield_at(at);
		uint32_t planned = 0, plans = 0;

		PL_LIST_EACH (link, &sched->shields.plans) {
			const struct plan_shield *part =
				part_of(&plan_at(link)->shields, shield);

			planned += part == NULL ? 0 : part->left;
			plans += part != NULL;
		}
		PL_ASSERT(planned == shield->planned && plans == shield->plans);
		PL_ASSERT(shield->call == 0 ||
		          sched->call[shield->call - 1].state != CALL_FREE);
		PL_ASSERT(shield->late.rev == 0 || shield->call != 0);
		PL_ASSERT(!shield->late_other || shield->late.rev != 0);
		others += shield->late_other;
	}
	PL_ASSERT(others == sched->shields.late_others);
}
