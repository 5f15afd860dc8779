/*
 * Merges a profile with the defaults as kube-scheduler does.
 *
 * The defaults are one list for all points. The set "multiPoint" changes that list in
 * place, or appends to it. At each point come first the plugins of that list which the
 * point names again, in the point's order and with its weights; then the rest of the
 * list; then the plugins that only the point names.
 */
#include "shardsched/framework/profile.h"

#include <stdlib.h>
#include <string.h>

#include "shardsched/framework/profile_read.h"
#include "store/base/alloc.h"

enum { PROFILE_ARENA_MAX = 64 << 20 };

struct plugin_list {
	struct profile_entry entry[PLUGINS_MAX];
	unsigned count;
};

static void list_add(struct plugin_list *list, struct profile_entry entry)
{
	PL_ASSERT(list->count < PLUGINS_MAX);
	list->entry[list->count++] = entry;
}

static bool set_disables(const struct profile_plugin_set *plugin_set, unsigned plugin)
{
	return plugin_set->disabled_all || (plugin_set->disabled >> plugin & 1) != 0;
}

static struct profile_entry set_entry(const struct profile_plugin_set *plugin_set,
                                      unsigned plugin)
{
	unsigned i = 0;

	while (plugin_set->enabled[i].plugin != plugin)
		i++;
	return plugin_set->enabled[i];
}

/* The list that applies to all points. */
static void list_multi_point(const struct plugin_table *table,
                             const struct profile_plugin_set *plugin_set,
                             struct plugin_list *out)
{
	uint64_t listed = 0;

	for (unsigned i = 0; i < table->count; i++) {
		uint64_t bit = UINT64_C(1) << i;
		struct profile_entry entry = {(uint8_t)i, (int32_t)table->row[i]->weight};

		if ((table->by_default & bit) == 0 || set_disables(plugin_set, i))
			continue;
		if ((plugin_set->named & bit) != 0)
			entry = set_entry(plugin_set, i);
		list_add(out, entry);
		listed |= bit;
	}
	for (unsigned i = 0; i < plugin_set->count; i++)
		if ((listed >> plugin_set->enabled[i].plugin & 1) == 0)
			list_add(out, plugin_set->enabled[i]);
}

static uint64_t list_mask(const struct plugin_list *list)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < list->count; i++)
		mask |= UINT64_C(1) << list->entry[i].plugin;
	return mask;
}

static void point_add(struct profile *profile, enum point point,
                      struct profile_entry entry)
{
	struct profile_point *at = &profile->at[point];

	at->plugin[at->count++] = entry.plugin;
	profile->enabled |= UINT64_C(1) << entry.plugin;
	if (point == POINT_SCORE)
		profile->weight[entry.plugin] = entry.weight == 0 ? 1 : entry.weight;
}

static void point_fill(struct profile *profile, enum point point,
                       const struct profile_plugin_set *plugin_set,
                       const struct plugin_list *all)
{
	uint64_t in_all = plugin_set->disabled_all ? 0 : list_mask(all);

	for (unsigned i = 0; i < plugin_set->count; i++)
		if ((in_all >> plugin_set->enabled[i].plugin & 1) != 0)
			point_add(profile, point, plugin_set->enabled[i]);
	for (unsigned i = 0; i < all->count; i++) {
		unsigned plugin = all->entry[i].plugin;

		if (point_has(profile->table->row[plugin], point) &&
		    !set_disables(plugin_set, plugin) &&
		    (plugin_set->named >> plugin & 1) == 0)
			point_add(profile, point, all->entry[i]);
	}
	for (unsigned i = 0; i < plugin_set->count; i++)
		if ((in_all >> plugin_set->enabled[i].plugin & 1) == 0)
			point_add(profile, point, plugin_set->enabled[i]);
}

static enum pl_code profile_check(const struct profile *profile,
                                  const struct profile_draft *draft, struct pl_err *err)
{
	if (profile->at[POINT_QUEUE_SORT].count != 1)
		return pl_json_fail(draft->at, PL_INVALID, err,
		                    "exactly one plugin is required at %s, not %d",
		                    point_name(POINT_QUEUE_SORT),
		                    profile->at[POINT_QUEUE_SORT].count);
	if (profile->at[POINT_BIND].count == 0)
		return pl_json_fail(draft->at, PL_INVALID, err,
		                    "a plugin is required at %s", point_name(POINT_BIND));
	return PL_OK;
}

