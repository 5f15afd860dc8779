#include "coord/elect/elect.h"
#include "coord/membership/holder.h"
#include "store/base/rng.h"
#include "tests/harness/torture.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

/* Several candidates for one role, each with its own connection and lease. */
enum { CANDIDATES = 5 };

static const char *const ids[CANDIDATES] = {"s0", "s1", "s2", "s3", "s4"};

static struct candidate {
	struct kv *kv;
	struct elect *elect; /* NULL: stopped */
	int64_t lease;
	int64_t epoch;
	unsigned leads, step_downs, troubles;
	bool leading;
	char leader[HOLDER_SHARD_SIZE];
} c[CANDIDATES];

static struct kit kit;
static int64_t last_epoch;
static bool unreported; /* the store went back in time and no candidate has noticed: only
                     * guards help */

static unsigned acting(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < CANDIDATES; i++)
		count += c[i].elect != NULL && elect_epoch(c[i].elect) != 0;
	return count;
}

static void on_note(void *ctx, const struct elect_note *note)
{
	struct candidate *me = ctx;

	switch (note->what) {
	case ELECT_LEAD:
		T_TRUE(!me->leading && note->epoch > 0);
		me->leading = true;
		me->epoch = note->epoch;
		me->leads++;
		T_TRUE(acting() == 1 || unreported);
		break;
	case ELECT_STEP_DOWN:
		T_TRUE(me->leading);
		T_EQ(note->epoch, me->epoch);
		me->leading = false;
		me->step_downs++;
		break;
	case ELECT_FOLLOW:
		memcpy(me->leader, note->leader.at, note->leader.len);
		me->leader[note->leader.len] = 0;
		break;
	case ELECT_TROUBLE:
		T_TRUE(note->err->code != PL_OK);
		me->troubles++;
		break;
	case ELECT_STOPPED:
		T_TRUE(!me->leading);
		me->elect = NULL;
		break;
	}
}

/* One delivery at a time: at no moment do two candidates act, and epochs only grow. */
static void run(uint64_t ms)
{
	uint64_t until = kit.now_ms + ms;

	for (;;) {
		uint64_t next = memkv_next_ms(kit.mem);
		bool more;

		if (next > kit.now_ms)
			kit.now_ms = next < until ? next : until;
		more = memkv_step(kit.mem, kit.now_ms, 1);
		T_TRUE(acting() <= 1 || unreported);
		for (unsigned i = 0; i < CANDIDATES; i++) {
			int64_t epoch = c[i].elect == NULL ? 0 : elect_epoch(c[i].elect);

			T_TRUE(epoch == 0 || epoch >= last_epoch || unreported);
			if (epoch > last_epoch)
				last_epoch = epoch;
		}
		if (!more && kit.now_ms == until && memkv_next_ms(kit.mem) > until)
			return;
	}
}

static void new_lease(struct candidate *me)
{
	static int64_t next;
	char key[64];

	me->lease = 1000 + ++next;
	(void)snprintf(key, sizeof key, "/shards/%s", ids[me - c]);
	T_EQ(kit_lease(&kit, KV_LEASE_GRANT, me->lease, 1 << 20), PL_OK);
	(void)kit_put_leased(&kit, key, "{}", me->lease);
	elect_session(me->elect, me->lease, kit.now_ms + 1000000000);
}

static void candidate_open(unsigned i, const struct faulty_rule *rules, size_t count)
{
	struct elect_opts opts = {
		.role = "balancer", .id = pl_span_str(ids[i]), .seed = i + 1};
	struct kv *kv;

	c[i] = (struct candidate){.leader = "no report"};
	T_OK(memkv_session(kit.mem, &kv, NULL), NULL);
	T_OK(faulty_open(kv, i + 1, rules, count, &c[i].kv, NULL), NULL);
	T_OK(elect_open(c[i].kv, &opts, on_note, &c[i], &c[i].elect, NULL), NULL);
	new_lease(&c[i]);
	elect_campaign(c[i].elect, true, i);
}

