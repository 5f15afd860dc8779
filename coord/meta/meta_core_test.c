#include <stdio.h>

#include "coord/meta/meta_core.h"
#include "tests/harness/t.h"

static char story[8192];
static size_t story_len;
static struct meta_core core;

#define SAY(...)      \
	(story_len += \
	 (size_t)snprintf(story + story_len, sizeof story - story_len, __VA_ARGS__))

static void say_action(const struct meta_action *a)
{
	switch (a->type) {
	case META_DO_CREATE:
		SAY("          -> create it with %u partitions\n", core.mine.partitions);
		break;
	case META_REPORT_KNOWN:
		SAY("          -> KNOWN: %u partitions%s\n", core.meta.partitions,
		    a->changed ? ", another incarnation" : "");
		break;
	case META_REPORT_REFUSED:
		SAY("          -> REFUSED (%s)\n", pl_code_name(a->code));
		break;
	case META_REPORT_TROUBLE:
		SAY("          -> trouble (%s)\n", pl_code_name(a->code));
		break;
	}
}

static void tell(const char *what, struct meta_event event)
{
	struct meta_actions actions;

	meta_step(&core, &event, &actions);
	SAY("[%5" PRIu64 "] %s\n", event.now_ms, what);
	for (unsigned i = 0; i < actions.count; i++)
		say_action(&actions.item[i]);
	if (meta_deadline_ms(&core) != UINT64_MAX)
		SAY("          next at %" PRIu64 "\n", meta_deadline_ms(&core));
}

static void happens(const char *what, enum meta_event_type type, uint64_t now_ms,
                    enum pl_code code)
{
	tell(what, (struct meta_event){.type = type, .now_ms = now_ms, .code = code});
}

static void seen(const char *what, uint64_t now_ms, uint32_t partitions, char incarnation)
{
	struct meta meta = {.partitions = partitions};

	memset(meta.incarnation, incarnation, META_INCARNATION_SIZE - 1);
	tell(what,
	     (struct meta_event){.type = META_EV_SEEN, .now_ms = now_ms, .meta = &meta});
}

static void begin(uint32_t partitions)
{
	struct meta mine = {.partitions = partitions == 0 ? 64 : partitions};

	meta_core_init(&core, partitions, &mine, 3);
}

T_CASE(creates_the_record_if_it_is_absent)
{
	char first[META_INCARNATION_SIZE];

	begin(0);
	happens("there is none", META_EV_ABSENT, 10, PL_OK);
	memcpy(first, core.mine.incarnation, sizeof first);
	T_EQ(strspn(first, "0123456789abcdef"), 32);
	happens("created? unknown", META_EV_FAILED, 20, PL_UNKNOWN);
	happens("again", META_EV_TIMEOUT, meta_deadline_ms(&core), PL_OK);
	T_TRUE(strcmp(first, core.mine.incarnation) != 0);
	seen("it is there", 100, 64, 'a');
	happens("the second create found it there", META_EV_DONE, 110, PL_OK);
	T_TRUE(meta_deadline_ms(&core) == UINT64_MAX);
	seen("written once more", 200, 64, 'a');
	t_golden("meta/first_comer.txt", story);
}

T_CASE(another_incarnation_is_reported)
{
	begin(0);
	seen("listed", 10, 16, 'a');
	happens("the store is another", META_EV_LOST, 20, PL_OK);
	seen("listed: an operator has restored it", 30, 16, 'b');
	happens("removed", META_EV_ABSENT, 40, PL_OK);
	T_EQ(core.mine.partitions, 16);
	happens("created", META_EV_DONE, 50, PL_OK);
	seen("it is there", 60, 16, 'c');
	happens("removed", META_EV_ABSENT, 70, PL_OK);
	happens("the store is another, before the create is answered", META_EV_LOST, 80,
	        PL_OK);
	happens("not created", META_EV_FAILED, 90, PL_UNAVAIL);
	T_TRUE(meta_deadline_ms(&core) == UINT64_MAX);
	happens("listed: there is none", META_EV_ABSENT, 100, PL_OK);
	t_golden("meta/another_life.txt", story);
}

T_CASE(refused)
{
	begin(64);
	seen("listed", 10, 16, 'a');
	happens("put by hand", META_EV_MALFORMED, 20, PL_OK);
	seen("put by hand", 30, 64, 'a');
	seen("put by hand", 40, 32, 'a');
	seen("put by hand", 50, 64, 'a');
	t_golden("meta/refused.txt", story);
}

T_CASE(random_life)
{
	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct meta_actions actions;
		struct pl_rng rng;
		uint64_t now = 0;

		pl_rng_init(&rng, seed);
		begin(pl_rng_chance(&rng, 1, 2) ? 64 : 0);
		for (unsigned i = 0; i < 50; i++) {
			struct meta_event event = {.type = META_EV_TIMEOUT,
			                           .code = PL_BUSY};
			struct meta meta = {.partitions = 64};

			now += pl_rng_below(&rng, 300);
			event.now_ms = now;
			event.meta = &meta;
			meta.incarnation[0] = (char)('a' + pl_rng_below(&rng, 2));
			if (pl_rng_chance(&rng, 1, 4))
				meta.partitions = 32;
			if (now < meta_deadline_ms(&core))
				event.type = (enum meta_event_type)pl_rng_below(
					&rng,
					core.asked ? META_EV_TIMEOUT : META_EV_DONE);
			meta_step(&core, &event, &actions);
			T_TRUE(core.state != META_CREATING || core.asked ||
			       meta_deadline_ms(&core) != UINT64_MAX);
			T_TRUE(meta_deadline_ms(&core) > now);
		}
	}
}
