/*
 * DefaultPreemption: after a cycle without a node, other pods may have to go. preempt/
 * decides which; request and result are in the context that the caller of the cycle set.
 */
#include "shardsched/plugins/plugins.h"
#include "shardsched/preempt/preempt.h"

enum { PERCENT_MOST = 100, PERCENT = 10, ABSOLUTE = 100 };

struct preemption_args {
	uint32_t percent;
	uint32_t absolute;
};

static enum pl_code parse_counts(struct pl_json json, int64_t *percent, int64_t *absolute,
                                 struct pl_err *err)
{
	static const char *const known[] = {"apiVersion", "kind",
	                                    "minCandidateNodesPercentage",
	                                    "minCandidateNodesAbsolute", NULL};
	enum pl_code code = pl_json_only(json, known, err);

	if (code == PL_OK)
		code = pl_json_int_in(
			json, "minCandidateNodesPercentage", PL_JSON_OPTIONAL,
			(struct pl_json_range){0, PERCENT_MOST}, percent, err);
	if (code == PL_OK)
		code = pl_json_int_in(json, "minCandidateNodesAbsolute", PL_JSON_OPTIONAL,
		                      (struct pl_json_range){0, INT32_MAX}, absolute,
		                      err);
	if (code == PL_OK && *percent == 0 && *absolute == 0)
		code = pl_json_fail(json, PL_INVALID, err,
		                    "minCandidateNodesPercentage and "
		                    "minCandidateNodesAbsolute are both 0");
	return code;
}

static enum pl_code args_parse(struct model *model, struct pl_json json, void *args_,
                               struct pl_err *err)
{
	struct preemption_args *args = args_;
	int64_t percent = PERCENT, absolute = ABSOLUTE;
	enum pl_code code = PL_OK;

	(void)model;
	if (json.node != NULL)
		code = parse_counts(json, &percent, &absolute, err);
	if (code != PL_OK)
		return code;
	*args = (struct preemption_args){(uint32_t)percent, (uint32_t)absolute};
	return PL_OK;
}

/* Without that context the caller wants no preemption. */
static enum verdict_code post_filter(const struct plugin_call *call, struct cycle *cycle,
                                     struct verdict *verdict)
{
	const struct preemption_args *args = call->args;
	struct preempt_request *request = cycle_post_filter_ctx(cycle);

	(void)verdict;
	if (request == NULL)
		return VERDICT_UNSCHEDULABLE;
	request->opts.candidates_percent = args->percent;
	request->opts.candidates_least = args->absolute;
	preempt_run(request->preempt, cycle, request->last, &request->opts,
	            &request->out);
	request->ran = true;
	return request->out.code;
}

/* DefaultPreemption refuses no node, so no event is for it to wait for: the plugins that
 * refused know what helps. */
const struct plugin plugin_default_preemption = {
	.name = "DefaultPreemption",
	.args_size = sizeof(struct preemption_args),
	.args_parse = args_parse,
	.post_filter = post_filter,
};
