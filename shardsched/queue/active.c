/*
 * Active pods in order: bands by SLA and priority, in a band the flows of its namespaces
 * by turn, in a flow the pods by age. A band that is not fair has one flow, of namespace
 * 0. Empty bands and flows stay in their tables while classes refer to them, so that
 * moving pods allocates nothing.
 */
#include <stdlib.h>

#include "shardsched/queue/queue_int.h"
#include "store/base/alloc.h"

/* Virtual time of a turn at weight 1. 64 bits last for 2^44 turns. */
enum { TURN = 1u << 20 };

static const struct queue_band *band_of(const struct rank_node *node)
{
	return PL_CONTAINER_OF_CONST(node, struct queue_band, node);
}

static const struct queue_flow *flow_of(const struct rank_node *node)
{
	return PL_CONTAINER_OF_CONST(node, struct queue_flow, turn_node);
}

static bool band_before(const struct rank_node *a, const struct rank_node *b)
{
	const struct queue_band *x = band_of(a), *y = band_of(b);

	return x->level != y->level ? x->level > y->level : x->priority > y->priority;
}

static bool turn_before(const struct rank_node *a, const struct rank_node *b)
{
	const struct queue_flow *x = flow_of(a), *y = flow_of(b);

	return x->turn != y->turn ? x->turn < y->turn
	                          : x->key.namespace_id < y->key.namespace_id;
}

static bool pod_before(const struct rank_node *a, const struct rank_node *b)
{
	const struct queue_pod *x = PL_CONTAINER_OF_CONST(a, struct queue_pod, node);
	const struct queue_pod *y = PL_CONTAINER_OF_CONST(b, struct queue_pod, node);

	return x->order_ms != y->order_ms ? x->order_ms < y->order_ms : x->seq < y->seq;
}

void active_init(struct queue_active *active, enum queue_sort sort, bool fair)
{
	active->sort = sort;
	active->fair = fair;
	active->by_band.before = band_before;
	active->by_turn.before = turn_before;
	active->by_age.before = pod_before;
	pl_map_init(&active->flows);
}

void active_done(struct queue_active *active)
{
	PL_ASSERT(active->bands.root == NULL && active->flows.count == 0);
	pl_map_done(&active->flows);
}

/* NULL: there is none. */
static struct queue_band *find_band(const struct queue_active *active,
                                    const struct queue_flow_key *key)
{
	const struct queue_band like = {.level = (enum queue_level)key->level,
	                                .priority = key->priority};
	struct rank_node *node = active->bands.root;

	while (node != NULL) {
		if (band_before(&like.node, node))
			node = node->left;
		else if (band_before(node, &like.node))
			node = node->right;
		else
			break;
	}
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct queue_band, node);
}

static struct queue_band *new_band(struct queue_active *active,
                                   const struct queue_flow_key *key)
{
	struct queue_band *band = pl_calloc(1, sizeof *band);

	if (band == NULL)
		return NULL;
	band->level = (enum queue_level)key->level;
	band->priority = key->priority;
	rank_add(&active->by_band, &active->bands, &band->node, 0);
	return band;
}

static void band_unref(struct queue_active *active, struct queue_band *band)
{
	if (--band->flows > 0)
		return;
	PL_ASSERT(band->turns.root == NULL && rank_weight(&band->node) == 0);
	rank_del(band_before, &active->bands, &band->node);
	free(band);
}

static struct queue_flow *new_flow(struct queue_active *active,
                                   const struct queue_flow_key *key)
{
	struct queue_flow *flow = pl_calloc(1, sizeof *flow);
	struct queue_band *band = find_band(active, key);

	if (flow != NULL && band == NULL)
		band = new_band(active, key);
	if (flow == NULL || band == NULL) {
		free(flow);
		return NULL;
	}
	flow->key = *key;
	flow->band = band;
	flow->cost = TURN;
	band->flows++;
	PL_ASSERT(pl_map_add(&active->flows, &flow->by_key,
	                     pl_span(&flow->key, sizeof flow->key)) == NULL);
	return flow;
}

