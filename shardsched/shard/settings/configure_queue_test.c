/* Settings of the queue, and bounds of the shard, that change while pods wait; and pods
 * that migrate to the new queue a few a turn. */
#include "tests/support/shardsched/shard/configure_rig.h"

/* The order of before, and the one of the new settings. */
T_CASE(the_queue_is_sorted_anew)
{
	up(1, 1);
	configure((struct sched_settings){.batch_size = 1, .inflight = 1});
	rig_pod(&rig, 1, "x", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig); /* from here on only as many pods are popped as the txn takes */
	rig_pod(&rig, 1, "b", "1", "");
	rig_deliver_all(&rig);
	rig_put(&rig, "/schedules/0001/web/g/spec",
	        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"g\",\"uid\":\"u-g\","

	        "\"labels\":{\"sla\":\"gold\"}},"
	        "\"spec\":{\"priority\":0,\"containers\":[{\"name\":\"c\"}]}}");
	rig_deliver_all(&rig);
	T_EQ(queued(QUEUE_ACTIVE), 2);
	configure((struct sched_settings){
		.sort = QUEUE_BY_SLA, .batch_size = 1, .inflight = 1});
	T_SPAN(sched_text(rig.sched, pod_of_queue(queue_peek(rig.sched->queue))->key[2]),
	       PL_SPAN_LIT("g"));
	configure((struct sched_settings){.sort = QUEUE_BY_PRIORITY, .batch_size = 1});
	T_SPAN(sched_text(rig.sched, pod_of_queue(queue_peek(rig.sched->queue))->key[2]),
	       PL_SPAN_LIT("b"));
	rig_run_idle(&rig);
	T_STR(where("g"), "n-2");
	rig_close(&rig);
}

T_CASE(a_waiting_pod_keeps_its_turn)
{
	uint64_t last = 0;
	char name[8];

	up(1, 1);
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof name, "p-%d", i);
		rig_pod(&rig, 1, name, "100", "");
		rig_deliver_all(&rig);
		rig.now_ms++;
	}
	rig_pod(&rig, 1, "p-0", "101", ""); /* a new pod: it goes to the end */
	rig_deliver_all(&rig);
	profiles_are(most);
	for (int i = 1; i <= 20; i++) {
		const struct sched_pod *pod;

		(void)snprintf(name, sizeof name, "p-%d", i % 20);
		pod = pod_find(rig.sched, 1, PL_SPAN_LIT("web"), pl_span_str(name));
		T_TRUE(pod->queue.seq > last);
		last = pod->queue.seq;
	}
	rig_close(&rig);
}

/* -- a few pods a turn ------------------------------------------------------------- */

enum { MANY = 24 };

static const char *many(int i)
{
	static char name[4][16];
	static unsigned at;
	char *out = name[at++ % 4];

	(void)snprintf(out, 16, "p-%d", i);
	return out;
}

static struct sched_pod *the(int i)
{
	return pod_find(rig.sched, 1, PL_SPAN_LIT("web"), pl_span_str(many(i)));
}

/* Pods that wait; the first is in a txn, two more wait at their node. */
static void many_wait(uint32_t migrate_max)
{
	up(1, 1);
	rig.sched->migrate_max = migrate_max;
	for (int i = 0; i < MANY; i++) {
		rig_pod(&rig, 1, many(i), "1", "");
		rig_deliver_all(&rig);
		rig.now_ms++;
	}
	rig_run(&rig);
	rig_run(&rig);
	T_EQ(queued(QUEUE_IN_FLIGHT), 3);
}

static void begin_most(void)
{
	const struct sched_settings settings = {
		.profiles = pl_span_str(most), .batch_size = 1, .inflight = 1};

	T_OK(sched_configure(rig.sched, &settings, &rig.err), &rig.err);
	sched_check(rig.sched);
}

