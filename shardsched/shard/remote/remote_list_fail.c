/*
 * Visits that fail, time after time: the partition is too large for the store to list in
 * time, or the store too slow. It is tried again, ever more rarely, and meanwhile nobody
 * waits for it: who needs room goes without, and who has to know a certain node there
 * takes up the whole view.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"

enum {
	FAILURES_MAX = 3, /* so many say that the next will fail, too */
	RETRY_MS = 1000,  /* and twice that after the next, and so on */
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

/* The view is wanted as long as it is to show what a visit does not. */
static void hold_fleet_view(struct sched *sched, uint32_t partition)
{
	struct remote_list *remote_list = list_of(sched, partition);
	bool holds_fleet_view =
		remote_list->needed && remote_list_keeps_failing(sched, partition);

	if (holds_fleet_view == remote_list->holds_fleet_view)
		return;
	remote_list->holds_fleet_view = holds_fleet_view;
	if (holds_fleet_view)
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

static uint64_t retry_ms(unsigned failures)
{
	uint64_t ms = failures > 6 ? RETRY_MAX_MS : (uint64_t)RETRY_MS << (failures - 1);

	return ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS;
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
	struct remote_list *remote_list = list_of(sched, partition);

	if (remote_list->failures < UINT8_MAX)
		remote_list->failures++;
	remote_list->after_ms = sched->now_ms + retry_ms(remote_list->failures);
	remote_list_request(sched, partition);
	if (sched->fleet_view.revision != 0) /* the view has shown it */
		remote_list->needed = false;
	hold_fleet_view(sched, partition);
	if (remote_list->failures != FAILURES_MAX)
		return;
	report_failures(sched, partition, *why);
	remote_wake_listed(sched);
}

void remote_list_ok(struct sched *sched, uint32_t partition)
{
	struct remote_list *remote_list = list_of(sched, partition);

	remote_list->failures = 0;
	remote_list->needed = false;
	hold_fleet_view(sched, partition);
}
