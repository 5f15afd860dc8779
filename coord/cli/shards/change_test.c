/* The commands that change something, over a real etcd: what they write and refuse,
 * and that a dry run writes nothing. */
#include "store/base/json.h"
#include "tests/support/coord/cli/placet_rig.h"

static int64_t revision(void)
{
	struct kv_req req = {.op = KV_STATUS};
	struct kv_result result;

	T_EQ(etcd_rig_call(&placet_rig.rig, &req, ETCD_RIG_TIMEOUT_MS, &result), PL_OK);
	return result.header.revision;
}

static bool stands(const char *key, const char *words)
{
	const char *value = etcd_rig_get(&placet_rig.rig, key);

	return value != NULL && strstr(value, words) != NULL;
}

/* -- drain ----------------------------------------------------------------------------
 */

T_CASE(a_drain_is_a_version_of_the_configuration)
{
	placet_up(8);
	placet_shard("east-0", "0");
	placet_shard("east-1", "1");
	T_EQ(PLACET("shard", "drain", "east-1", "--why", "new kernel"), 0);
	placet_prints("east-1 is to drain (configuration shards, version 1)");
	T_TRUE(stands("/config/shards/0000000001", "\"drain\":[\"east-1\"]"));
	T_TRUE(stands("/config/shards/0000000001", "drain east-1: new kernel"));
	T_EQ(PLACET("shard", "drain", "east-0"), 0);
	T_TRUE(stands("/config/shards/0000000002", "[\"east-0\",\"east-1\"]"));
	T_EQ(PLACET("shard", "drain", "east-0"), 0);
	placet_prints("as before");
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/config/shards/0000000003") == NULL);
	T_EQ(PLACET("shard", "undrain", "east-1"), 0);
	T_TRUE(stands("/config/shards/0000000003", "\"drain\":[\"east-0\"]"));
	T_EQ(PLACET("shard", "undrain", "east-0"), 0);
	T_TRUE(stands("/config/shards/0000000004", "\"drain\":[]"));
	T_TRUE(stands("/config/shards/current", "4"));
	placet_down();
}

/* An edit that comes second reads again: no drain is lost. */
T_CASE(drains_at_the_same_time_all_count)
{
	static struct placet_running running[4];
	static const char *const ids[] = {"s-0", "s-1", "s-2", "s-3"};

	placet_up(8);
	for (unsigned i = 0; i < 4; i++)
		placet_shard(ids[i], "");
	for (unsigned i = 0; i < 4; i++)
		placet_start(&running[i],
		             (const char *const[]){"shard", "drain", ids[i], NULL});
	for (unsigned i = 0; i < 4; i++)
		T_EQ(placet_end(&running[i]), 0);
	T_TRUE(stands("/config/shards/0000000004", "[\"s-0\",\"s-1\",\"s-2\",\"s-3\"]"));
	placet_down();
}

T_CASE(a_shard_that_is_not_there_is_not_drained)
{
	int64_t before;

	placet_up(8);
	placet_shard("east-0", "0");
	placet_shard("east-1", "1");
	before = revision();
	T_EQ(PLACET("shard", "drain", "esat-0"), 1);
	placet_says("no shard 'esat-0'; there are east-0, east-1");
	T_EQ(PLACET("shard", "drain", "east-0", "--dry-run"), 0);
	placet_prints("+ .drain: \"east-0\"");
	T_EQ(revision(), before);
	T_EQ(PLACET("shard", "drain", "esat-0", "--force"), 0);
	T_EQ(PLACET("shards"), 0);
	placet_says("esat-0 does not exist, and is to be drained when it starts");
	T_EQ(PLACET("shard", "undrain", "esat-0"), 0);
	T_EQ(PLACET("shards"), 0);
	T_STR(placet_rig.said, "");
	placet_down();
}

T_CASE(a_drain_waits_until_nothing_is_owned)
{
	static struct placet_running running;

	placet_up(8);
	placet_shard("east-0", "0,1");
	placet_shard("east-1", "");
	placet_owner(0, "east-0");
	placet_owner(1, "east-0");
	placet_start(&running, (const char *const[]){"shard", "drain", "east-0",
	                                             "--wait=15s", NULL});
	placet_await(&running, "east-0 owns 2 partitions");
	placet_owner(0, "east-1");
	placet_delete("/partitions/0001/owner");
	placet_await(&running, "east-0 owns 0 partitions");
	T_EQ(placet_end(&running), 0);
	placet_down();
}

