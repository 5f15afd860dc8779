#include <inttypes.h>
#include <stdio.h>

#include "coord/service/writes/write_queue.h"
#include "store/base/rng.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { PUTS_MAX = 400 };

/* One put of one key, compared with a revision. */
struct put {
	struct write write;
	char key[32], value[32];
	int64_t compared;
	unsigned ended;
	enum write_result result;
	enum pl_code code;
	int64_t revision; /* of the put, or of what stands there instead */
};

static struct kit kit;
static struct write_queue *queue;
static struct put all[PUTS_MAX];
static bool closed;

static bool add_put(struct write *write, struct txn_builder *builder)
{
	struct put *put = write->ctx;

	return builder_put(builder, pl_span_str(put->key), put->compared,
	                   pl_span_str(put->value));
}

static void on_put(struct write *write, const struct write_outcome *outcome)
{
	struct put *put = write->ctx;

	put->ended++;
	put->result = outcome->result;
	put->revision = outcome->revision;
	put->code = outcome->err == NULL ? PL_OK : outcome->err->code;
	if (outcome->result == WRITE_REFUSED && outcome->found[0].record != NULL)
		put->revision = outcome->found[0].record->mod_revision;
}

static void begin(unsigned at, const char *key, int64_t compared)
{
	struct put *put = &all[at];

	*put = (struct put){.compared = compared};
	(void)snprintf(put->key, sizeof put->key, "%s", key);
	(void)snprintf(put->value, sizeof put->value, "\"value %u\"", at);
	put->write = (struct write){.add = add_put, .done = on_put, .ctx = put};
	write_adds_key(&put->write, pl_span_str(put->key));
	T_OK(write_queue_add(queue, &put->write, &kit.err), &kit.err);
	T_EQ(put->ended, 0);
}

static void begin_new(unsigned at)
{
	char key[32];

	(void)snprintf(key, sizeof key, "/k/%04u", at);
	begin(at, key, 0);
}

static void open_queue(struct kv *kv)
{
	struct write_queue_opts opts = {.kv = kv, .timeout_ms = 500, .patience_ms = 5000};

	closed = false;
	T_OK(write_queue_open(&opts, &queue, &kit.err), &kit.err);
}

static void up(void)
{
	kit_open(&kit, NULL);
	open_queue(kit.kv);
}

static void on_closed(void *ctx)
{
	(void)ctx;
	closed = true;
}

static void down(void)
{
	write_queue_close(queue, on_closed, NULL);
	T_TRUE(!closed);
	kit_until(&kit, kit.now_ms + 60000);
	T_TRUE(closed);
	kit_close(&kit);
}

T_CASE(writes_of_one_moment_share_transactions)
{
	struct write_queue_counts counts;

	up();
	for (unsigned i = 0; i < 200; i++)
		begin_new(i);
	kit_until(&kit, 10);
	for (unsigned i = 0; i < 200; i++) {
		T_EQ(all[i].ended, 1);
		T_EQ(all[i].result, WRITE_DONE);
	}
	T_TRUE(all[0].revision > 1);
	T_EQ(all[0].revision, all[63].revision);
	T_TRUE(all[64].revision > all[63].revision);
	write_queue_counts(queue, &counts);
	T_EQ(counts.writes, 200);
	T_EQ(counts.transactions, 4);
	T_EQ(counts.conflicts, 0);
	down();
}

T_CASE(only_the_write_whose_compare_fails_is_refused)
{
	int64_t there;

	up();
	there = kit_put(&kit, "/k/0002", "another");
	for (unsigned i = 0; i < 5; i++)
		begin_new(i);
	kit_until(&kit, 10);
	for (unsigned i = 0; i < 5; i++) {
		T_EQ(all[i].ended, 1);
		T_EQ(all[i].result, i == 2 ? WRITE_REFUSED : WRITE_DONE);
	}
	T_EQ(all[2].revision, there);
	down();
}

T_CASE(two_writes_of_a_key_do_not_meet)
{
	up();
	begin(0, "/k/a", 0);
	begin(1, "/k/a", 0);
	begin(2, "/k/b", 0);
	kit_until(&kit, 10);
	T_EQ(all[0].result, WRITE_DONE);
	T_EQ(all[1].ended, 1);
	T_EQ(all[1].result, WRITE_REFUSED);
	T_EQ(all[1].revision, all[0].revision);
	T_EQ(all[2].result, WRITE_DONE);
	down();
}

