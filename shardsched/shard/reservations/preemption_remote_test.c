/* Preemption of remote pods, and on remote nodes. */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "store/keys/partition.h"
#include "tests/support/shardsched/shard/preemption_rig.h"

/* The victim's state is read by key, and compared. */
T_CASE(remote_pods_are_victims_too)
{
	struct alloc alloc;
	int phase;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	pod_in(2, "theirs", "3", 0);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_own(&rig, 2);
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	rig_lost(&rig, 2);
	pod("high", "2", 10);
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 1);
	(void)rig_state(&rig, 2, "theirs", &phase);
	T_EQ(phase, STATE_TERMINATING);
	for (unsigned i = 0; i < 3; i++)
		later(12);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	down();
}

/* The pod left and was placed there again, which only its own shard has heard of. */
T_CASE(a_remote_pod_that_came_back_leaves_again)
{
	struct alloc alloc;
	int phase;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	pod_in(2, "theirs", "3", 0);
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_own(&rig, 2);
	rig_run_idle(&rig);
	rig_lost(&rig, 2);
	pod("high", "2", 10);
	rig_run_idle(&rig);
	rig_del(&rig, "/schedules/0001/web/high/spec");
	rig_del(&rig, "/schedules/0001/web/high/state");
	rig_put(&rig, "/schedules/0002/web/theirs/state",
	        "{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"n-1\","
	        "\"shard\":\"west-0\",\"epoch\":\"9\","
	        "\"since\":\"2026-11-21T09:00:00.000Z\"}");
	rig_put(&rig, "/alloc/0000/east/n-1",
	        "{\"v\":1,\"generation\":50,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"theirs\"]}}}");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	pod("higher", "2", 20);
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(alloc.holds, 1);
	T_EQ(leaving(&alloc), 1);
	(void)rig_state(&rig, 2, "theirs", &phase);
	T_EQ(phase, STATE_TERMINATING);
	down();
}

/* The pod left a local node. Its new node is known here, but not that the pod does not
 * terminate any more. There is too little room for the pod nominated there when one of
 * higher priority comes. */
T_CASE(a_pod_that_left_a_node_takes_room_on_the_next)
{
	struct alloc alloc;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "3");
	pod_in(2, "theirs", "3", 0);
	pod_in(2, "mid", "1", 5);
	bound_to(2, "theirs", "n-1");
	rig_put(&rig, "/alloc/0000/east/n-1",
	        "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"theirs\"]}}}");
	own_two();
	pod("high", "2", 10);
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 0, "n-1");
	T_EQ(leaving(&alloc), 1);
	rig_node(&rig, 0, "n-2", "4");
	bound_to(2, "theirs", "n-2");
	rig_put(&rig, "/alloc/0000/east/n-2",
	        "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"4000m\",\"pods\":\"2\"},"
	        "\"nonzero\":{\"memory\":\"419430400\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"theirs\"]}},"
	        "\"holds\":[{\"kind\":\"nominated\",\"namespace\":\"web\",\"name\":\"mid\","
	        "\"at\":2,\"used\":{\"cpu\":\"1000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"until\":\"2027-11-21T09:00:00.000Z\"}]}");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	pod("top", "1", 20);
	rig_run_idle(&rig);
	T_STR(phase_of("top"), "Bound");
	alloc = rig_alloc(&rig, 0, "n-2");
	T_EQ(alloc.pods, 2);
	T_EQ(alloc.used.cpu_milli, 4000);
	T_EQ(alloc.holds, 0);
	down();
}

/* A local node with a local pod of one priority; a remote node with a remote pod of the
 * other one, as its digest says. */
