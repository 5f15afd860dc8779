/* Many changes of pods, and trouble with the store. */
#include "tests/support/coord/service/pod_changes_kit.h"

enum { MANY = 100, NODES = 90 };

static struct pod_change many[MANY];
static unsigned many_done;

static void on_report_of_many(void *ctx, uint32_t i, const struct pod_change_result *of)
{
	(void)ctx;
	(void)i;
	many_done += of->outcome == POD_CHANGE_DONE;
	reports++;
}

static void put_many(char names[MANY][16], char specs[MANY][200])
{
	static char nodes[MANY][16];

	for (unsigned i = 0; i < MANY; i++) {
		char key[100];

		(void)snprintf(names[i], 16, "many-%u", i);
		(void)snprintf(nodes[i], sizeof nodes[i], "n-%u", i % NODES);
		put_node(nodes[i], "4", EMPTY);
		(void)snprintf(specs[i], 200,
		               "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"%s\"},"
		               "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
		               "\"i\"}]}}",
		               names[i]);
		(void)snprintf(key, sizeof key, "/schedules/%04u/shop/%s/spec",
		               partition_of(names[i]), names[i]);
		many[i] = (struct pod_change){.verb = POD_CHANGE_BIND,
		                              .pod = {.partition = partition_of(names[i]),
		                                      .namespace = PL_SPAN_LIT("shop"),
		                                      .name = pl_span_str(names[i])},
		                              .spec = {.value = pl_span_str(specs[i])},
		                              .cluster = PL_SPAN_LIT("east"),
		                              .node = pl_span_str(nodes[i])};
		many[i].spec.rev = kit_put(&kit, key, specs[i]);
	}
}

/* A store that takes 128 operations takes no 64 bindings with their registries. */
T_CASE(more_changes_than_a_transaction_takes_are_all_made)
{
	static char names[MANY][16], specs[MANY][200];
	const struct pod_changes_opts opts = {.change = many,
	                                      .count = MANY,
	                                      .who = "api-1",
	                                      .report = on_report_of_many,
	                                      .done = on_done};
	struct pod_changes *changes;

	up();
	many_done = 0;
	put_many(names, specs);
	T_OK(pod_changes_start(&service, &opts, &changes, &kit.err), &kit.err);
	kit_until(&kit, 2000);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_OK, &failure);
	T_EQ(reports, MANY);
	T_EQ(many_done, MANY);
	T_EQ(kit_get_at(&kit, kv_prefix(PL_SPAN_LIT("/alloc/")), 0), PL_OK);
	T_EQ(kit.result.get.count, NODES);
	for (size_t i = 0; i < kit.result.get.count; i++)
		T_TRUE(memmem(kit.result.get.records[i].value.at,
		              kit.result.get.records[i].value.len, "many-", 5) != NULL);
	down();
}

static void lose_answers(uint64_t count)
{
	const struct faulty_rule lose = {.what = FAULTY_LOSE_ANSWER,
	                                 .ops = 1U << KV_TXN,
	                                 .per_mille = 1000,
	                                 .count = count,
	                                 .code = PL_TIMEOUT};

	T_OK(faulty_open(kit.kv, 1, &lose, 1, &kit.kv, &kit.err), &kit.err);
	service.kv = kit.kv;
}

T_CASE(a_lost_answer_is_settled)
{
	for (unsigned i = 0; i < 2; i++) {
		up();
		put_node("n-1", "4", EMPTY);
		put_spec(0, "", "");
		if (i == 0)
			edit(0, LABELS("db"), "");
		else
			bind_pod(0);
		lose_answers(3);
		(void)start(1);
		kit_until(&kit, 20000);
		T_EQ(dones, 1);
		T_CODE(failure.code, PL_OK, &failure);
		was_done(0);
		T_EQ(rev_at(key_of(0, i == 0 ? "spec" : "state")), result[0].revision);
		down();
	}
}

/* The edit was applied and overwritten before its writer heard of it. */
T_CASE(a_lost_answer_that_was_overwritten_is_doubtful)
{
	up();
	put_spec(0, "", "");
	edit(0, NOTE, "");
	lose_answers(1);
	(void)start(1);
	memkv_run(kit.mem, kit.now_ms);
	T_EQ(dones, 0);
	(void)kit_put(&kit, key_of(0, "spec"), spec_text[0]);
	kit_until(&kit, 20000);
	T_EQ(dones, 1);
	T_EQ(result[0].outcome, POD_CHANGE_CONFLICT);
	T_TRUE(result[0].doubtful);
	down();
}

T_CASE(canceled_changes_end)
{
	struct pod_changes *changes;

	up();
	put_placed("", "");
	edit(0, LABELS("db"), "");
	changes = start(1);
	pod_changes_cancel(changes);
	T_EQ(dones, 0);
	kit_until(&kit, 10);
	T_EQ(dones, 1);
	T_CODE(failure.code, PL_CANCELED, &failure);
	T_STR(value_at(key_of(0, "spec")), spec_text[0]);
	down();
}

/* One after another each allocation fails: the operation ends, and the pod is bound and
 * edited whole or not at all. */
T_CASE(changes_end_whatever_allocation_fails)
{
	static const char *const pods[] = {SPREAD_POD("db"), SPREAD_POD("web")};
	bool fired = true;

	for (uint64_t nth = 1; fired; nth++) {
		struct pod_changes *changes;
		const struct pod_changes_opts opts = {.change = change,
		                                      .count = 2,
		                                      .who = "api-1",
		                                      .report = on_report,
		                                      .done = on_done};
		struct pl_err err = {0};
		enum pl_code code;

		up();
		put_placed(LABELS("web"), "");
		put_registry(pods, 1);
		put_spec(1, LABELS("web"), SPREAD("web"));
		edit(0, LABELS("db"), "");
		bind_pod(1);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = pod_changes_start(&service, &opts, &changes, &err);
		if (code == PL_OK)
			kit_until(&kit, 60000);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_EQ(dones, code == PL_OK ? 1 : 0);
		T_TRUE((value_at(key_of(1, "state")) != NULL) ==
		       (strstr(value_at(node_key("alloc", "n-1")), "web-1") != NULL));
		T_TRUE((strstr(value_at(key_of(0, "spec")), "db") != NULL) ==
		       (rev_at(key_of(0, "state")) != change[0].state.rev));
		if (!fired)
			T_EQ(reports, 2);
		down();
	}
}
