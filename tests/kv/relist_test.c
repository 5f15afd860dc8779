#include "store/base/fault.h"
#include "store/base/rng.h"
#include "store/kv/prefixed.h"
#include "store/kv/relist.h"
#include "tests/support/store/kv/faulty.h"
#include "tests/support/store/memkv/kit.h"

/* A mirror of the content as a user keeps it: by key and revision, swept at END. Keys
 * are "p/0" to "p/63", values are numbers. */
enum { KEYS = 64, STORY_SIZE = 8192 };

struct mirror_slot {
	int64_t revision; /* revision of the last change; 0: the key was never seen */
	int64_t value;    /* -1: absent */
	bool swept;
};

struct mirror {
	struct mirror_slot slot[KEYS];
	struct mirror_slot next[KEYS]; /* the list in progress */
	bool listing, complete, stopped;
	unsigned lists, losts, pages;
	enum pl_code lost;
	char why[256];
	int64_t told_revision;
	uint64_t end_ms;   /* when the last list ended */
	unsigned released; /* notes of events that came with the list's end */
	char story[STORY_SIZE];
	size_t story_len;
	struct relist *relist;
	unsigned stop_at; /* the mirror stops itself at this note */
	unsigned notes;
};

static struct kit kit;
static struct kv *plain, *session; /* plain has no faults; session is under the faults */
static struct mirror m;
static struct progress_reads
	*progress_reads; /* NULL: each relist checks the store on its own */
/* The changes of the store, recorded as they are made. */
static int64_t history[4096][2]; /* by revision: key or -1, value */

static int key_index(struct pl_span key)
{
	T_TRUE(key.len >= 3 && key.len <= 4);
	return key.len == 3 ? key.at[2] - '0' : (key.at[2] - '0') * 10 + key.at[3] - '0';
}

static int64_t value_of(struct pl_span value)
{
	int64_t n = 0;

	for (size_t i = 0; i < value.len; i++)
		n = n * 10 + value.at[i] - '0';
	return n;
}

static void take_page(const struct relist_note *note)
{
	T_TRUE(m.listing);
	m.pages++;
	for (size_t i = 0; i < note->count; i++) {
		const struct kv_record *record = &note->records[i];
		struct mirror_slot *slot = &m.next[key_index(record->key)];

		T_EQ(slot->revision, 0); /* no key comes twice in a list */
		T_TRUE(record->mod_revision <= note->revision);
		slot->revision = record->mod_revision;
		slot->value = value_of(record->value);
	}
}

static bool note_brings(const struct relist_note *note, int64_t revision)
{
	for (size_t i = 0; i < note->count; i++)
		if (note->events[i].record.mod_revision == revision)
			return true;
	return false;
}

static void take_events(const struct relist_note *note)
{
	T_TRUE(m.complete);
	T_TRUE(note->revision > m.told_revision);
	m.released += kit.now_ms == m.end_ms;
	/* Each revision of a watched key between the two must be in the note. */
	for (int64_t r = m.told_revision + 1; r < note->revision && r < 4096; r++)
		T_TRUE(history[r][0] < 0 || note_brings(note, r));
	m.told_revision = note->revision;
	for (size_t i = 0; i < note->count; i++) {
		const struct kv_event *event = &note->events[i];
		struct mirror_slot *slot = &m.slot[key_index(event->record.key)];

		T_TRUE(event->record.mod_revision > slot->revision);
		slot->revision = event->record.mod_revision;
		slot->value = event->is_delete ? -1 : value_of(event->record.value);
	}
}

static void take_note(const struct relist_note *note)
{
	switch (note->what) {
	case RELIST_BEGIN:
		m.listing = true;
		m.complete = false;
		m.lists++;
		for (int i = 0; i < KEYS; i++)
			m.next[i] = (struct mirror_slot){.value = -1};
		break;
	case RELIST_PAGE:
		take_page(note);
		break;
	case RELIST_END:
		T_TRUE(m.listing);
		memcpy(m.slot, m.next, sizeof m.slot);
		m.listing = false;
		m.complete = true;
		m.told_revision = note->revision;
		m.end_ms = kit.now_ms;
		break;
	case RELIST_EVENTS:
		take_events(note);
		break;
	case RELIST_PROGRESS:
		T_TRUE(m.complete);
		break;
	case RELIST_LOST:
		m.losts++;
		m.lost = note->err->code;
		(void)snprintf(m.why, sizeof m.why, "%s", note->err->msg);
		m.complete = false;
		m.listing = false;
		break;
	case RELIST_TROUBLE:
		T_TRUE(note->err->code != PL_OK);
		break;
	case RELIST_STOPPED:
		m.stopped = true;
		break;
	}
}

