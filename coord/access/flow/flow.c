#include "coord/access/flow/flow.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { QUANTUM = 4 };

struct flow_user {
	struct pl_map_node node;
	struct pl_list turn; /* of flow->turn; empty when nothing waits */
	struct pl_list queue;
	uint32_t items, running, waiting, watching;
	uint32_t deficit; /* cost that the user may still have in this round */
	uint8_t name[];
};

/* The cost of a request, by its kind: a list is worth several gets. */
static const uint32_t costs[] = {
	[FLOW_GET] = 1, [FLOW_CHANGE] = 1, [FLOW_LIST] = QUANTUM, [FLOW_WATCH] = 0};

void flow_init(struct flow *flow, const struct access_limits *limits)
{
	*flow = (struct flow){.limits = *limits};
	pl_map_init(&flow->users);
	pl_list_init(&flow->turn);
	pl_list_init(&flow->age);
}

void flow_done(struct flow *flow)
{
	PL_ASSERT(flow->users.count == 0);
	pl_map_done(&flow->users);
}

void flow_set_limits(struct flow *flow, const struct access_limits *limits)
{
	flow->limits = *limits;
}

/* -- users ------------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct flow_user *user_find(struct flow *flow, struct pl_span name)
{
	struct pl_map_node *node = pl_map_get(&flow->users, name);
	struct flow_user *user;

	if (node != NULL)
		return PL_CONTAINER_OF(node, struct flow_user, node);
	user = pl_calloc(1, sizeof *user + name.len);
	if (user == NULL)
		return NULL;
	if (name.len > 0)
		memcpy(user->name, name.at, name.len);
	pl_list_init(&user->turn);
	pl_list_init(&user->queue);
	node = pl_map_add(&flow->users, &user->node, pl_span(user->name, name.len));
	PL_ASSERT(node == NULL);
	return user;
}

static void user_drop_if_idle(struct flow *flow, struct flow_user *user)
{
	if (user->items > 0)
		return;
	pl_map_del(&flow->users, &user->node);
	pl_list_del(&user->turn);
	free(user);
}

/* -- in -------------------------------------------------------------------------------------- */

static void item_run(struct flow *flow, struct flow_item *item)
{
	item->state = FLOW_RUNNING;
	item->user->running++;
	flow->running++;
}

static void item_wait(struct flow *flow, struct flow_item *item, uint64_t now_ms)
{
	struct flow_user *user = item->user;

	item->state = FLOW_WAITING;
	item->since_ms = now_ms;
	user->waiting++;
	flow->waiting++;
	flow->queued++;
	pl_list_add_tail(&user->queue, &item->link);
	pl_list_add_tail(&flow->age, &item->age);
	if (pl_list_empty(&user->turn))
		pl_list_add_tail(&flow->turn, &user->turn);
}

static bool has_seat(const struct flow *flow, const struct flow_user *user)
{
	return flow->running < flow->limits.inflight &&
	       user->running < flow->limits.inflight_per_user;
}

static enum flow_verdict enter_watch(struct flow *flow, struct flow_item *item)
{
	struct flow_user *user = item->user;

	if (flow->watching >= flow->limits.watches ||
	    user->watching >= flow->limits.watches_per_user)
		return FLOW_REFUSE;
	item->state = FLOW_WATCHING;
	user->watching++;
	flow->watching++;
	return FLOW_RUN;
}

static enum flow_verdict enter_request(struct flow *flow, struct flow_item *item,
                                       uint64_t now_ms)
{
	struct flow_user *user = item->user;

	/* No request passes one of its user's that waits. Others' may be passed: they wait
	 * for seats of theirs, or none is free. */
	if (user->waiting == 0 && has_seat(flow, user)) {
		item_run(flow, item);
		return FLOW_RUN;
	}
	if (flow->waiting >= flow->limits.queue ||
	    user->waiting >= flow->limits.queue_per_user)
		return FLOW_REFUSE;
	item_wait(flow, item, now_ms);
	return FLOW_WAIT;
}

enum flow_verdict flow_enter(struct flow *flow, struct flow_item *item,
                             struct pl_span user, enum flow_kind kind, uint64_t now_ms)
{
	enum flow_verdict verdict = FLOW_REFUSE;

