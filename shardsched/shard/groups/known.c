/*
 * What is known of locks, and who may be decided by that.
 *
 * A lock's revision is known from the whole view, once everything up to it has come in;
 * or from our own last put of it, if that compared the one before: then nothing that the
 * term looks at has changed but by ourselves. A put of ours without a compare says
 * nothing about what came before it: the view has to reach it.
 */
#include "shardsched/shard/commit/bundle.h"
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/inner.h"

/* -- what the view says ----------------------------------------------------------------
 */

/* What is being decided under it may not be so any more. */
static void break_under(struct sched *sched, const struct group *group)
{
	const struct bundle *bundle = &sched->bundle;

	if (group->bundle == bundle->number + 1 &&
	    bundle->extra[group->extra].how != BUNDLE_BUMP)
		bundle_break(sched);
}

static bool take_lock(struct sched *sched, const struct keys_id *id,
                      const struct kv_record *record, bool gone)
{
	struct group *group = groups_get(sched, id->scope, id->name);

	if (group == NULL)
		return false;
	if (record->mod_revision <= group->seen)
		return true;
	group->seen = record->mod_revision;
	group->gone = gone;
	if (!gone && group->seen != group->own)
		rivals_heard(sched, group, record->value);
	if (!gone)
		pl_list_del(&group->lost);
	if (group->seen > group->own)
		break_under(sched, group);
	if (gone && group->space == NULL)
		groups_forget(sched, group);
	return true;
}

bool groups_is_registry(const struct keys_id *id)
{
	return id->kind == KEYS_REGISTRY || id->kind == KEYS_REGISTRY_GLOBAL;
}

static bool take_registry(struct sched *sched, const struct keys_id *id,
                          const struct kv_record *record, bool gone)
{
	uint32_t name = 0;
	struct group_space *space = sched->groups.global;

	if (id->kind == KEYS_REGISTRY) {
		if (strings_add(&sched->model.strings, id->scope, &name) != PL_OK)
			return false;
		space = groups_space(sched, name);
		strings_unref(&sched->model.strings, name);
	}
	return space != NULL && groups_take_registry(sched, space, record->value, gone,
	                                             record->mod_revision);
}

bool groups_take(struct sched *sched, const struct keys_id *id,
                 const struct kv_record *record, bool gone)
{
	struct groups *groups = &sched->groups;

	if (id->kind == KEYS_GROUP)
		return take_lock(sched, id, record, gone);
	if (groups_is_registry(id))
		return take_registry(sched, id, record, gone);
	if (id->kind == KEYS_SHAPE && record->mod_revision > groups->shape) {
		groups->shape = record->mod_revision;
		groups->shape_gone = gone;
		groups->shape_lost = groups->shape_lost && gone;
		if (groups_bundle_is_shaped(sched))
			bundle_break(sched);
	}
	return true;
}

void groups_view_begun(struct sched *sched)
{
	struct groups *groups = &sched->groups;

	groups->view_epoch++;
	groups->shape = 0;
	groups->shape_gone = groups->shape_lost = false;
	bundle_break(sched);
	PL_MAP_EACH (at, &groups->groups) {
		struct group *group = PL_CONTAINER_OF(at, struct group, by_key);

		group->seen = group->own = 0;
		group->gone = false;
		pl_list_del(&group->lost);
	}
}

void groups_rewound(struct sched *sched)
{
	struct groups *groups = &sched->groups;

	groups_view_begun(sched);
	groups->wait_rev = 0;
	PL_MAP_EACH (at, &groups->groups)
		PL_CONTAINER_OF(at, struct group, by_key)->blind = 0;
	PL_MAP_EACH (at, &groups->spaces)
		PL_CONTAINER_OF(at, struct group_space, by_name)->heard = 0;
}

/* -- who may be decided -----------------------------------------------------------------
 */

/* All that was decided by what was registered before has been settled. */
static bool is_steady(const struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		if (sched->call[i].state != CALL_FREE && call_commits(&sched->call[i]) &&
		    sched->call[i].groups_epoch != sched->groups.epoch)
			return false;
	return true;
}

