/*
 * A machine's monotonic clock as a function of true time: it starts anywhere, runs a
 * little fast or slow, may jump forward, and stops when the machine is suspended. It
 * never goes back.
 */
#ifndef TESTS_SIM_SIMCLOCK_H
#define TESTS_SIM_SIMCLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct simclock {
	uint64_t true_ms;  /* a moment of true time */
	uint64_t local_ms; /* the clock's reading at that moment */
	int32_t ppm;       /* rate since then: too fast by so many millionths */
	bool stopped;
};

uint64_t simclock_read(const struct simclock *clock, uint64_t now_ms);

/* Returns the first moment of true time at which the clock shows local_ms: now_ms if it
 * does already, UINT64_MAX while it is stopped. */
uint64_t simclock_when(const struct simclock *clock, uint64_t now_ms, uint64_t local_ms);

void simclock_drift(struct simclock *clock, uint64_t now_ms, int32_t ppm);
void simclock_jump(struct simclock *clock, uint64_t now_ms, uint64_t ahead_ms);
void simclock_stop(struct simclock *clock, uint64_t now_ms, bool stop);

#endif
