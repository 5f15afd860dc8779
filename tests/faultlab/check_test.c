/* The judge judged: a history that is good, and the same with one thing wrong. Here
 * calls and their order; watchers, leases and the end are in check_watch_test.c. */
#include "tests/faultlab/check_kit.h"

T_CASE(good_history_passes)
{
	good_history();
	judge_history();
	T_EQ(report.count, 0);
	T_EQ(report.writes_ok, 6);
	T_EQ(report.unknown_applied, 1);
	T_EQ(report.unknown_not, 1);
	T_EQ(report.writes_failed, 1);
	T_EQ(report.refused, 1);
	T_EQ(report.reads, 1);
	T_EQ(report.revisions, 8);
	T_EQ(report.stream_events, 18);
	T_EQ(report.leases_ended, 1);
}

T_CASE(names_round_trip)
{
	char at[HIST_KEY_SIZE];
	struct hist_value value, two;
	hist_key key = hist_key_of(HIST_LIST, 4711), back;

	T_TRUE(pl_span_eq(hist_key_text(key, at), PL_SPAN_LIT("/lab/l/00004711")));
	T_TRUE(hist_key_parse(hist_key_text(key, at), &back) && back == key);
	T_TRUE(!hist_key_parse(PL_SPAN_LIT("/lab/l/4711x"), &back));
	T_TRUE(!hist_key_parse(PL_SPAN_LIT("/lab/l"), &back));
	T_TRUE(hist_value_parse(PL_SPAN_LIT("5,17"), &value));
	two = hist_value_add(hist_value_add((struct hist_value){0}, 5), 17);
	T_TRUE(value.hash == two.hash && value.count == 2 && value.writer == 17);
	T_TRUE(!hist_value_parse(PL_SPAN_LIT("5,,17"), &value));
	T_TRUE(!hist_value_parse(PL_SPAN_LIT(""), &value));
	T_TRUE(!hist_value_parse(PL_SPAN_LIT("99999999999"), &value));
}

T_CASE(hole_in_the_full_watch_is_found)
{
	good_history();
	remove_event(FULL, 5);
	expect_rule(CHECK_TRUTH);
}

T_CASE(full_watch_that_ends_early_is_found)
{
	good_history();
	hist.final_revision = 10;
	expect_rule(CHECK_TRUTH);
}

T_CASE(version_jump_is_found)
{
	good_history();
	event_told(FULL, 4)->version = 4;
	expect_rule(CHECK_CHAIN);
}

T_CASE(lost_list_element_is_found)
{
	good_history();
	event_told(FULL, 6)->value =
		hist_value_add((struct hist_value){0}, OP_APPEND_MORE);
	expect_rule(CHECK_LIST);
}

T_CASE(write_without_an_operation_is_found)
{
	good_history();
	event_told(FULL, 4)->value.writer = 500;
	expect_rule(CHECK_STRANGER);
}

T_CASE(deletion_without_an_operation_is_found)
{
	good_history();
	hist_op(&hist, OP_DROP)->outcome = HIST_FAILED;
	expect_rule(CHECK_STRANGER);
}

T_CASE(unknown_deletion_is_found)
{
	good_history();
	hist_op(&hist, OP_DROP)->outcome = HIST_UNKNOWN;
	judge_history();
	T_EQ(report.count, 0);
	T_EQ(report.unknown_applied, 2);
}

/* Two unknown operations would have deleted the same key: the one without its put did
 * not. */
T_CASE(unknown_deletion_is_not_taken_for_another)
{
	struct hist_op *lost;

	good_history();
	hist_op(&hist, OP_DROP)->outcome = HIST_UNKNOWN;
	lost = hist_op(&hist, OP_UNKNOWN_LOST);
	lost->part[0].key = register_key(1);
	lost->part[lost->part_count++] = hist_op(&hist, OP_DROP)->part[0];
	judge_history();
	T_EQ(report.count, 0);
	T_EQ(report.unknown_applied, 2);
	T_EQ(report.unknown_not, 1);
}

