/*
 * The reports to the driver besides txns. Lists that have to begin again have flags, as
 * nothing else remembers them; other reports that do not fit are only counted.
 */
#include "shardsched/shard/report.h"

#include "shardsched/shard/inner.h"

static struct sched_note *note_add(struct sched *sched)
{
	struct sched_note *note;

	if (sched->notes - sched->notes_reported == SCHED_NOTES_MAX)
		return NULL;
	note = &sched->note[sched->notes++ % SCHED_NOTES_MAX];
	*note = (struct sched_note){0};
	return note;
}

void report_malformed(struct sched *sched, const struct keys_id *id,
                      const struct pl_err *err)
{
	struct sched_note *note = note_add(sched);

	sched->figures.malformed++;
	if (note == NULL)
		return;
	note->what = SCHED_MALFORMED;
	note->err = *err;
	if (id == NULL)
		return;
	note->partition = id->partition;
	(void)!keys_build(id, &note->key, NULL);
}

void report_trouble(struct sched *sched, const struct pl_err *err)
{
	struct sched_note *note = note_add(sched);

	if (note == NULL)
		return;
	note->what = SCHED_TROUBLE;
	note->err = *err;
}

void report_repair(struct sched *sched, const struct pl_err *err)
{
	report_trouble(sched, err);
	schedule_repair(sched);
}

void schedule_repair(struct sched *sched)
{
	if (sched->repair_ms == 0)
		sched->repair_ms = sched->now_ms + SCHED_REPAIR_MS;
}

void report_relist(struct sched *sched, uint32_t partition, enum sched_part part)
{
	struct sched_partition *of = &sched->partition[partition];

	of->missed[part] = of->misses[part] = true;
	sched->relists += !of->relist_due[part];
	of->relist_due[part] = true;
}

void report_relist_view(struct sched *sched, enum sched_view view)
{
	sched->relist_due[view] = true;
}

static bool next_relist_view(struct sched *sched, struct sched_action *out)
{
	for (unsigned i = 0; i < SCHED_VIEWS; i++) {
		if (!sched->relist_due[i])
			continue;
		sched->relist_due[i] = false;
		*out = (struct sched_action){.what = SCHED_RELIST_VIEW,
		                             .view = (enum sched_view)i};
		return true;
	}
	return false;
}

static bool next_relist(struct sched *sched, struct sched_action *out)
{
	for (uint32_t i = 0; sched->relists > 0; i++) {
		bool *relist_due = sched->partition[i].relist_due;

		PL_ASSERT(i < sched->opts.partitions);
		for (unsigned part = 0; part < SCHED_PARTS; part++) {
			if (!relist_due[part])
				continue;
			relist_due[part] = false;
			sched->relists--;
			*out = (struct sched_action){.what = SCHED_RELIST,
			                             .partition = i,
			                             .part = (enum sched_part)part};
			return true;
		}
	}
	return false;
}

bool report_next(struct sched *sched, struct sched_action *out)
{
	const struct sched_note *note;

	if (next_relist_view(sched, out) || next_relist(sched, out))
		return true;
	if (sched->notes_reported == sched->notes)
		return false;
	note = &sched->note[sched->notes_reported++ % SCHED_NOTES_MAX];
	*out = (struct sched_action){.what = note->what,
	                             .partition = note->partition,
	                             .key = keys_span(&note->key),
	                             .err = &note->err};
	return true;
}

void emit_queue_event(struct sched *sched, enum queue_event_kind kind, uint32_t slot)
{
	queue_event(sched->queue, &(struct queue_event){.kind = kind, .object = slot});
}
