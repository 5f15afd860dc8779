#include <inttypes.h>

#include "store/base/clock.h"
#include "tests/shardlab/campaign.h"

enum {
	BATCH = 36,
	FEW = 4,
	TRIES = 16,
	COMMAND_MS = 15000,
	LONG_MS = 30000,
	ALL_NODES = 4096,
	FIRST_MAX = 10000,
	IGNORE_MS = 30000, /* an eviction that ignores budgets may take effect so late */
};

static const char by_line[] = "%s/%s-%04u.jsonl";

static FILE *new_file(struct campaign *c, const char *what, char path[JOB_PATH_SIZE])
{
	FILE *file;

	(void)snprintf(path, JOB_PATH_SIZE, by_line, site_dir(&c->site), what,
	               c->files++);
	file = fopen(path, "we");
	PL_ASSERT(file != NULL);
	return file;
}

void user_pods_file(struct campaign *c, const uint32_t *pods, unsigned count,
                    char path[JOB_PATH_SIZE])
{
	FILE *file = new_file(c, "pods", path);
	char json[SCENARIO_JSON_SIZE];

	for (unsigned i = 0; i < count; i++) {
		scenario_pod_json(pods[i], &c->pod[pods[i]].what, json);
		(void)fprintf(file, "%s\n", json);
	}
	(void)fclose(file);
}

void user_nodes_file(struct campaign *c, const uint32_t *nodes, unsigned count,
                     char path[JOB_PATH_SIZE])
{
	FILE *file = new_file(c, "nodes", path);
	char json[SCENARIO_JSON_SIZE];

	for (unsigned i = 0; i < count; i++) {
		scenario_node_json(&c->scenario, nodes[i], &c->node[nodes[i]], json);
		(void)fprintf(file, "%s\n", json);
	}
	(void)fclose(file);
}

/* -- nodes ------------------------------------------------------------------------ */

static bool apply_nodes(struct campaign *c, struct job *job, const char *cluster,
                        const uint32_t *nodes, unsigned count)
{
	char path[JOB_PATH_SIZE];
	const char *const args[] = {"nodes", "apply", "--cluster", cluster,
	                            "-f",    path,    NULL};

	user_nodes_file(c, nodes, count, path);
	return site_command(&c->site, job, args, LONG_MS);
}

/* Closes the node for maintenance: pods that do not tolerate the taint have to leave. */
static void close_node(struct campaign *c, uint32_t node)
{
	c->node[node].closed = true;
	c->node[node].closed_ms = campaign_below(c, 2) == 0 ? 0 : pl_clock_wall_ms();
}

/* Some nodes stay closed in the recovery phase, too. */
static void reset_node(struct campaign *c, uint32_t node, bool in_the_end)
{
	uint32_t version = c->node[node].version + 1;

	c->node[node] = scenario_node_first(&c->scenario, node);
	c->node[node].version = version;
	if (in_the_end && node < c->scenario.nodes && scenario_stays_closed(node))
		close_node(c, node);
}

bool user_apply_all_nodes(struct campaign *c, bool extra)
{
	static uint32_t nodes[ALL_NODES];
	uint32_t all = c->scenario.nodes + (extra ? c->scenario.extra : 0);
	char cluster[SCENARIO_NAME_SIZE], want[SCENARIO_NAME_SIZE];
	bool good = true;

	for (unsigned k = 0; k < SITE_CLUSTERS; k++) {
		unsigned count = 0;
		struct job job = {0};

		(void)snprintf(want, sizeof want, "c%u", k);
		for (uint32_t i = 0; i < all && count < ALL_NODES; i++) {
			scenario_node_cluster(&c->scenario, i, cluster);
			if (strcmp(cluster, want) != 0)
				continue;
			reset_node(c, i, extra);
			nodes[count++] = i;
		}
		good = apply_nodes(c, &job, want, nodes, count) &&
		       site_wait(&c->site, &job) == 0 && good;
	}
	return good;
}

static bool apply_one(struct campaign *c, struct job *job, uint32_t node)
{
	char cluster[SCENARIO_NAME_SIZE];

	c->node[node].version++;
	scenario_node_cluster(&c->scenario, node, cluster);
	return apply_nodes(c, job, cluster, &node, 1);
}

bool user_reapply_node(struct campaign *c, struct job *job, uint32_t node)
{
	return apply_one(c, job, node);
}

bool user_change_node(struct campaign *c, struct job *job, uint32_t node)
{
	struct scenario_node *what = &c->node[node];

	switch (campaign_below(c, 4)) {
	case 0:
		what->cpu_milli = 500 * (1 + (int64_t)campaign_below(c, 3));
		break;
	case 1:
		what->pods = 1 + (int64_t)campaign_below(c, 2);
		break;
	case 2:
		close_node(c, node);
		break;
	default:
		what->tainted = !what->tainted;
		break;
	}
	return apply_one(c, job, node);
}

