#include "shardsched/shard/metrics/record.h"

#include "shardsched/shard/gangs/gangs.h"

const struct sched_metrics *sched_metrics(const struct sched *sched)
{
	return &sched->metrics;
}

void sched_measure_at(struct sched *sched, uint64_t now_ms)
{
	if (now_ms > sched->metrics.now_ms)
		sched->metrics.now_ms = now_ms;
}

void record_done(struct sched *sched)
{
	for (unsigned i = 0; i < SCHED_METRICS_PROFILES; i++)
		strings_unref(&sched->model.strings, sched->metrics.profile[i].scheduler);
}

/* -- attempts ---------------------------------------------------------------------------- */

static struct sched_profile_metrics *row_of(struct sched *sched,
                                            const struct profile *profile)
{
	struct sched_profile_metrics *row = sched->metrics.profile;
	struct sched_profile_metrics *last = row + SCHED_METRICS_PROFILES - 1;

	for (; row < last; row++) {
		if (row->scheduler == 0)
			row->scheduler =
				strings_ref(&sched->model.strings, profile->scheduler);
		if (row->scheduler == profile->scheduler)
			return row;
	}
	return last;
}

/* A gang has the profile of its first member. NULL: no member waits. */
static const struct profile *profile_of(struct queue_pod *pod)
{
	struct queue_class *class = pod->class;

	if (gang_is_class(class)) {
		const struct sched_gang *gang = gang_of_queue(pod);

		class = pl_list_empty(&gang->members)
		                ? NULL
		                : member_of(gang->members.next)->queue.class;
	}
	if (class == NULL)
		return NULL;
	return class_registry_profile(
		&config_gen_of(pool_class_of(class))->class_registry,
		pool_class_of(class));
}

static uint64_t clock_ns(const struct sched *sched)
{
	return sched->opts.clock == NULL ? 0 : sched->opts.clock(sched->opts.clock_ctx);
}

void record_attempt_begin(struct sched *sched, struct queue_pod *pod,
                          struct record_attempt *attempt)
{
	bool timed = sched->turn_timed < SCHED_METRICS_TIMED;

	sched->turn_timed += timed;
	*attempt = (struct record_attempt){.pod = pod,
	                                   .profile = profile_of(pod),
	                                   .begun_ns = timed ? clock_ns(sched) : 0,
	                                   .decided = sched->figures.decided,
	                                   .attempts = pod->attempts};
}

/* False: it was no attempt, but put off. */
static bool result_of(const struct record_attempt *attempt, uint64_t placed,
                      enum sched_result *result, enum sched_failure *failure)
{
	const struct queue_pod *pod = attempt->pod;

	*result = SCHED_RESULT_UNSCHEDULABLE;
	*failure = SCHED_FAILURES;
	if (placed > 0) {
		*result = SCHED_RESULT_SCHEDULED;
		return true;
	}
	if (pod->place == QUEUE_OUT || pod->place == QUEUE_IN_FLIGHT ||
	    pod->attempts != attempt->attempts)
		return false;
	switch ((enum queue_cause)pod->cause) {
	case QUEUE_REFUSED:
		*failure = SCHED_FAILURE_UNSCHEDULABLE;
		return true;
	case QUEUE_NOMINATED:
		*failure = SCHED_FAILURE_PREEMPTING;
		return true;
	case QUEUE_FAULT:
		*result = SCHED_RESULT_ERROR;
		*failure = SCHED_FAILURE_ERROR;
		return true;
	case QUEUE_NEW:
	case QUEUE_CONFLICT:
	case QUEUE_CAUSES:
		return false;
	}
	return false;
}

void record_attempt_end(struct sched *sched, const struct record_attempt *attempt)
{
	uint64_t placed = sched->figures.decided - attempt->decided;
	struct sched_profile_metrics *row;
	enum sched_result result;
	enum sched_failure failure;

	if (attempt->profile == NULL || !result_of(attempt, placed, &result, &failure))
		return;
	row = row_of(sched, attempt->profile);
	row->attempts[result] += placed > 0 ? placed : 1;
	if (failure != SCHED_FAILURES)
		sched->metrics.failed[failure]++;
	if (attempt->begun_ns != 0)
		histogram_add(&row->attempt_ns[result],
		              clock_ns(sched) - attempt->begun_ns);
}

void record_assumed(struct sched *sched, const struct sched_pod *pod)
{
	const struct profile *profile = profiles_find(&sched->config_gen->profiles,
	                                              pod->spec->template->scheduler);

	if (profile != NULL) /* the settings have changed since */
		row_of(sched, profile)->attempts[SCHED_RESULT_SCHEDULED]++;
}

void record_cycle(struct sched *sched, const struct fw_class *class,
                  enum cycle_result result)
{
	static const enum sched_result results[] = {
		[CYCLE_NODE] = SCHED_RESULT_SCHEDULED,
		[CYCLE_NONE] = SCHED_RESULT_UNSCHEDULABLE,
		[CYCLE_ERROR] = SCHED_RESULT_ERROR,
	};
	struct sched_profile_metrics *row;
	uint64_t ns[POINTS];

	if (!cycle_timing(sched->cycle, ns))
		return;
	row = row_of(sched, class->profile);
	for (unsigned i = 0; i < POINTS; i++)
		if (ns[i] != 0)
			histogram_add(&row->point_ns[results[result]][i], ns[i]);
}

/* -- what comes of them ------------------------------------------------------------------ */

void record_bound(struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_gang *gang = pod_gang(pod);
	uint32_t queued_ms = gang == NULL ? pod->queued_ms : gang->queued_ms;
	uint32_t attempts = gang == NULL ? pod->queue.attempts : gang->queue.attempts;
	unsigned row =
		attempts < SCHED_METRICS_ATTEMPTS ? attempts : SCHED_METRICS_ATTEMPTS;

	/* In 32 bits, which count 49 days. */
	histogram_add(&sched->metrics.bound_ms[row == 0 ? 0 : row - 1],
	              (uint32_t)sched->metrics.now_ms - queued_ms);
	histogram_add(&sched->metrics.attempts, attempts == 0 ? 1 : attempts);
}

void record_commit(struct sched *sched, const struct shard_txn *txn,
                   enum sched_commit outcome)
{
	if (!txn_commits(txn))
		return;
	sched->metrics.commits[outcome]++;
	if (outcome == SCHED_COMMIT_APPLIED && txn->placements > 0)
		histogram_add(&sched->metrics.batch, txn->placements);
}

void record_failure(struct sched *sched, enum sched_failure failure)
{
	sched->metrics.failed[failure]++;
}

void record_preemption(struct sched *sched, uint32_t victims)
{
	sched->metrics.preemption_attempts++;
	if (victims > 0)
		histogram_add(&sched->metrics.victims, victims);
}
