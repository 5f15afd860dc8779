/* The judge judged: watchers, leases, and the state at the end. */
#include "tests/faultlab/check_kit.h"

T_CASE(watcher_told_twice)
{
	struct hist_event again;

	good();
	again = good_event(8);
	tell(SECOND, &again);
	want(CHECK_ORDER);
}

T_CASE(watcher_told_after_its_end)
{
	struct hist_event late;

	good();
	untell(SECOND, 9);
	hist_note_add(&hist, SECOND, HIST_END, 0, 103)->code = PL_CANCELED;
	late = good_event(9);
	tell(SECOND, &late);
	want(CHECK_ORDER);
}

T_CASE(watcher_misses_one)
{
	good();
	untell(SECOND, 5);
	want(CHECK_GAP);
}

T_CASE(watcher_misses_the_end)
{
	good();
	untell(SECOND, 9);
	want(CHECK_GAP);
}

T_CASE(watcher_told_a_tale)
{
	good();
	told(LISTS, 6)->value.hash++;
	want(CHECK_FALSE_EVENT);
}

T_CASE(watcher_promised_too_much)
{
	good();
	untell(SECOND, 9);
	hist_note_add(&hist, SECOND, HIST_PROGRESS, 9, 103);
	want(CHECK_PROMISE);
}

/* The second watcher sleeps through 7 and 8, is told, and lists again. */
static void compacted_at(int64_t compacted)
{
	struct hist_event list, leased, gone;
	struct hist_note *end;

	good();
	list = good_event(6);
	leased = good_event(8);
	gone = good_event(9);
	hist_compacted(&hist, compacted);
	for (int64_t revision = 7; revision <= 9; revision++)
		untell(SECOND, revision);
	end = hist_note_add(&hist, SECOND, HIST_END, 0, 103);
	end->code = PL_COMPACTED;
	end->compact_revision = compacted;
	hist_note_add(&hist, SECOND, HIST_RELIST, 8, 104);
	hist_event_add(&hist, SECOND, &list);
	hist_event_add(&hist, SECOND, &leased);
	hist_note_add(&hist, SECOND, HIST_START, 9, 104);
	tell(SECOND, &gone);
}

T_CASE(compacted_and_listed_again)
{
	compacted_at(8);
	judge();
	T_EQ(report.count, 0);
	T_EQ(report.relists, 1);
	T_EQ(report.compacted, 1);
}

T_CASE(compacted_without_need)
{
	compacted_at(5);
	want(CHECK_BROKEN_OFF);
}

T_CASE(listed_again_wrongly)
{
	compacted_at(8);
	hist.stream[SECOND].event[hist.stream[SECOND].event_count - 2].version++;
	want(CHECK_RELIST);
}

T_CASE(broken_off)
{
	good();
	hist_note_add(&hist, SECOND, HIST_END, 0, 103)->code = PL_UNAVAIL;
	want(CHECK_BROKEN_OFF);
}

T_CASE(listed_again_for_no_reason)
{
	good();
	hist.stream[SECOND].relists = true;
	hist_note_add(&hist, SECOND, HIST_END, 0, 103)->code = PL_REWOUND;
	want(CHECK_BROKEN_OFF);
}

T_CASE(end_has_another_key)
{
	struct hist_event more;

	good();
	more = good_event(4);
	hist_final_add(&hist, &more);
	want(CHECK_FINAL);
}

T_CASE(lease_goes_early)
{
	good();
	hist.lease[0].safe_until_ms = 1000;
	want(CHECK_LEASE_EARLY);
}

/* The event is seen at 102. */
static void paused_until(uint64_t ms, bool known_fault)
{
	good();
	hist.lease[0].safe_until_ms = 20000;
	hist_pause(&hist, 50, true);
	hist_pause(&hist, ms, false);
	hist.pauses_revoke = known_fault;
}

T_CASE(lease_that_a_paused_leader_revokes)
{
	paused_until(101, true);
	judge();
	T_EQ(report.count, 0);
	T_EQ(report.leases_excused, 1);
}

T_CASE(pause_is_no_excuse_for_a_good_server)
{
	paused_until(101, false);
	want(CHECK_LEASE_EARLY);
}

T_CASE(later_pause_is_no_excuse)
{
	good();
	hist.lease[0].safe_until_ms = 20000;
	hist_pause(&hist, 103, true);
	hist.pauses_revoke = true;
	want(CHECK_LEASE_EARLY);
}

T_CASE(revoked_lease_may_go)
{
	good();
	hist.lease[0].safe_until_ms = 1000;
	hist.lease[0].revoked = true;
	judge();
	T_EQ(report.count, 0);
}

T_CASE(lease_goes_late)
{
	struct hist_event leased;

	good();
	leased = good_event(8);
	hist_final_add(&hist, &leased);
	hist.lease[0].dropped_ms = 100;
	hist.final_ms = 200000;
	want(CHECK_LEASE_LATE);
}

T_CASE(call_without_an_answer)
{
	good();
	hist_op_start(&hist, 1, 105);
	want(CHECK_NO_ANSWER);
}

T_CASE(odd_failure)
{
	good();
	hist_op(&hist, OP_FAILED)->code = PL_CORRUPT;
	want(CHECK_ODD);
}

T_CASE(complaint_is_passed_on)
{
	good();
	hist_complain(&hist, 5, "client %d does not work", 3);
	want(CHECK_STUCK);
}
