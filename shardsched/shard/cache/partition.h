/* A part of the store, whoever owns it, and how far it is known. */
#ifndef SHARDSCHED_SHARD_CACHE_PARTITION_H
#define SHARDSCHED_SHARD_CACHE_PARTITION_H

#include "shardsched/shard/remote/remote.h"
#include "shardsched/shard/sched.h"
#include "store/base/list.h"

/* Which list or part of the store a fact belongs to. */
enum fact { FACT_NODE, FACT_ALLOC, FACT_SPEC = 0, FACT_STATE };

struct sched_partition {
	bool owned, quiet, open;
	bool ended[SCHED_PARTS];
	bool relist_due[SCHED_PARTS];    /* to be listed again, as is to be told */
	bool missed[SCHED_PARTS];        /* some of it was not kept, and is to come */
	bool misses[SCHED_PARTS];        /* likewise, since the last list began */
	uint8_t generation[SCHED_PARTS]; /* of the list */
	int64_t epoch;
	int64_t upto[SCHED_PARTS]; /* its list and its watch have come so far */
	uint32_t work;             /* pods in the queue or on their way */
	struct remote_list remote_list;
	struct digest_entry digest_entry;
	struct own_digest own;
	struct pl_list nodes; /* that are known, whoever owns it */
	uint32_t first_pod;   /* likewise; 0: none */
	uint32_t last_pod;
};

#endif
