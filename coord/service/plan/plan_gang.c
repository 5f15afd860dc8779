/*
 * A gang of a plan: its members that wait are decided together, as a shard does.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "coord/service/plan/plan_int.h"
#include "store/base/alloc.h"

/* As in a shard. */
enum { WORK_PER_MEMBER = 64, WORK_LEAST = 4096 };

/* The members that are decided, and their pods. */
struct
try {
	struct plan_op *op;
	struct plan_gang *gang;
	struct gang_member *member;
	uint32_t *at; /* the pod of each member */
	uint32_t count;
	struct gang_outcome out;
};

static enum pl_code add_member(struct try *try, uint32_t at, struct pl_err *err)
{
	struct plan_op *op = try->op;
	const struct pod *pod = &op->item[at].pod;
	struct gang_member *member = &try->member[try->count];
	struct engine_decision decision = {.gated = true};
	enum pl_code code;

	PL_ASSERT(member != NULL);
	*member = (struct gang_member){.self = {.name = pod->name,
	                                        .uid = pod->uid,
	                                        .nominated = SNAPSHOT_NONE,
	                                        .created_ms = pod->created_ms}};
	code = engine_pod_class(op->engine, pod, &member->class, err);
	if (code != PL_OK)
		return code;
	decision.profile = member->class->profile;
	if (!fw_gated(decision.profile, member->class->view->spec,
	              engine_snapshot(op->engine), &member->self, &decision.gate)) {
		PL_ASSERT(try->at != NULL);
		try->at[try->count++] = at;
		return PL_OK;
	}
	engine_release(op->engine, member->class);
	code = plan_explain(op, at, &decision, err);
	if (code == PL_OK)
		plan_set_verdict(op, at, PLAN_GATED);
	return code;
}

static enum pl_code refuse_member(struct plan_op *op, uint32_t at, struct pl_err *err)
{
	plan_set_verdict(op, at, PLAN_REFUSED);
	return plan_set_message(
		op, at,
		PL_SPAN_LIT("spec.schedulerName: the configuration scheduler has no "
	                    "profile of that name"),
		err);
}

static enum pl_code gather_members(struct try *try, struct pl_err *err)
{
	struct plan_op *op = try->op;
	enum pl_code code = PL_OK;

	for (uint32_t at = try->gang->first; at != PLAN_NONE && code == PL_OK;
	     at = op->item[at].next) {
		bool may;

		code = plan_may_decide(op, at, &may, err);
		if (code == PL_OK && may)
			code = add_member(try, at, err);
		if (code == PL_NOTFOUND)
			code = refuse_member(op, at, err);
	}
	return code;
}

/* -- what came of it --------------------------------------------------------- */

static struct pl_span name_of(const struct try *try, uint32_t member)
{
	return try->op->pod[try->at[member]].name;
}

static void print_outcome(const struct try *try, struct pl_err *say)
{
	const struct gang_outcome *out = &try->out;
	struct pl_span who = out->blocked == SNAPSHOT_NONE ? PL_SPAN_LIT("")
	                                                   : name_of(try, out->blocked);
	const struct spec *spec = try->op->item[try->gang->first].pod.spec;

	switch (out->result) {
	case GANG_INCOMPLETE:
		(void)pl_err_set(
			say, PL_INVALID,
			"the gang wants %" PRId32 " members, and %" PRIu32 " are known",
			spec->template->gang_min, try->count + try->gang->present);
		break;
	case GANG_DISAGREES:
		(void)pl_err_set(
			say, PL_INVALID,
			PL_SPAN_FMT " does not agree with " PL_SPAN_FMT ": %s %s",
			PL_SPAN_ARG(name_of(try, out->member)),
			PL_SPAN_ARG(name_of(try, out->other)),
			gang_fault_field(out->fault), gang_fault_sentence(out->fault));
		break;
	case GANG_PLACED: /* of a member beyond the minimum */
		(void)pl_err_set(say, PL_INVALID, "its gang is placed without it");
		break;
	case GANG_NO_ROOM:
	case GANG_TOO_MUCH:
	case GANG_FAILED:
		(void)pl_err_set(say, PL_INVALID,
		                 "%s for %" PRIu32 " of %" PRIu32
		                 " members%s" PL_SPAN_FMT,
		                 gang_result_word(out->result), out->placed + 1,
		                 try->count, who.len > 0 ? ": " : "", PL_SPAN_ARG(who));
		break;
	case GANG_RESULTS:
		PL_UNREACHABLE("a result of gangs");
	}
}

