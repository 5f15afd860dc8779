#include "coord/service/budgets/budget_edit.h"
#include "coord/service/budgets/budget_list.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct service service;
static struct pl_arena arena;
static struct budget_edit *edit;
static unsigned dones;
static enum budget_outcome outcome;
static int64_t revision;
static int64_t seen; /* BUDGET_ANY_REVISION but in some cases */
static struct pl_err failure;

static void on_list(void *ctx, const struct pl_err *err)
{
	(void)ctx;
	dones++;
	failure = err == NULL ? (struct pl_err){0} : *err;
}

static void on_edit(void *ctx, enum budget_outcome what, int64_t at,
                    const struct pl_err *err)
{
	outcome = what;
	revision = at;
	on_list(ctx, err);
}

static void up(void)
{
	kit_open(&kit, NULL);
	service = (struct service){.kv = kit.kv, .partitions = 8, .timeout_ms = 1000};
	pl_arena_init(&arena, 0, 0);
	dones = 0;
	seen = BUDGET_ANY_REVISION;
}

static void down(void)
{
	pl_arena_done(&arena);
	kit_close(&kit);
}

static struct budget_object budget(const char *app, unsigned min)
{
	struct budget_object out;
	char json[300];

	(void)snprintf(
		json, sizeof json,
		"{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\","
		"\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},\"spec\":{"
		"\"minAvailable\":%u,\"selector\":{\"matchLabels\":{\"app\":\"%s\"}}}}",
		min, app);
	T_OK(budget_object_read(&arena, pl_arena_dup(&arena, pl_span_str(json)),
	                        PL_SPAN_LIT("shop"), &out, &kit.err),
	     &kit.err);
	return out;
}

static void start_put(const char *app, unsigned min)
{
	struct budget_object object = budget(app, min);

	dones = 0;
	T_OK(budget_put_start(&service, &object, seen, on_edit, NULL, &edit, &kit.err),
	     &kit.err);
	T_EQ(dones, 0);
}

static enum pl_code put(const char *app, unsigned min)
{
	start_put(app, min);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	return failure.code;
}

static void start_delete(void)
{
	dones = 0;
	T_OK(budget_delete_start(&service, PL_SPAN_LIT("shop"), PL_SPAN_LIT("web"), seen,
	                         on_edit, NULL, &edit, &kit.err),
	     &kit.err);
	T_EQ(dones, 0);
}

static enum pl_code delete (void) {
	start_delete(); kit_until(&kit, kit.now_ms + 10); T_EQ(dones, 1);
	return failure.code;
}

static int64_t lock_revision(void)
{
	T_EQ(kit_get_at(&kit, kv_key(PL_SPAN_LIT("/budgets/lock")), 0), PL_OK);
	return kit.result.get.count == 0 ? 0 : kit.result.get.records[0].mod_revision;
}

T_CASE(put_creates_then_changes_then_leaves_alone)
{
	int64_t lock;

	up();
	T_CODE(put("web", 1), PL_OK, &failure);
	T_EQ(outcome, BUDGET_CREATED);
	lock = lock_revision();
	T_TRUE(lock > 0);
	T_CODE(put("web", 2), PL_OK, &failure);
	T_EQ(outcome, BUDGET_CHANGED);
	T_CODE(put("web", 2), PL_OK, &failure);
	T_EQ(outcome, BUDGET_UNCHANGED);
	T_EQ(lock_revision(), lock); /* the same budgets are there */
	down();
}

T_CASE(a_selector_is_not_changed)
{
	up();
	T_CODE(put("web", 1), PL_OK, &failure);
	T_CODE(put("db", 1), PL_EXISTS, &failure);
	down();
}

T_CASE(delete_bumps_the_lock)
{
	int64_t lock;

	up();
	T_CODE(put("web", 1), PL_OK, &failure);
	lock = lock_revision();
	T_CODE(delete (), PL_OK, &failure);
	T_TRUE(lock_revision() > lock);
	T_CODE(delete (), PL_NOTFOUND, &failure);
	down();
}

T_CASE(a_malformed_budget_is_not_overwritten_but_deleted)
{
	up();
	(void)kit_put(&kit, "/budgets/shop/web", "{");
	T_TRUE(put("web", 1) != PL_OK);
	T_CODE(delete (), PL_OK, &failure);
	T_CODE(put("web", 1), PL_OK, &failure);
	down();
}

T_CASE(edits_at_the_same_time_are_both_applied)
{
	struct budget_object first, second;

	up();
	first = budget("web", 1);
	second = budget("web", 2);
	T_OK(budget_put_start(&service, &first, seen, on_edit, NULL, &edit, &kit.err),
	     &kit.err);
	T_OK(budget_put_start(&service, &second, seen, on_edit, NULL, &edit, &kit.err),
	     &kit.err);
	kit_until(&kit, 10);
	T_EQ(dones, 2);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(outcome, BUDGET_CHANGED); /* the one that was refused at first */
	T_CODE(put("web", 2), PL_OK, &failure);
	T_EQ(outcome, BUDGET_UNCHANGED);
	down();
}