static void candidate_close(unsigned i, bool resign)
{
	if (c[i].elect != NULL)
		elect_stop(c[i].elect, resign);
	run(20000);
	T_TRUE(c[i].elect == NULL);
	kit_close_session(&kit, c[i].kv);
	c[i].kv = NULL;
}

static void open_all(const struct faulty_rule *rules, size_t count)
{
	last_epoch = 0;
	kit_open(&kit, NULL);
	for (unsigned i = 0; i < CANDIDATES; i++)
		candidate_open(i, rules, count);
}

static void close_all(void)
{
	for (unsigned i = 0; i < CANDIDATES; i++)
		if (c[i].kv != NULL)
			candidate_close(i, false);
	kit_close(&kit);
}

static const char *stored(void)
{
	T_EQ(kit_get_at(&kit, kv_prefix(kit_key("/leader/")), 0), PL_OK);
	return kit_show(&kit);
}

T_CASE(first_in_rank_leads_and_all_follow)
{
	struct kv_compare guard[ELECT_COMPARES];

	open_all(NULL, 0);
	run(5000);
	T_TRUE(c[0].leading);
	T_STR(stored(), "/leader/balancer={\"v\":1,\"shard\":\"s0\"}");
	T_EQ(kit.result.get.records[0].lease, c[0].lease);
	T_EQ(kit.result.get.records[0].create_revision, elect_epoch(c[0].elect));
	for (unsigned i = 1; i < CANDIDATES; i++) {
		T_STR(c[i].leader, "s0");
		T_EQ(elect_guard(c[i].elect, guard), 0);
	}
	T_EQ(elect_guard(c[0].elect, guard), 2);
	T_SPAN(guard[0].keys.from, kit_key("/leader/balancer"));
	T_EQ(guard[0].target, KV_CREATE_REV);
	T_EQ(guard[0].number, c[0].epoch);
	T_EQ(guard[1].target, KV_LEASE);
	T_EQ(guard[1].number, c[0].lease);
	close_all();
}

/* Such as a shard that was evicted while its claim was on its way. */
T_CASE(a_shard_without_a_record_does_not_lead)
{
	int64_t before;

	kit_open(&kit, NULL);
	last_epoch = 0;
	candidate_open(0, NULL, 0);
	T_EQ(kit_delete(&kit, kv_key(kit_key("/shards/s0"))), 1);
	before = kit.result.header.revision;
	run(20000);
	T_TRUE(!c[0].leading);
	T_STR(stored(), "");
	T_EQ(kit.result.header.revision, before);
	(void)kit_put_leased(&kit, "/shards/s0", "{}", c[0].lease);
	run(2000);
	T_TRUE(c[0].leading);
	candidate_close(0, false);
	kit_close(&kit);
}

T_CASE(a_leader_dies_with_its_lease)
{
	open_all(NULL, 0);
	run(5000);
	candidate_close(0, false);
	T_STR(stored(), "/leader/balancer={\"v\":1,\"shard\":\"s0\"}");
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, c[0].lease, 0), PL_OK);
	run(49); /* s1 is the second candidate and leaves the first its turn */
	T_EQ(acting(), 0);
	run(150);
	T_TRUE(c[1].leading);
	T_STR(c[4].leader, "s1");
	close_all();
}

T_CASE(a_leader_resigns)
{
	open_all(NULL, 0);
	run(5000);
	elect_campaign(c[0].elect, false, 0);
	T_EQ(elect_epoch(c[0].elect), 0);
	run(300);
	T_TRUE(!c[0].leading && c[1].leading);
	elect_campaign(c[0].elect, true, 0);
	run(1000);
	T_TRUE(!c[0].leading && c[1].leading);
	elect_stop(c[1].elect, true);
	run(300);
	T_TRUE(c[1].elect == NULL && c[0].leading);
	close_all();
}

