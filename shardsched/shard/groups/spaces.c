/* Namespaces whose pods are known, or in which terms are registered. */
#include <stdlib.h>

#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

enum { SPACES_FEW = 64 /* as many that nobody needs may stay */ };

static struct pl_span name_key(const uint32_t *name)
{
	return pl_span(name, sizeof *name);
}

struct group_space *groups_space_find(const struct sched *sched, uint32_t name)
{
	struct pl_map_node *at = pl_map_get(&sched->groups.spaces, name_key(&name));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct group_space, by_name);
}

struct group_space *groups_space(struct sched *sched, uint32_t name)
{
	struct group_space *space = groups_space_find(sched, name);

	if (space != NULL)
		return space;
	space = pl_calloc(1, sizeof *space);
	if (space == NULL)
		return NULL;
	space->name = strings_ref(&sched->model.strings, name);
	pl_list_init(&space->groups);
	pl_list_init(&space->classes);
	pl_list_init(&space->wanting);
	(void)!pl_map_add(&sched->groups.spaces, &space->by_name, name_key(&space->name));
	return space;
}

/* Kubernetes gives every namespace this label; there are no Namespace objects here. */
static enum pl_code space_object(struct sched *sched, uint32_t name, struct space *out)
{
	struct draft_pair pair = {PL_SPAN_LIT("kubernetes.io/metadata.name"),
	                          sched_text(sched, name)};
	struct maker maker;

	pl_arena_reset(&sched->groups.arena);
	maker_init(&maker, &sched->model, &sched->groups.arena);
	*out = (struct space){.name = strings_ref(&sched->model.strings, name)};
	out->labels = labels_make(&maker, (struct draft_pairs){&pair, 1});
	if (maker.code != PL_OK)
		space_drop(&sched->model, out);
	return maker.code;
}

enum pl_code groups_see_space(struct sched *sched, uint32_t name)
{
	struct group_space *space = groups_space(sched, name);
	struct space object;
	struct pl_err err = {0};
	enum pl_code code = space == NULL ? PL_NOMEM : PL_OK;

	if (code != PL_OK || space->seen)
		return code;
	code = space_object(sched, name, &object);
	if (code == PL_OK)
		code = snapshot_space_put(&sched->snapshot, &object, &err);
	space->seen = code == PL_OK;
	return code;
}

/* One whose registry was heard of stays: nobody tells of it again. */
static bool is_needed(const struct sched *sched, const struct group_space *space)
{
	return space == sched->groups.global || space->rev != 0 || space->heard != 0 ||
	       space->stale || !pl_list_empty(&space->groups) ||
	       !pl_list_empty(&space->classes) || !pl_list_empty(&space->wanting) ||
	       snapshot_space_is_used(&sched->snapshot, space->name);
}

static void forget_space(struct sched *sched, struct group_space *space)
{
	struct pl_err err = {0};

	if (space->seen &&
	    snapshot_space_drop(&sched->snapshot, space->name, &err) != PL_OK)
		PL_UNREACHABLE("a namespace that is needed");
	pl_map_del(&sched->groups.spaces, &space->by_name);
	strings_unref(&sched->model.strings, space->name);
	free(space);
}

/* Once there are twice as many as were needed, so that all are not looked at for each
 * that comes. Calls that are out find theirs by name, and make them again. */
void groups_tidy(struct sched *sched)
{
	struct groups *groups = &sched->groups;

	if (groups->spaces.count < groups->tidy_at)
		return;
	PL_MAP_EACH (at, &groups->spaces) {
		struct group_space *space =
			PL_CONTAINER_OF(at, struct group_space, by_name);

		if (!is_needed(sched, space))
			forget_space(sched, space);
	}
	groups->tidy_at = 2 * groups->spaces.count + SPACES_FEW;
}
