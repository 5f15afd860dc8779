#include <stdio.h>

#include "coord/janitor/janitor_core.h"
#include "tests/harness/t.h"

static const char *const stage_names[] = {
	[JANITOR_OWNERS] = "owners",
	[JANITOR_LEADERS] = "leaders",
	[JANITOR_DIGESTS] = "digests",
	[JANITOR_VERSIONS] = "versions",
};
static const char *const why_names[] = {
	[JANITOR_NO_LEASE] = "no lease",
	[JANITOR_NO_SHARD] = "no shard",
	[JANITOR_OLD_VERSION] = "old version",
};

static char story[32768];
static size_t story_len;
static struct janitor_core core;
static struct janitor_actions actions;
static uint64_t now;

#define SAY(...)      \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static void say_action(const struct janitor_action *a)
{
	SAY("          -> ");
	switch (a->type) {
	case JANITOR_DO_LOOK:
		SAY("look #%u\n", a->seq);
		break;
	case JANITOR_DO_COMPACT:
		SAY("compact #%u to %" PRId64 "\n", a->seq, a->revision);
		break;
	case JANITOR_DO_PAGE:
		SAY("page #%u of %s%s", a->seq, stage_names[a->stage],
		    a->next ? ", the next" : "");
		if (a->stage == JANITOR_VERSIONS)
			SAY(" of configuration %u", a->config);
		SAY("\n");
		break;
	case JANITOR_DO_REMOVE:
		SAY("remove #%u item %zu\n", a->seq, a->item);
		break;
	case JANITOR_REPORT_COMPACTED:
		SAY("COMPACTED to %" PRId64 "\n", a->revision);
		break;
	case JANITOR_REPORT_HELD:
		SAY("HELD at %" PRId64 " by pin %zu\n", a->revision, a->item);
		break;
	case JANITOR_REPORT_TOO_MANY_PINS:
		SAY("CROWDED\n");
		break;
	case JANITOR_REPORT_REMOVED:
		SAY("REMOVED item %zu: %s\n", a->item, why_names[a->why]);
		break;
	case JANITOR_REPORT_TROUBLE:
		SAY("trouble (%s)\n", pl_code_name(a->code));
		break;
	}
}

static void step(const char *what, const struct janitor_event *event)
{
	janitor_step(&core, event, &actions);
	SAY("[%6" PRIu64 "] %s\n", now, what);
	for (unsigned i = 0; i < actions.count; i++)
		say_action(&actions.item[i]);
	if (janitor_deadline_ms(&core) != UINT64_MAX)
		SAY("          next at %" PRIu64 "\n", janitor_deadline_ms(&core));
}

/* The clock is checked first. */
static void tell(const char *what, struct janitor_event event)
{
	struct janitor_event timeout = {.type = JANITOR_EV_TIMEOUT, .now_ms = now};

	event.now_ms = now;
	if (event.type != JANITOR_EV_TIMEOUT && now >= janitor_deadline_ms(&core))
		step("due", &timeout);
	step(what, &event);
}

static void due(void)
{
	T_TRUE(janitor_deadline_ms(&core) != UINT64_MAX);
	now = janitor_deadline_ms(&core);
	tell("due", (struct janitor_event){.type = JANITOR_EV_TIMEOUT});
}

static const struct janitor_tune tune = {.enabled = true,
                                         .interval_ms = 30000,
                                         .keep_revisions = 1000,
                                         .history_bytes = 1000000,
                                         .pin_max_ms = 10000,
                                         .config_history = 3};

static void begin(uint32_t configs)
{
	now = 1000;
	janitor_core_init(&core, &tune, configs, 3);
	tell("leads", (struct janitor_event){.type = JANITOR_EV_LEAD, .leading = true});
}

static void looked_with(int64_t revision, const int64_t *pins, size_t count)
{
	char text[64];

	(void)snprintf(text, sizeof text, "at revision %" PRId64 ", %zu pins", revision,
	               count);
	now += 5;
	tell(text, (struct janitor_event){.type = JANITOR_EV_LOOKED,
	                                  .seq = core.compaction.seq,
	                                  .revision = revision,
	                                  .pins = pins,
	                                  .pin_count = count});
}

static void compacted(void)
{
	now += 10;
	tell("compacted", (struct janitor_event){.type = JANITOR_EV_COMPACTED,
	                                         .seq = core.compaction.seq});
}

