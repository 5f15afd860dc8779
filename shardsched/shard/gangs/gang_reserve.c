/*
 * Room for a gang that was decided here: what is planned on each node goes into its
 * alloc.
 */
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/records.h"
#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"

/* Of an alloc, at most. */
enum {
	NAMED_BYTES = 128, /* the partition and the namespace */
	NAME_BYTES = 4,    /* besides the name */
	PORT_BYTES = 24,   /* besides the address */
};

enum pl_code large_plan_hold(struct sched *sched, const struct gang_work *work,
                             const struct gang_plan_node *is, struct sched_node *node,
                             struct pl_err *err)
{
	const struct spec **spec;
	struct node_hold hold;
	enum pl_code code;

	pl_arena_reset(&sched->gangs.arena);
	spec = pl_arena_zalloc(&sched->gangs.arena, is->pods, sizeof(void *));
	if (spec == NULL)
		return pl_err_set(err, PL_NOMEM, "hold room for a gang");
	for (uint32_t i = 0; i < is->pods; i++)
		spec[i] = plan_pod(sched, work->gang, &is->pod[i])->spec;
	code = hold_amounts(sched, spec, is->pods, &hold);
	if (code != PL_OK)
		return pl_err_set(err, code, "hold room for a gang");
	return hold_plan_gang(sched, node, work->known->key, &hold, work->until_ms, err);
}

/* It waits, and its rules are, or will be, registered. */
static bool may_be_decided(const struct sched_pod *pod)
{
	return !pod->gated && !bonds_of(pool_class_of(pod->queue.class))->refused;
}

/* All as they were decided for. */
bool large_members_wait(const struct sched *sched, const struct gang_work *work)
{
	for (uint32_t i = 0; i < work->plan.nodes; i++) {
		const struct gang_plan_node *node = &work->plan.node[i];

		for (uint32_t n = 0; n < node->pods; n++) {
			const struct sched_pod *pod =
				plan_pod(sched, work->gang, &node->pod[n]);

			if (!plan_pod_waits(pod, &node->pod[n]) || !may_be_decided(pod))
				return false;
		}
	}
	return true;
}

/* Whoever is later in the order of names gives way. */
static bool gives_way(const struct sched *sched, const struct sched_node *node,
                      const uint32_t key[2])
{
	for (uint32_t i = 0; i < node->holds; i++) {
		const struct sched_hold *hold = &node->hold[i];
		int order;

		if (hold->kind != ALLOC_HOLD_GANG)
			continue;
		order = pl_span_cmp(sched_text(sched, hold->key[0]),
		                    sched_text(sched, key[0]));
		if (order == 0)
			order = pl_span_cmp(sched_text(sched, hold->key[1]),
			                    sched_text(sched, key[1]));
		if (order < 0)
			return true;
	}
	return false;
}

/* One after the other, since each sees those before it. */
static bool fit_all(struct sched *sched, const struct gang_work *work,
                    const struct gang_plan_node *is, const struct sched_node *node)
{
	struct pl_err err = {0};
	uint32_t placed[ALLOC_PODS_MAX], count = 0;

	for (; count < is->pods && count < ALLOC_PODS_MAX; count++) {
		struct sched_pod *pod = plan_pod(sched, work->gang, &is->pod[count]);
		const struct pod_self self = {.name = pod->key[2],
		                              .uid = pod_uid(sched, pod),
		                              .nominated = SNAPSHOT_NONE,
		                              .created_ms = pod->created_ms};
		const struct pod_on_node on = {.spec = pod->spec,
		                               .name = pod->key[2],
		                               .uid = pod_uid(sched, pod)};
		struct fw_class *class;
		struct outcome outcome;

		if (pool_all(sched->pool, pool_class_of(pod->queue.class), &class,
		             &err) != PL_OK)
			break;
		cycle_run(sched->cycle, class, &self, 0, &outcome);
		if (outcome.result != CYCLE_NODE ||
		    snapshot_pod_add(&sched->snapshot, node->slot, &on, &placed[count],
		                     &err) != PL_OK)
			break;
	}
	for (uint32_t i = count; i > 0; i--)
		snapshot_pod_remove(&sched->snapshot, placed[i - 1]);
	return count == is->pods;
}