/* A deletion without the puts that belong to it has no writer. */
T_CASE(deletion_without_its_puts_is_found)
{
	struct hist_op *lost;

	good_history();
	hist_op(&hist, OP_DROP)->outcome = HIST_FAILED;
	lost = hist_op(&hist, OP_UNKNOWN_LOST);
	lost->part[0].key = register_key(1);
	lost->part[lost->part_count++] = hist_op(&hist, OP_DROP)->part[0];
	expect_rule(CHECK_STRANGER);
}

T_CASE(lost_acknowledged_write_is_found)
{
	good_history();
	hist_op(&hist, OP_UNKNOWN_LOST)->outcome = HIST_OK;
	hist_op(&hist, OP_UNKNOWN_LOST)->revision = 4;
	expect_rule(CHECK_LOST);
}

T_CASE(write_at_another_revision_is_found)
{
	good_history();
	hist_op(&hist, OP_SWAP)->revision = 2;
	expect_rule(CHECK_LOST);
}

T_CASE(operation_applied_twice_is_found)
{
	good_history();
	event_told(FULL, 4)->value = put_value(OP_SWAP);
	expect_rule(CHECK_TWICE);
}

T_CASE(applied_failed_write_is_found)
{
	good_history();
	hist_op(&hist, OP_UNKNOWN_APPLIED)->outcome = HIST_FAILED;
	hist_op(&hist, OP_UNKNOWN_APPLIED)->code = PL_UNAVAIL;
	expect_rule(CHECK_PHANTOM);
}

T_CASE(applied_refused_write_is_found)
{
	good_history();
	hist_op(&hist, OP_UNKNOWN_APPLIED)->outcome = HIST_REFUSED;
	hist_op(&hist, OP_UNKNOWN_APPLIED)->revision = 4;
	expect_rule(CHECK_PHANTOM);
}

T_CASE(half_applied_transaction_is_found)
{
	struct hist_op *op;

	good_history();
	op = hist_op(&hist, OP_UNKNOWN_APPLIED);
	op->part[op->part_count++] = (struct hist_part){
		.key = register_key(1), .act = HIST_PUT, .value = op->part[0].value};
	expect_rule(CHECK_TORN);
}

T_CASE(write_of_other_content_is_found)
{
	good_history();
	hist_op(&hist, OP_SWAP)->part[0].value.hash++;
	expect_rule(CHECK_CONTENT);
}

T_CASE(applied_write_with_a_false_compare_is_found)
{
	good_history();
	hist_op(&hist, OP_SWAP)->part[0].expect = 0;
	expect_rule(CHECK_COMPARE);
}

T_CASE(refusal_with_true_compares_is_found)
{
	good_history();
	hist_op(&hist, OP_REFUSED)->part[0].expect = 4;
	expect_rule(CHECK_REFUSED);
}

T_CASE(answer_from_the_past_is_found)
{
	good_history();
	hist_op(&hist, OP_READ)->revision = 7;
	expect_rule(CHECK_TIME);
}

T_CASE(serializable_read_may_be_old)
{
	good_history();
	hist_op(&hist, OP_READ)->revision = 7;
	hist_op(&hist, OP_READ)->serializable = true;
	judge_history();
	T_EQ(report.count, 0);
}

T_CASE(write_applied_before_its_start_is_found)
{
	good_history();
	hist_op(&hist, OP_UNKNOWN_APPLIED)->start_tick = hist.tick;
	hist.op[hist.op_count - 1].start_tick = hist.tick;
	expect_rule(CHECK_TIME);
}

T_CASE(read_of_a_missing_key_is_found)
{
	good_history();
	hist_op(&hist, OP_READ)->part[0].seen_mod = 5;
	expect_rule(CHECK_READ);
}

T_CASE(read_of_other_content_is_found)
{
	good_history();
	hist_op(&hist, OP_READ)->part[0].seen_value.hash++;
	expect_rule(CHECK_READ);
}
