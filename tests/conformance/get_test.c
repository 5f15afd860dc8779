#include "tests/conformance/kit.h"

/* a at 1, b at 2 and 4, c at 3, bb at 5 */
static struct subject *some_keys(void)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT("b", "2"), "@2");
	EXPECT(s, PUT("c", "3"), "@3");
	EXPECT(s, PUT("b", "4"), "@4");
	EXPECT(s, PUT("bb", "5"), "@5");
	return s;
}

T_CASE(get_from_an_empty_store)
{
	struct subject *s = kit_open();

	EXPECT(s, GET(ONE("a")), "@0 0/0");
	EXPECT(s, GET(ALL), "@0 0/0");
	EXPECT(s, GET(FROM("")), "@0 0/0");
	kit_close(s);
}

T_CASE(get_one)
{
	struct subject *s = some_keys();

	EXPECT(s, GET(ONE("a")), "@5 1/1 a=1(1,1,1)");
	EXPECT(s, GET(ONE("b")), "@5 1/1 b=4(2,4,2)");
	EXPECT(s, GET(ONE("d")), "@5 0/0");
	EXPECT(s, GET(ONE("")), "!INVALID");
	kit_close(s);
}

T_CASE(get_range)
{
	struct subject *s = some_keys();

	EXPECT(s, GET(RANGE("a", "c")), "@5 3/3 a=1(1,1,1) b=4(2,4,2) bb=5(5,5,1)");
	EXPECT(s, GET(RANGE("a", "b")), "@5 1/1 a=1(1,1,1)");
	EXPECT(s, GET(RANGE("b", "b\x00")), "@5 1/1 b=4(2,4,2)");
	EXPECT(s, GET(RANGE("", "b")), "@5 1/1 a=1(1,1,1)");
	EXPECT(s, GET(RANGE("bz", "c")), "@5 0/0");
	/* Empty and backwards: no keys, and no error. */
	EXPECT(s, GET(RANGE("b", "b")), "@5 0/0");
	EXPECT(s, GET(RANGE("c", "a")), "@5 0/0");
	kit_close(s);
}

/* On the wire these ends would mean "one key" and "everything from here". */
T_CASE(get_range_needs_an_end)
{
	struct subject *s = some_keys();

	EXPECT(s, GET(RANGE("a", "")), "!INVALID");
	EXPECT(s, GET(RANGE("", "\x00")), "!INVALID");
	kit_close(s);
}

T_CASE(get_prefix_and_from)
{
	struct subject *s = some_keys();

	EXPECT(s, GET(PREFIX("b")), "@5 2/2 b=4(2,4,2) bb=5(5,5,1)");
	EXPECT(s, GET(PREFIX("bb")), "@5 1/1 bb=5(5,5,1)");
	EXPECT(s, GET(PREFIX("x")), "@5 0/0");
	EXPECT(s, GET(FROM("bb")), "@5 2/2 bb=5(5,5,1) c=3(3,3,1)");
	EXPECT(s, GET(FROM("c\x00")), "@5 0/0");
	EXPECT(s, GET(FROM(""), .count_only = true), "@5 0/4");
	EXPECT(s, GET(ALL, .count_only = true), "@5 0/4");
	kit_close(s);
}

T_CASE(get_keys_of_any_bytes)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("\x00", "zero"), "@1");
	EXPECT(s, PUT("\x00\x00", "zeros"), "@2");
	EXPECT(s, PUT("\xff", "ff"), "@3");
	EXPECT(s, PUT("\xff\xff", "ffff"), "@4");
	EXPECT(s, PUT("\xff\x01", "ff01"), "@5");
	EXPECT(s, PUT("a\xff", "\x00\xff"), "@6");
	EXPECT(s, PUT("a\xff\x00", "2"), "@7");
	EXPECT(s, GET(ONE("\x00")), "@7 1/1 \"\\x00\"=zero(1,1,1)");
	EXPECT(s, GET(PREFIX("\x00"), .keys_only = true),
	       "@7 2/2 \"\\x00\"=(1,1,1) \"\\x00\\x00\"=(2,2,1)");
	EXPECT(s, GET(PREFIX("\xff"), .keys_only = true),
	       "@7 3/3 \"\\xff\"=(3,3,1) \"\\xff\\x01\"=(5,5,1) \"\\xff\\xff\"=(4,4,1)");
	EXPECT(s, GET(PREFIX("\xff\xff"), .keys_only = true),
	       "@7 1/1 \"\\xff\\xff\"=(4,4,1)");
	EXPECT(s, GET(PREFIX("a\xff")),
	       "@7 2/2 \"a\\xff\"=\"\\x00\\xff\"(6,6,1) \"a\\xff\\x00\"=2(7,7,1)");
	EXPECT(s, GET(FROM("\x00\x00"), .limit = 1, .keys_only = true),
	       "@7 1/6+ \"\\x00\\x00\"=(2,2,1)");
	EXPECT(s, GET(RANGE("\x00", "\x00\x00"), .keys_only = true),
	       "@7 1/1 \"\\x00\"=(1,1,1)");
	kit_close(s);
}