static bool did(enum janitor_action_type type)
{
	for (unsigned i = 0; i < actions.count; i++) {
		if (actions.item[i].type == type)
			return true;
	}
	return false;
}

/* Runs to the next look; all other actions are ignored. */
static void to_look(void)
{
	do {
		due();
		if (core.sweep.seq != 0)
			tell("nothing there",
			     (struct janitor_event){.type = JANITOR_EV_PAGE,
			                            .seq = core.sweep.seq});
	} while (core.compaction.seq == 0);
}

T_CASE(behind_the_writers)
{
	begin(0);
	due();
	looked_with(5000, NULL, 0);
	T_EQ(core.compaction.target, 4000);
	compacted();
	to_look();
	looked_with(5099, NULL, 0);
	T_TRUE(!did(JANITOR_DO_COMPACT));
	to_look();
	looked_with(5100, NULL, 0);
	T_TRUE(did(JANITOR_DO_COMPACT));
	now += 10;
	tell("another one had", (struct janitor_event){.type = JANITOR_EV_FAILED,
	                                               .seq = core.compaction.seq,
	                                               .code = PL_COMPACTED});
	T_EQ(core.compaction.compacted, 4100);
	to_look();
	looked_with(5110, NULL, 0);
	t_golden("janitor/behind_the_writers.txt", story);
	T_TRUE(!did(JANITOR_DO_COMPACT));
	while (!did(JANITOR_DO_COMPACT)) { /* after the interval a small gain is worth
	                                    * it too */
		to_look();
		looked_with(5110, NULL, 0);
		T_TRUE(now < 35000);
	}
	T_TRUE(now >= 30000);
	T_EQ(core.compaction.target, 4110);
}

static void looked_at(int64_t revision, uint64_t bytes)
{
	now += 5;
	tell("looked", (struct janitor_event){.type = JANITOR_EV_LOOKED,
	                                      .seq = core.compaction.seq,
	                                      .revision = revision,
	                                      .bytes = bytes});
}

/* 20 kB a revision: fifty revisions may stay, whatever keep is. */
T_CASE(few_revisions_may_be_many_bytes)
{
	int64_t revision = 10;
	uint64_t bytes = 500000, begun;

	begin(0);
	due();
	looked_at(revision, bytes);
	begun = now;
	while (!did(JANITOR_DO_COMPACT)) {
		to_look();
		revision += 5;
		bytes += 100000;
		looked_at(revision, bytes);
		T_TRUE(now < begun + JANITOR_YOUNG_MS + 6000); /* a step is three looks */
	}
	/* Watchers had their time, and younger revisions stay. */
	T_TRUE(now >= begun + JANITOR_YOUNG_MS);
	T_TRUE(core.compaction.target >= 10 && core.compaction.target <= revision - 50);
	/* Freed bytes do not count as less growth. */
	compacted();
	bytes = 500000;
	for (int i = 0; i < 60; i++) {
		int64_t last = core.compaction.compacted;

		to_look();
		revision += 5;
		bytes += 100000;
		looked_at(revision, bytes);
		if (!did(JANITOR_DO_COMPACT))
			continue;
		T_TRUE(core.compaction.target > last &&
		       core.compaction.target <= revision - 50);
		compacted();
		bytes = 600000;
	}
	/* 50 revisions may stay, a step is 13, and growth during a compaction is not
	 * seen. */
	T_TRUE(core.compaction.compacted > revision - 100);
}

/* How many compactions 60 MB of growth take, at 500 kB a look. */
static unsigned compactions(uint64_t bytes)
{
	int64_t revision = 10;
	unsigned count = 0;

	begin(0);
	due();
	for (unsigned i = 0; i < 120; i++) {
		looked_at(revision, bytes);
		if (did(JANITOR_DO_COMPACT)) {
			count++;
			compacted();
		}
		to_look();
		revision += 5;
		bytes += 500000;
	}
	return count;
}

/* A compaction reads all keys, so at ten times history_bytes it waits for half of what
 * is in use. */
T_CASE(a_large_store_is_compacted_less_often)
{
	unsigned small = compactions(500000), large = compactions(80000000);

	T_TRUE(large >= 1 && large <= 2);
	T_TRUE(small >= 4);
}

/* Garbage from before is cleared before a whole step has passed, but not while
 * everything starts. */
