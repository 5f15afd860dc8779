/*
 * A rule term: one required rule that reaches past a node, of a pod's affinity,
 * anti-affinity or spread. Each term has a lock in the store, /groups/<namespace>/<term>.
 * A writer that places or removes a pod puts the locks of the terms that the pod carries
 * and of the terms that find the pod.
 *
 * A term says which pods are found, and nothing else. How many may be found where
 * (maxSkew, minDomains, the nodes that count) is up to the decision, which sees all
 * rules.
 *
 * The term is written as the smallest Pod that carries the rule and no other, with
 * everything in order, so the same rule gives the same bytes everywhere; its id is the
 * kind and a hash of these bytes. Namespaces are those of the carrier: one rule in two
 * namespaces is two terms.
 *
 * A rule that is local to nodes is no term: required anti-affinity over
 * kubernetes.io/hostname is protected by the node's alloc, which lists the node's pods
 * (node_is_domain). A selector that finds no pod (null, or one that can not be parsed)
 * needs no term either.
 */
#ifndef SHARDSCHED_RECORDS_RULE_TERM_H
#define SHARDSCHED_RECORDS_RULE_TERM_H

#include "shardsched/model/spec.h"
#include "store/base/buf.h"

enum {
	RULE_ID_SIZE = 48, /* with a NUL */
	RULE_POD_MAX = 16384,
	RULE_LOCK_SIZE = 320, /* of a lock's value */
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
	bool global; /* the rule looks beyond the carrier's namespace */
	struct pl_span pod;
};

struct rule_terms {
	struct rule_term *term;
	uint32_t count;
};

const char *rule_kind_word(enum rule_kind kind);
/* The kind for a word; RULE_KINDS for any other word. */
enum rule_kind rule_kind_of(struct pl_span word);

/* The terms that a pod of that spec carries, without duplicates, in the arena. PL_LIMIT:
 * a term is larger than RULE_POD_MAX; PL_NOMEM. */
PL_NODISCARD enum pl_code rule_terms_of(const struct model *model,
                                        const struct spec *spec, struct pl_arena *arena,
                                        struct rule_terms *out, struct pl_err *err);
/* Whether a pod of that spec has rules that may need terms: a quick test. */
bool rule_is_carrier(const struct model *model, const struct spec *spec);

/* Whether rules of a pod of that spec select namespaces by their labels. */
bool rule_carrier_reads_labels(const struct spec *carrier);
/* Whether the carrier of one rule finds a pod of that spec. namespace: the labels of the
 * pod's namespace; NULL: they are not known. */
bool rule_carrier_finds(const struct model *model, const struct spec *carrier,
                        const struct spec *spec, const struct labels *namespace);

/* The value of a lock. shard is no longer than a name may be. decides: the lock was put
 * for a decision that relied on it. */
struct pl_span rule_lock_value(const char *shard, bool decides, char out[RULE_LOCK_SIZE]);
/* Whether the value says that it was put for a decision; a value by any other writer does
 * not. */
bool rule_lock_decides(struct pl_span value);

#endif
