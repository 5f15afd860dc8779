/*
 * What transactions compare and put so that a rule holds whoever else places.
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

static bool is_registry(const struct keys_id *id)
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
	if (is_registry(id))
		return take_registry(sched, id, record, gone);
	if (id->kind == KEYS_SHAPE && record->mod_revision > groups->shape) {
		groups->shape = record->mod_revision;
		groups->shape_gone = gone;
		groups->shape_lost = groups->shape_lost && gone;
		if (sched->bundle.shaped)
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

static int64_t lock_of(const struct group *group)
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
	if (lock_of(group) == 0) {
		lose(sched, group, clear);
		return false;
	}
	return true;
}

static int64_t shape_rev(const struct groups *groups)
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
	if (!bonds->wide || shape_rev(&sched->groups) != 0)
		return may;
	sched->groups.shape_lost = true;
	return false;
}

/* -- into a bundle ----------------------------------------------------------------------
 */

static struct pl_span key_of(const struct sched *sched, const struct group *group,
                             struct keys_text *text)
{
	const struct keys_id id = {.kind = KEYS_GROUP,
	                           .scope = sched_text(sched, group->key[0]),
	                           .name = sched_text(sched, group->key[1])};

	if (keys_build(&id, text, NULL) != PL_OK)
		PL_UNREACHABLE("a term that no key can have");
	return keys_span(text);
}

static enum bundle_how how_of(bool compares, bool puts)
{
	if (!puts)
		return BUNDLE_EXPECT;
	return compares ? BUNDLE_PUT : BUNDLE_BUMP;
}

/* It is in the bundle already, for another pod. */
static void bond_again(struct sched *sched, const struct bond *bond)
{
	struct bundle_extra *at = &sched->bundle.extra[bond->group->extra];
	enum bundle_how how = how_of(at->how != BUNDLE_BUMP || bond->compares,
	                             at->how != BUNDLE_EXPECT || bond->puts);
	char value[GROUP_VALUE_SIZE];

	at->rev = lock_of(bond->group);
	if (at->how == how)
		return;
	at->how = how;
	bundle_extra_value(sched, at,
	                   group_value(sched->shard, how == BUNDLE_PUT, value));
}

static void bundle_bond(struct sched *sched, const struct bond *bond)
{
	struct group *group = bond->group;
	struct bundle *bundle = &sched->bundle;
	struct keys_text text;
	char value[GROUP_VALUE_SIZE];
	struct bundle_extra extra = {.how = how_of(bond->compares, bond->puts),
	                             .rev = lock_of(group)};

	if (group->bundle == bundle->number + 1) {
		bond_again(sched, bond);
		return;
	}
	extra.value = group_value(sched->shard, extra.how == BUNDLE_PUT, value);
	extra.key = key_of(sched, group, &text);
	group->extra = bundle_extra(sched, &extra);
	if (group->extra != UINT32_MAX)
		group->bundle = bundle->number + 1;
}

/* What nodes there are is as the view brought it. */
static struct bundle_extra shape_of(const struct sched *sched, struct keys_text *text)
{
	const struct keys_id id = {.kind = KEYS_SHAPE};
	const struct groups *groups = &sched->groups;

	if (keys_build(&id, text, NULL) != PL_OK)
		PL_UNREACHABLE("a key without names");
	return (struct bundle_extra){
		.how = BUNDLE_EXPECT, .rev = shape_rev(groups), .key = keys_span(text)};
}

static void bundle_shape(struct sched *sched)
{
	struct keys_text text;
	struct bundle_extra extra;

	if (sched->bundle.shaped)
		return;
	extra = shape_of(sched, &text);
	sched->bundle.shaped = true;
	(void)bundle_extra(sched, &extra);
}

static uint32_t only_put(const struct bonds *bonds)
{
	const struct bond_rows *rows = bond_rows_of(bonds);
	uint32_t count = 0;

	for (uint32_t i = 0; i < rows->count; i++)
		count += !rows->bond[i].compares;
	return count;
}

void groups_bundle(struct sched *sched, struct pool_class *open)
{
	const struct bonds *bonds = bonds_of(open);
	bool many = many_are(sched, only_put(bonds));

	for (uint32_t i = 0; i < bond_rows_of(bonds)->count; i++) {
		const struct bond *bond = &bond_rows_of(bonds)->bond[i];

		if (many && !bond->compares)
			many_bundle(sched, bond->group);
		else
			bundle_bond(sched, bond);
	}
	if (bonds->wide)
		bundle_shape(sched);
}

