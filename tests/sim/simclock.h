/*
 * A machine's monotonic clock as a function of true time: it starts anywhere,
 * runs a little fast or slow, may jump forward, and stands still when the
 * machine is suspended. It never goes back.
 */
#ifndef TESTS_SIM_SIMCLOCK_H
#define TESTS_SIM_SIMCLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct simclock {
	uint64_t true_ms;  /* at this moment of true time */
	uint64_t local_ms; /* it showed this */
	int32_t ppm;       /* and has gone by this much too fast since */
	bool stopped;
};

uint64_t simclock_read(const struct simclock *clock, uint64_t now_ms);

/* The first moment of true time at which it shows local_ms; now_ms when it does
 * already, UINT64_MAX while it stands. */
uint64_t simclock_when(const struct simclock *clock, uint64_t now_ms, uint64_t local_ms);

void simclock_drift(struct simclock *clock, uint64_t now_ms, int32_t ppm);
void simclock_jump(struct simclock *clock, uint64_t now_ms, uint64_t ahead_ms);
void simclock_stop(struct simclock *clock, uint64_t now_ms, bool stop);

#endif