static void on_note(void *ctx, const struct relist_note *note)
{
	(void)ctx;
	T_TRUE(!m.stopped);
	if (m.stop_at != 0 && m.notes >= m.stop_at)
		T_EQ(note->what, RELIST_STOPPED);
	if (m.story_len + 80 < sizeof m.story)
		m.story_len += (size_t)snprintf(
			m.story + m.story_len, sizeof m.story - m.story_len,
			"%s@%" PRId64 " ", relist_what_name(note->what), note->revision);
	take_note(note);
	if (++m.notes == m.stop_at)
		relist_stop(m.relist);
}

static void run_to(uint64_t now_ms)
{
	kit_until(&kit, now_ms);
}

static void open_with(uint64_t seed, const struct faulty_rule *rules, size_t count)
{
	memset(&m, 0, sizeof m);
	memset(history, 0xff, sizeof history);
	kit_open(&kit, NULL);
	T_EQ(memkv_session(kit.mem, &plain, NULL), PL_OK);
	session = kit.kv;
	T_EQ(faulty_open(kit.kv, seed, rules, count, &kit.kv, NULL), PL_OK);
}

static void share_progress_reads(void)
{
	T_EQ(progress_reads_open(kit.kv, 1000, &progress_reads, NULL), PL_OK);
}

static void open_relist(struct kv_keys keys, uint32_t page_keys)
{
	struct relist_opts opts = {.keys = keys,
	                           .progress_reads = progress_reads,
	                           .page_keys = page_keys,
	                           .call_timeout_ms = 1000,
	                           .check_ms = 2000,
	                           .stall_ms = 1000,
	                           .seed = 3};

	T_EQ(relist_open(kit.kv, &opts, on_note, NULL, &m.relist, NULL), PL_OK);
}

/* The prefixes that are listed. */
static const char *const *pieces;

static bool on_piece(void *ctx, bool first, struct pl_span *prefix)
{
	static unsigned at;

	(void)ctx;
	at = first ? 0 : at + 1;
	if (pieces[at] == NULL)
		return false;
	*prefix = pl_span_str(pieces[at]);
	return true;
}

static void follow_pieces(const char *const *prefixes, uint32_t page_keys)
{
	struct relist_opts opts = {.keys = kv_prefix(kit_key("p/")),
	                           .next_prefix = on_piece,
	                           .page_keys = page_keys,
	                           .call_timeout_ms = 1000,
	                           .check_ms = 2000,
	                           .stall_ms = 1000,
	                           .seed = 3};

	pieces = prefixes;
	T_EQ(relist_open(kit.kv, &opts, on_note, NULL, &m.relist, NULL), PL_OK);
}

static void close_all(void)
{
	if (!m.stopped && m.relist != NULL) {
		relist_stop(m.relist);
		run_to(kit.now_ms + 5000);
		T_TRUE(m.stopped);
	}
	progress_reads_close(PL_STEAL(progress_reads));
	kit_close_session(&kit, plain);
	kit_close(&kit);
}

/* Calls the store directly, past the faults. */
static enum pl_code call_without_faults(const struct kv_req *req)
{
	struct kv *faulty = kit.kv;
	enum pl_code code;

	kit.kv = plain;
	code = kit_call(&kit, req);
	kit.kv = faulty;
	return code;
}

static int64_t set_key(unsigned key, int64_t value)
{
	char name[16], text[16];
	struct kv_req req;

	(void)snprintf(name, sizeof name, "p/%u", key);
	(void)snprintf(text, sizeof text, "%" PRId64, value);
	req = value < 0 ? kv_op_delete(kv_key(pl_span_str(name)))
	                : kv_op_put(pl_span_str(name), pl_span_str(text));
	T_EQ(call_without_faults(&req), PL_OK);
	if (value >= 0 || kit.result.del.deleted != 0) {
		history[kit.result.header.revision][0] = key;
		history[kit.result.header.revision][1] = value;
	}
	return kit.result.header.revision;
}

