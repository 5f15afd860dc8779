#include <stdio.h>

#include "coord/elect/elect_core.h"
#include "tests/harness/t.h"

enum { LEASE = 71, OTHER = 88, SAFE = 100000 };

static const char *const action_names[] = {
	[ELECT_DO_CLAIM] = "claim",       [ELECT_DO_READ] = "read",
	[ELECT_DO_DELETE] = "delete",     [ELECT_DO_RELIST] = "watch anew",
	[ELECT_REPORT_LEAD] = "LEAD",     [ELECT_REPORT_STEP_DOWN] = "STEP DOWN",
	[ELECT_REPORT_FOLLOW] = "follow", [ELECT_REPORT_TROUBLE] = "trouble",
	[ELECT_REPORT_DONE] = "DONE",
};

static char story[16384];
static size_t story_len;
static struct elect_core core;
static struct elect_actions actions;

#define SAY(...)      \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static void say_action(const struct elect_action *a)
{
	SAY("          -> %s", action_names[a->type]);
	if (a->type <= ELECT_DO_DELETE)
		SAY(" #%u", a->seq);
	if (a->type == ELECT_DO_CLAIM)
		SAY(" under lease %" PRId64, a->lease);
	if (a->type == ELECT_REPORT_FOLLOW && a->epoch == 0)
		SAY(" no leader");
	else if (a->type == ELECT_REPORT_LEAD || a->type == ELECT_REPORT_STEP_DOWN ||
	         a->type == ELECT_REPORT_FOLLOW || a->type == ELECT_DO_DELETE)
		SAY(" epoch %" PRId64, a->epoch);
	if (a->type == ELECT_REPORT_TROUBLE)
		SAY(" (%s)", pl_code_name(a->code));
	SAY("\n");
}

static void tell(const char *what, struct elect_event event)
{
	elect_step(&core, &event, &actions);
	SAY("[%6" PRIu64 "] %s\n", event.now_ms, what);
	for (unsigned i = 0; i < actions.count; i++)
		say_action(&actions.item[i]);
	SAY("          %s", elect_state_name(elect_state(&core)));
	if (elect_deadline_ms(&core) != UINT64_MAX)
		SAY(", next at %" PRIu64, elect_deadline_ms(&core));
	SAY("\n");
}

static void due(const char *what)
{
	tell(what, (struct elect_event){.type = ELECT_EV_TIMEOUT,
	                                .now_ms = elect_deadline_ms(&core)});
}

static void session(uint64_t now, int64_t lease, uint64_t safe)
{
	tell(lease == 0 ? "session down" : "session up",
	     (struct elect_event){.type = ELECT_EV_SESSION,
	                          .now_ms = now,
	                          .lease = lease,
	                          .safe_until_ms = safe});
}

static void campaign(uint64_t now, bool standing, uint32_t rank)
{
	char text[64];

	(void)snprintf(text, sizeof text, standing ? "stands, rank %u" : "stands down",
	               rank);
	tell(text, (struct elect_event){.type = ELECT_EV_CAMPAIGN,
	                                .now_ms = now,
	                                .campaign = standing,
	                                .rank = rank});
}

static struct elect_event key_event(enum elect_event_type type, uint64_t now,
                                    int64_t revision, int64_t create, int64_t lease)
{
	return (struct elect_event){.type = type,
	                            .now_ms = now,
	                            .seq = core.seq,
	                            .key = {revision, create, lease}};
}

static void seen(const char *what, uint64_t now, int64_t revision, int64_t create,
                 int64_t lease)
{
	tell(what, key_event(ELECT_EV_SEEN, now, revision, create, lease));
}

static void answer(const char *what, uint64_t now, int64_t revision, int64_t create,
                   int64_t lease)
{
	tell(what, key_event(ELECT_EV_ANSWER, now, revision, create, lease));
}

static void failed(const char *what, uint64_t now, enum pl_code code)
{
	tell(what, (struct elect_event){.type = ELECT_EV_FAILED,
	                                .now_ms = now,
	                                .seq = core.seq,
	                                .code = code});
}

