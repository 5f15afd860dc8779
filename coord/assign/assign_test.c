#include <math.h>
#include <stdio.h>

#include "coord/assign/assign.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"
#include "tests/harness/torture.h"

enum { ONE = ASSIGN_WEIGHT_ONE, PARTITIONS = 256, MEMBERS = 24 };

struct name {
	char at[32];
};

static struct name name(const char *set, unsigned i)
{
	struct name name;

	(void)snprintf(name.at, sizeof name.at, "%.16s-%u", set, i);
	return name;
}

static struct pl_span id(unsigned i)
{
	static struct name names[MEMBERS];

	T_TRUE(i < MEMBERS);
	names[i] = name("shard", i);
	return pl_span_str(names[i].at);
}

static struct assign *fresh_of(uint32_t partitions)
{
	struct assign *assign;
	struct pl_err err;

	T_OK(assign_new(partitions, &assign, &err), &err);
	return assign;
}

static void put(struct assign *assign, struct pl_span who, uint32_t weight, uint32_t salt)
{
	struct pl_err err;

	T_OK(assign_put_salted(assign, who, weight, salt, &err), &err);
}

/* Slots, members and their counts agree. */
static void check(const struct assign *assign)
{
	uint32_t total = 0;

	for (unsigned i = 0; i < MEMBERS; i++)
		total += assign_count(assign, id(i));
	T_EQ(total, assign_members(assign) == 0 ? 0 : assign_partitions(assign));
}

static void same(const struct assign *a, const struct assign *b)
{
	T_EQ(assign_members(a), assign_members(b));
	for (uint32_t p = 0; p < assign_partitions(a); p++)
		T_SPAN(assign_of(a, p), assign_of(b, p));
	for (unsigned i = 0; i < MEMBERS; i++)
		T_EQ(assign_count(a, id(i)), assign_count(b, id(i)));
}

T_CASE(without_members_there_is_no_owner)
{
	struct assign *assign = fresh_of(16);

	T_EQ(assign_partitions(assign), 16);
	T_EQ(assign_members(assign), 0);
	T_EQ(assign_of(assign, 15).len, 0);
	T_EQ(assign_choose(assign, id(0), ONE), 0);
	put(assign, id(0), ONE, 0);
	T_SPAN(assign_of(assign, 15), id(0));
	T_EQ(assign_count(assign, id(0)), 16);
	T_EQ(assign_count(assign, id(1)), 0);
	assign_del(assign, id(1));
	assign_del(assign, id(0));
	T_EQ(assign_of(assign, 15).len, 0);
	assign_free(assign);
	assign_free(NULL);
}

struct one {
	uint32_t weight; /* 0: not a member */
	uint32_t salt;
};

static struct assign *from_scratch(const struct one *members)
{
	struct assign *assign = fresh_of(PARTITIONS);

	for (unsigned i = MEMBERS; i-- > 0;)
		if (members[i].weight != 0)
			put(assign, id(i), members[i].weight, members[i].salt);
	return assign;
}

/* After changes in any order the assignment equals one that is made from scratch; so
 * does a copy. */
T_CASE(the_order_of_changes_does_not_matter)
{
	struct one members[MEMBERS] = {0};
	struct assign *assign = fresh_of(PARTITIONS), *fresh, *copy;
	struct pl_rng rng;
	struct pl_err err;

	pl_rng_init(&rng, t_seed());
	for (unsigned step = 0; step < 600; step++) {
		unsigned i = (unsigned)pl_rng_below(&rng, MEMBERS);

		if (pl_rng_chance(&rng, 1, 3)) {
			members[i].weight = 0;
			assign_del(assign, id(i));
		} else {
			members[i].weight = (uint32_t)pl_rng_between(&rng, 1, 3000);
			members[i].salt = (uint32_t)pl_rng_below(&rng, 3);
			put(assign, id(i), members[i].weight, members[i].salt);
		}
		check(assign);
		if (step % 4 != 0)
			continue;
		fresh = from_scratch(members);
		same(assign, fresh);
		T_OK(assign_copy(assign, &copy, &err), &err);
		same(assign, copy);
		assign_free(fresh);
		assign_free(assign);
		assign = copy;
	}
	assign_clear(assign);
	T_EQ(assign_members(assign), 0);
	check(assign);
	assign_free(assign);
}

/* A member that joins takes partitions only for itself, a member that leaves gives up
 * only its own. A weight that grows only brings partitions, one that falls only takes
 * them away. */
