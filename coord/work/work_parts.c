#include "coord/work/work_int.h"

/* The owned partitions: taken up, lost, and handed over. */

static bool needs_feeds(enum work_part_state state)
{
	return state == WORK_PART_OWNED || state == WORK_PART_ADOPTING ||
	       state == WORK_PART_REFEEDING;
}

static bool is_open(enum work_part_state state)
{
	return state == WORK_PART_OPEN || state == WORK_PART_REFEEDING;
}

static bool is_known(const struct work_part *part)
{
	return part->state > WORK_PART_OWNED;
}

#define TO(state) (1u << WORK_PART_##state)

static void part_set(struct work *work, struct work_part *part,
                     enum work_part_state state)
{
	static const unsigned allowed[] = {
		[WORK_PART_FREE] = TO(OWNED),
		[WORK_PART_OWNED] = TO(FREE) | TO(ADOPTING),
		[WORK_PART_ADOPTING] = TO(FREE) | TO(LISTING),
		[WORK_PART_LISTING] = TO(FREE) | TO(ADOPTING) | TO(OPEN),
		[WORK_PART_OPEN] = TO(FREE) | TO(REFEEDING) | TO(LISTING) | TO(ADOPTING),
		[WORK_PART_REFEEDING] = TO(FREE) | TO(OPEN) | TO(ADOPTING),
	};
	bool was_open = is_open(part->state), opens = is_open(state);

	PL_ASSERT((allowed[part->state] & 1u << state) != 0);
	work->unadopted -= needs_feeds(part->state);
	work->unadopted += needs_feeds(state);
	work->opened -= was_open;
	work->opened += opens;
	work->unopened -= part->state != WORK_PART_FREE && !was_open;
	work->unopened += state != WORK_PART_FREE && !opens;
	part->state = state;
}

#undef TO

void parts_own(struct work *work, uint32_t partition, int64_t epoch)
{
	struct work_part *part = &work->part[partition];

	PL_ASSERT(partition < work->parts && part->epoch == 0 && epoch > 0);
	*part = (struct work_part){.epoch = epoch, .owned_ms = kv_now_ms(work->kv)};
	part_set(work, part, WORK_PART_OWNED);
	work_kick(work);
}

void parts_lost(struct work *work, uint32_t partition)
{
	struct work_part *part = &work->part[partition];

	if (part->epoch == 0)
		return;
	for (unsigned i = 0; i < SCHED_PARTS; i++)
		if (part->feed[i] != NULL)
			feed_stop(part->feed[i]);
	if (is_known(part))
		sched_lost(work->sched, partition);
	part_set(work, part, WORK_PART_FREE);
	work->quiescing -= part->quiescing;
	*part = (struct work_part){0};
	work->adopt_ms = 0;
	work_kick(work);
}

void parts_lose_all(struct work *work)
{
	for (uint32_t p = 0; p < work->parts; p++)
		parts_lost(work, p);
}

void parts_quiesce(struct work *work, uint32_t partition)
{
	struct work_part *part = &work->part[partition];

	PL_ASSERT(part->epoch != 0);
	if (is_known(part))
		sched_quiesce(work->sched, partition);
	work->quiescing += !part->quiescing;
	part->quiescing = true;
	work_kick(work);
}

void parts_quiet(struct work *work)
{
	for (uint32_t p = 0; work->quiescing > 0 && p < work->parts; p++) {
		struct work_part *part = &work->part[p];

		if (!part->quiescing ||
		    (is_known(part) && !sched_is_quiet(work->sched, p)))
			continue;
		part->quiescing = false;
		work->quiescing--;
		if (work->shard != NULL)
			shard_quiet(work->shard, p, part->epoch);
	}
}

/* A partition that is to be handed over is not begun. */
static enum pl_code adopt_part(struct work *work, uint32_t partition, struct pl_err *err)
{
	struct work_part *part = &work->part[partition];

	if (!is_known(part)) {
		if (sched_own(work->sched, partition, part->epoch, err) != PL_OK)
			return err->code;
		if (part->quiescing)
			sched_quiesce(work->sched, partition);
		part_set(work, part, WORK_PART_ADOPTING);
	}
	for (unsigned i = 0; i < SCHED_PARTS; i++)
		if (part->feed[i] == NULL && feed_open(work, partition, i, err) != PL_OK)
			return err->code;
	part_set(work, part, is_open(part->state) ? WORK_PART_OPEN : WORK_PART_LISTING);
	part->listed_ms = kv_now_ms(work->kv);
	return PL_OK;
}

