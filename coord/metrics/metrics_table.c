#include "coord/metrics/metrics_table.h"

/*
 * Bounds fit the plain histograms that are folded into them: those count by powers of two,
 * so a bound of (2^k - 1) units is exact. Of nanoseconds the 1 is left out.
 */

/* Nanoseconds: 1 us to 4 s. */
static const struct metric_bounds bounds_ns = {
	.count = 12,
	.at = {1.024e-6, 4.096e-6, 16.384e-6, 65.536e-6, 262.144e-6, 524.288e-6,
               1.048576e-3, 4.194304e-3, 16.777216e-3, 67.108864e-3, 0.536870912,
               4.294967296}};

/* Microseconds: 127 us to 16 s. */
static const struct metric_bounds bounds_us = {
	.count = 13,
	.at = {0.000127, 0.000255, 0.000511, 0.001023, 0.002047, 0.004095, 0.008191,
               0.016383, 0.065535, 0.262143, 1.048575, 4.194303, 16.777215}};

/* Milliseconds: 1 ms to 17 minutes. */
static const struct metric_bounds bounds_ms = {
	.count = 17,
	.at = {0.001, 0.003, 0.007, 0.015, 0.031, 0.063, 0.127, 0.255, 0.511, 1.023,
               2.047, 4.095, 8.191, 16.383, 65.535, 262.143, 1048.575}};

/* Seconds, as kube-apiserver's dashboards and SLOs ask for them. */
static const struct metric_bounds bounds_api = {
	.count = 13,
	.at = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 1, 2, 5, 10, 30}};

/* Numbers of one thing. */
static const struct metric_bounds bounds_few = {.count = 6, .at = {1, 3, 7, 15, 31, 63}};
static const struct metric_bounds bounds_pods = {
	.count = 11, .at = {1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047}};

#define LABEL(label, values)      \
	{                         \
		(label), (values) \
	}
#define LABELS0 .label_count = 0
#define LABELS1(a, an) .label_count = 1, .label = {LABEL(a, an)}
#define LABELS2(a, an, b, bn) .label_count = 2, .label = {LABEL(a, an), LABEL(b, bn)}
#define LABELS3(a, an, b, bn, c, cn) \
	.label_count = 3, .label = {LABEL(a, an), LABEL(b, bn), LABEL(c, cn)}
#define LABELS4(a, an, b, bn, c, cn, d, dn) \
	.label_count = 4,                   \
	.label = {LABEL(a, an), LABEL(b, bn), LABEL(c, cn), LABEL(d, dn)}
#define LABELS7(a, an, b, bn, c, cn, d, dn, e, en, f, fn, g, gn)          \
	.label_count = 7,                                                 \
	.label = {LABEL(a, an), LABEL(b, bn), LABEL(c, cn), LABEL(d, dn), \
	          LABEL(e, en), LABEL(f, fn), LABEL(g, gn)}

#define METRIC(id, kind, called, measure, limits, labels, says) \
	[M_##id] = {.name = (called),                           \
	            .type = METRIC_##kind,                      \
	            .unit = (measure),                          \
	            .bounds = (limits),                         \
	            labels,                                     \
	            .help = (says)},
const struct metric_def metrics_table[METRICS] = {
#include "coord/metrics/metrics_list.h"
};
#undef METRIC
