#include "store/metrics/histogram.h"
#include "store/metrics/metric.h"
#include "tests/harness/t.h"

static const struct metric_bounds rising = {.count = 2, .at = {1, 2}};
static const struct metric_bounds falling = {.count = 2, .at = {2, 1}};

static void refused(const struct metric_def *def, const char *why)
{
	struct pl_err err = {0};

	T_EQ(metric_defs_check(def, 1, &err), PL_INVALID);
	T_TRUE(strstr(err.msg, why) != NULL);
}

T_CASE(a_good_definition_passes)
{
	const struct metric_def defs[] = {
		{.name = "a_seconds_total",
	         .type = METRIC_COUNTER,
	         .unit = "seconds",
	         .help = "x"},
		{.name = "b", .type = METRIC_GAUGE, .unit = "", .help = "x"},
		{.name = "c_bytes",
	         .type = METRIC_HISTOGRAM,
	         .unit = "bytes",
	         .bounds = &rising,
	         .label_count = 1,
	         .label = {{"verb", 3}},
	         .help = "x"},
	};

	T_EQ(metric_defs_check(defs, 3, NULL), PL_OK);
}

T_CASE(names_follow_the_rules)
{
	const struct metric_def good = {
		.name = "a_total", .type = METRIC_COUNTER, .unit = "", .help = "x"};
	struct metric_def def = good;

	def.name = "A_total";
	refused(&def, "lower-case");
	def.name = "0a_total";
	refused(&def, "lower-case");
	def.name = "a";
	refused(&def, "counters end with _total");
	def = good;
	def.type = METRIC_GAUGE;
	refused(&def, "counters end with _total");
	def = good;
	def.unit = "seconds";
	refused(&def, "does not end with its unit");
	def = good;
	def.help = "";
	refused(&def, "no help");
	def = (struct metric_def){
		.name = "a_sum", .type = METRIC_GAUGE, .unit = "", .help = "x"};
	refused(&def, "ends like a sample");
}

T_CASE(bounds_and_labels_are_checked)
{
	struct metric_def def = {
		.name = "a", .type = METRIC_HISTOGRAM, .unit = "", .help = "x"};

	refused(&def, "histograms have bounds");
	def.bounds = &falling;
	refused(&def, "do not rise");
	def.bounds = &rising;
	def.label_count = 1;
	def.label[0] = (struct metric_label){"le", 1};
	refused(&def, "a label's name");
	def.label[0] = (struct metric_label){"verb", 0};
	refused(&def, "no bound");
	def.label_count = 2;
	def.label[0] = def.label[1] = (struct metric_label){"verb", 1};
	refused(&def, "one name");
}

T_CASE(two_definitions_of_one_name_are_refused)
{
	const struct metric_def def = {
		.name = "a", .type = METRIC_GAUGE, .unit = "", .help = "x"};
	const struct metric_def defs[] = {def, def};

	T_EQ(metric_defs_check(defs, 2, NULL), PL_INVALID);
}

T_CASE(a_plain_histogram_counts_by_powers_of_two)
{
	struct histogram histogram = {0};

	histogram_add(&histogram, 0);
	histogram_add(&histogram, 1);
	histogram_add(&histogram, 2);
	histogram_add(&histogram, 3);
	histogram_add(&histogram, UINT64_MAX);
	T_EQ(histogram.count, 5);
	T_EQ(histogram.bucket[0], 1);
	T_EQ(histogram.bucket[1], 1);
	T_EQ(histogram.bucket[2], 2);
	T_EQ(histogram.bucket[HISTOGRAM_BUCKETS - 1], 1);
	T_EQ(histogram_last(2), 3);
}
