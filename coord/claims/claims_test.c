#include "coord/claims/claims.h"
#include "store/base/fault.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

/*
 * Shards over one memkv. Each has a client of its own behind a faulty kv, a lease that
 * is not kept alive, and its record. The test tells every shard who the members are.
 */

enum {
	SHARDS = 3,
	PARTITIONS = 16,
	TTL_S = 1000,
	SAFE_MS = 999000,
	HANDOVER_MS = 300,
	SETTLE_MS = 100
};

struct claims_shard {
	char name[8];
	struct kv *kv;
	struct claims *claims;
	int64_t lease;
	int64_t epoch[PARTITIONS]; /* as reported */
	unsigned owned, lost[CLAIMS_CLOSED + 1], malformed, troubles;
	bool keeps; /* does not answer QUIESCE */
	bool synced, stopped;
};

struct rig {
	struct kit kit;
	struct claims_shard shard[SHARDS];
	struct assign *assign;
};

static struct rig rig;

static void on_note(void *ctx, const struct claims_note *note)
{
	struct claims_shard *s = ctx;
	int64_t *epoch = &s->epoch[note->partition];

	T_TRUE(!s->stopped);
	switch (note->what) {
	case CLAIMS_OWNED:
		T_EQ(*epoch, 0);
		*epoch = note->epoch;
		T_EQ(claims_epoch(s->claims, note->partition), note->epoch);
		s->owned++;
		break;
	case CLAIMS_QUIESCE:
		T_EQ(*epoch, note->epoch);
		T_TRUE(!claims_may_begin(s->claims, note->partition));
		T_EQ(claims_epoch(s->claims, note->partition), note->epoch);
		if (!s->keeps)
			claims_quiet(s->claims, note->partition, note->epoch);
		break;
	case CLAIMS_LOST:
		T_EQ(*epoch, note->epoch);
		*epoch = 0;
		T_EQ(claims_epoch(s->claims, note->partition), 0);
		s->owned--;
		s->lost[note->why]++;
		break;
	case CLAIMS_MALFORMED:
		T_TRUE(note->err != NULL);
		s->malformed++;
		break;
	case CLAIMS_VIEW:
		s->synced = note->synced;
		break;
	case CLAIMS_TROUBLE:
		s->troubles++;
		break;
	case CLAIMS_STOPPED:
		T_EQ(s->owned, 0);
		s->stopped = true;
		break;
	}
}

static void run(uint64_t ms)
{
	kit_run(&rig.kit, rig.kit.now_ms + ms);
}

/* Gets another lease, and puts the record under it. */
static void up(struct claims_shard *s)
{
	static int64_t leases = 100;
	char key[32];
	struct kv_req put;

	s->lease = ++leases;
	T_EQ(kit_lease(&rig.kit, KV_LEASE_GRANT, s->lease, TTL_S), PL_OK);
	(void)snprintf(key, sizeof key, "/shards/%s", s->name);
	put = kv_op_put_leased(kit_key(key), kit_key("{}"), s->lease);
	T_EQ(kit_call(&rig.kit, &put), PL_OK);
	claims_session(s->claims, s->lease, rig.kit.now_ms + SAFE_MS);
}

static void join(struct claims_shard *s)
{
	T_OK(assign_put(rig.assign, pl_span_str(s->name), ASSIGN_WEIGHT_ONE, NULL), NULL);
}

static void say_assignment(void)
{
	for (unsigned i = 0; i < SHARDS; i++)
		if (rig.shard[i].claims != NULL && !rig.shard[i].stopped)
			claims_assign(rig.shard[i].claims, rig.assign, false);
}

static void shard_open(struct claims_shard *s, const char *name,
                       const struct faulty_rule *rules, size_t count)
{
	struct claims_opts opts = {.id = pl_span_str(name),
	                           .partitions = PARTITIONS,
	                           .handover_ms = HANDOVER_MS,
	                           .settle_ms = SETTLE_MS,
	                           .seed = 5};
	struct kv *inner;

	memset(s, 0, sizeof *s);
	(void)snprintf(s->name, sizeof s->name, "%s", name);
	T_EQ(memkv_session(rig.kit.mem, &inner, NULL), PL_OK);
	T_EQ(faulty_open(inner, 9, rules, count, &s->kv, NULL), PL_OK);
	T_OK(claims_open(s->kv, &opts, on_note, s, &s->claims, NULL), NULL);
	up(s);
}

static void shard_stop(struct claims_shard *s)
{
	claims_stop(s->claims);
	T_TRUE(!s->stopped);
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_EQ(claims_epoch(s->claims, p), 0);
	for (unsigned i = 0; i < 100 && !s->stopped; i++)
		run(1000);
	T_TRUE(s->stopped);
	kit_close_session(&rig.kit, s->kv);
}