T_CASE(a_new_leader_waits_a_minute_for_a_large_store)
{
	int64_t revision = 10, begun;
	uint64_t bytes = 80000000, came;

	begin(0);
	due();
	looked_at(revision, bytes);
	begun = revision;
	came = now;
	while (core.compaction.compacted < begun) {
		T_TRUE(now < came + 75000);
		if (did(JANITOR_DO_COMPACT)) {
			T_TRUE(now >= came + 60000);
			compacted();
		}
		to_look();
		revision += 5;
		bytes += 300000;
		looked_at(revision, bytes);
	}
}

/* Nothing grows any more, and few large transactions filled the store. */
T_CASE(a_store_without_room_is_compacted_at_once)
{
	begin(0);
	due();
	for (unsigned i = 0; core.compaction.compacted < 50; i++) {
		T_TRUE(i < 60);
		if (did(JANITOR_DO_COMPACT))
			compacted();
		else
			to_look();
		now += 5;
		if (core.compaction.seq != 0)
			tell("full", (struct janitor_event){.type = JANITOR_EV_LOOKED,
			                                    .seq = core.compaction.seq,
			                                    .revision = 50,
			                                    .bytes = 90000000,
			                                    .full = true});
	}
	T_TRUE(now < 30000);
}

/* 1 % of history_bytes a look: many more looks than are remembered. */
T_CASE(slow_growth_adds_up_too)
{
	int64_t revision = 10;
	uint64_t bytes = 500000;

	begin(0);
	due();
	for (unsigned i = 0; core.compaction.compacted < 150; i++) {
		T_TRUE(i < 300);
		looked_at(revision, bytes);
		if (did(JANITOR_DO_COMPACT)) {
			T_TRUE(core.compaction.target <= revision - 100);
			compacted();
		}
		to_look();
		revision++;
		bytes += 10000;
	}
}

T_CASE(a_store_that_does_not_grow_keeps_its_history)
{
	int64_t revision = 10;

	begin(0);
	due();
	for (int i = 0; i < 100; i++) {
		looked_at(revision++, i % 3 == 0 ? 0 : 5000000 + (uint64_t)(i % 2));
		T_TRUE(!did(JANITOR_DO_COMPACT));
		to_look();
	}
}

T_CASE(a_pin_is_honoured_until_it_is_too_old)
{
	int64_t pins[] = {4500, 3200};

	begin(0);
	due();
	looked_with(4000, pins + 1, 1);
	T_EQ(core.compaction.target, 3000); /* not that far yet */
	compacted();
	to_look();
	looked_with(6000, pins, 2);
	T_TRUE(did(JANITOR_REPORT_HELD));
	T_EQ(core.compaction.target, 3199);
	compacted();
	to_look();
	looked_with(7000, pins, 2);
	T_EQ(actions.count, 0);
	while (now < 11000) {
		to_look();
		looked_with(7000, pins, 2);
	}
	T_EQ(core.compaction.target, 4499); /* the second is younger */
	compacted();
	to_look();
	looked_with(7000, pins, 1); /* the old pin is gone */
	to_look();
	looked_with(7000, NULL, 0);
	T_EQ(core.compaction.target, 6000);
	t_golden("janitor/pins.txt", story);
}

T_CASE(fast_writers_have_more_looks)
{
	int64_t revision = 100000;

	begin(0);
	due();
	looked_with(revision, NULL, 0);
	compacted();
	T_EQ(core.compaction.look_ms, 2005);
	for (unsigned i = 0; i < 10; i++) {
		to_look();
		revision += (int64_t)(now - core.compaction.revision_ms) /
		            5; /* 200 revisions a second */
		looked_with(revision, NULL, 0);
		if (core.compaction.seq != 0)
			compacted();
	}
	T_TRUE(core.compaction.look_ms - core.compaction.revision_ms < 600);
	T_TRUE(core.compaction.look_ms - core.compaction.revision_ms > 400);
	for (unsigned i = 0; i < 10; i++) {
		to_look();
		revision += (int64_t)(now - core.compaction.revision_ms) * 100;
		looked_with(revision, NULL, 0);
		T_TRUE(did(JANITOR_DO_COMPACT));
		compacted();
	}
	T_EQ(core.compaction.look_ms - core.compaction.revision_ms, 250);
}

