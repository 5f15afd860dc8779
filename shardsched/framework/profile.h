/*
 * A profile is what one scheduler name runs: which plugins at which points, in which
 * order, with which weights and arguments. It is read from kube-scheduler's
 * KubeSchedulerConfiguration:
 *
 *	{"profiles": [{
 *	   "schedulerName": "default-scheduler",
 *	   "plugins": {"score": {"enabled": [{"name": "ImageLocality", "weight": 5}],
 *	                         "disabled": [{"name": "*"}]}, "multiPoint": ...},
 *	   "pluginConfig": [{"name": "NodeResourcesFit", "args": {...}}]}]}
 *
 * Profiles are immutable once made.
 */
#ifndef SHARDSCHED_FRAMEWORK_PROFILE_H
#define SHARDSCHED_FRAMEWORK_PROFILE_H

#include "shardsched/framework/plugin.h"

/* X(POINT, name in configuration, function that a row must have for it) */
#define POINT_MAP(X)                              \
	X(PRE_ENQUEUE, "preEnqueue", pre_enqueue) \
	X(QUEUE_SORT, "queueSort", sort)          \
	X(PRE_FILTER, "preFilter", pre_filter)    \
	X(FILTER, "filter", why)                  \
	X(POST_FILTER, "postFilter", post_filter) \
	X(PRE_SCORE, "preScore", pre_score)       \
	X(SCORE, "score", score)                  \
	X(RESERVE, "reserve", reserve)            \
	X(PERMIT, "permit", permit)               \
	X(PRE_BIND, "preBind", pre_bind)          \
	X(BIND, "bind", bind)                     \
	X(POST_BIND, "postBind", post_bind)

#define POINT_ENUM(point, name, member) POINT_##point,
enum point { POINT_MAP(POINT_ENUM) POINTS };

struct profile_point {
	/* indexes in the plugin table, in the order of calls */
	uint8_t plugin[PLUGINS_MAX];
	uint8_t count;
};

struct profile {
	const struct plugin_table *table;
	uint32_t scheduler; /* string: spec.schedulerName of the profile's pods */
	uint64_t enabled;   /* mask of the plugins that run at some point */
	struct profile_point at[POINTS];
	int32_t weight[PLUGINS_MAX]; /* of scores, by plugin */
	void *args[PLUGINS_MAX];
};

enum { PROFILES_MAX = 32, PROFILE_WEIGHT_MAX = 100000 };

struct profiles {
	struct model *model;
	struct profile *at;
	uint32_t count;
};

/* json empty: kube-scheduler's default, one profile named "default-scheduler". */
PL_NODISCARD enum pl_code profiles_parse(struct model *model,
                                         const struct plugin_table *table,
                                         struct pl_span json, struct profiles *out,
                                         struct pl_err *err);
void profiles_drop(struct profiles *profiles);
/* NULL: no profile has that scheduler name. */
const struct profile *profiles_find(const struct profiles *profiles, uint32_t scheduler);

#endif
