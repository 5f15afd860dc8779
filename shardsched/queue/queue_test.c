#include "tests/harness/torture.h"
#include "tests/support/shardsched/queue/queue_rig.h"

T_CASE(order_is_priority_then_time)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	open_class(1, QUEUE_GOLD, 5); /* this order ignores levels */
	open_class(2, QUEUE_NO_SLA, -5);
	open_class(3, QUEUE_NO_SLA, INT32_MAX);
	add(0, 2);
	add(1, 0);
	now++;
	add(2, 1);
	add(3, 0);
	now++;
	add(4, 3);
	add(5, 1);
	T_EQ(queue_where(queue, &pod[0]).position, 5);
	T_EQ(queue_where(queue, &pod[3]).position, 4);
	T_EQ(queue_where(queue, &pod[3]).of, 6);
	pop(4);
	pop(2);
	pop(5);
	pop(1);
	pop(3);
	pop(0);
	T_TRUE(queue_pop(queue, now) == NULL);
	end();
}

T_CASE(order_is_sla_then_priority_then_age)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, -1);
	open_class(1, QUEUE_SILVER, 1000);
	open_class(2, QUEUE_SILVER, 0);
	open_class(3, QUEUE_BRONZE, 2000);
	open_class(4, QUEUE_NO_SLA, 3000);
	for (unsigned i = 0; i < 5; i++)
		add(i, 4 - i);
	/* Later in the queue, but of higher age. */
	queue_add(queue, &pod[5], &classes[2], now - 1000, now);
	pop(4);
	pop(3);
	pop(5);
	pop(2);
	pop(1);
	pop(0);
	end();
}

/* A pod that is tried again goes behind its equals in one order, and keeps its place in
 * the other. */
T_CASE(requeued_pod_goes_behind_by_priority_and_keeps_age_by_sla)
{
	for (unsigned sort = QUEUE_BY_PRIORITY; sort <= QUEUE_BY_SLA; sort++) {
		begin_by(sort == 0 ? QUEUE_BY_PRIORITY : QUEUE_BY_SLA);
		open_class(0, QUEUE_NO_SLA, 0);
		add_refused(0, 0, BIT(FIT));
		now += 2000;
		add(1, 0);
		now += 1;
		send_event(QUEUE_EV_NODE_ADDED, 0);
		T_EQ(pod[0].place, QUEUE_ACTIVE);
		T_EQ(queue_where(queue, &pod[0]).position, 0);
		now += 1;
		add(2, 0);
		pop(0);
		now += 1;
		queue_retry(queue, &pod[0], QUEUE_FAULT, true, 9, now);
		T_EQ(pod[0].place, QUEUE_BACKOFF);
		now = queue_pod_until_ms(&pod[0]);
		catch_up();
		T_EQ(queue_where(queue, &pod[0]).position, sort == 0 ? 2 : 0);
		T_EQ(pod[0].reason, 9);
		end();
	}
}

T_CASE(backoff_doubles_up_to_the_maximum)
{
	static const uint64_t want[] = {1000, 2000, 4000, 8000, 10000, 10000};

	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	add(0, 0);
	for (unsigned i = 0; i < 6; i++) {
		pop(0);
		queue_retry(queue, &pod[0], QUEUE_FAULT, true, 0, now);
		T_EQ(queue_pod_until_ms(&pod[0]) - now, want[i]);
		T_EQ(queue_deadline_ms(queue), queue_pod_until_ms(&pod[0]));
		now = queue_pod_until_ms(&pod[0]) - 1;
		queue_run(queue, now);
		T_EQ(pod[0].place, QUEUE_BACKOFF);
		now++;
		catch_up();
	}
	T_EQ(pod[0].infeasible, 0);
	end();
}

T_CASE(jitter_is_bounded_and_repeats)
{
	struct queue_opts opts = opts_of(QUEUE_BY_PRIORITY);
	uint64_t first[PODS];
	bool differ = false;

	opts.jitter_percent = 20;
	for (unsigned round = 0; round < 2; round++) {
		begin(&opts);
		open_class(0, QUEUE_NO_SLA, 0);
		for (unsigned i = 0; i < PODS; i++) {
			uint64_t rest;

			add(i, 0);
			pop(i);
			queue_retry(queue, &pod[i], QUEUE_FAULT, true, 0, now);
			rest = queue_pod_until_ms(&pod[i]) - now;
			T_TRUE(rest >= 800 && rest <= 1000);
			if (round == 1)
				T_EQ(rest, first[i]);
			first[i] = rest;
			differ = differ || rest != first[0];
		}
		T_TRUE(differ);
		end();
	}
}

