#include "tests/shardlab/recovery.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "store/base/clock.h"

enum {
	STEP_MS = 20,
	PRINT_MS = 5000,
	UNDO_MAX_MS = 120000,
	/* Time beyond the TTL for lists, backoffs of pods that waited long (10 s) and
	 * preemption, under sanitizers, on a machine that is shared with others. */
	BOUND_MS = 60000,
	REPAIR_MAX = 20,
	COMMAND_MS = 60000,
	WHY_SIZE = 300,
};

PL_PRINTF(3, 4)
static void fail_round(struct campaign *c, const char *check, const char *fmt, ...)
{
	char text[JOB_TEXT_SIZE + WHY_SIZE];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	c->site.opts.failed(c->site.opts.ctx, check, text);
}

static int run_command(struct campaign *c, const char *const args[], struct job *job)
{
	*job = (struct job){0};
	if (!site_command(&c->site, job, args, COMMAND_MS))
		fail_round(c, "recovery", "%s can not be run", args[0]);
	return site_wait(&c->site, job);
}

static void run_placet(struct campaign *c, const char *const args[])
{
	char text[JOB_TEXT_SIZE];
	struct job job;

	if (run_command(c, args, &job) != 0)
		fail_round(c, "recovery", "placet %s %s fails: %s", args[0], args[1],
		           job_tail(&job, text));
}

#define MUST(c, ...) run_placet(c, (const char *const[]){__VA_ARGS__, NULL})

/* -- acts end --------------------------------------------------------------------- */

static void end_all_acts(struct campaign *c)
{
	uint64_t since_ms = pl_clock_ms();

	act_end_all(c);
	while (act_any(c)) {
		site_run_ms(&c->site, STEP_MS);
		site_look(&c->site);
		act_step(c, false);
		if (pl_clock_ms() > since_ms + UNDO_MAX_MS)
			fail_round(c, "recovery", "acts do not end");
	}
	campaign_store_up(c);
}

/* -- the desired state is submitted ----------------------------------------------- */

static uint32_t *new_pod_list(const struct campaign *c)
{
	uint32_t *pods = calloc(c->scenario.pods, sizeof *pods);

	PL_ASSERT(pods != NULL);
	return pods;
}

/* A restored store may hold an earlier incarnation of a pod, with an earlier spec. */
static void submit_all(struct campaign *c)
{
	const struct mirror *mirror = c->observer.world.mirror;
	uint32_t *pods = new_pod_list(c);
	char path[JOB_PATH_SIZE];
	unsigned count = 0;

	for (uint32_t i = 0; i < c->next_pod; i++) {
		if (c->observer.removed[i])
			continue;
		if (mirror->pod[i].has_spec && !mirror->pod[i].bad_spec)
			c->pod[i].what = mirror->pod[i].what;
		pods[count++] = i;
	}
	user_pods_file(c, pods, count, path);
	free(pods);
	MUST(c, "submit", "-f", path);
}

static void remove_all(struct campaign *c)
{
	const struct mirror *mirror = c->observer.world.mirror;
	uint32_t *pods = new_pod_list(c);
	char path[JOB_PATH_SIZE];
	unsigned count = 0;

	for (uint32_t i = 0; i < c->next_pod; i++)
		if (c->observer.removed[i] && mirror->pod[i].has_spec)
			pods[count++] = i;
	user_pods_file(c, pods, count, path);
	free(pods);
	if (count > 0)
		MUST(c, "delete", "pod", "-f", path, "--yes", "--ignore-not-found",
		     "--wait=false");
}

/* A restored store may show earlier removals again, which the users of today did not ask
 * for. */
static void adopt_removals(struct campaign *c)
{
	const struct mirror *mirror = c->observer.world.mirror;

	for (uint32_t i = 0; c->rewound && i < c->next_pod; i++)
		if (mirror->pod[i].has_spec && mirror->pod[i].unwanted)
			c->observer.removed[i] = true;
}

static void repair_store(struct campaign *c)
{
	static const char *const repair[] = {"fsck", "--repair", "--yes", NULL};
	char text[JOB_TEXT_SIZE];
	struct job job;

	for (unsigned tries = 0;; tries++) {
		manual_repair(c);
		if (run_command(c, repair, &job) == 0)
			return;
		if (tries >= REPAIR_MAX)
			fail_round(c, "fsck", "--repair leaves violations: %s",
			           job_tail(&job, text));
		site_run_ms(&c->site, 500);
	}
}

