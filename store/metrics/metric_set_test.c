#include <stdio.h>

#include "store/base/fault.h"
#include "store/metrics/metric_set.h"
#include "tests/harness/t.h"

enum { CALLS, DEPTH, LAG, TOOK, METRICS };

static const struct metric_bounds bounds = {.count = 3, .at = {0.001, 0.003, 0.1}};

static const struct metric_def defs[METRICS] = {
	[CALLS] = {"calls_total",
                   METRIC_COUNTER,
                   2,
                   "",
                   NULL,
                   {{"verb", 2}, {"code", 3}},
                   "Calls."},
	[DEPTH] = {"depth", METRIC_GAUGE, 0, "", NULL, {{0}}, "Depth."},
	[LAG] = {"lag_seconds",
                 METRIC_LEVEL,
                 1,
                 "seconds",
                 NULL,
                 {{"thread", 4}},
                 "Lag."},
	[TOOK] =
		{"took_seconds", METRIC_HISTOGRAM, 0, "seconds", &bounds, {{0}}, "Took."},
};

static struct metric_set *set_new(void)
{
	struct metric_set *set;

	T_EQ(metric_set_new(defs, METRICS, &set, NULL), PL_OK);
	return set;
}

static void call(struct metric_set *set, const char *verb, const char *code)
{
	metric_add(set, CALLS, METRIC_VALUES(pl_span_str(verb), pl_span_str(code)), 1);
}

/* -1: there is no such cell. */
static double calls(const struct metric_set *set, const char *verb, const char *code)
{
	for (const struct metric_cell *cell = metric_set_next(set, CALLS, NULL);
	     cell != NULL; cell = metric_set_next(set, CALLS, cell))
		if (pl_span_eq(cell->value_of[0], pl_span_str(verb)) &&
		    pl_span_eq(cell->value_of[1], pl_span_str(code)))
			return cell->value;
	return -1;
}

static unsigned cells(const struct metric_set *set, unsigned metric)
{
	unsigned count = 0;

	for (const struct metric_cell *cell = metric_set_next(set, metric, NULL);
	     cell != NULL; cell = metric_set_next(set, metric, cell))
		count++;
	return count;
}

T_CASE(cells_are_told_apart_by_their_labels)
{
	struct metric_set *set = set_new();

	call(set, "get", "200");
	call(set, "get", "200");
	call(set, "get", "404");
	call(set, "put", "200");
	T_EQ((int)calls(set, "get", "200"), 2);
	T_EQ((int)calls(set, "get", "404"), 1);
	T_EQ((int)calls(set, "put", "200"), 1);
	T_EQ(cells(set, CALLS), 3);
	metric_set_free(set);
}

T_CASE(values_beyond_the_bound_are_other)
{
	struct metric_set *set = set_new();
	char verb[16];

	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(verb, sizeof verb, "verb-%u", i);
		call(set, verb, "200");
	}
	T_EQ(cells(set, CALLS), 3);
	T_EQ((int)calls(set, "verb-0", "200"), 1);
	T_EQ((int)calls(set, "verb-1", "200"), 1);
	T_EQ((int)calls(set, "other", "200"), 998);
	metric_set_free(set);
}

/* "ab" and "c" are no "a" and "bc". */
T_CASE(values_do_not_run_together)
{
	struct metric_set *set = set_new();

	call(set, "ab", "c");
	call(set, "a", "bc");
	T_EQ(cells(set, CALLS), 2);
	metric_set_free(set);
}

T_CASE(what_a_value_must_not_have_is_replaced)
{
	struct metric_set *set = set_new();
	char long_value[300];

	call(set, "a\nb\x01", "\xff\xc3\xa4");
	T_EQ((int)calls(set, "a?b?", "?\xc3\xa4"), 1);
	memset(long_value, 'x', sizeof long_value);
	metric_add(
		set, CALLS,
		METRIC_VALUES(pl_span(long_value, sizeof long_value), PL_SPAN_LIT("1")),
		1);
	long_value[METRIC_VALUE_MAX] = 0;
	T_EQ((int)calls(set, long_value, "1"), 1);
	/* The cut is between characters. */
	memset(long_value, 'y', sizeof long_value);
	memcpy(long_value + METRIC_VALUE_MAX - 1, "\xc3\xa4", 2);
	metric_add(set, CALLS,
	           METRIC_VALUES(PL_SPAN_LIT(""), pl_span(long_value, sizeof long_value)),
	           1);
	long_value[METRIC_VALUE_MAX - 1] = 0;
	T_EQ((int)calls(set, "", long_value), 1);
	metric_set_free(set);
}

