/*
 * A fuzz target is one function that takes any bytes and returns 0.
 *
 * The function keeps nothing from one call to the next, and asserts with PL_ASSERT
 * what must hold for all bytes. tests/fuzz/<name>_fuzz.c
 * holds one, tests/fuzz/corpus/<name>/ its inputs, tests/fuzz/<name>.dict its
 * words if it has any; tests/fuzz/meson.build lists it.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
