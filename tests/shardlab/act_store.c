/* Acts on the store, and on the keys in it. */
#include <inttypes.h>
#include <signal.h>

#include "store/base/clock.h"
#include "tests/shardlab/campaign.h"

enum { COMMAND_MS = 20000 };

static uint64_t random_ms(struct campaign *c, uint64_t low, uint64_t high)
{
	return pl_rng_between(&c->rng, low, high);
}

static void signal_etcd(struct campaign *c, int signum)
{
	struct pl_err err = {0};
	enum pl_code code = signum == 0
	                            ? etcd_launch_restart(c->site.launch, 0, &err)
	                            : etcd_launch_signal(c->site.launch, 0, signum, &err);

	if (code != PL_OK)
		c->site.opts.failed(c->site.opts.ctx, "etcd", err.msg);
}

/* Copies the data as a snapshot of the machine would: nothing changes meanwhile. */
static void copy_data(struct campaign *c, const char *script)
{
	const char *const argv[] = {"/bin/sh",          "-ec", script, "sh",
	                            site_dir(&c->site), NULL};
	struct job job = {0};

	if (!site_program(&c->site, &job, argv, 0) || site_wait(&c->site, &job) != 0)
		c->site.opts.failed(c->site.opts.ctx, "etcd",
		                    "its data can not be copied");
}

static void take_snapshot(struct campaign *c)
{
	signal_etcd(c, SIGSTOP);
	copy_data(c, "cd \"$1\"; rm -rf snap; cp -a m0.*/ snap");
	signal_etcd(c, SIGCONT);
}

static void restore_snapshot(struct campaign *c)
{
	static const char *const args[] = {"store", "restored", "--yes", NULL};
	struct job job = {0};

	signal_etcd(c, SIGKILL);
	while (etcd_launch_pid(c->site.launch, 0) != 0)
		site_run_ms(&c->site, 5);
	site_run_ms(&c->site, 50);
	copy_data(c, "cd \"$1\"; d=$(echo m0.*/); rm -rf \"$d\"; mv snap \"$d\"");
	c->rewound = true;
	observer_relist(&c->observer);
	signal_etcd(c, 0);
	campaign_store_up(c);
	while (!site_command(&c->site, &job, args, COMMAND_MS) ||
	       site_wait(&c->site, &job) != 0)
		site_run_ms(&c->site, 100);
}

/* No other act on the store is under way. */
static bool is_hit(const struct campaign *c)
{
	return act_is_active(c, ACT_KILL_ETCD) || act_is_active(c, ACT_STOP_ETCD) ||
	       act_is_active(c, ACT_QUOTA) || act_is_active(c, ACT_RESTORE);
}

bool act_begin_store(struct campaign *c, struct act *act, uint64_t now_ms)
{
	if (is_hit(c))
		return false;
	act->until_ms = now_ms + random_ms(c, 300, 4000);
	if (act->what == ACT_KILL_ETCD) {
		signal_etcd(c, SIGKILL);
	} else if (act->what == ACT_STOP_ETCD) {
		signal_etcd(c, SIGSTOP);
	} else if (act->what == ACT_QUOTA) {
		manual_fill(c);
	} else if (act->what == ACT_RESTORE) {
		take_snapshot(c);
		act->until_ms += 1500;
	} else if (act->what == ACT_COMPACT) {
		manual_compact(c);
		act->until_ms = now_ms;
	} else if (act->what == ACT_CORRUPT_NODE) {
		manual_corrupt_node(c);
	} else if (act->what == ACT_CORRUPT_RULES) {
		manual_corrupt_rules(c);
	} else if (act->what == ACT_CORRUPT_GANG) {
		manual_corrupt_gang(c);
	} else if (act->what == ACT_CORRUPT_BUDGET) {
		manual_corrupt_budget(c);
	} else {
		manual_corrupt_pod(c);
	}
	return true;
}

void act_end_store(struct campaign *c, struct act *act)
{
	static const char *const fsck[] = {"fsck", "--repair", "--yes", NULL};

	if (act->what == ACT_KILL_ETCD) {
		signal_etcd(c, 0);
		campaign_store_up(c);
	}
	if (act->what == ACT_STOP_ETCD)
		signal_etcd(c, SIGCONT);
	if (act->what == ACT_QUOTA)
		manual_free_space(c);
	if (act->what == ACT_RESTORE)
		restore_snapshot(c);
	if (act->what == ACT_CORRUPT_BUDGET)
		(void)user_delete_bad_budget(c, &act->job);
	if (act->what == ACT_CORRUPT_NODE || act->what == ACT_CORRUPT_POD ||
	    act->what == ACT_CORRUPT_RULES || act->what == ACT_CORRUPT_GANG)
		(void)site_command(&c->site, &act->job, fsck, COMMAND_MS);
}
