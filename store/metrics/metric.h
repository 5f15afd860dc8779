/*
 * The definition of a metric: its name, type, unit and help, and its labels, each with the number of
 * values that it may have. Tables of definitions are constant; coord/metrics has the one of
 * placetd.
 *
 * Names follow Prometheus' rules: a counter ends with _total, a metric with a unit has it
 * at the end of its name (before _total), in base units. metric_defs_check() holds a table
 * to them.
 */
#ifndef STORE_METRICS_METRIC_H
#define STORE_METRICS_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"

enum {
	METRIC_LABELS_MAX = 7,
	METRIC_BOUNDS_MAX = 40,
	METRIC_VALUE_MAX = 128, /* bytes of a label's value; longer ones are cut */
};

/* Gauges of several threads are added up; of a METRIC_LEVEL the highest counts, which is
 * otherwise a gauge. */
enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_LEVEL, METRIC_HISTOGRAM };

/* Upper bounds of a histogram's buckets, in rising order, without +Inf. */
struct metric_bounds {
	uint16_t count;
	double at[METRIC_BOUNDS_MAX];
};

struct metric_label {
	const char *name;
	/* Values that are told apart; further ones are counted together as "other". */
	uint16_t values_max;
};

struct metric_def {
	const char *name;
	enum metric_type type;
	uint16_t label_count;
	const char *unit;                   /* "seconds", "bytes", ...; "": none */
	const struct metric_bounds *bounds; /* of a histogram; else NULL */
	struct metric_label label[METRIC_LABELS_MAX];
	const char *help;
};

const char *metric_type_name(enum metric_type type);

/* PL_INVALID: err names the definition and what is wrong with it. */
PL_NODISCARD enum pl_code metric_defs_check(const struct metric_def *defs, size_t count,
                                            struct pl_err *err);

#endif
