/* What must hold between tables, snapshot and queue. */
#include "shardsched/shard/ends/ends.h"
#include "shardsched/shard/gangs/gang_large.h"
#include "shardsched/shard/room/preempts.h"
#include "shardsched/shard/tables/tables.h"

/* Rules that select namespaces find its pods in the snapshot. */
static bool is_space_known(const struct sched *sched, const struct sched_pod *pod)
{
	return catalog_space_labels(&sched->snapshot.catalog, pod->key[1]) != NULL;
}

/* For how many pods they are. */
static uint64_t check_holds(const struct sched *sched, const struct sched_node *node)
{
	uint64_t pods = 0;

	for (uint32_t i = 0; i < node->holds; i++) {
		const struct sched_hold *hold = &node->hold[i];

		pods += hold_counts(hold) ? (uint64_t)hold->is.amounts->pods : 0;
		PL_ASSERT(!hold->out || node->call != 0);
		PL_ASSERT(!hold->sent || (hold->planned && node->call != 0));
		PL_ASSERT(!hold->planned || hold->kind == ALLOC_HOLD_GANG ||
		          (node->plan != NULL && node->plan->pod == hold->pod));
		PL_ASSERT(hold->kind != ALLOC_HOLD_GANG || !hold->unwanted);
		PL_ASSERT(hold->shrinks == hold->shrunk);
		PL_ASSERT(!hold->nominates || is_space_known(sched, hold->pod));
		PL_ASSERT(hold->kind != ALLOC_HOLD_GANG || node->slot == SNAPSHOT_NONE ||
		          node->scope == NODE_ASIDE);
		PL_ASSERT((hold->kind == ALLOC_HOLD_NOMINATED) == (hold->pod != NULL));
		PL_ASSERT(hold->pod == NULL ||
		          (hold->pod->held > 0 && hold->pod->nominated != NULL));
		if (node->slot == SNAPSHOT_NONE || hold_goes(hold) ||
		    !node_is_counted(node)) {
			PL_ASSERT(hold->number == SNAPSHOT_NONE);
			continue;
		}
		PL_ASSERT(hold->number != SNAPSHOT_NONE);
		PL_ASSERT(!hold->nominates ||
		          (hold->pod != NULL && hold->pod->spec != NULL));
		PL_ASSERT((hold->nominates ? sched->snapshot.nomination[hold->number].node
		                           : sched->snapshot.hold[hold->number].node) ==
		          node->slot);
	}
	return pods;
}

static void check_listed(const struct sched *sched, const struct sched_node *node)
{
	uint32_t unknown = 0, doubted = 0, sent = 0, shared = 0, flags;
	int32_t least = INT32_MAX;

	for (uint32_t i = 0; i < node->count; i++) {
		const struct listed *listed = &node->listed[i];
		const struct sched_pod *pod = listed->pod;

		PL_ASSERT(pod->listed > 0);
		PL_ASSERT(listed->sent == (pod->place == POD_SENT && pod->node == node));
		PL_ASSERT(
			listed->end == STATE_END_NONE ||
			(node->call != 0 && (pod->call == node->call || pod->call == 0)));
		unknown += !listed_is_known(listed);
		doubted += listed->doubted;
		if (pod->spec != NULL && pod->spec->priority < least)
			least = pod->spec->priority;
		sent += listed->sent;
		if (node->slot == SNAPSHOT_NONE) {
			PL_ASSERT(listed->placed == SNAPSHOT_NONE);
			continue;
		}
		PL_ASSERT((listed->placed == SNAPSHOT_NONE) != listed_is_known(listed));
		if (!listed_is_known(listed))
			continue;
		PL_ASSERT(sched->snapshot.placed[listed->placed].node == node->slot);
		PL_ASSERT(sched->snapshot.placed[listed->placed].name == pod->key[2]);
		PL_ASSERT(sched->snapshot.placed[listed->placed].view->spec == pod->spec);
		PL_ASSERT(is_space_known(sched, pod));
		flags = sched->snapshot.placed[listed->placed].flags;
		PL_ASSERT(listed->leaving == ((flags & PLACED_TERMINATING) != 0));
		PL_ASSERT((!listed->leaving && pod_is_doomed_at(pod, node)) ==
		          ((flags & PLACED_DOOMED) != 0));
	}
	for (uint32_t i = 0; i < node->count; i++)
		shared += node->listed[i].pod->node != node;
	PL_ASSERT(shared == node->shared);
	PL_ASSERT((shared > 0) == !pl_list_empty(&node->sharing));
	PL_ASSERT(node->least_old || node->least == least);
	PL_ASSERT(unknown == node->unknown);
	PL_ASSERT(doubted == node->doubted);
	PL_ASSERT((unknown + doubted > 0) == !pl_list_empty(&node->lacking));
	PL_ASSERT(node->read || node->slot == SNAPSHOT_NONE ||
	          !node_is_home(sched, node));
	PL_ASSERT((node->holds > 0) == !pl_list_empty(&node->holding));
	PL_ASSERT(sent == 0 || node->call != 0);
	PL_ASSERT(node->used.pods == node->count + check_holds(sched, node));
}

