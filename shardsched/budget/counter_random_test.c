/*
 * Random histories: pods that come, go and change; budgets, too; disruptions that take
 * what they find; and a counter whose two feeds lag at random and whose answers are
 * sometimes lost.
 *
 * Two checks count from the store itself. While pods do nothing by themselves (*quiet*),
 * no disruption that a budget allowed takes it below what it wants. And whenever every
 * event was handed in, the budgets have the right counts.
 */
#include "store/base/rng.h"
#include "tests/harness/torture.h"
#include "tests/support/shardsched/budget/counter_rig.h"

enum { PODS = 14, BUDGETS = 5, STEPS = 1200 };

static const char *const namespaces[] = {"web", "shop"};
static const char *const apps[] = {"a", "b"};
static const char *const rules[] = {"\"maxUnavailable\":1", "\"maxUnavailable\":\"30%\"",
                                    "\"minAvailable\":2", "\"minAvailable\":\"50%\"",
                                    "\"maxUnavailable\":0"};

static struct rig rig;
static struct pl_rng rng;
static struct pl_arena arena;
static bool quiet;
static unsigned granted, violations;
static struct counter_put flying;
static bool flies, lost;
static int64_t answer;

static unsigned below(unsigned most)
{
	return (unsigned)pl_rng_below(&rng, most);
}

static bool one_in(unsigned n)
{
	return below(n) == 0;
}

static void name_of(unsigned pod, char out[32])
{
	(void)snprintf(out, 32, "p-%u", pod / 2);
}

static const char *namespace_of(unsigned pod)
{
	return namespaces[pod % 2];
}

static struct rig_key *key_of(unsigned pod, const char *part)
{
	char key[RIG_KEY], name[32];

	name_of(pod, name);
	(void)snprintf(key, sizeof key, "/schedules/0003/%s/%s/%s", namespace_of(pod),
	               name, part);
	return rig_at(&rig, key);
}

/* -- the naive judge ---------------------------------------------------------------- */

static bool says(const struct rig_key *at, const char *text)
{
	return at->rev != 0 && strstr(at->value, text) != NULL;
}

static bool is_healthy(unsigned pod)
{
	const struct rig_key *state = key_of(pod, "state");

	return says(state, "\"Bound\"") && !says(state, "\"ask\"") &&
	       !says(state, "\"ended\"");
}

static bool is_expected(unsigned pod)
{
	const struct rig_key *state = key_of(pod, "state");

	return !says(state, "Succeeded") && !says(state, "Failed") &&
	       !says(state, "\"delete\"") &&
	       (!says(state, "Terminating") || says(state, "\"next\""));
}

static bool covers(const char *budget, const char *namespace, const char *text,
                   unsigned pod)
{
	const struct rig_key *spec = key_of(pod, "spec");
	char app[32];

	(void)budget;
	for (unsigned i = 0; i < 2; i++) {
		(void)snprintf(app, sizeof app, "\"app\":\"%s\"", apps[i]);
		if (strstr(text, app) != NULL)
			return strcmp(namespace, namespace_of(pod)) == 0 &&
			       says(spec, app);
	}
	return false;
}

struct truth {
	uint32_t expected, healthy, desired;
};

static struct truth truth_of(unsigned budget)
{
	const char *namespace = namespaces[budget % 2];
	struct truth out = {0};
	char key[RIG_KEY];
	const char *text;

	(void)snprintf(key, sizeof key, "/budgets/%s/b-%u", namespace, budget / 2);
	text = rig_at(&rig, key)->value;
	for (unsigned i = 0; i < PODS; i++) {
		if (!covers(key, namespace, text, i))
			continue;
		out.expected += is_expected(i);
		out.healthy += is_healthy(i);
	}
	out.desired = strstr(text, "\"minAvailable\":2") != NULL ? 2
	              : strstr(text, "\"50%\"") != NULL
	                      ? (out.expected + 1) / 2
	                      : out.expected - (strstr(text, "\"30%\"") != NULL
	                                                ? (out.expected * 3 + 9) / 10
	                                        : strstr(text, "able\":0") != NULL ? 0
	                                        : out.expected == 0                ? 0
	                                                                           : 1);
	return out;
}

