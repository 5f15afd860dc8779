/* Every target by every relation, on a key, a range, and where there is none. */
#include <stdio.h>

#include "tests/conformance/kit.h"

static const char *const relation_names[] = {
	[KV_EQ] = "==", [KV_NE] = "!=", [KV_LT] = "<", [KV_GT] = ">"};

/* For each relation whether it holds with the numbers from first on, one a
 * character: '+' does, '-' does not. */
struct truth {
	const char *relation[4];
};

static void expect_numbers(struct subject *s, struct kv_keys keys, enum kv_target target,
                           int64_t first, const struct truth *truth)
{
	for (int relation = KV_EQ; relation <= KV_GT; relation++) {
		const char *want = truth->relation[relation];

		for (int64_t i = 0; want[i] != 0; i++) {
			struct kv_req req = TXN(IF(CMP(
				keys, target, (enum kv_relation)relation, first + i)));
			const struct answer *answer = subject_call(s, &req);

			if (answer->code != PL_OK ||
			    answer->result->txn.succeeded != (want[i] == '+'))
				t_fail(__FILE__, __LINE__, "target %d %s %d: %s, want %c",
				       (int)target, relation_names[relation],
				       (int)(first + i), answer->text, want[i]);
		}
	}
}

/* a: created 1, changed 4, 2nd version, lease 3. b: 2, 5, 2nd, lease 5. */
static struct subject *two_keys(void)
{
	struct subject *s = kit_open();

	EXPECT(s, GRANT(3, 60), "@0 L3 ttl 60");
	EXPECT(s, GRANT(5, 60), "@0 L5 ttl 60");
	EXPECT(s, PUT("a", "m"), "@1");
	EXPECT(s, PUT("b", "m"), "@2");
	EXPECT(s, PUT("c", "x"), "@3");
	EXPECT(s, PUT_WITH("a", "m", .lease = 3), "@4");
	EXPECT(s, PUT_WITH("b", "p", .lease = 5), "@5");
	return s;
}

T_CASE(compare_numbers_of_a_key)
{
	struct subject *s = two_keys();
	struct truth at_second = {{"-+-", "+-+", "--+", "+--"}};

	expect_numbers(s, ONE("a"), KV_VERSION, 1, &at_second);
	expect_numbers(s, ONE("a"), KV_CREATE_REV, 0, &at_second);
	expect_numbers(s, ONE("a"), KV_MOD_REV, 3, &at_second);
	expect_numbers(s, ONE("a"), KV_LEASE, 2, &at_second);
	expect_numbers(s, ONE("c"), KV_LEASE, 0,
	               &(struct truth){{"+-", "-+", "-+", "--"}});
	kit_close(s);
}

/* A compare of a range must hold for every key in it. */
T_CASE(compare_numbers_over_a_range)
{
	struct subject *s = two_keys();

	expect_numbers(s, RANGE("a", "c"), KV_VERSION, 1,
	               &(struct truth){{"-+-", "+-+", "--+", "+--"}});
	expect_numbers(s, RANGE("a", "c"), KV_CREATE_REV, 0,
	               &(struct truth){{"----", "+--+", "---+", "+---"}});
	expect_numbers(s, RANGE("a", "c"), KV_MOD_REV, 3,
	               &(struct truth){{"----", "+--+", "---+", "+---"}});
	expect_numbers(s, RANGE("a", "c"), KV_LEASE, 2,
	               &(struct truth){{"-----", "+-+-+", "----+", "+----"}});
	expect_numbers(s, PREFIX("a"), KV_MOD_REV, 3,
	               &(struct truth){{"-+-", "+-+", "--+", "+--"}});
	expect_numbers(s, FROM("b"), KV_MOD_REV, 2,
	               &(struct truth){{"-----", "+-+-+", "----+", "+----"}});
	expect_numbers(s, ALL, KV_VERSION, 0,
	               &(struct truth){{"----", "+--+", "---+", "+---"}});
	kit_close(s);
}

/* Where there is no key every number is zero. */
T_CASE(compare_numbers_of_a_missing_key)
{
	struct subject *s = two_keys();
	struct kv_keys nothing[] = {ONE("x"),        RANGE("x", "z"), PREFIX("x"),
	                            FROM("x"),       RANGE("c", "a"), RANGE("a", "a"),
	                            RANGE("a1", "b")};

	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
		struct truth at_second = {{"-+-", "+-+", "--+", "+--"}};

		expect_numbers(s, nothing[i], KV_VERSION, -1, &at_second);
		expect_numbers(s, nothing[i], KV_CREATE_REV, -1, &at_second);
		expect_numbers(s, nothing[i], KV_MOD_REV, -1, &at_second);
		expect_numbers(s, nothing[i], KV_LEASE, -1, &at_second);
	}
	kit_close(s);
}

