#include "tests/conformance/kit.h"

#define NEVER CMP(ONE("no"), KV_VERSION, KV_GT, 0)
#define ALWAYS CMP(ONE("no"), KV_VERSION, KV_EQ, 0)

T_CASE(txn_without_operations)
{
	struct subject *s = kit_open();

	EXPECT(s, TXN(.compares = NULL), "@0 then");
	EXPECT(s, TXN(IF(ALWAYS)), "@0 then");
	EXPECT(s, TXN(IF(NEVER)), "@0 else");
	EXPECT(s, TXN(THEN(TXN(.compares = NULL))), "@0 then [txn then]");
	kit_close(s);
}

T_CASE(txn_takes_one_of_two_ways)
{
	struct subject *s = kit_open();

	EXPECT(s, TXN(IF(NEVER), THEN(PUT("a", "1")), ELSE(PUT("b", "1"))),
	       "@1 else [put]");
	EXPECT(s, TXN(IF(ALWAYS), THEN(PUT("c", "1")), ELSE(PUT("d", "1"))),
	       "@2 then [put]");
	/* The way not taken is nothing that happened. */
	EXPECT(s, TXN(IF(NEVER), THEN(PUT("e", "1"))), "@2 else");
	EXPECT(s, GET(ALL, .keys_only = true), "@2 2/2 b=(1,1,1) c=(2,2,1)");
	kit_close(s);
}

/* All of it is one revision, in which each operation sees those before it. */
T_CASE(txn_is_one_revision)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("b", "0"), "@1");
	EXPECT(s,
	       TXN(THEN(GET(ALL), PUT("a", "1"), GET(ALL), DELETE(ONE("b")), GET(ALL),
	                PUT("c", "2"), GET(ALL))),
	       "@2 then [get 1/1 b=0(1,1,1)] [put] [get 2/2 a=1(2,2,1) b=0(1,1,1)] "
	       "[delete deleted 1] [get 1/1 a=1(2,2,1)] [put] "
	       "[get 2/2 a=1(2,2,1) c=2(2,2,1)]");
	EXPECT(s, GET(ALL), "@2 2/2 a=1(2,2,1) c=2(2,2,1)");
	EXPECT(s, GET(ALL, .revision = 1), "@2 1/1 b=0(1,1,1)");
	kit_close(s);
}

T_CASE(txn_that_changes_nothing_makes_no_revision)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, TXN(THEN(DELETE(ONE("x")), GET(ONE("a")))),
	       "@1 then [delete deleted 0] [get 1/1 a=1(1,1,1)]");
	EXPECT(s, TXN(THEN(DELETE(ONE("x")), DELETE(ONE("a")))),
	       "@2 then [delete deleted 0] [delete deleted 1]");
	kit_close(s);
}

T_CASE(txn_gets)
{
	struct subject *s = kit_open();

	EXPECT(s, TXN(THEN(PUT("a", "1"), PUT("b", "2"), PUT("c", "3"))),
	       "@1 then [put] [put] [put]");
	EXPECT(s, PUT("a", "4"), "@2");
	EXPECT(s,
	       TXN(THEN(GET(ALL, .limit = 2), GET(ALL, .count_only = true),
	                GET(PREFIX("b"), .keys_only = true), GET(ONE("a"), .revision = 1),
	                GET(ONE("x")))),
	       "@2 then [get 2/3+ a=4(1,2,2) b=2(1,1,1)] [get 0/3] [get 1/1 b=(1,1,1)] "
	       "[get 1/1 a=1(1,1,1)] [get 0/0]");
	/* With writes before it: an old revision is still the old one. */
	EXPECT(s, TXN(THEN(PUT("a", "5"), GET(ONE("a"), .revision = 2), GET(ONE("a")))),
	       "@3 then [put] [get 1/1 a=4(1,2,2)] [get 1/1 a=5(1,3,3)]");
	kit_close(s);
}

