/* The table of placetd's metrics (metrics_list.h), as numbers and as definitions. */
#ifndef COORD_METRICS_METRICS_TABLE_H
#define COORD_METRICS_METRICS_TABLE_H

#include "store/base/buf.h"
#include "store/metrics/metric_set.h"

#define METRIC(id, type, name, unit, bounds, labels, help) M_##id,
enum metric_id {
#include "coord/metrics/metrics_list.h"
	METRICS,
};
#undef METRIC

extern const struct metric_def metrics_table[METRICS];

static inline enum pl_code metrics_set_new(struct metric_set **out, struct pl_err *err)
{
	return metric_set_new(metrics_table, METRICS, out, err);
}

/* The page of the documentation, docs/metrics.md. */
PL_NODISCARD enum pl_code metrics_page(struct pl_buf *out);

#endif
