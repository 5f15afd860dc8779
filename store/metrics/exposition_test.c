#include <math.h>
#include <stdio.h>

#include "store/metrics/exposition.h"
#include "tests/harness/t.h"

enum { CALLS, DEPTH, TOOK, SIZES, UNUSED, METRICS };

static const struct metric_bounds seconds = {.count = 3, .at = {0.001, 0.0025, 10}};
static const struct metric_bounds sizes = {.count = 2, .at = {1, 2}};

static const struct metric_def defs[METRICS] = {
	[CALLS] = {"calls_total",
                   METRIC_COUNTER,
                   2,
                   "",
                   NULL,
                   {{"verb", 9}, {"code", 9}},
                   "Calls, by \"verb\"\nand C:\\code."},
	[DEPTH] = {"depth", METRIC_GAUGE, 1, "", NULL, {{"of", 9}}, "Depth."},
	[TOOK] = {"took_seconds",
                  METRIC_HISTOGRAM,
                  1,
                  "seconds",
                  &seconds,
                  {{"verb", 9}},
                  "Took."},
	[SIZES] = {"sizes", METRIC_HISTOGRAM, 0, "", &sizes, {{0}}, "Sizes."},
	[UNUSED] = {"unused", METRIC_GAUGE, 0, "", NULL, {{0}}, "Never set."},
};

static struct metric_set *filled(void)
{
	struct metric_set *set;

	T_EQ(metric_set_new(defs, METRICS, &set, NULL), PL_OK);
	metric_add(set, CALLS, METRIC_VALUES(PL_SPAN_LIT("get"), PL_SPAN_LIT("200")), 3);
	metric_add(set, CALLS,
	           METRIC_VALUES(PL_SPAN_LIT("a\"} 1\ncalls_total{verb=\"\\"),
	                         PL_SPAN_LIT("")),
	           0x1p60);
	metric_put(set, DEPTH, METRIC_VALUES(PL_SPAN_LIT("x")), -0.5);
	metric_put(set, DEPTH, METRIC_VALUES(PL_SPAN_LIT("y")), INFINITY);
	metric_put(set, DEPTH, METRIC_VALUES(PL_SPAN_LIT("z")), NAN);
	metric_observe(set, TOOK, METRIC_VALUES(PL_SPAN_LIT("get")), 0.002);
	metric_observe(set, TOOK, METRIC_VALUES(PL_SPAN_LIT("get")), 20);
	metric_observe(set, SIZES, NULL, 2);
	return set;
}

static void check_written(enum exposition format, const char *golden)
{
	struct metric_set *set = filled();
	struct pl_buf buf;

	pl_buf_init(&buf, 1 << 20);
	T_EQ(exposition_write(set, format, &buf), PL_OK);
	T_EQ(pl_buf_add(&buf, pl_span("", 1)), PL_OK);
	t_golden(golden, (const char *)buf.at);
	pl_buf_done(&buf);
	metric_set_free(set);
}

T_CASE(prometheus_text)
{
	check_written(EXPOSITION_PROMETHEUS, "metrics/prometheus.txt");
}

T_CASE(openmetrics_text)
{
	check_written(EXPOSITION_OPENMETRICS, "metrics/openmetrics.txt");
}

T_CASE(a_small_buffer_is_too_small)
{
	struct metric_set *set = filled();
	struct pl_buf buf;

	pl_buf_init(&buf, 100);
	T_EQ(exposition_write(set, EXPOSITION_PROMETHEUS, &buf), PL_LIMIT);
	pl_buf_done(&buf);
	metric_set_free(set);
}

static void check_format(const char *accept, enum exposition want)
{
	T_EQ(exposition_negotiate(pl_span_str(accept)), want);
}

T_CASE(the_format_follows_accept)
{
	check_format("", EXPOSITION_PROMETHEUS);
	check_format("*/*", EXPOSITION_PROMETHEUS);
	check_format("text/plain", EXPOSITION_PROMETHEUS);
	check_format("application/openmetrics-text", EXPOSITION_OPENMETRICS);
	check_format("application/openmetrics-text; version=1.0.0; charset=utf-8",
	             EXPOSITION_OPENMETRICS);
	check_format("application/openmetrics-text;version=0.0.1", EXPOSITION_PROMETHEUS);
	check_format("application/openmetrics-text;version=1.0.0,application/"
	             "openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q="
	             "0.5,*/*;q=0.1",
	             EXPOSITION_OPENMETRICS);
	check_format("application/openmetrics-text;q=0.4,text/plain;q=0.5",
	             EXPOSITION_PROMETHEUS);
	check_format("application/openmetrics-text;q=0.5 , text/plain;q=0.499",
	             EXPOSITION_OPENMETRICS);
	check_format("application/openmetrics-text;q=0", EXPOSITION_PROMETHEUS);
	check_format("application/openmetrics-text;q=x", EXPOSITION_PROMETHEUS);
	check_format(",;,=;q=,", EXPOSITION_PROMETHEUS);
}