static enum pl_code refuse_gang(struct try *try, struct pl_err *err)
{
	struct plan_op *op = try->op;
	enum plan_verdict verdict =
		try->out.result == GANG_FAILED ? PLAN_FAILED : PLAN_UNSCHEDULABLE;
	const struct plan_reasons *reasons = NULL;
	struct pl_err say = {0};
	enum pl_code code = PL_OK;

	print_outcome(try, &say);
	if (try->out.blocked != SNAPSHOT_NONE)
		code = plan_reasons_of_cycle(op,
		                             try->member[try->out.blocked].class->profile,
		                             &try->out.why, &reasons, err);
	for (uint32_t i = 0; i < try->count && code == PL_OK; i++) {
		op->pod[try->at[i]].reasons = reasons;
		plan_set_verdict(op, try->at[i], verdict);
		code = plan_set_message(op, try->at[i], pl_span_str(say.msg), err);
	}
	return code;
}

static enum pl_code place_gang(struct try *try, struct pl_err *err)
{
	struct pl_err say = {0};
	enum pl_code code = PL_OK;

	print_outcome(try, &say);
	for (uint32_t i = 0; i < try->count && code == PL_OK; i++) {
		if (try->out.slot[i] != SNAPSHOT_NONE) {
			code = plan_place(try->op, try->at[i], try->out.slot[i], err);
			continue;
		}
		plan_set_verdict(try->op, try->at[i], PLAN_UNSCHEDULABLE);
		code = plan_set_message(try->op, try->at[i], pl_span_str(say.msg), err);
	}
	return code;
}

static enum pl_code decide_members(struct try *try, struct pl_err *err)
{
	struct plan_op *op = try->op;
	const struct gang_opts opts = {
		.draw = engine_draw(op->engine, &op->item[try->at[0]].pod, 0),
		.work_max = (uint64_t)WORK_PER_MEMBER * try->count + WORK_LEAST,
		.present = try->gang->present,
		.present_node = try->gang->present_node};
	enum pl_code code = PL_OK;

	if (op->gang == NULL)
		code = gang_new(&op->gang, err);
	if (code == PL_OK)
		code = gang_decide(op->gang, engine_cycle(op->engine), try->member,
		                   try->count, &opts, &try->out, err);
	if (code != PL_OK)
		return code;
	return try->out.result == GANG_PLACED ? place_gang(try, err)
	                                      : refuse_gang(try, err);
}

enum pl_code plan_decide_gang(struct plan_op *op, struct plan_gang *gang,
                              struct pl_err *err)
{
	struct try try = {.op = op,
	                  .gang = gang,
	                  .member = pl_calloc(gang->count, sizeof *try.member),
	                  .at = pl_calloc(gang->count, sizeof *try.at)};
	enum pl_code code = PL_OK;

	if (try.member == NULL || try.at == NULL)
		code = pl_err_set(err, PL_NOMEM, "decide a gang");
	if (code == PL_OK)
		code = gather_members(&try, err);
	if (code == PL_OK && try.count > 0)
		code = decide_members(&try, err);
	for (uint32_t i = 0; i < try.count; i++)
		engine_release(op->engine, try.member[i].class);
	free(try.member);
	free(try.at);
	return code;
}
