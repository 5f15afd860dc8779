/* The invariants between cache, snapshot, queue and txns; for tests. */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/termination/termination.h"

/* Rules that select namespaces find the pod's namespace in the snapshot. */
static bool is_namespace_known(const struct sched *sched, const struct sched_pod *pod)
{
	return catalog_namespace_labels(&sched->snapshot.catalog, pod->key[1]) != NULL;
}

/* Gives how many pods the node's reservations are for. */
static uint64_t check_reservations(const struct sched *sched,
                                   const struct sched_node *node)
{
	uint64_t pods = 0;

	for (uint32_t i = 0; i < node->reservations; i++) {
		const struct sched_reservation *reservation = &node->reservation[i];

		pods += reservation_counts(reservation)
		                ? (uint64_t)reservation->is.amounts->pods
		                : 0;
		PL_ASSERT(reservation->state == RESERVATION_PLANNED ||
		          reservation->state == RESERVATION_STANDS || node->txn != 0);
		PL_ASSERT(!reservation_is_planned(reservation) ||
		          reservation->kind == ALLOC_RESERVATION_GANG ||
		          (node->plan != NULL && node->plan->pod == reservation->pod));
		PL_ASSERT(reservation->kind != ALLOC_RESERVATION_GANG ||
		          !reservation->unwanted);
		PL_ASSERT((reservation->rest.amounts != NULL) ==
		          (reservation->state == RESERVATION_SHRINKING));
		PL_ASSERT(!reservation->nominates ||
		          is_namespace_known(sched, reservation->pod));
		PL_ASSERT(reservation->kind != ALLOC_RESERVATION_GANG ||
		          node->slot == SNAPSHOT_NONE || node->scope == NODE_EXCLUDED);
		PL_ASSERT((reservation->kind == ALLOC_RESERVATION_NOMINATED) ==
		          (reservation->pod != NULL));
		PL_ASSERT(reservation->pod == NULL ||
		          (reservation->pod->reserved_by > 0 &&
		           reservation->pod->nominated != NULL));
		if (node->slot == SNAPSHOT_NONE || reservation_goes(reservation) ||
		    !node_is_counted(node)) {
			PL_ASSERT(reservation->number == SNAPSHOT_NONE);
			continue;
		}
		PL_ASSERT(reservation->number != SNAPSHOT_NONE);
		PL_ASSERT(!reservation->nominates ||
		          (reservation->pod != NULL && reservation->pod->spec != NULL));
		PL_ASSERT((reservation->nominates
		                   ? sched->snapshot.nomination[reservation->number].node
		                   : sched->snapshot.reservation[reservation->number]
		                             .node) == node->slot);
	}
	return pods;
}

static void check_alloc_entries(const struct sched *sched, const struct sched_node *node)
{
	uint32_t unknown = 0, unconfirmed = 0, sent = 0, shared = 0, flags;
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; i < node->count; i++) {
		const struct alloc_entry *listed = &node->listed[i];
		const struct sched_pod *pod = listed->pod;

		PL_ASSERT(pod->listed > 0);
		PL_ASSERT(listed->sent ==
		          (pod->stage == POD_COMMITTING && pod->node == node));
		PL_ASSERT(listed->end == STATE_TRANSITION_NONE ||
		          (node->txn != 0 && (pod->txn == node->txn || pod->txn == 0)));
		unknown += !alloc_entry_is_known(listed);
		unconfirmed += listed->unconfirmed;
		if (pod->spec != NULL && pod->spec->priority < least)
			least = pod->spec->priority;
		sent += listed->sent;
		if (node->slot == SNAPSHOT_NONE) {
			PL_ASSERT(listed->placed == SNAPSHOT_NONE);
			continue;
		}
		PL_ASSERT((listed->placed == SNAPSHOT_NONE) !=
		          alloc_entry_is_known(listed));
		if (!alloc_entry_is_known(listed))
			continue;
		PL_ASSERT(sched->snapshot.placed[listed->placed].node == node->slot);
		PL_ASSERT(sched->snapshot.placed[listed->placed].name == pod->key[2]);
		PL_ASSERT(sched->snapshot.placed[listed->placed].view->spec == pod->spec);
		PL_ASSERT(is_namespace_known(sched, pod));
		flags = sched->snapshot.placed[listed->placed].flags;
		PL_ASSERT(listed->leaving == ((flags & PLACED_TERMINATING) != 0));
		PL_ASSERT((!listed->leaving && pod_is_victim_at(pod, node)) ==
		          ((flags & PLACED_VICTIM) != 0));
	}
	for (uint32_t i = 0; i < node->count; i++)
		shared += node->listed[i].pod->node != node;
	PL_ASSERT(shared == node->shared);
	PL_ASSERT((shared > 0) == !pl_list_empty(&node->sharing));
	PL_ASSERT(node->least_stale || node->least == least);
	PL_ASSERT(unknown == node->unknown);
	PL_ASSERT(unconfirmed == node->unconfirmed);
	PL_ASSERT((unknown + unconfirmed > 0) == !pl_list_empty(&node->incomplete));
	PL_ASSERT(node->read || node->slot == SNAPSHOT_NONE ||
	          !node_is_local(sched, node));
	PL_ASSERT((node->reservations > 0) == !pl_list_empty(&node->reserving));
	PL_ASSERT(sent == 0 || node->txn != 0);
	PL_ASSERT(node->used.pods == node->count + check_reservations(sched, node));
}

