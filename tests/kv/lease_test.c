#include "store/base/fault.h"
#include "store/base/rng.h"
#include "store/kv/lease.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct lease *lease;
static struct lease_note last;
static unsigned notes[LEASE_RELEASED + 1];
static bool abandons; /* abandon the lease when it expires, inside the note */

static void on_note(void *ctx, const struct lease_note *note)
{
	(void)ctx;
	last = *note;
	notes[note->state]++;
	if (note->state == LEASE_HELD || note->state == LEASE_DOUBT)
		T_TRUE(note->safe_until_ms > kit.now_ms);
	if (note->state == LEASE_EXPIRED && abandons)
		lease_abandon(lease);
	if (note->state == LEASE_RELEASED)
		lease = NULL;
}

static void run_to(uint64_t now_ms)
{
	kit_until(&kit, now_ms);
}

static void begin_case(const struct faulty_rule *rules, size_t count, uint64_t seed)
{
	struct lease_opts opts = {.ttl_s = 6, .seed = seed + 1};

	memset(notes, 0, sizeof notes);
	kit_open(&kit, NULL);
	T_EQ(faulty_open(kit.kv, seed, rules, count, &kit.kv, NULL), PL_OK);
	T_EQ(lease_open(kit.kv, &opts, on_note, NULL, &lease, NULL), PL_OK);
	T_EQ(lease_id(lease), 0);
}

static void end_case(void)
{
	if (lease != NULL)
		lease_release(lease);
	run_to(kit.now_ms + 20000);
	T_TRUE(lease == NULL);
	T_EQ(notes[LEASE_RELEASED], 1);
	kit_close(&kit);
}

T_CASE(lease_is_kept_alive_and_released)
{
	int64_t id;

	begin_case(NULL, 0, 1);
	run_to(0);
	T_EQ(last.state, LEASE_HELD);
	T_EQ(last.safe_until_ms, 6000 - 600);
	id = last.id;
	T_EQ(lease_id(lease), id);
	run_to(60000);
	T_EQ(last.state, LEASE_HELD);
	T_EQ(last.id, id);
	T_TRUE(notes[LEASE_HELD] >= 29 && notes[LEASE_HELD] <= 33);
	T_EQ(notes[LEASE_DOUBT], 0);
	T_EQ(kit_lease(&kit, KV_LEASE_TTL, id, 0), PL_OK);
	lease_release(lease);
	run_to(60000);
	T_EQ(last.state, LEASE_RELEASED);
	T_EQ(last.code, PL_OK);
	T_EQ(kit_lease(&kit, KV_LEASE_TTL, id, 0), PL_NOLEASE);
	end_case();
}

T_CASE(lost_lease_is_granted_anew)
{
	int64_t id;

	begin_case(NULL, 0, 1);
	run_to(100);
	id = last.id;
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, id, 0), PL_OK);
	run_to(2500);
	T_EQ(last.state, LEASE_LOST);
	T_EQ(lease_id(lease), 0);
	run_to(10000);
	T_EQ(last.state, LEASE_LOST);
	lease_regrant(lease);
	run_to(10000);
	T_EQ(last.state, LEASE_HELD);
	T_TRUE(last.id != id);
	end_case();
}

T_CASE(lease_that_is_given_up_expires_and_is_revoked)
{
	int64_t id;

	begin_case(NULL, 0, 1);
	run_to(100);
	id = last.id;
	lease_give_up(lease);
	run_to(150);
	T_EQ(last.state, LEASE_EXPIRED);
	T_EQ(lease_id(lease), 0);
	T_EQ(kit_lease(&kit, KV_LEASE_TTL, id, 0), PL_NOLEASE);
	lease_give_up(lease); /* without a lease */
	lease_regrant(lease);
	run_to(10000);
	T_EQ(last.state, LEASE_HELD);
	T_TRUE(last.id != id);
	end_case();
}

/* Keep-alives are not answered: doubt follows, and then the end by the lease's own
 * clock, before the store's. */