/* Arguments of plugins that do not run are parsed too, so that errors are reported. */
static enum pl_code profile_args(struct profile *profile, struct model *model,
                                 const struct profile_draft *draft, struct pl_err *err)
{
	for (unsigned i = 0; i < profile->table->count; i++) {
		const struct plugin *row = profile->table->row[i];
		bool wanted = ((profile->enabled | draft->configured) >> i & 1) != 0;
		enum pl_code code = PL_OK;
		void *args = NULL;

		if (row->args_parse == NULL || !wanted)
			continue;
		args = pl_calloc(1, row->args_size == 0 ? 1 : row->args_size);
		if (args == NULL)
			return pl_err_set(err, PL_NOMEM, "profile: out of memory");
		code = row->args_parse(model, draft->args[i], args, err);
		if (code != PL_OK) {
			free(args);
			return code;
		}
		profile->args[i] = args;
	}
	return PL_OK;
}

static enum pl_code profile_make(struct profile *profile, struct model *model,
                                 const struct profile_draft *draft, struct pl_err *err)
{
	struct plugin_list all = {.count = 0};
	enum pl_code code = PL_OK;

	list_multi_point(profile->table, &draft->plugin_set[PROFILE_MULTI], &all);
	for (unsigned i = 0; i < POINTS; i++)
		point_fill(profile, (enum point)i, &draft->plugin_set[i], &all);
	code = profile_check(profile, draft, err);
	if (code == PL_OK)
		code = strings_add(&model->strings, pl_span_str(draft->scheduler),
		                   &profile->scheduler);
	if (code == PL_NOMEM)
		(void)pl_err_set(err, code, "profile: out of memory");
	if (code == PL_OK)
		code = profile_args(profile, model, draft, err);
	return code;
}

static void profile_drop(struct profile *profile, struct model *model)
{
	for (unsigned i = 0; i < profile->table->count; i++) {
		const struct plugin *row = profile->table->row[i];

		if (profile->args[i] != NULL && row->args_drop != NULL)
			row->args_drop(model, profile->args[i]);
		free(profile->args[i]);
	}
	strings_unref(&model->strings, profile->scheduler);
}

/* One queue serves all profiles, so they must sort alike; and scheduler names are
 * unique. */
static enum pl_code profile_fits(const struct profiles *profiles, uint32_t with,
                                 const struct profile_draft *draft, struct pl_err *err)
{
	const struct profile *added = &profiles->at[with];

	for (uint32_t i = 0; i < with; i++)
		if (profiles->at[i].scheduler == added->scheduler)
			return pl_json_fail(draft->at, PL_INVALID, err,
			                    "there is another profile named %s",
			                    draft->scheduler);
	if (profiles->at[0].at[POINT_QUEUE_SORT].plugin[0] !=
	    added->at[POINT_QUEUE_SORT].plugin[0])
		return pl_json_fail(draft->at, PL_INVALID, err,
		                    "all profiles need the same plugin at %s",
		                    point_name(POINT_QUEUE_SORT));
	return PL_OK;
}

static enum pl_code profiles_make(struct profiles *made, const struct plugin_table *table,
                                  const struct profile_draft *draft, uint32_t count,
                                  struct pl_err *err)
{
	made->at = pl_calloc(count, sizeof *made->at);
	if (made->at == NULL)
		return pl_err_set(err, PL_NOMEM, "profiles: out of memory");
	for (uint32_t i = 0; i < count; i++) {
		enum pl_code code = PL_OK;

		made->at[i].table = table;
		made->count = i + 1;
		code = profile_make(&made->at[i], made->model, &draft[i], err);
		if (code == PL_OK)
			code = profile_fits(made, i, &draft[i], err);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

enum pl_code profiles_parse(struct model *model, const struct plugin_table *table,
                            struct pl_span json, struct profiles *out, struct pl_err *err)
{
	struct profiles made = {.model = model};
	struct profile_draft *draft = NULL;
	struct pl_arena arena;
	uint32_t count = 0;
	enum pl_code code = PL_OK;

	PL_ASSERT(table->count <= PLUGINS_MAX);
	pl_arena_init(&arena, 0, PROFILE_ARENA_MAX);
	code = profiles_read(table, &arena, json, &draft, &count, err);
	if (code == PL_OK)
		code = profiles_make(&made, table, draft, count, err);
	pl_arena_done(&arena);
	if (code == PL_OK)
		*out = made;
	else
		profiles_drop(&made);
	return code;
}

void profiles_drop(struct profiles *profiles)
{
	for (uint32_t i = 0; i < profiles->count; i++)
		profile_drop(&profiles->at[i], profiles->model);
	free(profiles->at);
	*profiles = (struct profiles){.model = profiles->model};
}

const struct profile *profiles_find(const struct profiles *profiles, uint32_t scheduler)
{
	for (uint32_t i = 0; i < profiles->count; i++)
		if (profiles->at[i].scheduler == scheduler)
			return &profiles->at[i];
	return NULL;
}
