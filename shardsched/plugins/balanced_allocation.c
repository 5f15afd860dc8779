/*
 * NodeResourcesBalancedAllocation prefers nodes whose resources would be in use to
 * similar shares, by what pods really request.
 *
 * The deviation of two shares is half their distance. The result equals kube-scheduler's
 * doubles to the last bit, which decides where the score is cut off: divisions stay
 * divisions, in the same order, and no operations are contracted.
 */
#include <math.h>

#include "shardsched/plugins/amounts.h"
#include "shardsched/plugins/plugins.h"

struct balanced_args {
	struct amount_list resources;
};

static void args_drop(struct model *model, void *args_)
{
	struct balanced_args *args = args_;

	amount_list_drop(model, &args->resources);
}

/* Each resource may occur once, with weight 1. */
static enum pl_code check_resources(struct pl_json list, const struct balanced_args *args,
                                    struct pl_err *err)
{
	const struct amount_item *item = args->resources.at;

	for (struct pl_json at = pl_json_first(list); at.node != NULL;
	     at = pl_json_next(at), item++) {
		if (item->weight != 1)
			return pl_json_fail(pl_json_member(at, "weight"), PL_INVALID, err,
			                    "must be 1");
		for (const struct amount_item *other = args->resources.at; other < item;
		     other++) {
			if (other->name == item->name)
				return pl_json_fail(pl_json_member(at, "name"),
				                    PL_INVALID, err, "is listed twice");
		}
	}
	return PL_OK;
}

static enum pl_code args_parse(struct model *model, struct pl_json json, void *args_,
                               struct pl_err *err)
{
	static const char *const known[] = {"apiVersion", "kind", "resources", NULL};
	struct balanced_args *args = args_;
	struct pl_json list = {0};
	enum pl_code code = PL_OK;

	args->resources.count = 0;
	if (json.node != NULL) {
		code = pl_json_only(json, known, err);
		if (code == PL_OK)
			code = pl_json_array(json, "resources", PL_JSON_OPTIONAL, &list,
			                     err);
	}
	if (code == PL_OK)
		code = amount_list_parse(model, list, &args->resources, err);
	if (code == PL_OK)
		code = check_resources(list, args, err);
	if (code != PL_OK)
		args_drop(model, args);
	return code;
}

static int64_t score_exactly(const struct amount_requests *requests, uint32_t slot)
{
	double fraction[AMOUNTS_MAX];
	double total = 0, sum = 0, deviation = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < requests->count; i++) {
		struct amount amount = amount_at(requests, i, slot);
		double one;

		if (amount.alloc == 0)
			continue;
		one = (double)amount.requested / (double)amount.alloc;
		fraction[count] = one > 1 ? 1 : one;
		total += fraction[count++];
	}
	if (count == 2) {
		deviation = fabs((fraction[0] - fraction[1]) / 2);
	} else if (count > 2) {
		double mean = total / count;

		for (uint32_t i = 0; i < count; i++)
			sum += (fraction[i] - mean) * (fraction[i] - mean);
		deviation = sqrt(sum / count);
	}
	return (int64_t)((1 - deviation) * PLUGIN_SCORE_MAX);
}

static void score_each(const struct amount_requests *requests, uint32_t slot,
                       uint64_t bits, int64_t *score)
{
	for (; bits != 0; bits &= bits - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(bits);

		score[bit] = score_exactly(requests, slot + bit);
	}
}

static bool score_word(const struct amount_requests *requests, uint32_t slot,
                       int64_t *score)
{
	struct amount_word a, b;

	if (requests->count != 2 || !amount_load(requests, 0, slot, &a) ||
	    !amount_load(requests, 1, slot, &b))
		return false;
	requests->kernels->balance(&a, &b, score);
	return true;
}

static bool score_nodes(const struct plugin_call *call, struct node_span span,
                        int64_t *out)
{
	const struct balanced_args *args = call->args;
	struct amount_requests requests;
	struct amount_pass pass;

	amount_requests_make(call, &args->resources, false, &requests);
	amount_pass_make(&requests, requests.kernels->balance_pair, &pass);
	while (span.words > 0) {
		uint32_t slot = span.word * 64, done = amount_pass_run(&pass, span, out);
		uint64_t bits = span.bits[0];

		if (done == 0) {
			if (amount_is_sparse(bits) || !score_word(&requests, slot, out))
				score_each(&requests, slot, bits, out);
			done = 1;
		}
		span = node_span_from(span, done);
		out += (size_t)done * 64;
	}
	return true;
}

const struct plugin plugin_balanced_allocation = {
	.name = "NodeResourcesBalancedAllocation",
	.normal = PLUGIN_AS_IS,
	.weight = 1,
	.args_size = sizeof(struct balanced_args),
	.args_parse = args_parse,
	.args_drop = args_drop,
	.score = score_nodes,
};
