/* Lists and watches of the driver besides owned partitions: the fleet view and remote
 * lists. */
#include "tests/support/coord/work/fake_sched.h"
#include "tests/support/coord/work/work_fixture.h"

enum { NODES = 1300, OTHERS = 40 };

static void put_nodes(uint32_t partition, unsigned count)
{
	char key[64];

	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(key, sizeof key, "/nodes/%04u/east/n-%u", partition, i);
		(void)kit_put(&kit, key, "{}");
		(void)snprintf(key, sizeof key, "/alloc/%04u/east/n-%u", partition, i);
		(void)kit_put(&kit, key, "{}");
	}
}

/* Any event makes a turn. */
static void turns(uint64_t ms)
{
	static unsigned number;
	char key[64];

	(void)snprintf(key, sizeof key, "/schedules/0000/ns/p-%u/spec", number++);
	(void)kit_put(&kit, key, "{}");
	run_ms(ms);
}

static void one_up(void)
{
	up();
	fake = (struct fake_switches){0};
	worker_open(0);
	settle();
}

static void one_down(void)
{
	worker_close(0);
	down();
}

T_CASE(a_view_is_opened_when_it_is_wanted_and_only_then)
{
	unsigned records;

	one_up();
	put_nodes(1, OTHERS);
	(void)kit_put(&kit, "/aa/before", "{}");
	(void)kit_put(&kit, "/pins/behind", "{}");
	run_ms(1000);
	T_EQ(fake.view_begun, 0);
	fake.view = true;
	turns(10000);
	T_EQ(fake.view_begun, 1);
	T_EQ(fake.view_ended, 1);
	T_TRUE(fake.view_records >= 2 * OTHERS);
	records = fake.view_records;
	put_nodes(2, OTHERS);
	run_ms(1000);
	T_TRUE(fake.view_events >= 2 * OTHERS);
	T_EQ(fake.view_records, records);
	fake.view = false;
	turns(10000);
	T_EQ(fake.view_closed, 1);
	fake.view_events = 0;
	put_nodes(3, OTHERS);
	turns(10000);
	T_EQ(fake.view_events, 0);
	T_EQ(fake.view_lost, 0);
	T_EQ(fixtures[0].trouble, 0);
	one_down();
}

T_CASE(it_is_listed_anew_when_sched_could_not_keep_it)
{
	one_up();
	put_nodes(1, OTHERS);
	fake.view = true;
	turns(10000);
	fake.view_anew = true;
	turns(10000);
	T_TRUE(!fake.view_anew);
	T_EQ(fake.view_lost, 1);
	T_EQ(fake.view_begun, 2);
	T_EQ(fake.view_ended, 2);
	T_EQ(fake.view_closed, 0);
	one_down();
}

T_CASE(it_begins_again_after_a_restored_store)
{
	struct memkv_snapshot *saved = NULL;

	one_up();
	fake.view = true;
	turns(10000);
	T_OK(memkv_save(kit.mem, &saved, &kit.err), &kit.err);
	put_nodes(1, OTHERS);
	run_ms(1000);
	T_TRUE(fake.view_events >= 2 * OTHERS);
	nodes[0].epochs_may_return = true;
	T_OK(memkv_restore(kit.mem, saved, &kit.err), &kit.err);
	memset(last_epoch, 0, sizeof last_epoch);
	memkv_reconnect(nodes[0].kv);
	fake.view_begun = fake.view_ended = 0;
	run_ms(60000);
	T_TRUE(fake.rewound > 0);
	T_TRUE(fake.view_begun >= 1 && fake.view_ended >= 1);
	memkv_snapshot_free(saved);
	one_down();
}

T_CASE(a_remote_list_reads_all_pages_at_one_revision)
{
	one_up();
	put_nodes(3, NODES);
	put_nodes(4, OTHERS);
	run_ms(1000);
	fake.remote_list = 3 + 1;
	turns(10000);
	T_EQ(fake.remote_lists, 1);
	T_EQ(fake.remote_records, 2 * NODES);
	T_TRUE(fake.remote_revision > 0);
	fake.remote_list = 4 + 1;
	turns(10000);
	T_EQ(fake.remote_lists, 2);
	T_EQ(fake.remote_records, 2 * NODES + 2 * OTHERS);
	one_down();
}

