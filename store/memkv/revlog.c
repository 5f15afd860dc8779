#include "store/memkv/revlog.h"

#include <stdlib.h>

#include "store/base/alloc.h"

enum { SLOTS_MIN = 64 };

void revlog_init(struct revlog *log, int64_t first)
{
	*log = (struct revlog){.first = first};
}

static void slot_clear(struct revlog_slot *slot)
{
	if (slot->count > 1)
		free((void *)slot->changes.many);
	*slot = (struct revlog_slot){0};
}

static struct revlog_slot *slot_at(const struct revlog *log, size_t at)
{
	return &log->slot[(log->head + at) & (log->cap - 1)];
}

void revlog_done(struct revlog *log)
{
	for (size_t i = 0; i < log->count; i++)
		slot_clear(slot_at(log, i));
	slot_clear(&log->next);
	free(log->slot);
	*log = (struct revlog){0};
}

static enum pl_code resize_ring(struct revlog *log, size_t cap)
{
	struct revlog_slot *slot;

	if (cap > SIZE_MAX / sizeof *slot)
		return PL_NOMEM;
	slot = pl_malloc(cap * sizeof *slot);
	if (slot == NULL)
		return PL_NOMEM;
	for (size_t i = 0; i < log->count; i++)
		slot[i] = *slot_at(log, i);
	free(log->slot);
	log->slot = slot;
	log->cap = cap;
	log->head = 0;
	return PL_OK;
}

enum pl_code revlog_prepare(struct revlog *log, struct mem_version **changes,
                            uint32_t count)
{
	struct revlog_slot next = {.count = count};

	PL_ASSERT(log->next.count == 0 && count > 0);
	if (log->count == log->cap) {
		enum pl_code code =
			resize_ring(log, log->cap == 0 ? SLOTS_MIN : log->cap * 2);

		if (code != PL_OK)
			return code;
	}
	if (count == 1) {
		next.changes.one = changes[0];
	} else {
		next.changes.many = pl_malloc(count * sizeof(struct mem_version *));
		if (next.changes.many == NULL)
			return PL_NOMEM;
		memcpy((void *)next.changes.many, (void *)changes,
		       count * sizeof(struct mem_version *));
	}
	log->next = next;
	return PL_OK;
}

void revlog_forget(struct revlog *log)
{
	slot_clear(&log->next);
}

void revlog_add(struct revlog *log)
{
	PL_ASSERT(log->next.count > 0 && log->count < log->cap);
	log->count++;
	*slot_at(log, log->count - 1) = log->next;
	log->next = (struct revlog_slot){0};
}

static struct revlog_slot *slot_of(const struct revlog *log, int64_t revision)
{
	if (revision < log->first || (uint64_t)(revision - log->first) >= log->count)
		return NULL;
	return slot_at(log, (size_t)(revision - log->first));
}

struct mem_version **revlog_at(const struct revlog *log, int64_t revision,
                               uint32_t *count)
{
	struct revlog_slot *slot = slot_of(log, revision);

	*count = slot == NULL ? 0 : slot->count;
	if (*count == 0)
		return NULL;
	return *count == 1 ? &slot->changes.one : slot->changes.many;
}

void revlog_drop_below(struct revlog *log, int64_t revision)
{
	while (log->count > 0 && log->first < revision) {
		slot_clear(slot_at(log, 0));
		log->head = (log->head + 1) & (log->cap - 1);
		log->first++;
		log->count--;
	}
	/* Shrinking is optional: without memory the ring stays as large as it is. */
	if (log->cap > SLOTS_MIN && log->count < log->cap / 8)
		(void)resize_ring(log, log->cap / 4);
}

void revlog_filter(struct revlog *log, int64_t revision,
                   bool (*keep)(struct mem_version *version, void *ctx), void *ctx)
{
	struct revlog_slot *slot = slot_of(log, revision);
	struct mem_version **changes, *last;
	uint32_t count, kept = 0;

	changes = revlog_at(log, revision, &count);
	for (uint32_t i = 0; i < count; i++)
		if (keep(changes[i], ctx))
			changes[kept++] = changes[i];
	if (kept == count)
		return;
	last = changes[0];
	if (kept <= 1) {
		slot_clear(slot);
		slot->changes.one = kept == 0 ? NULL : last;
	}
	slot->count = kept;
}