bool user_restore_node(struct campaign *c, struct job *job, uint32_t node)
{
	uint32_t version = c->node[node].version;

	c->node[node] = scenario_node_first(&c->scenario, node);
	c->node[node].version = version;
	return apply_one(c, job, node);
}

void user_node_name(const struct campaign *c, uint32_t node, char out[SITE_NAME])
{
	char cluster[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];

	scenario_node_cluster(&c->scenario, node, cluster);
	scenario_node_name(node, name);
	(void)snprintf(out, SITE_NAME, "%s/%s", cluster, name);
}

/* -- pods ------------------------------------------------------------------------- */

/* The pod was removed, is gone, and may be submitted again under its name, as another
 * incarnation. */
static bool is_free(const struct campaign *c, uint32_t i)
{
	const struct mirror_pod *pod = &c->observer.world.mirror->pod[i];

	for (unsigned k = 0; k < CAMPAIGN_SLOTS; k++)
		if (c->act[k].busy &&
		    (c->act[k].what == ACT_REMOVE || c->act[k].what == ACT_FORCE))
			return false; /* a removal by name might hit the new pod */
	return c->pod[i].submitted && c->observer.removed[i] && c->observer.listed &&
	       !pod->has_spec && pod->phase == MIRROR_NO_STATE && !pod->corrupted;
}

static unsigned pick_submits(struct campaign *c, uint32_t pods[BATCH])
{
	unsigned count = 0, again = 0;

	while (count < BATCH && c->next_pod < c->scenario.pods) {
		c->pod[c->next_pod].submitted = true;
		pods[count++] = c->next_pod++;
	}
	for (uint32_t i = 0; i < c->scenario.pods && again < BATCH / 3 && count < BATCH;
	     i++) {
		if (!is_free(c, i) || campaign_below(c, 2) == 0)
			continue;
		c->observer.removed[i] = false;
		c->pod[i].what.incarnation++;
		pods[count++] = i;
		again++;
	}
	/* Pods that exist already are submitted unchanged. */
	for (unsigned k = 0; k < FEW && count < BATCH && c->next_pod > 0; k++) {
		uint32_t i = (uint32_t)campaign_below(c, c->next_pod);
		bool twice = c->observer.removed[i];

		for (unsigned n = 0; n < count; n++)
			twice = twice || pods[n] == i;
		if (!twice)
			pods[count++] = i;
	}
	return count;
}

/* Half of the pods are submitted before acts begin, the others meanwhile. */
bool user_submit_initial(struct campaign *c)
{
	static uint32_t pods[FIRST_MAX];
	char path[JOB_PATH_SIZE];
	const char *const args[] = {"submit", "-f", path, NULL};
	struct job job = {0};

	while (c->next_pod < c->scenario.pods / 2 && c->next_pod < FIRST_MAX) {
		c->pod[c->next_pod].submitted = true;
		pods[c->next_pod] = c->next_pod;
		c->next_pod++;
	}
	user_pods_file(c, pods, c->next_pod, path);
	return site_command(&c->site, &job, args, LONG_MS) &&
	       site_wait(&c->site, &job) == 0;
}

bool user_submit(struct campaign *c, struct job *job)
{
	uint32_t pods[BATCH];
	unsigned count = pick_submits(c, pods);
	char path[JOB_PATH_SIZE];
	const char *const args[] = {"submit", "-f", path, NULL};

	if (count == 0)
		return false;
	user_pods_file(c, pods, count, path);
	return site_command(&c->site, job, args, COMMAND_MS);
}

/* Picks pods that exist. */
static unsigned pick_pods(struct campaign *c, uint32_t pods[FEW])
{
	unsigned count = 0, want = 1 + (unsigned)campaign_below(c, FEW);

	for (unsigned tries = 0; tries < TRIES && count < want && c->next_pod > 0;
	     tries++) {
		uint32_t i = (uint32_t)campaign_below(c, c->next_pod);
		bool twice = !c->observer.world.mirror->pod[i].has_spec;

		for (unsigned k = 0; k < count; k++)
			twice = twice || pods[k] == i;
		if (!twice)
			pods[count++] = i;
	}
	return count;
}

static bool pod_command(struct campaign *c, struct job *job, const char *const words[],
                        const uint32_t *pods, unsigned count)
{
	char name[FEW][2 * SCENARIO_NAME_SIZE], namespace[SCENARIO_NAME_SIZE];
	const char *args[FEW + 10];
	unsigned n = 0;

	for (; *words != NULL; words++)
		args[n++] = *words;

	for (unsigned k = 0; k < count; k++) {
		scenario_pod_namespace(pods[k], namespace);
		(void)snprintf(name[k], sizeof name[k], "%s/p-%u", namespace, pods[k]);
		args[n++] = name[k];
	}
	args[n++] = "--yes";
	args[n++] = "--ignore-not-found";
	args[n] = NULL;
	return count > 0 && site_command(&c->site, job, args, COMMAND_MS);
}

