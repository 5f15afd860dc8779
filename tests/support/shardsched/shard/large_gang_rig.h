/*
 * For tests of one large gang, "a", whose members take a cpu each of nodes n-0, n-1, ...
 * with two, and do not fit into one transaction.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_LARGE_GANG_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_LARGE_GANG_RIG_H

#include "shardsched/records/gang_record.h"
#include "shardsched/shard/inner.h"
#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

enum { OPS = 24, NODES = 12, MEMBERS = 24, MORE_SIZE = 600 };

static int64_t node_cpus = 2;

static inline uint32_t local(void)
{
	const struct partition_group group = {.namespace = PL_SPAN_LIT("web"),
	                                      .gang = PL_SPAN_LIT("a")};
	uint32_t out = 0;

	T_OK(partition_of_group(&group, RIG_PARTITIONS, &out, &rig.err), &rig.err);
	return out;
}

static inline void own_all(void)
{
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		rig_own(&rig, p);
}

static inline void begin_unowned(void)
{
	rig_open(&rig, NULL);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
	for (uint32_t i = 0; i < NODES; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "n-%u", i);
		rig_node(&rig, i % RIG_PARTITIONS, name, "2");
	}
}

static inline void begin(void)
{
	begin_unowned();
	own_all();
}

static inline void member_with(uint32_t i, const char *more)
{
	char key[128], json[512 + MORE_SIZE];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/a-%u/spec", local(), i);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a-%u\",\"uid\":"
	               "\"u-%u\",\"labels\":{\"app\":\"a\"},\"annotations\":{"
	               "\"placet.io/gang\":\"a\",\"placet.io/gang-min\":\"%d\"}},"
	               "\"spec\":{%s\"containers\":[{\"name\":\"c\",\"resources\":{"
	               "\"requests\":{\"cpu\":\"1\"}}}]}}",
	               i, i, MEMBERS, more);
	rig_put(&rig, key, json);
}

static inline void members(const char *more)
{
	for (uint32_t i = 0; i < MEMBERS; i++)
		member_with(i, more);
	rig_deliver_all(&rig);
}

static inline uint32_t bound(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		char name[32];
		int phase;

		(void)snprintf(name, sizeof name, "a-%u", i);
		(void)rig_state(&rig, local(), name, &phase);
		count += phase == STATE_BOUND;
	}
	return count;
}

static inline uint32_t held(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		char name[8];
		struct alloc alloc;

		(void)snprintf(name, sizeof name, "n-%u", i);
		alloc = rig_alloc(&rig, i % RIG_PARTITIONS, name);
		T_TRUE(alloc.used.cpu_milli <= 1000 * node_cpus);
		for (uint32_t n = 0; n < alloc.holds; n++)
			count += (uint32_t)alloc.hold[n].used.pods;
	}
	return count;
}

/* NULL: there is no record. */
static inline const char *phase(void)
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
static inline bool answer_all(void)
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
static inline void until(const char *word)
{
	for (unsigned i = 0; i < 100 && strcmp(phase(), word) != 0; i++) {
		rig_run(&rig);
		(void)answer_all();
		rig.now_ms += 20;
	}
	T_STR(phase(), word);
}

static inline void run_for_ms(uint64_t ms)
{
	for (uint64_t i = 0; i < ms; i += 100) {
		rig.now_ms += 100;
		rig_run_idle(&rig);
	}
}

static inline void all_is_well(void)
{
	run_for_ms(2000);
	T_EQ(bound(), MEMBERS);
	T_EQ(held(), 0);
	T_STR(phase(), "none");
	T_EQ(rig.malformed, 0);
}

static inline void close_well(void)
{
	all_is_well();
	rig_close(&rig);
}

/* A new shard over the same store, that owns nothing. */
static inline void another_shard(void)
{
	const struct sched_opts opts = {.shard = "east-1", .partitions = RIG_PARTITIONS};

	sched_free(rig.sched);
	rig.sched = NULL;
	memset(rig.out, 0, sizeof rig.out);
	memset(rig.viewed, 0, sizeof rig.viewed);
	memset(rig.owned, 0, sizeof rig.owned);
	memset(rig.remote_list, 0, sizeof rig.remote_list);
	T_OK(sched_new(&opts, &rig.sched, &rig.err), &rig.err);
	sched_set_limits(rig.sched, (struct kv_limits){.txn_ops = OPS});
}

/* The shard dies at the nth txn, which is applied or not; all before it were. False: it
 * did not live to see so many. */
static inline bool dies_at(unsigned nth, bool applied)
{
	unsigned calls = 0;

	for (unsigned n = 0; n < 300; n++) {
		rig_views(&rig);
		rig_run(&rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
			if (!rig.out[i].used)
				continue;
			if (calls++ < nth) {
				(void)rig_answer(&rig, i);
				continue;
			}
			if (applied)
				(void)rig_exec(&rig.store, &rig.out[i].req.txn);
			return true;
		}
		rig_deliver_all(&rig);
		rig.now_ms += 20;
	}
	return false;
}

#endif
