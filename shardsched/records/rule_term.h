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
#ifndef SHARDSCHED_RECORDS_RULE_TERM_H
#define SHARDSCHED_RECORDS_RULE_TERM_H

#include "shardsched/model/spec.h"
#include "store/base/buf.h"

enum {
	RULE_ID_SIZE = 48, /* with a NUL */
	RULE_POD_MAX = 16384,
	RULE_LOCK_SIZE = 320, /* of a lock */
};

/* X(KIND, word) */
#define RULE_KIND_MAP(X)        \
	X(SPREAD, "spread")     \
	X(AFFINITY, "affinity") \
	X(ANTI_AFFINITY, "anti-affinity")

#define RULE_KIND_ENUM(kind, word) RULE_KIND_##kind,
enum rule_kind { RULE_KIND_MAP(RULE_KIND_ENUM) RULE_KINDS };

struct rule_term {
	char id[RULE_ID_SIZE];
	enum rule_kind kind;
	bool global; /* it looks beyond the carrier's namespace */
	struct pl_span pod;
};

struct rule_terms {
	struct rule_term *term;
	uint32_t count;
};

const char *rule_kind_word(enum rule_kind kind);
/* RULE_KINDS: none of them. */
enum rule_kind rule_kind_of(struct pl_span word);

/* Those that a pod of that spec carries, each once, in the arena. PL_LIMIT: one is larger
 * than RULE_POD_MAX; PL_NOMEM. */
PL_NODISCARD enum pl_code rule_terms_of(const struct model *model,
                                        const struct spec *spec, struct pl_arena *arena,
                                        struct rule_terms *out, struct pl_err *err);
/* Whether a pod of that spec has rules which may need terms, asked quickly. */
bool rule_is_carrier(const struct model *model, const struct spec *spec);

/* The carrier of one rule finds a pod of that spec. space: labels of the pod's namespace;
 * NULL: not known. */
bool rule_carrier_finds(const struct model *model, const struct spec *carrier,
                        const struct spec *spec, const struct labels *namespace);

/* The value of a lock; shard is no longer than a name may be. decides: what it was put
 * for was decided under it. */
struct pl_span rule_lock_value(const char *shard, bool decides, char out[RULE_LOCK_SIZE]);
/* Whether it says that; a value by anybody else does not. */
bool rule_lock_decides(struct pl_span value);

#endif
