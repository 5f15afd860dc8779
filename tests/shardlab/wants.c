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
	PAST_MS = 30000, /* so long an eviction past budgets may come late */
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

void wants_pods_file(struct campaign *c, const uint32_t *pods, unsigned count,
                     char path[JOB_PATH_SIZE])
{
	FILE *file = new_file(c, "pods", path);
	char json[SCENE_JSON_SIZE];

	for (unsigned i = 0; i < count; i++) {
		scene_pod_json(pods[i], &c->pod[pods[i]].what, json);
		(void)fprintf(file, "%s\n", json);
	}
	(void)fclose(file);
}

void wants_nodes_file(struct campaign *c, const uint32_t *nodes, unsigned count,
                      char path[JOB_PATH_SIZE])
{
	FILE *file = new_file(c, "nodes", path);
	char json[SCENE_JSON_SIZE];

	for (unsigned i = 0; i < count; i++) {
		scene_node_json(&c->scene, nodes[i], &c->node[nodes[i]], json);
		(void)fprintf(file, "%s\n", json);
	}
	(void)fclose(file);
}

/* -- nodes ------------------------------------------------------------------------ */

static bool apply(struct campaign *c, struct job *job, const char *cluster,
                  const uint32_t *nodes, unsigned count)
{
	char path[JOB_PATH_SIZE];
	const char *const args[] = {"nodes", "apply", "--cluster", cluster,
	                            "-f",    path,    NULL};

	wants_nodes_file(c, nodes, count, path);
	return site_command(&c->site, job, args, LONG_MS);
}

/* For maintenance: who does not bear that has to go. */
static void close_node(struct campaign *c, uint32_t node)
{
	c->node[node].closed = true;
	c->node[node].closed_ms = campaign_below(c, 2) == 0 ? 0 : pl_clock_wall_ms();
}

/* Some stay closed in the end, too. */
static void first_node(struct campaign *c, uint32_t node, bool in_the_end)
{
	uint32_t version = c->node[node].version + 1;

	c->node[node] = scene_node_first(&c->scene, node);
	c->node[node].version = version;
	if (in_the_end && node < c->scene.nodes && scene_stays_closed(node))
		close_node(c, node);
}

bool wants_all_nodes(struct campaign *c, bool extra)
{
	static uint32_t nodes[ALL_NODES];
	uint32_t all = c->scene.nodes + (extra ? c->scene.extra : 0);
	char cluster[SCENE_NAME_SIZE], want[SCENE_NAME_SIZE];
	bool good = true;

	for (unsigned k = 0; k < SITE_CLUSTERS; k++) {
		unsigned count = 0;
		struct job job = {0};

		(void)snprintf(want, sizeof want, "c%u", k);
		for (uint32_t i = 0; i < all && count < ALL_NODES; i++) {
			scene_node_cluster(&c->scene, i, cluster);
			if (strcmp(cluster, want) != 0)
				continue;
			first_node(c, i, extra);
			nodes[count++] = i;
		}
		good = apply(c, &job, want, nodes, count) &&
		       site_wait(&c->site, &job) == 0 && good;
	}
	return good;
}

static bool apply_one(struct campaign *c, struct job *job, uint32_t node)
{
	char cluster[SCENE_NAME_SIZE];

	c->node[node].version++;
	scene_node_cluster(&c->scene, node, cluster);
	return apply(c, job, cluster, &node, 1);
}

bool wants_node_again(struct campaign *c, struct job *job, uint32_t node)
{
	return apply_one(c, job, node);
}