static void check_plan(const struct sched *sched, const struct sched_node *node)
{
	const struct sched_plan *plan = node->plan;

	if (plan == NULL)
		return;
	PL_ASSERT(plan->node == node && pod_plan(sched, plan->pod) == plan);
	PL_ASSERT(!plan->putting && !pod_is_doomed(plan->pod));
	PL_ASSERT(!plan->sent || node->call != 0);
	for (uint32_t i = 0; i < plan->victims; i++)
		PL_ASSERT(plan->victim[i]->doomed_by == plan);
}

static void check_ending(const struct sched *sched, const struct sched_node *node)
{
	PL_LIST_EACH (link, &node->ending) {
		const struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		PL_ASSERT(pod->linked == LINKED_ENDING && pod->node == node);
		PL_ASSERT(pod->listed == 1 && listed_find(node, pod) != UINT32_MAX);
		PL_ASSERT(node->call != 0 || !pl_list_empty(&node->ready) ||
		          !turn_is_here(node) || node->bundled > 0 ||
		          !node_may_write(sched, node));
	}
}

/* Something brings what is known of it up to date. */
static void check_followed(const struct sched *sched, const struct sched_node *node)
{
	bool known = node->rev[FACT_NODE] != 0 || node->rev[FACT_ALLOC] != 0;

	PL_ASSERT(!known || sched->partition[node->partition].owned ||
	          abroad_follows(sched, node->partition));
}

static void check_node(const struct sched *sched, const struct sched_node *node)
{
	const struct node_row *row;
	uint32_t waiting = 0, telling = 0, bundled = 0;

	PL_ASSERT(pl_list_empty(&node->ready) ||
	          node->ready_home == node_is_home(sched, node));
	check_followed(sched, node);
	PL_ASSERT(node_is_counted(node) ||
	          (node->slot != SNAPSHOT_NONE && node->scope == NODE_ASIDE));
	check_listed(sched, node);
	check_plan(sched, node);
	check_ending(sched, node);
	PL_LIST_EACH (link, &node->waiting) {
		const struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);

		PL_ASSERT(pod->place == POD_WAITS && pod->node == node);
		PL_ASSERT(pod->linked == LINKED_WAITING);
		PL_ASSERT(sched->snapshot.placed[pod->placed].node == node->slot);
		telling += pod->call != 0;
		bundled += (pod->flags & POD_BUNDLED) != 0;
		waiting++;
	}
	PL_ASSERT(waiting == node->waiting_count);
	PL_ASSERT(waiting == telling || node->call != 0 || bundled > 0 ||
	          !pl_list_empty(&node->ready));
	PL_ASSERT((node->call == 0 && bundled == 0) || pl_list_empty(&node->ready));
	PL_ASSERT(bundled == node->bundled);
	PL_ASSERT((bundled > 0) == !pl_list_empty(&node->bundle));
	if (node->slot == SNAPSHOT_NONE) {
		PL_ASSERT(waiting == 0);
		return;
	}
	row = &sched->snapshot.row[node->slot];
	PL_ASSERT(sched->by_slot[node->slot] == node && node->node.name != 0);
	PL_ASSERT(row->cluster == node->key[0] && row->node.name == node->key[1]);
	PL_ASSERT(row->pods == node->count - node->unknown + waiting);
	PL_ASSERT(node->rev[FACT_ALLOC] != 0 && !node->bad);
	PL_ASSERT(node->scope == NODE_ASIDE || node->unknown + node->doubted == 0);
	PL_ASSERT(node->scope != NODE_ASIDE || waiting == 0);
	PL_ASSERT(node_is_home(sched, node) || abroad_knows(sched, node->partition));
	PL_ASSERT(node->scope == NODE_ASIDE ||
	          (node->scope == NODE_HOME) == node_is_home(sched, node));
	PL_ASSERT((node->scope == NODE_HOME) ==
	          pl_bitset_has(sched->snapshot.home, node->slot));
	PL_ASSERT((node->scope != NODE_ASIDE) ==
	          pl_bitset_has(sched->snapshot.open, node->slot));
}