T_CASE(nothing_is_decided_before_all_pods_have_migrated)
{
	uint64_t decided;
	unsigned turns = 0;
	uint32_t tries = 0;

	many_wait(4);
	decided = rig.sched->figures.decided;
	begin_most();
	T_TRUE(is_migrating(rig.sched));
	T_EQ(sched_deadline_ms(rig.sched), 0);
	for (;; turns++) {
		rig_run(&rig);
		if (!is_migrating(rig.sched))
			break;
		T_EQ(rig.sched->figures.decided, decided);
		T_EQ(sched_deadline_ms(rig.sched), 0);
		tries = queued(QUEUE_ACTIVE) + queued(QUEUE_IN_FLIGHT);
		T_TRUE(tries == MANY || tries == MANY - 1);
	}
	T_EQ(turns, MANY / 4);
	rig_run_idle(&rig);
	T_STR(where("p-0"), "n-2"); /* p-0 was in the txn */
	T_STR(where("p-1"), "n-1");
	T_STR(where("p-2"), "n-1");
	rig_close(&rig);
}

/* Pods that have migrated and pods that have not are edited, deleted and bound. */
T_CASE(pods_come_go_and_change_during_a_migration)
{
	many_wait(1);
	begin_most();
	for (int i = 0; i < 6; i++)
		rig_run(&rig);
	T_TRUE(is_migrating(rig.sched));
	rig_pod(&rig, 1, "late", "1", "");
	rig_del(&rig, "/schedules/0001/web/p-2/spec");
	for (int i = 5; i < 12; i++) { /* the next pod to migrate is among them */
		char key[64];

		(void)snprintf(key, sizeof key, "/schedules/0001/web/%s/spec", many(i));
		rig_del(&rig, key);
	}
	rig_pod(&rig, 1, many(20), "2", "");
	rig_deliver_all(&rig);
	sched_check(rig.sched);
	(void)rig_answer(&rig, 0);
	sched_check(rig.sched);
	while (is_migrating(rig.sched))
		rig_run(&rig);
	T_TRUE(the(3)->queue.seq < the(4)->queue.seq);
	T_TRUE(the(4)->queue.seq < the(12)->queue.seq);
	T_TRUE(the(23)->queue.seq <
	       pod_find(rig.sched, 1, PL_SPAN_LIT("web"), PL_SPAN_LIT("late"))
	               ->queue.seq);
	rig_run_idle(&rig);
	T_STR(where("p-3"), "n-1");
	T_STR(where("late"), "n-2");
	rig_close(&rig);
}

T_CASE(settings_change_again_during_a_migration)
{
	many_wait(3);
	begin_most();
	rig_run(&rig);
	T_OK(sched_configure(
		     rig.sched,
		     &(struct sched_settings){.sort = QUEUE_BY_SLA, .batch_size = 1},
		     &rig.err),
	     &rig.err);
	sched_check(rig.sched);
	rig_run(&rig);
	begin_most();
	while (is_migrating(rig.sched))
		rig_run(&rig);
	for (int i = 3; i + 1 < MANY; i++) {
		T_TRUE(the(i)->queue.seq < the(i + 1)->queue.seq);
		T_TRUE(the(i)->queue.order_ms <= the(i + 1)->queue.order_ms);
	}
	rig_run_idle(&rig);
	T_STR(where("p-1"), "n-1");
	rig_close(&rig);
}

T_CASE(a_partition_is_lost_and_a_shard_ends_during_a_migration)
{
	many_wait(2);
	begin_most();
	rig_run(&rig);
	rig_lost(&rig, 1);
	sched_check(rig.sched);
	rig_own(&rig, 1);
	rig_run(&rig);
	begin_most();
	profiles_are(two_names);
	rig.sched->migrate_max = 1;
	begin_most();
	rig_run(&rig);
	T_TRUE(is_migrating(rig.sched));
	rig_close(&rig);
}

static uint32_t weight_now(struct pl_span namespace)
{
	return sched_config_weight(&rig.sched->config_gen->sched_config,
	                           strings_find(&rig.sched->model.strings, namespace));
}

