/* Victims whose labels are edited: the budgets that cover them by then are lowered. */
#include "shardsched/ledger/budget.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/sched_rig.h"

static struct rig rig;
static struct pl_arena arena;

static void pod(const char *name, const char *app, int priority)
{
	char key[128], json[512];

	(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/spec", name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{\"priority\":%d,"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"1\"}}}]}}",
	               name, name, app, priority);
	rig_put(&rig, key, json);
}

static void budget(const char *name, const char *app, unsigned healthy, unsigned allowed)
{
	char key[128], value[512];

	(void)snprintf(key, sizeof key, "/budgets/web/%s", name);
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"%s\",\"namespace\":"
	               "\"web\"},\"spec\":{\"minAvailable\":%u,\"selector\":{"
	               "\"matchLabels\":{\"app\":\"%s\"}}}},\"status\":{\"expected\":%u,"
	               "\"desired\":%u,\"healthy\":%u,\"allowed\":%u}}",
	               name, healthy - allowed, app, healthy, healthy - allowed, healthy,
	               allowed);
	rig_put_budget(&rig, key, value);
}

static struct budget_record record(const char *name)
{
	struct budget_record out = {0};
	char key[128];

	(void)snprintf(key, sizeof key, "/budgets/web/%s", name);
	T_OK(budget_record_parse(pl_span_str(rig_value(&rig, key)), &arena, &out,
	                         &rig.err),
	     &rig.err);
	return out;
}

static void says(const char *name, unsigned healthy, unsigned allowed, unsigned noted)
{
	struct budget_record it = record(name);

	T_EQ(it.status.healthy, healthy);
	T_EQ(it.status.allowed, allowed);
	T_EQ(it.disrupted_count, noted);
}

static const char *phase_of(const char *name)
{
	int phase;

	(void)rig_state(&rig, 1, name, &phase);
	return phase < 0 ? "" : state_phase_word((enum state_phase)phase);
}

/* Two nodes of two pods each: a-0, b-0 and a-1, b-1. */
static void up(void)
{
	rig_open(&rig, NULL);
	pl_arena_init(&arena, 0, 0);
	rig_node(&rig, 0, "n-1", "2");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	pod("a-0", "a", 1);
	pod("b-0", "b", 2);
	rig_settle(&rig);
	rig_node(&rig, 0, "n-2", "2");
	pod("a-1", "a", 1);
	pod("b-1", "b", 2);
	rig_settle(&rig);
	T_STR(phase_of("a-0"), "Bound");
	T_STR(phase_of("b-1"), "Bound");
}

static void down(void)
{
	T_EQ(rig.garbled, 0);
	rig_close(&rig);
	pl_arena_done(&arena);
}

static unsigned terminating(const char *app)
{
	char name[32];
	unsigned count = 0;

	for (unsigned i = 0; i < 2; i++) {
		(void)snprintf(name, sizeof name, "%s-%u", app, i);
		count += strcmp(phase_of(name), "Terminating") == 0;
	}
	return count;
}

/* While the plan waits for its turn; heard of. */
T_CASE(who_is_covered_since_the_plan_was_made_lowers_his_budget)
{
	up();
	budget("z", "z", 5, 0);
	rig_settle(&rig);
	rig.sched->commits += SCHED_INFLIGHT_MAX; /* there is no call for it */
	pod("high", "h", 10);
	rig_deliver_all(&rig);
	rig_run(&rig);
	T_TRUE(!pl_list_empty(&rig.sched->shields.plans));
	pod("a-0", "z", 1);
	pod("a-1", "z", 1);
	rig_deliver_all(&rig);
	rig.sched->commits -= SCHED_INFLIGHT_MAX;
	rig_settle(&rig);
	rig.now_ms += 2000;
	rig_settle(&rig);
	if (terminating("a") == 1)
		says("z", 4, 0, 1);
	else
		T_EQ(terminating("b"), 1);
	down();
}

T_CASE(who_is_covered_before_is_spared)
{
	up();
	budget("z", "z", 5, 0);
	pod("a-0", "z", 1);
	pod("a-1", "z", 1);
	rig_settle(&rig);
	pod("high", "h", 10);
	rig_settle(&rig);
	T_EQ(terminating("a"), 0);
	T_EQ(terminating("b"), 1);
	down();
}

static void pod_of_others(const char *name, const char *app)
{
	char key[128], json[512];

	(void)snprintf(key, sizeof key, "/schedules/0002/web/%s/spec", name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{\"priority\":1,"
	               "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
	               "\"cpu\":\"1\"}}}]}}",
	               name, name, app);
	rig_put(&rig, key, json);
}

/* On a node of ours; its labels were edited some time ago, and a budget covers it. */
static void others_relabelled(bool before)
{
	int phase;

	rig_open(&rig, NULL);
	pl_arena_init(&arena, 0, 0);
	rig_node(&rig, 0, "n-1", "1");
	for (uint32_t p = 0; p < 3; p++)
		rig_own(&rig, p);
	pod_of_others("a-0", before ? "z" : "a");
	rig_settle(&rig);
	budget("z", "z", 5, 2);
	rig_settle(&rig);
	rig_lost(&rig, 2);
	rig_settle(&rig);
	if (!before)
		pod_of_others("a-0", "z");
	rig.now_ms += 60000;
	rig_settle(&rig);
	pod("high", "h", 10);
	rig_settle(&rig);
	rig.now_ms += 2000;
	rig_settle(&rig);
	(void)rig_state(&rig, 2, "a-0", &phase);
	T_EQ(phase, STATE_TERMINATING);
	says("z", 4, 1, 1);
	down();
}

T_CASE(one_of_others_that_is_covered_is_noted)
{
	others_relabelled(true);
}

T_CASE(so_is_one_that_is_covered_since_an_edit)
{
	others_relabelled(false);
}
