/*
 * A set of cells: the values of a table's metrics, by their labels. A set belongs to one
 * thread; others get copies (metric_set_merge) or whole sets that no other thread uses any
 * more. So nothing here is atomic.
 *
 * Invariants:
 *  - A label has at most its bound of values; later ones are counted as "other". So a set
 *    is bounded, whatever clients or names in the store do.
 *  - A label's value is well-formed UTF-8 without control characters, and at most
 *    METRIC_VALUE_MAX bytes: everything else in it is replaced.
 *  - A sample for which there is no memory is dropped and counted.
 */
#ifndef STORE_METRICS_METRIC_SET_H
#define STORE_METRICS_METRIC_SET_H

#include "store/base/map.h"
#include "store/base/span.h"
#include "store/metrics/histogram.h"
#include "store/metrics/metric.h"

/* The values of one metric with one combination of labels. */
struct metric_cell {
	struct pl_map_node by_labels;
	struct pl_span value_of[METRIC_LABELS_MAX]; /* by label; as it is shown */
	double value;                               /* of a histogram: the sum */
	uint64_t count;                             /* of a histogram */
	uint64_t bucket[];                          /* by bound; not cumulated */
};

struct metric_set;

/* defs are borrowed. PL_NOMEM. */
PL_NODISCARD enum pl_code metric_set_new(const struct metric_def *defs, size_t count,
                                         struct metric_set **out, struct pl_err *err);
void metric_set_free(struct metric_set *set); /* takes NULL */

/* values: one for each label of the metric, in order; NULL when it has none. */
void metric_add(struct metric_set *set, unsigned metric, const struct pl_span *values,
                double by);
/* Replaces the value of a gauge. */
void metric_put(struct metric_set *set, unsigned metric, const struct pl_span *values,
                double value);
void metric_observe(struct metric_set *set, unsigned metric, const struct pl_span *values,
                    double value);
/* Adds a plain histogram; unit: of its values, in the unit of the metric (0.001: it counts
 * milliseconds). Where a bound lies within a bucket, the bucket counts above it. */
void metric_fold(struct metric_set *set, unsigned metric, const struct pl_span *values,
                 const struct histogram *from, double unit);
/* Adds to `to` what `from` has. The sets have one table. */
void metric_set_merge(struct metric_set *to, const struct metric_set *from);

/* -- for who shows them ---------------------------------------------------------------- */

size_t metric_set_count(const struct metric_set *set);
const struct metric_def *metric_set_def(const struct metric_set *set, unsigned metric);
/* The cells of a metric in the order in which they came; NULL: none, or no more. */
const struct metric_cell *metric_set_next(const struct metric_set *set, unsigned metric,
                                          const struct metric_cell *before);
uint64_t metric_set_dropped(const struct metric_set *set);

/* For up to METRIC_LABELS_MAX values that are C strings. */
#define METRIC_VALUES(...) ((const struct pl_span[]){__VA_ARGS__})

#endif
