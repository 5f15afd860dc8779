/* Shrinking finds a shorter history that still shows a difference, in a bounded time. */
#ifndef TESTS_CONFORMANCE_SHRINK_H
#define TESTS_CONFORMANCE_SHRINK_H

#include "tests/conformance/pair.h"

struct shrink {
	uint64_t ms_max;
	unsigned runs; /* out: how many were needed */
	bool complete; /* out: nothing more could be left out */
};

/* Replaces the history; out is what it ends in. The difference must show again
 * when the history is repeated: false when it does not. */
bool shrink_history(struct shrink *shrink, struct pair *pair, struct history *history,
                    struct difference *out);

#endif
