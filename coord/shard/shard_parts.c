#include "coord/shard/shard_int.h"

/*
 * The dependencies of the parts. A part is opened once all parts that it needs are on,
 * and stopped once no part that needs it is left. A part that has to be opened again
 * takes those that need it along.
 */

#define NEEDS(part) (1u << (part))

enum { RETRY_MS = 1000 };

static const unsigned needs[PART_COUNT] = {
	[PART_META] = 0,
	[PART_SESSION] = NEEDS(PART_META),
	[PART_ROSTER] = NEEDS(PART_META),
	[PART_CONFIG] = NEEDS(PART_META),
	[PART_CLAIMS] = NEEDS(PART_SESSION),
	[PART_BALANCER] = NEEDS(PART_SESSION),
	[PART_SWEEPER] = NEEDS(PART_SESSION),
	[PART_COUNTER] = NEEDS(PART_SESSION),
	[PART_BALANCE] = NEEDS(PART_BALANCER) | NEEDS(PART_ROSTER) | NEEDS(PART_CONFIG),
	[PART_JANITOR] = NEEDS(PART_SWEEPER) | NEEDS(PART_CONFIG),
	[PART_BUDGETS] = NEEDS(PART_COUNTER),
	[PART_GUARD] = NEEDS(PART_CLAIMS), /* matters at its end only: the guard is on
	                                    * from the start */
};

static bool needs_are(const struct shard *shard, enum shard_part part,
                      enum part_state state)
{
	for (unsigned i = 0; i < PART_COUNT; i++)
		if ((needs[part] & NEEDS(i)) != 0 &&
		    (shard->part[i] != state || shard->again[i]))
			return false;
	return true;
}

static bool is_needed(const struct shard *shard, enum shard_part part)
{
	for (unsigned i = 0; i < PART_COUNT; i++)
		if ((needs[i] & NEEDS(part)) != 0 && shard->part[i] != PART_OFF)
			return true;
	return false;
}

static bool is_wanted(const struct shard *shard, enum shard_part part)
{
	if (shard->phase == SHARD_PHASE_STOP)
		return false;
	/* All other parts need to know the store. */
	if (part != PART_META && part != PART_GUARD && shard->partitions == 0)
		return false;
	if (part == PART_GUARD)
		return true;
	return !shard->again[part] && needs_are(shard, part, PART_ON);
}

/* False: it will be tried again. */
static bool open_one(struct shard *shard, enum shard_part part)
{
	struct pl_err err = {0};
	uint64_t now = kv_now_ms(shard->kv);

	if (part == PART_GUARD || shard->part[part] != PART_OFF || shard->refused ||
	    !is_wanted(shard, part) || now < shard->part_retry_ms[part])
		return true;
	if (part_open(shard, part, &err) == PL_OK) {
		shard->part[part] = PART_ON;
		return true;
	}
	shard->part_retry_ms[part] = now + RETRY_MS;
	shard_trouble(shard, part_name(part), &err);
	return false;
}

void parts_step(struct shard *shard)
{
	for (unsigned i = PART_COUNT; i-- > 0;) {
		if (shard->part[i] != PART_ON || is_wanted(shard, i) ||
		    is_needed(shard, i))
			continue;
		shard->part[i] = PART_STOPPING;
		part_stop(shard, i);
	}
	for (unsigned i = 0; i < PART_COUNT; i++)
		if (!open_one(shard, i))
			return;
}

bool parts_gone(const struct shard *shard)
{
	for (unsigned i = 0; i < PART_COUNT; i++)
		if (shard->part[i] != PART_OFF)
			return false;
	return true;
}

uint64_t parts_deadline_ms(const struct shard *shard)
{
	uint64_t at = UINT64_MAX;

	for (unsigned i = 0; i < PART_COUNT; i++)
		if (i != PART_GUARD && shard->part[i] == PART_OFF && !shard->refused &&
		    is_wanted(shard, i) && shard->part_retry_ms[i] < at)
			at = shard->part_retry_ms[i];
	return at;
}

void part_off(struct shard *shard, enum shard_part part)
{
	PL_ASSERT(shard->part[part] == PART_STOPPING);
	shard->part[part] = PART_OFF;
	shard->again[part] = false;
	shard_kick(shard);
}

void part_again(struct shard *shard, enum shard_part part)
{
	if (shard->part[part] != PART_ON)
		return;
	shard->again[part] = true;
	shard_kick(shard);
}
