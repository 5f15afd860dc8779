/* A profile as it stands in configuration: names are plugins, nothing is resolved yet. */
#ifndef SHARDSCHED_FRAMEWORK_PROFILE_READ_H
#define SHARDSCHED_FRAMEWORK_PROFILE_READ_H

#include "shardsched/framework/profile.h"

/* Behind the points: what is said of all of them. */
enum { PROFILE_MULTI = POINTS, PROFILE_CHOICES };

struct profile_entry {
	uint8_t plugin;
	int32_t weight; /* 0: not said */
};

/* {"enabled": [...], "disabled": [...]} */
struct profile_plugin_set {
	struct profile_entry enabled[PLUGINS_MAX];
	unsigned count;
	uint64_t named;    /* mask of enabled */
	uint64_t disabled; /* mask */
	bool disabled_all; /* "*" */
};

struct profile_draft {
	struct pl_json at;
	const char *scheduler;
	struct profile_plugin_set plugin_set[PROFILE_CHOICES];
	uint64_t configured; /* mask of those that are in pluginConfig */
	struct pl_json args[PLUGINS_MAX];
};

/* The list of drafts, in the arena, at least one. json empty: the default. */
PL_NODISCARD enum pl_code profiles_read(const struct plugin_table *table,
                                        struct pl_arena *arena, struct pl_span json,
                                        struct profile_draft **out, uint32_t *count,
                                        struct pl_err *err);

const char *point_name(unsigned plugin_set);
/* The points that a row has functions for. */
bool point_has(const struct plugin *row, enum point point);

#endif