T_CASE(namespaces_take_turns_by_their_weights)
{
	/* web is known already, so it has the lowest number. */
	struct settings_weight weight[] = {
		{PL_SPAN_LIT("a"), 2}, {PL_SPAN_LIT("b"), 3}, {PL_SPAN_LIT("web"), 7}};

	up(0, 0);
	configure((struct sched_settings){.fair = true, .weight = weight, .weights = 3});
	rig_pod(&rig, 1, "a", "100", "");
	rig_run_idle(&rig);
	for (unsigned i = 0; i < 3; i++)
		T_EQ(weight_now(weight[i].namespace), weight[i].weight);
	weight[1].weight = 8;
	configure((struct sched_settings){.fair = true, .weight = weight, .weights = 3});
	T_EQ(weight_now(PL_SPAN_LIT("b")), 8);
	weight[1].namespace = PL_SPAN_LIT("c");
	configure((struct sched_settings){.fair = true, .weight = weight, .weights = 3});
	T_EQ(weight_now(PL_SPAN_LIT("b")), 0);
	T_EQ(weight_now(PL_SPAN_LIT("c")), 8);
	configure((struct sched_settings){.fair = false});
	T_EQ(rig.sched->config_gen->sched_config.weights, 0);
	rig_close(&rig);
}

static void next_is(const char *name)
{
	T_SPAN(sched_text(rig.sched, pod_of_queue(queue_peek(rig.sched->queue))->key[2]),
	       pl_span_str(name));
}

