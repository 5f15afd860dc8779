#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/session/session.h"
#include "store/base/fault.h"
#include "store/base/rng.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

enum { STORY_SIZE = 8192, SHARDS = 3 };

static struct kit kit;

/* A process with a shard. */
struct session_shard {
	struct kv *kv;
	struct session *session;
	struct membership self;
	bool open, up, closed;
	unsigned ups;
	int64_t lease, revision;
	char story[STORY_SIZE];
	size_t story_len;
	char why[PL_ERR_MSG_SIZE]; /* of the last note with an error */
	enum session_what end_at;  /* closes or abandons the session in such a note */
	bool end_set, end_abandon;
};

static struct session_shard shards[SHARDS];
static int64_t dead_pid; /* every other process runs */

PL_PRINTF(2, 3) static void say(struct session_shard *shard, const char *fmt, ...)
{
	va_list args;

	if (shard->story_len + 100 > STORY_SIZE)
		return;
	va_start(args, fmt);
	shard->story_len += (size_t)vsnprintf(shard->story + shard->story_len,
	                                      STORY_SIZE - shard->story_len, fmt, args);
	va_end(args);
}

static const char *reports(struct session_shard *shard)
{
	static char text[STORY_SIZE];

	memcpy(text, shard->story, sizeof text);
	shard->story_len = 0;
	shard->story[0] = 0;
	return text;
}

static bool pid_lives(void *ctx, int64_t pid)
{
	T_TRUE(ctx >= (void *)shards && ctx < (void *)(shards + SHARDS));
	return pid != dead_pid;
}

static void on_up(struct session_shard *shard, const struct session_note *note)
{
	T_TRUE(note->lease != 0 && note->safe_until_ms > kv_now_ms(shard->kv));
	T_EQ(session_lease(shard->session), note->lease);
	T_EQ(session_safe_until_ms(shard->session), note->safe_until_ms);
	if (!shard->up || shard->revision != note->revision)
		say(shard, "up ");
	shard->up = true;
	shard->ups++;
	shard->lease = note->lease;
	shard->revision = note->revision;
}

static void on_note(void *ctx, const struct session_note *note)
{
	static const char *const names[] = {
		[SESSION_UP] = "up",           [SESSION_DOUBT] = "doubt",
		[SESSION_DOWN] = "down",       [SESSION_TROUBLE] = "trouble",
		[SESSION_REFUSED] = "refused", [SESSION_CLOSED] = "closed",
	};
	struct session_shard *shard = ctx;

	T_TRUE(!shard->closed);
	T_TRUE((note->err == NULL) == (note->what == SESSION_UP) ||
	       note->what == SESSION_CLOSED);
	if (note->err != NULL)
		(void)snprintf(shard->why, sizeof shard->why, "%s", note->err->msg);
	if (note->what == SESSION_UP)
		on_up(shard, note);
	else
		say(shard, "%s%s%s%s ", names[note->what], note->err == NULL ? "" : "(",
		    note->err == NULL ? "" : pl_code_name(note->err->code),
		    note->err == NULL ? "" : ")");
	if (note->what == SESSION_DOWN) {
		T_TRUE(shard->up);
		T_EQ(session_lease(shard->session), 0);
		shard->up = false;
	}
	if (note->what == SESSION_CLOSED) {
		shard->up = false;
		shard->closed = true;
	} else if (shard->end_set && note->what == shard->end_at) {
		if (shard->end_abandon)
			session_abandon(shard->session);
		else
			session_close(shard->session);
		T_EQ(session_lease(shard->session), 0);
	}
}

static void run(uint64_t now_ms)
{
	kit_until(&kit, now_ms);
}

static void begin(void)
{
	memset(shards, 0, sizeof shards);
	dead_pid = 0;
	kit_open(&kit, NULL);
}

static enum pl_code open_kv(struct session_shard *shard, const struct faulty_rule *rules,
                            size_t count)
{
	T_EQ(memkv_session(kit.mem, &shard->kv, NULL), PL_OK);
	T_EQ(faulty_open(shard->kv, t_seed(), rules, count, &shard->kv, NULL), PL_OK);
	shard->open = true;
	return PL_OK;
}

