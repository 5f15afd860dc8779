#include "tests/shardlab/round.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/alloc.h"
#include "store/base/clock.h"
#include "store/kv/calls.h"
#include "tests/shardlab/calm.h"
#include "tests/shardlab/campaign.h"

enum {
	STEP_MS = 20,
	SAY_MS = 5000,
	EXTRA_NODES = 24,
	UP_MAX_MS = 60000,
	USUAL_OPS = 1024,
	FEW_OPS = 39, /* so that most gangs are too large for one transaction */
};

struct round {
	struct round_opts opts;
	struct round_totals *totals;
	struct campaign c; /* large */
	struct calm calm;
	FILE *story;
};

void campaign_say(const struct campaign *c, const char *fmt, ...)
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
	const struct kv_req probe = kv_op_get(kv_key(PL_SPAN_LIT(WITNESS_HAND)));
	uint64_t since_ms = pl_clock_ms();

	while (site_call(&c->site, &probe, NULL, NULL) != PL_OK) {
		if (pl_clock_ms() > since_ms + UP_MAX_MS)
			c->site.opts.failed(c->site.opts.ctx, "etcd",
			                    "it does not come back");
		site_run_ms(&c->site, STEP_MS);
	}
}

/* -- when something is found ------------------------------------------------------ */

/* Everything but the data of the store, which is large. */
static void keep_evidence(const struct round *r)
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
	if (system(command) == 0) /* NOLINT(cert-env33-c): of our own making */
		(void)printf("  kept in %s/placet-shards-%" PRIu64
		             ": logs, what was submitted, story.txt\n",
		             tmp == NULL ? "/tmp" : tmp, r->opts.seed);
}

static void add_up(struct round *r)
{
	const struct campaign *c = &r->c;
	struct round_totals *totals = r->totals;

	for (unsigned i = 0; i < ACT_COUNT; i++) {
		totals->act[i] += c->count[i];
		totals->done[i] += c->done[i];
	}
	for (unsigned i = 0; i < SCENE_NEVER; i++)
		totals->kind[i] += c->witness.world.cover.count[COVER_BOUND_BASIC + i];
	for (unsigned i = 0; i < PDB_TALLIES; i++)
		totals->budgets[i] += pdb_judge_tally(c->witness.budgets)[i];
	for (unsigned i = 0; i < WITNESS_GANGS; i++)
		totals->gangs[i] += c->witness.gangs[i];
	totals->counters += c->witness.counters;
	totals->revisions += c->witness.revisions;
	totals->judged += c->witness.judged;
	totals->bound += c->witness.bound;
	totals->preempted += c->witness.preempted;
	totals->owners_lost += c->witness.lost_owners;
	totals->blind += c->witness.blind - 1;
	if (r->calm.place_ms > totals->place_ms_max)
		totals->place_ms_max = r->calm.place_ms;
	totals->rounds++;
}

/* Our children die with us. */
static void failed(void *ctx, const char *check, const char *text)
{
	struct round *r = ctx;

	campaign_say(&r->c, "FOUND by %s: %s", check, text);
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

static bool all_owned(const struct witness *witness)
{
	const struct truth_owner *owner = witness->world.truth.owner;

	for (uint32_t p = 0; p < SITE_PARTITIONS; p++)
		if (!owner[p].exists)
			return false;
	return witness->listed;
}

/* So the store knows what it is, too. */
static void until_owned(struct round *r)
{
	uint64_t since_ms = pl_clock_ms();

	while (!all_owned(&r->c.witness)) {
		site_run_ms(&r->c.site, STEP_MS);
		site_look(&r->c.site);
		if (pl_clock_ms() > since_ms + UP_MAX_MS)
			failed(r, "start", "not every partition has an owner");
	}
}

static void open_all(struct round *r)
{
	struct campaign *c = &r->c;
	struct site_opts site = {.seed = r->opts.seed,
	                         .daemons = 2 + (unsigned)(r->opts.seed % 2),
	                         .txn_ops = r->opts.seed % 4 == 0 ? USUAL_OPS : FEW_OPS,
	                         .secure = r->opts.secure,
	                         .placet = r->opts.placet,
	                         .placetd = r->opts.placetd,
	                         .skew = r->opts.skew,
	                         .failed = failed,
	                         .ctx = r};
	struct witness_opts witness = {.scene = &c->scene,
	                               .partitions = SITE_PARTITIONS,
	                               .failed = failed,
	                               .ctx = r};
	char path[JOB_PATH_SIZE];

	c->start_ms = pl_clock_ms();
	c->only = r->opts.only;
	c->scene = (struct scene){.clusters = SITE_CLUSTERS,
	                          .nodes = r->opts.nodes,
	                          .pods = r->opts.pods,
	                          .extra = EXTRA_NODES};
	pl_rng_init(&c->rng, r->opts.seed);
	c->pod = pl_calloc(c->scene.pods, sizeof *c->pod);
	c->node = pl_calloc(c->scene.nodes + c->scene.extra, sizeof *c->node);
	PL_ASSERT(c->pod != NULL && c->node != NULL);
	for (uint32_t i = 0; i < c->scene.pods; i++)
		c->pod[i].what = scene_pod_first(i);
	site_open(&c->site, &site);
	(void)snprintf(path, sizeof path, "%s/story.txt", site_dir(&c->site));
	r->story = fopen(path, "we");
	witness.kv = c->site.kv;
	witness.story = r->story;
	witness_open(&c->witness, &witness);
	until_owned(r);
	if (!wants_all_nodes(c, false))
		failed(r, "start", "the nodes could not be applied");
	if (!wants_first_budgets(c))
		failed(r, "start", "the first budgets could not be submitted");
	if (!wants_first(c))
		failed(r, "start", "the first pods could not be submitted");
	act_open(c);
}

static void say(struct campaign *c)
{
	char why[256];
	uint32_t left = witness_unserved(&c->witness, why, sizeof why);
	uint32_t never = c->scene.pods - c->next_pod;

	campaign_say(c,
	             "%u pods submitted, %u of them to be placed, %" PRIu64 " bindings",
	             c->next_pod, left > never ? left - never : 0, c->witness.bound);
}

static void things_happen(struct round *r)
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
		say(c);
	}
}

static void close_all(struct round *r)
{
	struct campaign *c = &r->c;

	while (!witness_close(&c->witness))
		(void)uv_run(&c->site.loop, UV_RUN_ONCE);
	site_close(&c->site);
	witness_free(&c->witness);
	free(c->pod);
	free(c->node);
	if (r->story != NULL)
		(void)fclose(r->story);
}

void round_run(const struct round_opts *opts, struct round_totals *totals)
{
	static struct round round;
	struct round *r = &round;

	r->opts = *opts;
	r->totals = totals;
	open_all(r);
	things_happen(r);
	calm_run(&r->c, &r->calm);
	add_up(r);
	if (opts->keep)
		keep_evidence(r);
	campaign_say(&r->c,
	             "well %.1f s after the last fault: %u pods, %" PRIu64
	             " revisions judged, %u members started again",
	             (double)r->calm.place_ms / 1000, r->calm.pods, r->c.witness.judged,
	             r->c.site.restarts);
	close_all(r);
	exit(0);
}