static void flow_set_weight(struct queue_flow *flow, uint32_t weight)
{
	flow->cost = TURN / (weight < QUEUE_WEIGHT_MAX ? weight : QUEUE_WEIGHT_MAX);
}

enum pl_code active_open(struct queue_active *active, const struct queue_class_opts *opts,
                         struct queue_flow **out, struct pl_err *err)
{
	const struct queue_flow_key key = {
		.priority = opts->priority,
		.level = active->sort == QUEUE_BY_SLA ? opts->level : QUEUE_NO_SLA,
		.namespace_id = active->fair ? opts->namespace_id : 0};
	struct pl_map_node *found = pl_map_get(&active->flows, pl_span(&key, sizeof key));
	struct queue_flow *flow =
		found == NULL ? new_flow(active, &key)
			      : PL_CONTAINER_OF(found, struct queue_flow, by_key);

	if (flow == NULL)
		return pl_err_set(err, PL_NOMEM, "flow of a namespace: out of memory");
	if (opts->weight != 0)
		flow_set_weight(flow, opts->weight);
	flow->classes++;
	*out = flow;
	return PL_OK;
}

void active_close(struct queue_active *active, struct queue_flow *flow)
{
	PL_ASSERT(flow->classes > 0);
	if (--flow->classes > 0)
		return;
	PL_ASSERT(flow->pods.root == NULL && !rank_has(&flow->turn_node));
	pl_map_del(&active->flows, &flow->by_key);
	band_unref(active, flow->band);
	free(flow);
}

void active_weigh(struct queue_active *active, uint32_t namespace_id, uint32_t weight)
{
	PL_ASSERT(weight > 0);
	PL_MAP_EACH (node, &active->flows) {
		struct queue_flow *flow =
			PL_CONTAINER_OF(node, struct queue_flow, by_key);

		if (flow->key.namespace_id == namespace_id)
			flow_set_weight(flow, weight);
	}
}

static void adjust_band(struct queue_active *active, struct queue_band *band, int more)
{
	rank_weigh(band_before, &active->bands, &band->node,
	           rank_weight(&band->node) + (uint32_t)more);
}

static void flow_insert(struct queue_active *active, struct queue_flow *flow,
                        struct queue_pod *pod)
{
	struct queue_band *band = flow->band;

	rank_add(&active->by_age, &flow->pods, &pod->node, 1);
	adjust_band(active, band, 1);
	if (rank_has(&flow->turn_node))
		return;
	/* A namespace that had nothing to try does not save up turns. */
	if (flow->turn < band->clock)
		flow->turn = band->clock;
	rank_add(&active->by_turn, &band->turns, &flow->turn_node, 1);
}

static void flow_remove(struct queue_active *active, struct queue_flow *flow,
                        struct queue_pod *pod)
{
	rank_del(pod_before, &flow->pods, &pod->node);
	adjust_band(active, flow->band, -1);
	if (flow->pods.root == NULL)
		rank_del(turn_before, &flow->band->turns, &flow->turn_node);
}

void active_add(struct queue_active *active, struct queue_pod *pod)
{
	flow_insert(active, pod->class->flow, pod);
}

void active_del(struct queue_active *active, struct queue_pod *pod)
{
	flow_remove(active, pod->class->flow, pod);
}

struct queue_pod *active_first(const struct queue_active *active)
{
	const struct rank_node *band = rank_at(&active->bands, 0);

	if (band == NULL)
		return NULL;
	return queue_pod_of(
		rank_first(&flow_of(rank_first(&band_of(band)->turns))->pods));
}

bool active_before(const struct queue_pod *a, const struct queue_pod *b)
{
	const struct queue_band *x = a->class->flow->band, *y = b->class->flow->band;

	if (x->level != y->level || x->priority != y->priority)
		return band_before(&x->node, &y->node);
	return pod_before(&a->node, &b->node);
}

