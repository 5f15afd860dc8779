/* What the driver is told besides calls; what does not fit is only counted. */
#include "shardsched/shard/inner.h"

static struct note *note_add(struct sched *sched)
{
	struct note *note;

	if (sched->notes - sched->notes_told == SCHED_NOTES_MAX)
		return NULL;
	note = &sched->note[sched->notes++ % SCHED_NOTES_MAX];
	*note = (struct note){0};
	return note;
}

void tell_garbled(struct sched *sched, const struct keys_id *id, const struct pl_err *err)
{
	struct note *note = note_add(sched);

	sched->figures.garbled++;
	if (note == NULL)
		return;
	note->what = SCHED_GARBLED;
	note->err = *err;
	if (id == NULL)
		return;
	note->partition = id->partition;
	(void)!keys_build(id, &note->key, NULL);
}

void tell_trouble(struct sched *sched, const struct pl_err *err)
{
	struct note *note = note_add(sched);

	if (note == NULL)
		return;
	note->what = SCHED_TROUBLE;
	note->err = *err;
}

void tell_repair(struct sched *sched, const struct pl_err *err)
{
	tell_trouble(sched, err);
	if (sched->repair_ms == 0)
		sched->repair_ms = sched->now_ms + SCHED_REPAIR_MS;
}

void tell_relist(struct sched *sched, uint32_t partition, enum sched_part part)
{
	struct note *note;

	for (uint32_t i = sched->notes_told; i != sched->notes; i++) {
		note = &sched->note[i % SCHED_NOTES_MAX];
		if (note->what == SCHED_RELIST && note->partition == partition &&
		    note->part == part)
			return;
	}
	note = note_add(sched);
	if (note == NULL) /* this is the one that must be heard */
		note = &sched->note[sched->notes_told % SCHED_NOTES_MAX];
	*note = (struct note){.what = SCHED_RELIST, .partition = partition, .part = part};
}

void tell_anew(struct sched *sched, enum sched_view view)
{
	struct note *note;

	for (uint32_t i = sched->notes_told; i != sched->notes; i++) {
		note = &sched->note[i % SCHED_NOTES_MAX];
		if (note->what == SCHED_ANEW && note->view == view)
			return;
	}
	note = note_add(sched);
	if (note == NULL) /* as above */
		note = &sched->note[sched->notes_told % SCHED_NOTES_MAX];
	*note = (struct note){.what = SCHED_ANEW, .view = view};
}

bool tell_next(struct sched *sched, struct sched_action *out)
{
	const struct note *note;

	if (sched->notes_told == sched->notes)
		return false;
	note = &sched->note[sched->notes_told++ % SCHED_NOTES_MAX];
	*out = (struct sched_action){.what = note->what,
	                             .partition = note->partition,
	                             .part = note->part,
	                             .view = note->view,
	                             .key = keys_span(&note->key),
	                             .err = &note->err};
	return true;
}

void tell_event(struct sched *sched, enum queue_event_kind kind, uint32_t slot)
{
	queue_event(sched->queue, &(struct queue_event){.kind = kind, .object = slot});
}