T_CASE(trouble_and_other_stores)
{
	int64_t pin = 900;

	begin(0);
	due();
	tell("no answer", (struct janitor_event){.type = JANITOR_EV_FAILED,
	                                         .seq = core.compaction.seq,
	                                         .code = PL_UNAVAIL});
	T_TRUE(did(JANITOR_REPORT_TROUBLE));
	to_look();
	looked_with(5000, &pin, 1);
	T_EQ(core.compaction.target, 899);
	now += 10;
	tell("unknown", (struct janitor_event){.type = JANITOR_EV_FAILED,
	                                       .seq = core.compaction.seq,
	                                       .code = PL_UNKNOWN});
	T_EQ(core.compaction.compacted, 0);
	to_look();
	looked_with(5000, &pin, 1);
	compacted();
	T_EQ(core.compaction.compacted, 899);
	to_look();
	looked_with(1500, NULL, 0); /* revisions went back */
	T_EQ(core.compaction.target, 500);
	compacted();
	to_look();
	now += 5;
	tell("more pins than one can see",
	     (struct janitor_event){.type = JANITOR_EV_LOOKED,
	                            .seq = core.compaction.seq,
	                            .revision = 90000,
	                            .too_many = true});
	T_TRUE(did(JANITOR_REPORT_TOO_MANY_PINS) && !did(JANITOR_DO_COMPACT));
	tell("another store", (struct janitor_event){.type = JANITOR_EV_REWOUND});
	T_EQ(core.compaction.compacted, 0);
	tell("leads no more", (struct janitor_event){.type = JANITOR_EV_LEAD});
	T_TRUE(janitor_deadline_ms(&core) == UINT64_MAX);
}

T_CASE(late_answers_and_switched_off)
{
	struct janitor_tune off = tune;
	uint32_t seq;

	begin(0);
	due();
	seq = core.compaction.seq;
	tell("leads no more", (struct janitor_event){.type = JANITOR_EV_LEAD});
	tell("a late answer", (struct janitor_event){.type = JANITOR_EV_LOOKED,
	                                             .seq = seq,
	                                             .revision = 9000});
	T_EQ(actions.count, 0);
	off.enabled = false;
	tell("off", (struct janitor_event){.type = JANITOR_EV_TUNE, .tune = off});
	tell("leads", (struct janitor_event){.type = JANITOR_EV_LEAD, .leading = true});
	T_TRUE(janitor_deadline_ms(&core) == UINT64_MAX);
	tell("on", (struct janitor_event){.type = JANITOR_EV_TUNE, .tune = tune});
	T_TRUE(janitor_deadline_ms(&core) == now);
}

/* A sweep, with nothing to be compacted. */
static void to_page(enum janitor_stage stage, uint32_t config)
{
	for (;;) {
		due();
		if (core.compaction.seq != 0)
			tell("no writes",
			     (struct janitor_event){.type = JANITOR_EV_LOOKED,
			                            .seq = core.compaction.seq,
			                            .revision = 10});
		if (core.sweep.seq == 0)
			continue;
		if (core.sweep.stage == stage && core.sweep.config == config)
			return;
		tell("nothing there", (struct janitor_event){.type = JANITOR_EV_PAGE,
		                                             .seq = core.sweep.seq});
	}
}

static void page(struct janitor_page what)
{
	now += 2;
	tell("a page", (struct janitor_event){.type = JANITOR_EV_PAGE,
	                                      .seq = core.sweep.seq,
	                                      .page = what});
}

static void removed(bool done, bool absent)
{
	now += 2;
	tell(done ? "removed" : "not what it was",
	     (struct janitor_event){.type = JANITOR_EV_REMOVED,
	                            .seq = core.sweep.seq,
	                            .removed = done,
	                            .absent = absent});
}

static void failed(enum pl_code code)
{
	now += 2;
	tell("failed", (struct janitor_event){.type = JANITOR_EV_FAILED,
	                                      .seq = core.sweep.seq,
	                                      .code = code});
}

