#include <stdio.h>

#include "store/kv/lease_core.h"
#include "tests/harness/t.h"

static const char *const action_names[] = {
	[LEASE_DO_GRANT] = "grant",           [LEASE_DO_KEEP] = "keep alive",
	[LEASE_DO_REVOKE] = "revoke",         [LEASE_REPORT_HELD] = "HELD",
	[LEASE_REPORT_DOUBT] = "DOUBT",       [LEASE_REPORT_EXPIRED] = "EXPIRED",
	[LEASE_REPORT_LOST] = "LOST",         [LEASE_REPORT_TROUBLE] = "trouble",
	[LEASE_REPORT_RELEASED] = "RELEASED",
};

static char story[16384];
static size_t story_len;
static struct lease_core core;
static int64_t first_id;

#define PRINT(...)    \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static void print_action(const struct lease_action *a)
{
	PRINT("          -> %s", action_names[a->type]);
	if (a->type <= LEASE_DO_REVOKE)
		PRINT(" #%u of %s id, within %" PRIu64 " ms", a->seq,
		      a->id == first_id ? "the first" : "another", a->timeout_ms);
	if (a->type == LEASE_REPORT_HELD || a->type == LEASE_REPORT_DOUBT)
		PRINT(" until %" PRIu64, a->safe_until_ms);
	if (a->type == LEASE_REPORT_DOUBT || a->type >= LEASE_REPORT_TROUBLE)
		PRINT(" (%s)", pl_code_name(a->code));
	PRINT("\n");
}

static void print_step(const char *what, struct lease_event event)
{
	struct lease_actions actions;

	lease_step(&core, &event, &actions);
	if (first_id == 0)
		first_id = core.id;
	PRINT("[%6" PRIu64 "] %s\n", event.now_ms, what);
	for (unsigned i = 0; i < actions.count; i++)
		print_action(&actions.item[i]);
	if (lease_deadline_ms(&core) == UINT64_MAX)
		PRINT("          %s\n", lease_state_name(core.state));
	else
		PRINT("          %s, next at %" PRIu64 "\n", lease_state_name(core.state),
		      lease_deadline_ms(&core));
}

static void due(const char *what)
{
	print_step(what, (struct lease_event){.type = LEASE_EV_TIMEOUT,
	                                      .now_ms = lease_deadline_ms(&core)});
}

/* A first lease of 6 s is asked for at 1000 and granted at 1040. */
static void begin(void)
{
	lease_core_init(&core, 6, 500, 7);
	print_step("start", (struct lease_event){.type = LEASE_EV_START, .now_ms = 1000});
	print_step("granted", (struct lease_event){.type = LEASE_EV_GRANTED,
	                                           .now_ms = 1040,
	                                           .sent_ms = 1000,
	                                           .seq = 1,
	                                           .ttl_s = 6});
}

T_CASE(grant_keep_and_release)
{
	begin();
	due("a third of the TTL is over");
	print_step("kept", (struct lease_event){.type = LEASE_EV_KEPT,
	                                        .now_ms = 3010,
	                                        .sent_ms = 3001,
	                                        .seq = 2,
	                                        .ttl_s = 6});
	due("another third");
	print_step("kept", (struct lease_event){.type = LEASE_EV_KEPT,
	                                        .now_ms = 5020,
	                                        .sent_ms = 5002,
	                                        .seq = 3,
	                                        .ttl_s = 6});
	print_step("release",
	           (struct lease_event){.type = LEASE_EV_RELEASE, .now_ms = 6000});
	print_step(
		"revoked",
		(struct lease_event){.type = LEASE_EV_REVOKED, .now_ms = 6015, .seq = 4});
	t_golden("lease/normal_life.txt", story);
}

/* The store falls silent: doubt, retries, and an end by the core's own clock. Late
 * answers are ignored, and another lease begins clean. */
