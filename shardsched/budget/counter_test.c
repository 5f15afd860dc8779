#include "tests/harness/torture.h"
#include "tests/support/shardsched/budget/counter_rig.h"

static struct rig rig;
static struct pl_arena arena;

static void up(void)
{
	rig_open(&rig);
	pl_arena_init(&arena, 0, 0);
}

static void down(void)
{
	counter_check(rig.counter);
	rig_close(&rig);
	pl_arena_done(&arena);
}

static struct budget_record record(const char *key)
{
	struct budget_record out = {0};

	T_TRUE(rig_read(&rig, key, &arena, &out));
	return out;
}

static void says(const char *key, uint32_t expected, uint32_t desired, uint32_t healthy,
                 uint32_t allowed)
{
	struct budget_record it = record(key);

	T_TRUE(it.counted);
	T_EQ(it.status.expected, expected);
	T_EQ(it.status.desired, desired);
	T_EQ(it.status.healthy, healthy);
	T_EQ(it.status.allowed, allowed);
}

static void four_bound(void)
{
	rig_pod(&rig, "web", "a-0", "a");
	rig_pod(&rig, "web", "a-1", "a");
	rig_pod(&rig, "web", "a-2", "a");
	rig_pod(&rig, "web", "a-3", "a");
	rig_pod(&rig, "web", "b-0", "b");
	rig_pod(&rig, "shop", "a-0", "a");
	for (int i = 0; i < 4; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "a-%d", i);
		rig_state(&rig, "web", name, "Bound", "");
	}
	rig_state(&rig, "web", "b-0", "Bound", "");
}

T_CASE(covered_pods_are_counted)
{
	up();
	four_bound();
	rig_budget(&rig, "web", "a", "\"maxUnavailable\":1", "a");
	rig_budget(&rig, "web", "none", "\"minAvailable\":0", "c");
	T_EQ(rig_settle(&rig), 2);
	says("/budgets/web/a", 4, 3, 4, 1);
	says("/budgets/web/none", 0, 0, 0, 0);
	rig_pod(&rig, "web", "a-4", "a"); /* is to run, and does not yet */
	T_EQ(rig_settle(&rig), 1);
	says("/budgets/web/a", 5, 4, 4, 0);
	rig_state(&rig, "web", "a-4", "Bound", "");
	T_EQ(rig_settle(&rig), 1);
	says("/budgets/web/a", 5, 4, 5, 1);
	T_EQ(rig_settle(&rig), 0);
	down();
}

static const struct {
	const char *phase, *more;
	uint32_t expected, healthy;
} states[] = {
	{"Pending", "", 4, 3},
	{"Pending", "\"ask\":\"delete\",", 3, 3},
	{"Bound", "", 4, 4},
	{"Bound", "\"ask\":\"evict\",", 4, 3},
	{"Bound", "\"ask\":\"delete\",", 3, 3},
	{"Bound", "\"ended\":\"Gone\",", 4, 3},
	{"Terminating", "\"next\":\"Pending\",", 4, 3},
	{"Terminating", "", 3, 3},
	{"Succeeded", "", 3, 3},
	{"Failed", "", 3, 3},
	{"Nonsense", "", 4, 3},
};

T_CASE(state_decides_how_a_pod_counts)
{
	up();
	four_bound();
	rig_budget(&rig, "web", "a", "\"minAvailable\":\"50%\"", "a");
	(void)rig_settle(&rig);
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
		struct budget_record it;

		rig_state(&rig, "web", "a-1", states[i].phase, states[i].more);
		(void)rig_settle(&rig);
		it = record("/budgets/web/a");
		T_EQ(it.status.expected, states[i].expected);
		T_EQ(it.status.healthy, states[i].healthy);
		T_EQ(it.status.desired, 2);
		counter_check(rig.counter);
	}
	(void)rig_put(&rig, "/schedules/0003/web/a-1/state", NULL);
	(void)rig_put(&rig, "/schedules/0003/web/a-1/spec", NULL);
	(void)rig_settle(&rig);
	says("/budgets/web/a", 3, 2, 3, 1);
	down();
}