T_CASE(only_helpful_events_move_a_pod)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	open_class(1, QUEUE_NO_SLA, 0);
	open_class(2, QUEUE_NO_SLA, 0);
	open_class(3, QUEUE_NO_SLA, 0);
	add_refused(0, 0, BIT(FIT));
	add_refused(1, 1, BIT(TAINT));
	add_refused(2, 2, BIT(VOLUME) | BIT(TAINT));
	add_refused(3, 3, BIT(NOTHING));
	now += 2000;
	for (unsigned kind = QUEUE_EV_ANY + 1; kind < QUEUE_EVENT_KINDS; kind++)
		if (kind != QUEUE_EV_NODE_ADDED && kind != QUEUE_EV_POD_REMOVED &&
		    kind != QUEUE_EV_PVC_ADDED && kind != QUEUE_EV_PV_ADDED)
			send_event((enum queue_event_kind)kind, 1);
	T_EQ(asked, 2); /* about taints, once for the class */
	for (unsigned i = 0; i < 4; i++)
		T_EQ(pod[i].place, QUEUE_WAITING);
	send_event(QUEUE_EV_NODE_TAINTS, 2);
	T_EQ(pod[0].place, QUEUE_WAITING);
	T_EQ(pod[1].place, QUEUE_ACTIVE);
	T_EQ(pod[2].place, QUEUE_ACTIVE);
	send_event(QUEUE_EV_POD_REMOVED, 1);
	T_EQ(pod[0].place, QUEUE_ACTIVE);
	T_EQ(pod[3].place, QUEUE_WAITING);
	send_event(QUEUE_EV_ANY, 0);
	T_EQ(pod[3].place, QUEUE_ACTIVE);
	end();
}

/* An event soon after the refusal moves the pod, but only after its backoff. */
T_CASE(class_backs_off_before_it_is_woken)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	add_refused(0, 0, BIT(FIT));
	now += 300;
	send_event(QUEUE_EV_NODE_ADDED, 0);
	T_EQ(pod[0].place, QUEUE_BACKOFF);
	T_EQ(queue_pod_until_ms(&pod[0]), now + 700);
	now += 700;
	catch_up();
	pop(0);
	refuse(0, BIT(FIT));
	T_EQ(pod[0].place, QUEUE_WAITING);
	send_event(QUEUE_EV_NODE_ADDED, 0);
	T_EQ(queue_pod_until_ms(&pod[0]), now + 2000);
	end();
}

T_CASE(events_in_flight_are_not_lost)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	add(0, 0);
	pop(0);
	send_event(QUEUE_EV_PV_ADDED, 0);
	send_event(QUEUE_EV_NODE_TAINTS, 1);
	refuse(0, BIT(TAINT) | BIT(FIT));
	T_EQ(pod[0].place, QUEUE_WAITING);
	now += 1000;
	send_event(QUEUE_EV_ANY, 0);
	pop(0);
	send_event(QUEUE_EV_NODE_TAINTS, 4);
	refuse(0, BIT(TAINT));
	T_EQ(pod[0].place, QUEUE_BACKOFF);
	T_EQ(queue_pod_until_ms(&pod[0]), now + 2000);
	end();
}

/* Events that are no longer kept in detail help every pod that waits for their kind. */
T_CASE(events_beyond_the_record_help)
{
	struct queue_opts opts = opts_of(QUEUE_BY_PRIORITY);

	opts.events_max = 4;
	begin(&opts);
	open_class(0, QUEUE_NO_SLA, 0);
	open_class(1, QUEUE_NO_SLA, 0);
	add(0, 0);
	add(1, 1);
	pop(0);
	pop(1);
	send_event(QUEUE_EV_NODE_TAINTS, 1);
	for (unsigned i = 0; i < 4; i++)
		send_event(QUEUE_EV_PVC_ADDED, 0);
	refuse(0, BIT(TAINT));
	refuse(1, BIT(FIT));
	T_EQ(pod[0].place, QUEUE_BACKOFF);
	T_EQ(pod[1].place, QUEUE_WAITING);
	T_EQ(asked, 0);
	end();
}

