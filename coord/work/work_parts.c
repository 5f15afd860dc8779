#include "coord/work/work_int.h"

/* What is owned: taken up, given up, and handed over. */

void parts_own(struct work *work, uint32_t partition, int64_t epoch)
{
	struct part *part = &work->part[partition];

	PL_ASSERT(partition < work->parts && part->epoch == 0 && epoch > 0);
	*part = (struct part){.epoch = epoch, .owned_ms = kv_now_ms(work->kv)};
	work->unadopted++;
	work->unopened++;
	work_kick(work);
}

void parts_lost(struct work *work, uint32_t partition)
{
	struct part *part = &work->part[partition];

	if (part->epoch == 0)
		return;
	for (unsigned i = 0; i < SCHED_PARTS; i++)
		if (part->feed[i] != NULL)
			feed_stop(part->feed[i]);
	if (part->known)
		sched_lost(work->sched, partition);
	work->unadopted -= !part->adopted;
	work->unopened -= !part->opened;
	work->opened -= part->opened;
	work->quiescing -= part->quiescing;
	*part = (struct part){0};
	work_kick(work);
}

void parts_lose_all(struct work *work)
{
	for (uint32_t p = 0; p < work->parts; p++)
		parts_lost(work, p);
}

void parts_quiesce(struct work *work, uint32_t partition)
{
	struct part *part = &work->part[partition];

	PL_ASSERT(part->epoch != 0);
	if (part->known)
		sched_quiesce(work->sched, partition);
	work->quiescing += !part->quiescing;
	part->quiescing = true;
	work_kick(work);
}

void parts_quiet(struct work *work)
{
	for (uint32_t p = 0; work->quiescing > 0 && p < work->parts; p++) {
		struct part *part = &work->part[p];

		if (!part->quiescing || (part->known && !sched_is_quiet(work->sched, p)))
			continue;
		part->quiescing = false;
		work->quiescing--;
		if (work->shard != NULL)
			shard_quiet(work->shard, p, part->epoch);
	}
}

/* One that the next owner waits for is not begun with. */
static enum pl_code adopt(struct work *work, uint32_t partition, struct pl_err *err)
{
	struct part *part = &work->part[partition];

	if (!part->known && sched_own(work->sched, partition, part->epoch, err) != PL_OK)
		return err->code;
	if (!part->known && part->quiescing)
		sched_quiesce(work->sched, partition);
	part->known = true;
	for (unsigned i = 0; i < SCHED_PARTS; i++)
		if (part->feed[i] == NULL && feed_open(work, partition, i, err) != PL_OK)
			return err->code;
	part->adopted = true;
	work->unadopted--;
	return PL_OK;
}

static enum pl_code sched_make(struct work *work, struct pl_err *err)
{
	struct sched_opts opts = work->opts.sched;

	if (work->sched != NULL)
		return PL_OK;
	opts.partitions = work->parts;
	return sched_new(&opts, &work->sched, err);
}

enum pl_code parts_adopt(struct work *work, struct pl_err *err)
{
	if (work->unadopted == 0)
		return PL_OK;
	if (sched_make(work, err) != PL_OK)
		return err->code;
	for (uint32_t p = 0; p < work->parts; p++) {
		const struct part *part = &work->part[p];

		if (part->epoch != 0 && !part->adopted && adopt(work, p, err) != PL_OK)
			return err->code;
	}
	return PL_OK;
}

bool parts_opened(struct work *work, uint32_t *partition)
{
	if (work->unopened == work->unadopted)
		return false;
	for (uint32_t p = 0; p < work->parts; p++) {
		struct part *part = &work->part[p];

		if (!part->adopted || part->opened || !sched_is_open(work->sched, p))
			continue;
		part->opened = true;
		work->unopened--;
		work->opened++;
		*partition = p;
		return true;
	}
	return false;
}

/* The one that found out lists again by itself. */
void parts_rewound(struct work *work, const struct feed *but)
{
	for (uint32_t p = 0; p < work->parts; p++) {
		struct part *part = &work->part[p];
		bool again = false;

		for (unsigned i = 0; i < SCHED_PARTS; i++) {
			if (part->feed[i] == NULL || part->feed[i] == but)
				continue;
			feed_stop(part->feed[i]);
			again = true;
		}
		if (part->opened && !sched_is_open(work->sched, p)) {
			part->opened = false;
			work->opened--;
			work->unopened++;
		}
		if (again && part->adopted) {
			part->adopted = false;
			work->unadopted++;
		}
	}
	work_kick(work);
}

void parts_relist(struct work *work, uint32_t partition, enum sched_part what)
{
	struct part *part = &work->part[partition];

	if (part->feed[what] == NULL)
		return;
	feed_stop(part->feed[what]);
	work->unadopted += part->adopted;
	part->adopted = false;
	work_kick(work);
}
