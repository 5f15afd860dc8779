#include "shardsched/preempt/scratch.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/alloc.h"

enum { SCRATCH_FIRST = 64 };

bool scratch_grow(struct scratch *scratch, size_t count, size_t size)
{
	size_t cap = scratch->cap == 0 ? SCRATCH_FIRST : scratch->cap;
	void *at;

	if (count <= scratch->cap)
		return true;
	while (cap < count) {
		if (cap > SIZE_MAX / 2 / size)
			return false;
		cap *= 2;
	}
	at = pl_realloc(scratch->at, cap * size);
	if (at == NULL)
		return false;
	scratch->at = at;
	scratch->cap = cap;
	return true;
}

bool scratch_grow_zeroed(struct scratch *scratch, size_t count, size_t size)
{
	size_t before = scratch->cap;

	if (!scratch_grow(scratch, count, size))
		return false;
	memset((char *)scratch->at + before * size, 0, (scratch->cap - before) * size);
	return true;
}

void scratch_done(struct scratch *scratch)
{
	free(scratch->at);
	*scratch = (struct scratch){0};
}