static void up_with_neighbours(int ours, int theirs)
{
	char json[512];

	rig_open(&rig, NULL);
	rig_node(&rig, 1, "n-1", "4");
	pod_in(1, "ours", "3", ours);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	rig_node(&rig, 0, "n-2", "4");
	pod_in(2, "theirs", "3", theirs);
	bound_to(2, "theirs", "n-2");
	rig_put(&rig, "/alloc/0000/east/n-2",
	        "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"theirs\"]}}}");
	(void)snprintf(
		json, sizeof json,
		"{\"v\":1,\"partitions\":{\"0000\":[{\"nodes\":1,\"free\":{\"cpu\":"
		"\"1000m\",\"memory\":\"1\",\"pods\":\"9\"},\"most\":{\"cpu\":"
		"\"1000m\",\"memory\":\"1\",\"pods\":\"9\"},\"labels\":{},"
		"\"least\":%d}]}}",
		theirs);
	rig_put(&rig, "/digests/west-0", json);
	rig_run_idle(&rig);
}

static bool all_are_viewed(void)
{
	return rig.viewed[SCHED_FLEET];
}

T_CASE(the_least_important_pod_leaves_on_any_node)
{
	struct alloc alloc;
	int phase;

	up_with_neighbours(5, 0);
	pod("high", "3", 10);
	rig_run_idle(&rig);
	later(2);
	T_TRUE(all_are_viewed());
	alloc = rig_alloc(&rig, 0, "n-2");
	T_EQ(leaving(&alloc), 1);
	T_EQ(alloc.holds, 1);
	T_STR(phase_of("ours"), "Bound");
	termination_in(2, "theirs");
	rig_put(&rig, "/alloc/0000/east/n-2", /* as the pod's own shard does */
	        "{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"holds\":[{\"kind\":\"nominated\",\"namespace\":\"web\",\"name\":"
	        "\"high\",\"at\":1,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"until\":\"2027-11-21T09:00:00.000Z\"}]}");
	rig_run_idle(&rig);
	later(2);
	(void)state_of("high", &phase);
	T_EQ(phase, STATE_BOUND);
	alloc = rig_alloc(&rig, 0, "n-2");
	T_EQ(alloc.pods, 1);
	T_EQ(alloc.holds, 0);
	down();
}

/* Remote pods come to their nodes all the time, and their specs are read then. A pod
 * whose room is being made does not wait for that, nor is it woken whenever something has
 * been read. */
T_CASE(a_nominated_pod_looks_at_no_remote_nodes)
{
	const struct sched_pod *waits;

	up_with_neighbours(5, 0);
	pod("high", "3", 10);
	rig_run_idle(&rig);
	later(2);
	T_EQ(rig_alloc(&rig, 0, "n-2").holds, 1);
	rig_node(&rig, 0, "n-3", "4");
	rig_put(&rig, "/alloc/0000/east/n-3",
	        "{\"v\":1,\"generation\":5,\"used\":{\"cpu\":\"3000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"unknown\"]}}}");
	rig_put(&rig, "/digests/west-0",
	        "{\"v\":1,\"partitions\":{\"0000\":[{\"nodes\":2,\"free\":{\"cpu\":"
	        "\"8000m\",\"memory\":\"9000000000\",\"pods\":\"9\"},\"most\":{\"cpu\":"
	        "\"4000m\",\"memory\":\"9000000000\",\"pods\":\"9\"},\"labels\":{},"
	        "\"least\":0}]}}");
	rig_deliver_all(&rig);
	later(3);
	waits = pod_find(rig.sched, 1, PL_SPAN_LIT("web"), PL_SPAN_LIT("high"));
	T_TRUE(waits->nominated != NULL && !pl_list_empty(&rig.sched->incomplete));
	T_EQ(waits->queue.place, QUEUE_BACKOFF);
	T_EQ(waits->queue.cause, QUEUE_NOMINATED);
	T_TRUE(pl_list_empty(&rig.sched->remote.list_waiters));
	T_EQ(rig.malformed, 1); /* there is no such pod */
	rig.malformed = 0;
	down();
}

