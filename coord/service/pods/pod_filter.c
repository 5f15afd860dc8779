#include "coord/service/pods/pod_filter.h"

#include <string.h>

static bool is_among(const struct pod_filter *filter, size_t count,
                     const struct pod_name *name)
{
	for (size_t i = 0; i < count; i++)
		if (pl_span_eq(filter->names[i].namespace, name->namespace) &&
		    pl_span_eq(filter->names[i].name, name->name))
			return true;
	return false;
}

bool pod_filter_names(const struct pod_filter *filter, struct pl_span namespace,
                      struct pl_span name)
{
	if (filter->name_count > 0)
		return is_among(filter, filter->name_count,
		                &(struct pod_name){namespace, name});
	return filter->namespace.len == 0 || pl_span_eq(namespace, filter->namespace);
}

bool pod_filter_is_repeated(const struct pod_filter *filter, size_t at)
{
	return is_among(filter, at, &filter->names[at]);
}

bool pod_filter_has_labels(const struct pod_filter *filter)
{
	return filter->query != NULL && filter->query->requirements > 0;
}

bool pod_filter_has_state(const struct pod_filter *filter)
{
	return filter->node.len > 0 || filter->phase != NULL;
}

enum pl_code pod_filter_passes(const struct pod_filter *filter,
                               const struct pod_info *info, struct pl_arena *arena,
                               bool *out)
{
	struct pod_state state;
	const char *phase;

	*out = !pod_filter_has_labels(filter) || (info->has_spec && info->selected);
	if (!*out || !pod_filter_has_state(filter))
		return PL_OK;
	if (pod_info_state(info, arena, &state, &phase, NULL) == PL_NOMEM)
		return PL_NOMEM;
	*out = (filter->phase == NULL || strcmp(phase, filter->phase) == 0) &&
	       (filter->node.len == 0 || (pl_span_eq(state.cluster, filter->cluster) &&
	                                  pl_span_eq(state.node, filter->node)));
	return PL_OK;
}
