/*
 * Every key in the store: built here, parsed here, and nowhere else.
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
 *
 * <p> has four digits and <version> ten, so that ranges come in order. Names are
 * what Kubernetes allows: they hold no slash, so a key can be read in one way
 * only, and what was parsed builds the same bytes again. A root prefix is not
 * seen here: the prefix decorator of store/kv adds and removes it.
 */
#ifndef STORE_KEYS_KEYS_H
#define STORE_KEYS_KEYS_H

#include <stdint.h>

#include "store/base/err.h"
#include "store/base/span.h"

enum {
	KEYS_SIZE_MAX = 384, /* of any key, with a NUL */
	KEYS_PARTITIONS_MAX = 4096,
};

#define KEYS_VERSION_MAX UINT64_C(9999999999)

/* Where kinds differ by a word against a name, the one with the word comes first. */
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
	KEYS_KIND_COUNT,
};

/* What a key says; fields that its kind does not have are empty. Borrows. */
struct keys_id {
	enum keys_kind kind;
	uint32_t partition;
	struct pl_span scope; /* the cluster of a node or alloc, else the namespace */
	struct pl_span name;  /* the last name in the key: node, pod, term, shard, ... */
	uint64_t version;
};

struct keys_text {
	size_t len;
	char at[KEYS_SIZE_MAX]; /* ends with a NUL, which is not counted */
};

static inline struct pl_span keys_span(const struct keys_text *text)
{
	return pl_span(text->at, text->len);
}

/* PL_INVALID: a name or number that no key can have, with the reason. */
PL_NODISCARD enum pl_code keys_build(const struct keys_id *id, struct keys_text *out,
                                     struct pl_err *err);

/* The first levels names of the key and a slash, to range over: 1 is "/nodes/", 2
 * "/nodes/0007/", 3 "/nodes/0007/east/". Only those fields are looked at. */
PL_NODISCARD enum pl_code keys_prefix(const struct keys_id *id, unsigned levels,
                                      struct keys_text *out, struct pl_err *err);

/* The spans of out borrow from key. PL_INVALID: not a key of ours, and why. */
PL_NODISCARD enum pl_code keys_parse(struct pl_span key, struct keys_id *out,
                                     struct pl_err *err);

const char *keys_kind_name(enum keys_kind kind);

#endif
