#include "tests/shardlab/calm.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "store/base/clock.h"

enum {
	STEP_MS = 20,
	SAY_MS = 5000,
	UNDO_MAX_MS = 120000,
	/* Beside the TTL: lists, backoffs of pods that waited long (10 s), preemption;
	 * under sanitizers, on a machine that others share. */
	BOUND_MS = 60000,
	REPAIR_MAX = 20,
	COMMAND_MS = 60000,
	WHY_SIZE = 300,
};

PL_PRINTF(3, 4)
static void fail(struct campaign *c, const char *check, const char *fmt, ...)
{
	char text[JOB_TEXT_SIZE + WHY_SIZE];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	c->site.opts.failed(c->site.opts.ctx, check, text);
}

static int command(struct campaign *c, const char *const args[], struct job *job)
{
	*job = (struct job){0};
	if (!site_command(&c->site, job, args, COMMAND_MS))
		fail(c, "calm", "%s can not be run", args[0]);
	return site_wait(&c->site, job);
}

static void must(struct campaign *c, const char *const args[])
{
	char text[JOB_TEXT_SIZE];
	struct job job;

	if (command(c, args, &job) != 0)
		fail(c, "calm", "placet %s %s fails: %s", args[0], args[1],
		     job_tail(&job, text));
}

#define MUST(c, ...) must(c, (const char *const[]){__VA_ARGS__, NULL})

/* -- what goes on ends ------------------------------------------------------------ */

static void end_all(struct campaign *c)
{
	uint64_t since_ms = pl_clock_ms();

	act_hurry(c);
	while (act_any(c)) {
		site_run_ms(&c->site, STEP_MS);
		site_look(&c->site);
		act_step(c, false);
		if (pl_clock_ms() > since_ms + UNDO_MAX_MS)
			fail(c, "calm", "what goes on does not end");
	}
	campaign_store_up(c);
}

/* -- what is wanted --------------------------------------------------------------- */

static uint32_t *pods_room(const struct campaign *c)
{
	uint32_t *pods = calloc(c->scene.pods, sizeof *pods);

	PL_ASSERT(pods != NULL);
	return pods;
}

/* A restored store may have them in a life, and with a spec, of before. */
static void submit_all(struct campaign *c)
{
	const struct stock *stock = c->witness.world.stock;
	uint32_t *pods = pods_room(c);
	char path[JOB_PATH_SIZE];
	unsigned count = 0;

	for (uint32_t i = 0; i < c->next_pod; i++) {
		if (c->witness.removed[i])
			continue;
		if (stock->pod[i].has_spec && !stock->pod[i].bad_spec)
			c->pod[i].what = stock->pod[i].what;
		pods[count++] = i;
	}
	wants_pods_file(c, pods, count, path);
	free(pods);
	MUST(c, "submit", "-f", path);
}

static void remove_all(struct campaign *c)
{
	const struct stock *stock = c->witness.world.stock;
	uint32_t *pods = pods_room(c);
	char path[JOB_PATH_SIZE];
	unsigned count = 0;

	for (uint32_t i = 0; i < c->next_pod; i++)
		if (c->witness.removed[i] && stock->pod[i].has_spec)
			pods[count++] = i;
	wants_pods_file(c, pods, count, path);
	free(pods);
	if (count > 0)
		MUST(c, "delete", "pod", "-f", path, "--yes", "--ignore-not-found",
		     "--wait=false");
}

/* The store went back to when some were asked to go; their people do not know it. */
static void adopt_ends(struct campaign *c)
{
	const struct stock *stock = c->witness.world.stock;

	for (uint32_t i = 0; c->rewound && i < c->next_pod; i++)
		if (stock->pod[i].has_spec && stock->pod[i].unwanted)
			c->witness.removed[i] = true;
}

static void mend(struct campaign *c)
{
	static const char *const repair[] = {"fsck", "--repair", "--yes", NULL};
	char text[JOB_TEXT_SIZE];
	struct job job;

	for (unsigned tries = 0;; tries++) {
		hands_put_right(c);
		if (command(c, repair, &job) == 0)
			return;
		if (tries >= REPAIR_MAX)
			fail(c, "fsck", "--repair leaves violations: %s",
			     job_tail(&job, text));
		site_run_ms(&c->site, 500);
	}
}

