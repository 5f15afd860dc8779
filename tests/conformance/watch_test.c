#include "tests/conformance/kit.h"

static void expect_ready(int line, struct subject *s, struct stream *w, int64_t revision)
{
	int64_t ready = names_revision_in(subject_names(s), w->ready_revision);

	if (w->ready_count != 1 || ready != revision)
		t_fail(__FILE__, line, "ready %u times, at @%d, want @%d", w->ready_count,
		       (int)ready, (int)revision);
}

#define EXPECT_READY(s, w, revision) expect_ready(__LINE__, s, w, revision)

T_CASE(watch_from_now)
{
	struct subject *s = kit_open();
	struct stream *w;

	EXPECT(s, PUT("a", "1"), "@1");
	w = kit_watch(s, &WATCH(ONE("a")));
	EXPECT_READY(s, w, 1);
	EXPECT_QUIET(s, w);
	EXPECT(s, PUT("a", "2"), "@2");
	EXPECT(s, PUT("b", "1"), "@3");
	EXPECT(s, DELETE(ONE("a")), "@4 deleted 1");
	EXPECT(s, PUT("a", ""), "@5");
	EXPECT_STREAM(s, w, "@2 put a=2(1,2,2)", "@4 delete a", "@5 put a=(5,5,1)");
	EXPECT(s, DELETE(ONE("x")), "@5 deleted 0");
	EXPECT(s, PUT("a", "3"), "@6");
	EXPECT_STREAM(s, w, "@6 put a=3(5,6,2)");
	kit_close(s);
}

T_CASE(watch_from_the_past)
{
	struct subject *s = kit_open();
	struct stream *w;

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT("a", "2"), "@2");
	EXPECT(s, PUT("b", "1"), "@3");
	EXPECT(s, DELETE(ONE("a")), "@4 deleted 1");
	w = kit_watch(s, &WATCH(ALL, .from_revision = 2));
	EXPECT_READY(s, w, 1);
	EXPECT(s, PUT("c", "1"), "@5");
	EXPECT_STREAM(s, w, "@2 put a=2(1,2,2)", "@3 put b=1(3,3,1)", "@4 delete a",
	              "@5 put c=1(5,5,1)");
	w = kit_watch(s, &WATCH(ALL, .from_revision = 5));
	EXPECT_STREAM(s, w, "@5 put c=1(5,5,1)");
	kit_close(s);
}

T_CASE(watch_from_the_next_revision)
{
	struct subject *s = kit_open();
	struct stream *w;

	EXPECT(s, PUT("a", "1"), "@1");
	w = kit_watch(s, &WATCH(ALL, .from_revision = 2));
	EXPECT_READY(s, w, 1);
	EXPECT(s, PUT("a", "2"), "@2");
	EXPECT_STREAM(s, w, "@2 put a=2(1,2,2)");
	kit_close(s);
}

T_CASE(watch_from_the_future)
{
	struct subject *s = kit_open();
	struct stream *w;

	EXPECT(s, PUT("a", "1"), "@1");
	w = kit_watch(s, &WATCH(ALL, .from_revision = 4));
	EXPECT_READY(s, w, 3);
	EXPECT(s, PUT("a", "2"), "@2");
	EXPECT(s, PUT("a", "3"), "@3");
	EXPECT(s, PUT("a", "4"), "@4");
	EXPECT(s, PUT("a", "5"), "@5");
	EXPECT_STREAM(s, w, "@4 put a=4(1,4,4)", "@5 put a=5(1,5,5)");
	kit_close(s);
}

