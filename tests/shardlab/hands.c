#include <inttypes.h>

#include "store/keys/partition.h"
#include "store/kv/calls.h"
#include "tests/shardlab/campaign.h"

enum { JUNK_BYTES = 1 << 20, JUNK_MAX = 200, TRIES = 20, PAUSE_MS = 300 };

/* -- keys ------------------------------------------------------------------------- */

static struct pl_span node_key(const struct campaign *c, uint32_t node,
                               enum keys_kind kind, struct keys_text *out)
{
	char cluster[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];
	struct keys_id id = {.kind = kind};

	scene_node_cluster(&c->scene, node, cluster);
	scene_node_name(node, name);
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
	char namespace[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];
	struct keys_id id = {.kind = kind,
	                     .partition = c->witness.world.stock->pod[pod].partition};

	scene_pod_space(pod, namespace);
	scene_pod_name(pod, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, out, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	return keys_span(out);
}

/* -- by hand ---------------------------------------------------------------------- */

/* Marked as what it is. value NULL: deleted. */
static void write_key(struct campaign *c, struct pl_span key, const char *value)
{
	const struct kv_req ops[] = {
		kv_op_put(PL_SPAN_LIT(WITNESS_HAND), PL_SPAN_LIT("1")),
		value == NULL ? kv_op_delete(kv_key(key))
			      : kv_op_put(key, pl_span_str(value))};
	const struct kv_req req = {.op = KV_TXN, .txn = {.then = ops, .then_count = 2}};

	(void)site_call(&c->site, &req, NULL, NULL);
}

static const char *garbage(struct campaign *c)
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

static void spoil_with(struct campaign *c, struct pl_span key, const char *value)
{
	campaign_say(c, "by hand: " PL_SPAN_FMT " %s%s", PL_SPAN_ARG(key),
	             value == NULL ? "deleted" : "becomes ", value == NULL ? "" : value);
	c->spoilt = true;
	write_key(c, key, value);
}

static void spoil(struct campaign *c, struct pl_span key)
{
	spoil_with(c, key, campaign_below(c, 2) == 0 ? NULL : garbage(c));
}

void hands_spoil_node(struct campaign *c)
{
	uint32_t node = (uint32_t)campaign_below(c, c->scene.nodes);
	bool alloc = campaign_below(c, 4) != 0;
	struct keys_text key;

	witness_spoil_node(&c->witness, node);
	spoil(c, node_key(c, node, alloc ? KEYS_ALLOC : KEYS_NODE, &key));
}

/* One that is there, if that can be. */
void hands_spoil_pod(struct campaign *c)
{
	const struct stock *stock = c->witness.world.stock;
	bool state = campaign_below(c, 3) != 0;
	struct keys_text key;
	uint32_t pod = 0;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		pod = (uint32_t)campaign_below(c, c->scene.pods);
		if (stock->pod[pod].has_spec && stock->pod[pod].phase != STOCK_NO_STATE)
			break;
	}
	if (!stock->pod[pod].has_spec)
		return;
	witness_spoil_pod(&c->witness, pod);
	spoil(c, pod_key(c, pod, state ? KEYS_STATE : KEYS_SPEC, &key));
}

struct pick {
	struct campaign *c;
	struct keys_text key;
	bool done, found;
};

static void on_rules(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pick *pick = ctx;
	struct keys_id id;
	uint64_t i;

	pick->done = true;
	if (err != NULL || result->get.count == 0)
		return;
	i = campaign_below(pick->c, result->get.count);
	pick->found = keys_parse(result->get.records[i].key, &id, NULL) == PL_OK &&
	              keys_build(&id, &pick->key, NULL) == PL_OK;
	if (id.kind == KEYS_REGISTRY || id.kind == KEYS_REGISTRY_GLOBAL)
		witness_spoil_rules(&pick->c->witness);
}

/* A lock, or which rules there are. */
void hands_spoil_rules(struct campaign *c)
{
	struct kv_get get = {.keys = kv_prefix(PL_SPAN_LIT("/groups/")),
	                     .keys_only = true};
	struct pick pick = {.c = c};

	if (kv_get(c->site.kv, &get, SITE_CALL_MS, on_rules, &pick, NULL, NULL) != PL_OK)
		return;
	while (!pick.done)
		(void)uv_run(&c->site.loop, UV_RUN_ONCE);
	if (pick.found)
		spoil(c, keys_span(&pick.key));
}

