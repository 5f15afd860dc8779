#include "store/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/fault.h"

void *pl_malloc(size_t size)
{
	return pl_fault_hit(PL_FAULT_ALLOC) ? NULL : malloc(size);
}

void *pl_calloc(size_t count, size_t size)
{
	return pl_fault_hit(PL_FAULT_ALLOC) ? NULL : calloc(count, size);
}

void *pl_realloc(void *at, size_t size)
{
	return pl_fault_hit(PL_FAULT_ALLOC) ? NULL : realloc(at, size);
}

char *pl_strdup(const char *text)
{
	return pl_fault_hit(PL_FAULT_ALLOC) ? NULL : strdup(text);
}

void pl_freep(void *pointer_to_pointer)
{
	void **pointer = pointer_to_pointer;

	free(*pointer);
	*pointer = NULL;
}
