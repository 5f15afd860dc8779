/* Gangs for which an alloc has no room: with more members, or more text in their ports,
 * than one can list. They do not go there, and the node stays usable for others. */
#include "shardsched/shard/inner.h"
#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/sched_rig.h"

enum { MEMBERS = 100, PORTS = 40 };

static struct rig rig;

static uint32_t local(void)
{
	const struct partition_group group = {.namespace = PL_SPAN_LIT("web"),
	                                      .gang = PL_SPAN_LIT("a")};
	uint32_t out = 0;

	T_OK(partition_of_group(&group, RIG_PARTITIONS, &out, &rig.err), &rig.err);
	return out;
}

static void run_for_ms(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 500)
		rig_run_idle(&rig);
}

static void others_go(unsigned members)
{
	char key[512], json[1024], meta[160], name[256];

	rig_open(&rig, NULL);
	rig.store.revision++;
	rig_set(&rig.store, PL_SPAN_LIT("/nodes/0000/east/n-0"),
	        PL_SPAN_LIT(
			"{\"metadata\":{\"name\":\"n-0\",\"labels\":{\"host\":\"n-0\"}},"
			"\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"64Gi\","
			"\"pods\":\"5000\"}}}"));
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0000/east/n-0"),
	        PL_SPAN_LIT("{\"v\":1,\"generation\":1}"));
	rig_set(&rig.store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
	for (unsigned i = 0; i < members; i++) {
		(void)snprintf(name, sizeof name, "a-%u", i);
		(void)snprintf(meta, sizeof meta, "%u", members);
		(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/spec", local(),
		               name);
		(void)snprintf(
			json, sizeof json,
			"{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\","
			"\"uid\":\"u-%s\",\"annotations\":{\"placet.io/gang\":\"a\","
			"\"placet.io/gang-min\":\"%s\"}},\"spec\":{\"containers\":[{"
			"\"name\":\"c\"}]}}",
			name, name, meta);
		rig_put(&rig, key, json);
	}
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	run_for_ms(60000);
	rig_pod(&rig, 1, "b", "1", "");
	run_for_ms(60000);
	T_TRUE(rig_where(&rig, 1, "b")[0] == 'n');
	rig_close(&rig);
}

T_CASE_SECONDS(a_gang_that_does_not_fit_leaves_the_node_usable, 200)
{
	others_go(300);
}

T_CASE_SECONDS(a_gang_beyond_an_alloc_leaves_the_node_usable, 200)
{
	others_go(4100);
}

/* -- host ports at addresses with long names --------------------------------- */

static void member(unsigned n, int address)
{
	static char json[1 << 16], ip[256];
	char key[128];
	size_t len;

	memset(ip, 'x', sizeof ip);
	ip[address] = 0;
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-%u/spec", local(), n);
	len = (size_t)snprintf(
		json, sizeof json,
		"{\"metadata\":{\"namespace\":\"web\",\"name\":\"a-%u\",\"uid\":\"u-%u\","
		"\"annotations\":{\"placet.io/gang\":\"a\",\"placet.io/gang-min\":\"%d\"}},"
		"\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":[",
		n, n, MEMBERS);
	for (unsigned i = 0; i < PORTS; i++)
		len += (size_t)snprintf(json + len, sizeof json - len,
		                        "%s{\"containerPort\":80,\"hostPort\":%u,"
		                        "\"hostIP\":\"%s\"}",
		                        i == 0 ? "" : ",", 10000 + n * PORTS + i, ip);
	(void)snprintf(json + len, sizeof json - len, "]}]}}");
	rig_put(&rig, key, json);
}

static void is_bound(int address)
{
	unsigned count = 0;

	rig_open(&rig, NULL);
	for (uint32_t i = 0; i < 2; i++)
		rig_node(&rig, i, i == 0 ? "n-0" : "n-1", "64");
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
	/* A gang shares a node if it can: the other one is closed to it. */
	rig_put(&rig, "/nodes/0001/east/n-1",
	        rig_node_json("n-1", "64", "\"unschedulable\":true"));
	rig_set(&rig.store, PL_SPAN_LIT("/alloc/0001/east/n-1"),
	        PL_SPAN_LIT("{\"v\":1,\"generation\":2}"));
	run_for_ms(1000);
	for (unsigned i = 0; i < MEMBERS; i++)
		member(i, address);
	run_for_ms(20000);
	for (unsigned i = 0; i < MEMBERS; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "a-%u", i);
		count += rig_where(&rig, local(), name)[0] == 'n';
	}
	/* All members, or the gang is not bound. */
	T_TRUE(count == MEMBERS ||
	       strstr(rig_value(&rig, "/gangs/web/a"), "\"bound\"") == NULL);
	rig_close(&rig);
}

T_CASE_SECONDS(short_port_addresses_fit, 100)
{
	is_bound(15);
}

T_CASE_SECONDS(long_port_addresses_fit_or_are_not_bound, 100)
{
	is_bound(253);
}