T_CASE(silent_store_leads_to_doubt_and_expiry)
{
	begin();
	while (core.state != LEASE_EXPIRED)
		due("silence");
	T_TRUE(core.safe_until_ms == 6500);
	print_step("a keep-alive answered after all",
	           (struct lease_event){.type = LEASE_EV_KEPT,
	                                .now_ms = 6600,
	                                .sent_ms = 5900,
	                                .seq = core.seq - 1,
	                                .ttl_s = 6});
	T_EQ(core.state, LEASE_EXPIRED);
	print_step("again",
	           (struct lease_event){.type = LEASE_EV_REGRANT, .now_ms = 7000});
	print_step("an old keep-alive answered",
	           (struct lease_event){.type = LEASE_EV_KEPT,
	                                .now_ms = 7010,
	                                .sent_ms = 6400,
	                                .seq = 3,
	                                .ttl_s = 6});
	T_EQ(core.state, LEASE_GRANTING);
	print_step("an old keep-alive found no lease",
	           (struct lease_event){.type = LEASE_EV_FAILED,
	                                .now_ms = 7020,
	                                .seq = 3,
	                                .code = PL_NOLEASE});
	print_step("granted", (struct lease_event){.type = LEASE_EV_GRANTED,
	                                           .now_ms = 7030,
	                                           .sent_ms = 7001,
	                                           .seq = core.seq,
	                                           .ttl_s = 6});
	print_step("an old keep-alive found no lease",
	           (struct lease_event){.type = LEASE_EV_FAILED,
	                                .now_ms = 7040,
	                                .seq = 4,
	                                .code = PL_NOLEASE});
	T_EQ(core.state, LEASE_HELD);
	print_step("an old keep-alive answered",
	           (struct lease_event){.type = LEASE_EV_KEPT,
	                                .now_ms = 7050,
	                                .sent_ms = 7035,
	                                .seq = 4,
	                                .ttl_s = 6});
	T_EQ(core.safe_until_ms, 7001 + 6000 - 500);
	t_golden("lease/store_silent.txt", story);
}

/* One member does not answer, and the next one does: doubt comes and goes. An answer
 * counts from when its request was sent, however late it comes. */
T_CASE(doubt_ends_with_an_answer)
{
	begin();
	due("a third of the TTL is over");
	due("not answered in time");
	print_step("the second answered", (struct lease_event){.type = LEASE_EV_KEPT,
	                                                       .now_ms = 4600,
	                                                       .sent_ms = 4500,
	                                                       .seq = 3,
	                                                       .ttl_s = 6});
	T_EQ(core.state, LEASE_HELD);
	T_EQ(core.safe_until_ms, 4500 + 6000 - 500);
	print_step("the first answered too", (struct lease_event){.type = LEASE_EV_KEPT,
	                                                          .now_ms = 4700,
	                                                          .sent_ms = 3000,
	                                                          .seq = 2,
	                                                          .ttl_s = 6});
	T_EQ(core.safe_until_ms, 4500 + 6000 - 500);
	due("time to keep it");
	print_step("connection refused",
	           (struct lease_event){.type = LEASE_EV_FAILED,
	                                .now_ms = lease_deadline_ms(&core) - 1490,
	                                .seq = core.seq,
	                                .code = PL_UNAVAIL});
	due("quick retry");
	t_golden("lease/doubt.txt", story);
}

T_CASE(lease_that_the_store_lost_is_lost)
{
	begin();
	due("a third of the TTL is over");
	print_step("no such lease", (struct lease_event){.type = LEASE_EV_FAILED,
	                                                 .now_ms = 3020,
	                                                 .seq = 2,
	                                                 .code = PL_NOLEASE});
	print_step("again",
	           (struct lease_event){.type = LEASE_EV_REGRANT, .now_ms = 3020});
	print_step("release before it is granted",
	           (struct lease_event){.type = LEASE_EV_RELEASE, .now_ms = 3030});
	print_step("nothing to revoke", (struct lease_event){.type = LEASE_EV_FAILED,
	                                                     .now_ms = 3040,
	                                                     .seq = core.seq,
	                                                     .code = PL_NOLEASE});
	t_golden("lease/gone.txt", story);
}

/* The process is stopped for longer than the TTL with good news waiting: the clock goes
 * first. */
T_CASE(pause_beyond_the_ttl_expires_first)
{
	begin();
	due("a third of the TTL is over");
	print_step("wakes up",
	           (struct lease_event){.type = LEASE_EV_TIMEOUT, .now_ms = 60000});
	T_EQ(core.state, LEASE_EXPIRED);
	print_step("an answer that waited", (struct lease_event){.type = LEASE_EV_KEPT,
	                                                         .now_ms = 60000,
	                                                         .sent_ms = 3000,
	                                                         .seq = 2,
	                                                         .ttl_s = 6});
	T_EQ(core.state, LEASE_EXPIRED);
	t_golden("lease/pause.txt", story);
}