T_CASE(a_drain_that_does_not_end_reports_it)
{
	placet_up(8);
	placet_shard("east-0", "0");
	placet_owner(0, "east-0");
	T_EQ(PLACET("shard", "drain", "east-0", "--wait=100ms"), 1);
	placet_says("no other shard takes part");
	placet_says("east-0 still owns 1 partition");
	placet_down();
}

T_CASE(a_broken_list_of_drains_is_not_guessed_at)
{
	placet_up(8);
	placet_shard("east-0", "0");
	placet_put("/config/shards/0000000001",
	           "{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"x\","
	           "\"why\":\"\",\"config\":{\"drain\":\"east-0\"}}");
	placet_put("/config/shards/current", "{\"v\":1,\"version\":1}");
	T_EQ(PLACET("shard", "drain", "east-0"), 1);
	placet_says("drain: ");
	placet_says("config rollback shards");
	placet_put("/config/shards/current", "nonsense");
	T_EQ(PLACET("shard", "drain", "east-0"), 1);
	placet_says("config rollback shards");
	placet_down();
}

/* -- evict ------------------------------------------------------------------------------
 */

T_CASE(an_eviction_revokes_the_lease_with_its_keys)
{
	placet_up(8);
	placet_shard("east-0", "0,1");
	placet_owner(0, "east-0");
	placet_owner(1, "east-0");
	placet_put_leased("/leader/balancer", "{\"v\":1,\"shard\":\"east-0\"}");
	placet_put("/partitions/0002/owner", "{\"v\":1,\"shard\":\"west-0\"}");
	T_EQ(PLACET("shard", "evict", "east-0"), 1);
	placet_says("east-0 is active, process 4711 on h1");
	placet_says("its lease 0000000000001234");
	placet_says("  2 partitions: 0-1\n");
	placet_says("  /leader/balancer\n");
	placet_says("give --yes");
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/shards/east-0") != NULL);
	T_EQ(PLACET("shard", "evict", "east-0", "--yes"), 0);
	placet_prints("east-0 evicted: 2 partitions and 1 role are free");
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/shards/east-0") == NULL);
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/partitions/0000/owner") == NULL);
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/leader/balancer") == NULL);
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/partitions/0002/owner") != NULL);
	T_EQ(PLACET("shard", "evict", "east-0", "--yes"), 1);
	placet_says("no shard 'east-0'; there are none at all");
	placet_down();
}

T_CASE(a_terminal_is_asked_for_confirmation)
{
	static const char *const evict[] = {"shard", "evict", "east-0", NULL};

	placet_up(8);
	placet_shard("east-0", "0");
	T_EQ(placet_run_typed("n\n", evict), 1);
	placet_says("Evict east-0? [y/N] ");
	placet_says("nothing was done; that was no yes");
	T_EQ(placet_run_typed("\x04", evict), 1);
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/shards/east-0") != NULL);
	T_EQ(placet_run_typed("yes\n", evict), 0);
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/shards/east-0") == NULL);
	placet_down();
}

T_CASE(a_record_without_a_lease_is_removed)
{
	placet_up(8);
	placet_put("/shards/by-hand", "{}");
	T_EQ(PLACET("shard", "evict", "by-hand", "-y"), 0);
	placet_says("is malformed");
	placet_says("has no lease");
	T_TRUE(etcd_rig_get(&placet_rig.rig, "/shards/by-hand") == NULL);
	placet_down();
}

/* -- configurations ------------------------------------------------------- */

T_CASE(the_default_is_shown_as_yaml_that_can_be_set)
{
	static char text[PLACET_OUTPUT_MAX];

	placet_up(8);
	T_EQ(PLACET("config", "get", "coord"), 0);
	t_golden("cli/e2e_coord.yaml", placet_rig.out);
	placet_says("# coord: no version yet, this is the default");
	memcpy(text, placet_rig.out, sizeof text);
	T_EQ(PLACET("config", "set", "coord", "handover_ms=700"), 0);
	T_EQ(placet_run(text,
	                (const char *const[]){"config", "set", "coord", "-f", "-", NULL}),
	     0);
	placet_prints("coord: version 2 is current\n");
	T_EQ(PLACET("config", "get", "coord"), 0);
	T_STR(placet_rig.out, text);
	placet_says("# coord, version 2 (current) of 2");
	T_EQ(placet_run(text,
	                (const char *const[]){"config", "set", "coord", "-f", "-", NULL}),
	     0);
	T_STR(placet_rig.out, "coord: unchanged, version 2 is the same\n");
	placet_down();
}

/* The configuration is the default, a version, or a version that leaves the field
 * out. */