T_CASE(a_session_ends)
{
	open_all(NULL, 0);
	run(5000);
	elect_session(c[0].elect, 0, 0);
	T_TRUE(!c[0].leading); /* reported before that returned */
	run(5000);
	T_EQ(acting(), 0); /* the lease lives on */
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, c[0].lease, 0), PL_OK);
	run(300);
	T_TRUE(c[1].leading);
	/* Not renewed in time: the clock ends it. */
	elect_session(c[1].elect, c[1].lease, kit.now_ms + 700);
	T_EQ(elect_epoch(c[1].elect), c[1].epoch);
	run(699);
	T_TRUE(c[1].leading);
	run(1);
	T_TRUE(!c[1].leading && elect_epoch(c[1].elect) == 0);
	close_all();
}

/* Another lease while leading: the end of the old one is reported at once. */
T_CASE(another_lease)
{
	int64_t old;

	open_all(NULL, 0);
	run(5000);
	old = c[0].lease;
	new_lease(&c[0]);
	T_EQ(c[0].step_downs, 1);
	T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, old, 0), PL_OK);
	run(300);
	T_TRUE(c[0].leading);
	close_all();
}

T_CASE(deleted_or_put_by_hand)
{
	open_all(NULL, 0);
	run(5000);
	T_EQ(kit_delete(&kit, kv_key(kit_key("/leader/balancer"))), 1);
	run(1000);
	T_EQ(c[0].leads, 2);
	(void)kit_put(&kit, "/leader/balancer", "mine!");
	run(1000);
	T_EQ(acting(), 0);
	T_STR(c[1].leader, "?");
	T_TRUE(c[1].troubles > 0);
	run(20000); /* a key without a lease would not end by anything else */
	T_EQ(acting(), 1);
	close_all();
}

T_CASE(rewound)
{
	struct memkv_snapshot *before;

	open_all(NULL, 0);
	T_OK(memkv_save(kit.mem, &before, NULL), NULL);
	run(5000);
	T_TRUE(c[0].leading);
	T_OK(memkv_restore(kit.mem, before, NULL), NULL);
	last_epoch = 0;
	for (unsigned i = 0; i < CANDIDATES; i++)
		elect_rewound(c[i].elect);
	T_EQ(acting(), 0);
	run(5000);
	T_EQ(c[0].step_downs, 1);
	T_TRUE(c[0].leading);
	T_STR(c[2].leader, "s0");
	memkv_snapshot_free(before);
	close_all();
}

/* Answers are lost, writes are applied late or never, watches stall; leaders resign
 * and lose their leases meanwhile. After the faults one candidate leads. */
T_CASE(rewound_without_notice)
{
	struct memkv_snapshot *before;

	open_all(NULL, 0);
	T_OK(memkv_save(kit.mem, &before, NULL), NULL);
	run(5000);
	for (unsigned i = 0; i < 50; i++)
		(void)kit_put(&kit, "x", "1");
	elect_campaign(c[0].elect, false, 9);
	run(5000);
	T_TRUE(c[1].leading);
	T_OK(memkv_restore(kit.mem, before, NULL), NULL);
	unreported = true;
	run(60000);
	unreported = false;
	last_epoch = 0;
	T_EQ(acting(), 1);
	memkv_snapshot_free(before);
	close_all();
}

/* Several revisions of the key come in one note, as etcd sends them to a watch that
 * has to catch up: the last one counts. */
