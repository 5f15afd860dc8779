/* Golden stories of bindings: which plugins are called, in which order, and how each
 * binding ends. */
#include "shardsched/framework/binding.h"
#include "store/base/rng.h"
#include "tests/support/shardsched/snapshot/snapshot_rig.h"

enum { SORT, QUOTA, DISK, GANG, BUDGET, MOUNT, PROXY, BINDER, AUDIT, ROWS };

/* The answer of each plugin; a Permit plugin that waits does so for the time below. */
static enum verdict_code answer[ROWS];
static uint64_t wait_ms[ROWS];
static char story[1000];

static struct profiles profiles;
static struct cycle *cycle;
static struct fw_class *class;
static struct binding binding;

static enum verdict_code record_call(const char *what, unsigned row,
                                     struct verdict *verdict)
{
	size_t len = strlen(story);

	T_TRUE(len + 40 < sizeof story);
	(void)snprintf(story + len, sizeof story - len, "%s%s", len == 0 ? "" : " ",
	               what);
	if (answer[row] != VERDICT_SUCCESS && verdict != NULL)
		verdict_add(verdict, answer[row], &(struct reason){.code = REASON_PORTS});
	return answer[row];
}

#define RESERVES(name, row)                                                             \
	static enum verdict_code reserve_##name(const struct plugin_call *call,         \
	                                        uint32_t slot, struct verdict *verdict) \
	{                                                                               \
		T_TRUE(slot == 3 && call->change == &snapshot && call->pod->uid == 77); \
		return record_call("+" #name, row, verdict);                            \
	}                                                                               \
	static void unreserve_##name(const struct plugin_call *call, uint32_t slot)     \
	{                                                                               \
		T_TRUE(slot == 3 && call->change == &snapshot);                         \
		(void)record_call("-" #name, row, NULL);                                \
	}
#define PERMITS(name, row)                                                     \
	static enum verdict_code permit_##name(const struct plugin_call *call, \
	                                       uint32_t slot, uint64_t *wait,  \
	                                       struct verdict *verdict)        \
	{                                                                      \
		T_TRUE(slot == 3 && call->change == NULL);                     \
		*wait = wait_ms[row];                                          \
		return record_call("?" #name, row, verdict);                   \
	}
#define BINDS(name, row)                                                             \
	static enum verdict_code bind_##name(const struct plugin_call *call,         \
	                                     uint32_t slot, struct verdict *verdict) \
	{                                                                            \
		T_TRUE(slot == 3 && call->state == NULL);                            \
		return record_call("=" #name, row, verdict);                         \
	}

RESERVES(quota, QUOTA)
RESERVES(disk, DISK)
PERMITS(gang, GANG)
PERMITS(budget, BUDGET)
BINDS(mount, MOUNT)
BINDS(proxy, PROXY)
BINDS(binder, BINDER)

static void post_bind_audit(const struct plugin_call *call, uint32_t slot)
{
	T_TRUE(slot == 3 && call->pod->uid == 77);
	(void)record_call("!audit", AUDIT, NULL);
}

static const enum queue_sort by_priority = QUEUE_BY_PRIORITY;
static const struct plugin row_sort = {.name = "Sort", .sort = &by_priority};
static const struct plugin row_quota = {
	.name = "Quota", .reserve = reserve_quota, .unreserve = unreserve_quota};
static const struct plugin row_disk = {
	.name = "Disk", .reserve = reserve_disk, .unreserve = unreserve_disk};
static const struct plugin row_gang = {.name = "Gang", .permit = permit_gang};
static const struct plugin row_budget = {.name = "Budget", .permit = permit_budget};
static const struct plugin row_mount = {.name = "Mount", .pre_bind = bind_mount};
static const struct plugin row_proxy = {.name = "Proxy", .bind = bind_proxy};
static const struct plugin row_binder = {.name = "Binder", .bind = bind_binder};
static const struct plugin row_audit = {.name = "Audit", .post_bind = post_bind_audit};

static const struct plugin *const rows[] = {&row_sort,  &row_quota,  &row_disk,
                                            &row_gang,  &row_budget, &row_mount,
                                            &row_proxy, &row_binder, &row_audit};
static const struct plugin_table table = {rows, ROWS, 0x1ff};

static void story_begin(void)
{
	struct cycle_opts opts = {.snapshot = &snapshot};
	struct pod pod;

	begin();
	memset(answer, 0, sizeof answer);
	memset(wait_ms, 0, sizeof wait_ms);
	answer[PROXY] = VERDICT_SKIP;
	story[0] = 0;
	T_OK(profiles_parse(&model, &table, (struct pl_span){0}, &profiles, &err), &err);
	pod = pod_from("{'metadata':{'name':'p'}}");
	T_OK(fw_class_open(&snapshot, &profiles.at[0], pod.spec, &class, &err), &err);
	T_OK(cycle_new(&opts, &cycle, &err), &err);
	pod_drop(&model, &pod);
}

static void story_end(const char *want)
{
	T_STR(story, want);
	cycle_free(cycle);
	fw_class_close(&snapshot, class);
	profiles_drop(&profiles);
	end();
}

static enum binding_state start(void)
{
	const struct pod_self self = {.uid = 77};

	return binding_start(&binding, cycle, class, &self, 3, 1000);
}

T_CASE(bound_pod_goes_through_all_points)
{
	story_begin();
	T_EQ(start(), BINDING_ALLOWED);
	T_EQ(binding_deadline_ms(&binding), UINT64_MAX);
	T_EQ(binding_commit(&binding), BINDING_COMMITTING);
	T_EQ(binding_committed(&binding, true), BINDING_BOUND);
	T_EQ(binding_cancel(&binding), BINDING_BOUND);
	story_end("+quota +disk ?gang ?budget =mount =proxy =binder !audit");
}

T_CASE(failed_reserve_unreserves_in_reverse_order)
{
	story_begin();
	answer[DISK] = VERDICT_UNRESOLVABLE;
	T_EQ(start(), BINDING_UNDONE);
	T_EQ(binding.why.code, VERDICT_UNRESOLVABLE);
	T_EQ(binding.why.plugin, DISK);
	T_EQ(binding.why.reason[0].code, REASON_PORTS);
	story_end("+quota +disk -disk -quota");
}

T_CASE(binding_waits_for_every_permit_plugin)
{
	story_begin();
	answer[GANG] = answer[BUDGET] = VERDICT_WAIT;
	wait_ms[GANG] = 500;
	wait_ms[BUDGET] = 200;
	T_EQ(start(), BINDING_WAITING);
	T_EQ(binding_deadline_ms(&binding), 1200);
	T_EQ(binding_expire(&binding, 1199), BINDING_WAITING);
	T_EQ(binding_allow(&binding, BUDGET), BINDING_WAITING);
	T_EQ(binding_allow(&binding, BUDGET), BINDING_WAITING);
	T_EQ(binding_deny(&binding, BUDGET, NULL), BINDING_WAITING);
	T_EQ(binding_deadline_ms(&binding), 1500);
	T_EQ(binding_allow(&binding, GANG), BINDING_ALLOWED);
	T_EQ(binding_expire(&binding, UINT64_MAX), BINDING_ALLOWED);
	T_EQ(binding_deny(&binding, GANG, NULL), BINDING_ALLOWED);
	T_EQ(binding_commit(&binding), BINDING_COMMITTING);
	story_end("+quota +disk ?gang ?budget =mount =proxy =binder");
}

T_CASE(late_permit_plugin_denies_the_pod)
{
	story_begin();
	answer[GANG] = answer[BUDGET] = VERDICT_WAIT;
	wait_ms[GANG] = UINT64_MAX;
	wait_ms[BUDGET] = BINDING_WAIT_MAX_MS - 1;
	T_EQ(start(), BINDING_WAITING);
	T_EQ(binding_expire(&binding, 1000 + BINDING_WAIT_MAX_MS - 1), BINDING_UNDONE);
	T_EQ(binding.why.plugin, BUDGET);
	T_EQ(binding.why.code, VERDICT_UNSCHEDULABLE);
	T_EQ(binding.why.reason[0].code, REASON_PERMIT_LATE);
	T_EQ(binding_deadline_ms(&binding), UINT64_MAX);
	T_EQ(binding_allow(&binding, GANG), BINDING_UNDONE);
	story_end("+quota +disk ?gang ?budget -disk -quota");
}

T_CASE(one_denial_is_enough)
{
	const struct verdict verdict = {.count = 1, .reason = {{.code = REASON_TAINT}}};

	story_begin();
	answer[GANG] = VERDICT_UNSCHEDULABLE;
	T_EQ(start(), BINDING_UNDONE);
	T_EQ(binding.why.plugin, GANG);
	answer[GANG] = VERDICT_WAIT;
	wait_ms[GANG] = 9;
	T_EQ(start(), BINDING_WAITING);
	T_EQ(binding_deny(&binding, GANG, &verdict), BINDING_UNDONE);
	T_EQ(binding.why.code, VERDICT_UNSCHEDULABLE);
	T_EQ(binding.why.plugin, GANG);
	T_EQ(binding.why.reason[0].code, REASON_TAINT);
	story_end("+quota +disk ?gang -disk -quota "
	          "+quota +disk ?gang ?budget -disk -quota");
}

T_CASE(denial_does_not_wait_for_other_plugins)
{
	story_begin();
	answer[GANG] = VERDICT_WAIT;
	wait_ms[GANG] = 100;
	answer[BUDGET] = VERDICT_ERROR;
	T_EQ(start(), BINDING_UNDONE);
	T_EQ(binding.why.code, VERDICT_ERROR);
	T_EQ(binding.why.plugin, BUDGET);
	T_EQ(binding_deadline_ms(&binding), UINT64_MAX);
	story_end("+quota +disk ?gang ?budget -disk -quota");
}

T_CASE(unwritten_commit_is_undone)
{
	story_begin();
	T_EQ(start(), BINDING_ALLOWED);
	T_EQ(binding_commit(&binding), BINDING_COMMITTING);
	T_EQ(binding_committed(&binding, false), BINDING_UNDONE);
	answer[MOUNT] = VERDICT_ERROR;
	T_EQ(start(), BINDING_ALLOWED);
	T_EQ(binding_commit(&binding), BINDING_UNDONE);
	T_EQ(binding.why.plugin, MOUNT);
	story_end("+quota +disk ?gang ?budget =mount =proxy =binder -disk -quota "
	          "+quota +disk ?gang ?budget =mount -disk -quota");
}

T_CASE(pod_that_no_plugin_binds_is_undone)
{
	story_begin();
	answer[BINDER] = VERDICT_SKIP;
	T_EQ(start(), BINDING_ALLOWED);
	T_EQ(binding_commit(&binding), BINDING_UNDONE);
	T_EQ(binding.why.code, VERDICT_ERROR);
	T_EQ(binding.why.plugin, -1);
	answer[PROXY] = VERDICT_SUCCESS;
	T_EQ(start(), BINDING_ALLOWED);
	T_EQ(binding_commit(&binding), BINDING_COMMITTING);
	story_end("+quota +disk ?gang ?budget =mount =proxy =binder -disk -quota "
	          "+quota +disk ?gang ?budget =mount =proxy");
}

T_CASE(canceled_binding_is_undone)
{
	story_begin();
	answer[GANG] = VERDICT_WAIT;
	wait_ms[GANG] = 100;
	T_EQ(start(), BINDING_WAITING);
	T_EQ(binding_cancel(&binding), BINDING_UNDONE);
	T_EQ(binding.why.code, VERDICT_SUCCESS);
	T_EQ(binding_cancel(&binding), BINDING_UNDONE);
	T_STR(binding_state_name(binding.state), "undone");
	story_end("+quota +disk ?gang ?budget -disk -quota");
}