T_CASE(watch_ranges)
{
	struct subject *s = kit_open();
	struct stream *one = kit_watch(s, &WATCH(ONE("b")));
	struct stream *range = kit_watch(s, &WATCH(RANGE("a", "b/z")));
	struct stream *prefix = kit_watch(s, &WATCH(PREFIX("b/")));
	struct stream *from = kit_watch(s, &WATCH(FROM("b/b")));
	struct stream *all = kit_watch(s, &WATCH(ALL));
	struct stream *top = kit_watch(s, &WATCH(PREFIX("\xff")));
	struct stream *low = kit_watch(s, &WATCH(RANGE("", "b")));

	EXPECT(s,
	       TXN(THEN(PUT("\x00", ""), PUT("a", ""), PUT("b", ""), PUT("b/a", ""),
	                PUT("b/c", ""), PUT("c", ""), PUT("\xff\xff", ""))),
	       "@1 then [put] [put] [put] [put] [put] [put] [put]");
	EXPECT_STREAM(s, one, "@1 put b=(1,1,1)");
	EXPECT_STREAM(s, range, "@1 put a=(1,1,1)", "@1 put b=(1,1,1)",
	              "@1 put b/a=(1,1,1)", "@1 put b/c=(1,1,1)");
	EXPECT_STREAM(s, prefix, "@1 put b/a=(1,1,1)", "@1 put b/c=(1,1,1)");
	EXPECT_STREAM(s, from, "@1 put b/c=(1,1,1)", "@1 put c=(1,1,1)",
	              "@1 put \"\\xff\\xff\"=(1,1,1)");
	EXPECT_STREAM(s, all, "@1 put \"\\x00\"=(1,1,1)", "@1 put a=(1,1,1)",
	              "@1 put b=(1,1,1)", "@1 put b/a=(1,1,1)", "@1 put b/c=(1,1,1)",
	              "@1 put c=(1,1,1)", "@1 put \"\\xff\\xff\"=(1,1,1)");
	EXPECT_STREAM(s, top, "@1 put \"\\xff\\xff\"=(1,1,1)");
	EXPECT_STREAM(s, low, "@1 put \"\\x00\"=(1,1,1)", "@1 put a=(1,1,1)");
	kit_close(s);
}

/* A watch of what cannot be is refused: at once, or as its end. */
T_CASE(watch_of_empty_and_reversed_ranges)
{
	struct subject *s = kit_open();
	struct stream *w;

	w = kit_watch(s, &WATCH(ONE("")));
	EXPECT_STREAM(s, w, "end INVALID");
	w = kit_watch(s, &WATCH(RANGE("a", "")));
	EXPECT_STREAM(s, w, "end INVALID");
	w = kit_watch(s, &WATCH(RANGE("", "\x00")));
	EXPECT_STREAM(s, w, "end INVALID");
	w = kit_watch(s, &WATCH(RANGE("a", "a")));
	EXPECT_STREAM(s, w, "end INVALID");
	w = kit_watch(s, &WATCH(RANGE("b", "a")));
	EXPECT_STREAM(s, w, "end INVALID");
	w = kit_watch(s, &WATCH(ALL, .no_puts = true, .no_deletes = true));
	EXPECT_STREAM(s, w, "end INVALID");
	kit_close(s);
}

T_CASE(watch_previous_values)
{
	struct subject *s = kit_open();
	struct stream *w = kit_watch(s, &WATCH(PREFIX("a"), .want_prev = true)), *late;

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, PUT_WITH("a", "1", .lease = 1), "@1");
	EXPECT(s, PUT("a", ""), "@2");
	EXPECT(s, PUT("a", "3"), "@3");
	EXPECT(s, DELETE(ONE("a")), "@4 deleted 1");
	EXPECT(s, PUT("a", "5"), "@5");
	EXPECT_STREAM(s, w, "@1 put a=1(1,1,1,L1)", "@2 put a=(1,2,2) prev a=1(1,1,1,L1)",
	              "@3 put a=3(1,3,3) prev a=(1,2,2)", "@4 delete a prev a=3(1,3,3)",
	              "@5 put a=5(5,5,1)");
	late = kit_watch(s, &WATCH(ALL, .from_revision = 3, .want_prev = true));
	EXPECT_STREAM(s, late, "@3 put a=3(1,3,3) prev a=(1,2,2)",
	              "@4 delete a prev a=3(1,3,3)", "@5 put a=5(5,5,1)");
	kit_close(s);
}

