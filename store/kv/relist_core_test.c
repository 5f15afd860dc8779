#include <stdio.h>

#include "store/kv/relist_core.h"
#include "tests/harness/t.h"

static const char *const action_names[] = {
	[RELIST_DO_FETCH] = "fetch a page at", [RELIST_DO_WATCH] = "watch from",
	[RELIST_DO_UNWATCH] = "unwatch",       [RELIST_DO_CHECK] = "check",
	[RELIST_DO_PROGRESS] = "progress?",    [RELIST_DO_RELEASE] = "release",
	[RELIST_REPORT_BEGIN] = "BEGIN",       [RELIST_REPORT_PAGE] = "PAGE",
	[RELIST_REPORT_END] = "END",           [RELIST_REPORT_EVENTS] = "EVENTS",
	[RELIST_REPORT_PROGRESS] = "PROGRESS", [RELIST_REPORT_LOST] = "LOST",
	[RELIST_REPORT_TROUBLE] = "trouble",
};

static char story[16384];
static size_t story_len;
static struct relist_core core;

#define PRINT(...)    \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static void print_step(const char *what, struct relist_event event)
{
	struct relist_actions actions;

	if (event.cluster_id == 0 && event.code == PL_OK)
		event.cluster_id = 7;
	relist_step(&core, &event, &actions);
	PRINT("[%6" PRIu64 "] %s\n", event.now_ms, what);
	for (unsigned i = 0; i < actions.count; i++) {
		const struct relist_action *a = &actions.item[i];

		PRINT("          -> %s", action_names[a->type]);
		if (a->revision != 0)
			PRINT(" %" PRId64, a->revision);
		if (a->code != PL_OK)
			PRINT(" (%s)", pl_code_name(a->code));
		PRINT("\n");
	}
	if (relist_deadline_ms(&core) != UINT64_MAX)
		PRINT("          next at %" PRIu64 "\n", relist_deadline_ms(&core));
}

static void step_page(uint64_t now_ms, int64_t revision, bool more)
{
	char what[64];

	(void)snprintf(what, sizeof what, "a page, at %" PRId64 "%s", revision,
	               more ? ", more to come" : "");
	print_step(what, (struct relist_event){.type = RELIST_EV_PAGE,
	                                       .now_ms = now_ms,
	                                       .revision = revision,
	                                       .more = more});
}

static void step_failed(enum relist_event_type type, uint64_t now_ms, enum pl_code code)
{
	print_step(pl_code_name(code),
	           (struct relist_event){.type = type, .now_ms = now_ms, .code = code});
}

static void step_heard(const char *what, enum relist_event_type type, uint64_t now_ms,
                       int64_t revision)
{
	print_step(what, (struct relist_event){
				 .type = type, .now_ms = now_ms, .revision = revision});
}

static void step_due(void)
{
	print_step("due", (struct relist_event){.type = RELIST_EV_TIMEOUT,
	                                        .now_ms = relist_deadline_ms(&core)});
}

static void begin(void)
{
	relist_core_init(&core, 10000, 5000, 1);
	print_step("start", (struct relist_event){.type = RELIST_EV_START});
}

/* Opens, and the watch stands before the list. */
static void open_at(uint64_t now_ms, int64_t revision)
{
	begin();
	step_heard("ready", RELIST_EV_READY, now_ms, revision);
}

/* Opens, and the watch ends before it stands. */
static void open_without(void)
{
	begin();
	step_failed(RELIST_EV_ENDED, 1, PL_COMPACTED);
}

T_CASE(list_then_watch_with_failures)
{
	open_without();
	step_failed(RELIST_EV_PAGE_FAILED, 10, PL_UNAVAIL);
	step_due();
	step_page(60, 100, true);
	step_failed(RELIST_EV_PAGE_FAILED, 70, PL_TIMEOUT);
	step_due();
	step_page(200, 104, false);
	step_heard("ready", RELIST_EV_READY, 210, 104);
	step_heard("events", RELIST_EV_EVENTS, 220, 103);
	step_due();
	step_heard("checked", RELIST_EV_CHECKED, 10250, 120);
	step_heard("progress", RELIST_EV_PROGRESS, 10260, 120);
	step_failed(RELIST_EV_ENDED, 11000, PL_COMPACTED);
	step_heard("ready", RELIST_EV_READY, 11005, 129);
	step_page(11010, 130, false);
	t_golden("relist/list_and_watch.txt", story);
}

