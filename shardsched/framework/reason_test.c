#include "shardsched/framework/reason.h"
#include "tests/harness/t.h"

static void prints(const struct reason *reason, const char *want)
{
	struct strings strings;
	struct reason class_state = *reason;
	struct pl_buf out;

	strings_init(&strings);
	pl_buf_init(&out, 1000);
	T_OK(strings_add(&strings, pl_span_str("gpu"), &class_state.subject), NULL);
	T_OK(strings_add(&strings, pl_span_str("only"), &class_state.value), NULL);
	T_OK(reason_print(&strings, &class_state, &out), NULL);
	T_SPAN(pl_buf_span(&out), pl_span_str(want));
	pl_buf_done(&out);
	strings_done(&strings);
}

T_CASE(sentences_equal_kube_schedulers)
{
	prints(&(struct reason){.code = REASON_TAINT},
	       "node(s) had untolerated taint {gpu: only}");
	prints(&(struct reason){.code = REASON_FIT_SCALAR}, "Insufficient gpu");
	prints(&(struct reason){.code = REASON_FIT_CPU, .lacks = 3}, "Insufficient cpu");
	prints(&(struct reason){.code = REASON_CLAIM_MISSING},
	       "persistentvolumeclaim \"gpu\" not found");
	prints(&(struct reason){.code = REASON_NARROWED}, "node(s) didn't satisfy gpu");
	prints(&(struct reason){.code = REASON_NONE}, "");
}

T_CASE(claim_named_after_its_pod_has_its_whole_name)
{
	struct reason reason = {.code = REASON_CLAIM_MISSING};
	struct strings strings;
	struct pl_buf out;

	strings_init(&strings);
	pl_buf_init(&out, 1000);
	T_OK(strings_add(&strings, PL_SPAN_LIT("data-*"), &reason.subject), NULL);
	T_OK(strings_add(&strings, PL_SPAN_LIT("db-0"), &reason.value), NULL);
	T_OK(reason_print(&strings, &reason, &out), NULL);
	T_SPAN(pl_buf_span(&out),
	       pl_span_str("persistentvolumeclaim \"data-db-0\" not found"));
	pl_buf_done(&out);
	strings_done(&strings);
}

T_CASE(missing_string_prints_nothing)
{
	struct strings strings;
	struct pl_buf out;

	strings_init(&strings);
	pl_buf_init(&out, 1000);
	T_OK(reason_print(&strings, &(struct reason){.code = REASON_TAINT}, &out), NULL);
	T_SPAN(pl_buf_span(&out), pl_span_str("node(s) had untolerated taint {: }"));
	T_CODE(reason_print(&strings, &(struct reason){.code = REASON_TAINT},
	                    &(struct pl_buf){.max = 10}),
	       PL_LIMIT, NULL);
	pl_buf_done(&out);
	strings_done(&strings);
}

T_CASE(words_lead_back_to_codes)
{
	for (unsigned code = 0; code < REASON_CODES; code++) {
		const char *word = reason_word((enum reason_code)code);

		T_EQ(reason_of_word(pl_span_str(word)), code);
	}
	T_EQ(reason_of_word(pl_span_str("fit")), REASON_CODES);
	T_STR(verdict_word(VERDICT_UNRESOLVABLE), "UnschedulableAndUnresolvable");
}

T_CASE(graver_code_stays_and_reasons_are_bounded)
{
	const struct reason cpu = {.code = REASON_FIT_CPU};
	struct verdict verdict;

	verdict_clear(&verdict);
	T_EQ(verdict.code, VERDICT_SUCCESS);
	T_EQ(verdict.plugin, -1);
	verdict_add(&verdict, VERDICT_UNSCHEDULABLE, &cpu);
	verdict_add(&verdict, VERDICT_UNRESOLVABLE, &cpu);
	verdict_add(&verdict, VERDICT_UNSCHEDULABLE, &cpu);
	T_EQ(verdict.code, VERDICT_UNRESOLVABLE);
	T_EQ(verdict.count, 3);
	for (int i = 0; i < 100; i++)
		verdict_add(&verdict, VERDICT_ERROR, &cpu);
	T_EQ(verdict.code, VERDICT_ERROR);
	T_EQ(verdict.count, VERDICT_REASONS_MAX);
	verdict_clear(&verdict);
	T_EQ(verdict.count, 0);
}