static enum pl_code start(struct session_shard *shard, int64_t pid, char instance)
{
	struct session_opts opts = {.self = &shard->self,
	                            .ttl_s = 6,
	                            .refresh_ms = 3000,
	                            .seed = 5 + (uint64_t)pid,
	                            .pid_lives = pid_lives};

	shard->self = (struct membership){.id = PL_SPAN_LIT("east-0"),
	                                  .host = PL_SPAN_LIT("h1"),
	                                  .boot = PL_SPAN_LIT("b1"),
	                                  .pid = pid,
	                                  .weight = 1000,
	                                  .started_ms = 1795237200000};
	memset(shard->self.instance, instance, MEMBERSHIP_INSTANCE_SIZE - 1);
	return session_open(shard->kv, &opts, on_note, shard, &shard->session, &kit.err);
}

static void start_plain(struct session_shard *shard, int64_t pid, char instance)
{
	(void)open_kv(shard, NULL, 0);
	T_OK(start(shard, pid, instance), &kit.err);
}

static void end(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		if (shards[i].session != NULL && !shards[i].closed)
			session_close(shards[i].session);
		run(kit.now_ms + 20000);
		T_TRUE(shards[i].session == NULL || shards[i].closed);
		if (shards[i].open)
			kit_close_session(&kit, shards[i].kv);
	}
	kit_close(&kit);
}

/* The record in the store; false: there is none. */
static bool record(struct membership *out)
{
	static struct pl_arena arena;
	struct kv_req get = kv_op_get(kv_key(PL_SPAN_LIT("/shards/east-0")));

	T_EQ(kit_call(&kit, &get), PL_OK);
	if (kit.result.get.count == 0)
		return false;
	pl_arena_done(&arena);
	pl_arena_init(&arena, 0, 0);
	T_OK(membership_parse(PL_SPAN_LIT("east-0"), kit.result.get.records[0].value,
	                      &arena, out, &kit.err),
	     &kit.err);
	return true;
}

T_CASE(opens_and_closes)
{
	struct membership m;

	begin();
	start_plain(&shards[0], 1, 'a');
	T_EQ(shards[0].ups, 0);
	run(10);
	T_STR(reports(&shards[0]), "up ");
	T_TRUE(record(&m));
	T_EQ(m.state, MEMBERSHIP_JOINING);
	T_EQ(kit.result.get.records[0].lease, shards[0].lease);
	T_EQ(kit.result.get.records[0].create_revision, shards[0].revision);
	run(60000);
	T_STR(reports(&shards[0]), "");
	T_REACHED(shards[0].ups > 25);
	session_close(shards[0].session);
	T_EQ(session_lease(shards[0].session), 0);
	run(kit.now_ms);
	T_STR(reports(&shards[0]), "closed ");
	T_TRUE(!record(&m));
	end();
}

/* Urgent changes are put at once, others wait, and an unchanged record is not put. */
T_CASE(urgent_changes_are_put_at_once)
{
	static const uint16_t partitions[] = {3, 4};
	struct membership m;
	int64_t revision;

	begin();
	start_plain(&shards[0], 1, 'a');
	run(10);
	shards[0].self.state = MEMBERSHIP_ACTIVE;
	session_publish(shards[0].session, &shards[0].self);
	shards[0].self.partitions = partitions;
	shards[0].self.partition_count = 2;
	session_publish(shards[0].session, &shards[0].self);
	run(20);
	T_TRUE(record(&m));
	T_EQ(m.state, MEMBERSHIP_ACTIVE);
	T_EQ(m.partition_count, 2);
	T_EQ(kit.result.get.records[0].version, 2);
	shards[0].self.writes_per_s = 7;
	shards[0].self.config_count = 1;
	shards[0].self.config[0] =
		(struct membership_config){.name = PL_SPAN_LIT("coord"), .version = 3};
	session_publish(shards[0].session, &shards[0].self);
	run(2900);
	T_TRUE(record(&m));
	T_NEAR(m.writes_per_s, 0, 0);
	run(3100);
	T_TRUE(record(&m));
	T_NEAR(m.writes_per_s, 7, 0);
	T_EQ(m.config[0].version, 3);
	revision = kit.result.get.records[0].mod_revision;
	session_publish(shards[0].session, &shards[0].self);
	run(20000);
	T_TRUE(record(&m));
	T_EQ(kit.result.get.records[0].mod_revision, revision);
	shards[0].self.config[0].refused = PL_SPAN_LIT("no");
	session_publish(shards[0].session, &shards[0].self);
	run(20010);
	T_TRUE(record(&m));
	T_SPAN(m.config[0].refused, PL_SPAN_LIT("no"));
	session_refresh(shards[0].session, 100);
	run(20200);
	shards[0].self.busy = 0.5;
	session_publish(shards[0].session, &shards[0].self);
	run(20400);
	T_TRUE(record(&m));
	T_NEAR(m.busy, 0.5, 0);
	end();
}