static void compact_to(int64_t revision)
{
	struct kv_req req = {.op = KV_COMPACT, .compact = {.revision = revision}};
	enum pl_code code = revision > 0 ? call_without_faults(&req) : PL_OK;

	T_TRUE(code == PL_OK || code == PL_COMPACTED);
}

static void expect_mirror_equal(void)
{
	struct kv_req req = kv_op_get(kv_prefix(kit_key("p/")));
	unsigned live = 0;

	T_TRUE(m.complete);
	T_EQ(call_without_faults(&req), PL_OK);
	for (size_t i = 0; i < kit.result.get.count; i++) {
		const struct kv_record *record = &kit.result.get.records[i];
		const struct mirror_slot *slot = &m.slot[key_index(record->key)];

		T_EQ(slot->revision, record->mod_revision);
		T_EQ(slot->value, value_of(record->value));
	}
	for (unsigned i = 0; i < KEYS; i++)
		live += m.slot[i].value >= 0;
	T_EQ(live, kit.result.get.count);
}

T_CASE(list_is_followed_by_events)
{
	open_with(1, NULL, 0);
	for (unsigned i = 0; i < 10; i++)
		(void)set_key(i, i);
	open_relist(kv_prefix(kit_key("p/")), 4);
	T_EQ(m.notes, 0);
	run_to(10);
	T_STR(m.story, "begin@11 page@11 page@11 page@11 end@11 ");
	(void)set_key(3, 33);
	(void)set_key(4, -1);
	run_to(20);
	T_STR(m.story, "begin@11 page@11 page@11 page@11 end@11 events@12 events@13 ");
	expect_mirror_equal();
	run_to(60000);
	T_EQ(m.losts, 0);
	close_all();
}

T_CASE(every_kind_of_key_set_is_followed)
{
	struct kv_keys keys[] = {kv_all_keys(), kv_from(kit_key("p")),
	                         kv_range(kit_key("p/"), kit_key("p0")),
	                         kv_prefix(kit_key("p/"))};

	for (unsigned i = 0; i < 4; i++) {
		open_with(1, NULL, 0);
		for (unsigned k = 0; k < 20; k++)
			(void)set_key(k, k);
		open_relist(keys[i], 3);
		run_to(10);
		T_EQ(m.pages, 7);
		(void)set_key(1, 77);
		run_to(20);
		expect_mirror_equal();
		close_all();
	}
	open_with(1, NULL, 0);
	(void)set_key(1, 1);
	(void)set_key(2, 2);
	open_relist(kv_key(kit_key("p/1")), 3);
	run_to(10);
	(void)set_key(2, 3);
	memset(history, 0xff, sizeof history); /* no key of this test is in it */
	(void)set_key(1, 4);
	run_to(20);
	T_STR(m.story, "begin@3 page@3 end@3 events@5 ");
	close_all();
}

/* Exactly the keys under p/2 and p/3 of forty keys were listed, and the keys behind
 * them were not. */
static void prefixes_were_listed(void)
{
	for (int i = 0; i < 40; i++)
		T_EQ(m.slot[i].revision != 0,
		     i == 2 || i / 10 == 2 || i == 3 || i / 10 == 3);
}

static const char *const two_and_three[] = {"p/2", "p/3", "p/9/", NULL};

T_CASE(only_the_given_prefixes_are_listed)
{
	static const char *const none[] = {NULL};

	open_with(1, NULL, 0);
	for (unsigned i = 0; i < 40; i++)
		(void)set_key(i, i);
	follow_pieces(two_and_three, 4);
	run_to(10);
	T_STR(m.story, "begin@41 page@41 page@41 page@41 page@41 page@41 page@41 page@41 "
	               "end@41 ");
	prefixes_were_listed();
	(void)set_key(5, 55);
	(void)set_key(25, 56);
	run_to(20);
	T_EQ(m.slot[5].value, 55);
	T_EQ(m.slot[25].value, 56);
	run_to(60000);
	T_EQ(m.losts, 0);
	close_all();
	open_with(1, NULL, 0);
	(void)set_key(1, 1);
	follow_pieces(none, 4);
	run_to(10);
	T_STR(m.story, "begin@2 page@2 end@2 ");
	(void)set_key(1, 2);
	run_to(20);
	T_EQ(m.slot[1].value, 2);
	close_all();
}