static bool fits_alone(struct sched *sched, const struct gang_work *work,
                       const struct gang_plan_node *is, const struct sched_node *node)
{
	struct pl_bitset only;
	bool fits;

	pl_arena_reset(&sched->gangs.arena);
	if (pl_bitset_make(&sched->gangs.arena, sched->snapshot.capacity, &only) != PL_OK)
		return false;
	pl_bitset_add(only, node->slot);
	cycle_only(sched->cycle, only);
	fits = fit_all(sched, work, is, node);
	cycle_only(sched->cycle, (struct pl_bitset){0});
	return fits;
}

/* What is asked about all of the gang, when it first matters: once for all nodes, since
 * many may have been written. What is planned from there on is its own, and in nobody's
 * way; and it is asked again when it is to be bound. */
struct asked {
	bool done, ruled;
	enum large_ruling fits; /* ruled */
};

static void ask(struct sched *sched, const struct gang_work *work, struct asked *all)
{
	if (all->done)
		return;
	all->done = true;
	all->ruled = large_is_ruled(sched, work);
	if (all->ruled)
		all->fits = large_fits(sched, work);
}

/* Somebody else was there: does it still do? Rules about pods on other nodes are asked
 * about all of the gang. */
static enum large_ruling still_fits(struct sched *sched, const struct gang_work *work,
                                    const struct gang_plan_node *is,
                                    const struct sched_node *node, struct asked *all)
{
	ask(sched, work, all);
	if (all->ruled)
		return all->fits;
	return fits_alone(sched, work, is, node) ? LARGE_NOW : LARGE_NEVER;
}

/* There is no hold there (any more). */
static void plan_again(struct sched *sched, struct gang_work *work,
                       const struct gang_plan_node *is, struct sched_node *node,
                       struct asked *all)
{
	enum large_ruling fits;
	struct pl_err err = {0};

	if (node->call != 0 || node->bundled > 0)
		return;
	if (node->scope == NODE_ASIDE) {
		work->failed = gives_way(sched, node, work->known->key);
		return;
	}
	fits = still_fits(sched, work, is, node, all);
	if (fits == LARGE_LATER)
		return;
	if (fits == LARGE_NEVER || large_plan_hold(sched, work, is, node, &err) != PL_OK)
		work->failed = true;
}

static void add_ports(const struct sched *sched, const struct spec *spec,
                      struct step_need *need)
{
	const struct spec_port *port = spec_ports(spec);

	for (uint32_t i = 0; i < spec->form->ports.count; i++)
		need->bytes += PORT_BYTES + (uint32_t)sched_text(sched, port[i].ip).len;
	need->ports += spec->form->ports.count;
}

/* With its pods in place of its hold. */
static struct step_need need_of(const struct sched *sched, const struct gang_work *work,
                                const struct gang_plan_node *is)
{
	struct step_need need = {.bytes = ALLOC_LEAVE_BYTES + NAMED_BYTES};

	for (uint32_t i = 0; i < is->pods; i++) {
		const struct sched_pod *pod = plan_pod(sched, work->gang, &is->pod[i]);

		need.bytes += NAME_BYTES + (uint32_t)sched_text(sched, pod->key[2]).len;
		add_ports(sched, pod->spec, &need);
	}
	return need;
}

/* Puts what is planned; true: all of it stands. */
bool large_reserve(struct sched *sched, struct gang_work *work)
{
	struct gang_step step = {.known = work->known};
	struct asked all = {0};

	work->standing = 0;
	if (rests_now(sched))
		return false;
	for (uint32_t i = 0; i < work->plan.nodes && !work->failed; i++) {
		const struct gang_plan_node *is = &work->plan.node[i];
		struct sched_node *node = plan_node(sched, is);
		const struct sched_hold *hold;
		struct step_need need;

		if (node == NULL || node->slot == SNAPSHOT_NONE ||
		    node->rev[FACT_NODE] != is->node_rev) {
			work->failed = node == NULL || node->call == 0;
			continue;
		}
		hold = hold_of_gang(node, work->known->key);
		if (hold == NULL) {
			plan_again(sched, work, is, node, &all);
			hold = hold_of_gang(node, work->known->key);
		}
		work->standing += hold != NULL && !hold->planned;
		if (hold == NULL || !hold->planned || hold->sent || step.full ||
		    work->failed)
			continue;
		need = need_of(sched, work, is);
		if (step_hold(sched, &step, node, &need) == STEP_NEVER)
			work->failed = true;
	}
	step_end(sched, &step);
	return !work->failed && work->standing == work->plan.nodes;
}