/* A put that reaches the store after the next one changes nothing. */
T_CASE(a_late_put_is_void)
{
	struct faulty_rule late = {.what = FAULTY_APPLY_LATE,
	                           .ops = 1u << KV_TXN,
	                           .per_mille = 1000,
	                           .count = 1,
	                           .delay_min_ms = 2000,
	                           .delay_max_ms = 2000};
	struct membership m;

	begin();
	(void)open_kv(&shards[0], &late, 1);
	faulty_pause(shards[0].kv, true);
	T_OK(start(&shards[0], 1, 'a'), &kit.err);
	session_refresh(shards[0].session, 60000);
	run(100);
	faulty_pause(shards[0].kv, false);
	shards[0].self.state = MEMBERSHIP_ACTIVE;
	session_publish(shards[0].session, &shards[0].self);
	run(101);
	shards[0].self.state = MEMBERSHIP_DRAINING;
	session_publish(shards[0].session, &shards[0].self);
	run(2099);
	T_EQ(faulty_count(shards[0].kv, FAULTY_APPLY_LATE), 1);
	run(10000);
	T_TRUE(record(&m));
	T_EQ(m.state, MEMBERSHIP_DRAINING);
	T_EQ(kit.result.get.records[0].version, 2);
	end();
}

T_CASE(same_id_is_refused_while_the_first_lives)
{
	begin();
	start_plain(&shards[0], 1, 'a');
	run(100);
	start_plain(&shards[1], 2, 'b');
	run(15000);
	T_STR(reports(&shards[1]), "trouble(already exists) refused(already exists) ");
	T_TRUE(strstr(shards[1].why,
	              "host h1, pid 1, started 2026-11-21T05:00:00.000Z") != NULL);
	T_STR(reports(&shards[0]), "up ");
	end();
}

T_CASE(a_dead_process_does_not_keep_its_id)
{
	begin();
	start_plain(&shards[0], 1, 'a');
	run(100);
	session_abandon(shards[0].session);
	T_EQ(session_lease(shards[0].session), 0);
	run(110);
	T_STR(reports(&shards[0]), "up closed(canceled) ");
	dead_pid = 1;
	start_plain(&shards[1], 2, 'b');
	run(120);
	T_STR(reports(&shards[1]), "up ");
	end();
}

/* On another machine the process can not be checked: its lease has to expire. */
T_CASE(a_lost_owner_keeps_its_id_for_its_ttl)
{
	begin();
	start_plain(&shards[0], 1, 'a');
	run(100);
	session_abandon(shards[0].session);
	run(110);
	start_plain(&shards[1], 2, 'b');
	run(5900);
	T_STR(reports(&shards[1]), "trouble(already exists) ");
	run(8000);
	T_STR(reports(&shards[1]), "up ");
	end();
}

/* The store is away for longer than the lease: DOWN in time, and up again although the
 * store never ended the old lease. */
T_CASE(own_older_lease)
{
	struct faulty_rule away = {.what = FAULTY_LOSE_ANSWER,
	                           .ops = 1u << KV_LEASE_KEEP | 1u << KV_LEASE_REVOKE,
	                           .per_mille = 1000,
	                           .count = 12};

	begin();
	(void)open_kv(&shards[0], &away, 1);
	T_OK(start(&shards[0], 1, 'a'), &kit.err);
	run(30000);
	T_TRUE(shards[0].up);
	T_TRUE(strstr(reports(&shards[0]), "down(deadline exceeded) ") != NULL);
	end();
}

