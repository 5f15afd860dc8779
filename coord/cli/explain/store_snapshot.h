/*
 * The nodes of a store and the pods on them, as they were at one revision, in an engine:
 * what a shard that owned everything would judge by.
 *
 * Read in this order, page by page, nothing of it kept but what the engine needs and,
 * until all pods were seen, who is on which node: nodes, allocs, schedules. As with a
 * shard, a node of which something is not understood is left out as a whole, and counted;
 * one on which a gang holds room is set aside: nobody goes there, and who is there
 * counts.
 */
#ifndef COORD_CLI_EXPLAIN_STORE_SNAPSHOT_H
#define COORD_CLI_EXPLAIN_STORE_SNAPSHOT_H

#include "coord/cli/output/progress.h"
#include "coord/cli/session/store_session.h"
#include "shardsched/engine/engine.h"
#include "shardsched/records/alloc.h"
#include "store/base/map.h"
#include "store/keys/keys.h"

/* X(FLAW, stable code, what is wrong with the node) */
#define STORE_FLAW_MAP(X)                                                        \
	X(NODE, "store.node", "its Node makes no sense")                         \
	X(NO_ALLOC, "store.no-alloc", "it has no alloc")                         \
	X(ALLOC, "store.alloc", "its alloc makes no sense")                      \
	X(POD, "store.pod", "the spec of a pod on it is lost or makes no sense") \
	X(CLOSED, "node.closed", "a gang holds room there, and nothing else is put there")

#define STORE_FLAW_ENUM(flaw, code, words) STORE_FLAW_##flaw,
enum store_flaw { STORE_FLAW_MAP(STORE_FLAW_ENUM) STORE_FLAWS };

struct excluded_nodes {
	uint64_t nodes;
	struct keys_text first; /* its key */
	struct pl_err err;      /* of the first; PL_OK: there is no more to say */
};

struct store_snapshot {
	struct store_session *session;
	struct engine *engine; /* of the caller */
	struct progress *progress;
	int64_t revision; /* to read at */
	/* Who is asked about: not placed anywhere, and its own hold does not count. */
	uint32_t partition;
	struct pl_span namespace, name;

	/* Specs of pods that are on no node, and all states; may be NULL. */
	void (*other)(void *ctx, const struct keys_id *id,
	              const struct kv_record *record);
	void *other_ctx;

	struct pl_arena arena;      /* of one value */
	struct pl_arena pods_arena; /* of who is on which node */
	struct pl_map pods;      /* by "0007/web/app-1": those that were not seen yet */
	struct store_slot *slot; /* of each node in the snapshot */
	uint32_t slots;
	struct pl_span last; /* the pod that was seen last; in room */
	uint32_t last_placed;
	char last_key[KEYS_SIZE_MAX];
	uint64_t nodes, placed, holds;
	bool compacted; /* on the way: what was read later is newer */
	bool kept_room; /* a hold keeps room for the pod that is asked about */
	struct excluded_nodes flaw[STORE_FLAWS];
};

/* The first lines are the caller's. Done follows in any case. PL_NOMEM, PL_LIMIT, and
 * what the store says. */
PL_NODISCARD enum pl_code store_snapshot_read(struct store_snapshot *cluster,
                                              struct pl_err *err);
void store_snapshot_done(struct store_snapshot *cluster);

/* The partition that a node in the snapshot falls in. */
uint32_t store_snapshot_partition(const struct store_snapshot *cluster, uint32_t slot);

const char *store_flaw_code(enum store_flaw flaw);
const char *store_flaw_words(enum store_flaw flaw);

#endif
