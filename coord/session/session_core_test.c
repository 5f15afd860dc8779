#include <stdio.h>

#include "coord/session/session_core.h"
#include "tests/harness/t.h"

static const char *const ask_names[] = {
	[SESSION_REQUEST_CREATE] = "create the record",
	[SESSION_REQUEST_READ] = "read the record",
	[SESSION_REQUEST_PUT] = "put the record",
	[SESSION_REQUEST_TTL] = "look at lease",
	[SESSION_REQUEST_REVOKE] = "revoke lease",
};

static const char *const tell_names[] = {
	[SESSION_DO_AGAIN] = "another lease, please",
	[SESSION_DO_GIVE_UP] = "give up lease",
	[SESSION_REPORT_UP] = "UP",
	[SESSION_REPORT_DOUBT] = "DOUBT",
	[SESSION_REPORT_DOWN] = "DOWN",
	[SESSION_REPORT_TROUBLE] = "trouble",
	[SESSION_REPORT_REFUSED] = "REFUSED",
};

static const char *const why_names[] = {
	[SESSION_WHY_LEASE] = "the lease",
	[SESSION_WHY_REQUEST] = "a request",
	[SESSION_WHY_REMOVED] = "the record was removed",
	[SESSION_WHY_TAKEN] = "the record is another's",
	[SESSION_WHY_UNCERTAIN] = "the record is another's and has no lease",
};

static char story[16384];
static size_t story_len;
static struct session_core core;
static uint64_t now;

#define SAY(...)      \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static void say_ask(const struct session_action *a)
{
	SAY("          -> #%u %s", a->seq, ask_names[a->request]);
	if (a->request == SESSION_REQUEST_TTL || a->request == SESSION_REQUEST_REVOKE)
		SAY(" %" PRId64, a->lease);
	if (a->request == SESSION_REQUEST_CREATE || a->request == SESSION_REQUEST_PUT)
		SAY(" under lease %" PRId64, a->lease);
	if (a->request == SESSION_REQUEST_PUT)
		SAY(" if it is of revision %" PRId64 " and lease %" PRId64, a->revision,
		    a->seen_lease);
	SAY("\n");
}

static void say_action(const struct session_action *a)
{
	if (a->type == SESSION_DO_REQUEST) {
		say_ask(a);
		return;
	}
	SAY("          -> %s", tell_names[a->type]);
	if (a->type == SESSION_REPORT_UP)
		SAY(" with lease %" PRId64 " until %" PRIu64
		    ", record created at revision %" PRId64,
		    a->lease, a->until_ms, a->revision);
	if (a->type == SESSION_REPORT_TROUBLE)
		SAY(": %s", why_names[a->why]);
	if (a->type == SESSION_DO_GIVE_UP)
		SAY(" %" PRId64, a->lease);
	if (a->code != PL_OK)
		SAY(" (%s)", pl_code_name(a->code));
	SAY("\n");
}

static void tell(const char *what, struct session_event event)
{
	struct session_actions actions;

	event.seq = event.seq == 0 ? core.seq : event.seq;
	now = event.now_ms;
	session_step(&core, &event, &actions);
	SAY("[%6" PRIu64 "] %s\n", event.now_ms, what);
	for (unsigned i = 0; i < actions.count; i++)
		say_action(&actions.item[i]);
	if (session_deadline_ms(&core) == UINT64_MAX)
		SAY("          %s\n", session_state_name(core.state));
	else
		SAY("          %s, next at %" PRIu64 "\n", session_state_name(core.state),
		    session_deadline_ms(&core));
}