T_CASE(txn_get_at_a_revision_that_is_not)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s, PUT("a", "2"), "@2");
	EXPECT(s, TXN(THEN(PUT("b", "1"), GET(ONE("a"), .revision = 3))), "!FUTURE");
	EXPECT(s, TXN(THEN(GET(ONE("a"), .revision = 3))), "!FUTURE");
	EXPECT(s, COMPACT(2), "@2");
	EXPECT(s, TXN(THEN(PUT("b", "1"), GET(ONE("a"), .revision = 1))), "!COMPACTED");
	EXPECT(s, TXN(THEN(GET(ONE("a"), .revision = 1))), "!COMPACTED");
	EXPECT(s, TXN(THEN(GET(ONE("a"), .revision = 2))),
	       "@2 then [get 1/1 a=2(1,2,2)]");
	/* Only the way that is taken is looked at. */
	EXPECT(s, TXN(THEN(PUT("b", "1")), ELSE(GET(ONE("a"), .revision = 9))),
	       "@3 then [put]");
	EXPECT(s, GET(ALL), "@3 2/2 a=2(1,2,2) b=1(3,3,1)");
	kit_close(s);
}

T_CASE(txn_prev)
{
	struct subject *s = kit_open();

	EXPECT(s, TXN(THEN(PUT("a", "1"), PUT("b", "2"))), "@1 then [put] [put]");
	EXPECT(s,
	       TXN(THEN(PUT_WITH("a", "3", .want_prev = true),
	                DELETE(PREFIX("b"), .want_prev = true),
	                PUT_WITH("c", "4", .want_prev = true))),
	       "@2 then [put prev a=1(1,1,1)] [delete deleted 1 prev b=2(1,1,1)] [put]");
	kit_close(s);
}

T_CASE(txn_leases_and_kept_values)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(1, 60), "@0 L1 ttl 60");
	EXPECT(s, TXN(THEN(PUT_WITH("a", "1", .lease = 1), PUT("b", "2"))),
	       "@1 then [put] [put]");
	EXPECT(s,
	       TXN(THEN(PUT_WITH("a", "3", .keep_lease = true),
	                PUT_WITH("b", "", .keep_value = true, .lease = 1))),
	       "@2 then [put] [put]");
	EXPECT(s, GET(ALL), "@2 2/2 a=3(1,2,2,L1) b=2(1,2,2,L1)");
	EXPECT(s, TTL_KEYS(1), "@2 L1 ttl 60 of 60 keys a b");
	/* One operation that cannot be: nothing happens at all. */
	EXPECT(s, TXN(THEN(PUT("c", "1"), PUT_WITH("d", "1", .lease = 7))), "!NOLEASE");
	EXPECT(s, TXN(THEN(PUT("c", "1"), PUT_WITH("d", "", .keep_value = true))),
	       "!NOTFOUND");
	EXPECT(s, TXN(THEN(PUT("c", "1"), PUT_WITH("d", "", .keep_lease = true))),
	       "!NOTFOUND");
	EXPECT(s, TXN(THEN(PUT("c", "1"), PUT_WITH("a", "x", .keep_value = true))),
	       "!INVALID");
	EXPECT(s, GET(ALL, .count_only = true), "@2 0/2");
	/* A lease that does not exist is no error in the branch that is not taken. */
	EXPECT(s, TXN(THEN(PUT("c", "1")), ELSE(PUT_WITH("d", "1", .lease = 7))),
	       "@3 then [put]");
	kit_close(s);
}