bool user_remove(struct campaign *c, struct job *job, bool force)
{
	uint32_t pods[FEW];
	unsigned count = pick_pods(c, pods);

	for (unsigned k = 0; k < count; k++)
		c->observer.removed[pods[k]] = true;
	return pod_command(c, job,
	                   (const char *const[]){"delete", "pod", "--wait=false",
	                                         force ? "--force" : NULL, NULL},
	                   pods, count);
}

/* -- evictions and budgets -------------------------------------------------------- */

static uint64_t ignore_until(const struct campaign *c)
{
	return c->observer.world.agenda.now_ms + IGNORE_MS;
}

static bool is_covered(const struct campaign *c, uint32_t pod)
{
	for (unsigned b = 0; b < PDB_COUNT; b++)
		if (pdb_judge_has_pods(c->observer.budgets, b) && pdb_covers(b, pod))
			return true;
	return false;
}

/* Picks pods, most of them running under a budget. */
static unsigned pick_covered(struct campaign *c, uint32_t pods[FEW])
{
	const struct mirror *mirror = c->observer.world.mirror;
	unsigned count = pick_pods(c, pods);

	for (unsigned k = 0; k < count && campaign_below(c, 4) != 0; k++) {
		uint32_t first = (uint32_t)campaign_below(c, mirror->pods), i = first;

		do {
			i = (i + 1) % mirror->pods;
		} while (i != first && (mirror->pod[i].phase != MIRROR_BOUND ||
		                        mirror->pod[i].asked || !is_covered(c, i)));
		for (unsigned n = 0; n < count && i != first; n++)
			if (pods[n] == i)
				i = first;
		if (i != first)
			pods[k] = i;
	}
	return count;
}

bool user_evict(struct campaign *c, struct job *job, bool force, bool ignore_budgets)
{
	const char *words[8] = {"evict", "pod", "--timeout=4s"};
	unsigned n = 3, count;
	uint32_t pods[FEW];

	count = pick_covered(c, pods);
	for (unsigned k = 0; ignore_budgets && k < count; k++)
		pdb_judge_ignore_pod(c->observer.budgets, pods[k], ignore_until(c));
	if (ignore_budgets)
		words[n++] = "--ignore-budgets";
	if (force)
		words[n] = "--force";
	return pod_command(c, job, words, pods, count);
}

void user_ignore_budgets_on(struct campaign *c, uint32_t node)
{
	pdb_judge_ignore_node(c->observer.budgets, node, ignore_until(c));
}

static bool submit_budgets(struct campaign *c, struct job *job, const unsigned *budgets,
                           unsigned count)
{
	char path[JOB_PATH_SIZE], json[PDB_JSON_SIZE];
	const char *const args[] = {"submit", "-f", path, NULL};
	FILE *file = new_file(c, "budgets", path);

	for (unsigned i = 0; i < count; i++) {
		pdb_json(budgets[i], (unsigned)campaign_below(c, PDB_RULES), json);
		(void)fprintf(file, "%s\n", json);
	}
	(void)fclose(file);
	return site_command(&c->site, job, args, COMMAND_MS);
}

bool user_submit_budgets(struct campaign *c, struct job *job, unsigned most)
{
	unsigned budgets[PDB_COUNT], count = 1 + (unsigned)campaign_below(c, most);
	unsigned first = (unsigned)campaign_below(c, PDB_COUNT);

	for (unsigned i = 0; i < count; i++)
		budgets[i] = (first + i * 5) % PDB_COUNT;
	return submit_budgets(c, job, budgets, count);
}

bool user_submit_initial_budgets(struct campaign *c)
{
	unsigned budgets[PDB_COUNT], count = 0;
	struct job job = {0};

	for (unsigned i = 0; i < PDB_COUNT; i += 2)
		budgets[count++] = i;
	return submit_budgets(c, &job, budgets, count) && site_wait(&c->site, &job) == 0;
}

static bool delete_budget(struct campaign *c, struct job *job, unsigned budget)
{
	char full[2 * SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE],
		namespace[SCENARIO_NAME_SIZE];
	const char *const args[] = {
		"delete", "budget", full, "--yes", "--ignore-not-found", NULL};

	pdb_name(budget, name);
	pdb_namespace(budget, namespace);
	(void)snprintf(full, sizeof full, "%s/%s", namespace, name);
	return site_command(&c->site, job, args, COMMAND_MS);
}

bool user_delete_bad_budget(struct campaign *c, struct job *job)
{
	for (unsigned b = 0; b < PDB_COUNT; b++)
		if (pdb_judge_is_bad(c->observer.budgets, b))
			return delete_budget(c, job, b);
	return false;
}

bool user_delete_budget(struct campaign *c, struct job *job)
{
	unsigned budget = (unsigned)campaign_below(c, PDB_COUNT);

	for (unsigned tries = 0;
	     tries < TRIES && !pdb_judge_has_pods(c->observer.budgets, budget); tries++)
		budget = (unsigned)campaign_below(c, PDB_COUNT);
	return delete_budget(c, job, budget);
}
