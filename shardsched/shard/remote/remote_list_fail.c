/*
 * Remote lists that fail time after time: the partition is too large for the store to
 * list in time, or the store is too slow. The list is tried again, ever more rarely, and
 * meanwhile no pod waits for it: a pod that needs room goes without that partition, and
 * where one certain node there has to be known the fleet view is taken up.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "store/base/backoff.h"

enum {
	FAILURES_MAX = 3, /* after so many the next is expected to fail, too */
	RETRY_MS = 1000,  /* after the first failure; doubled by each further one */
	RETRY_MAX_MS = 30000,
};

static struct remote_list *list_of(struct sched *sched, uint32_t partition)
{
	return &sched->partition[partition].remote_list;
}

bool remote_list_keeps_failing(const struct sched *sched, uint32_t partition)
{
	return sched->partition[partition].remote_list.failures >= FAILURES_MAX;
}

/* The fleet view is acquired while it has to show what remote lists do not. */
static void hold_fleet_view(struct sched *sched, uint32_t partition)
{
	struct remote_list *list = list_of(sched, partition);
	bool holds = list->needed && remote_list_keeps_failing(sched, partition);

	if (holds == list->holds_fleet_view)
		return;
	list->holds_fleet_view = holds;
	if (holds)
		fleet_view_acquire(sched);
	else
		fleet_view_release(sched);
}

void remote_list_require(struct sched *sched, uint32_t partition)
{
	remote_list_request(sched, partition);
	list_of(sched, partition)->needed = true;
	hold_fleet_view(sched, partition);
}

static void report_failures(struct sched *sched, uint32_t partition, struct pl_err err)
{
	(void)pl_err_wrap(
		&err,
		"list nodes of partition %04u of another shard, which failed %u "
		"times in a row, so that pods do not wait for it any more",
		partition, FAILURES_MAX);
	report_trouble(sched, &err);
}

void remote_list_on_failed(struct sched *sched, uint32_t partition,
                           const struct pl_err *why)
{
	struct remote_list *list = list_of(sched, partition);

	if (list->failures < UINT8_MAX)
		list->failures++;
	list->after_ms =
		sched->now_ms + pl_doubled_ms(list->failures - 1, RETRY_MS, RETRY_MAX_MS);
	remote_list_request(sched, partition);
	if (sched->fleet_view.revision != 0) /* the view shows the partition */
		list->needed = false;
	hold_fleet_view(sched, partition);
	if (list->failures != FAILURES_MAX)
		return;
	report_failures(sched, partition, *why);
	remote_wake_listed(sched);
}

void remote_list_ok(struct sched *sched, uint32_t partition)
{
	struct remote_list *list = list_of(sched, partition);

	list->failures = 0;
	list->needed = false;
	hold_fleet_view(sched, partition);
}