void groups_turn_begin(struct sched *sched)
{
	sched->groups.turn.known = true;
	sched->groups.turn.steady = is_steady(sched);
	sched->groups.turn.clear = view_clear(sched);
}

void groups_turn_end(struct sched *sched)
{
	sched->groups.turn.known = false;
}

static bool steady(const struct sched *sched)
{
	return sched->groups.turn.known ? sched->groups.turn.steady : is_steady(sched);
}

static int64_t clear_up_to(const struct sched *sched)
{
	return sched->groups.turn.known ? sched->groups.turn.clear : view_clear(sched);
}

static bool is_wide_shut(const struct sched *sched)
{
	const struct groups *groups = &sched->groups;
	int64_t clear = clear_up_to(sched);

	return clear == 0 || clear < groups->wait_rev || clear < groups->shape ||
	       sched->shrunk || groups->shape_lost || !pl_list_empty(&groups->lost) ||
	       large_shuts(sched);
}

bool groups_shut(const struct sched *sched)
{
	return !steady(sched) || is_wide_shut(sched);
}

unsigned groups_lanes_shut(const struct sched *sched)
{
	unsigned shut = 1u << LANE_HELD;

	if (large_is_full(sched))
		shut |= 1u << LANE_LARGE;
	if (large_wants_turn(sched) || !bundle_takes_gang(sched))
		shut |= 1u << LANE_GANG | 1u << LANE_LARGE;
	if (large_wants_turn(sched))
		return shut | 1u << LANE_GROUPED | 1u << LANE_WIDE;
	if (!bundle_takes(sched) || !steady(sched))
		return shut | 1u << LANE_GROUPED | 1u << LANE_WIDE;
	if (is_wide_shut(sched) || rivals_wait(sched))
		shut |= 1u << LANE_WIDE;
	return shut;
}

static bool is_known(const struct group *group, int64_t clear)
{
	if (group->own > group->seen && group->own > group->blind)
		return true;
	return group->seen <= clear && group->blind <= clear;
}

int64_t groups_lock(const struct group *group)
{
	if (group->own > group->seen)
		return group->own;
	return group->gone ? 0 : group->seen;
}

void groups_wait_for(struct sched *sched, int64_t revision)
{
	if (revision > sched->groups.wait_rev)
		sched->groups.wait_rev = revision;
}

/* It is to be made again, unless it comes with the registry, which is known already. Of a
 * term that is in no registry there is to be no lock. */
static void lose(struct sched *sched, struct group *group, int64_t clear)
{
	if (group->space == NULL)
		return;
	if (group->space->heard > clear)
		groups_wait_for(sched, group->space->heard);
	else if (pl_list_empty(&group->lost))
		pl_list_add_tail(&sched->groups.lost, &group->lost);
}

/* False: the wide lane is shut until something has come. */
static bool may_rely(struct sched *sched, struct group *group, int64_t clear)
{
	if (!is_known(group, clear)) {
		groups_wait_for(sched, group->seen);
		groups_wait_for(sched, group->blind);
		return false;
	}
	if (groups_lock(group) == 0) {
		lose(sched, group, clear);
		return false;
	}
	return true;
}

int64_t groups_shape(const struct groups *groups)
{
	return groups->shape_gone ? 0 : groups->shape;
}

bool groups_may_decide(struct sched *sched, struct pool_class *open)
{
	const struct bonds *bonds = bonds_of(open);
	int64_t clear = bonds->wide ? clear_up_to(sched) : 0;
	bool may = true;

	/* All that are not there are made together. */
	for (uint32_t i = 0; bonds->wide && i < bond_rows_of(bonds)->count; i++)
		if (bond_rows_of(bonds)->bond[i].compares)
			may = may_rely(sched, bond_rows_of(bonds)->bond[i].group,
			               clear) &&
			      may;
	if (!bonds->wide || groups_shape(&sched->groups) != 0)
		return may;
	sched->groups.shape_lost = true;
	return false;
}