/* One that is under way; else one that is not gets a record that makes no sense. */
void hands_spoil_gang(struct campaign *c)
{
	const struct stock *stock = c->witness.world.stock;
	uint32_t from = (uint32_t)campaign_below(c, stock->gangs), gang = from, k = 0;
	struct keys_id id = {.kind = KEYS_GANG};
	char namespace[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];
	struct keys_text key;

	for (; k < stock->gangs; k++) {
		gang = (from + k) % stock->gangs;
		if (stock->gang[gang].phase != STOCK_GANG_NONE)
			break;
	}
	if (k == stock->gangs)
		gang = from;
	scene_gang_space(gang, namespace);
	scene_gang_name(gang, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	witness_spoil_gang(&c->witness, gang);
	if (k < stock->gangs)
		spoil(c, keys_span(&key));
	else
		spoil_with(c, keys_span(&key), garbage(c));
}

/* One that is there, if that can be. */
void hands_spoil_budget(struct campaign *c)
{
	unsigned budget = 0;
	struct keys_id id = {.kind = KEYS_BUDGET};
	char namespace[SCENE_NAME_SIZE], name[SCENE_NAME_SIZE];
	struct keys_text key;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		budget = (unsigned)campaign_below(c, PDB_COUNT);
		if (pdb_judge_stands(c->witness.budgets, budget))
			break;
	}
	pdb_space(budget, namespace);
	pdb_name(budget, name);
	id.scope = pl_span_str(namespace);
	id.name = pl_span_str(name);
	if (keys_build(&id, &key, NULL) != PL_OK)
		PL_UNREACHABLE("key");
	witness_spoil_budget(&c->witness, budget);
	spoil(c, keys_span(&key));
}

/* Specs only they know, also those of pods that are to go: these are deleted then. */
static void right_pod(struct campaign *c, uint32_t i)
{
	const struct stock_pod *pod = &c->witness.world.stock->pod[i];
	struct scene_pod what = pod->what.cpu_milli != 0 ? pod->what : c->pod[i].what;
	char json[SCENE_JSON_SIZE];
	struct keys_text key;

	if ((pod->has_spec && !pod->bad_spec) ||
	    (!pod->has_spec && !pod->has_pointer && pod->phase == STOCK_NO_STATE))
		return;
	scene_pod_json(i, &what, json);
	write_key(c, pod_key(c, i, KEYS_SPEC, &key), json);
}

/* Nodes are applied by those who run them: where the alloc makes no sense, as soon as
 * that is mended. */
void hands_put_right(struct campaign *c)
{
	const struct stock *stock = c->witness.world.stock;

	for (uint32_t i = 0; i < stock->pods; i++)
		if (stock->pod[i].spoilt)
			right_pod(c, i);
	for (unsigned i = 0; i < PDB_COUNT; i++) {
		struct job job = {0};

		if (wants_no_bad_budget(c, &job))
			(void)site_wait(&c->site, &job);
	}
	for (uint32_t i = 0; i < c->scene.nodes; i++) {
		const struct stock_node *node = &stock->node[i];
		struct job job = {0};

		if (node->spoilt && (!node->has_node || node->bad_node) &&
		    wants_node_again(c, &job, i))
			(void)site_wait(&c->site, &job);
	}
}

/* -- the store's room ------------------------------------------------------------- */

void hands_fill(struct campaign *c)
{
	static char value[JUNK_BYTES];
	char key[32];

	memset(value, 'x', sizeof value);
	c->junk = true;
	for (unsigned i = 0; i < JUNK_MAX; i++) {
		struct kv_req req;

		(void)snprintf(key, sizeof key, WITNESS_JUNK "%u", i);
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

void hands_compact(struct campaign *c)
{
	struct kv_header header = {0};
	struct kv_req now = kv_op_get(kv_key(PL_SPAN_LIT(WITNESS_HAND)));
	struct kv_req req = {.op = KV_COMPACT};

	if (site_call(&c->site, &now, &header, NULL) != PL_OK)
		return;
	req.compact = (struct kv_compact){.revision = header.revision, .physical = true};
	(void)site_call(&c->site, &req, NULL, NULL);
}

/* As an operator would; until the store takes something again. */
void hands_empty(struct campaign *c)
{
	const struct kv_req junk = kv_op_delete(kv_prefix(PL_SPAN_LIT(WITNESS_JUNK)));
	const struct kv_req probe =
		kv_op_put(PL_SPAN_LIT(WITNESS_HAND), PL_SPAN_LIT("2"));

	for (unsigned tries = 0; tries < TRIES; tries++) {
		(void)site_call(&c->site, &junk, NULL, NULL);
		hands_compact(c);
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
