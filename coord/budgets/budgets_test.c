#include <stdio.h>

#include "coord/budgets/budgets_int.h"
#include "shardsched/records/budget_record.h"
#include "store/base/rng.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { LEASE = 500, PARTITIONS = 8 };

static struct kit kit;
static struct kv *faulty; /* used by the counter */
static struct elect *elect;
static struct budgets *budgets; /* NULL: stopped */
static bool elect_stopped;
static unsigned troubles, malformed;
static struct pl_arena arena;

static void on_note(void *ctx, const struct budgets_note *note)
{
	(void)ctx;
	switch (note->what) {
	case BUDGETS_MALFORMED:
		T_TRUE(note->key.len > 0 && note->err->code != PL_OK);
		malformed++;
		break;
	case BUDGETS_TROUBLE:
		T_TRUE(note->err->code != PL_OK);
		troubles++;
		break;
	case BUDGETS_STOPPED:
		budgets = NULL;
		break;
	}
}

static void on_elect(void *ctx, const struct elect_note *note)
{
	(void)ctx;
	if (note->what == ELECT_LEAD && budgets != NULL)
		budgets_lead(budgets, true);
	if (note->what == ELECT_STEP_DOWN && budgets != NULL)
		budgets_lead(budgets, false);
	if (note->what == ELECT_STOPPED)
		elect_stopped = true;
}

static void run(uint64_t ms)
{
	kit_until(&kit, kit.now_ms + ms);
}

static void begin(const struct faulty_rule *rules, size_t count, uint64_t seed)
{
	struct elect_opts opts = {.role = "budgets", .id = PL_SPAN_LIT("me"), .seed = 3};

	kit_open(&kit, NULL);
	pl_arena_init(&arena, 0, 0);
	troubles = malformed = 0;
	elect_stopped = false;
	T_OK(memkv_session(kit.mem, &faulty, NULL), NULL);
	T_OK(faulty_open(faulty, seed, rules, count, &faulty, NULL), NULL);
	T_OK(elect_open(faulty, &opts, on_elect, NULL, &elect, NULL), NULL);
	T_OK(budgets_open(faulty,
	                  &(struct budgets_opts){
				  .elect = elect, .partitions = PARTITIONS, .seed = 3},
	                  on_note, NULL, &budgets, NULL),
	     NULL);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, LEASE, 1 << 20), PL_OK);
	(void)kit_put_leased(&kit, "/shards/me", "{}", LEASE);
	elect_session(elect, LEASE, UINT64_MAX);
	elect_campaign(elect, true, 0);
}

static void end(void)
{
	if (budgets != NULL)
		budgets_stop(budgets);
	run(10000);
	T_TRUE(budgets == NULL);
	elect_stop(elect, false);
	run(10000);
	T_TRUE(elect_stopped);
	kit_close_session(&kit, faulty);
	pl_arena_done(&arena);
	kit_close(&kit);
}

/* -- expected records -------------------------------------------------------------- */

static void pod_of(const char *namespace, unsigned number, const char *phase)
{
	bool placed = strcmp(phase, "Bound") == 0;
	char key[128], value[512];

	(void)snprintf(key, sizeof key, "/schedules/%04u/%s/p-%u/spec",
	               number % PARTITIONS, namespace, number);
	(void)snprintf(value, sizeof value,
	               "{\"metadata\":{\"name\":\"p-%u\",\"namespace\":\"%s\",\"labels\":"
	               "{\"app\":\"a\"}},\"spec\":{}}",
	               number, namespace);
	(void)kit_put(&kit, key, value);
	(void)snprintf(key, sizeof key, "/schedules/%04u/%s/p-%u/state",
	               number % PARTITIONS, namespace, number);
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"phase\":\"%s\",%s\"since\":"
	               "\"2026-11-21T09:00:00.000Z\"}",
	               phase, placed ? "\"cluster\":\"c\",\"node\":\"n\"," : "");
	(void)kit_put(&kit, key, value);
}

static void pod(unsigned number, const char *phase)
{
	pod_of("web", number, phase);
}

static void budget_of(const char *namespace, const char *name, const char *rule)
{
	char key[128], value[512];

	(void)snprintf(key, sizeof key, "/budgets/%s/%s", namespace, name);
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"%s\",\"namespace\":"
	               "\"%s\"},\"spec\":{%s,\"selector\":{\"matchLabels\":{\"app\":"
	               "\"a\"}}}}}",
	               name, namespace, rule);
	(void)kit_put(&kit, key, value);
}

static void budget(const char *name, const char *rule)
{
	budget_of("web", name, rule);
}

static struct budget_record record_in(const char *namespace, const char *name)
{
	struct budget_record record = {0};
	char key[128];

