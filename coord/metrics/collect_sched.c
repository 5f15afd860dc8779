#include "coord/metrics/collect.h"
#include "shardsched/plugins/plugins.h"

enum { CLASSES_MAX = 20000 };

#define RESULT_WORD(result, word, status) [SCHED_RESULT_##result] = (word),
#define RESULT_STATUS(result, word, status) [SCHED_RESULT_##result] = (status),
#define FAILURE_WORD(failure, word) [SCHED_FAILURE_##failure] = (word),
#define COMMIT_WORD(outcome, word) [SCHED_COMMIT_##outcome] = (word),

/* Kubernetes' names of extension points are in upper camel case: "PreFilter". */
static struct pl_span point_name(enum point point)
{
#define POINT_NAME(point, name, member) [POINT_##point] = (name),
	static const char *const names[] = {POINT_MAP(POINT_NAME)};
	static _Thread_local char text[32];
	size_t len = strlen(names[point]);

	PL_ASSERT(len < sizeof text);
	memcpy(text, names[point], len);
	text[0] = (char)(text[0] - 'a' + 'A');
	return pl_span(text, len);
}

/* -- decisions --------------------------------------------------------------------------- */

static void collect_profile(struct metric_set *set, struct pl_span profile,
                            const struct sched_profile_metrics *row)
{
	static const char *const words[] = {SCHED_RESULT_MAP(RESULT_WORD)};
	static const char *const statuses[] = {SCHED_RESULT_MAP(RESULT_STATUS)};

	for (unsigned i = 0; i < SCHED_RESULTS; i++) {
		metric_add(set, M_SCHEDULE_ATTEMPTS,
		           METRIC_VALUES(pl_span_str(words[i]), profile),
		           (double)row->attempts[i]);
		if (row->attempt_ns[i].count > 0)
			metric_fold(set, M_ATTEMPT_SECONDS,
			            METRIC_VALUES(pl_span_str(words[i]), profile),
			            &row->attempt_ns[i], 1e-9);
		for (unsigned k = 0; k < POINTS; k++)
			if (row->point_ns[i][k].count > 0)
				metric_fold(set, M_POINT_SECONDS,
				            METRIC_VALUES(point_name(k),
				                          pl_span_str(statuses[i]),
				                          profile),
				            &row->point_ns[i][k], 1e-9);
	}
}

static void collect_profiles(struct metric_set *set, const struct sched *sched,
                             const struct sched_metrics *metrics)
{
	for (unsigned i = 0; i < SCHED_METRICS_PROFILES; i++) {
		const struct sched_profile_metrics *row = &metrics->profile[i];

		if (row->scheduler != 0)
			collect_profile(set, sched_string(sched, row->scheduler), row);
		else if (i == SCHED_METRICS_PROFILES - 1 &&
		         row->attempts[SCHED_RESULT_SCHEDULED] +
		                         row->attempts[SCHED_RESULT_UNSCHEDULABLE] +
		                         row->attempts[SCHED_RESULT_ERROR] >
		                 0)
			collect_profile(set, PL_SPAN_LIT("other"), row);
	}
}

static void collect_plugins(struct metric_set *set, const struct sched *sched)
{
	for (unsigned i = 0; i < plugins.count; i++)
		for (unsigned k = 0; k < POINTS; k++) {
			const struct histogram *took =
				sched_plugin_ns(sched, i, (enum point)k);

			if (took != NULL)
				metric_fold(
					set, M_PLUGIN_SECONDS,
					METRIC_VALUES(pl_span_str(plugins.row[i]->name),
				                      point_name(k)),
					took, 1e-9);
		}
}

static void collect_attempts(struct metric_set *set, const struct sched_metrics *metrics)
{
	static const char *const attempts[SCHED_METRICS_ATTEMPTS] = {
		"1", "2",  "3",  "4",  "5",  "6",  "7",  "8",
		"9", "10", "11", "12", "13", "14", "15", "16+"};
	static const char *const failures[] = {SCHED_FAILURE_MAP(FAILURE_WORD)};

	metric_fold(set, M_POD_ATTEMPTS, NULL, &metrics->attempts, 1);
	for (unsigned i = 0; i < SCHED_METRICS_ATTEMPTS; i++)
		if (i == 0 || metrics->bound_ms[i].count > 0)
			metric_fold(set, M_SLI_SECONDS,
			            METRIC_VALUES(pl_span_str(attempts[i])),
			            &metrics->bound_ms[i], 1e-3);
	for (unsigned i = 0; i < SCHED_FAILURES; i++)
		metric_add(set, M_SCHEDULE_FAILED,
		           METRIC_VALUES(pl_span_str(failures[i])),
		           (double)metrics->failed[i]);
	metric_add(set, M_PREEMPTION_ATTEMPTS, NULL,
	           (double)metrics->preemption_attempts);
	metric_fold(set, M_PREEMPTION_VICTIMS, NULL, &metrics->victims, 1);
}

