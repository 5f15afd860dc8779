#include <stdio.h>

#include "coord/config/config_core.h"
#include "tests/harness/t.h"

static const char *const action_names[] = {
	[CONFIG_DO_READ] = "read",           [CONFIG_DO_UNREAD] = "read no more",
	[CONFIG_REPORT_APPLIED] = "APPLIED", [CONFIG_REPORT_REFUSED] = "REFUSED",
	[CONFIG_REPORT_SYNCED] = "SYNCED",   [CONFIG_REPORT_LOST] = "LOST",
};
static const char *const body_names[] = {
	[CONFIG_UNSEEN] = "not looked at",
	[CONFIG_ABSENT] = "not there",
	[CONFIG_INVALID] = "not valid",
	[CONFIG_VALID] = "valid",
};

static struct config_core core;
static char story[16384];
static size_t story_len;
static uint64_t now_ms;

#define SAY(...)      \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static void tell(const char *what, struct config_event event)
{
	struct config_actions actions;

	event.now_ms = ++now_ms;
	config_step(&core, &event, &actions);
	SAY("[%6" PRIu64 "] %s\n", now_ms, what);
	for (unsigned i = 0; i < actions.count; i++) {
		const struct config_action *a = &actions.item[i];

		SAY("          -> %s", action_names[a->type]);
		if (a->type < CONFIG_REPORT_SYNCED)
			SAY(" %s %" PRIu64, config_name_text(a->name), a->version);
		SAY("\n");
	}
	if (config_deadline_ms(&core) != UINT64_MAX)
		SAY("          next at %" PRIu64 "\n", config_deadline_ms(&core));
}

static void current(int64_t revision, uint64_t version)
{
	char what[80];

	(void)snprintf(what, sizeof what, "coord/current at %" PRId64 ": %" PRIu64,
	               revision, version);
	tell(what, (struct config_event){.type = CONFIG_EV_CURRENT,
	                                 .revision = revision,
	                                 .is = CONFIG_NAMED,
	                                 .version = version});
}

static void current_is(int64_t revision, enum config_current is)
{
	tell(is == CONFIG_NONE ? "coord/current is deleted" : "coord/current is garbage",
	     (struct config_event){
		     .type = CONFIG_EV_CURRENT, .revision = revision, .is = is});
}

static void body(enum config_event_type type, int64_t revision, uint64_t version,
                 enum config_body state)
{
	char what[80];

	(void)snprintf(what, sizeof what, "%scoord/%" PRIu64 " at %" PRId64 ": %s",
	               type == CONFIG_EV_READ ? "answer: " : "", version, revision,
	               body_names[state]);
	tell(what, (struct config_event){.type = type,
	                                 .revision = revision,
	                                 .version = version,
	                                 .body = state});
}

static void list_begin(void)
{
	tell("a list begins", (struct config_event){.type = CONFIG_EV_BEGIN});
}

static void list_end(int64_t revision)
{
	tell("the list is complete",
	     (struct config_event){.type = CONFIG_EV_END, .revision = revision});
}

static void batch(void)
{
	tell("that was the note", (struct config_event){.type = CONFIG_EV_BATCH});
}

static void lost(bool rewound)
{
	tell(rewound ? "lost: the store is another" : "lost",
	     (struct config_event){.type = CONFIG_EV_LOST, .rewound = rewound});
}

static void read_failed(void)
{
	tell("the read failed", (struct config_event){.type = CONFIG_EV_READ_FAILED});
}

static void due(void)
{
	now_ms = config_deadline_ms(&core) - 1;
	tell("due", (struct config_event){.type = CONFIG_EV_TIMEOUT});
}

static void begin(void)
{
	config_core_init(&core, 1);
	now_ms = 0;
	story_len = 0;
}

/* Begins with version 1 applied. */
static void begin_applied(void)
{
	begin();
	list_begin();
	current(10, 1);
	body(CONFIG_EV_BODY, 10, 1, CONFIG_VALID);
	list_end(12);
}

T_CASE(a_change)
{
	begin();
	list_begin();
	list_end(5);
	current(10, 1);
	body(CONFIG_EV_BODY, 10, 1, CONFIG_VALID);
	batch();
	SAY("--- the body first; of two changes at once only the last counts\n");
	body(CONFIG_EV_BODY, 20, 2, CONFIG_VALID);
	current(20, 2);
	current(21, 3);
	body(CONFIG_EV_BODY, 21, 3, CONFIG_VALID);
	batch();
	SAY("--- again the same\n");
	current(22, 3);
	batch();
	SAY("--- a list that brings nothing new\n");
	lost(false);
	list_begin();
	current(22, 3);
	body(CONFIG_EV_BODY, 21, 3, CONFIG_VALID);
	list_end(30);
	t_golden("config/change.txt", story);
}

T_CASE(an_invalid_version_by_hand_is_refused)
{
	begin_applied();
	SAY("--- garbage, then mended\n");
	current_is(20, CONFIG_BROKEN);
	batch();
	current(21, 1);
	batch();
	body(CONFIG_EV_READ, 10, 1, CONFIG_VALID);
	SAY("--- a version that is not there, then put\n");
	current(30, 7);
	batch();
	body(CONFIG_EV_READ, 31, 7, CONFIG_ABSENT);
	body(CONFIG_EV_BODY, 32, 7, CONFIG_VALID);
	batch();
	SAY("--- a version that does not pass, mended in place\n");
	current(40, 8);
	body(CONFIG_EV_BODY, 40, 8, CONFIG_INVALID);
	batch();
	lost(false);
	list_begin();
	body(CONFIG_EV_BODY, 40, 8, CONFIG_INVALID);
	current(40, 8);
	list_end(41);
	body(CONFIG_EV_BODY, 42, 8, CONFIG_VALID);
	batch();
	SAY("--- the version goes\n");
	body(CONFIG_EV_BODY, 50, 8, CONFIG_ABSENT);
	batch();
	SAY("--- all of it goes\n");
	current_is(51, CONFIG_NONE);
	batch();
	t_golden("config/bad_by_hand.txt", story);
}

