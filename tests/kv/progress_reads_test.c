#include "store/base/fault.h"
#include "store/kv/metrics.h"
#include "store/kv/progress_reads.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { ASKERS = 300, READ_MS = 100 };

struct asker {
	struct progress_read ask;
	/* When the request is answered, it cancels the first and makes the second. */
	struct asker *forgets, *asks;
	int64_t revision; /* 0: an error */
	unsigned told;
	enum pl_code code;
};

static struct kit kit;
static struct progress_reads *progress_reads;
static struct asker asker[ASKERS];

static void ask_progress(struct asker *a);

static void on_head(void *ctx, const struct kv_header *header, const struct pl_err *err)
{
	struct asker *a = ctx;

	T_TRUE((header == NULL) == (err != NULL));
	a->told++;
	a->revision = header == NULL ? 0 : header->revision;
	a->code = err == NULL ? PL_OK : err->code;
	if (a->forgets != NULL)
		progress_read_cancel(&a->forgets->ask);
	if (a->asks != NULL)
		ask_progress(a->asks);
}

static void ask_progress(struct asker *a)
{
	a->ask = (struct progress_read){.key = kit_key("k"), .fn = on_head, .ctx = a};
	progress_reads_start(progress_reads, &a->ask);
	T_EQ(a->told, 0);
}

static void begin_case(void)
{
	static const struct faulty_rule slow = {.what = FAULTY_SLOW_ANSWER,
	                                        .ops = 1u << KV_GET,
	                                        .per_mille = 1000,
	                                        .delay_min_ms = READ_MS,
	                                        .delay_max_ms = READ_MS};

	memset(asker, 0, sizeof asker);
	kit_open(&kit, NULL);
	T_EQ(faulty_open(kit.kv, 1, &slow, 1, &kit.kv, NULL), PL_OK);
	T_EQ(kv_metrics_open(kit.kv, NULL, &kit.kv, NULL), PL_OK);
	T_EQ(progress_reads_open(kit.kv, 1000, &progress_reads, NULL), PL_OK);
}

static void finish_case(void)
{
	progress_reads_close(progress_reads);
	kit_until(&kit, kit.now_ms + READ_MS);
	kit_close(&kit);
}

static void run_for(uint64_t ms)
{
	kit_until(&kit, kit.now_ms + ms);
}

static uint64_t read_count(void)
{
	return kv_metrics_of(kit.kv)->op[KV_GET].started;
}

T_CASE(one_read_answers_many_requests)
{
	begin_case();
	for (unsigned i = 0; i < ASKERS; i++) {
		ask_progress(&asker[i]);
		kit_until(&kit, i / 2);
	}
	T_EQ(read_count(), 0);
	kit_until(&kit, PROGRESS_READS_GATHER_MS + READ_MS);
	for (unsigned i = 0; i < ASKERS; i++) {
		T_EQ(asker[i].told, 1);
		T_EQ(asker[i].revision, 1);
	}
	T_EQ(read_count(), 1);
	finish_case();
}

/* A request that follows a write must hear of it, although a read is in flight. */
T_CASE(answers_are_not_older_than_their_requests)
{
	begin_case();
	ask_progress(&asker[0]);
	run_for(PROGRESS_READS_GATHER_MS);
	T_EQ(read_count(), 1);
	T_EQ(kit_put(&kit, "a", "1"), 2);
	ask_progress(&asker[1]);
	run_for(READ_MS);
	T_EQ(asker[0].revision, 1);
	T_EQ(asker[1].told, 0);
	run_for(PROGRESS_READS_GATHER_MS + READ_MS);
	T_EQ(asker[1].revision, 2);
	T_EQ(read_count(), 2);
	finish_case();
}

T_CASE(callback_may_cancel_others_and_ask_again)
{
	begin_case();
	asker[1].forgets = &asker[2];
	asker[1].asks = &asker[4];
	for (unsigned i = 0; i < 4; i++)
		ask_progress(&asker[i]);
	run_for(1000);
	T_EQ(asker[1].told, 1);
	T_EQ(asker[2].told, 0);
	T_EQ(asker[3].told, 1);
	T_EQ(asker[4].told, 1);
	finish_case();
}

T_CASE(all_requests_of_a_read_share_its_error)
{
	struct kv *kv;

	begin_case();
	kv = kit.kv;
	for (unsigned i = 0; i < 3; i++)
		ask_progress(&asker[i]);
	run_for(PROGRESS_READS_GATHER_MS);
	T_EQ(memkv_session(kit.mem, &kit.kv, NULL), PL_OK);
	kit_close_session(&kit, kv);
	for (unsigned i = 0; i < 3; i++) {
		T_EQ(asker[i].told, 1);
		T_EQ(asker[i].code, PL_CANCELED);
	}
	progress_reads_close(progress_reads);
	kit_close(&kit);
}

T_CASE(cancelled_requests_cause_no_read)
{
	begin_case();
	ask_progress(&asker[0]);
	progress_read_cancel(&asker[0].ask);
	run_for(1000);
	T_EQ(read_count(), 0);
	ask_progress(&asker[0]);
	run_for(1000);
	T_EQ(asker[0].told, 1);
	finish_case();
}

T_CASE(close_cancels_the_read_in_flight)
{
	begin_case();
	ask_progress(&asker[0]);
	run_for(PROGRESS_READS_GATHER_MS);
	T_EQ(read_count(), 1);
	progress_read_cancel(&asker[0].ask);
	finish_case();
	T_EQ(asker[0].told, 0);
}

static bool survives_failure(uint64_t nth)
{
	bool fired;

	begin_case();
	for (unsigned i = 0; i < 3; i++)
		ask_progress(&asker[i]);
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	run_for(1000);
	fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_arm(PL_FAULT_ALLOC, 0);
	for (unsigned i = 0; i < 3; i++)
		T_EQ(asker[i].told, 1);
	finish_case();
	return !fired;
}

T_CASE(any_allocation_may_fail)
{
	uint64_t nth = 1;

	while (!survives_failure(nth))
		nth++;
	T_TRUE(nth > 2);
}