T_CASE(spec_of_another_pod_counts_for_nothing)
{
	static const char empty[] = "{\"v\":1,\"phase\":\"Bound\"}";
	static const char nameless[] =
		"{\"metadata\":{\"namespace\":\"web\",\"labels\":{\"app\":\"a\"}}}";
	static const char others[] = "{\"metadata\":{\"namespace\":\"shop\",\"name\":"
				     "\"a-1\",\"labels\":{\"app\":\"a\"}}}";
	static const char *const specs[] = {empty, nameless, others};

	up();
	four_bound();
	rig_budget(&rig, "web", "a", "\"minAvailable\":\"50%\"", "a");
	(void)rig_settle(&rig);
	says("/budgets/web/a", 4, 2, 4, 2);
	for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
		(void)rig_put(&rig, "/schedules/0003/web/a-1/spec", specs[i]);
		(void)rig_settle(&rig);
		says("/budgets/web/a", 3, 2, 3, 1);
		rig_pod(&rig, "web", "a-1", "a");
		(void)rig_settle(&rig);
		says("/budgets/web/a", 4, 2, 4, 2);
	}
	down();
}

/* Writes both in one revision, as a shard does. */
static int64_t disturb(const char *name)
{
	struct budget_record it = record("/budgets/web/a");
	char state[RIG_KEY], value[RIG_VALUE];
	struct budget_disrupted pod = {.name = pl_span_str(name)};
	struct pl_buf buf;

	(void)snprintf(state, sizeof state, "/schedules/0003/web/%s/state", name);
	pod.state_rev = rig_at(&rig, state)->rev;
	T_OK(budget_record_disrupt(&it, &pod, 1, &arena, &it, &rig.err), &rig.err);
	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	T_OK(budget_record_print(&it, &buf, &rig.err), &rig.err);
	T_EQ(pl_buf_add(&buf, pl_span("", 1)), PL_OK);
	rig.rev++;
	rig_write(&rig, "/budgets/web/a", (const char *)buf.at);
	rig_state_text("Terminating", "\"next\":\"Pending\",", value);
	rig_write(&rig, state, value);
	pl_buf_done(&buf);
	return rig.rev;
}

T_CASE(late_count_gives_no_disruption_back)
{
	struct counter_put put;

	up();
	four_bound();
	rig_budget(&rig, "web", "a", "\"maxUnavailable\":1", "a");
	(void)rig_settle(&rig);
	(void)disturb("a-1");
	says("/budgets/web/a", 4, 3, 3, 0);
	/* The budget is heard of, and its pods are not. */
	while (rig_feed_one(&rig, RIG_BUDGETS))
		;
	rig.now_ms += 10000;
	T_TRUE(!counter_next(rig.counter, rig.now_ms, &put));
	T_EQ(rig_settle(&rig), 1); /* the pod counts as gone, so its note is removed */
	says("/budgets/web/a", 4, 3, 3, 0);
	T_EQ(record("/budgets/web/a").disrupted_count, 0);
	rig_state(&rig, "web", "a-1", "Bound", "");
	T_EQ(rig_settle(&rig), 1);
	says("/budgets/web/a", 4, 3, 4, 1);
	/* The pod goes, and comes back before the budget is counted. */
	(void)disturb("a-1");
	rig_state(&rig, "web", "a-1", "Bound", "");
	T_TRUE(rig_settle(&rig) >= 1);
	says("/budgets/web/a", 4, 3, 4, 1);
	/* The pod goes for good. */
	(void)disturb("a-1");
	(void)rig_put(&rig, "/schedules/0003/web/a-1/state", NULL);
	(void)rig_put(&rig, "/schedules/0003/web/a-1/spec", NULL);
	(void)rig_settle(&rig);
	says("/budgets/web/a", 3, 2, 3, 1);
	T_EQ(record("/budgets/web/a").disrupted_count, 0);
	down();
}

T_CASE(put_that_came_too_late_is_made_again)
{
	struct counter_put put;

	up();
	four_bound();
	rig_budget(&rig, "web", "a", "\"maxUnavailable\":1", "a");
	rig_feed_all(&rig);
	T_TRUE(counter_next(rig.counter, rig.now_ms, &put));
	rig_budget(&rig, "web", "a", "\"maxUnavailable\":2", "a");
	T_EQ(rig_apply(&rig, &put), 0);
	T_TRUE(!counter_next(rig.counter, rig.now_ms + 5000,
	                     &put)); /* one put at a time */
	counter_answer(rig.counter, put.budget, 0, rig.now_ms);
	(void)rig_settle(&rig);
	says("/budgets/web/a", 4, 2, 4, 2);
	/* A budget that was deleted in between is gone when the answer comes. */
	rig_state(&rig, "web", "a-1", "Pending", "");
	rig_feed_all(&rig);
	rig.now_ms += 1000;
	T_TRUE(counter_next(rig.counter, rig.now_ms, &put));
	(void)rig_put(&rig, "/budgets/web/a", NULL);
	rig_feed_all(&rig);
	T_TRUE(!counter_wants_pods(rig.counter));
	counter_answer(rig.counter, put.budget, rig.rev, rig.now_ms);
	down();
}