#define TELL(what, kind, ...) \
	tell(what,            \
	     (struct session_event){.type = SESSION_EV_##kind, .now_ms = __VA_ARGS__})

static void due(const char *what)
{
	tell(what, (struct session_event){.type = SESSION_EV_TIMEOUT,
	                                  .now_ms = session_deadline_ms(&core)});
}

static void held(const char *what, uint64_t now_ms, int64_t lease)
{
	tell(what, (struct session_event){.type = SESSION_EV_HELD,
	                                  .now_ms = now_ms,
	                                  .lease = lease,
	                                  .until_ms = now_ms + 9000});
}

static void found(const char *what, uint64_t now_ms, enum session_owner owner,
                  int64_t lease, int64_t revision)
{
	int64_t created = owner == SESSION_OURS && core.create_revision != 0
	                          ? core.create_revision
	                          : 50;

	tell(what, (struct session_event){.type = SESSION_EV_FOUND,
	                                  .now_ms = now_ms,
	                                  .owner = owner,
	                                  .lease = lease,
	                                  .create_revision = created,
	                                  .revision = revision});
}

static void ttl(const char *what, uint64_t now_ms, int64_t left_s)
{
	tell(what, (struct session_event){.type = SESSION_EV_TTL,
	                                  .now_ms = now_ms,
	                                  .sent_ms = now_ms - 5,
	                                  .left_s = left_s});
}

static void put(const char *what, uint64_t now_ms, int64_t revision)
{
	tell(what, (struct session_event){.type = SESSION_EV_PUT,
	                                  .now_ms = now_ms,
	                                  .revision = revision});
}

static void say(const char *what, uint64_t now_ms, bool urgent)
{
	tell(what, (struct session_event){.type = SESSION_EV_PUBLISH,
	                                  .now_ms = now_ms,
	                                  .urgent = urgent});
}

static void failed(const char *what, uint64_t now_ms, enum pl_code code)
{
	tell(what, (struct session_event){
			   .type = SESSION_EV_FAILED, .now_ms = now_ms, .code = code});
}

static void absent(const char *what, uint64_t now_ms)
{
	tell(what, (struct session_event){.type = SESSION_EV_ABSENT, .now_ms = now_ms});
}

/* A lease of 10 s, a refresh every 5 s. */
static void start(void)
{
	session_core_init(&core, 10000, 5000, 3);
	held("lease 7 is granted", 1000, 7);
}

static void begin(void)
{
	start();
	put("created at revision 60", 1010, 60);
	T_EQ(core.state, SESSION_STANDING);
}

T_CASE(normal_life)
{
	begin();
	say("the shard is active", 1020, true);
	say("it owns a partition", 1022, true);
	put("put", 1030, 61);
	put("put", 1040, 62);
	say("its load has changed", 2000, false);
	held("lease renewed", 4300, 7);
	due("time to refresh");
	put("put", now + 10, 63);
	held("lease renewed", 7700, 7);
	due("nothing to say for a while");
	found("it is as it was", now + 10, SESSION_OURS, 7, 63);
	T_EQ(core.stored, core.wanted);
	t_golden("session/normal_life.txt", story);
}

T_CASE(same_id_is_refused)
{
	start();
	found("there is one, on lease 5", 1010, SESSION_ANOTHER, 5, 55);
	ttl("6 s are left", 1020, 6);
	due("look again");
	found("still there", now + 10, SESSION_ANOTHER, 5, 55);
	ttl("4 s are left", 2300, 4);
	held("our lease renewed", 3500, 7);
	due("look again");
	found("still there", 3560, SESSION_ANOTHER, 5, 56);
	ttl("9 s are left: renewed once", 3600, 9);
	T_EQ(core.state, SESSION_WAITING);
	due("look again");
	found("still there", 4900, SESSION_ANOTHER, 5, 56);
	ttl("8 s are left", 4910, 8);
	due("look again");
	found("still there", 6200, SESSION_ANOTHER, 5, 57);
	ttl("9 s are left: renewed twice", 6210, 9);
	T_EQ(core.state, SESSION_ENDED);
	say("no effect", 6220, true);
	t_golden("session/refused.txt", story);
}

/* Another host: only its lease can tell. */
T_CASE(another_runs_out)
{
	start();
	found("there is one, on lease 5", 1010, SESSION_ANOTHER, 5, 55);
	ttl("1 s is left", 1020, 1);
	due("look again");
	found("still there", 2280, SESSION_ANOTHER, 5, 55);
	TELL("no such lease", NOLEASE, 2290);
	found("but the record still is", 2300, SESSION_ANOTHER, 5, 55);
	due("a moment later");
	TELL("no such lease", NOLEASE, 3560);
	put("created at revision 60", 3570, 60);
	T_TRUE(core.up);
	t_golden("session/another_runs_out.txt", story);
}

T_CASE(restart_after_a_crash)
{
	start();
	found("there is one of a process that is gone, on lease 5", 1010, SESSION_DEAD, 5,
	      55);
	TELL("revoked", NOLEASE, 1020);
	put("created at revision 60", 1030, 60);
	T_TRUE(core.up);
	t_golden("session/restart.txt", story);
}

T_CASE(own_older_lease)
{
	begin();
	due("the store is silent");
	due("and our clock goes on");
	T_EQ(core.state, SESSION_LEASING);
	T_TRUE(!core.up);
	put("what was asked before is answered now", 10100, 61);
	T_EQ(core.state, SESSION_LEASING);
	held("lease 8 is granted", 10200, 8);
	TELL("and once more", PUT, 10205, .seq = core.seq - 1, .revision = 61);
	T_TRUE(!core.up);
	found("our record, on lease 7", 10210, SESSION_OURS_OLD, 7, 61);
	failed("revoked? unknown", 10220, PL_UNKNOWN);
	due("look");
	absent("it is gone", 10270);
	put("created at revision 70", 10280, 70);
	T_TRUE(core.up);
	t_golden("session/own_older_lease.txt", story);
}

T_CASE(create_unknown)
{
	start();
	failed("created? unknown", 1500, PL_UNKNOWN);
	due("read");
	found("it is ours", 1540, SESSION_OURS, 7, 50);
	T_TRUE(core.up);
	say("the shard is active", 1560, true);
	failed("put? unknown", 2000, PL_UNKNOWN);
	due("read");
	found("not put", 2050, SESSION_OURS, 7, 50);
	found("the first came after all", 2060, SESSION_OURS, 7, 61);
	due("again");
	put("put", 2120, 62);
	T_EQ(core.stored, core.wanted);
	t_golden("session/create_unknown.txt", story);
}

T_CASE(removed_by_hand)
{
	begin();
	TELL("its end was seen", LOOK, 1500);
	absent("it is gone", 1510);
	T_TRUE(core.up);
	put("created at revision 64", 1520, 64);
	due("time to refresh");
	found("put by hand, without a lease", 6530, SESSION_MALFORMED, 0, 70);
	/* Another creation than the known one: the record was removed and put again. */
	T_TRUE(!core.up);
	held("lease 8 is granted", 6600, 8);
	found("still there", 6610, SESSION_MALFORMED, 0, 70);
	due("look again");
	absent("removed", now + 10);
	put("created at revision 75", now + 10, 75);
	T_TRUE(core.up);
	t_golden("session/removed.txt", story);
}

T_CASE(overwritten_by_hand)
{
	start();
	put("created at revision 50", 1010, 50);
	say("the shard is active", 1020, true);
	found("it was put without a lease", 1030, SESSION_MALFORMED, 0, 70);
	T_TRUE(core.up);
	put("put", 1040, 71);
	T_EQ(core.state, SESSION_STANDING);
	T_EQ(core.stored, core.wanted);
	t_golden("session/overwritten.txt", story);
}

T_CASE(no_lease_and_not_ours)
{
	start();
	found("a record without a lease", 1010, SESSION_ANOTHER, 0, 55);
	due("look again");
	found("still there", now + 10, SESSION_ANOTHER, 0, 55);
	held("lease renewed", 6100, 7);
	due("look again");
	absent("an operator has removed it", 11060);
	put("created at revision 60", 11070, 60);
	t_golden("session/no_lease.txt", story);
}

T_CASE(lease_lost_and_back)
{
	begin();
	TELL("keep-alives fail", DOUBT, 4500, .lease = 7, .code = PL_UNAVAIL);
	TELL("no such lease", LEASE_GONE, 5000, .lease = 7, .code = PL_NOLEASE);
	T_TRUE(!core.up);
	TELL("not granted", LEASE_TROUBLE, 5100, .code = PL_UNAVAIL);
	held("lease 8 is granted", 5200, 8);
	failed("the store is away", 5210, PL_UNAVAIL);
	due("again");
	put("created at revision 80", 5260, 80);
	T_TRUE(core.up);
	t_golden("session/lost_and_back.txt", story);
}

/* The process stands still for longer than the lease, and good news waits. */
T_CASE(pause)
{
	start();
	TELL("wakes up", TIMEOUT, 60000);
	put("created at revision 60", 60000, 60);
	T_TRUE(!core.up);
	T_EQ(core.lease, 0);
	t_golden("session/pause.txt", story);
}

/* Time passes between the lease's answer and our note of it. */
T_CASE(paused_in_the_middle_of_a_note)
{
	struct session_event held = {
		.type = SESSION_EV_HELD, .now_ms = 9000, .lease = 7, .until_ms = 9000};
	struct session_actions actions;

	session_core_init(&core, 10000, 5000, 1);
	session_step(&core, &held, &actions);
	T_EQ(actions.count, 2);
	T_EQ(actions.item[0].type, SESSION_REPORT_TROUBLE);
	T_EQ(actions.item[1].type, SESSION_DO_AGAIN);
	held.until_ms = 18000;
	session_step(&core, &held, &actions);
	T_EQ(core.lease, 7);
	held.now_ms = 17000;
	held.until_ms = 16999;
	session_step(&core, &held, &actions);
	T_EQ(actions.count, 0);
	T_EQ(session_deadline_ms(&core), 18000);
}

/* A shard that was put out gives up its lease too, because keys under it are waited
 * for. It is refused only when the other shard is known to live. */
T_CASE(a_record_that_another_shard_replaced)
{
	begin();
	say("urgent", 1020, true);
	found("another's, on lease 5", 1030, SESSION_ANOTHER, 5, 70);
	T_TRUE(!core.up);
	T_EQ(core.lease, 0);
	held("an answer about it that was under way", 1032, 7);
	T_EQ(core.lease, 0);
	held("lease 8 is granted", 1035, 8);
	found("still another's", 1037, SESSION_ANOTHER, 5, 70);
	TELL("no such lease", NOLEASE, 1040);
	put("created at revision 75", 1050, 75);
	T_TRUE(core.up);
	T_EQ(core.lease, 8);
	t_golden("session/usurped.txt", story);
}

static enum session_event_type any_answer(struct pl_rng *rng)
{
	static const enum session_event_type answers[][4] = {
		[SESSION_REQUEST_CREATE] = {SESSION_EV_PUT, SESSION_EV_FOUND,
	                                    SESSION_EV_FAILED, SESSION_EV_FOUND},
		[SESSION_REQUEST_READ] = {SESSION_EV_FOUND, SESSION_EV_ABSENT,
	                                  SESSION_EV_FAILED, SESSION_EV_FOUND},
		[SESSION_REQUEST_PUT] = {SESSION_EV_PUT, SESSION_EV_FOUND,
	                                 SESSION_EV_ABSENT, SESSION_EV_FAILED},
		[SESSION_REQUEST_TTL] = {SESSION_EV_TTL, SESSION_EV_NOLEASE,
	                                 SESSION_EV_FAILED, SESSION_EV_TTL},
		[SESSION_REQUEST_REVOKE] = {SESSION_EV_NOLEASE, SESSION_EV_FAILED,
	                                    SESSION_EV_NOLEASE, SESSION_EV_NOLEASE},
	};

	return answers[core.asked][pl_rng_below(rng, 4)];
}

static enum session_event_type any_event(struct pl_rng *rng, uint64_t at, uint64_t dice)
{
	if (at >= session_deadline_ms(&core))
		return SESSION_EV_TIMEOUT;
	if (core.lease == 0 || dice == 9)
		return SESSION_EV_HELD;
	if (dice == 8)
		return SESSION_EV_LOOK;
	if (dice == 7)
		return SESSION_EV_LEASE_GONE;
	if (core.asked != SESSION_REQUEST_NOTHING && dice > 1)
		return any_answer(rng);
	return SESSION_EV_PUBLISH;
}

/* *lease and *revision grow as in a store. */
static struct session_event anything(struct pl_rng *rng, uint64_t at, int64_t *lease,
                                     int64_t *revision)
{
	uint64_t dice = pl_rng_below(rng, 10);
	struct session_event event = {.type = any_event(rng, at, dice),
	                              .now_ms = at,
	                              .sent_ms = at,
	                              .until_ms = at + 2000,
	                              .urgent = dice == 0};

	*lease += event.type == SESSION_EV_HELD && core.lease == 0;
	event.lease = *lease;
	event.seq = core.seq - (pl_rng_below(rng, 8) == 0);
	event.left_s = (int64_t)pl_rng_below(rng, 4);
	event.revision = ++*revision;
	event.create_revision = event.revision - (int64_t)dice;
	event.code = (enum pl_code)pl_rng_between(rng, 1, PL_CODE_COUNT - 1);
	if (event.type == SESSION_EV_FOUND) {
		event.owner = (enum session_owner)pl_rng_below(rng, 5);
		event.lease = dice > 3 ? 1000 : 0;
		if (event.owner == SESSION_OURS)
			event.lease = core.lease;
	}
	return event;
}

/* Random events: never up without a lease, and always a deadline while there is
 * something to do. */
T_CASE(random_life)
{
	unsigned refused = 0, ups = 0;

	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct session_actions actions;
		struct pl_rng rng;
		uint64_t at = 10;
		int64_t lease = 0, revision = 100;

		pl_rng_init(&rng, seed);
		session_core_init(&core, 3000, 1000, seed);
		for (unsigned i = 0; i < 120; i++) {
			struct session_event event;

			at += pl_rng_below(&rng, 500);
			event = anything(&rng, at, &lease, &revision);
			session_step(&core, &event, &actions);
			for (unsigned a = 0; a < actions.count; a++) {
				ups += actions.item[a].type == SESSION_REPORT_UP;
				refused += actions.item[a].type == SESSION_REPORT_REFUSED;
			}
			T_TRUE(!core.up || at < core.until_ms);
			T_TRUE(core.lease == 0 || core.state == SESSION_ENDED ||
			       session_deadline_ms(&core) != UINT64_MAX);
			T_TRUE(core.lease == 0 || session_deadline_ms(&core) > at);
		}
	}
	T_TRUE(ups > 3000 && refused > 0);
}