T_CASE(an_edit_of_an_older_version_is_refused)
{
	int64_t first;

	up();
	seen = 0;
	T_CODE(put("web", 1), PL_OK, &failure);
	first = revision;
	T_EQ(first, lock_revision()); /* of the same transaction */
	T_CODE(put("web", 2), PL_CONFLICT, &failure);
	seen = first;
	T_CODE(put("web", 2), PL_OK, &failure);
	T_TRUE(revision > first);
	T_CODE(put("web", 3), PL_CONFLICT, &failure);
	T_CODE(put("web", 2), PL_CONFLICT,
	       &failure); /* another client's, though the same */
	T_CODE(delete (), PL_CONFLICT, &failure);
	seen = revision = kit_put(&kit, "/budgets/shop/web", "{");
	T_CODE(delete (), PL_OK, &failure);
	T_CODE(put("web", 1), PL_CONFLICT, &failure);
	down();
}

T_CASE(of_two_edits_of_one_version_one_is_refused)
{
	struct budget_object first, second;

	up();
	T_CODE(put("web", 1), PL_OK, &failure);
	seen = revision;
	first = budget("web", 2);
	second = budget("web", 3);
	dones = 0;
	T_OK(budget_put_start(&service, &first, seen, on_edit, NULL, &edit, &kit.err),
	     &kit.err);
	T_OK(budget_put_start(&service, &second, seen, on_edit, NULL, &edit, &kit.err),
	     &kit.err);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 2);
	T_CODE(failure.code, PL_CONFLICT, &failure);
	seen = BUDGET_ANY_REVISION;
	T_CODE(put("web", 2), PL_OK, &failure);
	T_EQ(outcome, BUDGET_UNCHANGED);
	down();
}

/* The answer to its transaction is lost: the edit finds its own budget, not another's. */
T_CASE(an_edit_knows_its_own_write_again)
{
	static const struct faulty_rule rule = {.what = FAULTY_LOSE_ANSWER,
	                                        .ops = 1u << KV_TXN,
	                                        .per_mille = 1000,
	                                        .delay_max_ms = 1};
	struct kv *faulty = NULL;

	up();
	T_OK(faulty_open(kit.kv, t_seed(), &rule, 1, &faulty, &kit.err), &kit.err);
	service.kv = faulty;
	seen = 0;
	start_put("web", 1);
	kit_until(&kit, kit.now_ms + 5000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(outcome, BUDGET_CREATED);
	T_EQ(revision, lock_revision());
	kit.kv = faulty;
	down();
}

T_CASE(cancel_ends_an_edit_through_done)
{
	up();
	start_put("web", 1);
	budget_edit_cancel(edit);
	T_EQ(dones, 0);
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	down();
}

T_CASE(budgets_are_listed_by_namespace)
{
	struct budget_list_opts opts = {.namespace = PL_SPAN_LIT("shop"),
	                                .done = on_list};
	const struct budget_info *budgets;
	struct budget_list *list;
	size_t count;

	up();
	T_CODE(put("web", 1), PL_OK, &failure);
	(void)kit_put(&kit, "/budgets/shop/bad", "{");
	(void)kit_put(&kit, "/budgets/zoo/web", "{");
	dones = 0;
	T_OK(budget_list_start(&service, &opts, &list, &kit.err), &kit.err);
	T_EQ(dones, 0);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	budgets = budget_list_budgets(list, &count);
	T_EQ(count, 2);
	T_SPAN(budgets[0].name, PL_SPAN_LIT("bad"));
	T_TRUE(budgets[0].note.len > 0);
	T_SPAN(budgets[1].name, PL_SPAN_LIT("web"));
	T_EQ(budgets[1].rule.amount, 1);
	T_TRUE(!budgets[1].counted);
	budget_list_free(list);
	down();
}

T_CASE(the_tick_is_no_budget)
{
	struct budget_list_opts opts = {.done = on_list};
	struct budget_list *list;
	size_t count;

	up();
	T_CODE(put("web", 1), PL_OK, &failure);
	(void)kit_put(&kit, "/budgets/tick", "{\"v\":1}");
	dones = 0;
	T_OK(budget_list_start(&service, &opts, &list, &kit.err), &kit.err);
	kit_until(&kit, kit.now_ms + 10);
	T_EQ(dones, 1);
	(void)budget_list_budgets(list, &count);
	T_EQ(count, 1);
	budget_list_free(list);
	down();
}
