#include "tests/conformance/kit.h"

static struct subject *some_keys(void)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT("b", "2"), "@2");
	EXPECT(s, PUT("b/c", "3"), "@3");
	EXPECT(s, PUT("b/d", "4"), "@4");
	EXPECT(s, PUT("c", "5"), "@5");
	return s;
}

T_CASE(delete_one)
{
	struct subject *s = some_keys();

	EXPECT(s, DELETE(ONE("b")), "@6 deleted 1");
	EXPECT(s, GET(ONE("b")), "@6 0/0");
	EXPECT(s, GET(ONE("b/c")), "@6 1/1 b/c=3(3,3,1)");
	/* Nothing to delete is no change, and makes no revision. */
	EXPECT(s, DELETE(ONE("b")), "@6 deleted 0");
	EXPECT(s, DELETE(ONE("never"), .want_prev = true), "@6 deleted 0");
	EXPECT(s, DELETE(ONE("")), "!INVALID");
	kit_close(s);
}

T_CASE(delete_many_in_one_revision)
{
	struct subject *s = some_keys();

	EXPECT(s, DELETE(PREFIX("b/")), "@6 deleted 2");
	EXPECT(s, GET(ALL, .keys_only = true), "@6 3/3 a=(1,1,1) b=(2,2,1) c=(5,5,1)");
	EXPECT(s, DELETE(RANGE("a", "c")), "@7 deleted 2");
	EXPECT(s, GET(ALL, .keys_only = true), "@7 1/1 c=(5,5,1)");
	EXPECT(s, PUT("d", "1"), "@8");
	EXPECT(s, DELETE(FROM("c")), "@9 deleted 2");
	EXPECT(s, DELETE(ALL), "@9 deleted 0");
	EXPECT(s, GET(ALL, .keys_only = true, .revision = 6),
	       "@9 3/3 a=(1,1,1) b=(2,2,1) c=(5,5,1)");
	kit_close(s);
}

T_CASE(delete_gives_what_was_there)
{
	struct subject *s = some_keys();

	EXPECT(s, DELETE(ONE("a"), .want_prev = true), "@6 deleted 1 prev a=1(1,1,1)");
	EXPECT(s, DELETE(PREFIX("b"), .want_prev = true),
	       "@7 deleted 3 prev b=2(2,2,1) b/c=3(3,3,1) b/d=4(4,4,1)");
	EXPECT(s, DELETE(PREFIX("b"), .want_prev = true), "@7 deleted 0");
	kit_close(s);
}

T_CASE(delete_of_empty_and_reversed_ranges)
{
	struct subject *s = some_keys();

	EXPECT(s, DELETE(RANGE("c", "a")), "@5 deleted 0");
	EXPECT(s, DELETE(RANGE("b", "b")), "@5 deleted 0");
	EXPECT(s, DELETE(RANGE("a", "")), "!INVALID");
	EXPECT(s, DELETE(RANGE("a", "\x00")), "!INVALID");
	EXPECT(s, DELETE(RANGE("", "b")), "@6 deleted 1");
	EXPECT(s, DELETE(FROM("")), "@7 deleted 4");
	kit_close(s);
}

T_CASE(delete_takes_keys_off_their_lease)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, PUT_WITH("a", "1", .lease = 1), "@1");
	EXPECT(s, PUT_WITH("b", "1", .lease = 1), "@2");
	EXPECT(s, DELETE(ONE("a"), .want_prev = true), "@3 deleted 1 prev a=1(1,1,1,L1)");
	EXPECT(s, TTL_KEYS(1), "@3 L1 ttl 60 of 60 keys b");
	EXPECT(s, PUT("a", "2"), "@4");
	EXPECT(s, REVOKE(1), "@5 L1");
	EXPECT(s, GET(ALL), "@5 1/1 a=2(4,4,1)");
	kit_close(s);
}