	(void)snprintf(key, sizeof key, "/budgets/%s/%s", namespace, name);
	T_EQ(kit_get_at(&kit, kv_key(kit_key(key)), 0), PL_OK);
	T_EQ(kit.result.get.count, 1);
	T_OK(budget_record_parse(kit.result.get.records[0].value, &arena, &record,
	                         &kit.err),
	     &kit.err);
	return record;
}

static struct budget_record record_of(const char *name)
{
	return record_in("web", name);
}

static void says_in(const char *namespace, const char *name, uint32_t expected,
                    uint32_t healthy, uint32_t allowed)
{
	struct budget_record record = record_in(namespace, name);

	T_TRUE(record.counted);
	T_EQ(record.status.expected, expected);
	T_EQ(record.status.healthy, healthy);
	T_EQ(record.status.allowed, allowed);
}

static void says(const char *name, uint32_t expected, uint32_t healthy, uint32_t allowed)
{
	says_in("web", name, expected, healthy, allowed);
}

T_CASE(the_leader_counts_budgets)
{
	begin(NULL, 0, 7);
	for (unsigned i = 0; i < 5; i++)
		pod(i, "Bound");
	budget("a", "\"maxUnavailable\":2");
	run(3000);
	says("a", 5, 5, 2);
	pod(3, "Pending");
	run(1000);
	says("a", 5, 4, 1);
	budget("b", "\"minAvailable\":\"100%\"");
	run(3000); /* nothing happens to pods, so they are listed again */
	says("b", 5, 4, 0);
	elect_session(elect, 0, 0);
	pod(3, "Bound");
	run(20000);
	says("a", 5, 4, 1);
	elect_session(elect, LEASE, UINT64_MAX);
	run(20000);
	says("a", 5, 5, 2);
	T_EQ(troubles, 0);
	end();
}

enum { MANY = BUDGETS_NAMESPACES_APART + 8, EACH = 2 * PARTITIONS + 3 };

static void space_name(unsigned i, char out[16])
{
	(void)snprintf(out, 16, "ns-%u", i);
}

/* Budgets in some of the namespaces, and pods in all partitions. */
static void count_in_spaces(unsigned namespaces)
{
	char namespace[16];

	begin(NULL, 0, 7);
	for (unsigned i = 0; i < MANY; i++) {
		space_name(i, namespace);
		for (unsigned k = 0; k < EACH; k++)
			pod_of(namespace, k, k % 3 == 0 ? "Pending" : "Bound");
	}
	budget_of("ns-empty", "a", "\"maxUnavailable\":1");
	for (unsigned i = 0; i < namespaces; i++) {
		space_name(i * (MANY / namespaces), namespace);
		budget_of(namespace, "a", "\"minAvailable\":1");
		if (i % 5 == 0)
			run(3);
	}
	run(10000);
	for (unsigned i = 0; i < namespaces; i++) {
		space_name(i * (MANY / namespaces), namespace);
		says_in(namespace, "a", EACH, EACH - (EACH + 2) / 3,
		        EACH - (EACH + 2) / 3 - 1);
		pod_of(namespace, 0, "Bound");
	}
	run(5000);
	for (unsigned i = 0; i < namespaces; i++) {
		space_name(i * (MANY / namespaces), namespace);
		says_in(namespace, "a", EACH, EACH - (EACH + 2) / 3 + 1,
		        EACH - (EACH + 2) / 3);
	}
	says_in("ns-empty", "a", 0, 0, 0);
	T_EQ(troubles, 0);
	end();
}

T_CASE(pods_are_counted_by_namespace_or_all_together)
{
	count_in_spaces(3);
	count_in_spaces(MANY);
}

T_CASE(a_former_leader_writes_nothing)
{
	const struct faulty_rule late = {
		FAULTY_SLOW_NOTE, 0, PL_SPAN_LIT("/leader/"), 1000, PL_OK, 0, 2000, 2000};

	begin(&late, 1, 7);
	pod(0, "Bound");
	budget("a", "\"maxUnavailable\":1");
	run(10000);
	says("a", 1, 1, 1);
	/* The key is gone and the counter has not heard of it, but the guard has. */
	T_EQ(kit_delete(&kit, kv_key(PL_SPAN_LIT("/leader/budgets"))), 1);
	pod(1, "Bound");
	run(1500);
	T_TRUE(elect_epoch(elect) != 0);
	says("a", 1, 1, 1);
	run(20000);
	says("a", 2, 2, 1);
	end();
}

