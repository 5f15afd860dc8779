/*
 * A store snapshot: the nodes of a store and the pods on them, as they were at one
 * revision, in an engine: what a shard that owned everything would decide by.
 *
 *	cluster objects --> nodes --> allocs --> schedules --> done
 *
 * Invariants
 *  - It is read page by page, and nothing is kept but what the engine needs and, until all
 *    pods were seen, which pod is on which node.
 *  - As with a shard, a node of which some key is malformed is left out as a whole, and
 *    counted by its flaw. A node on which a gang holds room is excluded: nothing is placed
 *    there, and the pods on it count.
 *  - Nodes of the clusters in `without` are left out, and are no flaw; the pods on them
 *    are handed over as displaced.
 *  - As with a shard, a malformed cluster object counts as absent, and a namespace without
 *    an object has the label of its name.
 */
#ifndef COORD_SERVICE_EXPLAIN_STORE_SNAPSHOT_H
#define COORD_SERVICE_EXPLAIN_STORE_SNAPSHOT_H

#include "coord/service/base/key_list.h"
#include "shardsched/engine/engine.h"
#include "shardsched/records/alloc.h"
#include "store/base/map.h"
#include "store/keys/keys.h"

/* X(FLAW, stable code, what is wrong with the node) */
#define STORE_FLAW_MAP(X)                                                   \
	X(NODE, "store.node", "its Node is malformed")                      \
	X(NO_ALLOC, "store.no-alloc", "it has no alloc")                    \
	X(ALLOC, "store.alloc", "its alloc is malformed")                   \
	X(POD, "store.pod", "the spec of a pod on it is lost or malformed") \
	X(CLOSED, "node.closed",                                            \
	  "a gang has a reservation there, and no other pod is placed there")

#define STORE_FLAW_ENUM(flaw, code, words) STORE_FLAW_##flaw,
enum store_flaw { STORE_FLAW_MAP(STORE_FLAW_ENUM) STORE_FLAWS };

struct excluded_nodes {
	uint64_t nodes;
	struct keys_text first; /* key of the first one */
	struct pl_err err; /* why, for the first one; PL_OK: the flaw is reason enough */
};

typedef void store_snapshot_fn(void *ctx, const struct pl_err *err);

struct store_snapshot {
	/* The caller's. */
	struct engine *engine;
	int64_t revision; /* to read at; later: of what was read last */
	/* The pod that is asked about: it is placed nowhere, and its own reservation does not
	 * count. */
	struct pl_span namespace, name;
	uint32_t partition;
	unsigned withouts;
	const struct pl_span *without; /* clusters that are left out */
	/* The spec of a pod on a node "east/n-1" of such a cluster; its state, if it has
	 * one, is the next that `other` gets. Any result but PL_OK ends the reading. */
	enum pl_code (*displaced)(void *ctx, const struct keys_id *id,
	                          struct pl_span node, const struct kv_record *record,
	                          struct pl_err *err);
	/* Specs of pods that are on no node, and all states; may be NULL. */
	void (*other)(void *ctx, const struct keys_id *id,
	              const struct kv_record *record);
	/* Reports what is being read, and how many of it have been; may be NULL. */
	void (*progress)(void *ctx, const char *what, uint64_t count);
	store_snapshot_fn *done;
	void *ctx; /* of these four */

	/* Results. */
	uint64_t objects, nodes, placed, holds;
	uint64_t without_nodes; /* nodes of clusters that are left out */
	bool exact;             /* the caller's: a compacted revision ends the reading */
	bool compacted; /* the revision was compacted on the way: the rest is newer */
	bool kept_room; /* a reservation holds capacity for the pod that is asked about */
	struct excluded_nodes flaw[STORE_FLAWS];

	/* The snapshot's own. */
	struct key_list *keys;      /* NULL: not reading */
	struct pl_arena arena;      /* of one value */
	struct pl_arena pods_arena; /* of which pod is on which node */
	struct pl_map
		pods; /* by "0007/web/app-1": pods on nodes that were not seen yet */
	struct store_slot *slot; /* of each node in the engine's snapshot */
	unsigned stage;          /* the prefix that is read */
	uint32_t slots;
	struct pl_span last; /* the pod that was placed last; in last_key */
	uint32_t last_placed;
	char last_key[KEYS_SIZE_MAX];
};

/* After PL_OK done follows; store_snapshot_done may be called in it, or later.
 * Errors: PL_NOMEM, PL_LIMIT, and those of the store. */
PL_NODISCARD enum pl_code store_snapshot_start(struct store_snapshot *cluster,
                                               const struct service *service,
                                               struct pl_err *err);
void store_snapshot_cancel(struct store_snapshot *cluster);
/* Takes a zeroed snapshot. */
void store_snapshot_done(struct store_snapshot *cluster);

/* A pod of the namespace is to be decided: the engine knows the namespace from then on,
 * whether an object describes it or not. PL_NOMEM, PL_LIMIT. */
PL_NODISCARD enum pl_code store_snapshot_see_namespace(struct store_snapshot *cluster,
                                                       struct pl_span name,
                                                       struct pl_err *err);

/* The partition that a node in the snapshot falls in. */
uint32_t store_snapshot_partition(const struct store_snapshot *cluster, uint32_t slot);

const char *store_flaw_code(enum store_flaw flaw);
const char *store_flaw_words(enum store_flaw flaw);

#endif