T_CASE(an_invalid_version_at_the_start_is_refused)
{
	begin();
	list_begin();
	current(10, 4);
	body(CONFIG_EV_BODY, 10, 4, CONFIG_INVALID);
	list_end(12);
	SAY("--- rolled back\n");
	current(20, 5);
	body(CONFIG_EV_BODY, 20, 5, CONFIG_VALID);
	batch();
	t_golden("config/bad_start.txt", story);
}

/* Current names a version that was written long ago. */
T_CASE(a_body_that_has_to_be_read)
{
	begin_applied();
	current(20, 2);
	body(CONFIG_EV_BODY, 20, 2, CONFIG_VALID);
	batch();
	SAY("--- by hand back to 1; the store does not answer\n");
	current(30, 1);
	batch();
	read_failed();
	due();
	read_failed();
	due();
	body(CONFIG_EV_READ, 10, 1, CONFIG_VALID);
	SAY("--- on to 2, and while that is read, to 3\n");
	current(40, 2);
	batch();
	current(41, 3);
	body(CONFIG_EV_BODY, 41, 3, CONFIG_VALID);
	batch();
	SAY("--- while it is read, it is put\n");
	current(50, 4);
	batch();
	body(CONFIG_EV_BODY, 51, 4, CONFIG_VALID);
	batch();
	SAY("--- read at 60 as absent: what was before does not count any more\n");
	current(55, 5);
	batch();
	body(CONFIG_EV_READ, 60, 5, CONFIG_ABSENT);
	body(CONFIG_EV_BODY, 58, 5, CONFIG_VALID);
	body(CONFIG_EV_BODY, 59, 5, CONFIG_ABSENT);
	batch();
	SAY("--- changed, but there was no memory to look at it\n");
	body(CONFIG_EV_BODY, 70, 5, CONFIG_UNSEEN);
	batch();
	body(CONFIG_EV_READ, 70, 5, CONFIG_VALID);
	t_golden("config/read.txt", story);
}

T_CASE(rewound)
{
	begin_applied();
	current(50, 6);
	body(CONFIG_EV_BODY, 50, 6, CONFIG_VALID);
	batch();
	SAY("--- while a body is read\n");
	current(60, 2);
	batch();
	lost(true);
	list_begin();
	current(20, 2);
	body(CONFIG_EV_BODY, 20, 2, CONFIG_VALID);
	list_end(25);
	SAY("--- the same version, but not surely the same content\n");
	lost(true);
	list_begin();
	body(CONFIG_EV_BODY, 20, 2, CONFIG_VALID);
	current(20, 2);
	list_end(25);
	SAY("--- a store before all of it; lost again while it is listed\n");
	lost(true);
	list_begin();
	lost(false);
	list_begin();
	list_end(3);
	t_golden("config/rewound.txt", story);
}

/* Events come in any order: the assertions hold, and a valid body that current names
 * is applied in the end. */
T_CASE(random_events_in_any_order)
{
	struct pl_rng rng;
	struct config_actions actions;
	bool listing = false;
	int64_t revision = 1;

	pl_rng_init(&rng, t_seed());
	config_core_init(&core, 3);
	now_ms = 0;
	for (unsigned i = 0; i < 200000; i++) {
		enum config_name name = (enum config_name)pl_rng_below(&rng, 3);
		struct config_track *track = &core.track[name];
		struct config_event event = {
			.type = (enum config_event_type)pl_rng_below(&rng, 9),
			.name = name,
			.revision = revision + (int64_t)pl_rng_below(&rng, 2),
			.is = (enum config_current)pl_rng_below(&rng, 3),
			.version = pl_rng_between(&rng, 1, 3),
			.body = (enum config_body)pl_rng_below(&rng, 4)};

		now_ms += pl_rng_below(&rng, 50);
		if (config_deadline_ms(&core) <= now_ms)
			event.type = CONFIG_EV_TIMEOUT;
		event.now_ms = now_ms;
		revision = event.revision;
		if (event.is != CONFIG_NAMED && event.type == CONFIG_EV_CURRENT)
			event.version = 0;
		if (event.type == CONFIG_EV_END && !listing)
			continue;
		if (event.type == CONFIG_EV_BEGIN && (listing || core.listed))
			continue;
		if (event.type == CONFIG_EV_BATCH && !core.listed)
			continue;
		if (event.type == CONFIG_EV_READ || event.type == CONFIG_EV_READ_FAILED) {
			if (!track->reading)
				continue;
			event.version = track->wanted;
			event.body = (enum config_body)pl_rng_between(&rng, CONFIG_ABSENT,
			                                              CONFIG_VALID);
		}
		if (event.type == CONFIG_EV_LOST) {
			event.rewound = pl_rng_chance(&rng, 1, 2);
			revision = event.rewound ? 1 : revision;
			listing = false;
		}
		listing = event.type == CONFIG_EV_BEGIN ||
		          (listing && event.type != CONFIG_EV_END);
		config_step(&core, &event, &actions);
		if (core.synced && track->settled && track->body == CONFIG_VALID)
			T_TRUE(track->applied == track->wanted && !track->refused);
		if (track->settled && track->current == CONFIG_NONE)
			T_EQ(track->applied, 0);
	}
}