/* The role is free and this candidate is the first: it leads at revision 12. */
static void lead(void)
{
	elect_core_init(&core, 5);
	seen("no leader", 1000, 10, 0, 0);
	campaign(1010, true, 0);
	session(1020, LEASE, SAFE);
	due("our turn");
	answer("created", 1100, 12, 12, LEASE);
	T_EQ(core.epoch, 12);
}

T_CASE(normal_life)
{
	lead();
	session(3000, LEASE, SAFE + 2000);
	campaign(4000, false, 0);
	answer("deleted", 4010, 20, 0, 0);
	T_EQ(elect_state(&core), ELECT_OUT);
	seen("another's", 4040, 21, 21, OTHER);
	campaign(5000, true, 3);
	T_EQ(elect_state(&core), ELECT_FOLLOWING);
	seen("its end", 6000, 30, 0, 0);
	due("our turn, after three others");
	answer("taken", 6300, 32, 31, OTHER);
	seen("what we know already", 6310, 31, 31, OTHER);
	t_golden("elect/normal_life.txt", story);
}

/* The store does not answer a leader any more: it stops when its lease is not safe,
 * and does not believe what comes later. */
T_CASE(cut_off)
{
	elect_core_init(&core, 5);
	seen("no leader", 1000, 10, 0, 0);
	campaign(1010, true, 0);
	session(1020, LEASE, 6000);
	due("our turn");
	answer("created", 1100, 12, 12, LEASE);
	due("not safe any more");
	T_EQ(core.epoch, 0);
	seen("still under our lease", 6100, 12, 12, LEASE);
	T_EQ(core.epoch, 0);
	session(6200, 0, 0);
	session(7000, OTHER, SAFE);
	seen("gone with its lease", 8000, 40, 0, 0);
	due("our turn");
	answer("created", 8100, 41, 41, OTHER);
	T_EQ(core.epoch, 41);
	t_golden("elect/cut_off.txt", story);
}

/* A claim with an unknown outcome is read, and is applied late. */
T_CASE(claim_unknown)
{
	elect_core_init(&core, 5);
	seen("no leader", 1000, 10, 0, 0);
	campaign(1010, true, 0);
	session(1020, LEASE, SAFE);
	due("our turn");
	failed("unknown", 2000, PL_UNKNOWN);
	due("what became of it?");
	T_EQ(actions.item[0].type, ELECT_DO_READ);
	failed("no answer to that either", 2200, PL_TIMEOUT);
	due("what became of it?");
	answer("nothing", 2500, 13, 0, 0);
	T_EQ(actions.item[0].type, ELECT_DO_CLAIM);
	seen("the first claim, applied after all", 2510, 14, 14, LEASE);
	T_EQ(core.epoch, 14);
	answer("the second found it there", 2520, 15, 14, LEASE);
	T_EQ(core.epoch, 14);
	t_golden("elect/claim_unknown.txt", story);
}

/* A key that was to be deleted is never led under again, although the shard is a
 * candidate again and the key is still there: the delete may still arrive. */
T_CASE(resign_unknown)
{
	lead();
	campaign(4000, false, 0);
	failed("unknown", 5000, PL_UNKNOWN);
	campaign(5010, true, 0);
	T_EQ(elect_state(&core), ELECT_RESIGNING);
	due("once more");
	T_EQ(actions.item[0].type, ELECT_DO_DELETE);
	answer("not deleted, because it is gone", 5200, 22, 0, 0);
	due("our turn");
	answer("created", 5300, 23, 23, LEASE);
	T_EQ(core.epoch, 23);
	t_golden("elect/resign_unknown.txt", story);
}

/* The store is restored from a snapshot: revisions start lower. Our key is in it,
 * under our living lease: it is adopted. */
