/* A large gang with a minimum: as many as go at once, and the others after them. */
#include "tests/support/shardsched/shard/large_gang_rig.h"

static void put_members(uint32_t min, const char *(*spec)(uint32_t i))
{
	for (uint32_t i = 0; i < MEMBERS; i++) {
		char key[64], json[640];

		(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-%u/spec", local(),
		               i);
		(void)snprintf(
			json, sizeof json,
			"{\"metadata\":{\"namespace\":\"web\",\"name\":\"a-%u\","
			"\"labels\":{\"app\":\"a\"},\"annotations\":{"
			"\"placet.io/gang\":\"a\",\"placet.io/gang-min\":\"%u\"}},"
			"\"spec\":{%s\"containers\":[{\"name\":\"c\",\"resources\":{"
			"\"requests\":{\"cpu\":\"1\"}}}]}}",
			i, min, spec(i));
		rig_put(&rig, key, json);
	}
	rig_deliver_all(&rig);
}

static const char *plain(uint32_t i)
{
	(void)i;
	return "";
}

/* Anti-affinity with other members than the next one has. */
static const char *apart(uint32_t i)
{
	static char text[256];

	(void)snprintf(text, sizeof text,
	               "\"affinity\":{\"podAntiAffinity\":{\"requiredDuringScheduling"
	               "IgnoredDuringExecution\":[{\"topologyKey\":\"host\","
	               "\"labelSelector\":{\"matchLabels\":{\"app\":\"x-%u\"}}}]}},",
	               i);
	return text;
}

static bool are_refused(const char *message)
{
	int phase_is;
	struct pod_state state = rig_state(&rig, local(), "a-0", &phase_is);

	return phase_is == STATE_PENDING &&
	       pl_span_eq(state.reason, PL_SPAN_LIT("gang.large")) &&
	       memmem(state.message.at, state.message.len, message, strlen(message)) !=
	               NULL;
}

T_CASE(members_beyond_a_record_are_bound_later)
{
	begin();
	rig.sched->gangs.record_pods = 10;
	put_members(4, plain);
	until("bound");
	T_EQ(bound() + held(), 10);
	run_for_ms(20000);
	close_well();
}

T_CASE(a_minimum_beyond_a_record_is_refused)
{
	begin();
	rig.sched->gangs.record_pods = 10;
	put_members(11, plain);
	run_for_ms(20000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	T_TRUE(are_refused("a gang's record"));
	rig_close(&rig);
}

/* Members that share a lock go together; the locks of all are too many. */
T_CASE(members_beyond_the_locks_of_a_transaction_are_bound_later)
{
	begin();
	put_members(2, apart);
	run_for_ms(60000);
	close_well();
}