T_CASE(prefixes_are_listed_whole_whatever_fails)
{
	static const struct faulty_rule bad[] = {
		{FAULTY_REFUSE, 1u << KV_GET, {0}, 300, PL_UNAVAIL, 0, 0, 0},
		{FAULTY_LOSE_ANSWER, 1u << KV_GET, {0}, 100, PL_OK, 0, 1, 50},
		{FAULTY_SLOW_REQUEST, 1u << KV_GET, {0}, 1000, PL_OK, 0, 50, 100},
	};
	unsigned losts = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		open_with(seed, bad, 3);
		for (unsigned i = 0; i < 40; i++)
			(void)set_key(i, i);
		follow_pieces(two_and_three, 3);
		run_to(200);
		compact_to(set_key(35, 5));
		run_to(120000);
		T_TRUE(m.complete);
		if (m.lists > 0)
			prefixes_were_listed();
		losts += m.losts;
		close_all();
	}
	T_TRUE(losts > 5);
}

/* A compaction between two pages makes the list void, and it begins again. */
T_CASE(compaction_between_pages_starts_the_list_anew)
{
	struct faulty_rule slow = {.what = FAULTY_SLOW_REQUEST,
	                           .ops = 1u << KV_GET,
	                           .per_mille = 1000,
	                           .delay_min_ms = 100,
	                           .delay_max_ms = 100};

	open_with(1, &slow, 1);
	for (unsigned i = 0; i < 10; i++)
		(void)set_key(i, i);
	open_relist(kv_prefix(kit_key("p/")), 4);
	run_to(150);
	compact_to(set_key(5, 55));
	run_to(2000);
	T_EQ(m.losts, 1);
	T_EQ(m.lost, PL_COMPACTED);
	T_EQ(m.lists, 2);
	expect_mirror_equal();
	close_all();
}

/* Changes while the list is read are told once, after its end, except for those before
 * the first page, which are part of the list. */
T_CASE(changes_while_listing_are_told_once_after_it)
{
	struct faulty_rule slow = {.what = FAULTY_SLOW_REQUEST,
	                           .ops = 1u << KV_GET,
	                           .per_mille = 1000,
	                           .delay_min_ms = 100,
	                           .delay_max_ms = 100};

	open_with(1, &slow, 1);
	for (unsigned i = 0; i < 10; i++)
		(void)set_key(i, i);
	open_relist(kv_prefix(kit_key("p/")), 4);
	run_to(50);
	(void)set_key(5, 55); /* 12: in the list */
	run_to(150);
	(void)set_key(0, 100);
	(void)set_key(5, -1);
	run_to(250);
	(void)set_key(9, 99);
	run_to(300);
	T_STR(m.story, "begin@12 page@12 page@12 page@12 end@12 events@13 events@14 "
	               "events@15 ");
	(void)set_key(9, 100);
	run_to(310);
	expect_mirror_equal();
	T_EQ(m.losts, 0);
	close_all();
}

/* The relist is stopped while they are told. */
T_CASE(stop_while_deferred_events_are_reported)
{
	struct faulty_rule slow = {.what = FAULTY_SLOW_ANSWER,
	                           .ops = 1u << KV_GET,
	                           .per_mille = 1000,
	                           .delay_min_ms = 100,
	                           .delay_max_ms = 100};

	for (unsigned at = 1; at < 7; at++) {
		open_with(1, &slow, 1);
		(void)set_key(1, 1);
		m.stop_at = at;
		open_relist(kv_prefix(kit_key("p/")), 4);
		run_to(50);
		(void)set_key(1, 2);
		(void)set_key(1, 3);
		(void)set_key(1, 4);
		run_to(200);
		T_TRUE(m.stopped);
		T_EQ(m.notes, at + 1);
		close_all();
	}
	/* The relist is stopped while they are deferred. */
	open_with(1, &slow, 1);
	open_relist(kv_prefix(kit_key("p/")), 4);
	run_to(50);
	(void)set_key(1, 2);
	relist_stop(m.relist);
	run_to(60);
	T_TRUE(m.stopped);
	T_EQ(m.notes, 1);
	close_all();
}