T_CASE(rewound)
{
	lead();
	tell("the store went back in time",
	     (struct elect_event){
		     .type = ELECT_EV_WATCH_LOST, .now_ms = 2000, .code = PL_REWOUND});
	T_EQ(core.epoch, 0);
	seen("ours, as it was", 2100, 7, 5, LEASE);
	T_EQ(core.epoch, 5);
	seen("its end", 2200, 8, 0, 0);
	due("our turn");
	answer("an answer older than the question", 2300, 4, 4, LEASE);
	T_EQ(core.epoch, 0);
	T_TRUE(!core.known);
	seen("ours", 2400, 5, 4, LEASE);
	T_EQ(core.epoch, 4);
	t_golden("elect/rewound.txt", story);
}

/* A leader whose watch is lost goes on, and nothing is claimed without a watch. */
T_CASE(blind)
{
	lead();
	tell("the watch is lost", (struct elect_event){.type = ELECT_EV_WATCH_LOST,
	                                               .now_ms = 2000,
	                                               .code = PL_COMPACTED});
	T_EQ(core.epoch, 12);
	session(2100, 0, 0);
	session(2200, LEASE + 1, SAFE);
	T_TRUE(elect_deadline_ms(&core) == SAFE);
	seen("gone", 2300, 30, 0, 0);
	T_EQ(elect_state(&core), ELECT_WAITING);
	tell("the watch is lost", (struct elect_event){.type = ELECT_EV_WATCH_LOST,
	                                               .now_ms = 2310,
	                                               .code = PL_COMPACTED});
	T_TRUE(elect_deadline_ms(&core) == SAFE);
}

/* A key that is being deleted goes with its lease, whatever is known of it. */
T_CASE(resign_ends_with_the_session)
{
	lead();
	campaign(2000, false, 0);
	tell("the store went back in time",
	     (struct elect_event){
		     .type = ELECT_EV_WATCH_LOST, .now_ms = 2010, .code = PL_REWOUND});
	T_EQ(core.resign, 12);
	session(2020, LEASE + 1, SAFE);
	T_EQ(core.resign, 0);
}

/* Put by hand with another lease: not ours any more, whatever its create revision. */
/* Down and up with the same lease: the delete that was sent may still arrive. */
T_CASE(resign_outlives_a_session_that_comes_back)
{
	lead();
	campaign(2000, false, 0);
	session(2010, 0, 0);
	campaign(2015, true, 0);
	session(2020, LEASE, SAFE);
	T_EQ(core.epoch, 0);
	answer("deleted", 2100, 20, 0, 0);
	due("our turn");
	answer("created", 2300, 22, 22, LEASE);
	T_EQ(core.epoch, 22);
}

T_CASE(taken_by_hand)
{
	lead();
	seen("put by hand", 2000, 15, 12, 0);
	T_EQ(core.epoch, 0);
	T_EQ(elect_state(&core), ELECT_FOLLOWING);
	seen("what was before", 2010, 14, 12, LEASE);
	T_EQ(core.epoch, 0);
}

T_CASE(rank_moves_up)
{
	elect_core_init(&core, 5);
	campaign(1010, true, 30);
	session(1020, LEASE, SAFE);
	seen("no leader", 2000, 10, 0, 0);
	T_TRUE(elect_deadline_ms(&core) >= 3500);
	campaign(2100, true, 0);
	T_EQ(elect_state(&core), ELECT_CLAIMING);
	elect_core_init(&core, 5);
	campaign(1010, true, 100000);
	session(1020, LEASE, SAFE);
	seen("no leader", 2000, 10, 0, 0);
	T_TRUE(elect_deadline_ms(&core) >= 4000 && elect_deadline_ms(&core) < 6000);
}

static void stop(uint64_t now, bool resign)
{
	tell(resign ? "stop, and resign" : "stop",
	     (struct elect_event){
		     .type = ELECT_EV_STOP, .now_ms = now, .resign = resign});
}

