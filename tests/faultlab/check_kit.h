/* For the tests of the judge: a history that is good, to be spoilt in one place. */
#ifndef TESTS_FAULTLAB_CHECK_KIT_H
#define TESTS_FAULTLAB_CHECK_KIT_H

#include <stdio.h>

#include "tests/faultlab/check.h"
#include "tests/harness/t.h"

enum { FULL, SECOND, LISTS, STREAMS };

static struct hist hist;
static struct check_report report;

static inline hist_key register_key(unsigned n)
{
	return hist_key_of(HIST_REGISTER, n);
}

/* One call with one part, from start to end. */
static inline uint32_t add_call(enum hist_act act, hist_key key, int64_t expect,
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

static inline void add_look(hist_key key, int64_t revision, int64_t mod,
                            struct hist_value value)
{
	uint32_t id = add_call(HIST_LOOK, key, HIST_ANY, HIST_OK, revision);
	struct hist_part *part = &hist_op(&hist, id)->part[0];

	part->seen = true;
	part->seen_mod = mod;
	part->seen_value = value;
}

static inline void add_event(unsigned stream, const struct hist_event *event)
{
	hist_note_add(&hist, stream, HIST_EVENTS, event->revision, 102);
	hist_event_add(&hist, stream, event);
}

static inline struct hist_event event_of(hist_key key, int64_t revision, int64_t created,
                                         int64_t version, struct hist_value value)
{
	return (struct hist_event){.revision = revision,
	                           .key = key,
	                           .is_delete = version == 0,
	                           .create_revision = created,
	                           .version = version,
	                           .value = value};
}

static inline void add_event_to_all(const struct hist_event *event)
{
	add_event(FULL, event);
	add_event(SECOND, event);
	if (hist_class_of(event->key) == HIST_LIST)
		add_event(LISTS, event);
}

static inline struct hist_value put_value(uint32_t id)
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

static inline void add_append(hist_key key, int64_t expect, int64_t revision,
                              struct hist_value before)
{
	uint32_t id = add_call(HIST_PUT, key, expect, HIST_OK, revision);

	hist_op(&hist, id)->part[0].value = hist_value_add(before, id);
}

static inline void good_streams(void)
{
	hist_stream_add(&hist, "full", HIST_ALL, true);
	hist_stream_add(&hist, "second", HIST_ALL, true);
	hist_stream_add(&hist, "lists", HIST_LIST, true);
	for (unsigned i = 0; i < STREAMS; i++)
		hist_note_add(&hist, i, HIST_START, 2, 99);
}

/* Revisions 2 to 9: a register made, swapped twice (once unknown), a list of two,
 * the register deleted, a leased key that comes and goes. */
static inline void good_calls(void)
{
	hist_key list = hist_key_of(HIST_LIST, 0), leased = hist_key_of(HIST_LEASED, 0);

	add_call(HIST_PUT, register_key(0), 0, HIST_OK, 2);
	add_call(HIST_PUT, register_key(0), 2, HIST_OK, 3);
	add_call(HIST_PUT, register_key(0), 3, HIST_UNKNOWN, 0);
	add_call(HIST_PUT, register_key(0), 3, HIST_UNKNOWN, 0);
	add_call(HIST_PUT, register_key(0), 3, HIST_FAILED, 0);
	add_call(HIST_PUT, register_key(0), 2, HIST_REFUSED, 4);
	add_append(list, 0, 5, (struct hist_value){0});
	add_append(list, 5, 6, put_value(OP_APPEND));
	add_call(HIST_DROP, register_key(0), 4, HIST_OK, 7);
	add_call(HIST_PUT, leased, 0, HIST_OK, 8);
	hist_op(&hist, OP_LEASED)->lease = 77;
	hist_lease_add(&hist, 77, 2000);
	hist.lease[0].safe_until_ms = 90;
	add_look(list, 8, 6, put_value(OP_APPEND_MORE));
}

static inline struct hist_event good_event(int64_t revision)
{
	hist_key list = hist_key_of(HIST_LIST, 0), leased = hist_key_of(HIST_LEASED, 0);
	struct hist_event event = {0};

	switch (revision) {
	case 2:
		return event_of(register_key(0), 2, 2, 1, put_value(OP_CREATE));
	case 3:
		return event_of(register_key(0), 3, 2, 2, put_value(OP_SWAP));
	case 4:
		return event_of(register_key(0), 4, 2, 3, put_value(OP_UNKNOWN_APPLIED));
	case 5:
		return event_of(list, 5, 5, 1, put_value(OP_APPEND));
	case 6:
		return event_of(list, 6, 5, 2, put_value(OP_APPEND_MORE));
	case 7:
		return event_of(register_key(0), 7, 0, 0, event.value);
	case 8:
		event = event_of(leased, 8, 8, 1, put_value(OP_LEASED));
		event.lease = 77;
		return event;
	default:
		return event_of(leased, 9, 0, 0, event.value);
	}
}

/* The history is known in full before any watcher is told. */
static inline void good_history(void)
{
	struct hist_event list;

	hist_init(&hist);
	hist.base_revision = 1;
	good_streams();
	good_calls();
	for (int64_t revision = 2; revision <= 9; revision++) {
		struct hist_event event = good_event(revision);

		add_event_to_all(&event);
	}
	list = good_event(6);
	hist_final_add(&hist, &list);
	hist.final_revision = 9;
	hist.final_ms = 110;
}

static inline void judge_history(void)
{
	memset(&report, 0, sizeof report);
	T_EQ(check_hist(&hist, &report), PL_OK);
	for (unsigned i = 0; i < report.kept; i++)
		(void)printf("# %s: %s\n", check_rule_name(report.finding[i].rule),
		             report.finding[i].text);
	hist_done(&hist);
}

static inline void expect_rule(enum check_rule rule)
{
	judge_history();
	if (report.by_rule[rule] == 0)
		t_fail(__FILE__, __LINE__, "%s was not found", check_rule_name(rule));
}

static inline struct hist_event *event_told(unsigned stream, int64_t revision)
{
	for (size_t i = 0; i < hist.stream[stream].event_count; i++)
		if (hist.stream[stream].event[i].revision == revision)
			return &hist.stream[stream].event[i];
	t_fail(__FILE__, __LINE__, "nothing at %d", (int)revision);
}

static inline void remove_event(unsigned stream, int64_t revision)
{
	for (size_t i = 0; i < hist.stream[stream].note_count; i++) {
		struct hist_note *note = &hist.stream[stream].note[i];

		if (note->what == HIST_EVENTS && note->revision == revision)
			note->count = 0;
	}
	if (stream == FULL)
		event_told(FULL, revision)->revision = INT64_MAX;
}

#endif