static void rig_open(void)
{
	static const struct memkv_opts opts = {.now_ms = 5000};

	memset(&rig, 0, sizeof rig);
	kit_open(&rig.kit, &opts);
	T_OK(assign_new(PARTITIONS, &rig.assign, NULL), NULL);
}

static void rig_close(void)
{
	for (unsigned i = 0; i < SHARDS; i++)
		if (rig.shard[i].claims != NULL && !rig.shard[i].stopped)
			shard_stop(&rig.shard[i]);
	assign_free(rig.assign);
	kit_close(&rig.kit);
}

/* Each partition has exactly the owner that the assignment names. */
static void all_in_place(void)
{
	for (uint32_t p = 0; p < PARTITIONS; p++)
		for (unsigned i = 0; i < SHARDS; i++) {
			struct claims_shard *s = &rig.shard[i];
			bool his = pl_span_eq(assign_of(rig.assign, p),
			                      pl_span_str(s->name));

			if (s->claims == NULL || s->stopped)
				continue;
			T_EQ(claims_epoch(s->claims, p) != 0, his);
			T_SPAN(pl_span_str(claims_owner(s->claims, p)->shard),
			       assign_of(rig.assign, p));
			T_TRUE(claims_settled(s->claims));
		}
}

T_CASE(join_and_share)
{
	struct claims_shard *a = &rig.shard[0], *b = &rig.shard[1];

	rig_open();
	shard_open(a, "a", NULL, 0);
	run(100);
	T_TRUE(a->synced);
	T_EQ(a->owned, 0); /* no assignment yet */
	T_TRUE(claims_owner(a->claims, 3) == NULL);
	join(a);
	say_assignment();
	T_EQ(a->owned, 0); /* notes come later */
	run(10);
	T_EQ(a->owned, PARTITIONS);
	all_in_place();
	shard_open(b, "b", NULL, 0);
	join(b);
	say_assignment();
	run(10);
	T_EQ(b->owned, 0); /* a keeps it until settle_ms is over */
	run(SETTLE_MS);
	T_TRUE(b->owned > 0);
	T_EQ(a->lost[CLAIMS_HANDED_OVER], b->owned);
	all_in_place();
	rig_close();
}

/* LOST is reported before claims_session returns. An answer under the old lease brings
 * nothing. With another lease everything is claimed again once the old keys are gone. */
T_CASE(session_down_and_up)
{
	struct claims_shard *a = &rig.shard[0];
	int64_t old;

	rig_open();
	shard_open(a, "a", NULL, 0);
	join(a);
	run(100);
	say_assignment();
	run(10);
	T_EQ(claims_lease(a->claims), a->lease);
	old = a->lease;
	claims_session(a->claims, 0, 0);
	T_EQ(a->owned, 0);
	T_EQ(a->lost[CLAIMS_SESSION], PARTITIONS);
	T_EQ(claims_lease(a->claims), 0);
	run(100);
	T_EQ(a->owned, 0);
	up(a);
	run(100);
	T_EQ(a->owned, 0); /* the keys are under the old lease */
	T_EQ(kit_lease(&rig.kit, KV_LEASE_REVOKE, old, 0), PL_OK);
	run(100);
	all_in_place();
	/* Another lease without a report of the end of the first one. */
	T_EQ(kit_lease(&rig.kit, KV_LEASE_REVOKE, a->lease, 0), PL_OK);
	up(a);
	T_EQ(a->owned, 0);
	run(100);
	all_in_place();
	rig_close();
}

/* The lease is not renewed, so the clock ends it. */
T_CASE(the_clock_ends_it)
{
	struct claims_shard *a = &rig.shard[0];
	uint64_t until;

	rig_open();
	shard_open(a, "a", NULL, 0);
	join(a);
	run(100);
	say_assignment();
	run(10);
	until = rig.kit.now_ms + 5000;
	claims_session(a->claims, a->lease, until);
	kit_run(&rig.kit, until - 1);
	T_EQ(a->owned, PARTITIONS);
	kit_run(&rig.kit, until);
	T_EQ(a->owned, 0);
	T_EQ(claims_epoch(a->claims, 0), 0);
	rig_close();
}