static void expect_values(struct subject *s, struct kv_keys keys, const char *eq,
                          const char *ne, const char *lt, const char *gt)
{
	static const char *const values[] = {"", "a", "m", "m\x01", "p", "z"};
	const char *want[] = {[KV_EQ] = eq, [KV_NE] = ne, [KV_LT] = lt, [KV_GT] = gt};

	for (int relation = KV_EQ; relation <= KV_GT; relation++)
		for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
			struct kv_compare compare = {.keys = keys,
			                             .target = KV_VALUE,
			                             .relation =
			                                     (enum kv_relation)relation,
			                             .value = pl_span_str(values[i])};
			struct kv_req req = TXN(IF(compare));
			const struct answer *answer = subject_call(s, &req);

			if (answer->code != PL_OK ||
			    answer->result->txn.succeeded != (want[relation][i] == '+'))
				t_fail(__FILE__, __LINE__, "value %s '%s': %s, want %c",
				       relation_names[relation], values[i], answer->text,
				       want[relation][i]);
		}
}

T_CASE(compare_values)
{
	struct subject *s = two_keys();

	/*                              "" a m m. p z */
	expect_values(s, ONE("a"), "--+---", "++-+++", "---+++", "++----");
	expect_values(s, RANGE("a", "b"), "--+---", "++-+++", "---+++", "++----");
	expect_values(s, RANGE("a", "c"), "------", "++-+-+", "-----+", "++----");
	EXPECT(s, PUT("e", ""), "@6");
	expect_values(s, ONE("e"), "+-----", "-+++++", "-+++++", "------");
	kit_close(s);
}

/* A missing key has no value, not even an empty one. */
T_CASE(compare_values_of_a_missing_key)
{
	struct subject *s = two_keys();

	expect_values(s, ONE("x"), "------", "------", "------", "------");
	expect_values(s, RANGE("x", "z"), "------", "------", "------", "------");
	expect_values(s, PREFIX("x"), "------", "------", "------", "------");
	expect_values(s, RANGE("c", "a"), "------", "------", "------", "------");
	kit_close(s);
}

T_CASE(compare_values_of_any_bytes)
{
	struct subject *s = kit_open();

	EXPECT(s, PUT("a", "\x80\x00"), "@1");
	EXPECT(s, TXN(IF(CMP_VALUE(ONE("a"), KV_EQ, "\x80\x00"))), "@1 then");
	EXPECT(s, TXN(IF(CMP_VALUE(ONE("a"), KV_GT, "\x80"))), "@1 then");
	EXPECT(s, TXN(IF(CMP_VALUE(ONE("a"), KV_GT, "\x7f"))), "@1 then");
	EXPECT(s, TXN(IF(CMP_VALUE(ONE("a"), KV_LT, "\xff"))), "@1 then");
	kit_close(s);
}

T_CASE(compare_all_must_hold)
{
	struct subject *s = two_keys();

	EXPECT(s,
	       TXN(IF(CMP(ONE("a"), KV_MOD_REV, KV_EQ, 4),
	              CMP(ONE("b"), KV_MOD_REV, KV_EQ, 5),
	              CMP_VALUE(ONE("c"), KV_EQ, "x"))),
	       "@5 then");
	EXPECT(s,
	       TXN(IF(CMP(ONE("a"), KV_MOD_REV, KV_EQ, 4),
	              CMP(ONE("b"), KV_MOD_REV, KV_EQ, 4))),
	       "@5 else");
	EXPECT(s,
	       TXN(IF(CMP(ONE("a"), KV_MOD_REV, KV_GT, 3),
	              CMP(ONE("a"), KV_MOD_REV, KV_LT, 5))),
	       "@5 then");
	kit_close(s);
}

T_CASE(compare_needs_keys)
{
	struct subject *s = two_keys();

	EXPECT(s, TXN(IF(CMP(ONE(""), KV_VERSION, KV_EQ, 0))), "!INVALID");
	EXPECT(s, TXN(IF(CMP(RANGE("a", ""), KV_VERSION, KV_EQ, 0))), "!INVALID");
	EXPECT(s, TXN(IF(CMP(RANGE("", "\x00"), KV_VERSION, KV_EQ, 0))), "!INVALID");
	kit_close(s);
}
