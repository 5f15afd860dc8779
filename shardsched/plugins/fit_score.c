/*
 * Score of NodeResourcesFit: how much of a node's resources would be free
 * (LeastAllocated) or in use (MostAllocated), or what a curve makes of that
 * (RequestedToCapacityRatio); the weighted mean of the resources that the node has.
 */
#include <string.h>

#include "shardsched/plugins/fit.h"

static int64_t percent(int64_t part, int64_t of)
{
	return (int64_t)((pl_int128)part * 100 / of);
}

static int64_t score_share(const struct fit_args *args, struct amount amount)
{
	switch (args->strategy) {
	case FIT_LEAST_ALLOCATED:
		return amount.requested > amount.alloc
		               ? 0
		               : percent(amount.alloc - amount.requested, amount.alloc);
	case FIT_MOST_ALLOCATED:
		return amount.requested > amount.alloc
		               ? 100
		               : percent(amount.requested, amount.alloc);
	case FIT_RATIO:
		return args->curve[amount.requested > amount.alloc
		                           ? 100
		                           : percent(amount.requested, amount.alloc)];
	}
	PL_UNREACHABLE("a strategy");
}

static int64_t score_exactly(const struct fit_args *args,
                             const struct amount_requests *requests, uint32_t slot)
{
	int64_t sum = 0, weights = 0;

	for (uint32_t i = 0; i < requests->count; i++) {
		struct amount amount = amount_at(requests, i, slot);
		int64_t one;

		if (amount.alloc == 0)
			continue;
		one = score_share(args, amount);
		/* On a curve, a resource that scores 0 does not take part in the mean. */
		if (args->strategy == FIT_RATIO && one == 0)
			continue;
		sum += one * requests->at[i].weight;
		weights += requests->at[i].weight;
	}
	if (weights == 0)
		return 0;
	return args->strategy == FIT_RATIO ? (2 * sum + weights) / (2 * weights)
	                                   : sum / weights;
}

static void score_each(const struct fit_args *args,
                       const struct amount_requests *requests, uint32_t slot,
                       uint64_t bits, int64_t *score)
{
	for (; bits != 0; bits &= bits - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(bits);

		score[bit] = score_exactly(args, requests, slot + bit);
	}
}

/* Weighs what the curve makes of the percentages. */
static void weigh_curve(const struct fit_args *args,
                        const struct amount_requests *requests,
                        const struct amount_word *in, int32_t weight,
                        struct amount_means *out)
{
	int32_t percents[64];

	requests->kernels->percent_used(in, percents);
	for (uint32_t i = 0; i < 64; i++) {
		int32_t one = in->alloc[i] > 0 ? args->curve[percents[i]] : 0;

		out->sum[i] += one * weight;
		out->weights[i] += one > 0 ? weight : 0;
	}
}

static void weigh_resource(const struct fit_args *args,
                           const struct amount_requests *requests,
                           const struct amount_word *in, int32_t weight,
                           struct amount_means *out)
{
	switch (args->strategy) {
	case FIT_LEAST_ALLOCATED:
		requests->kernels->weigh_free(in, weight, out);
		return;
	case FIT_MOST_ALLOCATED:
		requests->kernels->weigh_used(in, weight, out);
		return;
	case FIT_RATIO:
		weigh_curve(args, requests, in, weight, out);
		return;
	}
}

/* false: the amounts are too large. */
static bool score_word(const struct fit_args *args,
                       const struct amount_requests *requests, uint32_t slot,
                       int64_t *score)
{
	struct amount_word in;
	struct amount_means means;

	memset(&means, 0, sizeof(means));
	for (uint32_t i = 0; i < requests->count; i++) {
		if (!amount_load(requests, i, slot, &in))
			return false;
		weigh_resource(args, requests, &in, requests->at[i].weight, &means);
	}
	/* The mean is rounded here, not cut off: doubling and adding the weights adds one
	 * half. */
	for (uint32_t i = 0; args->strategy == FIT_RATIO && i < 64; i++) {
		means.sum[i] = 2 * means.sum[i] + means.weights[i];
		means.weights[i] *= 2;
	}
	requests->kernels->mean(&means, score);
	return true;
}

static amount_pair_fn *kernel_of(const struct fit_args *args,
                                 const struct amount_kernels *kernels)
{
	switch (args->strategy) {
	case FIT_LEAST_ALLOCATED:
		return kernels->mean_free;
	case FIT_MOST_ALLOCATED:
		return kernels->mean_used;
	case FIT_RATIO:
		return NULL;
	}
	PL_UNREACHABLE("a strategy");
}

bool fit_score(const struct plugin_call *call, struct node_span span, int64_t *score)
{
	const struct fit_args *args = call->args;
	struct amount_requests requests;
	struct amount_pass pass;

	amount_requests_make(call, &args->resources, true, &requests);
	amount_pass_make(&requests, kernel_of(args, requests.kernels), &pass);
	while (span.words > 0) {
		uint32_t slot = span.word * 64,
			 done = amount_pass_run(&pass, span, score);
		uint64_t bits = span.bits[0];

		if (done == 0) {
			if (amount_is_sparse(bits) ||
			    !score_word(args, &requests, slot, score))
				score_each(args, &requests, slot, bits, score);
			done = 1;
		}
		span = node_span_from(span, done);
		score += (size_t)done * 64;
	}
	return true;
}
