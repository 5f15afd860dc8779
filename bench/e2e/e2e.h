/* The ceiling: transactions a second that the same store takes from an idle client. */
#ifndef BENCH_E2E_E2E_H
#define BENCH_E2E_E2E_H

#include "bench/live/race.h"

/* Placements a second; the run's transactions were as history says. */
double ceiling_run(const struct race_opts *opts, const struct history *history,
                   const char *fields);

#endif
