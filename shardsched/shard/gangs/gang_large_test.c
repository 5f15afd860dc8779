/* Gangs that are too large for one transaction: a record, reservations, then pods. */
#include "shardsched/shard/gangs/gang_large.h"
#include "tests/harness/torture.h"
#include "tests/support/shardsched/shard/large_gang_rig.h"

T_CASE(room_is_reserved_first_and_then_bound)
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
	close_well();
}

/* The shard dies after each txn, applied or not: the next owner completes the gang. */
T_CASE(the_next_owner_finishes_an_attempt)
{
	bool reached = true;
	unsigned in[3] = {0};

	for (unsigned die = 0; reached; die++) {
		begin();
		members("");
		reached = dies_at(die, die % 2 == 0);
		in[0] += strcmp(phase(), "reserving") == 0;
		in[1] += strcmp(phase(), "bound") == 0;
		in[2]++;
		if (reached) {
			another_shard();
			own_all();
		}
		close_well();
	}
	T_TRUE(in[0] > 2 && in[1] > 2 && in[2] > 8);
}

T_CASE(a_member_that_goes_before_the_flip_ends_the_attempt)
{
	char key[64];

	begin();
	members("");
	until("reserving");
	rig_run(&rig);
	(void)answer_all();
	T_TRUE(held() > 0);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-3/spec", local());
	rig_del(&rig, key);
	rig_deliver_all(&rig);
	run_for_ms(1000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	member_with(3, "");
	run_for_ms(20000);
	close_well();
}

static void is_let_go_by(const char *more)
{
	begin();
	members("");
	until("reserving");
	rig_run(&rig);
	(void)answer_all();
	T_TRUE(held() > 0);
	member_with(3, more);
	rig_deliver_all(&rig);
	run_for_ms(1000);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	member_with(3, "");
	rig_deliver_all(&rig);
	run_for_ms(20000);
	close_well();
}

T_CASE(a_member_replaced_before_the_flip_ends_the_attempt)
{
	is_let_go_by("\"nodeSelector\":{\"no\":\"where\"},");
	is_let_go_by("\"schedulingGates\":[{\"name\":\"g\"}],");
}

/* The member was bound by the record's word, and went. */
T_CASE(a_member_that_goes_after_the_flip_is_left_out)
{
	char key[64];

	begin();
	members("");
	until("bound");
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-3/spec", local());
	rig_del(&rig, key);
	rig_deliver_all(&rig);
	run_for_ms(1000);
	T_EQ(bound(), MEMBERS - 1);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	member_with(3, "");
	close_well();
}

/* Another shard has made the record bound: a-0 is to go to n-0, where its room is
 * reserved. */
static void put_bound(void)
{
	static const char reservation_text[] =
		"\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
		"\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"}";
	char spec[64], json[512];

	(void)snprintf(spec, sizeof spec, "/schedules/%04u/web/a-0/spec", local());
	(void)snprintf(
		json, sizeof json,
		"{\"v\":1,\"phase\":\"bound\",\"shard\":\"east-7\",\"epoch\":\"1\","
		"\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":[{\"at\":0,"
		"\"cluster\":\"east\",\"node\":\"n-0\",\"pods\":{\"a-0\":\"%lld\"}}]}",
		(long long)rig_get(&rig.store, pl_span_str(spec))->mod_revision);
	rig_put(&rig, "/gangs/web/a", json);
	(void)snprintf(json, sizeof json,
	               "{\"v\":1,\"generation\":2,%s,\"holds\":[{\"kind\":\"gang\","
	               "\"namespace\":\"web\",\"name\":\"a\","
	               "\"until\":\"2026-11-21T09:00:00.000Z\",%s}]}",
	               reservation_text, reservation_text);
	rig_put(&rig, "/alloc/0000/east/n-0", json);
}

/* One txn is not answered, all others are. Its slot; RIG_OUT_MAX: none is left. */
static unsigned run_but(unsigned kept)
{
	unsigned out = RIG_OUT_MAX;

	rig.now_ms += 100;
	rig_views(&rig);
	rig_run(&rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		if (!rig.out[i].used)
			continue;
		if (out == RIG_OUT_MAX && (kept == RIG_OUT_MAX || i == kept))
			out = i;
		else
			(void)rig_answer(&rig, i);
	}
	rig_deliver_all(&rig);
	return out;
}

/* Nothing is known of a member while it is in a txn that was made before its partition
 * was lost: that does not mean that it is not to be bound. */
T_CASE(a_member_in_a_txn_keeps_its_room)
{
	unsigned answered = RIG_OUT_MAX;

	begin();
	member_with(0, "");
	rig_deliver_all(&rig);
	for (unsigned n = 0; n < 200 && answered == RIG_OUT_MAX; n++)
		answered = run_but(RIG_OUT_MAX);
	T_TRUE(answered < RIG_OUT_MAX); /* the reason that it waits for the others */
	rig_lost(&rig, local());
	put_bound();
	rig_own(&rig, local());
	rig_deliver_all(&rig);
	for (unsigned n = 0; n < 20; n++) {
		T_EQ(run_but(answered), answered);
		T_EQ(held(), 1);
	}
	(void)rig_answer(&rig, answered);
	run_for_ms(2000);
	T_EQ(bound(), 1);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

/* The attempt ends while the member is in a txn: no other member waits, so nothing could
 * be tried by then. */
T_CASE(a_member_that_comes_out_of_a_txn_is_tried)
{
	unsigned bind;

	begin();
	members("");
	until("bound");
	bind = run_but(RIG_OUT_MAX);
	for (unsigned n = 0; n < 10; n++)
		T_EQ(run_but(bind), bind);
	T_TRUE(bound() > 0 && bound() < MEMBERS);
	rig_del(&rig, "/gangs/web/a");
	rig_deliver_all(&rig);
	for (unsigned n = 0; n < 600; n++)
		T_EQ(run_but(bind), bind);
	T_TRUE(bound() < MEMBERS);
	T_TRUE(!rig_answer(&rig, bind));
	close_well();
}

/* The last record of the list is the pod that is to be bound, when that allocation
 * fails. */
static bool takes_over_without(uint64_t nth)
{
	bool fired;

	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		if (p != local())
			rig_own(&rig, p);
	rig.owned[local()] = true;
	T_OK(sched_own(rig.sched, local(), ++rig.epoch, &rig.err), &rig.err);
	rig_list(&rig, local(), SCHED_NODES);
	rig_list(&rig, local(), SCHED_ALLOCS);
	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	rig_list(&rig, local(), SCHED_SCHEDULES);
	fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_reset();
	return fired;
}

/* A record that was not kept is not a deleted one: else x gets its room, since there is
 * no other. */
T_CASE(the_next_owner_binds_a_member_that_was_not_kept)
{
	bool fired = true;
	uint64_t nth = 1;

	for (; fired; nth++) {
		begin();
		members("");
		until("bound");
		T_EQ(bound(), 0);
		another_shard();
		fired = takes_over_without(nth);
		rig_views(&rig);
		rig_run(&rig);
		(void)answer_all();
		rig_pod(&rig, local(), "x", "1", "");
		rig_deliver_all(&rig);
		for (int i = 0; i < 3; i++) {
			rig_run_idle(&rig);
			rig.now_ms += 11000;
		}
		T_STR(rig_where(&rig, local(), "x"), "Pending");
		close_well();
	}
	T_TRUE(nth > 50);
}

T_CASE(a_shard_that_misses_the_deadline_loses_the_gang)
{
	begin();
	members("");
	until("reserving");
	rig.now_ms += 11000;
	rig_run(&rig);
	(void)answer_all();
	T_STR(phase(), "aborting");
	run_for_ms(30000);
	close_well();
}

/* The txn that puts q on n-0. */
static unsigned until_q_is_sent(void)
{
	rig_pod(&rig, 0, "q", "2", ",\"nodeSelector\":{\"host\":\"n-0\"}");
	rig_deliver_all(&rig);
	for (unsigned n = 0; n < 50; n++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (rig_out_puts(&rig.out[i], "/alloc/0000/east/n-0"))
				return i;
		(void)answer_all();
		rig.now_ms += 20;
	}
	t_fail(__FILE__, __LINE__, "q is not sent");
	return 0;
}

/* The owner before gives the reservation back, and was not done with n-0, which has been
 * written once more since. */
static void put_aborting(void)
{
	static const char alloc[] = "/alloc/0000/east/n-0";
	static const char holds[] =
		"{\"v\":1,\"generation\":%u,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
		"\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"},\"holds\":[{"
		"\"kind\":\"gang\",\"namespace\":\"web\",\"name\":\"a\",\"until\":"
		"\"2026-11-21T09:00:00.000Z\",\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
		"\"nonzero\":{\"cpu\":\"1000m\",\"memory\":\"209715200\"}}]}";
	char json[512];

	(void)snprintf(json, sizeof json, holds, 2u);
	rig_put(&rig, alloc, json);
	rig_put(&rig, "/gangs/web/a",
	        "{\"v\":1,\"phase\":\"aborting\",\"shard\":\"east-7\",\"epoch\":\"1\","
	        "\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":[{\"at\":0,"
	        "\"cluster\":\"east\",\"node\":\"n-0\",\"pods\":{\"a-0\":\"7\"}}]}");
	(void)snprintf(json, sizeof json, holds, 3u);
	rig_put(&rig, alloc, json);
}

/* The view has listed n-0 since, which has a reservation; but that is deferred to q's
 * answer, and what is known of n-0 is older. */
T_CASE(a_record_outlives_a_deferred_reservation)
{
	unsigned txn;

	begin();
	txn = until_q_is_sent();
	T_TRUE(!rig.viewed[SCHED_FLEET]);
	put_aborting();
	for (unsigned n = 0; n < 30; n++) {
		(void)rig_view_deliver(&rig, SCHED_GANGS, UINT32_MAX);
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++)
			if (i != txn && rig.out[i].used)
				(void)rig_answer(&rig, i);
		rig.now_ms += 100;
		T_STR(phase(), "aborting");
	}
	T_TRUE(rig.viewed[SCHED_FLEET]);
	T_EQ(held(), 1);
	T_TRUE(!rig_answer(&rig, txn));
	run_for_ms(5000);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	T_STR(rig_where(&rig, 0, "q"), "n-0");
	rig_close(&rig);
}

/* Another pod took the room between the decision and the reservation. */
T_CASE(room_that_is_gone_ends_the_attempt)
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
	run_for_ms(500);
	T_EQ(bound(), 0);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	rig_node(&rig, 3, "n-19", "2");
	run_for_ms(20000);
	T_EQ(bound(), MEMBERS);
	rig_close(&rig);
}

/* More members on one node than fit into a transaction go in several. */
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
	rig_run_idle(&rig);
	members("");
	run_for_ms(3000);
	T_EQ(bound(), MEMBERS);
	T_EQ(rig.malformed, 0);
	T_TRUE(rig_alloc(&rig, 0, "n-100").pods >= MEMBERS - NODES);
	close_well();
}

/* A malformed record stops nothing for ever. */
T_CASE(a_malformed_record_goes_with_its_reservations)
{
	begin();
	members("");
	until("reserving");
	rig_run(&rig);
	(void)answer_all();
	T_TRUE(held() > 0);
	rig_put(&rig, "/gangs/web/a", "{\"v\":1,\"phase\":\"resting\"}");
	rig_deliver_all(&rig);
	run_for_ms(30000);
	T_TRUE(rig.malformed > 0);
	rig.malformed = 0;
	close_well();
}

/* A reservation that is only planned by then is not waited for. */
static void becomes(const char *record)
{
	begin();
	members("");
	until("reserving");
	rig_run(&rig); /* the reservations are in txns */
	rig_put(&rig, "/gangs/web/a", record);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used)
			T_TRUE(!rig_answer(&rig, i));
	rig_deliver_all(&rig);
	run_for_ms(30000);
	rig.malformed = 0;
	close_well();
}