T_CASE(watch_filters)
{
	struct subject *s = kit_open();
	struct stream *puts = kit_watch(s, &WATCH(ALL, .no_deletes = true)), *late;
	struct stream *deletes = kit_watch(s, &WATCH(ALL, .no_puts = true));

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, TXN(THEN(PUT("b", "1"), DELETE(ONE("a")))),
	       "@2 then [put] [delete deleted 1]");
	EXPECT(s, DELETE(ONE("b")), "@3 deleted 1");
	EXPECT_STREAM(s, puts, "@1 put a=1(1,1,1)", "@2 put b=1(2,2,1)");
	EXPECT_STREAM(s, deletes, "@2 delete a", "@3 delete b");
	late = kit_watch(
		s, &WATCH(ALL, .from_revision = 1, .no_puts = true, .want_prev = true));
	EXPECT_STREAM(s, late, "@2 delete a prev a=1(1,1,1)",
	              "@3 delete b prev b=1(2,2,1)");
	kit_close(s);
}

/* All of a revision comes together, in the order of its operations. */
T_CASE(watch_whole_revisions)
{
	struct subject *s = kit_open();
	struct stream *w = kit_watch(s, &WATCH(ALL)), *late;

	EXPECT(s, TXN(THEN(PUT("c", "1"), PUT("a", "1"), PUT("b", "1"))),
	       "@1 then [put] [put] [put]");
	EXPECT(s, TXN(THEN(PUT("d", "1"), DELETE(RANGE("a", "d")), PUT("e", "1"))),
	       "@2 then [put] [delete deleted 3] [put]");
	EXPECT_STREAM(s, w, "@1 put c=1(1,1,1)", "@1 put a=1(1,1,1)", "@1 put b=1(1,1,1)",
	              "@2 put d=1(2,2,1)", "@2 delete a", "@2 delete b", "@2 delete c",
	              "@2 put e=1(2,2,1)");
	late = kit_watch(s, &WATCH(RANGE("b", "e"), .from_revision = 1));
	EXPECT_STREAM(s, late, "@1 put c=1(1,1,1)", "@1 put b=1(1,1,1)",
	              "@2 put d=1(2,2,1)", "@2 delete b", "@2 delete c");
	kit_close(s);
}

/* More revisions than a server reads at once for a watch that is behind. */
T_CASE(watch_a_long_past)
{
	enum { REVISIONS = 2500 };
	struct subject *s = kit_open();
	struct kv_req put = PUT("a", "some value");
	struct stream *w;

	for (int i = 0; i < REVISIONS; i++)
		T_EQ(subject_call(s, &put)->code, PL_OK);
	w = kit_watch(s, &WATCH(ONE("a"), .from_revision = 1));
	subject_catch_up(s, w);
	T_EQ(w->line_count, REVISIONS);
	T_STR(w->lines[REVISIONS - 1], "@2500 put a=\"some value\"(1,2500,2500)");
	T_STR(w->fault, "");
	kit_close(s);
}

T_CASE(watch_many)
{
	enum { WATCHES = 200 };
	struct subject *s = kit_open();
	struct stream *w[WATCHES];

	for (int i = 0; i < WATCHES; i++)
		w[i] = subject_watch(s, i % 2 == 0 ? &WATCH(ONE("a")) : &WATCH(ONE("b")));
	for (int i = 0; i < WATCHES; i++)
		subject_wait_ready(s, w[i]);
	EXPECT(s, PUT("a", "1"), "@1");
	for (int i = 0; i < WATCHES; i += 3)
		subject_unwatch(s, w[i]);
	EXPECT(s, PUT("b", "1"), "@2");
	for (int i = 0; i < WATCHES; i++) {
		if (i % 3 == 0)
			T_STR(w[i]->lines[w[i]->line_count - 1], "end CANCELED");
		else if (i % 2 == 0)
			EXPECT_STREAM(s, w[i], "@1 put a=1(1,1,1)");
		else
			EXPECT_STREAM(s, w[i], "@2 put b=1(2,2,1)");
	}
	kit_close(s);
}

/* Opened and closed at once, and while it is being made. */
T_CASE(watch_canceled)
{
	struct subject *s = kit_open();
	struct stream *w = kit_watch(s, &WATCH(ALL));

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT_STREAM(s, w, "@1 put a=1(1,1,1)");
	subject_unwatch(s, w);
	EXPECT_STREAM(s, w, "end CANCELED");
	EXPECT(s, PUT("a", "2"), "@2");
	w = subject_watch(s, &WATCH(ALL, .from_revision = 1));
	subject_unwatch(s, w);
	EXPECT_STREAM(s, w, "end CANCELED");
	w = kit_watch(s, &WATCH(ALL, .from_revision = 2));
	EXPECT_STREAM(s, w, "@2 put a=2(1,2,2)");
	kit_close(s);
}