T_CASE(txn_refuses_a_key_put_twice)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "0"), "@1");
	EXPECT(s, TXN(THEN(PUT("a", "1"), PUT("a", "2"))), "!INVALID");
	EXPECT(s, TXN(ELSE(PUT("a", "1"), PUT("a", "1"))), "!INVALID");
	EXPECT(s, TXN(THEN(PUT("a", "1"), DELETE(ONE("a")))), "!INVALID");
	EXPECT(s, TXN(THEN(DELETE(ONE("a")), PUT("a", "1"))), "!INVALID");
	EXPECT(s, TXN(THEN(DELETE(PREFIX("a")), PUT("ab", "1"))), "!INVALID");
	EXPECT(s, TXN(THEN(DELETE(RANGE("a", "c")), PUT("b", "1"))), "!INVALID");
	EXPECT(s, TXN(THEN(PUT("a", "1"), TXN(THEN(PUT("a", "2"))))), "!INVALID");
	EXPECT(s, TXN(THEN(TXN(THEN(PUT("a", "1"))), TXN(THEN(PUT("a", "2"))))),
	       "!INVALID");
	EXPECT(s, TXN(THEN(TXN(THEN(DELETE(ONE("a")))), TXN(THEN(PUT("a", "2"))))),
	       "!INVALID");
	EXPECT(s, GET(ALL), "@1 1/1 a=0(1,1,1)");
	/* Ranges without keys meet nothing. */
	EXPECT(s, TXN(THEN(PUT("b", "1"), DELETE(RANGE("b", "b")))),
	       "@2 then [put] [delete deleted 0]");
	EXPECT(s, TXN(THEN(DELETE(RANGE("b", "a")), PUT("b", "2"))),
	       "@3 then [delete deleted 0] [put]");
	kit_close(s);
}

/* A server that sees such a transaction may never get up again. */
T_CASE(txn_refuses_a_put_behind_a_delete_without_an_end)
{
	struct subject *s = kit_open();

	EXPECT(s, TXN(THEN(PUT("b", "1"), PUT("c", "1"))), "@1 then [put] [put]");
	EXPECT(s, TXN(THEN(DELETE(FROM("b")), PUT("c", "2"))), "!INVALID");
	EXPECT(s, TXN(THEN(DELETE(ALL), PUT("c", "2"))), "!INVALID");
	EXPECT(s, TXN(THEN(DELETE(FROM("b")), PUT_WITH("c", "", .keep_value = true))),
	       "!INVALID");
	EXPECT(s, TXN(THEN(DELETE(FROM("c")), PUT("b", "2"))),
	       "@2 then [delete deleted 1] [put]");
	kit_close(s);
}

T_CASE(txn_allows_what_does_not_meet)
{
	struct subject *s = kit_open();

	EXPECT(s, TXN(THEN(PUT("a", "1"), PUT("b", "1"), PUT("c", "1"))),
	       "@1 then [put] [put] [put]");
	EXPECT(s, TXN(IF(NEVER), THEN(PUT("a", "2")), ELSE(PUT("a", "3"))),
	       "@2 else [put]");
	EXPECT(s, TXN(THEN(DELETE(ONE("a")), DELETE(PREFIX("a")), GET(ONE("a")))),
	       "@3 then [delete deleted 1] [delete deleted 0] [get 0/0]");
	EXPECT(s, TXN(THEN(TXN(IF(NEVER), THEN(PUT("b", "2")), ELSE(PUT("b", "3"))))),
	       "@4 then [txn else [put]]");
	kit_close(s);
}

/* The one way to touch a key twice in a revision. */
T_CASE(txn_puts_and_deletes_in_one_revision)
{
	struct subject *s = kit_open();
	struct stream *w = kit_watch(s, &WATCH(ALL, .want_prev = true));

	EXPECT(s, PUT("a", "0"), "@1");
	EXPECT(s,
	       TXN(THEN(TXN(THEN(PUT("a", "1"), PUT("b", "1"))),
	                TXN(THEN(DELETE(PREFIX(""), .want_prev = true))))),
	       "@2 then [txn then [put] [put]] [txn then [delete deleted 2 prev "
	       "a=1(1,2,2) b=1(2,2,1)]]");
	EXPECT(s, GET(ALL), "@2 0/0");
	EXPECT(s, PUT("b", "2"), "@3");
	EXPECT(s, GET(ALL), "@3 1/1 b=2(3,3,1)");
	/* The previous value is the one at the revision before. */
	EXPECT_STREAM(s, w, "@1 put a=0(1,1,1)", "@2 put a=1(1,2,2) prev a=0(1,1,1)",
	              "@2 put b=1(2,2,1)", "@2 delete a prev a=0(1,1,1)", "@2 delete b",
	              "@3 put b=2(3,3,1)");
	kit_close(s);
}

