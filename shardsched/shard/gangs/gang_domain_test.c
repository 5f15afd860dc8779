/*
 * Members that come later go into the domain of the bound ones, which are on remote
 * nodes: a-0 and a-1, each of the four nodes being a rack of its own.
 */
#include "tests/support/shardsched/shard/large_gang_rig.h"

enum { RACKS = RIG_PARTITIONS };

static const char reservation_text[] =
	"\"used\":{\"cpu\":\"2000m\",\"pods\":\"2\"},"
	"\"nonzero\":{\"cpu\":\"2000m\",\"memory\":\"419430400\"}";

/* The partition of the bound members' node, which this shard does not own. */
static uint32_t away(void)
{
	return (local() + 1) % RIG_PARTITIONS;
}

/* The name of a node in that partition. */
static const char *node_name(uint32_t p)
{
	static char name[8];
	uint32_t is = RIG_PARTITIONS;

	for (uint32_t i = 0; is != p; i++) {
		(void)snprintf(name, sizeof name, "n-%u", i);
		T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name),
		                       RIG_PARTITIONS, &is, &rig.err),
		     &rig.err);
	}
	return name;
}

static void put_node(uint32_t n)
{
	const char *name = node_name(n);
	char key[64], json[512];

	rig_node(&rig, n, name, "4");
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", n, name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"rack\":\"r%u\"}},"
	               "\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"4\","
	               "\"memory\":\"64Gi\",\"pods\":\"110\"}}}",
	               name, n);
	rig_put(&rig, key, json);
}

static void put_member(uint32_t i)
{
	char key[64], json[512];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-%u/spec", local(), i);
	(void)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"a-%u\","
		"\"annotations\":{\"placet.io/gang\":\"a\","
		"\"placet.io/gang-min\":\"3\",\"placet.io/gang-domain\":\"rack\"}},"
		"\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
		"\"requests\":{\"cpu\":\"1\"}}}]}}",
		i);
	rig_put(&rig, key, json);
}

static void put_bound(uint32_t i)
{
	char key[64], json[256];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-%u/state", local(), i);
	(void)snprintf(
		json, sizeof json,
		"{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"%s\","
		"\"since\":\"2026-11-21T09:00:00.000Z\"}",
		node_name(away()));
	rig_put(&rig, key, json);
}

static void put_alloc(void)
{
	char key[64], json[512];

	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", away(), node_name(away()));
	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"generation\":2,%s,\"pods\":{\"%04u\":{\"web\":["
	               "\"a-0\",\"a-1\"]}}}",
	               reservation_text, local());
	rig_put(&rig, key, json);
}

/* A shard that owns all but that partition, and has not looked at remote nodes yet. */
static void own_but_away(void)
{
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		if (p != away())
			rig_own(&rig, p);
}

static void begin_with_two(void)
{
	rig_open(&rig, NULL);
	for (uint32_t n = 0; n < RACKS; n++)
		put_node(n);
	for (uint32_t i = 0; i < 2; i++) {
		put_member(i);
		put_bound(i);
	}
	put_alloc();
}

static void joins_them(void)
{
	run_for_ms(60000);
	T_STR(rig_where(&rig, local(), "a-2"), node_name(away()));
	T_EQ(rig.troubles, 0);
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

T_CASE(late_members_look_for_the_bound_ones)
{
	begin_with_two();
	own_but_away();
	run_for_ms(1000);
	T_TRUE(!sched_view_wanted(rig.sched, SCHED_FLEET));
	put_member(2);
	rig_deliver_all(&rig);
	joins_them();
}

static void says_that_they_are_not_known(void)
{
	static const char reason_text[] = "the nodes of its bound members are not known";
	struct pod_state state;
	int phase_is;

	run_for_ms(60000);
	state = rig_state(&rig, local(), "a-2", &phase_is);
	T_EQ(phase_is, STATE_PENDING);
	T_SPAN(state.reason, PL_SPAN_LIT("gang.room"));
	T_TRUE(state.message.len > 0 && memmem(state.message.at, state.message.len,
	                                       reason_text, strlen(reason_text)) != NULL);
	T_EQ(rig.troubles, 0);
}

static void del_of_node(enum sched_part part)
{
	char key[64];

	(void)snprintf(key, sizeof key, "%s%04u/east/%s", rig_prefix[part], away(),
	               node_name(away()));
	rig_del(&rig, key);
}

/* The Node was deleted, but not its alloc; until the Node is there again. */
T_CASE(late_members_wait_until_the_bound_ones_are_known)
{
	begin_with_two();
	del_of_node(SCHED_NODES);
	own_but_away();
	put_member(2);
	rig_deliver_all(&rig);
	says_that_they_are_not_known();
	put_node(away());
	put_alloc();
	rig_deliver_all(&rig);
	joins_them();
}

/* Until the partition's owner has the bound members placed again. */
T_CASE(late_members_wait_for_members_of_a_deleted_node)
{
	begin_with_two();
	del_of_node(SCHED_NODES);
	del_of_node(SCHED_ALLOCS);
	own_but_away();
	put_member(2);
	rig_deliver_all(&rig);
	says_that_they_are_not_known();
	rig_own(&rig, away());
	run_for_ms(60000);
	for (uint32_t i = 0; i < 3; i++) {
		char name[8];
		int phase_is;

		(void)snprintf(name, sizeof name, "a-%u", i);
		(void)rig_state(&rig, local(), name, &phase_is);
		T_EQ(phase_is, STATE_BOUND);
	}
	T_EQ(rig.troubles, 0);
	rig_close(&rig);
}
