#include <stdio.h>

#include "store/kv/relist_core.h"
#include "tests/harness/t.h"

static const char *const action_names[] = {
	[RELIST_DO_FETCH] = "fetch a page at", [RELIST_DO_WATCH] = "watch from",
	[RELIST_DO_UNWATCH] = "unwatch",       [RELIST_DO_CHECK] = "check",
	[RELIST_DO_PROGRESS] = "progress?",    [RELIST_TELL_BEGIN] = "BEGIN",
	[RELIST_TELL_PAGE] = "PAGE",           [RELIST_TELL_END] = "END",
	[RELIST_TELL_EVENTS] = "EVENTS",       [RELIST_TELL_PROGRESS] = "PROGRESS",
	[RELIST_TELL_LOST] = "LOST",           [RELIST_TELL_TROUBLE] = "trouble",
};

static char story[16384];
static size_t story_len;
static struct relist_core core;

#define SAY(...)      \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static void tell(const char *what, struct relist_event event)
{
	struct relist_actions actions;

	if (event.cluster_id == 0 && event.code == PL_OK)
		event.cluster_id = 7;
	relist_step(&core, &event, &actions);
	SAY("[%6" PRIu64 "] %s\n", event.now_ms, what);
	for (unsigned i = 0; i < actions.count; i++) {
		const struct relist_action *a = &actions.item[i];

		SAY("          -> %s", action_names[a->type]);
		if (a->revision != 0)
			SAY(" %" PRId64, a->revision);
		if (a->code != PL_OK)
			SAY(" (%s)", pl_code_name(a->code));
		SAY("\n");
	}
	if (relist_deadline_ms(&core) != UINT64_MAX)
		SAY("          next at %" PRIu64 "\n", relist_deadline_ms(&core));
}

static void page(uint64_t now_ms, int64_t revision, bool more)
{
	char what[64];

	(void)snprintf(what, sizeof what, "a page, at %" PRId64 "%s", revision,
	               more ? ", more to come" : "");
	tell(what, (struct relist_event){.type = RELIST_EV_PAGE,
	                                 .now_ms = now_ms,
	                                 .revision = revision,
	                                 .more = more});
}

static void failed(enum relist_event_type type, uint64_t now_ms, enum pl_code code)
{
	tell(pl_code_name(code),
	     (struct relist_event){.type = type, .now_ms = now_ms, .code = code});
}

static void heard(const char *what, enum relist_event_type type, uint64_t now_ms,
                  int64_t revision)
{
	tell(what,
	     (struct relist_event){.type = type, .now_ms = now_ms, .revision = revision});
}

static void due(void)
{
	tell("due", (struct relist_event){.type = RELIST_EV_TIMEOUT,
	                                  .now_ms = relist_deadline_ms(&core)});
}

static void begin(void)
{
	relist_core_init(&core, 10000, 5000, 1);
	tell("start", (struct relist_event){.type = RELIST_EV_START});
}

T_CASE(list_and_watch)
{
	begin();
	failed(RELIST_EV_PAGE_FAILED, 10, PL_UNAVAIL);
	due();
	page(60, 100, true);
	failed(RELIST_EV_PAGE_FAILED, 70, PL_TIMEOUT);
	due();
	page(200, 104, false);
	heard("ready", RELIST_EV_READY, 210, 104);
	heard("events", RELIST_EV_EVENTS, 220, 103);
	due();
	heard("checked", RELIST_EV_CHECKED, 10250, 120);
	heard("progress", RELIST_EV_PROGRESS, 10260, 120);
	failed(RELIST_EV_ENDED, 11000, PL_COMPACTED);
	page(11010, 130, false);
	t_golden("relist/list_and_watch.txt", story);
}

/* The watch begins at the listed revision, which the list has shown already. */
T_CASE(listed_revision_again)
{
	begin();
	page(10, 100, false);
	heard("ready", RELIST_EV_READY, 20, 99);
	heard("events", RELIST_EV_EVENTS, 30, 100);
	heard("events", RELIST_EV_EVENTS, 40, 101);
	heard("events", RELIST_EV_EVENTS, 50, 101);
	t_golden("relist/listed_again.txt", story);
}

T_CASE(compacted_while_paging)
{
	begin();
	page(10, 100, true);
	failed(RELIST_EV_PAGE_FAILED, 20, PL_COMPACTED);
	page(30, 150, true);
	failed(RELIST_EV_PAGE_FAILED, 40, PL_COMPACTED);
	due();
	page(150, 160, false);
	t_golden("relist/compacted.txt", story);
}

/* The store comes back from a backup, unseen by the watch; then as another one. */
T_CASE(rewound)
{
	begin();
	page(10, 100, false);
	heard("ready", RELIST_EV_READY, 20, 100);
	heard("events", RELIST_EV_EVENTS, 30, 110);
	heard("ready again", RELIST_EV_READY, 4000, 110);
	due();
	heard("checked", RELIST_EV_CHECKED, 4010, 90);
	page(4020, 90, false);
	heard("ready", RELIST_EV_READY, 4030, 90);
	tell("ready, in another cluster", (struct relist_event){.type = RELIST_EV_READY,
	                                                        .now_ms = 5000,
	                                                        .cluster_id = 8,
	                                                        .revision = 95});
	due();
	tell("a page of the other cluster", (struct relist_event){.type = RELIST_EV_PAGE,
	                                                          .now_ms = 5100,
	                                                          .cluster_id = 8,
	                                                          .revision = 20});
	t_golden("relist/rewound.txt", story);
}

/* A watch that owes what a read has seen; it is given more time while it moves. */
T_CASE(silent_watch)
{
	begin();
	page(10, 100, false);
	heard("ready", RELIST_EV_READY, 20, 100);
	due();
	heard("checked", RELIST_EV_CHECKED, 10020, 140);
	heard("events", RELIST_EV_EVENTS, 14000, 120);
	due();
	t_golden("relist/silent.txt", story);
}

/* A list below what its own earlier pages saw can not be of the same store. */
/* The answer to a check is slow, and the watch goes on meanwhile. */
T_CASE(check_is_overtaken)
{
	begin();
	page(10, 100, false);
	heard("ready", RELIST_EV_READY, 20, 100);
	due();
	heard("events", RELIST_EV_EVENTS, 10020, 110);
	heard("checked", RELIST_EV_CHECKED, 10030, 105);
	heard("events", RELIST_EV_EVENTS, 10040, 111);
	due();
	heard("checked", RELIST_EV_CHECKED, 20040, 110);
	t_golden("relist/check_is_overtaken.txt", story);
}

T_CASE(page_of_the_past)
{
	begin();
	page(10, 100, true);
	page(20, 99, true);
	T_EQ(core.state, RELIST_LISTING);
	T_EQ(core.list_revision, 0);
	page(30, 99, false);
	T_EQ(core.state, RELIST_WATCHING);
	T_EQ(core.list_revision, 99);
}
