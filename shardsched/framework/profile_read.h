/* A profile as configuration has it: a list of drafts, whose names are resolved to
 * plugins but which are not merged with the defaults yet. */
#ifndef SHARDSCHED_FRAMEWORK_PROFILE_READ_H
#define SHARDSCHED_FRAMEWORK_PROFILE_READ_H

#include "shardsched/framework/profile.h"

/* After the points: the set that stands for all of them. */
enum { PROFILE_MULTI = POINTS, PROFILE_CHOICES };

struct profile_entry {
	uint8_t plugin;
	int32_t weight; /* 0: not given */
};

/* {"enabled": [...], "disabled": [...]} of one point. */
struct profile_plugin_set {
	struct profile_entry enabled[PLUGINS_MAX];
	unsigned count;
	uint64_t named;    /* mask of the enabled plugins */
	uint64_t disabled; /* mask of the disabled plugins */
	bool disabled_all; /* "disabled" has "*" */
};

struct profile_draft {
	struct pl_json at;
	const char *scheduler;
	struct profile_plugin_set plugin_set[PROFILE_CHOICES];
	uint64_t configured; /* mask of the plugins in pluginConfig */
	struct pl_json args[PLUGINS_MAX];
};

/* Sets *out to the drafts, at least one, in the arena. json empty: the default. */
PL_NODISCARD enum pl_code profiles_read(const struct plugin_table *table,
                                        struct pl_arena *arena, struct pl_span json,
                                        struct profile_draft **out, uint32_t *count,
                                        struct pl_err *err);

const char *point_name(unsigned plugin_set);
/* Whether a plugin has a function for the point. */
bool point_has(const struct plugin *row, enum point point);

#endif