static void check_plan(const struct sched *sched, const struct sched_node *node)
{
	const struct preemption_plan *plan = node->plan;

	if (plan == NULL)
		return;
	PL_ASSERT(plan->node == node && pod_plan(sched, plan->pod) == plan);
	PL_ASSERT(plan->state != PREEMPTION_PLAN_PUTTING && !pod_is_victim(plan->pod));
	PL_ASSERT(plan->state != PREEMPTION_PLAN_SENT || node->txn != 0);
	for (uint32_t i = 0; i < plan->victims; i++)
		PL_ASSERT(plan->victim[i]->victim_of == plan);
}

static void check_ending(const struct sched *sched, const struct sched_node *node)
{
	PL_LIST_EACH (link, &node->ending) {
		const struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		PL_ASSERT(pod->linked == LINKED_TERMINATING && pod->node == node);
		PL_ASSERT(pod->listed == 1 && alloc_entry_find(node, pod) != UINT32_MAX);
		PL_ASSERT(node->txn != 0 || !pl_list_empty(&node->ready) ||
		          !departure_is_due(node) || node->batched > 0 ||
		          !node_may_write(sched, node));
	}
}

/* Something keeps the node's facts up to date. */
static void check_followed(const struct sched *sched, const struct sched_node *node)
{
	bool known = node->rev[FACT_NODE] != 0 || node->rev[FACT_ALLOC] != 0;

	PL_ASSERT(!known || sched->partition[node->partition].owned ||
	          remote_follows(sched, node->partition));
}

static void check_node(const struct sched *sched, const struct sched_node *node)
{
	const struct node_row *row;
	uint32_t waiting = 0, in_txn = 0, batched = 0;

	PL_ASSERT(pl_list_empty(&node->ready) ||
	          node->ready_local == node_is_local(sched, node));
	PL_ASSERT((node->slot == SNAPSHOT_NONE) == (node->membership == NODE_OUT));
	PL_ASSERT((node->membership == NODE_UNCOUNTED) ==
	          !pl_list_empty(&node->uncounted));
	PL_ASSERT((node->rev[FACT_ALLOC] == 0) == (node->alloc == NODE_ALLOC_ABSENT));
	check_followed(sched, node);
	PL_ASSERT(node_is_counted(node) || node->scope == NODE_EXCLUDED);
	check_alloc_entries(sched, node);
	check_plan(sched, node);
	check_ending(sched, node);
	PL_LIST_EACH (link, &node->waiting) {
		const struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		PL_ASSERT(pod->stage == POD_ASSUMED && pod->node == node);
		PL_ASSERT(pod->linked == LINKED_WAITING);
		PL_ASSERT(sched->snapshot.placed[pod->placed].node == node->slot);
		in_txn += pod->txn != 0;
		batched += (pod->flags & POD_BATCHED) != 0;
		waiting++;
	}
	PL_ASSERT(waiting == node->waiting_count);
	PL_ASSERT(waiting == in_txn || node->txn != 0 || batched > 0 ||
	          !pl_list_empty(&node->ready));
	PL_ASSERT((node->txn == 0 && batched == 0) || pl_list_empty(&node->ready));
	PL_ASSERT(batched == node->batched);
	PL_ASSERT((batched > 0) == !pl_list_empty(&node->batch));
	if (node->slot == SNAPSHOT_NONE) {
		PL_ASSERT(waiting == 0);
		return;
	}
	row = &sched->snapshot.row[node->slot];
	PL_ASSERT(sched->by_slot[node->slot] == node && node->node.name != 0);
	PL_ASSERT(row->cluster == node->key[0] && row->node.name == node->key[1]);
	PL_ASSERT(row->pods == node->count - node->unknown + waiting);
	PL_ASSERT(node->alloc >= NODE_ALLOC_READ);
	PL_ASSERT(node->scope == NODE_EXCLUDED || node->unknown + node->unconfirmed == 0);
	PL_ASSERT(node->scope != NODE_EXCLUDED || waiting == 0);
	PL_ASSERT(node_is_local(sched, node) || remote_knows(sched, node->partition));
	PL_ASSERT(node->scope == NODE_EXCLUDED ||
	          (node->scope == NODE_LOCAL) == node_is_local(sched, node));
	PL_ASSERT((node->scope == NODE_LOCAL) ==
	          pl_bitset_has(sched->snapshot.local, node->slot));
	PL_ASSERT((node->scope != NODE_EXCLUDED) ==
	          pl_bitset_has(sched->snapshot.open, node->slot));
}

