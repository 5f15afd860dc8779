/*
 * Progress reads: linearizable reads that tell how far the store is, shared by many
 * watches.
 *
 * The hundreds of watches of a client are opened together, so they check their progress
 * together, and all of them need the same: the header of a linearizable read that is sent
 * after they asked. One read answers all requests from before it was sent. It is sent a
 * moment after the first request, so that many share it; and requests that were answered
 * at the same time come at the same time again.
 */
#ifndef STORE_KV_PROGRESS_READS_H
#define STORE_KV_PROGRESS_READS_H

#include "store/kv/kv.h"

struct progress_reads;

enum { PROGRESS_READS_GATHER_MS = 200 };

/* Exactly one of header and err is NULL. Both are borrowed. */
typedef void progress_read_fn(void *ctx, const struct kv_header *header,
                              const struct pl_err *err);

/* A request for a progress read, in memory of the caller. */
struct progress_read {
	struct pl_list link; /* in a list while the request waits */
	struct pl_span key;  /* a key that may be read; borrowed until fn is called */
	progress_read_fn *fn;
	void *ctx;
};

PL_NODISCARD enum pl_code progress_reads_open(struct kv *kv, uint64_t timeout_ms,
                                              struct progress_reads **out,
                                              struct pl_err *err);
/* No request may be waiting. A read in flight ends without a callback, before kv is
 * closed. */
void progress_reads_close(struct progress_reads *progress_reads);

/* Calls fn once, later, unless the request is cancelled. All requests that share a read
 * belong to one user, so they share its error, too. */
void progress_reads_start(struct progress_reads *progress_reads,
                          struct progress_read *read);
/* The request must be waiting. */
static inline void progress_read_cancel(struct progress_read *read)
{
	pl_list_del(&read->link);
}

#endif
