#include "coord/service/nodes/node_filter.h"

static bool is_among(const struct node_filter *filter, size_t count,
                     const struct node_name *name)
{
	for (size_t i = 0; i < count; i++)
		if (pl_span_eq(filter->names[i].cluster, name->cluster) &&
		    pl_span_eq(filter->names[i].name, name->name))
			return true;
	return false;
}

bool node_filter_names(const struct node_filter *filter, struct pl_span cluster,
                       struct pl_span name)
{
	if (filter->name_count > 0)
		return is_among(filter, filter->name_count,
		                &(struct node_name){cluster, name});
	return filter->cluster.len == 0 || pl_span_eq(cluster, filter->cluster);
}

bool node_filter_is_repeated(const struct node_filter *filter, size_t at)
{
	return is_among(filter, at, &filter->names[at]);
}

bool node_filter_has_labels(const struct node_filter *filter)
{
	return filter->query != NULL && filter->query->requirements > 0;
}
