/* Gangs that are too large for one transaction: a record, holds, then pods. */
#include "shardsched/ledger/gang_record.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/sched_rig.h"
#include "store/keys/partition.h"
#include "tests/harness/torture.h"

static struct rig rig;

enum { OPS = 24, NODES = 12, MEMBERS = 24 };

static uint32_t home(void)
{
	const struct partition_group group = {.namespace = PL_SPAN_LIT("web"),
	                                      .gang = PL_SPAN_LIT("a")};
	uint32_t out = 0;

	T_OK(partition_of_group(&group, RIG_PARTITIONS, &out, &rig.err), &rig.err);
	return out;
}

static void own_all(void)
{
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
}

static void begin(void)
{
	rig_open(&rig, NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
	for (uint32_t i = 0; i < NODES; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "n-%u", i);
		rig_node(&rig, i % RIG_PARTITIONS, name, "2");
	}
	own_all();
}

static void member_with(uint32_t i, const char *more)
{
	char key[128], json[768];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-%u/spec", home(), i);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a-%u\",\"uid\":"
	               "\"u-%u\",\"labels\":{\"app\":\"a\"},\"annotations\":{"
	               "\"placet.io/gang\":\"a\",\"placet.io/gang-min\":\"%d\"}},"
	               "\"spec\":{%s\"containers\":[{\"name\":\"c\",\"resources\":{"
	               "\"requests\":{\"cpu\":\"1\"}}}]}}",
	               i, i, MEMBERS, more);
	rig_put(&rig, key, json);
}

static void members(const char *more)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		member_with(i, more);
	rig_deliver_all(&rig);
}

static uint32_t bound(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		char name[32];
		int phase;

		(void)snprintf(name, sizeof name, "a-%u", i);
		(void)rig_state(&rig, home(), name, &phase);
		count += phase == STATE_BOUND;
	}
	return count;
}

static uint32_t held(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		char name[8];
		struct alloc alloc;

		(void)snprintf(name, sizeof name, "n-%u", i);
		alloc = rig_alloc(&rig, i % RIG_PARTITIONS, name);
		T_TRUE(alloc.used.cpu_milli <= 2000);
		for (uint32_t n = 0; n < alloc.holds; n++)
			count += (uint32_t)alloc.hold[n].used.pods;
	}
	return count;
}

/* NULL: there is no record. */
static const char *phase(void)
{
	struct gang_record record = {0};
	struct kv_record *found = rig_get(&rig.store, PL_SPAN_LIT("/gangs/web/a"));

	if (found == NULL)
		return "none";
	T_OK(gang_record_parse(found->value, &rig.store.arena, &record, &rig.err),
	     &rig.err);
	return gang_phase_word(record.phase);
}

/* Answers what is out, once; false: nothing is. */
static bool answer_all(void)
{
	bool any = false;

	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		if (!rig.out[i].used)
			continue;
		(void)rig_answer(&rig, i);
		any = true;
	}
	rig_deliver_all(&rig);
	rig_views(&rig);
	return any;
}

/* Until the record says so; each round is a few round trips. */
static void until(const char *word)
{
	for (unsigned i = 0; i < 100 && strcmp(phase(), word) != 0; i++) {
		rig_run(&rig);
		(void)answer_all();
		rig.now_ms += 20;
	}
	T_STR(phase(), word);
}

static void settle_for(uint64_t ms)
{
	for (uint64_t i = 0; i < ms; i += 100) {
		rig.now_ms += 100;
		rig_settle(&rig);
	}
}

static void all_is_well(void)
{
	settle_for(2000);
	T_EQ(bound(), MEMBERS);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	T_EQ(rig.garbled, 0);
	rig_close(&rig);
}

T_CASE(room_is_held_first_and_then_bound)
{
	begin();
	members("");
	until("reserving");
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	until("bound");
	T_EQ(bound(), 0);
	T_EQ(held(), MEMBERS);
	until("none");
	T_EQ(bound(), MEMBERS);
	T_EQ(held(), 0);
	all_is_well();
}

/* A new shard over the same store. */
static void another_owner(void)
{
	const struct sched_opts opts = {.shard = "east-1", .partitions = RIG_PARTITIONS};

	sched_free(rig.sched);
	rig.sched = NULL;
	memset(rig.out, 0, sizeof rig.out);
	memset(rig.viewed, 0, sizeof rig.viewed);
	memset(rig.owned, 0, sizeof rig.owned);
	memset(rig.visit, 0, sizeof rig.visit);
	T_OK(sched_new(&opts, &rig.sched, &rig.err), &rig.err);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
	own_all();
}

/* Death after each call, applied or not: whoever comes next ends it well. */
T_CASE(whoever_takes_over_finishes_it)
{
	bool reached = true;
	unsigned in[3] = {0};

	for (unsigned die = 0; reached; die++) {
		unsigned calls = 0;

		begin();
		members("");
		reached = false;
		for (unsigned n = 0; n < 300 && !reached; n++) {
			rig_views(&rig);
			rig_run(&rig);
			for (unsigned i = 0; i < RIG_OUT_MAX && !reached; i++) {
				if (!rig.out[i].used)
					continue;
				reached = calls == die;
				if (calls++ == die && die % 2 == 0)
					(void)rig_exec(&rig.store, &rig.out[i].req.txn);
				else if (!reached)
					(void)rig_answer(&rig, i);
			}
			if (!reached)
				rig_deliver_all(&rig);
			rig.now_ms += 20;
		}
		in[0] += strcmp(phase(), "reserving") == 0;
		in[1] += strcmp(phase(), "bound") == 0;
		in[2]++;
		if (reached)
			another_owner();
		all_is_well();
	}
	T_TRUE(in[0] > 2 && in[1] > 2 && in[2] > 8);
}