T_CASE(lease_expires_when_the_store_is_silent)
{
	struct faulty_rule rule = {.what = FAULTY_LOSE_ANSWER,
	                           .ops = 1u << KV_LEASE_KEEP,
	                           .per_mille = 1000};

	begin_case(&rule, 1, 1);
	run_to(5399);
	T_EQ(last.state, LEASE_DOUBT);
	T_TRUE(lease_id(lease) != 0);
	run_to(5400);
	T_EQ(last.state, LEASE_EXPIRED);
	T_EQ(notes[LEASE_HELD], 1);
	T_EQ(notes[LEASE_DOUBT], 1);
	faulty_pause(kit.kv, true);
	lease_regrant(lease);
	run_to(5500);
	T_EQ(last.state, LEASE_HELD);
	end_case();
}

/* The grant works but its answer is lost: the retry gets the same lease. */
T_CASE(grant_with_a_lost_answer_is_found_again)
{
	struct faulty_rule rule = {.what = FAULTY_LOSE_ANSWER,
	                           .ops = 1u << KV_LEASE_GRANT,
	                           .per_mille = 1000,
	                           .count = 1};

	begin_case(&rule, 1, 1);
	run_to(200);
	T_EQ(notes[LEASE_GRANTING], 1);
	T_EQ(last.state, LEASE_HELD);
	T_EQ(kit_lease(&kit, KV_LEASE_TTL, last.id, 0), PL_OK);
	end_case();
}

/* A process that was suspended wakes up with an answer waiting. */
/* A kv that the test controls entirely: one call at a time, answered when and how the
 * test likes, whatever the timers say. */
static struct fake {
	struct kv kv;
	struct pl_timers timers;
	uint64_t now_ms;
	struct kv_req req;
	uint64_t sent_ms;
	kv_done_fn *done;
	void *ctx;
} fake;

static enum pl_code fake_start(struct kv *kv, const struct kv_req *req,
                               uint64_t timeout_ms, kv_done_fn *done, void *ctx,
                               struct kv_call **out, struct pl_err *err)
{
	(void)kv;
	(void)timeout_ms;
	(void)err;
	fake.req = *req;
	fake.sent_ms = fake.now_ms;
	fake.done = done;
	fake.ctx = ctx;
	*out = NULL;
	return PL_OK;
}

static void fake_cancel(struct kv *kv, struct kv_call *call)
{
	(void)kv;
	(void)call;
}

static uint64_t fake_now_ms(struct kv *kv)
{
	(void)kv;
	return fake.now_ms;
}

static struct pl_timers *fake_timers(struct kv *kv)
{
	(void)kv;
	return &fake.timers;
}

static const struct kv_ops fake_ops = {.name = "fake",
                                       .start = fake_start,
                                       .cancel = fake_cancel,
                                       .now_ms = fake_now_ms,
                                       .timers = fake_timers};

static void fake_answer(void)
{
	struct kv_result result = {
		.op = fake.req.op, .sent_ms = fake.sent_ms, .lease = {.ttl_s = 6}};

	fake.done(fake.ctx, &result, NULL);
}

/* A process wakes up, and its socket is read before its timers run: the lease looks at
 * the clock first all the same. */
T_CASE(paused_process_expires_before_it_reads_answers)
{
	struct lease_opts opts = {.ttl_s = 6, .seed = 1};

	memset(notes, 0, sizeof notes);
	fake.kv.ops = &fake_ops;
	pl_timers_init(&fake.timers, NULL, NULL);
	T_EQ(lease_open(&fake.kv, &opts, on_note, NULL, &lease, NULL), PL_OK);
	pl_timers_run(&fake.timers, 0);
	fake_answer();
	T_EQ(last.state, LEASE_HELD);
	fake.now_ms = 2000;
	pl_timers_run(&fake.timers, 2000);
	T_EQ(fake.req.op, KV_LEASE_KEEP);
	fake.now_ms = 5400; /* the keep-alive was sent at 2000, and would be good news */
	T_EQ(lease_id(lease), 0);
	fake_answer();
	T_EQ(last.state, LEASE_EXPIRED);
	T_EQ(notes[LEASE_HELD], 1);
	T_EQ(fake.req.op, KV_LEASE_REVOKE);
	fake_answer();
	lease_release(lease);
	pl_timers_run(&fake.timers, 5400);
	fake_answer();
	pl_timers_run(&fake.timers, 5400);
	T_TRUE(lease == NULL);
	pl_timers_done(&fake.timers);
}

