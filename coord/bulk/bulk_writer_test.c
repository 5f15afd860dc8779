/* Transactions of several slots over the store in memory with faults: each is applied
 * once, whatever happens to its answers. */
#include "coord/bulk/bulk_writer.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { COUNT = 60, SLOTS = 4, KEY_SIZE = 16 };

static struct kit kit;
static struct job {
	struct kv *kv;
	struct bulk_writer *writer; /* NULL: it has ended */
	unsigned given, stop_at;
	unsigned number[SLOTS];
	struct kv_compare compare[SLOTS];
	struct kv_req put[SLOTS], get[SLOTS];
	char key[SLOTS][KEY_SIZE];
	unsigned applied[COUNT], found[COUNT], open;
	bool failed, rewrites;
	struct pl_err err;
} job;

static bool next(void *ctx, unsigned slot, struct pl_arena *arena, struct kv_req *req)
{
	struct job *me = ctx;
	struct pl_span key, value = PL_SPAN_LIT("mine");

	if (me->given == me->stop_at)
		bulk_cancel(me->writer, NULL);
	if (me->given == COUNT)
		return false;
	me->number[slot] = me->given++;
	me->open++;
	(void)snprintf(me->key[slot], KEY_SIZE, "/t/%03u", me->number[slot]);
	key = pl_arena_dup(arena, pl_span_str(me->key[slot]));
	T_TRUE(key.at != NULL);
	me->compare[slot] = kv_if_absent(key);
	me->put[slot] = kv_op_put(key, value);
	me->get[slot] = kv_op_get(kv_key(key));
	*req = (struct kv_req){.op = KV_TXN,
	                       .txn = {.compares = &me->compare[slot],
	                               .compare_count = 1,
	                               .then = &me->put[slot],
	                               .then_count = 1,
	                               .otherwise = &me->get[slot],
	                               .otherwise_count = 1}};
	return true;
}

static void answer(void *ctx, unsigned slot, const struct kv_result *result, bool again)
{
	struct job *me = ctx;
	unsigned number = me->number[slot];

	me->open--;
	if (result->txn.succeeded) {
		me->applied[number]++;
		return;
	}
	/* There is no other writer, so an earlier attempt was applied. */
	T_TRUE(again);
	T_EQ(result->txn.results[0].get.count, 1);
	me->found[number]++;
}

static void done(void *ctx, const struct pl_err *err)
{
	struct job *me = ctx;

	me->writer = NULL;
	me->failed = err != NULL;
	if (err != NULL)
		me->err = *err;
}

static void run(void)
{
	while (job.writer != NULL) {
		if (memkv_next_ms(kit.mem) > kit.now_ms)
			kit.now_ms = memkv_next_ms(kit.mem);
		kit_run(&kit, kit.now_ms);
	}
}

static void up(const struct faulty_rule *rules, size_t count)
{
	memset(&job, 0, sizeof job);
	job.stop_at = UINT32_MAX;
	kit_open(&kit, NULL);
	T_OK(faulty_open(kit.kv, 7, rules, count, &job.kv, &kit.err), &kit.err);
	kit.kv = job.kv;
}

static enum pl_code start(void)
{
	struct bulk_opts opts = {.slots = SLOTS,
	                         .timeout_ms = 100,
	                         .patience_ms = 3000,
	                         .next = next,
	                         .answer = answer,
	                         .done = done,
	                         .ctx = &job};

	return bulk_open(job.kv, &opts, &job.writer, &kit.err);
}

static unsigned stands(void)
{
	T_EQ(kit_get_at(&kit, kv_prefix(PL_SPAN_LIT("/t/")), 0), PL_OK);
	for (size_t i = 0; i < kit.result.get.count; i++)
		T_EQ(kit.result.get.records[i].version, 1);
	return (unsigned)kit.result.get.count;
}

static void all_once(void)
{
	for (unsigned i = 0; i < COUNT; i++)
		T_EQ(job.applied[i] + job.found[i], 1);
	T_EQ(stands(), COUNT);
}

T_CASE(slots_work_until_nothing_is_left)
{
	up(NULL, 0);
	T_OK(start(), &kit.err);
	T_EQ(job.given, 0);
	run();
	T_TRUE(!job.failed);
	all_once();
	kit_close(&kit);
}

