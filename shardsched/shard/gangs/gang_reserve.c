/*
 * Reserves room for a gang that was decided here: each node's planned reservation goes
 * into its alloc.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/gangs/gang_records.h"
#include "shardsched/shard/reservations/reservation.h"

/* The most that a member takes in an alloc. */
enum {
	NAMED_BYTES = 128, /* the partition and the namespace */
	NAME_BYTES = 4,    /* beside the name */
	PORT_BYTES = 24,   /* beside the address */
};

enum pl_code large_gang_plan_reservation(struct sched *sched,
                                         const struct gang_work *work,
                                         const struct gang_plan_node *is,
                                         struct sched_node *node, struct pl_err *err)
{
	const struct spec **spec;
	struct node_reservation reservation;
	enum pl_code code;

	pl_arena_reset(&sched->gangs.arena);
	spec = pl_arena_zalloc(&sched->gangs.arena, is->pods, sizeof(void *));
	if (spec == NULL)
		return pl_err_set(err, PL_NOMEM, "reserve room for a gang");
	for (uint32_t i = 0; i < is->pods; i++)
		spec[i] = gang_plan_find_pod(sched, work->gang, &is->pod[i])->spec;
	code = reservation_amounts(sched, spec, is->pods, &reservation);
	if (code != PL_OK)
		return pl_err_set(err, code, "reserve room for a gang");
	return reservation_plan_gang(sched, node, work->known->key, &reservation,
	                             work->until_ms, err);
}

/* The pod waits, and its rules are registered, or will be. */
static bool may_be_decided(const struct sched_pod *pod)
{
	return !pod->gated && !class_rules_of(pool_class_of(pod->queue.class))->refused;
}

/* All members wait, unchanged since they were decided. */
bool large_gang_members_wait(const struct sched *sched, const struct gang_work *work)
{
	for (uint32_t i = 0; i < work->plan.nodes; i++) {
		const struct gang_plan_node *node = &work->plan.node[i];

		for (uint32_t n = 0; n < node->pods; n++) {
			const struct sched_pod *pod =
				gang_plan_find_pod(sched, work->gang, &node->pod[n]);

			if (!gang_plan_pod_waits(pod, &node->pod[n]) ||
			    !may_be_decided(pod))
				return false;
		}
	}
	return true;
}

/* The gang gives way to another one that comes before it in the order of names. */
static bool gang_yields(const struct sched *sched, const struct sched_node *node,
                        const uint32_t key[2])
{
	for (uint32_t i = 0; i < node->reservations; i++) {
		const struct sched_reservation *reservation = &node->reservation[i];
		int order;

		if (reservation->kind != ALLOC_RESERVATION_GANG)
			continue;
		order = pl_span_cmp(sched_text(sched, reservation->key[0]),
		                    sched_text(sched, key[0]));
		if (order == 0)
			order = pl_span_cmp(sched_text(sched, reservation->key[1]),
			                    sched_text(sched, key[1]));
		if (order < 0)
			return true;
	}
	return false;
}