T_CASE(observations_fall_into_buckets)
{
	struct metric_set *set = set_new();
	const struct metric_cell *cell;

	metric_observe(set, TOOK, NULL, 0.001);
	metric_observe(set, TOOK, NULL, 0.002);
	metric_observe(set, TOOK, NULL, 7);
	cell = metric_set_next(set, TOOK, NULL);
	T_EQ(cell->count, 3);
	T_EQ(cell->bucket[0], 1);
	T_EQ(cell->bucket[1], 1);
	T_EQ(cell->bucket[2], 0);
	T_NEAR(cell->value, 7.003, 1e-9);
	metric_set_free(set);
}

/* Milliseconds; 3 is the last value of the bucket [2, 3], and just within the bound. */
T_CASE(a_plain_histogram_is_folded)
{
	struct metric_set *set = set_new();
	struct histogram plain = {0};
	const struct metric_cell *cell;

	histogram_add(&plain, 0);
	histogram_add(&plain, 1);
	histogram_add(&plain, 3);
	histogram_add(&plain, 70); /* of the bucket [64, 127], which passes 100 ms */
	metric_fold(set, TOOK, NULL, &plain, 0.001);
	metric_fold(set, TOOK, NULL, &plain, 0.001);
	cell = metric_set_next(set, TOOK, NULL);
	T_EQ(cell->count, 8);
	T_EQ(cell->bucket[0], 4);
	T_EQ(cell->bucket[1], 2);
	T_EQ(cell->bucket[2], 0);
	T_NEAR(cell->value, 0.148, 1e-9);
	metric_set_free(set);
}

T_CASE(sets_are_merged)
{
	struct metric_set *a = set_new(), *b = set_new(), *all = set_new();

	call(a, "get", "200");
	call(b, "get", "200");
	call(b, "put", "200");
	call(b, "list", "200"); /* b knows it as other */
	metric_put(a, DEPTH, NULL, 3);
	metric_put(b, DEPTH, NULL, 4);
	metric_put(a, LAG, METRIC_VALUES(PL_SPAN_LIT("t")), 0.5);
	metric_put(b, LAG, METRIC_VALUES(PL_SPAN_LIT("t")), 0.25);
	metric_observe(a, TOOK, NULL, 0.002);
	metric_observe(b, TOOK, NULL, 0.002);
	metric_set_merge(all, a);
	metric_set_merge(all, b);
	T_EQ((int)calls(all, "get", "200"), 2);
	T_EQ((int)calls(all, "put", "200"), 1);
	T_EQ((int)calls(all, "other", "200"), 1);
	T_NEAR(metric_set_next(all, DEPTH, NULL)->value, 7, 0);
	T_NEAR(metric_set_next(all, LAG, NULL)->value, 0.5, 0);
	T_EQ(metric_set_next(all, TOOK, NULL)->bucket[1], 2);
	metric_set_free(a);
	metric_set_free(b);
	metric_set_free(all);
}

T_CASE(samples_without_memory_are_dropped_and_counted)
{
	struct metric_set *set = NULL;

	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;
		uint64_t dropped = 0;
		bool fired;

		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = metric_set_new(defs, METRICS, &set, NULL);
		if (code == PL_OK) {
			call(set, "get", "200");
			metric_observe(set, TOOK, NULL, 1);
			dropped = metric_set_dropped(set);
		}
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		if (code == PL_OK) {
			T_EQ(dropped > 0, fired);
			call(set, "get", "200");
			T_TRUE(calls(set, "get", "200") >= 1);
			metric_set_free(set);
		}
		if (!fired)
			break;
		T_TRUE(nth < 100);
	}
}
