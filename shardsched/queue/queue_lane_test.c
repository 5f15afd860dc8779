/* Shut lanes are passed over, and no pod loses its place. */
#include "tests/support/shardsched/queue/queue_rig.h"

static void to_lane(unsigned c, unsigned lane)
{
	T_OK(queue_class_move(queue, &classes[c], lane, NULL), NULL);
	check();
}

T_CASE(shut_lane_is_passed_over)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	open_class(1, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 4; i++, now++)
		add(i, i % 2);
	to_lane(0, 1);
	queue_shut_lanes(queue, 1u << 1);
	T_TRUE(queue_peek(queue) == &pod[1]);
	pop(1);
	pop(3);
	T_TRUE(queue_pop(queue, now) == NULL);
	queue_shut_lanes(queue, 0);
	pop(0);
	pop(2);
	end();
}

/* Across lanes the higher band comes first, then the older pod. */
T_CASE(lanes_are_ordered_by_band_and_age)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	open_class(1, QUEUE_GOLD, 5);
	open_class(2, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 6; i++, now++)
		add(i, i % 3);
	to_lane(1, 3);
	to_lane(2, 2);
	pop(1);
	pop(4);
	pop(0);
	pop(2);
	pop(3);
	pop(5);
	end();
}

T_CASE(pod_put_back_keeps_its_place)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	for (unsigned i = 0; i < 3; i++, now++)
		add(i, 0);
	pop(0);
	now += 1000;
	queue_put_back(queue, &pod[0], now);
	check();
	T_EQ(pod[0].attempts, 0);
	pop(0);
	pop(1);
	pop(2);
	end();
}

T_CASE(deferred_pod_waits_for_activation_or_time)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	for (unsigned i = 0; i < 3; i++, now++)
		add(i, 0);
	for (unsigned i = 0; i < 2; i++) {
		pop(i);
		queue_defer(queue, &pod[i], 5000, now);
		check();
		T_EQ(pod[i].attempts, 0);
		T_EQ(pod[i].failures, 0);
	}
	pop(2);
	T_TRUE(queue_pop(queue, now) == NULL);
	queue_activate(queue, &pod[1], now);
	pop(1);
	now += 4999;
	queue_run(queue, now);
	T_TRUE(queue_pop(queue, now) == NULL);
	now += 1;
	queue_run(queue, now);
	pop(0);
	end();
}

/* Waiting pods and pods in flight move with the class. */
T_CASE(class_moves_with_its_pods)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	open_class(1, QUEUE_GOLD, 0);
	add_refused(0, 0, BIT(FIT));
	add_refused(1, 0, BIT(FIT));
	add_refused(4, 1, BIT(FIT));
	to_lane(0, 1);
	queue_shut_lanes(queue, 1u << 1);
	now += 20000;
	send_event(QUEUE_EV_NODE_ADDED, 0);
	pop(4);
	T_TRUE(queue_pop(queue, now) == NULL);
	to_lane(0, 0);
	T_TRUE(queue_pop(queue, now) != NULL);
	to_lane(0, 2);
	end();
}