static void all_are_right(void)
{
	for (unsigned i = 0; i < 2 * BUDGETS; i++) {
		struct budget_record it;
		struct truth truth;
		char key[RIG_KEY];

		(void)snprintf(key, sizeof key, "/budgets/%s/b-%u", namespaces[i % 2],
		               i / 2);
		pl_arena_reset(&arena);
		if (!rig_read(&rig, key, &arena, &it))
			continue;
		truth = truth_of(i);
		T_TRUE(it.counted);
		T_EQ(it.disrupted_count, 0);
		T_EQ(it.status.expected, truth.expected);
		T_EQ(it.status.healthy, truth.healthy);
		T_EQ(it.status.desired, truth.desired);
	}
}

/* -- what happens ------------------------------------------------------------------- */

static void state(unsigned pod, const char *phase, const char *more)
{
	char name[32];

	name_of(pod, name);
	rig_state(&rig, namespace_of(pod), name, phase, more);
}

/* One transaction: the budgets that cover the pod, as they stand, and the pod's state. */
static void disturb(unsigned pod)
{
	struct budget_record taken[BUDGETS];
	char key[BUDGETS][RIG_KEY], value[RIG_VALUE], name[32];
	const char *namespace = namespace_of(pod);
	unsigned count = 0;
	bool force = one_in(10);
	struct pl_buf buf;

	if (!is_healthy(pod))
		return;
	name_of(pod, name);
	pl_arena_reset(&arena);
	for (unsigned i = 0; i < BUDGETS; i++) {
		struct budget_disrupted it = {pl_span_str(name),
		                              key_of(pod, "state")->rev};
		struct budget_record *to = &taken[count];

		(void)snprintf(key[count], RIG_KEY, "/budgets/%s/b-%u", namespace, i);
		if (!rig_read(&rig, key[count], &arena, to) ||
		    !covers(key[count], namespace, rig_at(&rig, key[count])->value, pod))
			continue;
		if (!force && !budget_record_allows(to, 1))
			return;
		T_OK(budget_record_disrupt(to, &it, 1, &arena, to, &rig.err), &rig.err);
		count++;
	}
	granted += !force && count > 0;
	rig.rev++;
	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	for (unsigned i = 0; i < count; i++) {
		pl_buf_clear(&buf, buf.cap);
		T_OK(budget_record_print(&taken[i], &buf, &rig.err), &rig.err);
		T_EQ(pl_buf_add(&buf, pl_span("", 1)), PL_OK);
		rig_write(&rig, key[i], (const char *)buf.at);
	}
	pl_buf_done(&buf);
	rig_state_text("Terminating", "\"next\":\"Pending\",", value);
	rig_write(&rig, key_of(pod, "state")->key, value);
	for (unsigned i = 0; quiet && !force && i < 2 * BUDGETS; i++) {
		char other[RIG_KEY];
		struct truth truth;

		(void)snprintf(other, sizeof other, "/budgets/%s/b-%u", namespaces[i % 2],
		               i / 2);
		if (rig_at(&rig, other)->rev == 0 ||
		    !covers(other, namespaces[i % 2], rig_at(&rig, other)->value, pod))
			continue;
		truth = truth_of(i);
		if (truth.healthy < truth.desired)
			violations++;
	}
}

