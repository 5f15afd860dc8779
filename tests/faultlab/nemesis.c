#include "tests/faultlab/nemesis.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/base/rng.h"

enum {
	TICK_MS = 50,
	ACTIVE_MAX = 2,
	HOLD_MIN_MS = 700,
	HOLD_MAX_MS = 3500,
	/* Longer than a client needs to notice a dead peer (a PING after 6 s, 2 s for
	 * its answer): the client must come back to a revision that is compacted. */
	SLEEP_MIN_MS = 7000,
	SLEEP_MAX_MS = 10000,
	REST_MIN_MS = 300,
	REST_MAX_MS = 1800,
	BOTH_PERCENT = 30, /* begin another one while one is going on */
	NO_MEMBER = -1,
};

struct action {
	enum nemesis_what what; /* NEMESIS_COUNT: none */
	int member;             /* NO_MEMBER: all members, or none in particular */
	uint64_t until_ms;
	struct wire_rule noise; /* LOSSY, SLOW */
};

struct nemesis {
	struct nemesis_opts opts;
	struct pl_rng rng;
	uv_timer_t timer;
	struct action active[ACTIVE_MAX];
	enum nemesis_what deck[NEMESIS_COUNT];
	unsigned dealt;
	uint64_t next_ms;
	bool healed;
	unsigned count[NEMESIS_COUNT];
	unsigned left_out;
};

#define NEMESIS_NAME(name, text, wire, what) [NEMESIS_##name] = (text),
#define NEMESIS_WIRE(name, text, wire, what) [NEMESIS_##name] = (wire),
static const char *const names[NEMESIS_COUNT] = {NEMESIS_MAP(NEMESIS_NAME)};
static const bool needs_wire[NEMESIS_COUNT] = {NEMESIS_MAP(NEMESIS_WIRE)};

const char *nemesis_name(enum nemesis_what what)
{
	PL_ASSERT((unsigned)what < NEMESIS_COUNT);
	return names[what];
}

enum nemesis_what nemesis_by_name(const char *name)
{
	unsigned what = 0;

	while (what < NEMESIS_COUNT && strcmp(names[what], name) != 0)
		what++;
	return (enum nemesis_what)what;
}

static uint64_t random_between(struct nemesis *nemesis, uint64_t low, uint64_t high)
{
	return pl_rng_between(&nemesis->rng, low, high);
}

static bool uses_signals(enum nemesis_what what)
{
	return what <= NEMESIS_STOP_FOLLOWER;
}

static void signal_member(struct nemesis *nemesis, int member, int signum)
{
	struct etcd_launch *launch = cluster_launch(nemesis->opts.cluster);
	struct pl_err err = {0};
	enum pl_code code =
		signum == 0 ? etcd_launch_restart(launch, (unsigned)member, &err)
			    : etcd_launch_signal(launch, (unsigned)member, signum, &err);

	if (code != PL_OK)
		hist_complain(nemesis->opts.hist, pl_clock_ms(),
		              "signal %d to member %d: %s", signum, member + 1, err.msg);
}

/* RESTART_ALL has to do with every member. */
static void signal_action(struct nemesis *nemesis, const struct action *action,
                          int signum)
{
	if (signum == SIGSTOP || signum == SIGCONT)
		hist_pause(nemesis->opts.hist, pl_clock_ms(), signum == SIGSTOP);
	for (int i = 0; i < CLUSTER_MEMBERS; i++)
		if (action->what == NEMESIS_RESTART_ALL || i == action->member)
			signal_member(nemesis, i, signum);
}

/* The links that an action touches, in one direction. */
static bool action_touches(const struct nemesis *nemesis, const struct action *action,
                           int from, int to)
{
	int home = (int)wire_home(nemesis->opts.wire);
	int ghost = (int)wire_ghost(nemesis->opts.wire, 0), member = action->member;
	bool peers = from < home && to < home;

	switch (action->what) {
	case NEMESIS_CUT_ONE:
		return !peers && (from == member || to == member) && from != ghost &&
		       to != ghost;
	case NEMESIS_CUT_DEAF:
		return from == member && to == home;
	case NEMESIS_CUT_ALL:
		return from == home || to == home;
	case NEMESIS_ISOLATE:
		return peers && (from == member || to == member);
	case NEMESIS_ISOLATE_DEAF:
		return peers && to == member;
	case NEMESIS_ISOLATE_MUTE:
		return peers && from == member;
	case NEMESIS_ISLAND:
	case NEMESIS_SLOW:
		return from == member || to == member;
	case NEMESIS_LOSSY:
		return true;
	case NEMESIS_SLEEPER:
		return from == ghost || to == ghost;
	case NEMESIS_KILL_LEADER:
	case NEMESIS_KILL_FOLLOWER:
	case NEMESIS_RESTART_ALL:
	case NEMESIS_STOP_LEADER:
	case NEMESIS_STOP_FOLLOWER:
	case NEMESIS_COMPACT:
	case NEMESIS_EXPIRE:
	case NEMESIS_COUNT:
		break;
	}
	return false;
}