T_CASE(a_record_may_be_replaced_before_room_is_reserved)
{
	static const char *const phases[] = {"reserving", "aborting", "bound"};

	becomes("{}");
	for (unsigned i = 0; i < 3; i++) {
		char json[256];

		(void)snprintf(json, sizeof json,
		               "{\"v\":1,\"phase\":\"%s\",\"shard\":\"east-7\",\"epoch\":"
		               "\"1\",\"until\":\"2026-11-21T09:00:00.000Z\",\"nodes\":[{"
		               "\"at\":0,\"cluster\":\"east\",\"node\":\"n-0\",\"pods\":{"
		               "\"a-0\":\"7\"}}]}",
		               phases[i]);
		becomes(json);
	}
}

/* The rest of a larger attempt is dealt with before a smaller one. */
T_CASE(a_small_gang_waits_for_a_record)
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
	close_well();
}

/* -- many at once ------------------------------------------------------------ */

/* The view tells of another shard's record, or of its deletion. */
static void view_record(uint32_t number, bool gone)
{
	char key[32];
	struct kv_event event = {.is_delete = gone};

	(void)snprintf(key, sizeof key, "/gangs/web/x-%u", number);
	event.record.key = pl_span_str(key);
	event.record.mod_revision = ++rig.store.revision;
	if (!gone)
		event.record.value = PL_SPAN_LIT(
			"{\"v\":1,\"phase\":\"aborting\",\"shard\":\"east-7\","
			"\"epoch\":\"1\",\"until\":\"2026-11-21T09:00:00.000Z\","
			"\"nodes\":[{\"at\":0,\"cluster\":\"east\",\"node\":"
			"\"n-0\",\"pods\":{\"x\":\"7\"}}]}");
	sched_view_events(rig.sched, SCHED_GANGS, &event, 1, 0);
}