/* The answer to the grant is lost. Asking again with the same id finds the lease. */
T_CASE(unknown_grant_is_repeated_with_its_id)
{
	lease_core_init(&core, 6, 500, 7);
	print_step("start", (struct lease_event){.type = LEASE_EV_START, .now_ms = 1000});
	print_step("unknown", (struct lease_event){.type = LEASE_EV_FAILED,
	                                           .now_ms = 1500,
	                                           .seq = 1,
	                                           .code = PL_UNKNOWN});
	due("once more");
	print_step("exists", (struct lease_event){.type = LEASE_EV_FAILED,
	                                          .now_ms = 1540,
	                                          .seq = 2,
	                                          .code = PL_EXISTS});
	T_EQ(core.state, LEASE_GRANTING);
	print_step("kept", (struct lease_event){.type = LEASE_EV_KEPT,
	                                        .now_ms = 1560,
	                                        .sent_ms = 1545,
	                                        .seq = 3,
	                                        .ttl_s = 6});
	T_EQ(core.state, LEASE_HELD);
	T_EQ(core.id, first_id);
	t_golden("lease/grant_unknown.txt", story);
}

/* An id that exists at the first attempt belongs to another lease. */
T_CASE(id_of_another_lease_is_replaced)
{
	lease_core_init(&core, 6, 500, 7);
	print_step("start", (struct lease_event){.type = LEASE_EV_START, .now_ms = 1000});
	print_step("exists", (struct lease_event){.type = LEASE_EV_FAILED,
	                                          .now_ms = 1010,
	                                          .seq = 1,
	                                          .code = PL_EXISTS});
	T_TRUE(core.id != first_id);
	T_EQ(core.state, LEASE_GRANTING);
}

/* A grant that is answered after its own TTL says nothing, so a keep-alive must confirm
 * it. */
T_CASE(late_grant_is_confirmed_by_a_keepalive)
{
	lease_core_init(&core, 6, 500, 7);
	print_step("start", (struct lease_event){.type = LEASE_EV_START, .now_ms = 1000});
	print_step("granted, long ago", (struct lease_event){.type = LEASE_EV_GRANTED,
	                                                     .now_ms = 2400,
	                                                     .sent_ms = 1000,
	                                                     .seq = 1,
	                                                     .ttl_s = 1});
	T_EQ(core.state, LEASE_GRANTING);
	print_step("gone", (struct lease_event){.type = LEASE_EV_FAILED,
	                                        .now_ms = 2410,
	                                        .seq = 2,
	                                        .code = PL_NOLEASE});
	T_EQ(core.state, LEASE_GRANTING);
	T_TRUE(core.id != first_id);
}

T_CASE(release_stops_waiting_after_a_while)
{
	begin();
	print_step("release",
	           (struct lease_event){.type = LEASE_EV_RELEASE, .now_ms = 1100});
	while (core.state != LEASE_RELEASED)
		due("silence");
	T_TRUE(lease_deadline_ms(&core) == UINT64_MAX);
	t_golden("lease/release_gives_up.txt", story);
}

/* Random answers at random times: never two requests of a lease that is not held any
 * more, never good news after the end, always a deadline or an end. */
T_CASE(random_answers_keep_the_invariants)
{
	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct pl_rng rng;
		struct lease_actions actions;
		uint64_t now = 10;

		pl_rng_init(&rng, seed);
		lease_core_init(&core, 2, 0, seed);
		lease_step(&core,
		           &(struct lease_event){.type = LEASE_EV_START, .now_ms = now},
		           &actions);
		for (unsigned i = 0; i < 60; i++) {
			struct lease_event event = {.ttl_s = 2};
			enum lease_state before = core.state;
			uint64_t safe = core.safe_until_ms;

			now += pl_rng_below(&rng, 400);
			if (now >= lease_deadline_ms(&core)) {
				event.type = LEASE_EV_TIMEOUT;
			} else {
				event.type = (enum lease_event_type)pl_rng_between(
					&rng, LEASE_EV_GRANTED, LEASE_EV_GIVE_UP);
				if (event.type == LEASE_EV_TIMEOUT)
					continue;
			}
			event.now_ms = now;
			event.sent_ms = now - pl_rng_below(&rng, now < 300 ? now : 300);
			event.seq = core.seq - (uint32_t)pl_rng_below(&rng, 2);
			event.code =
				(enum pl_code)pl_rng_between(&rng, 1, PL_CODE_COUNT - 1);
			lease_step(&core, &event, &actions);
			if (before == LEASE_EXPIRED || before == LEASE_LOST)
				T_TRUE(core.state == before ||
				       event.type == LEASE_EV_REGRANT);
			if (before == LEASE_HELD && core.state == LEASE_HELD)
				T_TRUE(core.safe_until_ms >= safe);
			if (core.state == LEASE_HELD || core.state == LEASE_DOUBT)
				T_TRUE(now < core.safe_until_ms);
		}
	}
}