static void check_batch(const struct sched *sched)
{
	const struct batch *batch = &sched->batch;
	uint32_t nodes = 0, pods = 0, sent = 0;

	PL_LIST_EACH (link, &batch->nodes) {
		pods += PL_LIST_ITEM(link, struct sched_node, batch)->batched;
		nodes++;
	}
	for (unsigned i = 0; i < SCHED_TXNS; i++)
		sent += txn_is_posted(&sched->txn[i]) && sched->txn[i].batch;
	PL_ASSERT(nodes == batch->node_count);
	PL_ASSERT(sent == (batch->state == BATCH_SENT));
	PL_ASSERT(sent > 0 ? nodes == 0 : pods == batch->pods);
	PL_ASSERT(batch->state != BATCH_NONE || pods == 0);
}

static uint32_t check_pod(const struct sched *sched, const struct sched_pod *pod)
{
	bool queued = pod->stage == POD_QUEUED;

	switch ((enum pod_stage)pod->stage) {
	case POD_IDLE:
		PL_ASSERT(pod->queue.place == QUEUE_OUT);
		return 0;
	case POD_QUEUED:
		PL_ASSERT(pod_gang(pod) != NULL || (pod->queue.place != QUEUE_OUT &&
		                                    pod->queue.place != QUEUE_IN_FLIGHT));
		break;
	case POD_ASSUMED:
		PL_ASSERT(pod_gang(pod) != NULL || pod->queue.place == QUEUE_IN_FLIGHT);
		PL_ASSERT(pod->node != NULL);
		break;
	case POD_COMMITTING:
		PL_ASSERT(pod->txn != 0);
		PL_ASSERT((pod->flags & POD_RESET) == 0 || pod_is_loose(pod));
		if (pod_is_loose(pod)) {
			PL_ASSERT(pod->queue.place == QUEUE_OUT);
			return 0;
		}
		PL_ASSERT(pod_gang(pod) != NULL || pod->queue.place == QUEUE_IN_FLIGHT);
		break;
	}
	PL_ASSERT(pod_gang(pod) == NULL || pod->queue.place == QUEUE_OUT);
	PL_ASSERT(pod_is_owned(sched, pod));
	PL_ASSERT(!queued || pod->listed == 0);
	PL_ASSERT(pool_class_of(pod->queue.class)->spec == pod->spec);
	return 1;
}

/* Only pods that configure.c has not reached yet are by earlier settings. */
static void check_config_gens(const struct sched *sched)
{
	bool ahead = false;

	PL_ASSERT(sched->migrating == NULL || is_migrating(sched));
	PL_ASSERT(sched->queue == sched->config_gen->queue &&
	          sched->class_registry == &sched->config_gen->class_registry &&
	          sched->turn == NULL);
	PODS_EACH(pod, sched)
	{
		ahead = ahead || pod == sched->migrating;
		PL_ASSERT(pod->queue.class == NULL || ahead ||
		          config_gen_of(pool_class_of(pod->queue.class)) ==
		                  sched->config_gen);
	}
}

/* Labels that selectors ask for stand in the classes, unless they came since the last
 * promotion. */
static void check_promotion(const struct sched *sched)
{
	bool promoted = sched->named == sched->model.identities.named;
	uint32_t pods = 0;

	PODS_EACH(pod, sched)
	{
		const struct identity_labels identity = {pod->index, pod->identity_keys};

		pods += identity.keys != 0;
		PL_ASSERT(!promoted || pod->spec == NULL ||
		          identity_due_labels(&sched->model, pod->key[2], &identity) ==
		                  0);
	}
	PL_ASSERT(pods == sched->identity_pods);
}

void sched_check(const struct sched *sched)
{
	uint32_t work = 0, queued = 0, waiting = 0, ending = 0, plans = 0;

	PL_MAP_EACH (at, &sched->nodes) {
		const struct sched_node *node =
			PL_CONTAINER_OF(at, struct sched_node, by_name);

		check_node(sched, node);
		waiting += node->waiting_count;
		plans += node->plan != NULL;
	}
	PL_ASSERT(plans == sched->plans.count);
	PL_ASSERT(waiting == sched->waiting + sched->remote.waiting);
	check_batch(sched);
	subsystems_check(sched);
	check_promotion(sched);
	check_config_gens(sched);
	PODS_EACH(pod, sched)
	ending += pod->linked == LINKED_TERMINATING;
	PL_ASSERT(ending == sched->ending);
	PODS_EACH(pod, sched)
	queued += check_pod(sched, pod);
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		work += sched->partition[i].work;
	PL_ASSERT(work == queued);
	snapshot_check(&sched->snapshot);
	queue_check(sched->queue);
	PL_LIST_EACH (link, &sched->old_gens)
		queue_check(PL_LIST_ITEM(link, struct config_gen, link)->queue);
}