/* The list goes on as if nothing had been watched, and another watch follows. */
T_CASE(more_events_than_can_be_deferred_give_the_watch_up)
{
	static char value[1 << 20];
	struct faulty_rule slow = {.what = FAULTY_SLOW_ANSWER,
	                           .ops = 1u << KV_GET,
	                           .per_mille = 1000,
	                           .delay_min_ms = 100,
	                           .delay_max_ms = 100};
	struct kv_req req;

	open_with(1, &slow, 1);
	(void)set_key(1, 1);
	open_relist(kv_prefix(kit_key("p/")), 4);
	run_to(50);
	memset(value, '0', sizeof value);
	req = kv_op_put(kit_key("p/2"), pl_span(value, sizeof value));
	for (unsigned i = 0; i < 6; i++) {
		T_EQ(call_without_faults(&req), PL_OK);
		history[kit.result.header.revision][0] = 2;
	}
	(void)set_key(2, -1);
	run_to(200);
	T_STR(m.story, "begin@2 page@2 end@2 events@3 events@4 events@5 events@6 "
	               "events@7 events@8 events@9 ");
	expect_mirror_equal();
	T_EQ(m.losts, 0);
	close_all();
}

/* A missing watch delays nothing for ever. */
T_CASE(list_does_not_wait_for_a_late_watch)
{
	struct faulty_rule late = {
		.what = FAULTY_STALL_WATCH, .per_mille = 1000, .count = 1};

	open_with(1, &late, 1);
	(void)set_key(1, 1);
	open_relist(kv_prefix(kit_key("p/")), 4);
	run_to(900);
	T_STR(m.story, "");
	run_to(1100);
	T_STR(m.story, "begin@2 page@2 end@2 ");
	(void)set_key(1, 2);
	run_to(1200);
	expect_mirror_equal();
	T_EQ(m.losts, 0);
	close_all();
}

/* A watch stalls and lets its revisions be compacted away. */
T_CASE(stalled_watch_leads_to_a_new_list)
{
	struct faulty_rule stall = {
		.what = FAULTY_STALL_WATCH, .per_mille = 1000, .count = 1};

	open_with(1, &stall, 1);
	faulty_pause(kit.kv, true);
	(void)set_key(1, 1);
	open_relist(kv_prefix(kit_key("p/")), 4);
	run_to(100);
	faulty_pause(kit.kv, false);
	(void)set_key(1, 2);
	run_to(4000);
	T_EQ(m.losts, 1);
	T_EQ(m.lost, PL_TIMEOUT);
	T_STR(m.why, "the watch showed nothing after revision 2, "
	             "and the store is at 3");
	expect_mirror_equal();
	close_all();
}

T_CASE(ended_watch_leads_to_a_new_list)
{
	struct faulty_rule end = {.what = FAULTY_END_WATCH,
	                          .per_mille = 1000,
	                          .count = 6,
	                          .code = PL_COMPACTED};

	open_with(1, &end, 1);
	(void)set_key(1, 1);
	open_relist(kv_prefix(kit_key("p/")), 4);
	run_to(4000);
	T_EQ(m.lists, 4);
	T_EQ(m.losts, 3); /* watches lost before a list are not missed */
	(void)set_key(1, 2);
	run_to(4000);
	expect_mirror_equal();
	close_all();
}

/* The store is restored from a backup: its revision goes back, and the watch does not
 * show it. */
static void is_restored(bool shares_heads)
{
	struct memkv_snapshot *backup;

	open_with(1, NULL, 0);
	if (shares_heads)
		share_progress_reads();
	for (unsigned i = 0; i < 5; i++)
		(void)set_key(i, i);
	T_EQ(memkv_save(kit.mem, &backup, NULL), PL_OK);
	open_relist(kv_prefix(kit_key("p/")), 4);
	run_to(100);
	for (unsigned i = 0; i < 5; i++)
		(void)set_key(i, 100 + i);
	run_to(200);
	expect_mirror_equal();
	T_EQ(memkv_restore(kit.mem, backup, NULL), PL_OK);
	memset(history, 0xff, sizeof history);
	run_to(10000);
	T_EQ(m.losts, 1);
	T_EQ(m.lost, PL_REWOUND);
	T_STR(m.why, "the store is at revision 6 and had been at 11");
	expect_mirror_equal();
	memkv_snapshot_free(backup);
	close_all();
}

T_CASE(restored_store_is_noticed)
{
	is_restored(false);
	is_restored(true);
}

