/* The counts of a shard's decisions. */
#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/metrics/sched_metrics.h"
#include "store/base/fault.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static uint64_t fake_ns;

static uint64_t fake_clock(void *ctx)
{
	(void)ctx;
	return fake_ns += 1000;
}

static uint64_t failed(enum sched_failure failure)
{
	return sched_metrics(rig.sched)->failed[failure];
}

static unsigned fit_plugin(void)
{
	unsigned i = 0;

	while (strcmp(plugins.row[i]->name, "NodeResourcesFit") != 0)
		i++;
	return i;
}

T_CASE(attempts_are_counted_by_result_and_profile)
{
	const struct sched_profile_metrics *row;

	rig_open(&rig, &(struct sched_opts){.clock = fake_clock});
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 0, "a", "2", "");
	rig_pod(&rig, 0, "b", "1", "");
	rig_pod(&rig, 0, "big", "9", "");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	row = &sched_metrics(rig.sched)->profile[0];
	T_SPAN(sched_string(rig.sched, row->scheduler), PL_SPAN_LIT("default-scheduler"));
	T_EQ(row->attempts[SCHED_RESULT_SCHEDULED], 2);
	T_EQ(row->attempts[SCHED_RESULT_UNSCHEDULABLE], 1);
	T_EQ(row->attempts[SCHED_RESULT_ERROR], 0);
	T_EQ(failed(SCHED_FAILURE_UNSCHEDULABLE), 1);
	/* So few attempts are all timed. */
	T_EQ(row->attempt_ns[SCHED_RESULT_SCHEDULED].count, 2);
	T_TRUE(row->attempt_ns[SCHED_RESULT_SCHEDULED].sum > 0);
	T_EQ(sched_metrics(rig.sched)->profile[1].scheduler, 0);
	rig_close(&rig);
}

T_CASE(a_turn_times_its_first_attempts_only)
{
	const struct sched_profile_metrics *row;
	char name[16];

	rig_open(&rig, &(struct sched_opts){.clock = fake_clock});
	rig_node(&rig, 0, "n-1", "100");
	for (unsigned i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof name, "p-%u", i);
		rig_pod(&rig, 0, name, "1", "");
	}
	rig_own(&rig, 0);
	(void)sched_run(rig.sched, rig.now_ms, 0, 64);
	row = &sched_metrics(rig.sched)->profile[0];
	T_EQ(row->attempts[SCHED_RESULT_SCHEDULED], 40);
	T_EQ(row->attempt_ns[SCHED_RESULT_SCHEDULED].count, SCHED_METRICS_TIMED);
	rig_close(&rig);
}

T_CASE(points_and_plugins_are_timed)
{
	const struct sched_profile_metrics *row;
	const struct histogram *fit;

	rig_open(&rig, &(struct sched_opts){.clock = fake_clock});
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 0, "a", "2", "");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	row = &sched_metrics(rig.sched)->profile[0];
	T_EQ(row->point_ns[SCHED_RESULT_SCHEDULED][POINT_FILTER].count, 1);
	T_EQ(row->point_ns[SCHED_RESULT_SCHEDULED][POINT_SCORE].count, 1);
	T_EQ(row->point_ns[SCHED_RESULT_UNSCHEDULABLE][POINT_FILTER].count, 0);
	fit = sched_plugin_ns(rig.sched, fit_plugin(), POINT_FILTER);
	T_TRUE(fit != NULL);
	T_EQ(fit->count, 1);
	T_TRUE(sched_plugin_ns(rig.sched, fit_plugin(), POINT_BIND) == NULL);
	rig_close(&rig);
}

static uint64_t bound_ms(unsigned attempts)
{
	return sched_metrics(rig.sched)->bound_ms[attempts - 1].sum;
}

/* 70 ms from the queue to the binding, of which the turn knows nothing. */
T_CASE(the_time_to_the_binding_is_measured)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	rig.now_ms += 5000;
	sched_measure_at(rig.sched, rig.now_ms);
	rig_pod(&rig, 0, "a", "2", "");
	rig_deliver_all(&rig);
	rig_run(&rig);
	sched_measure_at(rig.sched, rig.now_ms + 70);
	T_TRUE(rig_answer(&rig, 0));
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "a"), "n-1");
	T_EQ(sched_metrics(rig.sched)->bound_ms[0].count, 1);
	T_EQ(bound_ms(1), 70);
	T_EQ(sched_metrics(rig.sched)->attempts.count, 1);
	T_EQ(sched_metrics(rig.sched)->attempts.sum, 1);
	T_EQ(sched_metrics(rig.sched)->commits[SCHED_COMMIT_APPLIED], 1);
	T_EQ(sched_metrics(rig.sched)->batch.sum, 1);
	rig_close(&rig);
}