static enum pl_code sched_make(struct work *work, struct pl_err *err)
{
	struct sched_opts opts = work->opts.sched;

	if (work->sched != NULL)
		return PL_OK;
	opts.partitions = work->parts;
	opts.clock = work->opts.clock_ns;
	opts.clock_ctx = work->ctx;
	return sched_new(&opts, &work->sched, err);
}

/*
 * Whether the partition's lists are still waited for. A shard may own hundreds of
 * partitions when it starts. If all were listed at once none would be open before
 * nearly all are, and a large store would have no time left for leases. A list that
 * takes long is not waited for.
 */
static bool is_listed_now(const struct work_part *part, uint64_t now)
{
	return part->state == WORK_PART_LISTING &&
	       now < part->listed_ms + WORK_LIST_PATIENCE_MS;
}

/* Whether another partition may be listed now; if not, adopt_ms is the latest time to
 * try again. */
static bool may_list(struct work *work)
{
	uint64_t now = kv_now_ms(work->kv), first_ms = UINT64_MAX;
	unsigned count = 0;

	for (uint32_t p = 0; p < work->parts; p++) {
		const struct work_part *part = &work->part[p];

		if (!is_listed_now(part, now))
			continue;
		count++;
		if (part->listed_ms < first_ms)
			first_ms = part->listed_ms;
	}
	if (count < WORK_LISTED_AT_ONCE)
		return true;
	work->adopt_ms = first_ms + WORK_LIST_PATIENCE_MS;
	return false;
}

/* Whether some list was begun and others have to be begun again. */
static bool has_feed(const struct work_part *part)
{
	for (unsigned i = 0; i < SCHED_PARTS; i++)
		if (part->feed[i] != NULL)
			return true;
	return is_open(part->state);
}

enum pl_code parts_adopt(struct work *work, struct pl_err *err)
{
	bool may = true;

	work->adopt_ms = 0;
	if (work->unadopted == 0)
		return PL_OK;
	if (sched_make(work, err) != PL_OK)
		return err->code;
	for (uint32_t p = 0; p < work->parts; p++) {
		const struct work_part *part = &work->part[p];

		if (!needs_feeds(part->state))
			continue;
		may = may && (has_feed(part) || may_list(work));
		if ((may || has_feed(part)) && adopt_part(work, p, err) != PL_OK)
			return err->code;
	}
	return PL_OK;
}

bool parts_opened(struct work *work, uint32_t *partition)
{
	if (work->unopened == 0)
		return false;
	for (uint32_t p = 0; p < work->parts; p++) {
		struct work_part *part = &work->part[p];

		if (part->state != WORK_PART_LISTING || !sched_is_open(work->sched, p))
			continue;
		part_set(work, part, WORK_PART_OPEN);
		work->adopt_ms = 0;
		*partition = p;
		return true;
	}
	return false;
}

/* Some feed of the partition has been stopped and has to be opened again. */
static void part_stop_feed(struct work *work, struct work_part *part)
{
	if (!needs_feeds(part->state))
		part_set(work, part,
		         is_open(part->state) ? WORK_PART_REFEEDING : WORK_PART_ADOPTING);
}

/* The feed that found out lists again by itself. */
void parts_rewound(struct work *work, const struct work_feed *but)
{
	for (uint32_t p = 0; p < work->parts; p++) {
		struct work_part *part = &work->part[p];
		bool again = false;

		for (unsigned i = 0; i < SCHED_PARTS; i++) {
			if (part->feed[i] == NULL || part->feed[i] == but)
				continue;
			feed_stop(part->feed[i]);
			again = true;
		}
		if (is_open(part->state) && !sched_is_open(work->sched, p))
			part_set(work, part,
			         needs_feeds(part->state) ? WORK_PART_ADOPTING
			                                  : WORK_PART_LISTING);
		if (again)
			part_stop_feed(work, part);
	}
	work->adopt_ms = 0;
	work_kick(work);
}

void parts_relist(struct work *work, uint32_t partition, enum sched_part what)
{
	struct work_part *part = &work->part[partition];

	if (part->feed[what] == NULL)
		return;
	feed_stop(part->feed[what]);
	part_stop_feed(work, part);
	work_kick(work);
}
