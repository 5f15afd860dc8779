/*
 * What transactions compare and put so that a rule holds whoever else places.
 */
#include "shardsched/shard/commit/bundle.h"
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/inner.h"

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

	at->rev = groups_lock(bond->group);
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
	                             .rev = groups_lock(group)};

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

struct pl_span groups_shape_key(struct keys_text *text)
{
	if (keys_build(&(struct keys_id){.kind = KEYS_SHAPE}, text, NULL) != PL_OK)
		PL_UNREACHABLE("a key without names");
	return keys_span(text);
}

/* What nodes there are is as the view brought it. */
static struct bundle_extra shape_of(const struct sched *sched, struct keys_text *text)
{
	return (struct bundle_extra){.how = BUNDLE_EXPECT,
	                             .rev = groups_shape(&sched->groups),
	                             .key = groups_shape_key(text)};
}

bool groups_bundle_puts_shape(const struct sched *sched)
{
	const struct bundle *bundle = &sched->bundle;

	return bundle->shape != 0 &&
	       bundle->extra[bundle->shape - 1].how != BUNDLE_EXPECT;
}

bool groups_bundle_is_shaped(const struct sched *sched)
{
	const struct bundle *bundle = &sched->bundle;

	return bundle->shape != 0 && bundle->extra[bundle->shape - 1].how != BUNDLE_BUMP;
}

static void shape_again(struct sched *sched, bool compares, bool puts)
{
	struct bundle_extra *at = &sched->bundle.extra[sched->bundle.shape - 1];

	at->rev = groups_shape(&sched->groups);
	at->how = how_of(at->how != BUNDLE_BUMP || compares,
	                 at->how != BUNDLE_EXPECT || puts);
	if (at->how != BUNDLE_EXPECT && at->value.len == 0)
		bundle_extra_value(sched, at, GROUPS_SHAPE_VALUE);
}

void groups_bundle_shape(struct sched *sched, bool compares, bool puts)
{
	struct bundle *bundle = &sched->bundle;
	struct keys_text text;
	struct bundle_extra extra;
	uint32_t at;

	if (bundle->shape != 0) {
		shape_again(sched, compares, puts);
		return;
	}
	extra = shape_of(sched, &text);
	extra.how = how_of(compares, puts);
	if (puts)
		extra.value = GROUPS_SHAPE_VALUE;
	at = bundle_extra(sched, &extra);
	bundle->shape = at == UINT32_MAX ? 0 : at + 1;
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
	uint32_t only = only_put(bonds);
	bool many = only > MANY_KEYS && many_are(sched, bond_rows_of(bonds)->count);

	for (uint32_t i = 0; i < bond_rows_of(bonds)->count; i++) {
		const struct bond *bond = &bond_rows_of(bonds)->bond[i];

		if (many && !bond->compares)
			many_bundle(sched, bond->group);
		else
			bundle_bond(sched, bond);
	}
	if (bonds->wide)
		groups_bundle_shape(sched, true, false);
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

static bool are_many_gathered(const struct sched *sched, uint32_t only_put)
{
	return only_put > MANY_KEYS && many_are(sched, sched->groups.gathers);
}

uint32_t groups_gathered(const struct sched *sched)
{
	uint32_t only = gathered_only_put(sched);

	return are_many_gathered(sched, only) ? sched->groups.gathers - only + MANY_KEYS
	                                      : sched->groups.gathers;
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
		.rev = groups_lock(group),
		.key = key_of(sched, group, &text),
		.value = pl_arena_dup(
			&call->arena,
			group_value(sched->shard, how == BUNDLE_PUT, value))};

	return extra.value.at == NULL ? PL_NOMEM : bundle_put_extra(call, &extra);
}

enum pl_code groups_gathered_put(struct sched *sched, struct call *call)
{
	struct groups *groups = &sched->groups;
	bool many = are_many_gathered(sched, gathered_only_put(sched));
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

/* -- into any transaction ------------------------------------------------- */

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

void groups_undo(struct sched *sched, struct call *call, const struct call_item *item)
{
	struct group_space *space;
	struct group *group;

	call->extras--;
	if (item->id.kind == KEYS_GROUP) {
		group = groups_of_lock(sched, &item->id);
		if (group != NULL)
			group->stamp = 0;
	} else if (groups_is_registry(&item->id)) {
		space = groups_of_registry(sched, &item->id);
		if (space != NULL && item->compared)
			space->stamp = 0;
		else if (space != NULL)
			space->put = 0;
	} else if (item->id.kind == KEYS_SHAPE && !item->compared) {
		sched->groups.shape_put = 0;
	}
}