T_CASE(abandoned_lease_is_not_revoked)
{
	int64_t id;

	begin_case(NULL, 0, 1);
	run_to(100);
	id = last.id;
	lease_abandon(lease);
	run_to(100);
	T_EQ(last.state, LEASE_RELEASED);
	T_EQ(last.code, PL_CANCELED);
	T_EQ(kit_lease(&kit, KV_LEASE_TTL, id, 0), PL_OK);
	end_case();
}

/* The revoke that would follow that note is not sent. */
T_CASE(lease_may_be_abandoned_in_a_note)
{
	struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER,
	         .ops = 1u << KV_LEASE_KEEP,
	         .per_mille = 1000},
		{.what = FAULTY_SLOW_ANSWER,
	         .ops = 1u << KV_LEASE_REVOKE,
	         .per_mille = 1000,
	         .delay_min_ms = 100,
	         .delay_max_ms = 100},
	};

	abandons = true;
	begin_case(rules, 2, 1);
	run_to(10000);
	T_TRUE(lease == NULL);
	T_EQ(last.code, PL_CANCELED);
	T_EQ(faulty_count(kit.kv, FAULTY_SLOW_ANSWER), 0);
	end_case();
}

T_CASE(invalid_options_are_refused)
{
	struct lease_opts opts = {.ttl_s = 0};

	kit_open(&kit, NULL);
	T_EQ(lease_open(kit.kv, &opts, on_note, NULL, &lease, NULL), PL_INVALID);
	opts = (struct lease_opts){.ttl_s = 1, .margin_ms = 500};
	T_EQ(lease_open(kit.kv, &opts, on_note, NULL, &lease, NULL), PL_INVALID);
	kit_close(&kit);
}

/* While the lease is held, the store has it, under all faults. The test asks the store
 * past the faults, just before safe_until and at every step. */
static void random_life(uint64_t seed)
{
	struct faulty_rule rules[] = {
		{.what = FAULTY_SLOW_REQUEST, .per_mille = 200, .delay_max_ms = 2500},
		{.what = FAULTY_SLOW_ANSWER, .per_mille = 200, .delay_max_ms = 2500},
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 150},
		{.what = FAULTY_APPLY_LATE, .per_mille = 100, .delay_max_ms = 9000},
		{.what = FAULTY_REFUSE, .per_mille = 150, .code = PL_UNAVAIL},
		{.what = FAULTY_REFUSE, .per_mille = 50, .code = PL_BUSY}};
	struct kv *plain, *faulty;
	struct pl_rng rng;

	begin_case(rules, 6, seed);
	T_EQ(memkv_session(kit.mem, &plain, NULL), PL_OK);
	pl_rng_init(&rng, seed);
	faulty = kit.kv;
	for (unsigned i = 0; i < 100; i++) {
		uint64_t at = kit.now_ms + pl_rng_below(&rng, 1500);

		run_to(at);
		if (lease_id(lease) != 0) {
			kit.kv = plain;
			T_EQ(kit_lease(&kit, KV_LEASE_TTL, lease_id(lease), 0), PL_OK);
			kit.kv = faulty;
		}
		if (last.state == LEASE_LOST || last.state == LEASE_EXPIRED)
			lease_regrant(lease);
	}
	faulty_pause(kit.kv, true);
	run_to(kit.now_ms + 15000);
	if (last.state != LEASE_HELD) {
		lease_regrant(lease);
		run_to(kit.now_ms + 10000);
	}
	T_EQ(last.state, LEASE_HELD);
	kit_close_session(&kit, plain);
	end_case();
}

T_CASE(held_lease_exists_whatever_fails)
{
	for (uint64_t seed = 0; seed < 100; seed++)
		random_life(seed);
}

/* Any allocation may fail once, and the lease survives it. */
T_CASE(lease_survives_each_allocation_that_fails)
{
	for (uint64_t nth = 1; nth < 60; nth++) {
		struct lease_opts opts = {.ttl_s = 6, .seed = 5};

		memset(notes, 0, sizeof notes);
		kit_open(&kit, NULL);
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		if (lease_open(kit.kv, &opts, on_note, NULL, &lease, NULL) != PL_OK) {
			kit_close(&kit);
			continue;
		}
		run_to(6000);
		pl_fault_arm(PL_FAULT_ALLOC, 0);
		run_to(12000);
		T_EQ(last.state, LEASE_HELD);
		end_case();
	}
}
