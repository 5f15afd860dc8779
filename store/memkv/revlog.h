/*
 * The log of revisions: the changes at each revision, in order, from which watches read
 * past events.
 *
 * There is one slot for each revision, found by its number. The versions are borrowed
 * from the chains of their keys.
 */
#ifndef STORE_MEMKV_REVLOG_H
#define STORE_MEMKV_REVLOG_H

#include "store/memkv/data.h"

struct revlog_slot {
	uint32_t count;
	union {
		struct mem_version *one; /* if count is 1 */
		struct mem_version **many;
	} changes;
};

struct revlog {
	struct revlog_slot *slot; /* a ring */
	size_t cap;               /* a power of two, or 0 */
	size_t head;
	size_t count;
	int64_t first;           /* revision of the slot at head */
	struct revlog_slot next; /* prepared, but not added yet */
};

/* first: the revision of the slot that is added first. */
void revlog_init(struct revlog *log, int64_t first);
void revlog_done(struct revlog *log);

/* Copies the changes of one more revision. Only revlog_add makes them visible. */
PL_NODISCARD enum pl_code revlog_prepare(struct revlog *log, struct mem_version **changes,
                                         uint32_t count);
void revlog_forget(struct revlog *log); /* drops what was prepared */
void revlog_add(struct revlog *log);

/* Gives *count changes in order; 0 outside of what the log holds. */
struct mem_version **revlog_at(const struct revlog *log, int64_t revision,
                               uint32_t *count);

/* Removes the revisions below revision. */
void revlog_drop_below(struct revlog *log, int64_t revision);

/* Keeps only the changes of a revision for which keep is true. */
void revlog_filter(struct revlog *log, int64_t revision,
                   bool (*keep)(struct mem_version *version, void *ctx), void *ctx);

#endif