/* -- into the call that binds a gang
 * -----------------------------------------------------
 */

void groups_gather_begin(struct sched *sched)
{
	struct groups *groups = &sched->groups;

	PL_LIST_EACH (link, &groups->gathered)
		pl_list_del(link);
	groups->gathers = 0;
	groups->gathers_shape = false;
}

void groups_gather(struct sched *sched, struct pool_class *open)
{
	struct groups *groups = &sched->groups;
	const struct bonds *bonds = bonds_of(open);

	for (uint32_t i = 0; i < bond_rows_of(bonds)->count; i++) {
		const struct bond *bond = &bond_rows_of(bonds)->bond[i];
		struct group *group = bond->group;

		if (pl_list_empty(&group->gathered)) {
			pl_list_add_tail(&groups->gathered, &group->gathered);
			group->compares = group->puts = false;
			groups->gathers++;
		}
		group->compares = group->compares || bond->compares;
		group->puts = group->puts || bond->puts;
	}
	groups->gathers_shape = groups->gathers_shape || bonds->wide;
}

static uint32_t gathered_only_put(const struct sched *sched)
{
	uint32_t count = 0;

	PL_LIST_EACH (link, &sched->groups.gathered)
		count += !PL_LIST_ITEM(link, struct group, gathered)->compares;
	return count;
}

uint32_t groups_gathered(const struct sched *sched)
{
	uint32_t only = gathered_only_put(sched);

	if (!many_are(sched, only))
		return sched->groups.gathers;
	return sched->groups.gathers - only + MANY_KEYS;
}

/* Whoever was decided without these pods, and looks at them, is to fail. */
static enum pl_code put_gathered(struct sched *sched, struct call *call,
                                 const struct group *group)
{
	enum bundle_how how = how_of(group->compares, group->puts);
	char value[GROUP_VALUE_SIZE];
	struct keys_text text;
	const struct bundle_extra extra = {
		.how = how,
		.rev = lock_of(group),
		.key = key_of(sched, group, &text),
		.value = pl_arena_dup(
			&call->arena,
			group_value(sched->shard, how == BUNDLE_PUT, value))};

	return extra.value.at == NULL ? PL_NOMEM : bundle_put_extra(call, &extra);
}

enum pl_code groups_gathered_put(struct sched *sched, struct call *call)
{
	struct groups *groups = &sched->groups;
	bool many = many_are(sched, gathered_only_put(sched));
	struct bundle_extra shape;
	struct keys_text key;
	enum pl_code code = PL_OK;

	PL_LIST_EACH (link, &groups->gathered) {
		const struct group *group = PL_LIST_ITEM(link, struct group, gathered);

		if (code == PL_OK)
			code = many && !group->compares
			               ? many_put(sched, call, group)
			               : put_gathered(sched, call, group);
	}
	if (code == PL_OK && groups->gathers_shape) {
		shape = shape_of(sched, &key);
		code = bundle_put_extra(call, &shape);
	}
	groups_gather_begin(sched);
	return code;
}

/* -- into any transaction
 * ---------------------------------------------------------------- */

static enum pl_code expect(struct sched *sched, struct call *call,
                           struct group_space *space)
{
	const struct keys_id id = {.kind = space->name == 0 ? KEYS_REGISTRY_GLOBAL
	                                                    : KEYS_REGISTRY,
	                           .scope = sched_text(sched, space->name)};
	struct keys_text text;
	enum pl_code code;

	if (space->stamp == call->serial)
		return PL_OK;
	if (keys_build(&id, &text, NULL) != PL_OK)
		PL_UNREACHABLE("a namespace that no key can have");
	if (!book_expect(&call->book, keys_span(&text), space->rev))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	code = call_item_of(call, &(struct call_item){.compared = true},
	                    keys_span(&text));
	if (code == PL_OK) /* else nothing takes it back: groups_undo goes by items */
		space->stamp = call->serial;
	return code;
}

enum pl_code groups_expect(struct sched *sched, struct call *call, uint32_t name)
{
	struct group_space *space = groups_space(sched, name);
	enum pl_code code = space == NULL ? PL_NOMEM : PL_OK;

	if (code == PL_OK)
		code = expect(sched, call, sched->groups.global);
	return code == PL_OK ? expect(sched, call, space) : code;
}

struct putting {
	struct sched *sched;
	struct call *call;
	bool goes;
	uint32_t count;
};

