/*
 * struct sched_metrics: what a shard counts of its decisions, for who watches it. Plain
 * counters that the shard's thread changes in place; another thread needs a copy.
 *
 * No decision depends on it. Times come from two clocks: the driver's milliseconds
 * (sched_measure_at), and sched_opts.clock, which is read for the first attempts of each
 * turn only, so that a shard that decides many pods pays for few of them.
 *
 * A survey walks over what the shard has, bounded, and changes nothing.
 */
#ifndef SHARDSCHED_SHARD_METRICS_SCHED_METRICS_H
#define SHARDSCHED_SHARD_METRICS_SCHED_METRICS_H

#include "shardsched/framework/profile.h"
#include "store/metrics/histogram.h"

struct sched;

enum {
	/* Profiles that are told apart; the last row counts all others. */
	SCHED_METRICS_PROFILES = 4,
	/* Numbers of attempts that are told apart; the last one and more count as one. */
	SCHED_METRICS_ATTEMPTS = 16,
	SCHED_METRICS_TIMED = 4, /* attempts of a turn that are timed */
	SCHED_METRICS_CLUSTERS = 32,
	SCHED_METRICS_SHARES = 11, /* tenths of a node in use, and more than all of it */
};

/* X(RESULT, word, word of an extension point's status) */
#define SCHED_RESULT_MAP(X)                                \
	X(SCHEDULED, "scheduled", "Success")               \
	X(UNSCHEDULABLE, "unschedulable", "Unschedulable") \
	X(ERROR, "error", "Error")

#define SCHED_RESULT_ENUM(result, word, status) SCHED_RESULT_##result,
enum sched_result { SCHED_RESULT_MAP(SCHED_RESULT_ENUM) SCHED_RESULTS };

/* X(FAILURE, word): why an attempt did not end in a binding. */
#define SCHED_FAILURE_MAP(X)                                                         \
	X(UNSCHEDULABLE, "unschedulable") /* no node fits */                         \
	X(PREEMPTING, "preempting")       /* room is being made */                   \
	X(ERROR, "error")                 /* a plugin failed, or memory ran out */   \
	X(CONFLICT, "conflict")           /* a key had changed since the decision */ \
	X(HANDOVER, "handover")           /* the node's partition left the shard */  \
	X(WITHDRAWN, "withdrawn")         /* an assumption did not come true */

#define SCHED_FAILURE_ENUM(failure, word) SCHED_FAILURE_##failure,
enum sched_failure { SCHED_FAILURE_MAP(SCHED_FAILURE_ENUM) SCHED_FAILURES };

/* How a transaction that commits placements was answered. X(OUTCOME, word) */
#define SCHED_COMMIT_MAP(X)                                              \
	X(APPLIED, "applied")                                            \
	X(CONFLICT, "conflict") /* a compare did not hold */             \
	X(UNKNOWN, "unknown")   /* no answer: it is found out */         \
	X(FENCED, "fenced")     /* the shard owns a partition no more */ \
	X(REFUSED, "refused")   /* the store does not take it, or is not there */

#define SCHED_COMMIT_ENUM(outcome, word) SCHED_COMMIT_##outcome,
enum sched_commit { SCHED_COMMIT_MAP(SCHED_COMMIT_ENUM) SCHED_COMMITS };

struct sched_profile_metrics {
	uint32_t scheduler; /* string, held; 0: the row is free, or the last one */
	uint64_t attempts[SCHED_RESULTS];
	struct histogram attempt_ns[SCHED_RESULTS];       /* timed attempts */
	struct histogram point_ns[SCHED_RESULTS][POINTS]; /* timed cycles */
};

struct sched_metrics {
	struct sched_profile_metrics profile[SCHED_METRICS_PROFILES];
	/* From the pod's coming to the queue of this shard to its binding; by attempts. */
	struct histogram bound_ms[SCHED_METRICS_ATTEMPTS];
	struct histogram attempts; /* of pods that were bound */
	uint64_t failed[SCHED_FAILURES];
	uint64_t commits[SCHED_COMMITS];
	struct histogram batch; /* placements in transactions that were applied */
	uint64_t preemption_attempts;
	struct histogram victims; /* of plans */
	uint64_t now_ms;          /* as sched_measure_at said last */
};

const struct sched_metrics *sched_metrics(const struct sched *sched);
/* The time of what comes in or is answered next, for metrics only; sched_run says the
 * time, too. */
void sched_measure_at(struct sched *sched, uint64_t now_ms);

/* A class of pods in the queue. */
struct sched_class_survey {
	struct pl_span namespace, scheduler;
	uint32_t pods, waiting; /* in any place; refused */
	uint64_t refused_by;    /* by the plugins' bits; 0: none of them, or none yet */
};
typedef void sched_class_fn(void *ctx, const struct sched_class_survey *survey);

/* Calls fn for classes that have pods, at most max of them. */
void sched_survey_classes(const struct sched *sched, uint32_t max, sched_class_fn *fn,
                          void *ctx);

enum sched_use { SCHED_USE_CPU, SCHED_USE_MEMORY, SCHED_USE_PODS, SCHED_USES };

/* How many of the shard's own nodes use how much. */
struct sched_cluster_survey {
	uint32_t cluster; /* string; 0 in the last row: all clusters that have none */
	uint32_t nodes[SCHED_USES][SCHED_METRICS_SHARES];
};
struct sched_node_survey {
	uint32_t clusters; /* rows in use */
	struct sched_cluster_survey cluster[SCHED_METRICS_CLUSTERS];
};
void sched_survey_nodes(const struct sched *sched, struct sched_node_survey *out);

/* Times of a plugin in cycles that were timed; NULL: the plugin never ran there. */
const struct histogram *sched_plugin_ns(const struct sched *sched, unsigned plugin,
                                        enum point point);
/* The text of a string of the core; borrowed. */
struct pl_span sched_string(const struct sched *sched, uint32_t id);

#endif