/* -- what became of a transaction -------------------------------------------------------
 */

struct group *groups_of_lock(const struct sched *sched, const struct keys_id *id)
{
	const struct strings *strings = &sched->model.strings;

	return groups_find(sched, strings_find(strings, id->scope),
	                   strings_find(strings, id->name));
}

struct group_space *groups_of_registry(struct sched *sched, const struct keys_id *id)
{
	uint32_t name = strings_find(&sched->model.strings, id->scope);

	if (id->kind == KEYS_REGISTRY_GLOBAL)
		return sched->groups.global;
	return name == 0 ? NULL : groups_space(sched, name);
}

void groups_stand(struct sched *sched, const struct call *call,
                  const struct call_item *item, int64_t revision)
{
	struct group *group;
	struct group_space *space;

	if (item->value.len == 0)
		return;
	if (groups_is_registry(&item->id)) {
		space = groups_of_registry(sched, &item->id);
		if (space != NULL)
			(void)groups_take_registry(sched, space, item->value, false,
			                           revision);
	}
	if (item->id.kind == KEYS_SHAPE) {
		sched->groups.shape_lost = false;
		groups_wait_for(sched, revision);
		if (groups_bundle_is_shaped(sched))
			bundle_break(sched);
	}
	group = item->id.kind == KEYS_GROUP ? groups_of_lock(sched, &item->id) : NULL;
	if (group == NULL)
		return;
	pl_list_del(&group->lost);
	if (item->compared && call->kind != CALL_REGISTER &&
	    call->view_epoch == sched->groups.view_epoch)
		group->own = revision;
	else if (revision > group->blind)
		group->blind = revision;
	if (group->blind == revision)
		break_under(sched, group);
}

static void registry_failed(struct sched *sched, const struct call_item *item,
                            const struct kv_record *record, int64_t revision)
{
	struct group_space *space = groups_of_registry(sched, &item->id);

	if (space == NULL)
		return;
	if (record == NULL)
		(void)groups_take_registry(sched, space, PL_SPAN_LIT(""), true, revision);
	else
		(void)groups_take_registry(sched, space, record->value, false,
		                           record->mod_revision);
}

/* Known is what the view has brought, with all that happened before. What is not there is
 * made again: the view may not have heard of its end, nor of what was before that. */
static void shape_failed(struct sched *sched, const struct kv_record *record,
                         int64_t revision)
{
	struct groups *groups = &sched->groups;

	if (record != NULL) {
		groups->shape_lost = false;
		groups_wait_for(sched, record->mod_revision);
	} else if (revision > groups->shape) {
		groups->shape_lost = true;
	}
}

static void lock_failed(struct sched *sched, struct group *group,
                        const struct kv_record *record, int64_t revision)
{
	group->own = 0; /* somebody was there since */
	if (record != NULL) {
		if (sched->answered != NULL && sched->answered->bundle)
			rivals_met(sched, group, record->value);
		pl_list_del(&group->lost);
		groups_wait_for(sched, record->mod_revision);
	} else if (group->space != NULL && revision > group->seen &&
	           pl_list_empty(&group->lost)) {
		pl_list_add_tail(&sched->groups.lost, &group->lost);
	}
}

void groups_failed(struct sched *sched, const struct call_item *item,
                   const struct book_found *found, int64_t revision)
{
	const struct kv_record *record = found->record;
	struct group *group = NULL;

	if (found->verdict == BOOK_SAME || !item->compared)
		return;
	if (groups_is_registry(&item->id)) {
		registry_failed(sched, item, record, revision);
		return;
	}
	if (item->id.kind == KEYS_SHAPE) {
		shape_failed(sched, record, revision);
		return;
	}
	group = item->id.kind == KEYS_GROUP ? groups_of_lock(sched, &item->id) : NULL;
	if (group != NULL)
		lock_failed(sched, group, record, revision);
	else if (record != NULL)
		groups_wait_for(sched, record->mod_revision);
}