/* Budgets are 0 for gold, 1 for silver and 3 for bronze, and only verdicts count against
 * them. */
T_CASE(budgets_park_pods)
{
	static const enum queue_level level[] = {QUEUE_GOLD, QUEUE_SILVER, QUEUE_BRONZE};
	static const unsigned retries[] = {0, 1, 3};

	begin_by(QUEUE_BY_SLA);
	for (unsigned c = 0; c < 3; c++) {
		open_class(c, level[c], 0);
		add(c, c);
		for (unsigned i = 0; i < retries[c]; i++) {
			pop(c);
			queue_retry(queue, &pod[c], QUEUE_CONFLICT, false, 0, now);
			pop(c);
			refuse(c, BIT(FIT));
			T_EQ(pod[c].place, QUEUE_BACKOFF);
			now = queue_pod_until_ms(&pod[c]);
			catch_up();
		}
		pop(c);
		refuse(c, BIT(FIT));
		T_EQ(pod[c].place, QUEUE_WAITING);
		T_TRUE(queue_where(queue, &pod[c]).parked);
		T_EQ(pod[c].infeasible, retries[c] + 1);
	}
	/* Parked pods are not moved by time but by an event, and then have no budget
	 * left. */
	T_TRUE(queue_deadline_ms(queue) == UINT64_MAX);
	now += 1000000;
	send_event(QUEUE_EV_POD_REMOVED, 0);
	pop(0);
	pop(1);
	pop(2);
	refuse(2, BIT(FIT));
	T_EQ(pod[2].place, QUEUE_WAITING);
	/* An edit resets the budget. */
	queue_edit(queue, &pod[2], &classes[2], false, now);
	pop(2);
	refuse(2, BIT(FIT));
	T_EQ(pod[2].place, QUEUE_BACKOFF);
	end();
}

T_CASE(waiting_pods_are_flushed_after_five_minutes)
{
	begin_by(QUEUE_BY_PRIORITY);
	open_class(0, QUEUE_NO_SLA, 0);
	open_class(1, QUEUE_NO_SLA, 0);
	add_refused(0, 0, BIT(NOTHING));
	now += 1000;
	add_refused(1, 1, BIT(FIT));
	T_EQ(queue_deadline_ms(queue), pod[0].since_ms + 300000);
	now = queue_deadline_ms(queue);
	catch_up();
	T_EQ(pod[0].place, QUEUE_ACTIVE);
	T_EQ(pod[1].place, QUEUE_WAITING);
	now += 1000;
	catch_up();
	T_EQ(pod[1].place, QUEUE_ACTIVE);
	T_EQ(queue_deadline_ms(queue), UINT64_MAX);
	end();
}

/* Pods added to the next queue in any order keep their order. */
T_CASE(pod_moved_to_another_queue_keeps_its_order)
{
	static const unsigned way[] = {3, 0, 4, 1, 2};

	for (unsigned from = QUEUE_BY_PRIORITY; from <= QUEUE_BY_SLA; from++) {
		for (unsigned to = QUEUE_BY_PRIORITY; to <= QUEUE_BY_SLA; to++) {
			struct queue_opts opts = queue_opts_for((enum queue_sort)to);
			struct queue_class class;
			struct queue *next;

			begin_by((enum queue_sort)from);
			now += 5000;
			open_class(0, QUEUE_NO_SLA, 0);
			for (unsigned i = 0; i < 5; i++) /* two pods of the same age */
				queue_add(queue, &pod[i], &classes[0], 1000 + i / 2, now);
			T_OK(queue_new(&opts, &next, NULL), NULL);
			queue_continue(next, queue);
			T_OK(queue_class_open(next, &class, &(struct queue_class_opts){0},
			                      NULL),
			     NULL);
			queue_add(next, &pod[5], &class, 9000, now);
			for (unsigned i = 0; i < 5; i++) {
				struct queue_order turn = queue_order_of(&pod[way[i]]);

				queue_remove(queue, &pod[way[i]], now);
				queue_add_ordered(next, &pod[way[i]], &class, &turn,
				                  false, 1000 + way[i] / 2, now + i);
				queue_check(next);
			}
			for (unsigned i = 0; i < 6; i++) {
				T_TRUE(queue_pop(next, now + 9) == &pod[i]);
				queue_remove(next, &pod[i], now + 9);
			}
			queue_class_close(next, &class);
			queue_free(next);
			end();
		}
	}
}