T_CASE(a_key_in_common_is_compared_once_and_refuses_all_who_rely_on_it)
{
	int64_t there;

	up();
	there = kit_put(&kit, "/ns", "1");
	for (unsigned i = 0; i < 3; i++) {
		char key[32];

		(void)snprintf(key, sizeof key, "/k/%u", i);
		all[i] = (struct put){.compared = 0};
		(void)snprintf(all[i].key, sizeof all[i].key, "%s", key);
		(void)snprintf(all[i].value, sizeof all[i].value, "\"%u\"", i);
		all[i].write =
			(struct write){.add = add_put, .done = on_put, .ctx = &all[i]};
		write_adds_key(&all[i].write, pl_span_str(all[i].key));
		if (i < 2) {
			all[i].write.expect_key = PL_SPAN_LIT("/ns");
			all[i].write.expect_revision = there - (i == 1);
		}
		T_OK(write_queue_add(queue, &all[i].write, &kit.err), &kit.err);
	}
	kit_until(&kit, 50);
	T_EQ(all[0].result, WRITE_DONE);
	T_EQ(all[1].ended, 1);
	T_EQ(all[1].result, WRITE_REFUSED);
	T_EQ(all[2].result, WRITE_DONE);
	down();
}

static bool add_large(struct write *write, struct txn_builder *builder)
{
	static char large[3 << 20];
	struct put *put = write->ctx;

	memset(large, 'x', sizeof large);
	return builder_put(builder, pl_span_str(put->key), 0,
	                   pl_span(large, sizeof large));
}

T_CASE(a_write_that_fits_into_no_transaction_fails_alone)
{
	up();
	begin_new(0);
	all[1] = (struct put){.key = "/k/x"};
	all[1].write = (struct write){.add = add_large, .done = on_put, .ctx = &all[1]};
	T_OK(write_queue_add(queue, &all[1].write, &kit.err), &kit.err);
	begin_new(2);
	kit_until(&kit, 10);
	T_EQ(all[0].result, WRITE_DONE);
	T_EQ(all[1].ended, 1);
	T_EQ(all[1].code, PL_LIMIT);
	T_EQ(all[2].result, WRITE_DONE);
	down();
}

/* Three keys each: not all writes fit into one transaction, and the last one that is tried
 * fits with some of its entries only. */
static bool add_three(struct write *write, struct txn_builder *builder)
{
	static char keys[PUTS_MAX][3][32];
	struct put *put = write->ctx;
	size_t at = (size_t)(put - all);

	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(keys[at][i], sizeof keys[at][i], "/k/%zu/%u", at, i);
		if (!builder_put(builder, pl_span_str(keys[at][i]), 0,
		                 pl_span_str(put->value)))
			return false;
	}
	return true;
}

T_CASE(a_write_is_committed_whole)
{
	up();
	for (unsigned i = 0; i < 100; i++) {
		all[i] = (struct put){.value = "1"};
		all[i].write =
			(struct write){.add = add_three, .done = on_put, .ctx = &all[i]};
		T_OK(write_queue_add(queue, &all[i].write, &kit.err), &kit.err);
	}
	kit_until(&kit, 50);
	for (unsigned i = 0; i < 100; i++) {
		T_EQ(all[i].ended, 1);
		T_EQ(all[i].result, WRITE_DONE);
	}
	down();
}

T_CASE(closing_cancels_what_waits_and_lets_end_what_flies)
{
	up();
	begin_new(0);
	write_queue_close(queue, on_closed, NULL);
	T_CODE(write_queue_add(queue, &all[1].write, &kit.err), PL_CANCELED, &kit.err);
	kit_until(&kit, 10);
	T_TRUE(closed);
	T_EQ(all[0].ended, 1);
	T_EQ(all[0].result, WRITE_FAILED);
	T_EQ(all[0].code, PL_CANCELED);
	kit_close(&kit);
}

static bool add_leased(struct write *write, struct txn_builder *builder)
{
	struct put *put = write->ctx;

	return builder_put_leased(builder, pl_span_str(put->key), put->compared,
	                          pl_span_str(put->value), 4711);
}

/* A transaction with a lease that is gone is refused as a whole. */
T_CASE(a_write_that_the_store_refuses_fails_alone)
{
	up();
	for (unsigned i = 0; i < 8; i++)
		begin_new(i);
	all[3].write.add = add_leased;
	(void)kit_put(&kit, "/k/0004", "another");
	kit_until(&kit, 100);
	for (unsigned i = 0; i < 8; i++) {
		T_EQ(all[i].ended, 1);
		T_EQ(all[i].result, i == 3   ? WRITE_FAILED
		                    : i == 4 ? WRITE_REFUSED
		                             : WRITE_DONE);
	}
	T_EQ(all[3].code, PL_NOLEASE);
	/* Later ones share transactions again. */
	for (unsigned i = 10; i < 20; i++)
		begin_new(i);
	kit_until(&kit, 200);
	T_EQ(all[10].result, WRITE_DONE);
	T_EQ(all[10].revision, all[19].revision);
	down();
}