T_CASE(an_equal_configuration_makes_no_version)
{
	static const char *const file[] = {"config", "set", "coord", "-f", "-", NULL};
	int64_t before;

	placet_up(8);
	before = revision();
	T_EQ(PLACET("config", "set", "coord", "handover_ms=2000"), 0);
	T_STR(placet_rig.out, "coord: unchanged, it is so by default\n");
	T_EQ(placet_run("{}\n", file), 0);
	T_STR(placet_rig.out, "coord: unchanged, it is so by default\n");
	T_EQ(PLACET("config", "set", "coord", "handover_ms=2000", "--dry-run"), 0);
	T_STR(placet_rig.out, "coord: unchanged, it is so by default\n");
	T_EQ(revision(), before);
	T_EQ(placet_run("handover_ms: 700\n", file), 0);
	placet_prints("coord: version 1 is current\n");
	before = revision();
	T_EQ(PLACET("config", "set", "coord", "handover_ms=700", "settle_ms="), 0);
	T_STR(placet_rig.out, "coord: unchanged, version 1 is the same\n");
	T_EQ(PLACET("config", "set", "coord", "balancer.interval_ms=30000"), 0);
	T_STR(placet_rig.out, "coord: unchanged, version 1 is the same\n");
	T_EQ(revision(), before);
	placet_down();
}

T_CASE(values_are_set_one_by_one)
{
	int64_t before;

	placet_up(8);
	before = revision();
	T_EQ(PLACET("config", "set", "coord", "handover_ms=700",
	            "balancer.interval_ms=60000", "--dry-run"),
	     0);
	T_EQ(revision(), before);
	T_EQ(PLACET("config", "set", "coord", "handover_ms=700",
	            "balancer.interval_ms=60000", "--why", "quieter"),
	     0);
	T_STR(placet_rig.out, "- .balancer.interval_ms: 30000\n"
	                      "+ .balancer.interval_ms: 60000\n"
	                      "- .handover_ms: 2000\n"
	                      "+ .handover_ms: 700\n"
	                      "coord: version 1 is current\n");
	T_TRUE(stands("/config/coord/0000000001", "\"handover_ms\":700"));
	T_TRUE(stands("/config/coord/0000000001", "\"why\":\"quieter\""));
	T_EQ(PLACET("config", "set", "weights", "factors.east-0=1250"), 0);
	T_TRUE(stands("/config/weights/0000000001", "{\"east-0\":1250}"));
	T_EQ(PLACET("config", "set", "weights", "factors.east-0="), 0);
	T_TRUE(stands("/config/weights/0000000002", "\"factors\":{}"));
	placet_down();
}

T_CASE(a_configuration_that_fails_its_schema_is_not_written)
{
	int64_t before;

	placet_up(8);
	before = revision();
	T_EQ(PLACET("config", "set", "coord", "handover_ms=0"), 1);
	placet_says("refused, nothing was written: coord: handover_ms: want 1 to 60000");
	T_EQ(PLACET("config", "set", "coord", "balancer.nope=1"), 1);
	placet_says("balancer.nope: unknown field");
	T_EQ(placet_run("handover_ms: [1",
	                (const char *const[]){"config", "set", "coord", "-f", "-", NULL}),
	     1);
	placet_says("standard input");
	T_EQ(PLACET("config", "set", "coord", "-f", "/does/not/exist"), 1);
	placet_says("/does/not/exist");
	T_EQ(revision(), before);
	placet_down();
}

static void three_versions(void)
{
	placet_up(8);
	T_EQ(PLACET("config", "set", "coord", "handover_ms=100"), 0);
	T_EQ(PLACET("config", "set", "coord", "handover_ms=200", "settle_ms=50"), 0);
	T_EQ(PLACET("config", "set", "coord", "handover_ms=300"), 0);
}

T_CASE(versions_are_compared)
{
	three_versions();
	T_EQ(PLACET("config", "diff", "coord"), 0);
	T_STR(placet_rig.out, "- .handover_ms: 200\n+ .handover_ms: 300\n");
	T_EQ(PLACET("config", "diff", "coord", "1"), 0);
	T_STR(placet_rig.out, "- .handover_ms: 100\n+ .handover_ms: 300\n"
	                      "- .settle_ms: 300\n+ .settle_ms: 50\n");
	T_EQ(PLACET("config", "diff", "coord", "0", "1"), 0);
	T_STR(placet_rig.out, "- .handover_ms: 2000\n+ .handover_ms: 100\n");
	T_EQ(PLACET("config", "diff", "coord", "9"), 1);
	placet_says("version 9");
	T_EQ(PLACET("config", "diff", "shards"), 0);
	T_STR(placet_rig.out, "");
	placet_down();
}