/* Entries of deleted records take no room from others, however many there were. */
T_CASE(thousands_of_deleted_records_take_no_room)
{
	begin();
	rig_node(&rig, 0, "n-100", "1");
	rig_run_idle(&rig);
	T_TRUE(rig.viewed[SCHED_GANGS]);
	for (uint32_t i = 0; i < 70000; i++) {
		view_record(i, false);
		view_record(i, true);
		if (i % 2000 == 0)
			run_for_ms(100);
	}
	rig_pod(&rig, 1, "w", "1",
	        ",\"affinity\":{\"podAntiAffinity\":{\"requiredDuringScheduling"
	        "IgnoredDuringExecution\":[{\"topologyKey\":\"host\","
	        "\"labelSelector\":{\"matchLabels\":{\"app\":\"w\"}}}]}}");
	members("");
	run_for_ms(5000);
	T_TRUE(strncmp(rig_where(&rig, 1, "w"), "n-", 2) == 0);
	T_TRUE(rig.sched->gang_records.by_name.count < 70000);
	T_EQ(rig.troubles, 0);
	close_well();
}

static int64_t rev_of(uint32_t number)
{
	char name[16];
	uint32_t key[2];
	const struct gang_record_entry *known;

	(void)snprintf(name, sizeof name, "x-%u", number);
	key[0] = strings_find(&rig.sched->model.strings, PL_SPAN_LIT("web"));
	key[1] = strings_find(&rig.sched->model.strings, pl_span_str(name));
	known = gang_records_find(rig.sched, key);
	return known == NULL ? 0 : known->rev;
}

