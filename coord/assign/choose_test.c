/* The effect of choosing a salt, over many sets of ids. */
#include <math.h>
#include <stdio.h>

#include "coord/assign/assign.h"
#include "tests/harness/t.h"

enum { ONE = ASSIGN_WEIGHT_ONE, MANY = 40 };

struct members {
	struct assign *assign;
	unsigned set, count;
	uint32_t weight[MANY];
};

static struct pl_span name(unsigned set, unsigned i)
{
	static char text[64];

	(void)snprintf(text, sizeof text, "host%u.example.com-%u", set, i);
	return pl_span_str(text);
}

static uint32_t count_of(const struct members *members, unsigned i)
{
	return assign_count(members->assign, name(members->set, i));
}

static double share_of(const struct members *members, unsigned i)
{
	double total = 0;

	for (unsigned k = 0; k < members->count; k++)
		total += members->weight[k];
	return assign_partitions(members->assign) * members->weight[i] / total;
}

static void begin(struct members *members, unsigned set, uint32_t partitions)
{
	struct pl_err err;

	*members = (struct members){.set = set};
	T_OK(assign_new(partitions, &members->assign, &err), &err);
}

/* Returns the partitions that the member took. */
static uint32_t join(struct members *members, uint32_t weight)
{
	unsigned i = members->count++;
	uint32_t salt = assign_choose(members->assign, name(members->set, i), weight);
	struct pl_err err;

	members->weight[i] = weight;
	T_OK(assign_put_salted(members->assign, name(members->set, i), weight, salt,
	                       &err),
	     &err);
	return count_of(members, i);
}

/* The load of the fullest member over its share. */
static double worst(const struct members *members)
{
	double most = 0;

	for (unsigned i = 0; i < members->count; i++)
		most = fmax(most, count_of(members, i) / share_of(members, i));
	return most;
}

/* The ninth of 256 partitions may move 256/9 of them and a tenth more: 31. */
T_CASE(a_ninth_member_takes_its_share)
{
	double sum = 0;

	for (unsigned set = 0; set < 60; set++) {
		struct members members;
		uint32_t moved = 0;

		begin(&members, set, 256);
		for (unsigned i = 0; i < 9; i++)
			moved = join(&members, ONE);
		T_TRUE(moved >= 25 && moved <= 29);
		T_TRUE(worst(&members) < 1.2);
		sum += worst(&members);
		assign_free(members.assign);
	}
	T_TRUE(sum / 60 < 1.07);
}

T_CASE(joins_of_all_sizes)
{
	for (unsigned set = 0; set < 6; set++) {
		struct members members;

		begin(&members, set, set % 2 == 0 ? 64 : 1024);
		for (unsigned i = 0; i < 20; i++) {
			uint32_t moved = join(&members, ONE);

			T_TRUE(moved <= ceil(share_of(&members, i)));
			T_TRUE(moved + 2 >= share_of(&members, i) * 0.9);
		}
		assign_free(members.assign);
	}
}

/* Members come and go for a long time, and the shares stay even: a joining member
 * takes from the fullest. */
T_CASE(shares_stay_even_while_members_come_and_go)
{
	struct members members;
	double sum = 0;
	unsigned gone = 0;

	begin(&members, 1, 256);
	for (unsigned i = 0; i < 8; i++)
		join(&members, ONE);
	while (members.count < MANY) {
		assign_del(members.assign, name(members.set, gone));
		members.weight[gone++] = 0;
		T_TRUE(join(&members, ONE) <= 32);
		for (unsigned i = gone; i < members.count; i++)
			sum += fabs(count_of(&members, i) - 32.0);
	}
	T_TRUE(sum / (8 * 32) < 4);
	assign_free(members.assign);
}

T_CASE(weights)
{
	const uint32_t weights[] = {1000, 3000, 500, 1000, 2000, 500, 1000, 1500};

	for (unsigned set = 0; set < 10; set++) {
		struct members members;

		begin(&members, set, 512);
		for (unsigned i = 0; i < 8; i++) {
			uint32_t moved = join(&members, weights[i]);

			T_TRUE(moved <= ceil(share_of(&members, i)));
		}
		T_TRUE(worst(&members) < 1.25);
		assign_free(members.assign);
	}
}

/* A member that comes back to the same members makes the same choice, and choosing
 * changes nothing. */
T_CASE(the_same_members_lead_to_the_same_salt)
{
	struct members members;
	uint32_t salt;

	begin(&members, 3, 256);
	for (unsigned i = 0; i < 5; i++)
		join(&members, ONE);
	salt = assign_choose(members.assign, name(3, 9), ONE);
	T_EQ(assign_members(members.assign), 5);
	T_EQ(assign_choose(members.assign, name(3, 9), ONE), salt);
	assign_free(members.assign);
}
