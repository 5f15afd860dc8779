#include "shardsched/framework/profile_read.h"

#include <string.h>

static const char *const names[] = {
#define POINT_NAME(point, name, member) name,
	POINT_MAP(POINT_NAME) "multiPoint", NULL};

struct profile_reader {
	const struct plugin_table *table;
	struct pl_err *err;
};

const char *point_name(unsigned plugin_set)
{
	PL_ASSERT(plugin_set < PROFILE_CHOICES);
	return names[plugin_set];
}

bool point_has(const struct plugin *row, enum point point)
{
	switch (point) {
#define POINT_HAS(point, name, member) \
	case POINT_##point:            \
		return row->member != NULL;
		POINT_MAP(POINT_HAS)
	case POINTS:
		break;
	}
	PL_UNREACHABLE("no such point");
}

/* Index of the plugin that the member "name" names. */
static enum pl_code read_plugin(struct profile_reader *reader, struct pl_json object,
                                unsigned *out)
{
	const struct plugin_table *table = reader->table;
	const char *name = NULL;
	enum pl_code code =
		pl_json_string(object, "name", PL_JSON_REQUIRED, &name, reader->err);

	if (code != PL_OK)
		return code;
	for (unsigned i = 0; i < table->count; i++)
		if (strcmp(table->row[i]->name, name) == 0) {
			*out = i;
			return PL_OK;
		}
	return pl_json_fail(pl_json_member(object, "name"), PL_INVALID, reader->err,
	                    "there is no such plugin");
}

static enum pl_code read_enabled_one(struct profile_reader *reader, struct pl_json item,
                                     unsigned at, struct profile_plugin_set *out)
{
	static const char *const known[] = {"name", "weight", NULL};
	const struct pl_json_range range = {0, PROFILE_WEIGHT_MAX};
	unsigned plugin = 0;
	int64_t weight = 0;
	enum pl_code code = pl_json_only(item, known, reader->err);

	if (code == PL_OK)
		code = read_plugin(reader, item, &plugin);
	if (code == PL_OK)
		code = pl_json_int_in(item, "weight", PL_JSON_OPTIONAL, range, &weight,
		                      reader->err);
	if (code != PL_OK)
		return code;
	if (at != PROFILE_MULTI && !point_has(reader->table->row[plugin], (enum point)at))
		return pl_json_fail(item, PL_INVALID, reader->err,
		                    "this plugin has no function at %s", names[at]);
	if ((out->named >> plugin & 1) != 0)
		return pl_json_fail(item, PL_INVALID, reader->err,
		                    "this plugin is enabled twice");
	out->named |= UINT64_C(1) << plugin;
	out->enabled[out->count++] =
		(struct profile_entry){(uint8_t)plugin, (int32_t)weight};
	return PL_OK;
}

