/* Commands of placet that users run. */
#include <inttypes.h>

#include "store/base/clock.h"
#include "tests/shardlab/campaign.h"

enum { COMMAND_MS = 20000 };

static uint64_t random_ms(struct campaign *c, uint64_t low, uint64_t high)
{
	return pl_rng_between(&c->rng, low, high);
}

static uint32_t pick_node(struct campaign *c)
{
	for (;;) {
		uint32_t node = (uint32_t)campaign_below(c, c->scenario.nodes);
		bool busy = false;

		for (unsigned i = 0; i < CAMPAIGN_SLOTS; i++)
			busy = busy || (c->act[i].busy && c->act[i].node == node);
		if (!busy)
			return node;
	}
}

static bool on_node(struct campaign *c, struct act *act, const char *const words[])
{
	const char *args[12] = {"nodes", words[0]};
	char name[SITE_NAME];
	unsigned count = 2;

	user_node_name(c, act->node, name);
	args[count++] = name;
	for (unsigned i = 1; words[i] != NULL; i++)
		args[count++] = words[i];
	return site_command(&c->site, &act->job, args, COMMAND_MS);
}

#define ON_NODE(c, act, ...) on_node(c, act, (const char *const[]){__VA_ARGS__, NULL})

static bool configure_shards(struct campaign *c, struct act *act, bool back)
{
	static const char *const ways[][2][4] = {
		{{"coord", "handover_ms=100", "settle_ms=0", NULL},
	         {"coord", "handover_ms=", "settle_ms=", NULL}},
		{{"scheduler", "shard.batch=3", "shard.inflight=1", NULL},
	         {"scheduler", "shard.batch=", "shard.inflight=", NULL}},
		{{"scheduler", "queue.fair=true", NULL, NULL},
	         {"scheduler", "queue.fair=", NULL, NULL}},
		{{"shards", "drain=[d0-0, d1-1]", NULL, NULL},
	         {"shards", "drain=[]", NULL, NULL}},
	};
	const char *args[8] = {"config", "set"};

	if (!back)
		act->target = (unsigned)campaign_below(c, sizeof ways / sizeof ways[0]);
	for (unsigned i = 0; i < 4; i++)
		args[2 + i] = ways[act->target][back][i];
	return site_command(&c->site, &act->job, args, COMMAND_MS);
}

/* Acts on pods and their budgets. */
static bool begin_pods(struct campaign *c, struct act *act)
{
	if (act->what == ACT_SUBMIT)
		return user_submit(c, &act->job);
	if (act->what == ACT_EVICT)
		return user_evict(c, &act->job, campaign_below(c, 4) == 0,
		                  campaign_below(c, 5) == 0);
	if (act->what == ACT_BUDGET)
		return user_submit_budgets(c, &act->job, 3);
	if (act->what == ACT_UNBUDGET)
		return user_delete_budget(c, &act->job);
	return user_remove(c, &act->job, act->what == ACT_FORCE);
}

bool act_begin_users(struct campaign *c, struct act *act, uint64_t now_ms)
{
	act->until_ms = now_ms;
	if (act->what < ACT_CHANGE)
		return begin_pods(c, act);
	act->until_ms = now_ms + random_ms(c, 500, 5000);
	if (act->what == ACT_CONFIG)
		return configure_shards(c, act, false);
	act->node = pick_node(c);
	if (act->what == ACT_CHANGE)
		return user_change_node(c, &act->job, act->node);
	if (act->what == ACT_CORDON)
		return ON_NODE(c, act, "cordon");
	if (act->what == ACT_DELETE_NODE)
		user_ignore_budgets_on(c, act->node);
	if (act->what == ACT_DELETE_NODE)
		return ON_NODE(c, act, "delete", "--yes", "--force", "--timeout=8s");
	return ON_NODE(c, act, "drain", "--timeout=8s",
	               campaign_below(c, 2) == 0 ? "--force" : NULL);
}

void act_end_users(struct campaign *c, struct act *act)
{
	if (act->what == ACT_CHANGE || act->what == ACT_DELETE_NODE)
		(void)user_restore_node(c, &act->job, act->node);
	if (act->what == ACT_CORDON || act->what == ACT_DRAIN)
		(void)ON_NODE(c, act, "uncordon");
	if (act->what == ACT_CONFIG)
		(void)configure_shards(c, act, true);
}
