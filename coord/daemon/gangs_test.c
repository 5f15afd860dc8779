/*
 * Gangs through a real etcd, which takes 128 operations in a transaction: a large gang
 * whose shards are killed half-way, and two gangs that keep each other away.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/coord/cli/placet_rig.h"

enum { PARTITIONS = 8, LARGE = 240, SMALL = 6, TEXT_MAX = 1 << 18 };

#define SHAPES "shapes: [{name: s, weight: 1, cpu: 4, memory: 64Gi, storage: 10Gi}]\n"

static const char profile[] = "prefix: m\nregion: r\nzones: [{name: a}]\n" SHAPES;
static const char three_zones[] =
	"prefix: m\nregion: r\nzones: [{name: a}, {name: b}, {name: c}]\n" SHAPES;
static const char spread[] =
	"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":"
	"\"topology.kubernetes.io/zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","
	"\"labelSelector\":{\"matchLabels\":{\"gang\":\"large\"}}}],";

static struct placet_running shards;
static char text[TEXT_MAX];

#define RUN(input, ...) placet_run(input, (const char *const[]){__VA_ARGS__, NULL})

static void start_shards(const char *name)
{
	const char *const args[] = {"--shards",    "2",      "--partitions",
	                            "8",           "--name", name,
	                            "--log-level", "info",   NULL};
	char *placet = getenv("PLACET"), *placetd = getenv("PLACETD");
	char kept[4096];

	T_TRUE(placet != NULL && placetd != NULL);
	if (placet == NULL || placetd == NULL)
		return;
	(void)snprintf(kept, sizeof kept, "%s", placet);
	T_EQ(setenv("PLACET", placetd, 1), 0);
	placet_start(&shards, args);
	T_EQ(setenv("PLACET", kept, 1), 0);
}

static void up(const char *nodes, const char *of)
{
	placet_up(PARTITIONS);
	T_EQ(RUN(of, "sim-cluster", "--cluster", "east", "--nodes", nodes, "--profile",
	         "-"),
	     0);
}

static void down(void)
{
	placet_kill(&shards);
	T_EQ(PLACET("fsck"), 0);
	placet_says("0 violations");
	placet_down();
}

/* Each pod requests one cpu. more: further fields of the spec. */
static const char *gang(const char *name, unsigned members, const char *more)
{
	size_t len = 0;

	for (unsigned i = 0; i < members; i++)
		len += (size_t)snprintf(
			text + len, sizeof text - len,
			"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%u\",\"labels\":{"
			"\"gang\":\"%s\"},\"annotations\":{\"placet.io/gang\":\"%s\","
			"\"placet.io/gang-min\":\"%u\"}},\"spec\":{%s\"containers\":[{"
			"\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"
			"\"cpu\":\"1\"}}}]}}\n",
			name, i, name, name, members, more);
	T_TRUE(len < sizeof text);
	return text;
}

/* Counts the pods whose names begin so. */
static unsigned bound(const char *name)
{
	struct kv_req req = kv_op_get(kv_prefix(PL_SPAN_LIT("/schedules/")));
	struct kv_result result;
	char in_key[64];
	unsigned count = 0;

	(void)snprintf(in_key, sizeof in_key, "/%s-", name);
	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, &result), PL_OK);
	for (size_t i = 0; i < result.get.count; i++) {
		const struct kv_record *record = &result.get.records[i];

		count += memmem(record->key.at, record->key.len, in_key,
		                strlen(in_key)) != NULL &&
		         memmem(record->value.at, record->value.len,
		                "\"phase\":\"Bound\"", 15) != NULL;
	}
	return count;
}

/* The value of the gang's record; "" if there is none. */
static const char *record(void)
{
	const char *value = etcd_rig_get(&placet_rig.rig, "/gangs/default/large");

	return value == NULL ? "" : value;
}

/* The shards are killed when the record is put for the nth time, and others finish.
 * more: further fields of the members' spec. */
static void killed_at(unsigned nth, const char *more)
{
	struct etcd_rig_watch watch = {0};
	unsigned before;

	up("120", three_zones);
	start_shards("east");
	etcd_rig_watch(&placet_rig.rig, &watch, "/gangs/", 0);
	T_EQ(RUN(gang("large", LARGE, more), "submit", "-f", "-"), 0);
	watch.want = nth; /* more if several puts come at once */
	watch.enough = watch.events >= nth;
	etcd_rig_until(&placet_rig.rig, &watch.enough);
	placet_kill(&shards);
	etcd_rig_unwatch(&placet_rig.rig, &watch);
	before = bound("large");
	T_TRUE(before == 0 || before == LARGE ||
	       strstr(record(), "\"phase\":\"bound\"") != NULL);
	start_shards("west");
	T_EQ(RUN(gang("large", LARGE, more), "wait", "--for=bound", "-f", "-",
	         "--timeout=90s"),
	     0);
	/* All members may have been bound before; then this is the time of the lease,
	 * and some. */
	for (unsigned i = 0; i < 1200 && record()[0] != 0; i++)
		etcd_rig_run_ms(&placet_rig.rig, 50);
	T_STR(record(), "");
	T_EQ(bound("large"), LARGE);
	T_EQ(PLACET("fsck"), 0);
	placet_says("0 violations, 0 conditions");
	down();
}

T_CASE_SECONDS(killed_while_room_is_reserved, 180)
{
	killed_at(1, "");
}

T_CASE_SECONDS(killed_when_it_has_just_been_bound, 180)
{
	killed_at(2, "");
}

/* With a rule about all members: fsck would find zones that are not even. */
T_CASE_SECONDS(spread_over_zones_in_steps, 180)
{
	killed_at(2, spread);
}

static const char *not_beside(const char *other)
{
	static char spec[400];

	(void)snprintf(spec, sizeof spec,
	               "\"affinity\":{\"podAntiAffinity\":{"
	               "\"requiredDuringSchedulingIgnoredDuringExecution\":[{"
	               "\"topologyKey\":\"topology.kubernetes.io/zone\","
	               "\"labelSelector\":{\"matchLabels\":{\"gang\":\"%s\"}}}]}},",
	               other);
	return spec;
}

/* In the only zone. */
T_CASE_SECONDS(of_two_gangs_that_keep_each_other_out_one_is_bound, 180)
{
	const char *in, *out;

	up("8", profile);
	start_shards("east");
	T_EQ(RUN(gang("one", SMALL, not_beside("two")), "submit", "-f", "-"), 0);
	T_EQ(RUN(gang("two", SMALL, not_beside("one")), "submit", "-f", "-"), 0);
	for (unsigned i = 0; i < 600 && bound("one") + bound("two") < SMALL; i++)
		etcd_rig_run_ms(&placet_rig.rig, 50);
	etcd_rig_run_ms(&placet_rig.rig, 500); /* time for the other one to come, if it
	                                        * could */
	in = bound("one") > 0 ? "one" : "two";
	out = bound("one") > 0 ? "two" : "one";
	T_EQ(bound(in), SMALL);
	T_EQ(bound(out), 0);
	T_EQ(RUN(gang(in, SMALL, ""), "delete", "pod", "-f", "-", "--yes", "--force",
	         "--timeout=60s"),
	     0);
	T_EQ(RUN(gang(out, SMALL, ""), "wait", "--for=bound", "-f", "-", "--timeout=60s"),
	     0);
	T_EQ(bound(out), SMALL);
	down();
}
