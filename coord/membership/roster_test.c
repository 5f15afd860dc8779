#include <stdarg.h>
#include <stdio.h>

#include "coord/membership/roster.h"
#include "store/base/fault.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

static struct kit kit;
static struct kv *plain;
static struct roster *roster;
static char story[8192];
static size_t story_len;
static bool stopped;
static unsigned notes, stop_at;

PL_PRINTF(1, 2) static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	story_len +=
		(size_t)vsnprintf(story + story_len, sizeof story - story_len, fmt, args);
	va_end(args);
}

static const char *reports(void)
{
	static char text[sizeof story];

	memcpy(text, story, sizeof text);
	story_len = 0;
	story[0] = 0;
	return text;
}

static void say_entry(const struct roster_entry *entry)
{
	if (entry == NULL)
		say(" gone");
	else if (entry->malformed)
		say(" malformed");
	else
		say(" %s", membership_state_name(entry->member.state));
}

static void on_note(void *ctx, const struct roster_note *note)
{
	T_TRUE(ctx == &kit && !stopped);
	if (stop_at != 0 && notes >= stop_at)
		T_EQ(note->what, ROSTER_STOPPED);
	switch (note->what) {
	case ROSTER_SYNCED:
		T_TRUE(roster_synced(roster));
		say("synced(%zu)", roster_count(roster));
		break;
	case ROSTER_CHANGED:
		T_TRUE(roster_synced(roster));
		T_TRUE(roster_get(roster, note->id) == note->entry);
		say(PL_SPAN_FMT, PL_SPAN_ARG(note->id));
		say_entry(note->entry);
		break;
	case ROSTER_LOST:
		T_TRUE(!roster_synced(roster));
		say("lost(%s)", pl_code_name(note->err->code));
		break;
	case ROSTER_TROUBLE:
		say("trouble(%s)", pl_code_name(note->err->code));
		break;
	case ROSTER_STOPPED:
		stopped = true;
		return;
	}
	say("; ");
	if (++notes == stop_at)
		roster_stop(roster);
}

static void run(uint64_t now_ms)
{
	kit_until(&kit, now_ms);
}

static void begin(const struct faulty_rule *rules, size_t count)
{
	kit_open(&kit, NULL);
	plain = kit.kv;
	T_EQ(memkv_session(kit.mem, &kit.kv, NULL), PL_OK);
	T_EQ(faulty_open(kit.kv, 1, rules, count, &kit.kv, NULL), PL_OK);
}

static void follow(void)
{
	T_EQ(roster_open(kit.kv, 5, on_note, &kit, &roster, &kit.err), PL_OK);
	T_EQ(notes, 0);
}

static void end(void)
{
	if (!stopped)
		roster_stop(roster);
	T_TRUE(!stopped || stop_at != 0);
	run(kit.now_ms + 5000);
	T_TRUE(stopped);
	kit_close_session(&kit, plain);
	kit_close(&kit);
}

/* Without the faults. */
static void direct(const struct kv_req *req)
{
	struct kv *faulty = kit.kv;

	kit.kv = plain;
	T_EQ(kit_call(&kit, req), PL_OK);
	kit.kv = faulty;
}

static void put(const char *id, const char *state)
{
	char key[300], value[600];
	struct kv_req req;

	(void)snprintf(key, sizeof key, "/shards/%s", id);
	(void)snprintf(value, sizeof value,
	               "{\"v\":1,\"id\":\"%s\",\"instance\":"
	               "\"0123456789abcdef0123456789abcdef\",\"state\":\"%s\",\"pid\":1,"
	               "\"weight\":1000,\"started\":\"2026-11-21T05:00:00.000Z\","
	               "\"partitions\":[]}",
	               id, state);
	req = kv_op_put(pl_span_str(key), pl_span_str(value));
	direct(&req);
}

static void del(const char *id)
{
	char key[300];
	struct kv_req req;

	(void)snprintf(key, sizeof key, "/shards/%s", id);
	req = kv_op_delete(kv_key(pl_span_str(key)));
	direct(&req);
}

static const char *everyone(void)
{
	story_len = 0;
	story[0] = 0;
	for (const struct roster_entry *e = roster_first(roster); e != NULL;
	     e = roster_next(roster, e)) {
		say(PL_SPAN_FMT, PL_SPAN_ARG(e->member.id));
		say_entry(e);
		say("; ");
	}
	return reports();
}

