#include <stdlib.h>

#include "coord/access/flow/flow.h"
#include "store/base/rng.h"
#include "tests/harness/t.h"

enum { ITEMS = 400 };

static struct flow flow;
static struct flow_item item[ITEMS];

static void begin(uint32_t inflight, uint32_t per_user, uint32_t queue,
                  uint32_t queue_per_user)
{
	struct access_document document;

	access_document_default(&document);
	document.limits.inflight = inflight;
	document.limits.inflight_per_user = per_user;
	document.limits.queue = queue;
	document.limits.queue_per_user = queue_per_user;
	document.limits.queue_ms = 100;
	document.limits.watches = 4;
	document.limits.watches_per_user = 3;
	flow_init(&flow, &document.limits);
}

static enum flow_verdict enter(unsigned at, const char *user, enum flow_kind kind)
{
	return flow_enter(&flow, &item[at], pl_span_str(user), kind, at);
}

static void end(void)
{
	for (unsigned i = 0; i < ITEMS; i++)
		flow_leave(&flow, &item[i]);
	T_EQ(flow.running, 0);
	T_EQ(flow.waiting, 0);
	T_EQ(flow.watching, 0);
	flow_done(&flow);
}

static unsigned next(void)
{
	struct flow_item *got = flow_next(&flow);

	return got == NULL ? ITEMS : (unsigned)(got - item);
}

T_CASE(seats_then_a_queue_then_refusal)
{
	begin(10, 2, 10, 3);
	T_EQ(enter(0, "a", FLOW_GET), FLOW_RUN);
	T_EQ(enter(1, "a", FLOW_GET), FLOW_RUN);
	T_EQ(enter(2, "a", FLOW_GET), FLOW_WAIT);
	T_EQ(enter(3, "a", FLOW_GET), FLOW_WAIT);
	T_EQ(enter(4, "a", FLOW_GET), FLOW_WAIT);
	T_EQ(enter(5, "a", FLOW_GET), FLOW_REFUSE);
	T_EQ(enter(6, "b", FLOW_GET), FLOW_RUN);
	T_EQ(flow.refused, 1);
	T_TRUE(!flow_ready(&flow));
	T_EQ(next(), ITEMS);
	flow_leave(&flow, &item[0]);
	T_TRUE(flow_ready(&flow));
	T_EQ(next(), 2);
	T_EQ(next(), ITEMS);
	/* A queue of one's own is passed by none of one's own. */
	flow_leave(&flow, &item[1]);
	T_EQ(enter(7, "a", FLOW_GET), FLOW_WAIT);
	T_EQ(next(), 3);
	end();
}

T_CASE(users_take_turns)
{
	begin(1, 1, 100, 100);
	T_EQ(enter(0, "z", FLOW_GET), FLOW_RUN);
	for (unsigned i = 1; i <= 20; i++)
		T_EQ(enter(i, "flood", FLOW_GET), FLOW_WAIT);
	T_EQ(enter(21, "one", FLOW_GET), FLOW_WAIT);
	/* One quantum of the flood's comes before the other's only request. */
	for (unsigned i = 0; i < 4; i++) {
		flow_leave(&flow, &item[i]);
		T_EQ(next(), i + 1);
	}
	flow_leave(&flow, &item[4]);
	T_EQ(next(), 21);
	flow_leave(&flow, &item[21]);
	T_EQ(next(), 5);
	end();
}

T_CASE(a_list_costs_more_than_a_get)
{
	unsigned lists = 0, gets = 0;

	begin(1, 1, 300, 200);
	T_EQ(enter(0, "z", FLOW_GET), FLOW_RUN);
	for (unsigned i = 1; i <= 100; i++) {
		T_EQ(enter(i, "lists", FLOW_LIST), FLOW_WAIT);
		T_EQ(enter(100 + i, "gets", FLOW_GET), FLOW_WAIT);
	}
	flow_leave(&flow, &item[0]);
	for (unsigned i = 0; i < 50; i++) {
		unsigned at = next();

		T_TRUE(at < ITEMS);
		lists += at <= 100;
		gets += at > 100;
		flow_leave(&flow, &item[at]);
	}
	T_EQ(lists, 10);
	T_EQ(gets, 40);
	end();
}

