/* SLASort: gold before silver before bronze before none, then by priority, then by
 * age. */
#include "shardsched/plugins/plugins.h"

static const enum queue_sort sort = QUEUE_BY_SLA;

const struct plugin plugin_sla_sort = {
	.name = "SLASort",
	.sort = &sort,
};
