/* Progress of a command, for people, on stderr: at a terminal one line that is
 * overwritten, elsewhere a line every few seconds. */
#ifndef COORD_CLI_OUTPUT_PROGRESS_H
#define COORD_CLI_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/compiler.h"

enum { PROGRESS_TEXT_MAX = 200, PROGRESS_EACH_MS = 250 };

struct progress {
	bool terminal;
	bool open; /* a line has been printed without its line end */
	uint64_t printed_ms;
	char last[PROGRESS_TEXT_MAX];
	/* State of the rate. */
	uint64_t rate_ms, rate_count;
	double rate;
};

/* At a terminal a signal that ends the command ends the line first. */
void progress_init(struct progress *progress, uint64_t now_ms);

/* A text that has not changed is not printed again. */
PL_PRINTF(3, 4)
void progress_print(struct progress *progress, uint64_t now_ms, const char *fmt, ...);

/* The recent increase of a count, a second. */
double progress_rate(struct progress *progress, uint64_t now_ms, uint64_t count);

/* Ends the line, before other output. */
void progress_end(struct progress *progress);

#endif