/* And no shard has to look at all nodes for that. */
T_CASE(local_victims_are_taken_when_no_remote_one_is_less_important)
{
	struct alloc alloc;

	up_with_neighbours(5, 5);
	pod("high", "3", 10);
	rig_run_idle(&rig);
	alloc = rig_alloc(&rig, 1, "n-1");
	T_EQ(leaving(&alloc), 1);
	T_EQ(alloc.holds, 1);
	T_TRUE(!all_are_viewed());
	down();
}

/* The view is not taken up to find out that preemption cannot help, either. */
T_CASE(the_least_important_pod_looks_at_no_remote_nodes)
{
	up_with_neighbours(5, 5);
	pod("low", "3", 5);
	rig_run_idle(&rig);
	later(5);
	T_STR(phase_of("low"), "Pending");
	T_TRUE(!all_are_viewed());
	down();
}

/* -- owned pods that are not known ------------------------------------------- */

static unsigned leaving_from(uint32_t p, const char *node)
{
	struct alloc alloc = rig_alloc(&rig, p, node);

	return leaving(&alloc);
}

static void list_all_of(uint32_t p)
{
	rig.owned[p] = true;
	for (unsigned part = 0; part < SCHED_PARTS; part++)
		rig_list(&rig, p, (enum sched_part)part);
}

/* There may be room where no pod has to leave. */
T_CASE(no_pod_leaves_while_own_partitions_are_listed)
{
	up();
	rig_node(&rig, 2, "n-2", "4");
	T_OK(sched_own(rig.sched, 2, ++rig.epoch, &rig.err), &rig.err);
	pod("high", "2", 10);
	rig_run_idle(&rig);
	later(3);
	T_EQ(leaving_from(0, "n-1"), 0);
	T_STR(phase_of("high"), "");
	list_all_of(2);
	rig_run_idle(&rig);
	T_STR(phase_of("high"), "Bound");
	T_EQ(rig_alloc(&rig, 2, "n-2").pods, 1);
	T_EQ(leaving_from(0, "n-1"), 0);
	down();
}

T_CASE(a_list_that_does_not_end_does_not_stop_preemption)
{
	up();
	T_OK(sched_own(rig.sched, 2, ++rig.epoch, &rig.err), &rig.err);
	pod("high", "2", 10);
	rig_run_idle(&rig);
	for (unsigned i = 0; i < 10; i++)
		later(2);
	T_EQ(leaving_from(0, "n-1"), 2);
	down();
}

/* A node whose partition is the one that its name gives, where searches look for it. */
static const char *first_of(uint32_t p)
{
	static char name[16];
	uint32_t local = RIG_PARTITIONS;

	for (unsigned i = 1; local != p; i++) {
		(void)snprintf(name, sizeof name, "f-%u", i);
		T_OK(partition_of_node(PL_SPAN_LIT("east"), pl_span_str(name),
		                       RIG_PARTITIONS, &local, &rig.err),
		     &rig.err);
	}
	return name;
}

static void four(const char *names, int priority)
{
	for (unsigned i = 0; i < 4; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "%s-%u", names, i);
		pod(name, "1", priority);
	}
	rig_run_idle(&rig);
}

/* Two nodes, and victims on their way out of the first, which another shard owns now. */
static const char *up_nominated_elsewhere(void)
{
	const char *first = first_of(0);

	rig_open(&rig, NULL);
	rig_node(&rig, 0, first, "4");
	own_two();
	four("low", 0);
	rig_node(&rig, 1, "n-2", "4");
	four("mid", 4);
	pod("high", "2", 10);
	rig_run_idle(&rig);
	T_EQ(leaving_from(0, first), 2);
	rig_lost(&rig, 0);
	rig_run_idle(&rig);
	later(2);
	T_EQ(leaving_from(1, "n-2"), 0);
	T_EQ(rig_alloc(&rig, 0, first).holds, 1);
	return first;
}