static void collect_commits(struct metric_set *set, const struct sched *sched,
                            const struct sched_metrics *metrics)
{
	static const char *const outcomes[] = {SCHED_COMMIT_MAP(COMMIT_WORD)};
	struct conflict_summary conflicts;

	for (unsigned i = 0; i < SCHED_COMMITS; i++)
		metric_add(set, M_COMMITS, METRIC_VALUES(pl_span_str(outcomes[i])),
		           (double)metrics->commits[i]);
	metric_fold(set, M_COMMIT_PODS, NULL, &metrics->batch, 1);
	sched_conflicts(sched, &conflicts);
	for (unsigned i = 0; i < CONFLICT_CAUSES; i++) {
		struct pl_span cause = pl_span_str(conflict_cause_name(i));

		metric_add(set, M_PLACEMENT_CONFLICTS, METRIC_VALUES(cause),
		           (double)conflicts.placements[i]);
		metric_add(set, M_COMMIT_CONFLICTS, METRIC_VALUES(cause),
		           (double)conflicts.txns[i]);
	}
	metric_add(set, M_EXCLUDED_NODES, NULL, conflicts.excluded_all);
}

/* -- figures ------------------------------------------------------------------------------ */

static void collect_figures(struct metric_set *set, struct pl_span shard,
                            const struct sched_figures *figures)
{
	metric_add(set, M_PODS_DECIDED, NULL, (double)figures->decided);
	metric_add(set, M_PODS_BOUND, NULL, (double)figures->placed);
	metric_add(set, M_PODS_TERMINATED, NULL, (double)figures->terminated);
	metric_add(set, M_PODS_ENDED, NULL, (double)figures->ended);
	metric_add(set, M_PREEMPTIONS, NULL, (double)figures->preempted);
	metric_add(set, M_RESERVATIONS, METRIC_VALUES(PL_SPAN_LIT("renewed")),
	           (double)figures->renewed);
	metric_add(set, M_RESERVATIONS, METRIC_VALUES(PL_SPAN_LIT("lapsed")),
	           (double)figures->lapsed);
	metric_add(set, M_PLUGIN_OVERRUNS, NULL, (double)figures->plugin_overruns);
	metric_add(set, M_MALFORMED, NULL, (double)figures->malformed);
	metric_add(set, M_ECHOES, NULL, (double)figures->echoes);
	metric_add(set, M_ATOMIC_BATCHES, METRIC_VALUES(PL_SPAN_LIT("sent")),
	           (double)figures->batches);
	metric_add(set, M_ATOMIC_BATCHES, METRIC_VALUES(PL_SPAN_LIT("failed")),
	           (double)figures->batches_failed);
	metric_add(set, M_WAITING_PODS, NULL, figures->waiting);
	metric_add(set, M_REMOTE_NODES, NULL, figures->remote);
	metric_add(set, M_COMMITS_IN_FLIGHT, NULL, figures->inflight);
	metric_put(set, M_BATCH_SIZE, METRIC_VALUES(shard), figures->batch_size);
	metric_add(set, M_CACHE_SIZE, METRIC_VALUES(PL_SPAN_LIT("nodes")),
	           figures->nodes);
	metric_add(set, M_CACHE_SIZE, METRIC_VALUES(PL_SPAN_LIT("pods")), figures->pods);
	metric_add(set, M_CACHE_SIZE, METRIC_VALUES(PL_SPAN_LIT("assumed_pods")),
	           figures->waiting);
}

/* -- the queue ----------------------------------------------------------------------------- */