T_CASE(a_sweep)
{
	struct janitor_item owners[] = {{.mod_revision = 3, .lease = 7},
	                                {.mod_revision = 4},
	                                {.mod_revision = 5, .lease = 8},
	                                {.mod_revision = 6}};
	struct janitor_item leader = {.mod_revision = 9};

	begin(1);
	to_page(JANITOR_OWNERS, 0);
	page((struct janitor_page){.items = owners, .count = 4, .more = true});
	T_EQ(actions.item[0].type, JANITOR_DO_REMOVE);
	T_EQ(actions.item[0].item, 1);
	removed(true, true);
	T_EQ(actions.item[0].type, JANITOR_REPORT_REMOVED);
	T_EQ(actions.item[1].item, 3);
	failed(PL_UNKNOWN);
	due();
	while (core.sweep.seq == 0)
		due();
	removed(false, true); /* by the first attempt */
	T_EQ(actions.item[0].type, JANITOR_REPORT_REMOVED);
	to_page(JANITOR_OWNERS, 0);
	T_TRUE(core.sweep.next);
	page((struct janitor_page){.items = owners, .count = 1});
	T_EQ(actions.count, 0);
	to_page(JANITOR_LEADERS, 0);
	page((struct janitor_page){.items = &leader, .count = 1});
	removed(false, true); /* by another client */
	T_TRUE(!did(JANITOR_REPORT_REMOVED));
	to_page(JANITOR_DIGESTS, 0);
	page((struct janitor_page){0});
	to_page(JANITOR_VERSIONS, 0);
	page((struct janitor_page){0});
	T_TRUE(core.sweep.at_ms == now + tune.interval_ms);
	t_golden("janitor/sweep.txt", story);
}

T_CASE(digests_at_two_looks)
{
	struct janitor_item items[] = {
		{.mod_revision = 3, .hash = 1},
		{.mod_revision = 4, .hash = 2},
		{.mod_revision = 5, .hash = 3, .shard_lives = true}};
	struct janitor_page both = {.items = items, .count = 3};

	begin(1);
	to_page(JANITOR_DIGESTS, 0);
	page(both);
	T_EQ(actions.count, 0);
	items[1].mod_revision = 8; /* put meanwhile: another shard leads */
	to_page(JANITOR_DIGESTS, 0);
	page(both);
	T_EQ(core.sweep.garbage, 1);
	removed(true, true);
	T_EQ(core.sweep.garbage, 0);
	/* A term in between: what was seen before it does not count. */
	tell("leads no more", (struct janitor_event){.type = JANITOR_EV_LEAD});
	tell("leads", (struct janitor_event){.type = JANITOR_EV_LEAD, .leading = true});
	to_page(JANITOR_DIGESTS, 0);
	page(both);
	T_EQ(actions.count, 0);
	to_page(JANITOR_DIGESTS, 0);
	page(both);
	T_EQ(core.sweep.garbage, 3);
	failed(PL_FENCED); /* not leading: no other removal is tried */
	T_TRUE(core.sweep.at_ms == now + tune.interval_ms);
	T_EQ(core.sweep.garbage, 0);
}

T_CASE(versions_beyond_the_history)
{
	struct janitor_item items[5] = {{.mod_revision = 1}};

	begin(2);
	to_page(JANITOR_VERSIONS, 0);
	page((struct janitor_page){.items = items, .count = 3, .total = 3});
	T_EQ(actions.count, 0);
	to_page(JANITOR_VERSIONS, 1);
	items[1].current = true; /* set back by hand: it is never removed */
	page((struct janitor_page){.items = items, .count = 5, .total = 6});
	T_EQ(core.sweep.garbage, 5); /* the first and the third of three */
	removed(true, true);
	T_EQ(actions.item[0].why, JANITOR_OLD_VERSION);
	removed(true, true);
	to_page(JANITOR_VERSIONS, 0);
	page((struct janitor_page){
		.items = items, .count = 5, .total = 6, .no_current = true});
	T_EQ(actions.count, 0);
}

/* Random pins and revisions: never past a pin that is young enough, never past what
 * has to be kept. */
T_CASE(random_pins)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct pl_rng rng;
		int64_t pins[8], revision = 2000;
		uint64_t since[8];
		size_t count = 0;

		pl_rng_init(&rng, seed);
		story_len = 0;
		begin(0);
		for (unsigned i = 0; i < 100; i++) {
			story_len = 0;
			to_look();
			revision += (int64_t)pl_rng_below(&rng, 3000);
			if (count < 8 && pl_rng_chance(&rng, 1, 4)) {
				since[count] = now + 5;
				pins[count++] =
					revision - (int64_t)pl_rng_below(&rng, 200);
			}
			if (count > 0 && pl_rng_chance(&rng, 1, 6)) {
				count--;
				pins[0] = pins[count];
				since[0] = since[count];
			}
			looked_with(revision, pins, count);
			if (!did(JANITOR_DO_COMPACT))
				continue;
			T_TRUE(core.compaction.target <= revision - 1000);
			for (size_t p = 0; p < count; p++)
				T_TRUE(core.compaction.target < pins[p] ||
				       now - since[p] >= tune.pin_max_ms);
			compacted();
		}
	}
}