/* Shards come one after another over a store with all kinds of faults. */
static void through_faults(const struct faulty_rule *rules, size_t count)
{
	rig_open();
	for (unsigned i = 0; i < SHARDS; i++) {
		static const char *const names[] = {"a", "b", "c"};

		shard_open(&rig.shard[i], names[i], rules, count);
		join(&rig.shard[i]);
		say_assignment();
		for (unsigned k = 0; k < 20; k++)
			run(100);
	}
	for (unsigned i = 0; i < SHARDS; i++)
		faulty_pause(rig.shard[i].kv, true);
	for (unsigned k = 0; k < 300; k++)
		run(100);
	all_in_place();
	T_EQ(rig.shard[0].owned + rig.shard[1].owned + rig.shard[2].owned, PARTITIONS);
	rig_close();
}

T_CASE(lost_answers)
{
	struct faulty_rule rules[] = {{.what = FAULTY_LOSE_ANSWER,
	                               .ops = 1u << KV_TXN | 1u << KV_GET,
	                               .per_mille = 300}};

	through_faults(rules, 1);
}

T_CASE(applied_late)
{
	struct faulty_rule rules[] = {{.what = FAULTY_APPLY_LATE,
	                               .ops = 1u << KV_TXN,
	                               .per_mille = 400,
	                               .delay_min_ms = 1,
	                               .delay_max_ms = 4000}};

	through_faults(rules, 1);
}

T_CASE(refused_and_slow)
{
	struct faulty_rule rules[] = {
		{.what = FAULTY_REFUSE, .per_mille = 150, .code = PL_BUSY},
		{.what = FAULTY_REFUSE, .per_mille = 150, .code = PL_UNAVAIL},
		{.what = FAULTY_SLOW_REQUEST,
	         .per_mille = 300,
	         .delay_min_ms = 1,
	         .delay_max_ms = 300},
		{.what = FAULTY_AFTER_NOTE, .per_mille = 300, .delay_max_ms = 500},
		{.what = FAULTY_SLOW_NOTE,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 300},
		{.what = FAULTY_MERGE_NOTES, .per_mille = 700},
		{.what = FAULTY_END_WATCH, .per_mille = 50, .code = PL_COMPACTED},
	};

	through_faults(rules, sizeof rules / sizeof rules[0]);
	T_TRUE(rig.shard[0].troubles > 0);
}

T_CASE(watches_that_say_rewound)
{
	struct faulty_rule rules[] = {
		{.what = FAULTY_END_WATCH, .per_mille = 100, .code = PL_REWOUND},
		{.what = FAULTY_LOSE_ANSWER, .ops = 1u << KV_TXN, .per_mille = 100}};

	through_faults(rules, 2);
}

/* An old snapshot is restored: the keys under our lease are ours again, under the
 * epochs that they have there. */
T_CASE(restored_from_a_snapshot)
{
	struct claims_shard *a = &rig.shard[0], *b = &rig.shard[1];
	struct memkv_snapshot *snapshot;

	rig_open();
	shard_open(a, "a", NULL, 0);
	shard_open(b, "b", NULL, 0);
	join(a);
	run(100);
	say_assignment();
	run(10);
	T_EQ(memkv_save(rig.kit.mem, &snapshot, NULL), PL_OK);
	join(b);
	say_assignment();
	run(1000);
	all_in_place();
	T_EQ(memkv_restore(rig.kit.mem, snapshot, NULL), PL_OK);
	claims_rewound(a->claims);
	claims_rewound(b->claims);
	for (uint32_t p = 0; p < PARTITIONS; p++)
		T_EQ(claims_epoch(a->claims, p), 0);
	T_TRUE(a->owned > 0 && b->owned > 0); /* LOST comes later */
	run(0);
	T_TRUE(a->lost[CLAIMS_REWOUND] > 0 && b->lost[CLAIMS_REWOUND] > 0);
	run(5000);
	T_TRUE(a->synced && b->synced);
	all_in_place();
	memkv_snapshot_free(snapshot);
	rig_close();
}

T_CASE(a_malformed_key_is_left_alone)
{
	struct claims_shard *a = &rig.shard[0];

	rig_open();
	(void)kit_put(&rig.kit, "/partitions/0003/owner", "nonsense");
	(void)kit_put(&rig.kit, "/partitions/0004/owner", "{\"v\":1,\"shard\":\"x\"}");
	(void)kit_put(&rig.kit, "/partitions/0999/owner", "{\"v\":1,\"shard\":\"x\"}");
	shard_open(a, "a", NULL, 0);
	join(a);
	say_assignment();
	run(100);
	T_EQ(a->malformed, 2);
	T_TRUE(a->troubles > 0); /* there is no partition 999 */
	T_EQ(a->owned, PARTITIONS - 2);
	T_STR(claims_owner(a->claims, 3)->shard, "");
	T_TRUE(claims_settled(a->claims));
	T_EQ(kit_delete(&rig.kit, kv_prefix(kit_key("/partitions/0003/"))), 1);
	T_EQ(kit_delete(&rig.kit, kv_prefix(kit_key("/partitions/0004/"))), 1);
	run(10);
	all_in_place();
	/* Our key, overwritten by hand. */
	(void)kit_put(&rig.kit, "/partitions/0005/owner", "{}");
	run(10);
	T_EQ(a->malformed, 3);
	T_EQ(a->lost[CLAIMS_GONE], 1);
	T_EQ(claims_epoch(a->claims, 5), 0);
	T_EQ(kit_delete(&rig.kit, kv_prefix(kit_key("/partitions/0005/"))), 1);
	run(10);
	all_in_place();
	rig_close();
}