void active_move(struct queue_active *lane, struct queue_active *to_lane,
                 const struct queue_class *class, struct queue_flow *from,
                 struct queue_flow *to)
{
	struct rank_node *node = rank_first(&from->pods);

	to->cost = from->cost;
	while (node != NULL) {
		struct queue_pod *pod = queue_pod_of(node);

		node = rank_next(pod_before, &from->pods, node);
		if (pod->class != class)
			continue;
		flow_remove(lane, from, pod);
		flow_insert(to_lane, to, pod);
	}
}

void active_take(struct queue_active *active, struct queue_pod *pod)
{
	struct queue_flow *flow = pod->class->flow;
	struct queue_band *band = flow->band;

	PL_ASSERT(flow->turn >= band->clock);
	active_del(active, pod);
	band->clock = flow->turn;
	if (!active->fair)
		return;
	/* The flow's place among the turns depends on its turn, so the flow is taken out
	 * first. */
	if (rank_has(&flow->turn_node))
		rank_del(turn_before, &band->turns, &flow->turn_node);
	flow->turn += flow->cost;
	if (flow->pods.root != NULL)
		rank_add(&active->by_turn, &band->turns, &flow->turn_node, 1);
}

/* How many pods of the other flow are served before the one with that turn. */
static uint64_t count_served_before(const struct queue_flow *other, uint64_t turn,
                                    uint32_t namespace_id)
{
	uint64_t count, ahead;

	if (other->turn > turn)
		return 0;
	ahead = turn - other->turn;
	count = ahead / other->cost;
	if (ahead % other->cost != 0 || other->key.namespace_id < namespace_id)
		count++;
	return count < rank_sum(&other->pods) ? count : rank_sum(&other->pods);
}

uint32_t active_position(const struct queue_active *active, const struct queue_pod *pod)
{
	const struct queue_flow *flow = pod->class->flow;
	uint32_t own = rank_of(pod_before, &flow->pods, &pod->node);
	uint64_t turn = flow->turn + own * flow->cost, before = own;

	for (const struct rank_node *node = rank_first(&flow->band->turns);
	     node != NULL && flow_of(node)->turn <= turn;
	     node = rank_next(turn_before, &flow->band->turns, node))
		if (flow_of(node) != flow)
			before += count_served_before(flow_of(node), turn,
			                              flow->key.namespace_id);
	return rank_of(band_before, &active->bands, &flow->band->node) + (uint32_t)before;
}

static uint32_t check_flows(const struct queue_active *active)
{
	uint32_t pods = 0;

	PL_MAP_EACH (node, &active->flows) {
		const struct queue_flow *flow =
			PL_CONTAINER_OF_CONST(node, struct queue_flow, by_key);

		rank_check(&active->by_age, &flow->pods);
		PL_ASSERT(flow->classes > 0 && flow->cost > 0);
		PL_ASSERT((flow->pods.root != NULL) == rank_has(&flow->turn_node));
		PL_ASSERT(!rank_has(&flow->turn_node) || flow->turn >= flow->band->clock);
		PL_ASSERT(active->fair || flow->key.namespace_id == 0);
		pods += rank_sum(&flow->pods);
	}
	return pods;
}

void active_check(const struct queue_active *active)
{
	uint32_t flows = 0;

	PL_ASSERT(check_flows(active) == rank_sum(&active->bands));
	rank_check(&active->by_band, &active->bands);
	for (const struct rank_node *node = rank_first(&active->bands); node != NULL;
	     node = rank_next(band_before, &active->bands, node)) {
		const struct queue_band *band = band_of(node);
		uint32_t pods = 0;

		rank_check(&active->by_turn, &band->turns);
		for (const struct rank_node *turn = rank_first(&band->turns);
		     turn != NULL; turn = rank_next(turn_before, &band->turns, turn))
			pods += rank_sum(&flow_of(turn)->pods);
		PL_ASSERT(pods == rank_weight(node));
		PL_ASSERT(band->flows > 0);
		flows += band->flows;
	}
	PL_ASSERT(flows == active->flows.count);
}