T_CASE(namespace_is_counted_once_its_pods_are_known)
{
	struct counter_put put;

	up();
	four_bound();
	rig_budget(&rig, "web", "a", "\"maxUnavailable\":1", "a");
	(void)rig_settle(&rig);
	rig_budget(&rig, "shop", "a", "\"maxUnavailable\":1", "a");
	while (rig_feed_one(&rig, RIG_BUDGETS))
		;
	rig_pod(&rig, "shop", "a-1", "a");
	while (rig_feed_one(&rig, RIG_PODS))
		;
	T_TRUE(counter_stale(rig.counter));
	T_TRUE(!counter_next(rig.counter, rig.now_ms + 10000, &put));
	(void)counter_pods_pick(rig.counter);
	counter_pods_begin(rig.counter);
	T_TRUE(!counter_stale(rig.counter));
	counter_pods_lost(rig.counter);
	T_TRUE(counter_stale(rig.counter));
	(void)rig_settle(&rig);
	says("/budgets/shop/a", 2, 1, 0, 0);
	says("/budgets/web/a", 4, 3, 4, 1);
	down();
}

static void others_bound_instead(void)
{
	for (int i = 0; i < 4; i++) {
		char key[RIG_KEY], name[8];

		(void)snprintf(key, sizeof key, "/schedules/0003/web/a-%d/state", i);
		(void)rig_put(&rig, key, NULL);
		(void)snprintf(key, sizeof key, "/schedules/0003/web/a-%d/spec", i);
		(void)rig_put(&rig, key, NULL);
		(void)snprintf(name, sizeof name, "c-%d", i);
		rig_pod(&rig, "web", name, "a");
		rig_state(&rig, "web", name, "Bound", "");
	}
}

/* Pods that came are handed in page by page, pods that went are not before the end of the
 * list: there never were so many pods at one time. */
T_CASE(half_listed_namespace_is_not_counted)
{
	struct counter_put put;

	up();
	four_bound();
	rig_budget(&rig, "web", "a", "\"minAvailable\":4", "a");
	(void)rig_settle(&rig);
	says("/budgets/web/a", 4, 4, 4, 0);
	others_bound_instead();
	rig_list_begin(&rig, RIG_PODS);
	rig_list_pages(&rig, RIG_PODS);
	rig.now_ms += 10000;
	T_TRUE(!counter_next(rig.counter, rig.now_ms, &put));
	T_TRUE(!counter_stale(rig.counter)); /* a list is in flight */
	counter_pods_lost(rig.counter);
	rig.now_ms += 10000;
	T_TRUE(!counter_next(rig.counter, rig.now_ms, &put));
	T_TRUE(counter_stale(rig.counter));
	rig_list(&rig, RIG_PODS);
	T_EQ(rig_settle(&rig), 0);
	says("/budgets/web/a", 4, 4, 4, 0);
	rig_state(&rig, "web", "c-4", "Bound", "");
	rig_pod(&rig, "web", "c-4", "a");
	T_EQ(rig_settle(&rig), 1);
	says("/budgets/web/a", 5, 4, 5, 1);
	down();
}

/* The namespaces of a list are picked before it begins. */
T_CASE(namespace_that_missed_a_list_waits_for_the_next)
{
	struct pl_span namespace;

	up();
	four_bound();
	rig_budget(&rig, "web", "a", "\"maxUnavailable\":1", "a");
	rig_budget(&rig, "shop", "a", "\"maxUnavailable\":1", "a");
	while (rig_feed_one(&rig, RIG_BUDGETS))
		;
	rig_list(&rig, RIG_BUDGETS);
	T_EQ(counter_pods_pick(rig.counter), 2);
	T_TRUE(counter_pods_picked(rig.counter, (struct pl_span){0}, &namespace));
	T_SPAN(namespace, PL_SPAN_LIT("shop"));
	T_TRUE(counter_pods_picked(rig.counter, namespace, &namespace));
	T_SPAN(namespace, PL_SPAN_LIT("web"));
	T_TRUE(!counter_pods_picked(rig.counter, namespace, &namespace));
	rig_budget(&rig, "bank", "a", "\"maxUnavailable\":1", "a");
	while (rig_feed_one(&rig, RIG_BUDGETS))
		;
	T_TRUE(counter_pods_picked(rig.counter, (struct pl_span){0}, &namespace));
	T_SPAN(namespace, PL_SPAN_LIT("shop"));
	counter_pods_begin(rig.counter);
	counter_pods_end(rig.counter, rig.rev);
	T_TRUE(counter_stale(rig.counter));
	(void)rig_settle(&rig);
	says("/budgets/web/a", 4, 3, 4, 1);
	says("/budgets/bank/a", 0, 0, 0, 0);
	T_TRUE(!counter_stale(rig.counter));
	down();
}

