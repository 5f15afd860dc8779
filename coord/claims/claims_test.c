#include "coord/claims/claims.h"
#include "store/base/fault.h"
#include "store/kv/faulty.h"
#include "store/memkv/kit.h"

/*
 * Shards over one memkv. Each has a client of its own, behind a faulty kv, a lease
 * that is kept alive by nobody, and its record; who is a member is said to all.
 */

enum { SHARDS = 3, PARTITIONS = 16, TTL_S = 1000, HANDOVER_MS = 300, SETTLE_MS = 100 };

struct shard {
	char name[8];
	struct kv *kv;
	struct claims *claims;
	int64_t lease;
	int64_t epoch[PARTITIONS]; /* as told */
	unsigned owned, lost[CLAIMS_CLOSED + 1], garbled, troubles;
	bool keeps; /* does not say quiet */
	bool synced, stopped;
};

struct rig {
	struct kit kit;
	struct shard shard[SHARDS];
	struct assign *assign;
};

static struct rig rig;

static void on_note(void *ctx, const struct claims_note *note)
{
	struct shard *s = ctx;
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
	case CLAIMS_GARBLED:
		T_TRUE(note->err != NULL);
		s->garbled++;
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

/* Another lease, and the record under it. */
static void up(struct shard *s)
{
	static int64_t leases = 100;
	char key[32];
	struct kv_req put;

	s->lease = ++leases;
	T_EQ(kit_lease(&rig.kit, KV_LEASE_GRANT, s->lease, TTL_S), PL_OK);
	(void)snprintf(key, sizeof key, "/shards/%s", s->name);
	put = kv_op_put_leased(kit_key(key), kit_key("{}"), s->lease);
	T_EQ(kit_call(&rig.kit, &put), PL_OK);
	claims_session(s->claims, s->lease, rig.kit.now_ms + TTL_S * 1000 - 1000);
}

static void join(struct shard *s)
{
	T_OK(assign_put(rig.assign, pl_span_str(s->name), ASSIGN_WEIGHT_ONE, NULL), NULL);
}

static void say_assignment(void)
{
	for (unsigned i = 0; i < SHARDS; i++)
		if (rig.shard[i].claims != NULL && !rig.shard[i].stopped)
			claims_assign(rig.shard[i].claims, rig.assign, false);
}

static void shard_open(struct shard *s, const char *name, const struct faulty_rule *rules,
                       size_t count)
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

static void shard_stop(struct shard *s)
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

/* Each partition is acted on by whom the assignment names, and by nobody else. */
static void all_in_place(void)
{
	for (uint32_t p = 0; p < PARTITIONS; p++)
		for (unsigned i = 0; i < SHARDS; i++) {
			struct shard *s = &rig.shard[i];
			bool his = pl_span_eq(assign_of(rig.assign, p),
			                      pl_span_str(s->name));

			if (s->claims == NULL || s->stopped)
				continue;
			T_EQ(claims_epoch(s->claims, p) != 0, his);
			T_STR(claims_owner(s->claims, p)->shard,
			      (const char *)assign_of(rig.assign, p).at);
			T_TRUE(claims_settled(s->claims));
		}
}

T_CASE(join_and_share)
{
	struct shard *a = &rig.shard[0], *b = &rig.shard[1];

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
	T_EQ(b->owned, 0); /* a has it for settle_ms yet */
	run(SETTLE_MS);
	T_TRUE(b->owned > 0);
	T_EQ(a->lost[CLAIMS_HANDED_OVER], b->owned);
	all_in_place();
	rig_close();
}
