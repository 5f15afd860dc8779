#include "store/base/clock.h"

#include <time.h>

#include "store/base/err.h"

static uint64_t read_ns(clockid_t id)
{
	struct timespec at;
	int rc = clock_gettime(id, &at);

	PL_ASSERT(rc == 0);
	return (uint64_t)at.tv_sec * UINT64_C(1000000000) + (uint64_t)at.tv_nsec;
}

uint64_t pl_clock_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

uint64_t pl_clock_ms(void)
{
	return pl_clock_ns() / 1000000;
}

int64_t pl_clock_wall_ms(void)
{
	return (int64_t)(read_ns(CLOCK_REALTIME) / 1000000);
}

uint64_t pl_clock_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}
