/* The judge judged: a history that is good, and the same with one thing wrong. */
#include <stdio.h>

#include "tests/faultlab/check.h"
#include "tests/harness/t.h"

enum { FULL, SECOND, LISTS, STREAMS };

static struct hist hist;
static struct check_report report;

static hist_key reg(unsigned n)
{
	return hist_key_of(HIST_REGISTER, n);
}

/* One call with one part, from start to end. */
static uint32_t call(enum hist_act act, hist_key key, int64_t expect,
                     enum hist_outcome outcome, int64_t revision)
{
	uint32_t id = hist_op_start(&hist, 1, 100);
	struct hist_op *op = hist_op(&hist, id);

	op->part_count = 1;
	op->part[0] = (struct hist_part){.key = key, .act = act, .expect = expect};
	if (act == HIST_PUT)
		op->part[0].value = hist_value_add((struct hist_value){0}, id);
	hist_op_end(&hist, id, outcome, outcome == HIST_FAILED ? PL_UNAVAIL : PL_OK,
	            revision, 101);
	return id;
}

static void look(hist_key key, int64_t revision, int64_t mod, struct hist_value value)
{
	uint32_t id = call(HIST_LOOK, key, HIST_ANY, HIST_OK, revision);
	struct hist_part *part = &hist_op(&hist, id)->part[0];

	part->seen = true;
	part->seen_mod = mod;
	part->seen_value = value;
}

static void tell(unsigned stream, const struct hist_event *event)
{
	hist_note_add(&hist, stream, HIST_EVENTS, event->revision, 102);
	hist_event_add(&hist, stream, event);
}

static struct hist_event event_of(hist_key key, int64_t revision, int64_t created,
                                  int64_t version, struct hist_value value)
{
	return (struct hist_event){.revision = revision,
	                           .key = key,
	                           .is_delete = version == 0,
	                           .create_revision = created,
	                           .version = version,
	                           .value = value};
}

static void tell_all(const struct hist_event *event)
{
	tell(FULL, event);
	tell(SECOND, event);
	if (hist_class_of(event->key) == HIST_LIST)
		tell(LISTS, event);
}

static struct hist_value put_value(uint32_t id)
{
	return hist_op(&hist, id)->part[0].value;
}

enum {
	OP_CREATE = 1,
	OP_SWAP,
	OP_UNKNOWN_APPLIED,
	OP_UNKNOWN_LOST,
	OP_FAILED,
	OP_REFUSED,
	OP_APPEND,
	OP_APPEND_MORE,
	OP_DROP,
	OP_LEASED,
	OP_READ,
};

static void append(hist_key key, int64_t expect, int64_t revision,
                   struct hist_value before)
{
	uint32_t id = call(HIST_PUT, key, expect, HIST_OK, revision);

	hist_op(&hist, id)->part[0].value = hist_value_add(before, id);
}

static void good_streams(void)
{
	hist_stream_add(&hist, "full", HIST_ALL, true);
	hist_stream_add(&hist, "second", HIST_ALL, true);
	hist_stream_add(&hist, "lists", HIST_LIST, true);
	for (unsigned i = 0; i < STREAMS; i++)
		hist_note_add(&hist, i, HIST_START, 2, 99);
}

/* Revisions 2 to 9: a register made, swapped twice (once unknown), a list of two,
 * the register deleted, a leased key that comes and goes. */
static void good_calls(void)
{
	hist_key list = hist_key_of(HIST_LIST, 0), leased = hist_key_of(HIST_LEASED, 0);

	call(HIST_PUT, reg(0), 0, HIST_OK, 2);
	call(HIST_PUT, reg(0), 2, HIST_OK, 3);
	call(HIST_PUT, reg(0), 3, HIST_UNKNOWN, 0);
	call(HIST_PUT, reg(0), 3, HIST_UNKNOWN, 0);
	call(HIST_PUT, reg(0), 3, HIST_FAILED, 0);
	call(HIST_PUT, reg(0), 2, HIST_REFUSED, 4);
	append(list, 0, 5, (struct hist_value){0});
	append(list, 5, 6, put_value(OP_APPEND));
	call(HIST_DROP, reg(0), 4, HIST_OK, 7);
	call(HIST_PUT, leased, 0, HIST_OK, 8);
	hist_op(&hist, OP_LEASED)->lease = 77;
	hist_lease_add(&hist, 77, 2000);
	hist.lease[0].safe_until_ms = 90;
	look(list, 8, 6, put_value(OP_APPEND_MORE));
}

static struct hist_event good_event(int64_t revision)
{
	hist_key list = hist_key_of(HIST_LIST, 0), leased = hist_key_of(HIST_LEASED, 0);
	struct hist_event event = {0};

	switch (revision) {
	case 2:
		return event_of(reg(0), 2, 2, 1, put_value(OP_CREATE));
	case 3:
		return event_of(reg(0), 3, 2, 2, put_value(OP_SWAP));
	case 4:
		return event_of(reg(0), 4, 2, 3, put_value(OP_UNKNOWN_APPLIED));
	case 5:
		return event_of(list, 5, 5, 1, put_value(OP_APPEND));
	case 6:
		return event_of(list, 6, 5, 2, put_value(OP_APPEND_MORE));
	case 7:
		return event_of(reg(0), 7, 0, 0, event.value);
	case 8:
		event = event_of(leased, 8, 8, 1, put_value(OP_LEASED));
		event.lease = 77;
		return event;
	default:
		return event_of(leased, 9, 0, 0, event.value);
	}
}

/* The history is known in full before anybody is told. */
static void good(void)
{
	struct hist_event list;

	hist_init(&hist);
	hist.base_revision = 1;
	good_streams();
	good_calls();
	for (int64_t revision = 2; revision <= 9; revision++) {
		struct hist_event event = good_event(revision);

		tell_all(&event);
	}
	list = good_event(6);
	hist_final_add(&hist, &list);
	hist.final_revision = 9;
	hist.final_ms = 110;
}

static void judge(void)
{
	memset(&report, 0, sizeof report);
	T_EQ(check_hist(&hist, &report), PL_OK);
	for (unsigned i = 0; i < report.kept; i++)
		(void)printf("# %s: %s\n", check_rule_name(report.finding[i].rule),
		             report.finding[i].text);
	hist_done(&hist);
}

static void want(enum check_rule rule)
{
	judge();
	if (report.by_rule[rule] == 0)
		t_fail(__FILE__, __LINE__, "%s was not found", check_rule_name(rule));
}

static struct hist_event *told(unsigned stream, int64_t revision)
{
	for (size_t i = 0; i < hist.stream[stream].event_count; i++)
		if (hist.stream[stream].event[i].revision == revision)
			return &hist.stream[stream].event[i];
	t_fail(__FILE__, __LINE__, "nothing at %d", (int)revision);
}

static void untell(unsigned stream, int64_t revision)
{
	for (size_t i = 0; i < hist.stream[stream].note_count; i++) {
		struct hist_note *note = &hist.stream[stream].note[i];

		if (note->what == HIST_EVENTS && note->revision == revision)
			note->count = 0;
	}
	if (stream == FULL)
		told(FULL, revision)->revision = INT64_MAX;
}

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

T_CASE(written_by_nobody)
{
	good();
	told(FULL, 4)->value.writer = 500;
	want(CHECK_STRANGER);
}

T_CASE(deleted_by_nobody)
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
