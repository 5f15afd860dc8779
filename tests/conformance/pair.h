/* Two stores that go through the same history, and the first thing in which they
 * differ. The first store is the reference. */
#ifndef TESTS_CONFORMANCE_PAIR_H
#define TESTS_CONFORMANCE_PAIR_H

#include "tests/conformance/history.h"
#include "tests/conformance/subject.h"

struct pair {
	struct subject *subject[2];
	const char *name[2];
	/* Totals of all runs so far. */
	uint64_t steps;
	uint64_t errors; /* calls that both stores refused with the same code */
	uint64_t events;
	uint64_t revisions;
};

enum { DIFFERENCE_TEXT_MAX = 2000 };

struct difference {
	size_t step; /* index of the differing step in the history */
	char what[80];
	char text[2][DIFFERENCE_TEXT_MAX];
};

/* Resets both stores and runs the history. False: the stores do not differ. script
 * may be NULL; otherwise it gets a line for each step, with the answer. */
bool pair_differ(struct pair *pair, const struct history *history, struct difference *out,
                 struct pl_buf *script);

#endif
