/*
 * Metrics as text: Prometheus' format 0.0.4, and OpenMetrics 1.0.
 *
 * They differ in little: OpenMetrics names a counter's family without _total, writes units
 * and bounds as decimals, and ends with "# EOF". Metrics without samples are left out.
 */
#ifndef STORE_METRICS_EXPOSITION_H
#define STORE_METRICS_EXPOSITION_H

#include "store/base/buf.h"
#include "store/metrics/metric_set.h"

enum exposition { EXPOSITION_PROMETHEUS, EXPOSITION_OPENMETRICS };

/* OpenMetrics for who prefers it in Accept, or names nothing else. */
enum exposition exposition_negotiate(struct pl_span accept);
const char *exposition_content_type(enum exposition format);

/* PL_LIMIT: out is too small; PL_NOMEM. */
PL_NODISCARD enum pl_code exposition_write(const struct metric_set *set,
                                           enum exposition format, struct pl_buf *out);

#endif
