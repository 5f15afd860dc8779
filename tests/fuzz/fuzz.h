/*
 * What a fuzz target is: one function that eats any bytes and returns 0.
 *
 * It may not keep anything from one call to the next, and it asserts with
 * PL_ASSERT what must hold whatever the bytes are. tests/fuzz/<name>_fuzz.c
 * holds one, tests/fuzz/corpus/<name>/ its inputs, tests/fuzz/<name>.dict its
 * words if it has any; tests/fuzz/meson.build lists it.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
