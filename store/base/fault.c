#include "store/base/fault.h"

#include <string.h>

#include "store/base/err.h"

static _Thread_local struct {
	uint64_t hits;
	uint64_t fail_at; /* 0: disarmed */
	bool fired;
} points[PL_FAULT_COUNT];

#define PL_FAULT_TEXT(name, text) [PL_FAULT_##name] = (text),
static const char *const point_names[PL_FAULT_COUNT] = {PL_FAULT_MAP(PL_FAULT_TEXT)};

const char *pl_fault_name(enum pl_fault point)
{
	PL_ASSERT((unsigned)point < PL_FAULT_COUNT);
	return point_names[point];
}

void pl_fault_arm(enum pl_fault point, uint64_t nth)
{
	PL_ASSERT((unsigned)point < PL_FAULT_COUNT);
	points[point].fired = false;
	points[point].fail_at = nth == 0 ? 0 : points[point].hits + nth;
}

bool pl_fault_fired(enum pl_fault point)
{
	PL_ASSERT((unsigned)point < PL_FAULT_COUNT);
	return points[point].fired;
}

uint64_t pl_fault_hits(enum pl_fault point)
{
	PL_ASSERT((unsigned)point < PL_FAULT_COUNT);
	return points[point].hits;
}

void pl_fault_reset(void)
{
	memset(points, 0, sizeof points);
}

bool pl_fault_hit(enum pl_fault point)
{
	if (++points[point].hits != points[point].fail_at)
		return false;
	points[point].fail_at = 0;
	points[point].fired = true;
	return true;
}
