/* Durations for people, as Kubernetes prints ages: "45s", "12m", "3h20m", "5d". */
#ifndef STORE_BASE_HUMAN_DURATION_H
#define STORE_BASE_HUMAN_DURATION_H

#include <stdint.h>

enum { PL_HUMAN_DURATION_SIZE = 32 };

/* Two units while the first one is small. More than a second below zero is "<invalid>", a
 * little below zero is "0s", since clocks differ. Returns out. */
const char *pl_human_duration(int64_t ms, char out[PL_HUMAN_DURATION_SIZE]);

/* One unit only. */
const char *pl_human_duration_short(int64_t ms, char out[PL_HUMAN_DURATION_SIZE]);

#endif
