#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shardsched/snapshot/snapshot_inner.h"
#include "store/base/alloc.h"

enum { ALIGN = 64 };

/* The start of the allocated block stands just before the column. */
void *column_alloc(size_t bytes)
{
	unsigned char *block, *at;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	block = pl_calloc(1, bytes + ALIGN + sizeof(void *));
	if (block == NULL)
		return NULL;
	at = block + sizeof(void *);
	at += (ALIGN - (uintptr_t)at % ALIGN) % ALIGN;
	memcpy(at - sizeof(void *), &block, sizeof(void *));
	return at;
}

void column_free(void *column)
{
	void *block;

	if (column == NULL)
		return;
	memcpy(&block, (unsigned char *)column - sizeof(void *), sizeof(void *));
	free(block);
}

bool column_grow(void *column_pointer, size_t bytes, size_t bytes_new)
{
	void *column, *grown = column_alloc(bytes_new);

	if (grown == NULL)
		return false;
	memcpy(&column, column_pointer, sizeof column);
	if (column != NULL)
		memcpy(grown, column, bytes);
	column_free(column);
	memcpy(column_pointer, &grown, sizeof grown);
	return true;
}