/* One read for all loses its answer, and a relist stops while it waits. */
T_CASE(relists_share_progress_reads)
{
	struct faulty_rule bad[] = {{.what = FAULTY_LOSE_ANSWER,
	                             .ops = 1u << KV_GET,
	                             .per_mille = 1000,
	                             .count = 1},
	                            {.what = FAULTY_SLOW_ANSWER,
	                             .ops = 1u << KV_GET,
	                             .per_mille = 1000,
	                             .delay_min_ms = 500,
	                             .delay_max_ms = 500}};

	for (unsigned i = 0; i < 2; i++) {
		open_with(1, &bad[i], 1);
		faulty_pause(kit.kv, true);
		share_progress_reads();
		(void)set_key(1, 1);
		open_relist(kv_prefix(kit_key("p/")), 4);
		run_to(1900);
		T_STR(m.story, "begin@2 page@2 end@2 ");
		faulty_pause(kit.kv, false);
		run_to(2300);
		T_STR(m.story, i == 0 ? "begin@2 page@2 end@2 trouble@0 "
		                      : "begin@2 page@2 end@2 ");
		relist_stop(m.relist);
		run_to(2300);
		T_TRUE(m.stopped);
		T_EQ(m.losts, 0);
		close_all();
	}
}

/* The deferred events are those of a store that is gone. The watch finds that out, or a
 * page does. */
T_CASE(store_restored_while_listing_is_noticed)
{
	struct faulty_rule slow = {.what = FAULTY_SLOW_ANSWER,
	                           .ops = 1u << KV_GET,
	                           .per_mille = 1000,
	                           .delay_min_ms = 100,
	                           .delay_max_ms = 100};

	for (unsigned told = 0; told < 2; told++) {
		struct memkv_snapshot *backup;

		open_with(1, &slow, 1);
		for (unsigned i = 0; i < 5; i++)
			(void)set_key(i, i);
		T_EQ(memkv_save(kit.mem, &backup, NULL), PL_OK);
		open_relist(kv_prefix(kit_key("p/")), 4);
		run_to(50);
		for (unsigned i = 0; i < 5; i++)
			(void)set_key(i, 100 + i);
		run_to(90);
		T_EQ(memkv_restore(kit.mem, backup, NULL), PL_OK);
		memset(history, 0xff, sizeof history);
		if (told == 1)
			memkv_reconnect(session);
		run_to(1000);
		T_STR(m.story,
		      told == 1 ? "lost@0 begin@6 page@6 page@6 end@6 "
		                : "begin@6 page@6 lost@0 begin@6 page@6 page@6 end@6 ");
		T_EQ(m.lost, PL_REWOUND);
		expect_mirror_equal();
		memkv_snapshot_free(backup);
		close_all();
	}
}

T_CASE(errors_of_reads_are_retried)
{
	struct faulty_rule refuse[] = {
		{.what = FAULTY_REFUSE,
	         .per_mille = 1000,
	         .count = 4,
	         .code = PL_UNAVAIL},
		{.what = FAULTY_REFUSE, .per_mille = 1000, .count = 8, .code = PL_BUSY}};

	open_with(1, refuse, 2);
	(void)set_key(1, 1);
	open_relist(kv_prefix(kit_key("p/")), 4);
	run_to(60000);
	T_EQ(m.lists, 1);
	T_EQ(m.losts, 0);
	expect_mirror_equal();
	close_all();
}

/* A relist that is stopped in one of its notes tells nothing but STOPPED. */
T_CASE(stop_in_a_note_leaves_only_stopped)
{
	for (unsigned at = 1; at < 8; at++) {
		open_with(1, NULL, 0);
		for (unsigned i = 0; i < 10; i++)
			(void)set_key(i, i);
		m.stop_at = at;
		open_relist(kv_prefix(kit_key("p/")), 4);
		run_to(10);
		(void)set_key(1, 5);
		(void)set_key(1, 6);
		run_to(20);
		T_TRUE(m.stopped);
		T_EQ(m.notes, at + 1);
		close_all();
	}
}

T_CASE(stop_before_the_list_leaves_only_stopped)
{
	open_with(1, NULL, 0);
	open_relist(kv_all_keys(), 0);
	relist_stop(m.relist);
	T_TRUE(!m.stopped);
	run_to(0);
	T_STR(m.story, "stopped@0 ");
	close_all();
}

/* No change is missing in the notes under all faults, and in the end the mirror equals
 * the store. */
