/*
 * How far the store is, for many who ask at once.
 *
 * The hundreds of watches of a client were opened together, so they are looked after
 * together, and all ask for the same: the header of a linearizable read that leaves
 * after they asked. One read answers all who asked before it left. It leaves a moment
 * after the first of them asked, so they are many; and once they were told at the same
 * time they ask at the same time again.
 */
#ifndef STORE_KV_PROGRESS_READS_H
#define STORE_KV_PROGRESS_READS_H

#include "store/kv/kv.h"

struct progress_reads;

enum { PROGRESS_READS_GATHER_MS = 200 };

/* One of them is NULL. Both are borrowed. */
typedef void progress_read_fn(void *ctx, const struct kv_header *header,
                              const struct pl_err *err);

/* Who asks; the owner's memory. */
struct progress_read {
	struct pl_list link; /* as long as it waits */
	struct pl_span key;  /* that may be read; borrowed until fn is called */
	progress_read_fn *fn;
	void *ctx;
};

PL_NODISCARD enum pl_code progress_reads_open(struct kv *kv, uint64_t timeout_ms,
                                              struct progress_reads **out,
                                              struct pl_err *err);
/* Nobody asks any more. A read that is under way ends unheard, before kv is closed. */
void progress_reads_close(struct progress_reads *progress_reads);

/* fn is called once, later, unless it is forgotten. All who wait for one read are of one
 * user: an error of it is everybody's. */
void progress_reads_start(struct progress_reads *progress_reads,
                          struct progress_read *read);
/* Of one that waits. */
static inline void progress_read_cancel(struct progress_read *read)
{
	pl_list_del(&read->link);
}

#endif