T_CASE_SECONDS(faults, 60)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 200},
		{.what = FAULTY_APPLY_LATE,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 3000},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_UNAVAIL},
		{.what = FAULTY_REFUSE, .per_mille = 50, .code = PL_BUSY},
		{.what = FAULTY_SLOW_ANSWER,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 2500},
		{.what = FAULTY_SLOW_NOTE,
	         .per_mille = 200,
	         .delay_min_ms = 1,
	         .delay_max_ms = 2000},
		{.what = FAULTY_MERGE_NOTES, .per_mille = 500},
		{.what = FAULTY_END_WATCH, .per_mille = 30, .code = PL_COMPACTED},
	};
	uint64_t seed = t_seed();
	unsigned leads = 0;

	for (unsigned round = 0; round < 20; round++) {
		struct pl_rng rng;

		pl_rng_init(&rng, seed + round);
		open_all(rules, sizeof rules / sizeof rules[0]);
		for (unsigned i = 0; i < 60; i++) {
			struct candidate *one = &c[pl_rng_below(&rng, CANDIDATES)];

			run(pl_rng_below(&rng, 2000));
			if (pl_rng_chance(&rng, 1, 3)) {
				elect_session(one->elect, 0, 0);
				T_EQ(kit_lease(&kit, KV_LEASE_REVOKE, one->lease, 0),
				     PL_OK);
				new_lease(one);
			} else {
				elect_campaign(one->elect, pl_rng_chance(&rng, 2, 3),
				               (uint32_t)pl_rng_below(&rng, CANDIDATES));
			}
		}
		for (unsigned i = 0; i < CANDIDATES; i++) {
			faulty_pause(c[i].kv, true);
			elect_campaign(c[i].elect, true, i);
			leads += c[i].leads;
		}
		run(30000);
		T_EQ(acting(), 1);
		close_all();
	}
	T_REACHED(leads > 100);
}

/* Several revisions of the key in one note, as etcd sends them to a watch that has to
 * catch up: the last one counts. */
T_CASE(many_revisions_in_one_note)
{
	static const struct faulty_rule rules[] = {
		{.what = FAULTY_SLOW_NOTE,
	         .per_mille = 1000,
	         .delay_min_ms = 300,
	         .delay_max_ms = 300},
		{.what = FAULTY_MERGE_NOTES, .per_mille = 1000},
	};

	open_all(rules, 2);
	run(5000);
	T_TRUE(c[0].leading);
	for (unsigned i = 0; i < CANDIDATES; i++)
		elect_campaign(c[i].elect, false, i);
	run(5000);
	T_STR(stored(), "");
	(void)kit_put(&kit, "/leader/balancer", "mine!");
	T_EQ(kit_delete(&kit, kv_key(kit_key("/leader/balancer"))), 1);
	run(5000);
	elect_campaign(c[2].elect, true, 0);
	run(5000);
	T_TRUE(c[2].leading);
	close_all();
}

static enum pl_code open_and_stop(void)
{
	struct elect_opts opts = {.role = "janitor", .id = PL_SPAN_LIT("s0"), .seed = 1};
	enum pl_code code;

	c[0] = (struct candidate){0};
	code = elect_open(kit.kv, &opts, on_note, &c[0], &c[0].elect, NULL);
	if (code != PL_OK)
		return code;
	elect_stop(c[0].elect, true);
	run(10);
	T_TRUE(c[0].elect == NULL);
	return PL_OK;
}

T_CASE(torture)
{
	kit_open(&kit, NULL);
	t_torture(open_and_stop, true);
	kit_close(&kit);
}

T_CASE(names_are_checked)
{
	struct elect_opts opts = {.role = "a/b", .id = PL_SPAN_LIT("s0")};
	struct pl_err err;

	kit_open(&kit, NULL);
	T_CODE(elect_open(kit.kv, &opts, on_note, &c[0], &c[0].elect, &err), PL_INVALID,
	       &err);
	opts = (struct elect_opts){.role = "a", .id = PL_SPAN_LIT("S")};
	T_CODE(elect_open(kit.kv, &opts, on_note, &c[0], &c[0].elect, &err), PL_INVALID,
	       &err);
	kit_close(&kit);
	T_TRUE(elect_hash("a", PL_SPAN_LIT("b")) != elect_hash("b", PL_SPAN_LIT("a")));
}
