/* Estimates of when a pod will be placed. */
#include "coord/api/verbs/place_estimates.h"
#include "tests/harness/t.h"

T_CASE(the_estimate_is_the_queue_over_the_rate)
{
	double seconds = -1;

	T_TRUE(place_estimate_seconds(2, 9, &seconds));
	T_NEAR(seconds, 5, 0.001);
	T_TRUE(place_estimate_seconds(0.5, 0, &seconds));
	T_NEAR(seconds, 2, 0.001);
}

T_CASE(nothing_is_estimated_without_a_rate_or_beyond_a_day)
{
	double seconds = -1;

	T_TRUE(!place_estimate_seconds(-1, 0, &seconds));
	T_TRUE(!place_estimate_seconds(0, 0, &seconds));
	T_TRUE(!place_estimate_seconds(0.01, 1000, &seconds));
	T_TRUE(seconds == -1);
}

T_CASE(the_coverage_is_told_when_enough_is_settled)
{
	struct place_estimates estimates = {.settled = PLACE_ESTIMATES_LEAST - 1,
	                                    .true_ones = 9};
	double share = -1;

	T_TRUE(!place_estimates_coverage(&estimates, &share));
	estimates.settled = 12;
	T_TRUE(place_estimates_coverage(&estimates, &share));
	T_NEAR(share, 0.75, 0.001);
}

T_CASE(a_pod_that_is_asked_about_twice_is_estimated_once)
{
	static struct place_estimates estimates;

	place_estimates_add(&estimates, PL_SPAN_LIT("shop"), PL_SPAN_LIT("a"), 10);
	place_estimates_add(&estimates, PL_SPAN_LIT("shop"), PL_SPAN_LIT("a"), 20);
	T_EQ(estimates.next, 1);
	T_EQ(estimates.at[0].until_ms, 10);
	/* The oldest one gives way. */
	for (unsigned i = 0; i < PLACE_ESTIMATES_MAX; i++) {
		char name[2] = {(char)('A' + i % 26), 0};
		char namespace[2] = {(char)('a' + i / 26), 0};

		place_estimates_add(&estimates, pl_span_str(namespace), pl_span_str(name),
		                    30);
	}
	T_EQ(estimates.next, 1);
	T_EQ(estimates.at[0].until_ms, 30);
}
