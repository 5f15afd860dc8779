/* A shard with a pod on one of two nodes, whose settings are changed. */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_CONFIGURE_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_CONFIGURE_RIG_H

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static const char most[] =
	"{\"profiles\":[{\"pluginConfig\":[{\"name\":\"NodeResourcesFit\",\"args\":"
	"{\"scoringStrategy\":{\"type\":\"MostAllocated\","
	"\"resources\":[{\"name\":\"cpu\",\"weight\":1}]}}}]}]}";
static const char two_names[] =
	"{\"profiles\":[{\"schedulerName\":\"default-scheduler\"},"
	"{\"schedulerName\":\"night\"}]}";

static inline const char *where(const char *name)
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
static inline void configure(struct sched_settings settings)
{
	T_OK(sched_configure(rig.sched, &settings, &rig.err), &rig.err);
	sched_check(rig.sched);
	while (is_migrating(rig.sched))
		config_migrate_run(rig.sched);
	sched_check(rig.sched);
}

static inline void profiles_are(const char *text)
{
	configure((struct sched_settings){.profiles = pl_span_str(text)});
}

static inline uint32_t queued(enum queue_place in_place)
{
	struct queue_stats stats;

	sched_queue_stats(rig.sched, &stats);
	return stats.pods[in_place];
}

/* One of the nodes has a pod on it, so the two profiles do not agree. */
static inline void up(uint32_t batch_size, uint32_t inflight)
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

#endif
