#include "store/net/h2_memory.h"

#include <stdlib.h>

#include "store/base/alloc.h"

void *h2_malloc(size_t size, void *ctx)
{
	(void)ctx;
	return pl_malloc(size);
}

void h2_free(void *at, void *ctx)
{
	(void)ctx;
	free(at);
}

void *h2_calloc(size_t count, size_t size, void *ctx)
{
	(void)ctx;
	return pl_calloc(count, size);
}

void *h2_realloc(void *at, size_t size, void *ctx)
{
	(void)ctx;
	return pl_realloc(at, size);
}