T_CASE(stops)
{
	lead();
	stop(2000, true);
	T_EQ(elect_state(&core), ELECT_RESIGNING);
	answer("deleted", 2010, 20, 0, 0);
	T_EQ(elect_state(&core), ELECT_DONE);
	lead();
	stop(2000, false);
	T_EQ(elect_state(&core), ELECT_DONE);
	T_EQ(actions.item[actions.count - 1].type, ELECT_REPORT_DONE);
	lead();
	stop(2000, true);
	while (elect_state(&core) != ELECT_DONE)
		due("silence");
	elect_core_init(&core, 5);
	stop(2000, true);
	T_EQ(elect_state(&core), ELECT_DONE);
	t_golden("elect/stops.txt", story);
}

/* Stopped while a claim is in flight: the key is deleted again. */
T_CASE(stops_in_a_claim)
{
	elect_core_init(&core, 5);
	seen("no leader", 1000, 10, 0, 0);
	campaign(1010, true, 0);
	session(1020, LEASE, SAFE);
	due("our turn");
	stop(1080, true);
	answer("created", 1100, 12, 12, LEASE);
	T_EQ(core.epoch, 0);
	T_EQ(elect_state(&core), ELECT_RESIGNING);
	answer("deleted", 1110, 13, 0, 0);
	T_EQ(elect_state(&core), ELECT_DONE);
}

static struct elect_event any_event(struct pl_rng *rng, uint64_t now)
{
	struct elect_event event = {
		.type = (enum elect_event_type)pl_rng_below(rng, ELECT_EV_TIMEOUT),
		.now_ms = now,
		.campaign = pl_rng_chance(rng, 3, 4),
		.rank = (uint32_t)pl_rng_below(rng, 4),
		.seq = core.seq - (uint32_t)pl_rng_below(rng, 2),
		.lease = (int64_t)pl_rng_below(rng, 3),
		.safe_until_ms = now + pl_rng_below(rng, 3000),
		.code = (enum pl_code)pl_rng_between(rng, 1, PL_CODE_COUNT - 1),
	};

	event.key.revision = (int64_t)pl_rng_between(rng, 1, 100);
	event.key.create_revision =
		(int64_t)pl_rng_below(rng, (uint64_t)event.key.revision + 1);
	event.key.lease = (int64_t)pl_rng_below(rng, 3);
	if (event.type == ELECT_EV_STOP)
		event.type = ELECT_EV_SEEN;
	return event;
}

/* LEAD and STEP DOWN alternate, and there is one request at a time. */
static void judge(bool *leading, bool in_flight, enum elect_event_type type)
{
	for (unsigned n = 0; n < actions.count; n++) {
		enum elect_action_type did = actions.item[n].type;

		if (did == ELECT_REPORT_LEAD || did == ELECT_REPORT_STEP_DOWN) {
			T_EQ(*leading, did == ELECT_REPORT_STEP_DOWN);
			*leading = !*leading;
		}
		if (did <= ELECT_DO_DELETE && in_flight)
			T_TRUE(type != ELECT_EV_SEEN && type != ELECT_EV_TIMEOUT);
	}
}

static void random_run(uint64_t seed)
{
	struct pl_rng rng;
	uint64_t now = 10;
	bool leading = false;

	pl_rng_init(&rng, seed);
	elect_core_init(&core, seed);
	for (unsigned i = 0; i < 100; i++) {
		struct elect_event event;
		bool in_flight = core.op != ELECT_OP_NONE;

		now += pl_rng_below(&rng, 300);
		event = any_event(&rng, now);
		if (now >= elect_deadline_ms(&core))
			event.type = ELECT_EV_TIMEOUT;
		elect_step(&core, &event, &actions);
		judge(&leading, in_flight, event.type);
		T_EQ(leading, core.epoch != 0);
		T_TRUE(!leading || (core.campaign && now < core.safe_until_ms));
	}
}

/* Random events: no shard leads longer than its lease is safe. */
T_CASE(random_life)
{
	for (uint64_t seed = 0; seed < 2000; seed++)
		random_run(seed);
}
