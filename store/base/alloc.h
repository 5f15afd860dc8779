/* The heap behind one door, so that tests can make any allocation fail. */
#ifndef STORE_BASE_ALLOC_H
#define STORE_BASE_ALLOC_H

#include <stddef.h>

#include "store/base/compiler.h"

/* As malloc and calloc, NULL on failure; the fault point is "alloc". Freed by free(). */
PL_NODISCARD void *pl_malloc(size_t size);
PL_NODISCARD void *pl_calloc(size_t count, size_t size);
PL_NODISCARD void *pl_realloc(void *at, size_t size);
PL_NODISCARD char *pl_strdup(const char *text);

/* For PL_CLEANUP(pl_freep) on a pointer variable. */
void pl_freep(void *pointer_to_pointer);

#endif