/* Events that come while the list is read are deferred, and reported after its end. */
T_CASE(events_before_the_list_are_deferred)
{
	open_at(10, 99);
	step_heard("events", RELIST_EV_EVENTS, 20, 100);
	step_failed(RELIST_EV_PAGE_FAILED, 30, PL_UNAVAIL);
	step_due();
	step_page(70, 101, true);
	step_heard("events", RELIST_EV_EVENTS, 80, 101);
	step_heard("progress", RELIST_EV_PROGRESS, 85, 102);
	step_heard("events", RELIST_EV_EVENTS, 90, 103);
	step_page(100, 104, false);
	step_heard("held", RELIST_EV_DEFERRED, 100, 100);
	step_heard("held", RELIST_EV_DEFERRED, 100, 101);
	step_heard("held", RELIST_EV_DEFERRED, 100, 103);
	step_heard("events", RELIST_EV_EVENTS, 110, 104);
	t_golden("relist/watch_and_list.txt", story);
}

/* The watch has to catch up with the list. */
T_CASE(list_is_ahead_of_the_watch)
{
	open_at(10, 99);
	step_page(20, 110, false);
	step_heard("progress", RELIST_EV_PROGRESS, 30, 101);
	step_heard("events", RELIST_EV_EVENTS, 40, 105);
	step_heard("events", RELIST_EV_EVENTS, 50, 110);
	step_heard("events", RELIST_EV_EVENTS, 60, 111);
	step_heard("an old one", RELIST_EV_EVENTS, 70, 111);
	t_golden("relist/list_is_ahead.txt", story);
}

/* The first watch does not stand in time; the next one ends while the list is read. */
T_CASE(list_goes_on_without_a_watch)
{
	begin();
	step_due();
	step_page(1100, 100, true);
	step_page(1200, 101, false);
	step_heard("ready", RELIST_EV_READY, 1210, 100);
	step_failed(RELIST_EV_ENDED, 2000, PL_COMPACTED);
	step_heard("ready", RELIST_EV_READY, 2010, 120);
	step_heard("events", RELIST_EV_EVENTS, 2020, 121);
	step_page(2030, 121, true);
	step_failed(RELIST_EV_ENDED, 2040, PL_LIMIT);
	step_page(2050, 122, false);
	t_golden("relist/lists_without.txt", story);
}

/* The store may have been another one in between. */
T_CASE(watch_resumed_while_listing_is_checked)
{
	open_at(10, 99);
	step_page(20, 100, true);
	step_heard("ready again", RELIST_EV_READY, 30, 100);
	step_page(40, 101, false);
	step_due();
	step_heard("checked", RELIST_EV_CHECKED, 50, 101);
	t_golden("relist/resumed_while_listing.txt", story);
}

/* The store rewinds while the list is read; the read in flight does not count any
 * more. */
T_CASE(store_rewound_while_listing_is_noticed)
{
	open_at(10, 99);
	step_heard("events", RELIST_EV_EVENTS, 20, 110);
	step_heard("events", RELIST_EV_EVENTS, 30, 110);
	step_heard("ready", RELIST_EV_READY, 40, 90);
	step_page(50, 89, false); /* below what the watch has shown */
	step_due();
	step_failed(RELIST_EV_ENDED, 120, PL_REWOUND);
	step_due();
	print_step("ready, in another cluster",
	           (struct relist_event){.type = RELIST_EV_READY,
	                                 .now_ms = 200,
	                                 .cluster_id = 8,
	                                 .revision = 5});
	step_page(210, 6, false); /* of the first cluster */
	step_due();
	step_heard("ready", RELIST_EV_READY, 500, 90);
	step_page(510, 90, true);
	print_step("progress, in another cluster",
	           (struct relist_event){.type = RELIST_EV_PROGRESS,
	                                 .now_ms = 520,
	                                 .cluster_id = 8,
	                                 .revision = 95});
	t_golden("relist/rewound_while_listing.txt", story);
}