T_CASE(each_is_applied_once_despite_lost_answers)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_TXN, .per_mille = 200},
		{.what = FAULTY_APPLY_LATE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 90},
		{.what = FAULTY_REFUSE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 100,
	         .code = PL_UNAVAIL},
		{.what = FAULTY_REFUSE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 100,
	         .code = PL_BUSY},
	};
	unsigned found = 0;

	up(rules, sizeof rules / sizeof rules[0]);
	T_OK(start(), &kit.err);
	run();
	faulty_pause(job.kv, true);
	T_TRUE(!job.failed);
	all_once();
	for (unsigned i = 0; i < COUNT; i++)
		found += job.found[i];
	T_TRUE(found > 0);
	kit_close(&kit);
}

T_CASE(patience_ends)
{
	static const struct faulty_rule rules[] = {{.what = FAULTY_REFUSE,
	                                            .ops = 1u << KV_TXN,
	                                            .per_mille = 1000,
	                                            .code = PL_UNAVAIL}};

	up(rules, 1);
	T_OK(start(), &kit.err);
	run();
	T_EQ(job.err.code, PL_UNAVAIL);
	T_TRUE(kit.now_ms >= 3000 && kit.now_ms < 6000);
	T_EQ(job.open, SLOTS);
	faulty_pause(job.kv, true);
	T_EQ(stands(), 0);
	kit_close(&kit);
}

/* After an unknown outcome a definite failure of a later attempt says nothing about
 * the first one. */
T_CASE(an_unknown_outcome_stays_unknown)
{
	static const struct faulty_rule lose[] = {
		{.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_TXN, .per_mille = 1000}};
	static const struct faulty_rule refuse[] = {{.what = FAULTY_REFUSE,
	                                             .ops = 1u << KV_TXN,
	                                             .per_mille = 1000,
	                                             .code = PL_DENIED}};

	up(lose, 1);
	T_OK(faulty_open(kit.kv, 8, refuse, 1, &job.kv, &kit.err), &kit.err);
	kit.kv = job.kv;
	faulty_pause(job.kv, true);
	T_OK(start(), &kit.err);
	kit_run(&kit, 0);
	T_EQ(job.open, SLOTS);
	faulty_pause(job.kv, false);
	run();
	T_EQ(job.err.code, PL_UNKNOWN);
	T_EQ(job.err.cause, PL_DENIED);
	kit_close(&kit);
}

T_CASE(an_error_that_sending_again_does_not_cure_ends_it)
{
	static const struct faulty_rule rules[] = {{.what = FAULTY_REFUSE,
	                                            .ops = 1u << KV_TXN,
	                                            .per_mille = 1000,
	                                            .code = PL_DENIED,
	                                            .count = 1},
	                                           {.what = FAULTY_SLOW_ANSWER,
	                                            .ops = 1u << KV_TXN,
	                                            .per_mille = 1000,
	                                            .delay_min_ms = 10,
	                                            .delay_max_ms = 10}};

	up(rules, 2);
	T_OK(start(), &kit.err);
	run();
	T_EQ(job.err.code, PL_DENIED);
	/* The other slots' transactions were waited for. */
	T_EQ(job.open, 1);
	T_EQ(stands(), SLOTS - 1);
	kit_close(&kit);
}

T_CASE(canceled_at_any_moment)
{
	for (unsigned at = 0; at <= COUNT; at += 7) {
		up(NULL, 0);
		job.stop_at = at;
		T_OK(start(), &kit.err);
		run();
		T_EQ(job.err.code, PL_CANCELED);
		kit_close(&kit);
	}
	up(NULL, 0);
	T_OK(start(), &kit.err);
	bulk_cancel(job.writer, NULL);
	T_TRUE(job.writer != NULL);
	run();
	T_EQ(job.err.code, PL_CANCELED);
	T_EQ(job.given, 0);
	kit_close(&kit);
}

static enum pl_code scenario(void)
{
	enum pl_code code = start();

	if (code == PL_OK) {
		bulk_cancel(job.writer, NULL);
		run();
	}
	return code;
}

T_CASE(without_memory_nothing_is_opened)
{
	up(NULL, 0);
	t_torture(scenario, false);
	kit_close(&kit);
}
