#include <inttypes.h>

#include "store/keys/partition.h"
#include "store/kv/calls.h"
#include "tests/shardlab/campaign.h"

enum { JUNK_BYTES = 1 << 20, JUNK_MAX = 200, TRIES = 20, PAUSE_MS = 300 };

/* -- keys ------------------------------------------------------------------------- */

static struct pl_span node_key(const struct campaign *c, uint32_t node,
                               enum keys_kind kind, struct keys_text *out)
{
	char cluster[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	struct keys_id id = {.kind = kind};

	scenario_node_cluster(&c->scenario, node, cluster);
	scenario_node_name(node, name);
	id.scope = pl_span_str(cluster);
	id.name = pl_span_str(name);
	if (partition_of_node(id.scope, id.name, SITE_PARTITIONS, &id.partition, NULL) !=
	            PL_OK ||
	    keys_build(&id, out, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	return keys_span(out);
}

static struct pl_span pod_key(const struct campaign *c, uint32_t pod, enum keys_kind kind,
                              struct keys_text *out)
{
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	struct keys_id id = {.kind = kind,
	                     .partition = c->observer.world.mirror->pod[pod].partition};

	scenario_pod_namespace(pod, namespace);
	scenario_pod_name(pod, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, out, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	return keys_span(out);
}

/* -- writes by hand --------------------------------------------------------------- */

/* The transaction also writes OBSERVER_MANUAL, so that the observer knows its writer.
 * value NULL: the key is deleted. */
static void write_key(struct campaign *c, struct pl_span key, const char *value)
{
	const struct kv_req ops[] = {
		kv_op_put(PL_SPAN_LIT(OBSERVER_MANUAL), PL_SPAN_LIT("1")),
		value == NULL ? kv_op_delete(kv_key(key))
			      : kv_op_put(key, pl_span_str(value))};
	const struct kv_req req = {.op = KV_TXN, .txn = {.then = ops, .then_count = 2}};

	(void)site_call(&c->site, &req, NULL, NULL);
}

static const char *pick_garbage(struct campaign *c)
{
	static const char *const values[] = {"",
	                                     "{",
	                                     "{}",
	                                     "{\"v\":1}",
	                                     "null",
	                                     "{\"v\":2,\"generation\":1}",
	                                     "{\"v\":1,\"at\":\"home\"}",
	                                     "{\"v\":1,\"phase\":\"Bound\"}",
	                                     "{\"v\":1,\"generation\":\"many\"}"};

	return values[campaign_below(c, sizeof values / sizeof values[0])];
}

static void corrupt_key_with(struct campaign *c, struct pl_span key, const char *value)
{
	campaign_print(c, "by hand: " PL_SPAN_FMT " %s%s", PL_SPAN_ARG(key),
	               value == NULL ? "deleted" : "becomes ",
	               value == NULL ? "" : value);
	c->corrupted = true;
	write_key(c, key, value);
}

static void corrupt_key(struct campaign *c, struct pl_span key)
{
	corrupt_key_with(c, key, campaign_below(c, 2) == 0 ? NULL : pick_garbage(c));
}

void manual_corrupt_node(struct campaign *c)
{
	uint32_t node = (uint32_t)campaign_below(c, c->scenario.nodes);
	bool alloc = campaign_below(c, 4) != 0;
	struct keys_text key;

	observer_corrupt_node(&c->observer, node);
	corrupt_key(c, node_key(c, node, alloc ? KEYS_ALLOC : KEYS_NODE, &key));
}

/* Picks a pod that exists, if there is one. */
void manual_corrupt_pod(struct campaign *c)
{
	const struct mirror *mirror = c->observer.world.mirror;
	bool state = campaign_below(c, 3) != 0;
	struct keys_text key;
	uint32_t pod = 0;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		pod = (uint32_t)campaign_below(c, c->scenario.pods);
		if (mirror->pod[pod].has_spec &&
		    mirror->pod[pod].phase != MIRROR_NO_STATE)
			break;
	}
	if (!mirror->pod[pod].has_spec)
		return;
	observer_corrupt_pod(&c->observer, pod);
	corrupt_key(c, pod_key(c, pod, state ? KEYS_STATE : KEYS_SPEC, &key));
}

struct key_pick {
	struct campaign *c;
	struct keys_text key;
	bool done, found;
};

static void on_rules(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct key_pick *pick = ctx;
	struct keys_id id;
	uint64_t i;

	pick->done = true;
	if (err != NULL || result->get.count == 0)
		return;
	i = campaign_below(pick->c, result->get.count);
	pick->found = keys_parse(result->get.records[i].key, &id, NULL) == PL_OK &&
	              keys_build(&id, &pick->key, NULL) == PL_OK;
	if (id.kind == KEYS_REGISTRY || id.kind == KEYS_REGISTRY_GLOBAL)
		observer_corrupt_rules(&pick->c->observer);
}

/* Damages a lock or a registry of rules. */
void manual_corrupt_rules(struct campaign *c)
{
	struct kv_get get = {.keys = kv_prefix(PL_SPAN_LIT("/groups/")),
	                     .keys_only = true};
	struct key_pick pick = {.c = c};

	if (kv_get(c->site.kv, &get, SITE_CALL_MS, on_rules, &pick, NULL, NULL) != PL_OK)
		return;
	while (!pick.done)
		(void)uv_run(&c->site.loop, UV_RUN_ONCE);
	if (pick.found)
		corrupt_key(c, keys_span(&pick.key));
}

/* Damages the record of a gang that is under way; without one, a malformed record is
 * written for another gang. */
void manual_corrupt_gang(struct campaign *c)
{
	const struct mirror *mirror = c->observer.world.mirror;
	uint32_t from = (uint32_t)campaign_below(c, mirror->gangs), gang = from, k = 0;
	struct keys_id id = {.kind = KEYS_GANG};
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	struct keys_text key;

	for (; k < mirror->gangs; k++) {
		gang = (from + k) % mirror->gangs;
		if (mirror->gang[gang].phase != MIRROR_GANG_NONE)
			break;
	}
	if (k == mirror->gangs)
		gang = from;
	scenario_gang_namespace(gang, namespace);
	scenario_gang_name(gang, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	observer_corrupt_gang(&c->observer, gang);
	if (k < mirror->gangs)
		corrupt_key(c, keys_span(&key));
	else
		corrupt_key_with(c, keys_span(&key), pick_garbage(c));
}

/* Picks a budget that exists, if there is one. */
void manual_corrupt_budget(struct campaign *c)
{
	unsigned budget = 0;
	struct keys_id id = {.kind = KEYS_BUDGET};
	char namespace[SCENARIO_NAME_SIZE], name[SCENARIO_NAME_SIZE];
	struct keys_text key;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		budget = (unsigned)campaign_below(c, PDB_COUNT);
		if (pdb_judge_has_pods(c->observer.budgets, budget))
			break;
	}
	pdb_namespace(budget, namespace);
	pdb_name(budget, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	observer_corrupt_budget(&c->observer, budget);
	corrupt_key(c, keys_span(&key));
}

/* A restored store may never have shown the pod's spec, and may hold an earlier
 * incarnation than the desired one, which stands in another partition. */
static struct scenario_pod lost_pod(const struct campaign *c, uint32_t i)
{
	const struct mirror_pod *pod = &c->observer.world.mirror->pod[i];
	struct scenario_pod desired = c->pod[i].what;

	if (pod->what.cpu_milli != 0)
		return pod->what;
	if (scenario_pod_partition(i, desired.incarnation, SITE_PARTITIONS) ==
	    pod->partition)
		return desired;
	return scenario_pod_in(i, pod->incarnation, pod->partition, SITE_PARTITIONS);
}

/* Only users know the specs, also of pods that are to be deleted, which are deleted
 * afterwards. */
static void restore_spec(struct campaign *c, uint32_t i)
{
	const struct mirror_pod *pod = &c->observer.world.mirror->pod[i];
	struct scenario_pod what = lost_pod(c, i);
	char json[SCENARIO_JSON_SIZE];
	struct keys_text key;

	if ((pod->has_spec && !pod->bad_spec) ||
	    (!pod->has_spec && !pod->has_pointer && pod->phase == MIRROR_NO_STATE))
		return;
	scenario_pod_json(i, &what, json);
	write_key(c, pod_key(c, i, KEYS_SPEC, &key), json);
}

/* Nodes are applied again by their users; where the alloc is malformed, as soon as that
 * is repaired. */
void manual_repair(struct campaign *c)
{
	const struct mirror *mirror = c->observer.world.mirror;

	for (uint32_t i = 0; i < mirror->pods; i++)
		if (mirror->pod[i].corrupted)
			restore_spec(c, i);
	for (unsigned i = 0; i < PDB_COUNT; i++) {
		struct job job = {0};

		if (user_delete_bad_budget(c, &job))
			(void)site_wait(&c->site, &job);
	}
	for (uint32_t i = 0; i < c->scenario.nodes; i++) {
		const struct mirror_node *node = &mirror->node[i];
		struct job job = {0};

		if (node->corrupted && (!node->has_node || node->bad_node) &&
		    user_reapply_node(c, &job, i))
			(void)site_wait(&c->site, &job);
	}
}

/* -- space in the store ----------------------------------------------------------- */

void manual_fill(struct campaign *c)
{
	static char value[JUNK_BYTES];
	char key[32];

	memset(value, 'x', sizeof value);
	c->junk = true;
	for (unsigned i = 0; i < JUNK_MAX; i++) {
		struct kv_req req;

		(void)snprintf(key, sizeof key, OBSERVER_JUNK "%u", i);
		req = kv_op_put(pl_span_str(key), pl_span(value, sizeof value));
		if (site_call(&c->site, &req, NULL, NULL) != PL_OK)
			return;
	}
}

static void etcdctl(struct campaign *c, const char *const args[])
{
	const char *argv[12] = {"etcdctl", "--endpoints", site_url(&c->site),
	                        "--command-timeout=20s"};
	unsigned count = 4;
	struct job job = {0};

	for (; *args != NULL; args++)
		argv[count++] = *args;
	if (site_program(&c->site, &job, argv, 25000))
		(void)site_wait(&c->site, &job);
}

void manual_compact(struct campaign *c)
{
	struct kv_header header = {0};
	struct kv_req now = kv_op_get(kv_key(PL_SPAN_LIT(OBSERVER_MANUAL)));
	struct kv_req req = {.op = KV_COMPACT};

	if (site_call(&c->site, &now, &header, NULL) != PL_OK)
		return;
	req.compact = (struct kv_compact){.revision = header.revision, .physical = true};
	(void)site_call(&c->site, &req, NULL, NULL);
}

/* Frees space as an operator would, until the store accepts a write. */
void manual_free_space(struct campaign *c)
{
	const struct kv_req junk = kv_op_delete(kv_prefix(PL_SPAN_LIT(OBSERVER_JUNK)));
	const struct kv_req probe =
		kv_op_put(PL_SPAN_LIT(OBSERVER_MANUAL), PL_SPAN_LIT("2"));

	for (unsigned tries = 0; tries < TRIES; tries++) {
		(void)site_call(&c->site, &junk, NULL, NULL);
		manual_compact(c);
		etcdctl(c, (const char *const[]){"defrag", NULL});
		etcdctl(c, (const char *const[]){"alarm", "disarm", NULL});
		if (site_call(&c->site, &probe, NULL, NULL) == PL_OK) {
			c->junk = false;
			return;
		}
		site_run_ms(&c->site, PAUSE_MS);
	}
	c->site.opts.failed(c->site.opts.ctx, "etcd", "it stays over its quota");
}