/* The first attempt was applied, and its answer is lost; the next ones are refused. */
T_CASE(writes_of_a_refused_batch_know_what_was_applied_before)
{
	static const struct faulty_rule lose = {.what = FAULTY_LOSE_ANSWER,
	                                        .ops = 1u << KV_TXN,
	                                        .per_mille = 1000,
	                                        .count = 1,
	                                        .delay_max_ms = 1};
	const struct faulty_rule refuse = {.what = FAULTY_REFUSE,
	                                   .ops = 1u << KV_TXN,
	                                   .prefix = PL_SPAN_LIT("/k/0002"),
	                                   .per_mille = 1000,
	                                   .code = PL_DENIED};
	struct kv *inner = NULL, *outer = NULL;

	kit_open(&kit, NULL);
	T_OK(faulty_open(kit.kv, t_seed(), &lose, 1, &inner, &kit.err), &kit.err);
	T_OK(faulty_open(inner, t_seed(), &refuse, 1, &outer, &kit.err), &kit.err);
	faulty_pause(outer, true);
	open_queue(outer);
	for (unsigned i = 0; i < 4; i++)
		begin_new(i);
	kit_until(&kit, 5);
	T_EQ(faulty_count(inner, FAULTY_LOSE_ANSWER), 1);
	T_EQ(all[0].ended, 0);
	faulty_pause(outer, false);
	kit_until(&kit, 1000);
	for (unsigned i = 0; i < 4; i++) {
		T_EQ(all[i].ended, 1);
		T_EQ(all[i].result, i == 2 ? WRITE_FAILED : WRITE_DONE);
	}
	T_EQ(all[2].code, PL_UNKNOWN);
	T_TRUE(all[0].revision > 0 && all[0].revision == all[3].revision);
	kit.kv = outer;
	down();
}

/* Whether the store has the put's own value. */
static bool stands(const struct put *put, int64_t *revision)
{
	struct kv_req req = kv_op_get(kv_key(pl_span_str(put->key)));
	const struct kv_record *record;

	T_OK(kit_call(&kit, &req), &kit.err);
	if (kit.result.get.count == 0)
		return false;
	record = &kit.result.get.records[0];
	*revision = record->mod_revision;
	return pl_span_eq(record->value, pl_span_str(put->value));
}

/* Lost answers, late writes and refusals: every write is told once, and what it is told is
 * so. */
T_CASE(random_faults_tell_no_lies)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER,
	         .ops = 1u << KV_TXN,
	         .per_mille = 150,
	         .delay_max_ms = 200},
		{.what = FAULTY_APPLY_LATE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 100,
	         .delay_max_ms = 300},
		{.what = FAULTY_REFUSE,
	         .ops = 1u << KV_TXN,
	         .per_mille = 100,
	         .code = PL_UNAVAIL},
		{.what = FAULTY_SLOW_ANSWER,
	         .ops = 1u << KV_TXN,
	         .per_mille = 200,
	         .delay_max_ms = 100},
	};
	struct pl_rng rng;
	struct kv *faulty = NULL;
	unsigned done = 0, refused = 0;

	kit_open(&kit, NULL);
	pl_rng_init(&rng, t_seed());
	T_OK(faulty_open(kit.kv, t_seed(), rules, 4, &faulty, &kit.err), &kit.err);
	open_queue(faulty);
	for (unsigned i = 0; i < PUTS_MAX; i++) {
		char key[32];

		(void)snprintf(key, sizeof key, "/k/%u",
		               (unsigned)pl_rng_below(&rng, 250));
		begin(i, key, 0);
		if (pl_rng_chance(&rng, 1, 10))
			kit_until(&kit, kit.now_ms + pl_rng_below(&rng, 50));
	}
	kit_until(&kit, kit.now_ms + 30000);
	for (unsigned i = 0; i < PUTS_MAX; i++) {
		int64_t revision = 0;

		T_EQ(all[i].ended, 1);
		if (all[i].result == WRITE_DONE) {
			T_TRUE(stands(&all[i], &revision));
			T_EQ(all[i].revision, revision);
			done++;
		} else if (all[i].result == WRITE_REFUSED) {
			T_TRUE(!stands(&all[i], &revision));
			refused++;
		}
	}
	T_REACHED(done > 100 && refused > 50);
	write_queue_close(queue, on_closed, NULL);
	kit_until(&kit, kit.now_ms + 60000);
	T_TRUE(closed);
	kit.kv = faulty;
	kit_close(&kit);
}
