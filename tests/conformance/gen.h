/* The generator of random histories: few keys, so that operations meet each other. */
#ifndef TESTS_CONFORMANCE_GEN_H
#define TESTS_CONFORMANCE_GEN_H

#include "tests/conformance/history.h"

/* The same seed and count give the same history. */
struct history gen_history(uint64_t seed, size_t count, struct pl_arena *arena);

#endif
