/*
 * Terms, and the bonds of each open class with those that are registered
 * (registries.c): a new term is asked about every class once, and every new class is
 * asked about the terms of its namespace and the global ones.
 */
#include <stdlib.h>

#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

enum { ARENA_CHUNK = 16 << 10 };

static struct pool_class *open_of(struct bonds *bonds)
{
	struct class_more *class = PL_CONTAINER_OF(bonds, struct class_more, bonds);

	return pool_class_of(&class->queue);
}

/* -- terms ----------------------------------------------------------------------------
 */

static struct pl_span group_key(const uint32_t key[2])
{
	return pl_span(key, 2 * sizeof key[0]);
}

struct group *groups_find(const struct sched *sched, uint32_t space, uint32_t id)
{
	const uint32_t key[2] = {space, id};
	struct pl_map_node *at = pl_map_get(&sched->groups.groups, group_key(key));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct group, by_key);
}

static struct group *make(struct sched *sched, uint32_t space, uint32_t id)
{
	struct group *group = pl_calloc(1, sizeof *group);

	if (group == NULL)
		return NULL;
	group->key[0] = strings_ref(&sched->model.strings, space);
	group->key[1] = strings_ref(&sched->model.strings, id);
	pl_list_init(&group->of_space);
	pl_list_init(&group->gathered);
	pl_list_init(&group->lost);
	(void)!pl_map_add(&sched->groups.groups, &group->by_key, group_key(group->key));
	return group;
}

struct group *groups_get(struct sched *sched, struct pl_span space, struct pl_span id)
{
	struct strings *strings = &sched->model.strings;
	struct group *group = NULL;
	uint32_t key[2] = {0};

	if (strings_add(strings, space, &key[0]) == PL_OK &&
	    strings_add(strings, id, &key[1]) == PL_OK) {
		group = groups_find(sched, key[0], key[1]);
		if (group == NULL)
			group = make(sched, key[0], key[1]);
	}
	strings_unref(strings, key[0]);
	strings_unref(strings, key[1]);
	return group;
}

void groups_unregister(struct sched *sched, struct group *group)
{
	pl_list_del(&group->of_space);
	pl_list_del(&group->lost);
	group->space = NULL;
	model_unref(&sched->model, MODEL_SPECS, group->carrier);
	group->carrier = NULL;
}

static void free_group(struct sched *sched, struct group *group)
{
	groups_unregister(sched, group);
	pl_list_del(&group->gathered);
	pl_map_del(&sched->groups.groups, &group->by_key);
	strings_unref(&sched->model.strings, group->key[0]);
	strings_unref(&sched->model.strings, group->key[1]);
	free(group);
}

/* Classes that have not heard of it may still refer to it. */
void groups_forget(struct sched *sched, struct group *group)
{
	PL_MAP_EACH (at, &sched->groups.spaces)
		if (PL_CONTAINER_OF(at, struct group_space, by_name)->stale)
			return;
	free_group(sched, group);
}

/* -- bonds ----------------------------------------------------------------------------
 */

static const struct own_term *own_of(const struct bond_rows *rows,
                                     const struct group *group, const struct spec *spec)
{
	for (uint32_t i = 0; i < rows->owns; i++)
		if (rows->own[i].id == group->key[1] && group->key[0] == spec->namespace)
			return &rows->own[i];
	return NULL;
}

/* False: there is none. */
static bool bond_of(const struct sched *sched, struct group *group,
                    const struct spec *spec, bool carried, struct bond *out)
{
	bool mutual = group->kind == GROUP_ANTI_AFFINITY;
	bool found = group_finds(
		&sched->model, group->carrier, spec,
		catalog_space_labels(&sched->snapshot.catalog, spec->namespace));

	*out = (struct bond){.group = group,
	                     .puts = found || (carried && mutual),
	                     .compares = carried || (found && mutual)};
	return found || carried;
}

/* NULL: no memory. */
static struct bond_rows *rows_get(struct bonds *bonds)
{
	struct class_rare *rare =
		class_rare_get(PL_CONTAINER_OF(bonds, struct class_more, bonds));

	return rare == NULL ? NULL : &rare->rows;
}

static enum pl_code bond_add(struct bonds *bonds, const struct bond *bond)
{
	struct bond_rows *rows = rows_get(bonds);
	struct bond *grown;
	uint32_t cap;

	if (rows == NULL)
		return PL_NOMEM;
	cap = rows->cap == 0 ? 4 : rows->cap * 2u;
	PL_ASSERT(cap <= UINT16_MAX);
	if (rows->count == rows->cap) {
		grown = pl_realloc(rows->bond, cap * sizeof *grown);
		if (grown == NULL)
			return PL_NOMEM;
		rows->bond = grown;
		rows->cap = (uint16_t)cap;
	}
	rows->bond[rows->count++] = *bond;
	return PL_OK;
}

