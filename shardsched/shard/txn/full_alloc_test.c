/* Nodes whose allocs have no room for one pod more, though the nodes have. */
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

/* The pod's containers use ports of the host, from `from` on. */
static void put_like(const char *name, const char *notes, unsigned from, unsigned count)
{
	struct pl_buf buf = {.max = 1 << 20};
	char key[64];

	T_EQ(pl_buf_printf(
		     &buf,
		     "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
		     "\"u-%s\",\"annotations\":{%s}},\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":[",
		     name, name, notes),
	     PL_OK);
	for (unsigned i = 0; i < count; i++)
		T_EQ(pl_buf_printf(&buf, "%s{\"containerPort\":%u,\"hostPort\":%u}",
		                   i == 0 ? "" : ",", from + i, from + i),
		     PL_OK);
	T_EQ(pl_buf_printf(&buf, "]}]}}%c", 0), PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/spec", name);
	rig_put(&rig, key, (const char *)buf.at);
	pl_buf_done(&buf);
}

static void put_with_ports(const char *name, unsigned from, unsigned count)
{
	put_like(name, "", from, count);
}

/* n-1 has room, but its alloc has none for one port more. */
T_CASE_SECONDS(a_pod_that_does_not_go_into_the_alloc_goes_elsewhere, 60)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "64");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	put_with_ports("a", 1, ALLOC_PORTS_MAX / 2);
	put_with_ports("b", 1 + ALLOC_PORTS_MAX / 2, ALLOC_PORTS_MAX / 2);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a"), "n-1");
	T_STR(rig_where(&rig, 1, "b"), "n-1");
	put_with_ports("c", 9000, 1);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "c"), "Pending");
	rig_node(&rig, 0, "n-2", "1");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "c"), "n-2");
	/* As soon as a pod leaves there is room again. */
	put_with_ports("d", 9000, 1);
	rig_run_idle(&rig);
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "d"), "Pending");
	rig_put(&rig, "/alloc/0000/east/n-1", "{\"v\":1,\"generation\":9,\"left\":2}");
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "d"), "n-1");
	rig_close(&rig);
}

/* A reservation is an amount, and goes into an alloc into which the pods do not. */
T_CASE_SECONDS(a_gang_that_does_not_go_into_the_alloc_goes_elsewhere, 60)
{
	static const char gang[] =
		"\"placet.io/gang\":\"g\",\"placet.io/gang-min\":\"2\"";

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "64");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	put_with_ports("a", 1, ALLOC_PORTS_MAX / 2);
	put_with_ports("b", 1 + ALLOC_PORTS_MAX / 2, ALLOC_PORTS_MAX / 2 - 1);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "b"), "n-1");
	rig_node(&rig, 0, "n-2", "1");
	put_like("g-0", gang, 9000, 1);
	put_like("g-1", gang, 9001, 1);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "g-0"), "n-2");
	T_STR(rig_where(&rig, 1, "g-1"), "n-2");
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	rig_close(&rig);
}