/* Members are decided one after the other, since each sees those before it. */
static bool fit_members(struct sched *sched, const struct gang_work *work,
                        const struct gang_plan_node *is, const struct sched_node *node)
{
	struct pl_err err = {0};
	uint32_t placed[ALLOC_PODS_MAX], count = 0;

	for (; count < is->pods && count < ALLOC_PODS_MAX; count++) {
		struct sched_pod *pod =
			gang_plan_find_pod(sched, work->gang, &is->pod[count]);
		const struct pod_self self = {.name = pod->key[2],
		                              .uid = pod_uid(sched, pod),
		                              .nominated = SNAPSHOT_NONE,
		                              .created_ms = pod->created_ms};
		const struct pod_on_node on = {.spec = pod->spec,
		                               .name = pod->key[2],
		                               .uid = pod_uid(sched, pod)};
		struct fw_class *class;
		struct cycle_outcome outcome;

		if (class_registry_all(sched->class_registry,
		                       pool_class_of(pod->queue.class), &class,
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

static bool fits_on_node(struct sched *sched, const struct gang_work *work,
                         const struct gang_plan_node *is, const struct sched_node *node)
{
	struct pl_bitset only;
	bool fits;

	pl_arena_reset(&sched->gangs.arena);
	if (pl_bitset_make(&sched->gangs.arena, sched->snapshot.capacity, &only) != PL_OK)
		return false;
	pl_bitset_add(only, node->slot);
	cycle_restrict_nodes(sched->cycle, only);
	fits = fit_members(sched, work, is, node);
	cycle_restrict_nodes(sched->cycle, (struct pl_bitset){0});
	return fits;
}

/* Answers about the whole gang, found once when they first matter, since many nodes may
 * have been written. What is planned from there on is the gang's own and in no pod's way;
 * rules are asked again when the gang is to be bound. */
struct reserve_query {
	bool done, ruled;
	enum gang_ruling fits; /* valid if ruled */
};

static void query_prepare(struct sched *sched, const struct gang_work *work,
                          struct reserve_query *all)
{
	if (all->done)
		return;
	all->done = true;
	all->ruled = large_gang_is_ruled(sched, work);
	if (all->ruled)
		all->fits = large_gang_fits(sched, work);
}

/* The node was written by another shard: do the members still fit? Rules about pods on
 * other nodes are asked about the whole gang. */
static enum gang_ruling check_still_fits(struct sched *sched,
                                         const struct gang_work *work,
                                         const struct gang_plan_node *is,
                                         const struct sched_node *node,
                                         struct reserve_query *all)
{
	query_prepare(sched, work, all);
	if (all->ruled)
		return all->fits;
	return fits_on_node(sched, work, is, node) ? GANG_RULING_NOW : GANG_RULING_NEVER;
}

/* The node has no reservation for the gang (any more). */
static void plan_reservation_again(struct sched *sched, struct gang_work *work,
                                   const struct gang_plan_node *is,
                                   struct sched_node *node, struct reserve_query *all)
{
	enum gang_ruling fits;
	struct pl_err err = {0};

	if (node->txn != 0 || node->batched > 0)
		return;
	if (node->scope == NODE_EXCLUDED) {
		if (gang_yields(sched, node, work->known->key))
			gang_work_give_up(work);
		return;
	}
	fits = check_still_fits(sched, work, is, node, all);
	if (fits == GANG_RULING_LATER)
		return;
	if (fits == GANG_RULING_NEVER ||
	    large_gang_plan_reservation(sched, work, is, node, &err) != PL_OK)
		gang_work_give_up(work);
}

static void need_add_ports(const struct sched *sched, const struct spec *spec,
                           struct gang_step_need *need)
{
	const struct spec_port *port = spec_ports(spec);

	for (uint32_t i = 0; i < spec->template->ports.count; i++)
		need->bytes += PORT_BYTES + (uint32_t)sched_text(sched, port[i].ip).len;
	need->ports += spec->template->ports.count;
}

/* The room that the alloc needs when the members replace the reservation. */
static struct gang_step_need need_of_node(const struct sched *sched,
                                          const struct gang_work *work,
                                          const struct gang_plan_node *is)
{
	struct gang_step_need need = {.bytes = ALLOC_LEAVE_BYTES + NAMED_BYTES};

	for (uint32_t i = 0; i < is->pods; i++) {
		const struct sched_pod *pod =
			gang_plan_find_pod(sched, work->gang, &is->pod[i]);

		need.bytes += NAME_BYTES + (uint32_t)sched_text(sched, pod->key[2]).len;
		need_add_ports(sched, pod->spec, &need);
	}
	return need;
}

/* Puts what is planned. True: all reservations stand. */
bool large_gang_reserve(struct sched *sched, struct gang_work *work)
{
	struct gang_step step = {.known = work->known};
	struct reserve_query all = {0};

	work->standing = 0;
	if (cooldown_is_on(sched))
		return false;
	for (uint32_t i = 0; i < work->plan.nodes && !gang_work_is_given_up(work); i++) {
		const struct gang_plan_node *is = &work->plan.node[i];
		struct sched_node *node = gang_plan_find_node(sched, is);
		const struct sched_reservation *reservation;
		struct gang_step_need need;

		if (node == NULL || node->slot == SNAPSHOT_NONE ||
		    node->rev[FACT_NODE] != is->node_rev) {
			if (node == NULL || node->txn == 0)
				gang_work_give_up(work);
			continue;
		}
		reservation = reservation_of_gang(node, work->known->key);
		if (reservation == NULL) {
			plan_reservation_again(sched, work, is, node, &all);
			reservation = reservation_of_gang(node, work->known->key);
		}
		work->standing +=
			reservation != NULL && !reservation_is_planned(reservation);
		if (reservation == NULL || reservation->state != RESERVATION_PLANNED ||
		    step.full || gang_work_is_given_up(work))
			continue;
		need = need_of_node(sched, work, is);
		if (gang_step_reserve(sched, &step, node, &need) == GANG_STEP_NEVER)
			gang_work_give_up(work);
	}
	gang_step_end(sched, &step);
	return !gang_work_is_given_up(work) && work->standing == work->plan.nodes;
}