/* A pod that waits for room counts from its coming, not from its last attempt. */
T_CASE(a_pod_that_was_refused_counts_from_its_coming)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "1");
	rig_pod(&rig, 0, "a", "2", "");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	rig.now_ms += 30000;
	rig_run_idle(&rig);
	rig_node(&rig, 0, "n-2", "4");
	for (int i = 0; i < 3; i++) {
		rig.now_ms += 1000;
		rig_run_idle(&rig);
	}
	T_STR(rig_where(&rig, 0, "a"), "n-2");
	T_EQ(sched_metrics(rig.sched)->bound_ms[0].count, 0);
	T_TRUE(bound_ms(2) >= 30000 && bound_ms(2) <= 33000);
	rig_close(&rig);
}

struct seen_class {
	unsigned classes;
	uint32_t pods, waiting;
	uint64_t refused_by;
};

static void on_class(void *ctx, const struct sched_class_survey *survey)
{
	struct seen_class *seen = ctx;

	T_SPAN(survey->namespace, PL_SPAN_LIT("web"));
	T_SPAN(survey->scheduler, PL_SPAN_LIT("default-scheduler"));
	seen->classes++;
	seen->pods += survey->pods;
	seen->waiting += survey->waiting;
	seen->refused_by |= survey->refused_by;
}

T_CASE(classes_that_wait_are_surveyed)
{
	struct seen_class seen = {0};

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "1");
	rig_pod(&rig, 0, "a", "2", "");
	rig_pod(&rig, 0, "b", "2", "");
	rig_pod(&rig, 0, "c", "3", "");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	sched_survey_classes(rig.sched, 100, on_class, &seen);
	T_EQ(seen.classes, 2);
	T_EQ(seen.pods, 3);
	T_EQ(seen.waiting, 3);
	T_TRUE((seen.refused_by >> fit_plugin() & 1) != 0);
	seen = (struct seen_class){0};
	sched_survey_classes(rig.sched, 1, on_class, &seen);
	T_EQ(seen.classes, 1);
	rig_close(&rig);
}

T_CASE(nodes_are_surveyed_by_what_they_use)
{
	struct sched_node_survey survey;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_node(&rig, 0, "n-2", "4");
	rig_pod(&rig, 0, "a", "4", "");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	sched_survey_nodes(rig.sched, &survey);
	T_EQ(survey.clusters, 1);
	T_SPAN(sched_string(rig.sched, survey.cluster[0].cluster), PL_SPAN_LIT("east"));
	T_EQ(survey.cluster[0].nodes[SCHED_USE_CPU][0], 1);
	T_EQ(survey.cluster[0].nodes[SCHED_USE_CPU][9], 1);
	rig_close(&rig);
}

T_CASE(arrivals_in_the_queue_are_counted)
{
	struct queue_stats stats;

	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "1");
	rig_pod(&rig, 0, "a", "1", "");
	rig_pod(&rig, 0, "big", "2", "");
	rig_pod(&rig, 0, "gated", "1", ",\"schedulingGates\":[{\"name\":\"wait\"}]");
	rig_own(&rig, 0);
	rig_run_idle(&rig);
	sched_queue_stats(rig.sched, &stats);
	T_EQ(stats.arrived[QUEUE_ACTIVE][QUEUE_ARRIVAL_ADDED], 2);
	T_EQ(stats.arrived[QUEUE_GATED][QUEUE_ARRIVAL_ADDED], 1);
	T_EQ(stats.arrived[QUEUE_WAITING][QUEUE_ARRIVAL_FAILED] +
	             stats.arrived[QUEUE_BACKOFF][QUEUE_ARRIVAL_FAILED],
	     1);
	rig_close(&rig);
}

T_CASE(conflicts_and_lost_answers_are_counted)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	rig_pod(&rig, 0, "a", "2", "");
	rig_own(&rig, 0);
	rig_run(&rig);
	rig_fail(&rig, 0, PL_UNKNOWN);
	rig_run_idle(&rig);
	rig.now_ms += 1000;
	rig_run_idle(&rig);
	T_STR(rig_where(&rig, 0, "a"), "n-1");
	T_EQ(sched_metrics(rig.sched)->commits[SCHED_COMMIT_UNKNOWN], 1);
	T_EQ(sched_metrics(rig.sched)->commits[SCHED_COMMIT_APPLIED], 1);
	rig_close(&rig);
}