/* All links anew, from all that goes on: the worst of it. */
static void apply_wire(struct nemesis *nemesis)
{
	int home, nodes;

	if (nemesis->opts.wire == NULL)
		return;
	home = (int)wire_home(nemesis->opts.wire);
	nodes = (int)wire_ghost(nemesis->opts.wire, 0) + 1;
	for (int from = 0; from < nodes; from++) {
		for (int to = 0; to < nodes; to++) {
			struct wire_rule rule = {0};

			if (from >= home && to >= home)
				continue;
			for (unsigned i = 0; i < ACTIVE_MAX; i++) {
				const struct action *action = &nemesis->active[i];

				if (!action_touches(nemesis, action, from, to))
					continue;
				if (action->what == NEMESIS_LOSSY ||
				    action->what == NEMESIS_SLOW)
					rule = action->noise;
				else
					rule.cut = true;
			}
			wire_rule_set(nemesis->opts.wire, (unsigned)from, (unsigned)to,
			              &rule);
		}
	}
}

static bool is_down(const struct nemesis *nemesis, int member)
{
	for (unsigned i = 0; i < ACTIVE_MAX; i++) {
		const struct action *action = &nemesis->active[i];

		if (uses_signals(action->what) &&
		    (action->member == member || action->what == NEMESIS_RESTART_ALL))
			return true;
	}
	return false;
}

/* Picks the target: the leader, a follower, or any member. NO_MEMBER when a signal
 * would reach a member that is down already. */
static int pick_member(struct nemesis *nemesis, enum nemesis_what what)
{
	int leader = cluster_leader(nemesis->opts.cluster);
	int any = (int)random_between(nemesis, 0, CLUSTER_MEMBERS - 1);
	int picked = any;

	if (what == NEMESIS_KILL_LEADER || what == NEMESIS_STOP_LEADER ||
	    what == NEMESIS_ISOLATE || what == NEMESIS_ISOLATE_MUTE)
		picked = leader == NO_MEMBER ? any : leader;
	else if (what == NEMESIS_KILL_FOLLOWER || what == NEMESIS_STOP_FOLLOWER)
		picked = any == leader ? (any + 1) % CLUSTER_MEMBERS : any;
	return uses_signals(what) && is_down(nemesis, picked) ? NO_MEMBER : picked;
}

static struct wire_rule pick_noise(struct nemesis *nemesis, enum nemesis_what what)
{
	struct wire_rule rule = {0};

	if (what == NEMESIS_SLOW) {
		rule.delay_us = (uint32_t)random_between(nemesis, 20000, 150000);
		rule.jitter_us = (uint32_t)random_between(nemesis, 0, 50000);
		return rule;
	}
	rule.drop_ppm = (uint32_t)random_between(nemesis, 5000, 150000);
	rule.dup_ppm = (uint32_t)random_between(nemesis, 0, 50000);
	rule.delay_us = (uint32_t)random_between(nemesis, 0, 20000);
	rule.jitter_us = (uint32_t)random_between(nemesis, 0, 20000);
	rule.reorder_ppm = (uint32_t)random_between(nemesis, 0, 100000);
	rule.hold_us = 50000;
	return rule;
}

static void begin_action(struct nemesis *nemesis, struct action *action,
                         enum nemesis_what what, uint64_t now_ms)
{
	struct action next = {.what = what, .member = pick_member(nemesis, what)};
	int leader = cluster_leader(nemesis->opts.cluster);

	next.noise = pick_noise(nemesis, what);
	next.until_ms =
		now_ms + (what == NEMESIS_SLEEPER
	                          ? random_between(nemesis, SLEEP_MIN_MS, SLEEP_MAX_MS)
	                          : random_between(nemesis, HOLD_MIN_MS, HOLD_MAX_MS));
	if (next.member == NO_MEMBER ||
	    (what == NEMESIS_RESTART_ALL &&
	     (is_down(nemesis, 0) || is_down(nemesis, 1) || is_down(nemesis, 2))))
		return;
	nemesis->count[what]++;
	hist_mark(nemesis->opts.hist, now_ms,
	          "begin %s, member %d (leader %d), for %d ms", nemesis_name(what),
	          next.member + 1, leader + 1, (int)(next.until_ms - now_ms));
	if (what == NEMESIS_COMPACT) {
		load_compact(nemesis->opts.load);
		return;
	}
	if (what == NEMESIS_EXPIRE) {
		load_drop_leases(nemesis->opts.load);
		return;
	}
	*action = next;
	if (what == NEMESIS_STOP_LEADER || what == NEMESIS_STOP_FOLLOWER)
		signal_action(nemesis, action, SIGSTOP);
	else if (uses_signals(what))
		signal_action(nemesis, action, SIGKILL);
	apply_wire(nemesis);
}