T_CASE(a_slow_worker_has_until_the_deadline)
{
	struct claims_shard *a = &rig.shard[0], *b = &rig.shard[1];

	rig_open();
	shard_open(a, "a", NULL, 0);
	shard_open(b, "b", NULL, 0);
	a->keeps = true;
	join(a);
	run(100);
	say_assignment();
	run(10);
	join(b);
	say_assignment();
	run(SETTLE_MS);
	run(HANDOVER_MS - 10);
	T_EQ(a->owned, PARTITIONS);
	run(20);
	T_TRUE(b->owned > 0);
	all_in_place();
	rig_close();
}

T_CASE(leaving)
{
	struct claims_shard *a = &rig.shard[0];

	rig_open();
	shard_open(a, "a", NULL, 0);
	join(a);
	run(100);
	say_assignment();
	run(10);
	assign_del(rig.assign, kit_key("a"));
	claims_assign(a->claims, rig.assign, false);
	run(1000);
	T_EQ(a->owned, PARTITIONS); /* no other member would take them */
	T_TRUE(claims_settled(a->claims));
	claims_assign(a->claims, rig.assign, true);
	T_TRUE(!claims_settled(a->claims) && !claims_may_begin(a->claims, 0));
	run(10);
	T_EQ(a->lost[CLAIMS_HANDED_OVER], PARTITIONS);
	T_TRUE(claims_settled(a->claims));
	T_EQ(kit_get_at(&rig.kit, kv_prefix(kit_key("/partitions/")), 0), PL_OK);
	T_EQ(rig.kit.result.get.count, 0);
	rig_close();
}

/* A shard whose record is gone or replaced claims nothing. */
T_CASE(a_shard_without_its_record_claims_nothing)
{
	struct claims_shard *a = &rig.shard[0];

	rig_open();
	shard_open(a, "a", NULL, 0);
	join(a);
	T_EQ(kit_delete(&rig.kit, kv_key(kit_key("/shards/a"))), 1);
	run(100);
	say_assignment();
	run(3000);
	T_EQ(a->owned, 0);
	T_TRUE(!claims_settled(a->claims));
	up(a);
	run(3000);
	all_in_place();
	rig_close();
}

T_CASE(fenced)
{
	struct claims_shard *a = &rig.shard[0];
	int64_t epoch;

	rig_open();
	shard_open(a, "a", NULL, 0);
	join(a);
	run(100);
	say_assignment();
	run(10);
	epoch = claims_epoch(a->claims, 2);
	claims_fenced(a->claims, 2, epoch - 1);
	claims_fenced(a->claims, 9999, 1);
	T_EQ(claims_epoch(a->claims, 2), epoch);
	claims_fenced(a->claims, 2, epoch);
	T_EQ(claims_epoch(a->claims, 2), 0);
	T_EQ(a->lost[CLAIMS_FENCED], 0);
	run(0);
	T_EQ(a->lost[CLAIMS_FENCED], 1);
	run(100);
	T_TRUE(claims_epoch(a->claims, 2) > epoch); /* released and claimed again */
	all_in_place();
	rig_close();
}

static void stop_at_once(void *ctx, const struct claims_note *note)
{
	struct claims_shard *s = ctx;

	on_note(ctx, note);
	if (note->what == CLAIMS_OWNED)
		claims_stop(s->claims);
}

/* Stopped from inside a note, with claims in flight. */
T_CASE(stopped_in_a_note)
{
	struct claims_shard *a = &rig.shard[0];
	struct claims_opts opts = {
		.id = pl_span_str("a"), .partitions = PARTITIONS, .inflight = 4};

	rig_open();
	shard_open(a, "a", NULL, 0);
	claims_stop(a->claims);
	run(0);
	T_TRUE(a->stopped);
	a->stopped = false;
	T_OK(claims_open(a->kv, &opts, stop_at_once, a, &a->claims, NULL), NULL);
	up(a);
	join(a);
	say_assignment();
	run(100);
	T_TRUE(a->stopped);
	T_EQ(a->lost[CLAIMS_CLOSED], 1);
	kit_close_session(&rig.kit, a->kv);
	rig_close();
}