T_CASE(removed_by_hand)
{
	struct membership m;

	begin();
	start_plain(&shards[0], 1, 'a');
	run(100);
	T_EQ(kit_delete(&kit, kv_key(PL_SPAN_LIT("/shards/east-0"))), 1);
	run(3200);
	T_STR(reports(&shards[0]), "up trouble(not found) up ");
	T_TRUE(record(&m));
	T_EQ(kit_delete(&kit, kv_key(PL_SPAN_LIT("/shards/east-0"))), 1);
	session_look(shards[0].session);
	run(3210);
	T_STR(reports(&shards[0]), "trouble(not found) up ");
	/* Put by hand: the key is not under the lease any more, and its text is lost. */
	(void)kit_put(&kit, "/shards/east-0", "nonsense");
	session_look(shards[0].session);
	run(3220);
	T_STR(reports(&shards[0]), "");
	T_TRUE(record(&m));
	T_EQ(kit.result.get.records[0].lease, shards[0].lease);
	end();
}

static size_t keys_of(const char *key)
{
	T_EQ(kit_get_at(&kit, kv_key(pl_span_str(key)), 0), PL_OK);
	return kit.result.get.count;
}

/* Replaced although its lease lives: keys under the lease are free at once. */
T_CASE(a_record_that_another_shard_replaced)
{
	begin();
	start_plain(&shards[0], 1, 'a');
	run(100);
	(void)kit_put_leased(&kit, "/partitions/00007/owner", "a", shards[0].lease);
	T_EQ(kit_delete(&kit, kv_key(PL_SPAN_LIT("/shards/east-0"))), 1);
	start_plain(&shards[1], 2, 'b');
	run(200);
	T_STR(reports(&shards[1]), "up ");
	T_EQ(keys_of("/partitions/00007/owner"), 1);
	session_look(shards[0].session);
	run(250);
	T_STR(reports(&shards[0]), "up down(already exists) trouble(already exists) ");
	T_EQ(keys_of("/partitions/00007/owner"), 0);
	run(20000);
	T_STR(reports(&shards[0]), "refused(already exists) ");
	T_STR(reports(&shards[1]), "");
	end();
}

T_CASE(a_malformed_record_without_a_lease)
{
	begin();
	(void)kit_put(&kit, "/shards/east-0", "nonsense");
	start_plain(&shards[0], 1, 'a');
	run(20000);
	T_STR(reports(&shards[0]), "trouble(already exists) ");
	T_TRUE(strstr(shards[0].why, "delete that key if that shard is gone") != NULL);
	T_EQ(kit_delete(&kit, kv_key(PL_SPAN_LIT("/shards/east-0"))), 1);
	run(25000);
	T_STR(reports(&shards[0]), "up ");
	end();
}

/* The store comes back from a time before the shard. */
T_CASE(rewound)
{
	struct memkv_snapshot *snapshot = NULL;

	begin();
	T_EQ(memkv_save(kit.mem, &snapshot, NULL), PL_OK);
	start_plain(&shards[0], 1, 'a');
	run(100);
	T_EQ(memkv_restore(kit.mem, snapshot, NULL), PL_OK);
	memkv_snapshot_free(snapshot);
	run(10000);
	T_TRUE(strstr(reports(&shards[0]), "down(lease not found) up ") != NULL);
	end();
}

T_CASE(ends_inside_a_note)
{
	for (unsigned what = SESSION_UP; what <= SESSION_TROUBLE; what++) {
		for (unsigned abandon = 0; abandon < 2; abandon++) {
			struct faulty_rule away[] = {
				{.what = FAULTY_REFUSE,
			         .ops = 1u << KV_LEASE_KEEP,
			         .code = PL_UNAVAIL,
			         .per_mille = 1000},
				{.what = FAULTY_REFUSE,
			         .ops = 1u << KV_LEASE_GRANT,
			         .code = PL_UNAVAIL,
			         .per_mille = 1000,
			         .count = 1},
				/* The revoke, which has no effect, would still be in
				 * flight. */
				{.what = FAULTY_SLOW_ANSWER,
			         .ops = 1u << KV_LEASE_REVOKE,
			         .per_mille = 1000,
			         .delay_min_ms = 100,
			         .delay_max_ms = 100},
			};

			begin();
			(void)open_kv(&shards[0], away, 3);
			shards[0].end_set = true;
			shards[0].end_at = (enum session_what)what;
			shards[0].end_abandon = abandon;
			T_OK(start(&shards[0], 1, 'a'), &kit.err);
			run(30000);
			T_TRUE(shards[0].closed);
			end();
		}
	}
}

