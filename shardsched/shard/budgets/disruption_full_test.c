/* Budgets that can note no more victims: the pods that they protect cannot be told to
 * leave. */
#include "shardsched/records/budget_record.h"
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static void pod_of(const char *name, const char *app, int priority, const char *cpu)
{
	char key[128], json[512];

	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/spec", name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{\"priority\":%d,"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"%s\"}}}]}}",
	               name, name, app, priority, cpu);
	rig_put(&rig, key, json);
}

static void pod(const char *name, const char *app, int priority)
{
	pod_of(name, app, priority, "1");
}

/* A budget over pods with that label, with that many notes. */
static void budget(const char *app, unsigned notes)
{
	struct pl_buf buf = {.max = 1 << 20};
	char key[64];

	T_EQ(pl_buf_printf(
		     &buf,
		     "{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"%s\",\"namespace\":"
		     "\"web\"},\"spec\":{\"minAvailable\":1,\"selector\":{"
		     "\"matchLabels\":{\"app\":\"%s\"}}}},\"status\":{\"expected\":3000,"
		     "\"desired\":1,\"healthy\":900,\"allowed\":899},\"disrupted\":{",
		     app, app),
	     PL_OK);
	for (unsigned i = 0; i < notes; i++)
		T_EQ(pl_buf_printf(&buf, "%s\"a-%06u\":\"7\"", i == 0 ? "" : ",", i),
		     PL_OK);
	T_EQ(pl_buf_printf(&buf, "}}%c", 0), PL_OK);
	(void)snprintf(key, sizeof key, "/budgets/web/%s", app);
	rig_put_budget(&rig, key, (const char *)buf.at);
	pl_buf_done(&buf);
}

static void up_with(unsigned notes, const char *cpu)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", cpu);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	pod("a-x", "a", 1);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a-x"), "n-1");
	budget("a", notes);
	rig_run_idle(&rig);
}

static void up(unsigned notes)
{
	up_with(notes, "1");
}

static void run_for(uint64_t ms)
{
	for (uint64_t end = rig.now_ms + ms; rig.now_ms < end; rig.now_ms += 500)
		rig_run_idle(&rig);
}

static void down(void)
{
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

T_CASE(a_budget_with_room_for_a_note_is_lowered)
{
	up(BUDGET_DISRUPTED_MAX - 1);
	pod("high", "h", 10);
	run_for(5000);
	T_STR(rig_where(&rig, 1, "a-x"), "Terminating");
	down();
}

T_CASE(a_pod_under_a_full_budget_stays_until_there_is_room)
{
	up(BUDGET_DISRUPTED_MAX);
	pod("high", "h", 10);
	run_for(60000);
	T_STR(rig_where(&rig, 1, "a-x"), "n-1");
	T_STR(rig_where(&rig, 1, "high"), "Pending");
	T_EQ(rig.troubles, 0);
	budget("a", BUDGET_DISRUPTED_MAX - 1);
	run_for(20000);
	T_STR(rig_where(&rig, 1, "a-x"), "Terminating");
	down();
}

T_CASE(a_pod_under_a_full_budget_stays_until_it_is_deleted)
{
	up(BUDGET_DISRUPTED_MAX);
	pod("high", "h", 10);
	run_for(5000);
	T_STR(rig_where(&rig, 1, "a-x"), "n-1");
	rig_del_budget(&rig, "/budgets/web/a");
	run_for(20000);
	T_STR(rig_where(&rig, 1, "a-x"), "Terminating");
	down();
}

/* The pod there is more important, and no budget covers it. */
T_CASE(another_pod_leaves_instead_of_an_exempt_one)
{
	up(BUDGET_DISRUPTED_MAX);
	rig_node(&rig, 0, "n-2", "1");
	pod("b-x", "b", 2);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "b-x"), "n-2");
	pod("high", "h", 10);
	run_for(20000);
	T_STR(rig_where(&rig, 1, "b-x"), "Terminating");
	T_STR(rig_where(&rig, 1, "a-x"), "n-1");
	down();
}

/* Two budgets cover the pod, and only one of them gets room. */
T_CASE(room_in_one_of_two_budgets_does_not_help)
{
	up(BUDGET_DISRUPTED_MAX);
	rig_put_budget(&rig, "/budgets/web/b",
	               "{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"b\",\"namespace\":"
	               "\"web\"},\"spec\":{\"minAvailable\":1,\"selector\":{"
	               "\"matchLabels\":{\"app\":\"a\"}}}},\"status\":{\"expected\":3000,"
	               "\"desired\":1,\"healthy\":900,\"allowed\":899}}");
	pod("high", "h", 10);
	run_for(20000);
	T_STR(rig_where(&rig, 1, "a-x"), "n-1");
	budget("a", 1);
	run_for(20000);
	T_STR(rig_where(&rig, 1, "a-x"), "Terminating");
	down();
}

/* Both pods have to leave, or neither does. */
static void two_of(unsigned notes, unsigned gone)
{
	struct alloc alloc;
	unsigned leaving = 0;

	up_with(notes, "2");
	pod("a-y", "a", 1);
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 1, "a-y"), "n-1");
	pod_of("high", "h", 10, "2");
	run_for(5000);
	alloc = rig_alloc(&rig, 0, "n-1");
	for (uint32_t i = 0; i < alloc.pods; i++)
		leaving += alloc.pod[i].leaving;
	T_EQ(leaving, gone);
	T_EQ(alloc.holds, gone > 0);
	T_EQ(rig.troubles, 0);
	down();
}

T_CASE(no_pod_leaves_when_a_budget_has_room_for_one_of_two)
{
	two_of(BUDGET_DISRUPTED_MAX - 2, 2);
	two_of(BUDGET_DISRUPTED_MAX - 1, 0);
}

/* Nothing of the plan can be written, not even one victim. */
T_CASE(a_plan_that_cannot_be_written_is_reported_and_not_retried_at_once)
{
	up(100);
	sched_set_limits(rig.sched, (struct kv_limits){.request_bytes = 2500});
	pod("high", "h", 10);
	run_for(30000);
	T_STR(rig_where(&rig, 1, "a-x"), "n-1");
	T_TRUE(rig.troubles > 0 && rig.troubles < 10);
	T_TRUE(strstr(rig.said, "east/n-1: making room does not go into a transaction") !=
	       NULL);
	sched_set_limits(rig.sched, (struct kv_limits){0});
	run_for(20000);
	T_STR(rig_where(&rig, 1, "a-x"), "Terminating");
	down();
}

/* One of two pods that a full budget covers is to leave, and both are exempt: memory may
 * fail while the node is marked, which then leaves the snapshot, with the plan. */
static bool exempt_failing(uint64_t nth)
{
	bool fired;

	rig_open(&rig, &(struct sched_opts){.ready_classes = 1});
	rig_node(&rig, 0, "n-1", "2");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	pod("a-x", "a", 1);
	pod("a-y", "a", 2); /* of another class */
	rig_run_idle(&rig);
	budget("a", BUDGET_DISRUPTED_MAX);
	rig_run_idle(&rig);
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	fired = rig_run_failing(&rig, nth);
	run_for(30000);
	T_STR(rig_where(&rig, 1, "a-x"), "n-1");
	T_STR(rig_where(&rig, 1, "a-y"), "n-1");
	budget("a", 1);
	run_for(30000);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	rig_close(&rig);
	return fired;
}

T_CASE_SECONDS(any_allocation_may_fail_while_pods_are_made_exempt, 120)
{
	bool fired = true;

	for (uint64_t nth = 1; fired; nth++)
		fired = exempt_failing(nth);
}