T_CASE(a_request_waits_for_some_time_only)
{
	begin(1, 1, 10, 10);
	T_EQ(flow_deadline_ms(&flow), UINT64_MAX);
	T_EQ(enter(0, "a", FLOW_GET), FLOW_RUN);
	T_EQ(enter(1, "a", FLOW_GET), FLOW_WAIT);
	T_EQ(enter(2, "b", FLOW_GET), FLOW_WAIT);
	T_EQ(flow_deadline_ms(&flow), 101);
	T_TRUE(flow_expire(&flow, 100) == NULL);
	T_TRUE(flow_expire(&flow, 101) == &item[1]);
	T_EQ(item[1].state, FLOW_OUT);
	T_TRUE(flow_expire(&flow, 101) == NULL);
	T_EQ(flow_deadline_ms(&flow), 102);
	T_EQ(flow.expired, 1);
	end();
}

T_CASE(watches_are_counted_apart)
{
	begin(1, 1, 0, 0);
	T_EQ(enter(0, "a", FLOW_GET), FLOW_RUN);
	for (unsigned i = 1; i <= 3; i++)
		T_EQ(enter(i, "a", FLOW_WATCH), FLOW_RUN);
	T_EQ(enter(4, "a", FLOW_WATCH), FLOW_REFUSE);
	T_EQ(enter(5, "b", FLOW_WATCH), FLOW_RUN);
	T_EQ(enter(6, "c", FLOW_WATCH), FLOW_REFUSE);
	T_EQ(enter(7, "b", FLOW_GET), FLOW_REFUSE);
	flow_leave(&flow, &item[1]);
	T_EQ(enter(8, "c", FLOW_WATCH), FLOW_RUN);
	end();
}

T_CASE(limits_may_change)
{
	struct access_limits limits;

	begin(4, 4, 10, 10);
	for (unsigned i = 0; i < 4; i++)
		T_EQ(enter(i, "a", FLOW_GET), FLOW_RUN);
	T_EQ(enter(4, "a", FLOW_GET), FLOW_WAIT);
	limits = flow.limits;
	limits.inflight = 1;
	flow_set_limits(&flow, &limits);
	for (unsigned i = 0; i < 3; i++) {
		flow_leave(&flow, &item[i]);
		T_EQ(next(), ITEMS);
	}
	flow_leave(&flow, &item[3]);
	T_EQ(next(), 4);
	end();
}

/* Through any coming and going the limits hold, no request is forgotten, and one that waits
 * is let in while seats are free. */
T_CASE(random_requests_keep_the_limits)
{
	static const char *const users[] = {"a", "b", "c", "d", "e"};
	static unsigned owner[ITEMS];
	unsigned ran[5] = {0}, refused = 0, expired = 0;
	struct pl_rng rng;

	pl_rng_init(&rng, t_seed());
	begin(6, 3, 40, 12);
	for (uint64_t now = 0; now < 20000; now++) {
		unsigned at = (unsigned)pl_rng_below(&rng, 60);
		unsigned user = (unsigned)pl_rng_below(&rng, 5);
		struct flow_item *got;

		/* User 0 floods. */
		if (pl_rng_chance(&rng, 1, 2))
			user = 0;
		if (item[at].state == FLOW_OUT) {
			owner[at] = user;
			refused += flow_enter(&flow, &item[at], pl_span_str(users[user]),
			                      (enum flow_kind)pl_rng_below(&rng, 4),
			                      now) == FLOW_REFUSE;
		} else if (item[at].state != FLOW_WAITING || pl_rng_chance(&rng, 1, 8)) {
			flow_leave(&flow, &item[at]);
		}
		while ((got = flow_expire(&flow, now)) != NULL) {
			T_EQ(got->state, FLOW_OUT);
			expired++;
		}
		T_TRUE(flow_deadline_ms(&flow) > now);
		while ((got = flow_next(&flow)) != NULL) {
			T_EQ(got->state, FLOW_RUNNING);
			ran[owner[got - item]]++;
		}
		T_TRUE(!flow_ready(&flow));
		T_TRUE(flow.running <= 6 && flow.waiting <= 40 && flow.watching <= 4);
	}
	T_REACHED(ran[0] > 100 && ran[1] > 100);
	T_REACHED(refused > 100 && expired > 10);
	end();
}
