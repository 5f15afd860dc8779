/*
 * Nodes put into the store, cordoned, and taken out of it: any number, many in a
 * transaction, several transactions in flight.
 *
 * Each node is read and changed with compares on what was read; one that changed
 * meanwhile is looked at again. A node that is applied is tried as a new one first, since
 * the answer to that brings what stands there.
 */
#ifndef COORD_NODES_NODES_H
#define COORD_NODES_NODES_H

#include "coord/nodes/node_change.h"
#include "store/kv/kv.h"

struct nodes;

/* Names that keys can have. */
struct nodes_item {
	struct pl_span cluster, name;
	struct pl_span json; /* NODES_APPLY: valid, and without white space */
	uint64_t tag;        /* the caller's */
};

enum nodes_outcome {
	NODES_CREATED,
	NODES_CHANGED,
	NODES_DELETED,
	NODES_UNCHANGED,
	NODES_REFUSED, /* err says why; nothing was done */
};

struct nodes_opts {
	enum nodes_verb verb;
	uint32_t partitions;
	bool dry_run; /* only told what would become of each */
	unsigned inflight;
	uint64_t timeout_ms, patience_ms; /* as of writes.h */
	/* The next one, borrowed until the call after; *more false: there is none. */
	enum pl_code (*next)(void *ctx, struct nodes_item *out, bool *more,
	                     struct pl_err *err);
	/* Once for each, in any order. item borrowed. */
	void (*told)(void *ctx, const struct nodes_item *item, enum nodes_outcome outcome,
	             const struct pl_err *err);
	/* The last. err: it did not come to its end; what was not told may have been done
	 * if it is PL_UNKNOWN, and was not otherwise. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code nodes_open(struct kv *kv, const struct nodes_opts *opts,
                                     struct nodes **out, struct pl_err *err);
/* done follows, later. */
void nodes_cancel(struct nodes *nodes);

#endif
