/* Shared by nodes.c and nodes_read.c. */
#ifndef COORD_SERVICE_NODES_NODES_INT_H
#define COORD_SERVICE_NODES_NODES_INT_H

#include "coord/bulk/bulk_writer.h"
#include "coord/service/nodes/nodes.h"
#include "shardsched/records/txn_builder.h"

enum { OPS_OF_A_NODE = 2 }; /* operations of a node in each list of a transaction */

/*
 *	UNREAD --read--> READ --in the request--> WRITTEN --compares held--> SETTLED
 *	                   ^                         |
 *	                   +----- not written -------+
 *
 *	refused, unchanged, a dry run: SETTLED, from anywhere
 */
enum node_entry_state {
	ENTRY_UNREAD,
	ENTRY_READ,    /* seen has what stands in the store */
	ENTRY_WRITTEN, /* the change is in the batch's builder */
	ENTRY_SETTLED, /* the outcome has been reported */
};

struct node_entry {
	struct nodes_item item;
	struct builder_node node;
	struct node_seen seen;
	enum nodes_outcome wanted; /* the outcome once it is written */
	uint32_t number;           /* in the builder */
	unsigned tries;
	enum node_entry_state state;
};

struct node_batch {
	struct pl_arena arena; /* for everything that the entries borrow */
	struct node_entry *entry;
	unsigned count;
	bool reads;                 /* the request in flight only reads */
	struct txn_builder builder; /* the request in flight, unless it only reads */
	struct kv_req *gets;
};

struct nodes {
	struct kv *kv;
	struct nodes_opts opts;
	struct bulk_writer *writer;
	unsigned batch_max;
	bool dry;    /* next has no more nodes */
	bool failed; /* has failed and is ending */
	unsigned inflight;
	struct node_batch batch[];
};

void nodes_fail(struct nodes *nodes, const struct pl_err *err);
void nodes_no_memory(struct nodes *nodes);

/* nodes_read.c. Copies the text into the batch's arena; false: no memory. */
bool nodes_keep(struct node_batch *batch, struct pl_span *text);
/* False: no node of the batch needs to be read. */
bool nodes_request(struct nodes *nodes, struct node_batch *batch, struct pl_arena *arena,
                   struct kv_req *req);
void nodes_apply_reads(struct nodes *nodes, struct node_batch *batch,
                       const struct kv_txn_result *txn);
/* Takes what stands in the store; NULL: there is no such key. */
void nodes_apply_seen(struct nodes *nodes, struct node_batch *batch,
                      struct node_entry *entry, const struct kv_record *node,
                      const struct kv_record *alloc);

#endif