/* The watch begins at the listed revision, which the list has shown already. */
T_CASE(event_of_the_listed_revision_is_not_told_again)
{
	open_without();
	step_page(10, 100, false);
	step_heard("ready", RELIST_EV_READY, 20, 99);
	step_heard("events", RELIST_EV_EVENTS, 30, 100);
	step_heard("events", RELIST_EV_EVENTS, 40, 101);
	step_heard("events", RELIST_EV_EVENTS, 50, 101);
	t_golden("relist/listed_again.txt", story);
}

T_CASE(compaction_while_paging_starts_anew)
{
	open_at(5, 100);
	step_page(10, 100, true);
	step_failed(RELIST_EV_PAGE_FAILED, 20, PL_COMPACTED);
	step_heard("ready", RELIST_EV_READY, 25, 150);
	step_page(30, 150, true);
	step_failed(RELIST_EV_PAGE_FAILED, 40, PL_COMPACTED);
	step_due();
	step_heard("ready", RELIST_EV_READY, 140, 155);
	step_page(150, 160, false);
	t_golden("relist/compacted.txt", story);
}

/* The store comes back from a backup without the watch noticing, and then as another
 * cluster. */
T_CASE(rewound_store_is_noticed)
{
	open_at(5, 99);
	step_page(10, 100, false);
	step_heard("events", RELIST_EV_EVENTS, 30, 110);
	step_heard("ready again", RELIST_EV_READY, 4000, 110);
	step_due();
	step_heard("checked", RELIST_EV_CHECKED, 4010, 90);
	step_heard("ready", RELIST_EV_READY, 4015, 90);
	step_page(4020, 90, false);
	print_step("ready, in another cluster",
	           (struct relist_event){.type = RELIST_EV_READY,
	                                 .now_ms = 5000,
	                                 .cluster_id = 8,
	                                 .revision = 95});
	step_due();
	print_step("ready, in another cluster",
	           (struct relist_event){.type = RELIST_EV_READY,
	                                 .now_ms = 5090,
	                                 .cluster_id = 8,
	                                 .revision = 19});
	print_step("a page of the other cluster",
	           (struct relist_event){.type = RELIST_EV_PAGE,
	                                 .now_ms = 5100,
	                                 .cluster_id = 8,
	                                 .revision = 20});
	t_golden("relist/rewound.txt", story);
}

/* A watch that lags behind a check gets more time while it moves. */
T_CASE(silent_watch_is_lost)
{
	open_at(5, 99);
	step_page(10, 100, false);
	step_due();
	step_heard("checked", RELIST_EV_CHECKED, 10020, 140);
	step_heard("events", RELIST_EV_EVENTS, 14000, 120);
	step_due();
	t_golden("relist/silent.txt", story);
}

/* The answer to a check is slow, and the watch goes on meanwhile. */
T_CASE(watch_may_overtake_a_check)
{
	open_at(5, 99);
	step_page(10, 100, false);
	step_due();
	step_heard("events", RELIST_EV_EVENTS, 10020, 110);
	step_heard("checked", RELIST_EV_CHECKED, 10030, 105);
	step_heard("events", RELIST_EV_EVENTS, 10040, 111);
	step_due();
	step_heard("checked", RELIST_EV_CHECKED, 20040, 110);
	t_golden("relist/check_is_overtaken.txt", story);
}

/* A page below what earlier pages of the list saw cannot be from the same store. */
T_CASE(page_below_an_earlier_one_is_another_store)
{
	open_at(5, 98);
	step_page(10, 100, true);
	step_page(20, 99, true);
	T_EQ(core.state, RELIST_OPENING);
	T_EQ(core.list_revision, 0);
	step_heard("ready", RELIST_EV_READY, 25, 98);
	step_page(30, 99, false);
	T_EQ(core.state, RELIST_WATCHING);
	T_EQ(core.list_revision, 99);
}