static void apply_desired(struct campaign *c)
{
	c->next_pod = c->scenario.pods;
	if (c->corrupted)
		repair_store(c);
	if (!user_apply_all_nodes(c, true))
		fail_round(c, "recovery", "not all nodes could be applied");
	adopt_removals(c);
	remove_all(c);
	submit_all(c);
}

/* -- and reached ------------------------------------------------------------------ */

/* Writes what placet explain says of the pod, and a dump of the store, into logs. */
static void keep_state(struct campaign *c)
{
	char why[WHY_SIZE], name[2 * SCENARIO_NAME_SIZE], namespace[SCENARIO_NAME_SIZE];
	char text[JOB_TEXT_SIZE];
	const char *const explain[] = {"explain", "pod", name, NULL};
	const char *const dump[] = {"etcdctl", "--endpoints", site_url(&c->site),
	                            "get",     "--prefix",    "/",
	                            NULL};
	uint32_t pod = c->scenario.pods;
	struct job job = {0};

	(void)observer_unserved(&c->observer, why, sizeof why);
	if (strncmp(why, "p-", 2) == 0)
		pod = (uint32_t)strtoul(why + 2, NULL, 10);
	if (pod < c->scenario.pods) {
		scenario_pod_namespace(pod, namespace);
		(void)snprintf(name, sizeof name, "%s/p-%u", namespace, pod);
		(void)run_command(c, explain, &job);
		campaign_print(c, "%s: %s", job.log, job_tail(&job, text));
	}
	job = (struct job){0};
	if (site_program(&c->site, &job, dump, COMMAND_MS))
		(void)site_wait(&c->site, &job);
	campaign_print(c, "%s: a dump of the store", job.log);
}

static void until_served(struct campaign *c, uint64_t since_ms)
{
	char why[WHY_SIZE];
	uint64_t said_ms = pl_clock_ms(), now_ms;
	uint32_t left;

	for (;;) {
		left = observer_unserved(&c->observer, why, sizeof why);
		now_ms = pl_clock_ms();
		if (left == 0)
			return;
		if (now_ms > since_ms + SITE_TTL_MS + BOUND_MS) {
			keep_state(c);
			fail_round(c, "flow",
			           "%u pods are not placed %" PRIu64
			           " s after the last fault; the first: %s",
			           left, (now_ms - since_ms) / 1000, why);
		}
		if (now_ms > said_ms + PRINT_MS) {
			said_ms = now_ms;
			campaign_print(c, "%u pods left: %s", left, why);
		}
		site_run_ms(&c->site, STEP_MS);
		site_look(&c->site);
	}
}

/* Damage that was done late by hand may come to light only when shards act on the key. */
static void check_store(struct campaign *c)
{
	static const char *const fsck[] = {"fsck", NULL};
	char text[JOB_TEXT_SIZE];
	struct job job;

	if (run_command(c, fsck, &job) != 0)
		fail_round(c, "fsck", "at the end: %s", job_tail(&job, text));
}

void recovery_run(struct campaign *c, struct recovery_times *out)
{
	uint64_t since_ms = pl_clock_ms(), recovery_ms;

	campaign_print(c, "recovery");
	end_all_acts(c);
	recovery_ms = pl_clock_ms();
	out->end_ms = recovery_ms - since_ms;
	MUST(c, "config", "set", "shards", "drain=[]");
	site_members(&c->site, false);
	while (!c->observer.listed)
		site_run_ms(&c->site, STEP_MS);
	apply_desired(c);
	until_served(c, recovery_ms);
	out->place_ms = pl_clock_ms() - recovery_ms;
	if (c->corrupted) {
		repair_store(c);
		remove_all(c);
	}
	observer_clear_corrupted(&c->observer);
	check_store(c);
	until_served(c, pl_clock_ms());
	for (uint32_t i = 0; i < c->scenario.pods; i++)
		out->pods += c->observer.world.mirror->pod[i].has_spec;
}