static enum pl_code read_enabled(struct profile_reader *reader, struct pl_json object,
                                 unsigned at, struct profile_plugin_set *out)
{
	struct pl_json list = {0};
	enum pl_code code =
		pl_json_array(object, "enabled", PL_JSON_OPTIONAL, &list, reader->err);

	if (code != PL_OK)
		return code;
	PL_JSON_EACH (item, list) {
		code = read_enabled_one(reader, item, at, out);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code read_disabled_one(struct profile_reader *reader, struct pl_json item,
                                      struct profile_plugin_set *out)
{
	static const char *const known[] = {"name", NULL};
	const char *name = NULL;
	unsigned plugin = 0;
	enum pl_code code = pl_json_only(item, known, reader->err);

	if (code == PL_OK)
		code = pl_json_string(item, "name", PL_JSON_REQUIRED, &name, reader->err);
	if (code != PL_OK)
		return code;
	if (strcmp(name, "*") == 0) {
		out->disabled_all = true;
		return PL_OK;
	}
	code = read_plugin(reader, item, &plugin);
	if (code != PL_OK)
		return code;
	if ((out->disabled >> plugin & 1) != 0)
		return pl_json_fail(item, PL_INVALID, reader->err,
		                    "this plugin is disabled twice");
	out->disabled |= UINT64_C(1) << plugin;
	return PL_OK;
}

static enum pl_code read_disabled(struct profile_reader *reader, struct pl_json object,
                                  struct profile_plugin_set *out)
{
	struct pl_json list = {0};
	enum pl_code code =
		pl_json_array(object, "disabled", PL_JSON_OPTIONAL, &list, reader->err);

	if (code != PL_OK)
		return code;
	PL_JSON_EACH (item, list) {
		code = read_disabled_one(reader, item, out);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code read_plugin_set(struct profile_reader *reader, struct pl_json plugins,
                                    unsigned at, struct profile_plugin_set *out)
{
	static const char *const known[] = {"enabled", "disabled", NULL};
	struct pl_json object = {0};
	enum pl_code code = pl_json_object(plugins, names[at], PL_JSON_OPTIONAL, &object,
	                                   reader->err);

	if (code != PL_OK || pl_json_type(object) != PL_JSON_OBJECT)
		return code;
	code = pl_json_only(object, known, reader->err);
	if (code == PL_OK)
		code = read_disabled(reader, object, out);
	if (code == PL_OK)
		code = read_enabled(reader, object, at, out);
	return code;
}

static enum pl_code read_plugins(struct profile_reader *reader, struct pl_json profile,
                                 struct profile_draft *out)
{
	struct pl_json plugins = {0};
	enum pl_code code = pl_json_object(profile, "plugins", PL_JSON_OPTIONAL, &plugins,
	                                   reader->err);

	if (code != PL_OK || pl_json_type(plugins) != PL_JSON_OBJECT)
		return code;
	code = pl_json_only(plugins, names, reader->err);
	for (unsigned i = 0; code == PL_OK && i < PROFILE_CHOICES; i++)
		code = read_plugin_set(reader, plugins, i, &out->plugin_set[i]);
	return code;
}

static enum pl_code read_config_one(struct profile_reader *reader, struct pl_json item,
                                    struct profile_draft *out)
{
	static const char *const known[] = {"name", "args", NULL};
	unsigned plugin = 0;
	enum pl_code code = pl_json_only(item, known, reader->err);

	if (code == PL_OK)
		code = read_plugin(reader, item, &plugin);
	if (code != PL_OK)
		return code;
	if ((out->configured >> plugin & 1) != 0)
		return pl_json_fail(item, PL_INVALID, reader->err,
		                    "this plugin is configured twice");
	out->configured |= UINT64_C(1) << plugin;
	code = pl_json_object(item, "args", PL_JSON_OPTIONAL, &out->args[plugin],
	                      reader->err);
	if (code == PL_OK && out->args[plugin].node != NULL &&
	    reader->table->row[plugin]->args_parse == NULL)
		return pl_json_fail(out->args[plugin], PL_INVALID, reader->err,
		                    "this plugin takes no arguments");
	return code;
}

static enum pl_code read_config(struct profile_reader *reader, struct pl_json profile,
                                struct profile_draft *out)
{
	struct pl_json list = {0};
	enum pl_code code = pl_json_array(profile, "pluginConfig", PL_JSON_OPTIONAL,
	                                  &list, reader->err);

	if (code != PL_OK)
		return code;
	PL_JSON_EACH (item, list) {
		code = read_config_one(reader, item, out);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}

static enum pl_code read_profile(struct profile_reader *reader, struct pl_json profile,
                                 struct profile_draft *out)
{
	static const char *const known[] = {"schedulerName", "plugins", "pluginConfig",
	                                    NULL};
	enum pl_code code = pl_json_only(profile, known, reader->err);

	out->at = profile;
	if (code == PL_OK)
		code = pl_json_string(profile, "schedulerName", PL_JSON_OPTIONAL,
		                      &out->scheduler, reader->err);
	if (code == PL_OK && out->scheduler[0] == 0)
		code = pl_json_fail(pl_json_member(profile, "schedulerName"), PL_INVALID,
		                    reader->err, "a name is required");
	if (code == PL_OK)
		code = read_plugins(reader, profile, out);
	if (code == PL_OK)
		code = read_config(reader, profile, out);
	return code;
}

static enum pl_code drafts_make(struct pl_arena *arena, size_t count,
                                struct profile_draft **out, struct pl_err *err)
{
	struct profile_draft *draft = pl_arena_zalloc(arena, count, sizeof *draft);

	if (draft == NULL)
		return pl_err_set(err, PL_NOMEM, "profiles: out of memory");
	for (size_t i = 0; i < count; i++)
		draft[i].scheduler = "default-scheduler";
	*out = draft;
	return PL_OK;
}

static enum pl_code read_root(struct pl_json root, struct pl_json *list,
                              struct pl_err *err)
{
	static const char *const known[] = {"apiVersion", "kind", "profiles", NULL};
	const char *version = "kubescheduler.config.k8s.io/v1";
	const char *kind = "KubeSchedulerConfiguration";
	enum pl_code code = pl_json_only(root, known, err);

	if (code == PL_OK)
		code = pl_json_string(root, "apiVersion", PL_JSON_OPTIONAL, &version,
		                      err);
	if (code == PL_OK)
		code = pl_json_string(root, "kind", PL_JSON_OPTIONAL, &kind, err);
	if (code == PL_OK && strcmp(version, "kubescheduler.config.k8s.io/v1") != 0)
		code = pl_json_fail(pl_json_member(root, "apiVersion"), PL_INVALID, err,
		                    "must be kubescheduler.config.k8s.io/v1");
	if (code == PL_OK && strcmp(kind, "KubeSchedulerConfiguration") != 0)
		code = pl_json_fail(pl_json_member(root, "kind"), PL_INVALID, err,
		                    "must be KubeSchedulerConfiguration");
	if (code == PL_OK)
		code = pl_json_array(root, "profiles", PL_JSON_OPTIONAL, list, err);
	return code;
}

enum pl_code profiles_read(const struct plugin_table *table, struct pl_arena *arena,
                           struct pl_span json, struct profile_draft **out,
                           uint32_t *count, struct pl_err *err)
{
	struct profile_reader reader = {table, err};
	struct pl_json root = {0}, list = {0};
	size_t found = 0, i = 0;
	enum pl_code code = PL_OK;

	if (json.len != 0)
		code = pl_json_parse(arena, json, NULL, &root, err);
	if (code == PL_OK && json.len != 0)
		code = read_root(root, &list, err);
	if (code != PL_OK)
		return code;
	found = pl_json_count(list);
	if (found > PROFILES_MAX)
		return pl_json_fail(list, PL_LIMIT, err, "at most %d profiles",
		                    PROFILES_MAX);
	*count = found == 0 ? 1 : (uint32_t)found;
	code = drafts_make(arena, *count, out, err);
	if (code != PL_OK)
		return code;
	PL_JSON_EACH (profile, list) {
		code = read_profile(&reader, profile, &(*out)[i++]);
		if (code != PL_OK)
			return code;
	}
	return PL_OK;
}