T_CASE(gated_pod_is_not_popped)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	open_class(1, QUEUE_GOLD, 0);
	queue_add_gated(queue, &pod[0], &classes[0], now - 50, now);
	queue_add_gated(queue, &pod[1], &classes[0], now, now);
	add(2, 1);
	send_event(QUEUE_EV_ANY, 0);
	T_EQ(pod[0].place, QUEUE_GATED);
	T_EQ(queue_where(queue, &pod[1]).position, 1);
	T_EQ(queue_where(queue, &pod[1]).of, 2);
	queue_edit(queue, &pod[0], &classes[1], false, now);
	T_EQ(classes[0].pods, 1);
	pop(0); /* the pod kept its age */
	pop(2);
	end();
}

T_CASE(activated_pod_is_popped_at_once)
{
	begin_by(QUEUE_BY_SLA);
	open_class(0, QUEUE_GOLD, 0);
	add_refused(0, 0, BIT(NOTHING));
	queue_activate(queue, &pod[0], now);
	pop(0);
	queue_retry(queue, &pod[0], QUEUE_FAULT, true, 0, now);
	queue_activate(queue, &pod[0], now);
	pop(0);
	end();
}

/* With more kinds of verdicts than buckets the rest share one bucket, and no event is
 * missed. */
T_CASE(more_kinds_of_verdicts_than_buckets)
{
	enum { MANY = 200 };
	static struct queue_class many[MANY];
	static struct queue_pod one[MANY];
	static struct queue_plugin single[20];
	struct queue_opts opts = opts_of(QUEUE_BY_SLA);

	for (unsigned i = 0; i < 20; i++)
		single[i] = (struct queue_plugin){"one", UINT64_C(2) << i, NULL};
	opts.plugins = single;
	opts.plugins_count = 20;
	begin(&opts);
	for (unsigned i = 0; i < MANY; i++) {
		T_OK(queue_class_open(queue, &many[i],
		                      &(struct queue_class_opts){.level = QUEUE_GOLD},
		                      NULL),
		     NULL);
		queue_add(queue, &one[i], &many[i], now, now);
		T_TRUE(queue_pop(queue, now) == &one[i]);
		queue_refuse(queue, &one[i], (i * 7 + 1) % (1u << 20), 1, now);
	}
	now += 5000;
	send_event((enum queue_event_kind)4, 0);
	for (unsigned i = 0; i < MANY; i++) {
		bool waits_for = ((i * 7 + 1) >> 3 & 1) != 0;

		T_EQ(one[i].place, waits_for ? QUEUE_ACTIVE : QUEUE_WAITING);
	}
	for (unsigned i = 0; i < MANY; i++)
		queue_remove(queue, &one[i], now);
	for (unsigned i = 0; i < MANY; i++)
		queue_class_close(queue, &many[i]);
	queue_free(queue);
}

T_CASE(options_are_validated)
{
	struct queue_opts opts = opts_of(QUEUE_BY_SLA);
	struct pl_err err = {0};

	opts.jitter_percent = 91;
	T_CODE(queue_new(&opts, &queue, &err), PL_INVALID, &err);
	opts = opts_of(QUEUE_BY_SLA);
	opts.backoff_first_ms = 20000;
	T_CODE(queue_new(&opts, &queue, &err), PL_INVALID, &err);
	opts = opts_of(QUEUE_BY_SLA);
	opts.budget[QUEUE_GOLD] = -2;
	T_CODE(queue_new(&opts, &queue, &err), PL_INVALID, &err);
	opts = opts_of(QUEUE_BY_SLA);
	opts.plugins_count = 65;
	T_CODE(queue_new(&opts, &queue, &err), PL_LIMIT, &err);
}

static enum pl_code live(void)
{
	const struct queue_opts opts = opts_of(QUEUE_BY_SLA);
	const struct queue_class_opts gold = {.level = QUEUE_GOLD};
	struct queue_class a;
	struct queue *q = NULL;
	enum pl_code code = queue_new(&opts, &q, NULL);

	if (code != PL_OK)
		return code;
	code = queue_class_open(q, &a, &gold, NULL);
	if (code == PL_OK)
		queue_class_close(q, &a);
	queue_check(q);
	queue_free(q);
	return code;
}

T_CASE(every_allocation_may_fail)
{
	t_torture(live, false);
}