T_CASE(a_roll_back_is_a_new_version)
{
	three_versions();
	T_EQ(PLACET("config", "rollback", "coord", "--dry-run"), 0);
	T_STR(placet_rig.out, "- .handover_ms: 300\n+ .handover_ms: 200\n");
	T_EQ(PLACET("config", "rollback", "coord", "--why", "too slow"), 0);
	placet_prints("coord: version 4 is current, with the content of 2");
	T_EQ(PLACET("config", "rollback", "coord", "--to", "1"), 0);
	placet_prints("coord: version 5 is current, with the content of 1");
	T_EQ(PLACET("config", "rollback", "coord", "--to", "77"), 1);
	T_EQ(PLACET("config", "history", "coord"), 0);
	placet_prints("5         current");
	placet_prints("roll back to 2: too slow");
	T_EQ(PLACET("config", "get", "coord", "--version", "2"), 0);
	placet_prints("handover_ms: 200");
	T_EQ(PLACET("config", "rollback", "weights"), 1);
	placet_says("has no version before the current one");
	placet_down();
}

T_CASE(an_invalid_stored_version_is_reported)
{
	placet_up(8);
	placet_shard("east-0", "0");
	T_EQ(PLACET("config", "set", "coord", "handover_ms=100"), 0);
	placet_put("/config/coord/0000000002",
	           "{\"v\":1,\"at\":\"2026-11-21T05:00:00.000Z\",\"by\":\"x\","
	           "\"why\":\"by hand\",\"config\":{\"handover_ms\":0}}");
	placet_put("/config/coord/current", "{\"v\":1,\"version\":2}");
	T_EQ(PLACET("config", "get"), 0);
	placet_prints("refused");
	placet_prints("handover_ms: want 1 to 60000");
	T_EQ(PLACET("config", "get", "coord"), 0);
	placet_says("# REFUSED: ");
	placet_says("# 0 of 1 shards apply it");
	T_EQ(PLACET("config", "get", "coord", "-o", "json"), 0);
	placet_prints("\"state\": \"refused\"");
	T_EQ(PLACET("config", "history", "coord"), 0);
	placet_prints("current,refused");
	placet_put("/config/coord/current", "{\"v\":1,\"version\":77}");
	T_EQ(PLACET("config", "get"), 0);
	placet_prints("malformed");
	T_EQ(PLACET("config", "get", "coord"), 1);
	placet_says("version 77");
	T_EQ(PLACET("config", "rollback", "coord", "--to", "1"), 0);
	placet_prints("coord: version 78 is current, with the content of 1");
	placet_down();
}

/* A field that is left out has its default, and only real differences are shown. */
T_CASE(a_file_is_all_of_it)
{
	static const char *const set[] = {"config", "set", "coord", "-f", "-", NULL};

	placet_up(8);
	T_EQ(placet_run("handover_ms: 700\n", set), 0);
	T_STR(placet_rig.out, "- .handover_ms: 2000\n+ .handover_ms: 700\n"
	                      "coord: version 1 is current\n");
	T_EQ(placet_run("{\"settle_ms\": 50}", set), 0);
	T_STR(placet_rig.out, "- .handover_ms: 700\n+ .handover_ms: 2000\n"
	                      "- .settle_ms: 300\n+ .settle_ms: 50\n"
	                      "coord: version 2 is current\n");
	placet_down();
}

/* A whole file may replace a version that can not be read. */
T_CASE(a_file_replaces_a_broken_current)
{
	placet_up(8);
	placet_put("/config/coord/current", "nonsense");
	T_EQ(PLACET("config", "set", "coord", "handover_ms=100"), 1);
	T_EQ(placet_run("handover_ms: 100\n",
	                (const char *const[]){"config", "set", "coord", "-f", "-", NULL}),
	     0);
	T_EQ(PLACET("config", "get", "coord"), 0);
	placet_prints("handover_ms: 100");
	placet_down();
}

/* -- restored ------------------------------------------------------------- */

T_CASE(a_restored_store_gets_a_new_incarnation)
{
	static const char old[] = "0123456789abcdef0123456789abcdef";

	placet_up(8);
	T_EQ(PLACET("store", "restored"), 1);
	placet_says("give --yes");
	T_TRUE(stands("/placet/meta", old));
	T_EQ(PLACET("store", "restored", "--yes"), 0);
	T_TRUE(!stands("/placet/meta", old));
	T_TRUE(stands("/placet/meta", "\"partitions\":8"));
	T_TRUE(stands("/placet/meta", "2026-11-21T05:00:00.000Z"));
	T_TRUE(stands("/placet/meta", placet_rig.out[0] == 'i'
	                                      ? strtok(placet_rig.out + 12, "\n")
	                                      : "?"));
	placet_down();
}