T_CASE(lists_then_follows)
{
	begin(NULL, 0);
	put("b", "active");
	put("a", "joining");
	follow();
	run(10);
	T_STR(reports(), "synced(2); ");
	T_STR(everyone(), "a joining; b active; ");
	put("aa", "active");
	put("a", "active");
	del("b");
	run(20);
	T_STR(reports(), "aa active; a active; b gone; ");
	T_STR(everyone(), "a active; aa active; ");
	T_TRUE(roster_get(roster, PL_SPAN_LIT("b")) == NULL);
	T_EQ(roster_get(roster, PL_SPAN_LIT("a"))->mod_revision, 5);
	T_EQ(roster_get(roster, PL_SPAN_LIT("a"))->create_revision, 3);
	end();
}

T_CASE(malformed_records_are_shown)
{
	begin(NULL, 0);
	put("a", "strange");
	put("Not-A-Name", "active");
	put("b", "active");
	follow();
	run(10);
	T_STR(reports(), "synced(3); ");
	T_STR(everyone(), "Not-A-Name malformed; a malformed; b active; ");
	T_TRUE(strstr(roster_get(roster, PL_SPAN_LIT("a"))->why.msg, "state: want") !=
	       NULL);
	put("a", "active");
	put("b", "strange");
	run(20);
	T_STR(reports(), "a active; b malformed; ");
	end();
}

/* While it is listed again nothing changes; then everything does at once. */
T_CASE(entries_stay_until_the_next_list_is_complete)
{
	struct faulty_rule rules[] = {
		{.what = FAULTY_END_WATCH,
	         .per_mille = 1000,
	         .count = 1,
	         .code = PL_REWOUND},
		{.what = FAULTY_SLOW_ANSWER,
	         .ops = 1u << KV_GET,
	         .per_mille = 1000,
	         .delay_min_ms = 50,
	         .delay_max_ms = 50},
	};

	begin(rules, 2);
	put("a", "active");
	put("b", "active");
	faulty_pause(kit.kv, true);
	follow();
	run(40);
	T_STR(reports(), "synced(2); ");
	faulty_pause(kit.kv, false);
	del("a"); /* the watch ends with this note */
	put("c", "active");
	run(62);
	T_STR(reports(), "lost(store rewound or replaced); ");
	T_STR(everyone(), "a active; b active; ");
	run(2000);
	T_STR(reports(), "synced(1); c active; "); /* which came during the list */
	T_STR(everyone(), "b active; c active; ");
	end();
}

T_CASE(stops_inside_a_note)
{
	for (stop_at = 1; stop_at < 4; stop_at++) {
		stopped = false;
		notes = 0;
		begin(NULL, 0);
		put("a", "active");
		follow();
		run(10);
		put("b", "active");
		put("c", "active");
		run(20);
		end();
	}
}

/* Whichever allocation fails, the roster is right in the end. */
T_CASE(without_memory)
{
	bool fired = true;

	for (uint64_t nth = 1; fired; nth++) {
		stopped = false;
		notes = 0;
		story_len = 0;
		begin(NULL, 0);
		put("a", "active");
		follow();
		run(10);
		put("b", "active");
		kit.now_ms = 20;
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		/* If a note of memkv itself fails, its watch ends. */
		run(20);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		run(5000);
		T_TRUE(roster_synced(roster));
		T_STR(everyone(), "a active; b active; ");
		end();
	}
}

static enum pl_code open_torture(void)
{
	enum pl_code code;

	stopped = false;
	code = roster_open(kit.kv, 5, on_note, &kit, &roster, &kit.err);
	if (code != PL_OK)
		return code;
	roster_stop(roster);
	pl_fault_arm(PL_FAULT_ALLOC, 0);
	run(kit.now_ms + 10);
	T_TRUE(stopped);
	return PL_OK;
}

T_CASE(opening_without_memory)
{
	kit_open(&kit, NULL);
	for (uint64_t nth = 1;; nth++) {
		enum pl_code code;

		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = open_torture();
		if (code == PL_OK)
			break;
		T_EQ(code, PL_NOMEM);
	}
	pl_fault_reset();
	kit_close(&kit);
}
