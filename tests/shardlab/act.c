#include "tests/shardlab/act.h"

#include "store/base/clock.h"
#include "tests/shardlab/campaign.h"

enum {
	AT_ONCE = CAMPAIGN_SLOTS / 2,
	REST_MIN_MS = 200,
	REST_MAX_MS = 1200,
	PEOPLE_MIN_MS = 50,
	PEOPLE_MAX_MS = 400,
	/* cards of the users' deck */
	SUBMITS = 6,
	BUDGETS = 2,
	EVICTS = 3,
};

#define ACT_NAME(name, group, text, what) [ACT_##name] = (text),
#define ACT_ABOUT(name, group, text, what) [ACT_##name] = (what),
#define ACT_GROUP(name, group, text, what) [ACT_##name] = ACT_OF_##group,
static const char *const names[ACT_COUNT] = {ACT_MAP(ACT_NAME)};
static const char *const abouts[ACT_COUNT] = {ACT_MAP(ACT_ABOUT)};
static const enum act_group groups[ACT_COUNT] = {ACT_MAP(ACT_GROUP)};

const char *act_name(enum act_what what)
{
	return names[what];
}

const char *act_about(enum act_what what)
{
	return abouts[what];
}

enum act_group act_group(enum act_what what)
{
	return groups[what];
}

enum act_what act_by_name(const char *name)
{
	unsigned what = 0;

	while (what < ACT_COUNT && strcmp(names[what], name) != 0)
		what++;
	return (enum act_what)what;
}

bool act_is_active(const struct campaign *c, enum act_what what)
{
	for (unsigned i = 0; i < CAMPAIGN_SLOTS; i++)
		if (c->act[i].busy && c->act[i].what == what)
			return true;
	return false;
}

/* -- an act, from its beginning to its end ---------------------------------------- */

static bool begin_act(struct campaign *c, struct act *act, uint64_t now_ms)
{
	act->until_ms = now_ms;
	switch (groups[act->what]) {
	case ACT_OF_DAEMON:
		return act_begin_daemon(c, act, now_ms);
	case ACT_OF_MOMENT:
		return act_begin_moment(c, act);
	case ACT_OF_STORE:
		return act_begin_store(c, act, now_ms);
	case ACT_OF_USERS:
		return act_begin_users(c, act, now_ms);
	}
	PL_UNREACHABLE("group");
}

static void print_act(const struct campaign *c, const struct act *act, uint64_t now_ms)
{
	bool one = act->target < SITE_DAEMONS;

	if (groups[act->what] != ACT_OF_USERS)
		campaign_print(c, "%s%s%s for %d ms", names[act->what], one ? " " : "",
		               one ? c->site.daemon[act->target].name : "",
		               act->until_ms > now_ms ? (int)(act->until_ms - now_ms)
		                                      : 0);
}

static void try_begin(struct campaign *c, struct act *act, enum act_what what)
{
	uint64_t now_ms = pl_clock_ms();
	struct act next = {.what = what, .target = SITE_DAEMONS, .node = UINT32_MAX};

	if ((act_is_active(c, what) && what != ACT_SUBMIT) ||
	    !begin_act(c, &next, now_ms))
		return;
	next.busy = true;
	*act = next;
	c->count[what]++;
	print_act(c, act, now_ms);
}

/* Returns false while the act is not over. */
static bool undo_act(struct campaign *c, struct act *act, uint64_t now_ms)
{
	switch (groups[act->what]) {
	case ACT_OF_DAEMON:
		return act_end_daemon(c, act, now_ms);
	case ACT_OF_STORE:
		act_end_store(c, act);
		return true;
	case ACT_OF_USERS:
		act_end_users(c, act);
		return true;
	case ACT_OF_MOMENT:
		return true;
	}
	PL_UNREACHABLE("group");
}

static void continue_act(struct campaign *c, struct act *act)
{
	uint64_t now_ms = pl_clock_ms();
	bool ran = act->job.pid != 0;

	if (!job_over(&act->job, now_ms))
		return;
	if (ran) {
		site_check(&c->site, &act->job);
		c->done[act->what] += act->job.status == 0 && !act->undoing;
	}
	if (now_ms < act->until_ms) {
		if (groups[act->what] == ACT_OF_DAEMON)
			act_continue_daemon(c, act, now_ms);
		return;
	}
	if (!act->undoing) {
		if (!undo_act(c, act, now_ms))
			return;
		act->undoing = true;
		if (act->job.pid != 0)
			return;
	}
	act->busy = false;
}

/* -- the deck --------------------------------------------------------------------- */

static void shuffle_deck(struct campaign *c, struct act_deck *deck)
{
	for (unsigned i = deck->count - 1; i > 0; i--) {
		unsigned other = (unsigned)campaign_below(c, i + 1);
		enum act_what what = deck->card[i];

		deck->card[i] = deck->card[other];
		deck->card[other] = what;
	}
	deck->dealt = 0;
}

static void add_card(struct act_deck *deck, enum act_what what, unsigned count)
{
	while (count-- > 0)
		deck->card[deck->count++] = what;
}

void act_open(struct campaign *c)
{
	struct act_deck *faults = &c->deck[0], *users = &c->deck[1];

	for (unsigned what = 0; what < ACT_COUNT; what++) {
		if (groups[what] == ACT_OF_USERS)
			users->card[users->count++] = (enum act_what)what;
		else if (c->only == ACT_COUNT || c->only == what)
			faults->card[faults->count++] = (enum act_what)what;
	}
	add_card(users, ACT_SUBMIT, SUBMITS - 1);
	add_card(users, ACT_BUDGET, BUDGETS - 1);
	add_card(users, ACT_EVICT, EVICTS - 1);
	if (faults->count > 0)
		shuffle_deck(c, faults);
	shuffle_deck(c, users);
}

static void deal_card(struct campaign *c, unsigned half)
{
	struct act_deck *deck = &c->deck[half];
	uint64_t now_ms = pl_clock_ms();

	if (deck->count == 0 || now_ms < deck->next_ms)
		return;
	for (unsigned i = 0; i < AT_ONCE; i++) {
		struct act *act = &c->act[half * AT_ONCE + i];

		if (act->busy)
			continue;
		if (deck->dealt == deck->count)
			shuffle_deck(c, deck);
		try_begin(c, act, deck->card[deck->dealt++]);
		deck->next_ms =
			pl_clock_ms() +
			(half == 0
		                 ? pl_rng_between(&c->rng, REST_MIN_MS, REST_MAX_MS)
		                 : pl_rng_between(&c->rng, PEOPLE_MIN_MS, PEOPLE_MAX_MS));
		return;
	}
}

void act_step(struct campaign *c, bool dealing)
{
	for (unsigned i = 0; i < CAMPAIGN_SLOTS; i++)
		if (c->act[i].busy)
			continue_act(c, &c->act[i]);
	if (!dealing)
		return;
	deal_card(c, 0);
	deal_card(c, 1);
}

bool act_any(const struct campaign *c)
{
	for (unsigned i = 0; i < CAMPAIGN_SLOTS; i++)
		if (c->act[i].busy)
			return true;
	return false;
}

void act_end_all(struct campaign *c)
{
	for (unsigned i = 0; i < CAMPAIGN_SLOTS; i++)
		if (c->act[i].busy && c->act[i].what != ACT_LEAVE)
			c->act[i].until_ms = 0;
}