T_CASE(wrong_options)
{
	struct claims_opts opts = {.id = pl_span_str("A/B"), .partitions = PARTITIONS};
	struct claims *claims;

	rig_open();
	T_EQ(claims_open(rig.kit.kv, &opts, on_note, NULL, &claims, NULL), PL_INVALID);
	opts = (struct claims_opts){.id = pl_span_str("a"), .partitions = 4097};
	T_EQ(claims_open(rig.kit.kv, &opts, on_note, NULL, &claims, NULL), PL_INVALID);
	opts.partitions = 0;
	T_EQ(claims_open(rig.kit.kv, &opts, on_note, NULL, &claims, NULL), PL_INVALID);
	rig_close();
}

/* Each allocation fails once; the result is right in the end. */
T_CASE(no_memory)
{
	for (uint64_t nth = 1;; nth++) {
		struct claims_shard *a = &rig.shard[0];
		struct claims_opts opts = {
			.id = pl_span_str("a"), .partitions = PARTITIONS, .seed = 1};
		enum pl_code code;
		bool fired;

		rig_open();
		(void)snprintf(a->name, sizeof a->name, "a");
		T_EQ(memkv_session(rig.kit.mem, &a->kv, NULL), PL_OK);
		join(a);
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = claims_open(a->kv, &opts, on_note, a, &a->claims, NULL);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		T_EQ(code, fired ? PL_NOMEM : PL_OK);
		if (!fired) {
			pl_fault_reset();
			up(a);
			say_assignment();
			pl_fault_arm(PL_FAULT_ALLOC, nth);
			run(100);
			fired = pl_fault_fired(PL_FAULT_ALLOC);
			pl_fault_reset();
			for (unsigned i = 0; i < 40; i++)
				run(500);
			T_EQ(a->owned, PARTITIONS);
			shard_stop(a);
		} else {
			kit_close_session(&rig.kit, a->kv);
			a->claims = NULL;
		}
		pl_fault_reset();
		rig_close();
		if (!fired)
			break;
	}
}

static void rewound_in_a_note(void *ctx, const struct claims_note *note)
{
	struct claims_shard *s = ctx;

	on_note(ctx, note);
	if (note->what == CLAIMS_MALFORMED)
		claims_rewound(s->claims);
}

/* A list of the old store: its rest is void as soon as the user, in a note, says that
 * the store is another one. */
T_CASE(told_of_another_store_in_a_note)
{
	struct faulty_rule late = {.what = FAULTY_SLOW_ANSWER,
	                           .ops = 1u << KV_GET,
	                           .per_mille = 1000,
	                           .count = 1,
	                           .delay_min_ms = 50,
	                           .delay_max_ms = 50};
	struct claims_opts opts = {
		.id = pl_span_str("a"), .partitions = PARTITIONS, .seed = 1};
	struct claims_shard *a = &rig.shard[0];
	struct memkv_snapshot *snapshot;
	struct kv *inner;
	struct kv_req put;

	rig_open();
	T_EQ(memkv_session(rig.kit.mem, &inner, NULL), PL_OK);
	T_EQ(faulty_open(inner, 9, &late, 1, &a->kv, NULL), PL_OK);
	(void)snprintf(a->name, sizeof a->name, "a");
	T_EQ(memkv_save(rig.kit.mem, &snapshot, NULL), PL_OK);
	for (unsigned i = 0; i < 100; i++)
		(void)kit_put(&rig.kit, "/partitions/0003/owner", "nonsense");
	T_EQ(kit_lease(&rig.kit, KV_LEASE_GRANT, 7, TTL_S), PL_OK);
	put = kv_op_put_leased(kit_key("/partitions/0005/owner"),
	                       kit_key("{\"v\":1,\"shard\":\"zed\"}"), 7);
	T_EQ(kit_call(&rig.kit, &put), PL_OK);
	T_OK(claims_open(a->kv, &opts, rewound_in_a_note, a, &a->claims, NULL), NULL);
	run(10);
	T_EQ(memkv_restore(rig.kit.mem, snapshot, NULL), PL_OK);
	up(a);
	join(a);
	say_assignment();
	run(40);
	T_EQ(a->malformed, 1);
	for (unsigned i = 0; i < 10; i++)
		run(500);
	all_in_place();
	memkv_snapshot_free(snapshot);
	rig_close();
}