static void collect_queue(struct metric_set *set, const struct queue_stats *stats)
{
	static const struct {
		enum queue_place place;
		const char *name;
	} queues[] = {{QUEUE_ACTIVE, "active"},
	              {QUEUE_BACKOFF, "backoff"},
	              {QUEUE_WAITING, "unschedulable"},
	              {QUEUE_GATED, "gated"}};
	const struct {
		const char *outcome;
		uint64_t count;
	} events[] = {{"seen", stats->events},
	              {"woken", stats->woken},
	              {"helped", stats->helped_in_flight},
	              {"flushed", stats->flushed},
	              {"recalled", stats->recalled}};

	for (unsigned i = 0; i < sizeof queues / sizeof queues[0]; i++) {
		struct pl_span queue = pl_span_str(queues[i].name);

		metric_add(set, M_PENDING_PODS, METRIC_VALUES(queue),
		           stats->pods[queues[i].place]);
		for (unsigned k = 0; k < QUEUE_ARRIVALS; k++) {
			uint64_t arrived = stats->arrived[queues[i].place][k];

			if (arrived > 0)
				metric_add(
					set, M_QUEUE_INCOMING,
					METRIC_VALUES(queue,
				                      pl_span_str(queue_arrival_name(k))),
					(double)arrived);
		}
	}
	for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
		metric_add(set, M_QUEUE_EVENTS,
		           METRIC_VALUES(pl_span_str(events[i].outcome)),
		           (double)events[i].count);
	metric_add(set, M_QUEUE_CLASSES, METRIC_VALUES(PL_SPAN_LIT("all")),
	           stats->classes);
	metric_add(set, M_QUEUE_CLASSES, METRIC_VALUES(PL_SPAN_LIT("waiting")),
	           stats->classes_waiting);
}

struct class_collector {
	struct metric_set *set;
	uint32_t pods; /* seen */
};

static void on_class(void *ctx, const struct sched_class_survey *survey)
{
	struct class_collector *collector = ctx;

	collector->pods += survey->pods;
	metric_add(collector->set, M_NAMESPACE_PENDING, METRIC_VALUES(survey->namespace),
	           survey->pods);
	for (unsigned i = 0; survey->waiting > 0 && i < plugins.count; i++)
		if ((survey->refused_by >> i & 1) != 0)
			metric_add(collector->set, M_UNSCHEDULABLE_PODS,
			           METRIC_VALUES(pl_span_str(plugins.row[i]->name),
			                         survey->scheduler),
			           survey->waiting);
}

/* Pods whose classes are too many to be looked at count as another namespace's. */
static void collect_classes(struct metric_set *set, const struct sched *sched,
                            const struct queue_stats *stats)
{
	struct class_collector collector = {.set = set};
	uint32_t pods = 0;

	for (unsigned i = QUEUE_OUT + 1; i < QUEUE_PLACES; i++)
		pods += stats->pods[i];
	sched_survey_classes(sched, CLASSES_MAX, on_class, &collector);
	if (collector.pods < pods)
		metric_add(set, M_NAMESPACE_PENDING, METRIC_VALUES(PL_SPAN_LIT("other")),
		           pods - collector.pods);
}

/* -- the fleet ------------------------------------------------------------------------------ */

static void collect_cluster(struct metric_set *set, struct pl_span cluster,
                            const struct sched_cluster_survey *row)
{
	static const char *const resources[SCHED_USES] = {
		[SCHED_USE_CPU] = "cpu",
		[SCHED_USE_MEMORY] = "memory",
		[SCHED_USE_PODS] = "pods",
	};
	static const char *const uses[SCHED_METRICS_SHARES] = {"0.1", "0.2", "0.3", "0.4",
	                                                       "0.5", "0.6", "0.7", "0.8",
	                                                       "0.9", "1",   "over"};

	for (unsigned i = 0; i < SCHED_USES; i++)
		for (unsigned k = 0; k < SCHED_METRICS_SHARES; k++)
			if (row->nodes[i][k] > 0)
				metric_add(set, M_NODES_BY_USE,
				           METRIC_VALUES(cluster,
				                         pl_span_str(resources[i]),
				                         pl_span_str(uses[k])),
				           row->nodes[i][k]);
}

static void collect_nodes(struct metric_set *set, const struct sched *sched)
{
	struct sched_node_survey survey;

	sched_survey_nodes(sched, &survey);
	for (uint32_t i = 0; i < survey.clusters; i++) {
		uint32_t cluster = survey.cluster[i].cluster;

		collect_cluster(set,
		                cluster == 0 ? PL_SPAN_LIT("other")
		                             : sched_string(sched, cluster),
		                &survey.cluster[i]);
	}
}

void collect_sched(struct metric_set *set, struct pl_span shard,
                   const struct sched *sched)
{
	const struct sched_metrics *metrics = sched_metrics(sched);
	struct sched_figures figures;
	struct queue_stats stats;

	sched_figures(sched, &figures);
	sched_queue_stats(sched, &stats);
	collect_profiles(set, sched, metrics);
	collect_plugins(set, sched);
	collect_attempts(set, metrics);
	collect_commits(set, sched, metrics);
	collect_figures(set, shard, &figures);
	collect_queue(set, &stats);
	collect_classes(set, sched, &stats);
	collect_nodes(set, sched);
}
