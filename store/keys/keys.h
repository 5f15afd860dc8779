/*
 * Every key in the store. Keys are built and parsed here and nowhere else.
 *
 *	/placet/meta                               KEYS_META
 *	/clusters/<cluster>                        KEYS_CLUSTER
 *	/nodes/<p>/<cluster>/<node>                KEYS_NODE
 *	/alloc/<p>/<cluster>/<node>                KEYS_ALLOC
 *	/schedules/<p>/<namespace>/<pod>/spec      KEYS_SPEC
 *	/schedules/<p>/<namespace>/<pod>/state     KEYS_STATE
 *	/groups/registry                           KEYS_REGISTRY_GLOBAL
 *	/groups/<namespace>/registry               KEYS_REGISTRY
 *	/groups/<namespace>/<term>                 KEYS_GROUP (no term is called registry)
 *	/groups/nodes                              KEYS_TOPOLOGY
 *	/gangs/<namespace>/<gang>                  KEYS_GANG
 *	/budgets/lock                              KEYS_BUDGETS_LOCK
 *	/budgets/<namespace>/<budget>              KEYS_BUDGET
 *	/shards/<shard>                            KEYS_SHARD
 *	/partitions/<p>/owner                      KEYS_OWNER
 *	/digests/<shard>                           KEYS_DIGEST
 *	/config/<config>/current                   KEYS_CONFIG_CURRENT
 *	/config/<config>/<version>                 KEYS_CONFIG
 *	/leader/<role>                             KEYS_LEADER
 *	/pins/<pin>                                KEYS_PIN
 *	/objects/core/namespaces                   KEYS_NAMESPACES
 *	/objects/<group>/<resource>/<name>             KEYS_OBJECT
 *	/objects/<group>/<resource>/<namespace>/<name> KEYS_OBJECT_IN
 *	/access/tokens/<token>                     KEYS_TOKEN
 *	/nodes/tick                                KEYS_NODES_TICK
 *	/schedules/tick                            KEYS_SCHEDULES_TICK
 *	/budgets/tick                              KEYS_BUDGETS_TICK
 *	/objects/tick                              KEYS_OBJECTS_TICK
 *
 * <p> has four digits and <version> ten, so that ranges are sorted. Names are those that
 * Kubernetes allows. They hold no slash, so a key can be parsed in one way only, and
 * building what was parsed gives the same bytes. A root prefix does not occur here: the
 * prefixed kv (store/kv/prefixed.h) adds and removes it.
 */
#ifndef STORE_KEYS_KEYS_H
#define STORE_KEYS_KEYS_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum {
	KEYS_SIZE_MAX = 400, /* of any key, NUL included */
	KEYS_PARTITIONS_MAX = 4096,
};

#define KEYS_VERSION_MAX UINT64_C(9999999999)

/* A kind that has a word where another kind has a name comes before that kind: parsing
 * takes the first kind that matches. */
enum keys_kind {
	KEYS_META,
	KEYS_CLUSTER,
	KEYS_NODE,
	KEYS_ALLOC,
	KEYS_SPEC,
	KEYS_STATE,
	KEYS_REGISTRY_GLOBAL,
	KEYS_REGISTRY,
	KEYS_GROUP,
	KEYS_TOPOLOGY,
	KEYS_GANG,
	KEYS_BUDGETS_LOCK,
	KEYS_BUDGET,
	KEYS_SHARD,
	KEYS_OWNER,
	KEYS_DIGEST,
	KEYS_CONFIG_CURRENT,
	KEYS_CONFIG,
	KEYS_LEADER,
	KEYS_PIN,
	KEYS_NAMESPACES, /* the lock of the labels of all namespaces */
	KEYS_OBJECT,     /* an object of an API that stands in no namespace */
	KEYS_OBJECT_IN,  /* and one that does */
	KEYS_TOKEN,      /* the user of an issued token */
	/* Ticks (store/kv/cache/cache.h) mean nothing: readers of a prefix pass over
	 * its tick. */
	KEYS_NODES_TICK,
	KEYS_SCHEDULES_TICK,
	KEYS_BUDGETS_TICK,
	KEYS_OBJECTS_TICK,
	KEYS_KIND_COUNT,
};

/* The parts of a key. Fields that its kind does not have are empty. The spans are
 * borrowed. */
struct keys_id {
	enum keys_kind kind;
	uint32_t partition;
	struct pl_span scope; /* the cluster of a node or alloc, else the namespace */
	/* the last name in the key: of a node, a pod, a term, a shard, ... */
	struct pl_span name;
	uint64_t version;
	/* names of KEYS_OBJECT and KEYS_OBJECT_IN: "core" or "apps", and "services" */
	struct pl_span group, resource;
};

struct keys_text {
	size_t len;
	char at[KEYS_SIZE_MAX]; /* ends with a NUL that len does not count */
};

static inline struct pl_span keys_span(const struct keys_text *text)
{
	return pl_span(text->at, text->len);
}

/* PL_INVALID: a name or number that no key can have; the message says which. */
PL_NODISCARD enum pl_code keys_build(const struct keys_id *id, struct keys_text *out,
                                     struct pl_err *err);

/* Builds a prefix to range over, from the first levels names of the key and a slash: 1 is
 * "/nodes/", 2 "/nodes/0007/", 3 "/nodes/0007/east/". Only the fields of these levels are
 * read. */
PL_NODISCARD enum pl_code keys_prefix(const struct keys_id *id, unsigned levels,
                                      struct keys_text *out, struct pl_err *err);

/* The spans of *out borrow from key. PL_INVALID: the key is not one of Placet's; the
 * message says why. */
PL_NODISCARD enum pl_code keys_parse(struct pl_span key, struct keys_id *out,
                                     struct pl_err *err);

const char *keys_kind_name(enum keys_kind kind);

#endif
