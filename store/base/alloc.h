/* Heap allocation through one set of functions, so that a test can make any allocation
 * fail. */
#ifndef STORE_BASE_ALLOC_H
#define STORE_BASE_ALLOC_H

#include <stddef.h>

#include "store/base/compiler.h"

/* Like malloc, calloc, realloc and strdup: NULL on failure, and the caller frees with
 * free(). Each call is a hit of the fault point "alloc". */
PL_NODISCARD void *pl_malloc(size_t size);
PL_NODISCARD void *pl_calloc(size_t count, size_t size);
PL_NODISCARD void *pl_realloc(void *at, size_t size);
PL_NODISCARD char *pl_strdup(const char *text);

/* For PL_CLEANUP(pl_freep) on a pointer variable. */
void pl_freep(void *pointer_to_pointer);

#endif
