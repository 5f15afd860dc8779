/* The judge judged: watchers, leases, and the state at the end. */
#include "tests/faultlab/check_kit.h"

T_CASE(event_told_twice_is_found)
{
	struct hist_event again;

	good_history();
	again = good_event(8);
	add_event(SECOND, &again);
	expect_rule(CHECK_ORDER);
}

T_CASE(event_after_the_end_is_found)
{
	struct hist_event late;

	good_history();
	remove_event(SECOND, 9);
	hist_note_add(&hist, SECOND, HIST_END, 0, 103)->code = PL_CANCELED;
	late = good_event(9);
	add_event(SECOND, &late);
	expect_rule(CHECK_ORDER);
}

T_CASE(missed_event_is_found)
{
	good_history();
	remove_event(SECOND, 5);
	expect_rule(CHECK_GAP);
}

T_CASE(missing_end_is_found)
{
	good_history();
	remove_event(SECOND, 9);
	expect_rule(CHECK_GAP);
}

T_CASE(invented_event_is_found)
{
	good_history();
	event_told(LISTS, 6)->value.hash++;
	expect_rule(CHECK_FALSE_EVENT);
}

T_CASE(false_progress_is_found)
{
	good_history();
	remove_event(SECOND, 9);
	hist_note_add(&hist, SECOND, HIST_PROGRESS, 9, 103);
	expect_rule(CHECK_PROMISE);
}

/* The second watcher sleeps through 7 and 8, is told, and lists again. */
static void compacted_at(int64_t compacted)
{
	struct hist_event list, leased, gone;
	struct hist_note *end;

	good_history();
	list = good_event(6);
	leased = good_event(8);
	gone = good_event(9);
	hist_compacted(&hist, compacted);
	for (int64_t revision = 7; revision <= 9; revision++)
		remove_event(SECOND, revision);
	end = hist_note_add(&hist, SECOND, HIST_END, 0, 103);
	end->code = PL_COMPACTED;
	end->compact_revision = compacted;
	hist_note_add(&hist, SECOND, HIST_RELIST, 8, 104);
	hist_event_add(&hist, SECOND, &list);
	hist_event_add(&hist, SECOND, &leased);
	hist_note_add(&hist, SECOND, HIST_START, 9, 104);
	add_event(SECOND, &gone);
}

T_CASE(compacted_and_listed_again)
{
	compacted_at(8);
	judge_history();
	T_EQ(report.count, 0);
	T_EQ(report.relists, 1);
	T_EQ(report.compacted, 1);
}

T_CASE(compacted_without_need)
{
	compacted_at(5);
	expect_rule(CHECK_BROKEN_OFF);
}

T_CASE(listed_again_wrongly)
{
	compacted_at(8);
	hist.stream[SECOND].event[hist.stream[SECOND].event_count - 2].version++;
	expect_rule(CHECK_RELIST);
}

T_CASE(broken_off)
{
	good_history();
	hist_note_add(&hist, SECOND, HIST_END, 0, 103)->code = PL_UNAVAIL;
	expect_rule(CHECK_BROKEN_OFF);
}

T_CASE(listed_again_for_no_reason)
{
	good_history();
	hist.stream[SECOND].relists = true;
	hist_note_add(&hist, SECOND, HIST_END, 0, 103)->code = PL_REWOUND;
	expect_rule(CHECK_BROKEN_OFF);
}

T_CASE(end_has_another_key)
{
	struct hist_event more;

	good_history();
	more = good_event(4);
	hist_final_add(&hist, &more);
	expect_rule(CHECK_FINAL);
}

T_CASE(lease_goes_early)
{
	good_history();
	hist.lease[0].safe_until_ms = 1000;
	expect_rule(CHECK_LEASE_EARLY);
}

/* The event is seen at 102. */
static void paused_until(uint64_t ms, bool known_fault)
{
	good_history();
	hist.lease[0].safe_until_ms = 20000;
	hist_pause(&hist, 50, true);
	hist_pause(&hist, ms, false);
	hist.pauses_revoke = known_fault;
}

T_CASE(lease_that_a_paused_leader_revokes)
{
	paused_until(101, true);
	judge_history();
	T_EQ(report.count, 0);
	T_EQ(report.leases_excused, 1);
}

T_CASE(pause_is_no_excuse_for_a_good_server)
{
	paused_until(101, false);
	expect_rule(CHECK_LEASE_EARLY);
}

T_CASE(later_pause_is_no_excuse)
{
	good_history();
	hist.lease[0].safe_until_ms = 20000;
	hist_pause(&hist, 103, true);
	hist.pauses_revoke = true;
	expect_rule(CHECK_LEASE_EARLY);
}

T_CASE(revoked_lease_may_go)
{
	good_history();
	hist.lease[0].safe_until_ms = 1000;
	hist.lease[0].revoked = true;
	judge_history();
	T_EQ(report.count, 0);
}

T_CASE(lease_goes_late)
{
	struct hist_event leased;

	good_history();
	leased = good_event(8);
	hist_final_add(&hist, &leased);
	hist.lease[0].dropped_ms = 100;
	hist.final_ms = 200000;
	expect_rule(CHECK_LEASE_LATE);
}

T_CASE(call_without_an_answer)
{
	good_history();
	hist_op_start(&hist, 1, 105);
	expect_rule(CHECK_NO_ANSWER);
}

T_CASE(odd_failure)
{
	good_history();
	hist_op(&hist, OP_FAILED)->code = PL_CORRUPT;
	expect_rule(CHECK_ODD);
}

T_CASE(complaint_is_passed_on)
{
	good_history();
	hist_complain(&hist, 5, "client %d does not work", 3);
	expect_rule(CHECK_STUCK);
}
