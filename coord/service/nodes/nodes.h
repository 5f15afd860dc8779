/*
 * Applies, cordons, uncordons and deletes nodes in the store: any number of them, many
 * in a transaction, several transactions in flight.
 *
 * Each node is read and then changed with compares on what was read; if it has changed
 * meanwhile it is read again. A node that is applied is first tried as a new one,
 * since the answer to that has the present node.
 */
#ifndef COORD_SERVICE_NODES_NODES_H
#define COORD_SERVICE_NODES_NODES_H

#include "coord/service/nodes/node_change.h"
#include "store/kv/kv.h"

struct nodes;

/* One node. The names are valid in keys. */
struct nodes_item {
	struct pl_span cluster, name;
	struct pl_span json; /* NODES_APPLY: valid, and without white space */
	uint64_t tag;        /* free for the caller */
};

enum nodes_outcome {
	NODES_CREATED,
	NODES_CHANGED,
	NODES_DELETED,
	NODES_UNCHANGED,
	NODES_REFUSED, /* err has the reason; nothing was changed */
};

struct nodes_opts {
	enum nodes_verb verb;
	uint32_t partitions;
	bool dry_run; /* only finds out what would be done */
	unsigned inflight;
	uint64_t timeout_ms, patience_ms; /* as in bulk_writer.h */
	/* Gives the next node, borrowed until the next call; *more false: there is none. */
	enum pl_code (*next)(void *ctx, struct nodes_item *out, bool *more,
	                     struct pl_err *err);
	/* Called once for each node, in any order. item is borrowed. */
	void (*report)(void *ctx, const struct nodes_item *item,
	               enum nodes_outcome outcome, const struct pl_err *err);
	/* The last call. err: it ended early. With PL_UNKNOWN the nodes without an
	 * outcome may have been changed; with any other error they were not. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code nodes_open(struct kv *kv, const struct nodes_opts *opts,
                                     struct nodes **out, struct pl_err *err);
/* done follows, later. */
void nodes_cancel(struct nodes *nodes);

#endif
