#include "shardsched/model/budget_rule.h"

#include "store/base/num.h"

enum { PERCENT = 100 };

/* Reads a whole number, or one with a percent sign. False: neither. */
static bool amount_of(struct pl_json value, bool *percent, uint32_t *out)
{
	const char *text = NULL;
	struct pl_span span;
	int64_t number = 0;
	uint64_t part = 0;

	*percent = pl_json_type(value) == PL_JSON_STRING;
	if (!*percent) {
		if (pl_json_as_int(value, (struct pl_json_range){0, INT32_MAX}, &number,
		                   NULL) != PL_OK)
			return false;
		*out = (uint32_t)number;
		return true;
	}
	if (pl_json_as_string(value, &text, NULL) != PL_OK)
		return false;
	span = pl_span_str(text);
	if (span.len < 2 || span.at[span.len - 1] != '%')
		return false;
	span.len--;
	if (pl_num_u64_in(span, 0, INT32_MAX, &part, NULL) != PL_OK)
		return false;
	*out = (uint32_t)part;
	return true;
}

struct draft_budget_rule reader_budget_rule(struct reader *reader, struct pl_json spec)
{
	struct draft_budget_rule out = {
		.policy = reader_text(reader, spec, "unhealthyPodEvictionPolicy")};

	if (reader->code != PL_OK)
		return out;
	out.has_min = reader_has(spec, "minAvailable");
	out.has_max = reader_has(spec, "maxUnavailable");
	if (out.has_min)
		out.bad_min = !amount_of(pl_json_member(spec, "minAvailable"),
		                         &out.percent_min, &out.min);
	if (out.has_max)
		out.bad_max = !amount_of(pl_json_member(spec, "maxUnavailable"),
		                         &out.percent_max, &out.max);
	return out;
}

static void check_amount(struct validate *v, const char *name, bool bad, bool percent,
                         uint32_t amount)
{
	if (bad)
		validate_add(v, name, FIELD_INVALID,
		             "want a number of 0 or more, or a percentage");
	else if (percent && amount > PERCENT)
		validate_add(v, name, FIELD_INVALID, "want at most 100%");
}

void validate_budget_rule(struct validate *v, const struct draft_budget_rule *draft)
{
	static const char *const policies[] = {"IfHealthyBudget", "AlwaysAllow", NULL};
	size_t mark = validate_into(v, "spec");

	if (draft->has_min)
		check_amount(v, "minAvailable", draft->bad_min, draft->percent_min,
		             draft->min);
	if (draft->has_max)
		check_amount(v, "maxUnavailable", draft->bad_max, draft->percent_max,
		             draft->max);
	if (draft->has_min && draft->has_max)
		validate_add(v, NULL, FIELD_INVALID,
		             "minAvailable and maxUnavailable cannot be both set");
	if (draft->policy.len > 0)
		validate_word(v, "unhealthyPodEvictionPolicy", draft->policy, policies);
	validate_back(v, mark);
}

struct budget_rule budget_rule_of(const struct draft_budget_rule *draft)
{
	if (draft->has_max && !draft->bad_max)
		return (struct budget_rule){BUDGET_MAX_UNAVAILABLE, draft->percent_max,
		                            draft->max};
	if (draft->has_min && !draft->bad_min)
		return (struct budget_rule){BUDGET_MIN_AVAILABLE, draft->percent_min,
		                            draft->min};
	return (struct budget_rule){.kind = BUDGET_NOTHING};
}

/* -- what follows ------------------------------------------------------------------ */

static uint32_t part_of_expected(struct budget_rule rule, uint32_t expected)
{
	uint64_t part = (uint64_t)rule.amount * expected;

	if (!rule.percent)
		return rule.amount;
	part = (part + PERCENT - 1) / PERCENT;
	return part > INT32_MAX ? INT32_MAX : (uint32_t)part;
}

uint32_t budget_rule_desired(struct budget_rule rule, uint32_t expected)
{
	uint32_t amount = part_of_expected(rule, expected);

	switch (rule.kind) {
	case BUDGET_NOTHING:
		return expected;
	case BUDGET_MIN_AVAILABLE:
		return amount;
	case BUDGET_MAX_UNAVAILABLE:
		return expected > amount ? expected - amount : 0;
	}
	PL_UNREACHABLE("kind of budget");
}

uint32_t budget_allowed(uint32_t expected, uint32_t desired, uint32_t healthy)
{
	return expected == 0 || healthy <= desired ? 0 : healthy - desired;
}