/* The class and the term are asked about each other. */
static enum pl_code meet(struct sched *sched, struct bonds *bonds, struct group *group)
{
	const struct spec *spec = open_of(bonds)->spec;
	bool carried = own_of(bond_rows_of(bonds), group, spec) != NULL;
	struct bond bond;
	enum pl_code code;

	if (!bond_of(sched, group, spec, carried, &bond))
		return PL_OK;
	code = bond_add(bonds, &bond);
	if (code != PL_OK)
		return code;
	if (carried)
		rows_get(bonds)->missing--;
	bonds->wide = bonds->wide || bond.compares;
	return PL_OK;
}

static enum pl_code meet_all(struct sched *sched, struct bonds *bonds,
                             const struct group_space *space)
{
	enum pl_code code = PL_OK;

	PL_LIST_EACH (link, &space->groups)
		if (code == PL_OK)
			code = meet(sched, bonds,
			            PL_LIST_ITEM(link, struct group, of_space));
	return code;
}

static enum pl_code bonds_anew(struct sched *sched, struct bonds *bonds)
{
	struct class_rare *rare = PL_CONTAINER_OF(bonds, struct class_more, bonds)->rare;
	enum pl_code code;

	if (rare != NULL) {
		rare->rows.count = 0;
		rare->rows.missing = rare->rows.owns;
	}
	bonds->wide = group_is_carrier(&sched->model, open_of(bonds)->spec);
	bonds->refused = bonds->many = false;
	code = meet_all(sched, bonds, bonds->space);
	return code == PL_OK ? meet_all(sched, bonds, sched->groups.global) : code;
}

static void want_registered(struct sched *sched, struct bonds *bonds)
{
	const struct spec *spec = open_of(bonds)->spec;
	const struct bond_rows *rows = bond_rows_of(bonds);

	for (uint32_t i = 0; i < rows->owns; i++) {
		const struct own_term *own = &rows->own[i];
		const struct group *group = groups_find(sched, spec->namespace, own->id);
		struct group_space *space =
			own->global ? sched->groups.global : bonds->space;

		if ((group == NULL || group->space == NULL) &&
		    pl_list_empty(&space->wanting))
			pl_list_add_tail(&sched->groups.wanting, &space->wanting);
	}
}

static uint8_t lane_of(const struct bonds *bonds)
{
	const struct bond_rows *rows = bond_rows_of(bonds);

	if (rows->missing > 0 && !bonds->refused)
		return LANE_HELD;
	if (bonds->wide)
		return LANE_WIDE;
	return rows->count > 0 ? LANE_GROUPED : LANE_PLAIN;
}

static void hold_view(struct sched *sched, struct class_more *class)
{
	bool pods = class->queue.pods > 0 ||
	            (class->rare != NULL && !pl_list_empty(&class->rare->own));
	bool wants = pods &&
	             (class->bonds.lane == LANE_WIDE || class->bonds.lane == LANE_HELD);

	if (wants && !class->bonds.wants)
		view_want(sched);
	if (!wants && class->bonds.wants)
		view_release(sched);
	class->bonds.wants = wants;
}

void groups_class_pods(struct sched *sched, struct pool_class *open)
{
	hold_view(sched, class_more_of(open));
}

bool groups_class_ready(struct sched *sched, struct queue_class *class)
{
	unsigned lane = bonds_of(pool_class_of(class))->lane;
	struct pl_err err = {0};

	return queue_class_move(queue_of_class(sched, class), class, lane, &err) == PL_OK;
}

/* Those that stay behind follow when they are popped. */
static void move_all(struct sched *sched, struct class_more *more)
{
	(void)groups_class_ready(sched, &more->queue);
	if (more->rare == NULL)
		return;
	PL_LIST_EACH (link, &more->rare->own)
		(void)groups_class_ready(
			sched, &PL_LIST_ITEM(link, struct own_class, of_open)->queue);
}

/* True: its pods were decided as if nobody looked at them, and now somebody does. */
static bool set_lane(struct sched *sched, struct bonds *bonds)
{
	uint8_t was = bonds->lane;

	bonds->lane = lane_of(bonds);
	if (bonds->lane == LANE_HELD)
		want_registered(sched, bonds);
	hold_view(sched, PL_CONTAINER_OF(bonds, struct class_more, bonds));
	if (bonds->lane != was)
		move_all(sched, class_more_of(open_of(bonds)));
	return was == LANE_PLAIN && bonds->lane != LANE_PLAIN;
}

