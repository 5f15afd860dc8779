/* An age for people, as kubectl shows ages: "45s", "12m", "3h20m", "5d". */
#ifndef COORD_CLI_OUTPUT_AGE_H
#define COORD_CLI_OUTPUT_AGE_H

#include "store/base/human_duration.h"

enum { AGE_SIZE = PL_HUMAN_DURATION_SIZE };

/* A time in the future is "0s": clocks differ. Returns out. */
const char *age_text(int64_t ms, char out[AGE_SIZE]);

#endif