static unsigned random_life(uint64_t seed)
{
	struct faulty_rule rules[] = {
		{.what = FAULTY_SLOW_REQUEST, .per_mille = 200, .delay_max_ms = 1500},
		{.what = FAULTY_SLOW_ANSWER, .per_mille = 200, .delay_max_ms = 1500},
		{.what = FAULTY_LOSE_ANSWER, .per_mille = 100},
		{.what = FAULTY_REFUSE, .per_mille = 100, .code = PL_UNAVAIL},
		{.what = FAULTY_REFUSE, .per_mille = 50, .code = PL_BUSY},
		{.what = FAULTY_SLOW_NOTE, .per_mille = 100, .delay_max_ms = 800},
		{.what = FAULTY_MERGE_NOTES, .per_mille = 700},
		{.what = FAULTY_STALL_WATCH, .per_mille = 10},
		{.what = FAULTY_END_WATCH, .per_mille = 10, .code = PL_COMPACTED},
		{.what = FAULTY_END_WATCH, .per_mille = 10, .code = PL_REWOUND}};
	struct pl_rng rng;
	int64_t revision = 1;

	open_with(seed, rules, sizeof rules / sizeof rules[0]);
	if (seed % 2 == 1)
		share_progress_reads();
	pl_rng_init(&rng, seed);
	open_relist(kv_prefix(kit_key("p/")), (uint32_t)pl_rng_between(&rng, 3, 40));
	for (unsigned i = 0; i < 400; i++) {
		int64_t value = (int64_t)i;

		if (pl_rng_below(&rng, 5) == 0)
			value = -1;
		revision = set_key((unsigned)pl_rng_below(&rng, KEYS), value);
		if (pl_rng_below(&rng, 40) == 0)
			compact_to(revision - (int64_t)pl_rng_below(&rng, 10));
		if (pl_rng_below(&rng, 3) == 0)
			run_to(kit.now_ms + pl_rng_below(&rng, 300));
	}
	faulty_pause(kit.kv, true);
	run_to(kit.now_ms + 30000);
	expect_mirror_equal();
	close_all();
	return m.losts;
}

T_CASE(mirror_equals_the_store_after_random_faults)
{
	unsigned losts = 0, released = 0;

	for (uint64_t seed = 0; seed < 80; seed++) {
		losts += random_life(seed);
		released += m.released;
	}
	T_TRUE(losts > 80); /* fewer would show that the faults are too few */
	T_TRUE(released > 500);
}

T_CASE(relist_recovers_from_each_allocation_that_fails)
{
	for (uint64_t nth = 1; nth < 120; nth++) {
		struct relist_opts opts = {.keys = kv_prefix(kit_key("p/")),
		                           .page_keys = 2,
		                           .call_timeout_ms = 1000,
		                           .check_ms = 2000,
		                           .stall_ms = 1000,
		                           .seed = 3};

		open_with(1, NULL, 0);
		for (unsigned i = 0; i < 5; i++)
			(void)set_key(i, i);
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		if (relist_open(kit.kv, &opts, on_note, NULL, &m.relist, NULL) == PL_OK)
			run_to(20000);
		pl_fault_arm(PL_FAULT_ALLOC, 0);
		if (m.relist != NULL) {
			run_to(60000);
			expect_mirror_equal();
		}
		close_all();
	}
}

/* A prefixed kv makes no difference. */
T_CASE(prefixed_kv_makes_no_difference)
{
	struct kv_req other = kv_op_put(kit_key("p/0"), kit_key("outside"));
	struct kv *all = NULL;

	open_with(1, NULL, 0);
	T_EQ(memkv_session(kit.mem, &all, NULL), PL_OK);
	T_EQ(prefixed_open(kit.kv, kit_key("root/"), &kit.kv, NULL), PL_OK);
	T_EQ(prefixed_open(plain, kit_key("root/"), &plain, NULL), PL_OK);
	for (unsigned i = 0; i < 10; i++)
		(void)set_key(i, i);
	T_EQ(kv_start(all, &other, 1000, kit_on_done, &kit, NULL, NULL), PL_OK);
	open_relist(kv_all_keys(), 4);
	run_to(100);
	(void)set_key(7, 70);
	T_EQ(kv_start(all, &other, 1000, kit_on_done, &kit, NULL, NULL), PL_OK);
	run_to(9000);
	T_EQ(m.losts, 0);
	expect_mirror_equal();
	kit_close_session(&kit, all);
	close_all();
}
