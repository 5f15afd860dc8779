/*
 * A pod filter: which pods a client asks for. A pod passes when everything that is set
 * holds of it; an all-zero filter lets every pod pass.
 */
#ifndef COORD_SERVICE_PODS_POD_FILTER_H
#define COORD_SERVICE_PODS_POD_FILTER_H

#include "coord/service/input/label_query.h"
#include "coord/service/pods/pod_info.h"

struct pod_name {
	struct pl_span namespace, name;
};

/* Everything is borrowed. */
struct pod_filter {
	struct pl_span namespace; /* empty: any */
	const struct pod_name
		*names; /* with a count of 0: any; namespace is not looked at
	                               * otherwise */
	size_t name_count;
	const struct label_query *query; /* NULL, or without requirements: any labels */
	struct pl_span cluster, node;    /* the place; empty: any, or none */
	const char *phase;               /* as of pod_info_state; NULL: any */
};

/* Matches by namespace and name. */
bool pod_filter_names(const struct pod_filter *filter, struct pl_span namespace,
                      struct pl_span name);
/* Whether names[at] stands before in the list, too. */
bool pod_filter_is_repeated(const struct pod_filter *filter, size_t at);
bool pod_filter_has_labels(const struct pod_filter *filter);
/* Whether the state decides. */
bool pod_filter_has_state(const struct pod_filter *filter);

/* Matches by labels (info->selected) and state. The arena is for scratch; PL_NOMEM. */
PL_NODISCARD enum pl_code pod_filter_passes(const struct pod_filter *filter,
                                            const struct pod_info *info,
                                            struct pl_arena *arena, bool *out);

#endif