/* The pod that came last, of a namespace of its own, is the next but one. */
T_CASE(whether_namespaces_take_turns_may_change)
{
	for (unsigned fair = 0; fair < 2; fair++) {
		up(1, 1);
		rig_pod(&rig, 1, "x", "1", "");
		rig_deliver_all(&rig);
		rig_run(&rig); /* in the txn */
		for (int i = 0; i < 4; i++) {
			rig_pod(&rig, 1, many(i), "1", "");
			rig_deliver_all(&rig);
			rig.now_ms++;
		}
		rig_put(&rig, "/schedules/0001/shop/s/spec",
		        "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"s\","
		        "\"uid\":\"u-s\"},"
		        "\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
		rig_deliver_all(&rig);
		configure((struct sched_settings){
			.fair = fair == 1, .batch_size = 1, .inflight = 1});
		next_is("p-0");
		T_TRUE(rig_answer(&rig, 0));
		rig_run(&rig);
		next_is(fair == 1 ? "p-1" : "p-2"); /* two are popped */
		rig_close(&rig);
	}
}

/* The backoff after the first attempt and an event that might help. */
static void waits_for(uint64_t backoff_ms)
{
	rig_pod(&rig, 1, "a", "100", "");
	rig_run_idle(&rig);
	T_EQ(queued(QUEUE_WAITING), 1);
	rig_node(&rig, 0, "n-9", "200");
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig.now_ms += backoff_ms / 2;
	rig_run_idle(&rig);
	T_EQ(queued(QUEUE_BACKOFF), 1);
	rig.now_ms += backoff_ms;
	rig_run_idle(&rig);
	T_STR(where("a"), "n-9");
}

T_CASE(a_backoff_may_change_alone)
{
	up(0, 0);
	waits_for(1000);
	rig_close(&rig);
	up(0, 0);
	configure((struct sched_settings){.backoff_first_ms = 3000,
	                                  .backoff_max_ms = 20000});
	configure((struct sched_settings){.backoff_first_ms = 4000,
	                                  .backoff_max_ms = 20000});
	waits_for(4000);
	rig_close(&rig);
	up(0, 0);
	configure(
		(struct sched_settings){.backoff_first_ms = 500, .backoff_max_ms = 500});
	configure(
		(struct sched_settings){.backoff_first_ms = 500, .backoff_max_ms = 900});
	T_EQ(rig.sched->config_gen->sched_config.backoff_max_ms, 900);
	waits_for(500);
	rig_close(&rig);
}

/* Only bounds change: the classes stay as they are. */
T_CASE(bounds_of_the_shard_disturb_nothing)
{
	struct queue *queue;

	up(8, 2);
	rig_pod(&rig, 1, "a", "100", "");
	rig_run_idle(&rig);
	queue = rig.sched->queue;
	configure((struct sched_settings){
		.batch_size = 3, .inflight = 1, .cache_bytes = 1 << 20});
	T_TRUE(rig.sched->queue == queue);
	T_EQ(rig.sched->opts.batch_size, 3);
	T_EQ(rig.sched->batch_size, 3);
	T_EQ(rig.sched->opts.inflight, 1);
	T_EQ(queued(QUEUE_WAITING), 1);
	configure((struct sched_settings){0});
	T_EQ(rig.sched->opts.batch_size, 8);
	T_EQ(rig.sched->opts.inflight, 2);
	T_TRUE(rig.sched->queue == queue);
	rig_close(&rig);
}

/* Every reading of this clock is as much later as step_ns says. */
struct stepping_clock {
	uint64_t now_ns, step_ns;
};

static uint64_t read_clock(void *ctx)
{
	struct stepping_clock *clock = ctx;

	return clock->now_ns += clock->step_ns;
}

T_CASE(a_plugin_over_its_budget_fails_the_decision_and_is_reported)
{
	struct stepping_clock clock = {.step_ns = 1000};
	struct sched_figures figures;

	rig_open(&rig, &(struct sched_opts){.clock = read_clock, .clock_ctx = &clock});
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "quick", "1", "");
	rig_run_idle(&rig);
	T_STR(where("quick"), "n-1");
	T_EQ(rig.troubles, 0);
	/* Over the default of two seconds, and within a budget of an hour. */
	clock.step_ns = 3000000000;
	rig_pod(&rig, 1, "slow", "1", "");
	rig_run_idle(&rig);
	T_STR(where("slow"), "");
	sched_figures(rig.sched, &figures);
	T_TRUE(figures.plugin_overruns > 0);
	T_EQ(rig.troubles, figures.plugin_overruns);
	T_TRUE(strstr(rig.said, "web/slow: plugin ") != NULL);
	T_TRUE(strstr(rig.said, " took longer than shard.plugin_budget_ms") != NULL);
	T_EQ(queued(QUEUE_BACKOFF), 1);
	configure((struct sched_settings){.plugin_budget_ms = 3600000});
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_STR(where("slow"), "n-1");
	/* Absent again: the default, which was not given in sched_opts either. */
	configure((struct sched_settings){0});
	rig_pod(&rig, 1, "late", "1", "");
	rig_run_idle(&rig);
	T_STR(where("late"), "");
	clock.step_ns = 1000;
	rig.now_ms += 20000;
	rig_run_idle(&rig);
	T_STR(where("late"), "n-1");
	rig_close(&rig);
}

T_CASE(without_a_clock_no_plugin_is_over_its_budget)
{
	struct sched_figures figures;

	rig_open(&rig, &(struct sched_opts){.plugin_budget_ms = 1});
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(where("a"), "n-1");
	sched_figures(rig.sched, &figures);
	T_EQ(figures.plugin_overruns, 0);
	rig_close(&rig);
}

T_CASE(refused_settings_change_nothing)
{
	struct sched_settings settings = {.profiles = PL_SPAN_LIT("{\"profiles\":3}"),
	                                  .batch_size = 5};
	struct queue *queue;

	up(8, 2);
	queue = rig.sched->queue;
	T_CODE(sched_configure(rig.sched, &settings, &rig.err), PL_INVALID, &rig.err);
	T_TRUE(rig.sched->queue == queue);
	T_EQ(rig.sched->opts.batch_size, 8);
	sched_check(rig.sched);
	rig_close(&rig);
}