/* -- classes --------------------------------------------------------------------------
 */

static enum pl_code own_terms(struct sched *sched, struct bond_rows *rows,
                              const struct spec *spec, struct pl_err *err)
{
	struct group_terms terms = {0};
	enum pl_code code;

	if (!group_is_carrier(&sched->model, spec))
		return PL_OK;
	pl_arena_reset(&sched->groups.arena);
	code = group_terms_of(&sched->model, spec, &sched->groups.arena, &terms, err);
	if (code != PL_OK || terms.count == 0)
		return code;
	if (terms.count > UINT16_MAX)
		return pl_err_set(err, PL_LIMIT, "a pod has %u rules", terms.count);
	rows->own = pl_calloc(terms.count, sizeof *rows->own);
	if (rows->own == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the rules of a pod");
	for (uint32_t i = 0; i < terms.count; i++) {
		struct own_term *own = &rows->own[rows->owns];

		own->global = terms.term[i].global;
		code = strings_add(&sched->model.strings, pl_span_str(terms.term[i].id),
		                   &own->id);
		if (code != PL_OK)
			return pl_err_set(err, code, "keep the rules of a pod");
		rows->owns++;
	}
	return PL_OK;
}

static void rows_done(struct sched *sched, struct bond_rows *rows)
{
	for (uint32_t i = 0; i < rows->owns; i++)
		strings_unref(&sched->model.strings, rows->own[i].id);
	free(rows->own);
	free(rows->bond);
	*rows = (struct bond_rows){0};
}

/* Most classes carry none, and need no room for them. */
static enum pl_code learn_terms(struct sched *sched, struct bonds *bonds,
                                const struct spec *spec, struct pl_err *err)
{
	struct bond_rows *rows;

	if (!group_is_carrier(&sched->model, spec))
		return PL_OK;
	rows = rows_get(bonds);
	if (rows == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the rules of a pod");
	return own_terms(sched, rows, spec, err);
}

static void bonds_done(struct sched *sched, struct bonds *bonds)
{
	struct class_rare *rare = PL_CONTAINER_OF(bonds, struct class_more, bonds)->rare;

	*bonds = (struct bonds){0};
	if (rare != NULL)
		rows_done(sched, &rare->rows);
}

enum pl_code groups_class_opened(struct sched *sched, struct pool_class *open,
                                 struct pl_err *err)
{
	struct bonds *bonds = &class_more_of(open)->bonds;
	enum pl_code code;

	code = groups_see_space(sched, open->spec->namespace);
	if (code != PL_OK)
		return pl_err_set(err, code, "keep a namespace");
	bonds->space = groups_space_find(sched, open->spec->namespace);
	code = learn_terms(sched, bonds, open->spec, err);
	if (code == PL_OK) {
		code = bonds_anew(sched, bonds);
		if (code != PL_OK)
			pl_err_set(err, code, "keep who looks at a pod");
	}
	if (code != PL_OK) {
		bonds_done(sched, bonds);
		return code;
	}
	pl_list_init(&bonds->of_space);
	pl_list_add_tail(&bonds->space->classes, &bonds->of_space);
	(void)set_lane(sched, bonds);
	return PL_OK;
}

void groups_class_closing(struct sched *sched, struct pool_class *open)
{
	struct bonds *bonds = &class_more_of(open)->bonds;

	PL_ASSERT(!bonds->wants);
	pl_list_del(&bonds->of_space);
	bonds_done(sched, bonds);
}

static void refuse_of(struct sched *sched, struct group_space *of, bool global)
{
	PL_LIST_EACH (link, &of->classes) {
		struct bonds *bonds = PL_LIST_ITEM(link, struct bonds, of_space);
		const struct spec *spec = open_of(bonds)->spec;
		const struct bond_rows *rows = bond_rows_of(bonds);

		for (uint32_t i = 0; rows->missing > 0 && i < rows->owns; i++) {
			const struct group *group =
				groups_find(sched, spec->namespace, rows->own[i].id);

			if (rows->own[i].global == global &&
			    (group == NULL || group->space == NULL))
				bonds->refused = true;
		}
		(void)set_lane(sched, bonds);
	}
}

void groups_refuse(struct sched *sched, struct group_space *space)
{
	pl_list_del(&space->wanting);
	if (space != sched->groups.global) {
		refuse_of(sched, space, false);
		return;
	}
	PL_MAP_EACH (at, &sched->groups.spaces)
		refuse_of(sched, PL_CONTAINER_OF(at, struct group_space, by_name), true);
}

/* -- when a registry changes ----------------------------------------------------------
 */

static bool for_classes(struct sched *sched, struct group_space *space, bool anew,
                        bool *noticed)
{
	PL_LIST_EACH (link, &space->classes) {
		struct bonds *bonds = PL_LIST_ITEM(link, struct bonds, of_space);

		if (anew && bonds_anew(sched, bonds) != PL_OK)
			return false;
		*noticed = set_lane(sched, bonds) || *noticed;
	}
	return true;
}

/* Fresh terms are among the first of the space's. */
static bool meet_fresh(struct sched *sched, struct group_space *of,
                       struct group_space *space, uint32_t fresh)
{
	PL_LIST_EACH (link, &of->classes) {
		struct bonds *bonds = PL_LIST_ITEM(link, struct bonds, of_space);
		struct pl_list *at = space->groups.next;

		bonds->refused = bonds->many = false;
		for (uint32_t i = 0; i < fresh; i++, at = at->next)
			if (meet(sched, bonds,
			         PL_LIST_ITEM(at, struct group, of_space)) != PL_OK)
				return false;
	}
	return true;
}

bool groups_meet(struct sched *sched, struct group_space *of, struct group_space *space,
                 uint32_t fresh, bool anew, bool *noticed)
{
	if (!anew && !meet_fresh(sched, of, space, fresh))
		return false;
	return for_classes(sched, of, anew, noticed);
}

/* -- of any spec -----------------------------------------------------------------------
 */

static enum pl_code each_of(struct sched *sched, const struct bond_rows *rows,
                            const struct group_space *space, const struct spec *spec,
                            const struct groups_each *each)
{
	PL_LIST_EACH (link, &space->groups) {
		struct group *group = PL_LIST_ITEM(link, struct group, of_space);
		bool carried = own_of(rows, group, spec) != NULL;
		struct bond bond;
		enum pl_code code = PL_OK;

		if (bond_of(sched, group, spec, carried, &bond))
			code = each->fn(each->ctx, &bond);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code each_of_closed(struct sched *sched, const struct spec *spec,
                                   const struct groups_each *each)
{
	struct bond_rows own = {0};
	struct pl_err err = {0};
	enum pl_code code = groups_see_space(sched, spec->namespace);

	if (code == PL_OK)
		code = own_terms(sched, &own, spec, &err);
	if (code == PL_OK)
		code = each_of(sched, &own, groups_space_find(sched, spec->namespace),
		               spec, each);
	if (code == PL_OK)
		code = each_of(sched, &own, sched->groups.global, spec, each);
	rows_done(sched, &own);
	return code;
}

enum pl_code groups_each(struct sched *sched, const struct spec *spec,
                         const struct groups_each *each)
{
	struct pool_class *open = pool_find(sched->pool, spec);
	const struct bond_rows *rows;
	enum pl_code code = PL_OK;

	if (open == NULL)
		return each_of_closed(sched, spec, each);
	rows = bond_rows_of(bonds_of(open));
	for (uint32_t i = 0; code == PL_OK && i < rows->count; i++)
		code = each->fn(each->ctx, &rows->bond[i]);
	return code;
}

/* -- its life ---------------------------------------------------------------------------
 */

enum pl_code groups_init(struct sched *sched)
{
	struct groups *groups = &sched->groups;

	pl_map_init(&groups->spaces);
	pl_map_init(&groups->groups);
	pl_list_init(&groups->wanting);
	pl_list_init(&groups->gathered);
	pl_list_init(&groups->lost);
	pl_arena_init(&groups->arena, ARENA_CHUNK, READER_ARENA_MAX);
	pl_arena_init(&groups->of_term, ARENA_CHUNK, READER_ARENA_MAX);
	groups->global = groups_space(sched, 0);
	return groups->global == NULL ? PL_NOMEM : PL_OK;
}

/* No class is open. */
void groups_done(struct sched *sched)
{
	struct groups *groups = &sched->groups;

	PL_MAP_EACH (at, &groups->groups)
		free_group(sched, PL_CONTAINER_OF(at, struct group, by_key));
	PL_MAP_EACH (at, &groups->spaces) {
		struct group_space *space =
			PL_CONTAINER_OF(at, struct group_space, by_name);

		PL_ASSERT(pl_list_empty(&space->classes));
		pl_map_del(&groups->spaces, &space->by_name);
		strings_unref(&sched->model.strings, space->name);
		free(space);
	}
	pl_map_done(&groups->groups);
	pl_map_done(&groups->spaces);
	pl_arena_done(&groups->arena);
	pl_arena_done(&groups->of_term);
}
