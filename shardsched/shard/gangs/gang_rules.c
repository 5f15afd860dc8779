/*
 * Rules about pods on other nodes, for gangs that are bound by a record.
 *
 * Between the decision and the txn that makes the record bound (the flip) other pods are
 * placed, and what was allowed may not be any more. So a gang that rules concern is
 * decided again once all of its reservations stand: each member for the node that is
 * reserved for it, in the order in which they were placed at first. The flip compares
 * what this decision relied on, as a batch does. So the gang is bound in that moment as
 * if a scheduler had placed it pod after pod. From there on nothing is decided under
 * rules until its pods are in the allocs.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/reservations/reservation.h"
#include "shardsched/shard/txn/batch.h"

enum {
	ROUNDS = 8, /* in each, members that do not fit yet are judged again */
	OPS_DEFAULT = 128,
	/* The record, two registries, /groups/nodes, and fences. */
	OPS_BESIDE = 12,
	/* A pod's state and its node's alloc; there are always fewer compares. */
	OPS_OF_POD = 2,
	ARENA_CHUNK = 16 << 10,
};

static const struct class_rules *class_rules_of_pod(const struct sched_pod *pod)
{
	return class_rules_of(pool_class_of(pod->queue.class));
}

/* -- which members rules concern --------------------------------------------- */

static struct sched_pod *pod_of_turn(const struct sched *sched,
                                     const struct gang_work *work,
                                     const struct gang_plan_turn *turn)
{
	const struct gang_plan_node *node = &work->plan.node[turn->node];

	return gang_plan_find_pod(sched, work->gang, &node->pod[turn->pod]);
}

bool large_gang_is_ruled(const struct sched *sched, const struct gang_work *work)
{
	for (uint32_t i = 0; i < work->plan.pods; i++)
		if (class_rules_of_pod(pod_of_turn(sched, work, &work->plan.turn[i]))
		            ->wide)
			return true;
	return false;
}

void gang_locks_add(struct sched *sched, struct gang_locks *locks,
                    struct registered_class *open)
{
	const struct class_rules *class_rules = class_rules_of(open);

	rules_gather(sched, open);
	locks->ruled = locks->ruled || class_rules->wide;
	if (coarse_lock_keys_of(sched, class_rules) > locks->most)
		locks->most = coarse_lock_keys_of(sched, class_rules);
}

bool gang_locks_fit(const struct sched *sched, const struct gang_locks *locks)
{
	uint32_t ops = sched->limits.txn_ops == 0 ? OPS_DEFAULT : sched->limits.txn_ops;

	return locks->ruled ? rules_gathered(sched) + OPS_BESIDE <= ops
	                    : locks->most + OPS_OF_POD <= ops;
}

/* Members of one class mostly follow each other. */
static struct registered_class *next_class(struct sched *sched,
                                           const struct gang_work *work, uint32_t *turn,
                                           const struct registered_class *last)
{
	while (*turn < work->plan.pods) {
		const struct sched_pod *pod =
			pod_of_turn(sched, work, &work->plan.turn[(*turn)++]);
		struct registered_class *open = pool_class_of(pod->queue.class);

		if (open != last)
			return open;
	}
	return NULL;
}

/* The locks of all members, once each. */
static struct gang_locks gather_locks(struct sched *sched, const struct gang_work *work)
{
	struct gang_locks locks = {0};
	struct registered_class *open = NULL;
	uint32_t turn = 0;

	rules_gather_begin(sched);
	while ((open = next_class(sched, work, &turn, open)) != NULL)
		gang_locks_add(sched, &locks, open);
	return locks;
}

/* Whether all may be decided now. Every class is asked, so that all waits begin at
 * once. */
static bool may_decide_all(struct sched *sched, const struct gang_work *work)
{
	struct registered_class *open = NULL;
	uint32_t turn = 0;
	bool now = true;

	while ((open = next_class(sched, work, &turn, open)) != NULL)
		now = rules_may_decide(sched, open) && now &&
		      class_rules_of(open)->lane != LANE_UNREGISTERED;
	return now;
}

/* -- its nodes without their reservations ------------------------------------ */

static bool has_other_gang_reservation(const struct sched_node *node,
                                       const uint32_t key[2])
{
	for (uint32_t i = 0; i < node->reservations; i++)
		if (node->reservation[i].kind == ALLOC_RESERVATION_GANG &&
		    &node->reservation[i] != reservation_of_gang(node, key))
			return true;
	return false;
}

/* The node is excluded only for the gang's reservation, so members can be judged there. A
 * node without one may be excluded for conflicts. */
static bool is_judgement_possible(const struct sched *sched, const struct gang_work *work,
                                  const struct gang_plan_node *is)
{
	const struct sched_node *node = gang_plan_find_node(sched, is);

	return node != NULL && node->slot != SNAPSHOT_NONE &&
	       node_may_write(sched, node) &&
	       !has_other_gang_reservation(node, work->known->key) &&
	       (node->scope != NODE_EXCLUDED ||
	        reservation_of_gang(node, work->known->key) != NULL);
}

static void lift_reservations(struct sched *sched, const struct gang_work *work,
                              const struct gang_plan_node *is)
{
	struct sched_node *node = gang_plan_find_node(sched, is);
	struct sched_reservation *reservation =
		reservation_of_gang(node, work->known->key);

	if (reservation == NULL)
		return;
	reservation_hide(sched, reservation);
	snapshot_node_set_scope(&sched->snapshot, node->slot,
	                        node_is_local(sched, node) ? NODE_LOCAL : NODE_REMOTE);
}

