/* The effect of choosing a salt, over many sets of ids. */
#include <math.h>
#include <stdio.h>

#include "coord/assign/assign.h"
#include "tests/harness/t.h"

enum { ONE = ASSIGN_WEIGHT_ONE, MANY = 40 };

struct crowd {
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

static uint32_t count_of(const struct crowd *crowd, unsigned i)
{
	return assign_count(crowd->assign, name(crowd->set, i));
}

static double share_of(const struct crowd *crowd, unsigned i)
{
	double total = 0;

	for (unsigned k = 0; k < crowd->count; k++)
		total += crowd->weight[k];
	return assign_partitions(crowd->assign) * crowd->weight[i] / total;
}

static void begin(struct crowd *crowd, unsigned set, uint32_t partitions)
{
	struct pl_err err;

	*crowd = (struct crowd){.set = set};
	T_OK(assign_new(partitions, &crowd->assign, &err), &err);
}

/* Returns the partitions that the member took. */
static uint32_t join(struct crowd *crowd, uint32_t weight)
{
	unsigned i = crowd->count++;
	uint32_t salt = assign_choose(crowd->assign, name(crowd->set, i), weight);
	struct pl_err err;

	crowd->weight[i] = weight;
	T_OK(assign_put_salted(crowd->assign, name(crowd->set, i), weight, salt, &err),
	     &err);
	return count_of(crowd, i);
}

/* The load of the fullest member over its share. */
static double worst(const struct crowd *crowd)
{
	double most = 0;

	for (unsigned i = 0; i < crowd->count; i++)
		most = fmax(most, count_of(crowd, i) / share_of(crowd, i));
	return most;
}

/* The ninth of 256 partitions may move 256/9 of them and a tenth more: 31. */
T_CASE(a_ninth_member_takes_its_share)
{
	double sum = 0;

	for (unsigned set = 0; set < 60; set++) {
		struct crowd crowd;
		uint32_t moved = 0;

		begin(&crowd, set, 256);
		for (unsigned i = 0; i < 9; i++)
			moved = join(&crowd, ONE);
		T_TRUE(moved >= 25 && moved <= 29);
		T_TRUE(worst(&crowd) < 1.2);
		sum += worst(&crowd);
		assign_free(crowd.assign);
	}
	T_TRUE(sum / 60 < 1.07);
}

T_CASE(joins_of_all_sizes)
{
	for (unsigned set = 0; set < 6; set++) {
		struct crowd crowd;

		begin(&crowd, set, set % 2 == 0 ? 64 : 1024);
		for (unsigned i = 0; i < 20; i++) {
			uint32_t moved = join(&crowd, ONE);

			T_TRUE(moved <= ceil(share_of(&crowd, i)));
			T_TRUE(moved + 2 >= share_of(&crowd, i) * 0.9);
		}
		assign_free(crowd.assign);
	}
}

/* Members come and go for a long time, and the shares stay even: a joining member
 * takes from the fullest. */
T_CASE(shares_stay_even_while_members_come_and_go)
{
	struct crowd crowd;
	double sum = 0;
	unsigned gone = 0;

	begin(&crowd, 1, 256);
	for (unsigned i = 0; i < 8; i++)
		join(&crowd, ONE);
	while (crowd.count < MANY) {
		assign_del(crowd.assign, name(crowd.set, gone));
		crowd.weight[gone++] = 0;
		T_TRUE(join(&crowd, ONE) <= 32);
		for (unsigned i = gone; i < crowd.count; i++)
			sum += fabs(count_of(&crowd, i) - 32.0);
	}
	T_TRUE(sum / (8 * 32) < 4);
	assign_free(crowd.assign);
}

T_CASE(weights)
{
	const uint32_t weights[] = {1000, 3000, 500, 1000, 2000, 500, 1000, 1500};

	for (unsigned set = 0; set < 10; set++) {
		struct crowd crowd;

		begin(&crowd, set, 512);
		for (unsigned i = 0; i < 8; i++) {
			uint32_t moved = join(&crowd, weights[i]);

			T_TRUE(moved <= ceil(share_of(&crowd, i)));
		}
		T_TRUE(worst(&crowd) < 1.25);
		assign_free(crowd.assign);
	}
}

/* A member that comes back to the same members makes the same choice, and choosing
 * changes nothing. */
T_CASE(the_same_members_lead_to_the_same_salt)
{
	struct crowd crowd;
	uint32_t salt;

	begin(&crowd, 3, 256);
	for (unsigned i = 0; i < 5; i++)
		join(&crowd, ONE);
	salt = assign_choose(crowd.assign, name(3, 9), ONE);
	T_EQ(assign_members(crowd.assign), 5);
	T_EQ(assign_choose(crowd.assign, name(3, 9), ONE), salt);
	assign_free(crowd.assign);
}