T_CASE(nothing_else_moves)
{
	struct assign *assign = fresh_of(PARTITIONS), *before;
	uint32_t salt[MEMBERS];
	struct pl_err err;

	for (unsigned i = 0; i < MEMBERS; i++) {
		T_OK(assign_copy(assign, &before, &err), &err);
		salt[i] = assign_choose(assign, id(i), ONE + 100 * i);
		put(assign, id(i), ONE + 100 * i, salt[i]);
		for (uint32_t p = 0; p < PARTITIONS; p++)
			T_TRUE(pl_span_eq(assign_of(assign, p), id(i)) ||
			       pl_span_eq(assign_of(assign, p), assign_of(before, p)));
		assign_free(before);
	}
	for (unsigned i = 0; i < MEMBERS; i++) {
		T_OK(assign_copy(assign, &before, &err), &err);
		if (i % 3 == 0)
			assign_del(assign, id(i));
		else
			put(assign, id(i), i % 3 == 1 ? ONE / 2 : ONE * 9, salt[i]);
		for (uint32_t p = 0; p < PARTITIONS; p++)
			T_TRUE(pl_span_eq(assign_of(i % 3 == 2 ? assign : before, p),
			                  id(i)) ||
			       pl_span_eq(assign_of(assign, p), assign_of(before, p)));
		assign_free(before);
	}
	assign_free(assign);
}

/* Without chosen salts the shares are binomial around those of the weights: the sum of
 * squares over 200 sets of 8 members is chi-square with 1,400 degrees of freedom,
 * which exceeds 1,600 once in 10,000 times. */
T_CASE(shares_follow_weights)
{
	const uint32_t weights[8] = {1000, 1000, 500, 2000, 250, 4000, 1000, 250};
	double chi = 0, total = 10000;

	for (unsigned set = 0; set < 200; set++) {
		struct assign *assign = fresh_of(1024);
		struct name set_name = name("set", set);

		for (unsigned i = 0; i < 8; i++) {
			struct name who = name(set_name.at, i);

			put(assign, pl_span_str(who.at), weights[i], 0);
		}
		for (unsigned i = 0; i < 8; i++) {
			struct name who = name(set_name.at, i);
			double want = 1024 * weights[i] / total;
			double got = assign_count(assign, pl_span_str(who.at));

			chi += (got - want) * (got - want) / want;
		}
		assign_free(assign);
	}
	T_TRUE(chi > 1210 && chi < 1600);
}

T_CASE(weights_and_marks)
{
	struct assign *assign = fresh_of(4);

	T_EQ(assign_weight(ONE, 1250), 1250);
	T_EQ(assign_weight(1, 1), 1);
	T_EQ(assign_weight(3, 500), 1);
	T_EQ(assign_weight(ASSIGN_WEIGHT_MAX, 1000000), ASSIGN_WEIGHT_MAX);
	put(assign, id(1), ONE, 0);
	T_EQ(assign_mark_of(assign, 3), 0);
	assign_mark(assign, id(1), 42);
	T_EQ(assign_mark_of(assign, 3), 42);
	assign_free(assign);
}

T_CASE(smallest_and_largest_weights)
{
	struct assign *assign = fresh_of(ASSIGN_PARTITIONS_MAX);

	put(assign, id(0), 1, UINT32_MAX);
	put(assign, id(1), ASSIGN_WEIGHT_MAX, UINT32_MAX);
	T_TRUE(assign_count(assign, id(1)) >= ASSIGN_PARTITIONS_MAX - 2);
	put(assign, id(0), ASSIGN_WEIGHT_MAX, 0);
	T_NEAR(assign_count(assign, id(0)), ASSIGN_PARTITIONS_MAX / 2.0, 200);
	put(assign, id(0), 1, 0);
	put(assign, id(1), 1, 0);
	T_NEAR(assign_count(assign, id(0)), ASSIGN_PARTITIONS_MAX / 2.0, 200);
	assign_free(assign);
}

T_CASE(too_many)
{
	struct assign *assign = fresh_of(1);
	struct pl_err err;

	for (unsigned i = 0; i < ASSIGN_MEMBERS_MAX; i++)
		put(assign, pl_span_str(name("m", i).at), ONE, 0);
	T_CODE(assign_put(assign, PL_SPAN_LIT("one more"), ONE, &err), PL_LIMIT, &err);
	T_OK(assign_put(assign, PL_SPAN_LIT("m-7"), 2 * ONE, &err), &err);
	assign_free(assign);
}

static enum pl_code build(void)
{
	struct assign *assign, *copy = NULL;
	struct pl_err err;
	enum pl_code code = assign_new(8, &assign, &err);

	if (code != PL_OK)
		return code;
	for (unsigned i = 0; code == PL_OK && i < 3; i++)
		code = assign_put(assign, id(i), ONE, &err);
	check(assign);
	if (code == PL_OK)
		code = assign_copy(assign, &copy, &err);
	assign_free(copy);
	assign_free(assign);
	return code;
}

T_CASE(no_memory)
{
	t_torture(build, false);
}