static void change_pod(unsigned pod)
{
	static const char *const phases[] = {"Pending", "Bound", "Terminating",
	                                     "Succeeded"};
	static const char *const asks[] = {"", "\"ask\":\"delete\",",
	                                   "\"ask\":\"evict\","};
	char name[32];

	name_of(pod, name);
	if (key_of(pod, "spec")->rev == 0 || one_in(6))
		rig_pod(&rig, namespace_of(pod), name, apps[below(2)]);
	else if (one_in(6)) {
		rig.rev++;
		rig_write(&rig, key_of(pod, "state")->key, NULL);
		rig_write(&rig, key_of(pod, "spec")->key, NULL);
	} else
		state(pod, phases[below(4)], asks[one_in(3) ? below(3) : 0]);
}

static void change_budget(void)
{
	unsigned budget = below(2 * BUDGETS);
	const char *namespace = namespaces[budget % 2];
	char name[32], key[RIG_KEY];

	(void)snprintf(name, sizeof name, "b-%u", budget / 2);
	(void)snprintf(key, sizeof key, "/budgets/%s/%s", namespace, name);
	if (one_in(4))
		(void)rig_put(&rig, key, NULL);
	else if (!quiet || rig_at(&rig, key)->rev == 0)
		rig_budget(&rig, namespace, name, rules[below(5)], apps[below(2)]);
}

/* Disturbed pods come back; nothing else, while it is quiet. */
static void world(void)
{
	unsigned pod = below(PODS);

	if (one_in(2))
		disturb(pod);
	else if (quiet && says(key_of(pod, "state"), "Terminating"))
		state(pod, "Bound", "");
	else if (!quiet && one_in(3))
		change_pod(pod);
	if (one_in(quiet ? 100 : 20))
		change_budget();
}

static void count(void)
{
	rig.now_ms += below(60);
	if (flies && one_in(3)) {
		counter_answer(rig.counter, flying.budget, lost ? 0 : answer, rig.now_ms);
		flies = false;
	}
	if (!flies && counter_next(rig.counter, rig.now_ms, &flying)) {
		flies = true;
		lost = one_in(5);
		answer = one_in(6) ? 0 : rig_apply(&rig, &flying);
	}
}

static void listen(void)
{
	if (!rig.fed[RIG_BUDGETS] || one_in(150))
		rig_list(&rig, RIG_BUDGETS);
	if (counter_stale(rig.counter) || one_in(150))
		rig_list(&rig, RIG_PODS);
	for (unsigned feed = 0; feed < RIG_FEEDS; feed++)
		for (unsigned i = one_in(4) ? below(8) : 0; i-- > 0;)
			if (rig.fed[feed])
				(void)rig_feed_one(&rig, (enum rig_feed)feed);
}

static void run(uint64_t seed, bool is_quiet)
{
	pl_rng_init(&rng, seed);
	rig_open(&rig);
	quiet = is_quiet;
	flies = false;
	for (unsigned i = 0; i < PODS; i++) {
		char name[32];

		name_of(i, name);
		rig_pod(&rig, namespace_of(i), name, apps[below(2)]);
		state(i, "Bound", "");
	}
	for (unsigned i = 0; i < STEPS; i++) {
		world();
		listen();
		count();
		counter_check(rig.counter);
		if (i % 300 != 299)
			continue;
		if (flies)
			counter_answer(rig.counter, flying.budget, lost ? 0 : answer,
			               rig.now_ms);
		flies = false;
		(void)rig_settle(&rig);
		counter_check(rig.counter);
		all_are_right();
	}
	T_EQ(violations, 0);
	rig_close(&rig);
}

T_CASE(allowed_disruption_is_never_granted_twice)
{
	pl_arena_init(&arena, 0, 0);
	granted = 0;
	for (uint64_t seed = 1; seed <= 60; seed++)
		run(seed, true);
	T_TRUE(granted > 2000);
	pl_arena_done(&arena);
}

T_CASE(counts_are_right_once_all_events_were_seen)
{
	pl_arena_init(&arena, 0, 0);
	for (uint64_t seed = 100; seed <= 160; seed++)
		run(seed, false);
	pl_arena_done(&arena);
}