T_CASE(a_member_that_goes_first_lets_it_go)
{
	char key[64];

	begin();
	members("");
	until("reserving");
	rig_run(&rig);
	(void)answer_all();
	T_TRUE(held() > 0);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-3/spec", home());
	rig_del(&rig, key);
	rig_deliver_all(&rig);
	settle_for(1000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	member_with(3, "");
	settle_for(20000);
	all_is_well();
}

/* It was bound when the record said so, and went. */
T_CASE(a_member_that_goes_later_is_left_out)
{
	char key[64];

	begin();
	members("");
	until("bound");
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-3/spec", home());
	rig_del(&rig, key);
	rig_deliver_all(&rig);
	settle_for(1000);
	T_EQ(bound(), MEMBERS - 1);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	member_with(3, "");
	all_is_well();
}

T_CASE(who_does_not_hear_of_the_deadline_loses_it)
{
	begin();
	members("");
	until("reserving");
	rig.now_ms += 11000;
	rig_run(&rig);
	(void)answer_all();
	T_STR(phase(), "aborting");
	settle_for(30000);
	all_is_well();
}

/* Somebody took the room between the decision and the hold. */
T_CASE(room_that_is_gone_lets_it_go)
{
	begin();
	members("");
	rig_views(&rig);
	rig_run(&rig);
	rig_put(&rig, "/alloc/0000/east/n-4",
	        "{\"v\":1,\"generation\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},\"pods\":{"
	        "\"0002\":{\"web\":[\"x\"]}}}");
	rig_pod(&rig, 2, "x", "1", "");
	settle_for(500);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	rig_node(&rig, 3, "n-19", "2");
	settle_for(20000);
	T_EQ(bound(), MEMBERS);
	rig_close(&rig);
}

/* More than goes into one transaction, on one node: piece by piece. */
T_CASE(a_node_may_take_more_than_a_transaction)
{
	begin();
	rig_node(&rig, 0, "n-100", "64");
	for (uint32_t i = 0; i < NODES; i++) {
		char key[64];

		(void)snprintf(key, sizeof key, "/nodes/%04u/east/n-%u",
		               i % RIG_PARTITIONS, i);
		rig_put(&rig, key, rig_node_json(key + 17, "1", ""));
	}
	rig_settle(&rig);
	members("");
	settle_for(3000);
	T_EQ(bound(), MEMBERS);
	T_EQ(rig.garbled, 0);
	T_TRUE(rig_alloc(&rig, 0, "n-100").pods >= MEMBERS - NODES);
	all_is_well();
}

T_CASE(rules_that_reach_past_a_node_do_not_go_in_steps)
{
	struct pod_state state;
	int phase_is;

	begin();
	members("\"topologySpreadConstraints\":[{\"maxSkew\":9,\"topologyKey\":\"host\","
	        "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{"
	        "\"matchLabels\":{\"app\":\"a\"}}}],");
	settle_for(5000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	state = rig_state(&rig, home(), "a-0", &phase_is);
	T_SPAN(state.reason, PL_SPAN_LIT("gang.large"));
	T_TRUE(memmem(state.message.at, state.message.len, "rules about pods", 16) !=
	       NULL);
	rig_close(&rig);
}

/* Nor does a record that makes no sense stop anybody for ever. */
T_CASE(a_garbled_record_goes_with_its_holds)
{
	begin();
	members("");
	until("reserving");
	rig_run(&rig);
	(void)answer_all();
	T_TRUE(held() > 0);
	rig_put(&rig, "/gangs/web/a", "{\"v\":1,\"phase\":\"resting\"}");
	rig_deliver_all(&rig);
	settle_for(30000);
	T_TRUE(rig.garbled > 0);
	rig.garbled = 0;
	all_is_well();
}

/* What was left by a larger attempt is seen to before a smaller one. */
T_CASE(a_small_gang_does_not_pass_a_record)
{
	begin();
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = 1024});
	members("");
	rig_views(&rig);
	rig_run(&rig);
	T_TRUE(rig.out[0].used);
	rig_put(&rig, "/gangs/web/a",
	        "{\"v\":1,\"phase\":\"reserving\",\"shard\":\"east-7\",\"epoch\":\"1\","
	        "\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":[{\"at\":0,"
	        "\"cluster\":\"east\",\"node\":\"n-0\",\"pods\":{\"a-0\":\"7\"}}]}");
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used)
			T_TRUE(!rig_answer(&rig, i));
	T_EQ(bound(), 0);
	all_is_well();
}

/* -- whatever allocation fails ------------------------------------------------- */

static enum pl_code live_through(void)
{
	const struct sched_opts opts = {.shard = "east-0", .partitions = RIG_PARTITIONS};
	enum pl_code code = sched_new(&opts, &rig.sched, &rig.err);

	if (code != PL_OK)
		return code;
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
	own_all();
	for (int i = 0; i < 5; i++) {
		rig_settle(&rig);
		rig.now_ms += 11000;
	}
	return PL_OK;
}

T_CASE_SECONDS(any_allocation_may_fail, 200)
{
	bool fired = true;
	uint64_t nth = 1;

	for (; fired; nth += 7) { /* the others have tests of their own */
		enum pl_code code;

		begin();
		members("");
		sched_free(rig.sched);
		rig.sched = NULL;
		memset(rig.owned, 0, sizeof rig.owned);
		memset(rig.viewed, 0, sizeof rig.viewed);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = live_through();
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE(code == PL_OK || (fired && code == PL_NOMEM));
		if (code == PL_OK)
			all_is_well();
		else
			rig_close(&rig);
	}
	T_TRUE(nth > 250);
}