static void end_action(struct nemesis *nemesis, struct action *action)
{
	struct action ended = *action;

	if (ended.what == NEMESIS_COUNT)
		return;
	/* The sleeper is still cut off, the other clients have gone on. */
	if (ended.what == NEMESIS_SLEEPER)
		load_compact(nemesis->opts.load);
	hist_mark(nemesis->opts.hist, pl_clock_ms(), "end %s", nemesis_name(ended.what));
	action->what = NEMESIS_COUNT;
	action->member = NO_MEMBER;
	if (ended.what == NEMESIS_STOP_LEADER || ended.what == NEMESIS_STOP_FOLLOWER)
		signal_action(nemesis, &ended, SIGCONT);
	else if (uses_signals(ended.what))
		signal_action(nemesis, &ended, 0);
	apply_wire(nemesis);
}

static void shuffle_deck(struct nemesis *nemesis)
{
	for (unsigned i = NEMESIS_COUNT - 1; i > 0; i--) {
		unsigned other = (unsigned)random_between(nemesis, 0, i);
		enum nemesis_what what = nemesis->deck[i];

		nemesis->deck[i] = nemesis->deck[other];
		nemesis->deck[other] = what;
	}
	nemesis->dealt = 0;
}

/* Each action once before any comes again. */
static enum nemesis_what deal_action(struct nemesis *nemesis)
{
	enum nemesis_what what = nemesis->opts.only;

	if (what == NEMESIS_COUNT) {
		if (nemesis->dealt == NEMESIS_COUNT)
			shuffle_deck(nemesis);
		what = nemesis->deck[nemesis->dealt++];
	}
	if (needs_wire[what] && nemesis->opts.wire == NULL) {
		nemesis->left_out++;
		return NEMESIS_COUNT;
	}
	return what;
}

static bool is_running(const struct nemesis *nemesis, enum nemesis_what what)
{
	for (unsigned i = 0; i < ACTIVE_MAX; i++)
		if (nemesis->active[i].what == what)
			return true;
	return false;
}

/* The first place is for every action, the second for a chance to combine. */
static void on_tick(uv_timer_t *timer)
{
	struct nemesis *nemesis = timer->data;
	uint64_t now_ms = pl_clock_ms();
	unsigned place;
	enum nemesis_what what;

	for (unsigned i = 0; i < ACTIVE_MAX; i++)
		if (now_ms >= nemesis->active[i].until_ms)
			end_action(nemesis, &nemesis->active[i]);
	if (nemesis->healed || now_ms < nemesis->next_ms)
		return;
	nemesis->next_ms = now_ms + random_between(nemesis, REST_MIN_MS, REST_MAX_MS);
	for (place = 0; place < ACTIVE_MAX; place++)
		if (nemesis->active[place].what == NEMESIS_COUNT)
			break;
	if (place == ACTIVE_MAX ||
	    (nemesis->active[ACTIVE_MAX - 1 - place].what != NEMESIS_COUNT &&
	     !pl_rng_chance(&nemesis->rng, BOTH_PERCENT, 100)))
		return;
	what = deal_action(nemesis);
	if (what != NEMESIS_COUNT && !is_running(nemesis, what))
		begin_action(nemesis, &nemesis->active[place], what, now_ms);
}

struct nemesis *nemesis_start(const struct nemesis_opts *opts)
{
	struct nemesis *nemesis = pl_calloc(1, sizeof *nemesis);

	PL_ASSERT(nemesis != NULL);
	nemesis->opts = *opts;
	pl_rng_init(&nemesis->rng, opts->seed);
	for (unsigned i = 0; i < ACTIVE_MAX; i++)
		nemesis->active[i] =
			(struct action){.what = NEMESIS_COUNT, .member = NO_MEMBER};
	for (unsigned i = 0; i < NEMESIS_COUNT; i++)
		nemesis->deck[i] = (enum nemesis_what)i;
	shuffle_deck(nemesis);
	nemesis->next_ms = pl_clock_ms() + REST_MIN_MS;
	(void)uv_timer_init(opts->loop, &nemesis->timer);
	nemesis->timer.data = nemesis;
	(void)uv_timer_start(&nemesis->timer, on_tick, TICK_MS, TICK_MS);
	return nemesis;
}

void nemesis_heal(struct nemesis *nemesis)
{
	nemesis->healed = true;
	for (unsigned i = 0; i < ACTIVE_MAX; i++)
		end_action(nemesis, &nemesis->active[i]);
	if (nemesis->opts.wire != NULL)
		wire_heal(nemesis->opts.wire);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void nemesis_close(struct nemesis *nemesis)
{
	PL_ASSERT(nemesis->healed);
	uv_close((uv_handle_t *)&nemesis->timer, on_closed);
}

unsigned nemesis_count(const struct nemesis *nemesis, enum nemesis_what what)
{
	return nemesis->count[what];
}

unsigned nemesis_left_out(const struct nemesis *nemesis)
{
	return nemesis->left_out;
}
