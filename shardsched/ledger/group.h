/*
 * Required rules that reach past a node, as terms: what a pod's required affinity,
 * required anti-affinity or required spreading looks at. Each term has a lock in the
 * store, /groups/<namespace>/<term>, that whoever places or removes a pod which carries
 * it, or is found by it, puts; so a term says who is found, and nothing else. How many
 * may be found where (maxSkew, minDomains, which nodes count) is worked out by whoever
 * decides, from all that there is.
 *
 * The rule is written as the smallest Pod that carries it and no other, with everything
 * in order, so that the same rule gives the same bytes everywhere; its name is the kind
 * and a hash of these bytes. Namespaces are those of the carrier: the same rule in two
 * namespaces is two terms.
 *
 * Local rules are no terms: required anti-affinity over kubernetes.io/hostname is held by
 * the node's alloc, which lists all of its pods (node_is_domain). A selector that finds
 * nobody (null, or one that can not be parsed) needs none either.
 */
#ifndef SHARDSCHED_LEDGER_GROUP_H
#define SHARDSCHED_LEDGER_GROUP_H

#include "shardsched/model/spec.h"
#include "store/base/buf.h"

enum {
	GROUP_ID_SIZE = 48, /* with a NUL */
	GROUP_POD_MAX = 16384,
	GROUP_VALUE_SIZE = 320, /* of a lock */
};

/* X(KIND, word) */
#define GROUP_KIND_MAP(X)       \
	X(SPREAD, "spread")     \
	X(AFFINITY, "affinity") \
	X(ANTI_AFFINITY, "anti-affinity")

#define GROUP_KIND_ENUM(kind, word) GROUP_##kind,
enum group_kind { GROUP_KIND_MAP(GROUP_KIND_ENUM) GROUP_KINDS };

struct group_term {
	char id[GROUP_ID_SIZE];
	enum group_kind kind;
	bool global; /* it looks beyond the carrier's namespace */
	struct pl_span pod;
};

struct group_terms {
	struct group_term *term;
	uint32_t count;
};

const char *group_kind_word(enum group_kind kind);
/* GROUP_KINDS: none of them. */
enum group_kind group_kind_of(struct pl_span word);

/* Those that a pod of that spec carries, each once, in the arena. PL_LIMIT: one is larger
 * than GROUP_POD_MAX; PL_NOMEM. */
PL_NODISCARD enum pl_code group_terms_of(const struct model *model,
                                         const struct spec *spec, struct pl_arena *arena,
                                         struct group_terms *out, struct pl_err *err);
/* Whether a pod of that spec has rules which may need terms, asked quickly. */
bool group_is_carrier(const struct model *model, const struct spec *spec);

/* The carrier of one rule finds a pod of that spec. space: labels of the pod's namespace;
 * NULL: not known. */
bool group_finds(const struct model *model, const struct spec *carrier,
                 const struct spec *spec, const struct labels *space);

/* The value of a lock; shard is no longer than a name may be. decides: what it was put
 * for was decided under it. */
struct pl_span group_value(const char *shard, bool decides, char out[GROUP_VALUE_SIZE]);
/* Whether it says that; a value by anybody else does not. */
bool group_value_decides(struct pl_span value);

#endif
