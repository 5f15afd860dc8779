/* Acts on processes of placetd. */
#include <inttypes.h>
#include <signal.h>

#include "store/base/clock.h"
#include "tests/shardlab/campaign.h"

enum { LEAVE_MS = 45000, YOUNG_MS = 3000, WALL_MAX_S = 600, DRIFT_MAX_PPM = 20000 };

static uint64_t random_ms(struct campaign *c, uint64_t low, uint64_t high)
{
	return pl_rng_between(&c->rng, low, high);
}

static bool is_hit(const struct campaign *c, unsigned i)
{
	bool hit_daemon = c->site.daemon[i].job.pid == 0;

	for (unsigned n = 0; n < CAMPAIGN_SLOTS; n++)
		hit_daemon =
			hit_daemon ||
			(c->act[n].busy && act_group(c->act[n].what) == ACT_OF_DAEMON &&
		         (c->act[n].target == i || c->act[n].what == ACT_KILL_ALL));
	return hit_daemon;
}

/* Picks a daemon without an act; false: there is none. */
static bool pick_daemon(struct campaign *c, unsigned *out)
{
	unsigned count = c->site.opts.daemons;
	unsigned first = (unsigned)campaign_below(c, count);

	for (unsigned k = 0; k < count; k++) {
		*out = (first + k) % count;
		if (!is_hit(c, *out))
			return true;
	}
	return false;
}

/* Picks the daemon whose shard counts for the budgets. */
static bool pick_counter(const struct campaign *c, unsigned *out)
{
	for (unsigned i = 0; i < c->site.opts.daemons; i++) {
		const char *name = c->site.daemon[i].name;
		size_t len = strlen(name);

		*out = i;
		if (strncmp(c->observer.counter, name, len) == 0 &&
		    c->observer.counter[len] == '-')
			return !is_hit(c, i);
	}
	return false;
}

static void kill_daemon(struct campaign *c, unsigned i)
{
	c->site.daemon[i].down = true;
	job_kill(&c->site.daemon[i].job);
}

static bool kill_all(struct campaign *c)
{
	for (unsigned i = 0; i < CAMPAIGN_SLOTS; i++)
		if (c->act[i].busy && act_group(c->act[i].what) == ACT_OF_DAEMON)
			return false;
	for (unsigned i = 0; i < c->site.opts.daemons; i++)
		kill_daemon(c, i);
	return true;
}

static void set_clock(struct campaign *c, unsigned i)
{
	struct site_skew *skew = c->site.daemon[i].skew;
	int64_t wall_s = (int64_t)random_ms(c, 0, 2 * (uint64_t)WALL_MAX_S) - WALL_MAX_S;

	skew->wall_ns = wall_s * 1000000000;
	skew->drift_ppm =
		(int64_t)random_ms(c, 0, 2 * (uint64_t)DRIFT_MAX_PPM) - DRIFT_MAX_PPM;
	campaign_print(c,
	               "%s: its clock is %" PRId64 " s off; %" PRId64
	               " ppm too fast when it is started again",
	               c->site.daemon[i].name, wall_s, skew->drift_ppm);
}

static void hit_daemon(struct campaign *c, struct act *act, uint64_t now_ms)
{
	struct site_daemon *daemon = &c->site.daemon[act->target];

	act->until_ms = now_ms + random_ms(c, 1000, 5000);
	if (act->what == ACT_KILL || act->what == ACT_KILL_COUNTER) {
		kill_daemon(c, act->target);
	} else if (act->what == ACT_KILL_AGAIN) {
		kill_daemon(c, act->target);
		site_daemon_start(&c->site, act->target);
		act->until_ms = now_ms;
	} else if (act->what == ACT_STOP) {
		act->until_ms = now_ms + SITE_TTL_MS + random_ms(c, 300, 3000);
		job_signal(&daemon->job, SIGSTOP);
	} else if (act->what == ACT_LEAVE) {
		daemon->down = true; /* the act looks after its exit status */
		act->starting = now_ms < daemon->since_ms + YOUNG_MS;
		job_signal(&daemon->job, SIGTERM);
		act->until_ms = now_ms;
	} else if (act->what != ACT_BREAK) {
		proxy_set(daemon->wire, act->what == ACT_CUT
		                                ? PROXY_NOTHING
		                                : 1 + (unsigned)campaign_below(c, 2));
	}
}

bool act_begin_daemon(struct campaign *c, struct act *act, uint64_t now_ms)
{
	if (act->what == ACT_KILL_ALL) {
		act->until_ms = now_ms + random_ms(c, 300, 3000);
		return kill_all(c);
	}
	if (act->what == ACT_KILL_COUNTER ? !pick_counter(c, &act->target)
	                                  : !pick_daemon(c, &act->target))
		return false;
	hit_daemon(c, act, now_ms);
	return true;
}

bool act_begin_moment(struct campaign *c, struct act *act)
{
	if (act->what == ACT_KILL_MEMBER) {
		site_member_kill(&c->site, (unsigned)campaign_below(c, SITE_CLUSTERS));
		return true;
	}
	if (!pick_daemon(c, &act->target))
		return false;
	set_clock(c, act->target);
	return true;
}

/* The last request before the reset was executed, but its answer is lost. */
void act_continue_daemon(struct campaign *c, struct act *act, uint64_t now_ms)
{
	struct proxy *wire;

	if (act->what != ACT_BREAK || now_ms < act->next_ms)
		return;
	wire = c->site.daemon[act->target].wire;
	if (act->answers_cut)
		proxy_break(wire);
	act->answers_cut = !act->answers_cut;
	proxy_set(wire, act->answers_cut ? PROXY_NO_ANSWERS : PROXY_PASS);
	act->next_ms = now_ms + (act->answers_cut ? random_ms(c, 20, 120)
	                                          : random_ms(c, 100, 700));
}

/* Returns false while the process runs. A process without a store to sign off from may
 * run longer. */
static bool has_left(struct campaign *c, const struct act *act, uint64_t now_ms)
{
	struct job *job = &c->site.daemon[act->target].job;

	if (job->pid != 0 && !job_over(job, now_ms)) {
		if (now_ms > act->until_ms + LEAVE_MS)
			c->site.opts.failed(c->site.opts.ctx, "leave",
			                    "a placetd does not end when it is asked to");
		return false;
	}
	if (job->status > 1 && !(job->status == 128 + SIGTERM && act->starting))
		site_check(&c->site, job);
	return true;
}

bool act_end_daemon(struct campaign *c, const struct act *act, uint64_t now_ms)
{
	if (act->what == ACT_KILL_ALL) {
		for (unsigned i = 0; i < c->site.opts.daemons; i++)
			site_daemon_start(&c->site, i);
		return true;
	}
	if (act->what == ACT_LEAVE && !has_left(c, act, now_ms))
		return false;
	if (act->what == ACT_KILL || act->what == ACT_KILL_COUNTER ||
	    act->what == ACT_LEAVE)
		site_daemon_start(&c->site, act->target);
	if (act->what == ACT_STOP)
		job_signal(&c->site.daemon[act->target].job, SIGCONT);
	if (act->what == ACT_BREAK)
		proxy_break(c->site.daemon[act->target].wire);
	if (act->what >= ACT_CUT && act->what <= ACT_BREAK)
		proxy_set(c->site.daemon[act->target].wire, PROXY_PASS);
	return true;
}