/* Two shards want the same id over a store that loses, delays and repeats: never both
 * are up, and after the faults exactly one is, or both were refused. */
static void chaos(uint64_t seed)
{
	struct faulty_rule rules[] = {
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 100},
		{.what = FAULTY_APPLY_LATE, .per_mille = 100, .delay_max_ms = 4000},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_UNAVAIL},
		{.what = FAULTY_REFUSE, .per_mille = 50, .code = PL_BUSY},
		{.what = FAULTY_SLOW_ANSWER, .per_mille = 100, .delay_max_ms = 2000},
		{.what = FAULTY_SLOW_REQUEST, .per_mille = 100, .delay_max_ms = 2000},
	};
	struct pl_rng rng;
	struct membership m;

	pl_rng_init(&rng, seed);
	begin();
	for (unsigned i = 0; i < 2; i++) {
		T_EQ(memkv_session(kit.mem, &shards[i].kv, NULL), PL_OK);
		T_EQ(faulty_open(shards[i].kv, seed * 2 + i, rules, 6, &shards[i].kv,
		                 NULL),
		     PL_OK);
		shards[i].open = true;
		T_OK(start(&shards[i], i + 1, i == 0 ? 'a' : 'b'), &kit.err);
	}
	for (unsigned i = 0; i < 150; i++) {
		struct session_shard *shard = &shards[pl_rng_below(&rng, 2)];

		run(kit.now_ms + pl_rng_below(&rng, 400));
		T_TRUE(session_lease(shards[0].session) == 0 ||
		       session_lease(shards[1].session) == 0);
		shard->self.state = (enum membership_state)pl_rng_below(&rng, 3);
		shard->self.writes_per_s = (double)pl_rng_below(&rng, 3);
		if (pl_rng_chance(&rng, 1, 3))
			session_publish(shard->session, &shard->self);
		if (pl_rng_chance(&rng, 1, 20))
			session_look(shard->session);
	}
	faulty_pause(shards[0].kv, true);
	faulty_pause(shards[1].kv, true);
	for (unsigned i = 0; i < 2; i++)
		session_publish(shards[i].session, &shards[i].self);
	run(kit.now_ms + 40000);
	T_TRUE(shards[0].up + shards[1].up <= 1);
	if (shards[0].up || shards[1].up) {
		struct session_shard *winner = shards[0].up ? &shards[0] : &shards[1];

		T_TRUE(record(&m));
		T_EQ(kit.result.get.records[0].lease, session_lease(winner->session));
		T_EQ(kit.result.get.records[0].create_revision, winner->revision);
		T_STR(m.instance, winner->self.instance);
		T_EQ(m.state, winner->self.state);
		T_NEAR(m.writes_per_s, winner->self.writes_per_s, 0);
	} else {
		T_TRUE(strstr(shards[0].story, "refused") != NULL ||
		       strstr(shards[1].story, "refused") != NULL);
	}
	end();
}

T_CASE_SECONDS(two_shards_of_one_id_over_a_faulty_store, 60)
{
	for (uint64_t seed = 0; seed < 300; seed++)
		chaos(seed + 1000 * t_seed());
}

T_CASE(without_memory)
{
	struct membership m;

	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;
		bool fired;

		begin();
		(void)open_kv(&shards[0], NULL, 0);
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = start(&shards[0], 1, 'a');
		if (code != PL_OK) {
			T_EQ(code, PL_NOMEM);
			shards[0].session = NULL;
			pl_fault_reset();
			end();
			continue;
		}
		shards[0].self.state = MEMBERSHIP_ACTIVE;
		session_publish(shards[0].session, &shards[0].self);
		run(10);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		session_publish(shards[0].session, &shards[0].self);
		run(20000);
		T_TRUE(shards[0].up && record(&m));
		T_EQ(m.state, MEMBERSHIP_ACTIVE);
		end();
		if (!fired)
			break;
	}
}
