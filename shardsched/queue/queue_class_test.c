/* Classes wait and are woken as a whole, and no pod of them is forgotten. */
#include "tests/support/shardsched/queue/queue_rig.h"

static unsigned in_place(unsigned from, unsigned to, enum queue_place place)
{
	unsigned count = 0;

	for (unsigned i = from; i < to; i++)
		count += pod[i].place == place;
	return count;
}

/* Room for five among forty pods of a class is found with few attempts. */
T_CASE(woken_class_doubles_its_probes)
{
	unsigned free_places = 5, attempts = 0;
	struct queue_pod *next;

	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 40; i++)
		add_refused(i, 0, BIT(FIT));
	now += 5000;
	send_event(QUEUE_EV_NODE_ADDED, 0);
	T_EQ(in_place(0, 40, QUEUE_ACTIVE), 1);
	while ((next = queue_pop(queue, now)) != NULL) {
		attempts++;
		if (free_places > 0) {
			free_places--;
			queue_placed(queue, next, now);
			queue_remove(queue, next, now);
		} else {
			queue_refuse(queue, next, BIT(FIT), 1, now);
		}
		check();
	}
	T_EQ(in_place(0, 5, QUEUE_OUT), 5); /* the oldest */
	T_EQ(in_place(5, 40, QUEUE_WAITING), 35);
	T_EQ(attempts, 5 + 1); /* the other five were recalled */
	/* The class was seen to fit, so the next event wakes it without a backoff. */
	send_event(QUEUE_EV_POD_REMOVED, 0);
	T_EQ(in_place(5, 40, QUEUE_ACTIVE), 1);
	end();
}

/* A probe may end in any way: another pod of the class takes over. */
T_CASE(probe_that_does_not_report_is_replaced)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 8; i++)
		add_refused(i, 0, BIT(FIT));
	now += 5000;
	send_event(QUEUE_EV_NODE_ADDED, 0);
	T_TRUE(pod[0].probe);
	queue_remove(queue, &pod[0], now);
	T_TRUE(pod[1].probe && pod[1].place == QUEUE_ACTIVE);
	pop(1);
	queue_retry(queue, &pod[1], QUEUE_FAULT, true, 0, now);
	check();
	T_TRUE(pod[2].probe && !pod[1].probe);
	queue_edit(queue, &pod[2], &classes[0], true, now);
	check();
	T_TRUE(pod[3].probe);
	T_EQ(pod[2].place, QUEUE_GATED);
	pop(3);
	queue_remove(queue, &pod[3], now);
	T_TRUE(pod[4].probe);
	pop(4);
	refuse(4, BIT(FIT));
	T_EQ(in_place(4, 8, QUEUE_WAITING), 4);
	end();
}

/* A pod of the class is placed although no event said that it might: waiting pods are
 * woken. */
T_CASE(placed_pod_opens_its_class)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 3; i++)
		add_refused(i, 0, BIT(NOTHING));
	add(3, 0);
	pop(3);
	queue_placed(queue, &pod[3], now);
	check();
	T_EQ(pod[0].place, QUEUE_ACTIVE);
	T_EQ(pod[1].place, QUEUE_WAITING);
	/* The commit met a conflict: the pod is tried again, and no other pod is
	 * woken. */
	queue_retry(queue, &pod[3], QUEUE_CONFLICT, false, 0, now);
	check();
	T_EQ(pod[1].place, QUEUE_WAITING);
	T_EQ(pod[3].place, QUEUE_ACTIVE);
	end();
}

/* A verdict that had seen fewer events does not hide later ones. */
T_CASE(older_verdict_does_not_count)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	add(0, 0);
	pop(0);
	send_event(QUEUE_EV_NODE_TAINTS, 1);
	add(1, 0);
	pop(1);
	refuse(1, BIT(FIT));
	queue_event(queue, &(struct queue_event){.kind = QUEUE_EV_POD_REMOVED});
	refuse(0, BIT(VOLUME));
	T_EQ(pod[1].place, QUEUE_WAITING);
	now += 5000;
	catch_up();
	T_EQ(in_place(0, 2, QUEUE_ACTIVE), 1);
	end();
}

/* An earlier probe returns with an old verdict after the class was closed and opened
 * again: another probe has to go. */
T_CASE(probe_with_an_older_verdict_keeps_class_open)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 6; i++)
		add_refused(i, 0, BIT(FIT));
	now += 5000;
	send_event(QUEUE_EV_NODE_ADDED, 0);
	pop(0);
	queue_placed(queue, &pod[0], now);
	pop(1);
	send_event(QUEUE_EV_CSI_NODE, 0);
	pop(2);
	refuse(2, BIT(FIT));
	T_TRUE(classes[0].state != QUEUE_CLASS_OPEN);
	send_event(QUEUE_EV_POD_REMOVED, 0);
	T_EQ(in_place(0, 6, QUEUE_ACTIVE), 0);
	refuse(1, BIT(NOTHING));
	T_EQ(classes[0].probes, 1);
	T_EQ(in_place(0, 6, QUEUE_ACTIVE), 1);
	end();
}

/* An event during an attempt may help waiting pods too, and these have backed off
 * already. */
T_CASE(event_during_an_attempt_wakes_the_class)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	add_refused(0, 0, BIT(FIT));
	now += 5000;
	add(1, 0);
	pop(1);
	queue_event(queue, &(struct queue_event){.kind = QUEUE_EV_POD_REMOVED});
	refuse(1, BIT(FIT));
	T_EQ(pod[1].place, QUEUE_BACKOFF);
	T_TRUE(!pod[1].probe);
	T_EQ(pod[0].place, QUEUE_ACTIVE);
	T_TRUE(pod[0].probe);
	end();
}

/* A verdict that had seen fewer events than the probe does not recall it. */
T_CASE(probes_are_recalled_only_by_newer_verdict)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	add(0, 0);
	pop(0);
	send_event(QUEUE_EV_CSI_NODE, 0);
	add_refused(1, 0, BIT(FIT));
	now += 5000;
	send_event(QUEUE_EV_POD_REMOVED, 0);
	T_TRUE(pod[1].probe);
	refuse(0, BIT(VOLUME));
	T_EQ(pod[0].place, QUEUE_WAITING);
	pop(1);
	end();
}

/* Refusals of new pods do not make the class back off longer; being woken for nothing
 * does, and less the more pods wait. */
T_CASE(backoff_grows_with_vain_wake_ups)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	for (unsigned i = 0; i < 4; i++)
		add_refused(i, 0, BIT(FIT));
	T_EQ(classes[0].failures, 1);
	T_EQ(classes[0].judged_ms + classes[0].backoff_ms, now + 1000);
	now += 1000;
	send_event(QUEUE_EV_NODE_ADDED, 0);
	pop(0);
	refuse(0, BIT(FIT));
	T_EQ(classes[0].failures, 2);
	T_EQ(classes[0].judged_ms + classes[0].backoff_ms, now + 2000 / 4);
	end();
}

/* Without any node no plugin refused, so any event may help. */
T_CASE(pod_refused_by_no_plugin_is_helped_by_any_event)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	add_refused(0, 0, 0);
	now += 20000;
	send_event(QUEUE_EV_BUDGET, 0);
	T_EQ(pod[0].place, QUEUE_ACTIVE);
	pop(0);
	refuse(0, BIT(NOTHING));
	now += 20000;
	send_event(QUEUE_EV_BUDGET, 0);
	T_EQ(pod[0].place, QUEUE_WAITING);
	end();
}
