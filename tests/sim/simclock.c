#include "tests/sim/simclock.h"

#include "store/base/compiler.h"

enum { MILLION = 1000 * 1000 };

uint64_t simclock_read(const struct simclock *clock, uint64_t now_ms)
{
	uint64_t passed = now_ms - clock->true_ms;

	PL_ASSERT(now_ms >= clock->true_ms && clock->ppm > -MILLION);
	if (clock->stopped)
		return clock->local_ms;
	return clock->local_ms + passed +
	       (uint64_t)((int64_t)passed * clock->ppm / MILLION);
}

uint64_t simclock_when(const struct simclock *clock, uint64_t now_ms, uint64_t local_ms)
{
	uint64_t local = simclock_read(clock, now_ms), left, at;

	if (local >= local_ms)
		return now_ms;
	if (clock->stopped || local_ms == UINT64_MAX)
		return UINT64_MAX;
	left = local_ms - local;
	if (left > UINT64_MAX / 2 / MILLION)
		return UINT64_MAX;
	at = now_ms + left * MILLION / (uint64_t)(MILLION + clock->ppm);
	while (simclock_read(clock, at) < local_ms)
		at++;
	return at;
}

static void rebase(struct simclock *clock, uint64_t now_ms)
{
	clock->local_ms = simclock_read(clock, now_ms);
	clock->true_ms = now_ms;
}

void simclock_drift(struct simclock *clock, uint64_t now_ms, int32_t ppm)
{
	rebase(clock, now_ms);
	clock->ppm = ppm;
}

void simclock_jump(struct simclock *clock, uint64_t now_ms, uint64_t ahead_ms)
{
	rebase(clock, now_ms);
	clock->local_ms += ahead_ms;
}

void simclock_stop(struct simclock *clock, uint64_t now_ms, bool stop)
{
	rebase(clock, now_ms);
	clock->stopped = stop;
}
