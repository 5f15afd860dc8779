/* How far a command is, for people, on stderr: at a terminal a line that is written over,
 * elsewhere a line every few seconds. */
#ifndef COORD_CLI_OUTPUT_PROGRESS_H
#define COORD_CLI_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/compiler.h"

enum { PROGRESS_TEXT_MAX = 200, PROGRESS_EACH_MS = 250 };

struct progress {
	bool terminal;
	bool open; /* a line stands there without its end */
	uint64_t printed_ms;
	char last[PROGRESS_TEXT_MAX];
	/* For a rate. */
	uint64_t rate_ms, rate_count;
	double rate;
};

/* At a terminal, whoever interrupts the command finds the line ended. */
void progress_init(struct progress *progress, uint64_t now_ms);

/* What is the same as before is not said again. */
PL_PRINTF(3, 4)
void progress_print(struct progress *progress, uint64_t now_ms, const char *fmt, ...);

/* How many a second lately, of a count that grows. */
double progress_rate(struct progress *progress, uint64_t now_ms, uint64_t count);

/* Before anything else is said. */
void progress_end(struct progress *progress);

#endif
