/* Settings that change while pods are decided, wait and are in flight. */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "store/base/fault.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static const char most[] =
	"{\"profiles\":[{\"pluginConfig\":[{\"name\":\"NodeResourcesFit\",\"args\":"
	"{\"scoringStrategy\":{\"type\":\"MostAllocated\","
	"\"resources\":[{\"name\":\"cpu\",\"weight\":1}]}}}]}]}";
static const char two_names[] =
	"{\"profiles\":[{\"schedulerName\":\"default-scheduler\"},"
	"{\"schedulerName\":\"night\"}]}";

static const char *where(const char *name)
{
	static char text[128];
	int phase;
	struct pod_state state = rig_state(&rig, 1, name, &phase);

	if (phase < 0)
		return "";
	(void)snprintf(text, sizeof text, "%.*s",
	               PL_SPAN_ARG(phase == STATE_BOUND
	                                   ? state.node
	                                   : pl_span_str(state_phase_word(state.phase))));
	return text;
}

/* All pods migrate at once. */
static void configure(struct sched_settings settings)
{
	T_OK(sched_configure(rig.sched, &settings, &rig.err), &rig.err);
	sched_check(rig.sched);
	while (is_migrating(rig.sched))
		config_migrate_run(rig.sched);
	sched_check(rig.sched);
}

static void profiles_are(const char *text)
{
	configure((struct sched_settings){.profiles = pl_span_str(text)});
}

static uint32_t queued(enum queue_place in_place)
{
	struct queue_stats stats;

	sched_queue_stats(rig.sched, &stats);
	return stats.pods[in_place];
}

/* One of the nodes has a pod on it, so the two profiles do not agree. */
static void up(uint32_t batch_size, uint32_t inflight)
{
	rig_open(&rig,
	         &(struct sched_opts){.batch_size = batch_size, .inflight = inflight});
	rig_node(&rig, 0, "n-1", "16");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "first", "4", "");
	rig_deliver_all(&rig);
	rig_run_idle(&rig);
	T_STR(where("first"), "n-1");
	rig_node(&rig, 0, "n-2", "16");
	rig_deliver_all(&rig);
}

T_CASE(the_next_pod_is_decided_by_the_new_profile)
{
	up(0, 0);
	rig_pod(&rig, 1, "a", "1", "");
	rig_run_idle(&rig);
	T_STR(where("a"), "n-2");
	profiles_are(most);
	rig_pod(&rig, 1, "b", "1", "");
	rig_run_idle(&rig);
	T_STR(where("b"), "n-1");
	profiles_are("");
	rig_pod(&rig, 1, "c", "1", "");
	rig_run_idle(&rig);
	T_STR(where("c"), "n-2");
	rig_close(&rig);
}

/* Decided by the old profile: a pod in a txn stays, a waiting pod is decided again. */
T_CASE(a_pod_waiting_at_its_node_is_withdrawn)
{
	up(1, 1);
	for (int i = 0; i < 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "p-%d", i);
		rig_pod(&rig, 1, name, "1", "");
	}
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_run(&rig);
	T_EQ(rig.sched->waiting, 2);
	T_EQ(queued(QUEUE_IN_FLIGHT), 3);
	profiles_are(most);
	T_EQ(rig.sched->waiting, 0);
	T_EQ(queued(QUEUE_IN_FLIGHT), 0);
	T_EQ(queued(QUEUE_ACTIVE), 2);
	rig_run_idle(&rig);
	T_STR(where("p-0"), "n-2");
	T_STR(where("p-1"), "n-1");
	T_STR(where("p-2"), "n-1");
	rig_close(&rig);
}