bool wants_change(struct campaign *c, struct job *job, uint32_t node)
{
	struct scene_node *what = &c->node[node];

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

bool wants_node_back(struct campaign *c, struct job *job, uint32_t node)
{
	uint32_t version = c->node[node].version;

	c->node[node] = scene_node_first(&c->scene, node);
	c->node[node].version = version;
	return apply_one(c, job, node);
}

void wants_node_name(const struct campaign *c, uint32_t node, char out[SITE_NAME])
{
	char cluster[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];

	scene_node_cluster(&c->scene, node, cluster);
	scene_node_name(node, name);
	(void)snprintf(out, SITE_NAME, "%s/%s", cluster, name);
}

/* -- pods ------------------------------------------------------------------------- */

/* It was removed, is gone, and may come again under its name, as another one. */
static bool is_free(const struct campaign *c, uint32_t i)
{
	const struct stock_pod *pod = &c->witness.world.stock->pod[i];

	for (unsigned k = 0; k < CAMPAIGN_SLOTS; k++)
		if (c->act[k].busy &&
		    (c->act[k].what == ACT_REMOVE || c->act[k].what == ACT_FORCE))
			return false; /* who removes by name might mean the new one */
	return c->pod[i].submitted && c->witness.removed[i] && c->witness.listed &&
	       !pod->has_spec && pod->phase == STOCK_NO_STATE && !pod->spoilt;
}

static unsigned pick_submits(struct campaign *c, uint32_t pods[BATCH])
{
	unsigned count = 0, again = 0;

	while (count < BATCH && c->next_pod < c->scene.pods) {
		c->pod[c->next_pod].submitted = true;
		pods[count++] = c->next_pod++;
	}
	for (uint32_t i = 0; i < c->scene.pods && again < BATCH / 3 && count < BATCH;
	     i++) {
		if (!is_free(c, i) || campaign_below(c, 2) == 0)
			continue;
		c->witness.removed[i] = false;
		c->pod[i].what.life++;
		pods[count++] = i;
		again++;
	}
	/* What is there already: nothing changes. */
	for (unsigned k = 0; k < FEW && count < BATCH && c->next_pod > 0; k++) {
		uint32_t i = (uint32_t)campaign_below(c, c->next_pod);
		bool twice = c->witness.removed[i];

		for (unsigned n = 0; n < count; n++)
			twice = twice || pods[n] == i;
		if (!twice)
			pods[count++] = i;
	}
	return count;
}

/* Half of them are there when things begin to happen, the others come meanwhile. */
bool wants_first(struct campaign *c)
{
	static uint32_t pods[FIRST_MAX];
	char path[JOB_PATH_SIZE];
	const char *const args[] = {"submit", "-f", path, NULL};
	struct job job = {0};

	while (c->next_pod < c->scene.pods / 2 && c->next_pod < FIRST_MAX) {
		c->pod[c->next_pod].submitted = true;
		pods[c->next_pod] = c->next_pod;
		c->next_pod++;
	}
	wants_pods_file(c, pods, c->next_pod, path);
	return site_command(&c->site, &job, args, LONG_MS) &&
	       site_wait(&c->site, &job) == 0;
}

bool wants_submit(struct campaign *c, struct job *job)
{
	uint32_t pods[BATCH];
	unsigned count = pick_submits(c, pods);
	char path[JOB_PATH_SIZE];
	const char *const args[] = {"submit", "-f", path, NULL};

	if (count == 0)
		return false;
	wants_pods_file(c, pods, count, path);
	return site_command(&c->site, job, args, COMMAND_MS);
}

/* Some that are there. */
static unsigned pick(struct campaign *c, uint32_t pods[FEW])
{
	unsigned count = 0, want = 1 + (unsigned)campaign_below(c, FEW);

	for (unsigned tries = 0; tries < TRIES && count < want && c->next_pod > 0;
	     tries++) {
		uint32_t i = (uint32_t)campaign_below(c, c->next_pod);
		bool twice = !c->witness.world.stock->pod[i].has_spec;

		for (unsigned k = 0; k < count; k++)
			twice = twice || pods[k] == i;
		if (!twice)
			pods[count++] = i;
	}
	return count;
}

static bool ask(struct campaign *c, struct job *job, const char *const words[],
                const uint32_t *pods, unsigned count)
{
	char name[FEW][2 * SCENE_NAME_SIZE], namespace[SCENE_NAME_SIZE];
	const char *args[FEW + 10];
	unsigned n = 0;

	for (; *words != NULL; words++)
		args[n++] = *words;

	for (unsigned k = 0; k < count; k++) {
		scene_pod_space(pods[k], namespace);
		(void)snprintf(name[k], sizeof name[k], "%s/p-%u", namespace, pods[k]);
		args[n++] = name[k];
	}
	args[n++] = "--yes";
	args[n++] = "--ignore-not-found";
	args[n] = NULL;
	return count > 0 && site_command(&c->site, job, args, COMMAND_MS);
}

bool wants_remove(struct campaign *c, struct job *job, bool force)
{
	uint32_t pods[FEW];
	unsigned count = pick(c, pods);

	for (unsigned k = 0; k < count; k++)
		c->witness.removed[pods[k]] = true;
	return ask(c, job,
	           (const char *const[]){"delete", "pod", "--wait=false",
	                                 force ? "--force" : NULL, NULL},
	           pods, count);
}

/* -- who is moved, and budgets ---------------------------------------------------- */

static uint64_t past_until(const struct campaign *c)
{
	return c->witness.world.agenda.now_ms + PAST_MS;
}

static bool is_covered(const struct campaign *c, uint32_t pod)
{
	for (unsigned b = 0; b < PDB_COUNT; b++)
		if (pdb_judge_stands(c->witness.budgets, b) && pdb_covers(b, pod))
			return true;
	return false;
}

/* Some, most of them running under a budget. */
static unsigned pick_covered(struct campaign *c, uint32_t pods[FEW])
{
	const struct stock *stock = c->witness.world.stock;
	unsigned count = pick(c, pods);

	for (unsigned k = 0; k < count && campaign_below(c, 4) != 0; k++) {
		uint32_t first = (uint32_t)campaign_below(c, stock->pods), i = first;

		do {
			i = (i + 1) % stock->pods;
		} while (i != first && (stock->pod[i].phase != STOCK_BOUND ||
		                        stock->pod[i].asked || !is_covered(c, i)));
		for (unsigned n = 0; n < count && i != first; n++)
			if (pods[n] == i)
				i = first;
		if (i != first)
			pods[k] = i;
	}
	return count;
}

bool wants_evict(struct campaign *c, struct job *job, bool force, bool past)
{
	const char *words[8] = {"evict", "pod", "--timeout=4s"};
	unsigned n = 3, count;
	uint32_t pods[FEW];

	count = pick_covered(c, pods);
	for (unsigned k = 0; past && k < count; k++)
		pdb_judge_past(c->witness.budgets, pods[k], past_until(c));
	if (past)
		words[n++] = "--ignore-budgets";
	if (force)
		words[n] = "--force";
	return ask(c, job, words, pods, count);
}

void wants_past_on(struct campaign *c, uint32_t node)
{
	pdb_judge_past_node(c->witness.budgets, node, past_until(c));
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

bool wants_budgets(struct campaign *c, struct job *job, unsigned most)
{
	unsigned budgets[PDB_COUNT], count = 1 + (unsigned)campaign_below(c, most);
	unsigned first = (unsigned)campaign_below(c, PDB_COUNT);

	for (unsigned i = 0; i < count; i++)
		budgets[i] = (first + i * 5) % PDB_COUNT;
	return submit_budgets(c, job, budgets, count);
}

bool wants_first_budgets(struct campaign *c)
{
	unsigned budgets[PDB_COUNT], count = 0;
	struct job job = {0};

	for (unsigned i = 0; i < PDB_COUNT; i += 2)
		budgets[count++] = i;
	return submit_budgets(c, &job, budgets, count) && site_wait(&c->site, &job) == 0;
}

static bool delete_budget(struct campaign *c, struct job *job, unsigned budget)
{
	char full[2 * SCENE_NAME_SIZE], name[SCENE_NAME_SIZE], namespace[SCENE_NAME_SIZE];
	const char *const args[] = {
		"delete", "budget", full, "--yes", "--ignore-not-found", NULL};

	pdb_name(budget, name);
	pdb_space(budget, namespace);
	(void)snprintf(full, sizeof full, "%s/%s", namespace, name);
	return site_command(&c->site, job, args, COMMAND_MS);
}

bool wants_no_bad_budget(struct campaign *c, struct job *job)
{
	for (unsigned b = 0; b < PDB_COUNT; b++)
		if (pdb_judge_is_bad(c->witness.budgets, b))
			return delete_budget(c, job, b);
	return false;
}

bool wants_no_budget(struct campaign *c, struct job *job)
{
	unsigned budget = (unsigned)campaign_below(c, PDB_COUNT);

	for (unsigned tries = 0;
	     tries < TRIES && !pdb_judge_stands(c->witness.budgets, budget); tries++)
		budget = (unsigned)campaign_below(c, PDB_COUNT);
	return delete_budget(c, job, budget);
}