/* The victims have left. */
static void is_placed_on(const char *first)
{
	char name[16];
	int phase;

	for (unsigned i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof name, "low-%u", i);
		(void)state_of(name, &phase);
		if (phase == STATE_TERMINATING)
			termination_in(1, name);
	}
	rig_run_idle(&rig);
	for (unsigned i = 0; i < 5; i++)
		later(12);
	T_STR(rig_where(&rig, 1, "high"), first);
	T_EQ(rig_alloc(&rig, 0, first).holds, 0);
	T_EQ(leaving_from(1, "n-2"), 0);
}

/* The pod's state names the node: that is looked at before any other pod has to leave. */
T_CASE(room_that_was_made_is_found_on_a_remote_node)
{
	is_placed_on(up_nominated_elsewhere());
	down();
}

/* When the node's partition cannot be listed, the fleet view is taken up. */
T_CASE(room_that_was_made_is_found_when_remote_lists_fail)
{
	const char *first = up_nominated_elsewhere();
	bool viewed = false;

	rig.unlisted[0] = true;
	for (unsigned i = 0; i < 60; i++) {
		later(1);
		viewed = viewed || all_are_viewed();
	}
	T_TRUE(viewed);
	T_EQ(leaving_from(1, "n-2"), 0);
	is_placed_on(first);
	down();
}

/* The node's new owner has given the room to another pod. */
T_CASE(room_that_was_taken_is_made_elsewhere)
{
	char key[64];

	(void)snprintf(key, sizeof key, "/alloc/0000/east/%s", up_nominated_elsewhere());
	pod_in(2, "theirs", "4", 20);
	rig_put(&rig, key,
	        "{\"v\":1,\"generation\":50,\"used\":{\"cpu\":\"4000m\",\"pods\":\"1\"},"
	        "\"nonzero\":{\"memory\":\"209715200\"},"
	        "\"pods\":{\"0002\":{\"web\":[\"theirs\"]}}}");
	for (unsigned i = 0; i < 5; i++)
		later(12);
	T_EQ(leaving_from(1, "n-2"), 2);
	rig_close(&rig);
}

/* -- victims that cannot be told --------------------------------------------- */

/* Two nodes; on the cheaper one stands a pod whose state is gone. */
static void up_with_a_stateless(uint32_t p)
{
	char key[64];

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "2");
	pod_in(p, "low", "2", 0);
	for (uint32_t i = 0; i < 3; i++)
		rig_own(&rig, i);
	rig_run_idle(&rig);
	rig_node(&rig, 0, "n-2", "2");
	pod("mid", "2", 5);
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 1);
	T_EQ(rig_alloc(&rig, 0, "n-2").pods, 1);
	if (p == 2)
		rig_lost(&rig, 2);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/low/state", p);
	rig_del(&rig, key);
	rig_run_idle(&rig);
}

T_CASE(a_pod_without_a_state_does_not_stop_preemption)
{
	up_with_a_stateless(1);
	pod("high", "2", 10);
	rig_run_idle(&rig);
	for (unsigned i = 0; i < 5; i++)
		later(12);
	T_EQ(rig_alloc(&rig, 0, "n-2").holds, 1);
	T_EQ(leaving_from(0, "n-2"), 1);
	rig.malformed = 0; /* that there is none */
	down();
}

static bool any_is_out(void)
{
	for (unsigned i = 0; i < RIG_OUT_MAX; i++)
		if (rig.out[i].used)
			return true;
	return false;
}

/* The state was read and is absent: it is not read again and again. */
T_CASE(a_remote_pod_without_a_state_does_not_stop_preemption)
{
	up_with_a_stateless(2);
	pod("high", "2", 10);
	for (unsigned i = 0; i < 20; i++)
		rig_round(&rig, NULL);
	rig_run(&rig);
	T_TRUE(!any_is_out());
	for (unsigned i = 0; i < 5; i++)
		later(12);
	T_EQ(rig_alloc(&rig, 0, "n-2").holds, 1);
	T_EQ(leaving_from(0, "n-2"), 1);
	down();
}