T_CASE(a_pod_in_a_failed_txn_starts_anew)
{
	struct conflict_summary summary;

	up(1, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_put(&rig, "/alloc/0000/east/n-2", "{\"v\":1,\"generation\":7}");
	profiles_are(most);
	T_TRUE(!rig_answer(&rig, 0));
	sched_check(rig.sched);
	rig_run_idle(&rig);
	T_STR(where("a"), "n-1");
	sched_conflicts(rig.sched, &summary);
	T_EQ(summary.placements[CONFLICT_ALLOC], 1);
	T_EQ(summary.txns[CONFLICT_ALLOC], 1);
	T_SPAN(summary.node[0].name, PL_SPAN_LIT("n-2"));
	rig_close(&rig);
}

/* The first commit on a node compares its Node beside its alloc; the conflict counts
 * once. */
T_CASE(a_node_that_changed_is_counted_once)
{
	struct conflict_summary summary;

	up(4, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_pod(&rig, 1, "b", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	rig_node(&rig, 0, "n-2", "1");
	T_TRUE(!rig_answer(&rig, 0));
	sched_conflicts(rig.sched, &summary);
	T_EQ(summary.placements[CONFLICT_NODE] + summary.placements[CONFLICT_ALLOC],
	     summary.node[0].count);
	T_EQ(summary.placements[CONFLICT_NODE], 2); /* both pods went there */
	T_EQ(summary.txns[CONFLICT_NODE], 1);
	rig_run_idle(&rig);
	T_STR(where("b"), "n-1");
	rig_close(&rig);
}

/* The txn is sent again as it was: it does not depend on profiles. */
T_CASE(a_txn_of_unknown_outcome_is_settled)
{
	up(1, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	profiles_are(most);
	rig_fail(&rig, 0, PL_UNKNOWN);
	profiles_are("");
	sched_check(rig.sched);
	rig.now_ms += 5000;
	rig_run_idle(&rig);
	T_STR(where("a"), "n-2");
	T_EQ(sched_load(rig.sched, 1), 0);
	rig_close(&rig);
}

T_CASE(a_txn_whose_partition_is_lost_after_that)
{
	up(1, 1);
	rig_pod(&rig, 1, "a", "1", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	profiles_are(most);
	sched_lost(rig.sched, 1);
	rig.owned[1] = false;
	sched_check(rig.sched);
	rig_fail(&rig, 0, PL_FENCED);
	sched_check(rig.sched);
	rig_own(&rig, 1);
	rig_run_idle(&rig);
	T_STR(where("a"), "n-1");
	rig_close(&rig);
}

T_CASE(a_profile_comes_for_pods_that_had_none)
{
	up(0, 0);
	rig_pod(&rig, 1, "a", "1", ",\"schedulerName\":\"night\"");
	rig_run_idle(&rig);
	T_STR(where("a"), "");
	profiles_are(two_names);
	rig_run_idle(&rig);
	T_STR(where("a"), "n-2");
	rig_close(&rig);
}

T_CASE(a_profile_goes_and_its_pods_wait_for_another)
{
	up(0, 0);
	profiles_are(two_names);
	rig_pod(&rig, 1, "a", "100", ",\"schedulerName\":\"night\"");
	rig_run_idle(&rig);
	T_STR(where("a"), "Pending");
	T_EQ(queued(QUEUE_WAITING), 1);
	profiles_are("");
	T_EQ(queued(QUEUE_WAITING), 0);
	T_EQ(sched_load(rig.sched, 1), 0);
	rig_node(&rig, 0, "n-3", "200");
	rig_run_idle(&rig);
	T_STR(where("a"), "Pending");
	profiles_are(two_names);
	rig_run_idle(&rig);
	T_STR(where("a"), "n-3");
	rig_close(&rig);
}

T_CASE(a_waiting_pod_is_tried_again_and_keeps_its_attempts)
{
	int phase;

	up(0, 0);
	rig_pod(&rig, 1, "a", "100", "");
	rig_run_idle(&rig);
	T_EQ(rig_state(&rig, 1, "a", &phase).attempts, 1);
	T_EQ(queued(QUEUE_WAITING), 1);
	profiles_are(most);
	T_EQ(queued(QUEUE_ACTIVE), 1);
	rig.now_ms += 31000;
	rig_run_idle(&rig);
	T_EQ(rig_state(&rig, 1, "a", &phase).attempts, 2);
	rig_close(&rig);
}

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

/* No shard would ever place the pod, or release its reservation. */
T_CASE(a_pod_without_a_profile_loses_its_reservation)
{
	rig_open(&rig, NULL);
	profiles_are(two_names);
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_own(&rig, 1);
	rig_pod(&rig, 1, "low", "4", "");
	rig_run_idle(&rig);
	T_STR(where("low"), "n-1");
	rig_priority = 10;
	rig_pod(&rig, 1, "high", "4", ",\"schedulerName\":\"night\"");
	rig_priority = 0;
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 1);
	profiles_are(most);
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").holds, 0);
	rig_close(&rig);
}

/* Whichever allocation fails, the change happens whole or not at all, and every pod is
 * placed in the end. */
T_CASE_SECONDS(any_allocation_may_fail, 60)
{
	const struct settings_weight weight = {PL_SPAN_LIT("web"), 2};
	const struct sched_settings settings = {.profiles = pl_span_str(most),
	                                        .fair = true,
	                                        .weight = &weight,
	                                        .weights = 1};
	bool failed = false, passed = false;

	for (uint64_t nth = 1;; nth++) {
		struct queue *queue;
		bool fired;
		enum pl_code code;

		up(1, 1);
		for (int i = 0; i < 3; i++) {
			char name[8];

			(void)snprintf(name, sizeof name, "p-%d", i);
			rig_pod(&rig, 1, name, "1", "");
			rig_deliver_all(&rig);
		}
		rig_run(&rig);
		queue = rig.sched->queue;
		pl_fault_reset();
		pl_fault_arm(PL_FAULT_ALLOC, nth);
		code = sched_configure(rig.sched, &settings, &rig.err);
		config_migrate_run(rig.sched);
		fired = pl_fault_fired(PL_FAULT_ALLOC);
		pl_fault_reset();
		T_TRUE((code == PL_OK) == (rig.sched->queue != queue));
		T_TRUE(code == PL_OK || code == PL_NOMEM);
		failed = failed || code != PL_OK;
		passed = passed || (fired && code == PL_OK);
		sched_check(rig.sched);
		rig_run_idle(&rig);
		rig.now_ms += 20000;
		rig_run_idle(&rig);
		T_STR(where("p-0"), "n-2");
		T_STR(where("p-2"), code == PL_OK ? "n-1" : "n-2");
		rig_close(&rig);
		if (!fired)
			break;
	}
	T_TRUE(failed && passed);
}
