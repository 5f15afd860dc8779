#include "tests/shardlab/round.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/kv/calls.h"
#include "tests/shardlab/campaign.h"
#include "tests/shardlab/recovery.h"

enum {
	STEP_MS = 20,
	SAY_MS = 5000,
	EXTRA_NODES = 24,
	UP_MAX_MS = 60000,
	USUAL_OPS = 1024,
	FEW_OPS = 39, /* so that most gangs are too large for one transaction */
};

struct fault_round {
	struct round_opts opts;
	struct round_totals *totals;
	struct campaign c; /* the campaign is too large for the stack */
	struct recovery_times recovering;
	FILE *story;
};

void campaign_print(const struct campaign *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)printf("  [%6.1f s] ", (double)(pl_clock_ms() - c->start_ms) / 1000);
	(void)vprintf(fmt, args); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	(void)printf("\n");
	(void)fflush(stdout);
	va_end(args);
}

void campaign_store_up(struct campaign *c)
{
	const struct kv_req probe = kv_op_get(kv_key(PL_SPAN_LIT(OBSERVER_MANUAL)));
	uint64_t since_ms = pl_clock_ms();

	while (site_call(&c->site, &probe, NULL, NULL) != PL_OK) {
		if (pl_clock_ms() > since_ms + UP_MAX_MS)
			c->site.opts.failed(c->site.opts.ctx, "etcd",
			                    "it does not answer again");
		site_run_ms(&c->site, STEP_MS);
	}
}

/* -- failures --------------------------------------------------------------------- */

/* Copies everything but the data of the store, which is large. */
static void keep_evidence(const struct fault_round *r)
{
	char command[4 * JOB_PATH_SIZE];
	const char *tmp = getenv("TMPDIR");

	if (r->c.site.launch == NULL)
		return;
	if (r->story != NULL)
		(void)fflush(r->story);
	(void)snprintf(command, sizeof command,
	               "d=%s/placet-shards-%" PRIu64
	               "; rm -rf $d; mkdir -p $d; cd %s && rm -rf snap && cp -r "
	               "$(ls | grep -v '^m0') $d/",
	               tmp == NULL ? "/tmp" : tmp, r->opts.seed, site_dir(&r->c.site));
	if (system(command) == 0) /* NOLINT(cert-env33-c): the command is composed here */
		(void)printf("  kept in %s/placet-shards-%" PRIu64
		             ": logs, submitted files, story.txt\n",
		             tmp == NULL ? "/tmp" : tmp, r->opts.seed);
}

static void add_up(struct fault_round *r)
{
	const struct campaign *c = &r->c;
	struct round_totals *totals = r->totals;

	for (unsigned i = 0; i < ACT_COUNT; i++) {
		totals->act[i] += c->count[i];
		totals->done[i] += c->done[i];
	}
	for (unsigned i = 0; i < SCENARIO_NEVER; i++)
		totals->kind[i] += c->observer.world.cover.count[COVER_BOUND_BASIC + i];
	for (unsigned i = 0; i < PDB_TALLIES; i++)
		totals->budgets[i] += pdb_judge_tally(c->observer.budgets)[i];
	for (unsigned i = 0; i < OBSERVER_GANGS; i++)
		totals->gangs[i] += c->observer.gangs[i];
	totals->counters += c->observer.counters;
	totals->revisions += c->observer.revisions;
	totals->judged += c->observer.judged;
	totals->bound += c->observer.bound;
	totals->preempted += c->observer.preempted;
	totals->owners_lost += c->observer.lost_owners;
	totals->unjudged += c->observer.unjudged - 1;
	if (r->recovering.place_ms > totals->place_ms_max)
		totals->place_ms_max = r->recovering.place_ms;
	totals->rounds++;
}

/* Child processes die with this process. */
static void on_failed(void *ctx, const char *check, const char *text)
{
	struct fault_round *r = ctx;

	campaign_print(&r->c, "FOUND by %s: %s", check, text);
	add_up(r);
	keep_evidence(r);
	(void)printf(
		"  repeat with: tests/faults --shards --seed %" PRIu64 " --round %" PRIu64
		" --seconds %" PRIu64 " --nodes %u --pods %u%s%s\n",
		r->opts.seed, r->opts.faults_ms / 1000, r->opts.faults_ms / 1000,
		r->opts.nodes, r->opts.pods, r->opts.only == ACT_COUNT ? "" : " --only ",
		r->opts.only == ACT_COUNT ? "" : act_name(r->opts.only));
	(void)fflush(stdout);
	_exit(1);
}

/* -- the round -------------------------------------------------------------------- */