	PL_ASSERT(item->state == FLOW_OUT);
	*item = (struct flow_item){.user = user_find(flow, user), .cost = costs[kind]};
	pl_list_init(&item->link);
	pl_list_init(&item->age);
	if (item->user != NULL)
		verdict = kind == FLOW_WATCH ? enter_watch(flow, item)
		                             : enter_request(flow, item, now_ms);
	flow->entered++;
	if (verdict != FLOW_REFUSE) {
		item->user->items++;
		return verdict;
	}
	flow->refused++;
	if (item->user != NULL)
		user_drop_if_idle(flow, item->user);
	*item = (struct flow_item){.state = FLOW_OUT};
	return FLOW_REFUSE;
}

/* -- out ------------------------------------------------------------------------------------- */

static void queue_take(struct flow *flow, struct flow_item *item)
{
	struct flow_user *user = item->user;

	pl_list_del(&item->link);
	pl_list_del(&item->age);
	user->waiting--;
	flow->waiting--;
	if (user->waiting > 0)
		return;
	pl_list_del(&user->turn);
	user->deficit = 0;
}

void flow_leave(struct flow *flow, struct flow_item *item)
{
	struct flow_user *user = item->user;

	switch (item->state) {
	case FLOW_OUT:
		return;
	case FLOW_WAITING:
		queue_take(flow, item);
		break;
	case FLOW_RUNNING:
		user->running--;
		flow->running--;
		break;
	case FLOW_WATCHING:
		user->watching--;
		flow->watching--;
		break;
	}
	user->items--;
	user_drop_if_idle(flow, user);
	*item = (struct flow_item){.state = FLOW_OUT};
}

/* The user's turn is over; it comes again behind all others. */
static void turn_end(struct flow *flow, struct flow_user *user)
{
	pl_list_del(&user->turn);
	pl_list_add_tail(&flow->turn, &user->turn);
}

/* The user's first request, if the round gives enough for it. A user whose turn begins gets
 * a quantum; the rest of a quantum stays for the next round. */
static struct flow_item *turn_take(struct flow *flow, struct flow_user *user)
{
	struct flow_item *item = PL_LIST_ITEM(user->queue.next, struct flow_item, link);

	if (user->deficit < item->cost)
		user->deficit += QUANTUM;
	if (user->deficit < item->cost)
		return NULL;
	user->deficit -= item->cost;
	queue_take(flow, item);
	item_run(flow, item);
	/* queue_take has ended the turn of a user for whom nothing waits. */
	if (user->waiting > 0 &&
	    user->deficit < PL_LIST_ITEM(user->queue.next, struct flow_item, link)->cost)
		turn_end(flow, user);
	return item;
}

struct flow_item *flow_next(struct flow *flow)
{
	if (flow->running >= flow->limits.inflight)
		return NULL;
	PL_LIST_EACH (link, &flow->turn) {
		struct flow_user *user = PL_LIST_ITEM(link, struct flow_user, turn);
		struct flow_item *item = NULL;

		if (has_seat(flow, user))
			item = turn_take(flow, user);
		if (item != NULL)
			return item;
	}
	return NULL;
}

bool flow_ready(const struct flow *flow)
{
	if (flow->running >= flow->limits.inflight)
		return false;
	for (const struct pl_list *link = flow->turn.next; link != &flow->turn;
	     link = link->next)
		if (has_seat(flow, PL_CONTAINER_OF_CONST(link, struct flow_user, turn)))
			return true;
	return false;
}

struct flow_item *flow_expire(struct flow *flow, uint64_t now_ms)
{
	struct flow_item *item;

	if (now_ms < flow_deadline_ms(flow))
		return NULL;
	item = PL_LIST_ITEM(flow->age.next, struct flow_item, age);
	flow_leave(flow, item);
	flow->expired++;
	return item;
}

uint64_t flow_deadline_ms(const struct flow *flow)
{
	if (pl_list_empty(&flow->age))
		return UINT64_MAX;
	return PL_CONTAINER_OF_CONST(flow->age.next, struct flow_item, age)->since_ms +
	       flow->limits.queue_ms;
}