static bool is_put_already(const struct putting *to, const struct group *group)
{
	const struct bundle *bundle = &to->sched->bundle;

	if (group->stamp == to->call->serial ||
	    many_is_put(to->sched, to->call, group->space))
		return true;
	return to->call->bundle && group->bundle == bundle->number + 1 &&
	       bundle->extra[group->extra].how != BUNDLE_EXPECT;
}

static bool is_due(const struct putting *to, const struct bond *bond)
{
	if (to->goes && bond->group->kind == GROUP_ANTI_AFFINITY)
		return false;
	return bond->puts && !is_put_already(to, bond->group);
}

static enum pl_code put(void *ctx, const struct bond *bond)
{
	struct putting *to = ctx;
	struct call *call = to->call;
	struct group *group = bond->group;
	char value[GROUP_VALUE_SIZE];
	struct keys_text text;
	struct call_item item;
	enum pl_code code;

	if (!is_due(to, bond))
		return PL_OK;
	if (many_are(to->sched, ++to->count))
		return PL_LIMIT;
	item = (struct call_item){
		.value = pl_arena_dup(&call->arena,
	                              group_value(to->sched->shard, false, value))};
	if (item.value.at == NULL)
		return PL_NOMEM;
	if (!book_bump(&call->book, key_of(to->sched, group, &text), item.value))
		return call->book.code == PL_OK ? PL_BUSY : call->book.code;
	code = call_item_of(call, &item, keys_span(&text));
	if (code == PL_OK)
		group->stamp = call->serial;
	return code;
}

static enum pl_code put_together(void *ctx, const struct bond *bond)
{
	const struct putting *to = ctx;

	return is_due(to, bond) ? many_put(to->sched, to->call, bond->group) : PL_OK;
}

enum pl_code groups_put(struct sched *sched, struct call *call, const struct spec *spec,
                        bool goes)
{
	struct putting to = {.sched = sched, .call = call, .goes = goes};
	enum pl_code code = groups_expect(sched, call, spec->namespace);
	const struct book was = call->book;
	uint32_t items = call->items;

	if (code == PL_OK)
		code = groups_each(sched, spec, &(struct groups_each){put, &to});
	if (code != PL_LIMIT || !many_are(sched, to.count))
		return code;
	while (call->items > items)
		groups_undo(sched, call, &call->item[--call->items]);
	call->book = was;
	return groups_each(sched, spec, &(struct groups_each){put_together, &to});
}

static struct group *group_of(const struct sched *sched, const struct keys_id *id)
{
	const struct strings *strings = &sched->model.strings;

	return groups_find(sched, strings_find(strings, id->scope),
	                   strings_find(strings, id->name));
}

static struct group_space *space_of(struct sched *sched, const struct keys_id *id)
{
	uint32_t name = strings_find(&sched->model.strings, id->scope);

	if (id->kind == KEYS_REGISTRY_GLOBAL)
		return sched->groups.global;
	return name == 0 ? NULL : groups_space(sched, name);
}

void groups_undo(struct sched *sched, struct call *call, const struct call_item *item)
{
	struct group_space *space;
	struct group *group;

	call->extras--;
	if (item->id.kind == KEYS_GROUP) {
		group = group_of(sched, &item->id);
		if (group != NULL)
			group->stamp = 0;
	} else if (is_registry(&item->id)) {
		space = space_of(sched, &item->id);
		if (space != NULL && item->compared)
			space->stamp = 0;
		else if (space != NULL)
			space->put = 0;
	}
}

/* -- what became of it ------------------------------------------------------------------
 */

void groups_stand(struct sched *sched, const struct call *call,
                  const struct call_item *item, int64_t revision)
{
	struct group *group;
	struct group_space *space;

	if (item->value.len == 0)
		return;
	if (is_registry(&item->id)) {
		space = space_of(sched, &item->id);
		if (space != NULL)
			(void)groups_take_registry(sched, space, item->value, false,
			                           revision);
	}
	if (item->id.kind == KEYS_SHAPE) {
		sched->groups.shape_lost = false;
		groups_wait_for(sched, revision);
	}
	group = item->id.kind == KEYS_GROUP ? group_of(sched, &item->id) : NULL;
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
	struct group_space *space = space_of(sched, &item->id);

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
	if (is_registry(&item->id)) {
		registry_failed(sched, item, record, revision);
		return;
	}
	if (item->id.kind == KEYS_SHAPE) {
		shape_failed(sched, record, revision);
		return;
	}
	group = item->id.kind == KEYS_GROUP ? group_of(sched, &item->id) : NULL;
	if (group != NULL)
		lock_failed(sched, group, record, revision);
	else if (record != NULL)
		groups_wait_for(sched, record->mod_revision);
}