static bool all_owned(const struct observer *observer)
{
	const struct truth_owner *owner = observer->world.truth.owner;

	for (uint32_t p = 0; p < SITE_PARTITIONS; p++)
		if (!owner[p].exists)
			return false;
	return observer->listed;
}

/* Then the store also has its meta record. */
static void until_owned(struct fault_round *r)
{
	uint64_t since_ms = pl_clock_ms();

	while (!all_owned(&r->c.observer)) {
		site_run_ms(&r->c.site, STEP_MS);
		site_look(&r->c.site);
		if (pl_clock_ms() > since_ms + UP_MAX_MS)
			on_failed(r, "start", "not every partition has an owner");
	}
}

static void open_all(struct fault_round *r)
{
	struct campaign *c = &r->c;
	struct site_opts site = {.seed = r->opts.seed,
	                         .daemons = 2 + (unsigned)(r->opts.seed % 2),
	                         .txn_ops = r->opts.seed % 4 == 0 ? USUAL_OPS : FEW_OPS,
	                         .secure = r->opts.secure,
	                         .placet = r->opts.placet,
	                         .placetd = r->opts.placetd,
	                         .skew = r->opts.skew,
	                         .failed = on_failed,
	                         .ctx = r};
	struct observer_opts observer = {.scenario = &c->scenario,
	                                 .partitions = SITE_PARTITIONS,
	                                 .failed = on_failed,
	                                 .ctx = r};
	char path[JOB_PATH_SIZE];

	c->start_ms = pl_clock_ms();
	c->only = r->opts.only;
	c->scenario = (struct scenario){.clusters = SITE_CLUSTERS,
	                                .nodes = r->opts.nodes,
	                                .pods = r->opts.pods,
	                                .extra = EXTRA_NODES};
	pl_rng_init(&c->rng, r->opts.seed);
	c->pod = pl_calloc(c->scenario.pods, sizeof *c->pod);
	c->node = pl_calloc(c->scenario.nodes + c->scenario.extra, sizeof *c->node);
	PL_ASSERT(c->pod != NULL && c->node != NULL);
	for (uint32_t i = 0; i < c->scenario.pods; i++)
		c->pod[i].what = scenario_pod_first(i);
	site_open(&c->site, &site);
	(void)snprintf(path, sizeof path, "%s/story.txt", site_dir(&c->site));
	r->story = fopen(path, "we");
	observer.kv = c->site.kv;
	observer.story = r->story;
	observer_open(&c->observer, &observer);
	until_owned(r);
	if (!user_apply_all_nodes(c, false))
		on_failed(r, "start", "the nodes could not be applied");
	if (!user_submit_initial_budgets(c))
		on_failed(r, "start", "the first budgets could not be submitted");
	if (!user_submit_initial(c))
		on_failed(r, "start", "the first pods could not be submitted");
	act_open(c);
}

static void print_round(struct campaign *c)
{
	char why[256];
	uint32_t left = observer_unserved(&c->observer, why, sizeof why);
	uint32_t never = c->scenario.pods - c->next_pod;

	campaign_print(c,
	               "%u pods submitted, %u of them to be placed, %" PRIu64 " bindings",
	               c->next_pod, left > never ? left - never : 0, c->observer.bound);
}

static void things_happen(struct fault_round *r)
{
	struct campaign *c = &r->c;
	uint64_t until_ms = pl_clock_ms() + r->opts.faults_ms, said_ms = pl_clock_ms();

	while (pl_clock_ms() < until_ms) {
		site_run_ms(&c->site, STEP_MS);
		site_look(&c->site);
		act_step(c, true);
		if (pl_clock_ms() < said_ms + SAY_MS)
			continue;
		said_ms = pl_clock_ms();
		print_round(c);
	}
}

static void close_all(struct fault_round *r)
{
	struct campaign *c = &r->c;

	while (!observer_close(&c->observer))
		(void)uv_run(&c->site.loop, UV_RUN_ONCE);
	site_close(&c->site);
	observer_free(&c->observer);
	free(c->pod);
	free(c->node);
	if (r->story != NULL)
		(void)fclose(r->story);
}

void round_run(const struct round_opts *opts, struct round_totals *totals)
{
	static struct fault_round round;
	struct fault_round *r = &round;

	r->opts = *opts;
	r->totals = totals;
	open_all(r);
	things_happen(r);
	recovery_run(&r->c, &r->recovering);
	add_up(r);
	if (opts->keep)
		keep_evidence(r);
	campaign_print(&r->c,
	               "recovered %.1f s after the last fault: %u pods, %" PRIu64
	               " revisions judged, %u members started again",
	               (double)r->recovering.place_ms / 1000, r->recovering.pods,
	               r->c.observer.judged, r->c.site.restarts);
	close_all(r);
	exit(0);
}