static void lower_reservations(struct sched *sched, const struct gang_work *work,
                               const struct gang_plan_node *is)
{
	struct sched_node *node = gang_plan_find_node(sched, is);
	struct sched_reservation *reservation =
		reservation_of_gang(node, work->known->key);

	if (reservation == NULL)
		return;
	snapshot_node_set_scope(&sched->snapshot, node->slot,
	                        (enum node_scope)node->scope);
	reservation_show(sched, node,
	                 reservation); /* else the node has left the snapshot */
}

/* -- decided again ----------------------------------------------------------- */

struct gang_judgement {
	struct sched *sched;
	const struct gang_work *work;
	struct pl_bitset only;
	uint32_t *placed; /* numbers in the snapshot, by turn */
	uint32_t left;
	bool failed;
};

static bool can_place(struct gang_judgement *on, const struct sched_pod *pod,
                      const struct sched_node *node)
{
	struct sched *sched = on->sched;
	const struct pod_self self = {.name = pod->key[2],
	                              .uid = pod_uid(sched, pod),
	                              .nominated = SNAPSHOT_NONE,
	                              .created_ms = pod->created_ms};
	struct fw_class *class;
	struct cycle_outcome outcome;
	struct pl_err err = {0};

	if (class_registry_all(sched->class_registry, pool_class_of(pod->queue.class),
	                       &class, &err) != PL_OK) {
		on->failed = true;
		return false;
	}
	pl_bitset_add(on->only, node->slot);
	cycle_restrict_nodes(sched->cycle, on->only);
	cycle_run(sched->cycle, class, &self, 0, &outcome);
	cycle_restrict_nodes(sched->cycle, (struct pl_bitset){0});
	pl_bitset_del(on->only, node->slot);
	on->failed = on->failed || outcome.result == CYCLE_ERROR;
	return outcome.result == CYCLE_NODE;
}

static void judge_turn(struct gang_judgement *on, uint32_t i)
{
	const struct gang_plan_turn *turn = &on->work->plan.turn[i];
	const struct sched_pod *pod = pod_of_turn(on->sched, on->work, turn);
	const struct sched_node *node =
		gang_plan_find_node(on->sched, &on->work->plan.node[turn->node]);
	const struct pod_on_node is = {
		.spec = pod->spec, .name = pod->key[2], .uid = pod_uid(on->sched, pod)};
	struct pl_err err = {0};

	if (!can_place(on, pod, node))
		return;
	if (snapshot_pod_add(&on->sched->snapshot, node->slot, &is, &on->placed[i],
	                     &err) == PL_OK) {
		on->left--;
		return;
	}
	on->placed[i] = SNAPSHOT_NONE;
	on->failed = true;
}

/* Any order will do in which each member fits when it comes. */
static void judge_members(struct gang_judgement *on)
{
	uint32_t pods = on->work->plan.pods, before = 0;

	on->left = pods;
	for (unsigned round = 0; round < ROUNDS && on->left != before; round++) {
		before = on->left;
		for (uint32_t i = 0; i < pods && !on->failed; i++)
			if (on->placed[i] == SNAPSHOT_NONE)
				judge_turn(on, i);
	}
	for (uint32_t i = pods; i > 0; i--)
		if (on->placed[i - 1] != SNAPSHOT_NONE)
			snapshot_pod_remove(&on->sched->snapshot, on->placed[i - 1]);
}

static enum gang_ruling make_ruling(struct gang_judgement *on, struct pl_arena *arena)
{
	const struct gang_plan *plan = &on->work->plan;

	on->placed = pl_arena_zalloc(arena, plan->pods, sizeof *on->placed);
	if (on->placed == NULL ||
	    pl_bitset_make(arena, on->sched->snapshot.capacity, &on->only) != PL_OK)
		return GANG_RULING_LATER;
	for (uint32_t i = 0; i < plan->pods; i++)
		on->placed[i] = SNAPSHOT_NONE;
	for (uint32_t i = 0; i < plan->nodes; i++)
		lift_reservations(on->sched, on->work, &plan->node[i]);
	judge_members(on);
	for (uint32_t i = 0; i < plan->nodes; i++)
		lower_reservations(on->sched, on->work, &plan->node[i]);
	if (on->failed)
		return GANG_RULING_LATER;
	return on->left == 0 ? GANG_RULING_NOW : GANG_RULING_NEVER;
}

enum gang_ruling large_gang_fits(struct sched *sched, const struct gang_work *work)
{
	struct gang_judgement on = {.sched = sched, .work = work};
	enum gang_ruling is;
	struct pl_arena arena;

	for (uint32_t i = 0; i < work->plan.nodes; i++)
		if (!is_judgement_possible(sched, work, &work->plan.node[i]))
			return GANG_RULING_LATER;
	pl_arena_init(&arena, ARENA_CHUNK, 0);
	class_registry_hold(
		/* a round may prepare many classes, several times */
		sched->class_registry);
	is = make_ruling(&on, &arena);
	class_registry_release(sched->class_registry);
	pl_arena_done(&arena);
	return is;
}

enum gang_ruling large_gang_may_bind(struct sched *sched, struct gang_work *work)
{
	const struct gang_locks locks = gather_locks(sched, work);
	enum gang_ruling is;

	work->waits = false;
	work->ruled = locks.ruled;
	if (locks.ruled && (rules_are_shut(sched) || !may_decide_all(sched, work)))
		return GANG_RULING_LATER;
	if (!gang_locks_fit(sched, &locks))
		return GANG_RULING_NEVER;
	if (!locks.ruled) {
		rules_gather_begin(sched); /* the locks are put with the pods */
		return GANG_RULING_NOW;
	}
	/* A decision in the batch may not come true, so it cannot be relied on. */
	work->waits = sched->batch.state != BATCH_NONE;
	if (work->waits)
		return GANG_RULING_LATER;
	is = large_gang_fits(sched, work);
	work->waits = is == GANG_RULING_NOW; /* until the flip is put */
	return is;
}
