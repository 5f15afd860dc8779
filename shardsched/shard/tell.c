/*
 * What the driver is told besides calls. What could not be kept and is to be listed anew
 * has flags, as nothing else remembers it; of all else what does not fit is only counted.
 */
#include "shardsched/shard/tell.h"

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
	repair_later(sched);
}

void repair_later(struct sched *sched)
{
	if (sched->repair_ms == 0)
		sched->repair_ms = sched->now_ms + SCHED_REPAIR_MS;
}

void tell_relist(struct sched *sched, uint32_t partition, enum sched_part part)
{
	struct sched_partition *of = &sched->partition[partition];

	of->missed[part] = of->misses[part] = true;
	sched->relists += !of->anew[part];
	of->anew[part] = true;
}

void tell_anew(struct sched *sched, enum sched_view view)
{
	sched->anew[view] = true;
}

static bool next_anew(struct sched *sched, struct sched_action *out)
{
	for (unsigned i = 0; i < SCHED_VIEWS; i++) {
		if (!sched->anew[i])
			continue;
		sched->anew[i] = false;
		*out = (struct sched_action){.what = SCHED_ANEW,
		                             .view = (enum sched_view)i};
		return true;
	}
	return false;
}

static bool next_relist(struct sched *sched, struct sched_action *out)
{
	for (uint32_t i = 0; sched->relists > 0; i++) {
		bool *anew = sched->partition[i].anew;

		PL_ASSERT(i < sched->opts.partitions);
		for (unsigned part = 0; part < SCHED_PARTS; part++) {
			if (!anew[part])
				continue;
			anew[part] = false;
			sched->relists--;
			*out = (struct sched_action){.what = SCHED_RELIST,
			                             .partition = i,
			                             .part = (enum sched_part)part};
			return true;
		}
	}
	return false;
}

bool tell_next(struct sched *sched, struct sched_action *out)
{
	const struct note *note;

	if (next_anew(sched, out) || next_relist(sched, out))
		return true;
	if (sched->notes_told == sched->notes)
		return false;
	note = &sched->note[sched->notes_told++ % SCHED_NOTES_MAX];
	*out = (struct sched_action){.what = note->what,
	                             .partition = note->partition,
	                             .key = keys_span(&note->key),
	                             .err = &note->err};
	return true;
}

void tell_event(struct sched *sched, enum queue_event_kind kind, uint32_t slot)
{
	queue_event(sched->queue, &(struct queue_event){.kind = kind, .object = slot});
}