static void check_bundle(const struct sched *sched)
{
	const struct bundle *bundle = &sched->bundle;
	uint32_t nodes = 0, pods = 0, sent = 0;

	PL_LIST_EACH (link, &bundle->nodes) {
		pods += PL_LIST_ITEM(link, struct sched_node, bundle)->bundled;
		nodes++;
	}
	for (unsigned i = 0; i < SCHED_CALLS; i++)
		sent += sched->call[i].state != CALL_FREE && sched->call[i].bundle;
	PL_ASSERT(nodes == bundle->node_count);
	PL_ASSERT(sent == (bundle->state == BUNDLE_SENT));
	PL_ASSERT(sent > 0 ? nodes == 0 : pods == bundle->pods);
	PL_ASSERT(bundle->state != BUNDLE_NONE || pods == 0);
}

static uint32_t check_pod(const struct sched *sched, const struct sched_pod *pod)
{
	bool queued = pod->place == POD_QUEUED;

	switch ((enum pod_place)pod->place) {
	case POD_IDLE:
		PL_ASSERT(pod->queue.place == QUEUE_OUT);
		return 0;
	case POD_QUEUED:
		PL_ASSERT(pod_gang(pod) != NULL || (pod->queue.place != QUEUE_OUT &&
		                                    pod->queue.place != QUEUE_FLIGHT));
		break;
	case POD_WAITS:
		PL_ASSERT(pod_gang(pod) != NULL || pod->queue.place == QUEUE_FLIGHT);
		PL_ASSERT(pod->node != NULL);
		break;
	case POD_SENT:
		PL_ASSERT(pod->call != 0);
		PL_ASSERT((pod->flags & POD_RESET) == 0 || pod_is_loose(pod));
		if (pod_is_loose(pod)) {
			PL_ASSERT(pod->queue.place == QUEUE_OUT);
			return 0;
		}
		PL_ASSERT(pod_gang(pod) != NULL || pod->queue.place == QUEUE_FLIGHT);
		break;
	}
	PL_ASSERT(pod_gang(pod) == NULL || pod->queue.place == QUEUE_OUT);
	PL_ASSERT(pod_is_owned(sched, pod));
	PL_ASSERT(!queued || pod->listed == 0);
	PL_ASSERT(pool_class_of(pod->queue.class)->spec == pod->spec);
	return 1;
}

/* Those by other settings are still to be looked at. */
static void check_reigns(const struct sched *sched)
{
	bool ahead = false;

	PL_ASSERT(sched->moving == NULL || is_moving(sched));
	PL_ASSERT(sched->queue == sched->reign->queue &&
	          sched->pool == &sched->reign->pool && sched->turn == NULL);
	PODS_EACH(pod, sched)
	{
		ahead = ahead || pod == sched->moving;
		PL_ASSERT(pod->queue.class == NULL || ahead ||
		          reign_of(pool_class_of(pod->queue.class)) == sched->reign);
	}
}

/* What is asked for stands in the classes, but for what came since. */
static void check_beside(const struct sched *sched)
{
	bool joined = sched->named == sched->model.identities.named;
	uint32_t pods = 0;

	PODS_EACH(pod, sched)
	{
		const struct identity beside = {pod->index, pod->beside};

		pods += beside.keys != 0;
		PL_ASSERT(!joined || pod->spec == NULL ||
		          identity_due(&sched->model, pod->key[2], &beside) == 0);
	}
	PL_ASSERT(pods == sched->beside);
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
	PL_ASSERT(waiting == sched->waiting + sched->abroad.waiting);
	check_bundle(sched);
	gangs_check(sched);
	large_check(sched);
	shields_check(sched);
	check_beside(sched);
	check_reigns(sched);
	PODS_EACH(pod, sched)
	ending += pod->linked == LINKED_ENDING;
	PL_ASSERT(ending == sched->ending);
	PODS_EACH(pod, sched)
	queued += check_pod(sched, pod);
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		work += sched->partition[i].work;
	PL_ASSERT(work == queued);
	snapshot_check(&sched->snapshot);
	queue_check(sched->queue);
	PL_LIST_EACH (link, &sched->past)
		queue_check(PL_LIST_ITEM(link, struct reign, link)->queue);
}
