/*
 * Visits that fail, time after time: the partition is too large for the store to list in
 * time, or the store too slow. It is tried again, ever more rarely, and meanwhile nobody
 * waits for it: who needs room goes without, and who has to know a certain node there
 * takes up the whole view.
 */
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tell.h"

enum {
	FAILS = 3,       /* so many say that the next will fail, too */
	AGAIN_MS = 1000, /* and twice that after the next, and so on */
	AGAIN_MAX_MS = 30000,
};

static struct visit *of(struct sched *sched, uint32_t partition)
{
	return &sched->partition[partition].visit;
}

bool visit_fails(const struct sched *sched, uint32_t partition)
{
	return sched->partition[partition].visit.fails >= FAILS;
}

/* The view is wanted as long as it is to show what a visit does not. */
static void lean(struct sched *sched, uint32_t partition)
{
	struct visit *visit = of(sched, partition);
	bool leans = visit->needed && visit_fails(sched, partition);

	if (leans == visit->leans)
		return;
	visit->leans = leans;
	if (leans)
		view_want(sched);
	else
		view_release(sched);
}

void visit_need(struct sched *sched, uint32_t partition)
{
	visit_want(sched, partition);
	of(sched, partition)->needed = true;
	lean(sched, partition);
}

static uint64_t again_ms(unsigned fails)
{
	uint64_t ms = fails > 6 ? AGAIN_MAX_MS : (uint64_t)AGAIN_MS << (fails - 1);

	return ms < AGAIN_MAX_MS ? ms : AGAIN_MAX_MS;
}

static void tell(struct sched *sched, uint32_t partition, struct pl_err err)
{
	(void)pl_err_wrap(
		&err,
		"list nodes of partition %04u of another shard, which failed %u "
		"times in a row, so that pods do not wait for it any more",
		partition, FAILS);
	tell_trouble(sched, &err);
}

void visit_failed(struct sched *sched, uint32_t partition, const struct pl_err *why)
{
	struct visit *visit = of(sched, partition);

	if (visit->fails < UINT8_MAX)
		visit->fails++;
	visit->after_ms = sched->now_ms + again_ms(visit->fails);
	visit_want(sched, partition);
	if (sched->whole.revision != 0) /* the view has shown it */
		visit->needed = false;
	lean(sched, partition);
	if (visit->fails != FAILS)
		return;
	tell(sched, partition, *why);
	abroad_visited(sched);
}

void visit_well(struct sched *sched, uint32_t partition)
{
	struct visit *visit = of(sched, partition);

	visit->fails = 0;
	visit->needed = false;
	lean(sched, partition);
}
