/* The judge judged: a history that is good, and the same with one thing wrong. Here
 * calls and their order; watchers, leases and the end are in check_watch_test.c. */
#include "tests/faultlab/check_kit.h"

T_CASE(good_history_passes)
{
	good();
	judge();
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

T_CASE(hole_in_the_truth)
{
	good();
	untell(FULL, 5);
	want(CHECK_TRUTH);
}

T_CASE(truth_ends_early)
{
	good();
	hist.final_revision = 10;
	want(CHECK_TRUTH);
}

T_CASE(version_jumps)
{
	good();
	told(FULL, 4)->version = 4;
	want(CHECK_CHAIN);
}

T_CASE(list_loses_an_element)
{
	good();
	told(FULL, 6)->value = hist_value_add((struct hist_value){0}, OP_APPEND_MORE);
	want(CHECK_LIST);
}

T_CASE(write_without_an_operation_is_found)
{
	good();
	told(FULL, 4)->value.writer = 500;
	want(CHECK_STRANGER);
}

T_CASE(deletion_without_an_operation_is_found)
{
	good();
	hist_op(&hist, OP_DROP)->outcome = HIST_FAILED;
	want(CHECK_STRANGER);
}

T_CASE(unknown_deletion_is_found)
{
	good();
	hist_op(&hist, OP_DROP)->outcome = HIST_UNKNOWN;
	judge();
	T_EQ(report.count, 0);
	T_EQ(report.unknown_applied, 2);
}

/* Two unknown operations would have deleted the same key: the one without its put did not. */
T_CASE(unknown_deletion_is_not_taken_for_another)
{
	struct hist_op *lost;

	good();
	hist_op(&hist, OP_DROP)->outcome = HIST_UNKNOWN;
	lost = hist_op(&hist, OP_UNKNOWN_LOST);
	lost->part[0].key = reg(1);
	lost->part[lost->part_count++] = hist_op(&hist, OP_DROP)->part[0];
	judge();
	T_EQ(report.count, 0);
	T_EQ(report.unknown_applied, 2);
	T_EQ(report.unknown_not, 1);
}

/* A deletion without the puts that belong to it has no writer. */
T_CASE(deletion_is_left_behind)
{
	struct hist_op *lost;

	good();
	hist_op(&hist, OP_DROP)->outcome = HIST_FAILED;
	lost = hist_op(&hist, OP_UNKNOWN_LOST);
	lost->part[0].key = reg(1);
	lost->part[lost->part_count++] = hist_op(&hist, OP_DROP)->part[0];
	want(CHECK_STRANGER);
}

T_CASE(acknowledged_write_is_lost)
{
	good();
	hist_op(&hist, OP_UNKNOWN_LOST)->outcome = HIST_OK;
	hist_op(&hist, OP_UNKNOWN_LOST)->revision = 4;
	want(CHECK_LOST);
}

T_CASE(acknowledged_elsewhere)
{
	good();
	hist_op(&hist, OP_SWAP)->revision = 2;
	want(CHECK_LOST);
}

T_CASE(applied_twice)
{
	good();
	told(FULL, 4)->value = put_value(OP_SWAP);
	want(CHECK_TWICE);
}

T_CASE(failed_write_shows_up)
{
	good();
	hist_op(&hist, OP_UNKNOWN_APPLIED)->outcome = HIST_FAILED;
	hist_op(&hist, OP_UNKNOWN_APPLIED)->code = PL_UNAVAIL;
	want(CHECK_PHANTOM);
}

T_CASE(refused_write_shows_up)
{
	good();
	hist_op(&hist, OP_UNKNOWN_APPLIED)->outcome = HIST_REFUSED;
	hist_op(&hist, OP_UNKNOWN_APPLIED)->revision = 4;
	want(CHECK_PHANTOM);
}

T_CASE(half_a_transaction)
{
	struct hist_op *op;

	good();
	op = hist_op(&hist, OP_UNKNOWN_APPLIED);
	op->part[op->part_count++] = (struct hist_part){
		.key = reg(1), .act = HIST_PUT, .value = op->part[0].value};
	want(CHECK_TORN);
}

T_CASE(other_content)
{
	good();
	hist_op(&hist, OP_SWAP)->part[0].value.hash++;
	want(CHECK_CONTENT);
}

T_CASE(compare_did_not_hold)
{
	good();
	hist_op(&hist, OP_SWAP)->part[0].expect = 0;
	want(CHECK_COMPARE);
}

T_CASE(refused_for_nothing)
{
	good();
	hist_op(&hist, OP_REFUSED)->part[0].expect = 4;
	want(CHECK_REFUSED);
}

T_CASE(answer_from_the_past)
{
	good();
	hist_op(&hist, OP_READ)->revision = 7;
	want(CHECK_TIME);
}

T_CASE(stale_read_is_allowed_to_be_old)
{
	good();
	hist_op(&hist, OP_READ)->revision = 7;
	hist_op(&hist, OP_READ)->serializable = true;
	judge();
	T_EQ(report.count, 0);
}

T_CASE(applied_before_it_was_asked)
{
	good();
	hist_op(&hist, OP_UNKNOWN_APPLIED)->start_tick = hist.tick;
	hist.op[hist.op_count - 1].start_tick = hist.tick;
	want(CHECK_TIME);
}

T_CASE(read_of_what_was_not_there)
{
	good();
	hist_op(&hist, OP_READ)->part[0].seen_mod = 5;
	want(CHECK_READ);
}

T_CASE(read_of_other_content)
{
	good();
	hist_op(&hist, OP_READ)->part[0].seen_value.hash++;
	want(CHECK_READ);
}
