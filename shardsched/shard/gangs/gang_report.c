/*
 * Writes why the members of a gang wait into the state of each. A gang may be large, so
 * its members report a few at a time. The reason changes while members come, so it is
 * reported a moment later.
 */
#include <stdarg.h>
#include <stdio.h>

#include "shardsched/shard/gangs/gangs.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/pending_status.h"

enum { SAY_MS = 1000, SAY_MOST = 64, SAY_EVERY_MS = 100 };

void gang_set_reason(struct sched *sched, struct sched_gang *gang, uint32_t reason,
                     const char *fmt, ...)
{
	char message[GANG_MESSAGE_SIZE];
	va_list args;

	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun above */
	(void)vsnprintf(message, sizeof message, fmt, args);
	va_end(args);
	/* If the reason is the same, only members that have come since report it. */
	gang->reason_number += gang->reason_number == 0 || gang->reason != reason ||
	                       strcmp(gang->message, message) != 0;
	gang->reason = reason;
	memcpy(gang->message, message, sizeof message);
	if (!pl_list_empty(&gang->reporting))
		return;
	gang->report_ms = sched->now_ms + (reason == REASON_GANG_INCOMPLETE ? SAY_MS : 0);
	pl_list_add_tail(&sched->gangs.reporting, &gang->reporting);
}

/* False: some members are to report later. */
static bool report_members(struct sched *sched, struct sched_gang *gang)
{
	unsigned left = SAY_MOST;
	bool all = true;

	PL_LIST_EACH (link, &gang->members) {
		struct sched_pod *pod = member_of(link);

		if (pod->stage != POD_QUEUED || pod->gang_reported == gang->reason_number)
			continue;
		if (left == 0 ||
		    !pending_status_set(sched, pod, gang->reason, gang->message)) {
			all = false;
			continue;
		}
		left--;
		pod->gang_reported = gang->reason_number;
	}
	return all;
}

void gangs_report(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->gangs.reporting) {
		struct sched_gang *gang =
			PL_LIST_ITEM(link, struct sched_gang, reporting);

		if (gang->report_ms > sched->now_ms)
			continue;
		if (report_members(sched, gang))
			pl_list_del(&gang->reporting);
		else
			gang->report_ms = sched->now_ms + SAY_EVERY_MS;
	}
}
