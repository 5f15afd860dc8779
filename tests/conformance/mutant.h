/* Mutants are decorators of a store that break one thing each, to prove that the random
 * comparison finds it. */
#ifndef TESTS_CONFORMANCE_MUTANT_H
#define TESTS_CONFORMANCE_MUTANT_H

#include "store/kv/kv.h"

/* X(name, what is broken) */
#define MUTANT_MAP(X)                                                          \
	X(GREATER, "a compare for greater also holds for equal numbers")       \
	X(RANGE_COMPARE, "a compare over a range looks at its first key only") \
	X(COMPARES_HALF, "the last of three compares is not looked at")        \
	X(TOTAL, "a limited get counts what it gives, not what there is")      \
	X(MORE, "a get whose limit just fits says that there is more")         \
	X(KEEP_LEASE, "a put in a transaction that keeps the lease drops it")  \
	X(PREV, "a put in a transaction forgets what was there")               \
	X(NO_CHANGE, "a delete of nothing makes a revision")                   \
	X(ERROR_CODE, "an unknown lease is reported as something not found")   \
	X(COMPACT_LESS, "a compaction leaves one revision too many")           \
	X(NOTE_TAIL, "a watch loses the third event of a revision")            \
	X(NOTE_TWICE, "a watch is told a deletion twice")                      \
	X(NOTE_PREV, "a watch is never told what a deleted key was")           \
	X(PAST, "a watch from the past misses its first revision")

#define MUTANT_ENUM(name, text) MUTANT_##name,
enum mutant_kind { MUTANT_MAP(MUTANT_ENUM) MUTANT_COUNT };

const char *mutant_text(enum mutant_kind kind);

/* For subject_opts.wrap; ctx points to the kind. Takes inner. */
struct kv *mutant_wrap(void *ctx, struct kv *inner);

#endif