T_CASE(malformed_input_is_reported)
{
	begin(NULL, 0, 7);
	(void)kit_put(&kit, "/budgets/web/a", "{}");
	(void)kit_put(&kit, "/budgets/web/b/c", "{}");
	run(3000);
	T_EQ(malformed, 2);
	pod(0, "Bound");
	budget("a", "\"maxUnavailable\":1");
	run(3000);
	says("a", 1, 1, 1);
	T_TRUE(kit_delete(&kit, kv_prefix(PL_SPAN_LIT("/budgets/"))) == 2);
	run(3000);
	T_EQ(troubles, 0);
	end();
}

/* Disrupts a pod as a shard would, and checks the budget by a simple count. */
static void disturb(unsigned number)
{
	char state[128], value[512], text[512];
	struct budget_record record = record_of("a");
	struct budget_disrupted gone = {0};
	struct pl_buf buf;

	(void)snprintf(state, sizeof state, "/schedules/%04u/web/p-%u/state", number % 8,
	               number);
	T_EQ(kit_get_at(&kit, kv_key(kit_key(state)), 0), PL_OK);
	gone.state_rev = kit.result.get.records[0].mod_revision;
	if (!budget_record_allows(&record, 1) || !record.counted ||
	    memmem(kit.result.get.records[0].value.at,
	           kit.result.get.records[0].value.len, "Bound", 5) == NULL)
		return;
	(void)snprintf(text, sizeof text, "p-%u", number);
	gone.name = pl_span_str(text);
	T_OK(budget_record_disrupt(&record, &gone, 1, &arena, &record, &kit.err),
	     &kit.err);
	pl_buf_init(&buf, BUDGET_BYTES_MAX);
	T_OK(budget_record_print(&record, &buf, &kit.err), &kit.err);
	(void)snprintf(
		value, sizeof value,
		"{\"v\":1,\"phase\":\"Terminating\",\"next\":\"Pending\",\"cluster\":"
		"\"c\",\"node\":\"n\",\"since\":\"2026-11-21T09:00:00.000Z\"}");
	{
		struct kv_req ops[2] = {
			kv_op_put(kit_key("/budgets/web/a"), pl_buf_span(&buf)),
			kv_op_put(kit_key(state), pl_span_str(value))};
		struct kv_req req = {.op = KV_TXN, .txn = {.then = ops, .then_count = 2}};

		T_EQ(kit_call(&kit, &req), PL_OK);
	}
	pl_buf_done(&buf);
}

static unsigned healthy(void)
{
	unsigned count = 0;

	T_EQ(kit_get_at(&kit, kv_prefix(PL_SPAN_LIT("/schedules/")), 0), PL_OK);
	for (size_t i = 0; i < kit.result.get.count; i++)
		count += memmem(kit.result.get.records[i].value.at,
		                kit.result.get.records[i].value.len, "\"Bound\"",
		                7) != NULL;
	return count;
}

static const struct faulty_rule rules[] = {
	{FAULTY_SLOW_ANSWER, 0, {0}, 200, PL_OK, 0, 1, 300},
	{FAULTY_LOSE_ANSWER, 1U << KV_TXN, {0}, 100, PL_OK, 0, 1, 50},
	{FAULTY_APPLY_LATE, 1U << KV_TXN, {0}, 100, PL_OK, 0, 1, 500},
	{FAULTY_REFUSE, 0, {0}, 50, PL_UNAVAIL, 0, 0, 0},
	{FAULTY_REFUSE, 1U << KV_TXN, {0}, 50, PL_BUSY, 0, 0, 0},
	{FAULTY_SLOW_NOTE, 0, {0}, 200, PL_OK, 0, 1, 500},
	{FAULTY_END_WATCH, 0, {0}, 5, PL_COMPACTED, 0, 0, 0},
};

T_CASE(late_and_lost_answers_never_overdraw_a_budget)
{
	unsigned gone = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct pl_rng rng;

		pl_rng_init(&rng, seed);
		begin(rules, sizeof rules / sizeof rules[0], seed);
		for (unsigned i = 0; i < 10; i++)
			pod(i, "Bound");
		budget("a", "\"maxUnavailable\":3");
		for (unsigned i = 0; i < 400; i++) {
			unsigned number = (unsigned)pl_rng_below(&rng, 10);

			if (pl_rng_chance(&rng, 2, 3))
				disturb(number);
			else
				pod(number, "Bound");
			gone += 10 - healthy();
			T_TRUE(healthy() >= 7);
			run(pl_rng_below(&rng, 200));
		}
		faulty_pause(faulty, true);
		run(30000);
		says("a", 10, healthy(), healthy() - 7);
		T_EQ(record_of("a").disrupted_count, 0);
		end();
	}
	T_TRUE(gone > 1000); /* enough disruptions were attempted */
}