T_CASE(a_failing_remote_list_is_reported)
{
	static struct faulty_rule rule;

	rule = (struct faulty_rule){.what = FAULTY_LOSE_ANSWER,
	                            .ops = 1U << KV_TXN,
	                            .prefix = PL_SPAN_LIT("/nodes/0003/"),
	                            .per_mille = 1000};
	fault_rules = &rule;
	fault_rule_count = 1;
	one_up();
	put_nodes(3, OTHERS);
	fake.remote_list = 3 + 1;
	turns(20000);
	T_EQ(fake.remote_lists, 1);
	T_EQ(fake.remote_revision, 0);
	T_EQ(fake.remote_why, PL_TIMEOUT);
	one_down();
}

/* A client has put a key that is longer than any of ours, and a page ends there
 * wherever it can. */
T_CASE(a_remote_list_passes_keys_of_any_length)
{
	enum { JUNK = 1100, LONG = 400 };
	char key[LONG + 1];

	one_up();
	put_nodes(3, OTHERS);
	for (unsigned i = 0; i < JUNK; i++) {
		memset(key, 'a', LONG);
		(void)snprintf(key, sizeof key, "/alloc/0003/east/%05u", i);
		key[strlen(key)] = 'a';
		key[LONG] = 0;
		(void)kit_put(&kit, key, "{}");
	}
	run_ms(1000);
	fake.remote_list = 3 + 1;
	turns(10000);
	T_EQ(fake.remote_lists, 1);
	T_EQ(fake.remote_records, 2 * OTHERS);
	T_TRUE(fake.remote_revision > 0);
	one_down();
}

/* After a timeout the next list has smaller pages. */
T_CASE(pages_are_smaller_after_a_late_remote_list)
{
	static struct faulty_rule rule;
	unsigned before;

	rule = (struct faulty_rule){.what = FAULTY_LOSE_ANSWER,
	                            .ops = 1U << KV_TXN,
	                            .prefix = PL_SPAN_LIT("/nodes/0003/"),
	                            .per_mille = 1000,
	                            .count = 2};
	one_up();
	put_nodes(4, NODES);
	fake.remote_list = 4 + 1;
	turns(20000);
	T_TRUE(fake.remote_revision > 0);
	before = fake.remote_page;
	one_down();
	fault_rules = &rule;
	fault_rule_count = 1;
	one_up();
	put_nodes(3, NODES);
	for (unsigned i = 0; i < 3; i++) {
		fake.remote_page = 0;
		fake.remote_list = 3 + 1;
		turns(20000);
	}
	T_EQ(fake.remote_lists, 3);
	T_TRUE(fake.remote_revision > 0);
	T_EQ(fake.remote_records, 2 * NODES);
	T_TRUE(fake.remote_page > 0 && fake.remote_page <= before / 4);
	one_down();
}

T_CASE(a_remote_list_waits_for_room)
{
	static struct faulty_rule rule;

	rule = (struct faulty_rule){.what = FAULTY_REFUSE,
	                            .ops = 1U << KV_TXN,
	                            .prefix = PL_SPAN_LIT("/nodes/0003/"),
	                            .per_mille = 800,
	                            .code = PL_BUSY};
	fault_rules = &rule;
	fault_rule_count = 1;
	one_up();
	put_nodes(3, OTHERS);
	fake.remote_list = 3 + 1;
	turns(20000);
	T_EQ(fake.remote_lists, 1);
	T_EQ(fake.remote_records, 2 * OTHERS);
	T_TRUE(fake.remote_revision > 0);
	one_down();
}

T_CASE(it_closes_while_there_are_views_and_remote_lists)
{
	static struct faulty_rule slow;

	slow = (struct faulty_rule){.what = FAULTY_SLOW_ANSWER,
	                            .per_mille = 500,
	                            .delay_min_ms = 1,
	                            .delay_max_ms = 1500};
	fault_rules = &slow;
	fault_rule_count = 1;
	for (unsigned step = 0; step < 20; step++) {
		up();
		fake = (struct fake_switches){.view = true};
		worker_open(0);
		run_ms(5000);
		put_nodes(3, OTHERS);
		fake.remote_list = 3 + 1;
		run_ms((uint64_t)step * 150);
		if (step % 4 == 0)
			shard_abandon(nodes[0].shard);
		if (step % 4 == 1)
			fake.view = false;
		one_down();
	}
}
