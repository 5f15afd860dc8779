#include "shardsched/model/budget_rule.h"

#include "store/base/num.h"

enum { PERCENT = 100 };

/* Reads a whole number, or one with a percent sign. */
static struct draft_budget_amount read_amount(struct pl_json value)
{
	static const struct draft_budget_amount bad = {.kind = BUDGET_AMOUNT_BAD};
	struct draft_budget_amount out = {.kind = BUDGET_AMOUNT_NUMBER};
	const char *text = NULL;
	struct pl_span span;
	int64_t number = 0;
	uint64_t part = 0;

	if (pl_json_type(value) != PL_JSON_STRING) {
		if (pl_json_as_int(value, (struct pl_json_range){0, INT32_MAX}, &number,
		                   NULL) != PL_OK)
			return bad;
		out.amount = (uint32_t)number;
		return out;
	}
	if (pl_json_as_string(value, &text, NULL) != PL_OK)
		return bad;
	span = pl_span_str(text);
	if (span.len < 2 || span.at[span.len - 1] != '%')
		return bad;
	span.len--;
	if (pl_num_u64_in(span, 0, INT32_MAX, &part, NULL) != PL_OK)
		return bad;
	out.kind = BUDGET_AMOUNT_PERCENT;
	out.amount = (uint32_t)part;
	return out;
}

struct draft_budget_rule reader_budget_rule(struct reader *reader, struct pl_json spec)
{
	struct draft_budget_rule out = {
		.policy = reader_text(reader, spec, "unhealthyPodEvictionPolicy")};

	if (reader->code != PL_OK)
		return out;
	if (reader_has(spec, "minAvailable"))
		out.min = read_amount(pl_json_member(spec, "minAvailable"));
	if (reader_has(spec, "maxUnavailable"))
		out.max = read_amount(pl_json_member(spec, "maxUnavailable"));
	return out;
}

static void check_amount(struct validate *v, const char *name,
                         const struct draft_budget_amount *draft)
{
	if (draft->kind == BUDGET_AMOUNT_BAD)
		validate_add(v, name, FIELD_INVALID,
		             "want a number of 0 or more, or a percentage");
	else if (draft->kind == BUDGET_AMOUNT_PERCENT && draft->amount > PERCENT)
		validate_add(v, name, FIELD_INVALID, "want at most 100%");
}

void validate_budget_rule(struct validate *v, const struct draft_budget_rule *draft)
{
	static const char *const policies[] = {"IfHealthyBudget", "AlwaysAllow", NULL};
	size_t mark = validate_into(v, "spec");

	check_amount(v, "minAvailable", &draft->min);
	check_amount(v, "maxUnavailable", &draft->max);
	if (draft->min.kind != BUDGET_AMOUNT_ABSENT &&
	    draft->max.kind != BUDGET_AMOUNT_ABSENT)
		validate_add(v, NULL, FIELD_INVALID,
		             "minAvailable and maxUnavailable cannot be both set");
	if (draft->policy.len > 0)
		validate_word(v, "unhealthyPodEvictionPolicy", draft->policy, policies);
	validate_back(v, mark);
}

static bool is_good(const struct draft_budget_amount *draft)
{
	return draft->kind == BUDGET_AMOUNT_NUMBER ||
	       draft->kind == BUDGET_AMOUNT_PERCENT;
}

static struct budget_rule rule_from(enum budget_kind kind,
                                    const struct draft_budget_amount *draft)
{
	return (struct budget_rule){kind, draft->kind == BUDGET_AMOUNT_PERCENT,
	                            draft->amount};
}

struct budget_rule budget_rule_of(const struct draft_budget_rule *draft)
{
	if (is_good(&draft->max))
		return rule_from(BUDGET_MAX_UNAVAILABLE, &draft->max);
	if (is_good(&draft->min))
		return rule_from(BUDGET_MIN_AVAILABLE, &draft->min);
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
