/* A gang that is bound is listed, whatever settings there are by then. */
#include "tests/support/shardsched/shard/large_gang_rig.h"

/* The members name the default profile, which is there again with "". */
static const char other[] = "{\"profiles\":[{\"schedulerName\":\"night\"}]}";

static void profiles_are(const char *text)
{
	const struct sched_settings settings = {.profiles = pl_span_str(text)};

	T_OK(sched_configure(rig.sched, &settings, &rig.err), &rig.err);
}

T_CASE(a_bound_gang_is_listed_without_its_profile)
{
	begin();
	members("");
	until("bound");
	profiles_are(other);
	run_for_ms(60000);
	close_well();
}

/* Without the profile before it is bound, the gang is given up. */
T_CASE(a_gang_is_not_bound_without_its_profile)
{
	begin();
	members("");
	until("reserving");
	rig_run(&rig);
	(void)answer_all();
	profiles_are(other);
	run_for_ms(60000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	profiles_are("");
	run_for_ms(20000);
	close_well();
}

static void touch(uint32_t n)
{
	char key[64];

	(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-%u", n % RIG_PARTITIONS, n);
	rig_put(&rig, key, rig_value(&rig, key));
}

/* Txns that were sent without the profile fail, whether it is there again or not. */
T_CASE(txns_sent_without_the_profile_fail)
{
	for (unsigned again = 0; again < 2; again++) {
		begin();
		members("");
		until("bound");
		profiles_are(other);
		for (unsigned i = 0; i < 10 && !rig.out[0].used; i++) {
			rig.now_ms += 100;
			rig_run(&rig);
		}
		T_TRUE(rig.out[0].used);
		for (uint32_t n = 0; n < NODES; n++)
			touch(n);
		if (again)
			profiles_are("");
		rig_run(&rig);
		T_TRUE(!rig_answer(&rig, 0));
		run_for_ms(60000);
		close_well();
	}
}

/* The next owner never had the profile. */
T_CASE(the_next_owner_does_not_need_the_profile)
{
	begin();
	members("");
	until("bound");
	another_shard();
	profiles_are(other);
	own_all();
	run_for_ms(60000);
	close_well();
}
