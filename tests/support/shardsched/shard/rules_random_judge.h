/*
 * The naive judge of random histories under rules. It looks at a transaction that is
 * about to be applied: each pod with rules that the transaction binds must be one that a
 * single scheduler, deciding pod after pod on the store as it is at that moment, could
 * have put there.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_RULES_RANDOM_JUDGE_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_RULES_RANDOM_JUDGE_H

#include "tests/support/shardsched/shard/rules_random_world.h"

static unsigned judged;

struct rules_judge_truth {
	uint32_t zone[NODES]; /* ZONES: the node does not exist */
	uint32_t at[PODS];    /* NOWHERE: not bound */
	bool team_a;          /* namespace web is of team a */
};

static inline void look(struct rules_judge_truth *truth)
{
	truth->team_a = strstr(value_of(WEB_KEY), "\"team\":\"a\"") != NULL;
	for (uint32_t i = 0; i < PODS; i++)
		truth->at[i] = NOWHERE;
	for (uint32_t n = 0; n < NODES; n++) {
		const char *label = strstr(value_of(node_key(n)), "\"zone\":\"z");
		struct alloc alloc;

		truth->zone[n] = label == NULL ? ZONES : (uint32_t)(label[9] - '0');
		if (label == NULL)
			continue;
		alloc = alloc_of(n);
		for (uint32_t i = 0; i < alloc.pods; i++)
			truth->at[number_of(alloc.pod[i].name)] = n;
	}
}

static inline bool clash(const struct rules_judge_truth *truth, uint32_t a, uint32_t b)
{
	const struct rules_pod_kind *x = kind_of(a), *y = kind_of(b);

	if (x->apart_team != 0 && x->apart_team == y->app && truth->team_a && is_web(b))
		return true;
	return (x->apart != 0 && x->apart == y->app && is_web(b)) ||
	       (x->apart_from != 0 && x->apart_from == y->app && is_web(b));
}

static inline uint32_t count_in(const struct rules_judge_truth *truth, char app,
                                uint32_t zone)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PODS; i++)
		count += truth->at[i] != NOWHERE && kind_of(i)->app == app &&
		         (zone == ZONES || truth->zone[truth->at[i]] == zone);
	return count;
}

static inline bool is_zone(const struct rules_judge_truth *truth, uint32_t zone)
{
	for (uint32_t n = 0; n < NODES; n++)
		if (truth->zone[n] == zone)
			return true;
	return false;
}

static inline bool zone_skews(const struct rules_judge_truth *truth, uint32_t pod,
                              char app, uint32_t zone)
{
	uint32_t least = UINT32_MAX;
	uint32_t own = count_in(truth, app, zone) + (kind_of(pod)->app == app);

	for (uint32_t z = 0; z < ZONES; z++)
		if (is_zone(truth, z) && count_in(truth, app, z) < least)
			least = count_in(truth, app, z);
	return own > least + 1;
}

static inline bool host_skews(const struct rules_judge_truth *truth, uint32_t pod,
                              uint32_t node)
{
	char app = kind_of(pod)->spread_host;
	uint32_t count[NODES] = {0}, least = UINT32_MAX;

	for (uint32_t i = 0; i < PODS; i++)
		if (truth->at[i] != NOWHERE && kind_of(i)->app == app)
			count[truth->at[i]]++;
	for (uint32_t n = 0; n < NODES; n++)
		if (truth->zone[n] != ZONES && count[n] < least)
			least = count[n];
	return count[node] + (kind_of(pod)->app == app) > least + 1;
}

/* NULL: a single scheduler could put the pod there now. */
static inline const char *complaint(const struct rules_judge_truth *truth, uint32_t pod,
                                    uint32_t node)
{
	const struct rules_pod_kind *kind = kind_of(pod);
	uint32_t zone = truth->zone[node];

	if (zone == ZONES)
		return "there is no such node";
	for (uint32_t i = 0; i < PODS; i++)
		if (i != pod && truth->at[i] != NOWHERE &&
		    truth->zone[truth->at[i]] == zone &&
		    (clash(truth, pod, i) || clash(truth, i, pod)))
			return "it is not to be with one that is there";
	if (kind->near != 0 && count_in(truth, kind->near, zone) == 0 &&
	    (kind->near != kind->app || count_in(truth, kind->near, ZONES) > 0))
		return "it is to be where one is";
	if ((kind->spread != 0 && zone_skews(truth, pod, kind->spread, zone)) ||
	    (kind->levels != 0 && zone_skews(truth, pod, kind->levels, zone)))
		return "zones are not even";
	if (kind->spread_host != 0 && host_skews(truth, pod, node))
		return "hosts are not even";
	return NULL;
}

struct rules_judge_bind {
	uint32_t pod, node;
};

/* The pods can be bound one after the other in some order. */
/* NOLINTNEXTLINE(misc-no-recursion): as deep as there are binds */
static inline bool can_be(struct rules_judge_truth *truth, struct rules_judge_bind *bind,
                          uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct rules_judge_bind last = bind[count - 1], it = bind[i];
		bool can;

		if (complaint(truth, it.pod, it.node) != NULL)
			continue;
		truth->at[it.pod] = it.node;
		bind[i] = last;
		can = can_be(truth, bind, count - 1);
		bind[i] = it;
		bind[count - 1] = last;
		truth->at[it.pod] = NOWHERE;
		if (can)
			return true;
	}
	return count == 0;
}

static inline uint32_t binds_of(const struct kv_txn *txn, struct rules_judge_bind *bind)
{
	uint32_t count = 0;

	for (size_t i = 0; i < txn->then_count; i++) {
		struct keys_id id;
		struct pod_state state;

		if (txn->then[i].op != KV_PUT)
			continue;
		T_EQ(keys_parse(txn->then[i].put.key, &id, NULL), PL_OK);
		if (id.kind != KEYS_STATE)
			continue;
		T_OK(state_parse(txn->then[i].put.value, &store.arena, &state, &err),
		     &err);
		if (state.phase == STATE_BOUND)
			bind[count++] = (struct rules_judge_bind){number_of(id.name),
			                                          number_of(state.node)};
	}
	return count;
}

static inline void judge(const struct kv_txn *txn)
{
	struct rules_judge_bind bind[PODS];
	struct rules_judge_truth truth;
	uint32_t count = binds_of(txn, bind);

	look(&truth);
	judged += count;
	if (can_be(&truth, bind, count))
		return;
	for (uint32_t i = 0; i < count; i++) {
		const char *why = complaint(&truth, bind[i].pod, bind[i].node);

		if (why != NULL)
			t_fail(__FILE__, __LINE__, "p-%u on n-%u at %lld: %s",
			       bind[i].pod, bind[i].node, (long long)store.revision, why);
	}
	t_fail(__FILE__, __LINE__, "in no order");
}

#endif
