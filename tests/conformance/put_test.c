#include "tests/conformance/kit.h"

T_CASE(put_counts_revisions_and_versions)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT("a", "1"), "@2");
	EXPECT(s, PUT("b", ""), "@3");
	EXPECT(s, GET(ALL), "@3 2/2 a=1(1,2,2) b=(3,3,1)");
	EXPECT(s, DELETE(ONE("a")), "@4 deleted 1");
	EXPECT(s, PUT("a", "2"), "@5");
	EXPECT(s, GET(ONE("a")), "@5 1/1 a=2(5,5,1)");
	kit_close(s);
}

T_CASE(put_gives_what_was_there)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT_WITH("a", "1", .want_prev = true), "@1");
	EXPECT(s, PUT_WITH("a", "2", .want_prev = true), "@2 prev a=1(1,1,1)");
	EXPECT(s, PUT("a", "3"), "@3");
	EXPECT(s, PUT_WITH("a", "", .want_prev = true), "@4 prev a=3(1,3,3)");
	EXPECT(s, PUT_WITH("a", "5", .want_prev = true), "@5 prev a=(1,4,4)");
	EXPECT(s, DELETE(ONE("a")), "@6 deleted 1");
	EXPECT(s, PUT_WITH("a", "7", .want_prev = true), "@7");
	kit_close(s);
}

T_CASE(put_with_a_lease)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, PUT_WITH("a", "1", .lease = 1), "@1");
	EXPECT(s, GET(ONE("a")), "@1 1/1 a=1(1,1,1,L1)");
	/* A put without a lease takes the key off it. */
	EXPECT(s, PUT_WITH("a", "2", .want_prev = true), "@2 prev a=1(1,1,1,L1)");
	EXPECT(s, GET(ONE("a")), "@2 1/1 a=2(1,2,2)");
	EXPECT(s, TTL_KEYS(1), "@2 L1 ttl 60 of 60");
	EXPECT(s, PUT_WITH("a", "3", .lease = 9), "!NOLEASE");
	EXPECT(s, GET(ONE("a")), "@2 1/1 a=2(1,2,2)");
	kit_close(s);
}

T_CASE(put_keeps_the_value)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, PUT_WITH("a", "", .keep_value = true), "!NOTFOUND");
	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT_WITH("a", "", .keep_value = true, .lease = 1), "@2");
	EXPECT(s, GET(ONE("a")), "@2 1/1 a=1(1,2,2,L1)");
	EXPECT(s, PUT_WITH("a", "", .keep_value = true, .want_prev = true),
	       "@3 prev a=1(1,2,2,L1)");
	EXPECT(s, GET(ONE("a")), "@3 1/1 a=1(1,3,3)");
	EXPECT(s, PUT_WITH("a", "x", .keep_value = true), "!INVALID");
	EXPECT(s, DELETE(ONE("a")), "@4 deleted 1");
	EXPECT(s, PUT_WITH("a", "", .keep_value = true), "!NOTFOUND");
	/* The lease is looked at first. */
	EXPECT(s, PUT_WITH("a", "", .keep_value = true, .lease = 9), "!NOLEASE");
	kit_close(s);
}

T_CASE(put_keeps_the_lease)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, PUT_WITH("a", "1", .keep_lease = true), "!NOTFOUND");
	EXPECT(s, PUT_WITH("a", "1", .lease = 1), "@1");
	EXPECT(s, PUT_WITH("a", "2", .keep_lease = true), "@2");
	EXPECT(s, GET(ONE("a")), "@2 1/1 a=2(1,2,2,L1)");
	EXPECT(s, TTL_KEYS(1), "@2 L1 ttl 60 of 60 keys a");
	EXPECT(s, PUT_WITH("a", "3", .keep_lease = true, .lease = 1), "!INVALID");
	EXPECT(s, PUT_WITH("a", "", .keep_lease = true, .keep_value = true), "@3");
	EXPECT(s, GET(ONE("a")), "@3 1/1 a=2(1,3,3,L1)");
	EXPECT(s, PUT("b", "1"), "@4");
	EXPECT(s, PUT_WITH("b", "2", .keep_lease = true), "@5");
	EXPECT(s, GET(ONE("b")), "@5 1/1 b=2(4,5,2)");
	kit_close(s);
}

T_CASE(put_needs_a_key)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("", "1"), "!INVALID");
	EXPECT(s, TXN(THEN(PUT("a", "1"), PUT("", "1"))), "!INVALID");
	EXPECT(s, GET(ALL), "@0 0/0");
	kit_close(s);
}