T_CASE(get_limit_says_what_is_left)
{
	struct subject *s = some_keys();

	EXPECT(s, GET(ALL, .limit = 1), "@5 1/4+ a=1(1,1,1)");
	EXPECT(s, GET(ALL, .limit = 3), "@5 3/4+ a=1(1,1,1) b=4(2,4,2) bb=5(5,5,1)");
	EXPECT(s, GET(ALL, .limit = 4),
	       "@5 4/4 a=1(1,1,1) b=4(2,4,2) bb=5(5,5,1) c=3(3,3,1)");
	EXPECT(s, GET(ALL, .limit = 5, .keys_only = true),
	       "@5 4/4 a=(1,1,1) b=(2,4,2) bb=(5,5,1) c=(3,3,1)");
	EXPECT(s, GET(ONE("a"), .limit = 1), "@5 1/1 a=1(1,1,1)");
	EXPECT(s, GET(ALL, .limit = -1), "!INVALID");
	kit_close(s);
}

/* Pages of one revision, the next from behind the last key: writes in between
 * are not seen. */
T_CASE(get_pages_at_one_revision)
{
	struct subject *s = some_keys();

	EXPECT(s, GET(RANGE("a", "z"), .limit = 2), "@5 2/4+ a=1(1,1,1) b=4(2,4,2)");
	EXPECT(s, PUT("b1", "new"), "@6");
	EXPECT(s, DELETE(ONE("c")), "@7 deleted 1");
	EXPECT(s, GET(RANGE("b\x00", "z"), .limit = 2, .revision = 5),
	       "@7 2/2 bb=5(5,5,1) c=3(3,3,1)");
	EXPECT(s, GET(RANGE("c\x00", "z"), .limit = 2, .revision = 5), "@7 0/0");
	EXPECT(s, GET(RANGE("z\x00", "z"), .limit = 2, .revision = 5), "@7 0/0");
	kit_close(s);
}

T_CASE(get_at_every_revision)
{
	struct subject *s = some_keys();

	EXPECT(s, DELETE(PREFIX("b")), "@6 deleted 2");
	EXPECT(s, PUT("b", "7"), "@7");
	EXPECT(s, GET(ALL, .revision = 1), "@7 1/1 a=1(1,1,1)");
	EXPECT(s, GET(ALL, .revision = 2), "@7 2/2 a=1(1,1,1) b=2(2,2,1)");
	EXPECT(s, GET(ALL, .revision = 3), "@7 3/3 a=1(1,1,1) b=2(2,2,1) c=3(3,3,1)");
	EXPECT(s, GET(ALL, .revision = 4), "@7 3/3 a=1(1,1,1) b=4(2,4,2) c=3(3,3,1)");
	EXPECT(s, GET(ALL, .revision = 5, .limit = 3),
	       "@7 3/4+ a=1(1,1,1) b=4(2,4,2) bb=5(5,5,1)");
	EXPECT(s, GET(ALL, .revision = 6), "@7 2/2 a=1(1,1,1) c=3(3,3,1)");
	/* Born again: a new creation, counted from one. */
	EXPECT(s, GET(ALL, .revision = 7), "@7 3/3 a=1(1,1,1) b=7(7,7,1) c=3(3,3,1)");
	EXPECT(s, GET(ONE("b"), .revision = 4), "@7 1/1 b=4(2,4,2)");
	EXPECT(s, GET(ALL, .revision = 8), "!FUTURE");
	EXPECT(s, GET(ALL, .revision = 1000), "!FUTURE");
	EXPECT(s, GET(ALL, .revision = -1), "!COMPACTED");
	kit_close(s);
}

T_CASE(get_keys_only_and_count_only)
{
	struct subject *s = some_keys();

	EXPECT(s, GET(RANGE("b", "c"), .keys_only = true), "@5 2/2 b=(2,4,2) bb=(5,5,1)");
	EXPECT(s, GET(RANGE("b", "c"), .count_only = true), "@5 0/2");
	EXPECT(s, GET(ALL, .count_only = true, .limit = 1), "@5 0/4");
	EXPECT(s, GET(ALL, .count_only = true, .revision = 2), "@5 0/2");
	EXPECT(s, GET(ALL, .count_only = true, .keys_only = true), "@5 0/4");
	EXPECT(s, GET(ONE("a"), .count_only = true), "@5 0/1");
	EXPECT(s, GET(ONE("x"), .count_only = true), "@5 0/0");
	kit_close(s);
}

/* One member alone answers: with one member, the same. */
T_CASE(get_serializable)
{
	struct subject *s = some_keys();

	EXPECT(s, GET(ONE("b"), .serializable = true), "@5 1/1 b=4(2,4,2)");
	EXPECT(s, GET(ALL, .serializable = true, .revision = 9), "!FUTURE");
	kit_close(s);
}
