#include "tests/conformance/kit.h"

T_CASE(compact_forgets_what_was_before)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT("b", "1"), "@2");
	EXPECT(s, PUT("a", "2"), "@3");
	EXPECT(s, PUT("a", "3"), "@4");
	EXPECT(s, DELETE(ONE("b")), "@5 deleted 1");
	EXPECT(s, COMPACT(3), "@5");
	EXPECT(s, GET(ALL, .revision = 2), "!COMPACTED");
	EXPECT(s, GET(ONE("x"), .revision = 1), "!COMPACTED");
	EXPECT(s, GET(ALL, .revision = 2, .count_only = true), "!COMPACTED");
	EXPECT(s, GET(ALL, .revision = 3), "@5 2/2 a=2(1,3,2) b=1(2,2,1)");
	EXPECT(s, GET(ALL, .revision = 4), "@5 2/2 a=3(1,4,3) b=1(2,2,1)");
	EXPECT(s, COMPACT(5), "@5");
	EXPECT(s, GET(ALL, .revision = 4), "!COMPACTED");
	EXPECT(s, GET(ALL, .revision = 5), "@5 1/1 a=3(1,4,3)");
	EXPECT(s, GET(ALL), "@5 1/1 a=3(1,4,3)");
	kit_close(s);
}

T_CASE(compact_refuses_the_past_and_the_future)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT("a", "2"), "@2");
	EXPECT(s, COMPACT(3), "!FUTURE");
	EXPECT(s, COMPACT(2), "@2");
	EXPECT(s, COMPACT(2), "!COMPACTED");
	EXPECT(s, COMPACT(1), "!COMPACTED");
	EXPECT(s, COMPACT(0), "!COMPACTED"); /* the reset itself */
	EXPECT(s, COMPACT(1000), "!FUTURE");
	EXPECT(s, GET(ALL), "@2 1/1 a=2(1,2,2)");
	kit_close(s);
}

/* Revisions and versions go on as if nothing had been forgotten. */
T_CASE(compact_changes_no_key)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT("a", "2"), "@2");
	EXPECT(s, PUT("b", "1"), "@3");
	EXPECT(s, DELETE(ONE("b")), "@4 deleted 1");
	EXPECT(s, COMPACT(4), "@4");
	EXPECT(s, PUT_WITH("a", "3", .want_prev = true), "@5 prev a=2(1,2,2)");
	EXPECT(s, PUT_WITH("b", "2", .want_prev = true), "@6");
	EXPECT(s, GET(ALL), "@6 2/2 a=3(1,5,3) b=2(6,6,1)");
	EXPECT(s, GET(ALL, .revision = 5), "@6 1/1 a=3(1,5,3)");
	EXPECT(s, TXN(IF(CMP(ONE("a"), KV_VERSION, KV_EQ, 3))), "@6 then");
	kit_close(s);
}

T_CASE(compact_without_waiting)
{
	struct subject *s = kit_open();
	struct kv_req logical = {.op = KV_COMPACT, .compact = {.revision = 1}};

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT("a", "2"), "@2");
	EXPECT(s, logical, "@2");
	EXPECT(s, logical, "!COMPACTED");
	EXPECT(s, GET(ALL, .revision = -1), "!COMPACTED");
	EXPECT(s, GET(ALL, .revision = 1), "@2 1/1 a=1(1,1,1)");
	kit_close(s);
}

/* The put and the delete of one revision: neither is left of it. */
T_CASE(compact_a_revision_that_put_and_deleted)
{
	struct subject *s = kit_open();

	EXPECT(s, TXN(THEN(TXN(THEN(PUT("a", "1"))), TXN(THEN(DELETE(ONE("a")))))),
	       "@1 then [txn then [put]] [txn then [delete deleted 1]]");
	EXPECT(s, PUT("b", "1"), "@2");
	EXPECT(s, COMPACT(1), "@2");
	EXPECT(s, GET(ALL, .revision = 1), "@2 0/0");
	EXPECT(s, GET(ALL), "@2 1/1 b=1(2,2,1)");
	EXPECT(s, PUT("a", "2"), "@3");
	EXPECT(s, GET(ONE("a")), "@3 1/1 a=2(3,3,1)");
	kit_close(s);
}