/* More records than are kept: known ones go on, and so do attempts of this shard. */
T_CASE(known_records_go_on_when_there_are_too_many)
{
	begin();
	members("");
	rig_run(&rig);
	for (uint32_t i = 0; i < 65536; i++)
		view_record(i, false);
	T_TRUE(!rig.sched->gang_records.missed);
	view_record(65536, false);
	T_TRUE(rig.sched->gang_records.missed && rev_of(65536) == 0);
	view_record(5, false);
	T_EQ(rev_of(5), rig.store.revision);
	until("bound");
	until("none");
	T_EQ(bound(), MEMBERS);
	run_for_ms(11000); /* the records are listed again, and are absent */
	T_TRUE(!rig.sched->gang_records.missed);
	T_EQ(rig.sched->gang_records.count, 0);
	close_well();
}

enum { MANY = 48, OF_MANY = 6 };

static uint32_t pod_location_of(uint32_t gang)
{
	char name[16];
	struct partition_group group = {.namespace = PL_SPAN_LIT("web")};
	uint32_t out = 0;

	(void)snprintf(name, sizeof name, "b-%u", gang);
	group.gang = pl_span_str(name);
	T_OK(partition_of_group(&group, RIG_PARTITIONS, &out, &rig.err), &rig.err);
	return out;
}