T_CASE(watch_progress)
{
	struct subject *s = kit_open();
	struct stream *busy = kit_watch(s, &WATCH(ONE("a")));
	struct stream *idle = kit_watch(s, &WATCH(ONE("b"))), *late;
	int64_t base = subject_names(s)->base;

	subject_catch_up(s, idle);
	T_TRUE(idle->progress_revision >= base);
	for (int i = 0; i < 20; i++) {
		struct kv_req put = PUT("a", "1");

		T_EQ(subject_call(s, &put)->code, PL_OK);
		/* Not before everything up to it has come, which fault would say. */
		subject_catch_up(s, busy);
		subject_catch_up(s, idle);
		T_TRUE(busy->progress_revision >= base + i + 1);
		T_TRUE(idle->progress_revision >= base + i + 1);
		T_EQ(busy->line_count, i + 1);
	}
	late = kit_watch(s, &WATCH(ALL, .from_revision = 1));
	subject_catch_up(s, late);
	T_EQ(late->line_count, 20);
	T_EQ(idle->line_count, 0);
	T_STR(busy->fault, "");
	T_STR(idle->fault, "");
	T_STR(late->fault, "");
	kit_close(s);
}

T_CASE(watch_compacted)
{
	struct subject *s = kit_open();
	struct stream *old = kit_watch(s, &WATCH(ALL, .from_revision = 1)), *w;

	for (int i = 0; i < 4; i++) {
		struct kv_req put = PUT("a", "1");

		T_EQ(subject_call(s, &put)->code, PL_OK);
	}
	EXPECT_STREAM(s, old, "@1 put a=1(1,1,1)", "@2 put a=1(1,2,2)",
	              "@3 put a=1(1,3,3)", "@4 put a=1(1,4,4)");
	EXPECT(s, COMPACT(3), "@4");
	w = kit_watch(s, &WATCH(ALL, .from_revision = 2));
	EXPECT_STREAM(s, w, "end COMPACTED @3");
	w = kit_watch(s, &WATCH(ONE("other"), .from_revision = 1));
	EXPECT_STREAM(s, w, "end COMPACTED @3");
	/* The revision that was compacted can still be read, and watched from. */
	w = kit_watch(s, &WATCH(ALL, .from_revision = 3, .want_prev = true));
	EXPECT_STREAM(s, w, "@3 put a=1(1,3,3)", "@4 put a=1(1,4,4) prev a=1(1,3,3)");
	/* A compaction does not end a watch that is up to date. */
	EXPECT(s, PUT("a", "5"), "@5");
	EXPECT(s, COMPACT(5), "@5");
	EXPECT(s, PUT("a", "6"), "@6");
	EXPECT_STREAM(s, old, "@5 put a=5(1,5,5)", "@6 put a=6(1,6,6)");
	kit_close(s);
}

/* Deletions that were compacted are gone, even from the revision itself. */
T_CASE(watch_from_the_compacted_revision_after_a_delete)
{
	struct subject *s = kit_open();
	struct stream *w;

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, TXN(THEN(PUT("b", "1"), DELETE(ONE("a")))),
	       "@2 then [put] [delete deleted 1]");
	EXPECT(s, PUT("a", "2"), "@3");
	EXPECT(s, COMPACT(2), "@3");
	w = kit_watch(s, &WATCH(ALL, .from_revision = 2));
	EXPECT_STREAM(s, w, "@2 put b=1(2,2,1)", "@3 put a=2(3,3,1)");
	kit_close(s);
}

T_CASE(watch_from_the_future_outlives_a_compaction)
{
	struct subject *s = kit_open();
	struct stream *w;

	EXPECT(s, PUT("a", "1"), "@1");
	w = kit_watch(s, &WATCH(ALL, .from_revision = 3));
	EXPECT(s, COMPACT(1), "@1");
	EXPECT(s, PUT("a", "2"), "@2");
	EXPECT(s, PUT("a", "3"), "@3");
	EXPECT(s, COMPACT(3), "@3");
	EXPECT_STREAM(s, w, "@3 put a=3(1,3,3)");
	kit_close(s);
}