T_CASE(malformed_budget_is_excluded_until_it_is_right)
{
	struct keys_id id;
	struct kv_record bad = {.value = PL_SPAN_LIT("{\"v\":1}"), .mod_revision = 1000};

	up();
	four_bound();
	rig_budget(&rig, "web", "a", "\"maxUnavailable\":1", "a");
	(void)rig_settle(&rig);
	T_EQ(keys_parse(PL_SPAN_LIT("/budgets/web/a"), &id, NULL), PL_OK);
	T_CODE(counter_budget(rig.counter, &id, &bad, &rig.err), PL_INVALID, &rig.err);
	counter_check(rig.counter);
	rig_state(&rig, "web", "a-1", "Pending", "");
	T_EQ(rig_settle(&rig), 0);
	rig.rev = 2000;
	rig_budget(&rig, "web", "a", "\"minAvailable\":1", "a");
	T_EQ(rig_settle(&rig), 1);
	says("/budgets/web/a", 4, 1, 3, 2);
	down();
}

T_CASE(puts_are_paced)
{
	struct counter_put put;
	unsigned puts = 0;

	up();
	four_bound();
	for (int i = 0; i < 20; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "b-%d", i);
		rig_budget(&rig, "web", name, "\"maxUnavailable\":1", "a");
	}
	rig_feed_all(&rig);
	for (uint64_t now = 1000; now < 1000 + 10 * COUNTER_PACE_MS; now++) {
		while (counter_next(rig.counter, now, &put)) {
			counter_answer(rig.counter, put.budget, rig_apply(&rig, &put),
			               now);
			puts++;
		}
	}
	T_EQ(puts, 10);
	down();
}

T_CASE(too_many_pods_are_not_counted)
{
	struct counter *counter;
	struct keys_id id;
	struct kv_record record = {.mod_revision = 5};
	enum pl_code code = PL_OK;

	up();
	T_OK(counter_new(3, &counter, &rig.err), &rig.err);
	rig_budget(&rig, "web", "a", "\"maxUnavailable\":1", "a");
	record.value = pl_span_str(rig_at(&rig, "/budgets/web/a")->value);
	T_EQ(keys_parse(PL_SPAN_LIT("/budgets/web/a"), &id, NULL), PL_OK);
	T_OK(counter_budget(counter, &id, &record, &rig.err), &rig.err);
	(void)counter_pods_pick(counter);
	counter_pods_begin(counter);
	four_bound();
	for (unsigned i = 0; i < rig.keys && code == PL_OK; i++) {
		T_EQ(keys_parse(pl_span_str(rig.key[i].key), &id, NULL), PL_OK);
		record.value = pl_span_str(rig.key[i].value);
		if (id.kind != KEYS_BUDGET)
			code = counter_pod(counter, &id, &record, &rig.err);
	}
	T_CODE(code, PL_LIMIT, &rig.err);
	counter_pods_end(counter, 100);
	T_TRUE(counter_stale(counter));
	counter_free(counter);
	down();
}

static enum pl_code once(void)
{
	struct counter *counter = NULL;
	struct counter_put put;
	struct keys_id id;
	enum pl_code code = counter_new(0, &counter, &rig.err);

	for (unsigned i = 0; i < rig.keys && code == PL_OK; i++) {
		struct kv_record record = {.value = pl_span_str(rig.key[i].value),
		                           .mod_revision = rig.key[i].rev};

		T_EQ(keys_parse(pl_span_str(rig.key[i].key), &id, NULL), PL_OK);
		if (id.kind == KEYS_BUDGET) {
			code = counter_budget(counter, &id, &record, &rig.err);
			(void)counter_pods_pick(counter);
			counter_pods_begin(counter);
		} else {
			code = counter_pod(counter, &id, &record, &rig.err);
		}
		if (code != PL_OK)
			counter_check(counter);
	}
	if (code == PL_OK) {
		counter_pods_end(counter, 100);
		code = counter_next(counter, 5, &put) ? PL_OK : PL_NOMEM;
		if (code == PL_OK)
			counter_answer(counter, put.budget, 0, 5);
	}
	if (counter != NULL)
		counter_check(counter);
	counter_free(counter);
	return code;
}

T_CASE(without_memory_nothing_is_counted)
{
	up();
	rig_budget(&rig, "web", "a", "\"maxUnavailable\":1", "a");
	rig_budget(&rig, "web", "b", "\"minAvailable\":1", "a");
	four_bound();
	t_torture(once, true);
	down();
}