/* Each of its members takes a whole node. */
static void one_of_many(uint32_t gang)
{
	char key[64], json[512];

	for (uint32_t i = 0; i < OF_MANY; i++) {
		(void)snprintf(key, sizeof key, "/schedules/%04u/web/b-%u-%u/spec",
		               pod_location_of(gang), gang, i);
		(void)snprintf(
			json, sizeof json,
			"{\"metadata\":{\"namespace\":\"web\",\"name\":\"b-%u-%u\","
			"\"annotations\":{\"placet.io/gang\":\"b-%u\","
			"\"placet.io/gang-min\":\"%d\"}},\"spec\":{\"containers\":[{"
			"\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"2\"}"
			"}}]}}",
			gang, i, gang, OF_MANY);
		rig_put(&rig, key, json);
	}
}

/* Attempts that were decided and are not bound. */
static uint32_t under_way(void)
{
	uint32_t count = 0;

	PL_LIST_EACH (link, &rig.sched->gangs.works)
		count += gang_work_is_own(PL_LIST_ITEM(link, struct gang_work, link));
	return count;
}

static uint32_t bound_of_many(void)
{
	uint32_t count = 0;

	for (uint32_t gang = 0; gang < MANY; gang++)
		for (uint32_t i = 0; i < OF_MANY; i++) {
			char name[32];
			int phase_is;

			(void)snprintf(name, sizeof name, "b-%u-%u", gang, i);
			(void)rig_state(&rig, pod_location_of(gang), name, &phase_is);
			count += phase_is == STATE_BOUND;
		}
	return count;
}

/* A gang that comes while many attempts are under way waits in the queue. */
T_CASE(attempts_beyond_the_limit_wait_in_the_queue)
{
	uint32_t most = 0;

	begin();
	for (uint32_t i = NODES; i < MANY * OF_MANY; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "n-%u", i);
		rig_node(&rig, i % RIG_PARTITIONS, name, "2");
	}
	for (uint32_t gang = 0; gang < MANY; gang++)
		one_of_many(gang);
	rig_deliver_all(&rig);
	for (unsigned i = 0; i < 3000 && bound_of_many() < MANY * OF_MANY; i++) {
		rig_run(&rig);
		most = under_way() > most ? under_way() : most;
		(void)answer_all();
		rig.now_ms += 5;
	}
	T_EQ(bound_of_many(), MANY * OF_MANY);
	T_TRUE(rig.now_ms < 6000);
	T_EQ(most, 32);
	run_for_ms(1000);
	T_EQ(rig.sched->gang_records.count, 0);
	rig_close(&rig);
}

/* -- failing allocations ----------------------------------------------------- */

static enum pl_code live_through(void)
{
	const struct sched_opts opts = {.shard = "east-0", .partitions = RIG_PARTITIONS};
	enum pl_code code = sched_new(&opts, &rig.sched, &rig.err);

	if (code != PL_OK)
		return code;
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
	own_all();
	for (int i = 0; i < 5; i++) {
		rig_run_idle(&rig);
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
			close_well();
		else
			rig_close(&rig);
	}
	T_TRUE(nth > 250);
}
