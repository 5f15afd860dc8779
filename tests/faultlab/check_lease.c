/*
 * Leases: a key goes with its lease, not before the client could be sure that the
 * lease was over, and it does go.
 */
#include <inttypes.h>

#include "tests/faultlab/truth.h"

/* How long after a lease's end its keys may still be there once all is quiet:
 * etcd looks twice a second, and a new leader starts every lease anew. */
enum { LATE_MS = 30000 };

/* For so long after a pause a member that stood still may revoke leases. */
enum { REVOKES_FOR_MS = 5000 };

static const struct hist_lease *lease_of(const struct hist *hist, int64_t id)
{
	for (size_t i = 0; i < hist->lease_count; i++)
		if (hist->lease[i].id == id)
			return &hist->lease[i];
	return NULL;
}

static bool is_excused(const struct hist *hist, uint64_t ms)
{
	for (size_t i = 0; hist->pauses_revoke && i < hist->pause_count; i++)
		if (ms >= hist->pause[i].from_ms &&
		    (hist->pause[i].to_ms == 0 ||
		     ms < hist->pause[i].to_ms + REVOKES_FOR_MS))
			return true;
	return false;
}

static void judge_vanished(struct truth *truth, size_t at, struct check_report *report)
{
	const struct hist_event *event = &truth->event[at];
	const struct hist_event *before = truth_before(truth, event);
	const struct hist_lease *lease = before == NULL || before->lease == 0
	                                         ? NULL
	                                         : lease_of(truth->hist, before->lease);

	if (lease == NULL) {
		check_add(report, CHECK_STRANGER, 0, event->revision,
		          "deletion of key %c/%u", (char)hist_class_of(event->key),
		          (unsigned)(event->key & UINT32_MAX));
		return;
	}
	report->leases_ended++;
	if (lease->revoked || truth->seen_ms[at] >= lease->safe_until_ms)
		return;
	if (is_excused(truth->hist, truth->seen_ms[at]))
		report->leases_excused++;
	else
		check_add(report, CHECK_LEASE_EARLY, before->value.writer,
		          event->revision,
		          "lease %" PRIx64 " was safe for %" PRIu64 " ms more",
		          (uint64_t)lease->id, lease->safe_until_ms - truth->seen_ms[at])
			->ms = truth->seen_ms[at];
}

void check_leases(struct truth *truth, struct check_report *report)
{
	const struct hist *hist = truth->hist;

	for (size_t i = 0; i < truth->count; i++)
		if (truth->event[i].is_delete && !truth->explained[i])
			judge_vanished(truth, i, report);
	for (size_t i = 0; i < hist->final_count; i++) {
		const struct hist_event *record = &hist->final[i];
		const struct hist_lease *lease =
			record->lease == 0 ? NULL : lease_of(hist, record->lease);

		if (record->lease != 0 &&
		    (lease == NULL ||
		     (lease->dropped_ms != 0 &&
		      hist->final_ms > lease->dropped_ms + lease->ttl_ms + LATE_MS)))
			check_add(report, CHECK_LEASE_LATE, record->value.writer,
			          record->revision, "lease %" PRIx64 " is over",
			          (uint64_t)record->lease);
	}
}
