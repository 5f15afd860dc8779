/*
 * A partition of the store as a shard knows it: whether the shard owns it, and how far
 * its lists and watches have come.
 *
 * A partition is owned, open and not quiet while its pods are decided: it opens once
 * every part was listed and all of it was kept (load.c). Partitions that are not owned have
 * nodes and pods here, too, as far as remote lists and allocs have shown them.
 */
#ifndef SHARDSCHED_SHARD_CACHE_PARTITION_H
#define SHARDSCHED_SHARD_CACHE_PARTITION_H

#include "shardsched/shard/remote/remote.h"
#include "shardsched/shard/sched.h"
#include "store/base/list.h"

/* Which fact of a node or of a pod, as an index into rev and seen. */
enum fact { FACT_NODE, FACT_ALLOC, FACT_SPEC = 0, FACT_STATE };

struct sched_partition {
	bool owned;
	bool quiet;                   /* nothing new is begun; it is to be handed over */
	bool open;                    /* all parts were listed and kept */
	bool ended[SCHED_PARTS];      /* the list of that part has ended once */
	bool relist_due[SCHED_PARTS]; /* the caller is to be told to list it again */
	bool missed[SCHED_PARTS];     /* a record was not kept; a new list brings it */
	bool misses[SCHED_PARTS];     /* a record was not kept since the list began */
	uint8_t generation[SCHED_PARTS]; /* number of the list */
	int64_t epoch;                   /* under which the shard owns it */
	int64_t upto[SCHED_PARTS];       /* revision that list and watch have reached */
	uint32_t work;                   /* pods with a class in the queue */
	struct remote_list remote_list;
	struct digest_entry digest_entry;
	struct own_digest own;
	struct pl_list nodes; /* known nodes, by of_partition */
	uint32_t first_pod;   /* known pods, by number; 0: none */
	uint32_t last_pod;
};

#endif