static void wish_all(struct campaign *c)
{
	c->next_pod = c->scene.pods;
	if (c->spoilt)
		mend(c);
	if (!wants_all_nodes(c, true))
		fail(c, "calm", "not all nodes could be applied");
	adopt_ends(c);
	remove_all(c);
	submit_all(c);
}

/* -- and comes true --------------------------------------------------------------- */

/* What the commands say of it, and all that stands in the store, into their logs. */
static void keep_state(struct campaign *c)
{
	char why[WHY_SIZE], name[2 * SCENE_NAME_SIZE], namespace[SCENE_NAME_SIZE];
	char text[JOB_TEXT_SIZE];
	const char *const explain[] = {"explain", "pod", name, NULL};
	const char *const dump[] = {"etcdctl", "--endpoints", site_url(&c->site),
	                            "get",     "--prefix",    "/",
	                            NULL};
	uint32_t pod = c->scene.pods;
	struct job job = {0};

	(void)witness_unserved(&c->witness, why, sizeof why);
	if (strncmp(why, "p-", 2) == 0)
		pod = (uint32_t)strtoul(why + 2, NULL, 10);
	if (pod < c->scene.pods) {
		scene_pod_space(pod, namespace);
		(void)snprintf(name, sizeof name, "%s/p-%u", namespace, pod);
		(void)command(c, explain, &job);
		campaign_say(c, "%s says of it: %s", job.log, job_tail(&job, text));
	}
	job = (struct job){0};
	if (site_program(&c->site, &job, dump, COMMAND_MS))
		(void)site_wait(&c->site, &job);
	campaign_say(c, "%s has what stands in the store", job.log);
}

static void until_served(struct campaign *c, uint64_t since_ms)
{
	char why[WHY_SIZE];
	uint64_t said_ms = pl_clock_ms(), now_ms;
	uint32_t left;

	for (;;) {
		left = witness_unserved(&c->witness, why, sizeof why);
		now_ms = pl_clock_ms();
		if (left == 0)
			return;
		if (now_ms > since_ms + SITE_TTL_MS + BOUND_MS) {
			keep_state(c);
			fail(c, "flow",
			     "%u pods are not as they should be %" PRIu64
			     " s after the last fault; the first: %s",
			     left, (now_ms - since_ms) / 1000, why);
		}
		if (now_ms > said_ms + SAY_MS) {
			said_ms = now_ms;
			campaign_say(c, "%u pods to go: %s", left, why);
		}
		site_run_ms(&c->site, STEP_MS);
		site_look(&c->site);
	}
}

/* What a hand spoilt late may come to light only when shards act on it. */
static void check_store(struct campaign *c)
{
	static const char *const fsck[] = {"fsck", NULL};
	char text[JOB_TEXT_SIZE];
	struct job job;

	if (command(c, fsck, &job) != 0)
		fail(c, "fsck", "at the end: %s", job_tail(&job, text));
}

void calm_run(struct campaign *c, struct calm *out)
{
	uint64_t since_ms = pl_clock_ms(), calm_ms;

	campaign_say(c, "calm");
	end_all(c);
	calm_ms = pl_clock_ms();
	out->end_ms = calm_ms - since_ms;
	MUST(c, "config", "set", "shards", "drain=[]");
	site_members(&c->site, false);
	while (!c->witness.listed)
		site_run_ms(&c->site, STEP_MS);
	wish_all(c);
	until_served(c, calm_ms);
	out->place_ms = pl_clock_ms() - calm_ms;
	if (c->spoilt) {
		mend(c);
		remove_all(c);
	}
	witness_unspoil(&c->witness);
	check_store(c);
	until_served(c, pl_clock_ms());
	for (uint32_t i = 0; i < c->scene.pods; i++)
		out->pods += c->witness.world.stock->pod[i].has_spec;
}