T_CASE(txn_inside_a_txn)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "1"), "@1");
	EXPECT(s,
	       TXN(IF(CMP_VALUE(ONE("a"), KV_EQ, "1")),
	           THEN(PUT("b", "1"),
	                TXN(IF(CMP(ONE("a"), KV_VERSION, KV_GT, 1)),
	                    THEN(PUT("c", "then")),
	                    ELSE(PUT("c", "else"),
	                         TXN(THEN(GET(ALL, .keys_only = true))))),
	                DELETE(ONE("a")))),
	       "@2 then [put] [txn else [put] [txn then [get 3/3 a=(1,1,1) b=(2,2,1) "
	       "c=(2,2,1)]]] [delete deleted 1]");
	EXPECT(s, GET(ALL), "@2 2/2 b=1(2,2,1) c=else(2,2,1)");
	kit_close(s);
}

/* Compares inside, too, are about what was there before. */
T_CASE(txn_compares_come_first)
{
	struct subject *s = kit_open();

	EXPECT(s,
	       TXN(THEN(PUT("a", "1"), TXN(IF(CMP(ONE("a"), KV_VERSION, KV_EQ, 0)),
	                                   THEN(GET(ONE("a"))), ELSE(PUT("b", "1"))))),
	       "@1 then [put] [txn then [get 1/1 a=1(1,1,1)]]");
	/* So a value cannot be kept that the transaction itself brings. */
	EXPECT(s,
	       TXN(THEN(TXN(THEN(PUT("x", "1"))),
	                TXN(THEN(DELETE(ONE("y")),
	                         PUT_WITH("z", "", .keep_value = true))))),
	       "!NOTFOUND");
	EXPECT(s, GET(ONE("x")), "@1 0/0");
	kit_close(s);
}

T_CASE(txn_as_compare_and_set)
{
	struct subject *s = kit_open();

	EXPECT(s,
	       TXN(IF(CMP(ONE("a"), KV_CREATE_REV, KV_EQ, 0)), THEN(PUT("a", "1")),
	           ELSE(GET(ONE("a")))),
	       "@1 then [put]");
	EXPECT(s,
	       TXN(IF(CMP(ONE("a"), KV_CREATE_REV, KV_EQ, 0)), THEN(PUT("a", "2")),
	           ELSE(GET(ONE("a")))),
	       "@1 else [get 1/1 a=1(1,1,1)]");
	EXPECT(s, TXN(IF(CMP(ONE("a"), KV_MOD_REV, KV_EQ, 1)), THEN(PUT("a", "3"))),
	       "@2 then [put]");
	EXPECT(s, TXN(IF(CMP(ONE("a"), KV_MOD_REV, KV_EQ, 1)), THEN(PUT("a", "4"))),
	       "@2 else");
	kit_close(s);
}

T_CASE(txn_takes_operations_on_keys_only)
{
	struct subject *s = kit_open();

	EXPECT(s, TXN(THEN(COMPACT(1))), "!INVALID");
	EXPECT(s, TXN(THEN(GRANT(1, 60))), "!INVALID");
	EXPECT(s, TXN(ELSE(STATUS)), "!INVALID");
	EXPECT(s, TXN(THEN(GET(ONE("")))), "!INVALID");
	EXPECT(s, TXN(ELSE(DELETE(ONE("")))), "!INVALID");
	EXPECT(s, TXN(THEN(TXN(THEN(DELETE(RANGE("a", "")))))), "!INVALID");
	kit_close(s);
}
