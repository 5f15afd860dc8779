/* Whether the check finds what is wrong; other tests rely on the workload. */
#include "tests/support/coord/work/workload.h"
#include "tests/support/store/memkv/kit.h"

enum { PARTITIONS = 16, NODES = 40, PODS = 300 };

static struct kit kit;
static const struct workload_spec workload = {
	.partitions = PARTITIONS, .nodes = NODES, .pods = PODS};
static struct workload_found found;
static unsigned dones;

static void on_done(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	T_TRUE(err == NULL);
	dones++;
}

static void on_found(void *ctx, const struct workload_found *got,
                     const struct pl_err *err)
{
	(void)ctx;
	T_TRUE(err == NULL);
	found = *got;
	dones++;
}

static void put(enum workload_part part, uint32_t count)
{
	struct workload_range range = {.part = part, .count = count};
	unsigned before = dones;

	T_OK(workload_write(kit.kv, &workload, &range, on_done, NULL, &kit.err),
	     &kit.err);
	kit_run(&kit, kit.now_ms + 1);
	T_EQ(dones, before + 1);
}

static void check(void)
{
	unsigned before = dones;

	T_OK(workload_check(kit.kv, &workload, on_found, NULL, &kit.err), &kit.err);
	kit_run(&kit, kit.now_ms + 1);
	T_EQ(dones, before + 1);
}

static void up(void)
{
	kit_open(&kit, NULL);
	put(WORKLOAD_PART_NODES, NODES);
	put(WORKLOAD_PART_PODS, PODS);
	check();
	T_STR(found.wrong, "");
}

static char *first_key(const char *prefix, unsigned skip)
{
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key(prefix)), 0), PL_OK);
	T_TRUE(kit.result.get.count > skip);
	return pl_arena_printf(&kit.arena, PL_SPAN_FMT,
	                       PL_SPAN_ARG(kit.result.get.records[skip].key));
}

/* The state of pod 3, which requests 50m: bound to node 5. */
static const char bound[] =
	"{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"west\",\"node\":\"node-5\","
	"\"shard\":\"a\",\"epoch\":\"7\",\"since\":\"2026-11-21T09:00:00.000Z\"}";

static void put_alloc(const char *cpu, const char *pods)
{
	char value[256], *key = NULL;

	for (unsigned i = 0; key == NULL || strcmp(strrchr(key, '/'), "/node-5") != 0;
	     i++)
		key = first_key("/alloc/", i);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"%s\",\"pods\":\"1\"},"
		"\"pods\":{\"0001\":{\"team-03\":[%s]}}}",
		cpu, pods);
	(void)kit_put(&kit, key, value);
}

static void refused(const char *words)
{
	check();
	if (strstr(found.wrong, words) == NULL)
		t_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words, found.wrong);
}

T_CASE(a_new_workload_is_complete_and_not_bound)
{
	up();
	T_EQ(found.nodes, NODES);
	T_EQ(found.allocs, NODES);
	T_EQ(found.specs, PODS);
	T_EQ(found.bound + found.pending, 0);
	kit_close(&kit);
}

T_CASE(a_bound_and_listed_pod_is_valid)
{
	up();
	(void)kit_put(&kit, "/schedules/0001/team-03/pod-3/state", bound);
	put_alloc("50m", "\"pod-3\"");
	check();
	T_STR(found.wrong, "");
	T_EQ(found.bound, 1);
	kit_close(&kit);
}

T_CASE(invalid_states_are_reported)
{
	up();
	(void)kit_put(&kit, "/schedules/0001/team-03/pod-3/state", bound);
	refused("pod 3 is bound to node 5 and listed on -1");
	put_alloc("51m", "\"pod-3\"");
	refused("node 5: 51 cpu for 1 pods used, its 1 pods are 50");
	put_alloc("50m", "\"pod-900\"");
	refused("lists pod-900, which was never put");
	put_alloc("50m", "\"pod-3\"");
	(void)kit_put(&kit, "/schedules/0002/team-03/pod-3/state", bound);
	refused("pod 3 has two states");
	(void)kit_put(&kit, "/schedules/0000/team-03/pod-3/state", "{}");
	refused("state of pod 3: ");
	kit_close(&kit);
}
